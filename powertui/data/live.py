"""What is being sampled, as columns: the history of every channel, its sums, and the rows that
stand out.

Readings are appended one by one; every question costs some thousand numbers, however long the
window is that it asks about, and memory hardly grows with time: 64 hosts at 1 Hz for a day are 5.5
million readings. A reading without watts is a gap. Counting, round trips and the running energy
belong to the sampler, which knows them first hand; joules of a window, with their interval, come
from `data/energy` over `History.series`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.energy import integrate, scopes, sensor
from powertui.data.energy.measured_energy import JoulesInterval, joules_interval
from powertui.data.model import (
    PS_PER_NS,
    Badge,
    Clock,
    Floats,
    Int64s,
    PowerCap,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
    worst_badge,
)
from powertui.data.pyramid import Pyramid, ReadingBlocks
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# A row stands out when it lies this many robust standard deviations from the middle of all rows …
_OUTLIER_DEVIATIONS = 4.0
# … and at least this fraction of the middle: among hosts that all draw 300 W, 303 W is no finding.
_OUTLIER_FRACTION = 0.1
# Fewer rows than this have no middle worth the name.
_OUTLIER_ROWS = 4
# The standard deviation of a normal distribution by its median deviation.
_DEVIATION_PER_MEDIAN = 1.4826
# A sum is added when a tick has nearly passed since the last one: rows arrive one after another.
_MIN_SUM_INTERVAL_SHARE = 0.75
# Sums that are made up for at once: an hour at one a second. Before them there is a gap.
_MAX_MISSED_SUMS = 3600
# Readings around a window show what the sensor resolves: at least so much time. Chosen.
_MIN_AROUND_NS = 60_000_000_000


class ChannelKey(NamedTuple):
    """Which channel of which source: as readings name it."""

    source: str
    channel: str


class ChannelStretch(NamedTuple):
    """What happened in a window of one channel."""

    samples: int
    gaps: int  # readings without a value
    lowest: float | None
    mean: float | None
    highest: float | None


class History:
    """The readings of one channel, by time: the last hour or two as they came, older ones as blocks
    (`pyramid.py`).
    """

    def __init__(
        self,
        key: ChannelKey,
        *,
        host: str = "",
        group: str = "",
        scope: Scope = Scope.UNKNOWN,
        kind: PowerKind = PowerKind.SAMPLED,
    ) -> None:
        self.key = key
        self.host = host or key.source
        self.group = group  # of hosts that it is one of: its rack
        self.scope = scope
        self.kind = kind
        self.dropped = 0  # readings that came out of order: counted, left out
        self.first_ns = self.last_ns = 0  # Unix ns of the first and the last reading
        self.now: float | None = None  # watts of the last reading; None when it had none
        self.limits: list[PowerCap] = []  # what it is held to, by Unix ns
        self._pyramid = Pyramid()

    def __len__(self) -> int:
        """Readings so far."""
        return self._pyramid.count

    @property
    def times(self) -> Int64s:
        """Unix ns of each reading that is still there as it came (a view)."""
        return self._pyramid.times

    @property
    def watts(self) -> Floats:
        """Watts of each of these, NaN where there was none (a view)."""
        return self._pyramid.watts

    @property
    def raw_ns(self) -> int:
        """Since when readings are there as they came."""
        return int(self.times[0]) if len(self) else 0

    @property
    def nbytes(self) -> int:
        """Memory of the readings."""
        return self._pyramid.nbytes

    def append(self, at_ns: int, watts: float | None) -> None:
        """Take one reading. One that is not later than the last is counted and left out."""
        if not len(self):
            self.first_ns = at_ns
        elif at_ns <= self.last_ns:
            self.dropped += 1
            return
        self.last_ns = at_ns
        self.now = None if watts is None or math.isnan(watts) else watts
        self._pyramid.append(at_ns, math.nan if watts is None else watts)

    def limit(self, at_ns: int, watts: float | None) -> None:
        """From now on it is held to so much; None: to nothing."""
        self.limits.append(PowerCap(at_ns, math.nan if watts is None else watts))

    def pieces(self, lo_ns: int, hi_ns: int) -> ReadingBlocks:
        """What touches the time from lo to hi, both included: blocks of readings where it is long
        ago, single ones else.
        """
        return self._pyramid.pieces(lo_ns, hi_ns)

    def stretch(self, lo_ns: int, hi_ns: int) -> ChannelStretch:
        """Lowest, mean and highest reading of a window.

        The edges of one that begins long ago are those of whole blocks.
        """
        pieces = self.pieces(lo_ns, hi_ns)
        samples = int(pieces.values.sum())
        gaps = int(pieces.gaps.sum())
        if not samples:
            return ChannelStretch(
                samples=0,
                gaps=gaps,
                lowest=None,
                mean=None,
                highest=None,
            )
        return ChannelStretch(
            samples=samples,
            gaps=gaps,
            lowest=float(np.nanmin(pieces.low)),
            mean=float(np.nansum(pieces.total)) / samples,
            highest=float(np.nanmax(pieces.high)),
        )

    def series(self, lo_ns: int | None = None, hi_ns: int | None = None) -> PowerSeries:
        """The readings of a window as a power series, so that everything that takes a log takes
        them.

        Of long ago every reading of a block has the mean of it: the energy is true, what was
        between is not told.
        """
        if lo_ns is None:
            lo_ns = self.first_ns
        if hi_ns is None:
            hi_ns = self.last_ns
        times_ns, watts = self.pieces(lo_ns, hi_ns).readings()
        zero_ns = int(times_ns[0]) if len(times_ns) else 0
        clock = Clock(
            lo_ns=zero_ns,
            hi_ns=zero_ns,
            source="absolute timestamps",
            detail="stamped by this machine while sampling",
        )
        sensor = Sensor(
            name=self.key.channel,
            source=self.key.source,
            scope=self.scope,
            host=self.host,
        )
        caps = tuple(PowerCap(cap.start_ns - zero_ns, cap.watts) for cap in self.limits)
        return PowerSeries(
            sensor=sensor,
            times=times_ns - zero_ns,
            watts=watts,
            kind=self.kind,
            clock=clock,
            limits=caps,
        )


class WindowEnergy(NamedTuple):
    """The energy of a window over the rows that can be added up; None where it is not resolved,
    with the reason.
    """

    joules: float | None
    lo: float | None  # 95 % interval
    hi: float | None
    badge: Badge
    reason: str = ""

    @property
    def interval(self) -> JoulesInterval | None:
        """The joules with their 95 % interval; None when they are not resolved."""
        return joules_interval(self.joules, self.lo, self.hi)


def _not_resolved(badge: Badge, reason: str) -> WindowEnergy:
    return WindowEnergy(
        joules=None,
        lo=None,
        hi=None,
        badge=badge,
        reason=reason,
    )


def _sums_at(rows: Sequence[History], moments: Int64s) -> list[float]:
    """The sum of what each row had last read at these moments, NaN where one had nothing."""
    sums = np.zeros(len(moments))
    for row in rows:
        place = row.times.searchsorted(moments, side="right") - 1
        sums += np.where(place >= 0, row.watts.take(place, mode="clip"), np.nan)
    watts: list[float] = sums.tolist()
    return watts


class Total(NamedTuple):
    """The sum over the rows of a board that can be added up, and how much of it is missing."""

    watts: float | None
    keys: tuple[ChannelKey, ...]  # what was added
    missing: int  # rows of these whose last reading has no value: the sum is short of them
    text: str


class Board:
    """Every channel of every source, with the sums and the rows that stand out."""

    def __init__(self) -> None:
        self.histories: dict[ChannelKey, History] = {}
        self._addable: tuple[tuple[ChannelKey, ...], str] | None = None

    def add(self, history: History) -> History:
        """Take a new channel; one that is already there stays."""
        self._addable = None
        return self.histories.setdefault(history.key, history)

    def __iter__(self) -> Iterator[History]:
        return iter(self.histories.values())

    def __len__(self) -> int:
        return len(self.histories)

    def addable(self) -> tuple[tuple[ChannelKey, ...], str]:
        """The rows that may be added up (scopes that do not overlap, host by host), and that in
        words.
        """
        if self._addable is not None:
            return self._addable
        rows = list(self)
        # The choice depends on scopes and hosts alone, so one sample stands for a channel.
        samples = [history.series(history.last_ns, history.last_ns) for history in rows]
        picked = scopes.total(samples)
        keys = tuple(rows[index].key for index in picked.indices)
        addable = (keys, picked.text)
        if all(map(len, rows)):  # a channel that has not spoken yet may still change it
            self._addable = addable
        return addable

    def total(self) -> Total:
        """Watts now over the rows that may be added up."""
        keys, text = self.addable()
        present = [self.histories[key].now for key in keys]
        known = [watts for watts in present if watts is not None]
        missing = len(present) - len(known)
        return Total(
            watts=sum(known) if known else None,
            keys=keys,
            missing=missing,
            text=text,
        )

    def add_sums(self, sums: History, interval_ns: int) -> None:
        """Add the sums since the last one, one an interval. One that is short of a row is a gap.

        The page may have been late, or a replay is faster than it: sums that it missed are made of
        the readings of that time.
        """
        keys, _ = self.addable()
        rows = [self.histories[key] for key in keys]
        newest = max(row.last_ns for row in rows)
        since = newest - sums.last_ns
        if len(sums) and since < _MIN_SUM_INTERVAL_SHARE * interval_ns:
            return
        total = self.total()
        if len(sums):
            missed = min(round(since / interval_ns), _MAX_MISSED_SUMS)
            moments = newest - interval_ns * np.arange(missed - 1, 0, -1, dtype=np.int64)
            for at_ns, watts in zip(moments.tolist(), _sums_at(rows, moments), strict=True):
                sums.append(at_ns, watts)
        sums.append(newest, None if total.missing else total.watts)

    def outliers(self) -> dict[ChannelKey, float]:
        """Rows that draw far more or less than the others now: how many watts from their middle.

        Only what can be compared is: rows of one scope, at least four. The spread is the median
        deviation, so that one host that burns does not hide itself.
        """
        outliers: dict[ChannelKey, float] = {}
        keys, _ = self.addable()
        rows = [self.histories[key] for key in keys]
        for scope in {history.scope for history in rows}:
            present = {
                history.key: history.now
                for history in rows
                if history.scope is scope and history.now is not None
            }
            if len(present) < _OUTLIER_ROWS:
                continue
            values = np.array(list(present.values()))
            middle = median_of_column(values)
            spread = _DEVIATION_PER_MEDIAN * median_of_column(np.abs(values - middle))
            limit = max(_OUTLIER_DEVIATIONS * spread, _OUTLIER_FRACTION * abs(middle))
            keys_in_order = list(present)
            for row in np.flatnonzero(np.abs(values - middle) > limit).tolist():
                outliers[keys_in_order[row]] = float(values[row]) - middle
        return outliers

    def energy(self, lo_ns: int, hi_ns: int) -> WindowEnergy:
        """Joules between two moments, with their interval.

        One row that is not resolved leaves the sum unresolved.
        """
        keys, _ = self.addable()
        joules, variance = 0.0, 0.0
        badges: list[Badge] = []
        around_ns = hi_ns - lo_ns + _MIN_AROUND_NS
        for key in keys:
            history = self.histories[key]
            # What a sensor can resolve is seen in readings, not in blocks of them.
            since_ns = max(lo_ns - around_ns, min(lo_ns, history.raw_ns))
            series = sensor.describe(history.series(since_ns, hi_ns + around_ns))
            if not len(series):
                return _not_resolved(Badge.MEASURED, f"{key.source} was not sampled then")
            zero_ns = series.clock.mid_ns
            channel = integrate.own_clock(series)
            lo_ps = (lo_ns - zero_ns) * PS_PER_NS
            hi_ps = (hi_ns - zero_ns) * PS_PER_NS
            energy = integrate.energy(channel, lo_ps, hi_ps)
            interval = energy.interval
            if interval is None:
                return _not_resolved(energy.badge, energy.reason)
            joules += interval.joules
            badges.append(energy.badge)
            # Errors of different sensors are independent.
            variance += interval.half**2
        if not keys:
            return _not_resolved(Badge.MEASURED, "nothing was sampled")
        half = math.sqrt(variance)
        return WindowEnergy(
            joules=joules,
            lo=joules - half,
            hi=joules + half,
            badge=worst_badge(badges),
        )
