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

from powertui.data import wire
from powertui.data.by_number import ByNumber
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PS_PER_NS, Clock, Epoch, Epochs, Int32s, Int64s, Steps, Trace
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
    trace: Trace,
    logs: Sequence[EventLog] = (),
    *,
    marker: str | None = None,
) -> tuple[Steps, Epochs]:
    """Steps and epochs of a trace whose `clock` is already the best one (see clocks.find)."""
    return place(trace, steps.find_steps_and_others(trace, marker=marker), logs)


def place(
    trace: Trace,
    steps_found: StepsAndOthers,
    logs: Sequence[EventLog] = (),
) -> tuple[Steps, Epochs]:
    """Give the steps their epochs, and the epochs their bounds."""
    if trace.exported_steps is not None and steps_found.steps is trace.exported_steps[0]:
        return trace.exported_steps
    clock = trace.clock
    own_logs = clocks.own_logs(logs, clock, trace.span)
    logged = from_logs(own_logs, _moment(trace))
    numbers, how = _numbers(steps_found, clock, logged)
    table = _table(steps_found.steps, numbers, clock, logged, how)
    row_of_number = {epoch.number: row for row, epoch in enumerate(table)}
    epoch_of_step = [row_of_number.get(number, -1) for number in numbers.tolist()]
    marked = replace(steps_found.steps, epoch=np.array(epoch_of_step, np.int32))
    phases = phases_of(marked, steps_found, table, clock, logged)
    return marked, Epochs(
        epochs=table,
        phases=phases,
        source=_describe(table, how),
    )


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def _moment(trace: Trace) -> int | None:
    if not trace.clock.known:
        return None
    return trace.clock.mid_ns + (trace.span[0] + trace.span[1]) // 2 // PS_PER_NS


def _numbers(
    steps_found: StepsAndOthers,
    clock: Clock,
    logged: Sequence[LoggedEpoch],
) -> tuple[Int32s, str]:
    """(the epoch number of each step, -1 for none; how they are known)."""
    turns = steps_found.steps.epoch
    if steps_found.epoch_num:
        return turns, "epoch_num"
    logged_number = _logged_number(steps_found.steps, clock, logged)
    if not (turns >= 0).any():
        return logged_number, "tfevents" if (logged_number >= 0).any() else ""
    # Restarts say which steps belong together; tfevents say which epochs those are.
    number_of_turn = _medians_by_turn(turns, logged_number)
    first = number_of_turn[0]
    counts_on = np.array_equal(number_of_turn, np.arange(first, first + len(number_of_turn)))
    if first >= 0 and counts_on:
        return (turns + first).astype(np.int32), "restarts"
    return turns.copy(), "restarts"


def _medians_by_turn(turns: Int32s, logged_number: Int32s) -> Int64s:
    """The median of the epochs that tfevents give to the steps of each turn; -1 where a step has
    none.
    """
    # All turns at once: there may be as many of them as steps.
    count = int(turns.max()) + 1
    by_turn = np.lexsort((logged_number, turns))
    in_order = logged_number[by_turn]
    bounds = np.sort(turns).searchsorted(np.arange(count + 1))
    first = bounds[:-1]
    after = bounds[1:]
    last_row = len(turns) - 1
    # An even count has two middles.
    low_middle = (first + after - 1) // 2
    high_middle = (first + after) // 2
    lowest = in_order[np.minimum(first, last_row)]
    low_median = in_order[np.minimum(low_middle, last_row)]
    high_median = in_order[np.minimum(high_middle, last_row)]
    has_numbers = (lowest >= 0) & (after > first)
    return np.where(has_numbers, (low_median + high_median) // 2, -1)


def _logged_number(marked: Steps, clock: Clock, logged: Sequence[LoggedEpoch]) -> Int32s:
    """The epoch that holds the middle of each step; -1 where the clock is too vague to say."""
    numbers = np.full(len(marked), -1, np.int32)
    if not logged or not clock.known or not len(marked):
        return numbers
    lengths_ns = [epoch.end - epoch.start for epoch in logged if epoch.start is not None]
    shortest_ns = min(lengths_ns, default=0)
    if clock.half_ns > shortest_ns // 2:
        return numbers
    middle_ps = marked.start + marked.duration // 2
    middle_ns = middle_ps // PS_PER_NS + clock.mid_ns
    order = np.argsort(middle_ns, kind="stable")
    in_order = middle_ns[order]
    for epoch in logged:
        if epoch.start is None:
            continue
        # From after its start to its end.
        bounds = [epoch.start, epoch.end]
        first, after = in_order.searchsorted(bounds, side="right")
        steps_inside = order[first:after]
        numbers[steps_inside] = epoch.number
    return numbers


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────


def _table(
    marked: Steps,
    numbers: Int32s,
    clock: Clock,
    logged: Sequence[LoggedEpoch],
    how: str,
) -> tuple[Epoch, ...]:
    logged_by_number = {epoch.number: epoch for epoch in logged}
    rows_by_number = _rows_by_number(numbers)
    first_number = min(rows_by_number, default=0)
    last_number = max(rows_by_number, default=0)
    table = []
    for number in sorted({*logged_by_number, *rows_by_number}):
        logged_epoch = logged_by_number.get(number)
        if logged_epoch is not None and clock.known:
            table.append(_logged_bounds(logged_epoch, clock, number in rows_by_number, how))
            continue
        scalars = logged_epoch.scalars if logged_epoch is not None else ()
        if number not in rows_by_number:
            source = "tfevents, without a clock that ties them to the profile"
            table.append(
                Epoch(
                    number=number,
                    start=None,
                    end=None,
                    source=source,
                    slack=0,
                    scalars=scalars,
                )
            )
            continue
        rows = rows_by_number[number]
        # The profile may begin in the middle of its first epoch and end in the middle of its last.
        begins_inside = number > first_number or int(marked.number[rows[0]]) == 0
        ends_inside = number < last_number
        ends = marked.mark_ends()[rows]
        table.append(
            Epoch(
                number=number,
                start=int(marked.start[rows[0]]) if begins_inside else None,
                end=int(ends.max()) if ends_inside else None,
                source=f"{_HOW[how]}, bounds from its steps",
                slack=0,
                scalars=scalars,
            )
        )
    return tuple(table)


def _rows_by_number(numbers: Int32s) -> dict[int, Int64s]:
    """The steps of each epoch."""
    # Numbers are the program's own and may be far apart: their places are counted.
    distinct = wire.distinct(numbers[numbers >= 0])
    place = np.where(numbers >= 0, np.searchsorted(distinct, numbers), -1)
    return dict(zip(distinct.tolist(), ByNumber(place, len(distinct)), strict=True))


def _logged_bounds(epoch: LoggedEpoch, clock: Clock, has_steps: bool, how: str) -> Epoch:
    source = "tfevents"
    if has_steps and how != "tfevents":
        source = f"{_HOW[how]}, bounds from tfevents"
    return Epoch(
        number=epoch.number,
        start=in_trace(epoch.start, clock),
        end=in_trace(epoch.end, clock),
        source=source,
        slack=(clock.half_ns + LOGGED_NS) * PS_PER_NS,
        scalars=epoch.scalars,
    )


def _describe(table: Sequence[Epoch], how: str) -> str:
    if not table:
        return "no epoch_num, no step number that starts again and no epoch scalars in tfevents"
    timed = how in ("epoch_num", "restarts") and any("tfevents" in epoch.source for epoch in table)
    return _HOW[how] + ("; bounds from epoch scalars in tfevents" if timed else "")
