"""The engine of all findings of power: stretches over which readings lie above or below what was
expected of them.

A foreign load is a box: so many watts from one moment to another. A reading shows the part of it
that its own window covers, so a box is laid into the readings through their windows; the edges and
the height that come out are those of the load, not of the sensor. A reading's error has two parts.
Noise averages out over a stretch, as far as neighbouring readings are not alike. What is not known
of the expectation (work of a kind that was hardly seen, a window that is only assumed) is shared by
the whole stretch: it cancels only where it is off upwards here and downwards there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import edges
from powertui.data.energy.findings.noise import Noise, centre, certainty, noise_of, ordinary, spread
from powertui.data.energy.findings.power_stretch import Box, bridged
from powertui.data.energy.findings.readings import SensorReadings, covered_share, readings_subset
from powertui.data.model import Bools, Floats, Int64s

ALPHA = 0.002  # chance of one stretch by noise alone, anywhere in the recording
_MOST = 12  # stretches of one recording
MIN_READINGS = 6  # readings that say what noise is
_ALIKE = 0.6  # of a stretch's height: another one as long is like it
_OFTEN = 5
_TAIL = 5.0  # deviations of single readings: what is nearer is no tail
_MOST_OF = 0.6  # of the readings: more of them is what is usual
MAX_DOUBT_SHARE = (
    1 / 3
)  # of a height: readings of which no more than that is open tell where a stretch ends
MIN_ERRORS = 4.0  # errors, however few stretches there are to choose from
_MANY = 9  # readings, of which a single low one is no pause
_ROUNDS = 2  # in which boxes beside one another are laid again
_SMOOTH = 101  # readings, at most, that are looked at together to see a pause


class _Laid(NamedTuple):
    box: Box
    first: int  # of the readings that it was laid into
    last: int
    noise: Noise


class _Tried(NamedTuple):
    first: int
    last: int
    noise: Noise
    score: float
    p: float


def find_stretches(
    readings: SensorReadings, *, least: float = 0.0, looks: int = 1, quiet: Bools | None = None
) -> tuple[list[Box], Noise]:
    """Stretches that noise does not explain, by their start, and what the noise is. `least`: watts
    below which none is told. `quiet`: the readings that noise may be learnt from, where somebody
    knows.
    """
    rows = np.flatnonzero(readings.judged)
    floor = max(
        readings.quantum / math.sqrt(12),
        1e-3 * float(np.median(np.abs(readings.watts[rows]))) if len(rows) else 0.0,
        1e-6,
    )
    if len(rows) < MIN_READINGS:
        return [], noise_of(np.empty(0), floor)
    beyond = readings.beyond()[rows]
    doubt = readings.doubt[rows]
    judged = readings_subset(readings, rows)
    signed = (
        np.vstack([judged.blunt[None], judged.ways]) if judged.ways.size else judged.blunt[None]
    )
    paces = np.diff(judged.hi)
    together = float(np.median(judged.hi - judged.lo)) / max(
        float(np.median(paces)) if len(paces) else 1.0, 1e-9
    )
    foreign = np.zeros(len(readings))
    laid: list[_Laid] = []
    taken = np.zeros(len(rows), np.bool_)
    free = np.ones(len(rows), np.bool_) if quiet is None else quiet[rows]
    noise = noise_of(np.empty(0), floor)
    shortest, most = 1, math.inf  # single readings that are far off again and again are cut off

    def looked(bounds: tuple[int, int], rough: Noise) -> _Tried | None:
        """A stretch as it stands against the noise of all the rest."""
        first, last = bounds
        if last <= first:
            return None
        first, last = _unbroken(readings, rows, first, last, beyond)
        rest = ~taken & free
        rest[max(0, first - 1) : last + 1] = (
            False  # with what is cut off now: another load is no noise
        )
        first, last = _even(beyond, doubt, first, last, rough)
        noise = noise_of(ordinary(beyond, doubt, rest, floor), floor, together)
        stretch = readings_subset(readings, rows[first:last])
        weight = 1.0 / (noise.one**2 + stretch.doubt**2)
        return _Tried(
            first,
            last,
            noise,
            *certainty(beyond[first:last], weight, stretch.shared(weight), noise, floor),
        )

    for _ in range(2 * _MOST):
        usual = ordinary(beyond, doubt, ~taken & free, floor)
        rough = noise_of(usual[:1], max(floor, spread(usual)))
        # What stands out most were all noise single, and what does for its length: a burst that
        # counts as noise hides in one.
        flat = np.where(taken, 0.0, beyond)
        tried = {
            _largest(flat, doubt, signed, taken, one, least, shortest)
            for one in (rough, noise_of(usual, floor, together))
        }
        told = [one for bounds in sorted(tried) if (one := looked(bounds, rough)) is not None]
        if not told:
            break
        first, last, noise, score, p = min(told, key=lambda one: (one.p, -one.score))
        rest = ~taken
        rest[max(0, first - 1) : last + 1] = False
        if _common(beyond, doubt, rest, beyond[first:last]):
            shortest = max(shortest + 1, math.ceil(1.5 * (last - first)))
            most = max(
                _ALIKE * abs(float(beyond[first:last].mean())), _TAIL * max(spread(usual), floor)
            )
            beyond = np.clip(beyond, -most, most)
            beyond -= centre(beyond[~taken], doubt[~taken])
            continue
        if p * looks > ALPHA or score < MIN_ERRORS:
            break
        height = float(np.median(beyond[first:last]))
        bounds = _extended(readings, int(rows[first]), int(rows[last - 1]) + 1, height)
        box = edges.box(readings, *bounds, noise, foreign, p)
        if box is None:
            break
        part = box.watts * covered_share(readings, box.start, box.end)
        grown = np.abs(part[rows]) > 0.02 * abs(box.watts)
        if not (grown & ~taken).any():
            break
        taken |= grown
        taken[first:last] = True
        foreign += part
        laid.append(_Laid(box, *bounds, noise))
        if (~taken).sum() < MIN_READINGS or sum(
            abs(one.box.watts) >= least for one in laid
        ) == _MOST:
            break
    boxes = [one.box for one in _laid_again(readings, laid) if abs(one.box.watts) >= least]
    return bridged(sorted(boxes, key=lambda one: one.start)), replace(
        noise, shortest=shortest, most=most
    )


def _laid_again(readings: SensorReadings, laid: list[_Laid]) -> list[_Laid]:
    """Boxes that lie beside one another, each laid again with the others known: the readings beside
    the first were taken for usual while the rest of its load lay among them. What lies off the
    other way tells of the level there, and stays.
    """
    laid = list(laid)
    for _ in range(_ROUNDS):
        for at, one in enumerate(laid):
            reach = one.box.end - one.box.start
            others = [
                other.box
                for other in laid
                if other is not one
                and other.box.watts * one.box.watts > 0
                and other.box.end > one.box.start - reach
                and other.box.start < one.box.end + reach
            ]
            if others:
                foreign = np.sum(
                    [
                        other.watts * covered_share(readings, other.start, other.end)
                        for other in others
                    ],
                    axis=0,
                )
                again = edges.box(readings, one.first, one.last, one.noise, foreign, one.box.p)
                laid[at] = one._replace(box=again or one.box)
    return laid


def _common(beyond: Floats, doubt: Floats, free: Bools, stretch: Floats) -> bool:
    """Whether stretches like this one turn up again and again: then it is the noise that has such
    tails.
    """
    length, height = len(stretch), abs(float(stretch.mean()))
    sums = np.concatenate([[0.0], np.cumsum(beyond)])
    usable = np.concatenate([[0], np.cumsum(free & (doubt < height / 3))])
    means = np.abs(sums[length:] - sums[:-length]) / length
    alike = np.flatnonzero(
        (means > _ALIKE * height) & (usable[length:] - usable[:-length] == length)
    )
    if len(alike) < _OFTEN:
        return False
    apart = 1 + int((np.diff(alike) > length).sum())
    return apart >= _OFTEN


def _largest(
    beyond: Floats,
    doubt: Floats,
    signed: Floats,
    taken: Bools,
    noise: Noise,
    least: float,
    shortest: int,
) -> tuple[int, int]:
    """First and last (exclusive) reading of the stretch that is farthest off, in errors of its own
    length.

    `signed`: the parts of the doubt that may cancel over a stretch, after one that does not.
    """
    count = len(beyond)
    weight = np.where(taken, 0.0, 1.0 / (noise.one**2 + doubt**2))
    gained, weights, many = (
        _running(x) for x in (weight * beyond, weight, taken.astype(np.float64))
    )
    shared = _running(weight * signed)
    best, at = 0.0, (0, 0)
    length = shortest
    while length <= max(1, int(_MOST_OF * count)):
        total = np.maximum(weights[length:] - weights[:-length], 1e-300)
        mean = np.abs(gained[length:] - gained[:-length]) / total
        off = (((shared[:, length:] - shared[:, :-length]) / total) ** 2).sum(axis=0)
        good = (many[length:] == many[:-length]) & (mean >= 0.5 * least)
        score = np.where(good, mean / np.sqrt(noise.mean_error(length) ** 2 + off), 0.0)
        where = int(np.argmax(score))
        if score[where] > best:
            best, at = float(score[where]), (where, where + length)
        length = max(length + 1, int(length * 1.1))
    return at


def _running(values: Floats) -> Floats:
    """Sums along the last axis, up to each place."""
    return np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def _unbroken(
    readings: SensorReadings, rows: Int64s, first: int, last: int, beyond: Floats
) -> tuple[int, int]:
    """The longest part of a stretch that no reading between its own speaks against, though nothing
    is judged there.
    """
    inner = slice(rows[first], rows[last - 1] + 1)
    height = float(np.median(beyond[first:last]))
    against = ~readings.judged[inner] & (
        np.sign(height) * (readings.watts[inner] - readings.floor[inner]) < 0.5 * abs(height)
    )
    if height < 0 or not against.any():
        return first, last
    breaks = np.searchsorted(rows, np.flatnonzero(against) + rows[first])
    ends = np.unique(np.concatenate([[first], breaks, [last]]))
    longest = int(np.argmax(np.diff(ends)))
    return int(ends[longest]), int(ends[longest + 1])


def _even(beyond: Floats, doubt: Floats, first: int, last: int, noise: Noise) -> tuple[int, int]:
    """The strongest part of a stretch that is high throughout: two bursts with a pause between them
    are not one.
    """
    sign = 1.0 if beyond[first:last].sum() > 0 else -1.0
    values, unsure = sign * beyond[first:last], doubt[first:last]
    height = float(np.percentile(values, 75))
    if height <= 0 or last - first < 3:
        return first, last
    # One reading among so many is no pause: a load may falter for a moment.
    size = 1 + 2 * max(min((last - first) // 40, _SMOOTH // 2), int(last - first >= _MANY))
    while size < min((last - first) // 3, _SMOOTH) and noise.mean_error(size) > height / 8:
        size += 2
    if noise.mean_error(size) > height / 6:
        return first, last  # too little is seen of it to tell a pause from noise
    smooth = np.median(
        np.lib.stride_tricks.sliding_window_view(np.pad(values, size // 2, mode="edge"), size),
        axis=1,
    )
    sure = unsure <= MAX_DOUBT_SHARE * height
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


def _extended(readings: SensorReadings, first: int, last: int, height: float) -> tuple[int, int]:
    """A stretch of rows, carried on where nothing is judged, as far as readings show the same
    foreign power again.
    """
    if height <= 0:
        return first, last
    rest = readings.watts - 0.5 * height
    against = (
        ~(rest > readings.floor)
        | ~np.isfinite(readings.ceiling)
        | (readings.judged & (rest <= readings.ceiling))
    )
    shows = ~against & (rest > readings.ceiling)

    def reach(at: int, by: int) -> int:
        end = at
        while 0 <= at + by < len(readings) and not against[at + by]:
            at += by
            end = at if shows[at] else end
        return end

    return reach(first, -1), reach(last - 1, 1) + 1
