"""A line read straight into lanes, against the general way: columns in the order of the file,
sorted, nested, moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.formats.builder import is_sorted, pack
from powertui.data.wire import pure
from powertui.data.wire.types import LEN, VARINT, Laned
from tests.unit.wire.wire_oracle import LINES, as_data, field, mangled, scanned

compiled = pytest.importorskip("powertui.data.wire.compiled")

SPAN = (-(1 << 61), 1 << 61)
TABLE = np.array([7, 3, 0, 9, 0xFFFFFFFF, 5], np.uint32)


def event(start: int, duration: int, name: int = 1, more: bytes = b"") -> bytes:
    body = field(1, VARINT, name) + field(2, VARINT, start) + field(3, VARINT, duration) + more
    return field(wire.EVENTS_FIELD, LEN, body)


def straight(
    message: bytes,
    base: int = 0,
    span: tuple[int, int] = SPAN,
    aside: object = None,
    cuts: Sequence[int] = (),
    events: int = -1,
) -> Laned | None:
    """The line in pieces that are cut before these events."""
    data = as_data(message)
    whole = pure.hop(data, 0, len(data), skip=wire.EVENTS_FIELD)
    if whole.bad >= 0:
        return None  # the caller knows
    scan = compiled.LaneScan(
        whole.skipped if events < 0 else events,
        len(data),
        base,
        span,
        TABLE,
        aside or compiled.Aside(),
    )
    places = pure.scan_events(
        data, 0, len(data), 0, columns := wire.EventColumns.empty(whole.skipped), 0
    ).rows
    bounds = [0, *sorted({int(columns.position[i]) - 1 for i in cuts if i < places}), len(data)]
    if not all(scan.feed(data[lo:hi], lo) for lo, hi in pairwise(bounds)):
        return None
    return scan.finish()


def general(message: bytes, base: int = 0, span: tuple[int, int] = SPAN) -> Laned | None:
    """The same from the pure decoder, or None when something in the line needs a closer look."""
    data = as_data(message)
    columns, scans = scanned(pure, data, 0, len(data), base)
    odd = any(
        len(scan.counted) or len(scan.wide) or scan.dropped or scan.bad >= 0 for scan in scans
    )
    start, duration = columns.start, columns.duration
    if (
        odd
        or not len(start)
        or not is_sorted(start, duration)
        or int(columns.id.max()) >= len(TABLE)
    ):
        return None
    names = TABLE[columns.id]
    inside = (
        (start >= span[0]) & (start <= span[1]) & (duration >= 0) & (duration <= span[1] - span[0])
    )
    if not inside.all() or (names == 0xFFFFFFFF).any():
        return None
    order, lanes = pack(start, duration)
    rows = slice(None) if order is None else order
    return Laned(
        start[rows],
        duration[rows],
        names[rows],
        columns.position[rows],
        lanes,
        int((start + duration).max()),
    )


def same(ours: Laned | None, theirs: Laned | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(LINES, mangled()),
    st.sampled_from([0, 1000, -(1 << 50)]),
    st.sampled_from([SPAN, (-10, 1 << 40)]),
)
def test_whatever_the_bytes_are(message: bytes, base: int, span: tuple[int, int]) -> None:
    assert same(straight(message, base, span), general(message, base, span))


def in_order(rows: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted(rows, key=lambda row: (row[0], -row[1]))


ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 25), st.sampled_from([0, 1, 2, 3, 5])),
    min_size=1,
    max_size=60,
)


@pytest.mark.parametrize("piece", [1, 3, 16])
def test_lines_in_pieces(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Several lines after each other through the same room, of one lane and of many, larger and
    smaller than a piece.
    """
    monkeypatch.setattr(compiled, "SLICE", piece)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(ROWS, min_size=1, max_size=4), st.lists(st.integers(0, 60), max_size=4))
    def holds(lines: list[list[tuple[int, int, int]]], cuts: list[int]) -> None:
        aside = compiled.Aside()
        for number, rows in enumerate(lines):
            aside.last_line = number == len(lines) - 1
            message = b"".join(event(*row) for row in in_order(rows))
            made = straight(message, aside=aside, cuts=cuts)
            assert made is not None, "every event is as it should be"
            assert same(made, general(message))
            assert made.place.dtype == np.uint32

    holds()


def test_a_line_that_32_bits_cannot_measure() -> None:
    """The second window of a line of five gigabytes: its places are wide, and so is the room aside;
    short lines follow.
    """
    aside = compiled.Aside()
    for size, kind in ((100, np.uint32), (5 << 30, np.uint64), (100, np.uint32)):
        scan = compiled.LaneScan(4, size, 0, SPAN, TABLE, aside)
        shift = size - 50
        assert scan.feed(as_data(event(10, 50) + event(11, 5)), 0)
        assert scan.feed(as_data(event(12, 2) + event(70, 1)), shift)
        made = scan.finish()
        assert made is not None
        assert made.lanes.tolist() == [0, 2, 3, 4]
        assert made.start.tolist() == [10, 70, 11, 12]
        assert made.place.tolist() == [
            1,
            shift + 1 + len(event(12, 2)),
            1 + len(event(10, 50)),
            shift + 1,
        ]
        assert made.place.dtype == kind


def test_a_line_that_ends_early_is_kept_as_far_as_it_was_read() -> None:
    scan = compiled.LaneScan(100, 1000, 0, SPAN, TABLE, compiled.Aside())
    assert scan.finish() is None
    message = event(10, 50) + event(11, 5) + event(70, 1)
    assert scan.feed(as_data(message), 0)
    assert scan.rows == 3
    assert same(scan.finish(), general(message))


def test_deep_lines_share_the_last_lane() -> None:
    message = b"".join(event(i, 100_000 - 2 * i) for i in range(wire.MAX_LANES + 30))
    assert same(straight(message), general(message))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(event(5, 1), id="out of order"),
        pytest.param(event(20, 9) + event(20, 10), id="the longer of two comes second"),
        pytest.param(event(20, -5), id="negative"),
        pytest.param(event(1 << 62, 1), id="beyond all times"),
        pytest.param(event(20, 1, name=4), id="no name"),
        pytest.param(event(20, 1, name=6), id="beyond the names"),
        pytest.param(event(20, 1, name=1 << 40), id="wide"),
        pytest.param(event(20, 1, more=field(5, VARINT, 3)), id="counted"),
        pytest.param(field(wire.EVENTS_FIELD, LEN, b"\x08\xff"), id="malformed"),
        pytest.param(b"\x22\x7f\x08", id="cut"),
    ],
)
def test_what_needs_a_closer_look_is_left_to_it(odd: bytes) -> None:
    assert straight(event(10, 5) + event(11, 2)) is not None
    assert straight(event(10, 5) + odd + event(40, 2)) is None
    assert general(event(10, 5) + odd + event(40, 2)) is None


def test_more_events_than_were_counted_are_refused() -> None:
    """The file grew or changed since it was looked through: nothing is written beyond the
    columns.
    """
    assert straight(event(10, 5) + event(20, 5) + event(30, 5), events=2) is None


def test_wrong_columns_are_an_error_and_no_crash() -> None:
    from powertui.data.wire import _scan

    rows = 4
    columns = [np.zeros(rows, kind) for kind in (np.int64, np.int64, np.uint32, np.uint32)]
    lanes = np.array([0, 1, 254, 255], np.uint8)
    cursor = np.zeros(wire.MAX_LANES, np.int64)
    with pytest.raises(ValueError, match="no place"):
        _scan.move_lanes(lanes, *columns, cursor, *columns)  # no lane 255
    with pytest.raises(ValueError, match="no place"):
        _scan.move_lanes(np.zeros(rows, np.uint8), *columns, np.full(wire.MAX_LANES, -1), *columns)
    with pytest.raises(ValueError, match="another length"):
        _scan.move_lanes(lanes[:3], *columns, cursor, *columns)
    data, state = as_data(event(10, 5)), np.zeros(2 * wire.MAX_LANES + 5, np.int64)
    state[2 * wire.MAX_LANES] = 1000  # lanes in use
    with pytest.raises(ValueError, match="no sense"):
        _scan.scan_lanes(data, 0, len(data), 0, 0, *SPAN, TABLE, state, lanes, *columns, *columns)
    with pytest.raises(ValueError, match="no sense"):
        _scan.scan_lanes(
            data, 0, len(data), 0, 0, SPAN[0] - 1, 0, TABLE, state * 0, lanes, *columns, *columns
        )
    for shift in (-1, (1 << 32) - len(data), (1 << 63) - 1):
        with pytest.raises(ValueError, match="too far before"):
            _scan.scan_lanes(
                data, 0, len(data), shift, 0, *SPAN, TABLE, state * 0, lanes, *columns, *columns
            )
