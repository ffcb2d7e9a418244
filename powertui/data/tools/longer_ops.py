"""Which ops ran long in a stretch, and how long the same ones ran in others like it.

Of very many names hardly any run long. So all are added up in the stretch alone, and the few that
matter are looked for in the others, in one walk over the lanes for all of these. A name counts by
the text that is displayed: a file may number one text many times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from powertui.data import texts
from powertui.data.model import Int32s, Int64s, Names, Trace, Track
from powertui.data.sorted_columns import begins_run
from powertui.data.tools import op_sums, replicas, thread_time
from powertui.data.tools.replicas import without_replica
from powertui.data.window import rows_of_windows
from powertui.named_tuples import NamedTuple

# Stretches that are compared with the one that was asked for; of more only so many, evenly spread.
# Chosen, not measured.
MAX_COMPARED_STRETCHES = 32

_CHUNK_EVENTS = 1 << 16  # events looked at together, as in op_sums


class _LongOp(NamedTuple):
    """An op that ran long: its self time, and its numbers among the names of the trace."""

    ran_ps: int
    names: list[int]


class LongerOps:
    """Asked about many stretches of one trace: what is known of its names is worked out once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __call__(
        self,
        lo: int,
        hi: int,
        others: Sequence[tuple[int, int]],
        least_ps: float,
    ) -> Mapping[str, tuple[int, Sequence[int]]]:
        """Self time (ps) of each op that ran longer than that in [lo, hi), and of the same op in
        each of the others.
        """
        here = self._here(lo, hi, least_ps)
        if not here:
            return {}
        code = np.full(len(self._trace.names), -1, np.int32)
        for number, op in enumerate(here.values()):
            code[op.names] = number
        windows = _spread(others)
        there = self._there(code, len(here), windows)
        times = {}
        for (text, op), elsewhere_ps in zip(here.items(), there.tolist(), strict=True):
            times[text] = (op.ran_ps, elsewhere_ps)
        return times

    @cached_property
    def _names(self) -> _NamesByText:
        return _NamesByText(self._trace.names)

    def _here(self, lo: int, hi: int, least_ps: float) -> dict[str, _LongOp]:
        """The ops that ran longer than that, by their texts."""
        parts: list[op_sums.OpSums] = []
        for number, process in enumerate(self._trace.processes):
            sums = op_sums.summed(process, number, lo, hi)
            if sums is not None:
                parts.append(sums)
        if not parts:
            return {}
        name = np.concatenate([sums.name for sums in parts])
        ran = np.concatenate([sums.self_time for sums in parts])
        group = self._names.group[name]
        # Twins of one text are added before any of them is held against the limit.
        ran_by_group = op_sums.exact(group, ran, len(self._names))
        is_long = ran_by_group > least_ps
        ops: dict[str, _LongOp] = {}
        for row in np.flatnonzero(is_long[group]).tolist():
            display = self._trace.names.display(int(name[row]))
            text = without_replica(display)
            ran_ps = int(ran[row])
            op = ops.get(text)
            if op is None:
                names = self._names.called(text, int(group[row]))
                ops[text] = _LongOp(ran_ps, names)
            else:
                ops[text] = op._replace(ran_ps=op.ran_ps + ran_ps)
        # A group may hold several texts, none of which ran long by itself.
        long_ops = {}
        for text, op in ops.items():
            if op.ran_ps > least_ps:
                long_ops[text] = op
        return long_ops

    def _there(self, code: Int32s, size: int, windows: Int64s) -> Int64s:
        """[ops × windows]: self time of the names that have a code."""
        times_ps = np.zeros((size, len(windows)), np.int64)
        for process in self._trace.processes:
            threads = thread_time.framed_threads(process)
            for track in thread_time.other_lines(process, threads):
                if op_sums.counts(track):
                    _add_line(times_ps, track, code, windows)
            for thread in threads:
                for window, (lo, hi) in enumerate(windows.tolist()):
                    times = thread.inside(lo, hi)
                    op = code[times.name]
                    rows = np.flatnonzero(op >= 0)
                    self_time = times.self_time[rows]
                    times_ps[:, window] += op_sums.exact(op[rows], self_time, size)
        return times_ps


def _spread(windows: Sequence[tuple[int, int]]) -> Int64s:
    """[windows × (lo, hi)]: all of these, or as many as are compared, evenly spread."""
    columns: Int64s = np.array(windows, np.int64).reshape(-1, 2)
    if len(columns) <= MAX_COMPARED_STRETCHES:
        return columns
    last_row = len(columns) - 1
    even_places = np.linspace(0, last_row, MAX_COMPARED_STRETCHES)
    even_rows = even_places.round().astype(int)
    return np.asarray(columns[even_rows])


def _add_line(times_ps: Int64s, track: Track, code: Int32s, windows: Int64s) -> None:
    """Add the self times of one line to [ops × windows]."""
    starts, ends = windows.T
    for depth in range(track.lane_count):
        lane_begin = int(track.lanes[depth])
        lane = track.lane(depth)
        firsts, lasts = rows_of_windows(lane, starts, ends)
        for window in np.flatnonzero(firsts < lasts).tolist():
            first = int(firsts[window]) + lane_begin
            last = int(lasts[window]) + lane_begin
            lo, hi = windows[window].tolist()
            for begin in range(first, last, _CHUNK_EVENTS):
                chunk = slice(begin, min(begin + _CHUNK_EVENTS, last))
                op, self_time = _self_times(
                    track=track,
                    depth=depth,
                    code=code,
                    chunk=chunk,
                    lo=lo,
                    hi=hi,
                )
                times_ps[:, window] += op_sums.exact(op, self_time, len(times_ps))


def _self_times(
    track: Track,
    depth: int,
    code: Int32s,
    chunk: slice,
    lo: int,
    hi: int,
) -> tuple[Int32s, Int64s]:
    """(op, self time in [lo, hi)) of those events of a chunk of a lane whose name has a code."""
    op_of_event = code[track.events.name[chunk]]
    rows = np.flatnonzero(op_of_event >= 0)
    rows_of_line = rows + chunk.start
    start, end = op_sums.inside(track.events[rows_of_line], lo, hi)
    self_time = end - start
    if len(rows) and depth + 1 < track.lane_count:
        self_time -= op_sums.covered(track.lane(depth + 1), start, end)
    return op_of_event[rows], self_time


class _NamesByText:
    """All names of a trace, those brought together whose displayed texts have the same mark
    without the scope of their replica.

    The texts decide who is alike.
    """

    def __init__(self, names: Names) -> None:
        self._all = names
        marks = np.empty(len(names), np.uint64)
        for begin in range(0, len(names), texts.BATCH):
            end = min(begin + texts.BATCH, len(names))
            batch = np.arange(begin, end)
            shown = texts.displayed(names, batch)
            marks[batch] = shown.marks()
            scoped = np.flatnonzero(shown.contain(replicas.SCOPE))
            if len(scoped):
                without_scope = replicas.all_without_replica(shown.take(scoped))
                marks[batch[scoped]] = without_scope.marks()
        order = np.argsort(marks, kind="stable")
        is_first = begins_run(marks[order])
        first_rows = np.flatnonzero(is_first)
        # Group by group: its names are _order[_first[group] : _first[group + 1]].
        self._order = order.astype(np.int32)
        self._first = np.append(first_rows, len(order))
        self.group = np.empty(len(order), np.int32)
        self.group[order] = np.cumsum(is_first) - 1

    def __len__(self) -> int:
        """How many groups."""
        return len(self._first) - 1

    def called(self, text: str, group: int) -> list[int]:
        """The names of a group that are displayed as this text, whatever the replica."""
        first = self._first[group]
        after_last = self._first[group + 1]
        names = []
        for name in self._order[first:after_last].tolist():
            display = self._all.display(name)
            if without_replica(display) == text:
                names.append(name)
        return names
