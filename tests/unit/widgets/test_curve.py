"""Curves in text, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.terminal.glyphs import ASCII, CONSOLE, UNICODE, Glyphs
from powertui.view.curve import Axis, Envelope, axis, columns_per_cell, draw, envelope, sparkline

SETS = [UNICODE, CONSOLE, ASCII]
samples = st.lists(
    st.tuples(st.integers(0, 500), st.one_of(st.just(math.nan), st.floats(-50, 3000))), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(samples, st.integers(-20, 200), st.integers(1, 40), st.integers(1, 30), st.integers(0, 100))
def test_envelope_against_brute_force(
    points: list[tuple[int, float]], start: int, cell: int, cells: int, hold: int
) -> None:
    points = sorted(points, key=lambda p: p[0])
    times = np.array([p[0] for p in points], np.int64)
    values = np.array([p[1] for p in points], np.float64)
    edges = start + cell * np.arange(cells + 1, dtype=np.int64)
    got = envelope(times, values, edges, hold)
    for i in range(cells):
        inside = [v for t, v in points if edges[i] <= t < edges[i + 1]]
        if inside:
            good = [v for v in inside if v == v]
            expected = (min(good), max(good)) if good else (math.nan, math.nan)
        else:
            before = [(t, v) for t, v in points if t < edges[i]]
            v = before[-1][1] if before and edges[i] - before[-1][0] <= hold else math.nan
            expected = (v, v)
        np.testing.assert_array_equal((got.low[i], got.high[i]), expected)


@given(st.floats(-1e4, 1e6, allow_subnormal=False), st.floats(0, 1e6), st.integers(1, 40))
def test_axis_holds_the_data_on_round_numbers(lowest: float, span: float, rows: int) -> None:
    scale = axis(lowest, lowest + span, rows)
    assert scale.lo <= lowest + 1e-6 * abs(lowest)
    assert scale.hi >= lowest + span - 1e-6 * abs(lowest + span)
    assert 2 <= len(scale.ticks()) <= rows + 4
    mantissa = scale.step / 10 ** math.floor(math.log10(scale.step) + 1e-9)
    assert round(mantissa) in (1, 2, 5, 10)


@pytest.mark.parametrize("glyphs", SETS, ids=lambda g: g.name)
def test_a_chart_has_its_size_and_blanks_where_nothing_is_known(glyphs: Glyphs) -> None:
    cells = 12
    values = np.linspace(0, 100, cells * columns_per_cell(glyphs))
    values[: columns_per_cell(glyphs) * 3] = np.nan
    lines = draw(Envelope(values, values), Axis(0, 100, 50), 5, glyphs)
    assert [len(line) for line in lines] == [cells] * 5
    assert all(line[:3] == "   " for line in lines)
    assert lines[0][-1] != " ", "the highest value touches the top"
    for column in range(3, cells):
        assert any(line[column] != " " for line in lines), "no hole in a known curve"


def test_a_jump_is_joined() -> None:
    values = np.array([0.0, 0.0, 100.0, 100.0])
    lines = draw(Envelope(values, values), Axis(0, 100, 50), 4, UNICODE)
    assert all(line[1] != " " for line in lines), "the edge is drawn from bottom to top"


def test_sparkline_tells_high_from_low_and_unknown() -> None:
    values = np.array([10.0, math.nan, 100.0])
    line = sparkline(Envelope(values, values), UNICODE)
    assert line[1] == " "
    assert line[2] == "█"
    assert line[0] < line[2]
    assert sparkline(Envelope(np.array([math.nan]), np.array([math.nan])), ASCII) == " "
