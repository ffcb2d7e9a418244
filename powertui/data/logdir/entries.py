"""Files by what they are to a run, and runs, as a scan lists them before any is read."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.formats.filenames import CERTAIN_RESULTS, MARKERS_FOLDER
from powertui.data.model import Warn
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Of fewer hosts all is kept: what one of them holds is no part of the whole to save. Chosen.
_MIN_MANY_HOSTS = 8


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
    # "train", "validation", …: its folder's name where that names a part of a run; else ""
    group: str
    kind: str
    size: int

    @property
    def is_marker(self) -> bool:
        """Whether PowerBoard wrote it to say when it began to measure."""
        return self.group == MARKERS_FOLDER

    @property
    def has_scalars(self) -> bool:
        """Whether the training wrote it, for its scalars."""
        return self.kind == "scalars" and not self.is_marker


class PowerFile(NamedTuple):
    """A power log in or beside the logdir; `dialect` is the reader that recognized its head."""

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
    profiles: tuple[ProfileFile, ...] = ()  # one per host: the best of what is there
    # the same capture in a second form: read when the first fails
    alternates: tuple[ProfileFile, ...] = ()
    tfevents: tuple[EventFile, ...] = ()
    power: tuple[PowerFile, ...] = ()
    # logs in the folders above what was asked for: mentioned, and read when they are named
    above: tuple[PowerFile, ...] = ()
    # where it has no power: files whose names say power, and why they are not taken
    refused: tuple[Warn, ...] = ()
    # finished results of the profiler's tools: they hold no timeline
    results: tuple[OtherFile, ...] = ()
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
    def is_log_alone(self) -> bool:
        """Whether there are power logs, and nothing that power could lie beside."""
        others = (self.profiles, self.tfevents, self.results, self.unread)
        return bool(self.power) and not any(others)

    @property
    def has_many_hosts(self) -> bool:
        """Whether so many that the events of all of them are not kept at once."""
        return len(self.profiles) >= _MIN_MANY_HOSTS

    @property
    def of_neuron(self) -> bool:
        """Whether its results are tables of AWS Neuron alone, which come with another timeline."""
        return all(file.tool in CERTAIN_RESULTS for file in self.results)

    def unread_power(self, warnings: Iterable[Warn]) -> Warn | None:
        """Why a log beside it was not taken, by what reading the run says; None where there is
        none.
        """
        beside = {warning.file for warning in self.refused}
        beside |= {file.path for file in self.power}
        return next((warning for warning in warnings if warning.file in beside), None)

    @property
    def size(self) -> int:
        """Bytes of all profiles that would be read."""
        return sum(f.size for f in self.profiles)
