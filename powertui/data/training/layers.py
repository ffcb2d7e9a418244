"""Long recordings looked at in layers: what is short among all readings, piece by piece; what is
long among fewer of them.

A burst of twenty seconds is nothing where ten hours are four thousand readings, and a load of an
hour is no stretch of a piece of half an hour. So each layer tells of stretches that are short
against its pieces, from the finest on; what it found is set aside for the next one, whose readings
are several of the one before. The last layer looks at everything at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.noise import Noise, noise_of, spread
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings, readings_subset
from powertui.data.energy.samples import Samples
from powertui.data.training import overlapping_loads
from powertui.data.training.expected_course import ExpectedOfTraining

# Readings that are looked at together. This and the others here are chosen, not measured.
_MAX_READINGS_TOGETHER = 4000
_PIECE_READINGS = 2000  # readings of a piece; the next one begins in its middle
# Readings of a layer that make one of the next.
_MERGED_READINGS = 8
# Of a piece: longer stretches are for the next layer.
_MAX_PIECE_SHARE = 0.4
# Errors: so far off are the largest of many readings by chance.
_MAX_CHANCE_ERRORS = 6.0
# Errors: pieces in which nothing is so far off are not looked at closely ...
_MIN_ERRORS = 5.0
# ... but for so many of them, which show the noise.
_CLOSE_PIECES = 9
# Readings of a layer, on either side of what was found before, that are left out.
_MARGIN_READINGS = 1.0


class LayerFindings(NamedTuple):
    """What was found in all layers, the finest one's noise, and what its readings were held
    against.
    """

    expected: ExpectedOfTraining
    boxes: list[Box]
    noise: Noise


def find_in_layers(data: Samples, expect: Callable[[Samples], ExpectedOfTraining]) -> LayerFindings:
    """Stretches that noise does not explain. `expect` tells what readings should have been."""
    finest: ExpectedOfTraining | None = None
    noise = noise_of(np.empty(0), 1.0)
    every: list[Box] = []
    layers = list(_layers(data))
    for number, layer in enumerate(layers):
        model = expect(layer)
        if model.reason:
            return (
                LayerFindings(model, every, noise)
                if finest is None
                else LayerFindings(finest, every, noise)
            )
        readings = _aside(model.readings, every)
        last = number == len(layers) - 1
        more, here = (
            overlapping_loads.find_loads(readings, looks=len(layers))
            if last
            else _pieces(readings, len(layers))
        )
        every += more
        if finest is None:
            finest, noise = model, here
    assert finest is not None
    return LayerFindings(finest, sorted(every, key=lambda box: box.start), noise)


def piece_count(readings: int) -> int:
    """At how many pieces so many readings are looked at."""
    return 1 if readings <= _MAX_READINGS_TOGETHER else 2 * readings // _PIECE_READINGS


def longest_stretch_s(readings: SensorReadings) -> float:
    """The longest stretch (s) that is looked for among all of these, and not among fewer."""
    count = len(readings)
    return (
        math.inf
        if count <= _MAX_READINGS_TOGETHER
        else _MAX_PIECE_SHARE * _PIECE_READINGS * float(readings.hi[-1] - readings.lo[0]) / count
    )


def _layers(data: Samples) -> Iterator[Samples]:
    """The readings, then fewer and fewer of them, each the mean of several, until they can be
    looked at together.
    """
    while len(data) > _MAX_READINGS_TOGETHER:
        yield data
        pace = float(np.median(np.diff(data.hi)))
        fewer = data.gathered(max(_MERGED_READINGS * pace, 0.0))
        if len(fewer) > _MAX_READINGS_TOGETHER * 1.5 and len(fewer) > 0.7 * len(
            data
        ):  # it has too many holes to be put together
            return
        data = fewer
    yield data


def _aside(readings: SensorReadings, boxes: list[Box]) -> SensorReadings:
    """The readings without those that show what was found already."""
    if not boxes:
        return readings
    judged = readings.judged.copy()
    width = _MARGIN_READINGS * float(np.median(readings.hi - readings.lo))
    for box in boxes:
        judged[
            int(np.searchsorted(readings.hi, box.start - width)) : int(
                np.searchsorted(readings.lo, box.end + width)
            )
        ] = False
    return replace(readings, judged=judged)


def _pieces(readings: SensorReadings, layers: int) -> tuple[list[Box], Noise]:
    """Short stretches, piece by piece, and the noise of the usual piece."""
    bounds = _bounds(len(readings))
    out: list[Box] = []
    noises: list[Noise] = []
    close = max(1, len(bounds) // _CLOSE_PIECES)
    for number, (first, end) in enumerate(bounds):
        piece = readings_subset(readings, np.arange(first, end))
        if int(piece.judged.sum()) < max(stretch_search.MIN_READINGS, _PIECE_READINGS // 20) or (
            number % close and _most(piece) < _MIN_ERRORS
        ):
            continue
        more, noise = overlapping_loads.find_loads(piece, looks=len(bounds) * layers)
        noises.append(noise)
        lo, hi = float(piece.lo[0]), float(piece.hi[-1])
        for box in more:
            short = box.end - box.start <= _MAX_PIECE_SHARE * (hi - lo)
            inside = (box.start > lo or first == 0) and (box.end < hi or end == len(readings))
            if short and inside:
                out.append(box)
    return _once(out), _usual(noises)


def _most(piece: SensorReadings) -> float:
    """How many errors a stretch of a piece is off at most.

    It is worked out as if neighbors knew nothing of each other, which makes errors small: the
    answer is never too low.
    """
    beyond, doubt = piece.beyond()[piece.judged], float(piece.doubt[piece.judged].min())
    noise_w = max(spread(beyond), piece.quantum / math.sqrt(12), 1e-9)
    sums = np.concatenate([[0.0], np.cumsum(beyond - np.median(beyond))])
    most, length = 0.0, 1
    while length <= len(beyond):
        off = float(np.abs(sums[length:] - sums[:-length]).max()) / length
        most = max(most, off / math.hypot(noise_w / math.sqrt(length), doubt))
        length = max(length + 1, int(length * 1.3))
    return most


def _bounds(count: int) -> list[tuple[int, int]]:
    """First and last (exclusive) reading of each piece: all of one length, each overlapping the
    next by half.
    """
    starts = range(0, max(1, count - _PIECE_READINGS // 2), _PIECE_READINGS // 2)
    return [
        (max(0, min(start, count - _PIECE_READINGS)), min(count, start + _PIECE_READINGS))
        for start in starts
    ]


def _once(every: list[Box]) -> list[Box]:
    """What two pieces show both, as the surer of them tells it."""
    out: list[Box] = []
    for box in sorted(every, key=lambda box: box.start):
        before = out[-1] if out else None
        if before is None or box.start >= before.end:
            out.append(box)
        elif (box.p, -abs(box.joules)) < (before.p, -abs(before.joules)):
            out[-1] = box
    return out


def _usual(noises: list[Noise]) -> Noise:
    """The noise of the middle one of all pieces.

    Its largest readings are tails where they are larger than chance makes them.
    """
    if not noises:
        return noise_of(np.empty(0), 1.0)
    middle = sorted(noises, key=lambda noise: noise.one)[len(noises) // 2]
    return (
        replace(middle, shortest=1, most=math.inf)
        if middle.most <= _MAX_CHANCE_ERRORS * middle.one
        else middle
    )
