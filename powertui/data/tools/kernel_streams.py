"""How a device's streams were fed: what waited in each, why it stood still, the longest gaps, and
graphs that one call launched.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s
from powertui.data.table import Column, Place, Table, optional, text_column
from powertui.data.tools import gaps, kernels, launches
from powertui.data.tools.kernels import Kernels
from powertui.data.tools.launches import Launches
from powertui.data.tools.registry import Question

_GAPS = 100
_FULL = 1000  # a CUDA stream takes about 1,024 launches: then the call itself waits


def streams(question: Question, work: Kernels, calls: Launches) -> Table:
    """One row for each stream: its work, its delays, its queue, and its gaps by why."""
    lo, hi = question.window
    rows = []
    for line, call in zip(work.lines, calls.of_line, strict=True):
        at, ps = kernels.inside(line.track, lo, hi)
        if not len(at):
            continue
        start = line.track.events.start[at]
        begun = call[at]
        launched = np.where(
            begun >= 0, calls.calls.end[np.maximum(begun, 0)] if len(calls.calls) else 0, 0
        )
        waited, known = launches.delays(start, begun, calls.calls)
        idle = gaps.idle_time(start, start + ps, begun, launched)
        waiting = launches.queue(start, begun, calls.calls)
        rows.append((line, len(at), _union(start, ps), waited[known], waiting, idle))
    linked = np.array([len(waited) > 0 for _, _, _, waited, _, _ in rows], np.bool_)
    columns = (
        text_column("device", "device", [line.process.name for line, *_ in rows], weight=5),
        text_column("stream", "stream", [line.track.name for line, *_ in rows], weight=9),
        Column(
            "events", "events", "integer", np.array([row[1] for row in rows], np.int64), weight=7
        ),
        Column(
            "busy_s", "busy", "duration", np.array([row[2] for row in rows], np.int64), weight=9
        ),
        Column(
            "launch_delay_s",
            "launch delay",
            "duration",
            np.array([int(row[3].mean()) if len(row[3]) else 0 for row in rows], np.int64),
            present=linked,
            weight=7,
        ),
        Column(
            "longest_delay_s",
            "longest",
            "duration",
            np.array([int(row[3].max()) if len(row[3]) else 0 for row in rows], np.int64),
            present=linked,
            weight=3,
        ),
        optional(
            "longest_queue",
            "longest queue",
            "integer",
            [row[4].longest if row[4] else None for row in rows],
            weight=6,
        ),
        optional(
            "mean_queue",
            "mean queue",
            "number",
            [row[4].mean if row[4] else None for row in rows],
            weight=3,
        ),
        Column(
            "launched_late_s",
            "launched late",
            "duration",
            np.array([row[5].launched_late for row in rows], np.int64),
            weight=8,
        ),
        Column(
            "queued_s",
            "between kernels",
            "duration",
            np.array([row[5].queued for row in rows], np.int64),
            weight=4,
        ),
        Column(
            "waiting_s",
            "waiting",
            "duration",
            np.array([row[5].waiting for row in rows], np.int64),
            weight=5,
        ),
        Column(
            "not_known_s",
            "gap not known",
            "duration",
            np.array([row[5].not_known for row in rows], np.int64),
            weight=2,
        ),
    )

    def place(row: int) -> Place:
        events = rows[row][0].track.events
        first, last = int(events.start.min()), int(events.end.max())
        return Place(
            question.opened.name, question.host, max(first, lo), min(last, hi), rows[row][0].number
        )

    return Table(
        "streams",
        "Streams: what waited, and why they were idle",
        columns,
        place=place,
        order=None,
        empty="No device recorded a kernel.",
        key=("device", "stream"),
        noun="stream",
    )


def _union(start: Int64s, length: Int64s) -> int:
    """How long any of these events went on: ops of a TPU nest, kernels of graphs may overlap."""
    order = np.argsort(start, kind="stable")
    begin, end = start[order], (start + length)[order]
    before = np.concatenate([begin[:1], np.maximum.accumulate(end)[:-1]])
    return int(np.maximum(end - np.maximum(begin, before), 0).sum())


def gaps_of(question: Question, work: Kernels, calls: Launches) -> Table:
    """The longest stretches in which a device ran nothing."""
    trace = question.profile.trace
    found = gaps.longest_gaps(work, calls, *question.window, _GAPS)

    def name(where: tuple[int, int]) -> str:
        line = work.lines[where[0]]
        return trace.names.display(int(line.track.events.name[where[1]]))

    busy = [_host_of(question, calls, gap) for gap in found]
    columns = (
        text_column("device", "device", [gap.device for gap in found], weight=4),
        Column("start_s", "at", "instant", np.array([gap.lo for gap in found], np.int64), weight=6),
        Column(
            "gap_s",
            "gap",
            "duration",
            np.array([gap.hi - gap.lo for gap in found], np.int64),
            weight=9,
        ),
        text_column("why", "next kernel", [gap.why for gap in found], weight=8),
        text_column("host_did", "host did meanwhile", [what for what, _ in busy], weight=9),
        Column(
            "host_share",
            "of the gap",
            "share",
            np.array([share for _, share in busy], np.float64),
            weight=3,
        ),
        text_column("before", "after kernel", [name(gap.before) for gap in found], weight=3),
        text_column("after", "before kernel", [name(gap.after) for gap in found], weight=5),
    )

    def place(row: int) -> Place:
        gap = found[row]
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=gap.lo,
            hi=gap.hi,
            track=work.lines[gap.after[0]].number,
            event=gap.after[1],
        )

    return Table(
        "gaps",
        f"The {_GAPS} longest gaps of the devices",
        columns,
        place=place,
        order=("gap_s", True),
        empty="No gap between kernels.",
        noun="gap",
    )


def _host_of(question: Question, calls: Launches, gap: gaps.Gap) -> tuple[str, float]:
    """(what the thread that launched the next kernel did most of the gap, which part of it)."""
    call = int(calls.of_line[gap.after[0]][gap.after[1]])
    if call < 0:
        return "", float("nan")
    what, ps = gaps.busiest_event(
        question.profile.trace, int(calls.calls.line[call]), gap.lo, gap.hi
    )
    return (
        (what, ps / (gap.hi - gap.lo))
        if what
        else ("nothing on the launching thread", float("nan"))
    )


def graphs(question: Question, work: Kernels, calls: Launches) -> Table:
    """Calls that launched many kernels: CUDA and HIP graphs, command buffers of XLA."""
    lo, hi = question.window
    count = np.zeros(len(calls.calls), np.int64)
    named = np.zeros(len(calls.calls), np.int64)
    total = np.zeros(len(calls.calls), np.int64)
    has_op = np.array(
        [bool(said.hlo_op or said.tf_op or said.level or said.operator) for said in work.facts],
        np.bool_,
    )
    for line, call in zip(work.lines, calls.of_line, strict=True):
        at, ps = kernels.inside(line.track, lo, hi)
        mine, at, ps = call[at], at[call[at] >= 0], ps[call[at] >= 0]
        mine = mine[mine >= 0]
        np.add.at(count, mine, 1)
        np.add.at(total, mine, ps)
        np.add.at(named, mine, has_op[line.facts[at]].astype(np.int64))
    several = np.flatnonzero(count > 1)
    several = several[np.argsort(-total[several], kind="stable")]
    tracks = [track for _, track in question.profile.trace.tracks()]
    names = question.profile.trace.names

    def call_of(index: int) -> str:
        events = tracks[int(calls.calls.line[index])].events
        return names.display(int(events.name[int(calls.calls.row[index])]))

    def around(index: int) -> str:
        """What the call lies in: the collector tells no op of a graph's kernels, but the host's own
        event may.
        """
        track, row = tracks[int(calls.calls.line[index])], int(calls.calls.row[index])
        depth = track.depth_of(row)
        if not depth:
            return ""
        lane = track.lane(depth - 1)
        holder = int(lane.start.searchsorted(track.events.start[row], side="right")) - 1
        return names.display(int(lane.name[holder])) if holder >= 0 else ""

    columns = (
        text_column("call", "call", [call_of(i) for i in several.tolist()], weight=9),
        text_column("inside", "inside", [around(i) for i in several.tolist()], weight=6),
        Column("start_s", "at", "instant", calls.calls.start[several], weight=6),
        Column("kernels", "kernels", "integer", count[several], weight=8),
        Column("kernel_time_s", "their time", "duration", total[several], weight=9),
        Column("with_op", "with an op", "integer", named[several], weight=7),
    )

    def place(row: int) -> Place:
        index = int(several[row])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(calls.calls.start[index]),
            hi=int(calls.calls.end[index]),
            track=int(calls.calls.line[index]),
            event=int(calls.calls.row[index]),
        )

    empty = "No call launched more than one kernel."
    return Table(
        "graphs",
        "Graphs and command buffers: one call, many kernels",
        columns,
        place=place,
        order=None,
        empty=empty,
        noun="call",
    )


def notes(work: Kernels, calls: Launches) -> list[str]:
    """What has to be known to read these tables."""
    out = []
    if len(work) and not calls.linked:
        out.append(
            "Nothing ties kernels to the calls that launched them: delays, queues and what the "
            "host did are not known."
        )
    elif calls.linked < len(work):
        out.append(
            f"{len(work) - calls.linked:,} of {len(work):,} events of devices have no call in "
            "this profile."
        )
    graphs = sum(bool(said.graph) for said in work.facts)
    bare = sum(
        bool(said.graph) and not (said.hlo_op or said.tf_op or said.level) for said in work.facts
    )
    if bare:
        out.append(
            f"Of {graphs} kinds of kernels in graphs {bare} carry no op: the collector saw one "
            "call for all of a graph's kernels. "
            "XLA names them when it runs without command buffers "
            "(--xla_gpu_enable_command_buffer=)."
        )
    full = [
        launches.queue(line.track.events.start, call, calls.calls)
        for line, call in zip(work.lines, calls.of_line, strict=True)
    ]
    longest = max((queue.longest for queue in full if queue is not None), default=0)
    if longest >= _FULL:
        out.append(
            f"A queue held {longest:,} launches: a stream takes about 1,024, then the call "
            "itself waits."
        )
    return out
