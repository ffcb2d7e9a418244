"""How far the clock of one rank is ahead of another's, by the collectives that both ran.

No rank leaves a collective before the last has arrived, and all leave it nearly together. So the
ends of one collective are one moment on two clocks. Which call of one rank is which of the other is
not known beforehand: profiles begin at different calls, and some have lost a few. The difference of
clocks is the one at which most ends meet.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import PS_PER_US, Z95, Int64s
from powertui.data.quantiles import median_of_column
from powertui.data.run.rank_collectives import RankCalls
from powertui.named_tuples import NamedTuple

# Ends of one collective lie within this time of each other, while the clocks are compared.
# In kineto_hta_ranks (128 ranks, all-to-all over InfiniBand) they were up to 0.33 ms apart.
_MAX_APART_PS = 500 * PS_PER_US
# Calls by which two profiles may be apart, either way. Chosen: 64 steps of one collective each.
_MAX_SHIFT = 64
_MIN_MATCHES = 3  # fewer show no spread
_MIN_SHARE = 0.5  # of the calls of the rank that has fewer. Chosen, not measured
# Standard deviations by which matches have to exceed those that come about by chance.
_MIN_SIGMAS_OVER_CHANCE = 5.0
# A second difference of clocks that matches nearly as many ends: which is right is not known.
_RIVAL_SHARE = 0.9
# … unless the ends meet so many times closer at one of them.
_CLEARLY_CLOSER = 3.0
# … or unless the recorded clocks are so much nearer to one of them. Chosen, not measured.
_MAX_SHARE_OF_SHIFT = 0.25
# Calls in a stretch in which a clock is looked at by itself, and how many stretches at the most.
# Chosen: shorter ones, or more, find smaller moves and more of them by chance.
_MIN_STRETCH = 8
_MAX_STRETCHES = 10
_MAD_TO_SIGMA = 1.4826
_MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean


class ClockDifference(NamedTuple):
    """By how much a rank's clock is ahead of another's, as both are recorded."""

    ahead_ps: float
    half_ps: float  # half of the 95 % interval
    spread_ps: float  # one standard deviation of single collectives
    matches: int
    # By how much it was further in some of the calls: a clock that was set, or that drifts.
    moved_ps: float = 0.0

    @property
    def whole_half_ps(self) -> float:
        """Half of an interval that holds the difference at every moment of the run."""
        return self.half_ps + self.moved_ps


def pair_difference(first: RankCalls, second: RankCalls) -> ClockDifference | None:
    """How far the second one's clock is ahead; None where their collectives do not show it."""
    pairs = _numbered_pairs(first, second)
    if pairs is None:
        pairs = _pairs_by_time(first, second)
    if pairs is None or len(pairs) < _MIN_MATCHES:
        return None
    first_row, second_row = pairs.T
    ahead = ends_on_axis(second)[second_row] - ends_on_axis(first)[first_row]
    median = median_of_column(ahead)
    spread = _MAD_TO_SIGMA * median_of_column(np.abs(ahead - median))
    median_error = _MEDIAN_ERROR * spread / np.sqrt(len(pairs))
    # A rank may always be among the last to leave, by as much as the ends are apart.
    half = Z95 * median_error + spread
    order = np.argsort(first.start[first_row], kind="stable")
    moved = max(_moved_within(ahead[order], median, spread), _moved_beside(first, second, pairs))
    return ClockDifference(
        ahead_ps=median,
        half_ps=half,
        spread_ps=spread,
        matches=len(pairs),
        moved_ps=moved,
    )


def _moved_within(ahead: Int64s, median: float, spread: float) -> float:
    """How far the difference in some stretch of the matches is from that of all; 0 where chance
    moves it as far. `ahead`: by time.
    """
    count = min(_MAX_STRETCHES, len(ahead) // _MIN_STRETCH)
    if count < 2:
        return 0.0
    stretches = np.array_split(ahead, count)
    furthest = max(abs(median_of_column(stretch) - median) for stretch in stretches)
    by_chance = _MIN_SIGMAS_OVER_CHANCE * _MEDIAN_ERROR * spread / np.sqrt(_MIN_STRETCH)
    return float(furthest) if furthest > by_chance else 0.0


def _moved_beside(first: RankCalls, second: RankCalls, pairs: Int64s) -> float:
    """The same of the calls before and after all matches: a clock that was set by more than ends
    may be apart matches on one side of that moment alone.
    """
    furthest = 0.0
    first_end = ends_on_axis(first)
    second_end = ends_on_axis(second)
    for mine, others in _shared(first, second):
        matched = pairs[np.isin(pairs[:, 0], mine)]
        if not len(matched):
            continue
        at_mine = np.searchsorted(mine, matched[:, 0])
        at_others = np.searchsorted(others, matched[:, 1])
        ahead = median_of_column(second_end[matched[:, 1]] - first_end[matched[:, 0]])
        before = min(int(at_mine.min()), int(at_others.min()))
        after = min(len(mine) - 1 - int(at_mine.max()), len(others) - 1 - int(at_others.max()))
        begin_mine, begin_others = int(at_mine.min()) - before, int(at_others.min()) - before
        end_mine, end_others = int(at_mine.max()) + 1, int(at_others.max()) + 1
        for row, other_row, count in (
            (begin_mine, begin_others, before),
            (end_mine, end_others, after),
        ):
            if count < _MIN_STRETCH:
                continue
            beside = second_end[others[other_row : other_row + count]]
            beside = beside - first_end[mine[row : row + count]]
            middle = median_of_column(beside)
            if median_of_column(np.abs(beside - middle)) <= _MAX_APART_PS:
                furthest = max(furthest, abs(middle - ahead))
    return float(furthest)


def starts_on_axis(calls: RankCalls) -> Int64s:
    """When they began, on the axis of Unix time as far as the profile knows it."""
    return calls.start + calls.zero_ps


def ends_on_axis(calls: RankCalls) -> Int64s:
    """When they ended, on the same axis."""
    return calls.end + calls.zero_ps


def _shared(first: RankCalls, second: RankCalls) -> list[tuple[Int64s, Int64s]]:
    """The rows of both for each operation that both ran."""
    numbers = {key: number for number, key in enumerate(second.keys)}
    rows = []
    for number, key in enumerate(first.keys):
        if key in numbers:
            mine = np.flatnonzero(first.key == number)
            others = np.flatnonzero(second.key == numbers[key])
            rows.append((mine, others))
    return rows


def _numbered_pairs(first: RankCalls, second: RankCalls) -> Int64s | None:
    """[pairs × 2]: rows of one call by the number that its group gave it; None without numbers."""
    pairs = []
    for mine, others in _shared(first, second):
        if (first.sequence[mine] < 0).any() or (second.sequence[others] < 0).any():
            return None
        _, at_first, at_second = np.intersect1d(
            first.sequence[mine], second.sequence[others], return_indices=True
        )
        pairs.append(np.stack([mine[at_first], others[at_second]], axis=1))
    return np.concatenate(pairs) if pairs else None


def _pairs_by_time(first: RankCalls, second: RankCalls) -> Int64s | None:
    """The same by the difference of clocks at which most ends meet."""
    shared = _shared(first, second)
    if not shared:
        return None
    first_end = ends_on_axis(first)
    second_end = ends_on_axis(second)
    differences = []
    fewest = 0
    for mine, others in shared:
        differences.append(_differences(first_end[mine], second_end[others]))
        fewest += min(len(mine), len(others))
    candidates = np.sort(np.concatenate(differences))
    on_clock = first.on_clock and second.on_clock
    ahead = _best_difference(candidates, fewest, on_clock=on_clock)
    if ahead is None:
        return None
    pairs = []
    for mine, others in shared:
        others_end = second_end[others] - ahead
        pairs.append(_nearest(first_end[mine], others_end, mine, others, _MAX_APART_PS))
    return np.concatenate(pairs)


def _differences(first: Int64s, second: Int64s) -> Int64s:
    """All differences of ends that may be one call's."""
    if max(len(first), len(second)) <= _MAX_SHIFT:
        return np.subtract.outer(second, first).ravel()
    shifts = range(-min(_MAX_SHIFT, len(first) - 1), min(_MAX_SHIFT, len(second) - 1) + 1)
    parts = []
    for shift in shifts:
        mine = first[max(0, -shift) :]
        others = second[max(0, shift) :]
        count = min(len(mine), len(others))
        parts.append(others[:count] - mine[:count])
    return np.concatenate(parts)


def _best_difference(candidates: Int64s, fewest: int, *, on_clock: bool) -> int | None:
    """The difference that most candidates agree in; None where that may be chance, or where
    another one does as well.
    """
    # How many candidates are within the window that begins at each of them.
    window_ps = 2 * _MAX_APART_PS
    window_end = candidates.searchsorted(candidates + window_ps, side="right")
    counts = window_end - np.arange(len(candidates))
    best = int(counts.max())
    span = max(1, int(candidates[-1] - candidates[0]))
    by_chance = len(candidates) * window_ps / span
    more_than_chance = by_chance + _MIN_SIGMAS_OVER_CHANCE * np.sqrt(by_chance)
    needed = max(_MIN_MATCHES, _MIN_SHARE * fewest, more_than_chance)
    # Where everything lies within the window, nothing is to choose between.
    if span > 2 * window_ps and best < min(needed, fewest):
        return None
    rivals = _rivals(candidates, counts, best)
    if len(rivals) == 1:
        return rivals[0].middle
    closest, second = sorted(rivals, key=lambda rival: rival.spread)[:2]
    if second.spread >= _CLEARLY_CLOSER * closest.spread:
        return closest.middle
    if not on_clock:
        return None
    # Steps that are all alike match at any shift: then the clocks as recorded decide, where they
    # leave one shift alone.
    nearest, further = sorted(rivals, key=lambda rival: abs(rival.middle))[:2]
    if abs(nearest.middle) < _MAX_SHARE_OF_SHIFT * abs(further.middle):
        return nearest.middle
    return None


class _Rival(NamedTuple):
    """A difference of clocks at which many ends meet."""

    middle: int
    spread: float  # median deviation


def _rivals(candidates: Int64s, counts: Int64s, best: int) -> list[_Rival]:
    """All differences that match nearly as many ends as the best."""
    remaining = counts.copy()
    rivals: list[_Rival] = []
    while True:
        place = int(remaining.argmax())
        if remaining[place] < max(1, _RIVAL_SHARE * best):
            return rivals
        begin = candidates[place]
        inside = candidates[place : place + int(counts[place])]
        middle = int(_middle_value(inside))
        deviations = np.sort(np.abs(inside - middle))
        rivals.append(_Rival(middle, max(1.0, _middle_value(deviations))))
        # What is nearer than two windows is the same difference.
        first = candidates.searchsorted(begin - 4 * _MAX_APART_PS)
        after_last = candidates.searchsorted(begin + 4 * _MAX_APART_PS, side="right")
        remaining[first:after_last] = 0


def _middle_value(ascending: Int64s) -> float:
    """The median. NumPy's own takes 20 µs for a few values; a run of 256 hosts has 10,000 such."""
    half = len(ascending) // 2
    if len(ascending) % 2:
        return float(ascending[half])
    return (float(ascending[half - 1]) + float(ascending[half])) / 2


def _nearest(
    first: Int64s,
    second: Int64s,
    first_rows: Int64s,
    second_rows: Int64s,
    apart_ps: float,
) -> Int64s:
    """[pairs × 2]: rows whose ends are each other's nearest, and no further apart than that."""
    nearest_second = nearest_places(second, first)
    nearest_first = nearest_places(first, second)
    is_mutual = nearest_first[nearest_second] == np.arange(len(first))
    is_close = np.abs(second[nearest_second] - first) <= apart_ps
    chosen = np.flatnonzero(is_mutual & is_close)
    return np.stack([first_rows[chosen], second_rows[nearest_second[chosen]]], axis=1)


def nearest_places(values: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted value the place of the nearest of these."""
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    after = in_order.searchsorted(wanted).clip(1, max(1, len(values) - 1))
    if len(values) == 1:
        return np.zeros(len(wanted), np.int64)
    before = after - 1
    is_before = wanted - in_order[before] <= in_order[after] - wanted
    return order[np.where(is_before, before, after)]
