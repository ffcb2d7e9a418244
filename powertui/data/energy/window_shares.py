"""Which share of any sensor window each kind of work filled.

A sensor's sample is a mean over a window. So a sample is predicted by the shares of that window
that each kind of work filled, and the watts of each kind are what a fit finds.

Before and after the profile nothing is known but one thing: whether training went on, when the
run's scalars show it. There the profile's own mixture of work is assumed, so that the end of
training is an edge here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.expected_work import (
    IDLE,
    NAMES,
    SHORT_PAUSES_NAME,
    TABLE_BINS,
    WAIT,
    Activity,
)
from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.value_types import dataclass

OUTSIDE = "outside the profile"
_NAMES = (*NAMES, SHORT_PAUSES_NAME)
# A kind that filled less of the profile gets no watts of its own. Chosen: of half a minute it is
# 0.6 s, less than the refresh of most BMCs.
_MIN_KIND_SHARE = settings.SLIGHT_SHARE
_MEANS_PER_MEMORY = 64  # times at which an exponential mean is kept while it forgets
# In one go: what a filter has forgotten for twenty times of its memory is below rounding.
_MEMORIES_AT_ONCE = 20.0
_EXACT_BINS = 64  # of windows with fewer bins the parts of the outer bins count, too


@dataclass(frozen=True, eq=False)
class WindowShares:
    """For any sensor window, the columns of a fit: what its watts are a sum of.

    The first column is 1: the power of the idle machine. Every other column is the share of the
    window that one kind of work filled, and its coefficient the watts that this kind adds. What
    lies outside the profile has one column of its own, except where training went on there: that is
    taken to be the profile's own mixture.
    """

    names: tuple[str, ...]
    span: tuple[float, float]  # of the profile, s
    training: tuple[float, float]  # of training, s; at least the span
    table: Floats  # [bins + 1, kinds]: seconds of each kind up to the bin's start
    mixture: Floats  # [kinds]: share of each kind in the profile
    step: float  # s per bin
    has_bounds: bool = False  # whether something says when training began and ended
    forgotten: dict[float, tuple[Floats, Floats]] = field(
        default_factory=dict,
        repr=False,
    )  # exponential means, once asked for

    def rows(self, lo: Floats, hi: Floats) -> Floats:
        """The columns for windows from lo to hi (s, any shape), as one more axis at the end."""
        work = self.work(lo, hi)
        length = hi - lo
        begin, end = self.training
        before = np.clip(begin - lo, 0, length)
        after = np.clip(hi - end, 0, length)
        outside_share = (before + after) / length
        return np.concatenate([work, outside_share[..., None]], axis=-1)

    def work(
        self,
        lo: Floats,
        hi: Floats,
        forget_s: float = 0.0,
    ) -> Floats:
        """All of them but the last: what lies outside draws nothing more.

        `forget_s`: of an exponential mean up to `hi`.
        """
        if forget_s:
            return self._forgotten(np.asarray(hi), forget_s)
        length = np.asarray(hi - lo)
        is_fine = bool(length.size) and float(length.min()) < _EXACT_BINS * self.step
        out = self._idle_column(length.shape)
        ran = out[..., 1:]
        until_hi = self._ran_up_to(hi, is_fine)
        until_lo = self._ran_up_to(lo, is_fine)
        np.subtract(until_hi, until_lo, out=ran)
        if self.training != self.span:
            beside = self._training_beside(lo, hi)
            ran += beside[..., None] * self.mixture
        ran /= length[..., None]
        return out

    def _training_beside(self, lo: Floats, hi: Floats) -> Floats:
        """Seconds of each window in training before the profile and after it."""
        first, last = self.span
        begin, end = self.training
        before = np.minimum(hi, first) - np.maximum(lo, begin)
        after = np.minimum(hi, end) - np.maximum(lo, last)
        beside: Floats = np.clip(before, 0, None)
        beside += np.clip(after, 0, None)
        return beside

    def _idle_column(self, shape: tuple[int, ...]) -> Floats:
        """Room for the columns of so many windows; the idle machine's is filled."""
        kinds = len(self.names) - 1
        out = np.empty((*shape, kinds))
        out[..., 0] = 1.0
        return out

    def _forgotten(self, times_s: Floats, forget_s: float) -> Floats:
        """The columns of exponential means."""
        out = self._idle_column(times_s.shape)
        ran = out[..., 1:]
        ran[...] = self._remembered_work(times_s, forget_s)
        profile_begin, profile_end = self.span
        training_begin, training_end = self.training
        beside = (
            (training_begin, profile_begin),
            (profile_end, training_end),
        )
        for begin_s, end_s in beside:
            if end_s > begin_s:
                up_to_end = _remembered(end_s, times_s, forget_s)
                up_to_begin = _remembered(begin_s, times_s, forget_s)
                share = np.where(times_s > begin_s, up_to_end - up_to_begin, 0.0)
                ran += share[..., None] * self.mixture
        return out

    def _remembered_work(self, times_s: Floats, forget_s: float) -> Floats:
        """What the work of the profile still counts for in the means at these times."""
        mean_times, means = self._means(forget_s)
        first_s = mean_times[0]
        spacing_s = mean_times[1] - first_s
        last_row = len(mean_times) - 1
        place = np.clip((times_s - first_s) / spacing_s, 0, last_row)
        work = _interpolated(means, place)
        remembered = _remembered(mean_times[-1], times_s, forget_s)
        work *= remembered[..., None]
        return work

    def _means(self, forget_s: float) -> tuple[Floats, Floats]:
        """Exponential means of the kinds' shares all over the profile, at even times."""
        if forget_s not in self.forgotten:
            self.forgotten[forget_s] = self._exponential_means(forget_s)
        return self.forgotten[forget_s]

    def _exponential_means(self, forget_s: float) -> tuple[Floats, Floats]:
        bins = len(self.table) - 1
        bins_per_mean = int(forget_s / _MEANS_PER_MEMORY / self.step)
        every = max(1, min(bins_per_mean, bins // 2))
        means = bins // every
        last_bin = means * every
        running = self.table[: last_bin + 1 : every]
        spacing_s = every * self.step
        number = np.arange(means + 1, dtype=np.float64)
        times: Floats = self.span[0] + spacing_s * number
        return times, _running_means(running, spacing_s, forget_s)

    def running(self, watts: Floats) -> Callable[[Floats], Floats]:
        """The joules up to any moment, to the nearest bin, when the kinds of work draw so much."""
        joules = self.table @ watts
        last_bin = len(joules) - 1
        first = self.span[0]
        bins_per_s = 1.0 / self.step

        def joules_up_to(at: Floats) -> Floats:
            # Half a bin more, so that cutting off its fraction rounds.
            place = (at - first) * bins_per_s + 0.5
            nearest = np.clip(place, 0, last_bin).astype(np.int32)
            return np.asarray(joules.take(nearest))

        return joules_up_to

    def _ran_up_to(self, at: Floats, is_fine: bool) -> Floats:
        """Seconds of each kind up to each moment."""
        last_bin = len(self.table) - 1
        place = np.clip((at - self.span[0]) / self.step, 0, last_bin)
        if is_fine:
            return _interpolated(self.table, place)
        nearest = np.rint(place).astype(np.int32)
        return self.table.take(nearest, axis=0)  # several times as fast as [...]


def _remembered(moment_s: float, times_s: Floats, forget_s: float) -> Floats:
    """The share of what was there at a moment that an exponential mean still holds later."""
    since_s = np.maximum(times_s - moment_s, 0.0)
    share: Floats = np.exp(-since_s / forget_s)
    return share


def _running_means(
    running: Floats,
    spacing_s: float,
    forget_s: float,
) -> Floats:
    """Exponential means of what is summed up at even times, from 0 at the first."""
    keep = float(np.exp(-spacing_s / forget_s))
    weight = (1 - keep) / spacing_s
    gained = weight * np.diff(running, axis=0)
    means = np.zeros_like(running)
    size = max(1, int(_MEMORIES_AT_ONCE * forget_s / spacing_s))
    for start in range(0, len(gained), size):
        piece = gained[start : start + size]
        first = start + 1
        end = first + len(piece)
        means[first:end] = _filtered(piece, means[start], keep)
    return means


def _filtered(gained: Floats, mean: Floats, keep: float) -> Floats:
    """The exponential mean after each gain: m[k] = keep^k (m[0] + sum of gained[j] / keep^(j+1)).

    All in one go: a loop over the gains took most of a search's time.
    """
    numbers = np.arange(1, len(gained) + 1)
    decay = keep ** numbers[:, None]
    sums = mean + np.cumsum(gained / decay, axis=0)
    means: Floats = decay * sums
    return means


def _interpolated(rows: Floats, place: Floats) -> Floats:
    """What is between two rows of a table."""
    index = np.minimum(place.astype(np.int64), len(rows) - 2)
    share = (place - index)[..., None]
    low = rows.take(index, axis=0)
    high = rows.take(index + 1, axis=0)
    between: Floats = low + share * (high - low)
    return between


def shares(
    devices: Sequence[Activity],
    span: tuple[int, int],
    training: tuple[int, int] | None = None,
    *,
    least_s: float = 0.0,
) -> WindowShares:
    """The columns for one trace; several devices are averaged.

    A kind that filled less than 2 % of the profile, or less than `least_s`, gets no watts of its
    own: too little of it was seen by the sensor, and a column that can take any value explains any
    accident. It joins the next weaker kind, at last the idle machine.
    """
    begin, end = span
    length = (end - begin) / PS_PER_S
    least_s = max(_MIN_KIND_SHARE * length, least_s)
    joined_kind = _joined_kinds(devices, least_s)
    kinds = sorted(set(joined_kind) - {IDLE, WAIT})
    kind_names = [_NAMES[kind] for kind in kinds]
    table = _running_seconds(devices, span, np.array(joined_kind), kinds)
    training_begin, training_end = span
    if training is not None:
        training_begin = min(training[0], begin)
        training_end = max(training[1], end)
    return WindowShares(
        names=("base", *kind_names, OUTSIDE),
        span=_seconds(begin, end),
        training=_seconds(training_begin, training_end),
        table=table,
        mixture=table[-1] / max(length, 1e-12),
        step=length / TABLE_BINS,
        has_bounds=training is not None,
    )


def _seconds(begin_ps: int, end_ps: int) -> tuple[float, float]:
    return begin_ps / PS_PER_S, end_ps / PS_PER_S


def _joined_kinds(devices: Sequence[Activity], least_s: float) -> list[int]:
    """For each kind the one that it counts as, where a kind below `least_s` joins the next
    weaker.
    """
    kinds = range(len(_NAMES))
    seconds = [_mean_seconds(devices, kind) for kind in kinds]
    joined = list(kinds)
    for kind in reversed(kinds[1:]):
        if seconds[kind] < least_s:
            weaker = kind - 1
            joined[kind] = weaker
            seconds[weaker] += seconds[kind]
    # From the weakest on: the one that a kind joins is settled before it.
    for kind in kinds[1:]:
        joined[kind] = joined[joined[kind]]
    return joined


def _mean_seconds(devices: Sequence[Activity], kind: int) -> float:
    total_s = sum(device.seconds(kind) for device in devices)
    return total_s / len(devices)


def _running_seconds(
    devices: Sequence[Activity],
    span: tuple[int, int],
    joined_kind: Int64s,
    kinds: Sequence[int],
) -> Floats:
    """[bins + 1, kinds]: seconds of each kind up to each bin, the mean of all devices."""
    begin, end = span
    grid = np.linspace(begin, end, TABLE_BINS + 1)
    table = np.zeros((len(grid), len(kinds)))
    for device in devices:
        pieces = np.diff(device.edges).astype(np.float64)
        device_kind = joined_kind[device.kind]
        for column, kind in enumerate(kinds):
            ran = np.where(device_kind == kind, pieces, 0.0)
            running = np.concatenate([[0.0], np.cumsum(ran)])
            on_grid = np.interp(grid, device.edges, running)
            table[:, column] += on_grid / PS_PER_S / len(devices)
    return table
