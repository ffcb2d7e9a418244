"""The memory that XLA planned: programs made by hand, and what today's converter answers about
real ones.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from powertui.data import hlo, hlo_memory
from powertui.data.hlo import Module
from powertui.data.hlo_memory import Buffer, ProgramMemory
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.data.wire import schemas
from powertui.errors import UsageError
from tests import answers
from tests.synthetic import xplane
from tests.unit.tools.opened_runs import opened

STORED = Path(__file__).resolve().parents[2] / "data" / "memory_plans.tsv"
JAX = "own/jax_cpu/plugins/profile/2026_11_21_00_50_50"
SMALL = 16_384  # bytes: the converter puts smaller buffers together
MIB = 1 << 20
ALLOC, FREE, SHARE = 0, 1, 2


def ask(path: Path, choice: str = "") -> Result:
    return registry.get("memory_viewer").answer(Question(opened(path), choice=choice))


def facts(result: Result) -> dict[str, Any]:
    return {fact.id: fact.value for fact in result.facts}


def program() -> Any:
    """Three ops in memory space 0, one in space 1. `b` is tiled: 3 of 8 rows hold values. `c` takes
    over the memory of `a`, which was freed; `d` shares that of `b`.
    """
    proto = schemas.message("HloProto")()
    module: Any = proto.hlo_module  # type: ignore[attr-defined]
    module.name = "step"
    module.stack_frame_index.file_names.append("train.py")
    module.stack_frame_index.file_locations.add(file_name_id=1, line=17)
    module.stack_frame_index.stack_frames.add(file_location_id=1)
    computation = module.computations.add(name="main")
    plan: Any = proto.buffer_assignment  # type: ignore[attr-defined]
    traced = plan.buffer_allocations.add(index=3, size=8192)
    for number, name in enumerate("pabcde", 1):
        op = computation.instructions.add(name=name, opcode="add", id=number)
        op.shape.element_type = 11
        op.shape.dimensions.extend([3, 128])
        op.shape.layout.minor_to_major.extend([1, 0])
        op.metadata.stack_frame_id = 1
        size = 4096 if name == "b" else 1536
        buffer = plan.logical_buffers.add(id=number, size=size)
        buffer.defined_at.instruction_id = number
        if name in "abcd":
            traced.assigned.add(logical_buffer_id=number, size=size)
    parameter = plan.buffer_allocations.add(index=1, size=2000, is_entry_computation_parameter=True)
    parameter.assigned.add(logical_buffer_id=1, size=1536)
    other = plan.buffer_allocations.add(index=2, size=1536, color=1, maybe_live_out=True)
    other.assigned.add(logical_buffer_id=6, size=1536)
    trace = plan.heap_simulator_traces.add(buffer_allocation_index=3)
    for kind, buffer_id, shared in (
        (ALLOC, 2, 0),  # a
        (FREE, 2, 0),
        (SHARE, 4, 2),  # c, in the memory of a
        (ALLOC, 3, 0),  # b
        (SHARE, 5, 3),  # d, with b
        (FREE, 3, 0),
        (FREE, 5, 0),
    ):
        trace.events.add(kind=kind, buffer_id=buffer_id, share_with_canonical_id=shared)
    return proto


def planned(space: int = 0) -> ProgramMemory:
    proto = program()
    memory = hlo_memory.program_memory(
        Module("step", "7", proto.hlo_module, proto.buffer_assignment), space
    )
    assert memory is not None
    return memory


def test_allocations_are_replayed_with_shared_memory_counted_once() -> None:
    memory = planned()
    assert memory.heap == (2000, 3536, 2000, 3536, 7632, 7632, 7632, 3536)
    assert memory.unpadded == (2000, 3536, 2000, 3536, 5072, 5072, 5072, 3536)
    assert (memory.peak, memory.peak_unpadded, memory.peak_point) == (7632, 5072, 3)
    assert [buffer.name for buffer in memory.at_peak] == ["p", "c", "b"]
    assert [buffer.kind for buffer in memory.at_peak] == ["Parameter", "Temporary", "Temporary"]
    lives = {buffer.name: (buffer.first, buffer.last) for buffer in memory.buffers}
    assert lives == {"a": (0, 1), "b": (3, 6), "c": (2, 6), "d": (None, None), "p": (None, None)}
    assert (memory.parameters, memory.outputs, memory.allocated) == (2000, 0, 10192)


def test_a_memory_space_has_a_plan_of_its_own() -> None:
    memory = planned(1)
    assert (memory.heap, memory.peak, memory.outputs) == ((), 1536, 1536)
    assert [buffer.name for buffer in memory.at_peak] == ["e"]


def test_a_stack_frame_says_where_an_op_came_from() -> None:
    assert {buffer.op.source for buffer in planned().buffers if buffer.op} == {"train.py:17"}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    host = xplane.Line(
        "main",
        [xplane.Event("b", 0, 10**9, {"hlo_op": "b", "program_id": 7, "hlo_module": "step"})],
        1,
    )
    planes = [
        xplane.Plane("/host:metadata", programs={"step(7)": program().SerializeToString()}),
        xplane.Plane("/host:CPU", [host]),
    ]
    (tmp_path / "one.xplane.pb").write_bytes(xplane.encode(planes))
    return tmp_path


def test_a_program_and_a_memory_space_are_chosen(profile: Path) -> None:
    assert facts(ask(profile))["peak"] == 7632
    assert facts(ask(profile, "step:1"))["peak"] == 1536
    assert facts(ask(profile, "step(7)"))["program"] == "step(7)"
    with pytest.raises(UsageError) as wrong:
        ask(profile, "step:5")
    assert wrong.value.message == "This program has no buffers in memory space 5."
    assert wrong.value.hint == "There are: 0, 1."
    with pytest.raises(UsageError) as wrong:
        ask(profile, "stop")
    assert wrong.value.message == "stop is not a program of this profile."
    assert wrong.value.hint == "--choice takes: step(7)"


def test_a_row_has_a_card_and_a_place(profile: Path) -> None:
    table = ask(profile)["at_peak"]
    row = answers.rows(table)[0]
    assert (row["buffer"], row["size_bytes"], row["padding_bytes"]) == ("b", 4096, 2560)
    assert table.card is not None
    card = table.card(0)
    assert card is not None
    assert {fact.label: fact.text() for fact in card.facts} == {
        "size": "4.096 kB",
        "without padding": "1.536 kB",
        "share of the peak": "53.7 %",
        "shape": "f32[3,128]{1,0}",
        "kind": "Temporary",
        "lives": "from point 3 (b) to 6 (d) of 7",
        "allocation": "3, at byte 0 of it",
        "HLO op": "add",
        "framework op": "none",
        "source": "train.py:17",
        "expression": "%b = f32[3,128]{1,0} add()",
    }
    place = table.place(0)
    assert place is not None
    assert (place.lo, place.hi) == (0, 10**9)


# ── against today's converter ────────────────────────────────────────────────────────────────────


def test_a_stored_answer_of_the_converter_is_met(shared_data: Path) -> None:
    stored = json.loads((shared_data / "golden/jax_opt/memory_viewer.json").read_text())
    modules = hlo.modules(opened(shared_data / JAX).profiles[0])
    memory = hlo_memory.program_memory(hlo.find(modules, "", stored["moduleName"]) or modules["0"])
    assert memory is not None
    assert [size / MIB for size in memory.heap] == stored["heapSizes"]
    assert [size / MIB for size in memory.unpadded] == stored["unpaddedHeapSizes"]
    assert list(memory.points) == stored["hloInstructionNames"]
    assert memory.peak_point == stored["peakHeapSizePosition"]
    rows = [
        (row["instructionName"], row["logicalBufferSizeMib"], row["groupName"])
        for row in stored["maxHeap"]
        if "instructionName" in row
    ]
    assert [(buffer.name, buffer.size / MIB, buffer.kind) for buffer in _large(memory)] == rows


def test_every_program_is_planned_as_the_converter_says(shared_data: Path) -> None:
    lines = [line for line in STORED.read_text().splitlines() if not line.startswith("#")]
    stored = list(csv.DictReader(lines, delimiter="\t"))
    assert len(stored) == 99
    for path in {row["profile"] for row in stored}:
        modules = {
            module.label: module
            for module in hlo.modules(opened(shared_data / path).profiles[0]).values()
        }
        for row in stored:
            if row["profile"] == path:
                memory = hlo_memory.program_memory(modules[row["program"]])
                assert memory is not None
                assert _in_short(memory) == [
                    value for name, value in row.items() if name not in ("profile", "program")
                ], (path, row["program"])


def _large(memory: ProgramMemory) -> list[Buffer]:
    return [buffer for buffer in memory.at_peak if buffer.size >= SMALL]


def _in_short(memory: ProgramMemory) -> list[str]:
    """As tests/data/memory_plans.tsv has it."""
    large = _large(memory)
    texts = [
        f"{buffer.name} {buffer.shape} {buffer.size} {buffer.unpadded} {buffer.kind}"
        for buffer in large
    ]
    lives = [
        f"{buffer.id} {buffer.first} {buffer.last}"
        for buffer in sorted(memory.buffers, key=lambda buffer: buffer.id)
        if buffer.first is not None
    ]
    figures = (
        memory.peak,
        memory.peak_unpadded,
        memory.peak_point,
        memory.parameters,
        memory.outputs,
        memory.allocated,
        memory.lasting,
        memory.fixed,
        len(memory.heap),
        _digest(",".join(map(str, memory.heap))),
        len(large),
        _digest(";".join(texts)),
        _digest(";".join(lives)),
    )
    return [str(figure) for figure in figures]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
