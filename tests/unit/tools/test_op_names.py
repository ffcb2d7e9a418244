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
        (
            "__inference_f_12:__inference_f_12",
            OpName("__inference_f_12", "__inference_f_12", "jax"),
        ),
        ("_u/dense/MatMul_1:", OpName("_u/dense/MatMul_1", "MatMul", "tf")),
        ("k=v:relu", OpName("k=v:relu", "Unknown", "")),
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


@pytest.mark.parametrize(
    ("full", "op"),
    [  # what xprof 2.24.2 answered about events of these names
        ("__x:__x", OpName("__x", "__x", "jax")),
        ("<eval>:foo", OpName("<eval>", "foo", "jax")),
        ("k=v:relu", OpName("k=v", "relu", "jax")),
        (":relu", OpName("", "relu", "jax")),
        ("_m:foo[x=1]", OpName("_m", "foo", "jax")),
        ("__inference_f_3:", OpName("__inference_f_3", "__inference_f", "tf")),
        ("_f:Foo", OpName("_f:Foo", "", "")),
        ("a b:", OpName("a b:", "", "")),
        ("a:b c", OpName("a:b c", "", "")),
        (":Foo", OpName(":Foo", "", "")),
    ],
)
def test_the_converter_takes_any_name_with_a_type_of_jax_for_an_op(full: str, op: OpName) -> None:
    assert op_names.parsed(full, "xprof") == op


def test_a_name_is_told_once_whatever_its_types() -> None:
    table = op_names.OpTable()
    assert table.index(op_names.parsed("a:A")) == table.index(op_names.parsed("a:B")) == 0
    assert table.index(op_names.parsed("b:B")) == 1
    assert [op.type for op in table] == ["A", "B"]
