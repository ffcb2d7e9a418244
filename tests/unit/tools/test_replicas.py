"""Copies of one op on several replicas are one row that says on how many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from powertui.data.conclusions.makers import computing
from powertui.data.model import Trace
from powertui.data.tools import longer_ops, op_stats, op_table, replicas, top_ops
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.top_ops import Top
from tests.answers import rows
from tests.synthetic import traces

MS = traces.MS


@pytest.mark.parametrize(
    ("name", "number", "bare"),
    [
        ("replica_1/model/conv/Conv2D:Conv2D", 1, "model/conv/Conv2D:Conv2D"),
        (
            "gradient_tape/replica_12/dense_1/MatMul:MatMul",
            12,
            "gradient_tape/dense_1/MatMul:MatMul",
        ),
        ("dense/kernel/replica_3:VarHandleOp", 3, "dense/kernel:VarHandleOp"),
        ("dense/kernel/replica_3", 3, "dense/kernel"),
        ("model/conv/Conv2D:Conv2D", None, "model/conv/Conv2D:Conv2D"),
        ("my_replica_1/conv:Conv2D", None, "my_replica_1/conv:Conv2D"),
        ("replica_one/conv:Conv2D", None, "replica_one/conv:Conv2D"),
        ("replica_1:NoOp", 1, "replica_1:NoOp"),
        (
            "/job:worker/replica:0/task:0/device:GPU:1",
            None,
            "/job:worker/replica:0/task:0/device:GPU:1",
        ),
    ],
)
def test_the_scope_of_a_replica_in_a_name(name: str, number: int | None, bare: str) -> None:
    assert replicas.replica_of(name) == number
    assert replicas.without_replica(name) == bare


def _mirrored() -> Trace:
    """Three replicas of two ops, and what is outside of them."""
    lines = {}
    for replica, scope in enumerate(("", "replica_1/", "replica_2/")):
        lines["/host:CPU", f"executor/{replica}"] = [
            (0, (4 + replica) * MS, f"{scope}dense/MatMul:MatMul"),
            (10 * MS, 2 * MS, f"{scope}dense_1/MatMul:MatMul"),
        ]
    lines["/host:CPU", "python"] = [(0, 20 * MS, "train"), (30 * MS, MS, "dense/MatMul:Cast")]
    return traces.trace(lines)


def test_copies_are_one_row_with_their_number_and_their_time_together() -> None:
    table = {
        row["name"]: row for row in rows(op_table.result(op_stats.op_stats(_mirrored())).table)
    }
    assert table["dense/MatMul"]["type"] in ("MatMul", "Cast")
    by_name = {
        row["full_name"]: row for row in rows(op_table.result(op_stats.op_stats(_mirrored())).table)
    }
    assert by_name["dense/MatMul:MatMul"]["replicas"] == 3
    assert by_name["dense/MatMul:MatMul"]["count"] == 3
    assert by_name["dense/MatMul:MatMul"]["self_s"] == pytest.approx(15e-3)
    assert by_name["dense_1/MatMul:MatMul"]["replicas"] == 3
    assert by_name["dense/MatMul:Cast"]["replicas"] == 1
    assert by_name["train"]["replicas"] == 1
    assert len(by_name) == 4


def test_each_copy_leads_to_its_own_event() -> None:
    trace = _mirrored()
    answer = op_table.result(op_stats.op_stats(trace))
    ops, copies = answer.tables[0], answer.tables[1]
    assert copies.id == "replicas"
    self_times = [int(ps) for ps in copies["self_s"].values]
    assert self_times == sorted(self_times, reverse=True)
    names = [str(name) for name in copies["name"].values]
    for row, name in enumerate(names):
        place = copies.place(row)
        assert place is not None
        assert place.track is not None
        assert place.event is not None
        events = list(trace.tracks())[place.track][1].events
        assert trace.names.full(int(events.name[place.event])) == name
    found = names.index("replica_2/dense/MatMul:MatMul")
    assert (copies["replica"].values[found], copies["count"].values[found]) == (2, 1)
    # Enter in the table of ops leads to the longest of all copies.
    row = [str(name) for name in ops["full_name"].values].index("dense/MatMul:MatMul")
    longest = ops.place(row)
    assert longest is not None
    assert longest.hi - longest.lo == 6 * MS


def test_a_row_is_found_again_and_by_the_name_of_a_copy() -> None:
    stats = op_stats.op_stats(_mirrored(), 0, 20 * MS)
    every = np.arange(len(stats))
    at = stats.find("dense/MatMul:MatMul", "/host:CPU", every)
    assert at >= 0
    assert stats[at].name == "dense/MatMul:MatMul"
    # The first replica is not in this window: its row has the name of another one.
    later = traces.trace(
        {
            ("/host:CPU", "a"): [(0, MS, "replica_1/x:Mul")],
            ("/host:CPU", "b"): [(0, MS, "replica_2/x:Mul")],
        }
    )
    alone = op_stats.op_stats(later)
    assert [op.full for op in alone.ops] == ["x:Mul"]
    assert alone.find("x:Mul", "/host:CPU", np.arange(len(alone))) == 0
    assert alone.matching("replica_2").all()


def test_what_is_no_copy_keeps_its_name() -> None:
    trace = traces.trace(
        {
            ("/host:CPU", "a"): [(0, MS, "replica_4/only:Mul"), (2 * MS, MS, "concat:Concat")],
            # Keras' multi-GPU model: the first replica has a scope, so `merge` is no replica's.
            ("/host:CPU", "b"): [
                (0, MS, "replica_0/merge:Add"),
                (2 * MS, MS, "replica_1/merge:Add"),
                (4 * MS, MS, "merge:Add"),
            ],
        }
    )
    ops = {op.full: op.replicas for op in op_stats.op_stats(trace).ops}
    found = Counter(op.full for op in op_stats.op_stats(trace).ops)
    assert ops["replica_4/only:Mul"] == 1
    assert ops["concat:Concat"] == 1
    assert found["merge:Add"] == 2  # the copies' row, and what is no copy
    assert sorted(op.replicas for op in op_stats.op_stats(trace).ops if op.full == "merge:Add") == [
        1,
        2,
    ]


def test_no_column_and_no_table_without_replicas() -> None:
    trace = traces.trace({("/host:CPU", "a"): [(0, MS, "x:Mul"), (2 * MS, MS, "y:Mul")]})
    answer = op_table.result(op_stats.op_stats(trace))
    assert "replicas" not in answer.table.ids
    assert [table.id for table in answer.tables] == ["ops"]


def test_an_order_of_the_rows_keeps_the_copies() -> None:
    def numbered(stats: OpStats) -> dict[str, int]:
        return {stats[row].full: int(stats.replicas[row]) for row in range(len(stats))}

    stats = op_stats.op_stats(_mirrored())
    assert numbered(stats.take(stats.order("self"))) == numbered(stats)


def test_what_ran_longer_is_one_op_on_all_replicas() -> None:
    trace = _mirrored()
    longer = longer_ops.LongerOps(trace)(0, 9 * MS, [(9 * MS, 18 * MS)], 3 * MS)
    assert {name: ran for name, (ran, _) in longer.items()} == {
        "dense/MatMul:MatMul": 15 * MS,
        "train": 9 * MS,
    }


def test_a_conclusion_names_the_op_and_its_replicas() -> None:
    copies = [
        Top(f"{scope}model/dense/MatMul", "MatMul", 10, 5, 0.2, "matmul", flops=float(rate))
        for scope, rate in (("", 3), ("replica_1/", 5), ("replica_2/", 7))
    ]
    other = Top("model/relu", "Relu", 10, 6, 0.4, "elementwise")
    first, second = top_ops.of_all_replicas([other, *copies])
    assert (first.name, first.self_time, first.occurrences, first.replicas) == (
        "model/dense/MatMul",
        15,
        30,
        3,
    )
    assert first.flops == 5.0
    assert second == other
    assert computing.op_words(first) == "model/dense/MatMul on 3 replicas (15 ps in all)"
