"""What the palette, and lists of places and hosts, answer with, and what the program does then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from powertui.terminal import keymap

if TYPE_CHECKING:
    from powertui.screens.shell import Shell


async def run_command(shell: Shell, command: str) -> None:
    """An action's id, `show:<screen>`, or a place: see `Shell.run_command`."""
    kind, _, text = command.partition(":")
    if kind == "show":
        shell.show(text)
    elif kind == "tool":
        shell.show_tool(text)
    elif kind == "host":
        shell.runs.show_trace(int(text))
    elif kind == "live-host":
        page = shell.current()
        if page is not None:
            page.choose_host(text)
    elif kind == "device":
        shell.show("timeline")
        shell.call_after_refresh(_show_device, shell, int(text))
    elif kind == "goto":
        lo, hi = (int(part) for part in text.split(","))
        if (
            hi > lo
        ):  # a stretch that was named is the window: what is told beside it is of exactly that
            shell.session.window = (lo, hi)
        shell.goto(lo, hi)
    elif kind == "place":
        from powertui.screens.arriving import go_and_say

        shell.run_worker(go_and_say(shell, text), group="place", exclusive=True)
    else:
        action = keymap.get(text)
        page = shell.current()
        target: Any = shell if "*" in action.screens else page
        if target is not shell and (page is None or page.NAME not in action.screens):
            return  # another page came to the front while the palette was open
        result = (
            action.do(target)
            if action.do is not None
            else getattr(target, f"action_{action.method}")()
        )
        if asyncio.iscoroutine(result):
            await result


def _show_device(shell: Shell, process: int) -> None:
    page = shell.current()
    if page is not None and page.NAME == "timeline":
        page.show_device(process)  # type: ignore[attr-defined]
