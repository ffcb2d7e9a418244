"""Sums, longest events and the first and last row of each name: both decoders against plain
Python.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.model import Int32s, Int64s, UInt8s
from powertui.data.track_index import sparse_table
from powertui.data.wire import BLOCK, FAN, GUIDE
from powertui.data.wire.types import CODES, KINDS, PlacedAtEdges
from tests.unit.wire.wire_oracle import DECODERS

GROUP = BLOCK * FAN


@pytest.fixture(params=DECODERS, ids=lambda module: module.__name__.rpartition(".")[2])
def decoder(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


def cells_of(decoder: ModuleType) -> ModuleType:
    """The decoder's part that is imported only for a picture."""
    return part_of(decoder, "cells")


def codes_of(decoder: ModuleType) -> ModuleType:
    """The decoder's part that is imported only for what a run does at each moment."""
    return part_of(decoder, "codes")


def part_of(decoder: ModuleType, part: str) -> ModuleType:
    package, _, kind = decoder.__name__.rpartition(".")
    name = f"{package}.pure.{part}" if kind == "pure" else f"{package}.compiled_{part}"
    return importlib.import_module(name)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, BLOCK - 1, BLOCK, BLOCK + 1, GROUP, GROUP + 5, 700, 9 * GROUP + 17]),
    st.integers(1, 50),
)
def test_sums_and_longest_of_any_range(seed: int, rows: int, most: int) -> None:
    random = np.random.default_rng(seed)
    duration = random.integers(0, most, rows)  # few different ones: ties matter
    lo = random.integers(0, rows, 60)
    hi = lo + 1 + (random.random(60) * (rows - lo)).astype(np.int64)
    at = random.integers(0, rows + 1, 60)
    for decoder in DECODERS:
        sums, top = decoder.blocks(duration)
        blocks = [duration[i : i + BLOCK] for i in range(0, rows, BLOCK)]
        assert sums.tolist() == [int(block.sum()) for block in blocks]
        assert top.tolist() == [int(block.argmax()) for block in blocks]
        before = np.concatenate([[0], np.cumsum(sums)])
        assert decoder.sums(duration, before, at).tolist() == [int(duration[:i].sum()) for i in at]
        longest = np.array([int(block.max()) for block in blocks])
        table = sparse_table(longest, rows // GROUP)
        found = np.empty((60, 1), np.int64)
        cells_of(decoder).dominant(duration, (top, table), np.array([0, 9]), inside(lo, hi), found)
        assert found[:, 0].tolist() == [
            int(a + duration[a:b].argmax()) for a, b in zip(lo, hi, strict=True)
        ]


def inside(lo: Int64s, hi: Int64s) -> PlacedAtEdges:
    """A cell for each range of rows, over whose edges no event reaches."""
    at = np.stack([lo, hi], axis=1)
    none = np.zeros_like(at)
    return PlacedAtEdges(at, none, none, none)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, BLOCK, GUIDE - 1, GUIDE, GUIDE + 1, 3 * GUIDE + 5, 700]),
    st.sampled_from([0, 1, GUIDE, 2 * GUIDE + 3]),
)
def test_events_are_placed_at_edges_and_found_by_what_they_cover(
    seed: int, rows: int, first_lane: int
) -> None:
    random = np.random.default_rng(seed)
    rows = max(rows, first_lane)
    duration = random.integers(0, 9, rows) * random.integers(0, 2, rows)
    start = np.empty(rows, np.int64)
    lanes = [(0, first_lane), (first_lane, rows)]
    for lo, hi in lanes:  # the second lane begins anew
        length = duration[lo:hi]
        start[lo:hi] = np.cumsum(length + random.integers(0, 5, hi - lo)) - length
    end = start + duration
    edges = np.sort(random.integers(-20, 2 + 8 * rows, 30))
    for decoder in DECODERS:
        sums, _ = decoder.blocks(duration)
        before = np.concatenate([[0], np.cumsum(sums)])
        made = PlacedAtEdges(*np.full((4, 2, len(edges)), 77, np.int64))
        bounds = np.array(lanes, np.int64).T
        guide = start[::GUIDE].copy()
        cells_of(decoder).at_edges(
            (start, duration), before, guide, (bounds[0], bounds[1]), edges, made
        )
        for lane, (lo, hi) in enumerate(lanes):
            for place, edge in enumerate(edges.tolist()):
                at = lo + int((start[lo:hi] < edge).sum())
                over = max(0, int(end[at - 1]) - edge) if at > lo else 0
                assert made.at[lane, place] == at
                assert made.over[lane, place] == over
                assert made.passed[lane, place] == duration[:at].sum() - over
                if at > lo:
                    assert made.length[lane, place] == duration[at - 1]
        if not duration.any():
            continue
        # Of each picosecond that any event covers: which event that is, and when.
        covered = np.repeat(np.arange(rows), duration)
        moments = [moment for row in range(rows) for moment in range(start[row], end[row])]
        positions = np.arange(len(covered))
        for first, last in ((covered, covered), (0 * covered, 0 * covered + rows - 1)):
            row, moment = cells_of(decoder).rows_at(
                (start, duration), before, (first, last), positions[:, None]
            )
            assert row[:, 0].tolist() == covered.tolist()
            assert moment[:, 0].tolist() == moments


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=80))
def test_ends_of_names(names: list[int]) -> None:
    for decoder in DECODERS:
        first, last = decoder.ends(np.array(names, np.uint32), 14)
        assert first.tolist() == [names.index(i) if i in names else -1 for i in range(14)]
        assert last.tolist() == [
            len(names) - 1 - names[::-1].index(i) if i in names else -1 for i in range(14)
        ]


def test_ends_of_a_long_line_and_of_names_beyond_the_table(decoder: ModuleType) -> None:
    names = np.arange(100_000, dtype=np.uint32) % 1000
    first, last = decoder.ends(names, 1001)
    assert first.tolist() == [*range(1000), -1]
    assert last.tolist() == [*range(99_000, 100_000), -1]
    with pytest.raises(IndexError):
        decoder.ends(names, 999)


def test_wrong_rows_and_tables_are_an_error_and_no_crash() -> None:
    _scan = pytest.importorskip("powertui.data.wire._scan")
    duration = np.arange(GROUP * 4, dtype=np.int64)
    sums, top = DECODERS[-1].blocks(duration)
    before, out = np.concatenate([[0], np.cumsum(sums)]), np.zeros(1, np.int64)
    one = np.ones(1, np.int64)
    for at in (-1, len(duration) + 1):
        with pytest.raises(IndexError):
            _scan.sums(duration, before, one * at, out)
    table = np.zeros((3, 4), np.int32)
    none = np.zeros(2, np.int64)

    def longest(duration: Int64s, top: UInt8s, table: Int32s, lo: int, hi: int) -> None:
        _scan.dominant(duration, top, table, none, np.array([lo, hi]), none, none, out)

    for lo, hi in ((-1, 5), (0, len(duration) + 1)):
        with pytest.raises(IndexError):
            longest(duration, top, table, lo, hi)
    for broken in (table - 1, table + 10_000, table[:0]):
        with pytest.raises(IndexError):
            longest(duration, top, broken, 0, len(duration))
    with pytest.raises(IndexError):
        longest(duration[:-3], top + np.uint8(BLOCK - 1), table, 0, len(duration) - 3)
    guide = duration[::GUIDE].copy()
    for lo, hi in ((-1, 5), (6, 5), (0, len(duration) + 1)):
        lanes = (one * lo, one * hi)
        with pytest.raises(IndexError):
            _scan.at_edges(duration, duration, before, guide, *lanes, one, out, out, out, out)
        with pytest.raises(IndexError):
            _scan.rows_at(duration, duration, before, *lanes, one, out, out)
    with pytest.raises(ValueError, match="another length"):
        _scan.sums(duration, before[1:], one, out)


TIMES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=60)


@settings(max_examples=200, deadline=None)
@given(TIMES, st.booleans(), st.lists(st.integers(-3, 75), max_size=30))
def test_unions_hold_the_moments_of_their_stretches_in_any_order(
    times: list[tuple[int, int]], empty_too: bool, asked: list[int]
) -> None:
    start = np.array([begin for begin, _ in times], np.int64)
    end = start + np.array([length for _, length in times], np.int64)
    moments = {moment for lo, hi in zip(start, end, strict=True) for moment in range(lo, hi)}
    for decoder in DECODERS:
        first, last = decoder.united(start, end, empty_too=empty_too)
        assert (first[1:] > last[:-1]).all()
        made = {moment for lo, hi in zip(first, last, strict=True) for moment in range(lo, hi)}
        assert made == moments
        if empty_too:
            assert {int(lo) for lo in start} <= {
                moment for lo, hi in zip(first, last, strict=True) for moment in range(lo, hi + 1)
            }
        else:
            assert (last > first).all()
        before = np.concatenate([[0], np.cumsum(last - first)])
        wanted = np.array(asked, np.int64)
        assert decoder.covered(first, last, before, wanted).tolist() == [
            sum(moment < until for moment in made) for until in asked
        ]
        for equal_too in (False, True):
            assert decoder.ranks(first, wanted, equal_too=equal_too).tolist() == [
                sum(lo < moment or (equal_too and lo == moment) for lo in first.tolist())
                for moment in asked
            ]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.booleans())), st.booleans())
def test_a_union_of_chosen_events_is_that_of_their_stretches(
    events: list[tuple[int, int, bool]], empty_too: bool
) -> None:
    start = np.array([begin for begin, _, _ in events], np.int64)
    duration = np.array([length for _, length, _ in events], np.int64)
    chosen = np.array([is_chosen for _, _, is_chosen in events], np.bool_)
    for decoder in DECODERS:
        made = decoder.united_events(start, duration, chosen, empty_too=empty_too)
        expected = decoder.united(start[chosen], (start + duration)[chosen], empty_too=empty_too)
        assert [column.tolist() for column in made] == [column.tolist() for column in expected]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(0, 255))),
    st.lists(st.integers(0, 2**16 - 1), min_size=256, max_size=256),
)
def test_unions_of_events_of_many_kinds_are_those_of_each_kind(
    events: list[tuple[int, int, int]], kinds_of: list[int]
) -> None:
    start = np.array([begin for begin, _, _ in events], np.int64)
    duration = np.array([length for _, length, _ in events], np.int64)
    code = np.array([code for _, _, code in events], np.uint8)
    kinds = np.array(kinds_of, np.uint16)
    for decoder in DECODERS:
        made = codes_of(decoder).united_kinds(start, duration, code, kinds)
        assert len(made) == KINDS
        for kind, columns in enumerate(made):
            chosen = np.array([kinds_of[number] >> kind & 1 == 1 for number in code], np.bool_)
            expected = decoder.united(start[chosen], (start + duration)[chosen])
            assert [column.tolist() for column in columns] == [
                column.tolist() for column in expected
            ]


def test_events_of_a_kind_in_too_many_runs_to_merge_are_united_too() -> None:
    start = np.arange(5_000, dtype=np.int64)[::-1].copy() * 3
    code = (np.arange(5_000) % 2).astype(np.uint8)
    kinds = np.zeros(256, np.uint16)
    kinds[:2] = (0b01, 0b11)
    for decoder in DECODERS:
        both, odd, *others = codes_of(decoder).united_kinds(
            start, np.full_like(start, 2), code, kinds
        )
        assert both[0].tolist() == sorted(start.tolist())
        assert odd[0].tolist() == sorted(start[1::2].tolist())
        assert not any(len(first) for first, _ in others)


LANE = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 3)), max_size=20)


def _lane(pieces: list[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    """(starts, durations, names) of events one after the other, from pauses and durations."""
    starts, at = [], 0
    for pause, duration, _ in pieces:
        starts.append(at + pause)
        at += pause + duration
    return starts, [duration for _, duration, _ in pieces], [name for _, _, name in pieces]


@settings(max_examples=200, deadline=None)
@given(LANE, LANE, st.lists(st.integers(0, CODES - 1), min_size=CODES**2, max_size=CODES**2))
def test_events_pass_their_code_on_to_those_inside_them(
    lane: list[tuple[int, int, int]], below: list[tuple[int, int, int]], results: list[int]
) -> None:
    starts, durations, codes = _lane(lane)
    starts_below, durations_below, codes_below = _lane(below)
    table = np.array(results, np.uint8).reshape(CODES, CODES)
    expected = list(codes_below)
    for row, (start, duration) in enumerate(zip(starts_below, durations_below, strict=True)):
        begun = [outer for outer, begin in enumerate(starts) if begin <= start]
        if begun and start + duration <= starts[begun[-1]] + durations[begun[-1]]:
            expected[row] = table[codes[begun[-1]], codes_below[row]]
    for decoder in DECODERS:
        passed = codes_of(decoder).passed_on(
            (np.array(starts, np.int64), np.array(durations, np.int64)),
            np.array(codes, np.uint8),
            (np.array(starts_below, np.int64), np.array(durations_below, np.int64)),
            np.array(codes_below, np.uint8),
            table,
        )
        assert passed.tolist() == expected


def test_a_code_without_a_place_in_the_table_is_an_error() -> None:
    times = (np.zeros(1, np.int64), np.ones(1, np.int64))
    table = np.zeros((CODES, CODES), np.uint8)
    few, many = np.array([1], np.uint8), np.array([CODES], np.uint8)
    for decoder in DECODERS:
        for above, code in ((few, many), (many, few)):
            with pytest.raises(IndexError):
                codes_of(decoder).passed_on(times, above, times, code, table)


@settings(max_examples=200, deadline=None)
@given(LANE, LANE, st.integers(0, 30), st.integers(0, 60))
def test_events_are_added_up_by_name_less_what_the_lane_below_covers(
    lane: list[tuple[int, int, int]], below: list[tuple[int, int, int]], lo: int, length: int
) -> None:
    compiled = DECODERS[-1]
    if not compiled.__name__.endswith("compiled"):
        pytest.skip("without a compiler events are added up in columns")
    starts, durations, names = _lane(lane)
    starts_below, durations_below, _ = _lane(below)
    hi = lo + length
    inner = {
        moment
        for start, duration in zip(starts_below, durations_below, strict=True)
        for moment in range(start, start + duration)
    }
    expected = [[0, 0, 0] for _ in range(4)]
    for start, duration, name in zip(starts, durations, names, strict=True):
        if start + duration < lo or start > hi:
            continue  # whoever asks leaves such events out
        moments = range(max(start, lo), min(start + duration, hi))
        own = sum(moment not in inner for moment in moments)
        for place, value in enumerate((1, len(moments), own)):
            expected[name][place] += value
    touching = [
        row
        for row, (start, duration) in enumerate(zip(starts, durations, strict=True))
        if start + duration >= lo and start <= hi
    ]
    sums = tuple(np.zeros(4, np.int64) for _ in range(3))
    compiled.add_events(
        np.array(names, np.uint32)[touching] + np.uint32(7),
        (np.array(starts, np.int64)[touching], np.array(durations, np.int64)[touching]),
        (np.array(starts_below, np.int64), np.array(durations_below, np.int64)),
        (lo, hi),
        7,
        sums,
    )
    assert np.stack(sums, axis=1).tolist() == expected


def test_a_name_without_a_place_in_the_sums_is_an_error() -> None:
    compiled = DECODERS[-1]
    if not compiled.__name__.endswith("compiled"):
        pytest.skip("without a compiler events are added up in columns")
    one = np.ones(1, np.int64)
    none = np.empty(0, np.int64)
    for name in (4, 8):
        sums = tuple(np.zeros(3, np.int64) for _ in range(3))
        with pytest.raises(IndexError):
            compiled.add_events(
                np.array([name], np.uint32), (one, one), (none, none), (0, 9), 5, sums
            )


def test_few_chosen_events_of_many_are_all_in_their_union() -> None:
    start = np.arange(10_000, dtype=np.int64) * 5
    for rows in ([0, 7, 8, 9_999], [3], [1_000, 9_990, 9_991, 9_998], []):
        chosen = np.zeros(len(start), np.bool_)
        chosen[rows] = True
        for decoder in DECODERS:
            first, last = decoder.united_events(start, np.full_like(start, 2), chosen)
            assert first.tolist() == [5 * row for row in rows]
            assert (last - first == 2).all()


def test_a_union_of_more_ascending_runs_than_are_merged_is_the_same() -> None:
    start = np.arange(5_000, dtype=np.int64)[::-1].copy() * 3
    for length in (2, 3):
        answers = [decoder.united(start, start + length) for decoder in DECODERS]
        lengths, chosen = np.full_like(start, length), np.ones(len(start), np.bool_)
        answers += [decoder.united_events(start, lengths, chosen) for decoder in DECODERS]
        assert len(answers[0][0]) == (5_000 if length == 2 else 1)
        for columns in zip(*answers, strict=True):
            assert all(column.tolist() == columns[0].tolist() for column in columns)


def test_moments_that_are_no_whole_numbers_are_refused_and_not_rounded() -> None:
    compiled = DECODERS[-1]
    whole = np.arange(4, dtype=np.int64)
    if compiled.__name__.endswith("compiled"):
        with pytest.raises(TypeError):
            compiled.ranks(whole, np.array([1.5]))
        with pytest.raises(TypeError):
            compiled.covered(whole, whole + 1, np.arange(5), np.array([1.5]))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from([0, 3, 4, 5, 6, 7]), st.integers(-(2**63), 2**63 - 1)),
            st.floats(width=64).map(lambda one: (2, int(np.float64(one).view(np.int64)))),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_numbers_of_stats_are_put_where_their_events_are(
    values: list[tuple[int, int]], in_order: bool
) -> None:
    kind = np.array([kind for kind, _ in values], np.uint8)
    bits = np.array([bits for _, bits in values], np.int64)
    rows = None if in_order else np.arange(len(values), dtype=np.int64)[::-1].copy()
    answers = []
    for decoder in DECODERS:
        present, ints = np.zeros(len(values), np.bool_), np.zeros(len(values), np.int64)
        floats = np.full(len(values), np.nan)
        decoder.put_numbers(kind, bits, rows, present, ints, floats)
        answers.append((present.tolist(), ints.tolist(), floats.view(np.int64).tolist()))
        for place, (number, value) in enumerate(values):
            row = place if in_order else len(values) - 1 - place
            assert present[row] == (number != 0)
            if number == 3:
                assert floats[row] == float(value % 2**64)
            if number == 4:
                assert floats[row] == float(value)
            if number in (3, 4):
                assert ints[row] == value
    assert all(answer == answers[0] for answer in answers)


def test_numbers_for_a_row_beyond_the_column_are_an_error(decoder: ModuleType) -> None:
    kind, bits = np.array([4], np.uint8), np.array([1], np.int64)
    columns = np.zeros(1, np.bool_), np.zeros(1, np.int64), np.zeros(1)
    with pytest.raises(IndexError):
        decoder.put_numbers(kind, bits, np.array([1], np.int64), *columns)
