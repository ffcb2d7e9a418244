"""One stretch of unexpected power, and how several tellings of it become one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.finding_rules import alike_heights, same_stretch
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import Z95, Bools
from powertui.value_types import dataclass

# Of both together: a pause no longer than this does not part a load. This and the others here are
# chosen, not measured.
_MAX_BREATH_SHARE = settings.MINOR_SHARE
# Of both together: a longer one, of which the readings say nothing, may be as long as this.
_MAX_UNSEEN_SHARE = settings.MAJORITY_SHARE
# Of the readings in such a pause: so many may speak against one load.
_MAX_AGAINST_SHARE = settings.VISIBLE_SHARE
# Of the height of both: what a reading there may be off by and still be of their load.
_SPARE_SHARE = settings.LESSER_SHARE
# Of its own length: so much of a box may be past the end of the one that it is on.
_MAX_STICKING_OUT = settings.MINOR_SHARE


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

    @property
    def span(self) -> tuple[float, float]:
        """From when to when, s."""
        return self.start, self.end

    def moved(self, by: float) -> Box:
        """The same, later by so many seconds."""
        earliest_start, latest_start = self.start_within
        earliest_end, latest_end = self.end_within
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            start_within=(earliest_start + by, latest_start + by),
            end_within=(earliest_end + by, latest_end + by),
        )

    def wider(self, sigma: float) -> Box:
        """The same, its place uncertain by so much more."""
        # Watts are those of this very stretch: laid beside the load by so much, it contains the
        # less of it.
        half_s = Z95 * sigma
        length = max(self.end - self.start, sigma, 1e-9)
        watts_off = half_s * abs(self.watts) / length
        lo_watts, hi_watts = _widened(
            self.watts,
            (self.lo_watts, self.hi_watts),
            watts_off,
        )
        return replace(
            self,
            start_within=_widened(self.start, self.start_within, half_s),
            end_within=_widened(self.end, self.end_within, half_s),
            lo_watts=lo_watts,
            hi_watts=hi_watts,
        )


def joined(weighted: Sequence[tuple[float, Box]]) -> Box:
    """One stretch as it was found several times: its figures are means by weight, its intervals
    contain all of them.
    """
    weights = [weight for weight, _ in weighted]
    boxes = [box for _, box in weighted]
    share = np.array(weights) / sum(weights)

    def mean(of_box: Callable[[Box], float]) -> float:
        return float(share @ np.asarray([of_box(box) for box in boxes]))

    heaviest = boxes[weights.index(max(weights))]
    return replace(
        heaviest,
        start=mean(lambda box: box.start),
        end=mean(lambda box: box.end),
        watts=mean(lambda box: box.watts),
        joules=mean(lambda box: box.joules),
        p=max(box.p for box in boxes),
        start_within=_hull([box.start_within for box in boxes]),
        end_within=_hull([box.end_within for box in boxes]),
        lo_watts=min(box.lo_watts for box in boxes),
        hi_watts=max(box.hi_watts for box in boxes),
        lo_joules=min(box.lo_joules for box in boxes),
        hi_joules=max(box.hi_joules for box in boxes),
    )


def _hull(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The interval that contains all of these."""
    lows, highs = zip(*intervals, strict=True)
    return min(lows), max(highs)


def _widened(
    value: float,
    interval: tuple[float, float],
    half: float,
) -> tuple[float, float]:
    """The interval of a value, with an error of that half width that is independent of it."""
    low, high = interval
    lower_half = math.hypot(value - low, half)
    upper_half = math.hypot(high - value, half)
    return value - lower_half, value + upper_half


def same_load(first: Box, second: Box) -> bool:
    """Whether both are one stretch, and are off to the same side."""
    return first.watts * second.watts > 0 and same_stretch(first.span, second.span)


def one_load(boxes: Sequence[Box], readings: SensorReadings | None = None) -> list[Box]:
    """The boxes by their start, those that are parts of one load as one.

    Two are parts of one load where the second begins within the first: it was found in two layers.
    So are two of much the same height with hardly a pause between them, or with a longer one of
    which the readings say nothing: where every one of them may hold as much as well.
    """
    by_start = sorted(boxes, key=lambda box: box.start)
    # A weak one all over two strong ones, found after them, does not fill the pause between them.
    after_pauses = _united_where(by_start, lambda load, box: _gap_between(load, box, readings))
    return _united_where(after_pauses, _gap_within)


def _united_where(
    boxes: Sequence[Box],
    gap_s: Callable[[Box, Box], float | None],
) -> list[Box]:
    """Each box united with the last one before it that it is one load with.

    `gap_s`: for how long (s) the load was there between two boxes and not seen; None where they are
    two loads.
    """
    loads: list[Box] = []
    for box in boxes:
        for number in reversed(range(len(loads))):
            load = loads[number]
            between_s = gap_s(load, box)
            if between_s is not None:
                loads[number] = _united(load, box, between_s)
                break
            if load.watts * box.watts < 0:  # it parts those on either side
                loads.append(box)
                break
        else:
            loads.append(box)
    return loads


def _gap_within(load: Box, box: Box) -> float | None:
    """Nothing is between a load and a box of the same sign that begins in it."""
    length_s = box.end - box.start
    begins_inside = box.start < load.end - _MAX_STICKING_OUT * length_s
    return 0.0 if begins_inside and load.watts * box.watts > 0 else None


def _gap_between(
    before: Box,
    box: Box,
    readings: SensorReadings | None,
) -> float | None:
    """For how long one load was there, and not seen, between two boxes of much the same height; a
    pause of its own, that the readings show, is none of it.
    """
    if _gap_within(before, box) is not None or not alike_heights(box.watts, before.watts):
        return None
    both_s = box.end - before.start
    gap_s = box.start - before.end
    if gap_s <= _MAX_BREATH_SHARE * both_s:
        if readings is None:
            return 0.0
        holding = _holding_between(readings, before, box)
        return gap_s * float(holding.mean()) if len(holding) else gap_s
    if readings is None or gap_s > _MAX_UNSEEN_SHARE * both_s:
        return None
    holding = _holding_between(readings, before, box)
    # A reading that straddles an epoch's end may be anywhere.
    against = int((~holding).sum())
    return gap_s if against <= max(1, _MAX_AGAINST_SHARE * len(holding)) else None


def _holding_between(readings: SensorReadings, before: Box, box: Box) -> Bools:
    """Of each reading between two boxes, whether it may hold the load that both are of."""
    after_first = readings.lo >= before.end - 1e-9
    before_second = readings.hi <= box.start + 1e-9
    rows = readings.judged & after_first & before_second
    height = (before.watts + box.watts) / 2
    return np.asarray(may_hold(readings, height)[rows])


def may_hold(readings: SensorReadings, height: float) -> Bools:
    """Which readings may hold so much (W) that nothing explains, those of which nothing can be said
    included.
    """
    rest = readings.watts - height
    spare = 2 * readings.doubt + _SPARE_SHARE * abs(height)
    is_high_enough = rest >= readings.floor - spare
    is_low_enough = rest <= readings.ceiling + spare
    holds = is_high_enough & is_low_enough
    return np.asarray(~readings.judged | holds)


def _united(first: Box, second: Box, gap_s: float) -> Box:
    """One box from the start of the first to the end of the later one, with the energy of both and
    of the time in which the load was not seen; one may be inside the other.
    """
    later = second if second.end > first.end else first
    first_s = first.end - first.start
    second_s = second.end - second.start
    seen_s = max(first_s + second_s, 1e-9)
    height = (first_s * first.watts + second_s * second.watts) / seen_s
    # Both stand on the same readings beside them: what these leave open does not average out.
    first_width_w = first.hi_watts - first.lo_watts
    second_width_w = second.hi_watts - second.lo_watts
    watts_half = (first_s * first_width_w + second_s * second_width_w) / seen_s / 2
    joules = first.joules + second.joules + height * gap_s
    joules_width = math.hypot(
        first.hi_joules - first.lo_joules,
        second.hi_joules - second.lo_joules,
    )
    joules_half = joules_width / 2 + watts_half * gap_s
    watts = joules / max(later.end - first.start, 1e-9)
    return replace(
        first,
        end=later.end,
        end_within=later.end_within,
        watts=watts,
        lo_watts=watts - watts_half,
        hi_watts=watts + watts_half,
        joules=joules,
        lo_joules=joules - joules_half,
        hi_joules=joules + joules_half,
        p=min(first.p, second.p),
    )
