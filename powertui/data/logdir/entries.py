"""What was found: files by what they are to a run, and runs. Nothing of them has been read yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from powertui.data.model import Warn


class ProfileFile(NamedTuple):
    """A file that a reader takes.

    `tool` is the name's suffix ("xplane.pb"); the content decides the format.
    """

    path: str
    host: str
    tool: str
    size: int


class EventFile(NamedTuple):
    """A tfevents file. `kind`: "scalars", "profile-empty" (only says when a capture ended)."""

    path: str
    group: (
        str  # "train", "validation", …: its folder's name where that names a part of a run; else ""
    )
    kind: str
    size: int


class PowerFile(NamedTuple):
    """A power log that lies in or beside the logdir; `dialect` is the reader that recognised its
    head.
    """

    path: str
    dialect: str
    size: int


class OtherFile(NamedTuple):
    """A file that is known by its name. `what` says to a person what it is."""

    path: str
    host: str
    tool: str
    size: int
    what: str


@dataclass(frozen=True)
class RunEntry:
    """One run of the profiler, as found: nothing of it has been read yet."""

    name: str  # as TensorBoard names it: folder above plugins/ + "/" + folder below profile/
    # the run's folder, or the file itself when a bare file was given; "-" for standard input
    path: str
    profiles: tuple[ProfileFile, ...] = ()  # one per host: the best of what lies there
    alternates: tuple[
        ProfileFile, ...
    ] = ()  # the same capture in a second form: read when the first fails
    tfevents: tuple[EventFile, ...] = ()
    power: tuple[PowerFile, ...] = ()
    above: tuple[
        PowerFile, ...
    ] = ()  # logs in the folders above what was asked for: told of, and read when they are named
    results: tuple[
        OtherFile, ...
    ] = ()  # finished results of the profiler's tools: they hold no timeline
    unread: tuple[OtherFile, ...] = ()  # known by name, no reader yet
    ignored: tuple[OtherFile, ...] = ()  # caches that other viewers left behind
    problems: tuple[Warn, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, by name; those that left only result files too."""
        return tuple(
            sorted(
                {f.host for f in self.profiles} | {f.host for f in (*self.results, *self.unread)}
            )
        )

    @property
    def size(self) -> int:
        """Bytes of all profiles that would be read."""
        return sum(f.size for f in self.profiles)
