"""How well the devices were used: duty cycle, matrix units, FLOP/s and memory against their peaks;
the busy parts of TPU steps.

Collectors of TPUs tell two of these themselves. The others follow from what the ops say that they
cost; where ops that take more than 1 % of the time say nothing, neither is told. Only ops without
others inside count, so that nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data import texts
from powertui.data.asked import Compat
from powertui.data.model import PS_PER_S, Int64s, ProcessKind, Trace
from powertui.data.opened import Opened, Profile
from powertui.data.run.marks import rows_named
from powertui.data.table import Column, Fact, Place, Table, text_column
from powertui.data.tools import device_facts, top_ops, tpu_cores
from powertui.data.tools.registry import Question
from powertui.data.tools.suggestions import Signals
from powertui.data.tools.tpu_cores import TpuSteps

_ALLOCATORS = ("bytes_allocated", "bytes_reserved", "bytes_available")
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-gather")
_AT_ONCE = 1 << 16
_TOLD = 0.99  # of the ops' time, before what they cost says how well the devices were used


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

    @property
    def arithmetic(self) -> float | None:
        """What is known of arithmetic: the matrix units, else the FLOP/s."""
        return self.matrix if self.matrix is not None else self.flops


def device_use(profile: Profile, lo: int, hi: int, compat: Compat) -> Use:
    """The devices of one host in a window."""
    if not device_facts.has_device(profile.trace):
        return Use()
    matrix, memory = (
        _stat(profile.trace, name)
        for name in ("matrix_unit_utilization_percent", "hbm_utilization_percent")
    )
    flops, roofline, moved = _by_costs(profile, lo, hi, compat)
    return Use(
        duty=tpu_cores.duty_cycle(profile, lo, hi),
        matrix=matrix,
        flops=flops,
        roofline=roofline,
        memory=moved if memory is None else memory,
        memory_told=memory is not None,
    )


def of_question(question: Question) -> Use:
    """The devices of every host that is asked about."""
    parts = question.parts
    return _mean([device_use(profile, lo, hi, question.compat) for profile, lo, hi in parts])


def _mean(parts: Sequence[Use]) -> Use:
    """Of several hosts: of each figure the mean of those that tell it."""
    if len(parts) == 1:
        return parts[0]
    by_name = {
        name: [value for part in parts if (value := getattr(part, name)) is not None]
        for name in Use._fields[:-1]
    }
    return Use(
        **{name: float(np.mean(values)) if values else None for name, values in by_name.items()},
        memory_told=all(part.memory_told for part in parts),
    )


def _stat(trace: Trace, name: str) -> float | None:
    """The mean over the devices that tell it: percent in the file."""
    values = [
        stat.value
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE
        for stat in process.stats
        if stat.name == name and isinstance(stat.value, int | float) and 0 <= stat.value <= 100
    ]
    return float(np.mean(values)) / 100 if values else None


def _by_costs(
    profile: Profile, lo: int, hi: int, compat: Compat
) -> tuple[float | None, float | None, float | None]:
    """(FLOP/s of the peak, of the roofline, bandwidth of the peak)."""
    peaks = next(
        (
            device
            for device in device_facts.device_facts(profile.trace)
            if device.recorded and (device.peak_flops or device.bandwidth)
        ),
        None,
    )
    ops = top_ops.on_devices(profile, lo, hi, compat)
    leaves = [op for op in ops.ops if op.total == op.self_time]
    if peaks is None or not ops.span or not ops.busy:
        return None, None, None
    costed = [
        sum(op.self_time for op in leaves if getattr(op, what) is not None)
        for what in ("flops", "bytes")
    ]
    flops = (
        sum(op.flops or 0.0 for op in leaves)
        if costed[0] >= _TOLD * (ops.busy + ops.unnamed)
        else None
    )
    size = (
        sum(op.bytes or 0.0 for op in leaves)
        if costed[1] >= _TOLD * (ops.busy + ops.unnamed)
        else None
    )
    seconds = ops.span / PS_PER_S
    busy = ops.busy / PS_PER_S
    of_peak = (
        min(1.0, flops / seconds / peaks.peak_flops)
        if flops is not None and peaks.peak_flops
        else None
    )
    of_memory = (
        min(1.0, size / seconds / peaks.bandwidth) if size is not None and peaks.bandwidth else None
    )
    roofline = None
    if flops is not None and size and peaks.peak_flops and peaks.bandwidth:
        roofline = (
            min(1.0, flops / busy / min(peaks.peak_flops, flops / size * peaks.bandwidth))
            if flops
            else None
        )
    return of_peak, roofline, of_memory


def facts(use: Use) -> list[Fact]:
    """Those that are known."""
    by = (
        "as the profile reports"
        if use.memory_told
        else "from what the ops say that they read and write"
    )
    told = (
        (
            "duty_cycle",
            "duty cycle",
            use.duty,
            "of their programs' time the cores compute: not in infeed, outfeed and host copies",
        ),
        ("mxu_utilization", "matrix units", use.matrix, "as the profile reports"),
        (
            "flops_utilization",
            "FLOP/s of the peak",
            use.flops,
            "from what the ops say that they compute, idle time too",
        ),
        ("roofline_utilization", "FLOP/s of what memory allows", use.roofline, "while ops ran"),
        ("hbm_utilization", "memory's bandwidth", use.memory, by),
    )
    return [
        Fact(id, label, share, "share", why=why)
        for id, label, share, why in told
        if share is not None
    ]


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
    ops = top_ops.on_devices(profile, profile.trace.span[0], profile.trace.span[1] + 1, "corrected")
    ending = [
        op
        for op in ops.ops
        if op.category == "async-done"
        and op.name.lstrip("%").split(".")[0].startswith(_COLLECTIVES)
    ]
    return sum(op.self_time for op in ending) / ops.busy if ops.busy else None


def _memory_used(trace: Trace) -> float | None:
    """The most that was in use of the memory that allocators manage; None where the trace tells of
    no allocation.
    """
    most = 0.0
    is_allocation = texts.beginning(trace.names, "MemoryAllocation", whole=True)
    for process, track in trace.tracks():
        rows = (
            rows_named(track.events.name, is_allocation)
            if is_allocation.any()
            else np.empty(0, np.int64)
        )
        for at in range(0, len(rows), _AT_ONCE):
            recorded = process.source.columns(
                track.events.positions(rows[at : at + _AT_ONCE]), _ALLOCATORS
            )
            heap, stack, free = (recorded[name].floats for name in _ALLOCATORS)
            used = heap + np.nan_to_num(stack)
            part = used / np.where(used + free > 0, used + free, np.nan)
            most = max(most, float(np.nanmax(part)) if np.isfinite(part).any() else 0.0)
    return most or None


def tpu_table(
    opened: Opened, host: int, profile: Profile, tpu_steps: TpuSteps, rows: Int64s
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
        return Place(opened.name, host, lo, lo + max(0, int(profile.steps.step[step])))

    title = (
        f"Each step over {len(tpu_steps.cores)} TPU core{'s' if len(tpu_steps.cores) > 1 else ''}"
    )
    return Table(
        "tpu_steps",
        title,
        columns,
        place=place,
        order=None,
        empty="No step is common to all cores.",
        key=("step",),
        noun="step",
    )
