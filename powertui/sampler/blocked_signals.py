"""Taking signals that are blocked, one at a time and no longer than one likes: macOS has no `sigtimedwait`."""

from __future__ import annotations

import signal
import time
from collections.abc import Set

__all__ = ["take"]

_PAUSE_S = 0.05  # between two looks, where the system cannot wait by itself


def take(wanted: Set[signal.Signals], seconds: float) -> int | None:
    """The number of one of these signals, which must be blocked; None when none came in time."""
    if hasattr(signal, "sigtimedwait"):
        info = signal.sigtimedwait(wanted, max(seconds, 0.0))
        return info.si_signo if info is not None else None
    until = time.monotonic() + seconds
    while True:
        pending = signal.sigpending() & set(wanted)
        if pending:
            return signal.sigwait(pending)
        left = until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(_PAUSE_S, left))
