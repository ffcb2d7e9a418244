"""A page as an SVG file, drawn without a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import time

from powertui import config
from powertui.data.export import files
from powertui.errors import PowertuiError
from powertui.named_tuples import NamedTuple
from powertui.screens import ScreenSpec, arriving, page_named
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.terminal import theme as themes
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display, keep_own_colors
from powertui.value_types import dataclass

_LOOK_EVERY_S = 0.02
# Once nothing is read any more, what is worked out beside the page (findings, a panel) may still
# come. A page that stays the same for so long is drawn.
_STILL_S = 0.5
# How long all of it may take before the page is drawn as it is. A run of 10 M events takes 3 s on
# a quiet machine; beside sixteen busy programs a run of 0.8 M events took more than a minute.
_MAX_WAIT_S = 600.0


@dataclass(frozen=True)
class PagePicture:
    """What is asked for: a page by its key or name, a moment or step to go to, and a size."""

    path: str
    page: str = ""
    at: str = ""
    columns: int = 120
    rows: int = 36
    theme: str = "dark"
    force: bool = False  # replace a file that is there


class SavedPicture(NamedTuple):
    byte_count: int
    is_whole: bool  # False: the page was drawn while something was still worked out


def save(session: Session, picture: PagePicture) -> SavedPicture:
    """Draw the page of this session and write it.

    Never in place of a file that is there, but where that was asked for.
    """
    page = page_named(picture.page) if picture.page else None
    look = themes.get("light" if picture.theme == "light" else "dark", "true")
    display = Display(Capabilities(color="true"), look, config.load())
    keep_own_colors()
    with files.opened(picture.path, force=picture.force) as stream:
        svg, is_whole = asyncio.run(_drawn(Shell(session, display), picture, page))
        written = svg.encode()
        stream.write(written)
    return SavedPicture(len(written), is_whole)


async def _drawn(
    shell: Shell,
    picture: PagePicture,
    page: ScreenSpec | None,
) -> tuple[str, bool]:
    """The page as SVG, once nothing more comes to it, and whether it is whole."""
    async with shell.run_test(size=(picture.columns, picture.rows)) as pilot:
        deadline = time.monotonic() + _MAX_WAIT_S
        while not _has_read(shell) and time.monotonic() < deadline:
            if shell.return_code:  # it failed, and reads nothing any more
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        await pilot.pause()
        folder = shell.session.logdir if shell.session.entry is None else None
        if page is not None and folder is not None and len(folder.runs) == 1:
            await pilot.press("enter")  # the only run, which has no profile to open by itself
            await pilot.pause()
        if picture.at:
            left_s = max(0.0, deadline - time.monotonic())
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(arriving.go_to(shell, picture.at), left_s)
            await pilot.pause()
        if page is not None and page.key:
            await pilot.press(page.key)
        elif page is not None:
            arriving.show_page(shell, page)
        svg = ""
        since = time.monotonic()
        while time.monotonic() - since < _STILL_S and time.monotonic() < deadline:
            await pilot.pause(_LOOK_EVERY_S)
            drawn = shell.svg_of(shell.screen)
            if drawn != svg or _awaits_more(shell):
                svg, since = drawn, time.monotonic()
        is_whole = time.monotonic() < deadline
    if shell.return_code:
        raise PowertuiError("The page could not be drawn.")
    return svg, is_whole


def _awaits_more(shell: Shell) -> bool:
    """Whether a thread still works on what the page will show."""
    page = shell.current()
    is_page_complete = page is None or page.shows_all
    return bool(shell.workers) or shell.runs.awaits_news or not is_page_complete


def _has_read(shell: Shell) -> bool:
    """Whether the run, or the list of runs, is there as a whole."""
    session = shell.session
    if session.entry is None:
        return session.logdir is not None and session.logdir.complete
    return session.complete and session.model is not None
