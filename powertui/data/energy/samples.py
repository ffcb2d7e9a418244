"""A power log as a list of windows: what each of a sensor's publications is the mean of, on the
log's own clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Protocol

import numpy as np

from powertui.data.energy import sensor, settings
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA
from powertui.data.model import (
    NS_PER_S,
    Z95,
    Badge,
    Bools,
    Floats,
    Int64s,
    PowerKind,
    PowerSeries,
    Sensor,
)
from powertui.data.quantiles import median_of_column, median_of_rows
from powertui.value_types import dataclass

# ── the noise of each reading. Chosen: few enough to be of the same work, enough for a median ──
_NOISE_READINGS = settings.MEDIAN_VALUES  # that show the noise of the one in their middle …
_MAX_NOISE_SPAN_S = 3.0  # … within this time: among slower readings differences are what happened

# ── which windows come into question ──
_HARMLESS_ERROR_SHARE = settings.UNKNOWN_SHARE  # of a window: a smaller error changes nothing
_HALF_Z95 = 0.98  # half of a window's 95 % interval: its middle moves by half of what its end does
# Factors and prices of windows of which nothing is known.
_HALF_AND_TWICE = ((0.5, 1.0), (2.0, 1.0))
# Of a refresh: a log that asks more often repeats publications.
_HELD_POLL_SHARE = settings.LARGE_SHARE
# Times within which sensors that take an exponential mean forget, in s or in windows that their
# readings seem to have.
_MEMORY_TIMES_S = (0.25, 0.5, 1.0, 2.0)
_MEMORY_TIMES_OF_WINDOW = (0.35, 0.7, 1.4)
_PROMPT_S = settings.LATE_S  # readings that follow a step within this time forget nothing slowly
_MEMORY_PRICE = 1.5  # what it costs beforehand that a sensor takes such a mean, because few do
_GPU_WINDOW_S = 1.0  # window of fast meters that average: those of graphics cards
# Window of a plain mean per time in which an exponential mean forgets: half of what such a reading
# contains is newer than the middle of it.
MEMORY_WINDOW_FACTOR = 1.4


class _Windows(Protocol):
    """Readings that are means over windows, from `lo` to `hi` (s)."""

    @property
    def lo(self) -> Floats: ...

    @property
    def hi(self) -> Floats: ...

    def __len__(self) -> int: ...


def usual_window_s(readings: _Windows) -> float:
    """How long the time is that a reading is the mean of, mostly."""
    return median_of_column(readings.hi - readings.lo)


def usual_pace_s(readings: _Windows, single: float) -> float:
    """The time from one reading to the next, mostly; `single` where there is one reading alone."""
    if len(readings) < 2:
        return single
    return median_of_column(np.diff(readings.hi))


@dataclass(frozen=True)
class Samples:
    """A sensor's samples as windows on the log's own clock (s): watts are the mean from `lo` to
    `hi`.
    """

    lo: Floats
    hi: Floats
    watts: Floats
    refresh: float
    late: float  # ± of the windows' place: polls see a change some time after it happened
    quantum: float
    # Others that come into question: so many times as long, and what that costs beforehand.
    windows: tuple[tuple[float, float], ...]
    age_s: float = 0.0  # ± of how old a reading is: it cannot be told from where the log lies
    older_s: float = 0.0  # so much older it may be, but not newer
    # Of each sample, by its neighbors; empty: not looked at.
    noise: Floats = field(default_factory=lambda: np.empty(0))
    centre_s: float = 0.0  # how long before a row the middle of its window is taken to lie …
    # … give or take so much, where hardly anything tells how long its window is: a part of `age_s`
    centre_err_s: float = 0.0
    # It forgets so slowly: an exponential mean up to `hi`; 0: a plain mean from `lo` on.
    forget_s: float = 0.0
    # Other such times that come into question, and what they cost beforehand.
    forgets: tuple[tuple[float, float], ...] = ()

    def __len__(self) -> int:
        return len(self.watts)

    def __getitem__(self, rows: slice | Bools | Int64s) -> Samples:
        noise = self.noise[rows] if len(self.noise) else self.noise
        return replace(
            self,
            lo=self.lo[rows],
            hi=self.hi[rows],
            watts=self.watts[rows],
            noise=noise,
        )

    @property
    def known_window(self) -> bool:
        """Whether no other window comes into question."""
        return not self.windows

    def gathered(self, least_s: float) -> Samples:
        """The same with so many neighbors put together that each covers `least_s`."""
        pace = usual_pace_s(self, single=least_s)
        count = int(least_s / max(pace, 1e-9) + 0.5)
        if count < 2 or len(self) < 2 * count:
            return self
        first = np.arange(0, len(self) - count + 1, count)
        last = first + count - 1
        length = self.hi[last] - self.hi[first]
        is_in_a_row = length < 1.5 * count * pace  # no pause within
        first = first[is_in_a_row]
        last = last[is_in_a_row]
        begin = self.lo[first]
        end = self.hi[last]
        rows = first[:, None] + np.arange(count)
        # A reading of a moment stands for the time until the next one as well.
        window = median_of_column(self.hi[first] - begin)
        spare = max(pace - window, 0.0) / 2
        return replace(
            self,
            lo=begin - spare,
            hi=end + spare,
            watts=self.watts[rows].mean(axis=1),
            refresh=max(self.refresh, count * pace),
            noise=np.empty(0),
        )

    def scaled(self, factor: float) -> Samples:
        """The same samples for a sensor that averages over a window `factor` times as long, the end
        where it was.
        """
        length = self.hi - self.lo
        return replace(self, lo=self.hi - factor * length, windows=())

    def forgetting(self, forget_s: float) -> Samples:
        """The same samples for a sensor that tells an exponential mean of all that was, up to when
        it published.
        """
        published = (self.lo + self.hi) / 2 + self.centre_s
        return replace(
            self,
            lo=published - MEMORY_WINDOW_FACTOR * forget_s,
            hi=published,
            forget_s=forget_s,
            windows=(),
            forgets=(),
        )

    def listened(self) -> Samples:
        """The same with the noise of each: how much neighbors differ around it, edges left
        aside.
        """
        pace = usual_pace_s(self, single=0.0)
        is_short = len(self) < 2 * _NOISE_READINGS
        if is_short or pace * _NOISE_READINGS > _MAX_NOISE_SPAN_S:
            return replace(self, noise=np.zeros(len(self)))
        reach = _NOISE_READINGS // 2
        moved = np.abs(np.diff(self.watts))
        # As many windows as readings: there is one difference less than there are readings.
        padded = np.pad(moved, (reach, reach + 1), mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
        usual_move = median_of_rows(windows)[: len(self)]
        noise: Floats = MEDIAN_TO_SIGMA / 2**0.5 * usual_move
        return replace(self, noise=noise)


def power_samples(series: PowerSeries) -> Samples:
    """The rows that are really new, each with the window that it is the mean of."""
    if len(series) == 0:
        nothing = np.empty(0)
        return Samples(
            lo=nothing,
            hi=nothing,
            watts=nothing,
            refresh=1.0,
            late=0.0,
            quantum=0.0,
            windows=(),
        )
    described, kind = series.sensor, series.kind
    times = series.times / NS_PER_S
    usual = 1.0
    if len(times) > 1:
        usual = median_of_column(np.diff(times))
    poll = described.poll_s.value if described.poll_s else usual
    refresh = described.refresh_s.value if described.refresh_s else max(usual, 1e-6)
    quantum = described.quantum_w.value if described.quantum_w else 0.0
    is_held = poll < _HELD_POLL_SHARE * refresh
    is_new = np.isfinite(series.watts)
    if is_held:
        is_new = is_new & _published(times, series.watts, poll, refresh)
    watts = series.watts[is_new]
    if kind is PowerKind.INTERVAL:
        lo = np.concatenate([times[:1] - poll, times[:-1]])
        return Samples(
            lo=lo[is_new],
            hi=times[is_new],
            watts=watts,
            refresh=refresh,
            late=0.0,
            quantum=quantum,
            windows=(),
        )
    window = described.window_s.value if described.window_s else refresh
    late = poll / 2 if is_held else 0.0
    older_s = sensor.oldest_s(described, kind)
    if described.window_s is None:
        # Of which time a reading is the mean is not known either: of the moment when it was
        # published, or of the whole refresh before that.
        late = max(late, refresh / 2)
        older_s += refresh / 2
    length = max(window, refresh / 50, 1e-4)
    # Centerd where the integrals put the reading, so that a place found here is one that is right
    # there.
    centre_s = sensor.centre_s(described)
    hi = times[is_new] - centre_s + length / 2
    return Samples(
        lo=hi - length,
        hi=hi,
        watts=watts,
        refresh=refresh,
        late=late,
        quantum=quantum,
        windows=_other_windows(described, refresh),
        age_s=max(late, Z95 * sensor.centre_err_s(described, kind)),
        older_s=older_s,
        centre_s=centre_s - _late_of(described),
        centre_err_s=_centre_err(described),
        forgets=_forgets(described, refresh),
    )


def _centre_err(described: Sensor) -> float:
    """± of where the middle of a window is, where its length is known to a good part of itself
    only.
    """
    window = described.window_s
    error = described.window_err_s or 0.0
    if window is None or error <= _HARMLESS_ERROR_SHARE * window.value:
        return 0.0
    return _HALF_Z95 * error


def _other_windows(described: Sensor, refresh: float) -> tuple[tuple[float, float], ...]:
    """The windows that a reading may have beside the one that is assumed of it: factors and
    prices.
    """
    window, error = described.window_s, described.window_err_s
    if window is None:
        if refresh < _GPU_WINDOW_S / 2:
            return (*_HALF_AND_TWICE, (_GPU_WINDOW_S / refresh, 1.5))
        return _HALF_AND_TWICE
    if window.value == 0 or window.badge is Badge.MEASURED:
        return ()
    if error is None:
        return _HALF_AND_TWICE
    assumed_s = window.value
    if error <= _HARMLESS_ERROR_SHARE * assumed_s:
        return ()
    # Whatever the readings seem to say: a meter averages over the time since it last published, as
    # a rule.
    lengths = [(refresh, min(1.0, ((refresh - assumed_s) / error) ** 2 / 2))]
    lengths += [(assumed_s + sigmas * error, sigmas**2 / 2) for sigmas in (-1.5, 1.5)]
    others = []
    for length, price in lengths:
        if length > 0.1 * assumed_s and length != assumed_s:
            others.append((length / assumed_s, price))
    return tuple(others)


def _late_of(described: Sensor) -> float:
    """How long after a change a poll of a slow sensor sees it, on average."""
    if sensor.slow(described) and described.poll_s:
        return described.poll_s.value / 2
    return 0.0


def _forgets(described: Sensor, refresh: float) -> tuple[tuple[float, float], ...]:
    """The exponential means that may stand behind readings of which nothing but they themselves
    shows it.
    """
    window, error = described.window_s, described.window_err_s
    if error is None:
        return ()
    times_s: Sequence[float] = [time_s for time_s in _MEMORY_TIMES_S if time_s > 0.4 * refresh]
    if window is not None:
        length = window.value
        is_harmless = error <= _HARMLESS_ERROR_SHARE * length / 2
        is_prompt = length + 2 * error < _PROMPT_S
        if window.badge is Badge.MEASURED or is_harmless or is_prompt:
            return ()
        if length > settings.MORE_THAN_ONE * refresh:
            times_s = [share * length for share in _MEMORY_TIMES_OF_WINDOW]
    return tuple((time_s, _MEMORY_PRICE) for time_s in times_s)


def _published(
    times: Floats,
    watts: Floats,
    poll: float,
    refresh: float,
) -> Bools:
    """One row for every time that the sensor published, of a log that asked more often than that.

    Within a run of equal readings the sensor published the same value again and again: one row per
    refresh stands for that, so that a long quiet stretch weighs what it lasted.
    """
    if not len(times):
        return np.empty(0, np.bool_)
    is_change = np.concatenate([[True], watts[1:] != watts[:-1]])
    change_times = times[is_change]
    run = np.cumsum(is_change) - 1
    run_begin = change_times[run]
    run_end = np.append(change_times[1:], np.inf)[run]
    since_begin = times - run_begin
    publication = np.floor((since_begin + poll / 2) / refresh)
    is_again = np.concatenate([[False], publication[1:] != publication[:-1]])
    is_change[0] = False  # nobody knows when the first one was published
    # Just before a change a repeated reading may still be the publication before: it says nothing
    # new.
    is_settled = run_end - times > 0.75 * refresh
    is_new: Bools = is_change | (is_again & is_settled)
    return is_new
