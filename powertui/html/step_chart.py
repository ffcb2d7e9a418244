"""The steps as stacked bars, in the colors that the terminal has for the same parts."""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S, Floats
from powertui.data.table import Chart
from powertui.html import chart_frame, svg_shapes
from powertui.html.chart_frame import AxisMark, LegendEntry
from powertui.html.markup import Markup, element, percent
from powertui.view import stacked_bars
from powertui.view.step_legend import STEP_INKS

_COLUMNS = 360  # bars at most: three pixels each on a page of 1,080
_MAX_SEPARATE_BARS = 60  # up to so many are drawn apart
_GAP = 0.25  # of a bar's width, between bars that are apart
_NAMED_PARTS = 0.0005  # of a step: smaller parts read "<0.1 %"


def step_chart(chart: Chart) -> Markup | None:
    """The chart "step_time" of the overview. None without a step that took time."""
    if not chart.series:
        return None
    parts = np.nan_to_num(np.array([np.asarray(row.y, np.float64) for row in chart.series]))
    totals = parts.sum(axis=0)
    if not totals.any():
        return None
    if len(totals) == 1:
        return _one_step(chart, parts)
    top = stacked_bars.full_height(totals)
    bars, steps_each = _bars(totals)
    picture = _picture(chart, parts[:, bars], top)
    notes = ["shares of a step's time"]
    if steps_each > 1:
        notes.append(f"each column is the longest of {steps_each:,} steps")
    cut = int((totals > top * (1 + 1e-9)).sum())
    if cut:
        longest = units.duration(round(float(totals.max()) * PS_PER_S), 3)
        notes.append(f"{cut:,} longer than shown, up to {longest}")
    return chart_frame.figure(
        chart.title,
        [
            chart_frame.plot(
                picture,
                scale=_scale(top),
                axis=_axis(len(totals)),
                above=_cut_marks(parts[:, bars].sum(axis=0), top),
            ),
            chart_frame.legend(_legend(chart)),
        ],
        aside=", ".join(notes),
    )


def _one_step(chart: Chart, parts: Floats) -> Markup:
    """A single step as a bar from left to right: there is no other to stand beside it."""
    total = float(parts.sum())
    ends = np.cumsum(parts[:, 0]) / total
    shapes = []
    start = 0.0
    for number, end in enumerate(ends.tolist()):
        shapes.append(svg_shapes.band(start * _COLUMNS, end * _COLUMNS, _class(chart, number)))
        start = end
    picture = svg_shapes.stretched(_COLUMNS, shapes, chart.title)
    axis = [AxisMark(0, "0"), AxisMark(1, units.duration(round(total * PS_PER_S)))]
    return chart_frame.figure(
        chart.title,
        [
            chart_frame.plot(picture, scale=[], axis=axis, low=True),
            chart_frame.legend(_legend(chart)),
        ],
    )


def _bars(totals: Floats) -> tuple[np.ndarray, int]:
    """Which steps are drawn, and how many one of them stands for."""
    if len(totals) <= _COLUMNS:
        return np.arange(len(totals)), 1
    return stacked_bars.longest_bars(totals, _COLUMNS)


def _picture(chart: Chart, parts: Floats, top: float) -> Markup:
    columns = parts.shape[1]
    ends = np.cumsum(parts, axis=0) / top
    ground = np.zeros(columns)
    gap = _GAP if columns <= _MAX_SEPARATE_BARS else 0.0
    shapes: list[Markup | None] = []
    # The highest end first: each part covers the lower end of the one that was drawn before it.
    for number in range(len(parts) - 1, -1, -1):
        shapes.append(svg_shapes.area(ground, ends[number], _class(chart, number), gap))
    return svg_shapes.stretched(columns, shapes, chart.title)


def _class(chart: Chart, number: int) -> str:
    return f"c-{STEP_INKS.get(chart.series[number].label, 'other')}"


def _scale(top: float) -> list[AxisMark]:
    half = units.duration(round(top / 2 * PS_PER_S), 3)
    full = units.duration(round(top * PS_PER_S), 3)
    return [AxisMark(0, "0"), AxisMark(0.5, half), AxisMark(1, full)]


def _axis(count: int) -> list[AxisMark]:
    """Steps count from 1 for a person."""
    if count < 3:
        return []
    middle = count // 2
    return [
        AxisMark(0, "1"),
        AxisMark((middle + 0.5) / count, f"{middle + 1:,}"),
        AxisMark(1, f"{count:,}"),
    ]


def _cut_marks(totals: Floats, top: float) -> list[Markup]:
    """A sign at the top of each bar that goes on beyond it."""
    marks = []
    for bar in np.flatnonzero(totals > top * (1 + 1e-9)).tolist():
        share = (bar + 0.5) / len(totals)
        marks.append(element("b", class_="cut", style=f"left:{percent(share)}"))
    return marks


def _legend(chart: Chart) -> list[LegendEntry]:
    """The parts with their shares of a step, the largest first."""
    entries = []
    for number in np.argsort(-np.array(chart.shares), kind="stable").tolist():
        share = chart.shares[number]
        words = units.percent(share, 1) if share >= _NAMED_PARTS else "<0.1 %"
        label = chart.series[number].label
        entries.append(LegendEntry(_class(chart, number), f"{label} {words}"))
    return entries
