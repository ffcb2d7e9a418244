"""Kernels of devices, as TensorBoard's `kernel_stats`: one row for each kernel, launch shape and
op. And beside them how they were fed: each stream's queue and its gaps, the longest gaps with what
the host did meanwhile, and graphs that one call launched.

A kernel is an event of a stream that says how it was launched (`kernel_details`) and took at least
a nanosecond. Rows are told apart by name, grid, block, registers, shared memory and op; times are
whole nanoseconds, as the profiler's own table has them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from powertui.data import category, hlo
from powertui.data.asked import Compat
from powertui.data.category import Category
from powertui.data.hlo import Module
from powertui.data.model import PS_PER_NS, Int64s, ProcessKind
from powertui.data.table import Column, Fact, Place, Result, Table, optional
from powertui.data.tools import (
    device_facts,
    device_ops,
    kernel_counters,
    kernel_streams,
    kernels,
    launched_kinds,
    launches,
    op_names,
    tensor_cores,
)
from powertui.data.tools.kernels import KernelFacts, Kernels
from powertui.data.tools.launches import Launches
from powertui.data.tools.registry import Question

_ROWS = 1000  # as TensorBoard keeps them
_MOST_REGISTERS = (
    1024  # of one thread. Some collectors write what lay in memory instead of the figures
)


class Launch(NamedTuple):
    """How a kernel was launched.

    Shapes are texts like "256,1,1"; what the collector does not say is None.
    """

    registers: int | None = None
    shared: int | None = None  # bytes, static and dynamic
    block: str = "1,1,1"
    grid: str = "1,1,1"
    occupancy: float | None = None  # theoretical, a share


class _Row(NamedTuple):
    """What tells one row from another."""

    kernel: str
    launch: Launch
    op: str
    eligible: bool
    tensor_core: bool


class _Found(NamedTuple):
    """Rows and their figures (ns), in step; the longest occurrence of each is where the row
    lies.
    """

    rows: list[_Row]
    occurrences: Int64s
    total: Int64s
    shortest: Int64s
    longest: Int64s
    delay: Int64s  # ps, of all that have a call
    linked: Int64s  # how many those are
    line: Int64s
    event: Int64s


def launch(details: str) -> Launch:
    """From the collector's text, `regs:32 static_shared:0 grid:4,1,1 block:64,1,1 occ_pct:50`, in
    any of its dialects.
    """
    numbers: dict[str, str] = {}
    for token in details.split():
        key, colon, value = token.partition(":")
        if colon and ":" not in value:
            numbers[key] = value
    registers = _whole(numbers.get("regs"))
    shared = [
        _whole(numbers.get(key)) for key in ("static_shared", "dynamic_shared", "shm", "group_mem")
    ]
    if registers is not None and registers > _MOST_REGISTERS:
        registers, shared = None, []
    sizes = [size for size in shared if size is not None]
    occupancy = _real(numbers.get("occ_pct"))
    return Launch(
        registers,
        sum(sizes) if sizes else None,
        numbers.get("block", "1,1,1"),
        numbers.get("grid", "1,1,1"),
        occupancy / 100
        if occupancy
        else None,  # no kernel runs at 0: that is said where nothing is known
    )


def _as_today(launch_facts: Launch, details: str) -> Launch:
    """As the converter of 2026 tells it: it knows neither old nor AMD's words for shared memory,
    and what it does not know is 0.
    """
    written = re.findall(r"(?:^|\s)(?:static_shared|dynamic_shared):(\d{1,15})(?=\s|$)", details)
    return launch_facts._replace(
        registers=launch_facts.registers or 0,
        shared=sum(int(size) for size in written),
        occupancy=launch_facts.occupancy or 0.0,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


def _real(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value <= 100 else None


def answer(question: Question) -> Result:
    """The kernels of the window, those that took most time first."""
    profile = question.profile
    work, calls = kernels.device_kernels(profile), launches.kernel_launches(profile)
    found = _together(
        [
            _gather(
                kernels.device_kernels(device),
                launches.kernel_launches(device),
                lo,
                hi,
                question.compat,
                hlo.modules(device),
            )
            for device, lo, hi in question.parts
        ]
    )
    makers = {
        device.vendor for device in device_facts.device_facts(profile.trace) if device.recorded
    }
    told = question.compat != "corrected" or tensor_cores.told(
        makers, (facts.name for facts in work.facts)
    )
    notes = []
    if not any(process.kind is ProcessKind.DEVICE for process in profile.trace.processes):
        notes.append("This profile describes no device.")
    if len(found.rows) > _ROWS:
        notes.append(f"These are the {_ROWS:,} rows with the most time, of {len(found.rows):,}.")
    tables = [_table(question, work, found, told)]
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
        "kernel_stats",
        "GPU kernels",
        tuple(tables),
        facts=_facts(found, told),
        notes=tuple(notes),
        mode=question.compat,
    )


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def _together(parts: list[_Found]) -> _Found:
    """The same of several hosts: rows that are told apart by nothing are one."""
    if len(parts) == 1:
        return parts[0]
    keys: dict[_Row, int] = {}
    where = [
        np.array([keys.setdefault(row, len(keys)) for row in part.rows], np.int64) for part in parts
    ]
    size = len(keys)
    added = {name: np.zeros(size, np.int64) for name in ("occurrences", "total", "delay", "linked")}
    shortest, longest = np.full(size, np.iinfo(np.int64).max, np.int64), np.zeros(size, np.int64)
    for part, at in zip(parts, where, strict=True):
        for name, column in added.items():
            column[at] += getattr(part, name)
        shortest[at] = np.minimum(shortest[at], part.shortest)
        longest[at] = np.maximum(longest[at], part.longest)
    nowhere = np.zeros(size, np.int64)
    rows = list(keys)
    order = sorted(range(size), key=lambda i: (-int(added["total"][i]), _sorts(rows[i])))
    return _Found(
        rows=[rows[i] for i in order],
        occurrences=added["occurrences"][order],
        total=added["total"][order],
        shortest=shortest[order],
        longest=longest[order],
        delay=added["delay"][order],
        linked=added["linked"][order],
        line=nowhere,
        event=nowhere,
    )


def _gather(
    work: Kernels, calls: Launches, lo: int, hi: int, compat: Compat, programs: dict[str, Module]
) -> _Found:
    keys: dict[_Row, int] = {}
    of_said = np.array(
        [
            keys.setdefault(row_of(facts, compat, programs), len(keys))
            if facts.details.strip()
            else -1
            for facts in work.facts
        ],
        np.int64,
    ).reshape(-1)
    size = len(keys)
    count, total, longest, delay, linked = (np.zeros(size, np.int64) for _ in range(5))
    shortest = np.full(size, np.iinfo(np.int64).max, np.int64)
    on_line, event = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for line, call in zip(work.lines, calls.of_line, strict=True):
        rows, ps = kernels.inside(line.track, lo, hi)
        ns = ps // PS_PER_NS
        number = of_said[line.facts[rows]]
        is_kernel = (number >= 0) & (ns > 0)
        rows, ns, number = rows[is_kernel], ns[is_kernel], number[is_kernel]
        np.add.at(count, number, 1)
        np.add.at(total, number, ns)
        np.minimum.at(shortest, number, ns)
        before = longest.copy()
        np.maximum.at(longest, number, ns)
        best = np.flatnonzero((ns == longest[number]) & (ns > before[number]))[::-1]
        on_line[number[best]], event[number[best]] = line.number, rows[best]
        waited, has_call = launches.delays(line.track.events.start[rows], call[rows], calls.calls)
        np.add.at(delay, number[has_call], waited[has_call])
        np.add.at(linked, number[has_call], 1)
    listed = list(keys)
    ran = np.flatnonzero(count)
    order = sorted(ran.tolist(), key=lambda i: (-int(total[i]), _sorts(listed[i])))
    at = np.array(order, np.int64)
    return _Found(
        rows=[listed[i] for i in order],
        occurrences=count[at],
        total=total[at],
        shortest=shortest[at],
        longest=longest[at],
        delay=delay[at],
        linked=linked[at],
        line=on_line[at],
        event=event[at],
    )


def _sorts(row: _Row) -> tuple[object, ...]:
    launch_facts = row.launch
    return (
        row.kernel,
        launch_facts.grid,
        launch_facts.block,
        launch_facts.registers or 0,
        launch_facts.shared or 0,
        row.tensor_core,
        row.eligible,
        row.op,
    )


def row_of(facts: KernelFacts, compat: Compat, programs: dict[str, Module] | None = None) -> _Row:
    """The row that a kernel belongs to, by what is said of it, and by what XLA's program says of
    its HLO op.
    """
    op = device_ops.framework_op(facts, compat)
    name = op.name if op is not None else ""
    module = (
        hlo.find(programs, facts.program, facts.hlo_module)
        if programs and facts.hlo_op and compat != "tf2"
        else None
    )
    known_op = (
        module.instructions.get(facts.hlo_op.rpartition("::")[2]) if module is not None else None
    )
    if known_op is not None and (
        compat == "xprof" or "/" in known_op.provenance
    ):  # "x" is what an argument is called: no op
        name = op_names.of_hlo(known_op.provenance, compat).name if known_op.provenance else ""
    if not name and compat == "corrected":
        name = (
            facts.provenance
            if facts.provenance not in ("", "kernel")
            else facts.annotation.partition("#")[0].rpartition(":")[0]
        )
    if facts.hlo_op and compat == "corrected" and (not name or name == "XlaModule"):
        name = facts.hlo_op
    eligible = tensor_cores.eligible(name, facts.equation, facts.name, named=bool(name))
    if compat == "corrected" and (
        facts.operator or facts.hlo_op
    ):  # TensorBoard's list has TensorFlow's ops alone
        eligible |= category.work_category(name) in (Category.MATMUL, Category.CONVOLUTION)
    launch_facts = launch(facts.details)
    if compat == "xprof":
        return _Row(
            facts.name,
            _as_today(launch_facts, facts.details),
            name,
            eligible,
            tensor_cores.used(facts.name),
        )
    if launch_facts.occupancy is None and facts.occupancy:
        launch_facts = launch_facts._replace(occupancy=facts.occupancy / 100)
    return _Row(facts.name, launch_facts, name, eligible, tensor_cores.used(facts.name))


def _table(question: Question, work: Kernels, found: _Found, told: bool) -> Table:
    rows = found.rows[:_ROWS]
    cut = slice(0, _ROWS)
    occupancy = np.array(
        [np.nan if row.launch.occupancy is None else row.launch.occupancy for row in rows],
        np.float64,
    )
    count = np.maximum(found.occurrences[cut], 1)
    total_time = max(1, int(found.total.sum()))
    mean = found.delay[cut] // np.maximum(found.linked[cut], 1)

    def us(id: str, label: str, head: str, values: Int64s, weight: int) -> Column:
        return Column(
            id, label, "duration", values * PS_PER_NS, unit="us", weight=weight, head=head
        )

    def flag(id: str, label: str, head: str, values: list[bool], weight: int) -> Column:
        return Column(
            id,
            label,
            "flag",
            np.array(values, np.bool_),
            present=np.full(len(values), told),
            weight=weight,
            head=head,
        )

    def words(id: str, label: str, head: str, values: list[str], weight: int) -> Column:
        return Column(id, label, "text", values, weight=weight, head=head)

    registers = optional(
        "registers_per_thread",
        "registers",
        "integer",
        [row.launch.registers for row in rows],
        weight=2,
    )
    shared = optional(
        "shmem_bytes", "shared", "integer", [row.launch.shared for row in rows], unit="B", weight=2
    )
    columns = (
        Column("rank", "rank", "integer", np.arange(1, len(rows) + 1), weight=1, head="Rank"),
        words("kernel_name", "kernel", "Kernel Name", [row.kernel for row in rows], 9),
        _headed(registers, "Registers per thread"),
        _headed(shared, "Shared Mem bytes"),
        words("block_dim", "block", "Block dim", [row.launch.block for row in rows], 2),
        words("grid_dim", "grid", "Grid dim", [row.launch.grid for row in rows], 2),
        Column(
            "occupancy_pct",
            "occupancy",
            "share",
            occupancy,
            unit="%",
            weight=2,
            head="Theoretical Occupancy %",
        ),
        flag(
            "is_op_tensor_core_eligible",
            "could use TC",
            "Op is TensorCore eligible",
            [row.eligible for row in rows],
            1,
        ),
        flag(
            "is_kernel_using_tensor_core",
            "uses TC",
            "Kernel uses TensorCore",
            [row.tensor_core for row in rows],
            3,
        ),
        words("op_name", "op", "Op Name", [row.op for row in rows], 5),
        Column(
            "occurrences", "count", "integer", found.occurrences[cut], weight=7, head="Occurrences"
        ),
        us("total_duration_us", "total", "Total Duration (us)", found.total[cut], 9),
        us("avg_duration_us", "average", "Avg Duration (us)", found.total[cut] // count, 6),
        us("min_duration_us", "shortest", "Min Duration (us)", found.shortest[cut], 3),
        us("max_duration_us", "longest", "Max Duration (us)", found.longest[cut], 4),
        Column("share", "share", "share", found.total[cut] / total_time, weight=8),
        Column(
            "launch_delay_us",
            "launch delay",
            "duration",
            mean,
            unit="us",
            present=found.linked[cut] > 0,
            weight=4,
        ),
    )
    tracks = [track for _, track in question.profile.trace.tracks()]

    def place(row: int) -> Place:
        line, event = int(found.line[row]), int(found.event[row])
        lo = int(tracks[line].events.start[event])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=lo + int(tracks[line].events.duration[event]),
            track=line,
            event=event,
        )

    empty = (
        "No event of a device shows how it was launched."
        if len(work)
        else "No device recorded a kernel."
    )
    return Table(
        "kernels",
        "Kernels, longest total first",
        columns,
        place=place,
        order=("total_duration_us", True),
        empty=empty,
        key=("kernel_name", "op_name", "grid_dim", "block_dim"),
        noun="kernel",
        kind_of_work=lambda row: launched_kinds.kernel_kind(rows[row].kernel, rows[row].op).value,
    )


def _headed(column: Column, head: str) -> Column:
    return Column(
        column.id,
        column.label,
        column.kind,
        column.values,
        unit=column.unit,
        present=column.present,
        weight=column.weight,
        head=head,
    )


def _facts(found: _Found, told: bool) -> tuple[Fact, ...]:
    total_time = int(found.total.sum())
    if not total_time:
        return ()
    used = np.array([row.tensor_core for row in found.rows], np.bool_)
    could = np.array([row.eligible for row in found.rows], np.bool_)
    possible = int(found.total[could | used].sum())
    share = int(found.total[used].sum()) / possible if possible else None
    why = (
        "of the time of kernels whose ops could use them"
        if possible
        else "no kernel's op could use them"
    )
    if not told:
        share, why = None, "only NVIDIA's kernel names show them"
    return (
        Fact("kernels", "kernels", int(found.occurrences.sum()), "integer"),
        Fact("kernel_time", "their time", total_time * PS_PER_NS, "duration"),
        Fact("tensor_cores", "tensor cores used", share, "share", why=why),
    )
