"""How a test waits: for what has to come, and never for a time.

The limit is there to end one that hangs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

LIMIT_S = 180.0


def until(
    holds: Callable[[], object],
    told: Callable[[], object] = lambda: "it never came",
    every: float = 0.01,
) -> None:
    """Wait for an event; `told` says how things stand when it never comes."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, told()
        time.sleep(every)


async def until_then(
    holds: Callable[[], object], told: Callable[[], object] = lambda: "it never came"
) -> None:
    """The same beside an application that runs in this thread."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, told()
        await asyncio.sleep(0.02)


def text_of(path: Path) -> str:
    """What a file holds; nothing of one that is not there (any more)."""
    try:
        return path.read_text()
    except OSError:
        return ""


def until_told(path: Path, text: str, times: int = 1) -> None:
    """Wait until a file holds a text, so many times at least."""
    until(
        lambda: text_of(path).count(text) >= times,
        lambda: f"{text!r} is not {times} times in {text_of(path)!r}",
    )
