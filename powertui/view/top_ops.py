"""The ops with the most self time as lines with bars, from the tables of the overview."""

from __future__ import annotations

from powertui import units
from powertui.data.category import work_category
from powertui.data.columns import text_column
from powertui.data.table import Result, Table
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.view import bar_line, readable_names, table_rows
from powertui.view.overview_lines import LinePieces

TITLE = "top ops"
UNIT = "share of self time"
TABLE_ID = "top_ops"  # of the overview's table that has them
_SHARE_CELLS = 7
_MIN_BAR_CELLS = 10


def lines(overview: Result, cells: int, max_rows: int, glyphs: Glyphs) -> list[LinePieces]:
    """At most `max_rows` ops, each colored by the kind of its work; none without such a table."""
    table = _table_of_ops(overview)
    if table is None:
        return []
    paths = []
    shares = []
    for row in range(min(max_rows, len(table))):
        path = table["operation"].value(row)
        share = table["selfTimePercent"].value(row)
        paths.append(str(path or ""))
        shares.append(float(share or 0.0))
    max_room = cells - _MIN_BAR_CELLS - _SHARE_CELLS - 1
    scopes = table_rows.scopes_of(text_column("name", "name", paths))
    layered = [plain(table_rows.layered(path, scopes), 300) for path in paths]
    names = readable_names.distinct(layered, max_room, glyphs.ellipsis)
    room = min(max_room, max(width(name) for name in names))
    bar_cells = cells - room - _SHARE_CELLS - 1
    max_share = max(*shares, 1e-9)
    out = []
    for row, name in enumerate(names):
        kind = work_category(f"{paths[row]}:{table['category'].text(row)}")
        percent = units.percent(shares[row], 1).rjust(_SHARE_CELLS)
        bar = bar_line.Bar(shares[row] / max_share, f"category:{kind.value}", bar_cells)
        out.append(bar_line.barred(name, room, bar, percent, glyphs))
    return out


def titled_lines(overview: Result, cells: int, max_rows: int, glyphs: Glyphs) -> list[LinePieces]:
    """The same below a blank line and a title, one cell from the left."""
    ops = lines(overview, cells, max_rows, glyphs)
    if not ops:
        return []
    rule = glyphs.horizontal * (cells - width(TITLE) - width(UNIT) - 2)
    title = ((f" {TITLE} ", "title"), (rule, "grid"), (f" {UNIT}", "dim"))
    return [((" ", "text"),), title, *(((" ", "text"), *line) for line in ops)]


def _table_of_ops(overview: Result) -> Table | None:
    """The overview's table of top ops, where it has rows."""
    for table in overview.tables:
        if table.id == TABLE_ID and len(table):
            return table
    return None
