"""Kernels against the profiler's own tables, and the rules that no recording at hand exercises."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import kernel_stats, registry
from powertui.data.tools.registry import Question
from tests import answers

T4 = "e4040_hd2551", "20231107-182500"


def _ask(folder: Path, part: str) -> tuple[Opened, Result]:
    entry = next(entry for entry in logdir.scan(str(folder)).runs if part in entry.name)
    opened = Opened(entry)
    return opened, registry.get("kernel_stats").answer(Question(opened))


def test_every_kernel_of_a_t4_profile_as_xprof_counts_them(shared_data: Path) -> None:
    golden: Any = json.loads((shared_data / "golden" / "gpu_tf_t4" / "kernel_stats.json").read_text())
    golden = golden[0] if isinstance(golden, list) else golden
    ids = [column["id"] for column in golden["cols"]]
    theirs: Counter[tuple[str, int, str, str]] = Counter()
    total: dict[tuple[str, int, str, str], float] = defaultdict(float)
    for row in golden["rows"]:
        one = dict(zip(ids, [cell["v"] for cell in row["c"]], strict=True))
        key = (one["kernel_name"], int(one["registers_per_thread"]), one["block_dim"], one["grid_dim"])
        theirs[key] += int(one["occurrences"])
        total[key] += one["total_duration_us"]
    _, result = _ask(shared_data / "public" / T4[0], T4[1])
    ours: Counter[tuple[str, int, str, str]] = Counter()
    mine: dict[tuple[str, int, str, str], float] = defaultdict(float)
    for one in answers.rows(result["kernels"]):
        key = (str(one["kernel_name"]), int(one["registers_per_thread"]), str(one["block_dim"]), str(one["grid_dim"]))
        ours[key] += int(one["occurrences"])
        mine[key] += float(one["total_duration_s"]) * 1e6
    assert ours == theirs
    assert sum(ours.values()) > 150
    for key, us in total.items():
        assert mine[key] == pytest.approx(us, abs=1e-3)


def test_a_row_leads_to_its_longest_launch(shared_data: Path) -> None:
    opened, result = _ask(shared_data / "public" / T4[0], T4[1])
    table = result["kernels"]
    trace = opened.profiles[0].trace
    tracks = [track for _, track in trace.tracks()]
    for row in range(0, len(table), 17):
        place = table.place(row)
        assert place is not None
        assert place.track is not None
        assert place.event is not None
        events = tracks[place.track].events
        assert trace.names.full(int(events.name[place.event])) == table["kernel_name"].value(row)
        assert int(events.duration[place.event]) // 1000 * 1000 == table["max_duration_s"].value(row)


def test_half_a_window_holds_half_the_kernel(shared_data: Path) -> None:
    opened, result = _ask(shared_data / "public" / T4[0], T4[1])
    place = result["kernels"].place(0)
    assert place is not None
    assert place.lo is not None
    assert place.hi is not None
    middle = (place.lo + place.hi) // 2
    half = kernel_stats.answer(Question(opened, 0, place.lo, middle))["kernels"]
    assert half["total_duration_s"].value(0) == (middle - place.lo) // 1000 * 1000


def test_a_profile_without_a_device_says_so(data: Path) -> None:
    opened = Opened(logdir.scan(str(data / "logdirs")).runs[0])
    result = registry.get("kernel_stats").answer(Question(opened))
    assert len(result["kernels"]) == 0
    assert any("no device" in note for note in result.notes)


@pytest.mark.parametrize(
    ("details", "launch"),
    [
        ("regs:32 static_shared:8 dynamic_shared:16 grid:4,1,1 block:64,2,1 occ_pct:50", (32, 24, "64,2,1", "4,1,1", 0.5)),
        ("regs:16 shm:7 grid:1,1,1\nblock:1024,1,1", (16, 7, "1024,1,1", "1,1,1", None)),
        ("group_mem:512 private_mem:3 grid:9,9,9", (0, 512, "1,1,1", "9,9,9", None)),
        ("regs:x:y regs:-3 static_shared:99999999999999999999", (0, 0, "1,1,1", "1,1,1", None)),
        ("", (0, 0, "1,1,1", "1,1,1", None)),
    ],
)
def test_how_it_was_launched(details: str, launch: tuple[Any, ...]) -> None:
    assert tuple(kernel_stats.launch(details)) == launch


@pytest.mark.parametrize(
    ("kernel", "op", "equation", "eligible", "uses"),
    [
        ("volta_h884gemm", "model/dense/MatMul", None, True, True),
        ("volta_sgemm", "model/dense/MatMul", None, True, False),
        ("volta_sgemm", "MatMul", None, False, False),
        ("ampere_s16816gemm", "model/odd", None, True, True),
        ("ampere_s16816gemm", "", None, False, True),
        ("k", "einsum/Einsum", "ab,bc->ac", True, False),
        ("k", "einsum/Einsum", "ab,bc,cd->ad", False, False),
        ("k", "x/BatchMatMulV2", None, True, False),
        ("k", "x/Conv2DBackpropFilter", None, True, False),
        ("k", "x/Conv2DBackpropFilterGrad", None, False, False),
    ],
)
def test_tensor_cores(kernel: str, op: str, equation: str | None, eligible: bool, uses: bool) -> None:
    row = kernel_stats._row(kernel, "regs:1", op, None, equation)
    assert (row.eligible, row.tensor_core) == (eligible, uses)


def test_the_op_is_the_name_before_its_type() -> None:
    assert kernel_stats.op_of("model/dense/MatMul:MatMul") == "model/dense/MatMul"
    assert kernel_stats.op_of("model/cast->x:Cast") == "model/cast->x"
    assert kernel_stats.op_of("no type here") == "no type here"


def test_times_of_a_kernel_are_of_its_launches(tmp_path: Path) -> None:
    """Four launches of one kernel, written as PyTorch writes them: sum, mean, shortest and longest are theirs."""
    events = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100.0 * i, "dur": dur,
         "args": {"device": 0, "stream": 7, "correlation": i, "grid": [1, 1, 1], "block": [64, 1, 1]}}
        for i, dur in enumerate((10.0, 20.0, 30.0, 60.0))
    ]  # fmt: skip
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    (entry,) = logdir.scan(path).runs
    table = registry.get("kernel_stats").answer(Question(Opened(entry))).tables[0]
    assert table["occurrences"].exported(0) == 4
    times = ("total_duration_s", "avg_duration_s", "min_duration_s", "max_duration_s")
    assert [table[id].exported(0) for id in times] == pytest.approx([120e-6, 30e-6, 10e-6, 60e-6])
