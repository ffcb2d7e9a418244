"""What the timeline waits for: the words in its place while there is nothing to draw, and what a
key waits for while a run is still being read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data import elsewhere
from powertui.plain import plain
from powertui.screens.session import Session
from powertui.widgets import background

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen

_MAX_WARNINGS = 6  # that fit on a page

# What an action needs of a run that is still being read. Moving along the axis needs no event.
_ALONG_THE_AXIS = (
    "zoom-in",
    "zoom-out",
    "pan-left",
    "pan-right",
    "whole",
    "profile-next",
    "profile-out",
    "go-start",
    "go-end",
    "time-left",
    "time-right",
    "context",
    "search",
    "filter",
)
_OF_TRAINING = (
    "found-previous",
    "found-next",
    "epoch-previous",
    "epoch-next",
    "epoch-same",
    "strips",
)
_OF_WHOLE_RUN = (
    "step-previous",
    "step-next",
    "step-marker",
    "host",
    "export",
    "reread",
    "submit",
    "copy",
)
_OF_POWER = ("power-left", "power-right", "power-pin", "copy", "export")


def shown_instead(session: Session) -> str:
    """What stands on the page while there is nothing to draw; "" where there is."""
    model = session.model
    run = session.run
    name = plain(session.entry.name) if session.entry else ""
    if model is None and not (session.complete and run is not None):
        return f"Reading {name} …"
    if run is None or not session.complete:
        return ""
    if model is not None and (run.event_count or run.power or model.strips):
        return ""
    what = "holds no timeline."
    if run.traces:
        what = "holds no event: nothing was recorded."
    paragraphs = [f"{name} {what}"]
    for warning in run.warnings[:_MAX_WARNINGS]:
        paragraphs.append(plain(elsewhere.warning_text(warning)))
    if session.entry is not None and session.entry.results:
        paragraphs.append("What the profiler itself stored of it is on pages 1 and 7.")
    paragraphs.append(f"`powertui doctor {plain(run.path)}` lists what there is.")
    return "\n\n".join(paragraphs)


def awaited(page: TimelineScreen, action: str) -> str:
    """What an action waits for, in words; "" when nothing keeps it."""
    runs = page.shell.runs
    if page.timeline.model is None or page.session.model is None:
        return runs.awaited
    if any(background.is_under_way(page, group) for group in ("search", "jump")):
        return "the search"  # it moves the cursor
    if action in _ALONG_THE_AXIS:
        return ""
    surrounding = page.surrounding
    if runs.profiles.is_reaching:
        return "the profile"
    if surrounding.is_waiting and surrounding.profile_in_view() is not None:
        return "the profile"
    if page.below.is_behind and _is_of_table(page, action):
        return "the table"
    if action in _OF_POWER:
        return "the power" if page.shell.is_placing else runs.awaited
    if action in _OF_TRAINING:
        return runs.awaits_training
    if action in _OF_WHOLE_RUN:
        return runs.awaited
    return ""


def _is_of_table(page: TimelineScreen, action: str) -> bool:
    """Whether a key is for the table below: its own keys while it has the focus, and Enter in its
    filter.
    """
    if action == "submit":
        return page.asks_for == "filter"
    return action == "sort" or (action == "" and page.focused is page.below.table)
