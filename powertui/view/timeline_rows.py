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
            return replace(self, opened=self.opened | track_ids, closed=self.closed - track_ids)
        return replace(self, opened=self.opened - track_ids, closed=self.closed | track_ids)

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
    partly: dict[int, int] = field(
        default_factory=dict
    )  # how many lanes are shown of a track that has no room for all of them


NO_FOLDS = Folds()


@dataclass(frozen=True, eq=False)
class RowModel:
    """The rows of a trace under some folds, and what the default is."""

    trace: Trace
    forest: Forest
    tracks: tuple[TrackInfo, ...] = ()
    _known: dict[Folds, tuple[Row, ...]] = field(
        default_factory=dict
    )  # the last few answers: every key asks
    _telling: dict[int, list[int]] = field(
        default_factory=dict
    )  # of a track: the lanes that cover more than hardly any time

    @classmethod
    def from_trace(cls, trace: Trace, forest: Forest) -> RowModel:
        infos: list[TrackInfo] = []
        for p, process in enumerate(trace.processes):
            for track in process.tracks:
                infos.append(TrackInfo(len(infos), p, process, track))
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
        order = {
            ProcessKind.DEVICE: 0,
            ProcessKind.HOST: 1,
            ProcessKind.OTHER: 2,
            ProcessKind.META: 3,
        }
        processes = sorted(
            range(len(self.trace.processes)), key=lambda p: order[self.trace.processes[p].kind]
        )
        plans = []
        for p in processes:
            infos = [
                info for info in self.tracks if info.process_number == p and len(info.track.events)
            ]
            if infos:
                plans.append(self._plan(p, infos, folds))
        self._fill(plans, folds)
        out: list[Row] = []
        for plan in plans:
            self._process(out, plan)
        return tuple(out)

    def _plan(self, p: int, infos: list[TrackInfo], folds: Folds) -> _Plan:
        process = self.trace.processes[p]
        shown, quiet = self.split(process, infos)
        asked = process.name in folds.quiet
        if asked:
            shown = shown + quiet
            quiet = []
        opened = self.open_by_default(process, shown)
        opened |= {info.number for info in shown if info.id in folds.opened}
        opened -= {info.number for info in shown if info.id in folds.closed}
        return _Plan(p, infos, shown, quiet, opened, process.name in folds.processes, asked)

    def _fill(self, plans: list[_Plan], folds: Folds) -> None:
        """Rows that would stay empty: quiet tracks come out first, one row each, then tracks unfold
        as far as their lanes tell something. The last rows are left to what else can be told of the
        view.
        """
        live = [plan for plan in plans if not plan.folded]
        spare = free = (
            folds.room - sum(self._height(plan) for plan in plans) - min(SPARED, folds.room // 4)
        )
        hidden = sum(
            len(plan.quiet) - 1 for plan in live if plan.quiet
        )  # the row that says "more" goes
        for plan in live:
            count = len(plan.quiet) if len(plan.quiet) - 1 <= spare else max(0, spare)
            if count:
                spare -= count - (count == len(plan.quiet))
                plan.shown.extend(plan.quiet[:count])
                del plan.quiet[:count]
        if spare <= 0:
            return
        inner = [
            (info, plan, self._worth(info))
            for plan in live
            for info in plan.shown
            if info.number not in plan.opened
            and info.id not in folds.closed
            and len(_depths(info.track)) > 1
        ]
        everything = hidden + sum(len(depths) - 1 for _, _, depths in inner) <= free
        for info, plan, depths in inner:
            rows = len(depths) - 1
            if (
                0 < rows <= spare
                and (everything or rows < _DEEP_TRACK_LANES)
                and depths == _depths(info.track)
            ):
                plan.opened.add(info.number)
                spare -= rows
        for info, plan, depths in inner:
            rows = min(spare, sum(depth > self.telling_depth(info.track) for depth in depths))
            if rows > 0 and info.number not in plan.opened:
                plan.partly[info.number] = 1 + rows
                spare -= rows

    def _worth(self, info: TrackInfo) -> list[int]:
        """The lanes of a track down to the last that covers more than hardly any time."""
        answer = self._telling.get(info.number)
        if answer is not None:
            return answer
        depths = _depths(info.track)
        lo, hi = self.trace.span
        lanes = [self.forest.lane_number(info.number, depth) for depth in depths]
        busy = (
            self.forest.frame(np.array([lo, hi + 1], np.int64), lanes).busy[:, 0]
            if lanes
            else np.empty(0)
        )
        busy_lanes = np.flatnonzero(busy >= _MIN_LANE_SHARE * (hi + 1 - lo))
        last = int(busy_lanes[-1]) if len(busy_lanes) else 0
        answer = self._telling[info.number] = depths[: last + 1]
        return answer

    @staticmethod
    def _height(plan: _Plan) -> int:
        """How many rows a process takes."""
        if plan.folded:
            return 1
        tracks = sum(
            len(_depths(info.track)) if info.number in plan.opened else 1 for info in plan.shown
        )
        return 1 + tracks + bool(plan.quiet or plan.asked)

    def _process(self, out: list[Row], plan: _Plan) -> None:
        p = plan.number
        infos = plan.infos
        quiet = plan.quiet
        process = self.trace.processes[p]
        events = sum(len(info.track.events) for info in infos)
        lines = "line" if len(infos) == 1 else "lines"
        out.append(
            Row(
                RowKind.PROCESS,
                p,
                plain(process.name, 200),
                lanes=self.summary(infos) if plan.folded else (),
                folded=plan.folded,
                note=f" {len(infos)} {lines}, {events:,} events",
            )
        )
        if plan.folded:
            return
        for info in plan.shown:
            self._track(
                out,
                p,
                info,
                is_open=info.number in plan.opened,
                lanes=plan.partly.get(info.number, 1),
            )
        if quiet or plan.asked:
            text = f"{len(quiet)} more" if quiet else "fewer"
            note = " hidden lines: Enter shows them" if quiet else " Enter hides these lines again"
            out.append(Row(RowKind.MORE, p, text, folded=bool(quiet), note=note))

    def _track(self, out: list[Row], p: int, info: TrackInfo, *, is_open: bool, lanes: int) -> None:
        track = info.track
        depths = _depths(track)
        label = plain(track.name, 200) or f"line {track.key}"
        if not is_open:
            telling = self.telling_depth(track)
            for depth in [d for d in depths if d >= telling][:lanes]:
                head = depth == telling
                out.append(
                    Row(
                        RowKind.LANE,
                        p,
                        label if head else "",
                        info.number,
                        depth,
                        (self.forest.lane_number(info.number, depth),),
                        folded=True if head and len(depths) > 1 else None,
                    )
                )
            return
        for depth in depths:
            head = depth == depths[0]
            out.append(
                Row(
                    RowKind.LANE,
                    p,
                    label if head else "",
                    info.number,
                    depth,
                    (self.forest.lane_number(info.number, depth),),
                    folded=False if head and len(depths) > 1 else None,
                )
            )

    def split(
        self, process: Process, infos: list[TrackInfo]
    ) -> tuple[list[TrackInfo], list[TrackInfo]]:
        """What is shown, and what hides behind "more"."""
        if process.kind is ProcessKind.DEVICE:
            quiet = [i for i in infos if i.track.kind is TrackKind.STEPS]
            shown = [i for i in infos if i.track.kind is not TrackKind.STEPS]
            return (shown, quiet) if shown else (quiet, [])
        # Time alone would hide a pool of workers with a hundred thousand short ops behind a main
        # thread that brackets it all.
        busiest = max(1, max(self.forest.track_busy(i.number) for i in infos))
        most = max(len(i.track.events) for i in infos)
        weight = {
            i.number: self.forest.track_busy(i.number) / busiest + len(i.track.events) / most
            for i in infos
        }
        ranked = sorted(infos, key=lambda info: -weight[info.number])
        shown = [info for info in ranked[:SHOWN_THREADS] if weight[info.number] >= _MIN_BUSY_SHARE]
        return shown, ranked[len(shown) :]

    def open_by_default(self, process: Process, shown: list[TrackInfo]) -> set[int]:
        """Tracks that show their nesting at once: of a device all that are shallow, of a host as
        many as fit a small screen.
        """
        opened = set()
        rows = len(shown)
        for info in shown:
            extra = info.track.lane_count - 1
            if info.track.lane_count <= _OPEN_LANES and (
                process.kind is ProcessKind.DEVICE or rows + extra <= OPEN_ROWS
            ):
                opened.add(info.number)
                rows += extra
        return opened

    @staticmethod
    def telling_depth(track: Track) -> int:
        """The lane that stands for a folded track: the outermost that is more than a bracket around
        the others.
        """
        sizes = [int(track.lanes[d + 1] - track.lanes[d]) for d in range(track.lane_count)]
        most = max(sizes, default=0)
        return next((depth for depth, size in enumerate(sizes) if size * 20 >= most), 0)

    def summary(self, infos: list[TrackInfo]) -> tuple[int, ...]:
        """The lanes that a folded process is drawn from."""
        real = [info for info in infos if not info.track.derived] or infos
        ranked = sorted(real, key=lambda info: -self.forest.track_busy(info.number))[
            :_SUMMARY_LANES
        ]
        return tuple(
            self.forest.lane_number(info.number, self.telling_depth(info.track)) for info in ranked
        )


def _depths(track: Track) -> list[int]:
    """The lanes of a track that hold something."""
    return [d for d in range(track.lane_count) if track.lanes[d + 1] > track.lanes[d]]
