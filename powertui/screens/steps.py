"""The page of steps: its table, above it their graph, and in a large window what explains it."""

from __future__ import annotations

from dataclasses import replace

from textual.events import Resize

from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool
from powertui.screens.tool import ToolScreen
from powertui.terminal import glyphs as glyph_sets
from powertui.view import step_panels
from powertui.widgets.lines import LinesPane, StyledLine


class StepsScreen(ToolScreen):
    """The tool page of `steps`, with graph, top ops, slowest steps and energy above its table."""

    _overview: Result | None = None  # of the steps that are shown

    def ask(self, tool: Tool, question: Question) -> Result:
        result = super().ask(tool, question)
        self._overview = None
        if self._has_graph:
            self._overview = registry.get("overview_page").answer(question)
        return result

    @property
    def _is_large(self) -> bool:
        size = self.shell.size
        return size.width >= step_panels.MIN_COLUMNS and size.height >= step_panels.MIN_ROWS

    @property
    def _has_graph(self) -> bool:
        size = self.shell.size
        is_wide = size.width >= step_panels.MIN_GRAPH_COLUMNS
        return is_wide and size.height >= step_panels.MIN_GRAPH_ROWS

    def show_facts(self, result: Result | None) -> None:
        """The panels where there is room, the graph where that has, else the facts."""
        overview = self._overview
        lines: list[StyledLine] = []
        if result is not None and overview is not None and self._has_graph:
            glyphs = glyph_sets.get(self.shell.capabilities.stack_glyphs)
            size = self.size
            if self._is_large:
                drawn = step_panels.panel_lines(result, overview, size.width, size.height, glyphs)
            else:
                drawn = step_panels.graph_lines(result, overview, size.width, size.height, glyphs)
            for pieces in drawn:
                lines.append(tuple((text, self.shell.look.ink(role)) for text, role in pieces))
        if not lines:
            super().show_facts(_with_known_facts(result))
            return
        pane = self.query_one("#facts", LinesPane)
        pane.display = True
        pane.styles.height = len(lines)
        pane.set_lines(lines)

    def on_resize(self, event: Resize) -> None:
        """A window that became large: the panels have something to show now."""
        super().on_resize(event)
        if self.is_mounted and self._has_graph and self._overview is None and self.result:
            self._request = None
            self.session_changed()


def _with_known_facts(result: Result | None) -> Result | None:
    """The same without facts that have no value: on a host alone nothing tells device time."""
    if result is None:
        return None
    return replace(result, facts=tuple(fact for fact in result.facts if fact.value is not None))
