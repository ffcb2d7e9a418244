"""Epochs: from the program's own numbers, from step numbers that start again, from tfevents; and the phases between.

Profiles rarely know epochs. TF 2.2 writes `epoch_num`; elsewhere a step number that starts again tells where one
began; and Keras logs `epoch_loss` and its kin to tfevents, one point an epoch, whose wall time is the epoch's END.
The three are put together: numbers from whoever knows them, bounds from tfevents where a clock ties them to the
trace, else from the steps. What nothing tells stays None. Validation and tracing are named as phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PS_PER_NS, Clock, Epoch, Epochs, Int32s, Phase, Steps, Trace
from powertui.data.run import clocks, steps
from powertui.data.run.logged import LIMIT_NS, Logged, from_logs
from powertui.data.run.steps import Found

_TRACING = 5  # a first step this many times the median is tracing and compiling
_GAP = 10  # a gap between epochs this many times the median step has a name


# How the number of an epoch is known, for a person.
_HOW = {
    "epoch_num": "the events' epoch_num",
    "restarts": "the step number starts again",
    "tfevents": "epoch scalars in tfevents",
    "": "epoch scalars in tfevents",
}


def mark(trace: Trace, logs: Sequence[EventLog] = (), *, marker: str | None = None) -> tuple[Steps, Epochs]:
    """Steps and epochs of a trace whose `clock` is already the best one (see clocks.find)."""
    return place(trace, steps.search(trace, marker=marker), logs)


def place(trace: Trace, found: Found, logs: Sequence[EventLog] = ()) -> tuple[Steps, Epochs]:
    """Give the steps their epochs, and the epochs their bounds."""
    clock = trace.clock
    logged = from_logs(clocks.own_logs(logs, clock, trace.span), _moment(trace))
    numbers, how = _numbers(found, clock, logged)
    table = _table(found.steps, numbers, clock, logged, how)
    index_of = {epoch.number: index for index, epoch in enumerate(table)}
    index = np.array([index_of.get(number, -1) for number in numbers.tolist()], np.int32)
    marked = replace(found.steps, epoch=index)
    phases = _phases(marked, found, table, clock, logged)
    return marked, Epochs(table, phases, _describe(table, how))


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def _moment(trace: Trace) -> int | None:
    if not trace.clock.known:
        return None
    return trace.clock.mid_ns + (trace.span[0] + trace.span[1]) // 2 // PS_PER_NS


def _numbers(found: Found, clock: Clock, logged: Sequence[Logged]) -> tuple[Int32s, str]:
    """(the epoch number of each step, -1 for none; how they are known)."""
    raw = found.steps.epoch
    if found.epoch_num:
        return raw, "epoch_num"
    where = _logged_number(found.steps, clock, logged)
    if not (raw >= 0).any():
        return where, "tfevents" if (where >= 0).any() else ""
    # Restarts say which steps belong together; tfevents say which epochs those are.
    turns = raw.copy()
    count = int(raw.max()) + 1
    in_order = where[np.lexsort((where, raw))]
    bounds = np.sort(raw).searchsorted(np.arange(count + 1))
    least, low, high = (in_order[np.minimum(at, len(raw) - 1)] for at in (bounds[:-1], (bounds[:-1] + bounds[1:] - 1) // 2,
                                                                         (bounds[:-1] + bounds[1:]) // 2))  # fmt: skip
    named = np.where((least >= 0) & (np.diff(bounds) > 0), (low + high) // 2, -1)  # the median of each turn's steps
    if named[0] >= 0 and np.array_equal(named, np.arange(named[0], named[0] + count)):
        return (turns + named[0]).astype(np.int32), "restarts"
    return turns, "restarts"


def _logged_number(marked: Steps, clock: Clock, logged: Sequence[Logged]) -> Int32s:
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


def _table(marked: Steps, numbers: Int32s, clock: Clock, logged: Sequence[Logged], how: str) -> tuple[Epoch, ...]:
    of_log = {epoch.number: epoch for epoch in logged}
    of_steps = sorted({number for number in numbers.tolist() if number >= 0})
    slack = clock.half_ns * PS_PER_NS if clock.known else 0
    # Numbers are the program's own and may be far apart: their places are counted.
    place = {number: index for index, number in enumerate(of_steps)}
    groups = ByNumber(np.where(numbers >= 0, np.searchsorted(np.array(of_steps, np.int32), numbers), -1), len(of_steps))
    ends = marked.start + marked.duration
    none = np.empty(0, np.int64)
    out = []
    for number in sorted({*of_log, *of_steps}):
        known = of_log.get(number)
        if known is not None and clock.known:
            start, end = _in_trace(known.start, clock), _in_trace(known.end, clock)
            source = "tfevents" if number not in place or how == "tfevents" else f"{_HOW[how]}, bounds from tfevents"
            out.append(Epoch(number, start, end, source, slack, known.scalars))
            continue
        rows = groups[place[number]] if number in place else none
        scalars = known.scalars if known is not None else ()
        if not len(rows):
            out.append(Epoch(number, None, None, "tfevents, without a clock that ties them to the profile", 0, scalars))
            continue
        first = int(rows[0])
        # The profile may begin in the middle of its first epoch and end in the middle of its last.
        whole_start = number > of_steps[0] or int(marked.number[first]) == 0
        start = int(marked.start[first]) if whole_start else None
        end = int(ends[rows].max()) if number < of_steps[-1] else None
        out.append(Epoch(number, start, end, f"{_HOW[how]}, bounds from its steps", 0, scalars))
    return tuple(out)


def _in_trace(wall_ns: int | None, clock: Clock) -> int | None:
    if wall_ns is None or abs(wall_ns - clock.mid_ns) > LIMIT_NS:
        return None
    return (wall_ns - clock.mid_ns) * PS_PER_NS


def _describe(table: Sequence[Epoch], how: str) -> str:
    if not table:
        return "no epoch_num, no step number that starts again and no epoch scalars in tfevents"
    timed = how in ("epoch_num", "restarts") and any("tfevents" in epoch.source for epoch in table)
    return _HOW[how] + ("; bounds from epoch scalars in tfevents" if timed else "")


# ── phases ───────────────────────────────────────────────────────────────────────────────────────


def _phases(marked: Steps, found: Found, table: Sequence[Epoch], clock: Clock, logged: Sequence[Logged]) -> tuple[Phase, ...]:
    out: list[Phase] = []
    tracing = _tracing(marked) if not found.inferred else None
    if tracing is not None:
        out.append(tracing)
    if len(found.evaluation):
        out += _evaluations(marked, found)
    elif len(marked):
        out += _after_epochs(marked, table, clock, logged)
    return tuple(sorted(out, key=lambda phase: phase.start))


def _tracing(marked: Steps) -> Phase | None:
    """The first step of a program traces and compiles."""
    if len(marked) < 4:
        return None
    length = marked.start_to_start() if marked.asynchronous else marked.duration
    median = float(np.median(length[1:][length[1:] >= 0])) if (length[1:] >= 0).any() else 0.0
    first = int(marked.duration[0])
    if median <= 0 or first < _TRACING * median:
        return None
    epoch = int(marked.epoch[0])
    source = f"the first step took {first / median:.0f} times the median step"
    return Phase("tracing", int(marked.start[0]), int(marked.start[0]) + first, epoch if epoch >= 0 else None, source)


def _evaluations(marked: Steps, found: Found) -> list[Phase]:
    """Test steps with no training step between them are one validation."""
    evaluation = found.evaluation
    before = np.searchsorted(marked.start, evaluation.start)  # how many training steps began earlier
    stops = evaluation.start + evaluation.duration
    counts, which = np.unique(before, return_inverse=True)
    out = []
    for count, rows in zip(counts.tolist(), ByNumber(which, len(counts)), strict=True):
        epoch = int(marked.epoch[count - 1]) if count else -1
        end = int(stops[rows].max())
        what = f"{len(rows)} events named {evaluation.kinds[int(rows[0])]}"
        out.append(Phase("validation", int(evaluation.start[rows[0]]), end, epoch if epoch >= 0 else None, what))
    return out


def _after_epochs(marked: Steps, table: Sequence[Epoch], clock: Clock, logged: Sequence[Logged]) -> list[Phase]:
    """What lies between the last step of an epoch and the first of the next, or the epoch's end."""
    out = []
    ends = marked.start + marked.duration
    median = float(np.median(marked.duration))
    validated = {epoch.number: epoch.validated for epoch in logged}
    highest = int(marked.number.max())
    groups = ByNumber(marked.epoch, len(table))
    for index in range(len(table)):
        rows = groups[index]
        if not len(rows):
            continue
        last = int(ends[rows].max())
        followed = int(rows[-1]) + 1 < len(marked)
        if not followed and not (index > 0 and int(marked.number[rows[-1]]) == highest and len(groups[index - 1])):
            continue  # the profile may have stopped in the middle of the epoch
        wall = validated.get(table[index].number)
        stop = _in_trace(wall, clock) if wall is not None and clock.known else None
        limit = int(marked.start[rows[-1] + 1]) if followed else None
        if stop is not None and stop > last:
            out.append(Phase("validation", last, min(stop, limit or stop), index, "from the last step to its results in tfevents"))
        elif limit is not None and limit - last > _GAP * median:
            name = "validation" if wall is not None else "between epochs"
            out.append(Phase(name, last, limit, index, "between the last step of an epoch and the first of the next"))
    return out
