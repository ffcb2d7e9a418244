"""Tables of a PyTorch trace, as TraceLens makes them: the devices' time by what they did,
operators, kernels by operator; and collectives.

Work of which no call is known ran before the profile's own operators did: only the table of kernels
counts it. An operator's direct time is that of the kernels it launched itself; its subtree's also
that of the operators it called, so those do not add up.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from powertui.data.model import PS_PER_US, Bools, Floats, Int64s
from powertui.data.table import Column, Place, Result, Table, int_column, text_column
from powertui.data.tools import launched_kinds, torch_links
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_links import COPIES, SETS, DeviceStreams, Links, covered, covered_by
from powertui.data.window import touches
from powertui.value_types import dataclass

_COMMUNICATION = re.compile(r"nccl|rccl|cross_device_reduce", re.IGNORECASE)
_COPY_KERNEL = re.compile(
    r"MEMORY_COPY_(?:HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)|"
    r"__amd_rocclr_copyBuffer(?:Rect)?(?:Aligned)?(?:\.kd)?"
)
_GRAPH = re.compile(r"cudagraph|graphlaunch", re.IGNORECASE)
_NONE_HERE = (
    "This is not a PyTorch trace. Its ops are in framework_op_stats, its kernels in kernel_stats."
)
_NO_WORK = "No work of a device is linked to a call of this profile."

_ATEN = {
    "GEMM": "mm addmm bmm baddbmm _scaled_mm",
    "CONV_fwd": "convolution miopen_convolution cudnn_convolution",
    "CONV_bwd": "convolution_backward",
    "reduce": "sum mean max min norm linalg_norm std var logsumexp cumsum cumprod prod amin amax",
    "elementwise": """
        copy copy_ clamp_min clamp_min_ clamp_max clamp_max_ sigmoid rsqrt silu neg pow div div_ mul
        mul_ add add_ sigmoid_backward threshold_backward replication_pad1d replication_pad2d
        replication_pad3d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    """,
    "SDPA_fwd": """
        _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention
        _scaled_dot_product_cudnn_attention _efficient_attention_forward
    """,
    "SDPA_bwd": """
        _scaled_dot_product_flash_attention_backward
        _scaled_dot_product_efficient_attention_backward
        _scaled_dot_product_cudnn_attention_backward _efficient_attention_backward
    """,
}
_CATEGORIES = {
    f"aten::{name}": category for category, names in _ATEN.items() for name in names.split()
}
_OTHERS = {  # of other libraries, by their whole names
    "GEMM": (
        "trtllm::cublas_scaled_mm bitsandbytes::int8_linear_matmul tex_ts::te_gemm_ts "
        "vllm::gemm_with_dynamic_quant"
    ),
    "CONV_fwd": "ConvBias_ ConvBiasReLU_",
    "CONV_bwd": "ConvBias_Backward ConvBiasReLU_Backward",
    "SDPA_fwd": """
        FlashAttnFunc flash_attn::_flash_attn_forward flash_attn::_flash_attn_varlen_forward
        flash_attn_3::fwd aiter::_flash_attn_forward aiter::wrapper_fmha_v3_fwd aiter::mha_fwd
        aiter::fmha_v3_fwd
    """,
    "SDPA_bwd": """
        FlashAttnFuncBackward FusedAttnFuncBackward flash_attn::_flash_attn_backward
        flash_attn::_flash_attn_varlen_backward aiter::_flash_attn_backward
        aiter::wrapper_fmha_v3_bwd aiter::mha_bwd
    """,
}
_CATEGORIES |= {name: category for category, names in _OTHERS.items() for name in names.split()}
_NORM = re.compile(
    r"aten::(?:(?:native_|miopen_|cudnn_)?"
    r"(?:batch|layer|group|instance)_norm(?P<backward>_backward)?|"
    r"_fused_rms_norm(?P<rms>_backward)?|(?:native_|miopen_|cudnn_)?(?P<plain>rms_norm_backward))"
)


def gpu_timeline(question: Question) -> Result:
    """How the devices spent their time, in ms and percent: computing, exposed communication and
    copies, idle.
    """
    links = torch_links.torch_links(question.profile)
    table = Table(
        "gpu_timeline",
        "The devices' time",
        _timeline_columns(()),
        empty=_NONE_HERE if links is None else _NO_WORK,
        noun="row",
    )
    if links is None:
        return Result("gpu_timeline", "GPU timeline", (table,))
    rows = _inside(links, question, links.device.call >= 0)
    if rows.any():
        table = replace(table, columns=_timeline_columns(_timeline(links, rows)))
    return Result("gpu_timeline", "GPU timeline", (table,), notes=_unlinked(links, question))


def ops_summary(question: Question) -> Result:
    """Operators that launched work, and their categories."""
    links = torch_links.torch_links(question.profile)
    empty = _NONE_HERE if links is None else _NO_WORK
    launched = _launched(links, question) if links is not None else None
    tables = (_ops(launched, empty, question), _categories(launched, empty))
    return Result(
        "ops_summary",
        "PyTorch operators",
        tables,
        notes=() if links is None else _unlinked(links, question),
    )


def kernel_summary(question: Question) -> Result:
    """Kernels by the operator that launched them, and by stream."""
    links = torch_links.torch_links(question.profile)
    if links is None:
        empty = Table(
            "kernel_summary",
            "Kernels by operator",
            _kernel_columns(None, question),
            empty=_NONE_HERE,
            noun="kernel",
        )
        return Result("kernel_summary", "Kernels by operator", (empty,))
    columns = _kernel_columns(links, question)
    _, operators, kernels, *_ = columns

    def kind(row: int) -> str:
        names = str(kernels.values[row]), str(operators.values[row])
        return launched_kinds.kernel_kind(*names).value

    table = Table(
        "kernel_summary",
        "Kernels by operator",
        columns,
        empty="No kernel ran in this window.",
        noun="kernel",
        order=("Kernel duration (µs)_sum", True),
        kind_of_work=kind,
    )
    return Result("kernel_summary", "Kernels by operator", (table,))


# ── the devices' time ────────────────────────────────────────────────────────────────────────────


def _inside(links: Links, question: Question, rows: Bools) -> Bools:
    """Which of these rows touch the window."""
    if question.lo is None and question.hi is None:
        return rows
    lo, hi = question.window
    tracks = [track for _, track in links.trace.tracks()]
    start = np.zeros(len(rows), np.int64)
    for line in np.unique(links.device.line).tolist():
        mine = links.device.line == line
        start[mine] = tracks[line].events.start[links.device.row[mine]]
    return rows & touches(start, start + links.device.duration, lo, hi)


def _unlinked(links: Links, question: Question) -> tuple[str, ...]:
    count = int(_inside(links, question, links.device.call < 0).sum())
    if not count:
        return ()
    why = (
        "were launched before the profile began, or by calls that it does not contain: they "
        "are left out"
    )
    return (f"{count:,} events on devices {why}.",)


def _communicates(links: Links) -> Bools:
    """Which work exchanges with other devices."""
    names = links.trace.names
    used = np.unique(links.device.name)
    is_collective = np.zeros(len(names), np.bool_)
    is_collective[used] = [
        _COMMUNICATION.search(names.full(int(i))) is not None
        and links.device.kind[int(i)] not in COPIES
        for i in used
    ]
    return is_collective[links.device.name]


def _copies(links: Links) -> Bools:
    names = links.trace.names
    used = np.unique(links.device.name)
    is_copy = np.zeros(len(names), np.bool_)
    is_copy[used] = [
        links.device.kind[int(i)] in COPIES
        or _COPY_KERNEL.fullmatch(names.full(int(i))) is not None
        for i in used
    ]
    return is_copy[links.device.name]


def _timeline(links: Links, rows: Bools) -> tuple[tuple[str, float], ...]:
    """(what, µs) by the rules of TraceLens."""
    device = links.device
    communicates = _communicates(links) & rows
    copies = _copies(links) & rows & ~communicates
    computes = rows & ~communicates & ~copies

    def together(*sets: Bools) -> float:
        chosen = np.logical_or.reduce(sets)
        return covered(device.start[chosen], device.end[chosen])

    total = float(device.end[rows].max() - device.start[rows].min())
    busy, computing = together(rows), together(computes)
    either = together(computes, communicates)
    return (
        ("computation_time", computing),
        ("exposed_comm_time", either - computing),
        ("exposed_memcpy_time", busy - either),
        ("busy_time", busy),
        ("idle_time", total - busy),
        ("total_time", total),
        ("total_comm_time", together(communicates)),
        ("total_memcpy_time", together(copies)),
    )


def _timeline_columns(rows: tuple[tuple[str, float], ...]) -> tuple[Column, ...]:
    times = np.array([us for _, us in rows], np.float64)
    total_us = next((us for what, us in rows if what == "total_time"), 1.0) or 1.0
    return (
        text_column("type", "time", [what for what, _ in rows], weight=9),
        Column("time ms", "length", "duration", times * PS_PER_US, unit="ms", weight=9),
        Column("percent", "share", "share", times / total_us, unit="%", weight=8),
    )


# ── operators ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Launched:
    """Operators (or bare calls) that launched work, one row for each time that one ran."""

    links: Links
    at: Int64s  # into Host
    names: list[str]
    categories: list[str]
    direct: Floats  # µs
    subtree: Floats


def _launchers(links: Links) -> Int64s:
    """For each work of a device who launched it: the innermost operator but for `execute`, else the
    call itself; -1 for none.
    """
    host, names = links.host, links.trace.names
    used = np.unique(host.name)
    stepped = np.zeros(len(names), np.bool_)
    stepped[used] = [names.full(int(i)) == "execute" for i in used]
    operators = host.operator_above(links.device.call, stepped[host.name])
    return np.where(operators >= 0, operators, links.device.call)


def _launched(links: Links, question: Question) -> _Launched:
    device, host, names = links.device, links.host, links.trace.names
    rows = np.flatnonzero(_inside(links, question, device.call >= 0) & ~_communicates(links))
    launcher = _launchers(links)[rows]
    at, which = np.unique(launcher, return_inverse=True)
    which = which.ravel()
    direct = covered_by(which, device.start[rows], device.end[rows], len(at))
    # Everything below an operator: its own calls, and those of the operators that it called.
    place = np.full(len(host), -1, np.int64)
    place[at] = np.arange(len(at))
    keys, works = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    climb = device.call[rows].copy()
    while (climb >= 0).any():
        here = np.where(climb >= 0, place[np.maximum(climb, 0)], -1)
        keys.append(here[here >= 0])
        works.append(rows[here >= 0])
        climb = np.where(climb >= 0, host.parent[np.maximum(climb, 0)], -1)
    key, work = np.concatenate(keys), np.concatenate(works)
    subtree = covered_by(key, device.start[work], device.end[work], len(at))
    first = _first_kernels(device, rows, which, len(at))
    named = [names.full(int(i)) for i in host.name[at].tolist()]
    kernels = [names.full(int(device.name[i])) for i in first.tolist()]
    calls = ~host.operator[at]
    categories = [
        _call_category(name) if call else category_of(name, kernel)
        for name, kernel, call in zip(named, kernels, calls.tolist(), strict=True)
    ]
    return _Launched(
        links=links, at=at, names=named, categories=categories, direct=direct, subtree=subtree
    )


def _first_kernels(device: DeviceStreams, rows: Int64s, which: Int64s, count: int) -> Int64s:
    """The first work of each launcher."""
    out = np.zeros(count, np.int64)
    order = np.lexsort((-device.start[rows], which))  # backwards: the first is written last
    out[which[order]] = rows[order]
    return out


def category_of(name: str, kernel: str) -> str:
    """The category that TraceLens puts an operator into, by its name, else by its first kernel."""
    category_name = _CATEGORIES.get(name)
    if category_name is not None:
        return category_name
    norm = _NORM.fullmatch(name)
    if norm is not None:
        return "NORM_bwd" if norm["backward"] or norm["rms"] or norm["plain"] else "NORM_fwd"
    if name.startswith("triton"):
        return "triton"
    if name.startswith("record_param_comms"):
        return "record_param_comms"
    if kernel.startswith("void at::native"):
        for word in ("elementwise", "reduce", "multi_tensor_apply"):
            if word in kernel:
                return word
    return "other"


def _call_category(name: str) -> str:
    return "graph" if _GRAPH.search(name) else "runtime"


def _ops(launched: _Launched | None, empty: str, question: Question) -> Table:
    names = launched.names if launched is not None else []
    kinds: dict[str, set[str]] = {}
    for name, category in zip(
        names, launched.categories if launched is not None else [], strict=True
    ):
        kinds.setdefault(name, set()).add(category)
    keys = list(kinds)
    number = {name: row for row, name in enumerate(keys)}
    which = np.array([number[name] for name in names], np.int64)
    direct = (
        np.bincount(which, launched.direct, len(keys))
        if launched is not None and len(keys)
        else np.empty(0)
    )
    subtree = (
        np.bincount(which, launched.subtree, len(keys))
        if launched is not None and len(keys)
        else np.empty(0)
    )
    count = np.bincount(which, minlength=len(keys))
    order = np.argsort(-direct, kind="stable")
    share = direct[order] / (direct.sum() or 1.0)
    columns = (
        text_column("name", "operator", [keys[i] for i in order.tolist()], weight=9),
        Column(
            "total_direct_kernel_time_sum",
            "kernels",
            "duration",
            direct[order] * PS_PER_US,
            unit="us",
            weight=9,
        ),
        Column(
            "total_subtree_kernel_time_sum",
            "with children",
            "duration",
            subtree[order] * PS_PER_US,
            unit="us",
            weight=6,
        ),
        Column(
            "total_direct_kernel_time_ms",
            "kernels ms",
            "duration",
            direct[order] * PS_PER_US,
            unit="ms",
            weight=0,
        ),
        Column(
            "total_subtree_kernel_time_ms",
            "with children ms",
            "duration",
            subtree[order] * PS_PER_US,
            unit="ms",
            weight=0,
        ),
        Column("Count", "count", "integer", count[order], weight=7),
        text_column(
            "Categories",
            "category",
            [", ".join(sorted(kinds[keys[i]])) for i in order.tolist()],
            weight=5,
        ),
        Column("Percentage (%)", "share", "share", share, unit="%", weight=8),
        Column(
            "Cumulative Percentage (%)", "so far", "share", np.cumsum(share), unit="%", weight=2
        ),
    )

    def place(row: int) -> Place | None:
        if launched is None:
            return None
        mine = np.flatnonzero(which == order[row])
        at = int(launched.at[mine[int(np.argmax(launched.direct[mine]))]])
        return _place(
            launched.links,
            int(launched.links.host.line[at]),
            int(launched.links.host.row[at]),
            question,
        )

    return Table(
        "ops_summary",
        "Operators that launched work",
        columns,
        place=place,
        order=("total_direct_kernel_time_sum", True),
        empty=empty,
        key=("name",),
        noun="operator",
    )


def _place(links: Links, line: int, row: int, question: Question) -> Place:
    events = list(links.trace.tracks())[line][1].events
    lo = int(events.start[row])
    return Place(
        run=question.opened.name,
        host=question.host,
        lo=lo,
        hi=lo + int(events.duration[row]),
        track=line,
        event=row,
    )


def _categories(launched: _Launched | None, empty: str) -> Table:
    kinds = launched.categories if launched is not None else []
    keys = sorted(set(kinds))
    number = {name: row for row, name in enumerate(keys)}
    which = np.array([number[kind] for kind in kinds], np.int64)
    direct = (
        np.bincount(which, launched.direct, len(keys))
        if launched is not None and keys
        else np.empty(0)
    )
    order = np.argsort(-direct, kind="stable")
    share = direct[order] / (direct.sum() or 1.0)
    columns = (
        text_column("op category", "category", [keys[i] for i in order.tolist()], weight=9),
        Column(
            "Count", "count", "integer", np.bincount(which, minlength=len(keys))[order], weight=7
        ),
        Column(
            "total_direct_kernel_time_ms",
            "kernels",
            "duration",
            direct[order] * PS_PER_US,
            unit="ms",
            weight=9,
        ),
        Column("Percentage (%)", "share", "share", share, unit="%", weight=8),
        Column(
            "Cumulative Percentage (%)", "so far", "share", np.cumsum(share), unit="%", weight=2
        ),
    )
    return Table(
        "ops_summary_by_category", "Their categories", columns, empty=empty, noun="category"
    )


# ── kernels ──────────────────────────────────────────────────────────────────────────────────────


def _kernel_columns(links: Links | None, question: Question) -> tuple[Column, ...]:
    """Kernels alone, linked or not, by what launched them and by stream."""
    keys: dict[tuple[str, str, str, int], int] = {}
    which: list[int] = []
    duration = np.empty(0, np.int64)
    span = 0.0
    if links is not None:
        device, host, names = links.device, links.host, links.trace.names
        rows = np.flatnonzero(_inside(links, question, ~device.of_kind(COPIES | SETS)))
        duration = device.duration[rows]
        first = _first_of_operators(links)
        chain = zip(
            links.operator[rows].tolist(),
            device.call[rows].tolist(),
            device.name[rows].tolist(),
            device.stream[rows].tolist(),
            strict=True,
        )
        for operator, call, name, stream in chain:
            parent, category = "", ""
            if operator >= 0:
                parent = names.full(int(host.name[operator]))
                category = category_of(parent, first.get(operator, ""))
            elif call >= 0:
                parent = names.full(int(host.name[call]))
                category = _call_category(parent)
            which.append(keys.setdefault((category, parent, names.full(name), stream), len(keys)))
        linked = _inside(links, question, device.call >= 0)
        span = (
            float(device.end[linked].max() - device.start[linked].min()) * PS_PER_US
            if linked.any()
            else 0.0
        )
    row_of = np.array(which, np.int64)
    count = np.bincount(row_of, minlength=len(keys))
    total = np.bincount(row_of, duration, len(keys)) if len(keys) else np.empty(0)
    shortest, longest = np.full(len(keys), np.iinfo(np.int64).max), np.zeros(len(keys), np.int64)
    np.minimum.at(shortest, row_of, duration)
    np.maximum.at(longest, row_of, duration)
    order = np.argsort(-total, kind="stable")
    named = [list(keys)[i] for i in order.tolist()] if keys else []
    total_time = total.sum() or 1.0

    def us(id: str, label: str, values: Int64s | Floats, weight: int) -> Column:
        return Column(id, label, "duration", values[order], unit="us", weight=weight)

    return (
        text_column("Parent op category", "category", [key[0] for key in named], weight=4),
        text_column("Parent cpu_op", "operator", [key[1] for key in named], weight=6),
        text_column("Kernel name", "kernel", [key[2] for key in named], weight=9),
        int_column(
            "Kernel stream",
            "stream",
            "integer",
            [key[3] for key in named],
            weight=3,
        ),
        us("Kernel duration (µs)_sum", "total", total, 9),
        Column("Kernel duration (µs)_count", "count", "integer", count[order], weight=7),
        us("Kernel duration (µs)_mean", "average", total / np.maximum(count, 1), 5),
        us("Kernel duration (µs)_min", "shortest", shortest, 2),
        us("Kernel duration (µs)_max", "longest", longest, 2),
        Column(
            "Percent of kernels time (%)",
            "of kernels",
            "share",
            total[order] / total_time,
            unit="%",
            weight=8,
        ),
        Column(
            "Percent of total time (%)",
            "of the time",
            "share",
            total[order] / span if span else np.full(len(order), np.nan),
            unit="%",
            weight=3,
        ),
    )


def _first_of_operators(links: Links) -> dict[int, str]:
    """The name of the first work of each operator."""
    device = links.device
    rows = np.flatnonzero(links.operator >= 0)
    order = rows[np.argsort(-device.start[rows], kind="stable")]
    return {
        operator: links.trace.names.full(name)
        for operator, name in zip(
            links.operator[order].tolist(), device.name[order].tolist(), strict=True
        )
    }
