"""Following a run while it trains: epochs and losses as they are logged, profiles as they are
written.

A logdir often holds many old runs. What counts is what moves: a tfevents file that is new, that
grows, or that was written to just before; a profile that was not there when the watch began. Old
runs stay silent.

`Watch.poll` reads what came since the last call and may take a while on a large tree: call it from
a thread.
"""

from __future__ import annotations

import time
from dataclasses import field
from pathlib import Path

import numpy as np

from powertui.data import logdir
from powertui.data.formats import tfevents
from powertui.data.logdir import EventFile, Logdir, RunEntry
from powertui.data.model import Run
from powertui.data.wire import stored
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

# A file that was written to so shortly before the watch began belongs to a run that is still going.
FRESH_S = 120.0
_EPOCH = "epoch_"


@dataclass(frozen=True)
class FinishedEpoch:
    """One epoch that has ended, by the wall clock of the machine that trains."""

    number: int
    # the end of the epoch before, or the start of training; None when it is not known
    begin_ns: int | None
    end_ns: int
    # ("loss", 0.41), ("accuracy", 0.83): as logged, without "epoch_"
    scalars: tuple[tuple[str, float], ...]


@dataclass
class News:
    """What one poll found."""

    epochs: list[FinishedEpoch] = field(default_factory=list)
    profiles: list[RunEntry] = field(default_factory=list)
    # for a person: what is followed, what cannot be read
    notes: list[str] = field(default_factory=list)
    scalars: list[tfevents.Scalar] = field(default_factory=list)  # all that came

    def __bool__(self) -> bool:
        return bool(self.epochs or self.profiles or self.notes)


def changed(run: Run) -> bool:
    """Whether a profile of this run is another now than the one that was read: cut, rewritten,
    replaced or deleted.
    """
    return any(stored.changed(trace.path, trace.stamp) for trace in run.traces)


class Watch:
    """One logdir, watched from the moment this is made."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.latest: dict[tuple[str, str], tfevents.Scalar] = {}  # (group, tag) → its last value
        self._tails: dict[str, tfevents.Tail] = {}
        self._sizes: dict[str, int] | None = None  # of the files that are not followed (yet)
        # Profiles that were there from the start, and those announced.
        self._announced: set[str] | None = None
        self._growing: dict[str, int] = {}  # new profiles by path: their size at the last look
        self._epochs: dict[int, FinishedEpoch] = {}
        self._unreadable: set[str] = set()

    @property
    def epochs(self) -> tuple[FinishedEpoch, ...]:
        """All epochs that have ended, by number."""
        return tuple(self._epochs[number] for number in sorted(self._epochs))

    def poll(self) -> News:
        """Look once. A folder that does not exist yet is simply empty."""
        news = News()
        try:
            folder = logdir.scan(self.path)
        except UnreadableFile as error:
            self._complain(error, news)
            folder = Logdir(self.path)
        self._choose(folder.tfevents, news)
        self._read(news)
        self._profiles(folder.runs, news)
        return news

    def _choose(self, files: tuple[EventFile, ...], news: News) -> None:
        """Begin to follow what moves."""
        is_first = self._sizes is None
        sizes = self._sizes = self._sizes or {}
        for file in files:
            if file.kind != "scalars" or file.path in self._tails:
                continue
            if is_first:
                moves = _age(file.path, time.time()) < FRESH_S
            else:  # a new file, or one that has grown
                moves = file.size != sizes.get(file.path)
            if not moves:
                sizes[file.path] = file.size
                continue
            self._tails[file.path] = tfevents.Tail(file.path, file.group)
            note = f"following {Path(file.path).name}"
            if file.group:
                note += f" ({file.group})"
            news.notes.append(note)

    def _read(self, news: News) -> None:
        """Take the new scalars of every followed file."""
        touched: set[int] = set()
        for path, tail in list(self._tails.items()):
            try:
                scalars = tail.poll()
            except UnreadableFile as error:
                self._complain(error, news)
                continue
            news.scalars += scalars
            for scalar in scalars:
                self.latest[tail.group, scalar.tag] = scalar
                if scalar.tag.startswith(_EPOCH) and not _validates(tail.group):
                    touched.add(scalar.step)
            self._unreadable.discard(path)
        for number in sorted(touched):
            epoch = self._epoch(number)
            if epoch is not None and self._epochs.get(number) != epoch:
                self._epochs[number] = epoch
                news.epochs.append(epoch)

    def _epoch(self, number: int) -> FinishedEpoch | None:
        """Everything that was logged for one epoch, validation too.

        Where a run began anew, its newest file counts.
        """
        scalars: dict[str, tuple[int, float]] = {}  # when each was logged, and its value
        ends: list[tuple[int, int | None]] = []
        for tail in self._tails.values():
            log = tail.log()
            validates = _validates(tail.group)
            walls: list[int] = []
            walls_before: list[int] = []  # of the epoch before
            for series in log.scalars:
                if not series.tag.startswith(_EPOCH):
                    continue
                walls_before += series.wall_ns[series.steps == number - 1].tolist()
                rows = np.flatnonzero(series.steps == number)
                if not len(rows):
                    continue
                wall = int(series.wall_ns[rows[-1]])
                value = float(series.values[rows[-1]])
                walls.append(wall)
                name = "val_" * validates + series.tag.removeprefix(_EPOCH)
                before = scalars.get(name, (0, 0.0))
                scalars[name] = max(before, (wall, value), key=lambda pair: pair[0])
            if walls and not validates:
                first = (log.keras_graph_ns or log.first_ns) if number == 0 else None
                ends.append((max(walls), max(walls_before, default=first)))
        if not ends:
            return None
        end, begin = max(ends, key=lambda pair: pair[0])
        begin_ns = begin if begin is not None and begin < end else None
        values = tuple((name, value) for name, (_, value) in scalars.items())
        return FinishedEpoch(
            number=number,
            begin_ns=begin_ns,
            end_ns=end,
            scalars=values,
        )

    def _profiles(self, runs: tuple[RunEntry, ...], news: News) -> None:
        """Announce a profile once it has stopped growing: it is written in one go, and takes its
        time.
        """
        here = {run.path: run for run in runs if run.profiles}
        if self._announced is None:
            self._announced = set(here)
            return
        for path, run in here.items():
            if path in self._announced:
                continue
            if run.size and self._growing.get(path) == run.size:
                self._announced.add(path)
                self._growing.pop(path)
                news.profiles.append(run)
            else:
                self._growing[path] = run.size

    def _complain(self, error: UnreadableFile, news: News) -> None:
        if error.path not in self._unreadable:
            self._unreadable.add(error.path)
            news.notes.append(f"{error.path}: {error.problem}")


def _validates(group: str) -> bool:
    return group.startswith(("val", "eval", "test"))


def _age(path: str, now: float) -> float:
    try:
        return now - Path(path).stat().st_mtime
    except OSError:
        return float("inf")
