"""The ops with the most self time as lines with bars, from a table of the overview."""

from __future__ import annotations

from powertui import units
from powertui.data.category import Category, work_category
from powertui.data.columns import text_column
from powertui.data.names_in_words import with_fused
from powertui.data.table import Result, Table
from powertui.named_tuples import NamedTuple
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import bar_line, readable_names, table_rows
from powertui.view.step_bars import LinePieces

TITLE = "top ops"
# Seconds, as the sentence above names them: a share would be of the framework's ops alone, beside
# one of everything in the op table.
UNIT = "self time"
TABLE_ID = "top_ops"  # of the overview's table that has them
_TIME_CELLS = 7
_MIN_BAR_CELLS = 10


class _Op(NamedTuple):
    path: str
    self_ps: int
    kind: Category


def _op(table: Table, row: int) -> _Op:
    path = str(table["operation"].value(row) or "")
    op_type = table["category"].text(row)
    self_ps = table["self_s"].value(row)
    return _Op(
        path=with_fused(path, op_type),
        self_ps=int(self_ps or 0),
        kind=work_category(f"{path}:{op_type}"),
    )


def lines(
    table: Table | None,
    cells: int,
    max_rows: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """At most `max_rows` ops, each colored by the kind of its work; none without a table."""
    if table is None or not len(table):
        return []
    rows = range(min(max_rows, len(table)))
    ops = [_op(table, row) for row in rows]
    room_for_all = cells - _TIME_CELLS - 1
    max_name_cells = room_for_all - _MIN_BAR_CELLS
    names = _short_names([op.path for op in ops], max_name_cells, glyphs)
    widest_name = max(map(width, names))
    name_cells = min(max_name_cells, widest_name)
    longest_ps = max(1, *(op.self_ps for op in ops))
    barred_lines = []
    for name, op in zip(names, ops, strict=True):
        length = units.duration(op.self_ps, 3, padded=True)
        bar = bar_line.Bar(
            share=op.self_ps / longest_ps,
            ink=f"category:{op.kind.value}",
            cells=room_for_all - name_cells,
        )
        line = bar_line.barred(
            name,
            name_cells,
            bar,
            length.rjust(_TIME_CELLS),
            glyphs,
        )
        barred_lines.append(line)
    return barred_lines


def _short_names(paths: list[str], room: int, glyphs: Glyphs) -> list[str]:
    """Names that fit and still differ: of a path first what tells layers apart."""
    column = text_column("name", "name", paths)
    scopes = table_rows.scopes_of(column)
    names = []
    for path in paths:
        name = table_rows.layered(path, scopes)
        names.append(plain(name, 300))
    return readable_names.distinct(names, room, glyphs.ellipsis)


def titled_lines(
    table: Table | None,
    cells: int,
    max_rows: int,
    glyphs: Glyphs,
) -> list[LinePieces]:
    """The same below a blank line and a title, one cell from the left."""
    ops = lines(table, cells, max_rows, glyphs)
    if not ops:
        return []
    rule_cells = cells - width(TITLE) - width(UNIT) - 2
    rule = glyphs.horizontal * rule_cells
    title = ((f" {TITLE} ", "title"), (rule, "grid"), (f" {UNIT}", "dim"))
    blank = (" ", "text")
    indented = [(blank, *line) for line in ops]
    return [(blank,), title, *indented]


def table_of_ops(overview: Result) -> Table | None:
    """The overview's table of top ops, where it has rows."""
    for table in overview.tables:
        if table.id == TABLE_ID and len(table):
            return table
    return None
