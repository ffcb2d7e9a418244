"""Trees and tables of XLA's ops: synthetic devices whose answer is known, real programs, and what
today's converter stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from tests import answers
from tests.synthetic import xplane
from tests.unit.tools.opened_runs import opened

MS = 10**9
JAX = "own/jax_cpu/plugins/profile/2026_11_21_00_50_50"
GOLDEN = {"gpu_tf_t4": "public/e4040_hd2551", "jax_opt": JAX, "custom_loop": "own/custom_loop"}


def ask(path: Path, tool: str, compat: Compat = "corrected") -> Result:
    return registry.get(tool).answer(Question(opened(path), compat=compat))


def op(name: str, start: int, duration: int, category: str, **stats: Any) -> xplane.Event:
    return xplane.Event(name, start, duration, {"hlo_category": category, "program_id": 7, **stats})


def tpu(number: int) -> xplane.Plane:
    """A convolution that uses a fifth of the FLOP/s, two copies of one fusion, and a copy that does
    not say what it costs.
    """
    events = [
        op(
            "dot.2",
            0,
            2 * MS,
            "convolution",
            flops=4 * 10**9,
            bytes_accessed=10**6,
            tf_op="net/dense/MatMul:MatMul",
            vdd_energy_j=0.5,
        ),
        op(
            "fusion.3",
            2 * MS,
            MS,
            "loop fusion",
            flops=10**6,
            bytes_accessed=5 * 10**7,
            deduplicated_name="fusion.3",
        ),
        op(
            "fusion.4",
            3 * MS,
            MS,
            "loop fusion",
            flops=10**6,
            bytes_accessed=5 * 10**7,
            deduplicated_name="fusion.3",
        ),
        op("copy.5.remat", 5 * MS, MS, "data formatting"),
        op("region_1.1", 6 * MS, MS, "call"),
    ]
    return xplane.Plane(
        f"/device:TPU:{number}",
        [
            xplane.Line("XLA Modules", [xplane.Event("jit_step(7)", 0, 10 * MS)], 4),
            xplane.Line("XLA Ops", events, 5),
        ],
        {
            "peak_teraflops_per_second": 10.0,
            "peak_hbm_bw_gigabytes_per_second": 100.0,
            "device_type_string": "TPU v6e",
        },
    )


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    (tmp_path / "two.xplane.pb").write_bytes(xplane.encode([tpu(0), tpu(1)]))
    return tmp_path


def test_a_tree_tells_time_use_and_waste(devices: Path) -> None:
    rows = {
        row["name"].strip(): row for row in answers.rows(ask(devices, "op_profile")["by_category"])
    }
    assert rows["IDLE"]["time_s"] == pytest.approx(2 * 4e-3)  # of both devices
    dot = rows["convolution"]
    assert dot["time_s"] == pytest.approx(4e-3)
    assert dot["flops_utilization"] == pytest.approx(0.2)
    assert dot["hbm_utilization"] == pytest.approx(0.005)
    whole = 2 * 10e-3
    assert dot["time_fraction"] == pytest.approx(4e-3 / whole)
    assert dot["wasted"] == pytest.approx(4e-3 / whole * 0.8)
    assert rows["loop fusion"]["hbm_utilization"] == pytest.approx(0.5)
    assert rows["data formatting"]["flops_utilization"] is None  # it does not say: not 0
    assert rows["data formatting"]["wasted"] is None
    assert not any(name.startswith("region") for name in rows)


def test_copies_of_one_op_are_one_node(devices: Path) -> None:
    rows = answers.rows(ask(devices, "op_profile")["by_category"])
    names = [row["name"].strip() for row in rows]
    at = names.index("fusion.3 and its duplicate(s)")
    assert rows[at]["occurrences"] == 4
    assert set(names[at + 1 : at + 3]) == {"fusion.3", "fusion.4"}
    assert rows[at + 1]["level"] == rows[at]["level"] + 1


def test_scopes_are_a_tree_of_their_own(devices: Path) -> None:
    rows = [
        (row["level"], row["name"].strip())
        for row in answers.rows(ask(devices, "op_profile")["by_provenance"])
    ]
    at = rows.index((0, "net"))
    assert rows[at : at + 4] == [(0, "net"), (1, "dense"), (2, "MatMul"), (3, "dot.2")]


def test_every_tree_holds_all_time(devices: Path, shared_data: Path) -> None:
    for path in (
        devices,
        shared_data / JAX,
        shared_data / "public/jax_rocm_mi300_gemm",
        shared_data / "public/e4040_hd2551",
    ):
        sums = []
        for table in ask(path, "op_profile").tables:
            top = [
                row for row in answers.rows(table) if row["level"] == 0 and row["name"] != "IDLE"
            ]
            sums.append(sum(row["time_s"] for row in top))
        assert sums[0] > 0
        assert sums == pytest.approx([sums[0]] * 3)


def test_ops_one_by_one_tell_rates_and_joules(devices: Path) -> None:
    rows = {row["hlo_op_name"]: row for row in answers.rows(ask(devices, "hlo_stats")["hlo_stats"])}
    dot = rows["dot.2"]
    assert (dot["occurrences"], dot["category"], dot["tf_op_name"]) == (
        2,
        "convolution",
        "net/dense/MatMul:MatMul",
    )
    assert dot["normalized_flop_rate"] == pytest.approx(2000)
    assert dot["operational_intensity"] == pytest.approx(4000)
    assert dot["bound_by"] == "Compute"
    assert dot["vdd_energy"] == pytest.approx(1.0)
    assert rows["fusion.3"]["bound_by"] == "HBM"
    assert rows["copy.5.remat"]["bound_by"] is None
    assert rows["copy.5.remat"]["hlo_rematerialization"] == "Yes"
    assert rows["copy.5.remat"]["vdd_energy"] is None


def test_programs_of_jax_tell_shape_fusion_and_text(shared_data: Path) -> None:
    """On a CPU, where TensorBoard's page is empty."""
    rows = {
        row["name"].strip(): row
        for row in answers.rows(ask(shared_data / JAX, "op_profile")["by_program"])
    }
    assert any(name.startswith("jit_step(28)") for name in rows)
    fusion = rows["multiply_subtract_fusion.2"]
    assert fusion["shape"] == "f32[784,512]{1,0}"
    assert "mul." in fusion["fused"]
    assert fusion["expression"].startswith(
        "%multiply_subtract_fusion.2 = f32[784,512]{1,0} fusion("
    )
    assert rows["dot.1"]["provenance"] == "jit(step)/transpose(jvp(l2))/transpose"
    assert rows["dot.1"]["occurrences"] == 20
    stats = {
        row["hlo_op_name"]: row
        for row in answers.rows(ask(shared_data / JAX, "hlo_stats")["hlo_stats"])
    }
    assert stats["dot.1"]["total_self_time"] == pytest.approx(rows["dot.1"]["time_s"] * 1e6)
    gemm = answers.rows(ask(shared_data / "public/jax_rocm_mi300_gemm", "hlo_stats")["hlo_stats"])[
        0
    ]
    assert gemm["source_info"].rpartition(":")[0].endswith(".py")


@pytest.mark.parametrize("name", list(GOLDEN))
def test_todays_converter_has_nothing_but_idle_for_these(name: str, shared_data: Path) -> None:
    golden = json.loads((shared_data / "golden" / name / "op_profile.json").read_text())[
        "byProgram"
    ]
    table = ask(shared_data / GOLDEN[name], "op_profile", "xprof")["by_program"]
    rows = answers.rows(table)
    if golden["name"] == "IDLE":
        assert [(row["name"], round(row["time_s"] * 1e12)) for row in rows] == [
            ("IDLE", golden["metrics"]["rawTime"])
        ]
    else:
        assert rows == []
    assert json.loads((shared_data / "golden" / name / "hlo_stats.json").read_text())["rows"] == []
    assert len(ask(shared_data / GOLDEN[name], "hlo_stats", "xprof")["hlo_stats"]) == 0


@pytest.mark.parametrize(
    ("dims", "order", "tiles", "width", "padded"),
    [
        ([10, 100], [1, 0], [[8, 128]], 4, 16 * 128 * 4),
        ([10, 100], [0, 1], [[8, 128]], 4, 104 * 128 * 4),
        ([3, 10, 100], [2, 1, 0], [[8, 128]], 2, 3 * 16 * 128 * 2),
        ([16, 128], [1, 0], [[8, 128], [2, 1]], 2, 16 * 128 * 2),
        ([10], [0], [], 4, None),
        ([10], [0], [[8, 128]], 4, None),
        ([10], [0], [[0]], 4, None),
        ([-1, 100], [1, 0], [[8, 128]], 4, None),
    ],
)
def test_what_tiles_make_of_a_shape(
    dims: list[int], order: list[int], tiles: list[list[int]], width: int, padded: int | None
) -> None:
    assert hlo._padded(dims, order, tiles, width) == padded


@pytest.mark.parametrize(
    ("opcode", "kind", "category"),
    [
        ("fusion", "kLoop", "loop fusion"),
        ("fusion", "", "fusion"),
        ("copy", "", "data formatting"),
        ("add", "", "non-fusion elementwise"),
        ("convolution", "", "convolution"),
        ("all-reduce", "", "all-reduce"),
    ],
)
def test_groups_of_ops(opcode: str, kind: str, category: str) -> None:
    assert hlo.category(opcode, kind) == category


def test_an_op_and_a_node_of_several_have_cards(devices: Path) -> None:
    table = ask(devices, "op_profile")["by_category"]
    names = [row["name"].strip() for row in answers.rows(table)]
    assert table.card is not None
    shown = {}
    for name in ("dot.2", "convolution", "IDLE"):
        card = table.card(names.index(name))
        assert card is not None
        assert card.title == name
        shown[name] = {fact.label: fact.text() for fact in card.facts}
    assert shown["convolution"] == {
        "time": "4 ms",
        "count": "2",
        "nodes below it": "1",
        "of all time": "20.0 %",
        "of the busy time": "33.3 %",
        "FLOP/s used": "20.0 %",
        "bandwidth used": "0.5 %",
    }
    assert shown["IDLE"] == {"time": "8 ms", "of all time": "40.0 %"}
    assert shown["dot.2"] == {
        "category": "convolution",
        "program": "(7)",
        "self time": "4 ms",
        "total time": "4 ms",
        "count": "2",
        "average": "2 ms",
        "of all time": "20.0 %",
        "of the busy time": "33.3 %",
        "FLOP/s used": "20.0 %",
        "bandwidth used": "0.5 %",
        "FLOPs": "8 GFLOP",
        "bytes": "2 MB",
        "rate": "2 TFLOP/s",
        "bandwidth": "500 MB/s",
        "energy": "1 J",
        "shape": "the profile holds no text of this op",
        "framework op": "net/dense/MatMul:MatMul",
        "source": "the program does not say",
        "expression": "the profile holds no text of this op",
    }


def test_a_card_says_that_nothing_ran_on_a_device_where_costs_are_known(shared_data: Path) -> None:
    folder = shared_data / "own" / "jax_cpu" / "plugins" / "profile" / "2026_11_21_00_50_50"
    table = registry.get("op_profile").answer(Question(opened(folder))).tables[0]
    assert table.card is not None
    cards = [table.card(row) for row in range(len(table))]
    reasons = {fact.why for card in cards if card for fact in card.facts if fact.id == "flops_use"}
    assert reasons == {"nothing ran on a device"}
