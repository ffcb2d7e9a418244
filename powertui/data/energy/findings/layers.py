"""Long recordings looked at in layers: what is short among all readings, piece by piece; what is
long among fewer of them.

A burst of twenty seconds is nothing where ten hours are four thousand readings, and a load of an
hour is no stretch of a piece of half an hour. So each layer tells of stretches that are short
against its pieces, from the finest on; what it found is set aside for the next one, whose readings
are several of the one before. The last layer looks at everything at once.

Where the power switches by itself all day, nearly every piece differs from its middle, and to look
at each of them closely would take minutes. Then only those pieces are looked at in which something
short differs from what is before and after it, and at most `_MAX_CLOSE_PIECES` of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import overlapping_loads, stretch_search
from powertui.data.energy.findings.open_ends import with_open_ends
from powertui.data.energy.findings.overlapping_loads import loads_above_level
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import (
    Expectation,
    SensorReadings,
    readings_subset,
)
from powertui.data.energy.findings.residual_noise import (
    ResidualNoise,
    residual_noise,
)
from powertui.data.energy.robust_stats import noise_floor, running_sums, spread, sums_over
from powertui.data.energy.samples import Samples, usual_pace_s, usual_window_s
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Readings that are looked at together. This and the others here are chosen, not measured.
_MAX_READINGS_TOGETHER = 4000
_PIECE_READINGS = 2000  # readings of a piece; the next one begins in its middle
# Readings of a layer that make one of the next, which has to have less than this share of them.
_MERGED_READINGS = 8
_MAX_GATHERED_SHARE = 0.7
# Of a piece: longer stretches are for the next layer.
_MAX_PIECE_SHARE = settings.MAX_BURST_SHARE
# Errors: so far off are the largest of many readings by chance.
_MAX_CHANCE_ERRORS = settings.LARGEST_CHANCE_SIGMAS
# Errors: pieces in which nothing is so far off are not looked at closely ...
_MIN_ERRORS = settings.OUTLIER_SIGMAS
# ... but for so many of them, which show the noise.
_CLOSE_PIECES = 9
# Pieces of a layer that are looked at closely: each takes about 0.07 s of CPU. A day of one reading
# a second has 86 of them: at half as many a day full of bursts would not be looked at whole.
_MAX_CLOSE_PIECES = 100
# Lengths of short stretches that are tried, each so many times the one before.
_LENGTH_RATIO = 1.3


class LayerFindings(NamedTuple):
    """What was found in all layers, the finest one's noise, and what its readings were held
    against.
    """

    expected: Expectation
    boxes: list[Box]
    noise: ResidualNoise
    skipped: tuple[tuple[float, float], ...] = ()  # s: not looked at closely, there is too much


class _PieceFindings(NamedTuple):
    """What the pieces of one layer show."""

    boxes: list[Box]
    noise: ResidualNoise
    skipped: list[tuple[float, float]]


def find_in_layers(data: Samples, expect: Callable[[Samples], Expectation]) -> LayerFindings:
    """Stretches that noise does not explain. `expect` says what readings should have been."""
    finest = expect(data)
    noise = residual_noise(np.empty(0), 1.0)
    boxes: list[Box] = []
    skipped: list[tuple[float, float]] = []
    if finest.reason:
        return LayerFindings(finest, boxes, noise)
    judged_share = float(finest.readings.judged.mean())
    layers = list(_layers(data, judged_share))
    last_number = len(layers) - 1
    for number, layer in enumerate(layers):
        model = expect(layer) if number else finest
        if model.reason:
            break
        readings = _aside(model.readings, boxes)
        if number == last_number:
            readings, layer_boxes, layer_noise = loads_above_level(readings, looks=len(layers))
        else:
            layer_boxes, layer_noise, layer_skipped = _pieces(readings, len(layers))
            skipped += layer_skipped
        boxes += layer_boxes
        if number == 0:
            finest = replace(finest, readings=readings)
            noise = layer_noise
    boxes = [with_open_ends(box, finest.readings) for box in boxes]
    boxes.sort(key=lambda box: box.start)
    return LayerFindings(
        expected=finest,
        boxes=boxes,
        noise=noise,
        skipped=tuple(skipped),
    )


def piece_count(readings: SensorReadings) -> int:
    """At how many pieces so many readings are looked at."""
    count = int(readings.judged.sum())
    return 1 if count <= _MAX_READINGS_TOGETHER else 2 * len(readings) // _PIECE_READINGS


def longest_stretch_s(readings: SensorReadings) -> float:
    """The longest stretch (s) that is looked for among all of these, and not among fewer."""
    if int(readings.judged.sum()) <= _MAX_READINGS_TOGETHER:
        return math.inf
    length_s = float(readings.hi[-1] - readings.lo[0])
    return _MAX_PIECE_SHARE * _PIECE_READINGS * length_s / len(readings)


def _layers(data: Samples, judged_share: float) -> Iterator[Samples]:
    """The readings, then fewer and fewer of them, each the mean of several, until those that are
    judged can be looked at together.
    """
    while len(data) * judged_share > _MAX_READINGS_TOGETHER:
        yield data
        pace = usual_pace_s(data, single=0.0)
        fewer = data.gathered(max(_MERGED_READINGS * pace, 0.0))
        # It has too many holes to be put together.
        is_hardly_fewer = len(fewer) > _MAX_GATHERED_SHARE * len(data)
        if is_hardly_fewer and len(fewer) * judged_share > _MAX_READINGS_TOGETHER * 1.5:
            return
        data = fewer
    yield data


def _aside(readings: SensorReadings, boxes: list[Box]) -> SensorReadings:
    """The readings without those that show what was found already."""
    if not boxes:
        return readings
    judged = readings.judged.copy()
    margin_s = usual_window_s(readings)
    for box in boxes:
        first = int(np.searchsorted(readings.hi, box.start - margin_s))
        last = int(np.searchsorted(readings.lo, box.end + margin_s))
        judged[first:last] = False
    return replace(readings, judged=judged)


def _pieces(readings: SensorReadings, layers: int) -> _PieceFindings:
    """Short stretches, piece by piece, and the noise of the usual piece."""
    bounds = _bounds(len(readings))
    looks = len(bounds) * layers
    boxes: list[Box] = []
    noises: list[ResidualNoise] = []
    close, skipped = _close_pieces(readings, bounds)
    for first, end in close:
        piece = readings_subset(readings, np.arange(first, end))
        piece_boxes, noise = overlapping_loads.find_loads(piece, looks=looks)
        noises.append(noise)
        lo = float(piece.lo[0])
        hi = float(piece.hi[-1])
        max_s = _MAX_PIECE_SHARE * (hi - lo)
        for box in piece_boxes:
            is_short = box.end - box.start <= max_s
            begins_inside = box.start > lo or first == 0
            ends_inside = box.end < hi or end == len(readings)
            if is_short and begins_inside and ends_inside:
                boxes.append(box)
    skipped_spans = []
    for first, end in skipped:
        lo = float(readings.lo[first])
        hi = float(readings.hi[end - 1])
        skipped_spans.append((lo, hi))
    return _PieceFindings(
        boxes=_once(boxes),
        noise=_usual(noises),
        skipped=skipped_spans,
    )


def _close_pieces(
    readings: SensorReadings,
    bounds: list[tuple[int, int]],
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The pieces that are looked at closely, and those that should be but are too many."""
    sampled: list[int] = []  # they show the noise
    unlike: list[int] = []
    each = max(1, len(bounds) // _CLOSE_PIECES)
    min_judged = max(stretch_search.MIN_READINGS, _PIECE_READINGS // 20)
    for number, (first, end) in enumerate(bounds):
        piece = readings_subset(readings, np.arange(first, end))
        judged_count = int(piece.judged.sum())
        if judged_count < min_judged:
            continue
        if number % each == 0:
            sampled.append(number)
        elif _most_errors(piece) >= _MIN_ERRORS:
            unlike.append(number)
    skipped: list[int] = []
    room = _MAX_CLOSE_PIECES - len(sampled)
    if len(unlike) > room:
        errors = _short_errors(readings, bounds)
        unlike = [number for number in unlike if errors[number] >= _MIN_ERRORS]
        unlike.sort(key=lambda number: -errors[number])
        skipped = unlike[room:]
        unlike = unlike[:room]
    close_numbers = sorted((*sampled, *unlike))
    return (
        [bounds[number] for number in close_numbers],
        [bounds[number] for number in sorted(skipped)],
    )


def _short_errors(readings: SensorReadings, bounds: list[tuple[int, int]]) -> list[float]:
    """For each piece, by how many errors a short stretch in it differs from its surroundings.

    These are as many readings before and as many after: a load that comes and stays differs from
    one side alone, and is for the next layer. Errors are those of neighbors that know nothing of
    each other, as in `_most_errors`.
    """
    rows = np.flatnonzero(readings.judged)
    values = readings.beyond()[rows]
    doubt = float(readings.doubt[rows].min())
    # Switches do not make the differences between neighbors larger, except where they are.
    differences_w = np.diff(values)
    noise_w = _noise_w(spread(differences_w) / math.sqrt(2), readings.quantum)
    sums = running_sums(values)
    errors = np.zeros(len(values))
    max_length = min(_MAX_PIECE_SHARE * _PIECE_READINGS, len(values) / 3)
    length = 1
    while length <= max_length:
        smaller_w = _smaller_differences(sums, length)
        error_w = math.hypot(noise_w * math.sqrt(2 / length), doubt)
        first = length + length // 2
        middle = slice(first, first + len(smaller_w))
        errors[middle] = np.maximum(errors[middle], smaller_w / error_w)
        length = _next_length(length)
    of_pieces = []
    for first, end in bounds:
        first_judged = int(rows.searchsorted(first))
        end_judged = int(rows.searchsorted(end))
        piece_errors = errors[first_judged:end_judged]
        of_pieces.append(float(piece_errors.max(initial=0.0)))
    return of_pieces


def _smaller_differences(sums: Floats, length: int) -> Floats:
    """By how much each stretch of so many readings is over, or under, what is on both of its sides:
    the smaller of both differences; 0 where it is over one and under the other.
    """
    means = sums_over(sums, length) / length
    stretch = means[length:-length]
    over_before = stretch - means[: -2 * length]
    over_after = stretch - means[2 * length :]
    smaller = np.minimum(np.abs(over_before), np.abs(over_after))
    is_same_way = over_before * over_after > 0
    return np.where(is_same_way, smaller, 0.0)


def _most_errors(piece: SensorReadings) -> float:
    """How many errors a stretch of a piece is off at most.

    It is worked out as if neighbors knew nothing of each other, which makes errors small: the
    answer is never too low.
    """
    beyond = piece.beyond()[piece.judged]
    doubt = float(piece.doubt[piece.judged].min())
    noise_w = _noise_w(spread(beyond), piece.quantum)
    sums = running_sums(beyond - median_of_column(beyond))
    most = 0.0
    length = 1
    while length <= len(beyond):
        sums_of_stretches = sums_over(sums, length)
        off = float(np.abs(sums_of_stretches).max()) / length
        error = math.hypot(noise_w / math.sqrt(length), doubt)
        most = max(most, off / error)
        length = _next_length(length)
    return most


def _next_length(length: int) -> int:
    """The next length of short stretches that is tried."""
    return max(length + 1, int(length * _LENGTH_RATIO))


def _noise_w(spread_w: float, quantum: float) -> float:
    """The noise of a reading, which is rounded at least."""
    return max(spread_w, noise_floor(quantum, 0.0))


def _bounds(count: int) -> list[tuple[int, int]]:
    """First and last (exclusive) reading of each piece: all of one length, each overlapping the
    next by half.
    """
    half = _PIECE_READINGS // 2
    last_start = count - _PIECE_READINGS
    bounds = []
    for start in range(0, max(1, count - half), half):
        first = max(0, min(start, last_start))
        end = min(count, start + _PIECE_READINGS)
        bounds.append((first, end))
    return bounds


def _once(boxes: list[Box]) -> list[Box]:
    """What two pieces show both, as the surer of them shows it."""
    out: list[Box] = []
    for box in sorted(boxes, key=lambda box: box.start):
        before = out[-1] if out else None
        if before is None or box.start >= before.end:
            out.append(box)
        elif _is_surer(box, before):
            out[-1] = box
    return out


def _is_surer(first: Box, second: Box) -> bool:
    return (first.p, -abs(first.joules)) < (second.p, -abs(second.joules))


def _usual(noises: list[ResidualNoise]) -> ResidualNoise:
    """The noise of the middle one of all pieces.

    Its largest readings are tails where they are larger than chance makes them.
    """
    if not noises:
        return residual_noise(np.empty(0), 1.0)
    by_size = sorted(noises, key=lambda noise: noise.single)
    middle = by_size[len(by_size) // 2]
    if middle.most > _MAX_CHANCE_ERRORS * middle.single:
        return middle
    return replace(middle, shortest=1, most=math.inf)
