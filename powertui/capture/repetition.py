"""Captures again and again: one session each time, of which the last so many are kept."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from powertui.capture import profile_session
from powertui.capture.profile_session import CapturedProfile, Plan
from powertui.capture.stages import Stage, Waiting
from powertui.errors import Cancelled, PowertuiError

__all__ = ["run"]


def run(
    plan: Plan,
    every_s: float,
    keep: int | None,
    on_stage: Callable[[Stage], bool],
    say: Callable[[CapturedProfile | PowertuiError], None],
) -> int:
    """Until Ctrl+C.

    What is wrong from the beginning is raised; later a server may be away for a while (a restart).
    """
    captures: deque[CapturedProfile] = deque()
    code, next_s = 0, time.monotonic()
    while True:
        try:
            capture = profile_session.take(plan, on_stage)
            say(capture)
            if capture.good:
                captures.append(capture)
            while keep is not None and len(captures) > keep:
                _remove(captures.popleft())
            if capture.stopped:
                return code
        except Cancelled:
            return code
        except PowertuiError as error:
            if not captures:
                raise
            code = 1
            say(error)
        next_s = max(next_s + every_s, time.monotonic())
        waiting = Waiting(on_stage)
        waiting.wait("waiting for the next capture", next_s - time.monotonic())
        if waiting.stopped:
            return code


def _remove(capture: CapturedProfile) -> None:
    """What one capture wrote, and nothing else: whatever somebody put beside it stays, with the
    folder.
    """
    for path in (*capture.files, *capture.results, capture.power):
        if path and Path(path).parent == capture.folder:
            with contextlib.suppress(OSError):
                Path(path).unlink()
    with contextlib.suppress(OSError):
        capture.folder.rmdir()
