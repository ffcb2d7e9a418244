"""Where the devices' time went, as trees: by category, by program, by the framework's scopes. As
TensorBoard's `op_profile`.

A node's time is the self time of the ops below it. What part of the device's FLOP/s and bandwidth
that used is told where the ops say what they cost; the time that a better use would save is the
node's time less the larger of both. Copies of one op are one node. Ops also tell their text, their
shape, what padding adds, and what is fused in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from powertui.data.model import Floats
from powertui.data.table import Column, Fact, Place, Result, Table, optional
from powertui.data.tools import device_facts, hlo_stats, xla_ops
from powertui.data.tools.device_facts import DeviceFacts
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.registry import Question
from powertui.data.tools.xla_ops import XlaOps

_CHILDREN = 100  # of one node, as TensorBoard keeps them
_IDLE = "IDLE"
_TOLD = 0.99  # of a node's time, before what its ops cost says how well it used the device


@dataclass
class Node:
    """One node of a tree. Times in ps."""

    name: str
    level: int
    op: DeviceOp | None = None
    self_time: int = 0
    occurrences: int = 0
    told: tuple[int, int] = (0, 0)  # of which time the FLOPs are known, and the bytes
    flops: float = 0.0
    bytes: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)

    def add(self, op: DeviceOp) -> None:
        """An op below this node."""
        self.self_time += op.self_time
        self.occurrences += op.occurrences
        self.told = (
            self.told[0] + (op.self_time if op.flops is not None else 0),
            self.told[1] + (op.self_time if op.bytes is not None else 0),
        )
        self.flops += op.flops or 0.0
        self.bytes += op.bytes or 0.0

    def child(self, name: str) -> Node:
        """The child of this name; a new one when it is new."""
        return self.children.setdefault(name, Node(name, self.level + 1))

    def utilisation(self, facts: tuple[DeviceFacts, ...]) -> tuple[float | None, float | None]:
        """(of FLOP/s, of bandwidth); None where too few of its ops say what they cost."""
        flops = self.flops if self.told[0] >= _TOLD * self.self_time else None
        size = self.bytes if self.told[1] >= _TOLD * self.self_time else None
        return hlo_stats.utilisation(flops, size, self.self_time, facts)


def answer(question: Question) -> Result:
    """The trees of the window."""
    found = xla_ops.xla_ops(question.profile, *question.window, question.compat)
    ops = [op for op in found.ops if not op.name.startswith("region")]
    facts = device_facts.device_facts(question.profile.trace)
    trees = (
        ("by_category", "By category", _tree(ops, lambda op: (op.category or "unknown",))),
        (
            "by_program",
            "By program",
            _tree(ops, lambda op: (op.program or "main", op.category or "unknown")),
        ),
        ("by_provenance", "By the framework's scopes", _tree(ops, _scopes)),
    )
    tables = tuple(_table(id, title, root, found, facts, question) for id, title, root in trees)
    return Result(
        "op_profile",
        "Op profile",
        tables,
        facts=_facts(found, facts),
        notes=_notes(found, ops),
        mode=question.compat,
    )


def _tree(ops: Sequence[DeviceOp], path: Callable[[DeviceOp], tuple[str, ...]]) -> Node:
    """All ops below the nodes that their paths name; copies of one op together."""
    root = Node("", -1)
    groups: dict[tuple[str, str], int] = {}
    for op in ops:
        groups[op.program, op.dedup or op.name] = (
            groups.get((op.program, op.dedup or op.name), 0) + 1
        )
    for op in ops:
        node = root
        node.add(op)
        for part in path(op):
            node = node.child(part)
            node.add(op)
        several = groups[op.program, op.dedup or op.name]
        if op.dedup and several > 1:
            node = node.child(f"{op.dedup} and its duplicate(s)")
            node.add(op)
        leaf = node.child(op.name if op.name not in node.children else f"{op.name} ({op.program})")
        leaf.op = op
        leaf.add(op)
    return root


def _scopes(op: DeviceOp) -> tuple[str, ...]:
    """The scopes of the framework's op that an op came of."""
    if op.framework is None:
        return ("unknown",)
    return tuple(part for part in op.framework.name.split("/") if part) or ("unknown",)


def _walk(node: Node) -> Iterator[tuple[Node, int]]:
    """(a node, how many of its children are left out), each before its children, those with most
    time first.
    """
    for child in sorted(node.children.values(), key=lambda one: (-one.self_time, one.name))[
        :_CHILDREN
    ]:
        yield child, max(0, len(child.children) - _CHILDREN)
        yield from _walk(child)


# ── as tables ────────────────────────────────────────────────────────────────────────────────────


def _table(
    id: str,
    title: str,
    root: Node,
    found: XlaOps,
    facts: tuple[DeviceFacts, ...],
    question: Question,
) -> Table:
    nodes = list(_walk(root))
    if found.idle:
        idle = (Node(_IDLE, 0, self_time=found.idle), 0)
        at = next(
            (
                i
                for i, (node, _) in enumerate(nodes)
                if node.level == 0 and node.self_time < found.idle
            ),
            len(nodes),
        )
        nodes.insert(at, idle)
    own = np.array([node.self_time for node, _ in nodes], np.int64)
    count = np.array([node.occurrences for node, _ in nodes], np.int64)
    is_idle = np.array([node.name == _IDLE and node.level == 0 for node, _ in nodes], np.bool_)
    whole = found.busy + found.idle
    used = [(None, None) if node.name == _IDLE else node.utilisation(facts) for node, _ in nodes]
    share = own / max(1, whole)
    instructions = [node.op.instruction if node.op is not None else None for node, _ in nodes]

    def words(id: str, label: str, values: Sequence[str], weight: int) -> Column:
        return Column(id, label, "text", list(values), weight=weight)

    columns = (
        words("name", "node", ["  " * node.level + node.name for node, _ in nodes], 9),
        Column(
            "level",
            "level",
            "integer",
            np.array([node.level for node, _ in nodes], np.int64),
            weight=0,
        ),
        Column("time_s", "time", "duration", own, weight=9),
        Column("time_fraction", "with idle", "share", share, weight=6),
        Column(
            "time_fraction_busy",
            "share",
            "share",
            own / max(1, found.busy),
            present=~is_idle,
            weight=8,
        ),
        optional("flops_utilization", "FLOPS", "share", [compute for compute, _ in used], weight=7),
        optional("hbm_utilization", "HBM", "share", [memory for _, memory in used], weight=7),
        Column("wasted", "wasted", "share", _wasted(share, used), weight=5),
        Column("occurrences", "count", "integer", count, present=~is_idle, weight=6),
        Column(
            "avg_time_s",
            "average",
            "duration",
            own // np.maximum(count, 1),
            present=~is_idle,
            weight=4,
        ),
        words(
            "shape",
            "shape",
            [known.shape if known is not None else "" for known in instructions],
            3,
        ),
        optional(
            "padding_bytes",
            "padding",
            "number",
            [_padding(known) for known in instructions],
            unit="B",
            weight=2,
        ),
        words(
            "fused",
            "fused",
            [", ".join(known.fused) if known is not None else "" for known in instructions],
            1,
        ),
        words(
            "provenance",
            "framework op",
            [hlo_stats.provenance(node.op) if node.op is not None else "" for node, _ in nodes],
            1,
        ),
        words(
            "source",
            "source",
            [node.op.source if node.op is not None else "" for node, _ in nodes],
            0,
        ),
        words(
            "expression",
            "text",
            [hlo_stats.expression(node.op) if node.op is not None else "" for node, _ in nodes],
            0,
        ),
        Column(
            "children_left_out",
            "left out",
            "integer",
            np.array([left for _, left in nodes], np.int64),
            weight=0,
        ),
    )
    tracks = [track for _, track in question.profile.trace.tracks()]

    def place(row: int) -> Place | None:
        op = nodes[row][0].op
        if op is None or not op.events:
            return None
        line, event = op.events[0]
        lo = int(tracks[line].events.start[event])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=lo + int(tracks[line].events.duration[event]),
            track=line,
            event=event,
        )

    empty = "No op ran on a device, and no XLA op on the host. What ran, by name, is in op_stats."
    return Table(
        id, title, columns, place=place, order=None, empty=empty, key=("name",), noun="node"
    )


def _wasted(share: Floats, used: Sequence[tuple[float | None, float | None]]) -> Floats:
    best = np.array(
        [np.nan if pair == (None, None) else max(pair[0] or 0.0, pair[1] or 0.0) for pair in used],
        np.float64,
    )
    wasted: Floats = share * (1 - best)
    return wasted


def _padding(known: object) -> int | None:
    size, padded = getattr(known, "size", None), getattr(known, "padded", None)
    return padded - size if size is not None and padded is not None else None


def _facts(found: XlaOps, facts: tuple[DeviceFacts, ...]) -> tuple[Fact, ...]:
    if not found.ops:
        return ()
    peaks = next((one for one in facts if one.recorded), None)
    flops, bandwidth = (peaks.peak_flops, peaks.bandwidth) if peaks is not None else (None, None)
    why = "the profile does not say enough about the device"
    return (
        Fact("busy", "time of all ops", found.busy, "duration"),
        Fact("idle", "idle", found.idle, "duration"),
        Fact(
            "peak_flops",
            "peak of the device",
            flops,
            "number",
            unit="FLOP/s",
            why="" if flops else why,
        ),
        Fact(
            "peak_bandwidth",
            "its memory",
            bandwidth,
            "number",
            unit="B/s",
            why="" if bandwidth else why,
        ),
    )


def _notes(found: XlaOps, ops: Sequence[DeviceOp]) -> tuple[str, ...]:
    notes = []
    if found.on_host and ops:
        notes.append("These ops ran on the host: TensorBoard does not list them.")
    if ops and all(op.flops is None and op.bytes is None for op in ops):
        notes.append(
            "This profile does not say what its ops cost, so how well they used the device is "
            "not known."
        )
    return tuple(notes)
