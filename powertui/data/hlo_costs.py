"""What an op of XLA costs, FLOPs and bytes, by the rules of XLA's own cost analysis.

A multiply-add is two FLOPs. Exponentials, roots, sines and their like are transcendentals, which
XLA counts apart. A fusion costs the FLOPs of what is in it, and the bytes of its operands and its
result. A loop costs one round of its body: how often it runs is not known before.
What cannot be counted is None, with the reason: a library's routine, most of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from powertui.data import hlo
from powertui.data.hlo import Module
from powertui.value_types import dataclass

_TRANSCENDENTAL_OPS = """
    atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic power rsqrt
    sine sqrt tan tanh
"""
_MOVING_OPS = """
    broadcast concatenate copy copy-done copy-start dynamic-reshape dynamic-slice
    dynamic-update-slice gather iota optimization-barrier pad partition-id replica-id reshape
    reverse slice transpose
"""
_TRANSCENDENTAL = frozenset(_TRANSCENDENTAL_OPS.split())
_NO_FLOPS = frozenset(_MOVING_OPS.split())
# Ops that read nothing and write nothing: they only name what is there.
_FREE = frozenset(("after-all", "bitcast", "constant", "get-tuple-element", "parameter", "tuple"))
_CALLS = frozenset(("call", "conditional", "fusion", "while"))
_SLICES = frozenset(("dynamic-slice", "gather", "slice"))
_ROOT_UPDATE = "dynamic-update-slice"
_FLOP_PER_MULTIPLY_ADD = 2
_POINTER_BYTES = 8
_MAX_TAPS = 1 << 24  # positions of one dimension of a convolution that are looked at
_MAX_DEPTH = 30  # computations inside computations
_NO_DIMENSION = -1
# Routines that XLA's cost analysis for GPUs counts.
_PRODUCTS = frozenset(("__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8"))
_CONVOLUTIONS = frozenset(
    (
        "__cudnn$convForward",
        "__cudnn$convBackwardInput",
        "__cudnn$convBackwardFilter",
        "__cudnn$convBiasActivationForward",
        "__cudnn$convForwardGraph",
    )
)
_LIBRARY = "it calls a library's routine, whose work the program does not describe"
_UNKNOWN = "no rule is known for this op"


@dataclass(frozen=True)
class OpCost:
    """Of one run of an op. None: not known, for the reason `why`."""

    flops: float | None = 0.0
    transcendentals: float = 0.0
    bytes: float | None = 0.0
    why: str = ""
    # Of a routine with several results what it reads: TensorBoard's bytes of HBM are no others.
    read_bytes: float | None = None
    is_library_product: bool = False  # of which TensorBoard's converter counts nothing


@dataclass(frozen=True, eq=False)
class ProgramCosts:
    """The costs of a program's ops, worked out as they are asked for."""

    module: Module
    _ops: dict[str, Any]
    _bodies: dict[int, Any]
    _names: dict[int, dict[int, Any]]  # by computation: ops by their number
    _known: dict[str, OpCost]

    def cost(self, name: str) -> OpCost | None:
        """Of the op with this name; None where the program has none."""
        if name not in self._ops:
            return None
        return self._cost(name, 0)

    def total(self) -> OpCost:
        """Of the whole program, run once."""
        proto = self.module.proto
        for body in proto.computations:
            if body.name == proto.entry_computation_name:
                return self._body(body, 0)
        return OpCost(
            flops=None,
            transcendentals=0.0,
            bytes=None,
            why="it has no entry",
        )

    def _cost(self, name: str, depth: int) -> OpCost:
        if name not in self._known:
            self._known[name] = self._worked_out(self._ops[name], depth)
        return self._known[name]

    def _worked_out(self, op: Any, depth: int) -> OpCost:
        if op.opcode in _FREE:  # a tuple writes its pointers
            return OpCost(
                bytes=float(_POINTER_BYTES * (op.opcode == "tuple") * len(op.operand_ids))
            )
        if depth > _MAX_DEPTH:
            return OpCost(
                flops=None,
                transcendentals=0.0,
                bytes=None,
                why="it is nested too deeply",
            )
        if op.opcode == "custom-call":
            return self._routine(op)
        if op.opcode in _CALLS:
            return self._called(op, depth)
        operands = self._operands(op)
        flops, transcendentals = self._arithmetic(op, operands, depth)
        why = _UNKNOWN if flops is None else ""
        return OpCost(
            flops=flops,
            transcendentals=transcendentals,
            bytes=_bytes(op, operands),
            why=why,
        )

    def _routine(self, op: Any) -> OpCost:
        """A library's routine: products and convolutions, as XLA counts them; no others."""
        operands = self._operands(op)
        result = _first_result(op)
        flops = None
        if op.custom_call_target in _PRODUCTS:
            flops = _dot_flops(result, operands, _contracted(op.backend_config))
        elif op.custom_call_target in _CONVOLUTIONS:
            flops = _convolution(op, operands)
        if flops is None:
            return OpCost(
                flops=None,
                transcendentals=0.0,
                bytes=None,
                why=_LIBRARY,
            )
        inputs = sum(_size(operand.shape) for operand in operands)
        # Of a convolution XLA leaves out the scratch memory, which is its second result.
        outputs = result if op.custom_call_target in _CONVOLUTIONS else op.shape
        read_bytes = inputs if op.shape.tuple_shapes else None
        return OpCost(
            flops=flops,
            bytes=inputs + _size(outputs),
            read_bytes=read_bytes,
            is_library_product=op.custom_call_target in _PRODUCTS,
        )

    def _operands(self, op: Any) -> list[Any]:
        beside = self._names[_computation_number(op)]
        return [beside[number] for number in op.operand_ids if number in beside]

    # ── arithmetic ───────────────────────────────────────────────────────────────────────────────

    def _arithmetic(
        self,
        op: Any,
        operands: Sequence[Any],
        depth: int,
    ) -> tuple[float | None, float]:
        """(FLOPs, transcendentals); None for an op without a rule."""
        count = _elements(op.shape)
        if op.opcode in _TRANSCENDENTAL or op.opcode == "rng":
            return 0.0, count
        if op.opcode in _NO_FLOPS:
            return 0.0, 0.0
        rule = _RULES.get(op.opcode)
        if rule is not None:
            return rule(op, operands), 0.0
        repeats = _repeats(op, operands)
        if repeats is not None:
            inner = self._inner(op, depth)
            if inner.flops is None:
                return None, 0.0
            return repeats * inner.flops, repeats * inner.transcendentals
        if hlo.category(op.opcode) == "non-fusion elementwise":
            return count, 0.0
        return None, 0.0

    def _inner(self, op: Any, depth: int) -> OpCost:
        """One run of the computation that an op applies to each element."""
        for number in op.called_computation_ids:
            if number in self._bodies:
                return self._body(self._bodies[number], depth + 1)
        return OpCost(None)

    def _called(self, op: Any, depth: int) -> OpCost:
        """A fusion, a call, one round of a loop, the costliest of several branches."""
        inner = [
            self._body(self._bodies[number], depth + 1)
            for number in op.called_computation_ids
            if number in self._bodies
        ]
        if not inner:
            return OpCost(
                flops=None,
                transcendentals=0.0,
                bytes=None,
                why=_UNKNOWN,
            )
        if op.opcode == "conditional":
            return max(inner, key=lambda cost: cost.flops or 0.0)
        cost = _sum(inner)
        if op.opcode != "fusion":
            return cost
        body = self._bodies[op.called_computation_ids[0]]
        size = self._fusion_bytes(op, body)
        return OpCost(
            flops=cost.flops,
            transcendentals=cost.transcendentals,
            bytes=size,
            why=cost.why,
        )

    def _body(self, computation: Any, depth: int) -> OpCost:
        return _sum([self._cost(op.name, depth) for op in computation.instructions])

    # ── bytes ────────────────────────────────────────────────────────────────────────────────────

    def _fusion_bytes(self, op: Any, body: Any) -> float:
        """What a fusion reads and writes: of an operand that is only sliced, the slices."""
        total = 0.0
        ops = {inner.id: inner for inner in body.instructions}
        readers: dict[int, list[tuple[Any, int]]] = {}
        for inner in body.instructions:
            for place, operand in enumerate(inner.operand_ids):
                readers.setdefault(operand, []).append((inner, place))
        for inner in body.instructions:
            if inner.opcode == "parameter":
                total += _read(inner, readers.get(inner.id, []), ops)
        root = ops.get(body.root_id)
        if root is not None and root.opcode == _ROOT_UPDATE and len(root.operand_ids) > 1:
            return total + _size(ops[root.operand_ids[1]].shape)
        return total + _size(op.shape)


def _computation_number(op: Any) -> int:
    """The computation that an op belongs to: XLA puts its number into the op's upper half."""
    return int(op.id) >> 32


def program_costs(module: Module) -> ProgramCosts:
    """The costs of one program."""
    ops: dict[str, Any] = {}
    names: dict[int, dict[int, Any]] = {}
    for computation in module.proto.computations:
        beside = {op.id: op for op in computation.instructions}
        for op in computation.instructions:
            ops[op.name] = op
            names.setdefault(_computation_number(op), {}).update(beside)
    bodies = {computation.id: computation for computation in module.proto.computations}
    return ProgramCosts(
        module=module,
        _ops=ops,
        _bodies=bodies,
        _names=names,
        _known={},
    )


def _sum(costs: Sequence[OpCost]) -> OpCost:
    """Together; what is not known of one is not known of all."""
    flops: float | None = 0.0
    size: float | None = 0.0
    why = ""
    for cost in costs:
        flops = None if flops is None or cost.flops is None else flops + cost.flops
        size = None if size is None or cost.bytes is None else size + cost.bytes
        why = why or cost.why
    return OpCost(
        flops=flops,
        transcendentals=sum(cost.transcendentals for cost in costs),
        bytes=size,
        why=why,
    )


def _repeats(op: Any, operands: Sequence[Any]) -> float | None:
    """How often an op runs the computation that it applies; None for an op without one."""
    count = _elements(op.shape)
    if op.opcode in ("reduce", "all-reduce", "reduce-scatter"):
        if op.opcode != "reduce" or not operands:
            return count
        outputs = op.shape.tuple_shapes or [op.shape]
        return _elements(operands[0].shape) - _elements(outputs[0])
    if op.opcode == "reduce-window":
        taps = float(math.prod(dimension.size for dimension in op.window.dimensions))
        return count * (taps - 1)
    if op.opcode == "map":
        return count
    if op.opcode == "scatter" and len(operands) > 2:
        return _elements(operands[2].shape)
    return None


def _dot(op: Any, operands: Sequence[Any]) -> float | None:
    """Each element of the result is a sum over the contracted dimensions."""
    if not operands:
        return None
    return _dot_flops(op.shape, operands, op.dot_dimension_numbers.lhs_contracting_dimensions)


def _dot_flops(result: Any, operands: Sequence[Any], contracted: Sequence[int]) -> float | None:
    if not operands:
        return None
    dims = operands[0].shape.dimensions
    if any(not 0 <= number < len(dims) for number in contracted):
        return None
    width = math.prod(dims[number] for number in contracted)
    return float(_FLOP_PER_MULTIPLY_ADD * _elements(result) * width)


def _contracted(config: bytes) -> tuple[int, ...]:
    """The dimensions of the left operand that a library's product sums over.

    Its configuration is JSON: of its own, or below `gemm_backend_config`. Raises nothing: what it
    does not say makes the product's cost unknown.
    """
    try:
        members = json.loads(config)
        members = members.get("gemm_backend_config", members)
        dims = members["dot_dimension_numbers"]["lhs_contracting_dimensions"]
        return tuple(int(number) for number in dims)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return (_NO_DIMENSION,)


def _first_result(op: Any) -> Any:
    """The result of a routine; what follows it is scratch memory or a by-product."""
    return op.shape.tuple_shapes[0] if op.shape.tuple_shapes else op.shape


def _convolution(op: Any, operands: Sequence[Any]) -> float | None:
    """Multiply-adds of a convolution: only those inside the input, not in its padding."""
    if len(operands) < 2:
        return None
    numbers = op.convolution_dimension_numbers
    lhs = operands[0].shape.dimensions
    out = _first_result(op).dimensions
    kernel = operands[1].shape.dimensions
    try:
        taps = 1.0
        for place, window in enumerate(op.window.dimensions):
            inputs = lhs[numbers.input_spatial_dimensions[place]]
            outputs = out[numbers.output_spatial_dimensions[place]]
            valid = _valid_taps(window, inputs, outputs)
            if valid is None:
                return None
            taps *= valid
        features = kernel[numbers.kernel_input_feature_dimension]
        batch = lhs[numbers.input_batch_dimension] / max(1, op.batch_group_count)
        result = out[numbers.output_feature_dimension] * batch * features * taps
    except IndexError:
        return None
    return float(_FLOP_PER_MULTIPLY_ADD * result)


def _valid_taps(window: Any, inputs: int, outputs: int) -> float | None:
    """How often a kernel's position meets a value of the input along one dimension."""
    if window.size * outputs > _MAX_TAPS or min(window.size, outputs, inputs) < 0:
        return None
    base = max(1, window.base_dilation)
    tap = np.arange(window.size) * max(1, window.window_dilation)
    start = np.arange(outputs) * max(1, window.stride) - window.padding_low
    position = start[:, None] + tap[None, :]
    is_valid = (position >= 0) & (position % base == 0) & (position // base < inputs)
    return float(is_valid.sum())


def _sort(_op: Any, operands: Sequence[Any]) -> float | None:
    if not operands:
        return None
    count = _elements(operands[0].shape)
    if count > 1:
        return count * math.ceil(math.log2(count))
    return 0.0


_RULES: dict[str, Callable[[Any, Sequence[Any]], float | None]] = {
    "convolution": _convolution,
    "dot": _dot,
    "sort": _sort,
}


def _elements(shape: Any) -> float:
    if shape.tuple_shapes:
        return sum(_elements(part) for part in shape.tuple_shapes)
    return float(math.prod(max(0, dim) for dim in shape.dimensions))


def _size(shape: Any) -> float:
    """Bytes of a value; 0 where its type has none."""
    _, size, _ = hlo.shape_sizes(shape)
    return float(size or 0)


def _bytes(op: Any, operands: Sequence[Any]) -> float:
    """What an op that stands alone reads and writes."""
    result = _size(op.shape)
    if op.opcode in ("reshape", "optimization-barrier"):
        return 0.0
    if op.opcode == "slice":
        return 2 * result
    if op.opcode in ("dynamic-slice", "gather"):
        return 2 * result + sum(_size(index.shape) for index in operands[1:])
    if op.opcode == _ROOT_UPDATE and len(operands) > 1:
        indices = sum(_size(index.shape) for index in operands[2:])
        return 2 * _size(operands[1].shape) + indices
    return result + sum(_size(operand.shape) for operand in operands)


def _read(parameter: Any, readers: Sequence[tuple[Any, int]], ops: dict[int, Any]) -> float:
    """What a fusion reads of one operand."""
    whole = _size(parameter.shape)
    read = 0.0
    for reader, place in readers:
        if reader.opcode in _SLICES and place == 0:
            read += _size(reader.shape)
        elif reader.opcode == _ROOT_UPDATE and place == 0:
            update = ops.get(reader.operand_ids[1]) if len(reader.operand_ids) > 1 else None
            read += _size(update.shape) if update is not None else whole
        else:
            return whole
    return min(read, whole)
