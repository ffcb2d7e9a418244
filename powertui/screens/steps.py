"""The page of steps: its table, and in a large window what explains it above."""

from __future__ import annotations

from textual.events import Resize

from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool
from powertui.screens.tool import ToolScreen
from powertui.view import step_panels
from powertui.widgets.lines import LinesPane, StyledLine


class StepsScreen(ToolScreen):
    """The tool page of `steps`, with graph, top ops, slowest steps and energy above its table."""

    _overview: Result | None = None  # of the steps that are shown

    def ask(self, tool: Tool, question: Question) -> Result:
        result = super().ask(tool, question)
        self._overview = None
        if self._is_large:
            self._overview = registry.get("overview_page").answer(question)
        return result

    @property
    def _is_large(self) -> bool:
        size = self.shell.size
        return size.width >= step_panels.MIN_COLUMNS and size.height >= step_panels.MIN_ROWS

    def show_facts(self, result: Result | None) -> None:
        """The panels where there is room, else the facts."""
        overview = self._overview
        lines: list[StyledLine] = []
        if result is not None and overview is not None and self._is_large:
            glyphs = self.table.glyphs
            for pieces in step_panels.panel_lines(result, overview, self.size.width, glyphs):
                lines.append(tuple((text, self.shell.look.ink(role)) for text, role in pieces))
        if not lines:
            super().show_facts(result)
            return
        pane = self.query_one("#facts", LinesPane)
        pane.display = True
        pane.styles.height = len(lines)
        pane.set_lines(lines)

    def on_resize(self, event: Resize) -> None:
        """A window that became large: the panels have something to show now."""
        super().on_resize(event)
        if self.is_mounted and self._is_large and self._overview is None and self.result:
            self._request = None
            self.session_changed()
