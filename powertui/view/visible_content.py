"""What a stretch of a timeline holds: kinds of work with their shares, top ops, longest steps, what
was found. No drawing.

Counted exactly, as the op table does, so it takes as long: for a thread, once the view stands
still.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.category import CATEGORIES, Category
from powertui.data.columns import text_column
from powertui.data.model import Bools, Int64s, Steps
from powertui.data.names_in_words import in_words, with_fused
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import launched_kinds, op_stats
from powertui.data.tools.op_stats import OpRow, OpStats
from powertui.data.tools.replicas import without_replica
from powertui.data.tools.usual_steps import ComparedSteps, UsualSteps
from powertui.data.window import touches
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view import table_rows
from powertui.view.timeline_model import TimelineModel

_MAX_NAMES = 20_000  # whose kinds are looked up; what is beyond them has none
_MAX_OPS = 12
_MAX_STEPS = 12
_MAX_FINDINGS = 4
_MAX_EXPLAINED_STEPS = 3  # each is held against nine others, op by op
# Steps that are longer than the median by less than this count as equally long (chosen, not
# measured).
_SAME_LENGTH_SHARE = 0.02


@dataclass(frozen=True)
class Side:
    """The kinds of work on all devices, or on the host, the largest first: parts of the self time
    there. They add up to 1.
    """

    name: str  # "devices" or "host"
    kinds: tuple[tuple[Category | None, float], ...]  # None: of names that were not looked at


@dataclass(frozen=True)
class TopOp:
    """An op with its part of the self time of its side."""

    name: str  # safe to draw
    tail: str  # its telling end, where the whole is too long
    kind: Category
    self_ps: int
    share: float
    average_ps: int = 0  # of one run of it, with what it calls, as the op table has it
    replicas: int = 1  # whose copies of the op were counted together
    is_pinned: bool = False  # listed even where there is room for fewer


@dataclass(frozen=True)
class LongStep:
    """A step that lies in the stretch."""

    name: str
    length: int
    usual: int | None
    cause: str = ""  # the op that took most of what is longer, safe to draw; "" where none did
    cause_ps: int = 0  # how much longer that op took than usual

    @property
    def is_longer(self) -> bool:
        """Whether it is longer than the median, where that is known."""
        if self.usual is None:
            return True
        return self.length > self.usual * (1 + _SAME_LENGTH_SHARE)


@dataclass(frozen=True)
class VisibleContent:
    """Of [lo, hi): events that straddle its ends count by their part inside."""

    lo: int
    hi: int
    sides: tuple[Side, ...] = ()  # devices first
    ops: tuple[TopOp, ...] = ()  # of the first side, without what only holds others
    steps: tuple[LongStep, ...] = ()  # the longest first
    step_count: int = 0
    findings: tuple[tuple[str, ...], ...] = ()  # each from its longest text to its shortest
    lists_kernels: bool = False  # the ops go by other names in sentences and in the op table


def visible_summary(
    model: TimelineModel,
    lo: int,
    hi: int,
    check: CancelCheck = unhindered,
) -> VisibleContent:
    """What [lo, hi) holds."""
    findings: list[tuple[str, ...]] = []
    for span in model.findings:
        if span.hi > lo and span.lo < hi and len(findings) < _MAX_FINDINGS:
            findings.append(span.texts)
    if not len(model.tracks):
        return VisibleContent(lo, hi, findings=tuple(findings))
    ops = op_stats.op_stats(model.trace, lo, hi, check)
    model.labels.adopt(launched_kinds.launched_kinds(model.trace))
    sides = (_side(model, ops, devices=True), _side(model, ops, devices=False))
    top_rows = _top_rows(model, ops)
    scopes = _scopes(ops, top_rows)
    steps, count = _steps(model, lo, hi, scopes, check)
    return VisibleContent(
        lo,
        hi,
        sides=tuple(side for side in sides if side is not None),
        ops=_top(model, ops, top_rows, scopes),
        # PyTorch's devices run kernels, which the operators of the op table launch.
        lists_kernels=model.trace.format == "kineto" and sides[0] is not None,
        steps=steps,
        step_count=count,
        findings=tuple(findings),
    )


def _side(
    model: TimelineModel,
    ops: OpStats,
    *,
    devices: bool,
) -> Side | None:
    """What ran on the devices or on the host, by kind of work, the largest share first."""
    on_side = ops.on_device if devices else ~ops.on_device
    has_share = ops.share > 0  # NaN: what only waits for others
    rows = np.flatnonzero(on_side & has_share)
    if not len(rows):
        return None
    if len(rows) > _MAX_NAMES:
        largest_first = np.argpartition(-ops.share[rows], _MAX_NAMES)
        rows = rows[largest_first[:_MAX_NAMES]]
    kinds = model.labels.kinds(ops.name[rows])
    share_of_kind = np.bincount(kinds, ops.share[rows], len(CATEGORIES))
    shares: list[tuple[Category | None, float]] = []
    for kind, share in zip(CATEGORIES, share_of_kind.tolist(), strict=True):
        if share > 0:
            shares.append((kind, share))
    rest = 1 - sum(share for _, share in shares)
    if rest > 1e-9:
        shares.append((None, rest))
    shares.sort(key=lambda kind_share: -kind_share[1])
    name = "devices" if devices else "host"
    return Side(name, tuple(shares))


def _top_rows(model: TimelineModel, ops: OpStats) -> list[int]:
    """The rows of the ops with the most self time: on devices where there are any.

    The largest matrix product is one of them.
    """
    side: Bools = ops.on_device
    if not side.any():
        side = ~side
    has_self_time = ops.self_time > 0
    rows = np.flatnonzero(side & ~ops.wrappers & has_self_time)
    order = np.argsort(-ops.self_time[rows], kind="stable")
    longest_first = rows[order[:_MAX_NAMES]]
    top: list[int] = longest_first[:_MAX_OPS].tolist()
    product = _largest_product(model, ops, longest_first)
    if product is not None and product not in top:
        top[_MAX_OPS - 1 :] = [product]
    return top


def _largest_product(model: TimelineModel, ops: OpStats, rows: Int64s) -> int | None:
    """The matrix product with the most self time: programs are compared by it."""
    kinds = model.labels.kinds(ops.name[rows])
    products = rows[kinds == CATEGORIES.index(Category.MATMUL)]
    if len(products):
        return int(products[0])
    return None


def _scopes(ops: OpStats, rows: list[int]) -> table_rows.Scopes:
    """What tells the layers of these ops apart."""
    paths = [_path(ops[row]) for row in rows]
    column = text_column("name", "name", paths)
    return table_rows.scopes_of(column)


def _top(
    model: TimelineModel,
    ops: OpStats,
    rows: list[int],
    scopes: table_rows.Scopes,
) -> tuple[TopOp, ...]:
    top = [_top_op(model, ops, row) for row in rows]
    for number, op in enumerate(top):
        if op.kind is Category.MATMUL:
            top[number] = replace(op, is_pinned=True)
            break
    names = {op.name for op in top}
    if len(names) < len(top):
        # Different layers run the same op: then each is called as in the table of ops.
        for number, row in enumerate(rows):
            path = _path(ops[row])
            if "/" in path:
                name = plain(table_rows.layered(path, scopes), 300)
                top[number] = replace(top[number], name=name, tail=name)
    return tuple(top)


def _path(op: OpRow) -> str:
    """The path of an op without its type; "" where its name is none."""
    path, colon, op_type = op.full.rpartition(":")
    if colon and " " not in path:
        return with_fused(path, op_type)
    return ""


def _top_op(model: TimelineModel, ops: OpStats, row: int) -> TopOp:
    number = int(ops.name[row])
    name, tail = model.labels.texts(number)
    replicas = int(ops.replicas[row])
    if replicas > 1:
        name = without_replica(name)
        tail = without_replica(tail)
    return TopOp(
        name=name,
        tail=tail,
        kind=model.category(number),
        self_ps=int(ops.self_time[row]),
        share=float(ops.share[row]),
        average_ps=round(int(ops.total[row]) / max(1, int(ops.count[row]))),
        replicas=replicas,
    )


def _steps(
    model: TimelineModel,
    lo: int,
    hi: int,
    scopes: table_rows.Scopes,
    check: CancelCheck,
) -> tuple[tuple[LongStep, ...], int]:
    """The longest steps inside of it, and how many there are.

    Where none is inside, those that touch it.
    """
    steps = model.steps
    if not len(steps):
        return (), 0
    ends = steps.ends()
    is_inside = (steps.start >= lo) & (ends <= hi)
    rows = np.flatnonzero(is_inside)
    if not len(rows):
        rows = np.flatnonzero(touches(steps.start, ends, lo, hi))
    length, median = _lengths(steps, model.epochs.tracing)
    longest_first = np.argsort(-length[rows], kind="stable")
    epochs = wire.distinct(steps.epoch[rows])
    usual_steps = UsualSteps(model.trace, steps)
    longest: list[LongStep] = []
    for row in rows[longest_first[:_MAX_STEPS]].tolist():
        usual = None
        if median[row] >= 0:
            usual = int(median[row])
        name = _name(model, row, with_epoch=len(epochs) > 1)
        step = LongStep(name, int(length[row]), usual)
        if len(longest) < _MAX_EXPLAINED_STEPS and step.is_longer:
            this_row = np.array([row], np.int64)
            compared = usual_steps.compared(this_row, check)
            step = _explained(step, compared, scopes)
        longest.append(step)
    return tuple(longest), len(rows)


def _explained(
    step: LongStep,
    compared: ComparedSteps | None,
    scopes: table_rows.Scopes,
) -> LongStep:
    """The step with the op that took most of what it is longer."""
    key = None if compared is None else compared.cause()
    if compared is None or key is None:
        return step
    name = in_words(key[0])
    place = compared.places.get(key)
    if place is not None:
        stats, op = place
        path = _path(stats[op])
        if "/" in path:
            name = table_rows.layered(path, scopes)
    return replace(
        step,
        cause=plain(name, 300),
        cause_ps=compared.longer_ps(key),
    )


@functools.lru_cache(maxsize=2)
def _lengths(steps: Steps, tracing: tuple[int, int] | None) -> tuple[Int64s, Int64s]:
    # Imported at the top it would delay the first picture.
    from powertui.data.energy import step_table

    begins = steps.begin_outside(tracing)
    medians = step_table.usual_of(steps, begins)
    return steps.lengths(), medians


def _name(model: TimelineModel, row: int, *, with_epoch: bool) -> str:
    number = int(model.steps.number[row])
    name = "step without a number"
    if number >= 0:
        name = f"step {number}"
    index = int(model.steps.epoch[row])
    has_epoch = 0 <= index < len(model.epochs)
    if with_epoch and has_epoch:
        epoch = model.epochs[index]
        return f"epoch {epoch.number} {name}"
    return name
