"""Where the devices' time went, as trees: by category, by program, by the framework's scopes. As
TensorBoard's `op_profile`.

A node's time is the self time of the ops below it. Where the ops say what they cost, the table
shows what part of the device's FLOP/s and bandwidth that used; the time that a better use would
save is the node's time less the larger of both. Copies of one op are one node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from powertui.data.columns import Column, int_column, optional, text_column
from powertui.data.model import Floats
from powertui.data.row_card import Card
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import device_facts, hlo_choice, hlo_stats, op_card, op_costs, xla_ops
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.op_costs import MIN_COSTED_SHARE
from powertui.data.tools.registry import Question
from powertui.data.tools.xla_ops import XlaOps
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_MAX_CHILDREN = 100  # of one node, as TensorBoard keeps them
_IDLE = "IDLE"
_NO_COSTS = "its costs are not known"


@dataclass
class Node:
    """One node of a tree. Times in ps."""

    name: str
    level: int
    op: DeviceOp | None = None
    self_time: int = 0
    occurrences: int = 0
    flops_time: int = 0  # the part of it whose ops say their FLOPs
    bytes_time: int = 0
    flops: float = 0.0
    bytes: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)

    def add(self, op: DeviceOp) -> None:
        """An op below this node."""
        self.self_time += op.self_time
        self.occurrences += op.occurrences
        if op.flops is not None:
            self.flops_time += op.self_time
            self.flops += op.flops
        if op.bytes is not None:
            self.bytes_time += op.self_time
            self.bytes += op.bytes

    def child(self, name: str) -> Node:
        """The child of this name; a new one when it is new."""
        return self.children.setdefault(name, Node(name, self.level + 1))

    def utilisation(self, facts: tuple[DeviceFacts, ...]) -> tuple[float | None, float | None]:
        """(of FLOP/s, of bandwidth); None where too few of its ops say what they cost."""
        min_costed = MIN_COSTED_SHARE * self.self_time
        if self.flops_time >= min_costed:
            flops = self.flops
        else:
            flops = None
        if self.bytes_time >= min_costed:
            size = self.bytes
        else:
            size = None
        return hlo_stats.utilisation(flops, size, self.self_time, facts)

    @property
    def is_idle(self) -> bool:
        """Whether it stands for the time in which no op ran."""
        return self.name == _IDLE and self.level == 0


def answer(question: Question) -> Result:
    """The trees of the window."""
    ran = xla_ops.xla_ops(question.profile, *question.window, question.compat)
    # Regions are bodies of loops and branches: the ops inside them are listed themselves.
    ops = [op for op in ran.ops if not op.name.startswith("region")]
    devices = device_facts.device_facts(question.profile.trace)
    tables = []
    for id, title, path in (
        ("by_category", "By category", _by_category),
        ("by_program", "By program", _by_program),
        ("by_provenance", "By the framework's scopes", _scopes),
    ):
        root = _tree(ops, path)
        nodes = _with_idle(list(_walk(root)), ran.idle)
        tables.append(
            Table(
                id=id,
                title=title,
                columns=_columns(nodes, ran, devices),
                place=_places(nodes, question),
                order=None,
                empty=(
                    "No op ran on a device, and no XLA op on the host. What ran, by name, is in "
                    "op_stats."
                ),
                key=("name",),
                noun="node",
                card=_cards(nodes, ran, devices, question),
            )
        )
    return Result(
        id="op_profile",
        title="Op profile",
        tables=tuple(tables),
        facts=_facts(ran, devices),
        notes=_notes(ran, ops, devices),
        mode=question.compat,
    )


def _by_category(op: DeviceOp) -> tuple[str, ...]:
    return (op.category or "unknown",)


def _by_program(op: DeviceOp) -> tuple[str, ...]:
    return (op.program or "main", op.category or "unknown")


def _tree(ops: Sequence[DeviceOp], path: Callable[[DeviceOp], tuple[str, ...]]) -> Node:
    """All ops below the nodes that their paths name; copies of one op together."""
    root = Node("", -1)
    # XLA names copies of one computation after the first of them.
    copies = Counter((op.program, op.dedup or op.name) for op in ops)
    for op in ops:
        parts = [*path(op)]
        if op.dedup and copies[op.program, op.dedup] > 1:
            parts.append(f"{op.dedup} and its duplicate(s)")
        node = root
        node.add(op)
        for part in parts:
            node = node.child(part)
            node.add(op)
        name = op.name
        if name in node.children:  # an op of the same name in another program
            name = f"{op.name} ({op.program})"
        leaf = node.child(name)
        leaf.op = op
        leaf.add(op)
    return root


def _scopes(op: DeviceOp) -> tuple[str, ...]:
    """The scopes of the framework's op that an op came of."""
    if op.framework is None:
        return ("unknown",)
    parts = [part for part in op.framework.name.split("/") if part]
    return tuple(parts) or ("unknown",)


class _Row(NamedTuple):
    """A node, and how many of its children are left out."""

    node: Node
    left_out: int


def _walk(node: Node) -> Iterator[_Row]:
    """All nodes below this one, each before its children, those with most time first."""
    children = sorted(node.children.values(), key=_most_time_first)
    for child in children[:_MAX_CHILDREN]:
        left_out = max(0, len(child.children) - _MAX_CHILDREN)
        yield _Row(child, left_out)
        yield from _walk(child)


def _most_time_first(node: Node) -> tuple[int, str]:
    return -node.self_time, node.name


def _with_idle(rows: list[_Row], idle: int) -> list[_Row]:
    """The rows with one for idle time, before the first category that took less."""
    if not idle:
        return rows
    idle_row = _Row(Node(_IDLE, 0, self_time=idle), 0)
    for number, row in enumerate(rows):
        is_category = row.node.level == 0
        if is_category and row.node.self_time < idle:
            return [*rows[:number], idle_row, *rows[number:]]
    return [*rows, idle_row]


# ── as tables ────────────────────────────────────────────────────────────────────────────────────


def _columns(
    rows: Sequence[_Row],
    ran: XlaOps,
    devices: tuple[DeviceFacts, ...],
) -> tuple[Column, ...]:
    nodes = [row.node for row in rows]
    texts = [_op_texts(node.op) for node in nodes]
    time = np.array([node.self_time for node in nodes], np.int64)
    count = np.array([node.occurrences for node in nodes], np.int64)
    is_op = np.array([not node.is_idle for node in nodes], np.bool_)
    # xprof shows both: shares of all time, and of the time without idle.
    all_ps = max(1, ran.busy + ran.idle)
    share = time / all_ps
    busy_share = time / max(1, ran.busy)
    mean_time = time // np.maximum(count, 1)
    used: list[tuple[float | None, float | None]] = []
    names = []
    for node in nodes:
        if node.name == _IDLE:
            used.append((None, None))
        else:
            used.append(node.utilisation(devices))
        indent = "  " * node.level
        names.append(indent + node.name)
    padding = [_padding(node.op) for node in nodes]
    left_out = [row.left_out for row in rows]
    return (
        text_column("name", "node", names, weight=9),
        int_column("level", "level", "integer", [node.level for node in nodes], weight=0),
        Column("time_s", "time", "duration", time, weight=9),
        Column("time_fraction", "with idle", "share", share, weight=6),
        Column("time_fraction_busy", "share", "share", busy_share, present=is_op, weight=8),
        optional("flops_utilization", "FLOPS", "share", [compute for compute, _ in used], weight=7),
        optional("hbm_utilization", "HBM", "share", [memory for _, memory in used], weight=7),
        Column("wasted", "wasted", "share", _wasted(share, used), weight=5),
        Column("occurrences", "count", "integer", count, present=is_op, weight=6),
        Column("avg_time_s", "average", "duration", mean_time, present=is_op, weight=4),
        text_column("shape", "shape", [text.shape for text in texts], weight=3),
        optional("padding_bytes", "padding", "number", padding, unit="B", weight=2),
        text_column("fused", "fused", [text.fused for text in texts], weight=1),
        text_column("provenance", "framework op", [text.provenance for text in texts], weight=1),
        text_column("source", "source", [text.source for text in texts], weight=0),
        text_column("expression", "text", [text.expression for text in texts], weight=0),
        int_column("children_left_out", "left out", "integer", left_out, weight=0),
    )


def _places(rows: Sequence[_Row], question: Question) -> Callable[[int], Place | None]:
    """Where the first event of a row's op is on the timeline."""

    def place(row: int) -> Place | None:
        op = rows[row].node.op
        if op is None or not op.events:
            return None
        return question.event_place(*op.events[0])

    return place


def _cards(
    rows: Sequence[_Row],
    ran: XlaOps,
    devices: tuple[DeviceFacts, ...],
    question: Question,
) -> Callable[[int], Card]:
    """All that is known of a row's op; of a row that stands for several, what they come to."""

    def card(row: int) -> Card:
        node = rows[row].node
        facts = _node_facts(node, ran, devices)
        if node.op is not None:
            lead = hlo_choice.op_lead(question, node.op)
            return op_card.op_card(node.op, facts, lead)
        own = [Fact("time", "time", node.self_time, "duration")]
        if not node.is_idle:
            inside = len(node.children)
            own.append(Fact("occurrences", "count", node.occurrences, "integer"))
            own.append(Fact("children", "nodes below it", inside, "integer"))
        return Card(node.name, (*own, *facts))

    return card


def _node_facts(node: Node, ran: XlaOps, devices: tuple[DeviceFacts, ...]) -> tuple[Fact, ...]:
    """A node's shares of time and of what the device can do."""
    all_ps = max(1, ran.busy + ran.idle)
    busy_ps = max(1, ran.busy)
    whole = Fact("share", "of all time", node.self_time / all_ps, "share")
    if node.is_idle:
        return (whole,)
    busy = Fact("share_busy", "of the busy time", node.self_time / busy_ps, "share")
    compute, memory = node.utilisation(devices)
    why = op_costs.missing_peaks(devices) or _NO_COSTS
    return (
        whole,
        busy,
        Fact("flops_use", "FLOP/s used", compute, "share", why=why),
        Fact("memory_use", "bandwidth used", memory, "share", why=why),
    )


def _wasted(share: Floats, used: Sequence[tuple[float | None, float | None]]) -> Floats:
    """The share of time that a node would save if it used the device as well as possible.

    What limits a node is what it uses most of: it wastes the rest of that.
    """
    most_used: list[float] = []
    for compute, memory in used:
        if compute is None and memory is None:
            most_used.append(np.nan)
        else:
            most_used.append(max(compute or 0.0, memory or 0.0))
    unused = 1 - np.array(most_used, np.float64)
    wasted: Floats = share * unused
    return wasted


class _OpTexts(NamedTuple):
    """What is known of an op, as a table shows it."""

    shape: str = ""
    fused: str = ""
    provenance: str = ""
    source: str = ""
    expression: str = ""


def _op_texts(op: DeviceOp | None) -> _OpTexts:
    """The texts of a node's op; empty ones for a node that stands for several."""
    if op is None:
        return _OpTexts()
    instruction = op.instruction
    return _OpTexts(
        shape=instruction.shape if instruction is not None else "",
        fused=", ".join(instruction.fused) if instruction is not None else "",
        provenance=op.provenance,
        source=op.source,
        expression=op.expression,
    )


def _padding(op: DeviceOp | None) -> int | None:
    """Bytes that padding adds to an op's result."""
    instruction = op.instruction if op is not None else None
    if instruction is None or instruction.size is None or instruction.padded is None:
        return None
    return instruction.padded - instruction.size


def _facts(ran: XlaOps, devices: tuple[DeviceFacts, ...]) -> tuple[Fact, ...]:
    if not ran.ops:
        return ()
    flops: float | None = None
    bandwidth: float | None = None
    for device in devices:
        if device.recorded:
            flops = device.peak_flops
            bandwidth = device.bandwidth
            break
    unknown = "the profile does not say enough about the device"
    why_no_flops = "" if flops else unknown
    why_no_bandwidth = "" if bandwidth else unknown
    return (
        Fact("busy", "time of all ops", ran.busy, "duration"),
        Fact("idle", "idle", ran.idle, "duration"),
        Fact("peak_flops", "peak of the device", flops, "number", "FLOP/s", why=why_no_flops),
        Fact("peak_bandwidth", "its memory", bandwidth, "number", "B/s", why=why_no_bandwidth),
    )


def _notes(
    ran: XlaOps,
    ops: Sequence[DeviceOp],
    devices: tuple[DeviceFacts, ...],
) -> tuple[str, ...]:
    notes: list[str] = []
    if ran.on_host and ops:
        notes.append("These ops ran on the host: TensorBoard does not list them.")
    notes += hlo_stats.use_notes(ops, devices)
    return tuple(notes)
