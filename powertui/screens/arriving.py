"""Going to a place that was named in words, once the run is read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError, UsageError
from powertui.place_words import PlaceWords, parse_place
from powertui.screens import ScreenSpec, page_named, palette
from powertui.screens.place_check import host_of_place
from powertui.view.places import place_in_sight

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

_LOOK_EVERY_S = 0.02  # whether the run is read


async def go_and_say(shell: Shell, text: str) -> None:
    """Go there; where that is not possible, say why."""
    try:
        await go_to(shell, text)
    except PowertuiError as error:
        shell.say(str(error), warn=True)


async def go_to(shell: Shell, text: str) -> None:
    """Do what `:` would do after this text, once the run is read.

    Raises `UsageError` where it leads nowhere.
    """
    entry = shell.session.entry
    await _reading_done(shell)
    page = shell.current()
    if page is None or shell.session.entry is not entry:
        return  # the person went elsewhere
    words = _place(text)
    if words is None or words.is_stretch_alone:
        await shell.run_command(palette.first_command(page, text))
    else:
        await _go_to_place(shell, words)


def _place(text: str) -> PlaceWords | None:
    """The place that a text names; None where it may be a command."""
    try:
        return parse_place(text)
    except UsageError:
        return None


async def _reading_done(shell: Shell) -> None:
    """Wait for the run in front and its training, or for the list of runs."""
    session = shell.session
    while not shell.is_leaving:
        if session.entry is None:
            if session.logdir is None or session.logdir.complete:
                return
        elif session.complete and not shell.runs.awaits_training:
            return
        await asyncio.sleep(_LOOK_EVERY_S)


async def _go_to_place(shell: Shell, words: PlaceWords) -> None:
    session = shell.session
    if session.entry is None:
        raise UsageError("There are several runs here.", hint="Name one with --run NAME.")
    page = None if words.page is None else page_named(words.page)
    index = host_of_place(session, words)
    if index != session.trace_index:
        shell.runs.show_trace(index)
        await _reading_done(shell)
    if session.model is None:
        raise UsageError("This run has no timeline.")
    place = place_in_sight(session.model, words, session.cursor_ps)
    in_sight = place.view or place.stretch
    if place.stretch is not None and place.stretch.lo < place.stretch.hi:
        session.window = (place.stretch.lo, place.stretch.hi)
    if in_sight is not None:
        session.cursor_goal = place.cursor
        shell.goto(in_sight.lo, in_sight.hi)
    elif place.cursor is not None:
        shell.goto(place.cursor, place.cursor)
    if page is not None and page.name != "timeline":
        show_page(shell, page)


def show_page(shell: Shell, page: ScreenSpec) -> None:
    """The page that `page_named` found: one of its own, or that of a tool."""
    if page.name == "tool":
        shell.show_tool(page.tool)
    else:
        shell.show(page.name)
