"""What another machine (or a bucket) can be asked: what lies there, and bytes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from powertui.errors import UnreadableFile

MOST = 200_000  # names of one listing, as many as a scan of a folder of our own goes through


class RemoteState(NamedTuple):
    """What tells one state of a file from another."""

    size: int
    mtime_ns: int


class RemoteEntry(NamedTuple):
    """Something that lies there. `kind`: f a file, d a folder, u one that may not be read, l a link to nothing; else special."""

    path: str  # absolute, with / between its parts
    kind: str
    state: RemoteState


class RemoteListing(NamedTuple):
    """What lies under one address. `root` is absolute; a file stands in its own folder."""

    root: str
    file: str | None  # the file that the address names, if it names one
    entries: tuple[RemoteEntry, ...]
    complete: bool = True  # all of the folder: what is not here is not there


class FileMoved(Exception):
    """The file is another than the one that was listed."""

    def __init__(self, state: RemoteState) -> None:
        super().__init__("the file changed")
        self.state = state


class ConnectionDropped(UnreadableFile):
    """The connection ended before everything was here. What came stays, and the next try goes on from there."""


class RemoteStore(Protocol):
    """One host or bucket."""

    def listing(self, path: str) -> RemoteListing: ...
    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]: ...
    def heads(self, paths: Sequence[tuple[str, int]], count: int) -> dict[str, bytes]: ...
    def sums(self, paths: Sequence[str]) -> dict[str, bytes]: ...
