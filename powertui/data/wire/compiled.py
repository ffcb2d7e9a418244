"""The calls of `pure`, answered by scan/: this side makes the columns, that side fills them without
the GIL.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# not `from …`: a missing scanner must be told from one that does not load
import powertui.data.wire._scan as _scan
from powertui.data.wire.types import (
    BLOCK,
    MAX_LANES,
    Bools,
    Bytes,
    EventColumns,
    Floats,
    Hop,
    Int64s,
    Laned,
    PickedFields,
    RawStat,
    RecordFrames,
    Scan,
    StatScan,
    UInt8s,
    UInt32s,
    UInt64s,
    as_positions,
    empty,
    places,
)
from powertui.named_tuples import NamedTuple

INTERFACE = 8  # of scan/module.c; counted up with every change of what its functions take or give
if (
    getattr(_scan, "INTERFACE", 1) != INTERFACE
):  # an editable installation whose sources were updated
    raise ImportError("it was built from another version of powertui; install powertui again")

SLICE = 1 << 17  # events between two ticks: some ms
_STATE = (
    2 * MAX_LANES + 5
    # the numbers of scan/lanes.c's Lanes: `until`, `counts`, `open`, `rows`, `start`, `duration`,
    # `end`
)
_ROWS, _END = 2 * MAX_LANES + 1, _STATE - 1


def hop(data: Bytes, lo: int, hi: int, skip: int = 0) -> Hop:
    """The fields of one message. See the package's docstring."""
    fields, skipped, bad = _scan.hop(data.data, lo, hi, skip)
    number, wire, value, start, end = np.frombuffer(fields, np.int64).reshape(-1, 5).T
    return Hop(
        number=number,
        wire=wire.astype(np.uint8),
        value=value,
        lo=start,
        hi=end,
        skipped=skipped,
        bad=bad,
    )


def pick(data: Bytes, lo: Int64s, hi: Int64s, tags: Sequence[int]) -> PickedFields:
    """Chosen fields of many messages. See the package's docstring."""
    shape = (len(tags), len(lo))
    present = np.zeros(shape, np.bool_)
    value = np.zeros(shape, np.int64)
    end = np.zeros(shape, np.int64)
    bad = _scan.pick(
        data.data,
        _i64(lo).data,
        _i64(hi).data,
        _i64(tags).data,
        _flat(present),
        _flat(value),
        _flat(end),
    )
    return PickedFields(present, value, end, bad)


def scan_events(
    data: Bytes,
    lo: int,
    hi: int,
    base: int,
    columns: EventColumns,
    at: int,
    limit: int = 1 << 62,
) -> Scan:
    """Events of one line into columns. See the package's docstring."""
    into = (columns.id.data, columns.start.data, columns.duration.data, columns.position.data)
    rows, place, counted, wide, wide_ids, dropped, bad = _scan.scan_events(
        data.data, lo, hi, base, *into, at, limit
    )
    return Scan(
        rows=rows,
        next=place,
        counted=_column(counted),
        wide=_column(wide),
        wide_ids=_column(wide_ids),
        dropped=dropped,
        bad=bad,
    )


def stats(data: Bytes, lo: int, hi: int, field: int) -> list[RawStat]:
    """The stats in one message. See the package's docstring."""
    return _scan.stats(data.data, lo, hi, field)


def event_stats(data: Bytes, position: int) -> list[RawStat]:
    """The stats of one event. See the package's docstring."""
    return _scan.event_stats(data.data, position)


def scan_stats(data: Bytes, positions: npt.NDArray[np.uint64], ids: Sequence[int]) -> StatScan:
    """Chosen stats of many events. See the package's docstring."""
    shape = (len(ids), len(positions))
    kind = np.zeros(shape, np.uint8)
    bits = np.zeros(shape, np.int64)
    end = np.zeros(shape, np.int64)
    _scan.scan_stats(
        data.data,
        as_positions(positions).data,
        _i64(ids).data,
        _flat(kind),
        _flat(bits),
        _flat(end),
    )
    return StatScan(kind, bits, end)


def put_numbers(
    kind: UInt8s,
    bits: Int64s,
    rows: Int64s | None,
    present: Bools,
    ints: Int64s,
    floats: Floats,
) -> None:
    """The numbers of one stat's values. See the package's docstring."""
    _scan.put_numbers(
        np.ascontiguousarray(kind).data,
        _i64(bits).data,
        b"" if rows is None else _i64(rows).data,
        _flat(present),
        _flat(ints),
        _flat(floats),
    )


def nest(start: Int64s, duration: Int64s) -> UInt8s:
    """How deep each event of a line lies. See the package's docstring."""
    lanes = np.empty(len(start), np.uint8)
    _scan.nest(_i64(start).data, _i64(duration).data, lanes.data)
    return lanes


class LaneScan:
    """A line whose events are all as they should be, lane by lane. See the package's docstring."""

    def __init__(
        self,
        events: int,
        size: int,
        base: int,
        span: tuple[int, int],
        table: UInt32s,
        aside: Aside,
    ) -> None:
        self._made = _columns(events, size)
        self._rules = (base, *span, table.data)
        self._state = np.zeros(_STATE, np.int64)
        self._state[_END] = np.iinfo(np.int64).min
        self._aside = aside
        aside.begin(size)

    @property
    def rows(self) -> int:
        """How many events were read."""
        return int(self._state[_ROWS])

    def feed(self, data: Bytes, shift: int) -> bool:
        """The next bytes of the line, whole fields, `shift` bytes behind its first.

        False when they need a closer look.
        """
        at = 0
        while at < len(data):
            before = at
            lane, piece = self._aside.room()
            into = (self._state.data, lane.data, *_views(piece), *_views(self._made))
            put, at = _scan.scan_lanes(data.data, at, len(data), shift, *self._rules, *into)
            if at <= before:
                return False
            self._aside.put(put)
        return True

    def finish(self) -> Laned | None:
        """All that was read; None for no event."""
        if not self.rows:
            return None
        counts = self._state[MAX_LANES : 2 * MAX_LANES]
        deepest = int(np.max(np.flatnonzero(counts)))
        lanes = np.concatenate(([0], np.cumsum(counts[: deepest + 1])))
        cursor = np.zeros(MAX_LANES, np.int64)
        cursor[: deepest + 1] = lanes[:-1]
        made = self._made
        if self.rows < len(made.start):
            made = made.rows(0, self.rows)
        for lane, piece in self._aside.taken():
            _scan.move_lanes(lane.data, *_views(piece), cursor.data, *_views(made))
        return Laned(*made, lanes, int(self._state[_END]))


class _Columns(NamedTuple):
    start: Int64s
    duration: Int64s
    name: UInt32s
    place: UInt32s | UInt64s

    def rows(self, lo: int, hi: int) -> _Columns:
        """Some rows, as views."""
        return _Columns(
            self.start[lo:hi], self.duration[lo:hi], self.name[lo:hi], self.place[lo:hi]
        )


def _columns(rows: int, size: int) -> _Columns:
    return _Columns(
        empty(rows, np.int64), empty(rows, np.int64), empty(rows, np.uint32), places(rows, size)
    )


def _views(columns: _Columns) -> tuple[memoryview, memoryview, memoryview, memoryview]:
    return columns.start.data, columns.duration.data, columns.name.data, columns.place.data


class Aside:
    """Room for events whose place is not known yet: all of a line that do not lie in its outermost
    lane, in pieces.

    A piece is used again and again, by the line itself and by those that follow, for fresh memory
    costs more than what is done with it. Pieces are mapped, so that they are gone when they are
    dropped, whatever the allocator thinks of it.
    """

    def __init__(self) -> None:
        self.last_line = False  # nothing follows: each piece goes as soon as it is moved
        self._wide: np.dtype[Any] = np.dtype(np.uint32)  # of a place
        self._pieces: list[tuple[UInt8s, _Columns]] = []
        self._at = self._used = 0

    def begin(self, size: int) -> None:
        """A new line of so many bytes."""
        if size >= 1 << 32 and self._wide.itemsize == 4:
            self._wide = np.dtype(np.uint64)
            self._pieces = []
        self._at = self._used = 0

    def room(self) -> tuple[UInt8s, _Columns]:
        """Where the next events may go, and their lanes."""
        if self._used == SLICE:
            self._at = self._at + 1
            self._used = 0
        if self._at == len(self._pieces):
            self._pieces.append(_piece(self._wide))
        lane, columns = self._pieces[self._at]
        return lane[self._used :], columns.rows(self._used, SLICE)

    def put(self, count: int) -> None:
        """So many went there."""
        self._used += count

    def taken(self) -> Iterator[tuple[UInt8s, _Columns]]:
        """All of the line, in its order."""
        counts = [SLICE] * self._at + [self._used]
        for number, count in enumerate(counts if self._pieces else []):
            lane, columns = self._pieces.pop(0) if self.last_line else self._pieces[number]
            yield lane[:count], columns.rows(0, count)


def _piece(wide: np.dtype[Any]) -> tuple[UInt8s, _Columns]:
    """Room for a slice of events in one mapping: starts, durations, names, places, lanes."""
    name_at = 16 * SLICE
    place_at = 20 * SLICE
    lane_at = place_at + wide.itemsize * SLICE
    memory = mmap.mmap(-1, lane_at + SLICE)
    start = np.frombuffer(memory, np.int64, SLICE)
    duration = np.frombuffer(memory, np.int64, SLICE, 8 * SLICE)
    name = np.frombuffer(memory, np.uint32, SLICE, name_at)
    place = np.frombuffer(memory, wide, SLICE, place_at)
    lane = np.frombuffer(memory, np.uint8, SLICE, lane_at)
    return lane, _Columns(start, duration, name, place)


def blocks(duration: Int64s) -> tuple[Int64s, UInt8s]:
    """Sums and longest events of blocks. See the package's docstring."""
    count = -(-len(duration) // BLOCK)
    total = np.empty(count, np.int64)
    top = np.empty(count, np.uint8)
    _scan.blocks(_i64(duration).data, total.data, top.data)
    return total, top


def sums(duration: Int64s, before: Int64s, at: Int64s) -> Int64s:
    """Durations summed up to these rows. See the package's docstring."""
    total = np.empty(len(at), np.int64)
    _scan.sums(_i64(duration).data, before.data, _i64(at).data, total.data)
    return total


def ends(name: UInt32s, names: int) -> tuple[Int64s, Int64s]:
    """The first and the last row of each name. See the package's docstring."""
    first = np.full(names, -1, np.int64)
    last = np.full(names, -1, np.int64)
    _scan.ends(np.ascontiguousarray(name, np.uint32).data, first.data, last.data)
    return first, last


def ranks(ascending: Int64s, moments: Int64s, *, equal_too: bool = False) -> Int64s:
    """How many values come before each moment. See the package's docstring."""
    place = np.empty(len(moments), np.int64)
    _scan.ranks(_whole(ascending).data, _whole(moments).data, equal_too, place.data)
    return place


def covered(start: Int64s, end: Int64s, before: Int64s, moments: Int64s) -> Int64s:
    """How much is covered before each moment. See the package's docstring."""
    length = np.empty(len(moments), np.int64)
    _scan.covered(
        _whole(start).data, _whole(end).data, _whole(before).data, _whole(moments).data, length.data
    )
    return length


def united(start: Int64s, end: Int64s, *, empty_too: bool = False) -> tuple[Int64s, Int64s]:
    """The same moments as stretches that are apart. See the package's docstring."""
    made = _scan.united(_whole(start).data, _whole(end).data, empty_too)
    if made is None:  # too many ascending runs: there is less to merge once they are sorted
        order = np.argsort(start, kind="stable")
        made = _scan.united(_whole(start[order]).data, _whole(end[order]).data, empty_too)
        assert made is not None
    return _column(made[0]), _column(made[1])


def united_events(
    start: Int64s,
    duration: Int64s,
    chosen: Bools,
    *,
    empty_too: bool = False,
) -> tuple[Int64s, Int64s]:
    """The same moments as chosen events. See the package's docstring."""
    made = _scan.united_events(
        _whole(start).data,
        _whole(duration).data,
        np.ascontiguousarray(chosen, np.bool_).data,
        empty_too,
    )
    if made is None:
        rows = np.flatnonzero(chosen)
        first = start.take(rows)
        return united(first, first + duration.take(rows), empty_too=empty_too)
    return _column(made[0]), _column(made[1])


def add_events(
    name: UInt32s,
    times: tuple[Int64s, Int64s],
    below: tuple[Int64s, Int64s],
    window: tuple[int, int],
    lowest: int,
    sums: tuple[Int64s, Int64s, Int64s],
) -> None:
    """Events added up by name. See the package's docstring."""
    start, duration = times
    start_below, duration_below = below
    count, total, self_time = sums
    _scan.add_events(
        np.ascontiguousarray(name, np.uint32).data,
        _whole(start).data,
        _whole(duration).data,
        _whole(start_below).data,
        _whole(duration_below).data,
        *window,
        lowest,
        count.data,
        total.data,
        self_time.data,
    )


def records(data: Bytes, lo: int, most: int) -> RecordFrames:
    """Whole TFRecords. See the package's docstring."""
    bytes_left = max(0, len(data) - lo)
    room = min(most, bytes_left // 16 + 1)
    begin = np.empty(room, np.int64)
    end = np.empty(room, np.int64)
    good = np.empty(room, np.bool_)
    good_bytes = good.view(np.uint8)
    rows, at, damaged = _scan.records(data.data, lo, begin.data, end.data, good_bytes.data)
    return RecordFrames(
        begin=begin[:rows],
        end=end[:rows],
        good=good[:rows],
        next=at,
        damaged=bool(damaged),
    )


def _whole(values: npt.NDArray[Any]) -> Int64s:
    """The same numbers; a TypeError where that would round some."""
    return np.ascontiguousarray(values.astype(np.int64, casting="safe", copy=False))


def _i64(values: Sequence[int] | npt.NDArray[Any]) -> Int64s:
    return np.ascontiguousarray(values, np.int64)


def _column(packed: bytes) -> Int64s:
    return np.frombuffer(packed, np.int64)


def _flat(table: npt.NDArray[Any]) -> memoryview:
    return table.reshape(-1).view(np.uint8).data
