"""From marks to steps: which marks are parts of one step, which lines run side by side, and where
the numbers start again.

A step number may be marked several times: in parts (gradient accumulation), on several threads that
run side by side (replicas), once an epoch. Lines whose marks never overlap are one sequence,
whichever thread each step ran on; lines that overlap are replicas, each with a sequence of its own.
Numbers start again where a line falls back to its first number or to one that it had: neither a
countdown nor two steps out of order is an epoch.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from powertui.data import wire
from powertui.data.model import UNKNOWN, Bools, Int32s, Int64s
from powertui.data.run.device_intervals import covered_ps, extents
from powertui.data.run.marks import Marks
from powertui.value_types import dataclass

# Of the numbers so far: a fall to there is a new round. Chosen, not measured.
_RESTART_SHARE = 0.25
_DIGITS = re.compile(r"\d+")
# So many marks of one number are a counter that nobody moves. Chosen, not measured.
_MIN_UNMOVED = 2
# Replicas begin a step within this share of it. Chosen, not measured; requests of a server begin
# anywhere in each other.
_MAX_REPLICA_LAG = 0.2
# Of fewer marks the moments prove nothing. Chosen, not measured.
_MIN_REPLICA_MARKS = 3
_OVERLAPPING = (
    0.1  # share of marks that overlap one of another line: from here on lines run side by side
)


@dataclass(frozen=True, eq=False)
class StepRows:
    """Steps as their marks tell them, by start."""

    number: Int64s
    # which time around the numbers go, or the program's own epoch; -1 everywhere without either
    turn: Int32s
    start: Int64s  # of the first part
    end: Int64s  # of the last part
    marked: Int64s  # how long its longest replica took, from the first part to the last
    marked_start: Int64s  # where that one began
    open: Int64s  # how long at least one mark was open
    labels: list[str]
    lines: Int32s  # of the first part
    row_of: Int64s  # the row of each mark
    marks: Marks
    replicas: tuple[
        tuple[int, Int64s], ...
    ]  # (line, its marks) of lines that run side by side; () for one sequence
    epoch_num: bool
    ordinal: bool  # no mark carries a number: they were counted
    parts: bool  # some step has several marks on one line
    unmoved: bool  # the marks carry a number, and it is always the same: they were counted

    def __len__(self) -> int:
        return len(self.number)


def rows_from_marks(
    marks: Marks, *, apart: bool = False, by_kind: bool = False, each_a_round: bool = False
) -> StepRows:
    """The steps that these marks (by start) tell of.

    `apart`: each line is known to count for itself, as those of devices do. `by_kind`: so does each
    kind of mark, as the two halves of a GAN do. `each_a_round`: something else lies between the
    marks, so that one number over and over is an epoch of one batch each time.
    """
    marks = _outermost_of_lines(marks)
    count = len(marks)
    sequences, side_by_side = _of_kinds(marks) if by_kind else _sequences(marks, apart)
    number = marks.number.copy()
    by_program = bool((marks.epoch >= 0).any())
    stands = not by_program and _never_moves(number, sequences)
    ordinal = not (number >= 0).any() or (stands and not each_a_round)
    turn = np.full(count, -1, np.int64)
    for rows in sequences:
        if ordinal:
            number[rows] = np.arange(len(rows))
        turn[rows] = np.arange(len(rows)) if stands and each_a_round else _turns(number[rows])
    if by_program:
        turn = marks.epoch.copy()
    elif side_by_side:
        _align(marks, number, turn, sequences)
    rounds = turn + _runs(number, turn, sequences) * (int(turn.max()) + 2 if count else 1)
    if by_kind:
        for index, rows in enumerate(sequences):
            rounds[rows] = rounds[rows] * len(sequences) + index
    key = _keys(number, rounds)
    _, first, row_of = np.unique(key, return_index=True, return_inverse=True)
    row_of = row_of.ravel()
    single = len(first) == count  # as nearly always: each mark is a step of its own
    start, end = (
        _extents_of(marks, first)
        if single
        else extents(row_of, marks.start, marks.start + marks.duration, len(first))
    )
    order = np.lexsort((first, start))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    row_of, first, start, end = place[row_of], first[order], start[order], end[order]
    marked_start, marked = (
        (marks.start[first], marks.duration[first])
        if single
        else _longest(marks, row_of, len(first))
    )
    restarts = by_program or bool((turn > turn.min()).any()) if count else False
    several = (
        not single
        and len(wire.distinct(row_of * (int(marks.lines.max()) + 1) + marks.lines)) < count
    )
    return StepRows(
        number[first],
        np.where(restarts, turn[first], -1).astype(np.int32),
        start,
        end,
        marked,
        marked_start,
        covered_ps(row_of, marks.start, marks.start + marks.duration, len(first)),
        [marks.labels[i] for i in first.tolist()],
        marks.lines[first],
        row_of,
        marks,
        tuple((int(marks.lines[rows[0]]), rows) for rows in sequences) if side_by_side else (),
        by_program,
        ordinal,
        bool(several),
        ordinal and bool((marks.number >= 0).any()),
    )


def _extents_of(marks: Marks, rows: Int64s) -> tuple[Int64s, Int64s]:
    return marks.start[rows], marks.start[rows] + marks.duration[rows]


def _outermost_of_lines(marks: Marks) -> Marks:
    """A mark within a mark of its own line is a detail of it."""
    if not (marks.lines != marks.lines[:1]).any():
        return marks.outermost()
    lines = wire.distinct(marks.lines).tolist()
    keep = np.zeros(len(marks), np.bool_)
    for line in lines:
        mine = np.flatnonzero(marks.lines == line)
        end = marks.start[mine] + marks.duration[mine]
        before = np.maximum.accumulate(end)
        inside = np.zeros(len(mine), np.bool_)
        inside[1:] = (end[1:] <= before[:-1]) & (marks.start[mine][1:] < before[:-1])
        keep[mine[~inside]] = True
    return marks.take(keep)


def _sequences(marks: Marks, apart: bool) -> tuple[list[Int64s], bool]:
    """(the rows of each sequence by start, the longest first; whether they run side by side)."""
    every = np.arange(len(marks))
    if not (marks.lines != marks.lines[:1]).any():
        return [every], False
    lines, which = np.unique(marks.lines, return_inverse=True)
    end = marks.start + marks.duration
    # A mark overlaps one of another line when the furthest end before it lies beyond its start.
    reached = np.maximum.accumulate(end)
    overlaps = np.zeros(len(marks), np.bool_)
    overlaps[1:] = marks.start[1:] < reached[:-1]
    which = which.ravel()
    rows = sorted(
        (np.flatnonzero(which == index) for index in range(len(lines))), key=len, reverse=True
    )
    if apart or _taking_turns(marks.number, which, rows):
        return rows, True
    overlapping = bool(overlaps.sum() > _OVERLAPPING * len(marks))
    if (marks.number >= 0).any():
        return (rows, True) if overlapping else ([every], False)
    # Without numbers only the moments tell the steps of replicas from the requests of a server.
    lead = marks.start[rows[0]]
    replicas = all(begin_together(lead, marks.start[mine]) for mine in rows[1:])
    return (rows, True) if overlapping and replicas else ([every], False)


def begin_together(first: Int64s, second: Int64s) -> bool:
    """Whether two lines begin their marks at the same moments: replicas of one step."""
    count = min(len(first), len(second))
    if abs(len(first) - len(second)) > 1 or count < _MIN_REPLICA_MARKS:
        return False
    usual = float(np.median(np.diff(first)))
    lag = np.abs(first[:count] - second[:count])
    return float(np.median(lag)) < _MAX_REPLICA_LAG * usual


def _of_kinds(marks: Marks) -> tuple[list[Int64s], bool]:
    """As `_sequences`: one sequence for each kind of mark."""
    families: dict[str, list[int]] = {}
    for row, kind in enumerate(marks.kinds):
        families.setdefault(family(kind), []).append(row)
    rows = [np.array(family_rows, np.int64) for family_rows in families.values()]
    return sorted(rows, key=len, reverse=True), False


def family(kind: str) -> str:
    """A mark's name without its numbers."""
    return _DIGITS.sub("#", kind)


def _never_moves(number: Int64s, sequences: list[Int64s]) -> bool:
    """Whether a counter stands at its beginning all the time: it counts nothing.

    Many marks of a higher number are the parts of one step, as are those of several lines.
    """
    if not len(number) or number[0] not in (0, 1) or (number != number[0]).any():
        return False
    return len(sequences[0]) >= _MIN_UNMOVED


def _taking_turns(number: Int64s, which: Int64s, rows: list[Int64s]) -> bool:
    """Whether lines that never overlap still count the same steps each, one now and then
    the other.
    """
    lead = number[rows[0]]
    for mine in rows:
        if (number[mine] < 0).any() or (np.diff(number[mine]) < 0).any():
            return False
        if np.isin(number[mine], lead).mean() < 0.5:
            return False
    return bool((np.diff(which) != 0).sum() > 2 * len(rows))


def _turns(number: Int64s) -> Int64s:
    """Which time around each number is."""
    turns = np.zeros(len(number), np.int64)
    counted = np.flatnonzero(number >= 0)
    if len(counted) < 2:
        return turns
    values = number[counted]
    if (values == values[0]).all():  # these are parts of one step
        return turns
    change = np.diff(values)
    if (change < 0).sum() > (change > 0).sum():  # a countdown: what starts again goes up
        values = -values
        change = -change
    if (change >= 0).all():
        return turns
    moved = change[change != 0]
    usual = np.unique(moved, return_counts=True)[1].max() > 0.5 * len(moved)
    if usual and _plain(values, change):
        turns[counted] = np.cumsum(np.append(False, change < 0))
    else:
        turns[counted] = _restarts(values.tolist()) if usual else _repeats(values.tolist())
    return np.maximum.accumulate(turns)


def _plain(values: Int64s, change: Int64s) -> bool:
    """Whether every fall goes back to where the round before began, or below: no case for a closer
    look.
    """
    falls = np.flatnonzero(change < 0) + 1
    began = values[np.append(0, falls[:-1])]
    after = values[np.minimum(falls + 1, len(values) - 1)]
    return bool((values[falls] <= began).all() and (after <= values[falls - 1]).all())


def _restarts(values: list[int]) -> list[int]:
    """Which time around a rising sequence is: it starts again where it falls back to its first
    number, or nearly.

    Two that changed places are no restart, nor is a program that went back a little way (to its
    last checkpoint).
    """
    out = [0]
    earlier = {values[0]}
    least = most = values[0]
    for at in range(1, len(values)):
        value = values[at]
        again = False
        if value < values[at - 1]:
            after = values[at + 1] if at + 1 < len(values) else value
            swapped = after > values[at - 1] and value not in earlier
            near = value in earlier and value - least < _RESTART_SHARE * (most - least)
            again = not swapped and (value <= least or near)
        if again:
            earlier, least, most = set(), value, value
        out.append(out[-1] + again)
        earlier.add(value)
        least, most = min(least, value), max(most, value)
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


def _align(marks: Marks, number: Int64s, turn: Int64s, sequences: list[Int64s]) -> None:
    """Replicas may enter the profile on either side of an epoch's end: shift their turns to where
    their steps lie closest.
    """
    lead = sequences[0]
    if len(sequences) < 2 or not any((turn[rows] > 0).any() for rows in sequences):
        return
    keys = _keys(number[lead], turn[lead])
    _, first = np.unique(keys, return_index=True)
    begins = {
        (int(number[lead[i]]), int(turn[lead[i]])): int(marks.start[lead[i]])
        for i in first.tolist()
    }
    for rows in sequences[1:]:
        best: tuple[float, int] | None = None
        for shift in (0, 1, -1):
            away = [
                abs(begins[key] - int(marks.start[i]))
                for i in rows.tolist()
                if (key := (int(number[i]), int(turn[i]) + shift)) in begins
            ]
            if away and (best is None or float(np.median(away)) < best[0]):
                best = float(np.median(away)), shift
        if best is not None:
            turn[rows] += best[1]
    turn -= turn.min()


def _runs(number: Int64s, turn: Int64s, sequences: list[Int64s]) -> Int64s:
    """How often each number ran before in its round, with others between.

    A program that went back runs steps again.
    """
    out = np.zeros(len(number), np.int64)
    for rows in sequences:
        is_new = np.append(True, ~_follows_itself(number[rows], turn[rows]))
        firsts = rows[is_new]
        order = np.lexsort((firsts, number[firsts], turn[firsts]))
        ordered = firsts[order]
        again = np.append(False, _follows_itself(number[ordered], turn[ordered]))
        if not again.any():
            continue
        place = np.arange(len(order))
        first_place = np.maximum.accumulate(np.where(again, 0, place))
        times = np.empty(len(order), np.int64)
        times[order] = place - first_place
        out[rows] = times[np.cumsum(is_new) - 1]
    return out


def _follows_itself(number: Int64s, turn: Int64s) -> Bools:
    """Which rows (from the second on) have the number and turn of the one before."""
    return np.asarray((number[1:] == number[:-1]) & (turn[1:] == turn[:-1]))


def _keys(number: Int64s, turn: Int64s) -> Int64s:
    """One code for each (turn, number); marks without a number have one each."""
    values, which = _ranked(number)
    key = _ranked(turn)[1] * values + which
    bare = np.flatnonzero(number < 0)
    key[bare] = (int(key.max()) + 1 if len(key) else 0) + np.arange(len(bare))
    return np.asarray(key, np.int64)


def _ranked(values: Int64s) -> tuple[int, Int64s]:
    """(how many different ones, which of them each is); numbers mostly go up, and turns stay."""
    if (values[1:] > values[:-1]).all():
        return len(values), np.arange(len(values))
    if not (values != values[0]).any():
        return 1, np.zeros(len(values), np.int64)
    values_found, which = np.unique(values, return_inverse=True)
    return len(values_found), which.ravel()


def _longest(marks: Marks, row_of: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """(start, length) of each row's longest replica, from its first part to its last."""
    lines = np.unique(marks.lines, return_inverse=True)[1].ravel()
    pair, which = np.unique(lines * max(1, count) + row_of, return_inverse=True)
    lo, hi = extents(which.ravel(), marks.start, marks.start + marks.duration, len(pair))
    row = pair % max(1, count)
    order = np.lexsort((lo, -(hi - lo), row))
    _, at = np.unique(row[order], return_index=True)
    best = order[at]
    return lo[best], (hi - lo)[best]


def holes(number: Int64s, turn: Int32s, *, steady: bool) -> Bools:
    """After which steps (in their order) numbers are missing."""
    out = np.zeros(len(number), np.bool_)
    if len(number) < 2 or not steady:
        return out
    has_number = number >= 0
    together = (turn[1:] == turn[:-1]) & has_number[1:] & has_number[:-1]
    change = np.where(together, np.diff(number), 0)
    changes = change[together]
    if not (changes != changes[:1]).any():
        return out  # no step is further than the others
    sizes, counts = np.unique(changes, return_counts=True)
    usual = int(sizes[np.argmax(counts)])
    if usual and counts.max() > 0.5 * len(changes):
        out[:-1] = together & (change * np.sign(usual) > abs(usual))
    return out


def next_other_work(start: Int64s, other_starts: Int64s) -> Int64s:
    """For each step (by start) where other work begins after it and before the next; UNKNOWN for
    none.
    """
    if not len(other_starts):
        return np.full(len(start), UNKNOWN, np.int64)
    other_starts = np.sort(other_starts)
    place = other_starts.searchsorted(start, side="right")
    begins = other_starts[np.minimum(place, len(other_starts) - 1)]
    following = np.append(start[1:], np.iinfo(np.int64).max)
    return np.where((place < len(other_starts)) & (begins < following), begins, UNKNOWN)


def with_unmarked_steps(
    rows: StepRows, number: Int64s, start: Int64s, end: Int64s, labels: list[str]
) -> tuple[StepRows, Int64s]:
    """(the same with steps that no mark of the host tells, where each row went, the new ones last):
    the profile's ends cut them.
    """
    count = len(number)
    starts = np.concatenate([rows.start, start])
    order = np.argsort(starts, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    none = np.full(count, UNKNOWN, np.int64)
    nearest = (
        rows.turn[np.clip(rows.start.searchsorted(start) - 1, 0, len(rows) - 1)]
        if len(rows)
        else none.astype(np.int32)
    )
    every = [*rows.labels, *labels]
    made = replace(
        rows,
        number=np.concatenate([rows.number, number])[order],
        turn=np.concatenate([rows.turn, nearest])[order],
        start=starts[order],
        end=np.concatenate([rows.end, end])[order],
        marked=np.concatenate([rows.marked, none])[order],
        marked_start=np.concatenate([rows.marked_start, start])[order],
        open=np.concatenate([rows.open, none])[order],
        labels=[every[i] for i in order.tolist()],
        lines=np.concatenate([rows.lines, np.full(count, -1, np.int32)])[order],
        row_of=place[rows.row_of],
    )
    return made, place
