"""How a device's streams were fed: what waited in each, why it was idle, the longest gaps, and
graphs that one call launched.
"""

from __future__ import annotations

import numpy as np

from powertui.data.columns import Column, Field, columns_of, int_column, text_column
from powertui.data.model import Int64s, Names, Track
from powertui.data.table import Place, Table
from powertui.data.tools import gaps, kernels, launches
from powertui.data.tools.covered_time import union
from powertui.data.tools.gaps import Gap, Idle
from powertui.data.tools.kernels import DeviceLine, KernelFacts, Kernels
from powertui.data.tools.launches import Launches, Queue
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple

_MAX_LISTED_GAPS = 100  # the longest
# A CUDA stream takes about 1,024 launches, then the call itself waits. The deepest queue of the
# recorded programs held 1,022.
_FULL_QUEUE = 1000


class _Stream(NamedTuple):
    """What one stream did in the window. Times in ps."""

    line: DeviceLine
    events: int
    busy: int
    delays: Int64s  # of its events whose call is known, from the call's end to the event's start
    queue: Queue | None
    idle: Idle

    @property
    def mean_delay(self) -> int | None:
        """From the call's end to the event's start, on average."""
        if len(self.delays):
            return int(self.delays.mean())
        return None

    @property
    def longest_delay(self) -> int | None:
        if len(self.delays):
            return int(self.delays.max())
        return None


_STREAM_FIELDS: tuple[Field[_Stream], ...] = (
    Field("device", "device", "text", lambda row: row.line.process.name, weight=5),
    Field("stream", "stream", "text", lambda row: row.line.track.name, weight=9),
    Field("events", "events", "integer", lambda row: row.events, weight=7, always=True),
    Field("busy_s", "busy", "duration", lambda row: row.busy, weight=9, always=True),
    Field("launch_delay_s", "launch delay", "duration", lambda row: row.mean_delay, weight=7),
    Field("longest_delay_s", "longest", "duration", lambda row: row.longest_delay, weight=3),
    Field(
        "longest_queue",
        "longest queue",
        "integer",
        lambda row: row.queue.longest if row.queue else None,
        weight=6,
    ),
    Field(
        "mean_queue",
        "mean queue",
        "number",
        lambda row: row.queue.mean if row.queue else None,
        weight=3,
    ),
    Field(
        "launched_late_s",
        "launched late",
        "duration",
        lambda row: row.idle.launched_late,
        weight=8,
        always=True,
    ),
    Field(
        "queued_s",
        "between kernels",
        "duration",
        lambda row: row.idle.queued,
        weight=4,
        always=True,
    ),
    Field("waiting_s", "waiting", "duration", lambda row: row.idle.waiting, weight=5, always=True),
    Field(
        "not_known_s",
        "gap not known",
        "duration",
        lambda row: row.idle.not_known,
        weight=2,
        always=True,
    ),
)


def _streams(question: Question, work: Kernels, calls: Launches) -> list[_Stream]:
    """The streams that ran something in the window."""
    lo, hi = question.window
    streams = []
    for line, call_of in zip(work.lines, calls.of_line, strict=True):
        rows, length = kernels.inside(line.track, lo, hi)
        if not len(rows):
            continue
        start = line.track.events.start[rows]
        end = start + length
        call = call_of[rows]
        launched = np.zeros(len(rows), np.int64)
        if len(calls.calls):
            call_end = calls.calls.end[np.maximum(call, 0)]
            launched = np.where(call >= 0, call_end, 0)
        delay, has_call = launches.delays(start, call, calls.calls)
        stream = _Stream(
            line=line,
            events=len(rows),
            busy=_busy(start, end),
            delays=delay[has_call],
            queue=launches.queue(start, call, calls.calls),
            idle=gaps.idle_time(start, end, call, launched),
        )
        streams.append(stream)
    return streams


def streams(question: Question, work: Kernels, calls: Launches) -> Table:
    """One row for each stream: its work, its delays, its queue, and its gaps by why."""
    lo, hi = question.window
    rows = _streams(question, work, calls)

    def place(row: int) -> Place:
        line = rows[row].line
        first = int(line.track.events.start.min())
        last = int(line.track.events.end.max())
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=max(first, lo),
            hi=min(last, hi),
            track=line.number,
        )

    return Table(
        id="streams",
        title="Streams: what waited, and why they were idle",
        columns=columns_of(rows, _STREAM_FIELDS),
        place=place,
        order=None,
        empty="No device recorded a kernel.",
        key=("device", "stream"),
        noun="stream",
    )


def _busy(start: Int64s, end: Int64s) -> int:
    """How long any of these events went on: ops of a TPU nest, kernels of graphs may overlap."""
    has_length = end > start
    return union(start[has_length], end[has_length]).length


def longest_gaps(question: Question, work: Kernels, calls: Launches) -> Table:
    """The longest stretches in which a device ran nothing."""
    rows = gaps.longest_gaps(work, calls, *question.window, _MAX_LISTED_GAPS)

    def place(row: int) -> Place:
        gap = rows[row]
        line, event = gap.after
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=gap.lo,
            hi=gap.hi,
            track=work.lines[line].number,
            event=event,
        )

    return Table(
        id="gaps",
        title=f"The {_MAX_LISTED_GAPS} longest gaps of the devices",
        columns=_gap_columns(question, work, calls, rows),
        place=place,
        order=("gap_s", True),
        empty="No gap between kernels.",
        noun="gap",
    )


def _gap_columns(
    question: Question,
    work: Kernels,
    calls: Launches,
    rows: list[Gap],
) -> tuple[Column, ...]:
    names = question.profile.trace.names

    def kernel_name(event: tuple[int, int]) -> str:
        line, row = event
        name = work.lines[line].track.events.name[row]
        return names.display(int(name))

    host_did: list[str] = []
    host_shares: list[float] = []
    for gap in rows:
        activity, share = _host_during(question, calls, gap)
        host_did.append(activity)
        host_shares.append(share)
    kernels_before = [kernel_name(gap.before) for gap in rows]
    kernels_after = [kernel_name(gap.after) for gap in rows]
    return (
        text_column("device", "device", [gap.device for gap in rows], weight=4),
        int_column("start_s", "at", "instant", [gap.lo for gap in rows], weight=6),
        int_column("gap_s", "gap", "duration", [gap.hi - gap.lo for gap in rows], weight=9),
        text_column("why", "next kernel", [gap.why for gap in rows], weight=8),
        text_column("host_did", "host did meanwhile", host_did, weight=9),
        Column("host_share", "of the gap", "share", np.array(host_shares, np.float64), weight=3),
        text_column("before", "after kernel", kernels_before, weight=3),
        text_column("after", "before kernel", kernels_after, weight=5),
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


class _LaunchedWork(NamedTuple):
    """What each call launched in the window, by call."""

    kernels: Int64s
    with_op: Int64s  # of these kernels
    total: Int64s  # ps


def _launched_work(question: Question, work: Kernels, calls: Launches) -> _LaunchedWork:
    count = len(calls.calls)
    launched = _LaunchedWork(
        kernels=np.zeros(count, np.int64),
        with_op=np.zeros(count, np.int64),
        total=np.zeros(count, np.int64),
    )
    has_op = np.zeros(len(work.facts), np.int64)
    for number, facts in enumerate(work.facts):
        has_op[number] = _has_op(facts) or bool(facts.operator)
    for line, call_of in zip(work.lines, calls.of_line, strict=True):
        rows, length = kernels.inside(line.track, *question.window)
        call = call_of[rows]
        is_launched = call >= 0
        call = call[is_launched]
        facts_of = line.facts[rows[is_launched]]
        np.add.at(launched.kernels, call, 1)
        np.add.at(launched.total, call, length[is_launched])
        np.add.at(launched.with_op, call, has_op[facts_of])
    return launched


def graphs(question: Question, work: Kernels, calls: Launches) -> Table:
    """Calls that launched many kernels: CUDA and HIP graphs, command buffers of XLA."""
    launched = _launched_work(question, work, calls)
    several = np.flatnonzero(launched.kernels > 1)
    several = several[np.argsort(-launched.total[several], kind="stable")]
    each = calls.calls.take(several)
    tracks = [track for _, track in question.profile.trace.tracks()]
    names = question.profile.trace.names
    call_names: list[str] = []
    holders: list[str] = []
    for line, row in zip(each.line.tolist(), each.row.tolist(), strict=True):
        name = tracks[line].events.name[row]
        call_names.append(names.display(int(name)))
        holders.append(_name_around(names, tracks[line], row))
    columns = (
        text_column("call", "call", call_names, weight=9),
        text_column("inside", "inside", holders, weight=6),
        Column("start_s", "at", "instant", each.start, weight=6),
        Column("kernels", "kernels", "integer", launched.kernels[several], weight=8),
        Column("kernel_time_s", "their time", "duration", launched.total[several], weight=9),
        Column("with_op", "with an op", "integer", launched.with_op[several], weight=7),
    )

    def place(row: int) -> Place:
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=int(each.start[row]),
            hi=int(each.end[row]),
            track=int(each.line[row]),
            event=int(each.row[row]),
        )

    return Table(
        id="graphs",
        title="Graphs and command buffers: one call, many kernels",
        columns=columns,
        place=place,
        order=None,
        empty="No call launched more than one kernel.",
        noun="call",
    )


def _name_around(names: Names, track: Track, row: int) -> str:
    """The event around a call: the collector names no op of a graph's kernels, but the host's own
    event may.
    """
    depth = track.depth_of(row)
    if not depth:
        return ""
    lane = track.lane(depth - 1)
    begun = lane.start.searchsorted(track.events.start[row], side="right")
    holder = int(begun) - 1
    if holder >= 0:
        return names.display(int(lane.name[holder]))
    return ""


def _has_op(facts: KernelFacts) -> bool:
    """Whether the collector named an op of a kernel."""
    return bool(facts.hlo_op or facts.tf_op or facts.level)


def notes(work: Kernels, calls: Launches) -> list[str]:
    """What has to be known to read these tables."""
    notes = []
    without_call = len(work) - calls.linked
    if len(work) and not calls.linked:
        notes.append(
            "Nothing ties kernels to the calls that launched them: delays, queues and what the "
            "host did are not known."
        )
    elif without_call > 0:
        notes.append(
            f"{without_call:,} of {len(work):,} events of devices have no call in this profile."
        )
    in_graphs = [facts for facts in work.facts if facts.graph]
    without_op = sum(not _has_op(facts) for facts in in_graphs)
    if without_op:
        notes.append(
            f"Of {len(in_graphs)} kinds of kernels in graphs {without_op} carry no op: the "
            "collector saw one call for all of a graph's kernels. "
            "XLA names them when it runs without command buffers "
            "(--xla_gpu_enable_command_buffer=)."
        )
    longest = 0
    for line, call_of in zip(work.lines, calls.of_line, strict=True):
        queue = launches.queue(line.track.events.start, call_of, calls.calls)
        if queue is not None:
            longest = max(longest, queue.longest)
    if longest >= _FULL_QUEUE:
        notes.append(
            f"A queue held {longest:,} launches: a stream takes about 1,024, then the call "
            "itself waits."
        )
    return notes
