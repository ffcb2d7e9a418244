"""Which step each piece of device work belongs to, by the best link that the file has, and which
that is.

In this order: the collector's own group ids; the call that launched the work (a correlation id, or
a run id), by the step in which it began; the step line of the device that ran the work; and where
nothing else tells, the time at which it ran. The last is wrong as soon as the host runs ahead, and
is therefore named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, Trace
from powertui.data.run import repeated_launches, unmarked_steps
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork, extents
from powertui.data.run.device_work import MAX_HOPS, HandOvers
from powertui.data.run.marks import Marks
from powertui.data.run.step_rows import StepRows, with_unmarked_steps
from powertui.value_types import dataclass

_GROUP, LINE, _ORDER, TIME = "group id", "device step line", "order of modules", "time"
# A link that gives more than this share of the work a step is taken.
_MAJORITY = 0.5


@dataclass(frozen=True, eq=False)
class DrawnSteps:
    """The steps that collectors drew on devices, and which of the run's steps each is (-1:
    none).
    """

    device: list[str]
    start: Int64s
    duration: Int64s
    row: Int64s


@dataclass(frozen=True, eq=False)
class StepOfWork:
    """The row of each event of `Work`, -1 for none, and how it is known."""

    row: Int64s
    by: str
    direct: bool = (
        True  # launches lie inside marks; else only inside the stretch from one mark to the next
    )


NO_DRAWN_STEPS = DrawnSteps([], np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def drawn_steps(
    trace: Trace,
    lines: Candidate | None,
    rows: StepRows,
    work: DeviceWork | None,
    *,
    made_of_lines: bool,
) -> DrawnSteps:
    """What the step lines of the devices say. `own`: they are what the rows were made of."""
    if lines is None:
        return NO_DRAWN_STEPS
    marks = rows.marks if made_of_lines else lines.marks
    names = {line: process.name for line, (process, _) in enumerate(trace.tracks())}
    device = [names[line] for line in marks.lines.tolist()]
    row = rows.row_of if made_of_lines else _rows_of(marks, device, rows, work)
    return DrawnSteps(device, marks.start, marks.duration, row)


def _rows_of(
    marks: Marks, device: Sequence[str], rows: StepRows, work: DeviceWork | None
) -> Int64s:
    start, duration, number = marks.start, marks.duration, marks.number
    by_group = _looked_up(marks.group, rows.marks.group, rows.row_of)
    if (by_group >= 0).mean() > _MAJORITY:
        return by_group
    by_number = _by_number(number, start, rows)
    # Work that was launched between marks would go to the mark before it.
    if unmarked_steps.numbered_alike(rows, marks, by_number):
        return by_number
    if work is not None and work.launched.any():
        by_launch = _by_majority(start, duration, device, work, _by_call(work, rows)[0])
        if (by_launch >= 0).mean() > _MAJORITY:
            return by_launch
    return by_number if (by_number >= 0).mean() > _MAJORITY else _by_order(start, device, rows)


def _by_order(start: Int64s, device: Sequence[str], rows: StepRows) -> Int64s:
    """On devices that drew as many steps as were marked, each after its mark began: the first is
    the first one's, and so on.
    """
    out = np.full(len(start), -1, np.int64)
    for name in dict.fromkeys(device):
        mine = np.flatnonzero(np.array([line_device == name for line_device in device], np.bool_))
        mine = mine[np.argsort(start[mine], kind="stable")]
        if len(mine) == len(rows) and (start[mine] >= rows.start).all():
            out[mine] = np.arange(len(mine))
    return out


def _looked_up(keys: Int64s, table_keys: Int64s, values: Int64s) -> Int64s:
    """The value of each key among the known ones (those from 0 on); -1 where there is none."""
    has = table_keys >= 0
    if not has.any():
        return np.full(len(keys), -1, np.int64)
    names, first = np.unique(table_keys[has], return_index=True)
    place = np.minimum(names.searchsorted(keys), len(names) - 1)
    return np.where((names[place] == keys) & (keys >= 0), values[has][first][place], -1)


def _by_number(number: Int64s, start: Int64s, rows: StepRows) -> Int64s:
    """The last step of that number that began before; the next one where none did."""
    count = len(rows)
    # (number, time) as one key each, of the rows and of what is asked for.
    named = np.unique(np.concatenate([rows.number, number]), return_inverse=True)[1].ravel()
    moment = np.unique(np.concatenate([rows.start, start]), return_inverse=True)[1].ravel()
    key = named * (len(named) + 1) + moment
    order = np.argsort(key[:count], kind="stable")
    place = key[:count][order].searchsorted(key[count:], side="right")
    before, after = order[np.maximum(place - 1, 0)], order[np.minimum(place, count - 1)]
    out = np.where(
        (place > 0) & (rows.number[before] == number),
        before,
        np.where(rows.number[after] == number, after, -1),
    )
    return np.where(number >= 0, out, -1)


def _by_majority(
    start: Int64s, duration: Int64s, device: Sequence[str], work: DeviceWork, row: Int64s
) -> Int64s:
    """The step that launched most of the work that began inside each drawn one, on its device."""
    lines = DrawnSteps(list(device), start, duration, np.arange(len(start)))
    line = _in_lines(work, lines)
    both = (line >= 0) & (row >= 0)
    pairs, counts = np.unique(np.stack([line[both], row[both]]), axis=1, return_counts=True)
    out = np.full(len(start), -1, np.int64)
    order = np.argsort(counts, kind="stable")  # the most frequent is written last
    out[pairs[0, order]] = pairs[1, order]
    return out


def with_cut_steps(
    rows: StepRows, lines: Candidate, drawn: DrawnSteps, other_groups: Int64s, *, roots: bool
) -> tuple[StepRows, DrawnSteps, Int64s]:
    """(the same with steps that only a device's line tells: those that go on with the numbers of
    the marks, and those before the first and after the last marked one; those lines).

    The profile's ends cut off the marks of the latter. `other` are the groups of other work: an
    evaluation's are no steps. Where the marks are `roots` of the collector's groups, none of them
    the program's own, every group that a device drew is a step, as in TensorFlow.
    """
    none = np.empty(0, np.int64)
    has = drawn.row >= 0
    grouped = roots and bool((lines.marks.group >= 0).all())
    marks = lines.marks
    continuing = unmarked_steps.continuing_steps(rows, marks, drawn.row)
    few = has.mean() <= _MAJORITY and not grouped and not continuing.any()
    if has.all() or not has.any() or few:
        return rows, drawn, none
    outside = (
        grouped
        | continuing
        | (drawn.start < drawn.start[has].min())
        | (drawn.start > drawn.start[has].max())
    )
    cut = np.flatnonzero(
        ~has
        & outside
        & (marks.phase == 0)
        & ~(np.isin(marks.group, other_groups) & (marks.group >= 0))
    )
    if not len(cut):
        return rows, drawn, none
    by_group = bool((marks.group[cut] >= 0).all())
    key = marks.group[cut] if by_group else marks.number[cut]
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    which = which.ravel()
    start, end = extents(which, marks.start[cut], (marks.start + marks.duration)[cut], len(first))
    labels = [marks.labels[i] for i in cut[first].tolist()]
    # A bare number is the collector's count of groups, where it drew by groups: not the program's.
    program_number = np.array([not (by_group and label.isdigit()) for label in labels], np.bool_)
    made, place = with_unmarked_steps(
        rows, np.where(program_number, marks.number[cut[first]], -1), start, end, labels
    )
    row = np.where(has, place[np.maximum(drawn.row, 0)], -1)
    row[cut] = place[len(rows) :][which]
    return made, DrawnSteps(drawn.device, drawn.start, drawn.duration, row), cut


def with_cut_work(
    given: StepOfWork, work: DeviceWork, drawn: DrawnSteps, cut: Int64s
) -> StepOfWork:
    """Work without a step that ran in the line of one whose mark was cut off belongs to that."""
    if not len(cut):
        return given
    lines = DrawnSteps(
        [drawn.device[i] for i in cut.tolist()],
        drawn.start[cut],
        drawn.duration[cut],
        drawn.row[cut],
    )
    return StepOfWork(
        np.where(given.row >= 0, given.row, _in_lines(work, lines)), given.by, given.direct
    )


def modules_in_order(trace: Trace, rows: StepRows) -> DrawnSteps:
    """Modules that ran once a step on each device: the first is the first step's, and so on.

    None where their count is another.
    """
    names = {line: process.name for line, (process, _) in enumerate(trace.tracks())}
    for candidate in repeated_launches.modules(trace):
        module_marks = candidate.marks
        counts = np.bincount(module_marks.number, minlength=len(rows))
        if (
            len(counts) == len(rows)
            and (counts == counts[0]).all()
            and (module_marks.start >= rows.start[module_marks.number]).all()
        ):
            device = [names[line] for line in module_marks.lines.tolist()]
            return DrawnSteps(
                device, module_marks.start, module_marks.duration, module_marks.number
            )
    return NO_DRAWN_STEPS


def steps_of_work(
    work: DeviceWork,
    rows: StepRows,
    lines: DrawnSteps,
    modules: DrawnSteps,
    ends: Int64s,
    handed: Callable[[], HandOvers | None] = lambda: None,
) -> StepOfWork:
    """The step of all work.

    `ends` is where each step ends at the latest: where the next one begins.
    """
    if (work.group >= 0).mean() > _MAJORITY:
        row = _looked_up(work.group, rows.marks.group, rows.row_of)
        if (row >= 0).any():
            return StepOfWork(row, _GROUP)
    if work.launched.mean() > _MAJORITY and not _on_devices(rows, lines):
        row, direct = _by_call(work, rows, handed)
        if direct and (row >= 0).any():
            return StepOfWork(row, work.link)
        given = _between_marks(work, rows, lines, ends, row)
        if (given.row >= 0).any():
            return given
    if len(lines.row) and (lines.row >= 0).any():
        return StepOfWork(_in_lines(work, lines), LINE)
    if len(modules.row):
        return StepOfWork(_in_lines(work, modules), _ORDER)
    return StepOfWork(_in_stretch(work.start, rows.start, ends), TIME, direct=False)


def _between_marks(
    work: DeviceWork, rows: StepRows, lines: DrawnSteps, ends: Int64s, row: Int64s
) -> StepOfWork:
    """The step of work most of which was launched while no mark was open: the one that its device
    drew around it, else the one whose mark came before the launch.

    A step that nobody marked begins where its device does, and its launch comes before that: by the
    launch it would be the step before.
    """
    unknown = (row < 0) & work.launched
    drawn = np.where(unknown, _in_lines(work, lines), -1)
    by_stretch = unknown & (drawn < 0)
    stretch = np.where(by_stretch, _in_stretch(work.launch, rows.start, ends), -1)
    is_drawn = int((drawn >= 0).sum()) > _MAJORITY * int(unknown.sum())
    return StepOfWork(
        np.maximum(np.maximum(row, drawn), stretch),
        LINE if is_drawn else work.link,
        direct=is_drawn,
    )


def _on_devices(rows: StepRows, lines: DrawnSteps) -> bool:
    return lines.row is rows.row_of


def _by_call(
    work: DeviceWork, rows: StepRows, handed: Callable[[], HandOvers | None] = lambda: None
) -> tuple[Int64s, bool]:
    """(the row whose mark was open when each piece of work was asked for, -1 for none; whether that
    is so for most).

    `handed` tells who asked for what another thread launched: that thread may be steps behind, so
    it goes before the time.
    """
    out = np.full(len(work), -1, np.int64)
    by_time = work.launched.copy()
    beside = by_time & ~np.isin(work.launch_line, rows.marks.lines)
    chain = handed() if beside.any() else None
    if chain is not None:
        moment, line = work.launch[beside], work.launch_line[beside]
        row = np.full(len(moment), -1, np.int64)
        for _ in range(MAX_HOPS):
            before = moment, line
            moment, line = chain.back(moment, line)
            moved = (moment != before[0]) | (line != before[1])
            row = np.where(row < 0, _open_at(moment, line, moved, rows), row)
        out[beside] = row
        by_time[beside] = (row < 0) & (
            moment == work.launch[beside]
        )  # nothing says who asked: by the time
    out = np.where(by_time, _open_at(work.launch, work.launch_line, by_time, rows), out)
    return out, int(work.duration[out >= 0].sum()) > _MAJORITY * int(
        work.duration[work.launched].sum()
    )


def _open_at(moment: Int64s, line_of: Int32s, asked: Bools, rows: StepRows) -> Int64s:
    """The row whose mark was open at each moment, -1 for none."""
    marks = rows.marks
    out = np.full(len(moment), -1, np.int64)
    began = np.full(len(moment), np.iinfo(np.int64).min)
    for line in np.unique(marks.lines).tolist():
        mine = np.flatnonzero(marks.lines == line)  # on one line marks do not overlap
        start = marks.start[mine]
        place = start.searchsorted(moment, side="right") - 1
        at = mine[np.maximum(place, 0)]
        held = asked & (place >= 0) & (moment < marks.start[at] + marks.duration[at])
        same = line_of == line
        # The mark of the call's own line knows best; of other lines' the one that was opened last.
        better = held & (same | (marks.start[at] > began))
        out[better] = rows.row_of[at[better]]
        began[better] = np.where(same[better], np.iinfo(np.int64).max, marks.start[at[better]])
    return out


def _in_stretch(moments: Int64s, start: Int64s, ends: Int64s) -> Int64s:
    place = start.searchsorted(moments, side="right") - 1
    at = np.maximum(place, 0)
    return np.where((place >= 0) & (moments < ends[at]), at, -1)


def _in_lines(work: DeviceWork, lines: DrawnSteps) -> Int64s:
    """The step drawn on the same device that was open when the work began."""
    out = np.full(len(work), -1, np.int64)
    names = np.array(
        [work.devices.index(name) if name in work.devices else -1 for name in lines.device],
        np.int32,
    )
    for device in np.unique(names[names >= 0]).tolist():
        mine = np.flatnonzero(names == device)
        mine = mine[np.argsort(lines.start[mine], kind="stable")]
        events = np.flatnonzero(work.device == device)
        at = _in_stretch(
            work.start[events], lines.start[mine], lines.start[mine] + lines.duration[mine]
        )
        out[events] = np.where(at >= 0, lines.row[mine[np.maximum(at, 0)]], -1)
    return out
