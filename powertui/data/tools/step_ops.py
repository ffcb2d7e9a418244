"""What took longer in a step than it usually does: each op here, usually, and its share of the
difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui import units
from powertui.data import category
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.model import UNKNOWN, Int64s, ProcessKind, Steps, Trace, Track
from powertui.data.run.device_intervals import work_tracks
from powertui.data.table import Fact, Place, Result, Table, plural
from powertui.data.tools import steps as step_tool
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.registry import Question
from powertui.data.tools.usual_steps import BLOCKING, ComparedSteps, OpKey, UsualSteps

_MAX_LISTED_OPS = 500  # the largest differences first; chosen
# Of what a step took longer: ops that have less of it do not explain it. Chosen, not measured.
_MIN_EXPLAINED_SHARE = 0.1


def answer(question: Question) -> Result:
    """The steps of the window; without a window, the slowest step."""
    steps = question.profile.steps
    rows = _asked_steps(question, steps)
    if not len(rows):
        return _nothing(question, step_tool.empty(steps))
    if len(steps) < 2:
        return _nothing(question, "This is the only step: there is none to compare it with.")
    compared = UsualSteps(question.profile.trace, steps).compared(rows)
    if compared is None:
        return _nothing(question, "The window holds every step: there is none to compare it with.")
    notes = [_how_compared(compared)]
    unexplained = _not_in_ops(compared)
    if unexplained:
        notes.insert(0, unexplained)
    return Result(
        id="step_ops",
        title="What took longer",
        tables=(_table(compared, question),),
        facts=_facts(compared, _steps_in_words(steps, rows)),
        notes=tuple(notes),
    )


def _facts(compared: ComparedSteps, steps_in_words: str) -> tuple[Fact, ...]:
    """Which steps, how long they took, and how long they usually take."""
    why_usual = f"median of {compared.usual_count:,} steps"
    return (
        Fact("steps", "looked at", steps_in_words, why="against the median step"),
        Fact("length_s", "here", compared.length_ps, "duration"),
        Fact("usual_s", "median", compared.usual_ps, "duration", why=why_usual),
        Fact("difference_s", "difference", compared.difference_ps, "duration"),
    )


def _how_compared(compared: ComparedSteps) -> str:
    count = compared.reference_count
    return (
        f"Median: over {count} {plural('step', count)} of about the median length. Ops of "
        "several threads run side by side."
    )


def _not_in_ops(compared: ComparedSteps) -> str:
    """That no op explains the difference; "" where some do."""
    difference_ps = compared.difference_ps
    if difference_ps <= 0:
        return ""
    longer_ps = sum(max(0, compared.longer_ps(key)) for key in compared.here)
    if longer_ps >= _MIN_EXPLAINED_SHARE * difference_ps:
        return ""
    longer = units.duration(longer_ps, 3)
    difference = units.duration(difference_ps, 3)
    return (
        f"No op explains this: of the {difference} that it took longer, all ops together have "
        f"{longer}. Nothing was recorded in the rest."
    )


def _nothing(question: Question, note: str) -> Result:
    table = _table(
        ComparedSteps(
            length_ps=0,
            usual_ps=0,
            usual_count=0,
            reference_count=0,
            here={},
            usual={},
            places={},
        ),
        question,
    )
    return Result(
        id="step_ops",
        title="What took longer",
        tables=(table,),
        notes=(note,),
    )


def _asked_steps(question: Question, steps: Steps) -> Int64s:
    """The slowest step, or those of the window. A step is as long as the stretch that its ops are
    taken from, with the pause behind its mark.
    """
    if not len(steps):
        return np.empty(0, np.int64)
    length = steps.stretch_lengths()
    if question.is_of_all_time:
        slowest = int(np.argmax(length))
        return np.array([slowest], np.int64)
    rows = step_tool.inside(question, steps)
    lo, hi = question.window
    inside_lo = np.maximum(steps.start[rows], lo)
    inside_hi = np.minimum(steps.ends()[rows], hi)
    inside_ps = inside_hi - inside_lo
    # A neighbor of which less than half is inside is not meant: the window's edge only met it.
    is_mostly_inside = 2 * inside_ps >= length[rows]
    return rows[is_mostly_inside]


def _steps_in_words(steps: Steps, rows: Int64s) -> str:
    """The number of the step that is looked at, or how many there are."""
    if len(rows) > 1:
        return f"{len(rows):,} steps"
    row = int(rows[0])
    number = int(steps.number[row])
    if number != UNKNOWN and number >= 0:
        return f"step {number}"
    return steps.names[row] or f"step {row} of the list"


def _waited_for(trace: Trace, place: tuple[OpStats, int] | None) -> str:
    """What a device did longest while the longest event of a waiting op was open; "" where the
    profile does not say.
    """
    if place is None:
        return ""
    stats, row = place
    line, event = stats.longest(row)
    waiting = trace.track(line).events
    lo = int(waiting.start[event])
    hi = lo + int(waiting.duration[event])
    longest_ps = 0
    longest_name = -1
    for track in _device_work(trace):
        first_end = np.minimum(track.events.end, hi)
        last_start = np.maximum(track.events.start, lo)
        overlap_ps = first_end - last_start
        # Below 0 where an event was not open meanwhile.
        most = int(np.argmax(overlap_ps))
        most_ps = int(overlap_ps[most])
        if most_ps > longest_ps:
            longest_ps = most_ps
            longest_name = int(track.events.name[most])
    if longest_name >= 0:
        return trace.names.display(longest_name)
    return ""


def _device_work(trace: Trace) -> Iterator[Track]:
    """The tracks of all devices that hold work."""
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        for track in work_tracks(process):
            if len(track.events):
                yield track


def _table(compared: ComparedSteps, question: Question) -> Table:
    op_keys = compared.keys()[:_MAX_LISTED_OPS]

    def place_of_longest(row: int) -> Place | None:
        place = compared.places.get(op_keys[row])
        if place is None:
            return None  # the op only ran in other steps
        stats, op = place
        return question.event_place(*stats.longest(op))

    summary = "self time"
    if compared.difference_ps:
        longer = units.duration(compared.difference_ps)
        summary += f"; the step took {longer} more than the median"
    waits = [name in category.HAND_OVER for name, _device in op_keys]
    is_wait = np.array(waits, np.bool_)
    return Table(
        id="step_ops",
        title="Ops against the median",
        columns=tuple(_columns(compared, op_keys, question.profile.trace)),
        place=place_of_longest,
        order=("difference_s", True),
        empty="No step to compare with others.",
        key=("name", "device"),
        noun="op",
        summary=summary,
        wrappers=lambda _check: is_wait,
    )


def _replica_count(place: tuple[OpStats, int] | None) -> int:
    """On how many replicas an op ran; an op that the step lacks counts as one."""
    if place is None:
        return 1
    table, row = place
    return int(table.replicas[row])


def _causes_of_waits(
    compared: ComparedSteps,
    op_keys: list[OpKey],
    longer_ps: Int64s,
    trace: Trace,
) -> list[str]:
    """What each op waited for, of those that wait and took longer; "" for the others."""
    waited_for = [""] * len(op_keys)
    for row in np.flatnonzero(longer_ps > 0).tolist():
        name, _device = op_keys[row]
        if BLOCKING.search(name):
            place = compared.places.get(op_keys[row])
            waited_for[row] = _waited_for(trace, place)
    return waited_for


def _shares_of_difference(longer_ps: Int64s, difference_ps: int) -> list[float | None]:
    """Which part of the difference each op has; of steps that took no longer there is none."""
    if difference_ps <= 0:
        return [None] * len(longer_ps)
    return [float(op_longer_ps) / difference_ps for op_longer_ps in longer_ps.tolist()]


def _columns(compared: ComparedSteps, op_keys: list[OpKey], trace: Trace) -> Iterator[Column]:
    names = [name for name, _device in op_keys]
    devices = [device for _name, device in op_keys]
    here = [compared.here.get(key, 0) for key in op_keys]
    usual = [compared.usual.get(key, 0) for key in op_keys]
    here_ps = np.array(here, np.int64)
    usual_ps = np.array(usual, np.int64)
    longer_ps = here_ps - usual_ps
    shares = _shares_of_difference(longer_ps, compared.difference_ps)
    waited_for = _causes_of_waits(compared, op_keys, longer_ps, trace)
    replicas = []
    for key in op_keys:
        place = compared.places.get(key)
        replicas.append(_replica_count(place))
    # The weights say which columns a narrow window keeps.
    yield text_column("name", "name", names, weight=9)
    if any(waited_for):
        yield text_column("waited_for", "waited for", waited_for, weight=6)
    yield text_column("device", "device", devices, weight=2)
    if any(number > 1 for number in replicas):
        yield int_column("replicas", "replicas", "integer", replicas, weight=3)
    yield Column("usual_s", "median", "duration", usual_ps, weight=8)
    yield Column("here_s", "here", "duration", here_ps, weight=9)
    yield Column("difference_s", "difference", "duration", longer_ps, weight=9, signed=True)
    yield optional("share", "share", "share", shares, weight=7)
