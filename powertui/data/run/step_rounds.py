"""Which time around each step number is: numbers start again with an epoch, or when a program goes
back to a checkpoint.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from powertui.data.model import Int64s
from powertui.data.quantiles import median_of_column
from powertui.data.sorted_columns import begins_run

# Of the numbers so far: a fall to there is a new round. Chosen, not measured.
_RESTART_SHARE = 0.25
# Of the changes that are equal: with fewer the numbers are a shuffled list, and no count. Chosen,
# not measured.
_MIN_EQUAL_CHANGES = 0.5
# By how much replicas may count apart: the profile begins on either side of an epoch's end.
_REPLICA_SHIFTS = (0, 1, -1)


def turns(number: Int64s) -> Int64s:
    """Which time around each number is; numbers below 0 are none."""
    out = np.zeros(len(number), np.int64)
    counted = np.flatnonzero(number >= 0)
    if len(counted) < 2:
        return out
    values = number[counted]
    if (values == values[0]).all():  # these are parts of one step
        return out
    change = values[1:] - values[:-1]
    if (change >= 0).all():
        return out
    rises = int((change > 0).sum())
    falls = int((change < 0).sum())
    if falls > rises:  # a countdown: what starts again goes up
        values = -values
        change = -change
    if (change >= 0).all():
        return out
    changes = change[change != 0]
    _, counts = np.unique(changes, return_counts=True)
    is_shuffled = counts.max() <= _MIN_EQUAL_CHANGES * len(changes)
    if is_shuffled:
        out[counted] = _repeats(values.tolist())
    elif _falls_to_the_beginning(values, change):
        begins_round = np.append(False, change < 0)
        out[counted] = np.cumsum(begins_round)
    else:
        out[counted] = _restarts(values.tolist())
    return np.maximum.accumulate(out)


def _falls_to_the_beginning(values: Int64s, change: Int64s) -> bool:
    """Whether every fall goes back to where the round before began, or below: no case for a closer
    look.
    """
    falls = np.flatnonzero(change < 0) + 1
    begins = np.append(0, falls[:-1])
    if (values[falls] > values[begins]).any():
        return False
    last = len(values) - 1
    before = values[falls - 1]
    after = values[np.minimum(falls + 1, last)]
    return bool((after <= before).all())


def _restarts(values: list[int]) -> list[int]:
    """Which time around a rising sequence is: it starts again where it falls back to its first
    number, or nearly.

    Two that changed places are no restart, nor is a program that went back a little way (to its
    last checkpoint).
    """
    out = [0]
    earlier = {values[0]}
    lowest = values[0]
    highest = values[0]
    last = len(values) - 1
    for at in range(1, len(values)):
        value = values[at]
        before = values[at - 1]
        again = False
        if value < before:
            after = values[min(at + 1, last)]
            swapped = after > before and value not in earlier
            is_near_lowest = value - lowest < _RESTART_SHARE * (highest - lowest)
            goes_back = value in earlier and is_near_lowest
            again = not swapped and (value <= lowest or goes_back)
        if again:
            earlier = set()
            lowest = value
            highest = value
        out.append(out[-1] + again)
        earlier.add(value)
        lowest = min(lowest, value)
        highest = max(highest, value)
    return out


def _repeats(values: list[int]) -> list[int]:
    """The same for numbers in no order (a shuffled list): only one that was there already begins a
    new round.
    """
    out = [0]
    earlier = {values[0]}
    for before, value in pairwise(values):
        again = value in earlier and value != before
        if again:
            earlier = set()
        out.append(out[-1] + again)
        earlier.add(value)
    return out


def align_replicas(
    start: Int64s,
    number: Int64s,
    turn: Int64s,
    sequences: list[Int64s],
) -> None:
    """Shift the turns of replicas to where their steps begin closest to those of the first one:
    each may enter the profile on either side of an epoch's end.
    """
    if len(sequences) < 2:
        return
    if not any((turn[rows] > 0).any() for rows in sequences):
        return
    lead = sequences[0]
    lead_keys = number_keys(number[lead], turn[lead])
    _, first = np.unique(lead_keys, return_index=True)
    lead_starts: dict[tuple[int, int], int] = {}
    for row in lead[first].tolist():
        key = (int(number[row]), int(turn[row]))
        lead_starts[key] = int(start[row])
    for rows in sequences[1:]:
        shift_of_distance: dict[float, int] = {}
        for shift in _REPLICA_SHIFTS:
            shifted = turn + shift
            distance = _median_distance(start, number, shifted, rows, lead_starts)
            if distance is not None:
                # Of shifts that do equally well the first, which is none.
                shift_of_distance.setdefault(distance, shift)
        if shift_of_distance:
            least = min(shift_of_distance)
            turn[rows] += shift_of_distance[least]
    turn -= turn.min()


def _median_distance(
    start: Int64s,
    number: Int64s,
    turn: Int64s,
    rows: Int64s,
    lead_starts: dict[tuple[int, int], int],
) -> float | None:
    """How far these steps begin from the same ones of the first replica; None without any."""
    distances = []
    for row in rows.tolist():
        key = (int(number[row]), int(turn[row]))
        lead_start = lead_starts.get(key)
        if lead_start is not None:
            distances.append(abs(lead_start - int(start[row])))
    if not distances:
        return None
    return median_of_column(distances)


def runs_before(number: Int64s, turn: Int64s, sequences: list[Int64s]) -> Int64s:
    """How often each number ran before in its round, with others between.

    A program that went back runs steps again.
    """
    out = np.zeros(len(number), np.int64)
    for rows in sequences:
        numbers = number[rows]
        if (numbers[1:] > numbers[:-1]).all():  # each ran once
            continue
        # Parts of one step that follow each other are one run of it.
        begins = begins_run(number[rows], turn[rows])
        firsts = rows[begins]
        order = np.lexsort((firsts, number[firsts], turn[firsts]))
        by_number = firsts[order]
        is_first = begins_run(number[by_number], turn[by_number])
        if is_first.all():
            continue
        place = np.arange(len(order))
        first_places = np.where(is_first, place, 0)
        runs = np.empty(len(order), np.int64)
        runs[order] = place - np.maximum.accumulate(first_places)
        run_of_row = np.cumsum(begins) - 1
        out[rows] = runs[run_of_row]
    return out


def number_keys(number: Int64s, turn: Int64s) -> Int64s:
    """One code for each (turn, number); marks without a number have one each."""
    number_count, number_rank = ranked(number)
    _, turn_rank = ranked(turn)
    key = turn_rank * number_count + number_rank
    bare = np.flatnonzero(number < 0)
    next_key = int(key.max(initial=-1)) + 1
    key[bare] = next_key + np.arange(len(bare))
    return np.asarray(key, np.int64)


def ranked(values: Int64s) -> tuple[int, Int64s]:
    """(how many different ones, which of them each is); numbers mostly go up, and turns stay."""
    if (values[1:] > values[:-1]).all():
        return len(values), np.arange(len(values))
    if not (values != values[0]).any():
        return 1, np.zeros(len(values), np.int64)
    distinct_values, which = np.unique(values, return_inverse=True)
    return len(distinct_values), which.ravel()
