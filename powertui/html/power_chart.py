"""Power over a training: a filled area, with epochs below it and findings shaded in it.

The area is full up to the lowest reading of a column and lighter up to its highest, so that a burst
of one reading is seen however long the training is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.model import Floats
from powertui.html import chart_frame, svg_shapes, time_axis
from powertui.html.chart_frame import AxisMark, LegendEntry
from powertui.html.markup import Markup, element, joined, percent
from powertui.view import curve, limit_line, overview_lines
from powertui.view.power_course import NamedSpan, PowerCourse, PowerLevel
from powertui.view.power_curve import channel_curve

_COLUMNS = 540  # two pixels each on a page of 1,080
_ROWS = 16  # of the scale: a tick every few of them
_LABEL_SHARE = 0.008  # of the width that a letter of a label takes, on a page of 1,080 px
_MAX_LABEL_ROWS = 3
_MIN_EPOCH_SHARE = 0.03  # of the width: a narrower epoch has no room for its name
_MAX_EPOCH_BOXES = 120  # more are drawn by every so many


def power_chart(course: PowerCourse) -> Markup | None:
    """The chart. None where nothing is known between its ends."""
    edges = np.linspace(course.lo, course.hi, _COLUMNS + 1).round().astype(np.int64)
    shape = channel_curve(course.power).envelope(edges)
    if not shape.known.any():
        return None
    highest = float(np.nanmax(shape.high))
    top_reading = limit_line.highest(highest, (level.watts for level in course.levels))
    scale = curve.axis(min(0.0, float(np.nanmin(shape.low))), top_reading, _ROWS)
    height = scale.hi - scale.lo
    picture = _picture(
        course,
        (shape.low - scale.lo) / height,
        (shape.high - scale.lo) / height,
    )
    levels = [level for level in course.levels if scale.lo <= level.watts <= scale.hi]
    marks = [
        AxisMark((tick - scale.lo) / height, f"{scale.text(tick)} W") for tick in scale.ticks()
    ]
    above = [
        *(_level_line(level, (level.watts - scale.lo) / height) for level in levels),
        *_finding_labels(course),
    ]
    return chart_frame.figure(
        "Power over the training",
        [
            chart_frame.plot(picture, scale=marks, axis=_axis(course), above=above),
            _lane(course, course.epochs, "epochs"),
            _lane(course, course.profiled, "profiled"),
            chart_frame.legend(_legend(course)),
            _narrow_labels(course),
        ],
        aside=course.title,
        notes=[overview_lines.sentence(course.could_find)] if course.could_find else [],
    )


def _share(course: PowerCourse, ps: int) -> float:
    """Where a moment is, as a share of the width."""
    share = (ps - course.lo) / max(1, course.hi - course.lo)
    return min(1.0, max(0.0, share))


def _picture(course: PowerCourse, low: Floats, high: Floats) -> Markup:
    shaded = []
    for finding in course.findings:
        start, end = (_share(course, ps) * _COLUMNS for ps in (finding.lo, finding.hi))
        # A finding is at least as wide as a line.
        shaded.append(svg_shapes.band(start, max(end, start + 1), "finding"))
    ground = np.where(np.isnan(low), math.nan, 0.0)
    shapes = [
        svg_shapes.area(ground, low, "power"),
        svg_shapes.area(low, high, "power-range"),
        svg_shapes.top_line(high, "power-line"),
        *shaded,
    ]
    return svg_shapes.stretched(_COLUMNS, shapes, f"power: {course.title}")


def _axis(course: PowerCourse) -> list[AxisMark]:
    marks = []
    for ps, words in time_axis.ticks(course.lo, course.hi):
        marks.append(AxisMark(_share(course, ps), words))
    return marks


def _level_line(level: PowerLevel, share: float) -> Markup:
    watts = units.quantity(level.watts, "W")
    label = element("span", f"{level.name} {watts}")
    return element(
        "div",
        label,
        class_="level",
        style=f"bottom:{percent(share)}",
    )


def _finding_labels(course: PowerCourse) -> list[Markup]:
    """The size of each finding above it, on as many rows as keep the labels apart."""
    by_time = sorted(course.findings, key=lambda finding: finding.lo)
    row_ends = [-1.0] * _MAX_LABEL_ROWS
    labels = []
    for finding in by_time:
        middle = _share(course, (finding.lo + finding.hi) // 2)
        length = len(finding.words) * _LABEL_SHARE
        last_start = max(0.0, 1 - length)
        start = min(max(0.0, middle - length / 2), last_start)
        row = next((row for row, end in enumerate(row_ends) if end < start), None)
        if row is None:
            continue
        row_ends[row] = start + length
        side = f"left:{percent(start)}"
        if start + length >= 0.99:
            side = "right:0"
        style = f"{side};top:{row * 1.5:g}em"
        labels.append(element("span", finding.words, class_="finding-label", style=style))
    return labels


def _narrow_labels(course: PowerCourse) -> Markup | None:
    """The same below the chart, where it has no room for them: on a phone."""
    if not course.findings:
        return None
    by_time = sorted(course.findings, key=lambda finding: finding.lo)
    return element(
        "ul",
        *(element("li", finding.words) for finding in by_time),
        class_="narrow",
    )


def _lane(course: PowerCourse, spans: Sequence[NamedSpan], kind: str) -> Markup | None:
    """A row of boxes below the chart, each with its name where that has room."""
    boxes = []
    each = -(-len(spans) // _MAX_EPOCH_BOXES)
    for number, span in enumerate(spans[:: max(1, each)]):
        start = _share(course, span.lo)
        end = _share(course, span.hi)
        # Name and joules apart: what does not fit is left out, and no number is cut.
        parts = span.words.split(" · ") if end - start >= _MIN_EPOCH_SHARE else []
        words = joined(element("i", part) for part in parts)
        place = f"left:{percent(start)};width:{percent(end - start)}"
        boxes.append(element("span", words, class_="odd" if number % 2 else None, style=place))
    if not boxes:
        return None
    return element(
        "div", element("small", kind), element("div", joined(boxes), class_="lane"), class_="lanes"
    )


def _legend(course: PowerCourse) -> list[LegendEntry]:
    entries = [LegendEntry("power", f"power, {course.badge.value}")]
    for level in course.levels:
        badge = ""
        if level.badge is not None:
            badge = f", {level.badge.value}"
        entries.append(
            LegendEntry("level", f"{level.name} {units.quantity(level.watts, 'W')}{badge}")
        )
    if course.findings:
        entries.append(LegendEntry("finding", "findings"))
    return entries
