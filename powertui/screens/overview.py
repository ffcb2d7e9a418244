"""The first page of a run: what to conclude from it as sentences, the steps' graph, and
the tables of the overview.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from powertui.data.table import Result
from powertui.data.tools.registry import Question, Tool
from powertui.screens import spec
from powertui.screens.status import Hint
from powertui.screens.tool import ToolScreen
from powertui.view import overview_lines
from powertui.widgets.lines import LinesPane, StyledLine

_STORED = ("recorded", "differences")  # answers that are shown as any tool's
_MIN_TABLE_LINES = 7  # lines that the table keeps
_SMALL_WINDOW_LINES = 30  # lines of a window that has none to spare for notes


class OverviewScreen(ToolScreen):
    """The tool page of `overview_page`, with its facts as a person reads them."""

    _shows_rules = False  # how numbers are counted is the same for every run: `i` has it

    def notes_shown(self, result: Result) -> Iterable[str]:
        from powertui.data.overview.overview_advice import RULES

        return [note for note in result.notes if self._shows_rules or note not in RULES]

    def action_row_why(self) -> None:
        """Show or hide by which rules the numbers are counted."""
        self._shows_rules = not self._shows_rules
        self.show_notes()

    def ask(self, tool: Tool, question: Question) -> Result:
        """Of a run without a profile: what its power and its scalars tell."""
        training = self.session.training
        if question.opened.profiles or question.opened.entry.results or training is None:
            return super().ask(tool, question)
        from powertui.data.conclusions.run_conclusions import run_conclusions
        from powertui.data.overview.overview_conclusions import conclusion_facts
        from powertui.data.training import training_overview

        result = training_overview.answer(training.seen_from(None, question.aligning))
        conclusions = run_conclusions(question.opened, question.aligning)
        if not len(conclusions):
            return replace(result, notes=(conclusions.looked_at, *result.notes))
        return replace(result, facts=(*conclusion_facts(conclusions), *result.facts))

    def show_facts(self, result: Result | None) -> None:
        """Sentences and the graph, as many lines as the window has room for."""
        if result is not None and (result.id != self.tool.name or result.mode in _STORED):
            super().show_facts(result)
            return
        pane = self.query_one("#facts", LinesPane)
        made: list[StyledLine] = []
        if result is not None:
            small = self.size.height < _SMALL_WINDOW_LINES
            if small:
                self.query_one("#notes", LinesPane).styles.height = 1
            rows = len(result.table) if result.table is not None else 0
            table = (
                min(_MIN_TABLE_LINES, rows + 2) if small else _MIN_TABLE_LINES
            )  # its titles and its count of rows
            height = max(4, self.size.height - table - (4 if small else 6))
            glyphs = self.shell.capabilities.glyphs
            for pieces in overview_lines.lines(result, self.size.width, height, glyphs=glyphs):
                made.append(tuple((text, self._style(role)) for text, role in pieces))
        pane.display = bool(made)
        pane.styles.height = len(made)
        pane.set_lines(made)

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        """All conclusions first: that is what a person wants to see."""
        yield Hint(spec("symmetry").key, "all findings")
        yield Hint(spec("timeline").key, "timeline")
        yield from super().useful()
        yield "row-why", "how it is counted"
