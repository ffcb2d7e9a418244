"""Programs of XLA as a profile keeps them (`Hlo Proto` in `/host:metadata`): what their ops are,
and what is fused in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from powertui.data.opened import Profile
from powertui.data.wire import schemas
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_MAX_PROGRAM_BYTES = 64 << 20  # of one program
_NUMBERED = late_pattern(r"^(?P<name>.*)\((?P<id>\d+)\)$")
_FUSIONS = {
    "kLoop": "loop fusion",
    "kInput": "input fusion",
    "kOutput": "output fusion",
    "kCustom": "custom fusion",
}
_FORMATTING = frozenset(("transpose", "copy", "reshape", "dynamic-reshape"))
_ELEMENTWISE_OPS = """
    abs add and atan2 bitcast-convert cbrt ceil clamp clz compare complex convert cosine
    count-leading-zeros divide erf exponential exponential-minus-one floor imag is-finite log
    log-plus-one logistic map maximum minimum multiply negate not or popcnt power real
    reduce-precision remainder rng round-nearest-afz round-nearest-even rsqrt select shift-left
    shift-right-arithmetic shift-right-logical sign sine sqrt stochastic-convert subtract tan tanh
    xor
"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_OPS.split())
# xla::PrimitiveType → its name in HLO text, bytes (0 for none)
_TYPES = {
    1: ("pred", 1),
    2: ("s8", 1),
    3: ("s16", 2),
    4: ("s32", 4),
    5: ("s64", 8),
    6: ("u8", 1),
    7: ("u16", 2),
    8: ("u32", 4),
    9: ("u64", 8),
    10: ("f16", 2),
    11: ("f32", 4),
    12: ("f64", 8),
    13: ("tuple", 0),
    14: ("opaque", 0),
    15: ("c64", 8),
    16: ("bf16", 2),
    17: ("token", 0),
    18: ("c128", 16),
    19: ("f8e5m2", 1),
    20: ("f8e4m3fn", 1),
    21: ("s4", 1),
    22: ("u4", 1),
    23: ("f8e4m3b11fnuz", 1),
    24: ("f8e5m2fnuz", 1),
    25: ("f8e4m3fnuz", 1),
}


@dataclass(frozen=True)
class Instruction:
    """One op of a program."""

    name: str
    opcode: str
    category: str  # as TensorBoard groups ops: "loop fusion", "data formatting", "convolution"
    shape: str  # "f32[128,256]{1,0}"
    size: int | None  # bytes of its value, as far as its type is known
    padded: int | None  # bytes with what its tiles add; None where no tile pads
    provenance: str  # the framework's op: "jit(f)/jit(main)/dot_general:dot_general"
    source: str  # "train.py:17"
    operands: tuple[str, ...]
    fused: tuple[str, ...]  # names of the ops inside it, in the order of the program
    expression: str


@dataclass(frozen=True, eq=False)
class Module:
    """One program."""

    name: str
    id: str
    proto: Any
    buffers: Any = None  # which memory its values are put into; None: the file does not say

    @property
    def label(self) -> str:
        """As TensorBoard names it: `jit_step(28)`."""
        return f"{self.name}({self.id})"

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """Its ops by name; those inside fusions too."""
        out = {}
        bodies = {computation.id: computation for computation in self.proto.computations}
        frames = self.proto.stack_frame_index
        for computation in self.proto.computations:
            by_id = {op.id: op.name for op in computation.instructions}
            for op in computation.instructions:
                out[op.name] = _instruction(op, by_id, bodies, _source(op.metadata, frames))
        return out


def modules(profile: Profile) -> dict[str, Module]:
    """The programs that a profile keeps, by their number; read at the first question."""
    return profile.cached(
        "hlo modules", lambda: {module.id: module for module in _modules(profile)}
    )


def find(programs: dict[str, Module], program: str, module: str) -> Module | None:
    """The program of this number, else the only one of this name."""
    if program in programs:
        return programs[program]
    named = [candidate for candidate in programs.values() if module and candidate.name == module]
    if len(named) == 1:
        return named[0]
    return None


def _modules(profile: Profile) -> Iterator[Module]:
    for process in profile.trace.processes:
        if not process.name.startswith("/host:metadata"):
            continue
        for label, stats in profile.metadata(process):
            proto = next(
                (stat.value for stat in stats if stat.name in ("Hlo Proto", "hlo_proto")), None
            )
            if not isinstance(proto, bytes) or len(proto) > _MAX_PROGRAM_BYTES:
                continue
            try:
                program = schemas.parsed("HloProto", proto)
            except schemas.Undecodable:
                continue
            module = program.hlo_module
            program_id = next((str(stat.value) for stat in stats if stat.name == "program_id"), "")
            match = _NUMBERED.match(label)
            name = match["name"] if match else label
            yield Module(
                name=module.name or name,
                id=program_id or (match["id"] if match else str(module.id)),
                proto=module,
                buffers=program.buffer_assignment,
            )


def _source(meta: Any, frames: Any) -> str:
    """The line of the person's program that an op came of: "train.py:17".

    Programs of JAX 0.8 and later name a stack frame in its place; frames count from 1.
    """
    if meta.source_file:
        return f"{meta.source_file}:{meta.source_line}"
    try:
        frame = frames.stack_frames[_from_one(meta.stack_frame_id)]
        location = frames.file_locations[_from_one(frame.file_location_id)]
        return f"{frames.file_names[_from_one(location.file_name_id)]}:{location.line}"
    except IndexError:
        return ""


def _from_one(number: int) -> int:
    """The place of what is counted from 1. Raises `IndexError` for 0, which names nothing."""
    if number < 1:
        raise IndexError(number)
    return number - 1


def _instruction(
    op: Any,
    by_id: dict[int, str],
    bodies: dict[int, Any],
    source: str,
) -> Instruction:
    shape, size, padded = shape_sizes(op.shape)
    operands = tuple(by_id.get(number, "") for number in op.operand_ids)
    fused: tuple[str, ...] = ()
    if op.opcode == "fusion":
        body = next(
            (bodies[number] for number in op.called_computation_ids if number in bodies), None
        )
        if body is not None:
            fused = tuple(
                inner.name for inner in body.instructions if inner.opcode not in ("parameter",)
            )
    meta = op.metadata
    if meta.op_name and meta.op_type:
        provenance = f"{meta.op_name}:{meta.op_type}"
    else:
        provenance = meta.op_name
    kind = f", kind={op.fusion_kind}" if op.fusion_kind else ""
    target = f', custom_call_target="{op.custom_call_target}"' if op.custom_call_target else ""
    expression = (
        f"%{op.name} = {shape} "
        f"{op.opcode}({', '.join('%' + name for name in operands)}){kind}{target}"
    )
    return Instruction(
        name=op.name,
        opcode=op.opcode,
        category=category(op.opcode, op.fusion_kind),
        shape=shape,
        size=size,
        padded=padded,
        provenance=provenance,
        source=source,
        operands=operands,
        fused=fused,
        expression=expression,
    )


def category(opcode: str, fusion_kind: str = "") -> str:
    """The group that TensorBoard puts an op into."""
    if opcode == "fusion":
        return _FUSIONS.get(fusion_kind, "fusion")
    if opcode in _FORMATTING:
        return "data formatting"
    if opcode in _ELEMENTWISE:
        return "non-fusion elementwise"
    return opcode


def shape_sizes(shape: Any) -> tuple[str, int | None, int | None]:
    """(as HLO text has it, bytes, bytes with the padding of its tiles)."""
    if shape.tuple_shapes:
        return _tuple_shape(shape.tuple_shapes)
    name, width = _TYPES.get(shape.element_type, (f"type{shape.element_type}", 0))
    dims = list(shape.dimensions)
    order = list(shape.layout.minor_to_major)
    layout = ""
    if order:
        layout = "{" + ",".join(map(str, order)) + "}"
    text = f"{name}[{','.join(map(str, dims))}]{layout}"
    count = _product(dims)
    size = None
    if width and count is not None:
        size = count * width
    tiles = [list(tile.dimensions) for tile in shape.layout.tiles]
    return text, size, _padded(dims, order, tiles, width)


def _tuple_shape(shapes: Sequence[Any]) -> tuple[str, int | None, int | None]:
    """The same of several values together."""
    texts: list[str] = []
    sizes: list[int | None] = []
    padded_sizes: list[int | None] = []
    has_padding = False
    for part in shapes:
        text, size, padded = shape_sizes(part)
        texts.append(text)
        sizes.append(size)
        padded_sizes.append(padded if padded is not None else size)
        has_padding = has_padding or padded is not None
    return (
        f"({', '.join(texts)})",
        _sum_of_known(sizes),
        _sum_of_known(padded_sizes) if has_padding else None,
    )


def _sum_of_known(sizes: Sequence[int | None]) -> int | None:
    """None where one of them is not known."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _padded(
    dims: Sequence[int],
    order: Sequence[int],
    tiles: Sequence[Sequence[int]],
    width: int,
) -> int | None:
    """Bytes of a tiled value: its last dimensions filled up to whole tiles of the first tiling."""
    if not tiles or not width or len(order) != len(dims):
        return None
    tile = tiles[0]
    if len(tile) > len(dims) or any(dim < 0 for dim in dims) or any(size <= 0 for size in tile):
        return None
    physical = [dims[index] for index in reversed(order)]  # the slowest first
    first_tiled = len(physical) - len(tile)
    for index, size in enumerate(tile, first_tiled):
        whole_tiles = -(-physical[index] // size)
        physical[index] = whole_tiles * size
    count = _product(physical)
    if count is None:
        return None
    return count * width


def _product(dims: Sequence[int]) -> int | None:
    """None where a dimension is not known."""
    product = 1
    for dim in dims:
        if dim < 0:
            return None
        product *= dim
    return product
