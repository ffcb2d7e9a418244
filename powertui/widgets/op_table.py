"""The op table of a window: sorted, filtered, with a cursor. A row is made when it is looked at: length costs nothing.

A program may have a million names. What orders and chooses rows works on columns, in a thread where there are many.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui import units
from powertui.data.model import Int64s
from powertui.data.texts import Check, unhindered
from powertui.data.tools.op_stats import COLUMNS, Op, OpStats
from powertui.plain import plain
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.widgets import background
from powertui.widgets.time_lane import fit_text

AT_ONCE = 5000  # rows up to here are arranged before the next frame, more in a thread
_NO_ROWS = np.empty(0, np.int64)

# column → width, and from which width of the table on it is shown
WIDTHS = {"type": 16, "device": 16, "count": 9, "total": 10, "self": 10, "average": 10, "share": 7}
SHOWN_FROM = {"type": 92, "device": 120, "count": 44, "total": 66, "self": 30, "average": 80, "share": 52}
TITLES = {"name": "name", "type": "type", "device": "device", "count": "count", "total": "total", "self": "self",
          "average": "average", "share": "share"}  # fmt: skip


def columns_for(width: int) -> list[str]:
    """Which columns a table this wide has room for: the name and the self time always."""
    return [name for name in COLUMNS if name == "name" or width >= SHOWN_FROM[name]]


def cell(op: Op, column: str) -> str:
    if column == "count":
        return f"{op.count:,}"
    if column == "share":
        return f"{op.share:.1%}"
    if column == "total":
        return units.duration(op.total)
    if column == "self":
        return units.duration(op.self_time)
    if column == "average":
        return units.duration(op.total // op.count)
    if column == "name":
        return plain(op_name(op), 300)
    return plain(str(getattr(op, column)), 100)


def op_name(op: Op) -> str:
    """The op's own name, its type left to the column beside it."""
    return op.full.rpartition(":")[0] if op.full.endswith(":" + op.type) else op.name


class OpTable(Widget, can_focus=True):
    """Sort with `sort` or a click on a title; `filter`; Enter sends `Chosen`."""

    DEFAULT_CSS = "OpTable { height: 12; width: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "edge(-1)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Chosen(Message):
        """Show the longest occurrence of the op in this row."""

        def __init__(self, stats: OpStats, row: int) -> None:
            super().__init__()
            self.stats, self.row = stats, row

    def __init__(self, *, theme: Theme, glyphs: str = "unicode", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.stats: OpStats | None = None
        self.rows: Int64s = _NO_ROWS  # of `_listed`, in the order in which they are listed
        self.key, self.descending = "self", True
        self.text = ""
        self.cursor = 0
        self.top = 0
        self._listed: OpStats | None = None  # what the rows are of: behind `stats` while a thread arranges those

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.refresh()

    # ── what it shows ────────────────────────────────────────────────────────────────────────────

    def show(self, stats: OpStats) -> None:
        """Another window: the cursor stays on the op that it was on."""
        self.stats = stats
        self._arrange()

    def clear(self) -> None:
        """Nothing is listed until the next window is counted."""
        background.cancel(self, "arrange")
        self.stats = self._listed = None
        self.rows = _NO_ROWS
        self.refresh()

    def sort(self, key: str) -> None:
        """By this column; the same one again turns it round."""
        if key == self.key:
            self.descending = not self.descending
        else:
            self.key, self.descending = key, key not in ("name", "type", "device")
        self._arrange()

    def sort_next(self) -> None:
        """By the next column that is shown."""
        columns = columns_for(self.size.width)
        place = columns.index(self.key) if self.key in columns else -1
        self.sort(columns[(place + 1) % len(columns)])

    def filter(self, text: str) -> None:
        """Only ops that hold the text in name, type or device."""
        self.text = text
        self._arrange()

    def op(self, place: int) -> Op:
        """The op that is listed at a place."""
        assert self._listed is not None
        return self._listed[int(self.rows[place])]

    def _arrange(self) -> None:
        stats = self.stats
        self.refresh()
        if stats is None:
            return
        key, descending, text = self.key, self.descending, self.text
        was = self.op(self.cursor) if self.cursor < len(self.rows) else None

        def work(check: Check) -> tuple[OpStats, Int64s, int]:
            order = stats.order(key, descending=descending, check=check)
            rows = order[stats.matching(text, check)[order]] if text else order
            return stats, rows, max(0, stats.find(was.full, was.device, rows)) if was is not None else 0

        if len(stats) <= AT_ONCE:
            background.cancel(self, "arrange")
            self._arranged(work(unhindered))
        else:
            background.begin(self, "arrange", work, self._arranged)

    def _arranged(self, found: tuple[OpStats, Int64s, int]) -> None:
        self._listed, self.rows, self.cursor = found
        self._scroll()
        self.refresh()

    @property
    def rows_visible(self) -> int:
        return max(1, self.size.height - 2)

    def _scroll(self) -> None:
        self.top = min(max(self.top, self.cursor - self.rows_visible + 1), self.cursor, max(0, len(self.rows) - self.rows_visible))
        self.top = max(0, self.top)

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def action_move(self, by: int) -> None:
        self.cursor = min(max(0, self.cursor + by), max(0, len(self.rows) - 1))
        self._scroll()
        self.refresh()

    def action_page(self, direction: int) -> None:
        self.action_move(direction * self.rows_visible)

    def action_edge(self, direction: int) -> None:
        self.action_move(direction * len(self.rows))

    def action_choose(self) -> None:
        if self._listed is not None and self.cursor < len(self.rows):
            self.post_message(self.Chosen(self._listed, int(self.rows[self.cursor])))

    def on_resize(self) -> None:
        self._scroll()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _layout(self) -> list[tuple[str, int]]:
        columns = columns_for(self.size.width)
        fixed = sum(WIDTHS[name] + 1 for name in columns if name != "name")
        return [(name, max(8, self.size.width - fixed) if name == "name" else WIDTHS[name]) for name in columns]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._listed is None:
            text = " counting …" if y == 0 else ""
            return Strip([Segment(fit_text(text, width), self.theme_colors.style("dim"))])
        if y == 0:
            return self._titles()
        if y == self.size.height - 1:
            return self._summary()
        row = self.top + y - 1
        if row >= len(self.rows):
            text = " no op ran in this window" if y == 1 and not self.text else f" nothing holds {self.text!r}" if y == 1 else ""
            return Strip([Segment(fit_text(plain(text), width), self.theme_colors.style("dim"))])
        return self._row(self.op(row), row == self.cursor)

    def _titles(self) -> Strip:
        style, key = self.theme_colors.style("dim"), self.theme_colors.style("title")
        segments = []
        for name, width in self._layout():
            arrow = ("v" if self.descending else "^") if name == self.key else ""
            title = TITLES[name] + (" " + arrow if arrow else "")
            text = fit_text(title, width) if name in ("name", "type", "device") else title.rjust(width)
            segments.append(Segment(text + " ", key if arrow else style))
        return Strip(segments).adjust_cell_length(self.size.width)

    def _row(self, op: Op, current: bool) -> Strip:
        theme = self.theme_colors
        text: Style = theme.style("gutter_focus") if current and self.has_focus else theme.style("title" if current else "text")
        segments = [Segment(op.category.code + " ", theme.category_ink(op.category.value))]
        for name, width in self._layout():
            value = cell(op, name)
            if name == "name":
                piece = self._tail(value, width - 2) + " "
            elif name in ("type", "device"):
                piece = fit_text(value, width, self.glyphs.ellipsis) + " "
            else:
                piece = value.rjust(width) + " "
            segments.append(Segment(piece, text))
        return Strip(segments).adjust_cell_length(self.size.width)

    def _tail(self, text: str, width: int) -> str:
        """Names of ops differ at their ends: cut at the front."""
        cut = fit_text(text, width, self.glyphs.ellipsis)
        if len(text) <= width or "/" not in text:
            return cut
        return fit_text(self.glyphs.ellipsis + text[-(width - 1) :], width, self.glyphs.ellipsis)

    def _summary(self) -> Strip:
        stats = self._listed
        assert stats is not None
        some = f"{len(self.rows):,} of " if self.text or len(self.rows) < len(stats) else ""
        window = units.duration(stats.hi - stats.lo)
        text = f"{some}{len(stats):,} ops  {stats.events:,} events  self {units.duration(stats.self_sum)} in {window}"
        return Strip([Segment(fit_text(text, self.size.width, self.glyphs.ellipsis), self.theme_colors.style("dim"))])

    # ── the mouse ────────────────────────────────────────────────────────────────────────────────

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y == 0:
            x = 0
            for name, width in self._layout():
                if x <= offset.x <= x + width:
                    self.sort(name)
                    return
                x += width + 1
        elif offset.y < self.size.height - 1 and self.top + offset.y - 1 < len(self.rows):
            again = self.cursor == self.top + offset.y - 1
            self.cursor = self.top + offset.y - 1
            self.refresh()
            if again:
                self.action_choose()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_move(3)
