"""The three times of a step: how long its mark was open, what devices worked for it, and what
TensorFlow's rule makes of both.

TensorFlow takes the longest of the devices' steps, unless the longest mark of the host holds it;
without a device, the mark. A device's step is what its `Steps` line says; where a file has none, it
goes from the first to the last of the work that is known to belong to the step, as the collectors
draw it. What was given to steps by time alone draws no step.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import UNKNOWN, Bools, Int64s, StepsOn
from powertui.data.run.assign import TIME, StepOfWork
from powertui.data.run.device_intervals import DeviceWork, any_ps, covered_ps, extents
from powertui.data.run.drawn_steps import DrawnSteps
from powertui.data.run.step_rows import StepRows
from powertui.data.sorted_columns import places_among
from powertui.named_tuples import NamedTuple

# Of a step's stretch that its devices cover: with less they are apart. Chosen, not measured.
_MIN_DEVICE_COVERAGE = 0.5
# Of the time from their first work to their last: devices that do less are not behind the host, and
# only begin late in each step. Chosen, not measured.
_MIN_BEHIND_SHARE = 0.5
# Of the steps' work that runs while their mark is not open. Chosen, not measured.
_ASYNCHRONOUS_SHARE = 0.5


class Times(NamedTuple):
    """The columns of steps, and what is known of each device."""

    start: Int64s  # of the stretch that the step lies in
    duration: Int64s
    host: Int64s
    device: Int64s
    step: Int64s
    on: tuple[StepsOn, ...]
    asynchronous: bool | None  # None: no device tells
    on_device: Bools  # the step is where a device shows it


class _DeviceSteps(NamedTuple):
    """Each step of each device that shows it."""

    names: list[str]  # of the devices
    pair: Int64s  # which step of which device: device * count + row
    start: Int64s
    end: Int64s
    step_count: int  # of all steps

    @property
    def row(self) -> Int64s:
        """The step that each is."""
        return self.pair % max(1, self.step_count)

    @property
    def device(self) -> Int64s:
        """The device of each: its index among the names."""
        return self.pair // max(1, self.step_count)


class _LongestSpans(NamedTuple):
    """For each step the longest of its spans."""

    at: Int64s  # which span; -1 for none
    length: Int64s  # -1 for none
    start: Int64s


def step_times(
    rows: StepRows,
    drawn: DrawnSteps,
    work: DeviceWork | None,
    given: StepOfWork | None,
    *,
    on_devices: bool,
    mark_is_step: bool = False,
) -> Times:
    """The times of steps that the host marks (or `on_devices`: lines of devices), with what devices
    did for them.

    `mark_is_step`: a mark is the step by definition, wherever its work ran, as long as the device
    keeps up with it. So it is with PyTorch's: its marks follow one another without a gap. Where
    the device is behind, a step is as long as from its first work there to the next step's.
    """
    count = len(rows)
    on_device = _device_steps(drawn, work, given, count)
    longest = _longest(on_device.row, on_device.start, on_device.end, count)
    has_device = longest.length >= 0
    asynchronous = False if on_devices else _asynchronous(rows, work, given)
    by_device = has_device
    if not on_devices:
        mark_end = rows.marked_start + rows.marked
        begins_inside = rows.marked_start <= longest.start
        mark_holds_it = begins_inside & (longest.start + longest.length <= mark_end)
        by_device = has_device & ~mark_holds_it
        if mark_is_step and not (asynchronous and _is_behind(on_device.start, on_device.end)):
            by_device = np.zeros(count, np.bool_)
    step_length = longest.length
    if mark_is_step:
        step_length = _distances(longest.start, longest.length, by_device)
    step = np.where(by_device, step_length, rows.marked)
    if asynchronous and has_device.any():  # what a device did for the others is not in the file
        step = np.where(has_device, step, UNKNOWN)
    marks_start, marks_end = _marked_stretch(rows)
    device_start, device_end = _stretch(
        on_device.row, on_device.start, on_device.end, count, longest.at
    )
    start = np.where(by_device, device_start, marks_start)
    end = np.where(by_device, device_end, marks_end)
    device, steps_on = _worked(work, given, on_device)
    # The host ran ahead: what ran during a step's mark may be an earlier step's.
    if asynchronous and given is not None and given.by == TIME:
        device = np.full(count, UNKNOWN, np.int64)
    return Times(
        start=start,
        duration=end - start,
        host=np.full(count, UNKNOWN, np.int64) if on_devices else rows.open,
        device=device,
        step=step,
        on=steps_on,
        asynchronous=asynchronous,
        on_device=by_device,
    )


def _device_steps(
    drawn: DrawnSteps,
    work: DeviceWork | None,
    given: StepOfWork | None,
    count: int,
) -> _DeviceSteps:
    """Each step of each device from its first work to its last, by the steps that the collector
    drew there, and elsewhere by the work that was given to steps.
    """
    names = list(dict.fromkeys(drawn.device))
    if work is not None:
        names = list(dict.fromkeys([*names, *work.devices]))
    if not names:
        nothing = np.empty(0, np.int64)
        return _DeviceSteps(
            names=names,
            pair=nothing,
            start=nothing,
            end=nothing,
            step_count=count,
        )
    number_of = {name: number for number, name in enumerate(names)}
    drawn_on = np.array([number_of[name] for name in drawn.device], np.int64)
    drawn_pair = drawn_on * count + drawn.row
    has_row = drawn.row >= 0
    pairs = [drawn_pair[has_row]]
    starts = [drawn.start[has_row]]
    ends = [drawn.end[has_row]]
    # Work that was given by its time alone is no evidence of when a step ran.
    if work is not None and given is not None and given.by != TIME:
        number_of_device = np.array([number_of[name] for name in work.devices], np.int64)
        worked_on = number_of_device[work.device]
        work_pair = worked_on * count + given.row
        # A device whose steps are drawn needs no other evidence of them.
        is_drawn = np.isin(worked_on, drawn_on)
        is_used = (given.row >= 0) & ~is_drawn
        pairs.append(work_pair[is_used])
        starts.append(work.start[is_used])
        ends.append(work.end[is_used])
    pair, pair_of_span = np.unique(np.concatenate(pairs), return_inverse=True)
    start, end = extents(
        pair_of_span.ravel(),
        np.concatenate(starts),
        np.concatenate(ends),
        len(pair),
    )
    return _DeviceSteps(
        names=names,
        pair=pair,
        start=start,
        end=end,
        step_count=count,
    )


def _longest(row: Int64s, start: Int64s, end: Int64s, count: int) -> _LongestSpans:
    """For each of `count` steps the longest of these spans."""
    at = np.full(count, -1, np.int64)
    if not len(row):
        return _LongestSpans(
            at=at,
            length=np.full(count, -1, np.int64),
            start=np.zeros(count, np.int64),
        )
    length = end - start
    longest_first = np.lexsort((start, -length, row))
    rows, first_of_row = np.unique(row[longest_first], return_index=True)
    at[rows] = longest_first[first_of_row]
    return _LongestSpans(
        at=at,
        length=np.where(at >= 0, length[at], -1),
        start=start[at],
    )


def _is_behind(start: Int64s, end: Int64s) -> bool:
    """Whether devices work on steps most of the time: with less, they wait for the host."""
    if not len(start):
        return False
    span_ps = int(end.max()) - int(start.min())
    return any_ps(start, end) > _MIN_BEHIND_SHARE * span_ps


def _distances(start: Int64s, length: Int64s, on_device: Bools) -> Int64s:
    """From the start of each step on its device to the next one's; of the last its length."""
    out: Int64s = length.copy()
    rows = np.flatnonzero(on_device)
    by_start = np.argsort(start[rows], kind="stable")
    rows = rows[by_start]
    row = rows[:-1]
    next_row = rows[1:]
    distance = start[next_row] - start[row]
    follows = (next_row == row + 1) & (distance > 0)
    out[row[follows]] = distance[follows]
    return out


def _stretch(
    row: Int64s,
    start: Int64s,
    end: Int64s,
    count: int,
    longest: Int64s,
) -> tuple[Int64s, Int64s]:
    """From the first to the last of each step's spans; of spans that are far apart, the longest
    with those that overlap it.
    """
    chain_start = np.zeros(count, np.int64)
    chain_end = np.zeros(count, np.int64)
    if not len(row):
        return chain_start, chain_end
    first_start, last_end = extents(row, start, end, count)
    has_span = longest >= 0
    covered = covered_ps(row, start, end, count)
    extent = last_end - first_start
    is_dense = has_span.copy()
    is_dense[has_span] = covered[has_span] > _MIN_DEVICE_COVERAGE * extent[has_span]
    chain = _overlapping_chains(row, start, end)
    chain_count = int(chain.max()) + 1
    starts, ends = extents(chain, start, end, chain_count)
    longest_chain = chain[longest[has_span]]
    chain_start[has_span] = starts[longest_chain]
    chain_end[has_span] = ends[longest_chain]
    return (
        np.where(is_dense, first_start, chain_start),
        np.where(is_dense, last_end, chain_end),
    )


def _overlapping_chains(row: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """The number of the chain that each span is in: spans of one step that overlap are one."""
    chain = np.empty(len(row), np.int64)
    number = -1
    reached = 0
    last_row = -1
    for i in np.lexsort((start, row)).tolist():
        span_end = int(end[i])
        if row[i] != last_row or start[i] > reached:
            number += 1
            reached = span_end
        reached = max(reached, span_end)
        last_row = int(row[i])
        chain[i] = number
    return chain


def _marked_stretch(rows: StepRows) -> tuple[Int64s, Int64s]:
    """Where each step's marks are: all its parts; of replicas that are apart in time the longest
    with those that overlap it.
    """
    if not rows.replicas:
        return rows.start, rows.end
    marks = rows.marks
    count = len(rows)
    line_and_row = np.stack([marks.lines.astype(np.int64), rows.row_of])
    pair, which = np.unique(line_and_row, axis=1, return_inverse=True)
    _, row = pair
    start, end = extents(which.ravel(), marks.start, marks.end, len(row))
    longest = _longest(row, start, end, count)
    return _stretch(row, start, end, count, longest.at)


def _worked(
    work: DeviceWork | None,
    given: StepOfWork | None,
    on_device: _DeviceSteps,
) -> tuple[Int64s, tuple[StepsOn, ...]]:
    """(each step's device work, every moment once; the steps of each device)."""
    row = on_device.row
    start = on_device.start
    end = on_device.end
    if work is None or given is None:
        # No work beside the lines: they are what is known of it.
        device = covered_ps(row, start, end, on_device.step_count)
        busy = np.full(len(row), UNKNOWN, np.int64)
    else:
        device = covered_ps(*_given_work(work, given), on_device.step_count)
        is_only_device = len(work.devices) == 1
        if is_only_device and on_device.names == list(work.devices):
            busy = device[on_device.row]
        else:
            busy = _busy_in_pairs(work, given, on_device)
    steps_on = []
    for device_index, name in enumerate(on_device.names):
        mine = np.flatnonzero(on_device.device == device_index)
        if not len(mine):
            continue
        by_start = np.argsort(start[mine], kind="stable")
        mine = mine[by_start]
        steps_on.append(
            StepsOn(
                name=name,
                kind="device",
                row=row[mine],
                start=start[mine],
                duration=end[mine] - start[mine],
                work=busy[mine],
            )
        )
    return device, tuple(steps_on)


def _busy_in_pairs(work: DeviceWork, given: StepOfWork, on_device: _DeviceSteps) -> Int64s:
    """How long each device worked for each of its steps, every moment once."""
    pair = on_device.pair
    device_number = np.array([on_device.names.index(name) for name in work.devices], np.int64)
    events = np.flatnonzero(given.row >= 0)
    device = device_number[work.device[events]]
    pair_of_event = device * on_device.step_count + given.row[events]
    place, is_there = places_among(pair, pair_of_event)
    events = events[is_there]
    place = place[is_there]
    return covered_ps(place, work.start[events], work.end[events], len(pair))


def _given_work(work: DeviceWork, given: StepOfWork) -> tuple[Int64s, Int64s, Int64s]:
    """(row, start, end) of the work whose step is known."""
    has_row = given.row >= 0
    if has_row.all():
        return given.row, work.start, work.end
    return given.row[has_row], work.start[has_row], work.end[has_row]


def _asynchronous(
    rows: StepRows,
    work: DeviceWork | None,
    given: StepOfWork | None,
) -> bool | None:
    """Whether most of the devices' work for the steps runs when their own mark is not open: before
    it or after. None where no device shows it.
    """
    if work is None or given is None:
        return None
    if not (given.row >= 0).any():
        return None
    row, start, end = _given_work(work, given)
    common_start = np.maximum(start, rows.start.take(row))
    # What of each piece is inside its mark; the columns are long, so one array serves.
    inside = np.minimum(end, rows.end.take(row))
    inside -= common_start
    np.maximum(0, inside, out=inside)
    inside_ps = int(inside.sum())
    total_ps = int((end - start).sum())
    return total_ps - inside_ps > _ASYNCHRONOUS_SHARE * total_ps
