"""Captures again and again: one session each time, of which the last so many are kept."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from powertui.capture import whole
from powertui.capture.whole import Plan, Stage, Taken, Waiting
from powertui.errors import Cancelled, PowertuiError

__all__ = ["run"]


def run(
    plan: Plan,
    every_s: float,
    keep: int | None,
    told: Callable[[Stage], bool],
    say: Callable[[Taken | PowertuiError], None],
) -> int:
    """Until Ctrl+C.

    What is wrong from the beginning is raised; later a server may be away for a while (a restart).
    """
    kept: deque[Taken] = deque()
    code, next_s = 0, time.monotonic()
    while True:
        try:
            taken = whole.take(plan, told)
            say(taken)
            if taken.good:
                kept.append(taken)
            while keep is not None and len(kept) > keep:
                _remove(kept.popleft())
            if taken.stopped:
                return code
        except Cancelled:
            return code
        except PowertuiError as error:
            if not kept:
                raise
            code = 1
            say(error)
        next_s = max(next_s + every_s, time.monotonic())
        waiting = Waiting(told)
        waiting.wait("waiting for the next capture", next_s - time.monotonic())
        if waiting.stopped:
            return code


def _remove(taken: Taken) -> None:
    """What one capture wrote, and nothing else: whatever somebody put beside it stays, with the
    folder.
    """
    for path in (*taken.files, *taken.results, taken.power):
        if path and Path(path).parent == taken.folder:
            with contextlib.suppress(OSError):
                Path(path).unlink()
    with contextlib.suppress(OSError):
        taken.folder.rmdir()
