"""The steps of a run as stacked bars with an axis and a legend, as lines of pieces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.category import CODES, SHORT_NAMES, Category
from powertui.data.model import PS_PER_S
from powertui.data.table import Chart, Result, Series
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.glyphs import Glyphs
from powertui.view import finding_flag, stacked_bars
from powertui.view.slow_steps import slow_steps
from powertui.view.truncation import middle

# (text, role of the theme); the role "category:NAME" is the ink of a category.
LinePieces = tuple[tuple[str, str], ...]

# The color of each category of a step, by the chart's labels.
STEP_INKS = {
    "Device compute": "matmul",
    "Device to device": "memory",
    "Device collective communication": "communication",
    "Host compute": "host",
    "Kernel launch": "runtime",
    "Input": "input",
    "Output": "optimizer",
    "Compilation": "compile",
    "All others": "idle",
}
# What stands for that color in ASCII, wherever categories are drawn: `CODES` has the same letters
# for the same work (X: collectives, J: compiling, H: the host, I: input).
_LETTERS = {
    "Device compute": "C",
    "Device to device": "D",
    "Device collective communication": "X",
    "Host compute": "H",
    "Kernel launch": "L",
    "Input": "I",
    "Output": "O",
    "Compilation": "J",
    "All others": ".",
}
LABEL_CELLS = 12  # left of the bars, with the blanks around it
_GRAPH_INDENT = (" " * (LABEL_CELLS - 1), "text")
# So many steps lie below each other; of more the standing bars are wide enough (chosen by eye).
_MAX_LYING_STEPS = 6
_MIN_SHOWN_SHARE = 0.0005  # of a step: less would read "0.0 %"
# Lines of the legend, and for how many rows of bars: 3 for 11, so 2 for 8 (chosen by eye).
_LEGEND_LINES, _LEGEND_ROWS = 3, 11
_MIN_CELLS_FOR_MARKS = 72  # of bars: in narrower ones parts come before marks (chosen by eye)
_MIN_NAMED_PARTS = 3  # where fewer have room, the shades of a kind are one part (chosen by eye)
_MIN_HEIGHT_WITH_MARKS = 5  # of a lower graph no row is spent on them


def category_letter(label: str) -> str:
    """What stands for a category of a step where blocks cannot be drawn."""
    return _LETTERS.get(label, "?")


def step_chart(result: Result) -> Chart | None:
    """The time of each step: by kind of work where that is known, else by category."""
    charts = {chart.id: chart for chart in result.charts}
    return charts.get("step_kinds") or charts.get("step_time")


def step_graph(chart: Chart, width: int, height: int, glyphs: str) -> list[LinePieces]:
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
    slow = _slow_steps(chart)
    # A row above the longest bar, for its mark.
    mark_rows = 1 if slow and height >= _MIN_HEIGHT_WITH_MARKS else 0
    bars = stacked_bars.draw(
        chart,
        bar_cells,
        height - mark_rows,
        letters=letters,
        eighths=glyphs == "unicode",
        cut_at_top=not mark_rows,
    )
    if not bars.rows:
        return []
    labels = [""] * height
    labels[-1] = "0"
    labels[mark_rows] = units.duration(round(bars.top * PS_PER_S))
    rule = "|" if letters else "┤"
    cells = _cells_of(chart, bars)
    cut_mark = "^" if letters else "▲"
    if mark_rows:
        cells.insert(0, [_Cell(" ", "text") for _ in cells[0]])
        for column in bars.cut:
            cells[0][column] = _Cell(cut_mark, "warn")
    glyph_set = glyph_sets.get(glyphs)
    cut_note = _cut_note(bars, cut_mark)
    has_slow = _mark_slow_steps(slow, bars, cells, glyph_set.open)
    _mark_findings(chart, bars, cells, glyph_set)
    if len(bars.cut) == 1 and _write_beside_mark(cells, cut_note):
        cut_note = ""
    lines: list[LinePieces] = []
    for label, row in zip(labels, cells, strict=True):
        lines.append(((f"{label:>9} {rule}", "axis"), *_pieces(row)))
    # What the marks above bars stand for has its room before the smallest parts; in a narrow window
    # the parts have it.
    marks = cut_note
    if has_slow:
        marks = f"{marks}  {glyph_set.open} slow".lstrip()
    max_lines = max(1, height * _LEGEND_LINES // _LEGEND_ROWS)
    last_cells = bar_cells
    if bar_cells >= _MIN_CELLS_FOR_MARKS:
        last_cells -= len(marks)
    legend = _legend(chart, letters, bar_cells, max_lines, last_cells=last_cells)
    last = [_GRAPH_INDENT, *legend.pop()]
    room = width - sum(len(text) for text, _ in last)
    notes = _bar_notes(marks, bars.each, room)
    if notes:
        last.append((notes, "dim"))
    else:
        text, role = last.pop()
        last.append((text.rstrip(), role))
    for pieces in legend:
        lines.append((_GRAPH_INDENT, *pieces))
    return [*lines, tuple(last)]


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


def _pieces(cells: list[_Cell]) -> list[tuple[str, str]]:
    """Neighboring cells of one look as one piece."""
    pieces = []
    for role, group in itertools.groupby(cells, lambda cell: cell.role):
        pieces.append(("".join(cell.char for cell in group), role))
    return pieces


def _slow_steps(chart: Chart) -> list[int]:
    """The steps that are longer than the others scatter."""
    totals = np.sum([np.nan_to_num(series.y) for series in chart.series], axis=0)
    slow: list[int] = np.flatnonzero(slow_steps(totals)).tolist()
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
        flag = finding_flag.beside_band(chars, columns, mark.sizes, glyphs)
        if flag is not None:
            for cell, char in zip(rows[flag.row][flag.first : flag.stop], flag.text, strict=True):
                cell.char = char
                cell.role = "power_flag"


def _write_beside_mark(rows: list[list[_Cell]], note: str) -> bool:
    """Write how long the step is whose bar is cut behind its mark, where those cells are free."""
    mark, _, length = note.partition(" ")
    for row in rows:
        for column, cell in enumerate(row):
            if cell.char != mark or cell.role != "warn":
                continue
            cells_needed = 1 + len(length) + 1  # with a blank on either side
            beside = row[column + 1 : column + 1 + cells_needed]
            if len(beside) < cells_needed or any(other.char != " " for other in beside):
                return False
            for other, char in zip(beside[1:-1], length, strict=True):
                other.char = char
                other.role = "text"
            return True
    return False


def _cut_note(bars: stacked_bars.StackedBars, mark: str) -> str:
    """How long the step is whose bar goes on beyond the top: "▲ 1.52 s"."""
    if not bars.cut:
        return ""
    longest = units.duration(round(bars.longest * PS_PER_S), 3)
    return f"{mark} {'up to ' if len(bars.cut) > 1 else ''}{longest}"


def _bar_notes(cut: str, steps_each: int, room: int) -> str:
    """What the bars do not show, as far as there is room: heights that were cut, and steps that
    share a column.
    """
    notes = [cut] if cut else []
    if steps_each > 1:
        notes.append(f"longest of {steps_each} in a column")
    while notes and len(", ".join(notes)) > room:
        notes.pop()
    return ", ".join(notes)


def _one_step(chart: Chart, width: int, letters: str) -> list[LinePieces]:
    """A single step as one bar from left to right: there is no other to stand beside it."""
    bar = [_GRAPH_INDENT]
    for piece in stacked_bars.one_bar(chart, width, letters=letters):
        bar.append((piece.text, _ink(chart, piece.part)))
    if len(bar) == 1:
        return []
    line = tuple(bar)
    return [line, line, (_GRAPH_INDENT, *_legend(chart, letters, width)[0])]


def _few_steps(chart: Chart, width: int, height: int, letters: str) -> list[LinePieces]:
    """Each step as a bar from left to right, as long as its time: standing they would be few
    columns of a wide window.
    """
    totals_s = np.sum([series.y for series in chart.series], axis=0).tolist()
    longest_s = max(totals_s)
    if longest_s <= 0:
        return []
    times = [units.duration(round(total_s * PS_PER_S), 4) for total_s in totals_s]
    time_cells = max(len(time) for time in times)
    room = width - time_cells - 1
    # A blank line between two bars, where all have room so.
    has_gaps = 2 * len(totals_s) - 1 <= height
    lines: list[LinePieces] = []
    for place, (total_s, time) in enumerate(zip(totals_s, times, strict=True)):
        if lines and has_gaps:
            lines.append(())
        cells = max(1, round(room * total_s / longest_s))
        lines.append(_step_bar(chart, place, cells, letters, time))
    legend, *_ = _legend(chart, letters, width)
    lines.append((_GRAPH_INDENT, *legend))
    return lines


def _step_bar(chart: Chart, place: int, cells: int, letters: str, time: str) -> LinePieces:
    """One step: its name, a bar of so many cells, its time."""
    name = _step_name(str(chart.series[0].x[place]))
    label_cells = LABEL_CELLS - 2
    pieces = [(f"{middle(name, label_cells):>{label_cells}} ", "axis")]
    for piece in stacked_bars.one_bar(chart, cells, place=place, letters=letters):
        pieces.append((piece.text, _ink(chart, piece.part)))
    pieces.append((f" {time}", "text"))
    return tuple(pieces)


def _step_name(name: str) -> str:
    """ "551" and "ProfilerStep#551" as "step 551", other names as they are."""
    number = name.rpartition("#")[2]
    return f"step {number}" if number.isdecimal() else plain(name)


def _look(chart: Chart, piece: stacked_bars.BarPiece) -> str:
    """The role of a cell, with that of the part that its block leaves free."""
    ink = _ink(chart, piece.part)
    return ink if piece.upper < 0 else f"{ink} on {_ink(chart, piece.upper)}"


def _ink(chart: Chart, part: int) -> str:
    if part == stacked_bars.CUT:
        return "warn"
    if part < 0:
        return "text"
    series = chart.series[part]
    if series.kind:
        return f"category:{series.kind}:{series.shade}"
    return f"category:{STEP_INKS.get(series.label, 'other')}"


def _legend(
    chart: Chart,
    letters: str,
    cells: int,
    max_lines: int = 1,
    *,
    last_cells: int | None = None,
) -> list[list[tuple[str, str]]]:
    """The parts of the bars on lines of so many cells (`last_cells` of the last one), each with its
    share of a step, as the table of a step has it, the largest first; of those that have no room
    the count. Where hardly any has, the parts of one kind are one.
    """
    # The sentence above may be about all the time, between the steps too.
    head = "of the step  " if len(chart.series[0].y) == 1 else "of a step  "
    widths = [cells] * max_lines
    if last_cells is not None:
        widths[-1] = last_cells
    parts = [(number,) for number in range(len(chart.series))]
    lines, hidden = _legend_lines(_entries(chart, letters, parts), head, widths)
    if hidden and len(parts) - hidden < _MIN_NAMED_PARTS:
        kinds = _by_kind(chart)
        lines_of_kinds, hidden_kinds = _legend_lines(_entries(chart, letters, kinds), head, widths)
        if hidden_kinds < hidden:
            return lines_of_kinds
    return lines


def _legend_lines(
    entries: list[list[tuple[str, str]]],
    head: str,
    widths: list[int],
) -> tuple[list[list[tuple[str, str]]], int]:
    """The entries on lines of these widths, and how many have no room."""
    left = entries
    lines: list[list[tuple[str, str]]] = []
    while left and len(lines) < len(widths):
        is_last = len(lines) == len(widths) - 1
        cells = widths[len(lines)]
        count = _fitting(left, cells - len(head), with_count=is_last)
        if not count and not is_last:
            # Not even one: the last line says how many there are.
            widths = widths[: len(lines)] + widths[-1:]
            continue
        if not count:
            return [*lines, left[0]], len(left) - 1
        pieces = [(head, "dim")]
        for entry in left[:count]:
            pieces += entry
        lines.append(pieces)
        left = left[count:]
        head = " " * len(head)
    if left:
        lines[-1].append((f"{len(left)} more  ", "dim"))
    return lines, len(left)


def _fitting(entries: list[list[tuple[str, str]]], cells: int, *, with_count: bool) -> int:
    """How many of the parts have room, beside the count of the others."""
    for count in range(len(entries), 0, -1):
        length = sum(len(text) for entry in entries[:count] for text, _ in entry)
        if with_count and count < len(entries):
            length += len(f"{len(entries) - count} more  ")
        if length - len("  ") <= cells:
            return count
    return 0


def _by_kind(chart: Chart) -> list[tuple[int, ...]]:
    """The numbers of the parts of each kind of work; what has no kind is by itself."""
    by_kind: dict[str, list[int]] = {}
    for number, series in enumerate(chart.series):
        by_kind.setdefault(series.kind or series.label, []).append(number)
    return [tuple(numbers) for numbers in by_kind.values()]


def _entries(
    chart: Chart,
    letters: str,
    parts: Sequence[tuple[int, ...]],
) -> list[list[tuple[str, str]]]:
    """Each part, or several together, with marks and the share of a step, the largest first."""
    shares = [sum(chart.shares[number] for number in numbers) for numbers in parts]

    def size_and_place(place: int) -> tuple[float, int]:
        return shares[place], place

    # Of equal parts the later one comes first.
    largest_first = sorted(range(len(parts)), key=size_and_place, reverse=True)
    entries = []
    for place in largest_first:
        numbers = parts[place]
        # A part that is there must not be shown as none.
        percent = "<0.1 %"
        if shares[place] >= _MIN_SHOWN_SHARE:
            percent = units.percent(shares[place], 1)
        marks = []
        for number in numbers:
            marks.append((letters[number] if letters else "■", _ink(chart, number)))
        label = _label(chart.series[numbers[0]], is_kind=len(numbers) > 1)
        entries.append([*marks, (f" {label} {percent}  ", "label")])
    return entries


def _label(series: Series, *, is_kind: bool) -> str:
    """What the legend calls a part, or all parts of its kind."""
    if is_kind:
        return SHORT_NAMES[Category(series.kind)]
    if series.kind:
        return series.label
    label = series.label.lower()
    return "collectives" if label.startswith("device coll") else label
