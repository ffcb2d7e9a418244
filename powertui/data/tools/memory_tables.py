"""The tables of `memory_profile`: at the peak, alive at a moment, by allocator, every event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data.columns import (
    Column,
    Field,
    Lazy,
    columns_of,
    floats_or_nan,
    int_column,
    text_column,
)
from powertui.data.model import Floats, Int64s
from powertui.data.model.allocations import AllocatorLog, MemorySegments
from powertui.data.table import Place, Table
from powertui.data.tools import memory_peak
from powertui.data.tools.allocation_views import AllocatorView
from powertui.data.tools.memory_peak import PeakRow
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.tools.memory_profile import AllocatorPeak

_MAX_OP_CHARS = 200  # of an op in a table


def tables(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> tuple[Table, ...]:
    """All tables, the breakdown at the peak first."""
    return (
        _peak_table(question, peaks, empty),
        _alive_table(question, peaks, empty),
        _allocator_table(question, peaks, empty),
        _event_table(question, peaks, empty),
        *_segment_tables(question, peaks),
    )


# ── at the peak ──


class _InPeak(NamedTuple):
    """A row of one allocator's peak."""

    allocator: str
    row: PeakRow
    at_ps: int
    place: Place | None


def _peak_table(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> Table:
    rows = []
    for view, peak, peak_rows in peaks:
        if peak is None:
            continue
        at_ps = int(view.log.times[peak.event])
        for row in peak_rows:
            place = Place(question.opened.name, question.host, at_ps, at_ps + 1)
            if row.event >= 0:
                place = _place(question, view, row.event)
            rows.append(_InPeak(view.log.allocator, row, at_ps, place))
    rows.sort(key=lambda each: -each.row.total)
    fields: tuple[Field[_InPeak], ...] = (
        Field("op", "op", "text", lambda each: plain(each.row.op, _MAX_OP_CHARS), weight=10),
        Field(
            "total_bytes", "bytes", "number",
            lambda each: float(each.row.total), "B", 9,
        ),
        Field("occurrences", "count", "integer", lambda each: each.row.occurrences, weight=8),
        Field("bytes", "each", "number", lambda each: _each(each.row), "B", 5),
        Field("requested_bytes", "requested each", "number", lambda e: e.row.requested, "B", 3),
        Field("region", "region", "text", lambda each: plain(each.row.region, 40), weight=6),
        Field("dtype", "type", "text", lambda each: plain(each.row.dtype, 80), weight=4),
        Field("shape", "shape", "text", lambda each: plain(each.row.shape, 120), weight=6),
        Field(
            "allocator", "allocator", "text",
            lambda each: plain(each.allocator, 60), weight=_allocator_weight(peaks, 7),
        ),
        Field("peak_s", "peak at", "instant", lambda each: each.at_ps, weight=2),
    )  # fmt: skip
    return Table(
        id="peak",
        title="At the peak",
        columns=_with_known_texts(columns_of(rows, fields)),
        place=lambda row: rows[row].place,
        order=("total_bytes", True),
        empty=_why(question, peaks, empty),
        key=("allocator", "op", "region", "dtype", "shape", "bytes"),
        noun="kind",
    )


def _with_known_texts(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns; those of which no row has a text take no room on a screen."""
    return tuple(
        replace(column, present=np.zeros(len(column), np.bool_))
        if column.kind == "text" and not any(column.values)
        else column
        for column in columns
    )


def _allocator_weight(peaks: Sequence[AllocatorPeak], of_several: int) -> int:
    """The name of the only allocator is in the facts above the table."""
    return of_several if len(peaks) > 1 else 1


def _each(row: PeakRow) -> float | None:
    """Bytes of one allocation; None where they differ."""
    if row.size >= 0:
        return float(row.size)
    return None


# ── alive ──


class _Alive(NamedTuple):
    """An allocation that is alive at the moment asked."""

    view: AllocatorView
    row: PeakRow
    since_ps: int
    until_ps: int | None


def _alive_table(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> Table:
    rows = []
    moment: int | None = None
    for view, peak, _ in peaks:
        moment = _asked_moment(question)
        if moment is None:
            if peak is None:
                continue
            moment = int(view.log.times[peak.event])
        for event, end in view.alive(moment):
            since = int(view.log.times[event])
            if end >= 0:
                until = int(view.log.times[end])
            else:
                until = None
            rows.append(_Alive(view, view.row(event), since, until))
    rows.sort(key=lambda each: -each.row.size)
    fields: tuple[Field[_Alive], ...] = (
        Field("op", "op", "text", lambda each: plain(each.row.op, _MAX_OP_CHARS), weight=10),
        Field("bytes", "bytes", "number", lambda each: float(each.row.size), "B", 9),
        Field("since_s", "since", "instant", lambda each: each.since_ps, weight=8),
        Field("until_s", "freed at", "instant", lambda each: each.until_ps, weight=7),
        Field("region", "region", "text", lambda each: plain(each.row.region, 40), weight=4),
        Field("dtype", "type", "text", lambda each: plain(each.row.dtype, 80), weight=3),
        Field("shape", "shape", "text", lambda each: plain(each.row.shape, 120), weight=4),
        Field(
            "allocator", "allocator", "text",
            lambda each: plain(each.view.log.allocator, 60), weight=_allocator_weight(peaks, 5),
        ),
        Field("address", "address", "text", _address, weight=1),
    )  # fmt: skip
    if _asked_moment(question) is None:
        title = "Alive at the peak"
    else:
        title = f"Alive at {units.instant(_asked_moment(question) or 0, 1_000_000_000)}"
    return Table(
        id="alive",
        title=title,
        columns=_with_known_texts(columns_of(rows, fields)),
        place=lambda row: _place(question, rows[row].view, rows[row].row.event),
        order=("bytes", True),
        empty=_nothing_alive(peaks, empty),
        key=("allocator", "address", "since_s"),
        noun="allocation",
    )


def _asked_moment(question: Question) -> int | None:
    """The moment that is asked about: that of the cursor, else the end of the window; None: the
    peak.
    """
    if question.moment is not None:
        return question.moment
    return question.hi


def _nothing_alive(peaks: Sequence[AllocatorPeak], empty: str) -> str:
    if not peaks:
        return empty
    return "Of what is alive at this moment, nothing was allocated within the profile."


def _address(each: _Alive) -> str:
    return _hex(int(each.view.log.address[each.row.event]))


def _hex(address: int) -> str:
    return hex(address & (1 << 64) - 1)


# ── allocators ──


def _allocator_table(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> Table:
    lo, hi = question.window
    at_peak = [None if each.peak is None else each.peak.event for each in peaks]
    logs = [each.view.log for each in peaks]
    inside = [each.view.inside(lo, hi) for each in peaks]

    def of_peak(name: str) -> list[float]:
        return [
            np.nan if event is None else float(getattr(log, name)[event])
            for log, event in zip(logs, at_peak, strict=True)
        ]

    in_use = np.array(of_peak("in_use"), np.float64)
    free = np.array(of_peak("free"), np.float64)
    known = np.array([event is not None for event in at_peak], np.bool_)
    when = [
        0 if event is None else int(log.times[event])
        for log, event in zip(logs, at_peak, strict=True)
    ]
    # TensorFlow's free memory is what the allocator may still take; PyTorch's is what it reserved.
    limits = np.array([log.reserved_beside for log in logs], np.bool_)
    capacity = np.where(limits, in_use + free, np.nan)
    ends = [
        float(log.in_use[rows[-1]]) if len(rows) else np.nan for log, rows in _pairs(logs, inside)
    ]
    taken = [int(log.taken[rows].sum()) for log, rows in _pairs(logs, inside)]
    given_back = [int((~log.taken[rows]).sum()) for log, rows in _pairs(logs, inside)]
    lifetimes = [memory_peak.lifetime_peak(log, question.compat) for log in logs]

    def place(row: int) -> Place | None:
        event = at_peak[row]
        if event is None:
            return None
        return _place(question, peaks[row].view, event)

    columns = (
        text_column(
            "allocator", "allocator", [plain(log.allocator, 60) for log in logs], weight=10
        ),
        _bytes("peak_bytes", "peak", in_use, 9),
        int_column("peak_s", "peak at", "instant", when, present=known, weight=8),
        _bytes("lifetime_peak_bytes", "lifetime peak", floats_or_nan(lifetimes), 7),
        _bytes("allocated_bytes", "allocated", np.array(of_peak("allocated")), 3),
        _bytes("reserved_bytes", "reserved", np.array(of_peak("reserved")), 5),
        _bytes("free_bytes", "free", free, 5),
        Column(
            id="fragmentation",
            label="fragmentation",
            kind="share",
            values=np.array(of_peak("fragmentation")),
            weight=4,
        ),
        _bytes("capacity_bytes", "capacity", capacity, 6),
        _bytes("end_bytes", "at the end", np.array(ends, np.float64), 4),
        int_column("allocations", "allocations", "integer", taken, weight=3),
        int_column("deallocations", "freed", "integer", given_back, weight=3),
    )
    return Table(
        id="allocators",
        title="Allocators, at their peak",
        columns=columns,
        place=place,
        order=("peak_bytes", True),
        empty=empty,
        key=("allocator",),
        noun="allocator",
    )


def _pairs(logs: list[AllocatorLog], inside: list[Int64s]) -> list[tuple[AllocatorLog, Int64s]]:
    return list(zip(logs, inside, strict=True))


def _bytes(id: str, label: str, values: Floats, weight: int) -> Column:
    return Column(id, label, "number", values.astype(np.float64), "B", weight=weight)


# ── segments ──


class _OfSegment(NamedTuple):
    """A segment of one allocator."""

    allocator: str
    segments: MemorySegments
    row: int


def _segment_tables(question: Question, peaks: Sequence[AllocatorPeak]) -> tuple[Table, ...]:
    """What was reserved at the end, of allocators whose segments are known."""
    rows = [
        _OfSegment(view.log.allocator, view.log.segments, row)
        for view, _, _ in peaks
        if view.log.segments is not None
        for row in range(len(view.log.segments))
    ]
    if not any(view.log.segments is not None for view, _, _ in peaks):
        return ()
    rows.sort(key=lambda each: -int(each.segments.size[each.row]))
    fields: tuple[Field[_OfSegment], ...] = (
        Field(
            "address", "address", "text",
            lambda e: _hex(int(e.segments.address[e.row])), weight=8,
        ),
        Field("bytes", "bytes", "number", lambda e: float(e.segments.size[e.row]), "B", 10),
        Field(
            "active_bytes", "in use", "number",
            lambda e: float(e.segments.active[e.row]), "B", 9,
        ),
        Field(
            "largest_free_bytes", "largest free block", "number",
            lambda e: float(e.segments.largest_free[e.row]), "B", 7,
        ),
        Field("blocks", "blocks", "integer", lambda e: int(e.segments.blocks[e.row]), weight=6),
        Field("kind", "kind", "text", lambda e: plain(e.segments.kinds[e.row], 40), weight=4),
        Field("stream", "stream", "integer", lambda e: int(e.segments.stream[e.row]), weight=3),
        Field(
            "op", "reserved by", "text",
            lambda e: plain(e.segments.lines[e.row], _MAX_OP_CHARS), weight=5,
        ),
        Field("allocator", "allocator", "text", lambda e: plain(e.allocator, 60), weight=4),
    )  # fmt: skip
    end = question.profile.trace.span[1]
    place = Place(question.opened.name, question.host, end, end + 1)
    table = Table(
        id="segments",
        title="Segments at the end",
        columns=columns_of(rows, fields),
        place=lambda _row: place,
        order=("bytes", True),
        empty="No segment was reserved at the end.",
        key=("allocator", "address"),
        noun="segment",
    )
    return (table,)


# ── events ──


def _event_table(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> Table:
    """Every event of the window, by time."""
    lo, hi = question.window
    parts = [each.view.inside(lo, hi) for each in peaks]
    views = [each.view for each in peaks]
    which = np.concatenate(
        [np.zeros(0, np.int64), *(np.full(len(rows), i) for i, rows in enumerate(parts))]
    )
    events = np.concatenate([np.zeros(0, np.int64), *parts])

    def column(name: str) -> Floats:
        values = [
            np.asarray(getattr(view.log, name))[rows].astype(np.float64)
            for view, rows in zip(views, parts, strict=True)
        ]
        return np.concatenate([np.zeros(0), *values])

    times = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(view.log.times[rows] for view, rows in zip(views, parts, strict=True)),
        ]
    )
    order = np.argsort(times, kind="stable")
    which = which[order]
    events = events[order]
    times = times[order]
    taken = column("taken")[order] > 0

    def text(row: int) -> str:
        return plain(views[int(which[row])].op(int(events[row])), _MAX_OP_CHARS)

    def allocator(row: int) -> str:
        return plain(views[int(which[row])].log.allocator, 60)

    steps = [memory_peak.step_ids(view.log.step) for view in views]
    step = np.array(
        [
            int(steps[view][event])
            for view, event in zip(which.tolist(), events.tolist(), strict=True)
        ],
        np.int64,
    )
    has_step = np.array([bool((view.log.step >= 0).any()) for view in views], np.bool_)
    size = column("size")[order]
    columns = (
        Column("time_s", "time", "instant", times, weight=10),
        Column("allocator", "allocator", "text", Lazy(len(times), allocator), weight=8),
        Column(
            "activity", "activity", "text",
            Lazy(len(times), lambda row: "allocated" if taken[row] else "freed"), weight=7,
        ),
        _bytes("bytes", "bytes", size, 9),
        _bytes("requested_bytes", "requested", column("requested")[order], 0),
        _bytes("in_use_bytes", "in use", column("in_use")[order], 9),
        _bytes("allocated_bytes", "allocated", column("allocated")[order], 0),
        _bytes("reserved_bytes", "reserved", column("reserved")[order], 5),
        _bytes("free_bytes", "free", column("free")[order], 4),
        Column("fragmentation", "fragmentation", "share", column("fragmentation")[order], weight=3),
        _bytes("lifetime_peak_bytes", "lifetime peak", column("lifetime_peak")[order], 0),
        Column("op", "op", "text", Lazy(len(times), text), weight=8),
        Column("step", "step", "integer", step, present=has_step[which], weight=2),
    )  # fmt: skip
    return Table(
        id="events",
        title="Events of allocators",
        columns=columns,
        place=lambda row: _place(question, views[int(which[row])], int(events[row])),
        order=("time_s", False),
        empty=_why(question, peaks, empty),
        noun="event",
    )


def _why(question: Question, peaks: Sequence[AllocatorPeak], empty: str) -> str:
    """Why a table is empty."""
    if not peaks:
        return empty
    if question.lo is not None or question.hi is not None:
        return "No event of an allocator is in this window. Choose a longer one."
    return "The events of the allocators do not say how much was in use."


def _place(question: Question, view: AllocatorView, event: int) -> Place:
    """Where an event of a log is on the timeline."""
    log = view.log
    at_ps = int(log.times[event])
    track = int(log.track[event])
    row = int(log.event[event])
    run = question.opened.name
    host = question.host
    if track < 0:
        return Place(run, host, at_ps, at_ps + 1)
    return Place(
        run=run,
        host=host,
        lo=at_ps,
        hi=at_ps + 1,
        track=track,
        event=row if row >= 0 else None,
    )
