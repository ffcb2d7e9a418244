"""The rows of `kernel_stats`: what a kernel's row is told apart by, and what all kernels of a row
come to.

A kernel is an event of a stream that says how it was launched (`kernel_details`) and took at least
a nanosecond. Rows are told apart by name, grid, block, registers, shared memory and op; times are
whole nanoseconds, as the profiler's own table has them.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import category, hlo
from powertui.data.asked import Compat
from powertui.data.category import Category
from powertui.data.hlo import Module
from powertui.data.model import PS_PER_NS, Int64s
from powertui.data.opened import Profile
from powertui.data.tools import device_ops, kernels, launches, op_names, tensor_cores
from powertui.data.tools.kernels import KernelFacts
from powertui.named_tuples import NamedTuple

# Of one thread. Some collectors write what lay in memory instead of the figures.
_MAX_REGISTERS = 1024
_SHARED_MEMORY = ("static_shared", "dynamic_shared", "shm", "group_mem")  # CUPTI's words and AMD's


class Launch(NamedTuple):
    """How a kernel was launched.

    Shapes are texts like "256,1,1"; what the collector does not say is None.
    """

    registers: int | None = None
    shared: int | None = None  # bytes, static and dynamic
    block: str = "1,1,1"
    grid: str = "1,1,1"
    occupancy: float | None = None  # theoretical, a share


class KernelRow(NamedTuple):
    """What tells one row from another."""

    kernel: str
    launch: Launch
    op: str
    eligible: bool
    tensor_core: bool

    @property
    def sort_key(self) -> tuple[object, ...]:
        """The order of rows with the same time."""
        return (
            self.kernel,
            self.launch.grid,
            self.launch.block,
            self.launch.registers or 0,
            self.launch.shared or 0,
            self.tensor_core,
            self.eligible,
            self.op,
        )


class KernelRows(NamedTuple):
    """Rows and their figures (ns), in step; the longest occurrence of each is where the row
    lies.
    """

    rows: list[KernelRow]
    occurrences: Int64s
    total: Int64s
    shortest: Int64s
    longest: Int64s
    delay: Int64s  # ps, of all that have a call
    linked: Int64s  # how many those are
    line: Int64s
    event: Int64s

    @classmethod
    def empty(cls, rows: list[KernelRow]) -> KernelRows:
        """The same rows, of which nothing ran yet."""
        size = len(rows)
        return cls(
            rows=rows,
            occurrences=np.zeros(size, np.int64),
            total=np.zeros(size, np.int64),
            shortest=np.full(size, np.iinfo(np.int64).max, np.int64),
            longest=np.zeros(size, np.int64),
            delay=np.zeros(size, np.int64),
            linked=np.zeros(size, np.int64),
            line=np.zeros(size, np.int64),
            event=np.zeros(size, np.int64),
        )

    def add(self, line: int, events: Int64s, row: Int64s, ns: Int64s) -> None:
        """Count events of a line, each as one of its row."""
        np.add.at(self.occurrences, row, 1)
        np.add.at(self.total, row, ns)
        np.minimum.at(self.shortest, row, ns)
        longest_before = self.longest.copy()
        np.maximum.at(self.longest, row, ns)
        is_record = ns > longest_before[row]
        is_longest = (ns == self.longest[row]) & is_record
        longest = np.flatnonzero(is_longest)[::-1]  # of several the first is written last
        longest_row = row[longest]
        self.line[longest_row] = line
        self.event[longest_row] = events[longest]

    def by_time(self) -> KernelRows:
        """The rows that ran at all, those with most time first."""
        ran = np.flatnonzero(self.occurrences).tolist()
        ran.sort(key=lambda row: (-int(self.total[row]), self.rows[row].sort_key))
        order = np.array(ran, np.int64)
        rows = [self.rows[row] for row in ran]
        columns = [column[order] for column in self[1:]]
        return KernelRows(rows, *columns)


def launch(details: str) -> Launch:
    """From the collector's text, `regs:32 static_shared:0 grid:4,1,1 block:64,1,1 occ_pct:50`, in
    any of its dialects.
    """
    fields: dict[str, str] = {}
    for token in details.split():
        key, colon, value = token.partition(":")
        if colon and ":" not in value:
            fields[key] = value
    registers = _whole(fields.get("regs"))
    sizes: list[int] = []
    for key in _SHARED_MEMORY:
        size = _whole(fields.get(key))
        if size is not None:
            sizes.append(size)
    if registers is not None and registers > _MAX_REGISTERS:
        registers, sizes = None, []
    occupancy = _percent(fields.get("occ_pct"))
    return Launch(
        registers=registers,
        shared=sum(sizes) if sizes else None,
        block=fields.get("block", "1,1,1"),
        grid=fields.get("grid", "1,1,1"),
        # No kernel runs at 0: collectors write that where they know nothing.
        occupancy=occupancy / 100 if occupancy else None,
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
    if not text or len(text) >= 16:  # more digits than any figure of a launch has
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    return None


def _percent(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 100 else None


def together(parts: list[KernelRows]) -> KernelRows:
    """The same of several hosts: rows that are told apart by nothing are one."""
    if len(parts) == 1:
        return parts[0]
    numbers: dict[KernelRow, int] = {}
    for part in parts:
        for row in part.rows:
            numbers.setdefault(row, len(numbers))
    sums = KernelRows.empty(list(numbers))
    for part in parts:
        row_numbers = [numbers[row] for row in part.rows]
        place = np.array(row_numbers, np.int64)
        sums.occurrences[place] += part.occurrences
        sums.total[place] += part.total
        sums.delay[place] += part.delay
        sums.linked[place] += part.linked
        shortest = sums.shortest[place]
        longest = sums.longest[place]
        sums.shortest[place] = np.minimum(shortest, part.shortest)
        sums.longest[place] = np.maximum(longest, part.longest)
    return sums.by_time()


def kernel_rows(profile: Profile, lo: int, hi: int, compat: Compat) -> KernelRows:
    """The rows of one host in [lo, hi), those with most time first."""
    work = kernels.device_kernels(profile)
    calls = launches.kernel_launches(profile)
    programs = hlo.modules(profile)
    numbers: dict[KernelRow, int] = {}
    row_of_facts = np.full(len(work.facts), -1, np.int64)
    for code, facts in enumerate(work.facts):
        if not facts.details.strip():
            continue
        kernel_row = row_of(facts, compat, programs)
        number = numbers.setdefault(kernel_row, len(numbers))
        row_of_facts[code] = number
    sums = KernelRows.empty(list(numbers))
    for line, call_of in zip(work.lines, calls.of_line, strict=True):
        events, ps = kernels.inside(line.track, lo, hi)
        ns = ps // PS_PER_NS
        row = row_of_facts[line.facts[events]]
        # TensorBoard leaves out what took less than a nanosecond.
        is_kernel = (row >= 0) & (ns > 0)
        events = events[is_kernel]
        row = row[is_kernel]
        sums.add(line.number, events, row, ns[is_kernel])
        start = line.track.events.start[events]
        delay, has_call = launches.delays(start, call_of[events], calls.calls)
        linked_row = row[has_call]
        np.add.at(sums.delay, linked_row, delay[has_call])
        np.add.at(sums.linked, linked_row, 1)
    return sums.by_time()


def row_of(
    facts: KernelFacts,
    compat: Compat,
    programs: dict[str, Module] | None = None,
) -> KernelRow:
    """The row that a kernel belongs to, by what is said of it, and by what XLA's program says of
    its HLO op.
    """
    op = _op_name(facts, compat, programs or {})
    eligible = tensor_cores.eligible(op, facts.equation, facts.name, named=bool(op))
    # TensorBoard's list of ops that could use tensor cores has TensorFlow's alone.
    if compat == "corrected" and (facts.operator or facts.hlo_op):
        eligible |= category.work_category(op) in (Category.MATMUL, Category.CONVOLUTION)
    launch_facts = launch(facts.details)
    if compat == "xprof":
        launch_facts = _as_today(launch_facts, facts.details)
    elif launch_facts.occupancy is None and facts.occupancy:
        launch_facts = launch_facts._replace(occupancy=facts.occupancy / 100)
    return KernelRow(
        kernel=facts.name,
        launch=launch_facts,
        op=op,
        eligible=eligible,
        tensor_core=tensor_cores.used(facts.name),
    )


def _op_name(facts: KernelFacts, compat: Compat, programs: dict[str, Module]) -> str:
    """The op that a kernel ran for; "" where none is known."""
    op = device_ops.framework_op(facts, compat)
    name = op.name if op is not None else ""
    if facts.hlo_op and compat != "tf2":
        provenance = _provenance(facts, programs)
        # "x" is what an argument is called, and no op: only xprof takes it for one.
        if provenance is not None and (compat == "xprof" or "/" in provenance):
            if provenance:
                name = op_names.of_hlo(provenance, compat).name
            else:
                name = ""
    if compat != "corrected":
        return name
    if not name:
        if facts.provenance not in ("", "kernel"):
            name = facts.provenance
        else:
            name = facts.annotation.partition("#")[0].rpartition(":")[0]
    if facts.hlo_op and name in ("", "XlaModule"):
        return facts.hlo_op
    return name


def _provenance(facts: KernelFacts, programs: dict[str, Module]) -> str | None:
    """Where a kernel's HLO op comes from, by its program; None where that does not have the op."""
    if programs:
        module = hlo.find(programs, facts.program, facts.hlo_module)
    else:
        module = None
    if module is None:
        return None
    instruction = module.instructions.get(facts.hlo_op.rpartition("::")[2])
    return instruction.provenance if instruction is not None else None
