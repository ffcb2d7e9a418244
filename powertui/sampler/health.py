"""What is known of each channel while it is sampled: the last value, when it last changed, gaps,
energy so far.

The energy is integrated from one value to the next (trapezoids; counters give it themselves). A
stretch in which a reading failed, or that is longer than three usual ones, is not covered: its
energy is unknown, and the sum says how much time it covers.
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from powertui.sampler.ledger import Ledger
from powertui.sampler.source import OK, Channel, Reading, reason_of

__all__ = ["Health", "Joules"]

_RECENT_READINGS = 120


class Joules(NamedTuple):
    """Energy over a stretch of time, and how much of that time it really covers."""

    joules: float
    covered_s: float
    span_s: float
    samples: int

    @property
    def watts(self) -> float | None:
        """The mean over the covered time. None where nothing is covered."""
        return self.joules / self.covered_s if self.covered_s > 0 else None

    @property
    def coverage(self) -> float:
        return self.covered_s / self.span_s if self.span_s > 0 else 0.0


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
    _spans: deque[float] = field(default_factory=lambda: deque(maxlen=20))
    _ledger: Ledger = field(default_factory=Ledger)
    # What a reading changes is changed at once: energy that is asked for meanwhile would lack that
    # reading, or count it twice.
    _whole: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def rtt(self) -> float | None:
        """The median of the last round trips, s."""
        recent = list(self._rtts)
        return statistics.median(recent) if recent else None

    @property
    def refresh(self) -> float | None:
        """The median time between two changes of the value, s: never faster than the readings are
        asked for.
        """
        recent = list(self._changes)
        return statistics.median(recent) if len(recent) >= 3 else None

    def age(self, mono: float) -> float | None:
        """How long ago the value last changed, s."""
        return None if self.changed_mono is None else mono - self.changed_mono

    def add(self, reading: Reading) -> None:
        with self._whole:
            self._add(reading)

    def add_hole(self, gap: Reading) -> None:
        """Nothing was read for a while, and it was not the source's fault.

        A counter tells of that time with its next reading.
        """
        if self.channel.kind != "interval":
            with self._whole:
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
        self.reason = "" if reading.quality == OK else reading.quality
        self._rtts.append(reading.rtt)
        if self.last_value is None or self.last_value.watts != reading.watts:
            if self.last_value is not None and self.changed_mono is not None:
                self._changes.append(reading.mono - self.changed_mono)
            self.changed_mono = reading.mono
        self.minimum = reading.watts if self.minimum is None else min(self.minimum, reading.watts)
        self.maximum = reading.watts if self.maximum is None else max(self.maximum, reading.watts)
        if before is not None and before.watts is not None:
            self._integrate(before, before.watts, reading, reading.watts)
        self.last_value = reading
        self._ledger.append(reading.mono, self.joules, self.covered_s, self.readings - self.gaps)

    def _integrate(self, before: Reading, was: float, now: Reading, watts: float) -> None:
        span = now.mono - before.mono
        self._spans.append(span)
        if span <= 0 or span > self.longest_bridge:
            return
        if self.channel.kind == "interval":
            counted = (
                now.joules is not None and before.joules is not None and now.joules >= before.joules
            )
            self.joules += (now.joules or 0.0) - (before.joules or 0.0) if counted else watts * span
        else:
            self.joules += (was + watts) / 2 * span
        self.covered_s += span

    @property
    def longest_bridge(self) -> float:
        """Two values further apart than this have a hole between them.

        A log that is followed or a Prometheus has its own rhythm, slower than ours, perhaps.
        """
        recent = list(self._spans)
        usual = statistics.median(recent) if len(recent) >= 3 else 0.0
        return max(3 * self.interval, 3 * (self.channel.period_s or 0.0), 3 * usual, 0.5)

    def total(self) -> Joules:
        span = (
            0.0
            if self.started_mono is None or self.last is None
            else self.last.mono - self.started_mono
        )
        return Joules(self.joules, self.covered_s, span, self.readings - self.gaps)

    def between(self, lo: float, hi: float, *, hold: bool = False) -> Joules:
        """Energy between two monotonic times. Of long ago, a time is only known to within a few
        thousandths of its age.

        A sample's stretch that is cut by an edge counts with its share. `hold`: the next reading is
        not here yet, and until it comes the last value stands, as long as a hole is not reached.
        """
        with self._whole:
            return self._between(lo, hi, hold)

    def _between(self, lo: float, hi: float, hold: bool) -> Joules:
        last = self.last_value
        begin, end = self._ledger.at(lo), self._ledger.at(hi)
        if last is None or last.watts is None or begin is None or end is None or hi <= lo:
            return Joules(0.0, 0.0, max(hi - lo, 0.0), 0)
        joules, covered = end.joules - begin.joules, end.covered - begin.covered
        if hold and hi >= last.mono and not self.reason:
            held = min(
                hi - max(lo, last.mono), last.mono + self.longest_bridge - max(lo, last.mono)
            )
            joules += last.watts * max(held, 0.0)
            covered += max(held, 0.0)
        return Joules(joules, covered, hi - lo, self._ledger.inside(lo, hi))
