"""What is open now, shared by all screens: the logdir, the open runs, and the marked window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning, ReadOptions
from powertui.value_types import dataclass

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.logdir import Logdir, RunEntry
    from powertui.data.model import Epochs, PowerOnTrace, Run, Steps, Trace
    from powertui.data.notes import Note
    from powertui.data.opened import Opened, Profile
    from powertui.data.training.training import Training
    from powertui.feed import Feed
    from powertui.report.runs import SeenRun
    from powertui.screens.trainings import KeptTrainings
    from powertui.view.timeline_model import TimelineModel

MAX_OPEN_RUNS = 2  # runs that stay open: the one in front, and the one before it


@dataclass
class Session:
    """The one place that changes. Screens hear of it by `BaseScreen.session_changed()`."""

    reading: ReadOptions = field(default_factory=ReadOptions)  # how runs are read
    # How power is aligned, unless a person chose otherwise for a run.
    placing: Aligning = field(default_factory=Aligning)
    logdir: Logdir | None = None
    rest: Iterator[Logdir] | None = None  # what is still to be found there, stage by stage
    notice: str = ""  # a sentence for the moment when a run was read to its end
    watched: str | None = None  # the logdir that a live screen watches
    profile_server: str = ""  # where the program that is watched can be asked for a profile
    # What a live screen shows. It outlives the runs that are opened meanwhile.
    feed: Feed | None = None
    opened: Opened | None = None  # the run in front
    others: tuple[Opened, ...] = ()  # opened before and kept, the latest first
    max_open: int = MAX_OPEN_RUNS  # how many runs stay open
    neighbor_count: int = 0  # profiles of the training in sight beside the one in front
    # The runs that a person opened and that stay open, in that order, and the path of the one that
    # was asked for last.
    together: tuple[RunEntry, ...] = ()
    front: str = ""
    model: TimelineModel | None = None  # index of the trace that is looked at
    trace_index: int = 0
    power: tuple[PowerOnTrace, ...] = ()  # placed on that trace's clock
    window: tuple[int, int] | None = None  # marked by the person, ps
    view: tuple[int, int] | None = None  # visible in the timeline, ps
    cursor_ps: int | None = None
    notes: tuple[Note, ...] = ()  # that a person wrote on the run in front
    cursor_goal: int | None = None  # where the cursor is to go with `view`, ps
    # By the run's path: what was concluded from runs that were open, for the list of runs.
    seen: dict[str, SeenRun] = field(default_factory=dict)
    trainings: KeptTrainings | None = None  # of the logdir as it was found last
    refused: set[str] = field(default_factory=set)  # paths of runs that could not be read
    tool: str = "op_stats"  # the tool that the tool page shows
    choices: dict[str, str] = field(default_factory=dict)  # by tool: which program, which op
    _chosen: dict[str, Aligning] = field(default_factory=dict)  # by the run's path
    # By the run's path: the alignments before, each with whether a shift replaced it.
    _before: dict[str, list[tuple[Aligning, bool]]] = field(default_factory=dict)
    # By the run's path: the step marker that a person chose.
    _markers: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> Mapping[str, Opened]:
        """Every run that is open, by its path."""
        runs = list(self.others)
        if self.opened is not None:
            runs.insert(0, self.opened)
        return MappingProxyType({run.path: run for run in runs})

    @property
    def entry(self) -> RunEntry | None:
        """The run in front, as it was found."""
        if self.opened is None:
            return None
        return self.opened.entry

    @property
    def run(self) -> Run | None:
        """The run in front, as far as it was read."""
        if self.opened is None or not self.opened.is_read:
            return None
        return self.opened.run

    @property
    def complete(self) -> bool:
        """Whether it was read to its end."""
        return self.opened is not None and self.opened.complete

    @property
    def aligning(self) -> Aligning:
        """How power is aligned in this run: as a person chose, else as the command line says."""
        if self.opened is None:
            return self.placing
        return self.aligning_of(self.opened.path)

    @aligning.setter
    def aligning(self, chosen: Aligning) -> None:
        if self.opened is not None:
            self._chosen[self.opened.path] = chosen

    def aligning_of(self, path: str) -> Aligning:
        """The same in any run, by its path."""
        return self._chosen.get(path, self.placing)

    def remember_aligning(self, *, shift: bool = False) -> None:
        """Undoing will lead back to how power is aligned now. Shifts in a row count as one."""
        if self.opened is None:
            return
        before = self._before.setdefault(self.opened.path, [])
        if shift and before:
            _, is_shifted = before[-1]
            if is_shifted:
                return
        before.append((self.aligning, shift))

    def aligning_before(self) -> Aligning | None:
        """Take back the last change: how power was aligned before it, or None without a change."""
        if self.opened is None:
            return None
        before = self._before.get(self.opened.path)
        if not before:
            return None
        aligning, _ = before.pop()
        return aligning

    @property
    def training(self) -> Training | None:
        """The training that the run in front belongs to, as soon as somebody has looked."""
        if self.opened is None:
            return None
        from powertui.screens.loader import training_of

        return training_of(self.opened)

    def trainings_of(self) -> KeptTrainings | None:
        """The trainings of the logdir that is open."""
        if self.logdir is None or not self.logdir.complete:
            return None
        if self.trainings is None or self.trainings.folder is not self.logdir:
            from powertui.screens.trainings import KeptTrainings

            self.trainings = KeptTrainings(self.logdir)
        return self.trainings

    def reading_of(self, path: str) -> ReadOptions:
        """How this run is read: as the command line says, with the step marker chosen here."""
        marker = self._markers.get(path)
        if marker is None:
            return self.reading
        return replace(self.reading, step_marker=marker)

    def mark_steps(self, pattern: str) -> None:
        """Use this step marker for the run in front, from the next reading on."""
        if self.opened is not None:
            self._markers[self.opened.path] = pattern
            self.opened.options = self.reading_of(self.opened.path)

    @property
    def profile(self) -> Profile | None:
        """The profile that is looked at."""
        run = self.run
        if self.opened is None or run is None or not run.traces:
            return None
        from powertui.data.opened import Profile

        return Profile(self.opened, min(self.trace_index, len(run.traces) - 1))

    @property
    def trace(self) -> Trace | None:
        """Its trace."""
        profile = self.profile
        if profile is None:
            return None
        return profile.trace

    @property
    def steps(self) -> Steps:
        """Its steps."""
        profile = self.profile
        if profile is None:
            from powertui.data.model import Steps

            return Steps.none()
        return profile.steps

    @property
    def epochs(self) -> Epochs:
        """Its epochs."""
        profile = self.profile
        if profile is None:
            from powertui.data.model import Epochs

            return Epochs()
        return profile.epochs

    def bring(self, entry: RunEntry, *, anew: bool = False) -> Opened:
        """Put a run in front: one that is open as it is, unless it is asked for `anew`."""
        from powertui.data.opened import Opened

        opened = self.runs.get(entry.path)
        others = self._complete_runs(entry.path)
        self.close()
        if opened is None or not opened.complete or anew:
            opened = Opened(entry, self.reading_of(entry.path))
        self.opened = opened
        self.others = others[: self._max_others]
        if all(run.path != entry.path for run in self.together):
            self.together = (*self.together, entry)[-self.max_open :]
        self.front = entry.path
        return opened

    def _complete_runs(self, excluded_path: str) -> tuple[Opened, ...]:
        """The open runs that were read to their end, without one of them."""
        runs = self.runs.values()
        return tuple(run for run in runs if run.path != excluded_path and run.complete)

    def next_run(self) -> RunEntry | None:
        """The run that was opened after the one in front, in a circle; None without another."""
        paths = [run.path for run in self.together]
        if len(paths) < 2:
            return None
        next_place = 0
        if self.front in paths:
            next_place = paths.index(self.front) + 1
        return self.together[next_place % len(paths)]

    def give_up(self, entry: RunEntry) -> None:
        """A run that cannot be read is not open."""
        self.refused.add(entry.path)
        self.together = tuple(run for run in self.together if run.path != entry.path)
        self.close()

    def keep(self, opened: Opened) -> None:
        """A run that was read beside the one in front stays open."""
        others = [run for run in self.others if run.path != opened.path]
        self.others = (*others, opened)[: self._max_others]

    def keep_neighbor(self, opened: Opened) -> None:
        """Keep another profile of the same training, to be drawn beside the one in front."""
        others = [run for run in self.others if run.path != opened.path]
        self.others = (opened, *others)[: self._max_others]

    def keep_neighbors(self, paths: Sequence[str]) -> None:
        """Keep the profiles that are in sight beside the one in front, before all others."""
        self.neighbor_count = len(paths)
        visible_first = sorted(self.others, key=lambda run: run.path not in paths)
        self.others = tuple(visible_first)[: self._max_others]

    @property
    def _max_others(self) -> int:
        """How many runs stay open beside the one in front."""
        return max(self.max_open - 1, self.neighbor_count)

    def turn_to(self, opened: Opened) -> Opened:
        """Put another profile of the same training in front; the view stays where it is."""
        self.others = self._complete_runs(opened.path)[: self._max_others]
        self.opened = opened
        self.trace_index = 0
        return opened

    def close(self) -> None:
        """No run is in front any more (the logdir stays)."""
        self.opened = None
        self.model = None
        self.trace_index = 0
        self.power = ()
        self.window = None
        self.view = None
        self.cursor_ps = None
        self.cursor_goal = None
        self.notes = ()
        self.choices = {}
