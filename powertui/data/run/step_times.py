"""The three times of a step: how long its mark was open, what devices worked for it, and what
TensorFlow's rule makes of both.

TensorFlow takes the longest of the devices' steps, unless the longest mark of the host holds it;
without a device, the mark. A device's step is what its `Steps` line says; where a file has none, it
goes from the first to the last of the work that is known to belong to the step, as the collectors
draw it. What was given to steps by time alone draws no step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import UNKNOWN, Bools, Int64s, StepsOn
from powertui.data.run.assign import TIME, DrawnSteps, StepOfWork
from powertui.data.run.device_intervals import DeviceWork, covered_ps, extents
from powertui.data.run.step_rows import StepRows

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
    told: Bools  # a device tells where the step lies


def step_times(
    rows: StepRows,
    drawn: DrawnSteps,
    work: DeviceWork | None,
    given: StepOfWork | None,
    *,
    on_devices: bool,
    mark_is_step: bool = False,
) -> Times:
    """The times of steps that host marks tell (or `on_devices`: lines of devices), with what
    devices did for them.

    `mark_is_step`: a mark is the step by definition, wherever its work ran, as long as the device
    keeps up with it. So it is with PyTorch's: its marks follow one another without a gap. Where
    the device is behind, a step is as long as from its first work there to the next step's.
    """
    count = len(rows)
    names, pair, lo, hi = _device_steps(drawn, work, given, count)
    row = pair % max(1, count)
    later = _asynchronous(rows, work, given) if not on_devices else False
    host = np.full(count, UNKNOWN, np.int64) if on_devices else rows.open
    length, begins = rows.marked, rows.marked_start
    long_row, longest, earliest = _longest(row, lo, hi, count)
    by_device = longest >= 0
    if on_devices:
        wins = by_device
    else:
        holds = by_device & (begins <= earliest) & (earliest + longest <= begins + length)
        wins = by_device & ~holds & (not mark_is_step or (bool(later) and _is_behind(lo, hi)))
    step = np.where(wins, longest, length)
    if mark_is_step:
        step = np.where(wins, _distances(earliest, longest, wins), step)
    if later and by_device.any():  # what a device did for the others is not in the file
        step = np.where(by_device, step, UNKNOWN)
    whole_lo, whole_hi = _component(
        rows.row_of, rows.marks.start, rows.marks.start + rows.marks.duration, count, rows
    )
    device_lo, device_hi = _stretch(row, lo, hi, count, long_row)
    start = np.where(wins, device_lo, whole_lo)
    end = np.where(wins, device_hi, whole_hi)
    device, on = _worked(work, given, names, pair, lo, hi, count)
    if (
        later and given is not None and given.by == TIME
    ):  # the host ran ahead: what ran meanwhile may be an earlier step's
        device = np.full(count, UNKNOWN, np.int64)
    return Times(start, end - start, host, device, step, on, later, wins)


def _device_steps(
    drawn: DrawnSteps, work: DeviceWork | None, given: StepOfWork | None, count: int
) -> tuple[list[str], Int64s, Int64s, Int64s]:
    """(names of devices; of each step of each device its key, its start, its end).

    The key is device * count + row.
    """
    devices_of_work = work.devices if work is not None else ()
    names = list(dict.fromkeys([*drawn.device, *devices_of_work]))
    index = {name: i for i, name in enumerate(names)}
    drawn_on = np.array([index[name] for name in drawn.device], np.int64)
    has_row = drawn.row >= 0
    key = (drawn_on * count + drawn.row)[has_row]
    start, end = drawn.start[has_row], (drawn.start + drawn.duration)[has_row]
    if work is not None and given is not None and given.by != TIME:
        # A device whose steps are drawn needs no other evidence of them.
        worked_on = np.array([index[name] for name in work.devices], np.int64)[work.device]
        usable = (given.row >= 0) & ~np.isin(worked_on, drawn_on)
        key = np.concatenate([key, (worked_on * count + given.row)[usable]])
        start = np.concatenate([start, work.start[usable]])
        end = np.concatenate([end, work.end[usable]])
    pair, which = np.unique(key, return_inverse=True)
    lo, hi = extents(which.ravel(), start, end, len(pair))
    return names, pair, lo, hi


def _longest(row: Int64s, lo: Int64s, hi: Int64s, count: int) -> tuple[Int64s, Int64s, Int64s]:
    """For each step: which of the devices' steps is its longest (-1: none), how long that is (-1),
    where it begins.
    """
    at = np.full(count, -1, np.int64)
    if not len(row):
        return at, np.full(count, -1, np.int64), np.zeros(count, np.int64)
    order = np.lexsort((lo, -(hi - lo), row))
    rows, first = np.unique(row[order], return_index=True)
    at[rows] = order[first]
    return at, np.where(at >= 0, (hi - lo)[at], -1), lo[at]


def _is_behind(lo: Int64s, hi: Int64s) -> bool:
    """Whether devices work on steps most of the time: with less, they wait for the host."""
    if not len(lo):
        return False
    span = int(hi.max()) - int(lo.min())
    return int(covered_ps(np.zeros(len(lo), np.int64), lo, hi, 1)[0]) > _MIN_BEHIND_SHARE * span


def _distances(start: Int64s, length: Int64s, known: Bools) -> Int64s:
    """From the start of each step on its device to the next one's; of the last its length."""
    out: Int64s = length.copy()
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(start[rows], kind="stable")]
    next_row = (rows[1:] == rows[:-1] + 1) & (start[rows[1:]] > start[rows[:-1]])
    out[rows[:-1][next_row]] = np.diff(start[rows])[next_row]
    return out


def _stretch(
    row: Int64s, lo: Int64s, hi: Int64s, count: int, longest: Int64s
) -> tuple[Int64s, Int64s]:
    """From the first to the last of each step's spans; of spans that lie far apart, the longest
    with those that overlap it.
    """
    out_lo, out_hi = np.zeros(count, np.int64), np.zeros(count, np.int64)
    if not len(row):
        return out_lo, out_hi
    whole_lo, whole_hi = extents(row, lo, hi, count)
    near = longest >= 0
    near[near] = covered_ps(row, lo, hi, count)[near] > _MIN_DEVICE_COVERAGE * (
        whole_hi[near] - whole_lo[near]
    )
    order = np.lexsort((lo, row))
    chain = np.empty(len(row), np.int64)
    number, until, last = -1, 0, -1
    for i in order.tolist():
        if row[i] != last or lo[i] > until:
            number, until = number + 1, int(hi[i])
        until, last = max(until, int(hi[i])), int(row[i])
        chain[i] = number
    first, end = extents(chain, lo, hi, number + 1)
    has = longest >= 0
    mine = chain[longest[has]]
    out_lo[has], out_hi[has] = first[mine], end[mine]
    return np.where(near, whole_lo, out_lo), np.where(near, whole_hi, out_hi)


def _component(
    row: Int64s, lo: Int64s, hi: Int64s, count: int, rows: StepRows
) -> tuple[Int64s, Int64s]:
    """Where each step's marks lie: all its parts; of replicas that lie apart in time the longest
    with those that overlap it.
    """
    if not rows.replicas:
        return rows.start, rows.end
    pair, which = np.unique(
        np.stack([rows.marks.lines.astype(np.int64), row]), axis=1, return_inverse=True
    )
    first, end = extents(which.ravel(), lo, hi, pair.shape[1])
    at, _, _ = _longest(pair[1], first, end, count)
    return _stretch(pair[1], first, end, count, at)


def _worked(
    work: DeviceWork | None,
    given: StepOfWork | None,
    names: list[str],
    pair: Int64s,
    lo: Int64s,
    hi: Int64s,
    count: int,
) -> tuple[Int64s, tuple[StepsOn, ...]]:
    """(each step's device work, every moment once; the steps of each device)."""
    of_pair = pair // max(1, count)
    row = pair % max(1, count)
    busy = np.full(len(pair), UNKNOWN, np.int64)
    if work is None or given is None:
        device = covered_ps(
            row, lo, hi, count
        )  # no work beside the lines: they are what is known of it
    else:
        has = given.row >= 0
        device = covered_ps(given.row[has], work.start[has], work.end[has], count)
        index = np.array([names.index(name) for name in work.devices], np.int64)[work.device]
        key = index[has] * count + given.row[has]
        place = np.minimum(pair.searchsorted(key), max(0, len(pair) - 1))
        in_pair = pair[place] == key if len(pair) else np.zeros(len(key), np.bool_)
        busy = covered_ps(
            place[in_pair], work.start[has][in_pair], work.end[has][in_pair], len(pair)
        )
    on = []
    for device_index, name in enumerate(names):
        mine = np.flatnonzero(of_pair == device_index)
        if len(mine):
            mine = mine[np.argsort(lo[mine], kind="stable")]
            on.append(StepsOn(name, "device", row[mine], lo[mine], (hi - lo)[mine], busy[mine]))
    return device, tuple(on)


def _asynchronous(rows: StepRows, work: DeviceWork | None, given: StepOfWork | None) -> bool | None:
    """Whether most of the devices' work for the steps runs when their own mark is not open: before
    it or after.
    """
    if work is None or given is None or not (given.row >= 0).any():
        return None
    has = given.row >= 0
    row, start, end = given.row[has], work.start[has], work.end[has]
    within = np.maximum(0, np.minimum(end, rows.end[row]) - np.maximum(start, rows.start[row]))
    total = int((end - start).sum())
    return total - int(within.sum()) > _ASYNCHRONOUS_SHARE * total
