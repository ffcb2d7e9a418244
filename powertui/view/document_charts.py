"""The steps and the power of a run as charts of ASCII characters, for a document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report import text
from powertui.terminal.glyphs import ASCII
from powertui.view import limit_line, overview_lines, power_area, power_course
from powertui.view.power_course import NamedSpan, PowerCourse
from powertui.view.power_curve import channel_curve

_COLUMNS = 80
_ROWS = 8  # of a chart
_LABEL_CELLS = 11  # left of a chart, with its rule
_PLOT_CELLS = _COLUMNS - _LABEL_CELLS
_MAX_WORDS = 60  # letters of the name of a finding
_MAX_CHARTED_HOSTS = 2


def run_charts(opened: Opened, aligning: Aligning) -> list[str]:
    """Lines of at most 80 ASCII characters: the steps by category, then the power."""
    lines: list[str] = []
    question = Question(opened, aligning=aligning, together=len(opened.profiles) > 1)
    overview = registry.get("overview_page").answer(question)
    for chart in overview.charts:
        if chart.id == "step_time":
            graph = overview_lines.step_graph(chart, _COLUMNS, _ROWS, ASCII.name)
            rows = ["".join(words for words, _ in pieces) for pieces in graph]
            lines += _titled(chart.title, rows)
    for course in power_course.of_run(opened, aligning, _MAX_CHARTED_HOSTS):
        title = f"Power, {text.fenced_text(course.title, _MAX_WORDS)}"
        lines += _titled(title, _power(course))
    return [_ascii(line) for line in lines]


def _titled(title: str, rows: Sequence[str]) -> Iterable[str]:
    if not rows:
        return
    yield title
    for row in rows:
        yield from textwrap.wrap(
            row.rstrip(),
            _COLUMNS,
            subsequent_indent=" " * _LABEL_CELLS,
            drop_whitespace=False,
            break_long_words=False,
        )
    yield ""


def _ascii(line: str) -> str:
    """In letters that any viewer has."""
    return text.in_ascii(line)[:_COLUMNS].rstrip()


def _power(course: PowerCourse) -> list[str]:
    """The area, below it a row that marks findings, and one with the epochs."""
    edges = np.linspace(course.lo, course.hi, _PLOT_CELLS + 1).round().astype(np.int64)
    shape = channel_curve(course.power).envelope(edges)
    if not shape.known.any():
        return []
    highest = limit_line.highest(
        float(np.nanmax(shape.high)), (level.watts for level in course.levels)
    )
    scale = power_area.power_scale(float(np.nanmin(shape.low)), highest, _ROWS)
    labels = power_area.row_labels(scale, _ROWS, ASCII)
    lines = []
    for label, row in zip(labels, power_area.draw_area(shape, scale, _ROWS, ASCII), strict=True):
        watts = f"{label} W" if label and label[-1].isdigit() else label
        lines.append(f"{watts:>{_LABEL_CELLS - 2}} |{row}")
    lines.append(_line("epochs", _marks(course, course.epochs, "|")))
    lines.append(_line("findings", _marks(course, course.findings, "!")))
    begin, end = (units.duration(round(ps)) for ps in (course.lo, course.hi))
    lines.append(_line("", f"{begin} to {end}"))
    for level in course.levels:
        lines.append(_line("", f"{level.name} {units.quantity(level.watts, 'W')}"))
    for finding in course.findings:
        begin_s = finding.lo / PS_PER_S
        lines.append(
            _line("", f"! at {begin_s:.1f} s: {text.fenced_text(finding.words, _MAX_WORDS)}")
        )
    return [line for line in lines if line]


def _line(label: str, words: str) -> str:
    return f"{label:>{_LABEL_CELLS - 2}}  {words}" if words.strip() else ""


def _marks(course: PowerCourse, spans: Sequence[NamedSpan], sign: str) -> str:
    """Where stretches begin and end: a sign at either end, the first word between them."""
    cells = [" "] * _PLOT_CELLS
    length = max(1, course.hi - course.lo)
    for span in spans:
        first, last = (
            min(_PLOT_CELLS - 1, max(0, int((ps - course.lo) / length * _PLOT_CELLS)))
            for ps in (span.lo, span.hi)
        )
        name = span.words.partition(" · ")[0] if sign == "|" else ""
        inside = f"{sign}{name}" if len(name) < last - first else sign
        filler = " " if sign == "|" else sign
        cells[first : last + 1] = inside[: last - first + 1].ljust(last - first + 1, filler)
    return "".join(cells)
