"""How long another machine is waited for: a deadline for progress, and one for the whole, which
grows with what is promised.

Only time that is spent waiting counts. While powertui itself is busy, or stopped (ctrl+Z), the
other side owes nothing.
"""

from __future__ import annotations

import math
import os

from powertui import units
from powertui.value_types import dataclass

SILENCE_VARIABLE = "POWERTUI_REMOTE_TIMEOUT"
_RATE_VARIABLE = "POWERTUI_REMOTE_RATE"


@dataclass(frozen=True)
class Deadlines:
    """The limits of one question.

    `silence_s`: ssh itself gives up on a dead line after 60 s (ServerAliveInterval 15 ×
    ServerAliveCountMax 4) and knows better why. At half of it a disk array that spins up (30 s) is
    taken for dead; at twice the value a person waits two minutes for nothing. `min_rate`: 64
    kbit/s, the slowest line that people still log in over (EDGE, a satellite phone); 400 MB may
    take 14 hours. A line of 1 Mbit/s is 15 times faster than that. `min_progress`: bytes that count
    as progress within `silence_s`. A modem of 9,600 baud sends 60 times as many, a byte a second
    never comes so far.
    """

    silence_s: float = 60.0
    min_rate: float = 8192.0
    min_progress: int = 1024

    def whole_s(self, promised: int) -> float:
        """Seconds of waiting that a transfer of so many bytes may take in all."""
        return self.silence_s + promised / self.min_rate

    def impatient(self) -> Deadlines:
        """For a host that has just been silent for the full time: its other files must not take as
        long again each.
        """
        return Deadlines(self.silence_s / 10, self.min_rate, self.min_progress)


def deadlines() -> Deadlines:
    """The limits in force: those of the environment, where it names any."""
    usual = Deadlines()
    return Deadlines(
        _positive(os.environ.get(SILENCE_VARIABLE, ""), usual.silence_s),
        _positive(os.environ.get(_RATE_VARIABLE, ""), usual.min_rate),
    )


def _positive(text: str, usual: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return usual
    return number if math.isfinite(number) and number > 0 else usual


class WaitingTime:
    """What was waited for in one transfer, and what came of it."""

    def __init__(self, limits: Deadlines, promised: int) -> None:
        self.answered = False  # something came, in this transfer or before it
        self.received = 0  # bytes
        self.quiet_s = 0.0  # since the last byte came
        self._limits = limits
        self._promised = promised
        self._waited_s = 0.0
        self._window_s = 0.0  # since enough came to be called progress
        self._window_bytes = 0

    def waited(self, seconds: float) -> None:
        """So long nothing came."""
        self.quiet_s += seconds
        self._waited_s += seconds
        self._window_s += seconds

    def came(self, count: int) -> None:
        """So many bytes came."""
        self.quiet_s = 0.0
        self.received += count
        self.answered = self.answered or count > 0
        self._window_bytes += count
        if self._window_bytes >= self._limits.min_progress:
            self._window_s, self._window_bytes = 0.0, 0

    def problem(self, host: str) -> str:
        """Why it is not worth to wait longer; empty as long as it is."""
        limits = self._limits
        if self._window_s > limits.silence_s:
            if self._window_bytes and self.quiet_s < limits.silence_s / 2:
                return (
                    f"{host} sends too slowly: {self._window_bytes:,} bytes in "
                    f"{_duration(self._window_s)}"
                )
            if not self.answered:
                return f"{host} has not answered for {_duration(self._window_s)}"
            return f"{host} has sent nothing for {_duration(self.quiet_s)}"
        if self._waited_s > limits.whole_s(self._promised):
            came = f"{units.size(self.received)} in {_duration(self._waited_s)}"
            return f"{host} sends too slowly: {came}"
        return ""


def _duration(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    if seconds >= 1:
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s"
