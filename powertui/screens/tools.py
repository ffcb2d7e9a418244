"""`7`: every tool with what it answers, gray where the profile lacks the data; Enter opens one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from powertui.data.tools import registry
from powertui.data.tools.registry import Tool
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens import frame
from powertui.screens.base import BaseScreen, bindings_for
from powertui.terminal.theme import Theme
from powertui.view.fuzzy import fuzzy_rank
from powertui.widgets.lists import Choices

_TITLE_CELLS = max(len(tool.title) for tool in registry.TOOLS) + 2


class ToolsScreen(BaseScreen):
    """The list of tools."""

    NAME = "tools"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("tools")
    AUTO_FOCUS = "#tools"

    def __init__(self) -> None:
        super().__init__()
        self._asked: object = None  # the profile that the reasons are of
        self._reasons: dict[str, str] = {}  # by the tool's name: why it has nothing to say
        self._listed: tuple[Tool, ...] = registry.TOOLS

    def body(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Input(
            placeholder="search: any letters of a name, in order",
            id="search",
            compact=True,
        )
        yield Choices(markup=False, compact=True, id="tools")

    def on_mount(self) -> None:
        """The box comes when it is asked for."""
        box = self.query_one(Input)
        box.cursor_blink = box.display = False
        self._fill()

    @property
    def listed(self) -> tuple[Tool, ...]:
        """The tools that fit what was typed, the best first."""
        return self._listed

    def session_changed(self) -> None:
        """Another profile lacks other things: look in a thread."""
        session = self.session
        opened = session.opened
        asked = (opened, session.trace_index, session.run, session.complete)
        if not self.is_mounted or asked == self._asked:
            return
        self._asked = asked
        self._reasons = {}
        self._fill()
        if opened is None or not session.complete or frame.why_empty(session, "tool"):
            return
        index = session.trace_index

        def look() -> None:
            from powertui.data.tools.missing_data import missing_data

            try:
                reasons = {
                    tool.name: missing_data(tool.name, opened, index) for tool in registry.TOOLS
                }
            except PowertuiError:
                return  # the page of the tool says what is wrong
            self.shell.from_thread(self._looked, asked, reasons)

        self.run_worker(look, thread=True, exclusive=True, group="tools")

    def _looked(self, asked: object, reasons: dict[str, str]) -> None:
        if asked == self._asked and self.is_mounted:
            self._reasons = reasons
            self._fill()

    def _fill(self) -> None:
        """Put the tools that fit what was typed into the list."""
        typed = self.query_one(Input).value
        ranks = [
            (rank, number)
            for number, tool in enumerate(registry.TOOLS)
            if (rank := fuzzy_rank(typed, (tool.title, tool.name), tool.about)) is not None
        ]
        choices = self.query_one(Choices)
        before = choices.highlighted
        kept = ""
        if before is not None and self._listed:
            kept = self._listed[before].name
        self._listed = tuple(registry.TOOLS[number] for _, number in sorted(ranks))
        choices.clear_options()
        choices.add_options([Option(self._line(tool), id=tool.name) for tool in self._listed])
        names = [tool.name for tool in self._listed]
        if names:
            choices.highlighted = names.index(kept) if kept in names and not typed else 0
        empty = sum(bool(reason) for reason in self._reasons.values())
        words = f" Tools · {len(registry.TOOLS) - empty} of {len(registry.TOOLS)}"
        said = f"{words} have data in this profile" if self._reasons else " Tools"
        self.query_one("#title", Static).update(
            said if names else " No tool matches these letters."
        )

    def _line(self, tool: Tool) -> Text:
        style = self.shell.look.style
        reason = self._reasons.get(tool.name, "")
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f" {tool.title:<{_TITLE_CELLS}}", style("dim" if reason else "title"))
        line.append(plain(reason or tool.about), style("dim" if reason else "text"))
        return line

    def restyle(self, look: Theme) -> None:
        self._fill()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def useful(self) -> Iterable[str | tuple[str, str]]:
        yield "tool-open", "open"
        yield "tools-up+tools-down", "choose"
        yield "tools-search", "search"
        yield "export-page", "export"

    def move(self, by: int) -> None:
        """So many tools down."""
        self.query_one(Choices).move_highlight(by)

    def action_tools_search(self) -> None:
        """Type letters of a name."""
        box = self.query_one(Input)
        box.display = True
        self.set_focus(box)
        self.footer()

    def open_tool(self) -> None:
        """The page of the tool under the cursor."""
        at = self.query_one(Choices).highlighted
        if at is not None and self._listed:
            self.shell.show_tool(self._listed[at].name, how="into")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        if event.option.id:
            self.shell.show_tool(event.option.id, how="into")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list while typing."""
        event.stop()
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the box opens the first that fits."""
        event.stop()
        self.open_tool()

    def closes(self) -> str:
        return "the search" if self.query_one(Input).display else ""

    def back(self) -> bool:
        """Close the search."""
        box = self.query_one(Input)
        if not box.display:
            return False
        box.value = ""
        box.display = False
        self.set_focus(self.query_one(Choices))
        self.footer()
        return True
