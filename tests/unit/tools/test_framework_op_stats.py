"""Framework ops against the tables that TensorFlow and TensorBoard's profiler stored beside the
same profiles.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data.asked import COMPAT, Compat
from powertui.data.table import Result
from powertui.data.tools import host_ops, registry
from powertui.data.tools.registry import Question
from tests import answers, stored_ops
from tests.synthetic import xplane
from tests.unit.tools.opened_runs import opened

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
STORED = sorted(_SHARED.glob("public/e4040_*/**/*.tensorflow_stats.pb"))
GOLDEN = {
    "custom_loop": "own/custom_loop",
    "keras_cifar": "own/keras_cifar",
    "trace_export": "own/trace_export",
    "gpu_tf_t4": "public/e4040_hd2551",
}
US = 1e-3  # stored as µs in doubles


def ask(folder: Path, compat: Compat = "corrected", name: str = "framework_op_stats") -> Result:
    return registry.get(name).answer(Question(opened(folder), compat=compat))


def compared(
    ours: list[dict[str, Any]], theirs: list[stored_ops.Op], *, eager: bool = True
) -> list[Any]:
    """What differs."""
    mine = {(row["host_or_device"], row["operation"]): row for row in ours}
    off: list[Any] = []
    for op in theirs:
        row = mine.get((op.side, op.name))
        if row is None:
            off.append((op, "missing"))
            continue
        same = (
            (row["type"] or "") == op.type
            and (row["occurrences"] == op.occurrences or op.type == "IDLE")
            and abs(row["total_time"] - op.total_us) < US
            and abs(row["total_self_time"] - op.self_us) < US
            and (not eager or (row["eager"] == "Eager") == op.eager)
            and abs((row["device_total_self_time_percent"] or 0.0) - op.device_share) < 1e-9
            and abs((row["host_total_self_time_percent"] or 0.0) - op.host_share) < 1e-9
        )
        if not same:
            off.append((op, row))
    return off


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
@pytest.mark.parametrize("table", [0, 1])
def test_both_tables_are_those_that_tensorflow_stored(path: Path, table: int) -> None:
    result = ask(path.parent, "tf2")
    ours = answers.rows(result.tables[table])
    theirs = stored_ops.ops(path, table)
    assert theirs
    assert compared(ours, theirs) == []
    assert len(ours) == len(theirs)
    assert result.mode == "tf2"


@pytest.mark.parametrize("name", list(GOLDEN))
@pytest.mark.parametrize("table", [0, 1])
def test_both_tables_are_those_of_todays_converter(
    name: str, table: int, shared_data: Path
) -> None:
    ours = answers.rows(ask(shared_data / GOLDEN[name], "xprof").tables[table])
    theirs = stored_ops.ops(shared_data / "golden" / name / "framework_op_stats.json", table)
    off = compared(ours, theirs)
    assert [op.name for op, _ in off] == (
        ["range"] if name == "keras_cifar" else []
    )  # eager by a hand-over: see docs/parity.md
    assert len(ours) == len(theirs)


def test_stored_tables_are_there(shared_data: Path) -> None:
    assert len(STORED) >= 3
    assert shared_data.is_dir()


def test_the_ops_of_jax_on_a_cpu_are_counted(shared_data: Path) -> None:
    """Where TensorBoard's table has one row, IDLE of 0: 20 steps that run each op of the program
    once.
    """
    result = ask(shared_data / "own/jax_cpu/plugins/profile/2026_11_21_00_50_50")
    rows = {row["operation"]: row for row in answers.rows(result["without_idle"])}
    assert rows["dot.1"]["occurrences"] == rows["ynn_fusion.4"]["occurrences"] == 20
    assert rows["dot.1"]["type"] == "dot"
    assert sum(row["total_self_time"] for row in rows.values()) > 50_000
    assert not any(name.startswith("end: ") for name in rows)
    xprof = ask(shared_data / "own/jax_cpu/plugins/profile/2026_11_21_00_50_50", "xprof")
    assert not any(row["operation"] == "dot.1" for row in answers.rows(xprof["without_idle"]))


@pytest.mark.parametrize("compat", COMPAT)
@pytest.mark.parametrize("folder", ["public/e4040_hd2551", "public/kineto_h100_qwen"])
def test_idle_of_the_device_is_one_number(shared_data: Path, folder: str, compat: Compat) -> None:
    result = ask(shared_data / folder, compat)
    facts = {fact.id: float(fact.value or 0) / 1e6 for fact in result.facts}
    on_device = {
        row["type"]: row["total_time"]
        for row in answers.rows(result["with_idle"])
        if row["host_or_device"] == "Device" and row["type"] in ("IDLE", "OTHER")
    }
    assert on_device["IDLE"] == pytest.approx(facts["device_idle"])
    assert facts["device_unnamed"] > 0
    if compat == "corrected":  # what no op explains has a row of its own
        assert on_device["OTHER"] == pytest.approx(facts["device_unnamed"])
    else:  # the converters count it as idle
        assert facts["device_idle"] > facts["device_unnamed"]
    assert not any(row["type"] in ("IDLE", "OTHER") for row in answers.rows(result["without_idle"]))


MS = 10**9
TPU = xplane.Plane(
    "/device:TPU:0",
    [
        xplane.Line("XLA Modules", [xplane.Event("jit_step(7)", 0, 10 * MS)], 4),
        xplane.Line(
            "XLA Ops",
            [
                xplane.Event("while.1", 0, 8 * MS, {"hlo_category": "while", "program_id": 7}),
                xplane.Event(
                    "dot.2",
                    MS,
                    MS,
                    {
                        "hlo_category": "convolution",
                        "program_id": 7,
                        "flops": 2 * 10**9,
                        "bytes_accessed": 10**6,
                        "tf_op": "jit(step)/dot_general:",
                    },
                ),
                xplane.Event(
                    "copy.3", 4 * MS, 2 * MS, {"hlo_category": "data formatting", "program_id": 7}
                ),
            ],
            5,
        ),
    ],
    {
        "peak_teraflops_per_second": 10.0,
        "peak_hbm_bw_gigabytes_per_second": 100.0,
        "device_type_string": "TPU v6e",
    },
)


def test_rates_stand_where_costs_are_known_and_nowhere_else(tmp_path: Path) -> None:
    """A TPU says what its ops cost: 2 GFLOP and 1 MB in 1 ms of a device with 10 TFLOP/s and 100
    GB/s is bound by compute.
    """
    (tmp_path / "tpu.xplane.pb").write_bytes(xplane.encode([TPU]))
    result = ask(tmp_path)
    rows = {row["operation"]: row for row in answers.rows(result["with_idle"])}
    known = rows["jit(step)/dot_general:"]
    assert known["measured_flop_rate"] == pytest.approx(2e3)
    assert known["measured_memory_bw"] == pytest.approx(1e9 / (1 << 30))
    assert known["operational_intensity"] == pytest.approx(2000)
    assert known["bound_by"] == "Compute"
    assert rows["copy.3"]["measured_flop_rate"] is None
    assert rows["copy.3"]["bound_by"] == "Unknown"
    assert rows["while.1"]["total_self_time"] == pytest.approx(5000)  # without the ops inside it
    assert rows["IDLE"]["total_time"] == pytest.approx(2000)


@pytest.mark.parametrize("chunk", [50, 3000])
@pytest.mark.parametrize("compat", ["corrected", "xprof"])
def test_a_long_line_in_stretches_comes_to_the_same(
    chunk: int, compat: Compat, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = opened(shared_data / "own/custom_loop").profiles[0].trace
    whole = host_ops.host_ops(trace, trace.span[0], trace.span[1] + 1, compat)
    monkeypatch.setattr(host_ops, "_CHUNK_EVENTS", chunk)
    monkeypatch.setattr(host_ops, "_STAT_CHUNK_EVENTS", max(1, chunk >> 2))
    parts = host_ops.host_ops(trace, trace.span[0], trace.span[1] + 1, compat)
    ops = list(parts.table)
    order = [ops.index(op) for op in whole.table]
    assert (parts.idle, parts.span, parts.lines) == (whole.idle, whole.span, whole.lines)
    for column in ("occurrences", "total", "self_time", "eager"):
        assert getattr(parts, column)[order].tolist() == getattr(whole, column).tolist()
