"""Where a power log lies on a trace when no clock tells: by what ran.

For every offset in question the samples are fitted by the kinds of work that would have filled their windows
(`predict`), with watts that cannot be negative. The offset that leaves the least unexplained wins. Large residuals
count linearly only (Huber), because machines do things that no trace shows.

Three passes, so that an hour of log costs little more than a minute of it: all offsets on a coarse grid with plain
least squares; the best of them, and their neighbours one step time away, robustly; the best of those to a
fraction of the sensor's refresh. The interval comes from a moving-block bootstrap of the residuals, because
neighbouring residuals are alike and a likelihood would believe itself far too much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import coarse, nnls
from powertui.data.energy.predict import Shares
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

DRAWS = 200
MIN_SAMPLES = 8
MIN_OVERLAP = 0.6  # of the shorter of log and profile
OTHER_WINDOW = 1.05  # half or twice the assumed averaging window has to fit so much better
MIN_GAIN = 30.0  # how much better than a flat line a fit must be: noise alone reaches 20 when every offset is tried
MAX_PPM = 200.0
DRIFT_FROM_S = 600.0
SURE_OF_DRIFT = 6.0  # difference of the Bayesian information criterion
MOST_PLACES = 32  # places in question that are told; more weigh next to nothing each
_HUBER = 1.345
_ALIASES = 120  # offsets whole steps away that are looked at
_CHOICE = float(np.log(2))  # a sample that may be either of two things is explained by luck half of the time
_LIMIT = 2400  # samples that the finer passes look at: more are thinned evenly


class Where(NamedTuple):
    """One place in question: an offset (s), how likely it is, and half of its own 95 % interval."""

    offset_s: float
    weight: float
    half_s: float


@dataclass(frozen=True)
class Fit:
    """An offset (s, trace time of the log's zero) found by signal, and how far to believe it."""

    offset_s: float
    lo_s: float
    hi_s: float
    ambiguous: bool
    reasons: tuple[str, ...]  # why it is ambiguous
    r2: float  # share of the watts' variation inside the profile that the fit explains
    watts: tuple[tuple[str, float], ...]  # idle machine first, then what each kind of work adds
    runner_up_s: float | None  # the second-best separated offset
    elsewhere: float  # share of bootstrap draws that prefer another minimum
    window_s: float  # averaging window that fitted best
    samples: int  # inside the profile
    effective: float  # of them, independent
    ppm: float = 0.0  # drift of the log's clock against the trace's, when the data ask for one
    places: tuple[Where, ...] = ()  # all that come into question, the best first; their weights add up to 1


def search(
    data: Samples, shares: Shares, *, within: tuple[float, float] | None = None, step_s: float | None = None, seed: int = 0
) -> Fit | str:
    """The offset that explains the samples best, or why there is none. `step_s`: the usual step, for aliases."""
    lo, hi = _offsets(data, shares, within)
    if len(data) < MIN_SAMPLES:
        return f"only {len(data)} different samples"
    if hi <= lo:
        return "log and profile do not overlap enough at any offset"
    spread = float(np.percentile(data.watts, 95) - np.percentile(data.watts, 5))
    if spread <= max(1.5 * data.quantum, 1e-3 * abs(float(np.median(data.watts)))):
        return "the power hardly changes, so there is no edge to align by"
    rough = coarse.candidates(data, shares, lo, hi)
    if not len(rough):
        return f"at no offset do {MIN_SAMPLES} samples fall into the profile"
    near = _near(data, shares, rough)
    return _Search(data[near], shares, step_s, seed).run(rough, lo, hi)


def _near(data: Samples, shares: Shares, offsets: Floats) -> Bools:
    """The samples that lie on or around the profile at one of these offsets: of a day of log the others say nothing."""
    first, last = shares.span
    margin = coarse.margin(data, last - first)
    found = np.zeros(len(data), np.bool_)
    for offset in offsets.tolist():
        found |= (data.hi + offset > first - margin) & (data.lo + offset < last + margin)
    return found


def _offsets(data: Samples, shares: Shares, within: tuple[float, float] | None) -> tuple[float, float]:
    """The offsets at which enough of the shorter one is overlapped."""
    if not len(data):
        return 0.0, 0.0
    first, last = shares.span
    least = MIN_OVERLAP * min(last - first, float(data.hi[-1] - data.lo[0]))
    lo, hi = first + least - float(data.hi[-1]), last - least - float(data.lo[0])
    if within is not None:
        lo, hi = max(lo, within[0]), min(hi, within[1])
    return lo, hi


def _places(draws: Floats, best: float, near: float, least: float, wider: float) -> tuple[Where, ...]:
    """The draws of the bootstrap, basin by basin: those that lie within `near` of each other are one place."""
    ordered = np.sort(draws)
    found = []
    for group in np.split(ordered, np.flatnonzero(np.diff(ordered) > near) + 1):
        half = 1.96 * float(group.std()) * wider + least
        found.append(Where(float(group.mean()), len(group) / len(draws), half))
    found.sort(key=lambda one: (abs(one.offset_s - best) > near, -one.weight))
    found = found[:MOST_PLACES]
    total = sum(one.weight for one in found)
    return tuple(one._replace(weight=one.weight / total) for one in found)


@dataclass(frozen=True)
class _Choices:
    """Offsets, each with a window factor, the cost of every sample there, and the watts of its fit."""

    offsets: Floats
    factor: Floats
    cost: Floats  # [samples, choices]
    watts: Floats


class _Search:
    """The two finer passes and the bootstrap, over one set of samples."""

    def __init__(self, data: Samples, shares: Shares, step_s: float | None, seed: int) -> None:
        self.data = data if len(data) <= _LIMIT else data[np.linspace(0, len(data) - 1, _LIMIT).astype(np.int64)]
        self.shares = shares
        self.step_s = step_s
        self.rng = np.random.default_rng([41, seed])
        self.middle = float(np.median(data.watts))
        gaps = np.abs(np.diff(self.data.watts))
        # The smallest noise that is credible: rounding, and what a handful of categories cannot say of a machine.
        spread = float(np.percentile(data.watts, 95) - np.percentile(data.watts, 5))
        self.floor = max(data.quantum / np.sqrt(12), 0.15 * spread, 0.1 * float(np.median(gaps)), 1e-9)
        self.scale = self.floor

    def costs(self, offsets: Floats, data: Samples, ppm: float = 0.0) -> tuple[Floats, Floats]:
        """Robust cost of every sample at every offset [samples, offsets], and the watts of each fit."""
        out = np.empty((len(data), len(offsets)))
        watts = np.empty((len(offsets), len(self.shares.names)))
        chunk = max(1, 400_000 // max(len(data), 1))
        stretch = 1 + ppm * 1e-6
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            columns = self.shares.rows(data.lo * stretch + part, data.hi * stretch + part)  # [offsets, samples, kinds]
            outside = columns[..., -1] > 0.5
            weight = np.ones(columns.shape[:2])
            for turn in range(3):
                weighted = (columns * weight[..., None]).transpose(0, 2, 1)
                fitted = nnls.many(weighted @ columns, weighted @ data.watts, exact=turn == 2)
                residual = np.abs(data.watts - (columns @ fitted[..., None])[..., 0])
                weight = np.minimum(1.0, _HUBER * self.scale / np.maximum(residual, 1e-12))
                # Outside the profile training may have gone on as well: such samples are explained, and teach nothing.
                busy = np.abs(data.watts - (fitted[:, :1] + fitted[:, 1:-1] @ self.shares.mixture[:, None]))
                likely = outside & (busy < residual)
                weight = np.where(likely, 1e-3, weight)
                residual = np.where(likely, busy, residual)
            scaled = residual / self.scale
            cost = np.where(scaled < _HUBER, scaled**2 / 2, _HUBER * (scaled - _HUBER / 2))
            cost += outside * _CHOICE
            out[:, start : start + chunk] = cost.T
            watts[start : start + chunk] = fitted
        return out, watts

    def residuals(self, offset: float, watts: Floats, data: Samples, ppm: float = 0.0) -> tuple[Floats, Bools]:
        """Watts minus fit, and which samples lie wholly inside the profile."""
        stretch = 1 + ppm * 1e-6
        lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
        inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
        return data.watts - self.shares.rows(lo, hi) @ watts, inside

    def run(self, rough: Floats, lo: float, hi: float) -> Fit | str:
        data = self.data
        near = max(data.refresh, float(np.median(data.hi - data.lo)))
        coarse_step = max(min(near, 0.1 if data.refresh < 0.2 else near / 2), (self.shares.span[1] - self.shares.span[0]) / 1500)
        step = max(min(near / 8, coarse_step / 3), coarse_step / 12)
        offsets = self._around(rough, coarse_step, step, lo, hi)
        few = data if len(data) <= _LIMIT // 3 else data[np.linspace(0, len(data) - 1, _LIMIT // 3).astype(np.int64)]
        self._set_scale(rough[:4], few)
        cost, _ = self.costs(offsets, few)
        centres = coarse.separated(offsets, cost.sum(0), near / 2, 6)
        if self.step_s is not None and self.step_s >= near / 4:
            aliases = centres[0] + self.step_s * np.array([-2.0, -1.0, 1.0, 2.0])
            centres = np.concatenate([centres, aliases[np.abs(centres[:, None] - aliases).min(axis=0) > near / 4]])
        choices, step = self._fine(centres, step, near, data, lo, hi)
        ppm = self._drift(choices, data, near)
        if ppm:
            stretch = 1 + ppm * 1e-6
            data = self.data = replace(data, lo=data.lo * stretch, hi=data.hi * stretch)
            best = choices.offsets[np.argmin(choices.cost.sum(0))] - (stretch - 1) * float(np.median(data.hi))
            choices, step = self._fine(np.array([best]), near / 4, near, data, lo - near, hi + near)
        choices = self._with_aliases(choices, data, lo, hi, near)
        found = self._judge(choices, step, near)
        return found if isinstance(found, str) or not ppm else replace(found, ppm=ppm)

    def _fine(self, centres: Floats, step: float, near: float, data: Samples, lo: float, hi: float) -> tuple[_Choices, float]:
        """Twice finer around every centre; the scale of the noise settles on the way."""
        for fraction in (4, 40):
            self._set_scale(centres[:1], data)
            offsets = self._around(centres, step * (1.5 if fraction == 4 else 0.6), max(near / fraction, 4e-4) / 2, lo, hi)
            choices = self._windows(offsets, data)
            total = choices.cost.sum(0)
            step = max(near / fraction, 4e-4) / 2
            centres = coarse.separated(choices.offsets, total, near / 4, 8)
        return choices, step

    def _drift(self, choices: _Choices, data: Samples, near: float) -> float:
        """How fast the log's clock runs against the trace's (ppm): told only of long logs, and only when the data insist."""
        best = int(np.argmin(choices.cost.sum(0)))
        offset, data = float(choices.offsets[best]), data.scaled(float(choices.factor[best]))
        inside = (data.lo + offset > self.shares.span[0]) & (data.hi + offset < self.shares.span[1])
        if inside.sum() < 4 * MIN_SAMPLES or float(data.hi[inside][-1] - data.lo[inside][0]) < DRIFT_FROM_S:
            return 0.0
        middle = float(np.median(data.hi[inside]))
        rate, reach, spread = 0.0, MAX_PPM, near / 2
        lowest, at = np.inf, offset
        for _ in range(4):
            for ppm in rate + np.linspace(-reach, reach, 9):
                offsets = at - (ppm - rate) * 1e-6 * middle + np.linspace(-spread, spread, 9)
                cost, watts = self.costs(offsets, data, ppm)
                total = cost.sum(0)
                if total.min() < lowest:
                    lowest, found, level = (
                        float(total.min()),
                        (float(ppm), float(offsets[np.argmin(total)])),
                        watts[np.argmin(total)],
                    )
            rate, at = found
            reach, spread = reach / 4, spread / 3
        before, _ = self.residuals(offset, choices.watts[best], data)
        after, _ = self.residuals(at, level, data, rate)
        lag = self._lag(after[inside])
        count = float(inside.sum()) * (1 - lag) / (1 + lag)
        was, now = (float(np.minimum(np.abs(r[inside]), 3 * self.scale) @ np.abs(r[inside])) for r in (before, after))
        sure = count * np.log(max(was, 1e-12) / max(now, 1e-12)) - np.log(max(count, 2.0))
        return rate if sure > SURE_OF_DRIFT and abs(rate) <= MAX_PPM else 0.0

    def _with_aliases(self, choices: _Choices, data: Samples, lo: float, hi: float, near: float) -> _Choices:
        """Every offset that lies whole steps away as well: equal steps look alike, and the interval has to say so."""
        if self.step_s is None or self.step_s < near / 4:
            return choices
        best = int(np.argmin(choices.cost.sum(0)))
        at, factor = float(choices.offsets[best]), float(choices.factor[best])
        turns = np.arange(np.ceil((lo - at) / self.step_s), np.floor((hi - at) / self.step_s) + 1)
        if len(turns) > _ALIASES:
            turns = turns[np.linspace(0, len(turns) - 1, _ALIASES).astype(np.int64)]
        offsets = at + self.step_s * turns[turns != 0]
        if not len(offsets):
            return choices
        cost, watts = self.costs(offsets, data.scaled(factor))
        cost *= 1.0 if factor == 1.0 else OTHER_WINDOW
        return _Choices(
            np.concatenate([choices.offsets, offsets]), np.concatenate([choices.factor, np.full(len(offsets), factor)]),
            np.concatenate([choices.cost, cost], axis=1), np.concatenate([choices.watts, watts]),
        )  # fmt: skip

    def _windows(self, offsets: Floats, data: Samples) -> _Choices:
        """Every offset with every window that the sensor may have: a dialect rarely says over what it averages."""
        parts = []
        for factor in (1.0,) if data.known_window else (1.0, 0.5, 2.0):
            cost, watts = self.costs(offsets, data.scaled(factor))
            cost *= 1.0 if factor == 1.0 else OTHER_WINDOW
            parts.append((offsets, np.full(len(offsets), factor), cost, watts))
        return _Choices(*(np.concatenate([p[i] for p in parts], axis=1 if i == 2 else 0) for i in range(4)))

    def _around(self, centres: Floats, reach: float, step: float, lo: float, hi: float) -> Floats:
        steps = np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step
        near = (centres[:, None] + steps).ravel()
        every = np.unique(np.round(near / (step / 2)).astype(np.int64)) * (step / 2)
        return np.asarray(every[(every >= lo - reach) & (every <= hi + reach)], np.float64)

    def _set_scale(self, offsets: Floats, data: Samples) -> None:
        """The width of ordinary residuals, from the best of these offsets."""
        for _ in range(2):
            cost, watts = self.costs(offsets, data)
            best = int(np.argmin(cost.sum(0)))
            residual, _ = self.residuals(float(offsets[best]), watts[best], data)
            self.scale = max(self.floor, 1.4826 * float(np.median(np.abs(residual))))

    def _judge(self, choices: _Choices, step: float, near: float) -> Fit | str:
        offsets, cost = choices.offsets, choices.cost
        total = cost.sum(0)
        best = int(np.argmin(total))
        offset, fitted = float(offsets[best]), choices.watts[best]
        data = self.data.scaled(float(choices.factor[best]))
        residual, inside = self.residuals(offset, fitted, data)
        count = int(inside.sum())
        if count < MIN_SAMPLES:
            return f"only {count} samples fall into the profile at the best offset"
        lag = self._lag(residual)
        better = self._flat(data) / max(float(total[best]), 1e-9) - 1
        if better * len(data) < MIN_GAIN:
            return "the power does not follow anything in the profile"
        draws = self._bootstrap(offsets, cost, data, near)
        elsewhere = float((np.abs(draws - offset) > near).mean())
        least = step + self.data.late
        low, high = np.percentile(draws, [2.5, 97.5])
        # A bootstrap of few samples is too sure of itself by about the share of what the fit itself used up.
        wider = np.sqrt(count / max(count - len(fitted), 2.0))
        low, high = offset - max(offset - low, 0.0) * wider - least, offset + max(high - offset, 0.0) * wider + least
        apart = np.abs(offsets - offset) > near
        runner_up = float(offsets[apart][np.argmin(total[apart])]) if apart.any() else None
        inner = data.watts[inside]
        weight = np.minimum(1.0, _HUBER * self.scale / np.maximum(np.abs(residual), 1e-12))[inside]
        centre = float(np.average(inner, weights=weight))
        variation = float((weight * (inner - centre) ** 2).sum())
        r2 = 1 - float((weight * residual[inside] ** 2).sum()) / variation if variation > 0 else 0.0
        reasons = self._doubts(elsewhere, float(high - low) - 2 * self.data.late, near, fitted)
        return Fit(
            offset, float(low), float(high), bool(reasons), tuple(reasons), r2,
            tuple(zip(self.shares.names, (float(w) for w in fitted), strict=True)), runner_up, elsewhere,
            float(np.median(data.hi - data.lo)), count, count * (1 - lag) / (1 + lag),
            places=_places(draws, offset, near, least, float(wider)),
        )  # fmt: skip

    def _flat(self, data: Samples) -> float:
        """The cost of saying that nothing ever changed."""
        scaled = np.abs(data.watts - self.middle) / self.scale
        return float(np.where(scaled < _HUBER, scaled**2 / 2, _HUBER * (scaled - _HUBER / 2)).sum())

    def _lag(self, residual: Floats) -> float:
        """How alike neighbouring residuals are, bursts that no trace explains left aside."""
        usual = np.abs(residual) < 3 * self.scale
        pair = usual[1:] & usual[:-1]
        first, second = residual[:-1][pair], residual[1:][pair]
        if pair.sum() < MIN_SAMPLES or np.ptp(first) == 0 or np.ptp(second) == 0:
            return 0.0
        return min(max(float(np.corrcoef(first, second)[0, 1]), 0.0), 0.99)

    def _bootstrap(self, offsets: Floats, cost: Floats, data: Samples, near: float) -> Floats:
        """Best offsets of resampled blocks of residuals; each offset keeps its own fit."""
        pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else data.refresh
        block = int(np.ceil(max(near, 1.0, self.step_s or 0.0) / max(pace, 1e-6)))
        block = min(max(block, 1), max(1, len(data) // 5))
        running = np.concatenate([np.zeros((1, cost.shape[1])), np.cumsum(cost, axis=0)])
        sums = running[block:] - running[:-block]
        pieces = int(np.ceil(len(data) / block))
        drawn = self.rng.integers(0, len(sums), (DRAWS, pieces))
        times = np.zeros((DRAWS, len(sums)))
        np.add.at(times, (np.arange(DRAWS)[:, None], drawn), 1.0)
        return np.asarray(offsets[np.argmin(times @ sums, axis=1)])

    def _doubts(self, elsewhere: float, width: float, near: float, fitted: Floats) -> list[str]:
        reasons = []
        if elsewhere >= 0.05:
            reasons.append(f"{elsewhere:.0%} of the resampled fits prefer another offset")
        limit = 2 * near
        if self.step_s is not None and self.step_s >= 2 * near:
            limit = self.step_s / 2  # this sensor could tell one step from the next, so it has to
        if width > limit and elsewhere < 0.05:
            reasons.append(f"the interval is {width:.3g} s wide")
        strength = float(fitted[1:-1].max(initial=0.0)) if len(fitted) > 2 else 0.0
        if strength < max(0.5 * self.data.quantum, 0.005 * float(fitted[0])) and float(fitted[-1]) < 0.05 * float(fitted[0]):
            reasons.append("no kind of work draws more than the idle machine")
        return reasons
