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
    first_end = ends_on_axis(first)[first_row]
    second_end = ends_on_axis(second)[second_row]
    ahead = second_end - first_end
    median = median_of_column(ahead)
    deviations = np.abs(ahead - median)
    spread = _MAD_TO_SIGMA * median_of_column(deviations)
    median_error = _MEDIAN_ERROR * spread / np.sqrt(len(pairs))
    by_start = np.argsort(first.start[first_row], kind="stable")
    moved_within = _moved_within(ahead[by_start], median, spread)
    moved_beside = _moved_beside(first, second, pairs)
    return ClockDifference(
        ahead_ps=median,
        # A rank may always be among the last to leave, by as much as the ends are apart.
        half_ps=Z95 * median_error + spread,
        spread_ps=spread,
        matches=len(pairs),
        moved_ps=max(moved_within, moved_beside),
    )


def _moved_within(ahead: Int64s, median: float, spread: float) -> float:
    """How far the difference in some stretch of the matches is from that of all; 0 where chance
    moves it as far. `ahead`: by time.
    """
    count = min(_MAX_STRETCHES, len(ahead) // _MIN_STRETCH)
    if count < 2:
        return 0.0
    moves = []
    for stretch in np.array_split(ahead, count):
        moves.append(abs(median_of_column(stretch) - median))
    furthest = max(moves)
    by_chance = _MIN_SIGMAS_OVER_CHANCE * _MEDIAN_ERROR * spread / np.sqrt(_MIN_STRETCH)
    if furthest > by_chance:
        return float(furthest)
    return 0.0


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
        my_row, other_row = matched.T
        ahead = median_of_column(second_end[other_row] - first_end[my_row])
        my_place = mine.searchsorted(my_row)
        other_place = others.searchsorted(other_row)
        # As many calls before the first match, and after the last, as both ranks have.
        my_first = int(my_place.min())
        other_first = int(other_place.min())
        before = min(my_first, other_first)
        my_next = int(my_place.max()) + 1
        other_next = int(other_place.max()) + 1
        after = min(len(mine) - my_next, len(others) - other_next)
        for my_begin, other_begin, count in (
            (my_first - before, other_first - before, before),
            (my_next, other_next, after),
        ):
            if count < _MIN_STRETCH:
                continue
            my_rows = mine[my_begin : my_begin + count]
            other_rows = others[other_begin : other_begin + count]
            beside = second_end[other_rows] - first_end[my_rows]
            middle = median_of_column(beside)
            spread = median_of_column(np.abs(beside - middle))
            if spread <= _MAX_APART_PS:
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
    number_of_key = {key: number for number, key in enumerate(second.keys)}
    rows = []
    for my_number, key in enumerate(first.keys):
        other_number = number_of_key.get(key)
        if other_number is None:
            continue
        mine = np.flatnonzero(first.key == my_number)
        others = np.flatnonzero(second.key == other_number)
        rows.append((mine, others))
    return rows


def _numbered_pairs(first: RankCalls, second: RankCalls) -> Int64s | None:
    """[pairs × 2]: rows of one call by the number that its group gave it; None without numbers."""
    pairs = []
    for mine, others in _shared(first, second):
        my_numbers = first.sequence[mine]
        other_numbers = second.sequence[others]
        if (my_numbers < 0).any() or (other_numbers < 0).any():
            return None
        _, my_place, other_place = np.intersect1d(
            my_numbers,
            other_numbers,
            return_indices=True,
        )
        pairs.append(np.stack([mine[my_place], others[other_place]], axis=1))
    if not pairs:
        return None
    return np.concatenate(pairs)


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
        my_end = first_end[mine]
        other_end = second_end[others]
        differences.append(_differences(my_end, other_end))
        fewest += min(len(mine), len(others))
    candidates = np.sort(np.concatenate(differences))
    on_clock = first.on_clock and second.on_clock
    ahead = _best_difference(candidates, fewest, on_clock=on_clock)
    if ahead is None:
        return None
    pairs = []
    for mine, others in shared:
        nearest = _nearest(
            first=first_end[mine],
            second=second_end[others] - ahead,
            first_rows=mine,
            second_rows=others,
            apart_ps=_MAX_APART_PS,
        )
        pairs.append(nearest)
    return np.concatenate(pairs)


def _differences(first: Int64s, second: Int64s) -> Int64s:
    """All differences of ends that may be one call's."""
    if max(len(first), len(second)) <= _MAX_SHIFT:
        return np.subtract.outer(second, first).ravel()
    max_back = min(_MAX_SHIFT, len(first) - 1)
    max_ahead = min(_MAX_SHIFT, len(second) - 1)
    parts = []
    for shift in range(-max_back, max_ahead + 1):
        mine = first[max(0, -shift) :]
        others = second[max(0, shift) :]
        count = min(len(mine), len(others))
        difference = others[:count] - mine[:count]
        parts.append(difference)
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
    rivals.sort(key=lambda rival: rival.spread)
    closest = rivals[0]
    if rivals[1].spread >= _CLEARLY_CLOSER * closest.spread:
        return closest.middle
    if not on_clock:
        return None
    return _nearest_to_clock(rivals)


def _nearest_to_clock(rivals: list[_Rival]) -> int | None:
    """Steps that are all alike match at any shift: then the clocks as recorded decide, where they
    leave one shift alone.
    """
    by_distance = sorted(rivals, key=lambda rival: abs(rival.middle))
    nearest = by_distance[0].middle
    further = by_distance[1].middle
    if abs(nearest) < _MAX_SHARE_OF_SHIFT * abs(further):
        return nearest
    return None


class _Rival(NamedTuple):
    """A difference of clocks at which many ends meet."""

    middle: int
    spread: float  # median deviation


def _rivals(candidates: Int64s, counts: Int64s, best: int) -> list[_Rival]:
    """All differences that match nearly as many ends as the best."""
    fewest = max(1, _RIVAL_SHARE * best)
    # What is nearer than two windows is the same difference.
    apart_ps = 4 * _MAX_APART_PS
    remaining = counts.copy()
    rivals: list[_Rival] = []
    while True:
        place = int(remaining.argmax())
        if remaining[place] < fewest:
            return rivals
        begin = candidates[place]
        window_end = place + int(counts[place])
        inside = candidates[place:window_end]
        middle = int(_middle_value(inside))
        deviations = np.sort(np.abs(inside - middle))
        spread = max(1.0, _middle_value(deviations))
        rivals.append(_Rival(middle, spread))
        first = candidates.searchsorted(begin - apart_ps)
        after_last = candidates.searchsorted(begin + apart_ps, side="right")
        remaining[first:after_last] = 0


def _middle_value(ascending: Int64s) -> float:
    """The median. NumPy's own takes 20 µs for a few values; a run of 256 hosts has 10,000 such."""
    half = len(ascending) // 2
    upper = float(ascending[half])
    if len(ascending) % 2:
        return upper
    lower = float(ascending[half - 1])
    return (lower + upper) / 2


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
    distance = np.abs(second[nearest_second] - first)
    first_chosen = np.flatnonzero(is_mutual & (distance <= apart_ps))
    second_chosen = nearest_second[first_chosen]
    return np.stack([first_rows[first_chosen], second_rows[second_chosen]], axis=1)


def nearest_places(values: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted value the place of the nearest of these."""
    if len(values) == 1:
        return np.zeros(len(wanted), np.int64)
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    last_place = max(1, len(values) - 1)
    after = in_order.searchsorted(wanted).clip(1, last_place)
    before = after - 1
    to_before = wanted - in_order[before]
    to_after = in_order[after] - wanted
    nearest = np.where(to_before <= to_after, before, after)
    return order[nearest]
