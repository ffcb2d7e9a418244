"""Costs of XLA's ops: sums done by hand, and XLA's own cost analysis of real programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from powertui.data import hlo, hlo_costs
from powertui.data.hlo import Module
from powertui.data.wire import schemas
from tests.unit.tools.opened_runs import opened

STORED = Path(__file__).resolve().parents[1] / "data" / "program_costs.tsv"
F32 = 11
# XLA says of this program that it reads none of its two operands of 131,072 bytes.
TRITON = ("public/jax_rocm_mi300_gemm/tw003.xplane.pb", "jit_dot(5)")


def op(computation: Any, name: str, opcode: str, dims: tuple[int, ...], **fields: Any) -> Any:
    made = computation.instructions.add(
        name=name, opcode=opcode, id=len(computation.instructions) + 1, **fields
    )
    made.shape.element_type = F32
    made.shape.dimensions.extend(dims)
    return made


def costs(proto: Any) -> hlo_costs.ProgramCosts:
    return hlo_costs.program_costs(Module("step", "7", proto))


def program() -> Any:
    proto: Any = schemas.message("HloModule")()
    proto.entry_computation_name = "main"
    return proto


def test_a_convolution_counts_what_is_inside_its_input_and_not_the_padding() -> None:
    proto = program()
    main = proto.computations.add(name="main", id=1)
    op(main, "image", "parameter", (2, 4, 3))  # batch, width, features
    op(main, "kernel", "parameter", (3, 3, 5))  # width, input, output features
    made = op(main, "conv", "convolution", (2, 4, 5), operand_ids=[1, 2], feature_group_count=1)
    made.window.dimensions.add(size=3, stride=1, padding_low=1, padding_high=1)
    numbers = made.convolution_dimension_numbers
    numbers.input_batch_dimension, numbers.input_feature_dimension = 0, 2
    numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension = 1, 2
    numbers.output_batch_dimension, numbers.output_feature_dimension = 0, 2
    numbers.input_spatial_dimensions.append(1)
    numbers.kernel_spatial_dimensions.append(0)
    numbers.output_spatial_dimensions.append(1)
    cost = costs(proto).cost("conv")
    assert cost is not None
    taps = 2 + 3 + 3 + 2  # of the kernel's 3 at each of 4 places
    assert cost.flops == 2 * taps * 2 * 3 * 5
    assert cost.bytes == 4 * (2 * 4 * 3 + 3 * 3 * 5 + 2 * 4 * 5)


@pytest.mark.parametrize("nested", [False, True])
def test_products_and_convolutions_of_libraries_are_counted_as_xla_does(nested: bool) -> None:
    proto = program()
    main = proto.computations.add(name="main", id=1)
    left, right = (
        op(main, "left", "parameter", (2, 3, 4)),
        op(main, "right", "parameter", (2, 4, 5)),
    )
    config = {"dot_dimension_numbers": {"lhs_contracting_dimensions": ["2"]}}
    text = json.dumps({"gemm_backend_config": config} if nested else config).encode()
    gemm = op(main, "gemm", "custom-call", (2, 3, 5), operand_ids=[left.id, right.id])
    gemm.custom_call_target, gemm.backend_config = "__cublas$gemm", text
    cost = costs(proto).cost("gemm")
    assert cost is not None
    assert (cost.flops, cost.bytes) == (2 * 2 * 3 * 5 * 4, 4 * (24 + 40 + 30))
    for broken in (b"", b"[]", b"{not json", b'{"dot_dimension_numbers": {}}', b"7"):
        gemm.backend_config = broken
        unknown = costs(proto).cost("gemm")
        assert unknown is not None
        assert (unknown.flops, unknown.bytes) == (None, None)


def test_what_is_not_known_says_why() -> None:
    proto = program()
    main = proto.computations.add(name="main", id=1)
    op(main, "gemm", "custom-call", (4, 4))
    op(main, "odd", "cholesky", (4, 4))
    op(main, "sum", "add", (4, 4), operand_ids=[1, 2])
    found = costs(proto)
    library = found.cost("gemm")
    assert library is not None
    assert (library.flops, library.bytes) == (None, None)
    assert library.why == "it calls a library's routine, whose work the program does not describe"
    odd = found.cost("odd")
    assert odd is not None
    assert (odd.flops, odd.why) == (None, "no rule is known for this op")
    added = found.cost("sum")
    assert added is not None
    assert (added.flops, added.bytes) == (16, 3 * 64)
    assert found.total().flops is None
    assert found.cost("nothing") is None


def test_a_program_that_calls_itself_ends() -> None:
    proto = program()
    main = proto.computations.add(name="main", id=1)
    op(main, "again", "call", (4,), called_computation_ids=[1])
    assert costs(proto).total().flops is None


# Of the programs on MI300 that call a library: 2 × m × n × k of each product; of the convolution
# what the converter of 2026 shows (212,461.95 GFLOP/s over 1,539.832 us, which it takes for ten runs).
LIBRARY_FLOPS = {
    "jit_dot(21)": 2 * 1024 * 1024 * 1024,
    "jit_dot(34)": 2 * 4096 * 4096 * 4096,
    "jit_dot(49)": 2 * 8192 * 8192 * 4096,
    "jit_dot(64)": 2 * 2048 * 2048 * 8192,
    "jit_dot(79)": 2 * 16384 * 4096 * 1024,
    "jit_forward_3d_conv(15)": 32_715_571_200,
}


def test_costs_are_those_of_xla(shared_data: Path) -> None:
    lines = [line for line in STORED.read_text().splitlines() if not line.startswith("#")]
    stored = list(csv.DictReader(lines, delimiter="\t"))
    assert len(stored) == 99
    unknown = 0
    for path in {row["profile"] for row in stored}:
        modules = {
            module.label: module
            for module in hlo.modules(opened(shared_data / path).profiles[0]).values()
        }
        for row in (row for row in stored if row["profile"] == path):
            total = hlo_costs.program_costs(modules[row["program"]]).total()
            flops, size = int(row["flops"]), int(row["bytes"])
            if flops < 0:
                # The analysis for CPUs knows no library's routine; that for GPUs does.
                assert total.flops == LIBRARY_FLOPS[row["program"]]
                unknown += 1
                continue
            assert total.flops == pytest.approx(flops, rel=1e-6), row
            assert total.transcendentals == pytest.approx(int(row["transcendentals"]), rel=1e-6)
            if (path, row["program"]) == TRITON:
                assert (total.bytes, size) == (3 * 131_072, 131_072)
            else:
                assert total.bytes == pytest.approx(size, rel=1e-5), row
    assert unknown == 6
