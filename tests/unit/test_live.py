"""The history of channels while they are sampled: sums, gaps, outliers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powertui.data import pyramid
from powertui.data.live import Board, ChannelKey, History
from powertui.data.model import Scope
from powertui.view import curve

NS = 1_000_000_000
T0 = 1_795_224_813 * NS


def history(values: list[float | None], interval_s: float = 1.0) -> History:
    h = History(ChannelKey("bmc", "power"))
    for i, watts in enumerate(values):
        h.append(T0 + int(i * interval_s * NS), watts)
    return h


def test_the_present_value_is_unknown_after_a_failed_reading() -> None:
    assert history([100.0, None]).now is None
    assert history([100.0, None, 90.0]).now == 90
    assert history([]).now is None


def test_readings_out_of_order_are_counted_and_left_out() -> None:
    h = history([1.0, 2.0])
    h.append(T0, 99.0)
    assert (len(h), h.dropped) == (2, 1)


def test_stretch_of_nothing_says_nothing() -> None:
    h = history([None, None])
    stretch = h.stretch(T0, T0 + 5 * NS)
    assert (stretch.samples, stretch.gaps, stretch.lowest, stretch.mean, stretch.highest) == (
        0,
        2,
        None,
        None,
        None,
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 2000)), min_size=0, max_size=700))
def test_series_gives_back_what_was_appended(values: list[float | None]) -> None:
    h = history(values)
    series = h.series()
    assert len(series) == len(values)
    expected = np.array([math.nan if v is None else v for v in values])
    np.testing.assert_array_equal(series.watts, expected)
    if values:
        assert series.clock.mid_ns + int(series.times[-1]) == T0 + (len(values) - 1) * NS


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.floats(0, 2000)), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_stretch_against_brute_force(values: list[float | None], a: int, b: int) -> None:
    lo, hi = min(a, b), max(a, b)
    got = history(values).stretch(T0 + lo * NS, T0 + hi * NS)
    good = [v for v in values[lo : hi + 1] if v is not None]
    assert got.samples == len(good)
    if good:
        assert got.lowest == min(good)
        assert got.highest == max(good)
        assert got.mean == pytest.approx(sum(good) / len(good))


def board_of(rows: list[tuple[str, str, Scope, float | None]]) -> Board:
    board = Board()
    for host, channel, scope, watts in rows:
        board.add(History(ChannelKey(host, channel), host=host, scope=scope)).append(T0, watts)
    return board


def test_overlapping_scopes_are_never_added() -> None:
    board = board_of(
        [
            ("a", "Total Power", Scope.NODE, 300.0),
            ("a", "package-0", Scope.PACKAGE, 120.0),
            ("a", "GPU 0", Scope.GPU, 90.0),
            ("b", "package-0", Scope.PACKAGE, 110.0),
            ("b", "core", Scope.CORE, 70.0),
            ("b", "GPU 0", Scope.GPU, 50.0),
        ]
    )
    total = board.total()
    assert total.watts == pytest.approx(300 + 110 + 50)
    assert len(total.keys) == 3


def test_a_sum_says_what_is_missing() -> None:
    board = board_of([("a", "p", Scope.NODE, 300.0), ("b", "p", Scope.NODE, None)])
    assert (board.total().watts, board.total().missing) == (300, 1)
    assert board_of([("a", "p", Scope.NODE, None)]).total().watts is None


def test_one_host_that_burns_stands_out_and_noise_does_not() -> None:
    quiet = [(f"h{i}", "p", Scope.NODE, 300.0 + i % 3) for i in range(20)]
    assert board_of(quiet).outliers() == {}
    found = board_of(
        [*quiet, ("hot", "p", Scope.NODE, 420.0), ("off", "p", Scope.NODE, 20.0)]
    ).outliers()
    assert set(found) == {ChannelKey("hot", "p"), ChannelKey("off", "p")}
    assert found[ChannelKey("hot", "p")] > 100
    assert found[ChannelKey("off", "p")] < -200


def test_few_rows_have_no_outliers() -> None:
    assert board_of([("a", "p", Scope.NODE, 1.0), ("b", "p", Scope.NODE, 900.0)]).outliers() == {}


def test_energy_of_a_window_is_that_of_its_rows_and_has_an_interval() -> None:
    board = Board()
    for host in ("a", "b"):
        h = board.add(History(ChannelKey(host, "p"), host=host, scope=Scope.NODE))
        for i in range(120):
            h.append(T0 + i * NS, 200.0 + i % 5)
    found = board.energy(T0 + 20 * NS, T0 + 80 * NS)
    assert found.joules == pytest.approx(2 * 60 * 202, rel=0.01)
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < found.joules < found.hi


def test_energy_of_a_window_that_was_not_sampled_is_unknown() -> None:
    board = board_of([("a", "p", Scope.NODE, 300.0)])
    found = board.energy(T0 + 100 * NS, T0 + 200 * NS)
    assert found.joules is None
    assert found.reason


def test_memory_of_a_channel_hardly_grows_with_time() -> None:
    """Four times as long is one level of blocks more, 57 KB: a week at 1 Hz takes 0.5 MB, and not
    10.
    """
    h, n = History(ChannelKey("bmc", "power")), 0
    for length in (10_000, 40_000, 160_000, 640_000):
        while n < length:
            h.append(T0 + n * NS, 200.0 + n % 7)
            n += 1
        assert h.nbytes <= 8192 * 16 + 57_344 * (1 + math.log(length / 16, 4))
    assert len(h) == 640_000
    assert h.nbytes < 600_000
    whole = h.stretch(T0, T0 + 640_000 * NS)
    assert (whole.samples, whole.lowest, whole.highest) == (640_000, 200.0, 206.0)
    assert whole.mean == pytest.approx(203.0, abs=1e-3)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few readings and blocks are kept that some hundred readings go through all levels."""
    monkeypatch.setattr(pyramid, "RAW", 32)
    monkeypatch.setattr(pyramid, "BLOCKS", 4)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.one_of(st.none(), st.floats(0, 2000)), min_size=1, max_size=40),
    st.integers(1, 3000),
    st.data(),
)
def test_blocks_lose_no_reading_and_count_none_twice(
    tiny: None, pattern: list[float | None], length: int, data: st.DataObject
) -> None:
    values = [pattern[i * i % len(pattern)] for i in range(length)]
    h = history(values)
    whole = h.stretch(h.first_ns, h.last_ns)
    good = [v for v in values if v is not None]
    assert (whole.samples, whole.gaps) == (len(good), len(values) - len(good))
    if good:
        assert (whole.lowest, whole.highest) == (min(good), max(good))
        assert whole.mean == pytest.approx(sum(good) / len(good))
    lo, hi = sorted(
        data.draw(st.tuples(st.integers(0, len(values) - 1), st.integers(0, len(values) - 1)))
    )
    found = h.pieces(T0 + lo * NS, T0 + hi * NS)
    assert (np.diff(found.since) > 0).all()
    assert (found.since[1:] > found.until[:-1]).all()
    assert found.since[0] <= T0 + lo * NS
    assert found.until[-1] >= T0 + hi * NS
    covered = values[int(found.since[0] - T0) // NS : int(found.until[-1] - T0) // NS + 1]
    assert int(found.values.sum() + found.gaps.sum()) == len(covered)
    assert found.total.sum() == pytest.approx(sum(v for v in covered if v is not None))


def test_energy_of_long_ago_comes_from_blocks(tiny: None) -> None:
    h = History(ChannelKey("a", "p"), host="a", scope=Scope.NODE)
    board = Board()
    board.add(h)
    for i in range(4000):
        h.append(T0 + i * NS, 200.0 + i % 5)
    found = board.energy(T0 + 400 * NS, T0 + 2400 * NS)
    assert found.joules == pytest.approx(2000 * 202, rel=0.02)


def test_the_curve_of_long_ago_shows_the_lowest_and_highest_of_each_block(tiny: None) -> None:
    h = history([300.0 if i == 700 else 100.0 for i in range(4000)])
    first, last = h.first_ns, h.last_ns
    edges = np.linspace(first, last, 81).astype(np.int64)
    part = h.pieces(first, last)
    shape = curve.envelope(part.since, part.low, edges, 3 * NS, high=part.high, until=part.until)
    assert shape.known.all(), "a block covers its whole time, without holes"
    assert np.nanmax(shape.high) == 300
    assert np.nanmin(shape.low) == 100


def test_sums_that_a_late_page_missed_are_made_of_the_readings_of_that_time() -> None:
    """A replay at twenty times its speed, or a busy machine: the sum has no holes."""
    board = Board()
    first = board.add(History(ChannelKey("a", "p"), scope=Scope.NODE))
    second = board.add(History(ChannelKey("b", "p"), scope=Scope.NODE))
    sums = History(ChannelKey("sum", "sum"))
    for at_s in range(1, 101):
        first.append(at_s * NS, float(at_s))
        second.append(at_s * NS + NS // 5, None if at_s == 50 else 200.0)
        if at_s in (1, 2, 30, 31, 100):
            board.add_sums(sums, NS)
    assert len(sums) == 100
    assert np.diff(sums.times).max() == NS
    known = sums.watts[~np.isnan(sums.watts)]
    np.testing.assert_array_equal(known, [201.0 + at for at in range(100) if at != 49])


def test_a_sum_waits_until_a_tick_has_nearly_passed() -> None:
    board = Board()
    row = board.add(History(ChannelKey("a", "p"), scope=Scope.NODE))
    sums = History(ChannelKey("sum", "sum"))
    for tenth in range(1, 51):
        row.append(tenth * NS // 10, 100.0)
        board.add_sums(sums, NS)
    assert 5 <= len(sums) <= 7
