"""One ssh process that answers one question: read with deadlines, its messages bounded, and never
left behind.

Its messages come through a pipe that is read beside the answer: a file would grow with a host that
complains without end. A connection that is kept (ControlPersist) may hold that pipe open, so nobody
waits for its end.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

from powertui.data.elsewhere.deadlines import WaitingTime

PIECE_BYTES = 1 << 18  # bytes taken from a pipe at once
_TICK_S = 0.1  # between two looks at whether anybody wants to stop: what a person takes for at once
_MESSAGES_KEPT = 1 << 14  # bytes of messages; the cause of a failure is in the last lines
# Bytes of messages without a byte of answer; `ssh -vvv` prints a tenth of that while it logs in.
_MAX_MESSAGES = 1 << 20
_LAST_WORDS_S = 2.0  # for a process that has closed its output to say why
_GRACE_S = 0.5  # between SIGTERM, at which ssh gives the terminal its echo back, and SIGKILL

_running: set[subprocess.Popen[bytes]] = set()


class Stalled(Exception):
    """It is not worth to wait longer. The text says why."""


class SshProcess:
    """A running ssh. `read` and `line` wait for bytes; `on_wait` is called while they do."""

    def __init__(self, command: Sequence[str], question: bytes, place: str) -> None:
        """Raises `OSError` when the command cannot be run."""
        self._place = place
        self._buffer = bytearray()
        self._messages = bytearray()
        self._messages_since_answer = 0
        self.has_more = True  # its output has not ended
        # A file, not a pipe: a host that does not read its input would hold us up while we write.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(question)
            stdin.seek(0)
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        _running.add(self._process)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._answer, self._complaints = self._process.stdout, self._process.stderr
        os.set_blocking(self._complaints.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._answer, selectors.EVENT_READ)
        self._selector.register(self._complaints, selectors.EVENT_READ)

    # ── the answer ──

    def read(self, count: int, waiting: WaitingTime, on_wait: Callable[[], None]) -> bytes:
        """At most so many bytes, as soon as some are there; none at the end. Raises `Stalled`."""
        if not self._buffer:
            self._buffer += self._receive(waiting, on_wait)
        piece = bytes(self._buffer[:count])
        del self._buffer[:count]
        return piece

    def line(self, longest: int, waiting: WaitingTime, on_wait: Callable[[], None]) -> bytes:
        """A line with its end; without it where it is longer than that, or the last.

        Raises `Stalled`.
        """
        while b"\n" not in self._buffer and len(self._buffer) < longest:
            piece = self._receive(waiting, on_wait)
            if not piece:
                break
            self._buffer += piece
        end = self._buffer.find(b"\n", 0, longest) + 1 or min(longest, len(self._buffer))
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line

    def until(
        self,
        mark: bytes,
        longest: int,
        waiting: WaitingTime,
        on_wait: Callable[[], None],
    ) -> tuple[bytes, bool]:
        """What comes before a mark, and whether it came within so many bytes. Raises `Stalled`."""
        searched = 0
        while (at := self._buffer.find(mark, searched)) < 0 and len(self._buffer) < longest:
            searched = max(0, len(self._buffer) - len(mark))
            piece = self._receive(waiting, on_wait)
            if not piece:
                break
            self._buffer += piece
        data = bytes(self._buffer[: at if at >= 0 else longest])
        del self._buffer[: len(data) + (len(mark) if at >= 0 else 0)]
        return data, at >= 0

    def _receive(self, waiting: WaitingTime, on_wait: Callable[[], None]) -> bytes:
        while True:
            on_wait()
            before = time.monotonic()
            ready = {key.fileobj for key, _ in self._selector.select(_TICK_S)}
            # A longer time than asked for was spent stopped (ctrl+Z) or without a processor.
            waiting.waited(min(time.monotonic() - before, 2 * _TICK_S))
            if self._complaints in ready:
                self._listen()
            if self._answer in ready:
                piece = os.read(self._answer.fileno(), PIECE_BYTES)
                self.has_more = bool(piece)
                waiting.came(len(piece))
                self._messages_since_answer = 0
                if not piece:
                    return piece
            # Also when a byte came: a host that drips is never quiet.
            problem = waiting.problem(self._place)
            if problem:
                raise Stalled(problem)
            if self._answer in ready:
                return piece

    # ── its messages ──

    def _listen(self) -> None:
        """Take what it complains of."""
        try:
            text = os.read(self._complaints.fileno(), PIECE_BYTES)
        except BlockingIOError:
            return
        if not text:
            self._selector.unregister(self._complaints)
            return
        self._messages += text
        del self._messages[:-_MESSAGES_KEPT]
        self._messages_since_answer += len(text)
        if self._messages_since_answer > _MAX_MESSAGES:
            raise Stalled(f"{self._place} prints error messages without end")

    def last_words(self) -> list[str]:
        """The lines that it complained of, once it has closed its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS_S)
        with contextlib.suppress(Stalled):
            while self._complaints in {key.fileobj for key, _ in self._selector.select(0)}:
                self._listen()
        text = self._messages.decode("utf-8", "replace")
        return [line.strip() for line in text.splitlines() if line.strip()]

    # ── its end ──

    def end(self) -> None:
        """End it, if it has not ended. Nothing of it is left behind."""
        self._selector.close()
        self._answer.close()
        self._complaints.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_TICK_S)
        _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        _running.discard(process)


def end_all() -> None:
    """End every ssh that still runs, for a program that leaves at once."""
    for process in tuple(_running):
        with contextlib.suppress(OSError):
            process.terminate()
    for process in tuple(_running):
        _end(process)


atexit.register(end_all)
