"""Which ops the names of events stand for."""

from __future__ import annotations

import pytest

from powertui.data.asked import Compat
from powertui.data.tools import op_names
from powertui.data.tools.op_names import Op


@pytest.mark.parametrize(
    ("full", "op"),
    [
        ("model/dense/MatMul:MatMul", Op("model/dense/MatMul", "MatMul", "tf")),
        ("IteratorGetNext/_1:_Send", Op("IteratorGetNext/_1", "_Send", "tf")),
        ("Iterator::Root::Prefetch", Op("Iterator::Root::Prefetch", "Dataset", "dataset")),
        ("jit_f/dot_general:dot_general[dims=((1,), (0,))]", Op("jit_f/dot_general", "dot_general", "jax")),
        ("scope/MatMul_12:", Op("scope/MatMul_12", "MatMul", "tf")),
        ("MEMCPYHToD", Op("MEMCPYHToD", "MemcpyHToD", "copy")),
        ("memcpydtoh 4 bytes", Op("memcpydtoh 4 bytes", "MemcpyDToH", "copy")),
        ("MemcpyH2D", Op("MemcpyH2D", "Unknown", "")),  # the call of CUDA's own, and no op
        ("ThreadpoolListener::Record", Op("ThreadpoolListener::Record", "Unknown", "")),
        ("_send_range_0:_Send", Op("_send_range_0:_Send", "Unknown", "")),
        ("EagerLocalExecute: AddV2", Op("EagerLocalExecute: AddV2", "Unknown", "")),
        ("model/cast->x:Cast", Op("model/cast->x", "Cast", "tf")),
        ("", Op("", "Unknown", "")),
    ],
)
def test_names(full: str, op: Op) -> None:
    assert op_names.parsed(full) == op


@pytest.mark.parametrize(
    ("compat", "op"),
    [
        ("tf2", Op("pool-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", "Unknown", "")),
        ("xprof", Op("pool-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", "tf")),
        ("corrected", Op("pool-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", "tf")),
    ],
)
def test_versions_differ_in_names_with_a_minus(compat: Compat, op: Op) -> None:
    assert op_names.parsed("pool-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", compat) == op


def test_a_name_is_told_once_whatever_its_types() -> None:
    table = op_names.OpTable.empty()
    assert table.index(op_names.parsed("a:A")) == table.index(op_names.parsed("a:B")) == 0
    assert table.index(op_names.parsed("b:B")) == 1
    assert [op.type for op in table.ops] == ["A", "B"]
