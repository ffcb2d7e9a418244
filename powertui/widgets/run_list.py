"""A list of runs: a cursor, titles, and columns as wide as what was seen in them. A row is made when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from powertui.plain import width as cells_of
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.widgets.time_lane import fit_middle, fit_text

GAP = 2  # cells between columns


class RunList(Widget, can_focus=True):
    """`texts(number)` gives the cells of a row; Enter or a second click sends `Chosen`, a move `Moved`."""

    DEFAULT_CSS = "RunList { height: 1fr; width: 1fr; padding: 0 1; }"
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
        """Open this run."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Moved(Message):
        """The cursor stands on another run now, or other rows are in sight."""

    def __init__(
        self, texts: Callable[[int], Sequence[str]], *, theme: Theme, glyphs: str = "unicode", least: int = 8, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.texts = texts
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.least = least  # cells of the first column
        self.numbers: Sequence[int] = ()  # of the rows that are listed
        self.titles: tuple[str, ...] = ()
        self.columns: tuple[int, ...] = ()  # which of the texts are shown
        self.cursor = 0
        self.top = 0
        self._widths: dict[int, int] = {}
        self._laid: list[tuple[int, int]] | None = None

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.seen()

    # ── what it shows ────────────────────────────────────────────────────────────────────────────

    def show(self, numbers: Sequence[int], titles: Sequence[str], columns: Sequence[int]) -> None:
        """Other rows or columns: the cursor stays on its run where that is still listed."""
        was = self.number
        self.numbers, self.titles, self.columns = numbers, tuple(titles), tuple(columns)
        self.cursor = numbers.index(was) if was in numbers else 0
        self._moved()

    def seen(self) -> None:
        """A row says more now."""
        self._laid = None
        self.refresh()

    def _moved(self) -> None:
        self._scroll()
        self.seen()
        self.post_message(self.Moved())

    @property
    def number(self) -> int | None:
        """The run under the cursor."""
        return self.numbers[self.cursor] if self.cursor < len(self.numbers) else None

    @property
    def rows_visible(self) -> int:
        return max(1, self.size.height - 1)

    @property
    def in_sight(self) -> Sequence[int]:
        """The runs that are on the screen."""
        return self.numbers[self.top : self.top + self.rows_visible]

    def _scroll(self) -> None:
        self.top = min(
            max(self.top, self.cursor - self.rows_visible + 1), self.cursor, max(0, len(self.numbers) - self.rows_visible)
        )
        self.top = max(0, self.top)

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def action_move(self, by: int) -> None:
        self.cursor = min(max(0, self.cursor + by), max(0, len(self.numbers) - 1))
        self._moved()

    def action_page(self, direction: int) -> None:
        self.action_move(direction * self.rows_visible)

    def action_edge(self, direction: int) -> None:
        self.action_move(direction * len(self.numbers))

    def action_choose(self) -> None:
        if self.number is not None:
            self.post_message(self.Chosen(self.number))

    def on_resize(self) -> None:
        self._moved()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _layout(self) -> list[tuple[int, int]]:
        """(column, cells) from left to right: the first gets the room that the others leave."""
        wide = {column: cells_of(self.titles[column]) for column in self.columns}
        rows = [self.texts(number) for number in self.in_sight]
        for column in self.columns:
            # What was seen once keeps its room: columns that follow every move would dance.
            seen = max((cells_of(row[column]) for row in rows), default=0)
            wide[column] = self._widths[column] = max(wide[column], seen, self._widths.get(column, 0))
        if not self.columns:
            return []
        first, *others = self.columns
        room = self.size.width - sum(wide[column] + GAP for column in others)
        wide[first] = max(self.least, min(room, wide[first]))
        return [(column, wide[column]) for column in self.columns]

    def render_line(self, y: int) -> Strip:
        if self._laid is None:
            self._laid = self._layout()
        layout = self._laid
        if y == 0:
            text = "".join(fit_text(self.titles[column], cells + GAP, self.glyphs.ellipsis) for column, cells in layout)
            return self._strip(text, "title")
        row = self.top + y - 1
        if row >= len(self.numbers):
            return self._strip("", "text")
        texts = self.texts(self.numbers[row])
        pieces = []
        for place, (column, cells) in enumerate(layout):
            fit = fit_middle if place == 0 else fit_text
            pieces.append(fit(texts[column], cells, self.glyphs.ellipsis) + " " * GAP)
        current = row == self.cursor
        return self._strip("".join(pieces), "gutter_focus" if current and self.has_focus else "title" if current else "text")

    def _strip(self, text: str, role: str) -> Strip:
        width = self.size.width
        return Strip([Segment(fit_text(text, width, ""), self.theme_colors.style(role))]).adjust_cell_length(width)

    # ── the mouse ────────────────────────────────────────────────────────────────────────────────

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < 1 or self.top + offset.y - 1 >= len(self.numbers):
            return
        again = self.cursor == self.top + offset.y - 1
        self.action_move(self.top + offset.y - 1 - self.cursor)
        if again:
            self.action_choose()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_move(3)
