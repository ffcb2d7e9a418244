"""The steps of a run as stacked bars with an axis and a legend, as lines of pieces."""

from __future__ import annotations

import itertools

import numpy as np

from powertui import units
from powertui.data.category import CODES, Category
from powertui.data.model import PS_PER_S
from powertui.data.table import Chart, Result, Series
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.glyphs import Glyphs
from powertui.view import finding_flag, stacked_bars
from powertui.view.slow_steps import slow_steps
from powertui.view.step_legend import InkedText, category_letter, part_ink, step_legend
from powertui.view.truncation import middle

LinePieces = tuple[InkedText, ...]

LABEL_CELLS = 12  # left of the bars, with the blanks around it
_GRAPH_INDENT = (" " * (LABEL_CELLS - 1), "text")
# So many steps lie below each other; of more the standing bars are wide enough (chosen by eye).
_MAX_LYING_STEPS = 6
# Lines of the legend, and for how many rows of bars: 3 for 11, so 2 for 8 (chosen by eye).
_LEGEND_LINES, _LEGEND_ROWS = 3, 11
_MIN_CELLS_FOR_MARKS = 72  # of bars: in narrower ones parts come before marks (chosen by eye)
_MIN_HEIGHT_WITH_MARKS = 5  # of a lower graph no row is spent on them


def step_chart(result: Result) -> Chart | None:
    """The time of each step: by kind of work where that is known, else by category."""
    charts = {chart.id: chart for chart in result.charts}
    by_kind = charts.get("step_kinds")
    return by_kind or charts.get("step_time")


def step_graph(
    chart: Chart,
    width: int,
    height: int,
    glyphs: str,
) -> list[LinePieces]:
    """The steps as stacked bars, with their axis and a legend below."""
    letters = ""
    if glyphs == "ascii":
        letters = "".join(_letter(series) for series in chart.series)
    bar_cells = width - LABEL_CELLS
    steps = len(chart.series[0].y) if chart.series else 0
    if steps == 1:
        return _one_step(chart, bar_cells, letters)
    if 1 < steps <= min(_MAX_LYING_STEPS, height):
        return _few_steps(chart, bar_cells, height, letters)
    return _StandingBars(chart, width, height, letters, glyph_sets.get(glyphs)).lines()


class _StandingBars:
    """A bar for each step, from below to above: the lines of its graph and of its legend."""

    def __init__(
        self,
        chart: Chart,
        width: int,
        height: int,
        letters: str,
        glyphs: Glyphs,
    ) -> None:
        self._chart = chart
        self._width = width
        self._bar_cells = width - LABEL_CELLS
        self._height = height
        self._letters = letters
        self._glyphs = glyphs
        self._slow = _slow_steps(chart)
        self._mark_rows = 0
        if self._slow and height >= _MIN_HEIGHT_WITH_MARKS:
            self._mark_rows = 1  # above the longest bar, for its mark
        self._bars = stacked_bars.draw(
            chart,
            self._bar_cells,
            height - self._mark_rows,
            letters=letters,
            eighths=glyphs.name == "unicode",
            cut_at_top=not self._mark_rows,
        )

    def lines(self) -> list[LinePieces]:
        bars = self._bars
        if not bars.rows:
            return []
        cut_mark = "^" if self._letters else "▲"
        cells = self._cells(cut_mark)
        cut_note = _cut_note(bars, cut_mark)
        has_slow = _mark_slow_steps(
            self._slow,
            bars,
            cells,
            self._glyphs.open,
        )
        _mark_findings(
            self._chart,
            bars,
            cells,
            self._glyphs,
        )
        if len(bars.cut) == 1 and _write_beside_mark(cells, cut_note):
            cut_note = ""
        marks = cut_note
        if has_slow:
            marks = f"{marks}  {self._glyphs.open} slow".lstrip()
        return [*self._graph_lines(cells), *self._legend_lines(marks)]

    def _cells(self, cut_mark: str) -> list[list[_Cell]]:
        """The rows of bars, below a row with the marks of those that are cut."""
        cells = _cells_of(self._chart, self._bars)
        if self._mark_rows:
            above = [_Cell(" ", "text") for _ in cells[0]]
            for column in self._bars.cut:
                above[column] = _Cell(cut_mark, "warn")
            cells.insert(0, above)
        return cells

    def _graph_lines(self, cells: list[list[_Cell]]) -> list[LinePieces]:
        labels = [""] * self._height
        labels[-1] = "0"
        top_ps = round(self._bars.top * PS_PER_S)
        labels[self._mark_rows] = units.duration(top_ps)
        rule = "|" if self._letters else "┤"
        lines: list[LinePieces] = []
        for label, row in zip(labels, cells, strict=True):
            axis = (f"{label:>9} {rule}", "axis")
            lines.append((axis, *_pieces(row)))
        return lines

    def _legend_lines(self, marks: str) -> list[LinePieces]:
        """The legend; its last line says what the marks above bars stand for."""
        max_lines = max(1, self._height * _LEGEND_LINES // _LEGEND_ROWS)
        # The marks have their room before the smallest parts; in a narrow window the parts have it.
        last_cells = self._bar_cells
        if self._bar_cells >= _MIN_CELLS_FOR_MARKS:
            last_cells -= len(marks)
        *legend, last_parts = step_legend(
            self._chart,
            self._letters,
            self._bar_cells,
            max_lines,
            last_cells=last_cells,
        )
        last = [_GRAPH_INDENT, *last_parts]
        room = self._width - sum(len(text) for text, _ in last)
        notes = _bar_notes(marks, self._bars.each, room)
        if notes:
            last.append((notes, "dim"))
        else:
            text, role = last.pop()
            last.append((text.rstrip(), role))
        lines: list[LinePieces] = []
        for pieces in legend:
            lines.append((_GRAPH_INDENT, *pieces))
        lines.append(tuple(last))
        return lines


def _letter(series: Series) -> str:
    if not series.kind:
        return category_letter(series.label)
    code = CODES[Category(series.kind)]
    if series.kind == Category.OTHER.value:
        return code.lower()  # "O" is the output
    return (code, code.lower(), "2", "3")[series.shade]


class _Cell:
    """A cell of the graph: what stands there, and how it looks."""

    def __init__(self, char: str, role: str) -> None:
        self.char = char
        self.role = role


def _cells_of(chart: Chart, bars: stacked_bars.StackedBars) -> list[list[_Cell]]:
    rows = []
    for row in bars.rows:
        cells = []
        for piece in row:
            role = _look(chart, piece)
            cells += [_Cell(char, role) for char in piece.text]
        rows.append(cells)
    return rows


def _pieces(cells: list[_Cell]) -> list[InkedText]:
    """Neighboring cells of one look as one piece."""
    pieces = []
    for role, group in itertools.groupby(cells, lambda cell: cell.role):
        text = "".join(cell.char for cell in group)
        pieces.append((text, role))
    return pieces


def _slow_steps(chart: Chart) -> list[int]:
    """The steps that are longer than the others scatter."""
    seconds = [np.nan_to_num(series.y) for series in chart.series]
    totals = np.sum(seconds, axis=0)
    is_slow = slow_steps(totals)
    slow: list[int] = np.flatnonzero(is_slow).tolist()
    return slow


def _mark_slow_steps(
    slow: list[int],
    bars: stacked_bars.StackedBars,
    rows: list[list[_Cell]],
    mark: str,
) -> bool:
    """A mark above each bar of a slow step that is not cut, in its middle; whether there is one."""
    marked = set()
    for bar in slow:
        columns = bars.columns(bar, bar + 1)
        marked.add(columns[len(columns) // 2])
    is_marked = False
    for column in sorted(marked):
        free = [row[column] for row in rows if row[column].char == " "]
        is_cut = any(row[column].char in "▲^" for row in rows)
        if free and not is_cut:
            free[-1].char = mark
            free[-1].role = "warn"
            is_marked = True
    return is_marked


def _mark_findings(
    chart: Chart,
    bars: stacked_bars.StackedBars,
    rows: list[list[_Cell]],
    glyphs: Glyphs,
) -> None:
    """A band above the bars that a finding is about, and its size beside it, as the timeline has
    both above its power.
    """
    for mark in chart.marked:
        columns = bars.columns(mark.first, mark.stop)
        for row in rows:
            for column in columns:
                cell = row[column]
                if cell.char == " ":
                    cell.role = "power_band"
                elif " on " not in cell.role and (
                    cell.char in stacked_bars.PARTLY_FILLED or cell.char == glyphs.open
                ):
                    cell.role += " on power_band"
        chars = [[cell.char for cell in row] for row in rows]
        flag = finding_flag.beside_band(
            chars,
            columns,
            mark.sizes,
            glyphs,
        )
        if flag is not None:
            for cell, char in zip(rows[flag.row][flag.first : flag.stop], flag.text, strict=True):
                cell.char = char
                cell.role = "power_flag"


def _write_beside_mark(rows: list[list[_Cell]], note: str) -> bool:
    """Write how long the step is whose bar is cut behind its mark, where those cells are free."""
    mark, _, length = note.partition(" ")
    cells_needed = 1 + len(length) + 1  # with a blank on either side
    for row in rows:
        for column, cell in enumerate(row, 1):
            if cell.char != mark or cell.role != "warn":
                continue
            beside = row[column : column + cells_needed]
            is_free = all(neighbor.char == " " for neighbor in beside)
            if len(beside) < cells_needed or not is_free:
                return False
            for neighbor, char in zip(beside[1:-1], length, strict=True):
                neighbor.char = char
                neighbor.role = "text"
            return True
    return False


def _cut_note(bars: stacked_bars.StackedBars, mark: str) -> str:
    """How long the step is whose bar goes on beyond the top: "▲ 1.52 s"."""
    if not bars.cut:
        return ""
    longest_ps = round(bars.longest * PS_PER_S)
    longest = units.duration(longest_ps, 3)
    if len(bars.cut) > 1:
        return f"{mark} up to {longest}"
    return f"{mark} {longest}"


def _bar_notes(cut: str, steps_each: int, room: int) -> str:
    """What the bars do not show, as far as there is room: heights that were cut, and steps that
    share a column.
    """
    notes = []
    if cut:
        notes.append(cut)
    if steps_each > 1:
        notes.append(f"longest of {steps_each} in a column")
    while notes and len(", ".join(notes)) > room:
        notes.pop()
    return ", ".join(notes)


def _one_step(chart: Chart, width: int, letters: str) -> list[LinePieces]:
    """A single step as one bar from left to right: there is no other to stand beside it."""
    bar = [_GRAPH_INDENT]
    for piece in stacked_bars.one_bar(chart, width, letters=letters):
        ink = part_ink(chart, piece.part)
        bar.append((piece.text, ink))
    if len(bar) == 1:
        return []
    line = tuple(bar)
    legend, *_ = step_legend(chart, letters, width)
    return [line, line, (_GRAPH_INDENT, *legend)]


def _few_steps(
    chart: Chart,
    width: int,
    height: int,
    letters: str,
) -> list[LinePieces]:
    """Each step as a bar from left to right, as long as its time: standing they would be few
    columns of a wide window.
    """
    seconds = [series.y for series in chart.series]
    totals_s = np.sum(seconds, axis=0).tolist()
    longest_s = max(totals_s)
    if longest_s <= 0:
        return []
    times = []
    for total_s in totals_s:
        total_ps = round(total_s * PS_PER_S)
        times.append(units.duration(total_ps, 4))
    time_cells = max(len(time) for time in times)
    room = width - time_cells - 1
    # A blank line between two bars, where all have room so.
    rows_with_gaps = 2 * len(totals_s) - 1
    has_gaps = rows_with_gaps <= height
    lines: list[LinePieces] = []
    for place, (total_s, time) in enumerate(zip(totals_s, times, strict=True)):
        if lines and has_gaps:
            lines.append(())
        cells = round(room * total_s / longest_s)
        line = _step_bar(
            chart,
            place,
            max(1, cells),
            letters,
            time,
        )
        lines.append(line)
    legend, *_ = step_legend(chart, letters, width)
    lines.append((_GRAPH_INDENT, *legend))
    return lines


def _step_bar(
    chart: Chart,
    place: int,
    cells: int,
    letters: str,
    time: str,
) -> LinePieces:
    """One step: its name, a bar of so many cells, its time."""
    name = _step_name(str(chart.series[0].x[place]))
    label_cells = LABEL_CELLS - 2
    label = middle(name, label_cells).rjust(label_cells)
    pieces = [(f"{label} ", "axis")]
    for piece in stacked_bars.one_bar(chart, cells, place=place, letters=letters):
        ink = part_ink(chart, piece.part)
        pieces.append((piece.text, ink))
    pieces.append((f" {time}", "text"))
    return tuple(pieces)


def _step_name(name: str) -> str:
    """ "551" and "ProfilerStep#551" as "step 551", other names as they are."""
    number = name.rpartition("#")[2]
    if number.isdecimal():
        return f"step {number}"
    return plain(name)


def _look(chart: Chart, piece: stacked_bars.BarPiece) -> str:
    """The role of a cell, with that of the part that its block leaves free."""
    ink = part_ink(chart, piece.part)
    if piece.upper < 0:
        return ink
    ink_above = part_ink(chart, piece.upper)
    return f"{ink} on {ink_above}"
