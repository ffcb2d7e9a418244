"""What is reported of a transfer while it goes on, to whoever listens in this thread.

A listener is asked several times a second, also while nothing comes: it may end the transfer by
raising an exception.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator

from powertui import units
from powertui.named_tuples import NamedTuple

# Silence that is worth a word: a round trip to the far side of the world takes a tenth of that.
_MIN_SHOWN_SILENCE_S = 3.0


class TransferProgress(NamedTuple):
    """How far one transfer has come."""

    place: str  # the host or the bucket
    # "login": nothing was answered yet, and ssh may be asking the person; "names", "bytes" or
    # "files"
    phase: str
    done: int
    total: int = 0  # 0 where nobody knows
    quiet_s: float = 0.0  # since something came

    def __str__(self) -> str:
        if self.phase == "login" or not self.done:
            text = f"waiting for {self.place}"
            if self.quiet_s >= 1:
                text += f", {self.quiet_s:.0f} s"
            return text
        text = self._amount(self.done)
        if self.total:
            text += f" of {self._amount(self.total)}"
        if self.phase != "bytes":
            text += f" {self.phase}"
        text += f" from {self.place}"
        if self.quiet_s >= _MIN_SHOWN_SILENCE_S:
            text += f", nothing for {self.quiet_s:.0f} s"
        return text

    def _amount(self, count: int) -> str:
        if self.phase == "bytes":
            return units.size(count)
        return f"{count:,}"


TransferListener = Callable[[TransferProgress | None], None]
"""Gets None when a transfer is over."""

_listener: contextvars.ContextVar[TransferListener | None] = contextvars.ContextVar(
    "transfer listener", default=None
)


@contextlib.contextmanager
def listening(listener: TransferListener) -> Iterator[None]:
    """Whoever listens already goes on listening."""
    outer = _listener.get()

    def both(progress: TransferProgress | None) -> None:
        if outer is not None:
            outer(progress)
        listener(progress)

    token = _listener.set(both)
    try:
        yield
    finally:
        _listener.reset(token)


def report(progress: TransferProgress | None) -> None:
    """Report how far a transfer has come; None when it is over."""
    listener = _listener.get()
    if listener is not None:
        listener(progress)
