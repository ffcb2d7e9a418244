"""From marks to steps: which marks are parts of one step, and which lines run side by side.

A step number may be marked several times: in parts (gradient accumulation), on several threads that
run side by side (replicas), once an epoch. Lines whose marks never overlap are one sequence,
whichever thread each step ran on; lines that overlap are replicas, each with a sequence of its own.
Numbers start again where a line falls back to its first number or to one that it had: neither a
countdown nor two steps out of order is an epoch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.model import UNKNOWN, Bools, Int32s, Int64s
from powertui.data.quantiles import median_of_column
from powertui.data.run import step_rounds
from powertui.data.run.device_intervals import covered_ps, extents
from powertui.data.run.marks import Marks, family, inside_earlier
from powertui.data.sorted_columns import places_in
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# So many marks of one number are a counter that nobody moves. Chosen, not measured.
_MIN_UNMOVED = 2
# Replicas begin a step within this share of it. Chosen, not measured; requests of a server begin
# anywhere in each other.
_MAX_REPLICA_LAG = 0.2
# Of fewer marks the moments prove nothing. Chosen, not measured.
_MIN_REPLICA_MARKS = 3
# Of marks that overlap one of another line: from here on lines run side by side. Chosen, not
# measured.
_MIN_OVERLAPPING_SHARE = 0.1
# Of a line's numbers that its busiest neighbor counts as well: with less, the two count different
# things. Chosen, not measured.
_MIN_SHARED_NUMBERS = 0.5
# Of the changes of the step number that are equal: only then a larger one leaves steps out. Chosen,
# not measured.
_MIN_EQUAL_CHANGES = 0.5


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
    # (line, its marks) of lines that run side by side; () for one sequence
    replicas: tuple[tuple[int, Int64s], ...]
    epoch_num: bool
    ordinal: bool  # no mark carries a number: they were counted
    parts: bool  # some step has several marks on one line
    unmoved: bool  # the marks carry a number, and it is always the same: they were counted

    def __len__(self) -> int:
        return len(self.number)


class _Numbering(NamedTuple):
    """The number of each mark, and what is known of it."""

    number: Int64s
    turn: Int64s  # which time around the numbers go
    by_program: bool  # the turns are the program's own epochs
    ordinal: bool  # no mark carries a number that moves: they were counted


class _Joined(NamedTuple):
    """Marks joined to steps, by start."""

    first: Int64s  # the first mark of each step
    row_of: Int64s  # the step of each mark
    start: Int64s
    end: Int64s
    single: bool  # each mark is a step of its own, as nearly always


def rows_from_marks(
    marks: Marks,
    *,
    apart: bool = False,
    by_kind: bool = False,
    each_a_round: bool = False,
) -> StepRows:
    """The steps of these marks, which come by start.

    `apart`: each line is known to count for itself, as those of devices do. `by_kind`: so does each
    kind of mark, as the two halves of a GAN do. `each_a_round`: something else runs between the
    marks, so that one number over and over is an epoch of one batch each time.
    """
    marks = _outermost_of_lines(marks)
    sequences, side_by_side = _of_kinds(marks) if by_kind else _sequences(marks, apart)
    numbering = _numbered(marks, sequences, side_by_side, each_a_round)
    turn = numbering.turn
    joined = _joined(marks, _step_keys(numbering, sequences, by_kind=by_kind))
    first = joined.first
    row_of = joined.row_of
    if joined.single:
        marked_start = marks.start[first]
        marked = marks.duration[first]
    else:
        marked_start, marked = _longest(marks, row_of, len(first))
    restarts = len(marks) > 0 and (numbering.by_program or bool((turn > turn.min()).any()))
    replicas = []
    if side_by_side:
        replicas = [(int(marks.lines[rows[0]]), rows) for rows in sequences]
    return StepRows(
        number=numbering.number[first],
        turn=np.where(restarts, turn[first], -1).astype(np.int32),
        start=joined.start,
        end=joined.end,
        marked=marked,
        marked_start=marked_start,
        open=covered_ps(row_of, marks.start, marks.end, len(first)),
        labels=[marks.labels[i] for i in first.tolist()],
        lines=marks.lines[first],
        row_of=row_of,
        marks=marks,
        replicas=tuple(replicas),
        epoch_num=numbering.by_program,
        ordinal=numbering.ordinal,
        parts=not joined.single and _has_parts(marks, row_of),
        unmoved=numbering.ordinal and bool((marks.number >= 0).any()),
    )


def _numbered(
    marks: Marks,
    sequences: list[Int64s],
    side_by_side: bool,
    each_a_round: bool,
) -> _Numbering:
    number = marks.number.copy()
    by_program = bool((marks.epoch >= 0).any())
    never_moves = not by_program and _never_moves(number, sequences)
    is_numbered = bool((number >= 0).any())
    ordinal = not is_numbered or (never_moves and not each_a_round)
    turn = np.full(len(marks), -1, np.int64)
    for rows in sequences:
        in_order = np.arange(len(rows))
        if ordinal:
            number[rows] = in_order
        if never_moves and each_a_round:
            turn[rows] = in_order
        else:
            turn[rows] = step_rounds.turns(number[rows])
    if by_program:
        turn = marks.epoch.copy()
    elif side_by_side:
        step_rounds.align_replicas(marks.start, number, turn, sequences)
    return _Numbering(
        number=number,
        turn=turn,
        by_program=by_program,
        ordinal=ordinal,
    )


def _step_keys(numbering: _Numbering, sequences: list[Int64s], *, by_kind: bool) -> Int64s:
    """One code for all marks of one step."""
    number = numbering.number
    turn = numbering.turn
    if len(turn):
        turn_count = int(turn.max()) + 2
    else:
        turn_count = 1
    rounds = turn + step_rounds.runs_before(number, turn, sequences) * turn_count
    if by_kind:
        for index, rows in enumerate(sequences):
            rounds[rows] = rounds[rows] * len(sequences) + index
    return step_rounds.number_keys(number, rounds)


def _joined(marks: Marks, key: Int64s) -> _Joined:
    if (key[1:] > key[:-1]).all():  # as nearly all programs count their steps
        first = row_of = np.arange(len(key))
    else:
        _, first, row_of = np.unique(key, return_index=True, return_inverse=True)
        row_of = row_of.ravel()
    mark_end = marks.end
    single = len(first) == len(marks)
    if single:
        start = marks.start[first]
        end = mark_end[first]
    else:
        start, end = extents(row_of, marks.start, mark_end, len(first))
    order = np.lexsort((first, start))
    return _Joined(
        first=first[order],
        row_of=places_in(order)[row_of],
        start=start[order],
        end=end[order],
        single=single,
    )


def _has_parts(marks: Marks, row_of: Int64s) -> bool:
    """Whether some step has several marks on one line."""
    line_count = int(marks.lines.max()) + 1
    return len(wire.distinct(row_of * line_count + marks.lines)) < len(marks)


def _outermost_of_lines(marks: Marks) -> Marks:
    """A mark within a mark of its own line is a detail of it."""
    if not (marks.lines != marks.lines[:1]).any():
        return marks.outermost()
    outermost = np.zeros(len(marks), np.bool_)
    mark_end = marks.end
    for _, rows in marks.by_line():
        outermost[rows] = ~inside_earlier(marks.start[rows], mark_end[rows])
    return marks.take(outermost)


def _sequences(marks: Marks, apart: bool) -> tuple[list[Int64s], bool]:
    """(the rows of each sequence by start, the longest first; whether they run side by side)."""
    one_sequence = [np.arange(len(marks))]
    first_line = marks.lines[:1]
    if not (marks.lines != first_line).any():
        return one_sequence, False
    lines, which = np.unique(marks.lines, return_inverse=True)
    which = which.ravel()
    rows = [np.flatnonzero(which == index) for index in range(len(lines))]
    rows.sort(key=len, reverse=True)
    if apart or _taking_turns(marks.number, which, rows):
        return rows, True
    if not _lines_overlap(marks):
        return one_sequence, False
    if (marks.number >= 0).any():
        return rows, True
    # Without numbers only the moments tell the steps of replicas from the requests of a server.
    lead = marks.start[rows[0]]
    for line_rows in rows[1:]:
        if not begin_together(lead, marks.start[line_rows]):
            return one_sequence, False
    return rows, True


def _lines_overlap(marks: Marks) -> bool:
    # A mark overlaps one of another line when an earlier mark ends after its start: on its own line
    # marks follow one another.
    reached = np.maximum.accumulate(marks.end)
    overlapping = int((marks.start[1:] < reached[:-1]).sum())
    return overlapping > _MIN_OVERLAPPING_SHARE * len(marks)


def begin_together(first: Int64s, second: Int64s) -> bool:
    """Whether two lines begin their marks at the same moments: replicas of one step."""
    count = min(len(first), len(second))
    differs_in_count = abs(len(first) - len(second)) > 1
    if differs_in_count or count < _MIN_REPLICA_MARKS:
        return False
    median_step = median_of_column(np.diff(first))
    lag = np.abs(first[:count] - second[:count])
    return median_of_column(lag) < _MAX_REPLICA_LAG * median_step


def _of_kinds(marks: Marks) -> tuple[list[Int64s], bool]:
    """As `_sequences`: one sequence for each kind of mark."""
    families: dict[str, list[int]] = {}
    for row, kind in enumerate(marks.kinds):
        families.setdefault(family(kind), []).append(row)
    rows = [np.array(family_rows, np.int64) for family_rows in families.values()]
    return sorted(rows, key=len, reverse=True), False


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
    lead_numbers = number[rows[0]]
    for line_rows in rows:
        line_numbers = number[line_rows]
        has_unnumbered = (line_numbers < 0).any()
        falls = (np.diff(line_numbers) < 0).any()
        if has_unnumbered or falls:
            return False
        is_shared = np.isin(line_numbers, lead_numbers)
        if is_shared.mean() < _MIN_SHARED_NUMBERS:
            return False
    changes_of_line = int((np.diff(which) != 0).sum())
    return changes_of_line > 2 * len(rows)


def _longest(marks: Marks, row_of: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """(start, length) of each row's longest replica, from its first part to its last."""
    _, line = np.unique(marks.lines, return_inverse=True)
    row_count = max(1, count)
    # One number for each pair of a line and a row.
    pair = line.ravel() * row_count + row_of
    replica, replica_of_mark = np.unique(pair, return_inverse=True)
    replica_of_mark = replica_of_mark.ravel()
    start, end = extents(replica_of_mark, marks.start, marks.end, len(replica))
    length = end - start
    row = replica % row_count
    longest_first = np.lexsort((start, -length, row))
    row = row[longest_first]
    _, first_of_row = np.unique(row, return_index=True)
    longest = longest_first[first_of_row]
    return start[longest], length[longest]


def holes(number: Int64s, turn: Int32s, *, steady: bool) -> Bools:
    """After which steps (in their order) numbers are missing."""
    is_hole = np.zeros(len(number), np.bool_)
    if len(number) < 2 or not steady:
        return is_hole
    has_number = number >= 0
    both_have_numbers = has_number[1:] & has_number[:-1]
    same_turn = turn[1:] == turn[:-1]
    together = same_turn & both_have_numbers
    change = np.where(together, np.diff(number), 0)
    usual = _usual_change(change[together])
    if usual:
        # A program may count down as well: further is further in its own direction.
        forward = change * np.sign(usual)
        is_hole[:-1] = together & (forward > abs(usual))
    return is_hole


def _usual_change(changes: Int64s) -> int:
    """By how much most steps are further than the one before; 0 where no change is usual, and
    where all are equal, so that no step is further than the others.
    """
    if not (changes != changes[:1]).any():
        return 0
    sizes, counts = np.unique(changes, return_counts=True)
    if counts.max() <= _MIN_EQUAL_CHANGES * len(changes):
        return 0
    return int(sizes[np.argmax(counts)])


def next_other_work(start: Int64s, other_starts: Int64s) -> Int64s:
    """For each step (by start) where other work begins after it and before the next; UNKNOWN for
    none.
    """
    count = len(other_starts)
    if not count:
        return np.full(len(start), UNKNOWN, np.int64)
    other_starts = np.sort(other_starts)
    place = other_starts.searchsorted(start, side="right")
    begins = other_starts[np.minimum(place, count - 1)]
    next_step = np.append(start[1:], np.iinfo(np.int64).max)
    begins_before_it = (place < count) & (begins < next_step)
    return np.where(begins_before_it, begins, UNKNOWN)


def with_unmarked_steps(
    rows: StepRows,
    number: Int64s,
    start: Int64s,
    end: Int64s,
    labels: list[str],
) -> tuple[StepRows, Int64s]:
    """(the same with steps that no mark of the host shows, where each row went, the new ones last):
    the profile's ends cut them.
    """
    count = len(number)
    starts = np.concatenate([rows.start, start])
    order = np.argsort(starts, kind="stable")
    place = places_in(order)
    unknown = np.full(count, UNKNOWN, np.int64)
    turn = unknown.astype(np.int32)
    if len(rows):
        before = rows.start.searchsorted(start) - 1
        turn = rows.turn[np.clip(before, 0, len(rows) - 1)]
    no_line = np.full(count, -1, np.int32)
    all_labels = [*rows.labels, *labels]
    extended = replace(
        rows,
        number=np.concatenate([rows.number, number])[order],
        turn=np.concatenate([rows.turn, turn])[order],
        start=starts[order],
        end=np.concatenate([rows.end, end])[order],
        marked=np.concatenate([rows.marked, unknown])[order],
        marked_start=np.concatenate([rows.marked_start, start])[order],
        open=np.concatenate([rows.open, unknown])[order],
        labels=[all_labels[i] for i in order.tolist()],
        lines=np.concatenate([rows.lines, no_line])[order],
        row_of=place[rows.row_of],
    )
    return extended, place
