"""Fetching a profile from the disk of another machine with the system's ssh.

What that machine sends is not trusted: it may send nothing, too slowly, more than it announced, or
talk without end on its error output. Both outputs are read as they come, into a file that gets its
name when all of it is on the disk.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from powertui.capture.problems import ProfileLost
from powertui.capture.servers import Server
from powertui.capture.session_files import SessionPlace, command, complete_file
from powertui.errors import CaptureError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.value_types import dataclass

__all__ = ["FetchLimits", "FetchProgress", "fetch"]

# ssh itself notices a broken connection within a minute.
_SSH_OPTIONS = (
    "-o",
    "ConnectTimeout=20",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
)
_PIECE_BYTES = 1 << 18  # of one read: between two of them progress is reported
_MAX_SIZE_CHARS = 20  # digits and blanks of the announced size: 10^18 bytes and a line end
_KEPT_ERROR_BYTES = 4096  # bytes of ssh's error output that are kept: its last line is the reason
_REPORT_PERIOD_S = 0.25  # between two reports
_SSH_EXIT_S = 5.0  # for ssh to end by itself once its output has ended


@dataclass(frozen=True)
class FetchLimits:
    """How long a fetch may take.

    ssh gives up a dead connection after 60 s, and somebody may have to type a password; with half
    of `silence_s` such a person is cut off. Lines slower than `slowest_rate` are no use for
    profiles: 100 MB take 27 minutes at that rate.
    """

    silence_s: float = 90.0  # without a byte
    setup_s: float = 120.0  # to connect and to log in, beside the time for the bytes
    slowest_rate: float = 65_536.0  # bytes/s, over the whole fetch


_DEFAULT_LIMITS = FetchLimits()


class FetchProgress(NamedTuple):
    """How far it is."""

    past_s: float
    received: int  # bytes
    size: int | None  # as announced; None before that


def fetch(
    place: SessionPlace,
    server: Server,
    hop: str,
    on_wait: Callable[[FetchProgress], bool] = lambda _: False,
    limits: FetchLimits = _DEFAULT_LIMITS,
) -> Path:
    """Fetch the profile of a server through a host that ssh knows. What arrives is complete or not
    there at all.

    `on_wait` is called a few times a second; with True it ends the fetch as Ctrl+C does. Raises
    `CaptureError` with the line that fetches the file by hand.
    """
    path = place.file(server)
    transfer = _Transfer(
        place=place,
        server=server,
        hop=hop,
        on_wait=on_wait,
        limits=limits,
    )
    with complete_file(path) as file, transfer:
        transfer.run(file)
    return path


class _Transfer:
    """One ssh process and what it sends. Leaving it ends ssh, whatever it does."""

    def __init__(
        self,
        place: SessionPlace,
        server: Server,
        hop: str,
        on_wait: Callable[[FetchProgress], bool],
        limits: FetchLimits,
    ) -> None:
        self._hop = hop
        self._on_wait = on_wait
        self._limits = limits
        self._folder = place.here
        self._by_hand = command(place, server)
        there = shlex.quote(place.there(server))
        # The size comes first: a connection that broke looks like the end of a file.
        self._order = f"wc -c < {there} && cat < {there}"
        self._size: int | None = None
        self._received = 0
        self._errors = b""

    def __enter__(self) -> _Transfer:
        from powertui.data.elsewhere.ssh import client

        words = [*client(), *_SSH_OPTIONS, "--", self._hop, self._order]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise CaptureError(
                f"ssh cannot be run to fetch the profile: {why}.", hint=self._by_hand
            ) from None
        self._begun = self._heard = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        if process.poll() is None:
            process.kill()
        process.wait()

    def run(self, file: BinaryIO) -> None:
        """Write what comes. Raises why it is not the whole profile."""
        head = b""
        for piece in self._pieces():
            if self._size is None:
                head, newline, piece = (head + piece).partition(b"\n")
                if not newline and len(head) <= _MAX_SIZE_CHARS:
                    continue
                self._announced(head.strip())
            self._received += len(piece)
            if self._size is not None and self._received > self._size:
                raise self._failure("it sends more than the size that it announced")
            file.write(piece)
        self._judge()

    def _pieces(self) -> Iterator[bytes]:
        """The pieces of the standard output until it ends; the error output is drained
        beside it.
        """
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        output = self._process.stdout.fileno()
        errors = self._process.stderr.fileno()
        looked = self._begun
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while True:
                ready = [key.fd for key, _ in selector.select(_REPORT_PERIOD_S)]
                # First: an error output that nobody reads fills its pipe, and ssh stands still.
                if errors in ready and not self._drain(errors):
                    selector.unregister(errors)
                piece = os.read(output, _PIECE_BYTES) if output in ready else None
                if piece == b"":
                    break
                if piece:
                    self._heard = time.monotonic()
                    yield piece
                if time.monotonic() - looked >= _REPORT_PERIOD_S:
                    looked = time.monotonic()
                    self._check_time(looked)
            selector.unregister(output)
            self._finish(selector, errors)

    def _finish(self, selector: selectors.BaseSelector, errors: int) -> None:
        """ssh's last words.

        A connection that stays for others (ControlPersist) keeps the error output open: ssh's end
        counts.
        """
        until = time.monotonic() + _SSH_EXIT_S
        while time.monotonic() < until:
            over = self._process.poll() is not None
            ready = errors in selector.get_map() and bool(selector.select(0 if over else 0.05))
            if ready and not self._drain(errors):
                selector.unregister(errors)
            if over and not ready:
                break
            if not selector.get_map():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.05)

    def _drain(self, errors: int) -> bool:
        piece = os.read(errors, _PIECE_BYTES)
        self._errors = (self._errors + piece)[-_KEPT_ERROR_BYTES:]
        return bool(piece)

    def _check_time(self, now: float) -> None:
        if self._on_wait(FetchProgress(now - self._begun, self._received, self._size)):
            raise KeyboardInterrupt
        if now - self._heard > self._limits.silence_s:
            raise self._failure(f"nothing came for {self._limits.silence_s:g} s")
        limit_s = self._limits.setup_s + (self._size or 0) / self._limits.slowest_rate
        if now - self._begun > limit_s:
            raise self._failure(f"it takes longer than {limit_s:.3g} s")

    def _announced(self, text: bytes) -> None:
        """The size, before anything is written: what no disk and no memory here can take is not
        fetched.
        """
        from powertui.data.limits import MACHINE

        if not text.isdigit() or len(text) > _MAX_SIZE_CHARS:
            shown = plain(text[:60].decode("utf-8", "replace"))
            raise self._failure(
                f"the answer begins with {shown!r} instead of the size"
                if text
                else "the connection broke"
            )
        self._size = int(text)
        if self._size > shutil.disk_usage(self._folder).free:
            raise self._failure(
                f"the {self._size:,} bytes do not fit on the disk of {self._folder}"
            )
        too_much = MACHINE.exceeded(self._size)
        if too_much:
            raise self._failure(f"reading it takes {self._size:,} bytes of memory, {too_much}")

    def _judge(self) -> None:
        if self._process.poll() != 0 or self._size is None:
            raise self._failure("the connection broke")
        if self._received != self._size:
            raise self._failure(
                f"the connection broke after {self._received:,} of {self._size:,} bytes"
            )

    def _failure(self, why: str) -> CaptureError:
        lines = [
            line for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        if lines and self._process.poll():
            why = plain(lines[-1].strip(), 200)
        return ProfileLost(
            f"The profile could not be fetched through {self._hop}: {why.rstrip('.')}.",
            hint=self._by_hand,
        )
