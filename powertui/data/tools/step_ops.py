"""What took longer in a step than it usually does: each op here, usually, and its share of the
difference.

Usual is the median over a few steps of about the usual length, so that one stalled step is held
against steps and not against the mean of a run that holds the stall. A window of several steps is
held against as many usual ones.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from powertui import units
from powertui.data import category
from powertui.data.model import UNKNOWN, Events, Int64s, ProcessKind, Steps, Trace
from powertui.data.run.device_intervals import work_tracks
from powertui.data.table import (
    Column,
    Fact,
    Place,
    Result,
    Table,
    int_column,
    optional,
    text_column,
)
from powertui.data.tools import op_stats
from powertui.data.tools import steps as step_tool
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.registry import Question
from powertui.data.tools.replicas import without_replica

REFERENCES = 9  # steps that tell what is usual
_LISTED = 500

_OpKey = tuple[str, str]  # an op's name and its device
_DIGITS = re.compile(r"\d+")
# Calls of a runtime that return when a device has done what was asked of it before.
_BLOCKING = re.compile(r"^(?:cuda|hip|cu)(?:Memcpy|Stream|Device|Event)\w*|Synchronize|Await$")


def answer(question: Question) -> Result:
    """The steps of the window; without a window, the slowest step."""
    steps, trace = question.profile.steps, question.profile.trace
    length = steps.ends() - steps.start
    rows = _asked(question, steps, length)
    if not len(rows) or len(steps) < 2:
        return Result(
            "step_ops",
            "What took longer",
            (_table([], {}, {}, {}, 0, question),),
            notes=(step_tool.empty(steps),),
        )
    lo, hi = int(steps.start[rows].min()), int(steps.ends()[rows].max())
    others = np.setdiff1d(np.arange(len(steps)), rows)
    if not len(others):
        note = "The window holds every step: there is none to compare it with."
        return Result(
            "step_ops", "What took longer", (_table([], {}, {}, {}, 0, question),), notes=(note,)
        )
    middle = int(np.median(length[others]))
    near = others[np.argsort(np.abs(length[others] - middle), kind="stable")[:REFERENCES]]
    here, places = _times(op_stats.op_stats(trace, lo, hi), steps)
    there = [
        _times(op_stats.op_stats(trace, int(steps.start[row]), int(steps.ends()[row])), steps)[0]
        for row in near.tolist()
    ]
    folded = _counted_names([here, *there])
    here, places = _folded(here, folded), {folded.get(key, key): at for key, at in places.items()}
    rows_of: dict[_OpKey, list[int]] = defaultdict(list)
    for times in there:
        for key, ps in _folded(times, folded).items():
            rows_of[key].append(ps)
    # An op that a reference lacks ran for 0 there.
    usual = {
        key: round(float(np.median([*times, *([0] * (len(near) - len(times)))]))) * len(rows)
        for key, times in rows_of.items()
    }
    # Of ops that differ alike those of this step come first, in its own order. A set would give
    # another order in each process.
    either = dict.fromkeys([*here, *usual])
    keys = sorted(either, key=lambda key: usual.get(key, 0) - here.get(key, 0))[:_LISTED]
    stall = int(length[rows].sum()) - middle * len(rows)
    facts = (
        Fact("steps", "compared with usual", _named(steps, rows)),
        Fact("length_s", "here", int(length[rows].sum()), "duration"),
        Fact(
            "usual_s",
            "usual",
            middle * len(rows),
            "duration",
            why=f"median of {len(others):,} steps",
        ),
        Fact("difference_s", "difference", stall, "duration"),
    )
    note = (
        f"Usual: the median over {len(near)} steps of about the usual length. Ops of "
        "several threads run side by side."
    )
    return Result(
        "step_ops",
        "What took longer",
        (_table(keys, here, usual, places, stall, question),),
        facts,
        notes=(note,),
    )


def _asked(question: Question, steps: Steps, length: Int64s) -> Int64s:
    if not len(steps):
        return np.empty(0, np.int64)
    if question.lo is None and question.hi is None:
        return np.array([int(np.argmax(length))], np.int64)
    rows = step_tool.inside(question, steps)
    lo, hi = question.window
    within = np.minimum(steps.ends()[rows], hi) - np.maximum(steps.start[rows], lo)
    return rows[2 * within >= length[rows]]  # a neighbor that the window only touches is not meant


def _named(steps: Steps, rows: Int64s) -> str:
    number = int(steps.number[rows[0]])
    if len(rows) > 1:
        return f"{len(rows):,} steps"
    return (
        f"step {number}"
        if number != UNKNOWN and number >= 0
        else steps.names[int(rows[0])] or f"step {int(rows[0])} of the list"
    )


def _counted_names(steps: Sequence[Mapping[_OpKey, int]]) -> dict[_OpKey, _OpKey]:
    """The names that count: each is in one step alone, and only its numbers set it apart from a
    name in another step. Each with the name that stands for all of them.
    """
    often = Counter(key for times in steps for key in times)
    families: dict[_OpKey, set[int]] = defaultdict(set)
    single: dict[_OpKey, _OpKey] = {}
    for step, times in enumerate(steps):
        for name, device in times:
            family = _DIGITS.sub("#", name), device
            if often[name, device] == 1 and family[0] != name:
                single[name, device] = family
                families[family].add(step)
    return {key: family for key, family in single.items() if len(families[family]) > 1}


def _folded(times: Mapping[_OpKey, int], folded: Mapping[_OpKey, _OpKey]) -> dict[_OpKey, int]:
    out: dict[_OpKey, int] = defaultdict(int)
    for key, ps in times.items():
        out[folded.get(key, key)] += ps
    return out


def _waited_for(trace: Trace, at: tuple[OpStats, int] | None) -> str:
    """What a device did longest while the longest event of a waiting op was open; "" where the
    profile does not say.
    """
    if at is None:
        return ""
    stats, row = at
    track, event = stats.longest(row)
    waiting = _events(trace, track)
    lo = int(waiting.start[event])
    hi = lo + int(waiting.duration[event])
    longest: tuple[int, int] = (0, -1)
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        for line in work_tracks(process):
            overlap = np.minimum(line.events.end, hi) - np.maximum(line.events.start, lo)
            if len(overlap) and int(overlap.max()) > longest[0]:
                most = int(np.argmax(overlap))
                longest = int(overlap[most]), int(line.events.name[most])
    return trace.names.display(longest[1]) if longest[1] >= 0 else ""


def _replicas(at: tuple[OpStats, int] | None) -> int:
    """On how many replicas an op ran in these steps."""
    return 1 if at is None else int(at[0].replicas[at[1]])


def _times(
    stats: OpStats, steps: Steps
) -> tuple[dict[_OpKey, int], dict[_OpKey, tuple[OpStats, int]]]:
    """Self time by name and device, and where to look for the longest of each; not the marks."""
    times: dict[_OpKey, int] = defaultdict(int)
    places: dict[_OpKey, tuple[OpStats, int]] = {}
    for row in range(len(stats)):
        # One replica may have run alone in one step, and several in another.
        name = without_replica(stats.trace.names.display(int(stats.name[row])))
        key = (name, stats.device(row))
        if steps.is_own_mark(key[0]):
            continue
        times[key] += int(stats.self_time[row])
        places.setdefault(key, (stats, row))
    return times, places


def _table(
    keys: list[_OpKey],
    here: dict[_OpKey, int],
    usual: dict[_OpKey, int],
    places: dict[_OpKey, tuple[OpStats, int]],
    stall: int,
    question: Question,
) -> Table:
    now = np.array([here.get(key, 0) for key in keys], np.int64)
    then = np.array([usual.get(key, 0) for key in keys], np.int64)
    waited_for = [
        _waited_for(question.profile.trace, places.get(key))
        if _BLOCKING.search(key[0]) and now[row] > then[row]
        else ""
        for row, key in enumerate(keys)
    ]
    replicas = [_replicas(places.get(key)) for key in keys]
    columns = (
        text_column("name", "name", [name for name, _ in keys], weight=9),
        *(
            (text_column("waited_for", "waited for", waited_for, weight=6),)
            if any(waited_for)
            else ()
        ),
        text_column("device", "device", [device for _, device in keys], weight=2),
        *(
            (int_column("replicas", "replicas", "integer", replicas, weight=3),)
            if any(n > 1 for n in replicas)
            else ()
        ),
        Column("usual_s", "usual", "duration", then, weight=8),
        Column("here_s", "here", "duration", now, weight=9),
        Column("difference_s", "difference", "duration", now - then, weight=9, signed=True),
        optional(
            "share",
            "share",
            "share",
            [float(d) / stall if stall > 0 else None for d in (now - then).tolist()],
            weight=7,
        ),
    )

    def place(row: int) -> Place | None:
        found = places.get(keys[row])
        if found is None:
            return None
        stats, of = found
        track, event = stats.longest(of)
        events = _events(stats.trace, track)
        lo = int(events.start[event])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=lo + int(events.duration[event]),
            track=track,
            event=event,
        )

    summary = (
        f"self time; the step took {units.duration(stall)} more than usual"
        if stall
        else "self time"
    )
    waits = np.array([name in category.HAND_OVER for name, _ in keys], np.bool_)
    return Table(
        "step_ops",
        "Ops against usual",
        columns,
        place=place,
        order=("difference_s", True),
        empty="No step to compare with others.",
        key=("name", "device"),
        noun="op",
        summary=summary,
        wrappers=lambda _check: waits,
    )


def _events(trace: Trace, track: int) -> Events:
    return list(trace.tracks())[track][1].events
