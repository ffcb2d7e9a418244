"""Tables of a PyTorch trace, as TraceLens makes them: the devices' time by what they did, and
kernels by the operator that launched them. (Operators are in `torch_operators`.)

Work of which no call is known ran before the profile's own operators did: only the table of kernels
counts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.columns import Column, int_column, text_column
from powertui.data.model import PS_PER_US, Bools, Floats, Int64s
from powertui.data.table import Result, Table
from powertui.data.tools import launched_kinds, torch_links, torch_work
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_categories import call_category, category_of
from powertui.data.tools.torch_links import COPIES, SETS, Links, covered
from powertui.named_tuples import NamedTuple


def gpu_timeline(question: Question) -> Result:
    """How the devices spent their time, in ms and percent: computing, exposed communication and
    copies, idle.
    """
    links = torch_links.torch_links(question.profile)
    table = Table(
        id="gpu_timeline",
        title="The devices' time",
        columns=_timeline_columns({}),
        empty=torch_work.NO_PYTORCH if links is None else torch_work.NO_WORK,
        noun="row",
    )
    if links is None:
        return Result("gpu_timeline", "GPU timeline", (table,))
    rows = torch_work.in_window(links, question, links.device.call >= 0)
    if rows.any():
        table = replace(table, columns=_timeline_columns(_timeline(links, rows)))
    notes = torch_work.unlinked_note(links, question)
    return Result(
        id="gpu_timeline",
        title="GPU timeline",
        tables=(table,),
        notes=notes,
    )


def kernel_summary(question: Question) -> Result:
    """Kernels by the operator that launched them, and by stream."""
    links = torch_links.torch_links(question.profile)
    if links is None:
        empty = Table(
            id="kernel_summary",
            title="Kernels by operator",
            columns=_kernel_columns(_Kernels(), 0.0),
            empty=torch_work.NO_PYTORCH,
            noun="kernel",
        )
        return Result("kernel_summary", "Kernels by operator", (empty,))
    columns = _kernel_columns(_kernels(links, question), _linked_span(links, question))
    _, operators, kernels, *_ = columns

    def kind(row: int) -> str:
        kernel = str(kernels.values[row])
        operator = str(operators.values[row])
        return launched_kinds.kernel_kind(kernel, operator).value

    table = Table(
        id="kernel_summary",
        title="Kernels by operator",
        columns=columns,
        empty="No kernel ran in this window.",
        noun="kernel",
        order=("Kernel duration (µs)_sum", True),
        kind_of_work=kind,
    )
    return Result("kernel_summary", "Kernels by operator", (table,))


# ── the devices' time ────────────────────────────────────────────────────────────────────────────


def _timeline(links: Links, rows: Bools) -> dict[str, float]:
    """By what, µs: the rules of TraceLens, all devices and streams together.

    Communication is exposed where nothing computes, a copy where nothing else goes on at all.
    """
    device = links.device
    communicates = torch_work.communicates(links) & rows
    copies = torch_work.copies(links) & rows & ~communicates
    computes = rows & ~communicates & ~copies

    def covered_us(chosen: Bools) -> float:
        start = device.start[chosen]
        end = device.end[chosen]
        return covered(start, end)

    first_start = device.start[rows].min()
    last_end = device.end[rows].max()
    total = float(last_end - first_start)
    busy = covered_us(rows)
    computing = covered_us(computes)
    without_copies = covered_us(computes | communicates)
    return {
        "computation_time": computing,
        "exposed_comm_time": without_copies - computing,
        "exposed_memcpy_time": busy - without_copies,
        "busy_time": busy,
        "idle_time": total - busy,
        "total_time": total,
        "total_comm_time": covered_us(communicates),
        "total_memcpy_time": covered_us(copies),
    }


def _timeline_columns(times_us: dict[str, float]) -> tuple[Column, ...]:
    us = np.array(list(times_us.values()), np.float64)
    total_us = times_us.get("total_time", 1.0) or 1.0
    return (
        text_column("type", "time", list(times_us), weight=9),
        Column("time ms", "length", "duration", us * PS_PER_US, unit="ms", weight=9),
        Column("percent", "share", "share", us / total_us, unit="%", weight=8),
    )


# ── kernels ──────────────────────────────────────────────────────────────────────────────────────


_KernelKey = tuple[str, str, str, int]  # category, operator or call, kernel, stream


class _Kernels(NamedTuple):
    """Kernels and the key that each counts for, by its number."""

    keys: Sequence[_KernelKey] = ()
    number: Int64s = np.empty(0, np.int64)
    duration: Int64s = np.empty(0, np.int64)  # ps


def _kernels(links: Links, question: Question) -> _Kernels:
    """Kernels alone, linked or not, by what launched them and by stream."""
    device = links.device
    host = links.host
    names = links.trace.names
    is_kernel = ~device.of_kind(COPIES | SETS)
    is_asked = torch_work.in_window(links, question, is_kernel)
    rows = np.flatnonzero(is_asked)
    first_work = _first_work_of_operators(links)
    keys: dict[_KernelKey, int] = {}
    numbers: list[int] = []
    for operator, call, name, stream in zip(
        links.operator[rows].tolist(),
        device.call[rows].tolist(),
        device.name[rows].tolist(),
        device.stream[rows].tolist(),
        strict=True,
    ):
        parent = ""
        category = ""
        if operator >= 0:
            parent = names.full(int(host.name[operator]))
            category = category_of(parent, first_work.get(operator, ""))
        elif call >= 0:
            parent = names.full(int(host.name[call]))
            category = call_category(parent)
        key = (category, parent, names.full(name), stream)
        numbers.append(keys.setdefault(key, len(keys)))
    return _Kernels(
        keys=list(keys),
        number=np.array(numbers, np.int64),
        duration=device.duration[rows],
    )


def _linked_span(links: Links, question: Question) -> float:
    """From the first to the last work that a call is known of, ps: TraceLens' total time."""
    device = links.device
    has_call = device.call >= 0
    linked = torch_work.in_window(links, question, has_call)
    if not linked.any():
        return 0.0
    first_start = device.start[linked].min()
    last_end = device.end[linked].max()
    return float(last_end - first_start) * PS_PER_US


def _kernel_columns(kernels: _Kernels, span_ps: float) -> tuple[Column, ...]:
    size = len(kernels.keys)
    number = kernels.number
    count = np.bincount(number, minlength=size)
    total = np.bincount(number, kernels.duration, size) if size else np.empty(0)
    mean = total / np.maximum(count, 1)
    most_ps = np.iinfo(np.int64).max
    shortest = np.full(size, most_ps)
    longest = np.zeros(size, np.int64)
    np.minimum.at(shortest, number, kernels.duration)
    np.maximum.at(longest, number, kernels.duration)
    order = np.argsort(-total, kind="stable")
    most_first = total[order]
    keys = [kernels.keys[place] for place in order.tolist()]
    share_of_kernels = most_first / (total.sum() or 1.0)
    # It may pass 100 % in sum: kernels without a call count here, and not in the span.
    if span_ps:
        share_of_span = most_first / span_ps
    else:
        share_of_span = np.full(size, np.nan)

    def us_column(id: str, label: str, values: Int64s | Floats, weight: int) -> Column:
        return Column(id, label, "duration", values[order], unit="us", weight=weight)

    def share_column(id: str, label: str, shares: Floats, weight: int) -> Column:
        return Column(id, label, "share", shares, unit="%", weight=weight)

    return (
        text_column("Parent op category", "category", [key[0] for key in keys], weight=4),
        text_column("Parent cpu_op", "operator", [key[1] for key in keys], weight=6),
        text_column("Kernel name", "kernel", [key[2] for key in keys], weight=9),
        int_column("Kernel stream", "stream", "integer", [key[3] for key in keys], weight=3),
        us_column("Kernel duration (µs)_sum", "total", total, 9),
        Column("Kernel duration (µs)_count", "count", "integer", count[order], weight=7),
        us_column("Kernel duration (µs)_mean", "average", mean, 5),
        us_column("Kernel duration (µs)_min", "shortest", shortest, 2),
        us_column("Kernel duration (µs)_max", "longest", longest, 2),
        share_column("Percent of kernels time (%)", "of kernels", share_of_kernels, 8),
        share_column("Percent of total time (%)", "of the time", share_of_span, 3),
    )


def _first_work_of_operators(links: Links) -> dict[int, str]:
    """The name of the first work of each operator."""
    device = links.device
    rows = np.flatnonzero(links.operator >= 0)
    latest_first = rows[np.argsort(-device.start[rows], kind="stable")]
    first_name = dict(
        zip(
            links.operator[latest_first].tolist(),
            device.name[latest_first].tolist(),
            strict=True,
        )
    )
    names = {}
    for operator, name in first_name.items():
        names[operator] = links.trace.names.full(name)
    return names
