"""Which ops the names of events stand for."""

from __future__ import annotations

import pytest

from powertui.data.asked import Compat
from powertui.data.tools import op_names
from powertui.data.tools.op_names import OpName


@pytest.mark.parametrize(
    ("full", "op"),
    [
        ("model/dense/MatMul:MatMul", OpName("model/dense/MatMul", "MatMul", "tf")),
        ("IteratorGetNext/_1:_Send", OpName("IteratorGetNext/_1", "_Send", "tf")),
        ("Iterator::Root::Prefetch", OpName("Iterator::Root::Prefetch", "Dataset", "dataset")),
        (
            "jit_f/dot_general:dot_general[dims=((1,), (0,))]",
            OpName("jit_f/dot_general", "dot_general", "jax"),
        ),
        ("scope/MatMul_12:", OpName("scope/MatMul_12", "MatMul", "tf")),
        ("MEMCPYHToD", OpName("MEMCPYHToD", "MemcpyHToD", "copy")),
        ("memcpydtoh 4 bytes", OpName("memcpydtoh 4 bytes", "MemcpyDToH", "copy")),
        ("MemcpyH2D", OpName("MemcpyH2D", "Unknown", "")),  # the call of CUDA's own, and no op
        ("ThreadpoolListener::Record", OpName("ThreadpoolListener::Record", "Unknown", "")),
        ("_send_range_0:_Send", OpName("_send_range_0:_Send", "Unknown", "")),
        ("EagerLocalExecute: AddV2", OpName("EagerLocalExecute: AddV2", "Unknown", "")),
        ("model/cast->x:Cast", OpName("model/cast->x", "Cast", "tf")),
        ("", OpName("", "Unknown", "")),
    ],
)
def test_names(full: str, op: OpName) -> None:
    assert op_names.parsed(full) == op


@pytest.mark.parametrize(
    ("compat", "op"),
    [
        ("tf2", OpName("pool-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", "Unknown", "")),
        ("xprof", OpName("pool-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", "tf")),
        ("corrected", OpName("pool-0-TransposeNHWCToNCHW-LayoutOptimizer", "Transpose", "tf")),
    ],
)
def test_versions_differ_in_names_with_a_minus(compat: Compat, op: OpName) -> None:
    assert op_names.parsed("pool-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", compat) == op


def test_a_name_is_told_once_whatever_its_types() -> None:
    table = op_names.OpTable.empty()
    assert table.index(op_names.parsed("a:A")) == table.index(op_names.parsed("a:B")) == 0
    assert table.index(op_names.parsed("b:B")) == 1
    assert [op.type for op in table.ops] == ["A", "B"]
