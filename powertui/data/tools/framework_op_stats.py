"""Framework ops on host and device, as TensorBoard's `framework_op_stats` (once
`tensorflow_stats`): with and without idle time.

On a device an op's time is that of its kernels; on a host it is the op's own. Rates need what an op
costs: where the profile does not say, they are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from powertui.data.asked import Compat
from powertui.data.columns import Column
from powertui.data.model import PS_PER_S, Floats
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import device_facts, device_ops, host_ops, op_names
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.device_ops import DeviceOps
from powertui.data.tools.host_ops import HostOps
from powertui.data.tools.registry import Question
from powertui.value_types import dataclass

_ROWS = 500  # of each side, as TensorBoard keeps them
_IDLE = "IDLE"
_UNNAMED = "OTHER"  # the type of the row of all work that no op explains
_GIB = 1 << 30


@dataclass
class _Row:
    """One op of one side. Times in ps."""

    side: str  # "Host" or "Device"
    type: str
    name: str
    occurrences: int = 0
    total: int = 0
    self_time: int = 0
    eager: bool = False
    kernel_time: int = 0
    tensor_core_time: int = 0
    flops: float | None = None
    model_flops: float | None = None
    bytes: float | None = None
    event: tuple[int, int] | None = None  # (line, event) of its longest run


def answer(question: Question) -> Result:
    """The ops of the window: of the device first, then of the host, each by self time."""
    profile = question.profile
    host = host_ops.merged(
        [host_ops.asked(each, lo, hi, question.compat) for each, lo, hi in question.parts]
    )
    device = device_ops.merged(
        [device_ops.device_ops(each, lo, hi, question.compat) for each, lo, hi in question.parts]
    )
    # Hosts of one run have devices of one kind: the first one's peaks count for all.
    facts = device_facts.device_facts(profile.trace)
    sides = (_device_rows(device, question.compat), _host_rows(host))
    with_idle = _table(
        id="with_idle",
        title="Ops, with idle time",
        sides=sides,
        whole=(device.span, host.span),
        question=question,
        facts=facts,
    )
    busy = tuple([row for row in rows if row.type not in (_IDLE, _UNNAMED)] for rows in sides)
    sums = (device.busy, int(host.self_time.sum()))
    without = _table(
        id="without_idle",
        title="Ops, without idle time",
        sides=busy,
        whole=sums,
        question=question,
        facts=facts,
    )
    return Result(
        id="framework_op_stats",
        title="Framework ops",
        tables=(with_idle, without),
        facts=_facts(device, host, question.compat),
        notes=_notes(question, device, host),
        mode=question.compat,
    )


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def _device_rows(device: DeviceOps, compat: Compat) -> list[_Row]:
    by_name: dict[str, _Row] = {}
    for op in device.ops:
        if op.framework is not None:
            name = op.framework.name
            op_type = op.framework.type
        else:
            name = op.name
            op_type = op_names.UNKNOWN
        row = by_name.setdefault(name, _Row("Device", op_type, name))
        if op.kernel_time > row.kernel_time and op.events:
            row.event = op.events[0]
        # An op launches several kernels each time it runs.
        row.occurrences = max(row.occurrences, op.occurrences)
        row.total += op.total
        row.self_time += op.self_time
        row.kernel_time += op.kernel_time
        row.tensor_core_time += op.tensor_core_time
        row.eager |= op.eager
        row.flops = device_ops.added(row.flops, op.flops)
        row.bytes = device_ops.added(row.bytes, op.bytes)
        row.model_flops = device_ops.added(row.model_flops, op.model_flops)
    rows = list(by_name.values())
    if device.devices:
        idle = _idle(device, compat)
        rows.append(
            _Row(
                side="Device",
                type=_IDLE,
                name=_IDLE,
                total=idle,
                self_time=idle,
            )
        )
    if device.unnamed and compat == "corrected":
        rows.append(
            _Row(
                side="Device",
                type=_UNNAMED,
                name="work with no known op",
                occurrences=0,
                total=device.unnamed,
                self_time=device.unnamed,
            )
        )
    return _first(rows)


def _idle(device: DeviceOps, compat: Compat) -> int:
    """Time in which the device did nothing; by the converters' rules also what no op explains."""
    if compat == "corrected":
        return max(0, device.idle - device.unnamed)
    return device.idle


def _host_rows(host: HostOps) -> list[_Row]:
    rows: list[_Row] = []
    for number, op in enumerate(host.table):
        if not host.occurrences[number]:
            continue
        rows.append(
            _Row(
                side="Host",
                type=op.type,
                name=op.name,
                occurrences=int(host.occurrences[number]),
                total=int(host.total[number]),
                self_time=int(host.self_time[number]),
                eager=bool(host.eager[number]),
            )
        )
    if host.lines:
        rows.append(
            _Row(
                side="Host",
                type=_IDLE,
                name=_IDLE,
                total=host.idle,
                self_time=host.idle,
            )
        )
    return _first(rows)


def _first(rows: list[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: (-row.self_time, row.name))[:_ROWS]


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def _table(
    id: str,
    title: str,
    sides: Sequence[list[_Row]],
    whole: tuple[int, int],
    question: Question,
    facts: tuple[DeviceFacts, ...],
) -> Table:
    rows = [*sides[0], *sides[1]]

    def place(row: int) -> Place | None:
        event = rows[row].event
        if event is None:
            return None
        return question.event_place(*event)

    empty = "No event of this profile is a framework op. The table of all events is op_stats."
    return Table(
        id=id,
        title=title,
        columns=(
            *_identity_columns(rows),
            *_time_columns(rows),
            *_share_columns(rows, whole),
            *_rate_columns(rows),
            *_kind_columns(rows, facts),
        ),
        place=place,
        order=None,
        empty=empty,
        key=("host_or_device", "operation"),
        noun="op",
    )


def _identity_columns(rows: Sequence[_Row]) -> Iterator[Column]:
    """Which op it is."""
    rank = np.arange(1, len(rows) + 1)
    yield Column("rank", "rank", "integer", rank, weight=1, head="Rank")
    yield _text("host_or_device", "side", "Host/device", [row.side for row in rows], 6)
    yield _text("type", "type", "Operation Type", [row.type for row in rows], 5)
    yield _text("operation", "op", "Operation Name", [row.name for row in rows], 9)


def _time_columns(rows: Sequence[_Row]) -> Iterator[Column]:
    """How often and how long it ran."""
    count = np.array([row.occurrences for row in rows], np.int64)
    total = np.array([row.total for row in rows], np.int64)
    self_time = np.array([row.self_time for row in rows], np.int64)
    each = np.maximum(count, 1)
    mean = np.where(count > 0, total / each, 0.0)
    mean_self_time = np.where(count > 0, self_time / each, 0.0)

    def us(id: str, label: str, head: str, values: Any, weight: int) -> Column:
        return Column(id, label, "duration", values, unit="us", weight=weight, head=head)

    yield Column("occurrences", "count", "integer", count, weight=7, head="#Occurrences")
    yield us("total_time", "total", "Total time (us)", total, 6)
    yield us("avg_time", "average", "Avg. time (us)", mean, 3)
    yield us("total_self_time", "self", "Total self-time (us)", self_time, 9)
    yield us("avg_self_time", "self each", "Avg. self-time (us)", mean_self_time, 2)


def _share_columns(rows: Sequence[_Row], whole: tuple[int, int]) -> Iterator[Column]:
    """Each side's shares are of that side's time (device, host) alone."""
    self_time = np.array([row.self_time for row in rows], np.int64)
    on_device = np.array([row.side == "Device" for row in rows], np.bool_)
    names = (
        ("device_total_self_time_percent", "device_cumulative_total_self_time_percent"),
        ("host_total_self_time_percent", "Host_cumulative_total_self_time_percent"),
    )
    sides = (("device", "Device", on_device), ("host", "Host", ~on_device))
    for (label, head, side), (id, id_so_far), side_ps in zip(sides, names, whole, strict=True):
        share = np.where(side, self_time / max(1, side_ps), 0.0)
        yield Column(
            id=id,
            label=f"of {label}",
            kind="share",
            values=share,
            present=side,
            weight=8,
            head=f"Total self-time on {head} (%)",
        )
        yield Column(
            id=id_so_far,
            label=f"{label} so far",
            kind="share",
            values=np.cumsum(share),
            present=side,
            weight=2,
            head=f"Cumulative total-self time on {head} (%)",
        )


def _known(values: Iterable[float | None]) -> Floats:
    """NaN where nothing is known."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _rate_columns(rows: Sequence[_Row]) -> Iterator[Column]:
    """What it computed and moved in its time."""
    seconds = np.array([row.self_time / PS_PER_S or np.nan for row in rows], np.float64)
    flops = _known(row.flops for row in rows)
    model_flops = _known(row.model_flops for row in rows)
    size = _known(row.bytes for row in rows)
    cores = [row.tensor_core_time / row.kernel_time if row.kernel_time else None for row in rows]
    yield Column(
        id="measured_flop_rate",
        label="GFLOP/s",
        kind="number",
        values=flops / seconds / 1e9,  # the converter, too, although its heading says FLOPs/s
        unit="GFLOP/s",
        weight=2,
        head="Normalized FLOP Rate (GFLOP/s)",
    )
    yield Column(
        id="model_flop_rate",
        label="model GFLOP/s",
        kind="number",
        values=model_flops / seconds / 1e9,
        unit="GFLOP/s",
        weight=1,
        head="Model FLOP Rate (GFLOP/s)",
    )
    yield Column(
        id="measured_memory_bw",
        label="memory",
        kind="number",
        values=size / seconds / _GIB,
        unit="GiB/s",
        weight=2,
        head="Measured Memory BW (GBytes/Sec)",
    )
    yield Column(
        id="operational_intensity",
        label="FLOP/B",
        kind="number",
        values=np.divide(flops, np.where(size > 0, size, np.nan)),
        weight=1,
        head="Operational Intensity (FLOPs/Byte)",
    )
    yield Column(
        id="gpu_tensorcore_utilization",
        label="tensor cores",
        kind="share",
        values=_known(cores),
        weight=3,
        head="GPU TensorCore utilization",
    )


def _kind_columns(rows: Sequence[_Row], facts: tuple[DeviceFacts, ...]) -> Iterator[Column]:
    """What bounds it, and how it was called."""
    yield _text(
        "bound_by",
        "bound by",
        "Bound by",
        [_bound(row, facts) for row in rows],
        2,
    )
    modes = ["Eager" if row.eager else "Function" for row in rows]
    yield _text("eager", "mode", "Execution mode", modes, 1)


def _text(id: str, label: str, head: str, values: list[str], weight: int) -> Column:
    return Column(id, label, "text", values, weight=weight, head=head)


def _bound(row: _Row, facts: tuple[DeviceFacts, ...]) -> str:
    """What an op uses most of: the units that compute, or the memory.

    Only where its costs and the device's peaks are known.
    """
    has_costs = row.flops is not None or row.bytes is not None
    if row.side != "Device" or not row.self_time or not has_costs:
        return op_names.UNKNOWN
    seconds = row.self_time / PS_PER_S
    for device in facts:
        if not device.recorded or not device.peak_flops or not device.bandwidth:
            continue
        compute = (row.flops or 0.0) / seconds / device.peak_flops
        memory = (row.bytes or 0.0) / seconds / device.bandwidth
        if not max(compute, memory):
            return op_names.UNKNOWN
        return "Compute" if compute >= memory else "HBM"
    return op_names.UNKNOWN


# ── beside it ────────────────────────────────────────────────────────────────────────────────────


def _facts(device: DeviceOps, host: HostOps, compat: Compat) -> tuple[Fact, ...]:
    out = []
    if device.devices:
        is_own = compat == "corrected"
        other = "other work on the device" if is_own else "of that, work with no known op"
        out += [
            Fact("device_ops", "ops on the device", device.busy, "duration"),
            Fact("device_idle", "idle on the device", _idle(device, compat), "duration"),
            Fact("device_unnamed", other, device.unnamed, "duration"),
        ]
    if host.lines:
        out.append(
            Fact(
                id="host_ops",
                label="ops on the host",
                value=int(host.self_time.sum()),
                kind="duration",
                why=f"of {host.lines} threads",
            )
        )
    return tuple(out)


def _notes(question: Question, device: DeviceOps, host: HostOps) -> tuple[str, ...]:
    notes = []
    if device.unnamed and question.compat != "corrected":
        notes.append("By these rules the device's IDLE includes work with no known op.")
    if question.compat == "corrected" and any(op.form == "hlo" for op in host.table):
        notes.append(
            "The ops of the host are those of XLA on the CPU. TensorBoard does not count them."
        )
    if question.compat == "corrected" and question.profile.trace.format == "kineto":
        notes.append(
            "The ops of the host are PyTorch's operators; those of the device are the "
            "operators that launched its kernels."
        )
    if len(device.ops) and all(op.flops is None for op in device.ops):
        notes.append("This profile does not say what its ops cost: rates and bounds are not known.")
    return tuple(notes)
