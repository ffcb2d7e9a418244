"""The screens, one file each, and the table of them.

A page is plugged in with one line here: its number key, its title, and where its class is. A page
that shows one tool names the tool and needs no class of its own. The module is imported when the
page is first shown. Nothing here imports textual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.screens.session import Session


@dataclass(frozen=True)
class ScreenSpec:
    """One entry of the table."""

    name: str  # the name that `Shell.show` takes
    key: str  # the number key; "" for a screen that is reached in another way
    title: str
    target: str  # "module:class"
    needs_run: bool = True
    tool: str = ""  # the tool that this page shows, for pages of one tool
    lacks: Callable[[Session], str] | None = (
        None  # why it can have no content in this run; "" when it can
    )

    @property
    def acts_as(self) -> str:
        """The screen of the keymap whose actions it has: pages of one tool have those of the tool
        page.
        """
        return "tool" if self.tool else self.name


def _no_profile(session: Session) -> str:
    """Why a page about a profile is empty."""
    run = session.run
    return "" if run is None or run.traces else "This run has no profile."


def _nothing_stored(session: Session) -> str:
    """Why pages are empty that show what a profiler stored where there is no profile."""
    entry = session.entry
    return "" if entry is not None and entry.results else _nothing_to_draw(session)


def _nothing_to_draw(session: Session) -> str:
    """Why the timeline is empty: there is neither a profile nor anything else with times."""
    return "" if session.model is not None else _no_profile(session)


def _no_power(session: Session) -> str:
    """Why a page about power is empty."""
    if session.run is None or session.opened is None:
        return ""
    return plain(session.opened.why_no_power)


def _nothing_to_align(session: Session) -> str:
    """Why no power can be aligned."""
    run = session.run
    if run is not None and run.power and not run.traces:
        return "There is nothing to align this power with: the run has no profile."
    return _no_power(session)


def _no_steps(session: Session) -> str:
    """Why a page about steps is empty."""
    return _no_profile(session) or (
        ""
        if len(session.steps)
        else "No steps were found. Name what marks them: --step-marker REGEX."
    )


def _nothing_sampled(session: Session) -> str:
    """Why the live page is empty."""
    return (
        ""
        if session.feed is not None
        else "Nothing is being sampled. Watch a server's power with: powertui live --host BMC"
    )


_TOOL = "powertui.screens.tool:ToolScreen"

SCREENS: tuple[ScreenSpec, ...] = (
    ScreenSpec(
        name="open",
        key="8",
        title="Runs",
        target="powertui.screens.open:OpenScreen",
        needs_run=False,
    ),
    ScreenSpec(
        name="overview",
        key="1",
        title="Overview",
        target="powertui.screens.overview:OverviewScreen",
        tool="overview_page",
        lacks=_nothing_stored,
    ),
    ScreenSpec(
        name="timeline",
        key="2",
        title="Timeline",
        target="powertui.screens.timeline:TimelineScreen",
        lacks=_nothing_to_draw,
    ),
    ScreenSpec(
        name="symmetry",
        key="3",
        title="Findings",
        target="powertui.screens.symmetry:SymmetryScreen",
        lacks=_nothing_to_draw,
    ),
    ScreenSpec(
        name="alignment",
        key="4",
        title="Alignment",
        target="powertui.screens.alignment:AlignmentScreen",
        lacks=_nothing_to_align,
    ),
    ScreenSpec(
        name="ops",
        key="5",
        title="Ops",
        target=_TOOL,
        tool="op_stats",
        lacks=_no_profile,
    ),
    ScreenSpec(
        name="steps",
        key="6",
        title="Steps",
        target="powertui.screens.steps:StepsScreen",
        tool="steps",
        lacks=_no_steps,
    ),
    ScreenSpec(
        name="tools",
        key="7",
        title="Tools",
        target="powertui.screens.tools:ToolsScreen",
        lacks=_nothing_stored,
    ),
    ScreenSpec(name="tool", key="", title="Tool", target=_TOOL),
    ScreenSpec(
        name="compare",
        key="",
        title="Comparison",
        target="powertui.screens.compare:CompareScreen",
        lacks=_no_profile,
    ),
    ScreenSpec(
        name="pair",
        key="",
        title="Two timelines",
        target="powertui.screens.pair:PairScreen",
        lacks=_no_profile,
    ),
    ScreenSpec(
        name="live",
        key="9",
        title="Live",
        target="powertui.screens.live:LiveScreen",
        needs_run=False,
        lacks=_nothing_sampled,
    ),
    ScreenSpec(
        name="help",
        key="",
        title="Help",
        target="powertui.screens.help:HelpScreen",
        needs_run=False,
    ),
)


def spec(name: str) -> ScreenSpec:
    """The entry of this name."""
    return next(entry for entry in SCREENS if entry.name == name)


def page_of(tool: str) -> str:
    """The page that shows a tool: its own, where it has one."""
    return next((entry.name for entry in SCREENS if entry.tool == tool), "tool")


def page_named(words: str) -> ScreenSpec:
    """The page that is named by its key, its title or the beginning of it, or the page of the tool
    of this name or title or the beginning of its name.

    Raises `UsageError` with the pages that there are.
    """
    wanted = words.strip().lower()
    for entry in SCREENS:
        if entry.key and wanted and (wanted == entry.key or entry.title.lower().startswith(wanted)):
            return entry
    from powertui.data.tools.registry import named_tool  # only for what is no page of its own

    tool = named_tool(words)
    if tool is not None:
        own = page_of(tool.name)
        if own != "tool":
            return spec(own)
        return replace(spec("tool"), title=tool.title, tool=tool.name)
    pages = ", ".join(f"{entry.key} {entry.title}" for entry in SCREENS if entry.key)
    raise UsageError(
        f"There is no page {words[:80]!r}.", hint=f"Pages: {pages}; or a tool: memory_profile."
    )
