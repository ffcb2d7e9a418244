"""Epochs: from the program's own numbers, from step numbers that start again, from tfevents.

Profiles rarely know epochs. TF 2.2 writes `epoch_num`; elsewhere a step number that starts again
tells where one began; and Keras logs `epoch_loss` and its kin to tfevents, one point an epoch,
whose wall time is the epoch's END. The three are put together: numbers from whoever knows them,
bounds from tfevents where a clock ties them to the trace, else from the steps. What is not known
stays None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PS_PER_NS, Clock, Epoch, Epochs, Int32s, Steps, Trace
from powertui.data.run import clocks, steps
from powertui.data.run.logged_epochs import LOGGED_NS, LoggedEpoch, from_logs, in_trace
from powertui.data.run.phases import phases_of
from powertui.data.run.steps import StepsAndOthers

# How the number of an epoch is known, for a person.
_HOW = {
    "epoch_num": "the events' epoch_num",
    "restarts": "the step number starts again",
    "tfevents": "epoch scalars in tfevents",
    "": "epoch scalars in tfevents",
}


def mark(
    trace: Trace, logs: Sequence[EventLog] = (), *, marker: str | None = None
) -> tuple[Steps, Epochs]:
    """Steps and epochs of a trace whose `clock` is already the best one (see clocks.find)."""
    return place(trace, steps.find_steps_and_others(trace, marker=marker), logs)


def place(
    trace: Trace, steps_found: StepsAndOthers, logs: Sequence[EventLog] = ()
) -> tuple[Steps, Epochs]:
    """Give the steps their epochs, and the epochs their bounds."""
    if trace.exported_steps is not None and steps_found.steps is trace.exported_steps[0]:
        return trace.exported_steps
    clock = trace.clock
    logged = from_logs(clocks.own_logs(logs, clock, trace.span), _moment(trace))
    numbers, how = _numbers(steps_found, clock, logged)
    table = _table(steps_found.steps, numbers, clock, logged, how)
    index_of = {epoch.number: index for index, epoch in enumerate(table)}
    index = np.array([index_of.get(number, -1) for number in numbers.tolist()], np.int32)
    marked = replace(steps_found.steps, epoch=index)
    phases = phases_of(marked, steps_found, table, clock, logged)
    return marked, Epochs(table, phases, _describe(table, how))


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def _moment(trace: Trace) -> int | None:
    if not trace.clock.known:
        return None
    return trace.clock.mid_ns + (trace.span[0] + trace.span[1]) // 2 // PS_PER_NS


def _numbers(
    steps_found: StepsAndOthers, clock: Clock, logged: Sequence[LoggedEpoch]
) -> tuple[Int32s, str]:
    """(the epoch number of each step, -1 for none; how they are known)."""
    raw = steps_found.steps.epoch
    if steps_found.epoch_num:
        return raw, "epoch_num"
    where = _logged_number(steps_found.steps, clock, logged)
    if not (raw >= 0).any():
        return where, "tfevents" if (where >= 0).any() else ""
    # Restarts say which steps belong together; tfevents say which epochs those are.
    turns = raw.copy()
    count = int(raw.max()) + 1
    in_order = where[np.lexsort((where, raw))]
    bounds = np.sort(raw).searchsorted(np.arange(count + 1))
    least, low, high = (
        in_order[np.minimum(at, len(raw) - 1)]
        for at in (
            bounds[:-1],
            (bounds[:-1] + bounds[1:] - 1) // 2,
            (bounds[:-1] + bounds[1:]) // 2,
        )
    )
    named = np.where(
        (least >= 0) & (np.diff(bounds) > 0), (low + high) // 2, -1
    )  # the median of each turn's steps
    if named[0] >= 0 and np.array_equal(named, np.arange(named[0], named[0] + count)):
        return (turns + named[0]).astype(np.int32), "restarts"
    return turns, "restarts"


def _logged_number(marked: Steps, clock: Clock, logged: Sequence[LoggedEpoch]) -> Int32s:
    """The epoch that holds the middle of each step; -1 where the clock is too vague to say."""
    out = np.full(len(marked), -1, np.int32)
    if not logged or not clock.known or not len(marked):
        return out
    shortest = min((e.end - e.start for e in logged if e.start is not None), default=0)
    if clock.half_ns > shortest // 2:
        return out
    middle = (marked.start + marked.duration // 2) // PS_PER_NS + clock.mid_ns
    order = np.argsort(middle, kind="stable")
    in_order = middle[order]
    for epoch in logged:  # middle > start and middle <= end
        if epoch.start is not None:
            lo, hi = in_order.searchsorted([epoch.start, epoch.end], side="right")
            out[order[lo:hi]] = epoch.number
    return out


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────


def _table(
    marked: Steps, numbers: Int32s, clock: Clock, logged: Sequence[LoggedEpoch], how: str
) -> tuple[Epoch, ...]:
    of_log = {epoch.number: epoch for epoch in logged}
    of_steps = sorted({number for number in numbers.tolist() if number >= 0})
    slack = (clock.half_ns + LOGGED_NS) * PS_PER_NS if clock.known else 0
    # Numbers are the program's own and may be far apart: their places are counted.
    place = {number: index for index, number in enumerate(of_steps)}
    groups = ByNumber(
        np.where(numbers >= 0, np.searchsorted(np.array(of_steps, np.int32), numbers), -1),
        len(of_steps),
    )
    ends = marked.start + marked.duration
    none = np.empty(0, np.int64)
    out = []
    for number in sorted({*of_log, *of_steps}):
        logged_epoch = of_log.get(number)
        if logged_epoch is not None and clock.known:
            start, end = in_trace(logged_epoch.start, clock), in_trace(logged_epoch.end, clock)
            source = (
                "tfevents"
                if number not in place or how == "tfevents"
                else f"{_HOW[how]}, bounds from tfevents"
            )
            out.append(Epoch(number, start, end, source, slack, logged_epoch.scalars))
            continue
        rows = groups[place[number]] if number in place else none
        scalars = logged_epoch.scalars if logged_epoch is not None else ()
        if not len(rows):
            out.append(
                Epoch(
                    number,
                    None,
                    None,
                    "tfevents, without a clock that ties them to the profile",
                    0,
                    scalars,
                )
            )
            continue
        first = int(rows[0])
        # The profile may begin in the middle of its first epoch and end in the middle of its last.
        whole_start = number > of_steps[0] or int(marked.number[first]) == 0
        start = int(marked.start[first]) if whole_start else None
        end = int(ends[rows].max()) if number < of_steps[-1] else None
        out.append(Epoch(number, start, end, f"{_HOW[how]}, bounds from its steps", 0, scalars))
    return tuple(out)


def _describe(table: Sequence[Epoch], how: str) -> str:
    if not table:
        return "no epoch_num, no step number that starts again and no epoch scalars in tfevents"
    timed = how in ("epoch_num", "restarts") and any("tfevents" in epoch.source for epoch in table)
    return _HOW[how] + ("; bounds from epoch scalars in tfevents" if timed else "")
