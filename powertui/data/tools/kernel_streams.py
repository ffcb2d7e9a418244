"""How a device's streams were fed: what waited in each, why it was idle, the longest gaps, and
graphs that one call launched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Int64s
from powertui.data.table import Column, Place, Table, int_column, optional, text_column
from powertui.data.tools import gaps, kernels, launches
from powertui.data.tools.gaps import Gap, Idle
from powertui.data.tools.kernels import DeviceLine, KernelFacts, Kernels
from powertui.data.tools.launches import Launches, Queue
from powertui.data.tools.registry import Question

_MAX_LISTED_GAPS = 100
_FULL_QUEUE = 1000  # a CUDA stream takes about 1,024 launches: then the call itself waits


class _Stream(NamedTuple):
    """What one stream did in the window. Times in ps."""

    line: DeviceLine
    events: int
    busy: int
    delays: Int64s  # of its events whose call is known, from the call's end to the event's start
    queue: Queue | None
    idle: Idle


def _streams(question: Question, work: Kernels, calls: Launches) -> list[_Stream]:
    """The streams that ran something in the window."""
    lo, hi = question.window
    streams = []
    for line, call_of in zip(work.lines, calls.of_line, strict=True):
        rows, length = kernels.inside(line.track, lo, hi)
        if not len(rows):
            continue
        start = line.track.events.start[rows]
        call = call_of[rows]
        launched = np.zeros(len(rows), np.int64)
        if len(calls.calls):
            launched = np.where(call >= 0, calls.calls.end[np.maximum(call, 0)], 0)
        delay, has_call = launches.delays(start, call, calls.calls)
        stream = _Stream(
            line=line,
            events=len(rows),
            busy=_union(start, length),
            delays=delay[has_call],
            queue=launches.queue(start, call, calls.calls),
            idle=gaps.idle_time(start, start + length, call, launched),
        )
        streams.append(stream)
    return streams


def streams(question: Question, work: Kernels, calls: Launches) -> Table:
    """One row for each stream: its work, its delays, its queue, and its gaps by why."""
    lo, hi = question.window
    rows = _streams(question, work, calls)
    queues = [row.queue for row in rows]
    idle = [row.idle for row in rows]
    has_delays = np.array([len(row.delays) > 0 for row in rows], np.bool_)
    mean_delays = [int(row.delays.mean()) if len(row.delays) else 0 for row in rows]
    longest_delays = [int(row.delays.max()) if len(row.delays) else 0 for row in rows]
    longest_queues = [queue.longest if queue else None for queue in queues]
    mean_queues = [queue.mean if queue else None for queue in queues]

    def ps_column(
        id: str, label: str, values: Iterable[int], weight: int, present: Bools | None = None
    ) -> Column:
        return int_column(id, label, "duration", values, weight=weight, present=present)

    columns = (
        text_column("device", "device", [row.line.process.name for row in rows], weight=5),
        text_column("stream", "stream", [row.line.track.name for row in rows], weight=9),
        int_column("events", "events", "integer", [row.events for row in rows], weight=7),
        ps_column("busy_s", "busy", [row.busy for row in rows], 9),
        ps_column("launch_delay_s", "launch delay", mean_delays, 7, has_delays),
        ps_column("longest_delay_s", "longest", longest_delays, 3, has_delays),
        optional("longest_queue", "longest queue", "integer", longest_queues, weight=6),
        optional("mean_queue", "mean queue", "number", mean_queues, weight=3),
        ps_column("launched_late_s", "launched late", [each.launched_late for each in idle], 8),
        ps_column("queued_s", "between kernels", [each.queued for each in idle], 4),
        ps_column("waiting_s", "waiting", [each.waiting for each in idle], 5),
        ps_column("not_known_s", "gap not known", [each.not_known for each in idle], 2),
    )

    def place(row: int) -> Place:
        line = rows[row].line
        first = int(line.track.events.start.min())
        last = int(line.track.events.end.max())
        return Place(
            question.opened.name, question.host, max(first, lo), min(last, hi), line.number
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


def longest_gaps(question: Question, work: Kernels, calls: Launches) -> Table:
    """The longest stretches in which a device ran nothing."""
    names = question.profile.trace.names
    rows = gaps.longest_gaps(work, calls, *question.window, _MAX_LISTED_GAPS)
    host = [_host_during(question, calls, gap) for gap in rows]

    def kernel(event: tuple[int, int]) -> str:
        line, row = event
        return names.display(int(work.lines[line].track.events.name[row]))

    host_shares = np.array([share for _, share in host], np.float64)
    columns = (
        text_column("device", "device", [gap.device for gap in rows], weight=4),
        int_column("start_s", "at", "instant", [gap.lo for gap in rows], weight=6),
        int_column("gap_s", "gap", "duration", [gap.hi - gap.lo for gap in rows], weight=9),
        text_column("why", "next kernel", [gap.why for gap in rows], weight=8),
        text_column("host_did", "host did meanwhile", [what for what, _ in host], weight=9),
        Column("host_share", "of the gap", "share", host_shares, weight=3),
        text_column("before", "after kernel", [kernel(gap.before) for gap in rows], weight=3),
        text_column("after", "before kernel", [kernel(gap.after) for gap in rows], weight=5),
    )

    def place(row: int) -> Place:
        gap = rows[row]
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
        f"The {_MAX_LISTED_GAPS} longest gaps of the devices",
        columns,
        place=place,
        order=("gap_s", True),
        empty="No gap between kernels.",
        noun="gap",
    )


def _host_during(question: Question, calls: Launches, gap: Gap) -> tuple[str, float]:
    """(what the thread that launched the next kernel did most of the gap, which part of it)."""
    line, row = gap.after
    call = int(calls.of_line[line][row])
    if call < 0:
        return "", float("nan")
    thread = int(calls.calls.line[call])
    what, ps = gaps.busiest_event(question.profile.trace, thread, gap.lo, gap.hi)
    if not what:
        return "nothing on the launching thread", float("nan")
    return what, ps / (gap.hi - gap.lo)


def graphs(question: Question, work: Kernels, calls: Launches) -> Table:
    """Calls that launched many kernels: CUDA and HIP graphs, command buffers of XLA."""
    lo, hi = question.window
    count = np.zeros(len(calls.calls), np.int64)
    named = np.zeros(len(calls.calls), np.int64)
    total = np.zeros(len(calls.calls), np.int64)
    has_op = np.array([_has_op(facts) or bool(facts.operator) for facts in work.facts], np.bool_)
    for line, call in zip(work.lines, calls.of_line, strict=True):
        rows, ps = kernels.inside(line.track, lo, hi)
        has_call = call[rows] >= 0
        rows, ps = rows[has_call], ps[has_call]
        np.add.at(count, call[rows], 1)
        np.add.at(total, call[rows], ps)
        np.add.at(named, call[rows], has_op[line.facts[rows]].astype(np.int64))
    several = np.flatnonzero(count > 1)
    several = several[np.argsort(-total[several], kind="stable")]
    tracks = [track for _, track in question.profile.trace.tracks()]
    names = question.profile.trace.names

    def call_of(index: int) -> str:
        events = tracks[int(calls.calls.line[index])].events
        return names.display(int(events.name[int(calls.calls.row[index])]))

    def around(index: int) -> str:
        """The event around a call: the collector names no op of a graph's kernels, but the host's
        own event may.
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


def _has_op(facts: KernelFacts) -> bool:
    """Whether the collector named an op of a kernel."""
    return bool(facts.hlo_op or facts.tf_op or facts.level)


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
    in_graphs = [facts for facts in work.facts if facts.graph]
    without_op = [facts for facts in in_graphs if not _has_op(facts)]
    if without_op:
        out.append(
            f"Of {len(in_graphs)} kinds of kernels in graphs {len(without_op)} carry no op: the "
            "collector saw one "
            "call for all of a graph's kernels. "
            "XLA names them when it runs without command buffers "
            "(--xla_gpu_enable_command_buffer=)."
        )
    queues = [
        launches.queue(line.track.events.start, call, calls.calls)
        for line, call in zip(work.lines, calls.of_line, strict=True)
    ]
    longest = max((queue.longest for queue in queues if queue is not None), default=0)
    if longest >= _FULL_QUEUE:
        out.append(
            f"A queue held {longest:,} launches: a stream takes about 1,024, then the call "
            "itself waits."
        )
    return out
