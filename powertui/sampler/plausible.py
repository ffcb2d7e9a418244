"""What a sensor can say, and what it cannot: one rule for every source.

A value that is no number, negative, or beyond the sensor's own range (where it states none: beyond
a megawatt) is a gap with its reason. So is 0 W of the machine that we run on, of its processors and
GPUs: what is switched on draws something, and drivers say 0 where nothing is measured. A zero right
after an outage of a channel that stood at something before it is what a BMC answers while it
starts: it is marked as suspect and has no watts, so that no reader adds it up. A zero that stays is
one, after a while.
"""

from __future__ import annotations

import math
from collections import deque

from powertui.sampler.source import Channel, Reading, none, suspect

__all__ = ["MAX_POWER_W", "NOT_MEASURED", "Judge", "impossible"]

MAX_POWER_W = 1e6  # no single machine draws a megawatt; a rack draws a tenth of it
NOT_MEASURED = "it reports 0 W: it is switched off, or not measured"
_TYPICAL_READINGS = 20  # values that tell what is usual
_ZERO_SHARE = 0.01  # of the usual: as good as zero
_MIN_TYPICAL_W = 10.0  # what usually draws less may well draw nothing
_SUSPECT_S = 30.0  # s after an outage: then a zero is one
_OUTAGE_INTERVALS = 3.0  # intervals: values further apart have an outage between them


def impossible(watts: float, channel: Channel) -> str:
    """Why this sensor cannot say this. "" when it can."""
    most = channel.most_w
    if not math.isfinite(watts):
        return f"{watts} is not a number of watts"
    if watts < 0:
        return f"{watts:g} W is less than zero"
    if watts == 0 and channel.running:
        return NOT_MEASURED
    if most is not None and watts > most:
        return f"{watts:g} W is above the sensor's range of {most:g} W"
    if most is None and watts > MAX_POWER_W:
        return f"{watts:g} W is more than any machine draws"
    return ""


class Judge:
    """Sees the readings of one channel in order."""

    def __init__(self, channel: Channel, interval: float = 1.0) -> None:
        self._channel = channel
        self._most = channel.most_w
        self._bridge = _OUTAGE_INTERVALS * max(1.0, interval, channel.period_s or 0.0)
        self._values: deque[float] = deque(maxlen=_TYPICAL_READINGS)  # good ones
        self._spans: deque[float] = deque(maxlen=_TYPICAL_READINGS)
        self._last: float | None = None  # monotonic time of the last good value
        self._counted: tuple[float, float] | None = None  # (J, monotonic)
        self._away = False  # no value since the last good one
        self._back: float | None = None  # monotonic time of the first value after an outage

    def judge(self, reading: Reading) -> Reading:
        """The reading as it is to be recorded."""
        if reading.watts is None:
            self._away, self._back = True, None
            return reading._replace(joules=self._counter(reading, None))
        why = impossible(reading.watts, self._channel)
        if why:
            self._away, self._back = True, None
            return reading._replace(watts=None, joules=None, quality=none(why))
        if self._is_suspect(reading):
            text = f"{reading.watts:g} W right after an outage (usual: {self._typical():.0f} W)"
            return reading._replace(watts=None, joules=None, quality=suspect(text))
        if self._last is not None and not self._away:
            self._spans.append(reading.mono - self._last)
        self._values.append(reading.watts)
        self._last = reading.mono
        self._away = False
        self._back = None
        return reading._replace(
            watts=reading.watts + 0.0,
            joules=self._counter(reading, reading.watts),
        )

    def _is_suspect(self, reading: Reading) -> bool:
        assert reading.watts is not None
        if not self._away and self._last is not None and reading.mono - self._last <= self._bridge:
            return False  # no outage: what is usual need not be sorted
        if (
            self._last is None
            or self._typical() < _MIN_TYPICAL_W
            or reading.watts > self._typical() * _ZERO_SHARE
        ):
            return False
        spans = sorted(self._spans)
        if spans:
            usual = spans[len(spans) // 2]
        else:
            usual = 0.0
        if not self._away and reading.mono - self._last <= max(
            self._bridge, _OUTAGE_INTERVALS * usual
        ):
            return False  # it fell to nothing while we looked
        self._away = True
        if self._back is None:
            self._back = reading.mono
        else:
            self._back = self._back
        return reading.mono - self._back < _SUSPECT_S

    def _typical(self) -> float:
        values = sorted(self._values)
        if values:
            return values[len(values) // 2]
        return 0.0

    def _counter(self, reading: Reading, watts: float | None) -> float | None:
        """The energy counter, unless it jumped further than any power that is possible would take
        it.
        """
        joules = reading.joules
        if joules is None or not math.isfinite(joules) or joules < 0:
            return None
        before = self._counted
        self._counted = (joules, reading.mono)
        if before is not None and joules > before[0]:
            most = MAX_POWER_W if self._most is None else self._most
            if joules - before[0] > 2 * most * max(reading.mono - before[1], 0.01):
                return None
        return joules
