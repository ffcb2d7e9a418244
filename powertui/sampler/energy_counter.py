"""A counter of energy in a file of /sys: watts are the mean since the reading before, and the energy itself is told too.

Where the counter's largest value is known (RAPL) it wraps there, as long as what it would have counted is possible and it cannot
have wrapped twice; where it is not known (hwmon's 64 bits) a smaller number than before means that the counter was set back. Then
nothing is known of the time between: a reading without watts that has joules is where the counting begins anew. A counter that
could not be read for a while went on counting: its next reading tells of all that time.
"""

from __future__ import annotations

from pathlib import Path

from powertui.sampler.source import OK, Reading, Stamp, none
from powertui.sampler.sysfs import GONE, read_number

__all__ = ["SHORTEST", "EnergyCounter"]

SHORTEST = 0.02  # s: a difference over less than this is mostly the counter's own step
_MOST_W = 3000.0  # no socket, and no machine whose counter wraps, draws more


class EnergyCounter:
    """The unwrapped energy of one file, in µJ since the first reading."""

    def __init__(self, path: Path, source: str, channel: str, limit: int | None = None) -> None:
        self.path, self._source, self._channel, self._limit = path, source, channel, limit
        self._raw: int | None = None
        self._mono = 0.0
        self._total = 0

    def read(self) -> Reading | None:
        """The mean since the last reading; None when that was only just now."""
        stamp = Stamp.now()
        raw, why = read_number(self.path)
        t, mono, rtt = stamp.middle()
        before, then = self._raw, self._mono

        def nothing(reason: str, joules: float | None = None) -> Reading:
            return Reading(t, mono, None, rtt, self._source, self._channel, none(reason), joules)

        if raw is None:
            if why == GONE:  # its driver may come back with a counter that begins at nothing
                self._raw = None
            return nothing(why)
        if before is not None and 0 <= mono - then < SHORTEST:
            return None
        self._raw, self._mono = raw, mono
        if before is None or mono <= then:
            return nothing("the counter's first reading", self._total / 1e6)
        step = raw - before
        if self._limit is not None:
            step %= self._limit + 1
            if self._limit / 1e6 < _MOST_W * (mono - then):
                return nothing("the counter may have wrapped more than once", self._total / 1e6)
        if step < 0 or (raw < before and step / 1e6 > _MOST_W * (mono - then)):
            return nothing("the counter was set back", self._total / 1e6)
        self._total += step
        return Reading(t, mono, step / 1e6 / (mono - then), rtt, self._source, self._channel, OK, self._total / 1e6)
