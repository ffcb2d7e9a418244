"""Buckets, gs:// and s3://, through fsspec: with the packages of the extra `cloud`, and the
credentials that those find.

A driver waits as long as it likes. Each call goes on in a thread of its own, so that it can be left
when its time is over.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import math
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, TypeVar

from powertui.data.elsewhere.address import RemoteAddress
from powertui.data.elsewhere.deadlines import SILENCE_VARIABLE, WaitingTime, deadlines
from powertui.data.elsewhere.progress import TransferProgress, report
from powertui.data.elsewhere.store import (
    ConnectionDropped,
    FileMoved,
    HostStalled,
    RemoteEntry,
    RemoteListing,
    RemoteState,
)
from powertui.data.limits import MAX_ENTRIES
from powertui.errors import UnreadableFile
from powertui.plain import plain

_PIECE_BYTES = 1 << 20  # of one read: between two of them progress is reported
_TICK_S = 0.1  # between two reports to the listener, who may stop the transfer
# What a listing may take on the line. A driver reports nothing before it has all names.
_LISTING_BYTES = MAX_ENTRIES * 64
_HEADS_PER_CALL = 100  # files
_MAX_SIZE = (1 << 63) - 1  # what a file of ours can have: the copy is made with that size
_DRIVERS = {"gs": "gcsfs", "s3": "s3fs"}
_TIMES = ("mtime", "LastModified", "updated", "last_modified", "created")  # as the drivers call it

_Answer = TypeVar("_Answer")


class Bucket:
    """One bucket."""

    def __init__(self, address: RemoteAddress) -> None:
        self._address = address

    def listing(self, path: str) -> RemoteListing:
        """Everything below a path: a bucket knows no folders, only names with / in them."""
        system = self._system()
        top = f"{self._address.place}{path}".rstrip("/")
        system.invalidate_cache()  # it remembers listings, and a live run grows
        files = self._call(path, lambda: system.find(top, detail=True), whole=_LISTING_BYTES)
        entries, impossible = self._entries(files)
        if not entries and not impossible:
            hint = "Check the bucket and the path; a folder there is only a common prefix of names."
            raise UnreadableFile(self._named(path), "there is nothing there", hint=hint)
        is_file = len(entries) == 1 and entries[0].path == path
        root = path
        if is_file:
            root = path.rstrip("/").rpartition("/")[0] or "/"
        shortfall = ""
        if len(entries) > MAX_ENTRIES:
            shortfall = f"there are more than {MAX_ENTRIES:,} names. Name a folder further down"
        return RemoteListing(
            root=root,
            file=path if is_file else None,
            entries=tuple(entries[:MAX_ENTRIES]),
            shortfall=shortfall,
            impossible=impossible,
        )

    def _entries(self, files: dict[str, Any]) -> tuple[list[RemoteEntry], int]:
        """The files, and how many have no state by which a change could be noticed."""
        entries: list[RemoteEntry] = []
        impossible = 0
        bucket = self._address.place
        for name, facts in files.items():
            below = str(name).lstrip("/")
            if below != bucket and not below.startswith(bucket + "/"):
                continue
            if facts.get("type", "file") != "file":
                continue
            state = _state(facts)
            if state is None:
                impossible += 1
            else:
                entries.append(RemoteEntry(below[len(bucket) :], "f", state))
        return entries, impossible

    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]:
        """The bytes of a file from a place on, as long as it is in this state."""
        system = self._system()
        name = f"{self._address.place}{path}"
        system.invalidate_cache()
        now = _state(self._call(path, lambda: system.info(name)))
        if now is not None and now != state:
            raise FileMoved(now)
        while start < state.size:
            progress = TransferProgress(self._address.place, "bytes", start, state.size)
            end = min(start + _PIECE_BYTES, state.size)
            read = functools.partial(system.cat_file, name, start=start, end=end)
            piece = self._call(path, read, end - start, progress)
            if not piece:
                raise ConnectionDropped(
                    self._named(path),
                    f"ended {state.size - start:,} bytes early",
                    hint="Open it again.",
                )
            piece = bytes(piece[: end - start])
            start += len(piece)
            yield piece

    def heads(self, paths: Sequence[tuple[str, int]], count: int) -> Iterator[tuple[str, bytes]]:
        """The first bytes of files, asked for together."""
        for done in range(0, len(paths), _HEADS_PER_CALL):
            batch = paths[done : done + _HEADS_PER_CALL]
            progress = TransferProgress(self._address.place, "files", done, len(paths))
            answers = self._heads_of(batch, count, progress)
            for (path, _), data in zip(batch, answers, strict=False):
                # A file that cannot be read is an exception among the answers.
                if isinstance(data, (bytes, bytearray)):
                    yield path, bytes(data[:count])

    def _heads_of(
        self,
        batch: Sequence[tuple[str, int]],
        count: int,
        progress: TransferProgress,
    ) -> Sequence[object]:
        """What the driver answers to one question for all of these files."""
        first_path, _ = batch[0]
        ends = [min(size, count) for _, size in batch]
        fetch = functools.partial(
            self._system().cat_ranges,
            [f"{self._address.place}{path}" for path, _ in batch],
            [0] * len(batch),
            ends,
            on_error="return",
        )
        return self._call(first_path, fetch, sum(ends), progress)

    def sums(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """What the store says of their contents; nothing where it does not."""
        system = self._system()
        for done, path in enumerate(paths):
            name = f"{self._address.place}{path}"
            progress = TransferProgress(self._address.place, "files", done, len(paths))
            try:
                facts = self._call(path, lambda name=name: system.info(name), 0, progress)  # type: ignore[misc]
            except HostStalled:
                raise
            except UnreadableFile:  # gone meanwhile: the scan says so
                continue
            checksum = facts.get("ETag") or facts.get("md5Hash") or facts.get("etag")
            if checksum:
                yield path, str(checksum).encode()

    def _call(
        self,
        path: str,
        call: Callable[[], _Answer],
        whole: int = 0,
        progress: TransferProgress | None = None,
    ) -> _Answer:
        """What a call of the driver answers, within the deadlines. `whole`: bytes that it may be
        expected to move.

        Raises `UnreadableFile` for whatever the driver raises; what a listener raises goes through
        as it is.
        """
        limits = deadlines()
        waiting = WaitingTime(replace(limits, silence_s=limits.whole_s(whole)), whole)
        progress = progress or TransferProgress(self._address.place, "names", 0)
        answers: queue.SimpleQueue[tuple[_Answer | None, Exception | None]] = queue.SimpleQueue()

        def work() -> None:
            try:
                answers.put((call(), None))
            except Exception as error:  # handed over to the thread that waits
                answers.put((None, error))

        threading.Thread(
            target=contextvars.copy_context().run,
            args=(work,),
            name="powertui-bucket",
            daemon=True,
        ).start()
        try:
            while True:
                report(progress._replace(quiet_s=waiting.quiet_s))
                try:
                    answer, error = answers.get(timeout=_TICK_S)
                except queue.Empty:
                    waiting.waited(_TICK_S)
                    problem = waiting.problem(self._address.place)
                    if problem:
                        hint = (
                            f"Check the network. To wait longer, set {SILENCE_VARIABLE}=300 "
                            "(seconds)."
                        )
                        raise HostStalled(self._named(path), problem, hint=hint) from None
                    continue
                if error is not None:
                    raise self._failed(path, error) from None
                return answer  # type: ignore[return-value]
        finally:
            report(None)

    def _named(self, path: str) -> str:
        return str(self._address._replace(path=path))

    def _system(self) -> Any:
        scheme = self._address.scheme
        try:
            fsspec = importlib.import_module("fsspec")
            return fsspec.filesystem(scheme)
        except (ImportError, ValueError):
            problem = (
                f"{scheme}:// is read through the package {_DRIVERS[scheme]}, which is "
                "not installed"
            )
            hint = (
                f"Install it: pip install {_DRIVERS[scheme]}. Or copy the folder, and name the "
                "copy."
            )
            raise UnreadableFile(str(self._address), problem, hint=hint) from None
        except Exception as error:
            raise self._failed(self._address.path, error) from None

    def _failed(self, path: str, error: Exception) -> UnreadableFile:
        if isinstance(error, FileNotFoundError):
            return UnreadableFile(
                self._named(path), "no such bucket or path", hint="Check the name."
            )
        reason = plain(" ".join(str(error).split()) or type(error).__name__, 160)
        if isinstance(error, PermissionError):
            return UnreadableFile(
                self._named(path),
                f"permission denied ({reason})",
                hint="Log in with the store's own tool first.",
            )
        return ConnectionDropped(
            self._named(path),
            f"cannot be read ({reason})",
            hint="Check the network, and log in with the store's own tool.",
        )


def _state(facts: dict[str, Any]) -> RemoteState | None:
    """Size and time, as the drivers call them; None for a size that cannot be.

    A time that cannot be is taken for none.
    """
    size = _integer(facts.get("size") or 0)
    if size is None or not 0 <= size <= _MAX_SIZE:
        return None
    when = next((facts[key] for key in _TIMES if facts.get(key) is not None), None)
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.replace("Z", "+00:00"))
        except ValueError:
            when = None
    if isinstance(when, datetime):
        utc = when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
        since = utc - datetime(1970, 1, 1, tzinfo=timezone.utc)
        seconds = since.days * 86_400 + since.seconds
        nanoseconds = seconds * 1_000_000_000 + since.microseconds * 1000
    elif isinstance(when, (int, float)):
        nanoseconds = _integer(when * 1e9) or 0
    else:
        nanoseconds = 0
    return RemoteState(size, max(-_MAX_SIZE, min(nanoseconds, _MAX_SIZE)))


def _integer(number: Any) -> int | None:
    """As an integer; None for what is none."""
    try:
        return int(number) if math.isfinite(float(number)) else None
    except (TypeError, ValueError, OverflowError):
        return None
