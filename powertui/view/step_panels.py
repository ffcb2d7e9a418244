"""The top of the steps page in a large window: the steps' graph, the top ops, the slowest steps and
the energy, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui import units
from powertui.data.category import work_category
from powertui.data.table import Fact, Result, Table, shown, text_column
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import overview_lines, readable_names, table_rows, truncation
from powertui.view.overview_lines import LinePieces

# From this size on the table keeps 25 rows and more below the panels (chosen, not measured).
MIN_COLUMNS = 160
MIN_ROWS = 44
_PANEL_ROWS = 12
_GAP_CELLS = 3
_OPS_CELLS, _STEPS_CELLS, _ENERGY_CELLS = 48, 36, 36
_BAR_CELLS = 10
_SHARE_CELLS = 7
_LENGTH_CELLS = 10


class _Panel(NamedTuple):
    title: str
    unit: str  # at the end of its rule
    cells: int
    lines: list[LinePieces]


def panel_lines(steps: Result, overview: Result, columns: int, glyphs: Glyphs) -> list[LinePieces]:
    """The panels as lines, and what marks the steps below them in one line."""
    parts = [
        _ops(overview, glyphs),
        _slowest(steps, glyphs),
        _energy(overview, steps),
    ]
    others = [part for part in parts if part.lines]
    used = sum(part.cells + _GAP_CELLS for part in others)
    graph_cells = columns - 2 - used
    chart = next((chart for chart in overview.charts if chart.id == "step_time"), None)
    graph: list[LinePieces] = []
    if chart is not None:
        graph = overview_lines.step_graph(chart, graph_cells, _PANEL_ROWS - 2, glyphs.name)
    if not graph and not others:
        return []
    panels = [_Panel("steps", "time of each", graph_cells, graph), *others]
    lines = _side_by_side(panels, glyphs)
    facts = " · ".join(
        f"{plain(fact.label, 40)} {plain(fact.text(), 100)}"
        for fact in steps.facts
        if fact.value is not None
    )
    return [*lines, ((f" {truncation.end(facts, columns - 2, glyphs.ellipsis)}", "dim"),)]


def _side_by_side(panels: Sequence[_Panel], glyphs: Glyphs) -> list[LinePieces]:
    rows: list[LinePieces] = [_titles(panels, glyphs)]
    height = min(_PANEL_ROWS, max(len(panel.lines) for panel in panels))
    for y in range(height):
        pieces: list[tuple[str, str]] = [(" ", "text")]
        for panel in panels:
            line = panel.lines[y] if y < len(panel.lines) else ()
            pieces += [*_fitting(line, panel.cells), (" " * _GAP_CELLS, "text")]
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


def _ops(overview: Result, glyphs: Glyphs) -> _Panel:
    table = next((table for table in overview.tables if table.id == "top_ops"), None)
    if table is None or not len(table):
        return _Panel("", "", 0, [])
    paths = [str(table["operation"].value(row) or "") for row in range(len(table))]
    scopes = table_rows.scopes_of(text_column("name", "name", paths))
    room = _OPS_CELLS - _BAR_CELLS - _SHARE_CELLS - 1
    layered = [plain(table_rows.layered(path, scopes), 300) for path in paths]
    names = readable_names.distinct(layered, room, glyphs.ellipsis)
    shares = [float(table["selfTimePercent"].value(row) or 0.0) for row in range(len(table))]
    greatest = max(max(shares), 1e-9)
    lines = []
    for row, (name, share) in enumerate(zip(names, shares, strict=True)):
        kind = work_category(f"{paths[row]}:{table['category'].text(row)}")
        percent = units.percent(share, 1)
        ink = f"category:{kind.value}"
        lines.append(_barred(name, room, share / greatest, percent, _SHARE_CELLS, glyphs, ink))
    return _Panel("top ops", "share of self time", _OPS_CELLS, lines)


def _slowest(steps: Result, glyphs: Glyphs) -> _Panel:
    table = steps.table
    if table is None or len(table) < 2 or "step_s" not in table.ids:
        return _Panel("", "", 0, [])
    times = _times(table)
    order = np.argsort(-times, kind="stable")[: _PANEL_ROWS - 2].tolist()
    usual = float(np.median(times))
    room = _STEPS_CELLS - _BAR_CELLS - _LENGTH_CELLS - 1
    # The longest of the others: one step that was traced must not make dots of all bars.
    second = float(times[order[1]]) or 1.0
    lines = []
    for row in order:
        number, epoch = table["number"].value(row), table["epoch"].value(row)
        name = f"step {number}" if epoch is None else f"epoch {epoch} step {number}"
        length = units.duration(int(times[row]), 3)
        share = min(1.0, float(times[row]) / second)
        lines.append(_barred(name, room, share, length, _LENGTH_CELLS, glyphs, "warn"))
    title_unit = f"usual {units.duration(round(usual), 3)}"
    return _Panel("slowest steps", title_unit, _STEPS_CELLS, lines)


def _times(table: Table) -> np.ndarray:
    """The time of each step; of the host alone where nothing else is known."""
    for id in ("step_s", "duration_s"):
        column = table[id]
        if not column.unknown:
            values = np.asarray(column.values, np.float64)
            return values if column.present is None else np.where(column.present, values, 0.0)
    return np.zeros(len(table))


def _barred(
    name: str,
    room: int,
    share: float,
    figure: str,
    figure_cells: int,
    glyphs: Glyphs,
    ink: str,
) -> LinePieces:
    """A name, a bar, and a figure at the right."""
    halves = round(2 * _BAR_CELLS * share)
    bar = glyphs.bar * (halves // 2) + glyphs.bar_end * (halves % 2)
    name = truncation.middle(name, room, glyphs.ellipsis)
    return (
        (name + " " * (room - width(name) + 1), "text"),
        (bar + " " * (_BAR_CELLS - width(bar)), ink),
        (figure.rjust(figure_cells), "title"),
    )


def _energy(overview: Result, steps: Result) -> _Panel:
    """Joules of epochs, of the run and of a step; nothing where there is no power."""
    facts = {fact.id: fact for fact in overview.facts}
    chosen: list[tuple[str, Fact]] = []
    epochs = [(id, fact) for id, fact in facts.items() if id.startswith("epoch_")]
    difference = facts.get("epoch_difference_joules")
    chosen += [(fact.label, fact) for _, fact in epochs if fact is not difference]
    chosen = chosen[: _PANEL_ROWS - 5]
    if difference is not None:
        chosen.append(("difference", difference))
    for id, label in (("energy", "all of it"), ("step_joules", "a step")):
        if id in facts:
            chosen.append((label, facts[id]))
    of_step = next((fact for fact in steps.facts if fact.id == "joules_per_step"), None)
    if of_step is not None and "step_joules" not in facts:
        chosen.append(("a step", of_step))
    lines: list[LinePieces] = []
    for label, fact in chosen:
        if fact.value is None or isinstance(fact.value, str):
            continue
        figure = shown(fact.value, fact.kind, fact.unit)
        interval = overview_lines.with_interval(fact).removeprefix(figure)
        name = truncation.middle(plain(label, 40), _ENERGY_CELLS - 22)
        lines.append(
            (
                (name + " " * (_ENERGY_CELLS - 22 - width(name)), "text"),
                (figure.rjust(11), "title"),
                (f"{interval:<11}", "dim"),
            )
        )
    return _Panel("energy", "95 % interval", _ENERGY_CELLS, lines)
