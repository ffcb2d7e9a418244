"""Everything that was found under one path, or under several."""

from __future__ import annotations

import functools
from dataclasses import field
from pathlib import Path

from powertui.data.logdir import trainings
from powertui.data.logdir.entries import EventFile, OtherFile, PowerFile, RunEntry
from powertui.data.logdir.moves import Move
from powertui.data.logdir.trainings import TrainingEntry
from powertui.data.model import Warn
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

_MAX_NAMED_LOGS = 8  # in a message


@dataclass(frozen=True)
class Logdir:
    """Everything that was found under one path."""

    path: str
    runs: tuple[RunEntry, ...] = ()
    tfevents: tuple[EventFile, ...] = ()  # all of them, those of runs without a profile too
    power: tuple[PowerFile, ...] = ()
    unread: tuple[OtherFile, ...] = ()  # outside every run: traces of other tools, known by name
    problems: tuple[Warn, ...] = ()
    entries: int = 0  # how many names were looked at
    truncated: bool = False  # the tree is larger than a scan goes through
    complete: bool = (
        True  # False while folders are still looked through: power logs are given to runs last
    )
    folders: tuple[str, ...] = ()  # all that were listed
    began_ns: int = field(default=0, compare=False)  # when (Unix time)
    several: tuple[str, ...] = ()  # the paths, where there are several
    parts: tuple[Logdir, ...] = field(
        default=(),
        compare=False,
        repr=False,
    )  # and what was found under each of them
    by_hand: tuple[TrainingEntry, ...] | None = (
        None  # its trainings, where a person put them together otherwise
    )
    moves: tuple[Move, ...] = ()  # what that person moved, the last move last
    as_found: Logdir | None = field(
        default=None,
        compare=False,
        repr=False,
    )  # and the folder without that

    @property
    def paths(self) -> tuple[str, ...]:
        """What was looked through."""
        return self.several or (self.path,)

    def path_of(self, entry: RunEntry) -> str:
        """Which of the paths a run was found under."""
        if not self.several:
            return self.path
        absolute = Path(entry.path).absolute()
        return next(
            (path for path in self.paths if absolute.is_relative_to(Path(path).absolute())),
            entry.path,
        )

    @functools.cached_property
    def trainings(self) -> tuple[TrainingEntry, ...]:
        """What one program did each: its sessions, scalars and power logs."""
        if self.by_hand is not None:
            return self.by_hand
        return trainings.group(self.path, self.runs, self.tfevents, self.power)

    def chosen(self, name: str | None) -> tuple[RunEntry, ...]:
        """The runs that a name means: all for None, else one. Its whole name, its last parts, or a
        part that fits no other.

        Raises `UsageError` with the names that there are when none or several fit.
        """
        if name is None:
            return self.runs
        runs: tuple[RunEntry, ...] = ()
        for fits in (
            str.__eq__,
            lambda run_name, asked: run_name.endswith("/" + asked),
            str.__contains__,
        ):
            runs = tuple(run for run in self.runs if fits(run.name, name))
            if len(runs) == 1:
                return runs
            if runs:
                break
        names = ", ".join(plain(run.name, 80) for run in (runs or self.runs)[:8])
        what = "More than one run is" if runs else "No run is"
        raise UsageError(
            f"{what} named {plain(name, 80)!r}.",
            hint=f"There are: {names}" if names else "There are no runs here.",
        )

    def _only_logs(self) -> RunEntry:
        """Power without a profile, as a screen shows it. Raises where it is of several machines."""
        if len(self.trainings) == 1:
            return trainings.as_run(self.trainings[0])
        names = ", ".join(plain(Path(log.path).name, 80) for log in self.power[:_MAX_NAMED_LOGS])
        raise UnreadableFile(
            self.path, "holds power logs, but no run", hint=f"Name one of them: {names}"
        )

    def only(self, name: str | None) -> RunEntry:
        """The one run that a name means, or that there is; of a folder of logs alone, those as one
        run. Raises where there is none, or more.
        """
        runs = self.chosen(name)
        if not runs and self.power:
            return self._only_logs()
        if not runs:
            raise UnreadableFile(
                self.path, "holds no run", hint=f"See what is there: powertui doctor {self.path}"
            )
        if len(runs) > 1:
            names = ", ".join(plain(run.name, 80) for run in runs[:6])
            raise UsageError(
                f"There are {len(runs)} runs here.", hint=f"Name one with --run: {names}"
            )
        return runs[0]
