"""The engine of all findings of power: stretches over which readings lie above or below what was expected of them.

A foreign load is a box: so many watts from one moment to another. A reading shows the part of it that its own window
covers, so a box is laid into the readings through their windows; the edges and the height that come out are those of
the load, not of the sensor. A reading's error has two parts. Noise averages out over a stretch, as far as neighbouring
readings are not alike. What is not known of the expectation (work of a kind that was hardly seen, a window that is only
assumed) does not, and is counted once for the whole stretch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from powertui.data.model import Bools, Floats, Int64s

ALPHA = 0.002  # chance of one stretch by noise alone, anywhere in the recording
MOST = 12  # stretches of one recording
LEAST = 6  # readings that say what noise is
_ALIKE = 0.6  # of a stretch's height: another one as long is like it
_OFTEN = 5
_KNOWN = 30.0  # degrees of freedom of what is no sample
_MOST_OF = 0.6  # of the readings: more of them is what is usual
SURE = 4.0  # errors, however few stretches there are to choose from
_EDGES = 40  # places of each edge that are weighed
_SMOOTH = 101  # readings, at most, that are looked at together to see a pause
_BREATH = 0.1  # of a stretch: a pause no longer than this does not part it
_DRAWS = 4000
_CAP = 25.0  # no reading speaks against a box with more than so many squared errors


@dataclass(frozen=True, eq=False)
class Readings:
    """A sensor's readings on the trace, and what was expected of each."""

    lo: Floats  # the window that each is a mean over, s on the trace
    hi: Floats
    watts: Floats
    floor: Floats  # the least that is explained …
    ceiling: Floats  # … and the most: equal where the trace tells exactly what ran
    doubt: Floats  # one sigma of these two; shared by neighbours, so that it does not average out
    judged: Bools  # False where nothing can be said
    quantum: float

    def __len__(self) -> int:
        return len(self.watts)

    def beyond(self, foreign: Floats | float = 0.0) -> Floats:
        """How far each reading lies above (or below) what is explained, with so much foreign power in it."""
        rest = self.watts - foreign
        return np.where(rest > self.ceiling, rest - self.ceiling, np.minimum(rest - self.floor, 0.0))


@dataclass(frozen=True)
class Box:
    """One stretch of unexpected power."""

    start: float  # s on the trace
    end: float
    start_within: tuple[float, float]  # 95 % intervals
    end_within: tuple[float, float]
    watts: float
    lo_watts: float  # 95 % interval
    hi_watts: float
    joules: float
    lo_joules: float
    hi_joules: float
    p: float  # how often noise alone would show such a stretch anywhere

    def moved(self, by: float) -> Box:
        """The same, later by so many seconds."""
        first, last = self.start_within, self.end_within
        return replace(
            self, start=self.start + by, end=self.end + by,
            start_within=(first[0] + by, first[1] + by), end_within=(last[0] + by, last[1] + by),
        )  # fmt: skip

    def wider(self, sigma: float) -> Box:
        """The same, its place uncertain by so much more."""

        def around(at: float, within: tuple[float, float]) -> tuple[float, float]:
            return at - math.hypot(at - within[0], 1.96 * sigma), at + math.hypot(within[1] - at, 1.96 * sigma)

        # Watts are told of this very stretch: laid beside the load by so much, it holds the less of it.
        beside = 1.96 * sigma * abs(self.watts) / max(self.end - self.start, sigma, 1e-9)
        return replace(
            self, start_within=around(self.start, self.start_within), end_within=around(self.end, self.end_within),
            lo_watts=self.watts - math.hypot(self.watts - self.lo_watts, beside),
            hi_watts=self.watts + math.hypot(self.hi_watts - self.watts, beside),
        )  # fmt: skip


def joined(found: Sequence[tuple[float, Box]]) -> Box:
    """One stretch as it was found several times: its figures are means by weight, its intervals hold all of them."""
    share = np.array([weight for weight, _ in found]) / sum(weight for weight, _ in found)

    def mean(values: Sequence[float]) -> float:
        return float(share @ np.asarray(values))

    all_ = [box for _, box in found]
    lead = max(found, key=lambda one: one[0])[1]
    return replace(
        lead, start=mean([b.start for b in all_]), end=mean([b.end for b in all_]), watts=mean([b.watts for b in all_]),
        joules=mean([b.joules for b in all_]), p=max(b.p for b in all_),
        start_within=(min(b.start_within[0] for b in all_), max(b.start_within[1] for b in all_)),
        end_within=(min(b.end_within[0] for b in all_), max(b.end_within[1] for b in all_)),
        lo_watts=min(b.lo_watts for b in all_), hi_watts=max(b.hi_watts for b in all_),
        lo_joules=min(b.lo_joules for b in all_), hi_joules=max(b.hi_joules for b in all_),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Noise:
    """What the mean of so many neighbouring readings is uncertain by, when nothing happens."""

    one: float  # of a single reading
    lengths: Floats
    errors: Floats
    alike: float  # how many readings stand for one
    blocks: float  # readings that count as independent
    shortest: int = 1  # readings of a stretch: shorter ones stand out everywhere

    def of(self, length: float) -> float:
        """The error of a mean over so many readings."""
        return float(np.exp(np.interp(np.log(length), np.log(self.lengths), np.log(self.errors))))


def noise_of(values: Floats, floor: float) -> Noise:
    """Learnt from readings that are taken to hold no stretch: how means over more and more of them scatter."""
    count = len(values)
    one = max(_scatter(values), floor)
    lengths, errors, alike = [1.0], [one], 1.0
    length = 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    while 8 * length <= count:
        means = (sums[length:] - sums[:-length]) / length
        errors.append(max(_scatter(means), one / math.sqrt(length), 0.9 * errors[-1] * math.sqrt(lengths[-1] / length)))
        lengths.append(float(length))
        if length <= 8:
            alike = max(alike, length * (errors[-1] / one) ** 2)
        length = math.ceil(length * 1.5)
    for more in (4.0, 64.0, 4096.0):  # of longer stretches there are too few to learn from: drifts may go on
        lengths.append(lengths[-1] * more)
        errors.append(errors[-1] * more**-0.25)
    return Noise(one, np.array(lengths), np.array(errors), alike, max(count / alike, 2.0))


def _spread(values: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _scatter(values: Floats) -> float:
    """Robust deviation: the larger of the median one and that of the inner nine tenths (a few median ones come out small)."""
    if not len(values):
        return 0.0
    inner = np.sort(np.abs(values - np.median(values)))[: max(1, len(values) * 9 // 10)]
    return max(_spread(values), 1.26 * float(np.sqrt((inner**2).mean())))


def found(readings: Readings, *, least: float = 0.0, looks: int = 1) -> tuple[list[Box], Noise]:
    """Stretches that noise does not explain, by their start, and what the noise is. `least`: watts below which none is told."""
    rows = np.flatnonzero(readings.judged)
    floor = max(readings.quantum / math.sqrt(12), 1e-3 * float(np.median(np.abs(readings.watts[rows]))) if len(rows) else 0.0, 1e-6)
    if len(rows) < LEAST:
        return [], noise_of(np.empty(0), floor)
    beyond = readings.beyond()[rows]
    doubt = readings.doubt[rows]
    foreign = np.zeros(len(readings))
    boxes: list[Box] = []
    taken = np.zeros(len(rows), np.bool_)
    noise = noise_of(np.empty(0), floor)
    shortest = 1
    for _ in range(2 * MOST):
        usual = _ordinary(beyond, doubt, ~taken, floor)
        rough = noise_of(usual[:1], max(floor, _spread(usual)))
        first, last = _largest(np.where(taken, 0.0, beyond), doubt, taken, rough, least, shortest)
        if last <= first:
            break
        first, last = _unbroken(readings, rows, first, last, beyond)
        first, last = _even(beyond, doubt, first, last, rough)
        rest = ~taken
        rest[max(0, first - 1) : last + 1] = False
        noise = noise_of(_ordinary(beyond, doubt, rest, floor), floor)
        if _common(beyond, doubt, rest, beyond[first:last]):
            shortest = max(shortest, math.ceil(1.5 * (last - first)))
            continue
        score, p = _certainty(beyond[first:last], doubt[first:last], noise, floor)
        if p * looks > ALPHA or score < SURE:
            break
        height = float(np.median(beyond[first:last]))
        box = _edges(readings, *_extended(readings, int(rows[first]), int(rows[last - 1]) + 1, height), noise, foreign, p)
        if box is None:
            break
        part = box.watts * covered(readings, box.start, box.end)
        grown = np.abs(part[rows]) > 0.02 * abs(box.watts)
        if not (grown & ~taken).any():
            break
        taken |= grown
        taken[first:last] = True
        foreign += part
        if abs(box.watts) >= least:
            boxes.append(box)
        if (~taken).sum() < LEAST or len(boxes) == MOST:
            break
    return _bridged(sorted(boxes, key=lambda one: one.start)), replace(noise, shortest=shortest)


def _bridged(found: list[Box]) -> list[Box]:
    """Boxes of much the same height with hardly a pause between them are one load that caught its breath."""
    out: list[Box] = []
    for box in found:
        before = out[-1] if out else None
        if before is not None and 0.6 < box.watts / before.watts < 1.7:
            pause = box.start - before.end
            if pause <= _BREATH * (box.end - before.start):
                out[-1] = _chained(before, box)
                continue
        out.append(box)
    return out


def _chained(one: Box, other: Box) -> Box:
    """One box from the start of the first to the end of the second, with the energy of both."""
    length = other.end - one.start
    joules = one.joules + other.joules

    def half(low: float, high: float, more_low: float, more_high: float) -> float:
        return math.hypot(high - low, more_high - more_low) / 2

    wide = half(one.lo_joules, one.hi_joules, other.lo_joules, other.hi_joules)
    shares = [(box.end - box.start) / (one.end - one.start + other.end - other.start) for box in (one, other)]
    spread = math.hypot(*(share * (box.hi_watts - box.lo_watts) / 2 for share, box in zip(shares, (one, other), strict=True)))
    watts = joules / max(length, 1e-9)
    return replace(
        one, end=other.end, end_within=other.end_within, watts=watts, lo_watts=watts - spread, hi_watts=watts + spread,
        joules=joules, lo_joules=joules - wide, hi_joules=joules + wide, p=min(one.p, other.p),
    )  # fmt: skip


def covered(readings: Readings, start: float, end: float) -> Floats:
    """The share of each reading's window that lies between two moments."""
    over = np.minimum(readings.hi, end) - np.maximum(readings.lo, start)
    return np.asarray(np.clip(over, 0.0, None) / np.maximum(readings.hi - readings.lo, 1e-12))


def chance(score: float, freedom: float, blocks: float) -> float:
    """The chance of such a score among all stretches of so many independent readings: Student's t (Wallace's
    approximation); of n readings about 2 n log n stretches count as different."""
    normal = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(score * score / freedom))
    return min(1.0, 2 * blocks * max(1.0, math.log(blocks)) * math.erfc(normal / math.sqrt(2)))


def _ordinary(beyond: Floats, doubt: Floats, free: Bools, floor: float) -> Floats:
    """The readings that noise may be learnt from: those of which enough is known, without what lies far off."""
    values, known = beyond[free], doubt[free]
    if not len(values):
        return values
    sure = values[known <= max(floor, 2 * float(np.percentile(known, 25)))]
    return np.asarray(sure[np.abs(sure - np.median(sure)) <= 6 * max(_spread(sure), floor)])


def _certainty(beyond: Floats, doubt: Floats, noise: Noise, floor: float) -> tuple[float, float]:
    """How many errors a stretch of readings lies off, and how often noise alone would show such a stretch anywhere."""
    weight = 1.0 / (noise.one**2 + doubt**2)
    mean, shared = float(weight @ beyond / weight.sum()), float(weight @ doubt / weight.sum())
    random = noise.of(len(beyond))
    score = abs(mean) / math.hypot(random, shared)
    # The noise was learnt from few readings (but rounding is known); doubts are no sample of anything.
    learnt = max(random**2 - floor**2 / len(beyond), 0.0)
    total = random**2 + shared**2
    freedom = total**2 / max(learnt**2 / max(noise.blocks - 2, 1.0) + (total - learnt) ** 2 / _KNOWN, 1e-300)
    return score, chance(score, freedom, noise.blocks)


def _common(beyond: Floats, doubt: Floats, free: Bools, stretch: Floats) -> bool:
    """Whether stretches like this one turn up again and again: then it is the noise that has such tails."""
    length, height = len(stretch), abs(float(stretch.mean()))
    sums = np.concatenate([[0.0], np.cumsum(beyond)])
    usable = np.concatenate([[0], np.cumsum(free & (doubt < height / 3))])
    means = np.abs(sums[length:] - sums[:-length]) / length
    alike = np.flatnonzero((means > _ALIKE * height) & (usable[length:] - usable[:-length] == length))
    if len(alike) < _OFTEN:
        return False
    apart = 1 + int((np.diff(alike) > length).sum())
    return apart >= _OFTEN


def _largest(beyond: Floats, doubt: Floats, taken: Bools, noise: Noise, least: float, shortest: int) -> tuple[int, int]:
    """First and last (exclusive) reading of the stretch that explains most, were it all foreign."""
    count = len(beyond)
    weight = np.where(taken, 0.0, 1.0 / (noise.one**2 + doubt**2))
    total, weights, many = (np.concatenate([[0.0], np.cumsum(x)]) for x in (weight * beyond, weight, taken.astype(np.float64)))
    best, at = 0.0, (0, 0)
    length = shortest
    while length <= max(1, int(_MOST_OF * count)):
        w = np.maximum(weights[length:] - weights[:-length], 1e-300)
        gained = total[length:] - total[:-length]
        good = (many[length:] == many[:-length]) & (np.abs(gained) >= 0.5 * least * w)
        gain = np.where(good, np.abs(gained) / np.sqrt(w), 0.0)
        where = int(np.argmax(gain))
        if gain[where] > best:
            best, at = float(gain[where]), (where, where + length)
        length = max(length + 1, int(length * 1.1))
    return at


def _unbroken(readings: Readings, rows: Int64s, first: int, last: int, beyond: Floats) -> tuple[int, int]:
    """The longest part of a stretch that no reading between its own speaks against, though nothing is judged there."""
    inner = slice(rows[first], rows[last - 1] + 1)
    height = float(np.median(beyond[first:last]))
    against = ~readings.judged[inner] & (np.sign(height) * (readings.watts[inner] - readings.floor[inner]) < 0.5 * abs(height))
    if height < 0 or not against.any():
        return first, last
    breaks = np.searchsorted(rows, np.flatnonzero(against) + rows[first])
    ends = np.unique(np.concatenate([[first], breaks, [last]]))
    longest = int(np.argmax(np.diff(ends)))
    return int(ends[longest]), int(ends[longest + 1])


def _even(beyond: Floats, doubt: Floats, first: int, last: int, noise: Noise) -> tuple[int, int]:
    """The strongest part of a stretch that is high throughout: two bursts with a pause between them are not one."""
    sign = 1.0 if beyond[first:last].sum() > 0 else -1.0
    values, unsure = sign * beyond[first:last], doubt[first:last]
    height = float(np.percentile(values, 75))
    if height <= 0 or last - first < 3:
        return first, last
    size = 1 + 2 * min((last - first) // 40, _SMOOTH // 2)
    while size < min((last - first) // 3, _SMOOTH) and noise.of(size) > height / 8:
        size += 2
    if noise.of(size) > height / 6:
        return first, last  # too little is seen of it to tell a pause from noise
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(values, size // 2, mode="edge"), size), axis=1)
    sure = unsure <= height / 3
    high = (smooth > height / 2) | ~sure
    edges = np.flatnonzero(np.diff(np.concatenate([[False], high, [False]]).astype(np.int8)))
    parts = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if not parts:
        return first, last
    low, end = max(parts, key=lambda part: float(values[part[0] : part[1]].sum()))
    shown = np.flatnonzero((smooth > height / 2)[low:end] & sure[low:end])
    if not len(shown):
        return first + low, first + end
    # What is not sure joins two sure parts only when they are the greater part of it.
    gaps = np.flatnonzero(np.diff(shown) > max(2, len(shown) // 2))
    pieces = np.split(shown, gaps + 1)
    best = max(pieces, key=len)
    return first + low + int(best[0]), first + low + int(best[-1]) + 1


def _extended(readings: Readings, first: int, last: int, height: float) -> tuple[int, int]:
    """A stretch of rows, carried on where nothing is judged, as far as readings show the same foreign power again."""
    if height <= 0:
        return first, last
    rest = readings.watts - 0.5 * height
    against = ~(rest > readings.floor) | ~np.isfinite(readings.ceiling) | (readings.judged & (rest <= readings.ceiling))
    shows = ~against & (rest > readings.ceiling)

    def reach(at: int, by: int) -> int:
        end = at
        while 0 <= at + by < len(readings) and not against[at + by]:
            at += by
            end = at if shows[at] else end
        return end

    return reach(first, -1), reach(last - 1, 1) + 1


def _edges(readings: Readings, first: int, last: int, noise: Noise, foreign: Floats, p: float) -> Box | None:
    """The box behind a stretch of readings: every pair of edges near it, weighed by how well it explains them."""
    width = float(np.median(readings.hi - readings.lo))
    pace = float(np.median(np.diff(readings.hi))) if len(readings) > 1 else width
    reach = max(width, pace)
    lo, hi = float(readings.lo[first]), float(readings.hi[last - 1])
    known = np.isfinite(readings.floor + readings.watts)
    beside = max(3 * reach, 0.75 * (hi - lo))
    near = np.flatnonzero((readings.hi > lo - beside) & (readings.lo < hi + beside) & known)
    around = noise.of(2 * max(last - first, 1))
    local = _rows(readings, near)
    local = replace(local, watts=local.watts - foreign[near])
    starts = np.linspace(lo - reach, min(float(readings.hi[first]) + reach, hi), _EDGES)
    ends = np.linspace(max(float(readings.lo[last - 1]) - reach, lo), hi + reach, _EDGES)
    for turn in range(3):
        weights, watts, errors, length = _weighed(local, starts, ends, reach / 8, noise, around)
        if not weights.any():
            return None
        at, until = weights.sum(axis=1), weights.sum(axis=0)
        if turn == 2 or min((at > 1e-3 * at.max()).sum(), (until > 1e-3 * until.max()).sum()) > 10:
            break
        starts, ends = _closer(starts, at), _closer(ends, until)
    rng = np.random.default_rng(47)
    drawn = rng.choice(weights.size, _DRAWS, p=weights.ravel())
    height = watts.ravel()[drawn] + errors.ravel()[drawn] * rng.standard_normal(_DRAWS)
    row, column = np.unravel_index(drawn, weights.shape)
    joules = height * length.ravel()[drawn]
    low, middle, high = (np.percentile(x, [2.5, 50, 97.5]) for x in (height, joules, starts[row]))
    ending = np.percentile(ends[column], [2.5, 50, 97.5])
    return Box(
        float(high[1]), float(ending[1]), (float(high[0]), float(high[2])), (float(ending[0]), float(ending[2])),
        float(low[1]), float(low[0]), float(low[2]), float(middle[1]), float(middle[0]), float(middle[2]), p,
    )  # fmt: skip


def _closer(at: Floats, weight: Floats) -> Floats:
    """The same number of places around those that count."""
    some = np.flatnonzero(weight > 1e-3 * weight.max())
    step = float(at[1] - at[0])
    return np.linspace(at[some[0]] - step, at[some[-1]] + step, len(at))


def _weighed(
    local: Readings, starts: Floats, ends: Floats, least: float, noise: Noise, around: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """For every pair of edges: its weight, the height that fits best, its error, and the length.

    `around`: by how much the expectation may be off all over this neighbourhood, one sigma. What lies beside the box tells.
    """
    length = ends[None, :] - starts[:, None]
    inverse = 1.0 / (noise.one**2 + local.doubt**2) / noise.alike
    # Readings that every pair covers whole, or none covers, say the same to all of them.
    whole = (local.lo >= starts[-1]) & (local.hi <= ends[0])
    beside = (local.hi <= starts[0]) | (local.lo >= ends[-1])
    inner, outer = _Sums(local, inverse, whole), _Sums(local, inverse, beside)
    ending = _rows(local, ~whole & ~beside)
    doubt, inverse = ending.doubt, inverse[~whole & ~beside]
    over = np.minimum(ending.hi, ends[None, :, None]) - np.maximum(ending.lo, starts[:, None, None])
    share = np.clip(over, 0.0, None) / np.maximum(ending.hi - ending.lo, 1e-12)
    once, twice = share @ inverse + inner.weight, (share**2) @ inverse + inner.weight
    every = float(inverse.sum()) + inner.weight + outer.weight + 1.0 / around**2
    free = np.maximum(twice - once**2 / every, 1e-12)  # what is left to tell the height when the offset is told, too
    beyond: Floats = np.broadcast_to(ending.beyond(), share.shape)
    height = np.zeros_like(length)
    offset = np.zeros_like(length)
    for turn in range(3):  # what is explained is a range for some readings: how much of it they use depends on the height
        if turn:
            rest = ending.watts - height[..., None] * share
            beyond = ending.watts - np.clip(rest, ending.floor, ending.ceiling)
        covered_, all_ = np.einsum("abi,abi,i->ab", share, beyond, inverse) + inner.beyond, beyond @ inverse
        all_ = all_ + inner.beyond + outer.beyond
        height = (covered_ - once * all_ / every) / free
        offset = (all_ - height * once) / every
    left = (beyond - height[..., None] * share - offset[..., None]) ** 2 * inverse
    cost = np.minimum(left, _CAP).sum(axis=-1) + inner.cost(height + offset) + outer.cost(offset) + (offset / around) ** 2
    cost = np.where((length >= least) & (twice > 1e-9 * every), cost, np.inf)
    best = float(cost.min())
    weights = np.exp(-(cost - best) / 2) if math.isfinite(best) else np.zeros_like(cost)
    shared = (share @ (inverse * doubt) + inner.doubt) / np.maximum(once, 1e-12)
    return weights / max(float(weights.sum()), 1e-300), height, np.sqrt(1.0 / free + shared**2), length


class _Sums:
    """Readings that all lie in a box, or all beside it, as sums."""

    def __init__(self, local: Readings, inverse: Floats, rows: Bools) -> None:
        weight = inverse[rows]
        rest = local.watts[rows] - np.clip(local.watts[rows], local.floor[rows], local.ceiling[rows])
        known = rest[local.judged[rows]]
        usual = float(np.median(known)) if len(known) else 0.0
        foreign = local.watts[rows] - usual
        beyond = local.watts[rows] - np.clip(foreign, local.floor[rows], local.ceiling[rows])
        self.weight = float(weight.sum())
        self.beyond = float(weight @ beyond)
        self._squares = float(weight @ beyond**2)
        self.doubt = float(weight @ local.doubt[rows])

    def cost(self, height: Floats) -> Floats:
        """Squared errors when they were to lie so high."""
        return np.asarray(self._squares - 2 * height * self.beyond + height**2 * self.weight)


def _rows(readings: Readings, rows: Bools | Int64s) -> Readings:
    return Readings(
        readings.lo[rows], readings.hi[rows], readings.watts[rows], readings.floor[rows], readings.ceiling[rows],
        readings.doubt[rows], readings.judged[rows], readings.quantum,
    )  # fmt: skip
