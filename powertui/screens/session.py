"""What is open now, shared by all screens: the logdir, the runs that were opened, the one in front,
the marked window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning, ReadOptions

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.logdir import Logdir, RunEntry
    from powertui.data.model import Epochs, PowerOnTrace, Run, Steps, Trace
    from powertui.data.opened import Opened, Profile
    from powertui.data.training.training import Training
    from powertui.feed import Feed
    from powertui.screens.trainings import KeptTrainings
    from powertui.view.timeline_model import TimelineModel

MAX_OPEN_RUNS = 2  # runs that stay open: the one in front, and the one before it


@dataclass
class Session:
    """Mutable on purpose: it is the one place that changes.

    Screens are told through `BaseScreen.session_changed()`.
    """

    reading: ReadOptions = field(default_factory=ReadOptions)  # how runs are read
    placing: Aligning = field(
        default_factory=Aligning
    )  # how power is placed, unless a person chose otherwise for a run
    logdir: Logdir | None = None
    rest: Iterator[Logdir] | None = None  # what is still to be found there, stage by stage
    notice: str = ""  # what is said once a run is whole
    watched: str | None = None  # the logdir that a live screen watches
    profile_server: str = ""  # where the program that is watched can be asked for a profile
    feed: Feed | None = (
        None  # what a live screen shows; it outlives the runs that are opened meanwhile
    )
    opened: Opened | None = None  # the run in front
    others: tuple[Opened, ...] = ()  # opened before and kept, the latest first
    kept: int = MAX_OPEN_RUNS  # how many runs stay open
    company: int = (
        0  # and how many profiles of the training that are in sight beside the one in front
    )
    together: tuple[
        RunEntry, ...
    ] = ()  # the runs that a person opened and that stay open, in the order in which they came
    front: str = ""  # path of the one of them that was asked for last
    model: TimelineModel | None = None  # index of the trace that is looked at
    trace_index: int = 0
    power: tuple[PowerOnTrace, ...] = ()  # placed on that trace's clock
    window: tuple[int, int] | None = None  # marked by the person, ps
    view: tuple[int, int] | None = None  # visible in the timeline, ps
    cursor_ps: int | None = None
    trainings: KeptTrainings | None = None  # of the logdir as it was found last
    tool: str = "op_stats"  # the tool that the tool page shows
    _chosen: dict[str, Aligning] = field(default_factory=dict)  # by the run's path
    _before: dict[str, list[tuple[Aligning, bool]]] = field(
        default_factory=dict
    )  # what was chosen before, and if it was shifted
    _markers: dict[str, str] = field(
        default_factory=dict
    )  # what marks the steps of a run, where a person chose: by its path

    @property
    def runs(self) -> Mapping[str, Opened]:
        """Every run that is open, by its path."""
        held = (*((self.opened,) if self.opened is not None else ()), *self.others)
        return MappingProxyType({one.path: one for one in held})

    @property
    def entry(self) -> RunEntry | None:
        """The run in front, as it was found."""
        return self.opened.entry if self.opened is not None else None

    @property
    def run(self) -> Run | None:
        """The run in front, as far as it was read."""
        return self.opened.run if self.opened is not None and self.opened.is_read else None

    @property
    def complete(self) -> bool:
        """Whether it was read to its end."""
        return self.opened is not None and self.opened.complete

    @property
    def aligning(self) -> Aligning:
        """How power is placed in this run: as a person chose here, else as the command line
        says.
        """
        return (
            self._chosen.get(self.opened.path, self.placing)
            if self.opened is not None
            else self.placing
        )

    @aligning.setter
    def aligning(self, chosen: Aligning) -> None:
        if self.opened is not None:
            self._chosen[self.opened.path] = chosen

    def remember_aligning(self, *, shift: bool = False) -> None:
        """How the power lies now is what undoing leads back to. Shifts in a row are one."""
        if self.opened is not None:
            before = self._before.setdefault(self.opened.path, [])
            if not (shift and before and before[-1][1]):
                before.append((self.aligning, shift))

    def aligning_before(self) -> Aligning | None:
        """How the power lay before the last change, which is taken back; None where nothing was
        changed here.
        """
        before = self._before.get(self.opened.path) if self.opened is not None else None
        return before.pop()[0] if before else None

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
        """How this run is read: as the command line says, with the step marker that was chosen
        here.
        """
        marker = self._markers.get(path)
        return self.reading if marker is None else replace(self.reading, step_marker=marker)

    def mark_steps(self, pattern: str) -> None:
        """What marks the steps of the run in front, from the next reading on."""
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
        return profile.trace if profile is not None else None

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
        """Put a run in front: one that is open already as it is, unless it is wanted `anew`."""
        from powertui.data.opened import Opened

        known = self.runs.get(entry.path)
        before = tuple(one for one in self.runs.values() if one.path != entry.path and one.complete)
        self.close()
        self.opened = (
            known
            if known is not None and known.complete and not anew
            else Opened(entry, self.reading_of(entry.path))
        )
        self.others = before[: self._room]
        if all(one.path != entry.path for one in self.together):
            self.together = (*self.together, entry)[-self.kept :]
        self.front = entry.path
        return self.opened

    def next_run(self) -> RunEntry | None:
        """The run that was opened after the one in front, round and round; None where no other is
        open.
        """
        paths = [one.path for one in self.together]
        if len(paths) < 2:
            return None
        return self.together[
            (paths.index(self.front) + 1) % len(paths) if self.front in paths else 0
        ]

    def give_up(self, entry: RunEntry) -> None:
        """A run that cannot be read is not open."""
        self.together = tuple(one for one in self.together if one.path != entry.path)
        self.close()

    def keep(self, opened: Opened) -> None:
        """A run that was read beside the one in front stays open."""
        self.others = (*(one for one in self.others if one.path != opened.path), opened)[
            : self._room
        ]

    def accompany(self, opened: Opened) -> None:
        """Another profile of the same training was read, to be drawn beside the one in front: it is
        kept as the last one was.
        """
        self.others = (opened, *(one for one in self.others if one.path != opened.path))[
            : self._room
        ]

    def in_company(self, paths: Sequence[str]) -> None:
        """These profiles of the training are in sight beside the one in front: they stay, and what
        is too many beside them goes.
        """
        self.company = len(paths)
        self.others = tuple(sorted(self.others, key=lambda one: one.path not in paths))[
            : self._room
        ]

    @property
    def _room(self) -> int:
        """How many runs stay open beside the one in front."""
        return max(self.kept - 1, self.company)

    def turn_to(self, opened: Opened) -> Opened:
        """Put another profile of the same training in front; the view stays where it is."""
        before = tuple(
            one for one in self.runs.values() if one.path != opened.path and one.complete
        )
        self.others = before[: self._room]
        self.opened, self.trace_index = opened, 0
        return opened

    def close(self) -> None:
        """No run is in front any more (the logdir stays)."""
        self.opened = self.model = None
        self.trace_index = 0
        self.power = ()
        self.window = self.view = self.cursor_ps = None
