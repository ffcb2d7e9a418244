"""The first page of a run: what to conclude from it as sentences, the steps' graph, and
the tables of the overview.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from powertui.data.table import Result, Table
from powertui.data.tools.registry import Question, Tool
from powertui.screens import spec
from powertui.screens.status import Hint
from powertui.screens.tool import ToolScreen
from powertui.view import overview_lines, top_ops
from powertui.view.step_bars import LinePieces
from powertui.widgets.lines import LinesPane, StyledLine

_STORED = ("recorded", "differences")  # answers that are shown as any tool's
_MIN_TABLE_LINES = 7  # lines that the table keeps
_SMALL_WINDOW_LINES = 30  # lines of a window that has none to spare for notes
_TABLE_FRAME_LINES = 2  # its titles, and its count of rows
_COUNTED_NOTE_LINES = 3
_PAGE_FRAME_LINES = 3 + _COUNTED_NOTE_LINES  # two of heading, one of keys
_HEADING_AND_KEY_LINES = 4  # two of heading, an empty one above the table, one of keys
# Chosen by eye: fewer ops say little, more are the table's, and a wider line parts name and bar.
_MIN_OPS, _MAX_OPS = 4, 10
_MAX_OPS_CELLS = 118
_MAX_GRAPH_ROWS = 16  # higher bars tell no more (chosen by eye)


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
            rows = len(result.table) if result.table is not None else 0
            table_lines, frame_lines = _MIN_TABLE_LINES, _PAGE_FRAME_LINES
            if self.size.height < _SMALL_WINDOW_LINES:
                self.query_one("#notes", LinesPane).styles.height = 1
                table_lines = min(_MIN_TABLE_LINES, rows + _TABLE_FRAME_LINES)
                frame_lines -= 2
            else:
                frame_lines += max(0, len(self.note_lines()) - _COUNTED_NOTE_LINES)
            height = max(4, self.size.height - table_lines - frame_lines)
            glyphs = self.shell.capabilities.stack_glyphs
            width = self.size.width
            lines = overview_lines.lines(
                result,
                width,
                height,
                glyphs=glyphs,
            )
            ops = self._top_ops(result, len(lines))
            graph_rows = self._graph_rows(result, len(lines) + len(ops))
            if graph_rows > overview_lines.GRAPH_ROWS:
                lines = overview_lines.lines(
                    result,
                    width,
                    height,
                    glyphs=glyphs,
                    graph_rows=graph_rows,
                )
            lines += ops
            for pieces in lines:
                made.append(tuple((text, self.shell.look.ink(role)) for text, role in pieces))
        pane.display = bool(made)
        pane.styles.height = len(made)
        pane.set_lines(made)

    def _table_shown(self, result: Result) -> Table | None:
        if result.tables:
            return result.tables[self._table % len(result.tables)]
        return None

    def _empty_lines(self, table: Table | None, used_lines: int) -> int:
        """How many lines facts and table leave empty."""
        table_lines = (len(table) if table is not None else 0) + _TABLE_FRAME_LINES
        frame_lines = _HEADING_AND_KEY_LINES + len(self.note_lines())
        return self.size.height - used_lines - table_lines - frame_lines

    def _graph_rows(self, result: Result, used_lines: int) -> int:
        """As high as the lines that are left allow."""
        empty = max(0, self._empty_lines(self._table_shown(result), used_lines))
        return min(_MAX_GRAPH_ROWS, overview_lines.GRAPH_ROWS + empty)

    def _top_ops(self, result: Result, used_lines: int) -> list[LinePieces]:
        """The ops that take most, where facts and table leave lines empty."""
        shown = self._table_shown(result)
        if shown is None or shown.id == top_ops.TABLE_ID:
            return []
        room = self._empty_lines(shown, used_lines)
        max_rows = min(_MAX_OPS, room - 2)  # a blank line and the title
        if max_rows < _MIN_OPS:
            return []
        cells = min(self.size.width - 2, _MAX_OPS_CELLS)
        table = top_ops.table_of_ops(result)
        return top_ops.titled_lines(
            table,
            cells,
            max_rows,
            self.table.glyphs,
        )

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        """All conclusions first: that is what a person wants to see."""
        yield Hint(spec("symmetry").key, "all findings")
        yield Hint(spec("timeline").key, "timeline")
        yield from super().useful()
        yield "row-why", "how it is counted"
