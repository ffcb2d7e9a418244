"""Which rows a timeline has: processes that fold, tracks that fold, and the quiet tracks behind one
line.

The default must make sense at 80×24: devices first and open, the busiest threads of a host next,
each as one row, everything that hardly does anything behind "… 34 more". A person's folds are kept
by name, so that they survive a trace that grows while it loads. Where there is room for more rows
than that, more is unfolded.
"""

from __future__ import annotations

import enum
from dataclasses import field, replace

import numpy as np

from powertui.data.lod import Forest
from powertui.data.model import Process, ProcessKind, Trace, Track, TrackKind
from powertui.plain import plain
from powertui.value_types import dataclass

SHOWN_THREADS = 8  # threads of a host that are shown before the rest hides
_OPEN_LANES = 6  # a track with more lanes than this starts folded
OPEN_ROWS = 12  # threads of a host open as long as they take no more rows than this
_MIN_BUSY_SHARE = 0.004  # of the busiest thread's weight: less is quiet
_SUMMARY_LANES = 48  # lanes that a folded process is drawn from: its busiest
_DEEP_TRACK_LANES = (
    12  # a track with more lanes is opened for want of other rows only where all there is has room
)
SPARED = 7  # rows that stay free for what else can be told of the view; of few rows a quarter
# of the trace's length: lanes below the last that covers more get no row unless a person asks for
# one
_MIN_LANE_SHARE = 0.01


# An outermost lane with fewer events than this part of the fullest one only brackets the others: a
# call around a loop of twenty (chosen, not measured).
_MIN_TELLING_PART = 20
_PROCESS_ORDER = (ProcessKind.DEVICE, ProcessKind.HOST, ProcessKind.OTHER, ProcessKind.META)


class RowKind(enum.Enum):
    PROCESS = "process"
    LANE = "lane"
    MORE = "more"


@dataclass(frozen=True)
class TrackInfo:
    """A track with its place: `number` counts the tracks of `Trace.tracks()`."""

    number: int
    process_number: int
    process: Process
    track: Track

    @property
    def id(self) -> str:
        """A name that stays while a trace grows."""
        return f"{self.process.name}\0{self.track.name}\0{self.track.key}"


@dataclass(frozen=True)
class Row:
    """One line of the timeline.

    `lanes` are forest lanes: one for a lane, several for a folded process, none for text.
    """

    kind: RowKind
    process: int
    label: str
    track: int = -1
    depth: int = 0
    lanes: tuple[int, ...] = ()
    folded: bool | None = None  # None: nothing to unfold
    note: str = ""  # what a row without lanes says in its cells


@dataclass(frozen=True)
class Folds:
    """What a person folded and unfolded, by id, and how many rows there is room for."""

    processes: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()  # tracks
    closed: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()  # processes whose quiet tracks are shown
    room: int = 0

    def toggled_process(self, name: str) -> Folds:
        return replace(self, processes=self.processes ^ {name})

    def with_track(self, track_id: str, *, opened: bool) -> Folds:
        """A track open, or as one row, whatever the default is."""
        track_ids = frozenset((track_id,))
        if opened:
            return replace(
                self,
                opened=self.opened | track_ids,
                closed=self.closed - track_ids,
            )
        return replace(
            self,
            opened=self.opened - track_ids,
            closed=self.closed | track_ids,
        )

    def toggled_quiet(self, name: str) -> Folds:
        return replace(self, quiet=self.quiet ^ {name})


@dataclass(frozen=True)
class _Plan:
    """What of a process is shown."""

    number: int
    infos: list[TrackInfo]
    shown: list[TrackInfo]
    quiet: list[TrackInfo]
    opened: set[int]  # tracks, by number
    folded: bool
    asked: bool  # a person asked for the quiet ones
    # how many lanes are shown of a track that has no room for all of them
    partly: dict[int, int] = field(default_factory=dict)


NO_FOLDS = Folds()


@dataclass(frozen=True, eq=False)
class RowModel:
    """The rows of a trace under some folds, and what the default is."""

    trace: Trace
    forest: Forest
    tracks: tuple[TrackInfo, ...] = ()
    # the last few answers: every key asks
    _known: dict[Folds, tuple[Row, ...]] = field(default_factory=dict)
    # of a track: the lanes that cover more than hardly any time
    _telling: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def from_trace(cls, trace: Trace, forest: Forest) -> RowModel:
        infos: list[TrackInfo] = []
        for p, process in enumerate(trace.processes):
            for track in process.tracks:
                infos.append(
                    TrackInfo(number=len(infos), process_number=p, process=process, track=track)
                )
        return cls(trace, forest, tuple(infos))

    def rows(self, folds: Folds) -> tuple[Row, ...]:
        """All rows, from top to bottom."""
        rows = self._known.get(folds)
        if rows is None:
            if len(self._known) > 8:
                self._known.clear()
            rows = self._known[folds] = self._rows(folds)
        return rows

    def _rows(self, folds: Folds) -> tuple[Row, ...]:
        processes = sorted(
            range(len(self.trace.processes)),
            key=lambda number: _PROCESS_ORDER.index(self.trace.processes[number].kind),
        )
        tracks: dict[int, list[TrackInfo]] = {}
        for info in self.tracks:
            if len(info.track.events):
                tracks.setdefault(info.process_number, []).append(info)
        plans = []
        for number in processes:
            if number in tracks:
                plans.append(self._plan(number, tracks[number], folds))
        self._fill(plans, folds)
        rows: list[Row] = []
        for plan in plans:
            rows += self._process_rows(plan)
        return tuple(rows)

    def _plan(
        self,
        number: int,
        infos: list[TrackInfo],
        folds: Folds,
    ) -> _Plan:
        process = self.trace.processes[number]
        shown, quiet = self.split(process, infos)
        asked = process.name in folds.quiet
        if asked:
            shown = shown + quiet
            quiet = []
        opened = self.open_by_default(process, shown)
        for info in shown:
            if info.id in folds.opened:
                opened.add(info.number)
            if info.id in folds.closed:
                opened.discard(info.number)
        return _Plan(
            number=number,
            infos=infos,
            shown=shown,
            quiet=quiet,
            opened=opened,
            folded=process.name in folds.processes,
            asked=asked,
        )

    def _fill(self, plans: list[_Plan], folds: Folds) -> None:
        """Rows that would stay empty: quiet tracks come out first, one row each, then tracks unfold
        as far as their lanes tell something. The last rows are left to what else can be told of the
        view.
        """
        used = sum(self._height(plan) for plan in plans)
        free = folds.room - used - min(SPARED, folds.room // 4)
        live = [plan for plan in plans if not plan.folded]
        hidden = sum(len(plan.quiet) - 1 for plan in live if plan.quiet)  # the row "more" goes
        spare = free
        for plan in live:
            spare -= _show_quiet(plan, spare)
        if spare <= 0:
            return
        inner = self._unfoldable(live, folds)
        everything_fits = hidden + sum(len(depths) - 1 for _, _, depths in inner) <= free
        for info, plan, depths in inner:
            rows = len(depths) - 1
            is_small = everything_fits or rows < _DEEP_TRACK_LANES
            all_tell = depths == _depths(info.track)
            if 0 < rows <= spare and is_small and all_tell:
                plan.opened.add(info.number)
                spare -= rows
        for info, plan, depths in inner:
            if info.number in plan.opened:
                continue
            telling_depth = self.telling_depth(info.track)
            rows = min(spare, sum(depth > telling_depth for depth in depths))
            if rows > 0:
                plan.partly[info.number] = 1 + rows
                spare -= rows

    def _unfoldable(
        self,
        plans: list[_Plan],
        folds: Folds,
    ) -> list[tuple[TrackInfo, _Plan, list[int]]]:
        """Tracks of one row that have more lanes, with those that are worth a row."""
        inner = []
        for plan in plans:
            for info in plan.shown:
                is_open = info.number in plan.opened
                if not is_open and info.id not in folds.closed and len(_depths(info.track)) > 1:
                    inner.append((info, plan, self._worth(info)))
        return inner

    def _worth(self, info: TrackInfo) -> list[int]:
        """The lanes of a track down to the last that covers more than hardly any time."""
        depths = self._telling.get(info.number)
        if depths is None:
            depths = self._telling[info.number] = self._telling_depths(info)
        return depths

    def _telling_depths(self, info: TrackInfo) -> list[int]:
        """The depths down to the last that shows something: deeper ones are empty at this size."""
        depths = _depths(info.track)
        if not depths:
            return depths
        lo, hi = self.trace.span
        edges = np.array([lo, hi + 1], np.int64)
        lanes = [self.forest.lane_number(info.number, depth) for depth in depths]
        busy = self.forest.frame(edges, lanes).busy[:, 0]
        min_busy = _MIN_LANE_SHARE * (hi + 1 - lo)
        busy_lanes = np.flatnonzero(busy >= min_busy)
        if not len(busy_lanes):
            return depths[:1]
        return depths[: int(busy_lanes[-1]) + 1]

    @staticmethod
    def _height(plan: _Plan) -> int:
        """How many rows a process takes."""
        rows = 1
        if plan.folded:
            return rows
        for info in plan.shown:
            rows += len(_depths(info.track)) if info.number in plan.opened else 1
        if plan.quiet or plan.asked:
            rows += 1
        return rows

    def _process_rows(self, plan: _Plan) -> list[Row]:
        infos = plan.infos
        process = self.trace.processes[plan.number]
        events = sum(len(info.track.events) for info in infos)
        lines = "line" if len(infos) == 1 else "lines"
        heading = Row(
            kind=RowKind.PROCESS,
            process=plan.number,
            label=plain(process.name, 200),
            lanes=self.summary(infos) if plan.folded else (),
            folded=plan.folded,
            note=f" {len(infos)} {lines}, {events:,} events",
        )
        rows = [heading]
        if plan.folded:
            return rows
        for info in plan.shown:
            rows += self._track_rows(plan, info)
        if plan.quiet:
            note = " hidden lines: Enter shows them"
            text = f"{len(plan.quiet)} more"
            rows.append(
                Row(
                    kind=RowKind.MORE,
                    process=plan.number,
                    label=text,
                    folded=True,
                    note=note,
                )
            )
        elif plan.asked:
            note = " Enter hides these lines again"
            rows.append(
                Row(
                    kind=RowKind.MORE,
                    process=plan.number,
                    label="fewer",
                    folded=False,
                    note=note,
                )
            )
        return rows

    def _track_rows(self, plan: _Plan, info: TrackInfo) -> list[Row]:
        """A row for each lane of an open track; of others the lane that stands for it, and as many
        below it as have room.
        """
        track = info.track
        all_depths = _depths(track)
        is_open = info.number in plan.opened
        depths = all_depths
        if not is_open:
            telling_depth = self.telling_depth(track)
            count = plan.partly.get(info.number, 1)
            depths = [depth for depth in all_depths if depth >= telling_depth][:count]
        label = plain(track.name, 200) or f"line {track.key}"
        folded = not is_open if len(all_depths) > 1 else None
        rows = []
        for depth in depths:
            lane = self.forest.lane_number(info.number, depth)
            rows.append(
                Row(
                    kind=RowKind.LANE,
                    process=plan.number,
                    label=label,
                    track=info.number,
                    depth=depth,
                    lanes=(lane,),
                    folded=folded,
                )
            )
            # Only the first row of a track has its name and its fold mark.
            label = ""
            folded = None
        return rows

    def split(
        self,
        process: Process,
        infos: list[TrackInfo],
    ) -> tuple[list[TrackInfo], list[TrackInfo]]:
        """What is shown, and what hides behind "more"."""
        if process.kind is ProcessKind.DEVICE:
            quiet = [info for info in infos if info.track.kind is TrackKind.STEPS]
            shown = [info for info in infos if info.track.kind is not TrackKind.STEPS]
            if shown:
                return (shown, quiet)
            return (quiet, [])
        # Time alone would hide a pool of workers with a hundred thousand short ops behind a main
        # thread that brackets it all.
        busiest = max(1, max(self.forest.track_busy(info.number) for info in infos))
        max_events = max(len(info.track.events) for info in infos)

        def weight(info: TrackInfo) -> float:
            busy_share = self.forest.track_busy(info.number) / busiest
            return busy_share + len(info.track.events) / max_events

        ranked = sorted(infos, key=weight, reverse=True)
        count = sum(weight(info) >= _MIN_BUSY_SHARE for info in ranked[:SHOWN_THREADS])
        return ranked[:count], ranked[count:]

    def open_by_default(self, process: Process, shown: list[TrackInfo]) -> set[int]:
        """Tracks that show their nesting at once: of a device all that are shallow, of a host as
        many as fit a small screen.
        """
        opened = set()
        rows = len(shown)
        is_device = process.kind is ProcessKind.DEVICE
        for info in shown:
            lanes = info.track.lane_count
            has_room = is_device or rows + lanes - 1 <= OPEN_ROWS
            if lanes <= _OPEN_LANES and has_room:
                opened.add(info.number)
                rows += lanes - 1
        return opened

    @staticmethod
    def telling_depth(track: Track) -> int:
        """The lane that stands for a folded track: the outermost that is more than a bracket around
        the others.
        """
        sizes = np.diff(track.lanes).tolist()
        max_events = max(sizes, default=0)
        for depth, events in enumerate(sizes):
            if events * _MIN_TELLING_PART >= max_events:
                return depth
        return 0

    def summary(self, infos: list[TrackInfo]) -> tuple[int, ...]:
        """The lanes that a folded process is drawn from."""
        recorded = [info for info in infos if not info.track.derived] or infos
        busiest_first = sorted(recorded, key=lambda info: -self.forest.track_busy(info.number))
        lanes = []
        for info in busiest_first[:_SUMMARY_LANES]:
            depth = self.telling_depth(info.track)
            lanes.append(self.forest.lane_number(info.number, depth))
        return tuple(lanes)


def _show_quiet(plan: _Plan, spare: int) -> int:
    """Show as many quiet tracks of a process as have room; how many more rows that takes."""
    if not plan.quiet:
        return 0
    count = max(0, spare)
    rows = count
    if len(plan.quiet) - 1 <= spare:
        count = len(plan.quiet)
        rows = count - 1  # all of them: the row that says "more" goes
    plan.shown.extend(plan.quiet[:count])
    del plan.quiet[:count]
    return rows


def _depths(track: Track) -> list[int]:
    """The lanes of a track that hold something."""
    return [d for d in range(track.lane_count) if track.lanes[d + 1] > track.lanes[d]]
