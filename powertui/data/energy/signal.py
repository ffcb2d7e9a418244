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

from dataclasses import dataclass

import numpy as np

from powertui.data.energy import nnls, sensor
from powertui.data.energy.predict import Shares
from powertui.data.model import Bools, Floats, Int64s, PowerKind, PowerSeries

DRAWS = 200
MIN_SAMPLES = 8
MIN_OVERLAP = 0.6  # of the shorter of log and profile
OTHER_WINDOW = 1.05  # half or twice the assumed averaging window has to fit so much better
MAX_PPM = 200.0
DRIFT_FROM_S = 600.0
_HUBER = 1.345
_COARSE = 24  # candidates that the coarse pass hands on
_LIMIT = 4000  # samples that the finer passes look at: more are thinned evenly


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


@dataclass(frozen=True)
class Samples:
    """A sensor's samples as windows on the log's own clock (s): watts are the mean from `lo` to `hi`."""

    lo: Floats
    hi: Floats
    watts: Floats
    refresh: float
    late: float  # ± of the windows' place: polls see a change some time after it happened
    quantum: float
    known_window: bool

    def __len__(self) -> int:
        return len(self.watts)

    def __getitem__(self, rows: slice | Bools | Int64s) -> Samples:
        return Samples(self.lo[rows], self.hi[rows], self.watts[rows], self.refresh, self.late, self.quantum, self.known_window)

    def scaled(self, factor: float) -> Samples:
        """The same samples for a sensor that averages over a window `factor` times as long, the end where it was."""
        return Samples(self.hi - factor * (self.hi - self.lo), self.hi, self.watts, self.refresh, self.late, self.quantum, True)


def samples(series: PowerSeries) -> Samples:
    """The rows that are really new, each with the window that it speaks of."""
    if len(series) == 0:
        nothing = np.empty(0)
        return Samples(nothing, nothing, nothing, 1.0, 0.0, 0.0, True)
    described = series.sensor
    times = series.times / 1e9
    gaps = np.diff(times)
    usual = float(np.median(gaps)) if len(gaps) else 1.0
    poll = described.poll_s.value if described.poll_s else usual
    refresh = described.refresh_s.value if described.refresh_s else max(usual, 1e-6)
    quantum = described.quantum_w.value if described.quantum_w else 0.0
    keep = np.isfinite(series.watts) & (_published(times, series.watts, poll, refresh) if poll < 0.8 * refresh else True)
    if series.kind is PowerKind.INTERVAL:
        lo = np.concatenate([times[:1] - poll, times[:-1]])
        return Samples(lo[keep], times[keep], series.watts[keep], refresh, 0.0, quantum, True)
    window = described.window_s.value if described.window_s else refresh
    behind = sensor.centre_s(described) - (described.window_s.value / 2 if described.window_s else 0.0)
    hi = times[keep] - behind
    late = poll / 2 if poll < 0.8 * refresh else 0.0
    length = max(window, refresh / 50, 1e-4)
    return Samples(hi - length, hi, series.watts[keep], refresh, late, quantum, bool(described.window_s) and window == 0)


def _published(times: Floats, watts: Floats, poll: float, refresh: float) -> Bools:
    """One row for every time that the sensor published, of a log that asked more often than that.

    Within a run of equal readings the sensor published the same value again and again: one row per refresh stands
    for that, so that a long quiet stretch weighs what it lasted.
    """
    if not len(times):
        return np.empty(0, np.bool_)
    opens = np.concatenate([[True], watts[1:] != watts[:-1]])
    rows = np.flatnonzero(opens)
    run = np.cumsum(opens) - 1
    start, change = times[rows][run], np.append(times[rows[1:]], np.inf)[run]
    turn = np.floor((times - start + poll / 2) / refresh)
    again = np.concatenate([[False], turn[1:] != turn[:-1]])
    # Just before a change a repeated reading may still be the publication before: it says nothing new.
    return np.asarray(opens | (again & (change - times > 0.75 * refresh)))


def search(
    data: Samples, shares: Shares, *, within: tuple[float, float] | None = None, step_s: float | None = None, seed: int = 0
) -> Fit | str:
    """The offset that explains the samples best, or why there is none. `step_s`: the usual step, for aliases."""
    lo, hi = _offsets(data, shares, within)
    if len(data) < MIN_SAMPLES:
        return f"only {len(data)} different samples"
    if hi <= lo:
        return "log and profile do not overlap by enough for any offset"
    spread = float(np.percentile(data.watts, 95) - np.percentile(data.watts, 5))
    if spread <= max(1.5 * data.quantum, 1e-3 * abs(float(np.median(data.watts)))):
        return "the power hardly changes: there is no edge to align by"
    rough = _coarse(data, shares, lo, hi)
    if not len(rough):
        return f"at no offset do {MIN_SAMPLES} samples fall into the profile"
    best = _Search(data, shares, step_s, seed)
    return best.run(rough, lo, hi)


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


def _coarse(data: Samples, shares: Shares, lo: float, hi: float) -> Floats:
    """The best offsets of a grid over everything, best first: plain least squares on evenly resampled power."""
    first, last = shares.span
    length = last - first
    begin, end = float(data.hi[0]), float(data.hi[-1])
    step = max(min(data.refresh, 0.1 if data.refresh < 0.2 else data.refresh / 2), length / 1500, (end - begin) / 200_000)
    grid = np.arange(begin, end + step, step, dtype=np.float64)
    index = np.searchsorted(data.hi, grid, side="left").clip(0, len(data) - 1)
    seen = (data.hi[index] - grid) < 2.0 * max(data.refresh, step)
    sums = np.concatenate([[0.0], np.cumsum(data.watts)])
    edges = np.searchsorted(data.hi, grid + step, side="left")
    starts = np.searchsorted(data.hi, grid, side="left")
    many = edges > starts + 1  # several samples in one cell: their mean
    values = np.where(many, (sums[edges] - sums[starts]) / np.maximum(edges - starts, 1), data.watts[index])
    width = max(float(np.median(data.hi - data.lo)), step)
    margin = min(length / 2, 50 * data.refresh + length / 10)
    cells = int((length + 2 * margin) / step)
    if cells < 4:
        return np.empty(0)
    at = np.asarray(first - margin + step * (np.arange(cells) + 1), np.float64)
    columns = shares.rows(np.asarray(at - width, np.float64), np.asarray(at, np.float64))
    inside = (at > first) & (at <= last)
    middle = float(np.median(values))
    padded = np.concatenate([np.zeros(cells), np.where(seen, values - middle, 0.0), np.zeros(cells)])
    mask = np.concatenate([np.zeros(cells), seen.astype(np.float64), np.zeros(cells)])
    count = columns.shape[1]
    pairs = [(i, j) for i in range(count) for j in range(i, count)]
    slide = np.lib.stride_tricks.sliding_window_view
    weights = np.stack([columns[:, i] * columns[:, j] for i, j in pairs] + [inside.astype(np.float64)], axis=1)
    products = _correlate(slide(mask, cells), weights)
    gram = np.empty((len(products), count, count))
    for column, (i, j) in enumerate(pairs):
        gram[:, i, j] = gram[:, j, i] = products[:, column]
    moment = _correlate(slide(padded, cells), columns) + middle * gram[:, 0, :]  # column 0 is the 1
    squares = _correlate(slide(padded**2, cells), np.ones((cells, 1)))[:, 0]
    total = _correlate(slide(padded, cells), np.ones((cells, 1)))[:, 0]
    # Cell k of the padded power sits at grid[k - cells]; window j lays it on `at[0]`.
    offsets = at[0] - (grid[0] + step * (np.arange(len(products)) - cells))
    fine = (offsets >= lo) & (offsets <= hi) & (products[:, -1] >= max(4, 0.5 * MIN_OVERLAP * inside.sum() * 0.5))
    if not fine.any():
        return np.empty(0)
    watts = nnls.many(gram[fine], moment[fine], exact=False)
    explained = 2 * np.einsum("dk,dk->d", watts, moment[fine]) - np.einsum("dk,dkl,dl->d", watts, gram[fine], watts)
    raw = squares[fine] + 2 * middle * total[fine] + middle**2 * gram[fine][:, 0, 0]
    score = (raw - explained) - squares[fine]  # against samples elsewhere, which stay at the median
    return _separated(offsets[fine], score, max(2 * step, data.refresh), _COARSE)


def _correlate(windows: Floats, weights: Floats) -> Floats:
    """windows @ weights without ever copying the overlapping windows."""
    out = np.empty((len(windows), weights.shape[1]))
    chunk = max(1, 2_000_000 // max(windows.shape[1], 1))
    for start in range(0, len(windows), chunk):
        out[start : start + chunk] = np.ascontiguousarray(windows[start : start + chunk]) @ weights
    return out


def _separated(offsets: Floats, score: Floats, distance: float, most: int) -> Floats:
    """The offsets of the lowest scores, best first, none nearer to another than `distance`."""
    chosen: list[float] = []
    for index in np.argsort(score, kind="stable"):
        if all(abs(offsets[index] - other) > distance for other in chosen):
            chosen.append(float(offsets[index]))
            if len(chosen) == most:
                break
    return np.array(chosen)


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
        self._set_scale(rough[:4], data)
        cost, _ = self.costs(offsets, data)
        centres = _separated(offsets, cost.sum(0), near / 2, 6)
        if self.step_s is not None and self.step_s >= near / 4:
            aliases = centres[0] + self.step_s * np.array([-2.0, -1.0, 1.0, 2.0])
            centres = np.concatenate([centres, aliases[np.abs(centres[:, None] - aliases).min(axis=0) > near / 4]])
        # Twice finer around every centre: the first time also to settle the scale of the noise.
        for fraction in (4, 40):
            self._set_scale(centres[:1], data)
            offsets = self._around(centres, step * (1.5 if fraction == 4 else 0.6), max(near / fraction, 4e-4) / 2, lo, hi)
            choices = self._windows(offsets, data)
            total = choices.cost.sum(0)
            step = max(near / fraction, 4e-4) / 2
            centres = _separated(choices.offsets, total, near / 4, 8)
        return self._judge(choices, step, near)

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
        draws = self._bootstrap(offsets, cost, data, near)
        elsewhere = float((np.abs(draws - offset) > near).mean())
        least = step + self.data.late
        low, high = np.percentile(draws, [2.5, 97.5])
        low, high = min(low, offset) - least, max(high, offset) + least
        apart = np.abs(offsets - offset) > near
        runner_up = float(offsets[apart][np.argmin(total[apart])]) if apart.any() else None
        inner = data.watts[inside]
        weight = np.minimum(1.0, _HUBER * self.scale / np.maximum(np.abs(residual), 1e-12))[inside]
        centre = float(np.average(inner, weights=weight))
        variation = float((weight * (inner - centre) ** 2).sum())
        r2 = 1 - float((weight * residual[inside] ** 2).sum()) / variation if variation > 0 else 0.0
        lag = float(np.corrcoef(residual[:-1], residual[1:])[0, 1]) if np.ptp(residual) > 0 else 0.0
        lag = min(max(lag, 0.0), 0.99)
        reasons = self._doubts(elsewhere, float(high - low) - 2 * self.data.late, near, fitted)
        return Fit(
            offset, float(low), float(high), bool(reasons), tuple(reasons), r2,
            tuple(zip(self.shares.names, (float(w) for w in fitted), strict=True)), runner_up, elsewhere,
            float(np.median(data.hi - data.lo)), count, count * (1 - lag) / (1 + lag),
        )  # fmt: skip

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
