"""The steps and the power of a run as charts of ASCII characters, for a document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report import text
from powertui.terminal.glyphs import ASCII
from powertui.view import limit_line, power_area, power_course, step_bars
from powertui.view.curve import Envelope
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
    question = Question(
        opened,
        aligning=aligning,
        together=len(opened.profiles) > 1,
    )
    overview = registry.get("overview_page").answer(question)
    for chart in overview.charts:
        if chart.id == "step_time":
            graph = step_bars.step_graph(
                chart,
                _COLUMNS,
                _ROWS,
                ASCII.name,
            )
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
    moments = np.linspace(course.lo, course.hi, _PLOT_CELLS + 1)
    edges = moments.round().astype(np.int64)
    shape = channel_curve(course.power).envelope(edges)
    if not shape.known.any():
        return []
    lines = _area(course, shape)
    epochs = _marks(course, course.epochs, "|")
    findings = _marks(course, course.findings, "!")
    lines.append(_line("epochs", epochs))
    lines.append(_line("findings", findings))
    for words in _words_below(course):
        lines.append(_line("", words))
    return [line for line in lines if line]


def _words_below(course: PowerCourse) -> Iterator[str]:
    """The time that is drawn, the limits in force, and each finding with its moment."""
    begin = units.duration(round(course.lo))
    end = units.duration(round(course.hi))
    yield f"{begin} to {end}"
    for level in course.levels:
        watts = units.quantity(level.watts, "W")
        yield f"{level.name} {watts}"
    for finding in course.findings:
        begin_s = finding.lo / PS_PER_S
        words = text.fenced_text(finding.words, _MAX_WORDS)
        yield f"! at {begin_s:.1f} s: {words}"


def _area(course: PowerCourse, shape: Envelope) -> list[str]:
    """The power as an area, high enough for the limits in force."""
    lowest = float(np.nanmin(shape.low))
    highest = float(np.nanmax(shape.high))
    limits = (level.watts for level in course.levels)
    scale = power_area.power_scale(
        lowest,
        limit_line.highest(highest, limits),
        _ROWS,
    )
    labels = power_area.row_labels(scale, _ROWS, ASCII)
    rows = power_area.draw_area(shape, scale, _ROWS, ASCII)
    lines = []
    for label, row in zip(labels, rows, strict=True):
        is_number = label[-1:].isdigit()
        watts = f"{label} W" if is_number else label
        lines.append(f"{watts:>{_LABEL_CELLS - 2}} |{row}")
    return lines


def _line(label: str, words: str) -> str:
    if words.strip():
        return f"{label:>{_LABEL_CELLS - 2}}  {words}"
    return ""


def _marks(course: PowerCourse, spans: Sequence[NamedSpan], sign: str) -> str:
    """Where stretches begin and end: a sign at either end, the first word between them."""
    cells = [" "] * _PLOT_CELLS
    for span in spans:
        first = _cell(course, span.lo)
        last = _cell(course, span.hi)
        length = last - first + 1
        name = ""
        filler = sign
        if sign == "|":
            name = span.words.partition(" · ")[0]
            filler = " "
        # A name that does not fit is left out: half of one may be another's.
        if len(name) < length - 1:
            words = f"{sign}{name}"
        else:
            words = sign
        cells[first : last + 1] = words[:length].ljust(length, filler)
    return "".join(cells)


def _cell(course: PowerCourse, ps: float) -> int:
    """The cell of the plot that shows a moment; the nearest one for a moment outside."""
    length_ps = max(1, course.hi - course.lo)
    share = (ps - course.lo) / length_ps
    cell = max(0, int(share * _PLOT_CELLS))
    return min(_PLOT_CELLS - 1, cell)
