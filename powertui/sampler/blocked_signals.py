"""Taking signals that are blocked, one at a time and no longer than one likes: macOS has no
`sigtimedwait`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Set

from powertui.named_tuples import NamedTuple

__all__ = ["ArrivedSignal", "take"]

_PAUSE_S = 0.05  # between two looks, where the system cannot wait by itself
_FROM_A_PROCESS = 0  # si_code of kill() and below; the kernel (a terminal) is above


class ArrivedSignal(NamedTuple):
    number: int
    by_process: bool | None = (
        None  # somebody's kill(), not a terminal or the kernel; None: not told here
    )
    sender: int = 0  # pid of that process


def take(signals: Set[signal.Signals], seconds: float) -> ArrivedSignal | None:
    """One of these signals, which must be blocked; None when none came in time."""
    until = time.monotonic() + seconds
    while hasattr(signal, "sigtimedwait"):
        info = signal.sigtimedwait(signals, max(until - time.monotonic(), 0.0))
        if info is None:
            return None
        # A process that is stopped and continued past its deadline gets an answer without a signal:
        # CPython returns the structure that the kernel did not fill.
        if info.si_signo in signals:
            return ArrivedSignal(info.si_signo, info.si_code <= _FROM_A_PROCESS, info.si_pid)
    while True:
        pending = signal.sigpending() & set(signals)
        if pending:
            return ArrivedSignal(signal.sigwait(pending))
        remaining_s = until - time.monotonic()
        if remaining_s <= 0:
            return None
        time.sleep(min(_PAUSE_S, remaining_s))
