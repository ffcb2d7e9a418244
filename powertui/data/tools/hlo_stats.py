"""XLA's ops one by one, as TensorBoard's `hlo_stats`, as far as the events tell: times always,
rates where costs are said.

Shares are of the devices' whole time, the idle time too, as there. Columns of which the events say
nothing stay empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from powertui.data.columns import Column, floats_or_nan
from powertui.data.model import PS_PER_S, Floats
from powertui.data.row_card import Card
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import device_facts, hlo_choice, op_card, op_costs, xla_ops
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.registry import Question

_GIB = 1 << 30


def answer(question: Question) -> Result:
    """The HLO ops of the window, most self time first."""
    ran = xla_ops.xla_ops(question.profile, *question.window, question.compat)
    ops = [op for op in ran.ops if op.hlo_op]
    ops.sort(key=lambda op: (-op.self_time, op.name))
    facts = device_facts.device_facts(question.profile.trace)
    if ran.on_host and ops:
        notes = ["These ops ran on the host: TensorBoard does not list them."]
    else:
        notes = []
    notes += use_notes(ops, facts)
    return Result(
        id="hlo_stats",
        title="HLO ops",
        tables=(_table(ops, ran.busy + ran.idle, facts, question),),
        notes=tuple(notes),
        mode=question.compat,
    )


def _table(
    ops: Sequence[DeviceOp],
    whole: int,
    facts: tuple[DeviceFacts, ...],
    question: Question,
) -> Table:
    count = np.array([op.occurrences for op in ops], np.int64)
    total = np.array([op.total for op in ops], np.int64)
    self_time = np.array([op.self_time for op in ops], np.int64)
    share = self_time / max(1, whole)
    seconds = np.where(self_time > 0, self_time / PS_PER_S, np.nan)
    flops, model = (_costs(ops, what) for what in ("flops", "model_flops"))
    size = _costs(ops, "bytes")
    of_memory = floats_or_nan([_hbm_bytes(op) for op in ops])
    stalled = _costs(ops, "stalled")
    energy = _costs(ops, "energy")
    each = np.maximum(count, 1)

    def words(
        id: str,
        label: str,
        head: str,
        tell: Callable[[DeviceOp], str],
        weight: int,
    ) -> Column:
        return Column(id, label, "text", [tell(op) for op in ops], weight=weight, head=head)

    def us(id: str, label: str, head: str, values: object, weight: int) -> Column:
        return Column(id, label, "duration", values, unit="us", weight=weight, head=head)  # type: ignore[arg-type]

    def number(
        id: str,
        label: str,
        head: str,
        values: Floats,
        unit: str,
        weight: int,
    ) -> Column:
        return Column(id, label, "number", values, unit=unit, weight=weight, head=head)

    nothing = np.full(len(ops), np.nan)
    columns = (
        Column("rank", "rank", "integer", np.arange(1, len(ops) + 1), weight=1, head="Rank"),
        words("program_id", "program", "Program id", lambda op: op.program_id or op.program, 3),
        words("category", "category", "HLO op category", lambda op: op.category, 6),
        words("hlo_op_name", "op", "HLO op name", lambda op: op.name, 9),
        words("hlo_op_expression", "text", "HLO op text", lambda op: op.expression, 0),
        words("tf_op_name", "framework op", "Framework op name", lambda op: op.provenance, 5),
        Column("occurrences", "count", "integer", count, weight=7, head="#Occurrences"),
        us("total_time", "total", "Total time (us)", total, 6),
        us("avg_time", "average", "Avg. time (us)", total / each, 4),
        us("total_self_time", "self", "Total self time (us)", self_time, 9),
        us("avg_self_time", "self each", "Avg. self time (us)", self_time / each, 2),
        Column(
            id="total_self_time_percent",
            label="share",
            kind="share",
            values=share,
            unit="%",
            weight=8,
            head="Total self time (%)",
        ),
        Column(
            id="cumulative_total_self_time_percent",
            label="so far",
            kind="share",
            values=np.cumsum(share),
            unit="%",
            weight=2,
            head="Cumulative total self time (%)",
        ),
        Column(
            id="dma_stall_percent",
            label="stalled",
            kind="share",
            values=stalled / np.where(self_time > 0, self_time, np.nan),
            unit="%",
            weight=1,
            head="%time stalled by DMA",
        ),
        number(
            "model_flop_rate", "model FLOP/s", "Model GFLOP/s", model / seconds / 1e9, "GFLOP/s", 1
        ),
        number(
            "normalized_flop_rate",
            "FLOP/s",
            "Normalized GFLOP/s",
            flops / seconds / 1e9,
            "GFLOP/s",
            3,
        ),
        number(
            "measured_memory_bw",
            "memory",
            "Measured memory BW (GiB/s)",
            size / seconds / _GIB,
            "GiB/s",
            3,
        ),
        number("hbm_bw", "HBM", "HBM BW (GiB/s)", of_memory / seconds / _GIB, "GiB/s", 1),
        number("cmem_read_bw", "CMEM read", "CMEM Read BW (GiB/s)", nothing, "GiB/s", 0),
        number("cmem_write_bw", "CMEM write", "CMEM Write BW (GiB/s)", nothing, "GiB/s", 0),
        number(
            "operational_intensity",
            "FLOP/B",
            "Operational intensity (FLOPS/Byte)",
            flops / np.where(size > 0, size, np.nan),
            "",
            1,
        ),
        words("bound_by", "bound by", "Bound by", lambda op: _bound(op, facts), 2),
        words("hlo_rematerialization", "again", "Rematerialization", _rematerialized, 0),
        words("outside_compilation", "outside", "Outside Compilation", lambda _: "", 0),
        words("autotuned", "autotuned", "Autotuned", lambda _: "", 0),
        words("source_info", "source", "Source Info", lambda op: op.source, 1),
        words("core_type", "core", "TPU core type", lambda _: "", 0),
        words("parent_op_name", "parent", "Parent op name", lambda op: op.dedup, 0),
        number("vdd_energy", "energy", "VDD Energy (J)", energy, "J", 2),
    )

    # Where its longest run is.
    def place(row: int) -> Place | None:
        if not ops[row].events:
            return None
        return question.event_place(*ops[row].events[0])

    empty = "No event in this profile is an XLA op. Framework ops are in framework_op_stats."
    return Table(
        id="hlo_stats",
        title="HLO ops, most self time first",
        columns=columns,
        place=place,
        order=("total_self_time", True),
        empty=empty,
        key=("program_id", "hlo_op_name"),
        noun="op",
        card=lambda row: _card(ops[row], whole, question),
    )


def _card(op: DeviceOp, whole: int, question: Question) -> Card:
    """All that is known of a row's op."""
    share = Fact("share", "of all time", op.self_time / max(1, whole), "share")
    return op_card.op_card(op, (share,), hlo_choice.op_lead(question, op))


def _costs(ops: Sequence[DeviceOp], what: str) -> Floats:
    """One cost of each op; NaN where the profile does not say."""
    return floats_or_nan([getattr(op, what) for op in ops])


def _rematerialized(op: DeviceOp) -> str:
    return "Yes" if ".remat" in op.name else "No"


def use_notes(ops: Sequence[DeviceOp], facts: tuple[DeviceFacts, ...]) -> list[str]:
    """Whence the costs are, and why it is not known how well the device was used, where it is
    not.
    """
    if not ops:
        return []
    notes = []
    if any(op.cost_basis == "program" for op in ops):
        notes.append("Costs that the profile does not report are counted from the program's text.")
    reasons = [op_costs.missing_costs(ops), op_costs.missing_peaks(facts)]
    why = "; ".join(reason for reason in reasons if reason)
    if why:
        notes.append(f"Use of the device is n/a where empty: {why}.")
    return notes


def _hbm_bytes(op: DeviceOp) -> float | None:
    """What an op reads and writes in the devices' memory."""
    if op.hbm_bytes is None:
        return op.bytes
    return op.hbm_bytes


def _bound(op: DeviceOp, facts: tuple[DeviceFacts, ...]) -> str:
    """What an op uses most of: "Compute" or "HBM"; "" where its costs or the device's peaks are not
    known.
    """
    compute, memory = utilisation(op.flops, _hbm_bytes(op), op.self_time, facts)
    if (compute is None and memory is None) or not max(compute or 0.0, memory or 0.0):
        return ""
    if (compute or 0.0) >= (memory or 0.0):
        return "Compute"
    return "HBM"


def utilisation(
    flops: float | None,
    size: float | None,
    self_time: int,
    facts: tuple[DeviceFacts, ...],
) -> tuple[float | None, float | None]:
    """(part of the device's FLOP/s, part of its memory's bandwidth), each at most 1; None where it
    is not known.
    """
    peaks = next(
        (device for device in facts if device.recorded and (device.peak_flops or device.bandwidth)),
        None,
    )
    if peaks is None or not self_time:
        return None, None
    seconds = self_time / PS_PER_S
    if flops is not None and peaks.peak_flops:
        compute = min(1.0, flops / seconds / peaks.peak_flops)
    else:
        compute = None
    if size is not None and peaks.bandwidth:
        memory = min(1.0, size / seconds / peaks.bandwidth)
    else:
        memory = None
    return compute, memory
