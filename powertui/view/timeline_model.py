"""Everything that a timeline shows of one trace, ready to be asked: rows, frames, events, steps,
places. No terminal here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from powertui.data import search
from powertui.data.by_number import ByNumber
from powertui.data.category import CATEGORIES, Category
from powertui.data.lod import Forest
from powertui.data.model import (
    PS_PER_NS,
    Clock,
    Counter,
    Epochs,
    Int64s,
    Phase,
    Run,
    Stat,
    Step,
    Steps,
    Trace,
)
from powertui.data.secret_values import shown_value
from powertui.data.texts import CancelCheck, NoNames, unhindered
from powertui.errors import FileChanged
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass
from powertui.view import places
from powertui.view.labels import Labels
from powertui.view.places import Destination
from powertui.view.surroundings import LabelledSpan, Surroundings
from powertui.view.timeline_rows import Folds, Row, RowModel, TrackInfo
from powertui.view.value_strips import Strip, counter_strips
from powertui.view.viewport import Viewport

_NOT_PROFILED = "nothing of this training was profiled"


class Selected(NamedTuple):
    """One event: `track` counts the tracks of `Trace.tracks()`, `row` the track's columns."""

    track: int
    row: int


@dataclass(frozen=True)
class EventFacts:
    """What can be said of one event without decoding its stats.

    Names are as recorded: escape before drawing.
    """

    name: str
    display: str
    start: int
    duration: int
    depth: int
    category: Category
    process: str
    track: str

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass(frozen=True, eq=False)
class TimelineModel:
    """One trace of a run with its index."""

    run: Run
    index: int
    trace: Trace
    steps: Steps
    epochs: Epochs
    forest: Forest
    row_model: RowModel
    labels: Labels
    span: tuple[
        int, int
    ]  # what the view stays inside; the end belongs to it: an event without length may stand there
    surroundings: Surroundings | None = (
        None  # the training that the profile is a part of, on the profile's own axis
    )
    power_note: str = ""  # why there is power and none of it is drawn
    unplaced: int = 0  # channels of power whose place is still looked for: they have rows already

    @classmethod
    def from_run(
        cls,
        run: Run,
        index: int = 0,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> TimelineModel:
        """Index one trace of a run. Takes about 30 ms per million events: call it from a thread."""
        trace = run.traces[index]
        if index < len(run.steps):
            steps = run.steps[index]
        else:
            steps = Steps.none()
        if index < len(run.epochs):
            epochs = run.epochs[index]
        else:
            epochs = Epochs()
        forest = Forest.from_trace(trace, progress=progress)
        lo, hi = trace.span
        return cls(
            run=run,
            index=index,
            trace=trace,
            steps=steps,
            epochs=epochs,
            forest=forest,
            row_model=RowModel.from_trace(trace, forest),
            labels=Labels(trace.names),
            span=(lo, hi + 1),
        )

    @classmethod
    def without_profile(cls, run: Run, surroundings: Surroundings) -> TimelineModel:
        """A training that was never profiled: an axis without tracks."""
        trace = Trace(
            path="",
            host="",
            format="",
            processes=(),
            names=NoNames(),
            clock=Clock(),
            span=(0, 0),
            event_count=0,
        )
        forest = Forest.from_trace(trace)
        bare = cls(
            run=run,
            index=0,
            trace=trace,
            steps=Steps.none(_NOT_PROFILED),
            epochs=Epochs(),
            forest=forest,
            row_model=RowModel.from_trace(trace, forest),
            labels=Labels(trace.names),
            span=(0, 1),
        )
        return bare.within(surroundings)

    def within(self, surroundings: Surroundings | None) -> TimelineModel:
        """The same profile, seen as a part of this training."""
        if surroundings is None:
            if self.surroundings is None:
                return self
            return replace(
                self,
                span=self.profiled,
                surroundings=None,
                epochs=self._own_epochs(),
            )
        span = surroundings.span
        if len(self.tracks):
            lo, hi = self.profiled
            span = (min(lo, span[0]), max(hi, span[1] + 1))
        epochs = surroundings.epochs_with(self._own_epochs())
        return replace(
            self,
            span=span,
            surroundings=surroundings,
            epochs=epochs,
        )

    def before_power(self, channels: int, *, in_training: bool) -> TimelineModel:
        """The same while so many channels of power have no place yet.

        Rows are kept for them, and room around the profile for its training: nothing that is
        drawn moves when both come.
        """
        lo, hi = self.profiled
        room = hi - lo if in_training else 0
        return replace(self, unplaced=channels, span=(lo - room, hi + room))

    def without_power(self, note: str) -> TimelineModel:
        """The same once nobody looks for that place any more, with the reason."""
        return replace(
            self,
            unplaced=0,
            span=self.profiled,
            power_note=note,
        )

    @cached_property
    def strips(self) -> tuple[Strip, ...]:
        """What can be drawn above the timeline beside power: rate and scalars of the training, then
        the trace's own counters.
        """
        scalars = self.surroundings.strips if self.surroundings is not None else ()
        names = {strip.name for strip in scalars}
        strips = list(scalars)
        for strip in counter_strips(self._counters()):
            if strip.name not in names:
                strips.append(strip)
        return tuple(strips)

    def _counters(self) -> tuple[Counter, ...]:
        try:
            return self.trace.all_counters()
        except FileChanged:  # those of memory were not read in time
            return self.trace.counters

    @property
    def findings(self) -> tuple[LabelledSpan, ...]:
        """What was found in the training: power that nothing explains."""
        if self.surroundings is not None:
            return self.surroundings.findings
        return ()

    def axis_after(self, before: TimelineModel) -> int | None:
        """How much later this axis' zero lies than that of another profile of the same training;
        None where it is no other.
        """
        now = self.surroundings
        then = before.surroundings
        if now is None or then is None or self.trace.path == before.trace.path:
            return None
        if now.key is None or now.key != then.key:
            return None
        return (now.zero_ns - then.zero_ns) * PS_PER_NS

    def _own_epochs(self) -> Epochs:
        if self.index < len(self.run.epochs):
            return self.run.epochs[self.index]
        return Epochs()

    @property
    def profiled(self) -> tuple[int, int]:
        """Where the profile lies; outside nothing is known of what ran."""
        lo, hi = self.trace.span
        return lo, hi + 1

    @property
    def home(self) -> tuple[int, int]:
        """What is shown first: the profile where it is the only one, else the whole training."""
        alone = self.surroundings is None or len(self.surroundings.profiles) < 2
        if alone and len(self.tracks):
            return self.profiled
        return self.span

    def origin(self, view: Viewport) -> int:
        """What times count from: the profile's zero, as in all tables; away from all of several
        profiles the training's start.
        """
        if self.surroundings is None:
            return 0
        if not len(self.tracks):
            return self.span[0]
        lo, hi = self.profiled
        middle = view.t0 + view.width * view.cell_ps // 2
        is_only_profile = len(self.surroundings.profiles) < 2
        if is_only_profile or lo <= middle < hi:
            return 0
        return self.span[0]

    @property
    def tracks(self) -> tuple[TrackInfo, ...]:
        return self.row_model.tracks

    def rows(self, folds: Folds) -> tuple[Row, ...]:
        return self.row_model.rows(folds)

    # ── events ───────────────────────────────────────────────────────────────────────────────────

    def facts(self, selected: Selected) -> EventFacts:
        info = self.tracks[selected.track]
        events = info.track.events
        index = int(events.name[selected.row])
        return EventFacts(
            name=self.trace.names.full(index),
            display=self.trace.names.display(index),
            start=int(events.start[selected.row]),
            duration=int(events.duration[selected.row]),
            depth=info.track.depth_of(selected.row),
            category=self.category(index),
            process=info.process.name,
            track=info.track.name,
        )

    def category(self, name_index: int) -> Category:
        return CATEGORIES[int(self.labels.kinds(np.array([name_index]))[0])]

    def extent(self, selected: Selected) -> tuple[int, int]:
        """Start and end of an event."""
        events = self.tracks[selected.track].track.events
        start = int(events.start[selected.row])
        return start, start + int(events.duration[selected.row])

    def stats(self, selected: Selected) -> tuple[Stat, ...]:
        """All stats of an event, decoded: those of its name first, as the profiler's own viewer
        orders them.

        They are read from the file. Raises `FileChanged` when that is not the file any more that
        was opened.
        """
        info = self.tracks[selected.track]
        events = info.track.events
        shared = self.trace.names.stats(int(events.name[selected.row]))
        own = info.process.source.event_stats(events.position_of(selected.row))
        return tuple(
            stat._replace(value=shown_value(stat.name, stat.value)) for stat in (*shared, *own)
        )

    def names_of(self, lane: int, rows: Int64s) -> Int64s:
        """The name index of each row of a lane's track; 0 where the row is -1."""
        column = self.tracks[self.forest.lanes[lane].track].track.events.name
        if not len(column):
            return np.zeros(rows.shape, np.int64)
        return column[np.maximum(rows, 0)].astype(np.int64)

    def lane_of(self, selected: Selected) -> int:
        return self.forest.lane_number(
            selected.track, self.tracks[selected.track].track.depth_of(selected.row)
        )

    # ── search ───────────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        pattern: str,
        *,
        regex: bool = False,
        check: CancelCheck = unhindered,
    ) -> search.Hits:
        """All events whose name matches; UsageError when the pattern is no regular expression."""
        kinds = self.labels.kinds
        return search.find(
            self.trace,
            pattern,
            regex=regex,
            check=check,
            kinds_of_names=kinds,
        )

    # ── steps, epochs, places ────────────────────────────────────────────────────────────────────

    def step_at(self, ps: int) -> Step | None:
        """The step that runs at `ps`; None outside all of them."""
        if not len(self.steps) or ps < int(self.steps.start[0]):
            return None
        index = int(self.steps.start.searchsorted(ps, side="right")) - 1
        step = self.steps[index]
        if ps < max(step.end, step.start + 1):
            return step
        return None

    def step_near(self, ps: int, direction: int) -> Step | None:
        """The next step that starts after `ps` (direction > 0) or the last that starts
        before it.
        """
        starts = self.steps.start
        if direction > 0:
            index = int(starts.searchsorted(ps, side="right"))
        else:
            index = int(starts.searchsorted(ps, side="left")) - 1
        if 0 <= index < len(self.steps):
            return self.steps[index]
        return None

    def epoch_bounds(self, number: int) -> tuple[int, int] | None:
        """Where an epoch (index into `epochs`) lies."""
        return self.epochs.bounds(number, self.steps, self._steps_of[number])

    def epoch_at(self, ps: int) -> int | None:
        """The epoch (index into `epochs`) that runs at `ps`."""
        lo, hi = self.epoch_spans
        rows = np.flatnonzero((lo <= ps) & (ps < hi))  # they may overlap: no order to search by
        if len(rows):
            return int(rows[0])
        return None

    @property
    def epoch_starts(self) -> Int64s:
        """Where those epochs begin whose bounds are known."""
        lo, hi = self.epoch_spans
        return lo[hi > lo]

    def phase_at(self, ps: int) -> Phase | None:
        """The first phase that runs at `ps`."""
        starts, ends = self.phase_spans.T
        rows = np.flatnonzero((starts <= ps) & (ps < ends))
        if len(rows):
            return self.epochs.phases[int(rows[0])]
        return None

    @cached_property
    def phase_spans(self) -> Int64s:
        """Start and end of each phase, side by side."""
        return np.array(
            [(phase.start, phase.end) for phase in self.epochs.phases], np.int64
        ).reshape(-1, 2)

    @cached_property
    def _steps_of(self) -> ByNumber:
        """The steps of each epoch."""
        return ByNumber(self.steps.epoch, len(self.epochs))

    @cached_property
    def epoch_spans(self) -> tuple[Int64s, Int64s]:
        """Start and end of each epoch; none (0 to -1) where they are not known."""
        bounds = [self.epoch_bounds(number) or (0, -1) for number in range(len(self.epochs))]
        spans = np.array(bounds, np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]

    def destination(self, text: str, near_ps: int | None = None) -> Destination:
        """Where ":" goes, of several equal places the one near the cursor; UsageError says what was
        not understood.
        """
        return places.destination(self, text, near_ps)
