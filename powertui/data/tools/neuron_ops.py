"""Operators on AWS Neuron: as the vendor's tables list them, and as its timeline shows them.

The tables (`neuron_framework_op.json`, `neuron_hlo_op.json`, the same in planes of an XPlane) are
what the profiler computed. The rest is counted here: from the lines "Framework Ops" and "HLO Ops"
of an operator timeline, and from how busy its overview says that the device was.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.columns import optional, text_column
from powertui.data.formats.neuron_planes import result_of, table_document
from powertui.data.model import Events, Int64s, Trace, Track, UInt32s
from powertui.data.opened import Opened
from powertui.data.table import Result, Table
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.recorded.documents import read_document
from powertui.data.tools.recorded.neuron_tables import (
    VIEWS,
    NeuronOps,
    op_content,
    read_ops,
)
from powertui.data.tools.registry import Question
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

_TITLE = "Neuron operators"
_OVERVIEW = "Process Overview"  # how busy the device was
# What the processes of an operator timeline show, under the names that makers.py gives them.
_PARTS = {
    "/device:NeuronCore:0": "compute",
    "Process Execution": "compute",
    "Process Control": "control",
    "Process Data Transfer": "transfer",
}
_FRAMEWORK_LINE, _HLO_LINE = "Framework Ops", "HLO Ops"


def answer(question: Question) -> Result:
    """The profiler's tables of operators, then what the operator timeline holds in the window."""
    opened = question.opened
    recorded, problems = _recorded_tables(opened)
    contents = [op_content(part) for part in recorded]
    tables = [table for content in contents for table in content.tables]
    facts = [fact for content in contents for fact in content.facts]
    notes = [*problems, *(note for content in contents for note in content.notes)]
    if recorded:
        notes.append("The tables of framework and HLO ops were computed by the profiler.")
    if opened.profiles:
        tables += _timeline_tables(question.profile.trace, *question.window)
    if not tables:
        empty = "This run has no table of operators and no operator timeline of AWS Neuron."
        columns = (text_column("op", "op", []),)
        tables = [
            Table(
                id="neuron_ops",
                title=_TITLE,
                columns=columns,
                empty=empty,
                noun="op",
            )
        ]
    return Result(
        id="neuron_ops",
        title=_TITLE,
        tables=tuple(tables),
        facts=tuple(facts),
        notes=tuple(notes),
    )


def has_operators(trace: Trace) -> bool:
    """Whether a profile holds operators of AWS Neuron: a table in a plane, or a timeline."""
    if any(result_of(process) in VIEWS for process in trace.processes):
        return True
    return any(process.name == _OVERVIEW for process in trace.processes) or any(_work(trace))


def _recorded_tables(opened: Opened) -> tuple[list[NeuronOps], list[str]]:
    """(the tables in files and planes of a run, why others could not be read)"""
    tables: list[NeuronOps] = []
    problems: list[str] = []
    for file in opened.entry.results:
        if file.tool not in VIEWS:
            continue
        try:
            document = read_document(file, opened.options.limit)
            tables.append(read_ops(document, VIEWS[file.tool], file.path))
        except UnreadableFile as error:
            problems.append(str(error))
    for profile in opened.profiles:
        for process in profile.trace.processes:
            view = VIEWS.get(result_of(process))
            if view is None:
                continue
            try:
                tables.append(read_ops(table_document(process), view, profile.trace.path))
            except UnreadableFile as error:
                problems.append(str(error))
    return tables, problems


# ── the operator timeline ────────────────────────────────────────────────────────────────────────


def _timeline_tables(trace: Trace, lo: int, hi: int) -> list[Table]:
    tables = []
    busy = _busy_table(trace, lo, hi)
    if busy is not None:
        tables.append(busy)
    work = _work_table(trace, lo, hi)
    if work is not None:
        tables.append(work)
    return tables


def _clipped(events: Events, lo: int, hi: int) -> CoveredTime:
    """The parts of events inside the window, in their order; they may overlap."""
    start = np.maximum(events.start, lo)
    end = np.minimum(events.end, hi)
    return CoveredTime(start, np.maximum(start, end))


def _busy_table(trace: Trace, lo: int, hi: int) -> Table | None:
    """How much of the window each line of the overview covers."""
    lines = [track for process, track in trace.tracks() if process.name == _OVERVIEW]
    if not lines:
        return None
    busy = [union(*_clipped(track.events, lo, hi)).length for track in lines]
    whole = max(1, hi - lo)
    columns = (
        text_column("line", "line", [track.name for track in lines], weight=9),
        optional("stretches", "stretches", "integer", [len(t.events) for t in lines], weight=5),
        optional("busy_s", "busy", "duration", busy, weight=8),
        optional("share", "of the window", "share", [time / whole for time in busy], weight=9),
    )
    return Table(
        id="busy",
        title="How busy the device was",
        columns=columns,
        key=("line",),
        noun="line",
    )


class _Work(NamedTuple):
    """The lines of one part of the timeline."""

    part: str
    framework: list[Track]
    hlo: list[Track]


def _work(trace: Trace) -> Iterator[_Work]:
    for process in trace.processes:
        part = _PARTS.get(process.name)
        if part is None:
            continue
        framework = [track for track in process.tracks if _FRAMEWORK_LINE in track.name]
        hlo = [track for track in process.tracks if _HLO_LINE in track.name]
        if framework or hlo:
            yield _Work(part, framework, hlo)


def _work_table(trace: Trace, lo: int, hi: int) -> Table | None:
    """Each framework op with the HLO ops that ran inside it."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    parts = list(_work(trace))
    for work in parts:
        _add_hlo(sums, trace, work, lo, hi)
    if not parts:
        return None
    keys = sorted(sums, key=lambda key: (-sums[key][1], key))
    whole = max(1, sum(time for _, time in sums.values()))
    columns = (
        text_column("part", "part", [part for part, _, _ in keys], weight=6),
        text_column("framework_op", "framework op", [op for _, op, _ in keys], weight=9),
        text_column("hlo_op", "HLO op", [hlo for _, _, hlo in keys], weight=8),
        optional("count", "count", "integer", [sums[key][0] for key in keys], weight=5),
        optional("time_s", "time", "duration", [sums[key][1] for key in keys], weight=9),
        optional("share", "share", "share", [sums[key][1] / whole for key in keys], weight=7),
    )
    return Table(
        id="timeline_ops",
        title="The operator timeline: framework op and HLO op",
        columns=columns,
        order=("time_s", True),
        empty="No operator ran in this window.",
        key=("part", "framework_op", "hlo_op"),
        noun="pair",
    )


def _add_hlo(
    sums: dict[tuple[str, str, str], list[int]],
    trace: Trace,
    work: _Work,
    lo: int,
    hi: int,
) -> None:
    """Count the HLO ops of a part by the framework op around them; framework ops alone, where the
    part has no line of HLO ops.
    """
    names = trace.names
    for track in work.hlo or work.framework:
        start, end = _clipped(track.events, lo, hi)
        inside = np.flatnonzero(end > start)
        # The middle: both lines are rounded, and an HLO op may end a ns after its operator.
        if work.hlo:
            owners: Int64s | UInt32s = _around(work.framework, (start + end) // 2)
        else:
            owners = track.events.name
        for row in inside.tolist():
            own = names.display(int(track.events.name[row]))
            owner = int(owners[row])
            if owner >= 0:
                framework = names.display(owner)
            else:
                framework = ""
            key = (work.part, framework, own if work.hlo else "")
            total = sums.setdefault(key, [0, 0])
            total[0] += 1
            total[1] += int(end[row] - start[row])


def _around(tracks: list[Track], moments: Int64s) -> Int64s:
    """The name of the innermost event of these lines at each moment; -1: none."""
    owners = np.full(len(moments), -1, np.int64)
    for track in tracks:
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            if not len(lane):
                continue
            last = np.searchsorted(lane.start, moments, side="right") - 1
            holds = (last >= 0) & (lane.end[last] >= moments)
            owners[holds] = lane.name[last[holds]]
    return owners
