"""What took longer in a step than it usually does: each op here, usually, and its share of the
difference.

Usual is the median over a few steps of about the usual length, so that one stalled step is held
against steps and not against the mean of a run that holds the stall. A window of several steps is
held against as many usual ones.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui import units
from powertui.data import category
from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.model import UNKNOWN, Int64s, ProcessKind, Steps, Trace
from powertui.data.run.device_intervals import work_tracks
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import op_stats
from powertui.data.tools import steps as step_tool
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.registry import Question
from powertui.data.tools.replicas import without_replica
from powertui.named_tuples import NamedTuple

REFERENCES = 9  # steps that tell what is usual
_LISTED = 500

_OpKey = tuple[str, str]  # an op's name and its device
_DIGITS = re.compile(r"\d+")
# Calls of a runtime that return when a device has done what was asked of it before.
_BLOCKING = re.compile(r"^(?:cuda|hip|cu)(?:Memcpy|Stream|Device|Event)\w*|Synchronize|Await$")


def answer(question: Question) -> Result:
    """The steps of the window; without a window, the slowest step."""
    steps = question.profile.steps
    length = steps.ends() - steps.start
    rows = _asked(question, steps, length)
    if not len(rows):
        return _nothing(question, step_tool.empty(steps))
    if len(steps) < 2:
        return _nothing(question, "This is the only step: there is none to compare it with.")
    others = np.setdiff1d(np.arange(len(steps)), rows)
    if not len(others):
        return _nothing(question, "The window holds every step: there is none to compare it with.")
    # Steps of about the usual length do what a step usually does; outliers do not.
    middle = int(np.median(length[others]))
    distance = np.abs(length[others] - middle)
    references = others[np.argsort(distance, kind="stable")[:REFERENCES]]
    compared = _compared(question, rows, references)
    here_ps = int(length[rows].sum())
    usual_ps = middle * len(rows)
    why_usual = f"median of {len(others):,} steps"
    facts = (
        Fact("steps", "compared with the median", _named(steps, rows)),
        Fact("length_s", "here", here_ps, "duration"),
        Fact("usual_s", "median", usual_ps, "duration", why=why_usual),
        Fact("difference_s", "difference", here_ps - usual_ps, "duration"),
    )
    note = (
        f"Median: over {len(references)} steps of about the median length. Ops of "
        "several threads run side by side."
    )
    table = _table(compared, here_ps - usual_ps, question)
    return Result("step_ops", "What took longer", (table,), facts, notes=(note,))


def _nothing(question: Question, note: str) -> Result:
    table = _table(_Compared({}, {}, {}), 0, question)
    return Result("step_ops", "What took longer", (table,), notes=(note,))


class _Compared(NamedTuple):
    """The self time of ops in these steps, and in as many usual ones."""

    here: dict[_OpKey, int]
    usual: dict[_OpKey, int]
    places: dict[_OpKey, tuple[OpStats, int]]  # where to look for the longest of each

    def keys(self) -> list[_OpKey]:
        """The ops that took longer here first."""
        # Of ops that differ alike those of this step come first, in its own order. A set would give
        # another order in each process.
        every = dict.fromkeys([*self.here, *self.usual])
        return sorted(every, key=lambda key: self.usual.get(key, 0) - self.here.get(key, 0))


def _compared(question: Question, rows: Int64s, references: Int64s) -> _Compared:
    steps = question.profile.steps
    trace = question.profile.trace
    ends = steps.ends()
    lo = int(steps.start[rows].min())
    hi = int(ends[rows].max())
    here, places = _times(op_stats.op_stats(trace, lo, hi), steps)
    there: list[dict[_OpKey, int]] = []
    for row in references.tolist():
        stats = op_stats.op_stats(trace, int(steps.start[row]), int(ends[row]))
        there.append(_times(stats, steps)[0])
    families = _counted_names([here, *there])
    times_there: dict[_OpKey, list[int]] = defaultdict(list)
    for times in there:
        for key, ps in _folded(times, families).items():
            times_there[key].append(ps)
    usual: dict[_OpKey, int] = {}
    for key, ran in times_there.items():
        # An op that a reference lacks ran for 0 there.
        absent = [0] * (len(references) - len(ran))
        usual[key] = round(float(np.median([*ran, *absent]))) * len(rows)
    return _Compared(
        here=_folded(here, families),
        usual=usual,
        places={families.get(key, key): place for key, place in places.items()},
    )


def _asked(question: Question, steps: Steps, length: Int64s) -> Int64s:
    if not len(steps):
        return np.empty(0, np.int64)
    if question.lo is None and question.hi is None:
        return np.array([int(np.argmax(length))], np.int64)
    rows = step_tool.inside(question, steps)
    lo, hi = question.window
    inside_lo = np.maximum(steps.start[rows], lo)
    inside_hi = np.minimum(steps.ends()[rows], hi)
    # A neighbor that the window only touches is not meant.
    mostly_inside = 2 * (inside_hi - inside_lo) >= length[rows]
    return rows[mostly_inside]


def _named(steps: Steps, rows: Int64s) -> str:
    if len(rows) > 1:
        return f"{len(rows):,} steps"
    row = int(rows[0])
    number = int(steps.number[row])
    if number != UNKNOWN and number >= 0:
        return f"step {number}"
    return steps.names[row] or f"step {row} of the list"


def _counted_names(steps: Sequence[Mapping[_OpKey, int]]) -> dict[_OpKey, _OpKey]:
    """The names that count: each is in one step alone, and only its numbers set it apart from a
    name in another step. Each with the name that stands for all of them.
    """
    step_counts = Counter(key for times in steps for key in times)
    steps_of_family: dict[_OpKey, set[int]] = defaultdict(set)
    family_of: dict[_OpKey, _OpKey] = {}
    for step, times in enumerate(steps):
        for name, device in times:
            without_digits = _DIGITS.sub("#", name)
            if step_counts[name, device] == 1 and without_digits != name:
                family = (without_digits, device)
                family_of[name, device] = family
                steps_of_family[family].add(step)
    return {key: family for key, family in family_of.items() if len(steps_of_family[family]) > 1}


def _folded(times: Mapping[_OpKey, int], families: Mapping[_OpKey, _OpKey]) -> dict[_OpKey, int]:
    folded: dict[_OpKey, int] = defaultdict(int)
    for key, ps in times.items():
        folded[families.get(key, key)] += ps
    return folded


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
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        for track in work_tracks(process):
            if not len(track.events):
                continue
            overlap = np.minimum(track.events.end, hi) - np.maximum(track.events.start, lo)
            most = int(np.argmax(overlap))
            if int(overlap[most]) > longest_ps:
                longest_ps = int(overlap[most])
                longest_name = int(track.events.name[most])
    if longest_name >= 0:
        return trace.names.display(longest_name)
    return ""


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


def _table(compared: _Compared, difference_ps: int, question: Question) -> Table:
    keys = compared.keys()[:_LISTED]

    def place(row: int) -> Place | None:
        longest = compared.places.get(keys[row])
        if longest is None:
            return None
        stats, op = longest
        return question.event_place(*stats.longest(op))

    summary = "self time"
    if difference_ps:
        summary += f"; the step took {units.duration(difference_ps)} more than the median"
    waits = np.array([name in category.HAND_OVER for name, _ in keys], np.bool_)
    return Table(
        "step_ops",
        "Ops against the median",
        tuple(_columns(compared, keys, difference_ps, question)),
        place=place,
        order=("difference_s", True),
        empty="No step to compare with others.",
        key=("name", "device"),
        noun="op",
        summary=summary,
        wrappers=lambda _check: waits,
    )


def _columns(
    compared: _Compared, keys: list[_OpKey], difference_ps: int, question: Question
) -> Iterator[Column]:
    here = np.array([compared.here.get(key, 0) for key in keys], np.int64)
    usual = np.array([compared.usual.get(key, 0) for key in keys], np.int64)
    longer = here - usual
    waited_for: list[str] = []
    replicas: list[int] = []
    shares: list[float | None] = []
    for key, longer_ps in zip(keys, longer.tolist(), strict=True):
        place = compared.places.get(key)
        replica_count = 1
        if place is not None:
            table, row = place
            replica_count = int(table.replicas[row])
        replicas.append(replica_count)
        shares.append(float(longer_ps) / difference_ps if difference_ps > 0 else None)
        waits = longer_ps > 0 and _BLOCKING.search(key[0])
        waited_for.append(_waited_for(question.profile.trace, place) if waits else "")
    yield text_column("name", "name", [name for name, _ in keys], weight=9)
    if any(waited_for):
        yield text_column("waited_for", "waited for", waited_for, weight=6)
    yield text_column("device", "device", [device for _, device in keys], weight=2)
    if any(number > 1 for number in replicas):
        yield int_column("replicas", "replicas", "integer", replicas, weight=3)
    yield Column("usual_s", "median", "duration", usual, weight=8)
    yield Column("here_s", "here", "duration", here, weight=9)
    yield Column("difference_s", "difference", "duration", longer, weight=9, signed=True)
    yield optional("share", "share", "share", shares, weight=7)
