"""What another machine (or a bucket) can be asked: what lies there, and bytes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


class RemoteState(NamedTuple):
    """What tells one state of a file from another."""

    size: int
    mtime_ns: int


class RemoteEntry(NamedTuple):
    """Something that lies there.

    `kind`: f a file, d a folder, u one that may not be read, l a link to nothing; else special.
    """

    path: str  # absolute, with / between its parts
    kind: str
    state: RemoteState


@dataclass
class RemoteListing:
    """What lies under one address. `root` is absolute; a file stands in its own folder.

    The entries come while they are gone through; the other two are known when the last of them has
    come.
    """

    root: str
    file: str | None  # the file that the address names, if it names one
    entries: Iterable[RemoteEntry]
    shortfall: str = (
        ""  # why names are missing; empty where all have come: what is not here is not there
    )
    impossible: int = 0  # entries that no file system holds


class FileMoved(Exception):
    """The file is another than the one that was listed."""

    def __init__(self, state: RemoteState) -> None:
        super().__init__("the file changed")
        self.state = state


class HostStalled(UnreadableFile):
    """It was waited for as long as `deadlines` allow.

    What came stays; nobody asks again by himself.
    """


class ConnectionDropped(UnreadableFile):
    """The connection ended before everything was here.

    What came stays, and the next try goes on from there.
    """


class RemoteStore(Protocol):
    """One host or bucket."""

    def listing(self, path: str) -> RemoteListing: ...
    def read(self, path: str, state: RemoteState, start: int) -> Iterator[bytes]: ...
    def heads(
        self,
        paths: Sequence[tuple[str, int]],
        count: int,
    ) -> Iterator[tuple[str, bytes]]: ...
    def sums(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]: ...
