"""The steps that collectors drew on devices, and which of the run's steps each of them is.

In this order: by the collector's group; by number, where numbers tell more than launches; by the
step that launched most of the work; by order. The profile's ends cut off marks of the host, so some
drawn steps have no mark: those that go on with its numbers are steps of the run, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.model import Int64s, Trace
from powertui.data.run import repeated_launches, steps_between_marks
from powertui.data.run.asked_work import AskedByMark, asked_by_mark
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork, extents
from powertui.data.run.marks import TRAINING, Marks
from powertui.data.run.step_rows import StepRows, with_unmarked_steps
from powertui.data.sorted_columns import counted, looked_up, open_at
from powertui.value_types import dataclass

# A link that gives more than this share of the work a step is taken.
MAJORITY = 0.5


@dataclass(frozen=True, eq=False)
class DrawnSteps:
    """The steps that collectors drew on devices, and which of the run's steps each is (-1:
    none).
    """

    device: list[str]
    start: Int64s
    duration: Int64s
    row: Int64s
    # The rows that asked for the work, where they were needed to tell whose these steps are.
    asked: AskedByMark | None = None

    @property
    def end(self) -> Int64s:
        return self.start + self.duration


_NO_ROWS = np.empty(0, np.int64)
NO_DRAWN_STEPS = DrawnSteps([], _NO_ROWS, _NO_ROWS, _NO_ROWS)


def drawn_steps(
    trace: Trace,
    lines: Candidate | None,
    rows: StepRows,
    work: DeviceWork | None,
    *,
    made_of_lines: bool,
) -> DrawnSteps:
    """What the step lines of the devices show. `made_of_lines`: the rows were made of them."""
    if lines is None:
        return NO_DRAWN_STEPS
    if made_of_lines:
        return _drawn_by_marks(trace, rows.marks, rows.row_of)
    drawn = _drawn_by_marks(trace, lines.marks, _NO_ROWS)
    return _with_rows(drawn, lines.marks, rows, work)


def _drawn_by_marks(trace: Trace, marks: Marks, row: Int64s) -> DrawnSteps:
    """These marks as steps of the devices that they are on."""
    names = [process.name for process, _ in trace.tracks()]
    return DrawnSteps(
        device=[names[line] for line in marks.lines.tolist()],
        start=marks.start,
        duration=marks.duration,
        row=row,
    )


def _with_rows(
    drawn: DrawnSteps,
    marks: Marks,
    rows: StepRows,
    work: DeviceWork | None,
) -> DrawnSteps:
    """The same with the row that each of these marks of devices is."""
    by_group = looked_up(marks.group, rows.marks.group, rows.row_of)
    if _has_most(by_group):
        return replace(drawn, row=by_group)
    by_number = _by_number(marks.number, marks.start, rows)
    # Work that was launched between marks would go to the mark before it.
    if steps_between_marks.numbered_alike(rows, marks, by_number):
        return replace(drawn, row=by_number)
    asked = None
    if work is not None and work.launched.any():
        asked = asked_by_mark(work, rows)
        by_launch = _by_majority(marks, drawn.device, work, asked.row)
        if _has_most(by_launch):
            return replace(drawn, row=by_launch, asked=asked)
    if _has_most(by_number):
        row = by_number
    else:
        row = _by_order(marks.start, drawn.device, rows)
    return replace(drawn, row=row, asked=asked)


def _has_most(row: Int64s) -> bool:
    """Whether most of the drawn steps have a row."""
    return bool((row >= 0).mean() > MAJORITY)


def _by_order(start: Int64s, device: Sequence[str], rows: StepRows) -> Int64s:
    """On devices that drew as many steps as were marked, each after its mark began: the first is
    the first one's, and so on.
    """
    out = np.full(len(start), -1, np.int64)
    rows_of_device: dict[str, list[int]] = {}
    for row, name in enumerate(device):
        rows_of_device.setdefault(name, []).append(row)
    for device_rows in rows_of_device.values():
        mine = np.array(device_rows, np.int64)
        by_start = np.argsort(start[mine], kind="stable")
        mine = mine[by_start]
        if len(mine) != len(rows):
            continue
        if (start[mine] >= rows.start).all():
            out[mine] = np.arange(len(mine))
    return out


def _by_number(number: Int64s, start: Int64s, rows: StepRows) -> Int64s:
    """The last step of that number that began before; the next one where none did."""
    count = len(rows)
    # (number, time) as one key each, of the rows and then of what is looked up.
    numbers = _codes(rows.number, number)
    moments = _codes(rows.start, start)
    keys = numbers * (len(numbers) + 1) + moments
    row_keys = keys[:count]
    asked_keys = keys[count:]
    order = np.argsort(row_keys, kind="stable")
    row_keys = row_keys[order]
    place = row_keys.searchsorted(asked_keys, side="right")
    place_before = np.maximum(place - 1, 0)
    place_after = np.minimum(place, count - 1)
    before = order[place_before]
    after = order[place_after]
    row = np.where(rows.number[after] == number, after, -1)
    before_has_number = rows.number[before] == number
    has_before = (place > 0) & before_has_number
    row[has_before] = before[has_before]
    row[number < 0] = -1
    return row


def _codes(of_rows: Int64s, of_marks: Int64s) -> Int64s:
    """Small numbers in the order of the values, first of the rows and then of the marks."""
    values = np.concatenate([of_rows, of_marks])
    _, codes = np.unique(values, return_inverse=True)
    return np.asarray(codes.ravel(), np.int64)


def _by_majority(
    marks: Marks,
    device: Sequence[str],
    work: DeviceWork,
    row: Int64s,
) -> Int64s:
    """The step that launched most of the work that began inside each drawn one, on its device."""
    count = len(marks.start)
    lines = DrawnSteps(
        device=list(device),
        start=marks.start,
        duration=marks.duration,
        row=np.arange(count),
    )
    line = in_drawn_steps(work, lines)
    has_both = (line >= 0) & (row >= 0)
    # One number for each pair of a drawn step and a row.
    width = int(row.max(initial=0)) + 1
    pair = line[has_both] * width + row[has_both]
    pairs, counts = counted(pair, count * width)
    # Of the pairs of one drawn step the most frequent is written last.
    ascending = np.argsort(counts, kind="stable")
    by_count = pairs[ascending]
    out = np.full(count, -1, np.int64)
    out[by_count // width] = by_count % width
    return out


def with_cut_steps(
    rows: StepRows,
    lines: Candidate,
    drawn: DrawnSteps,
    other_groups: Int64s,
    *,
    roots: bool,
) -> tuple[StepRows, DrawnSteps, Int64s]:
    """(the same with steps that only a device's line shows: those that go on with the numbers of
    the marks, and those before the first and after the last marked one; those lines).

    The profile's ends cut off the marks of the latter. `other_groups` are those of other work: an
    evaluation's are no steps. Where the marks are `roots` of the collector's groups, none of them
    the program's own, every group that a device drew is a step, as in TensorFlow.
    """
    cut = _cut_lines(rows, lines, drawn, other_groups, roots=roots)
    if not len(cut):
        return rows, drawn, cut
    marks = lines.marks
    group = marks.group[cut]
    number = marks.number[cut]
    by_group = bool((group >= 0).all())
    key = group if by_group else number
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.ravel()
    start, end = extents(which, marks.start[cut], marks.end[cut], len(first))
    labels = [marks.labels[i] for i in cut[first].tolist()]
    # A bare number is the collector's count of groups, where it drew by groups: not the program's.
    is_program_number = [not (by_group and label.isdigit()) for label in labels]
    extended, place = with_unmarked_steps(
        rows,
        number=np.where(is_program_number, number[first], -1),
        start=start,
        end=end,
        labels=labels,
    )
    new_place = place[np.maximum(drawn.row, 0)]
    row = np.where(drawn.row >= 0, new_place, -1)
    place_of_cut = place[len(rows) :]
    row[cut] = place_of_cut[which]
    return extended, replace(drawn, row=row, asked=None), cut


def _cut_lines(
    rows: StepRows,
    lines: Candidate,
    drawn: DrawnSteps,
    other_groups: Int64s,
    *,
    roots: bool,
) -> Int64s:
    """Which drawn steps are steps whose marks are missing."""
    marks = lines.marks
    has_row = drawn.row >= 0
    if has_row.all() or not has_row.any():
        return np.empty(0, np.int64)
    by_groups = roots and bool((marks.group >= 0).all())
    continuing = steps_between_marks.continuing_steps(rows, marks, drawn.row)
    if has_row.mean() <= MAJORITY and not by_groups and not continuing.any():
        return np.empty(0, np.int64)
    marked_start = drawn.start[has_row]
    is_step = continuing | by_groups
    is_step |= drawn.start < marked_start.min()
    is_step |= drawn.start > marked_start.max()
    is_other_work = np.isin(marks.group, other_groups) & (marks.group >= 0)
    is_training = (marks.phase == TRAINING) & ~is_other_work
    return np.flatnonzero(is_step & ~has_row & is_training)


def modules_in_order(trace: Trace, rows: StepRows) -> DrawnSteps:
    """Modules that ran once a step on each device: the first is the first step's, and so on.

    None where their count is another.
    """
    for candidate in repeated_launches.modules(trace):
        runs = candidate.marks
        counts = np.bincount(runs.number, minlength=len(rows))
        if len(counts) != len(rows) or (counts != counts[0]).any():
            continue
        step_start = rows.start[runs.number]
        if (runs.start >= step_start).all():
            return _drawn_by_marks(trace, runs, runs.number)
    return NO_DRAWN_STEPS


def in_drawn_steps(work: DeviceWork, lines: DrawnSteps) -> Int64s:
    """The step drawn on the same device that was open when the work began; -1 for none."""
    step_of_event = np.full(len(work), -1, np.int64)
    line_end = lines.end
    by_start = np.argsort(lines.start, kind="stable")
    device_of_line = np.array(lines.device, np.str_)[by_start]
    for number, device in enumerate(work.devices):
        drawn = by_start[device_of_line == device]
        if not len(drawn):
            continue
        drawn_start = lines.start[drawn]
        drawn_end = line_end[drawn]
        row_of_drawn = lines.row[drawn]
        if len(work.devices) == 1:
            is_open, place = open_at(drawn_start, drawn_end, work.start)
            return np.where(is_open, row_of_drawn.take(place), -1)
        events = np.flatnonzero(work.device == number)
        is_open, place = open_at(drawn_start, drawn_end, work.start[events])
        with_step = events[is_open]
        step_of_event[with_step] = row_of_drawn[place[is_open]]
    return step_of_event
