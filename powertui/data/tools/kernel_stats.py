"""Kernels of devices, as TensorBoard's `kernel_stats`: one row for each kernel, launch shape and
op. And beside them how they were fed: each stream's queue and its gaps, the longest gaps with what
the host did meanwhile, and graphs that one call launched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data.columns import Column, optional
from powertui.data.model import PS_PER_NS, Int64s, ProcessKind
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import (
    device_facts,
    kernel_counters,
    kernel_rows,
    kernel_streams,
    kernels,
    launched_kinds,
    launches,
    tensor_cores,
)
from powertui.data.tools.kernel_rows import KernelRow, KernelRows
from powertui.data.tools.kernels import Kernels
from powertui.data.tools.registry import Question

_MAX_ROWS = 1000  # as TensorBoard keeps them


def answer(question: Question) -> Result:
    """The kernels of the window, those that took most time first."""
    profile = question.profile
    work = kernels.device_kernels(profile)
    calls = launches.kernel_launches(profile)
    rows = kernel_rows.together(
        [kernel_rows.kernel_rows(part, lo, hi, question.compat) for part, lo, hi in question.parts]
    )
    shows_tensor_cores = question.compat != "corrected" or _shows_tensor_cores(question, work)
    notes = []
    if not any(process.kind is ProcessKind.DEVICE for process in profile.trace.processes):
        notes.append("This profile describes no device.")
    if len(rows.rows) > _MAX_ROWS:
        notes.append(f"These are the {_MAX_ROWS:,} rows with the most time, of {len(rows.rows):,}.")
    tables = [_table(question, work, rows, shows_tensor_cores)]
    if question.together:
        notes.append("Streams, gaps and graphs are shown for one host at a time.")
    else:
        notes += kernel_streams.notes(work, calls)
        tables += [
            kernel_streams.streams(question, work, calls),
            kernel_streams.longest_gaps(question, work, calls),
            kernel_streams.graphs(question, work, calls),
        ]
        measured = kernel_counters.kernel_counters(question)
        if measured is not None:
            tables.insert(1, measured)
    return Result(
        id="kernel_stats",
        title="GPU kernels",
        tables=tuple(tables),
        facts=_facts(rows, shows_tensor_cores),
        notes=tuple(notes),
        mode=question.compat,
    )


def _shows_tensor_cores(question: Question, work: Kernels) -> bool:
    """Whether the names of kernels show which of them run on tensor cores."""
    devices = device_facts.device_facts(question.profile.trace)
    makers = {device.vendor for device in devices if device.recorded}
    return tensor_cores.told(makers, (facts.name for facts in work.facts))


def _table(question: Question, work: Kernels, kernels: KernelRows, told: bool) -> Table:
    rows = kernels.rows[:_MAX_ROWS]

    def place(row: int) -> Place:
        line = int(kernels.line[row])
        event = int(kernels.event[row])
        return question.event_place(line, event)

    if len(work):
        empty = "No event of a device shows how it was launched."
    else:
        empty = "No device recorded a kernel."
    return Table(
        id="kernels",
        title="Kernels, longest total first",
        columns=(*_launch_columns(rows, told), *_time_columns(kernels)),
        place=place,
        order=("total_duration_us", True),
        empty=empty,
        key=("kernel_name", "op_name", "grid_dim", "block_dim"),
        noun="kernel",
        kind_of_work=lambda row: launched_kinds.kernel_kind(rows[row].kernel, rows[row].op).value,
    )


def _launch_columns(rows: list[KernelRow], shows_tensor_cores: bool) -> Iterator[Column]:
    """What tells the rows apart; each is headed as in TensorBoard's own table."""
    present = np.full(len(rows), shows_tensor_cores)

    def words(id: str, label: str, head: str, values: list[str], weight: int) -> Column:
        return Column(id, label, "text", values, weight=weight, head=head)

    def flag(id: str, label: str, head: str, values: list[bool], weight: int) -> Column:
        flags = np.array(values, np.bool_)
        return Column(id, label, "flag", flags, present=present, weight=weight, head=head)

    registers = optional(
        "registers_per_thread",
        "registers",
        "integer",
        [row.launch.registers for row in rows],
        weight=2,
    )
    shared = optional(
        id="shmem_bytes",
        label="shared",
        kind="integer",
        values=[row.launch.shared for row in rows],
        unit="B",
        weight=2,
    )
    occupancies = []
    for row in rows:
        occupancy = row.launch.occupancy
        occupancies.append(np.nan if occupancy is None else occupancy)
    yield Column("rank", "rank", "integer", np.arange(1, len(rows) + 1), weight=1, head="Rank")
    yield words("kernel_name", "kernel", "Kernel Name", [row.kernel for row in rows], 9)
    yield replace(registers, head="Registers per thread")
    yield replace(shared, head="Shared Mem bytes")
    yield words("block_dim", "block", "Block dim", [row.launch.block for row in rows], 2)
    yield words("grid_dim", "grid", "Grid dim", [row.launch.grid for row in rows], 2)
    yield Column(
        id="occupancy_pct",
        label="occupancy",
        kind="share",
        values=np.array(occupancies, np.float64),
        unit="%",
        weight=2,
        head="Theoretical Occupancy %",
    )
    yield flag(
        "is_op_tensor_core_eligible",
        "could use TC",
        "Op is TensorCore eligible",
        [row.eligible for row in rows],
        1,
    )
    yield flag(
        "is_kernel_using_tensor_core",
        "uses TC",
        "Kernel uses TensorCore",
        [row.tensor_core for row in rows],
        3,
    )
    yield words("op_name", "op", "Op Name", [row.op for row in rows], 5)


def _time_columns(kernels: KernelRows) -> Iterator[Column]:
    cut = slice(0, _MAX_ROWS)
    occurrences = kernels.occurrences[cut]
    total = kernels.total[cut]
    linked = kernels.linked[cut]
    average = total // np.maximum(occurrences, 1)  # whole nanoseconds
    share = total / max(1, int(kernels.total.sum()))
    mean_delay = kernels.delay[cut] // np.maximum(linked, 1)

    def us(id: str, label: str, head: str, ns: Int64s, weight: int) -> Column:
        ps = ns * PS_PER_NS
        return Column(id, label, "duration", ps, unit="us", weight=weight, head=head)

    yield Column("occurrences", "count", "integer", occurrences, weight=7, head="Occurrences")
    yield us("total_duration_us", "total", "Total Duration (us)", total, 9)
    yield us("avg_duration_us", "average", "Avg Duration (us)", average, 6)
    yield us("min_duration_us", "shortest", "Min Duration (us)", kernels.shortest[cut], 3)
    yield us("max_duration_us", "longest", "Max Duration (us)", kernels.longest[cut], 4)
    yield Column("share", "share", "share", share, weight=8)
    yield Column(
        id="launch_delay_us",
        label="launch delay",
        kind="duration",
        values=mean_delay,
        unit="us",
        present=linked > 0,
        weight=4,
    )


def _facts(kernels: KernelRows, shows_tensor_cores: bool) -> tuple[Fact, ...]:
    total_ns = int(kernels.total.sum())
    if not total_ns:
        return ()
    used = np.array([row.tensor_core for row in kernels.rows], np.bool_)
    eligible = np.array([row.eligible for row in kernels.rows], np.bool_)
    possible_ns = int(kernels.total[eligible | used].sum())
    if not shows_tensor_cores:
        share, why = None, "only NVIDIA's kernel names show them"
    elif possible_ns:
        share = int(kernels.total[used].sum()) / possible_ns
        why = "of the time of kernels whose ops could use them"
    else:
        share, why = None, "no kernel's op could use them"
    return (
        Fact("kernels", "kernels", int(kernels.occurrences.sum()), "integer"),
        Fact("kernel_time", "their time", total_ns * PS_PER_NS, "duration"),
        Fact("tensor_cores", "tensor cores used", share, "share", why=why),
    )
