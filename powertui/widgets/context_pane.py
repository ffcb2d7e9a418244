"""The pane beside the timeline: the context as lines. Only lines that changed are drawn again."""

from __future__ import annotations

import textwrap

from powertui.data.model import Badge
from powertui.view.context import Context, ContextLine
from powertui.widgets.lines import LinesPane, StyledLine
from powertui.widgets.time_lane import fit_text

_NAME_WIDTH = 10
_MAX_VALUE_LINES = 5  # of one value
_MARKS = {Badge.MEASURED: "measured", Badge.ESTIMATED: "estimated", Badge.ASSUMED: "assumed"}


class ContextPane(LinesPane):
    """Sections with a title; names at the left, values at the right, wrapped."""

    DEFAULT_CSS = "ContextPane { width: 34; height: 1fr; padding: 0 1; }"

    context: Context | None = None

    def show(self, context: Context) -> None:
        self.context = context
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
            for fact in section.facts:
                lines.extend(self._fact(fact))
        self.set_lines(lines)

    def _fact(self, fact: ContextLine) -> list[StyledLine]:
        """A fact: its name, its value over a few lines at most, and how sure it is."""
        theme = self.theme_colors
        label = theme.style("dim")
        text = theme.style("text")
        max_name_cells = max(_NAME_WIDTH, self.size.width // 2)
        name = fact.name.ljust(_NAME_WIDTH - 1) + " "
        if len(name) > max_name_cells:
            name = fit_text(fact.name, max_name_cells - 1, self.glyphs.ellipsis) + " "
        if fact.category is not None:
            code = (f" {fact.category.code} ", theme.category(fact.category.value))
            return [((name, label), code, (" " + fact.value, text))]
        room = max(8, self.size.width - len(name))
        pieces = textwrap.wrap(fact.value, room, break_long_words=True) or [""]
        if len(pieces) > _MAX_VALUE_LINES:
            last_line = " ".join(pieces[_MAX_VALUE_LINES - 1 :])
            pieces = [*pieces[: _MAX_VALUE_LINES - 1], last_line]
        indent = (" " * len(name), label)
        lines: list[StyledLine] = [((name, label), (pieces[0], text))]
        for piece in pieces[1:]:
            lines.append((indent, (piece, text)))
        if fact.badge is not None:
            quality = (_MARKS[fact.badge], theme.style(fact.badge.value))
            if len(pieces[-1]) + 1 + len(quality[0]) <= room:
                lines[-1] = (*lines[-1], (" ", text), quality)
            else:
                lines.append((indent, quality))
        return lines
