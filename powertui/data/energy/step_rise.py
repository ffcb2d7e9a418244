"""How fast the sharpest steps of power rise in the readings of a sensor."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.reading_stretch import ReadingStretch
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

_STEP_RANK = 3  # of the sharpest steps: the first two may be chance
SHARP_SHARE = 0.7  # of a step that one move must make to be called sharp
# Of the range of all readings, from which on the rise of a step is measured: what is shorter than
# the window rises faster, but less far.
RISING_STEP_SHARE = settings.MAJORITY_SHARE
_SPANS_AROUND = 4  # on either side of a step's middle: what the step rises by in all
_SPAN_GROWTH = 1.4  # from one rise that is tried to the next
_ROUNDING = 1e-9


def sharpest_rise(stretch: ReadingStretch, rank: int = _STEP_RANK) -> float:
    """Refreshes that the sharpest steps take, the first or the third of them; 1 when one comes
    within a refresh.

    NaN when there is no step worth the name.
    """
    level = stretch.level
    large_w = RISING_STEP_SHARE * stretch.swing
    if large_w <= 0:
        return float("nan")
    ranges = Ranges(level)
    shorter = 0
    span = 1
    while 2 * _SPANS_AROUND * span < len(level):
        if _may_be_sharp(level, span, large_w):
            share = sharpest_share(stretch, ranges, span, large_w, rank)
            if share >= SHARP_SHARE:
                break
        shorter = span
        span = max(span + 1, round(span * _SPAN_GROWTH))
    else:
        return float("nan")
    if not shorter:
        return float(span)
    # The share is just sharp between this span and the one that was tried before.
    shorter_share = sharpest_share(stretch, ranges, shorter, large_w, rank)
    missing_share = SHARP_SHARE - shorter_share
    gained_share = max(share - shorter_share, _ROUNDING)
    return shorter + (span - shorter) * missing_share / gained_share


class _Around(NamedTuple):
    """Where readings around the middles of possible steps are."""

    readings: int  # on either side of the middle
    start: int  # of the step, from the first of these readings
    end: int
    every: slice  # middles that are tried
    middles: int  # all of them; below 1: none has enough readings around it


def _around(readings: int, span: int) -> _Around:
    around = _SPANS_AROUND * span
    return _Around(
        readings=around,
        start=around - span // 2,
        end=around + (span + 1) // 2,
        every=slice(None, None, max(1, span // 3)),
        middles=readings - 2 * around,
    )


def _moves(level: Floats, around: _Around) -> Floats:
    """What the power moves by from the start to the end of each possible step."""
    start = around.start
    end = around.end
    count = around.middles
    at_end = level[end : end + count][around.every]
    at_start = level[start : start + count][around.every]
    return np.asarray(at_end - at_start)


def _may_be_sharp(level: Floats, span: int, large_w: float) -> bool:
    """Whether any step moves so far in `span` refreshes that it could be sharp: a look that costs
    little.
    """
    around = _around(len(level), span)
    if around.middles < 1:
        return False
    moved_w = _moves(level, around)
    largest_w = max(moved_w.max(), -moved_w.min())
    return bool(largest_w >= SHARP_SHARE * large_w * (1 - _ROUNDING))


def sharpest_share(
    stretch: ReadingStretch,
    ranges: Ranges,
    span: int,
    large_w: float,
    rank: int,
) -> float:
    """The share of a step that `span` refreshes make of what eight such spans around do: of the
    sharpest step, or the third.
    """
    around = _around(len(stretch.level), span)
    if around.middles < 1:
        return 0.0
    range_w = ranges.spans(2 * around.readings + 1, around.every)
    rows = np.flatnonzero(range_w >= large_w)  # seldom many: a step is rare
    if not stretch.is_complete:
        middle = rows * around.every.step + around.readings
        rows = rows[stretch.is_read(middle - span // 2, middle + (span + 1) // 2)]
    rank = min(rank, len(range_w))
    if len(rows) < rank:
        return 0.0
    moved_w = np.abs(_moves(stretch.level, around)[rows])
    shares = moved_w / np.maximum(range_w[rows], 1e-12)
    return float(np.sort(shares)[-rank])


class Ranges:
    """From the least to the most of any number of readings in a row: of 1, 2, 4 … of them, each put
    together once.
    """

    def __init__(self, level: Floats) -> None:
        self._doubled = [(level, level)]  # most and least

    def spans(self, width: int, every: slice) -> Floats:
        """Of each `width` readings in a row, or of every so many of those."""
        power = width.bit_length() - 1
        while len(self._doubled) <= power:
            half = 1 << len(self._doubled) - 1
            most, least = self._doubled[-1]
            wider_most = np.maximum(most[:-half], most[half:])
            wider_least = np.minimum(least[:-half], least[half:])
            self._doubled.append((wider_most, wider_least))
        most, least = self._doubled[power]
        # Two of these overlap to what is asked for.
        shift = width - (1 << power)
        count = len(most) - shift
        high = np.maximum(
            most[:count][every],
            most[shift:][every],
        )
        low = np.minimum(
            least[:count][every],
            least[shift:][every],
        )
        return np.asarray(high - low)
