"""What the cores of a TPU did in each step, and what that comes to over all of them: TensorBoard's
breakdown for TPUs.

Of each core the self times of its ops are added by what they do; what no op covers of a step is
idle. A step counts where all cores have it. Over the cores: computing is the least of a step less
its waiting, infeed and copies to and from the host are the most, outfeed is the mean; an all-reduce
computes as long as the fastest core needs, the rest is waiting for the others.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import name_shapes, wire
from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track, TrackKind
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import covered_ps
from powertui.data.run.stat_carriers import rows_named, whole_numbers
from powertui.data.sorted_columns import last_begun
from powertui.data.tools import device_ops, kernels, typed_events
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.event_types import EventType
from powertui.data.tools.kernels import DeviceLine, KernelFacts
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_CORE = re.compile(r"/device:TPU:(\d+)$")
# What an op does, by its category; of files that tell none by the name of its instruction.
_KINDS = (
    "infeed",
    "outfeed",
    "host",
    "sparse_wait",
    "all_reduce",
    "send_recv",
    "megacore",
    "high_flop",
    "other",
)
_OF_CATEGORY = {
    "infeed": "infeed",
    "outfeed": "outfeed",
    "host send": "host",
    "host send-done": "host",
    "host recv": "host",
    "host recv-done": "host",
    "sparsecorev0 infeed": "sparse_wait",
    "sparsecorev0 infeed wait": "sparse_wait",
    "sparsecorev0 infeed transform": "sparse_wait",
    "all-reduce": "all_reduce",
    "all-reduce fusion": "all_reduce",
    "all-to-all": "all_reduce",
    "all-reduce-scatter fusion": "all_reduce",
    "send": "send_recv",
    "send-done": "send_recv",
    "recv": "send_recv",
    "recv-done": "send_recv",
    "megacore fusion": "megacore",
    "convolution": "high_flop",
    "convolution fusion": "high_flop",
    "output fusion": "high_flop",
    "convolution base-dilated": "high_flop",
    "convolution window-dilated": "high_flop",
}
_OF_NAME = (
    (re.compile(r"^%?infeed"), "infeed"),
    (re.compile(r"^%?outfeed"), "outfeed"),
    (re.compile(r"^%?(?:all-reduce|all-to-all)"), "all_reduce"),
    (re.compile(r"^%?(?:send|recv)\b"), "send_recv"),
    (re.compile(r"^%?(?:convolution|dot)\b"), "high_flop"),
)
_INPUT_TYPES = (EventType.WAIT_INPUT, EventType.HOST_TO_DEVICE)
_NONE = np.empty(0, np.int64)
# In these a core waits: for the host, or for the other core of a megacore.
_OFF_DUTY = frozenset(("infeed", "outfeed", "host", "megacore"))
_BARRIER = "barrier-cores"
_PRINT = "debug_print"
_ENQUEUE = "EnqueueDevice"
_REDUCE_ID = "all_reduce_id"


@dataclass(frozen=True, eq=False)
class TpuSteps:
    """The common steps of all cores. Times in ps, a row for each step."""

    cores: tuple[str, ...]
    row: Int64s  # of the run's steps
    length: Int64s  # of the longest core
    compute: Int64s
    infeed: Int64s
    outfeed: Int64s
    host: Int64s  # copies to and from the host
    sparse: Int64s  # waiting for the sparse cores
    idle: Int64s
    all_reduce: Int64s  # what of computing all-reduce computes
    all_reduce_wait: Int64s  # … and waits for the other cores
    send_recv: Int64s
    high_flop: Int64s
    barrier: float  # of the steps' time, on all cores
    printing: float

    def share(self, times: Int64s) -> float:
        """Of all steps' time."""
        whole = max(1.0, float(self.length.sum()))
        return float(times.sum()) / whole


def _kind(facts: KernelFacts) -> str:
    """What an op does."""
    if facts.category:
        return _OF_CATEGORY.get(facts.category.lower(), "other")
    name = (facts.short or facts.name).lower()
    for pattern, kind in _OF_NAME:
        if pattern.match(name):
            return kind
    return "other"


def _cores(trace: Trace) -> list[Process]:
    """The tensor cores of a trace."""
    return [
        process
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE and _CORE.search(process.name)
    ]


def steps(profile: Profile) -> TpuSteps | None:
    """The steps over all cores; None without a TPU, or where no step is common to all of them.

    Made once.
    """
    return profile.cached("tpu steps", lambda: _steps(profile))


class _Cores(NamedTuple):
    """The steps that all cores have: [cores × steps]."""

    names: tuple[str, ...]
    row: Int64s  # of the run's steps
    start: Int64s
    length: Int64s


def _common_steps(profile: Profile) -> _Cores | None:
    """None where a core that ran anything has no steps, or no step is common to all of them."""
    steps_by_core = {}
    for part in profile.steps.on:
        if part.kind == "device":
            steps_by_core[part.name] = part
    busy_cores = [process.name for process in _cores(profile.trace) if process.event_count]
    each = []
    for name in busy_cores:
        if len(steps_by_core.get(name, ())):
            each.append(steps_by_core[name])
    if not each or len(each) != len(busy_cores):
        return None
    common = each[0].row
    for core_steps in each[1:]:
        common = common[np.isin(common, core_steps.row)]
    common = wire.distinct(common)
    if not len(common):
        return None
    starts: list[Int64s] = []
    lengths: list[Int64s] = []
    for core_steps in each:
        by_row = np.argsort(core_steps.row, kind="stable")
        place = by_row[core_steps.row[by_row].searchsorted(common)]
        starts.append(core_steps.start[place])
        lengths.append(core_steps.duration[place])
    names = tuple(core_steps.name for core_steps in each)
    return _Cores(
        names=names,
        row=common,
        start=np.stack(starts),
        length=np.stack(lengths),
    )


def _steps(profile: Profile) -> TpuSteps | None:
    cores = _common_steps(profile)
    if cores is None:
        return None
    length = cores.length
    op_times = _OpTimes(cores.start, length)
    work = kernels.device_kernels(profile)
    for core, name in enumerate(cores.names):
        for line in _lines(work.lines, name):
            op_times.add(core, line, work.facts)
    sums = op_times.sums
    busy = sum(sums[kind] for kind in _KINDS)
    idle = np.maximum(0, length - busy)
    infeed = sums["infeed"]
    if not infeed.any():
        # Without infeed ops, what the cores idled while the host waited for input is infeed.
        waited = _host_input(profile, cores.start.min(axis=0), length.max(axis=0))
        infeed = np.minimum(idle, waited[None, :])
        idle = idle - infeed
    waits = infeed + sums["outfeed"] + sums["host"] + sums["sparse_wait"] + idle
    # Over the cores: the least of the work, the most of the waiting, the mean of outfeed.
    compute = (length - waits).min(axis=0)
    most_infeed = infeed.max(axis=0)
    mean_outfeed = _mean(sums["outfeed"])
    most_host = sums["host"].max(axis=0)
    most_sparse = sums["sparse_wait"].max(axis=0)
    accounted = compute + most_infeed + mean_outfeed + most_host + most_sparse
    # The fastest core comes last to an all-reduce; what others take longer, they wait for it.
    reducing = np.zeros(len(cores.row), np.int64)
    for times in op_times.reduces.values():
        reducing += times.min(axis=0)
    steps_ps = max(1.0, float(length.sum()))
    return TpuSteps(
        cores=cores.names,
        row=cores.row,
        length=length.max(axis=0),
        compute=compute,
        infeed=most_infeed,
        outfeed=mean_outfeed,
        host=most_host,
        sparse=most_sparse,
        idle=np.maximum(0, length.min(axis=0) - accounted),
        all_reduce=reducing,
        all_reduce_wait=(sums["all_reduce"] - reducing[None, :]).max(axis=0),
        send_recv=sums["send_recv"].max(axis=0),
        high_flop=_mean(sums["high_flop"]),
        barrier=float(sums["barrier"].sum()) / steps_ps,
        printing=float(sums["print"].sum()) / steps_ps,
    )


def _mean(times: Int64s) -> Int64s:
    """Over the cores, to a picosecond."""
    mean: Int64s = times.mean(axis=0).round().astype(np.int64)
    return mean


def _lines(lines: tuple[DeviceLine, ...], core: str) -> list[DeviceLine]:
    """The line of a core's ops: what runs asynchronously beside it takes none of its time."""
    of_core = [line for line in lines if line.process.name == core]
    return [line for line in of_core if line.track.name == "XLA Ops"] or of_core


class _OpTimes:
    """The time of ops by core and step, ps; an op counts in the step in which it begins."""

    def __init__(self, start: Int64s, length: Int64s) -> None:
        self._start = start  # of the steps, by core
        self._length = length
        kinds = (*_KINDS, "barrier", "print")
        self.sums = {kind: np.zeros(start.shape, np.int64) for kind in kinds}
        self.reduces: dict[str, Int64s] = {}  # of each all-reduce that the cores do together

    def add(self, core: int, line: DeviceLine, facts: tuple[KernelFacts, ...]) -> None:
        """The ops of one line of one core."""
        events = line.track.events
        rows = np.arange(len(events))
        self_time = device_ops.selfs(line.track, rows, events.duration)
        start = self._start[core]
        step, inside = _step_at(events.start, start, start + self._length[core])
        for code in wire.distinct(line.facts[inside]).tolist():
            op = facts[code]
            op_rows = rows[inside & (line.facts == code)]
            op_steps = step[op_rows]
            op_self_time = self_time[op_rows]
            kind = _kind(op)
            name = op.short or op.name
            np.add.at(self.sums[kind][core], op_steps, op_self_time)
            # Barriers and prints count with all that runs inside them.
            if _BARRIER in name:
                np.add.at(
                    self.sums["barrier"][core],
                    op_steps,
                    events.duration[op_rows],
                )
            if _PRINT in name:
                np.add.at(
                    self.sums["print"][core],
                    op_steps,
                    events.duration[op_rows],
                )
            if kind == "all_reduce":
                self._add_reduces(
                    core=core,
                    line=line,
                    name=name,
                    rows=op_rows,
                    step=op_steps,
                    ps=op_self_time,
                )

    def _add_reduces(
        self,
        core: int,
        line: DeviceLine,
        name: str,
        rows: Int64s,
        step: Int64s,
        ps: Int64s,
    ) -> None:
        """All-reduces by their ids, or by name where they have none."""
        positions = line.track.events.positions(rows)
        ids = line.process.source.columns(positions, (_REDUCE_ID,))[_REDUCE_ID]
        numbers = whole_numbers(ids)
        for number in wire.distinct(numbers).tolist():
            if number >= 0:
                key = str(number)
            else:
                key = name
            if key not in self.reduces:
                self.reduces[key] = np.zeros(self._start.shape, np.int64)
            has_id = numbers == number
            np.add.at(self.reduces[key][core], step[has_id], ps[has_id])


def _host_input(profile: Profile, start: Int64s, length: Int64s) -> Int64s:
    """How long the host waited for input, or enqueued it, in each step: each moment once."""
    _, hosts = typed_events.typed_events(profile.trace, "corrected")
    parts: list[tuple[Track, Int64s]] = []
    for line in hosts:
        rows = line.telling()
        is_input = np.isin(line.types_for(rows), _INPUT_TYPES)
        parts.append((line.track, rows[is_input]))
    return _covered(parts, start, length)


def enqueuing(profile: Profile, steps_of_cores: TpuSteps) -> float:
    """The part of the steps' time in which the host is in EnqueueDevice."""
    is_enqueue = name_shapes.beginning(profile.trace.names, _ENQUEUE)
    start = profile.steps.start[steps_of_cores.row]
    parts = []
    for process, track in profile.trace.tracks():
        if process.kind is ProcessKind.HOST and is_enqueue.any():
            parts.append((track, rows_named(track.events.name, is_enqueue)))
    return steps_of_cores.share(_covered(parts, start, steps_of_cores.length))


def _covered(parts: list[tuple[Track, Int64s]], start: Int64s, length: Int64s) -> Int64s:
    """How long any of these events ran in each step in which it begins."""
    steps = [_NONE]
    begins = [_NONE]
    ends = [_NONE]
    step_end = start + length
    for track, rows in parts:
        begin = track.events.start[rows]
        end = begin + track.events.duration[rows]
        step, inside = _step_at(begin, start, step_end)
        steps.append(step[inside])
        begins.append(begin[inside])
        ends.append(np.minimum(end, step_end[step])[inside])
    covered = covered_ps(
        np.concatenate(steps), np.concatenate(begins), np.concatenate(ends), len(start)
    )
    return np.maximum(covered, 0)


def _step_at(moments: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Bools]:
    """(the step that began last by each moment, whether it goes on then)."""
    order = np.argsort(start, kind="stable")
    any_begun, place = last_begun(start[order], moments)
    step = order[place]
    return step, any_begun & (moments < end[step])


# ── duty ─────────────────────────────────────────────────────────────────────────────────────────


def duty_cycle(profile: Profile, lo: int, hi: int) -> float | None:
    """The part of their programs' time in which the cores compute: not that in infeed, outfeed and
    copies to and from the host.
    """
    work = kernels.device_kernels(profile)
    is_off_duty = np.array([_kind(facts) in _OFF_DUTY for facts in work.facts], np.bool_)
    active_ps = program_ps = 0
    for process in _cores(profile.trace):
        active: list[CoveredTime] = []
        programs: list[CoveredTime] = []
        for line in work.lines:
            if line.process is not process:
                continue
            ops = _within(line.track, lo, hi)
            on_duty = ~is_off_duty[line.facts]
            programs.append(ops)
            active.append(CoveredTime(ops.start[on_duty], ops.end[on_duty]))
        for track in process.tracks:
            if track.kind is TrackKind.MODULES and len(track.events):
                programs.append(_within(track, lo, hi))
        active_ps += joined(active).length
        program_ps += joined(programs).length
    return active_ps / program_ps if program_ps else None


def _within(track: Track, lo: int, hi: int) -> CoveredTime:
    """The events of a line cut to [lo, hi); those outside end before they start."""
    return CoveredTime(np.maximum(track.events.start, lo), np.minimum(track.events.end, hi))
