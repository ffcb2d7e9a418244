"""The page of any tool: its facts, its tables, its notes. It shows a `Result` and knows no tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.widgets import Input, Static

from powertui.data.asked import RESULT_SOURCES, ResultSource
from powertui.data.table import Fact, Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool
from powertui.errors import PowertuiError
from powertui.plain import plain, width
from powertui.report.writers import as_csv
from powertui.screens import frame, heading, tool_footer
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.row_leads import RowLeads
from powertui.screens.status import Hint
from powertui.view import host_bars, result_chart, truncation
from powertui.view.text_lines import text_lines
from powertui.widgets.lines import LinesPane, StyledLine, side_by_side
from powertui.widgets.table import TableView

# Tools that answer for the whole run, whatever window is marked.
_WHOLE_RUN_TOOLS = ("overview_page", "steps", "end_to_end", "run_environment", "recorded_results")
# Actions that need no table: what is typed into the filter is applied to the table that comes.
_NEED_NO_TABLE = ("tool-next", "tool-previous", "table-filter", "submit")
_MAX_COPIED_ROWS = 200  # that the clipboard takes (chosen, not measured)
_MAX_CHART_ROWS = 14  # of a chart above a table (chosen, not measured)
_MAX_MEMBER_ROWS = 18  # of hosts side by side: 16 bars, a title and a legend
_MIN_HEADING_CELLS = 40  # cells that the window of a table keeps beside its title


class ToolScreen(BaseScreen):
    """One tool's answer about the run, or about the marked window."""

    NAME = "tool"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("tool")
    AUTO_FOCUS = "#rows"
    WAITING = "Counting …"  # while the answer is worked out

    def __init__(self, tool: str = "") -> None:
        super().__init__()
        self.fixed_tool = tool  # the one tool of this page; "": whichever the session names
        self._request: tuple[Tool, Question, object] | None = None
        self._is_asking = False  # whether a thread works on the request
        self.result: Result | None = None
        self._table = 0
        self.leads = RowLeads(self, is_fixed=bool(tool))
        self.results_shown: ResultSource = "ours"  # or what the profiler stored, or both compared

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield Static("", id="title", markup=False)
        yield LinesPane(theme=look, glyphs=glyphs, id="facts")
        yield LinesPane(theme=look, glyphs=glyphs, id="chart")
        yield Input(placeholder="filter: any part of a name", id="filter", compact=True)
        yield TableView(theme=look, glyphs=glyphs, id="rows")
        yield LinesPane(theme=look, glyphs=glyphs, id="notes")

    @property
    def tool(self) -> Tool:
        """The tool whose answer this page shows."""
        return registry.get(self.fixed_tool or self.session.tool)

    @property
    def table(self) -> TableView:
        """The rows."""
        return self.query_one("#rows", TableView)

    def on_mount(self) -> None:
        """The filter comes when it is asked for."""
        box = self.query_one("#filter", Input)
        box.cursor_blink = box.display = False

    @property
    def _window(self) -> tuple[int, int] | None:
        """The marked window; None for tools that answer for the whole run."""
        if self.tool.name in _WHOLE_RUN_TOOLS:
            return None
        return self.session.window

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run, another window or another tool: ask again, in a thread."""
        if not self.is_mounted:
            return
        session = self.session
        why = frame.why_empty(session, self.page_name or self.NAME)
        if session.opened is None or not session.complete or why:
            self._request = None
            self._show(None, why or "Reading …")
            return
        lo, hi = self._window or (None, None)
        tool = self.tool
        question = Question(
            opened=session.opened,
            host=session.trace_index,
            lo=lo,
            hi=hi,
            aligning=session.aligning,
            choice=session.choices.get(tool.name, ""),
            moment=session.cursor_ps if tool.of_moment else None,
        )
        if self.results_shown != "ours" and self.recorded_sources():
            question = replace(question, results=self.results_shown)
        request = (tool, question, session.run)
        if request == self._request and (self.result is not None or self._is_asking):
            return
        self._request = request
        self._is_asking = True
        self._show(None, self.WAITING)

        def work() -> None:
            try:
                answer: Result | str = self.ask(tool, question)
            except PowertuiError as error:
                answer = f"{error.message.rstrip('.')}. {error.hint}"
            self.shell.from_thread(self._answered, request, answer)

        self.run_worker(
            work,
            thread=True,
            exclusive=True,
            group="tool",
        )

    def recorded_sources(self) -> tuple[ResultSource, ...]:
        """What this page can show of what the profiler stored; none where it stored nothing."""
        opened = self.session.opened
        if opened is None or not opened.entry.results or not opened.entry.profiles:
            return ()
        from powertui.data.tools.recorded.answers import recorded_tools

        if self.tool.name in recorded_tools(opened.entry):
            return RESULT_SOURCES
        return ()

    def action_tool_results(self) -> None:
        """What the profiler stored for this page, then against ours, then ours again."""
        sources = self.recorded_sources()
        if not sources:
            self.say("The profiler stored no result of this page beside the profile.")
            return
        self.results_shown = sources[(sources.index(self.results_shown) + 1) % len(sources)]
        self.session_changed()

    @property
    def is_behind(self) -> bool:
        """Whether the answer that was asked for is still to come."""
        return self._is_asking

    def awaits(self, action: str) -> str:
        if action in _NEED_NO_TABLE:
            return ""
        if self._is_asking or self.table.is_arranging:
            return "the table"
        return self.shell.runs.awaited

    def ask(self, tool: Tool, question: Question) -> Result:
        """What this page shows, worked out in a thread."""
        return tool.answer(question)

    def _answered(
        self,
        request: tuple[Tool, Question, object],
        answer: Result | str,
    ) -> None:
        if request != self._request or not self.is_mounted:
            return
        self._is_asking = False
        if isinstance(answer, str):
            self._show(None, answer)
            self.shell.drop_keys("This page has no table, so the keys you typed were dropped.")
        else:
            self._show(answer)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _show(self, result: Result | None, instead: str = "") -> None:
        before = self.result
        if result is None or before is None or result.id != before.id:
            self._table = 0
        self.result = result
        self.table.waiting = instead
        self.show_notes()
        self.show_facts(result)
        self._show_table()

    def show_facts(self, result: Result | None) -> None:
        """Show the facts above the table."""
        facts = result.facts if result is not None else ()
        chart = self._chart(result)
        lines = [self._fact(fact) for fact in facts]
        most = max(1, self.size.height // 3)
        if chart:  # both leave the table half of the page
            lines = side_by_side(lines, self.size.width - 2)
            most = max(1, self.size.height // 6)
        self._fill("#facts", lines, most)
        self._fill("#chart", chart, len(chart))

    def _chart(self, result: Result | None) -> list[StyledLine]:
        """The first chart of the answer that is drawn on a page, in a quarter of its height."""
        charts = result.charts if result is not None else ()
        for chart in charts:
            rows = min(_MAX_CHART_ROWS, self.size.height // 4)
            has_bars = bool(chart.series) and len(chart.series[0].x) <= host_bars.MAX_BARS
            if chart.kind == "members" and has_bars:  # a row for each, where the page has them
                rows = min(_MAX_MEMBER_ROWS, self.size.height // 2)
            lines = result_chart.chart_lines(
                chart,
                self.size.width - 2,
                rows,
                self.table.glyphs,
            )
            if lines:
                return [
                    tuple((words, self.shell.look.ink(role)) for words, role in line)
                    for line in lines
                ]
        return []

    def _fill(
        self,
        name: str,
        lines: list[StyledLine],
        most: int,
    ) -> None:
        pane = self.query_one(name, LinesPane)
        pane.display = bool(lines)
        pane.styles.height = min(len(lines), most)
        pane.set_lines(lines)

    def _show_table(self) -> None:
        result = self.result
        table = None
        if result is not None and result.tables:
            table = result.tables[self._table % len(result.tables)]
        self.table.show(table)
        box = self.query_one("#filter", Input)
        if box.display and box.value:  # typed before the table was there, or kept for the next one
            self.table.filter(box.value)
        self.query_one("#title", Static).update(self._title())

    def _title(self) -> str:
        """The title of the table, and the window that it is about."""
        cells = max(1, self.size.width - 2)
        ellipsis = self.table.glyphs.ellipsis
        result = self.result
        profile = self.session.profile
        title = self.tool.title
        if result is not None:
            title = self._table_title(result, max_cells=cells // 2)
            if profile is not None:
                title_cells = max(cells // 2, cells - _MIN_HEADING_CELLS)
                title = truncation.end(title, title_cells, ellipsis)
                room = cells - width(title) - 3  # for the dot between them
                window = heading.table_heading(profile, self._window, room)
                title += f" · {window}"
        return f" {truncation.end(title, cells, ellipsis)}"

    def _table_title(self, result: Result, max_cells: int) -> str:
        """The title of the answer, and of several tables that of the one shown.

        Where both have no room it is that of the table alone.
        """
        title = plain(result.title, 80)
        count = len(result.tables)
        if count < 2:
            return title
        number = self._table % count
        table_title = plain(result.tables[number].title, 60)
        table_title += f" (table {number + 1} of {count})"
        titles = f"{title} · {table_title}"
        if width(titles) <= max_cells:
            return titles
        return table_title

    def on_resize(self, event: Resize) -> None:
        """Another width: lines break elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self.show_notes()
            self.show_facts(self.result)
            self.query_one("#title", Static).update(self._title())

    def show_notes(self) -> None:
        """Draw the notes below the table."""
        lines = self.note_lines()
        self._fill("#notes", lines, max(1, self.size.height // 3))

    def note_lines(self) -> list[StyledLine]:
        """The notes as lines of this width."""
        dim = self.shell.look.style("dim")
        cells = max(20, self.size.width - 2)
        notes: Iterable[str] = ()
        if self.result is not None:
            notes = self.notes_shown(self.result)
        lines: list[StyledLine] = []
        for note in notes:
            for line in text_lines(plain(note, 300), cells, "  "):
                lines.append(((f" {line}", dim),))
        return lines

    def notes_shown(self, result: Result) -> Iterable[str]:
        """The notes below the table."""
        return result.notes

    def useful(self) -> Iterable[str | tuple[str, str] | Hint]:
        """Of the row under the cursor first."""
        return tool_footer.useful(self)

    def closes(self) -> str:
        if self.query_one("#filter", Input).display:
            return "the filter"
        if self.leads.is_way_back:
            return "this choice"
        return ""

    def _fact(self, fact: Fact) -> StyledLine:
        style = self.shell.look.style
        label = f" {plain(fact.label, 40):<24} "
        quality = ""
        if fact.badge is not None:
            quality = f"  {fact.badge.value}"
        return (
            (label, style("dim")),
            (plain(fact.text(), 200), style("text")),
            (quality, style("dim")),
        )

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """Another row can do other things."""
        self.footer()

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter on a row."""
        has_lead = event.view.table is not None and (event.view.table.card or event.view.table.lead)
        if not has_lead and (event.place is None or event.place.lo is None):
            self.say("This row has no place in the timeline.")
            return
        self.leads.choose(event.view.table, event.row, event.place)

    def first_table(self) -> None:
        """The answer that comes is looked at from its beginning."""
        self._table = 0
        self._close_filter()

    def turn(self, by: int) -> None:
        """Another tool."""
        self.leads.forget()
        names = [tool.name for tool in registry.TOOLS]
        number = names.index(self.tool.name) + by
        self.shell.show_tool(names[number % len(names)])

    def action_table_filter(self) -> None:
        """Type a part of a name."""
        box = self.query_one("#filter", Input)
        box.display = True
        self.set_focus(box)
        self.footer()

    def action_table_group(self) -> None:
        """Put the rows together by the next thing that they have in common."""
        self.say(self.table.next_group())

    def action_row_why(self) -> None:
        """What took longer in this step than in a usual one."""
        place = self.table.place
        table = self.table.table
        is_steps = table is not None and table.id == "steps"
        if not is_steps or place is None or place.lo is None or place.hi is None:
            self.say("Choose a step on the Steps page first: 6.")
            return
        self.session.window = (place.lo, place.hi)
        self.shell.show_tool("step_ops", how="into")

    def action_table_next(self) -> None:
        """The next table of this answer."""
        self._table += 1
        self.show_facts(self.result)
        self._show_table()

    def action_table_copy(self) -> None:
        """Copy the rows in the order shown, as CSV."""
        view = self.table
        if view.table is None or not len(view.rows):
            self.say("There is nothing to copy.")
            return
        rows = view.rows[:_MAX_COPIED_ROWS]
        text = as_csv.of_table(view.table.take(rows))
        if self.shell.copy_text(text):
            self.say(
                f"Copied {len(rows):,} rows to your terminal's clipboard, if it supports OSC 52."
            )
        else:
            self.say("That is too long for a terminal's clipboard.", warn=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self.table.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: to the rows."""
        self.set_focus(self.table)

    def restyle(self, look: object) -> None:
        """Draw with these styles from now on."""
        self.table.restyle(self.shell.look, self.shell.capabilities.glyphs)

    def back(self) -> bool:
        """Close the filter, else go back to what led here."""
        return self._close_filter() or self.leads.back()

    def _close_filter(self) -> bool:
        box = self.query_one("#filter", Input)
        if not box.display:
            return False
        box.value = ""
        box.display = False
        self.set_focus(self.table)
        self.footer()
        return True
