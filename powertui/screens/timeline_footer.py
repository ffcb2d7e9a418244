"""The foot of the timeline: the first conclusions; what can be done now, first with what is open or
selected, then how to move; and what Esc closes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from powertui.screens import frame, spec
from powertui.view.conclusion_line import conclusion_lines
from powertui.widgets.lines import LinesPane

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen

BELOW_FROM = 20  # rows from which there is room for a pane below
_TWO_CONCLUSIONS_FROM = 34  # rows from which two conclusions stand at the foot


def conclusion_rows(height: int) -> int:
    """How many conclusions a window of this height has room for."""
    return 2 if height >= _TWO_CONCLUSIONS_FROM else 1


def show_conclusions(page: TimelineScreen) -> None:
    """Show the first conclusions, once they are known."""
    pane = page.query_one("#conclusion", LinesPane)
    conclusions = frame.known_conclusions(page.session)
    width, height = page.size
    pane.display = height >= BELOW_FROM
    pane.styles.height = conclusion_rows(height)
    if conclusions is None:
        pane.set_lines([()])
    elif pane.display:
        key = spec("symmetry").key
        rows = conclusion_rows(height)
        lines = conclusion_lines(conclusions, key, width, rows, pane.glyphs.ellipsis)
        style = page.shell.look.style
        pane.set_lines(
            [tuple((text, style(role or "text")) for text, role in line) for line in lines]
        )


def useful(page: TimelineScreen) -> Iterable[str | tuple[str, str]]:
    """Ids of actions, with the words for what they do here."""
    state = page.timeline.state
    model = page.timeline.model
    if state is None:
        return
    yield from page.below.useful()
    if state.mark is not None:
        yield "mark", "end the window here"
    elif state.window is not None:
        if model is not None and len(model.tracks):
            yield "ops", "ops of the window"
        if model is not None and len(model.epochs) > 1:
            yield "epoch-same", "in the other epoch"
        yield from (("export", "export it"), ("fit", "fit"), ("copy", "copy its facts"))
    elif state.selection is not None:
        yield from (
            ("details", "details"),
            ("fit", "fit"),
            ("event-previous+event-next", "event before, after"),
            ("copy", "copy"),
        )
        if model is not None and model.trace.devices:
            yield "jump", "launch or kernel"
    if state.hits is not None:
        yield from (("hit-next+hit-previous", "next hit, the one before"), ("hits", "hits by name"))
    surroundings = model.surroundings if model is not None else None
    if surroundings is not None and not page.view.inside:
        if surroundings.profiles:
            yield "profile-next", "next profile"
        if surroundings.strips:
            yield "strips", "choose the strips"
    elif surroundings is not None and state.viewport.rung < state.viewport.widest:
        yield "whole", "the whole training"
    yield from (("zoom-in+zoom-out", "zoom"), ("pan-left+pan-right", "pan"))
    if model is None or not len(
        model.tracks
    ):  # a power log, or scalars and power: nothing ran that could be told
        yield from (
            ("time-left+time-right", "cursor"),
            ("mark", "mark a window"),
            ("export", "export"),
        )
    else:
        yield from (
            ("event-left+event-right", "event"),
            ("step-previous+step-next", "step"),
            ("search", "search"),
        )
        yield from (("mark", "mark a window"), ("ops", "ops"))
    if surroundings is not None and surroundings.findings:
        yield "found-previous+found-next", "finding"
    yield "palette", "go to a time or step"


def closes(page: TimelineScreen) -> str:
    """In the order in which `back` gives things up."""
    state = page.timeline.state
    if page.asks_for:
        return "the box"
    if page.below.open:
        return "the details" if page.below.open == "details" else "the table"
    if state is None:
        return ""
    held = (
        (state.mark, "the window's start"),
        (state.window, "the window"),
        (state.hits, "the search"),
        (state.selection, "the selection"),
    )
    return next((what for value, what in held if value is not None), "")
