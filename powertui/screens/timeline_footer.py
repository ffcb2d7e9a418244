"""The foot of the timeline: the first conclusions; what can be done now, first with what is open or
selected, then how to move; and what Esc closes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from powertui import units
from powertui.screens import frame, spec
from powertui.view.conclusion_line import conclusion_lines
from powertui.view.context import MAX_GLANCE_EPOCHS
from powertui.widgets.lines import LinesPane, StyledLine

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen
    from powertui.widgets.context_pane import ContextPane

BELOW_FROM = 20  # rows from which there is room for a pane below
_TWO_CONCLUSIONS_FROM = 34  # rows from which two conclusions stand at the foot
CONTEXT_FROM = 100  # columns from which there is room for the pane beside the tracks
# Rows from which so many lines of facts leave the tracks and the power theirs (looked at at 24, 26
# and 30 rows: with two at 24 a strip of power had no row to give to the findings).
_FACT_ROWS = ((26, 2), (24, 1))


def _conclusion_rows(height: int) -> int:
    """How many conclusions a window of this height has room for."""
    return 2 if height >= _TWO_CONCLUSIONS_FROM else 1


def foot_rows(page: TimelineScreen) -> int:
    """Rows of the foot: conclusions, and where no pane is beside the tracks what it would hold."""
    width, height = page.app.size
    entry = page.session.entry
    has_profile = entry is None or bool(entry.profiles)
    rows = _conclusion_rows(height)
    if width < CONTEXT_FROM and has_profile:
        rows += next((facts for least, facts in _FACT_ROWS if height >= least), 0)
    return rows


def show_conclusions(page: TimelineScreen) -> None:
    """Show the first conclusions, once they are known."""
    pane = page.query_one("#conclusion", LinesPane)
    conclusions = frame.known_conclusions(page.session)
    width, height = page.size
    pane.display = height >= BELOW_FROM
    pane.styles.height = foot_rows(page)
    page.context_changed()
    if conclusions is None:
        pane.set_lines([_when_asked(page)])
    elif pane.display:
        key = spec("symmetry").key
        rows = _conclusion_rows(height)
        lines = conclusion_lines(
            conclusions,
            key,
            width,
            rows,
            pane.glyphs.ellipsis,
        )
        style = page.shell.look.style
        styled = [tuple((text, style(role or "text")) for text, role in line) for line in lines]
        for text in _facts(page, foot_rows(page) - rows):
            styled.append(((f" {text}", style("dim")),))
        pane.set_lines(styled)


def _when_asked(page: TimelineScreen) -> StyledLine:
    """Of a large run: what will be looked for once a key asks for it."""
    run = page.session.run
    if run is None or not page.session.complete or not frame.is_large(page.session):
        return ()
    key = spec("symmetry").key
    text = f" {units.count(run.event_count)} events: findings are looked for when you ask"
    style = page.shell.look.style
    return ((text, style("dim")), (f"  {key}: look for them", style("key")))


def look_further(page: TimelineScreen) -> None:
    """Once a page has asked for the conclusions of a large run: what goes with them."""
    session = page.session
    is_asked = frame.is_large(session) and frame.known_conclusions(session) is not None
    if is_asked and session.opened is not None and frame.known_glance(session) is None:
        page.shell.runs.look_for_news(session.opened)


def _facts(page: TimelineScreen, rows: int) -> list[str]:
    """What the pane beside the tracks would hold, in so many lines."""
    from powertui.view import content_lists, glance_lines

    glance = frame.known_glance(page.session)
    content = page.view.sight.seen
    asked: list[tuple[str, ...]] = []
    if glance is not None:
        asked = [(fact,) for fact in glance_lines.short_facts(glance)]
    parts = asked[:1]
    if content is not None:
        parts.append(content_lists.longest_step_words(content))
        parts.append(content_lists.top_op_words(content))
    return glance_lines.packed_lines(
        [*parts, *asked[1:]],
        page.size.width - 2,
        rows,
    )


def show_beside(page: TimelineScreen, pane: ContextPane) -> None:
    """In the pane beside the tracks: what the view holds, and what everybody asks of the run."""
    sight = page.view.sight
    has_content = sight.display and not sight.with_panel
    pane.show_content(sight.seen if has_content else None, is_coming=has_content)
    glance = frame.known_glance(page.session)
    model = page.timeline.model
    rows = 0
    is_coming = glance is not None or not frame.is_large(page.session)
    if model is not None and len(model.tracks) and is_coming:
        rows = glance_rows(len(model.run.power), len(model.epochs))
    section = None
    if glance is not None:  # not before the first picture
        from powertui.view.glance_lines import glance_section

        section = glance_section(glance)
    pane.show_glance(section, rows)


def glance_rows(power_logs: int, epochs: int) -> int:
    """How many lines the glance will have: they are kept for it."""
    if not power_logs:
        return 3  # a title, the wait for input, and that there is no power
    return 6 + min(epochs, MAX_GLANCE_EPOCHS)  # what drew more takes two of them


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
        if page.below.open == "details":
            return "the details"
        return "the table"
    if state is None:
        return ""
    held = (
        (state.mark, "the window's start"),
        (state.window, "the window"),
        (state.hits, "the search"),
        (state.selection, "the selection"),
    )
    return next((what for value, what in held if value is not None), "")
