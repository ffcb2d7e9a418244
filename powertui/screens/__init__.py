"""The screens, one file each, and the table of them.

A screen is plugged in with one line here: its number key, its title, and where its class is. The module is imported when the screen
is first shown. Nothing here imports textual.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScreenSpec:
    """One entry of the table."""

    name: str  # the name that `Action.screens` and `BaseScreen.NAME` use
    key: str  # the number key; "" for a screen that is reached in another way
    title: str
    target: str  # "module:class"
    needs_run: bool = True


SCREENS: tuple[ScreenSpec, ...] = (
    ScreenSpec("open", "", "Runs", "powertui.screens.open:OpenScreen", needs_run=False),
    ScreenSpec("timeline", "1", "Timeline", "powertui.screens.timeline:TimelineScreen"),
    ScreenSpec("symmetry", "2", "Symmetry", "powertui.screens.symmetry:SymmetryScreen"),
    ScreenSpec("alignment", "3", "Alignment", "powertui.screens.alignment:AlignmentScreen"),
    ScreenSpec("tool", "4", "Tools", "powertui.screens.tool:ToolScreen"),
    ScreenSpec("live", "9", "Live power", "powertui.screens.live:LiveScreen", needs_run=False),
    ScreenSpec("help", "", "Help", "powertui.screens.help:HelpScreen", needs_run=False),
)


def spec(name: str) -> ScreenSpec:
    """The entry of this name."""
    return next(entry for entry in SCREENS if entry.name == name)
