"""The health of each channel while it is sampled: its last value, when that last changed, gaps, and
the energy so far.

The energy is integrated from one value to the next (trapezoids; counters give it themselves). A
stretch in which a reading failed, or that is longer than three median ones, is not covered: its
energy is unknown, and the sum says how much time it covers.
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from dataclasses import dataclass, field

from powertui.named_tuples import NamedTuple
from powertui.sampler.ledger import Ledger
from powertui.sampler.source import OK, Channel, Reading, reason_of

__all__ = ["Health", "Joules"]

_RECENT_READINGS = 120  # of which medians are shown: two minutes at 1 Hz
_RECENT_SPANS = 20  # of which the rhythm of a source is taken: it may change while it is recorded
# Values further apart than so many intervals have a hole between them. Two missed ticks are
# bridged: chosen, not measured.
_BRIDGED_INTERVALS = 3
_MIN_BRIDGE_S = 0.5  # however short the interval is: a busy machine is late by that much

# From this share of the time on, an energy is called measured rather than estimated: one poll that
# is missing in 200 changes a mean by less than sensors differ (chosen, not measured).
_FULL_COVERAGE = 0.995


class Joules(NamedTuple):
    """Energy over a stretch of time, and how much of that time it really covers."""

    joules: float
    covered_s: float
    span_s: float
    samples: int

    @property
    def watts(self) -> float | None:
        """The mean over the covered time. None where nothing is covered."""
        if self.covered_s > 0:
            return self.joules / self.covered_s
        return None

    @property
    def coverage(self) -> float:
        if self.span_s > 0:
            return self.covered_s / self.span_s
        return 0.0

    @property
    def has_gaps(self) -> bool:
        """Whether more is missing than makes no difference."""
        return self.coverage < _FULL_COVERAGE

    @property
    def with_gaps(self) -> float:
        """The energy. Where readings are missing the mean of the others stands for them, as in
        every other answer; it is estimated then.
        """
        if not self.has_gaps or self.watts is None:
            return self.joules
        return self.watts * self.span_s


@dataclass
class Health:
    """One channel of one source.

    Fed by one thread; others may read its fields, and ask for energy, at any time.
    """

    source: str
    channel: Channel
    interval: float
    readings: int = 0
    gaps: int = 0  # readings without a value
    last: Reading | None = None
    last_value: Reading | None = None  # the last one that had a value
    changed_mono: float | None = None  # when the value was last seen to be another one
    minimum: float | None = None
    maximum: float | None = None
    joules: float = 0.0
    covered_s: float = 0.0
    started_mono: float | None = None
    reason: str = ""  # why there is no value now
    _rtts: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_READINGS))
    _changes: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_READINGS))
    _spans: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_SPANS))
    _ledger: Ledger = field(default_factory=Ledger)
    # What a reading changes is changed at once: energy that is asked for meanwhile would lack that
    # reading, or count it twice.
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def rtt(self) -> float | None:
        """The median of the last round trips, s."""
        recent = list(self._rtts)
        return statistics.median(recent) if recent else None

    @property
    def refresh(self) -> float | None:
        """The median time between two changes of the value, s.

        It is never less than the time between two readings.
        """
        recent = list(self._changes)
        if len(recent) >= 3:
            return statistics.median(recent)
        return None

    def age(self, mono: float) -> float | None:
        """How long ago the value last changed, s."""
        if self.changed_mono is None:
            return None
        return mono - self.changed_mono

    def add(self, reading: Reading) -> None:
        with self._lock:
            self._add(reading)

    def add_hole(self, gap: Reading) -> None:
        """Note that nothing was read for a while, which was not the source's fault.

        A counter covers that time with its next reading.
        """
        if self.channel.kind != "interval":
            with self._lock:
                self.last = gap

    def _add(self, reading: Reading) -> None:
        self.readings += 1
        if self.started_mono is None:
            self.started_mono = reading.mono
        before = self.last
        self.last = reading
        if reading.watts is None:
            self.gaps += 1
            self.reason = reason_of(reading.quality)
            return
        if reading.quality == OK:
            self.reason = ""
        else:
            self.reason = reading.quality
        self._rtts.append(reading.rtt)
        self._note_value(reading, reading.watts)
        if before is not None and before.watts is not None:
            self._integrate(before, before.watts, reading, reading.watts)
        self.last_value = reading
        self._ledger.append(reading.mono, self.joules, self.covered_s, self.readings - self.gaps)

    def _note_value(self, reading: Reading, watts: float) -> None:
        """Keep the extremes, and when the value changed."""
        if self.minimum is None or watts < self.minimum:
            self.minimum = watts
        if self.maximum is None or watts > self.maximum:
            self.maximum = watts
        if self.last_value is not None and self.last_value.watts == watts:
            return
        if self.last_value is not None and self.changed_mono is not None:
            self._changes.append(reading.mono - self.changed_mono)
        self.changed_mono = reading.mono

    def _integrate(self, before: Reading, watts_before: float, now: Reading, watts: float) -> None:
        span = now.mono - before.mono
        self._spans.append(span)
        if span <= 0 or (span > self.shortest_bridge and span > self.longest_bridge):
            return
        if self.channel.kind != "interval":
            self.joules += (watts_before + watts) / 2 * span
        elif now.joules is None or before.joules is None or now.joules < before.joules:
            self.joules += watts * span
        else:
            self.joules += now.joules - before.joules
        self.covered_s += span

    @property
    def longest_bridge(self) -> float:
        """Seconds: two values further apart than this have a hole between them.

        A log that is followed or a Prometheus has its own rhythm, slower than ours, perhaps.
        """
        recent = list(self._spans)
        if len(recent) >= 3:
            median = statistics.median(recent)
        else:
            median = 0.0
        return max(_BRIDGED_INTERVALS * median, self.shortest_bridge)

    @property
    def shortest_bridge(self) -> float:
        """The same before anything is known of the rhythm of its values, which may only add."""
        rhythm = max(self.interval, self.channel.period_s or 0.0)
        return max(_BRIDGED_INTERVALS * rhythm, _MIN_BRIDGE_S)

    def total(self) -> Joules:
        span = 0.0
        if self.started_mono is not None and self.last is not None:
            span = self.last.mono - self.started_mono
        return Joules(self.joules, self.covered_s, span, self.readings - self.gaps)

    def counted(self) -> tuple[Joules, Reading | None]:
        """All energy so far, and the last reading that is in it."""
        with self._lock:
            return self.total(), self.last_value

    def between(self, lo: float, hi: float, *, hold: bool = False) -> Joules:
        """Energy between two monotonic times.

        A time of long ago is found to within a few thousandths of its age. A sample's stretch that
        is cut by an edge counts with its share. `hold`: the next reading is not here yet, and until
        it comes the last value counts, as long as a hole is not reached.
        """
        with self._lock:
            return self._between(lo, hi, hold)

    def _between(self, lo: float, hi: float, hold: bool) -> Joules:
        last = self.last_value
        if last is None or last.watts is None or hi <= lo:
            return Joules(0.0, 0.0, max(hi - lo, 0.0), 0)
        begin = self._ledger.at(lo)
        end = self._ledger.at(hi)
        if begin is None or end is None:
            return Joules(0.0, 0.0, hi - lo, 0)
        joules = end.joules - begin.joules
        covered_s = end.covered - begin.covered
        if hold and hi >= last.mono and not self.reason:
            held_from = max(lo, last.mono)
            held_to = min(hi, last.mono + self.longest_bridge)
            held_s = max(held_to - held_from, 0.0)
            joules += last.watts * held_s
            covered_s += held_s
        count = self._ledger.inside(lo, hi)
        return Joules(joules, covered_s, hi - lo, count)
