"""Steps that a device ran and no mark of the host names: the program's numbers go on in them.

A program that marks some of its steps only (the first ones, or every tenth) runs the others all the
same. Where the numbers that a device's line has are those of the marks, the numbers between and
beside them are steps as well. A line of modules has no numbers: they are counted from the marked
runs, where each mark has one run and all marks agree on the count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s, Trace
from powertui.data.run import repeated_launches
from powertui.data.run.candidates import Candidate, in_marks
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.marks import Marks
from powertui.data.run.step_rows import StepRows

# Of the marks whose steps a device's line has to hold, so that both count alike. One or two may be
# cut by the profile's ends. Chosen, not measured.
_MIN_HELD_SHARE = 0.9
_MIN_MARKS = 2  # that agree: one number is equal by chance
# Of the devices' work that a module has to do, so that its runs are steps. Chosen, not measured.
_MIN_MODULE_SHARE = 0.5


def continuing_steps(rows: StepRows, drawn: Marks, row: Int64s) -> Bools:
    """Which of the steps that devices drew go on with the numbers of the marks; `row` is the
    run's step that each drawn one is, -1 for none.
    """
    has_row = row >= 0
    if not _count_alike(rows, drawn, row, has_row):
        return np.zeros(len(drawn), np.bool_)
    is_new = ~has_row & (drawn.number >= 0)
    is_new &= ~np.isin(drawn.number, rows.number)
    # What runs while a mark is open is a part of its step: a mark of several batches.
    return is_new & ~in_marks(rows.marks, drawn.start)


def _count_alike(rows: StepRows, drawn: Marks, row: Int64s, has_row: Bools) -> bool:
    """Whether the devices' numbers are those of the marks."""
    if len(rows) < _MIN_MARKS or rows.ordinal:
        return False
    marked = row[has_row]
    if len(wire.distinct(marked)) < max(_MIN_MARKS, _MIN_HELD_SHARE * len(rows)):
        return False
    if (rows.number[marked] != drawn.number[has_row]).any():
        return False
    if (drawn.start[has_row] < rows.start[marked]).any():
        return False
    return _ascending(drawn)


def unmarked_count(rows: StepRows, drawn: Marks, row: Int64s) -> int:
    """How many steps devices drew beyond those whose marks the profile's ends may have cut off."""
    is_continuing = continuing_steps(rows, drawn, row)
    numbers = wire.distinct(drawn.number[is_continuing])
    before_first = int(rows.number.min()) - 1
    after_last = int(rows.number.max()) + 1
    if np.isin(numbers, [before_first, after_last]).all():
        return 0
    return len(numbers)


def numbered_alike(rows: StepRows, drawn: Marks, row: Int64s) -> bool:
    """Whether the numbers of drawn steps are those of the marks, few as these may be."""
    return bool(continuing_steps(rows, drawn, row).any())


def _ascending(drawn: Marks) -> bool:
    """Whether each line counts one by one."""
    for _, of_line in drawn.by_line():
        order = np.argsort(drawn.start[of_line], kind="stable")
        numbers = drawn.number[of_line[order]]
        if (np.diff(numbers) != 1).any():
            return False
    return True


def numbered_modules(trace: Trace, rows: StepRows, work: DeviceWork | None) -> Candidate | None:
    """The runs of the module that is most of the devices' work, with the numbers that the marks
    give them; None where the marks do not agree on them.
    """
    if work is None or rows.ordinal or len(rows) < _MIN_MARKS:
        return None
    total_ps = int(work.duration.sum())
    for candidate in repeated_launches.modules(trace):
        runs = candidate.marks
        is_inside = in_marks(runs, work.start)
        inside_ps = int(work.duration[is_inside].sum())
        if inside_ps < _MIN_MODULE_SHARE * total_ps or len(runs) <= len(rows):
            continue
        ahead = list(_ahead_of_count(rows, runs))
        line_count = len(wire.distinct(runs.lines))
        all_agree = len(ahead) == line_count and len(set(ahead)) == 1
        if all_agree:
            numbered_runs = replace(runs, number=runs.number + ahead[0])
            return replace(candidate, marks=numbered_runs)
    return None


def _ahead_of_count(rows: StepRows, runs: Marks) -> Iterator[int]:
    """For each line by how much the program's numbers are ahead of the count of runs, where each
    mark has one run that begins before the next mark.
    """
    next_mark = np.append(rows.start[1:], np.iinfo(np.int64).max)
    for _, of_line in runs.by_line():
        start = runs.start[of_line]
        count = runs.number[of_line]
        first_run = start.searchsorted(rows.start)
        if (first_run >= len(start)).any():
            continue
        if (start[first_run] >= next_mark).any():
            continue
        ahead = rows.number - count[first_run]
        if (ahead == ahead[0]).all():
            yield int(ahead[0])
