"""The top of the steps page in a large window: the steps' graph, the top ops, the slowest steps and
the energy, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column
from powertui.data.table import Fact, Result, Table
from powertui.named_tuples import NamedTuple
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import bar_line, overview_lines, step_bars, top_ops, truncation
from powertui.view.step_bars import LinePieces
from powertui.view.text_lines import text_lines

# From this size on the table keeps 25 rows and more below the panels (chosen, not measured).
MIN_COLUMNS = 160
MIN_ROWS = 44
# From this size on it keeps 10 below the graph alone (chosen by eye).
MIN_GRAPH_COLUMNS = 72
MIN_GRAPH_ROWS = 24
_MIN_ROWS_OF_HIGH_GRAPH = 32  # from here on it keeps 16 below a graph of 8 rows
_HIGH_GRAPH_ROWS, _LOW_GRAPH_ROWS = 8, 5
# The panels have the rows that 27 of the table and the page's frame leave (chosen by eye).
_ROWS_WITHOUT_PANELS = 36
_MIN_PANEL_ROWS, _MAX_PANEL_ROWS = 12, 20
_GAP_CELLS = 3
_FRAME_ROWS = 6  # of a page with a table: its heading, the titles, the count, the keys
_OPS_FRAME_ROWS = 3  # a blank line, the title, and a blank line behind the ops
_MIN_OPS = 3
_MAX_OPS_CELLS = 118  # beyond them a bar is too far from its name (chosen by eye)
# The graph has what these leave: it is looked at first, and a step has a column of its own soonest.
_OPS_CELLS, _STEPS_CELLS, _ENERGY_CELLS = 48, 32, 33
_BAR_CELLS = 6
_LENGTH_CELLS = 10
_JOULES_CELLS = 10  # of a figure, and of its interval
_ENERGY_NAME_CELLS = _ENERGY_CELLS - 2 * _JOULES_CELLS
_DIFFERENCE = "epoch_difference_joules"  # the fact of the overview


class _Panel(NamedTuple):
    title: str
    unit: str  # at the end of its rule
    cells: int
    lines: list[LinePieces]


def panel_lines(
    steps: Result,
    overview: Result,
    columns: int,
    rows: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """The panels as lines, and what marks the steps below them in one line."""
    height = min(max(rows - _ROWS_WITHOUT_PANELS, _MIN_PANEL_ROWS), _MAX_PANEL_ROWS)
    candidates = (
        _Panel(
            title=top_ops.TITLE,
            unit=top_ops.UNIT,
            cells=_OPS_CELLS,
            lines=top_ops.lines(top_ops.table_of_ops(overview), _OPS_CELLS, height, glyphs),
        ),
        _slowest_steps(steps, height, glyphs),
        _energy(overview, steps),
    )
    panels = [panel for panel in candidates if panel.lines]
    used = sum(panel.cells + _GAP_CELLS for panel in panels)
    graph_cells = columns - 2 - used
    graph: list[LinePieces] = []
    for graph_rows in range(height - 1, 1, -1):
        # Its legend takes rows, too: as many as it has kinds for.
        graph = _graph(
            overview,
            graph_cells,
            graph_rows,
            glyphs,
        )
        if len(graph) <= height:
            break
    if not graph and not panels:
        return []
    panels.insert(
        0,
        _Panel(title="steps", unit="time of each", cells=graph_cells, lines=graph),
    )
    facts = truncation.end(
        " · ".join(_facts(steps)),
        columns - 2,
        glyphs.ellipsis,
    )
    return [*_side_by_side(panels, height, glyphs), ((f" {facts}", "dim"),)]


def graph_lines(
    steps: Result,
    overview: Result,
    columns: int,
    rows: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """The steps' graph, and below it what a person knows of all steps; of few steps the top ops,
    too, in the rows that their table leaves.
    """
    is_high = rows >= _MIN_ROWS_OF_HIGH_GRAPH
    graph_rows = _HIGH_GRAPH_ROWS if is_high else _LOW_GRAPH_ROWS
    graph = _graph(
        overview,
        columns - 2,
        graph_rows,
        glyphs,
    )
    if not graph:
        return []
    lines: list[LinePieces] = [*graph]
    facts = " · ".join(_facts(steps))
    if not is_high:
        facts = truncation.end(facts, columns - 2, glyphs.ellipsis)
    for row in text_lines(facts, columns - 2, ""):
        lines.append(((f" {row}", "dim"),))
    table_rows = _FRAME_ROWS + (0 if steps.table is None else len(steps.table))
    free_rows = rows - len(lines) - table_rows - len(steps.notes) - _OPS_FRAME_ROWS
    if free_rows >= _MIN_OPS:
        ops = top_ops.table_of_ops(overview)
        cells = min(columns - 2, _MAX_OPS_CELLS)
        lines += top_ops.titled_lines(ops, cells, min(free_rows, _MIN_PANEL_ROWS), glyphs)
        lines.append(((" ", "text"),))
    return lines


def _graph(
    overview: Result,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """The time of each step; nothing where the overview has no chart of it."""
    chart = step_bars.step_chart(overview)
    if chart is None:
        return []
    return step_bars.step_graph(
        chart,
        cells,
        rows,
        glyphs.name,
    )


def _facts(steps: Result) -> list[str]:
    """The facts that have a value, each with its label: figures first, words have less room."""
    figures: list[str] = []
    words: list[str] = []
    for fact in steps.facts:
        if fact.value is not None:
            text = f"{plain(fact.label, 40)} {plain(fact.text(), 100)}"
            (words if isinstance(fact.value, str) else figures).append(text)
    return figures + words


def _side_by_side(
    panels: Sequence[_Panel],
    height: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    gap = (" " * _GAP_CELLS, "text")
    longest = max(len(panel.lines) for panel in panels)
    rows: list[LinePieces] = [_titles(panels, glyphs)]
    for y in range(min(height, longest)):
        pieces: list[tuple[str, str]] = [(" ", "text")]
        for panel in panels:
            line: LinePieces = ()
            if y < len(panel.lines):
                line = panel.lines[y]
            pieces += _fitting(line, panel.cells)
            pieces.append(gap)
        rows.append(tuple(pieces[:-1]))
    return rows


def _titles(panels: Sequence[_Panel], glyphs: Glyphs) -> LinePieces:
    pieces: list[tuple[str, str]] = [(" ", "text")]
    for panel in panels:
        rule = panel.cells - width(panel.title) - width(panel.unit) - 2
        pieces += [
            (f"{panel.title} ", "title"),
            (glyphs.horizontal * rule, "grid"),
            (f" {panel.unit}", "dim"),
            (" " * _GAP_CELLS, "text"),
        ]
    return tuple(pieces[:-1])


def _fitting(line: LinePieces, cells: int) -> list[tuple[str, str]]:
    """The pieces that have room, in exactly so many cells."""
    out: list[tuple[str, str]] = []
    room = cells
    for text, role in line:
        if width(text) > room:
            break
        out.append((text, role))
        room -= width(text)
    return [*out, (" " * room, "text")]


def _slowest_steps(steps: Result, rows: int, glyphs: Glyphs) -> _Panel:
    table = steps.table
    if table is None or len(table) < 2 or "step_s" not in table.ids:
        return _Panel(title="", unit="", cells=0, lines=[])
    times = _times(table)
    slowest_rows = np.argsort(-times, kind="stable")[: rows - 2].tolist()
    room = _STEPS_CELLS - _BAR_CELLS - _LENGTH_CELLS - 1
    # The longest of the others: one step that was traced must not make dots of all bars.
    full_bar_s = float(times[slowest_rows[1]]) or 1.0
    lines = []
    for row in slowest_rows:
        name = _step_name(table, row)
        length = units.duration(int(times[row]), 3, padded=True).rjust(_LENGTH_CELLS)
        bar = bar_line.Bar(float(times[row]) / full_bar_s, "warn", _BAR_CELLS)
        lines.append(bar_line.barred(name, room, bar, length, glyphs))
    median_ps = _median_of_steps(steps, times)
    title_unit = f"median {units.duration(round(median_ps), 3)}"
    return _Panel(
        title="slowest steps",
        unit=title_unit,
        cells=_STEPS_CELLS,
        lines=lines,
    )


def _step_name(table: Table, row: int) -> str:
    number = table["number"].value(row)
    epoch = table["epoch"].value(row)
    if epoch is None:
        return f"step {number}"
    return f"epoch {epoch} step {number}"


def _median_of_steps(steps: Result, times: Floats) -> float:
    """The median that the page names above the table; else that of all steps."""
    for fact in steps.facts:  # without steps that trace or compile
        if fact.id == "usual" and isinstance(fact.value, int):
            return fact.value
    return median_of_column(times)


def _times(table: Table) -> np.ndarray:
    """The time of each step; of the host alone where nothing else is known."""
    for id in ("step_s", "duration_s"):
        column = table[id]
        if column.unknown:
            continue
        values = np.asarray(column.values, np.float64)
        if column.present is None:
            return values
        return np.where(column.present, values, 0.0)
    return np.zeros(len(table))


def _energy(overview: Result, steps: Result) -> _Panel:
    """Joules of epochs, of the run and of a step; nothing where there is no power."""
    lines: list[LinePieces] = []
    for label, fact in _energy_facts(overview, steps):
        if fact.value is None or isinstance(fact.value, str):
            continue
        lines.append(_energy_line(label, fact))
        if fact.id == "energy" and fact.why:
            # Without it the epochs come to more than the profile that holds them.
            lines.append(((f"  {fact.why}", "dim"),))
    return _Panel(
        title="energy",
        unit="95 % interval",
        cells=_ENERGY_CELLS,
        lines=lines,
    )


def _energy_line(label: str, fact: Fact) -> LinePieces:
    """What the joules are of, the joules, and their error."""
    figure, error = overview_lines.figure_and_error(fact)
    name = truncation.middle(plain(label, 40), _ENERGY_NAME_CELLS)
    pad = " " * (_ENERGY_NAME_CELLS - width(name))
    return (
        (name + pad, "text"),
        (figure.rjust(_JOULES_CELLS), "title"),
        (error.ljust(_JOULES_CELLS), "dim"),
    )


def _energy_facts(overview: Result, steps: Result) -> list[tuple[str, Fact]]:
    """The facts of energy with their labels: of as many epochs as leave room for the others."""
    facts = {fact.id: fact for fact in overview.facts}
    difference = facts.get(_DIFFERENCE)
    labelled: list[tuple[str, Fact]] = []
    for id, fact in facts.items():
        if id.startswith("epoch_") and fact is not difference:
            labelled.append((fact.label, fact))
    del labelled[_MIN_PANEL_ROWS - 5 :]
    if difference is not None:
        labelled.append(("difference", difference))
    if "energy" in facts:
        # "energy of the profile", or of the window.
        labelled.append((facts["energy"].label.removeprefix("energy of "), facts["energy"]))
    if "step_joules" in facts:
        labelled.append(("a step", facts["step_joules"]))
        return labelled
    for fact in steps.facts:
        if fact.id == "joules_per_step":
            labelled.append(("a step", fact))
            break
    return labelled
