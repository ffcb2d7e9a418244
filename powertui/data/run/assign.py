"""Which step each piece of device work belongs to, by the best link that the file has, and which
that is.

In this order: the collector's own group ids; the call that launched the work (a correlation id, or
a run id), by the step in which it began; the step line of the device that ran the work; and where
nothing else tells, the time at which it ran. The last is wrong as soon as the host runs ahead, and
is therefore named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int32s, Int64s, Trace
from powertui.data.run import repeated_launches, steps_between_marks
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork, extents
from powertui.data.run.marks import TRAINING, Marks
from powertui.data.run.step_rows import StepRows, with_unmarked_steps
from powertui.data.sorted_columns import among, counted, looked_up, open_at
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.run.device_work import HandOvers

# How the step of device work is known.
_GROUP = "group id"
LINE = "device step line"
_ORDER = "order of modules"
TIME = "time"
# A link that gives more than this share of the work a step is taken.
_MAJORITY = 0.5
# Threads that a call was handed through before it was launched. Chosen, not measured.
_MAX_HOPS = 3


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


@dataclass(frozen=True, eq=False)
class AskedByMark:
    """The row whose mark was open when each piece of work was asked for; -1 for none."""

    row: Int64s
    holds_for_most: bool
    by_other_threads: bool  # some work was launched on a line without a mark


@dataclass(frozen=True, eq=False)
class StepOfWork:
    """The row of each event of `Work`, -1 for none, and how it is known."""

    row: Int64s
    by: str
    # Launches are inside marks; else only inside the stretch from one mark to the next.
    direct: bool = True


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
    marks = rows.marks if made_of_lines else lines.marks
    device = _devices_of(trace, marks)
    if made_of_lines:
        return DrawnSteps(device, marks.start, marks.duration, rows.row_of)
    return _with_rows(DrawnSteps(device, marks.start, marks.duration, _NO_ROWS), marks, rows, work)


def _devices_of(trace: Trace, marks: Marks) -> list[str]:
    """The device of each mark."""
    names = [process.name for process, _ in trace.tracks()]
    return [names[line] for line in marks.lines.tolist()]


def _with_rows(
    drawn: DrawnSteps,
    marks: Marks,
    rows: StepRows,
    work: DeviceWork | None,
) -> DrawnSteps:
    """The same with the row that each of these marks of devices is."""
    by_group = looked_up(marks.group, rows.marks.group, rows.row_of)
    if (by_group >= 0).mean() > _MAJORITY:
        return replace(drawn, row=by_group)
    by_number = _by_number(marks.number, marks.start, rows)
    # Work that was launched between marks would go to the mark before it.
    if steps_between_marks.numbered_alike(rows, marks, by_number):
        return replace(drawn, row=by_number)
    asked = None
    if work is not None and work.launched.any():
        asked = _by_call(work, rows)
        by_launch = _by_majority(marks, drawn.device, work, asked.row)
        if (by_launch >= 0).mean() > _MAJORITY:
            return replace(drawn, row=by_launch, asked=asked)
    if (by_number >= 0).mean() > _MAJORITY:
        return replace(drawn, row=by_number, asked=asked)
    return replace(drawn, row=_by_order(marks.start, drawn.device, rows), asked=asked)


def _by_order(start: Int64s, device: Sequence[str], rows: StepRows) -> Int64s:
    """On devices that drew as many steps as were marked, each after its mark began: the first is
    the first one's, and so on.
    """
    out = np.full(len(start), -1, np.int64)
    for name in dict.fromkeys(device):
        is_mine = np.array([mark_device == name for mark_device in device], np.bool_)
        mine = np.flatnonzero(is_mine)
        mine = mine[np.argsort(start[mine], kind="stable")]
        if len(mine) == len(rows) and (start[mine] >= rows.start).all():
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
    place = row_keys[order].searchsorted(asked_keys, side="right")
    before = order[np.maximum(place - 1, 0)]
    after = order[np.minimum(place, count - 1)]
    row = np.where(rows.number[after] == number, after, -1)
    has_before = (place > 0) & (rows.number[before] == number)
    row[has_before] = before[has_before]
    row[number < 0] = -1
    return row


def _codes(of_rows: Int64s, of_marks: Int64s) -> Int64s:
    """Small numbers in the order of the values, first of the rows and then of the marks."""
    values = np.concatenate([of_rows, of_marks])
    _, codes = np.unique(values, return_inverse=True)
    return np.asarray(codes.ravel(), np.int64)


def _by_majority(marks: Marks, device: Sequence[str], work: DeviceWork, row: Int64s) -> Int64s:
    """The step that launched most of the work that began inside each drawn one, on its device."""
    count = len(marks.start)
    lines = DrawnSteps(list(device), marks.start, marks.duration, np.arange(count))
    line = _in_lines(work, lines)
    has_both = (line >= 0) & (row >= 0)
    # One number for each pair of a drawn step and a row.
    width = int(row.max(initial=0)) + 1
    pair = line[has_both] * width + row[has_both]
    pairs, counts = counted(pair, count * width)
    # Of the pairs of one drawn step the most frequent is written last.
    by_count = pairs[np.argsort(counts, kind="stable")]
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
    by_group = bool((marks.group[cut] >= 0).all())
    if by_group:
        key = marks.group[cut]
    else:
        key = marks.number[cut]
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.ravel()
    start, end = extents(which, marks.start[cut], marks.end[cut], len(first))
    labels = [marks.labels[i] for i in cut[first].tolist()]
    # A bare number is the collector's count of groups, where it drew by groups: not the program's.
    is_program_number = np.array([not (by_group and label.isdigit()) for label in labels], np.bool_)
    number = np.where(is_program_number, marks.number[cut[first]], -1)
    extended, place = with_unmarked_steps(rows, number, start, end, labels)
    row = np.where(drawn.row >= 0, place[np.maximum(drawn.row, 0)], -1)
    row[cut] = place[len(rows) :][which]
    return extended, DrawnSteps(drawn.device, drawn.start, drawn.duration, row), cut


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
    if has_row.mean() <= _MAJORITY and not by_groups and not continuing.any():
        return np.empty(0, np.int64)
    marked_start = drawn.start[has_row]
    is_step = continuing | by_groups
    is_step |= drawn.start < marked_start.min()
    is_step |= drawn.start > marked_start.max()
    is_other_work = np.isin(marks.group, other_groups) & (marks.group >= 0)
    is_training = (marks.phase == TRAINING) & ~is_other_work
    return np.flatnonzero(is_step & ~has_row & is_training)


def with_cut_work(
    given: StepOfWork,
    work: DeviceWork,
    drawn: DrawnSteps,
    cut: Int64s,
) -> StepOfWork:
    """Work without a step that ran in the line of one whose mark was cut off belongs to that."""
    if not len(cut):
        return given
    lines = DrawnSteps(
        device=[drawn.device[i] for i in cut.tolist()],
        start=drawn.start[cut],
        duration=drawn.duration[cut],
        row=drawn.row[cut],
    )
    row = np.where(given.row >= 0, given.row, _in_lines(work, lines))
    return StepOfWork(row, given.by, given.direct)


def modules_in_order(trace: Trace, rows: StepRows) -> DrawnSteps:
    """Modules that ran once a step on each device: the first is the first step's, and so on.

    None where their count is another.
    """
    for candidate in repeated_launches.modules(trace):
        runs = candidate.marks
        counts = np.bincount(runs.number, minlength=len(rows))
        if len(counts) != len(rows) or (counts != counts[0]).any():
            continue
        if (runs.start >= rows.start[runs.number]).all():
            return DrawnSteps(_devices_of(trace, runs), runs.start, runs.duration, runs.number)
    return NO_DRAWN_STEPS


def steps_of_work(
    work: DeviceWork,
    rows: StepRows,
    lines: DrawnSteps,
    modules: DrawnSteps,
    ends: Int64s,
    thread_handovers: Callable[[], HandOvers | None],
) -> StepOfWork:
    """The step of all work.

    `ends` is where each step ends at the latest: where the next one begins.
    """
    if (work.group >= 0).mean() > _MAJORITY:
        row = looked_up(work.group, rows.marks.group, rows.row_of)
        if (row >= 0).any():
            return StepOfWork(row, _GROUP)
    made_of_lines = lines.row is rows.row_of
    if work.launched.mean() > _MAJORITY and not made_of_lines:
        asked = lines.asked
        if asked is None:
            asked = _by_call(work, rows)
        if asked.by_other_threads:
            handovers = thread_handovers()
            if handovers is not None:
                asked = _by_call(work, rows, handovers)
        if asked.holds_for_most and (asked.row >= 0).any():
            return StepOfWork(asked.row, work.link)
        given = _between_marks(work, rows, lines, ends, asked.row)
        if (given.row >= 0).any():
            return given
    if (lines.row >= 0).any():
        return StepOfWork(_in_lines(work, lines), LINE)
    if len(modules.row):
        return StepOfWork(_in_lines(work, modules), _ORDER)
    return StepOfWork(_in_stretch(work.start, rows.start, ends), TIME, direct=False)


def _between_marks(
    work: DeviceWork,
    rows: StepRows,
    lines: DrawnSteps,
    ends: Int64s,
    row: Int64s,
) -> StepOfWork:
    """The step of work most of which was launched while no mark was open: the one that its device
    drew around it, else the one whose mark came before the launch.

    A step that nobody marked begins where its device does, and its launch comes before that: by the
    launch it would be the step before.
    """
    unknown = (row < 0) & work.launched
    by_line = np.where(unknown, _in_lines(work, lines), -1)
    without_line = unknown & (by_line < 0)
    by_launch = np.where(without_line, _in_stretch(work.launch, rows.start, ends), -1)
    mostly_by_line = int((by_line >= 0).sum()) > _MAJORITY * int(unknown.sum())
    return StepOfWork(
        np.maximum(np.maximum(row, by_line), by_launch),
        LINE if mostly_by_line else work.link,
        direct=mostly_by_line,
    )


def _by_call(
    work: DeviceWork,
    rows: StepRows,
    handovers: HandOvers | None = None,
) -> AskedByMark:
    """Which step asked for each piece of work.

    `handovers` show who asked for what another thread launched: that thread may be steps behind,
    so it goes before the time.
    """
    by_time = work.launched
    on_other_line = by_time & ~among(wire.distinct(rows.marks.lines), work.launch_line)
    by_other_threads = bool(on_other_line.any())
    row = None
    if handovers is not None:
        launch = work.launch[on_other_line]
        line = work.launch_line[on_other_line]
        asked_row, asked_at = _by_handovers(handovers, launch, line, rows)
        row = np.full(len(work), -1, np.int64)
        row[on_other_line] = asked_row
        # Where nothing shows who asked, the time does.
        by_time = by_time.copy()
        by_time[on_other_line] = (asked_row < 0) & (asked_at == launch)
    row_by_time = _open_at(work.launch, work.launch_line, by_time, rows)
    row = row_by_time if row is None else np.where(by_time, row_by_time, row)
    known_ps = int(work.duration.sum(where=row >= 0))
    launched_ps = int(work.duration.sum(where=work.launched))
    return AskedByMark(row, known_ps > _MAJORITY * launched_ps, by_other_threads)


def _by_handovers(
    handovers: HandOvers,
    moment: Int64s,
    line: Int32s,
    rows: StepRows,
) -> tuple[Int64s, Int64s]:
    """(the row whose mark was open where each call was asked for; when the first of all who asked
    did).
    """
    row = np.full(len(moment), -1, np.int64)
    for _ in range(_MAX_HOPS):
        asked_at, asked_on = handovers.back(moment, line)
        moved = (asked_at != moment) | (asked_on != line)
        moment, line = asked_at, asked_on
        row = np.where(row < 0, _open_at(moment, line, moved, rows), row)
    return row, moment


def _open_at(moment: Int64s, line_of: Int32s, asked: Bools, rows: StepRows) -> Int64s:
    """The row whose mark was open at each moment, -1 for none."""
    marks = rows.marks
    mark_end = marks.end
    by_line = list(marks.by_line())
    if len(by_line) == 1:
        _, marks_of_line = by_line[0]
        is_open, place = open_at(marks.start[marks_of_line], mark_end[marks_of_line], moment)
        is_open &= asked
        return np.where(is_open, rows.row_of[marks_of_line].take(place), -1)
    open_row = np.full(len(moment), -1, np.int64)
    best_rank = np.full(len(moment), np.iinfo(np.int64).min)
    for line, marks_of_line in by_line:
        starts = marks.start[marks_of_line]
        is_open, place = open_at(starts, mark_end[marks_of_line], moment)
        is_own_line = line_of == line
        # The mark of the call's own line knows best; of other lines' the one that was opened last.
        rank = np.where(is_own_line, np.iinfo(np.int64).max, starts[place])
        is_better = is_own_line | (rank > best_rank)
        chosen = np.flatnonzero(asked & is_open & is_better)
        open_row[chosen] = rows.row_of[marks_of_line[place[chosen]]]
        best_rank[chosen] = rank[chosen]
    return open_row


def _in_stretch(moments: Int64s, start: Int64s, ends: Int64s) -> Int64s:
    """Which of these stretches, by start and apart from each other, each moment is in; -1: none."""
    is_inside, stretch = open_at(start, ends, moments)
    return np.where(is_inside, stretch, -1)


def _in_lines(work: DeviceWork, lines: DrawnSteps) -> Int64s:
    """The step drawn on the same device that was open when the work began."""
    step_of_event = np.full(len(work), -1, np.int64)
    line_end = lines.end
    by_start = np.argsort(lines.start, kind="stable")
    device_of_line = np.array(lines.device, np.str_)[by_start]
    for number, device in enumerate(work.devices):
        drawn = by_start[device_of_line == device]
        if not len(drawn):
            continue
        row_of_drawn = lines.row[drawn]
        if len(work.devices) == 1:
            is_open, place = open_at(lines.start[drawn], line_end[drawn], work.start)
            return np.where(is_open, row_of_drawn.take(place), -1)
        events = np.flatnonzero(work.device == number)
        is_open, place = open_at(lines.start[drawn], line_end[drawn], work.start[events])
        step_of_event[events[is_open]] = row_of_drawn[place[is_open]]
    return step_of_event
