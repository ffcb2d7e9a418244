"""The pane beside the timeline: the context as lines. Only lines that changed are drawn again."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.plain import width as cells
from powertui.view.context import Context
from powertui.view.context_lines import ContextLine, Section
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
_MAX_GLANCE_VALUE_LINES = 2
_MIN_ROWS_FOR_GLANCE = 28  # with fewer the view and the cursor would have too few
_MIN_PLACE_ROWS = 8  # of what is under the cursor: a title, time, clock, epoch, phase, watts, step
_PLACE_SHARE = 0.28  # of the rows of a higher pane


def cells_of_pane(page_cells: int) -> int:
    """How wide the pane is beside the tracks of a page."""
    cells = round(page_cells * _SHARE)
    return min(max(cells, _MIN_CELLS), _MAX_CELLS)


class ContextPane(LinesPane):
    """Sections with a title; names at the left, values at the right, wrapped.

    Where something was concluded from the run, that comes first: what everybody asks, below it what
    the view holds, and at the foot what is under the cursor. Each begins in a row that stays where
    it is as the cursor moves.
    """

    DEFAULT_CSS = "ContextPane { width: 34; height: 1fr; padding: 0 1; }"

    context: Context | None = None
    content: VisibleContent | None = None  # of the view: shown where lines are free
    awaits_content = False  # its rows are kept for it
    glance: Section | None = None  # what everybody asks of the run
    glance_rows = 0  # lines that are kept for it before it is known; 0: none will come

    def show(self, context: Context) -> None:
        self.context = context
        self.rebuild()

    def show_content(self, content: VisibleContent | None, *, is_coming: bool) -> None:
        """What the view holds, as far as the rest leaves lines; or whether it is still counted."""
        if (content, is_coming) != (self.content, self.awaits_content):
            self.content = content
            self.awaits_content = is_coming
            self.rebuild()

    def show_glance(self, glance: Section | None, rows: int) -> None:
        """What everybody asks of the run, above everything else, in so many rows: they are kept
        for what is to come.
        """
        if (glance, rows) != (self.glance, self.glance_rows):
            self.glance = glance
            self.glance_rows = rows
            self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        context = self.context
        if context is None or not self.size.width:
            self.refresh()
            return
        rows = self.size.height
        if rows < _MIN_ROWS_FOR_GLANCE or not self.glance_rows:
            lines = self._section_lines(context.sections)
            lines += self._content_lines(rows - len(lines) - 1)
            self.set_lines(lines)
            return
        glance = self._glance_lines()
        free_rows = rows - len(glance) - 1
        place = self._section_lines(context.for_low_pane())
        place_rows = self._place_rows(len(place), free_rows)
        content_rows = free_rows - place_rows
        content = self._content_lines(content_rows, min_findings=2)
        # The last line of the pane is never one above a title that it loses.
        filler = [()] * (content_rows - len(content))
        self.set_lines([*glance, *content, *filler, (), *place[:place_rows]])

    def _place_rows(self, needed: int, free: int) -> int:
        """How many lines the facts of the place get, of those that are free."""
        if self.content is None and not self.awaits_content:
            return free
        usual_rows = round(self.size.height * _PLACE_SHARE)
        rows = max(_MIN_PLACE_ROWS, usual_rows)
        if self.context is not None and self.context.is_pointed:
            # What was selected or marked is what a person looks at now.
            rows = max(rows, min(needed, free))
        return rows

    def _glance_lines(self) -> list[StyledLine]:
        """Always as many: empty ones until it is known."""
        lines: list[StyledLine] = []
        if self.glance is not None:
            sections = (self.glance,)
            lines = self._section_lines(sections, max_value_lines=_MAX_GLANCE_VALUE_LINES)
        while len(lines) < self.glance_rows:
            lines.append(())
        return lines[: self.glance_rows]

    def _section_lines(
        self,
        sections: Sequence[Section],
        max_value_lines: int = _MAX_VALUE_LINES,
    ) -> list[StyledLine]:
        lines: list[StyledLine] = []
        for section in sections:
            if lines:
                lines.append(())
            title = section.title[:1].upper() + section.title[1:]
            lines.append(((title, self.theme_colors.style("title")),))
            name_cells = self._name_cells(section)
            for fact in section.facts:
                lines.extend(self._fact(fact, name_cells, max_value_lines))
        return lines

    def _content_lines(self, rows: int, *, min_findings: int = 1) -> list[StyledLine]:
        """What the view holds, after a blank line; nothing where that has no room.

        `min_findings`: with fewer there is no list of them, as what is above has the first.
        """
        content = self.content
        if content is None or rows < _MIN_CONTENT_ROWS:
            return []
        # Nothing is known of the view before the first picture: what words it comes after that.
        from powertui.view.content_lists import stacked

        if len(content.findings) < min_findings:
            content = replace(content, findings=())
        style = self.theme_colors.style
        lines: list[StyledLine] = [()]
        for pieces in stacked(content, self.size.width, rows - 1, self.glyphs):
            line = [(text, style(role)) for text, role in pieces]
            lines.append(tuple(line))
        return lines

    def _name_cells(self, section: Section) -> int:
        """The column of a section's names: all of its values begin below each other."""
        longest = 0
        for fact in section.facts:
            longest = max(longest, cells(fact.name))
        needed = max(_NAME_WIDTH, longest + 1)
        half = self.size.width // 2
        return min(needed, max(_NAME_WIDTH, half))

    def _fact(
        self,
        fact: ContextLine,
        name_cells: int,
        max_value_lines: int,
    ) -> list[StyledLine]:
        """A fact: its name, its value over a few lines at most, and how sure it is."""
        theme = self.theme_colors
        label = theme.style("dim")
        text = theme.style("text")
        name = self._fitting_name(fact.name, name_cells)
        if fact.category is not None:
            ink = theme.category(fact.category.value)
            code = (f" {fact.category.code} ", ink)
            value = (f" {fact.value}", text)
            return [((name, label), code, value)]
        room = max(8, self.size.width - len(name))
        indent = " " * len(name)
        lines: list[StyledLine] = []
        for value_line in _value_lines(fact.value, room, max_value_lines):
            lead = indent if lines else name
            lines.append(((lead, label), (value_line, text)))
        if fact.badge is None:
            return lines
        badge = fact.badge.value
        quality = (badge, theme.style(badge))
        if len(value_line) + 1 + len(badge) <= room:
            lines[-1] = (*lines[-1], (" ", text), quality)
        else:
            lines.append(((indent, label), quality))
        return lines

    def _fitting_name(self, name: str, name_cells: int) -> str:
        """A name in its column, with a blank behind it."""
        fitted = fit_text(name, name_cells - 1, self.glyphs.ellipsis)
        return f"{fitted} "


def _value_lines(value: str, room: int, max_lines: int) -> list[str]:
    """A value over lines; beyond the last that is shown it goes on in that one, and is cut."""
    lines = textwrap.wrap(value, room, break_long_words=True)
    if not lines:
        return [""]
    if len(lines) > max_lines:
        last = max_lines - 1
        rest = " ".join(lines[last:])
        lines[last:] = [rest]
    return lines
