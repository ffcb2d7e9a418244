"""The pane beside the timeline: the context as lines. Only lines that changed are drawn again."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from powertui.plain import width as cells
from powertui.view.context import Context, ContextLine, Section
from powertui.widgets.lines import LinesPane, StyledLine
from powertui.widgets.time_lane import fit_text

if TYPE_CHECKING:  # a name alone: nothing is counted before the first picture
    from powertui.view.visible_content import VisibleContent

# The pane's part of the page, and its ends in cells (looked at: names of ops are told apart in 40
# cells, and beyond 52 their figures are too far from them).
_SHARE = 1 / 3
_MIN_CELLS = 36
_MAX_CELLS = 52
_NAME_WIDTH = 10
_MAX_VALUE_LINES = 5  # of one value
_MIN_CONTENT_ROWS = 4  # a list of two rows with its title, and another's title


def cells_of_pane(page_cells: int) -> int:
    """How wide the pane is beside the tracks of a page."""
    return min(max(round(page_cells * _SHARE), _MIN_CELLS), _MAX_CELLS)


class ContextPane(LinesPane):
    """Sections with a title; names at the left, values at the right, wrapped."""

    DEFAULT_CSS = "ContextPane { width: 34; height: 1fr; padding: 0 1; }"

    context: Context | None = None
    content: VisibleContent | None = None  # of the view: shown where lines are free

    def show(self, context: Context) -> None:
        self.context = context
        self.rebuild()

    def show_content(self, content: VisibleContent | None) -> None:
        """What the view holds, below the context as far as that leaves lines."""
        if content != self.content:
            self.content = content
            self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        if self.context is None or not self.size.width:
            self.refresh()
            return
        lines: list[StyledLine] = []
        for section in self.context.sections:
            if lines:
                lines.append(())
            lines.append(((section.title, self.theme_colors.style("title")),))
            name_cells = self._name_cells(section)
            for fact in section.facts:
                lines.extend(self._fact(fact, name_cells))
        self.set_lines([*lines, *self._content_lines(self.size.height - len(lines) - 1)])

    def _content_lines(self, rows: int) -> list[StyledLine]:
        """What the view holds, after a blank line; nothing where that has no room."""
        if self.content is None or rows < _MIN_CONTENT_ROWS:
            return []
        # Nothing is known of the view before the first picture: what words it comes after that.
        from powertui.view.content_lists import stacked

        lines: list[StyledLine] = [()]
        for pieces in stacked(self.content, self.size.width, rows, self.glyphs):
            lines.append(tuple((text, self.theme_colors.style(role)) for text, role in pieces))
        return lines

    def _name_cells(self, section: Section) -> int:
        """The column of a section's names: all of its values begin below each other."""
        longest = max((cells(fact.name) for fact in section.facts), default=0) + 1
        return min(max(_NAME_WIDTH, longest), max(_NAME_WIDTH, self.size.width // 2))

    def _fact(self, fact: ContextLine, name_cells: int) -> list[StyledLine]:
        """A fact: its name, its value over a few lines at most, and how sure it is."""
        theme = self.theme_colors
        label = theme.style("dim")
        text = theme.style("text")
        name = self._fitting_name(fact.name, name_cells)
        if fact.category is not None:
            code = (f" {fact.category.code} ", theme.category(fact.category.value))
            return [((name, label), code, (" " + fact.value, text))]
        room = max(8, self.size.width - len(name))
        lines: list[StyledLine] = []
        head = (name, label)
        indent = (" " * len(name), label)
        for piece in _value_lines(fact.value, room):
            lines.append((head, (piece, text)))
            head = indent
        if fact.badge is None:
            return lines
        quality = (fact.badge.value, theme.style(fact.badge.value))
        last_value, _ = lines[-1][-1]
        if len(last_value) + 1 + len(quality[0]) <= room:
            lines[-1] = (*lines[-1], (" ", text), quality)
        else:
            lines.append((indent, quality))
        return lines

    def _fitting_name(self, name: str, name_cells: int) -> str:
        """A name in its column, with a blank behind it."""
        return fit_text(name, name_cells - 1, self.glyphs.ellipsis) + " "


def _value_lines(value: str, room: int) -> list[str]:
    """A value over lines; beyond the last that is shown it goes on in that one, and is cut."""
    pieces = textwrap.wrap(value, room, break_long_words=True) or [""]
    if len(pieces) > _MAX_VALUE_LINES:
        pieces[_MAX_VALUE_LINES - 1 :] = [" ".join(pieces[_MAX_VALUE_LINES - 1 :])]
    return pieces
