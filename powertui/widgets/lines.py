"""A pane of ready-made lines: repaints only those that changed, scrolls when there are more than
fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from powertui.plain import width
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.widgets.time_lane import fit_text

StyledLine = tuple[tuple[str, Style], ...]
# A figure and its unit are one word: "7.4 %."
_WORDS = re.compile(r"\s*\S+(?:(?<=\d) (?=%|[^\W\d_])\S+)*\s*|\s+")


_GAP_CELLS = 3  # between lines that are side by side


def side_by_side(lines: Sequence[StyledLine], cells: int) -> list[StyledLine]:
    """Two lines in one, the first half at the left, where that has room in so many cells."""
    half = (len(lines) + 1) // 2
    left_lines = lines[:half]
    right_lines = lines[half:]
    left_cells = _widest(left_lines) + _GAP_CELLS
    if not right_lines or left_cells + _widest(right_lines) > cells:
        return list(lines)
    joined: list[StyledLine] = []
    for left, right in zip(left_lines, right_lines, strict=False):
        _, last_style = left[-1]
        gap_cells = left_cells - _line_cells(left)
        gap = (" " * gap_cells, last_style)
        joined.append((*left, gap, *right))
    # Of an odd number the last one at the left has none beside it.
    joined += left_lines[len(right_lines) :]
    return joined


def _widest(lines: Sequence[StyledLine]) -> int:
    return max(map(_line_cells, lines), default=0)


def _line_cells(line: StyledLine) -> int:
    return sum(width(words) for words, _ in line)


class LinesPane(Widget, can_focus=True):
    """Shows lines of styled pieces. What is too wide is cut with an ellipsis."""

    DEFAULT_CSS = "LinesPane { height: 1fr; width: 1fr; }"

    def __init__(
        self,
        *,
        theme: Theme,
        glyphs: str = "unicode",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.lines: tuple[StyledLine, ...] = ()
        self.top = 0

    def restyle(self, theme: Theme, glyphs: str) -> None:
        self.theme_colors = theme
        self.glyphs = glyph_sets.get(glyphs)
        self.rebuild()

    def rebuild(self) -> None:
        """Make the lines again (another theme, another width)."""
        self.refresh()

    def set_lines(self, lines: Sequence[StyledLine]) -> None:
        before = self.lines
        self.lines = tuple(lines)
        height = self.size.height
        top = min(self.top, self._last_top)
        if top != self.top or not height:
            self.top = top
            self.refresh()
            return
        changed = []
        for y in range(height):
            if _has_changed(before, self.lines, top + y):
                changed.append(y)
        # The last row says how many more lines there are.
        last = height - 1
        if len(before) != len(self.lines) and last not in changed:
            changed.append(last)
        if changed:
            width = self.size.width
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    @property
    def _last_top(self) -> int:
        """The first line in sight where the pane is scrolled to its end."""
        return max(0, len(self.lines) - self.size.height)

    def scroll_lines(self, by: int) -> None:
        top = max(0, self.top + by)
        top = min(top, self._last_top)
        if top != self.top:
            self.top = top
            self.refresh()

    def render_line(self, y: int) -> Strip:
        size = self.size
        number = self.top + y
        if number >= len(self.lines):
            return Strip.blank(size.width)
        line = self.lines[number]
        below = len(self.lines) - self.top - size.height
        is_last_row = y == size.height - 1
        if below > 0 and is_last_row:
            return self._with_more(line, below)
        return _render(line, size.width, self.glyphs.ellipsis)

    def _with_more(self, line: StyledLine, count: int) -> Strip:
        """The last line that there is room for: how many more there are stands at its end."""
        lines = "line" if count == 1 else "lines"
        ellipsis = self.glyphs.ellipsis
        words = f" {ellipsis} {count:,} more {lines}"
        cells = self.size.width
        room = max(0, cells - width(words))
        shown, *_ = wrapped(line, room, 0)  # whole words: no figure is cut
        segments = list(_render(shown, room, ellipsis))
        dim = self.theme_colors.style("dim")
        segments.append(Segment(words, dim))
        return Strip(segments).adjust_cell_length(cells)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-2)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(2)


def _has_changed(
    before: Sequence[StyledLine],
    after: Sequence[StyledLine],
    number: int,
) -> bool:
    """Whether a line of this number is another one, new or gone."""
    return before[number : number + 1] != after[number : number + 1]


def wrapped(line: StyledLine, cells: int, indent: int) -> list[StyledLine]:
    """One line as several of at most so many cells, broken between words.

    All but the first begin `indent` cells further in.
    """
    pieces: list[tuple[str, Style]] = []
    lines = [pieces]
    used = 0
    for text, style in line:
        for word in _WORDS.findall(text):
            size = width(word.rstrip())
            is_too_long = used + size > cells
            if is_too_long and used > indent:
                last_word, ink = pieces.pop()
                pieces.append((last_word.rstrip(), ink))  # a blank at the end would need a cell
                pieces = [(" " * indent, style)]
                lines.append(pieces)
                used = indent
                word = word.lstrip()
            pieces.append((word, style))
            used += width(word)
    return [_joined(pieces) for pieces in lines]


def _joined(pieces: Sequence[tuple[str, Style]]) -> StyledLine:
    """Neighbors of one style as one piece."""
    joined: list[tuple[str, Style]] = []
    for text, style in pieces:
        if joined and joined[-1][1] == style:
            before, _ = joined.pop()
            text = before + text
        joined.append((text, style))
    return tuple(joined)


def _render(line: StyledLine, width: int, ellipsis: str) -> Strip:
    """One line in exactly `width` cells."""
    strip = Strip([Segment(text, style) for text, style in line])
    if strip.cell_length <= width:
        return strip.adjust_cell_length(width)
    segments = []
    room = width
    for text, style in line:
        if cell_len(text) > room:
            text = fit_text(text, room, ellipsis)
        segments.append(Segment(text, style))
        room -= cell_len(text)
        if room <= 0:
            break
    return Strip(segments).adjust_cell_length(width)
