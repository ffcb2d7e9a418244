"""Hits by name: what is nested is counted once, devices and the host are apart, and kinds of work
are found where no name is.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import search
from powertui.data.hit_table import hit_table
from powertui.data.table import Table
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces

HOST, DEVICE = ("/host:CPU", "t"), ("/device:GPU:0", "stream 1")


def rows(table: Table) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Count, total and self time by name and place."""
    names = [table["name"].values[row] for row in range(len(table))]
    figures = [table[column].values.tolist() for column in ("count", "total_s", "self_s")]
    keys = zip(names, table["where"].values, strict=True)
    return dict(zip(keys, zip(*figures, strict=True), strict=True))


def test_nested_calls_count_their_time_once_and_devices_are_apart() -> None:
    trace = traces.trace(
        {
            HOST: [
                (0, 100, "matmul"),
                (10, 80, "matmul"),
                (20, 60, "matmul inner"),
                (30, 20, "launch"),
            ],
            DEVICE: [(50, 40, "matmul kernel"), (200, 10, "matmul kernel")],
        }
    )
    table = hit_table(trace, search.find(trace, "matmul"))
    assert rows(table) == {
        ("matmul", "host"): (2, 100, 20 + 20),
        ("matmul inner", "host"): (1, 60, 40),
        ("matmul kernel", "device"): (2, 50, 50),
    }
    assert table.summary == "50 ps on devices, 100 ps on the host"
    assert [part.label for part in table.parts] == ["devices and host", "devices", "host"]
    assert table.total is not None
    assert table.total(np.arange(3)) == {"count": 5}, "both run at the same time"
    where = table["where"].values
    on_host = np.array([row for row in range(3) if where[row] == "host"])
    assert table.total(on_host) == {"count": 3, "total_s": 100, "self_s": 80}


calls = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 30), st.sampled_from(["f", "g", "other"])),
    min_size=1,
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(calls)
def test_the_sum_is_the_time_in_which_a_hit_runs(made: list[tuple[int, int, str]]) -> None:
    """Nested calls only: each event is put whole into the last one that is open."""
    nested: list[tuple[int, int, str]] = []
    stack: list[int] = []
    for start, length, name in sorted(made):
        while stack and stack[-1] <= start:
            stack.pop()
        end = min(start + length, stack[-1]) if stack else start + length
        if end > start and all(start != before for before, _, _ in nested):
            nested.append((start, end - start, name))
            stack.append(end)
    trace = traces.trace({HOST: nested})
    hits = search.find(trace, "f")
    table = hit_table(trace, hits)
    busy = {
        moment
        for start, length, name in nested
        if name == "f"
        for moment in range(start, start + length)
    }
    if not busy:
        assert len(table) == 0
        return
    assert table.total is not None
    assert table.total(np.arange(len(table)))["total_s"] == len(busy)
    covered = {
        moment: name
        for start, length, name in nested  # a later one lies inside
        for moment in range(start, start + length)
    }
    own = sum(name == "f" for name in covered.values())
    assert int(table["self_s"].values.sum()) == own


def test_a_kind_of_work_is_found_where_no_name_is() -> None:
    trace = traces.trace(
        {DEVICE: [(0, 5, "volta_sgemm_128x64_nn"), (10, 5, "relu_kernel"), (20, 5, "gemv2T")]}
    )
    model = TimelineModel.from_run(traces.run(trace))
    hits = model.search("matmul")
    assert (len(hits), hits.kinds) == (2, ("matmul",))
    assert [hits[number].row for number in range(2)] == [0, 2]
    assert model.search("relu").kinds == ()
    assert len(model.search("zzz")) == 0
    named = traces.trace({DEVICE: [(0, 5, "volta_sgemm"), (10, 5, "MatMul_3")]})
    assert len(TimelineModel.from_run(traces.run(named)).search("matmul")) == 1, "names come first"
