"""How well the devices were used: duty cycle, matrix units, FLOP/s and memory against their peaks;
the busy parts of TPU steps.

Collectors of TPUs tell two of these themselves. The others follow from what the ops say that they
cost; where ops that take more than 1 % of the time say nothing, what the others use is a lower
bound, and is reported as one. Only ops without others inside count, so that nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import name_shapes
from powertui.data.asked import Compat
from powertui.data.columns import Column, text_column
from powertui.data.model import PS_PER_S, Int64s, ProcessKind, Trace
from powertui.data.opened import Opened, Profile
from powertui.data.run.stat_carriers import rows_named
from powertui.data.table import Fact, Place, Table
from powertui.data.tools import device_facts, top_ops, tpu_cores
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.op_costs import MIN_COSTED_SHARE, missing_costs, missing_peaks
from powertui.data.tools.registry import Question
from powertui.data.tools.suggestions import Signals
from powertui.data.tools.tpu_cores import TpuSteps
from powertui.named_tuples import NamedTuple

_ALLOCATORS = ("bytes_allocated", "bytes_reserved", "bytes_available")
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-gather")
_BATCH_EVENTS = 1 << 16  # whose stats are decoded at a time


# Of the devices' work: where the ops of less of it say what they cost, a lower bound says next to
# nothing. Chosen, not measured.
_MIN_BOUNDING_SHARE = 0.5


class LowerBound(NamedTuple):
    """What ops with known costs use of a peak: all ops use at least so much."""

    share: float  # of the peak
    costed_share: float  # of the devices' work is of such ops


class Use(NamedTuple):
    """Parts of what is possible, 0 to 1; None where it is not known."""

    duty: float | None = None
    matrix: float | None = None  # the matrix units of a TPU, as its collector says
    flops: float | None = None  # FLOP/s of the peak, the idle time too
    roofline: float | None = None  # … of what the memory lets the ops reach, while they ran
    memory: float | None = None  # bandwidth of the devices' memory
    memory_told: bool = (
        False  # by the collector; False: from what the ops say that they read and write
    )
    flops_bound: LowerBound | None = None  # where `flops` is not known
    memory_bound: LowerBound | None = None  # where `memory` is not known
    why: str = ""  # what is not known of the last three, for this reason

    @property
    def arithmetic(self) -> float | None:
        """What is known of arithmetic: the matrix units, else the FLOP/s."""
        if self.matrix is not None:
            return self.matrix
        return self.flops


def device_use(profile: Profile, lo: int, hi: int, compat: Compat) -> Use:
    """The devices of one host in a window."""
    if not device_facts.has_device(profile.trace):
        return Use()
    matrix, memory = (
        _stat(profile.trace, name)
        for name in ("matrix_unit_utilization_percent", "hbm_utilization_percent")
    )
    by_costs = _by_costs(profile, lo, hi, compat)
    if memory is not None:
        by_costs = by_costs._replace(memory=memory, memory_told=True, memory_bound=None)
    why = ""
    if by_costs.flops is None or by_costs.memory is None:
        why = _why_unknown(profile, lo, hi, compat)
    return by_costs._replace(duty=tpu_cores.duty_cycle(profile, lo, hi), matrix=matrix, why=why)


def of_question(question: Question) -> Use:
    """The devices of every host that is asked about."""
    parts = question.parts
    uses = [device_use(profile, lo, hi, question.compat) for profile, lo, hi in parts]
    return _mean(uses)


def _mean(parts: Sequence[Use]) -> Use:
    """Of several hosts: of each figure the mean of those that tell it."""
    if len(parts) == 1:
        return parts[0]
    return Use(
        duty=_known_mean([part.duty for part in parts]),
        matrix=_known_mean([part.matrix for part in parts]),
        flops=_known_mean([part.flops for part in parts]),
        roofline=_known_mean([part.roofline for part in parts]),
        memory=_known_mean([part.memory for part in parts]),
        memory_told=all(part.memory_told for part in parts),
        why=next((part.why for part in parts if part.why), ""),
    )


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if known:
        return float(np.mean(known))
    return None


def _stat(trace: Trace, name: str) -> float | None:
    """The mean over the devices that tell it: percent in the file."""
    percents: list[float] = []
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        for stat in process.stats:
            if stat.name == name and isinstance(stat.value, int | float) and 0 <= stat.value <= 100:
                percents.append(stat.value)
    if percents:
        return float(np.mean(percents)) / 100
    return None


def _by_costs(profile: Profile, lo: int, hi: int, compat: Compat) -> Use:
    """What follows from the costs of ops."""
    peaks = _peaks(profile.trace)
    ops = top_ops.on_devices(profile, lo, hi, compat)
    if peaks is None or not ops.span or not ops.busy:
        return Use()
    # An op that holds others says what they cost, too: only those that hold none are added.
    leaves = [op for op in ops.ops if op.total == op.self_time]
    work_ps = ops.busy + ops.unnamed
    flops_by_op = [(op.flops, op.self_time) for op in leaves]
    bytes_by_op = [(op.bytes, op.self_time) for op in leaves]
    flops = _sum_of_costs(flops_by_op, work_ps)
    size = _sum_of_costs(bytes_by_op, work_ps)
    span_s = ops.span / PS_PER_S
    busy_s = ops.busy / PS_PER_S
    of_peak = flops.of_peak(peaks.peak_flops, span_s)
    of_memory = size.of_peak(peaks.bandwidth, span_s)
    return Use(
        flops=of_peak if flops.is_whole else None,
        roofline=_of_roofline(flops, size, peaks, busy_s),
        memory=of_memory if size.is_whole else None,
        flops_bound=flops.bound(of_peak),
        memory_bound=size.bound(of_memory),
    )


def _of_roofline(
    flops: _CostSum,
    size: _CostSum,
    peaks: DeviceFacts,
    busy_s: float,
) -> float | None:
    """What part of the possible is computed, at so many operations for each byte from memory."""
    if not (flops.is_whole and size.is_whole and flops.cost and size.cost):
        return None
    if not (peaks.peak_flops and peaks.bandwidth):
        return None
    memory_bound = flops.cost / size.cost * peaks.bandwidth
    return min(1.0, flops.cost / busy_s / min(peaks.peak_flops, memory_bound))


def _why_unknown(profile: Profile, lo: int, hi: int, compat: Compat) -> str:
    """Why it is not known how well the devices were used."""
    peaks = missing_peaks(device_facts.device_facts(profile.trace))
    if peaks:
        return peaks
    ops = top_ops.on_devices(profile, lo, hi, compat)
    work_ps = max(1, ops.busy + ops.unnamed)
    unnamed_share = ops.unnamed / work_ps
    if unnamed_share > 1 - MIN_COSTED_SHARE:
        percent = units.percent(unnamed_share)
        return f"the profile names no op for {percent} of the devices' work"
    return missing_costs(ops.ops)


def _peaks(trace: Trace) -> DeviceFacts | None:
    """The first device of which any peak is known."""
    for device in device_facts.device_facts(trace):
        if device.recorded and (device.peak_flops or device.bandwidth):
            return device
    return None


class _CostSum(NamedTuple):
    """What the ops cost together that say so."""

    cost: float
    costed_share: float  # of the devices' work is of such ops

    @property
    def is_whole(self) -> bool:
        """Whether so few say nothing that this is the cost of all."""
        return self.costed_share >= MIN_COSTED_SHARE

    def of_peak(self, peak: float | None, span_s: float) -> float | None:
        """The part of a peak (of a second) that they use."""
        if not peak:
            return None
        return min(1.0, self.cost / span_s / peak)

    def bound(self, of_peak: float | None) -> LowerBound | None:
        """What all ops use at least, where the cost of all is not known."""
        if of_peak is None or self.is_whole or self.costed_share < _MIN_BOUNDING_SHARE:
            return None
        return LowerBound(of_peak, self.costed_share)


def _sum_of_costs(costs: Sequence[tuple[float | None, int]], work_ps: float) -> _CostSum:
    """What ops cost together, by (cost, self time) of each."""
    costed_ps = sum(self_time for cost, self_time in costs if cost is not None)
    total = sum(cost or 0.0 for cost, _ in costs)
    return _CostSum(total, costed_ps / work_ps)


def facts(use: Use) -> list[Fact]:
    """Those that are known; of what ops of devices use, else the reason."""
    reported = "as the profile reports"
    why_duty = "of their programs' time the cores compute: not in infeed, outfeed and host copies"
    why_flops = "from what the ops say that they compute, idle time too"
    why_memory = "from what the ops say that they read and write"
    if use.memory_told:
        why_memory = reported
    rows = (
        ("duty_cycle", "duty cycle", use.duty, why_duty),
        ("mxu_utilization", "matrix units", use.matrix, reported),
        ("flops_utilization", "FLOP/s of the peak", use.flops, why_flops),
        ("roofline_utilization", "FLOP/s of what memory allows", use.roofline, "while ops ran"),
        ("hbm_utilization", "memory's bandwidth", use.memory, why_memory),
    )
    bounds = {"flops_utilization": use.flops_bound, "hbm_utilization": use.memory_bound}
    facts: list[Fact] = []
    for id, label, share, why in rows:
        if share is not None:
            facts.append(Fact(id, label, share, "share", why=why))
            continue
        bound = bounds.get(id)
        if bound is not None:
            at_least = Fact(
                id=f"{id}_at_least",
                label=f"{label}, at least",
                value=bound.share,
                kind="share",
                why=why,
            )
            facts.append(at_least)
        elif use.why and id in bounds:
            facts.append(Fact(id, label, None, "share", why=f"n/a: {use.why}"))
    costed_shares = [bound.costed_share for bound in bounds.values() if bound is not None]
    if costed_shares:
        costed = Fact(
            id="costed_share",
            label="work with known costs",
            value=min(costed_shares),
            kind="share",
            why=use.why,
        )
        facts.append(costed)
    return facts


def of_tpu(profile: Profile, steps: TpuSteps | None, signals: Signals) -> Signals:
    """With what the cores of a TPU tell, and the host and the memory that serve them."""
    if steps is None:
        return signals
    asynchronous = _async_done(profile)
    return signals._replace(
        core_idle=steps.share(steps.idle),
        sparse=steps.share(steps.sparse),
        infeed=steps.share(steps.infeed),
        barrier=steps.barrier,
        printing=steps.printing,
        enqueue=tpu_cores.enqueuing(profile, steps),
        async_done=asynchronous,
        memory_used=_memory_used(profile.trace) if asynchronous else None,
    )


def _async_done(profile: Profile) -> float | None:
    """The part of the devices' busy time in which collectives end that began before."""
    lo, hi = profile.trace.span
    ops = top_ops.on_devices(profile, lo, hi + 1, "corrected")
    if not ops.busy:
        return None
    ending_ps = 0
    for op in ops.ops:
        instruction = op.name.lstrip("%").split(".")[0]  # "all-gather-done" of "%all-gather-done.3"
        if op.category == "async-done" and instruction.startswith(_COLLECTIVES):
            ending_ps += op.self_time
    return ending_ps / ops.busy


def _memory_used(trace: Trace) -> float | None:
    """The most that was in use of the memory that allocators manage; None where the trace tells of
    no allocation.
    """
    most = 0.0
    is_allocation = name_shapes.beginning(trace.names, "MemoryAllocation", whole=True)
    if not is_allocation.any():
        return None
    for process, track in trace.tracks():
        rows = rows_named(track.events.name, is_allocation)
        for begin in range(0, len(rows), _BATCH_EVENTS):
            batch = rows[begin : begin + _BATCH_EVENTS]
            positions = track.events.positions(batch)
            recorded = process.source.columns(positions, _ALLOCATORS)
            heap, stack, free = (recorded[name].floats for name in _ALLOCATORS)
            used = heap + np.nan_to_num(stack)
            managed = used + free
            capacity = np.where(managed > 0, managed, np.nan)
            share = used / capacity
            if np.isfinite(share).any():
                highest = float(np.nanmax(share))
                most = max(most, highest)
    return most or None


def tpu_table(
    opened: Opened,
    host: int,
    profile: Profile,
    tpu_steps: TpuSteps,
    rows: Int64s,
) -> Table:
    """Each step over all cores of a TPU."""
    names = [profile.steps.names[int(tpu_steps.row[i])] for i in rows]

    def times(id: str, label: str, values: Int64s, weight: int) -> Column:
        return Column(id, label, "duration", values[rows], weight=weight)

    columns = (
        text_column("step", "step", names, weight=9),
        times("compute_s", "computing", tpu_steps.compute, 8),
        times("high_flop_s", "of it matrices", tpu_steps.high_flop, 3),
        times("all_reduce_s", "all-reduce", tpu_steps.all_reduce, 4),
        times("all_reduce_wait_s", "waiting for other cores", tpu_steps.all_reduce_wait, 6),
        times("send_recv_s", "send and receive", tpu_steps.send_recv, 2),
        times("infeed_s", "infeed", tpu_steps.infeed, 7),
        times("outfeed_s", "outfeed", tpu_steps.outfeed, 5),
        times("host_s", "host copies", tpu_steps.host, 4),
        times("sparse_s", "sparse cores", tpu_steps.sparse, 3),
        times("idle_s", "idle", tpu_steps.idle, 8),
        times("step_s", "step", tpu_steps.length, 9),
    )

    def place(row: int) -> Place:
        step = int(tpu_steps.row[int(rows[row])])
        lo = int(profile.steps.start[step])
        return Place(
            run=opened.name,
            host=host,
            lo=lo,
            hi=lo + max(0, int(profile.steps.step[step])),
        )

    title = (
        f"Each step over {len(tpu_steps.cores)} TPU core{'s' if len(tpu_steps.cores) > 1 else ''}"
    )
    return Table(
        id="tpu_steps",
        title=title,
        columns=columns,
        place=place,
        order=None,
        empty="No step is common to all cores.",
        key=("step",),
        noun="step",
    )
