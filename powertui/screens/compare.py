"""The page of a comparison: the answer as a sentence, then its tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.widgets import Input, Static

from powertui.data.compare.comparison import compare
from powertui.data.logdir import RunEntry
from powertui.data.table import Result
from powertui.data.tools.registry import Question, Tool
from powertui.plain import plain
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.compare_choices import (
    CompareChoice,
    ComparedRun,
    compared_runs,
    side_of,
)
from powertui.screens.status import Hint
from powertui.screens.tool import ToolScreen
from powertui.view import cause_bars, truncation
from powertui.view.compare_places import places_of
from powertui.view.compare_tables import compare_result
from powertui.view.text_lines import text_lines
from powertui.widgets.lines import LinesPane, StyledLine
from powertui.widgets.table import TableView
from powertui.widgets.verdict_table import VerdictTable

_TITLE = "Comparison"
_ABOUT = "what changed from A to B"
# Lines for the rows, their titles, count and heading, a note, and the lines at either end.
_MIN_OTHER_LINES = 11
# The lines at either end, the title, the heading and the count of the rows, and one for a filter.
_LINES_AROUND_ROWS = 6
_SMALL_WINDOW_LINES = 30  # lines of a window that has none to spare for notes


class CompareScreen(ToolScreen, inherit_bindings=False):
    """A tool page whose question has two runs: A is the one in front."""

    NAME = "compare"
    BINDINGS: ClassVar[list[BindingType]] = [*BaseScreen.BINDINGS, *bindings_for("compare")]
    WAITING = "Comparing …"

    def __init__(self) -> None:
        super().__init__("compare")
        self._choice: CompareChoice | None = None
        self._front: RunEntry | None = None  # the run that was in front at the last question
        self._runs: tuple[ComparedRun, ComparedRun] | None = None
        self._tool = Tool(
            name="compare",
            title=_TITLE,
            about=_ABOUT,
            target="",
        )

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield LinesPane(theme=look, glyphs=glyphs, id="facts")
        yield Static("", id="title", markup=False)
        yield Input(placeholder="filter: any part of a name", id="filter", compact=True)
        yield VerdictTable(theme=look, glyphs=glyphs, id="rows")
        yield LinesPane(theme=look, glyphs=glyphs, id="causes")
        yield LinesPane(theme=look, glyphs=glyphs, id="notes")

    @property
    def tool(self) -> Tool:
        return self._tool

    @property
    def _window(self) -> tuple[int, int] | None:
        """Whole runs and epochs are compared, whatever window is marked."""
        return None

    def choose(self, choice: CompareChoice) -> None:
        """Compare the run in front with this."""
        self._choice = choice
        self._front = self.session.entry

    def session_changed(self) -> None:
        """Another run in front: the same other run is compared with it, the other way round where
        that one is in front now.
        """
        choice = self._choice
        entry = self.session.entry
        if choice is not None and entry is not None:
            was_other = choice.other is not None and choice.other.path == entry.path
            if was_other and self._front is not None:
                choice = CompareChoice(self._front.name, "", other=self._front)
                self._choice = choice
            self._front = entry
            self._runs = compared_runs(self.shell, choice)
            # The name makes another question of it: only then is it asked again.
            self._tool = Tool(
                name="compare",
                title=_TITLE,
                about=_ABOUT,
                target=choice.id,
            )
        super().session_changed()

    def ask(self, tool: Tool, question: Question) -> Result:
        assert self._runs is not None
        a, b = (run.part() for run in self._runs)
        return compare_result(compare(side_of(a), side_of(b)), places_of(a, question.host))

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def show_facts(self, result: Result | None) -> None:
        """The sentence, what A and B are, and which settings differ."""
        lines: list[StyledLine] = []
        for fact in result.facts if result is not None else ():
            if fact.id == "sentence":
                lines += self._wrapped(fact.text(), "title")
            else:
                lines += self._wrapped(f"{fact.label}: {fact.text()}", "dim")
        pane = self.query_one("#facts", LinesPane)
        pane.display = bool(lines)
        # At least the sentence is in sight as a whole, whatever that leaves to the table.
        pane.styles.height = min(len(lines), max(1, self.size.height - _MIN_OTHER_LINES))
        pane.set_lines(lines)

    def _wrapped(self, text: str, role: str) -> list[StyledLine]:
        style = self.shell.look.style(role)
        cells = max(20, self.size.width - 2)
        return [((f" {line}", style),) for line in text_lines(plain(text), cells)]

    def _show_table(self) -> None:
        super()._show_table()
        self._show_causes()

    def _show_causes(self) -> None:
        """Where the difference comes from, in the rows that the figures leave free."""
        table = self.table.table
        style = self.shell.look.style
        lines: list[StyledLine] = []
        if self.result is not None and table is not None and self._table == 0:
            free = self.size.height - _LINES_AROUND_ROWS - len(table) - self._rows_around()
            cells = self.size.width - 2
            for pieces in cause_bars.accounts(self.result, cells, free, self.table.glyphs):
                lines.append(tuple((words, style(role)) for words, role in pieces))
        self._fill("#causes", lines, len(lines))

    def _rows_around(self) -> int:
        """How many rows the facts and notes take."""
        rows = 0
        for id in ("#facts", "#notes"):
            pane = self.query_one(id)
            height = pane.styles.height
            if pane.display and height is not None:
                rows += int(height.value)
        return rows

    def on_resize(self, event: Resize) -> None:
        """Another height: other rows are free."""
        super().on_resize(event)
        if self.is_mounted:
            self._show_causes()

    def _title(self) -> str:
        title = _TITLE
        if self.result is not None:
            title = self._table_title(self.result, max_cells=self.size.width)
        return f" {truncation.end(title, max(1, self.size.width - 2), self.table.glyphs.ellipsis)}"

    def notes_shown(self, result: Result) -> Iterable[str]:
        """In a small window the first note alone."""
        is_small = self.size.height < _SMALL_WINDOW_LINES
        if is_small:
            return result.notes[:1]
        return result.notes

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        if self.result is not None and len(self.result.tables) > 1:
            yield "table-next", "next table"
        if self.table.place is not None:
            yield "row-show", "show in timeline"
        yield "pair", "two timelines"
        yield "compare", "compare with another"
        yield "table-sort", "sort"
        yield "table-filter", "filter"
        yield "table-group", "group"
        yield "table-copy", "copy"

    def action_pair(self) -> None:
        """A and B as two timelines."""
        from typing import cast

        from powertui.screens.pair import PairScreen

        if self._runs is None:
            self.say("Choose what to compare first: = asks.", warn=True)
            return
        page = cast(PairScreen, self.shell.page("pair"))
        page.lay(self._runs)
        self.shell.show("pair", how="into")

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        if event.place is None:
            self.say("This row has no place in the run in front. R puts the other run in front.")
            return
        super().on_table_view_chosen(event)
