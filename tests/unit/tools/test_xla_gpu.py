"""XLA's ops on real GPUs (MI300): what the converter of 2026 (xprof 2.24.2) answers for the same
two profiles, row by row.

Its answers were made on 2026-11-22, those by XLA's cost analysis on 2026-11-28; times in ns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data.asked import COMPAT, Compat
from powertui.data.tools import device_facts, registry, tensor_cores, top_ops
from powertui.data.tools.registry import Question
from tests import answers
from tests.unit.tools.opened_runs import opened

CONV = "jit(forward_3d_conv)/jit(main)/conv_general_dilated"
# (program, op): category, framework op, runs, time, share of the devices' time in percent
HLO: dict[str, dict[tuple[str, str], tuple[str, str, int, int, float]]] = {
    "jax_rocm_mi300_gemm": {
        ("49", "custom-call.1"): ("custom-call", "jit(dot)/dot_general", 3, 1833003, 19.384115),
        ("79", "custom-call.1"): ("custom-call", "jit(dot)/dot_general", 3, 552961, 5.847595),
        ("34", "custom-call.1"): ("custom-call", "jit(dot)/dot_general", 3, 449280, 4.751163),
        ("64", "custom-call.1"): ("custom-call", "jit(dot)/dot_general", 3, 352280, 3.725382),
        ("21", "custom-call.1"): ("custom-call", "jit(dot)/dot_general", 3, 31360, 0.331634),
        ("32", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            2,
            29600,
            0.313022,
        ),
        ("1", "copy.1"): ("data formatting", "", 12, 27640, 0.292295),
        ("45", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            23160,
            0.244918,
        ),
        ("47", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            22920,
            0.242380,
        ),
        ("60", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            16160,
            0.170893,
        ),
        ("62", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            15440,
            0.163279,
        ),
        ("5", "gemm_fusion_dot_general.1"): (
            "custom fusion",
            "jit(dot)/dot_general",
            3,
            15000,
            0.158626,
        ),
        ("75", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            13800,
            0.145936,
        ),
        ("3", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            2,
            11080,
            0.117172,
        ),
        ("19", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            2,
            11000,
            0.116326,
        ),
        ("77", "wrapped_broadcast"): (
            "loop fusion",
            "jit(broadcast_in_dim)/broadcast_in_dim",
            1,
            10560,
            0.111673,
        ),
    },
    "jax_rocm_mi300_conv_legacy": {
        ("15", "input_transpose_fusion"): ("input fusion", CONV, 5, 1950960, 4.471702),
        ("15", "cudnn-conv.1.0"): ("custom-call", CONV, 10, 1539832, 3.529375),
        ("15", "input_transpose_fusion.1"): ("input fusion", "x", 5, 69261, 0.158750),
        ("15", "loop_transpose_fusion"): ("loop fusion", "kernel", 5, 26440, 0.060602),
    },
}
# (side, op): type, runs, time, share of its side
OPS: dict[str, dict[tuple[str, str], tuple[str, int, int, float]]] = {
    "jax_rocm_mi300_gemm": {
        ("Device", "IDLE"): ("IDLE", 0, 6040968, 0.63883593),
        ("Device", "jit(dot)/dot_general"): ("dot_general", 3, 3233884, 0.34198514),
        ("Device", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            "broadcast_in_dim",
            2,
            153720,
            0.01625598,
        ),
        ("Device", "copy.1"): ("Unknown", 12, 27640, 0.00292295),
        ("Host", "IDLE"): ("IDLE", 0, 8651953, 0.94601497),
        ("Host", "XlaModule"): ("XlaModule", 42, 493730, 0.05398503),
    },
    "jax_rocm_mi300_conv_legacy": {
        ("Device", "IDLE"): ("IDLE", 0, 40042536, 0.91779572),
        ("Device", CONV): ("conv_general_dilated", 10, 3490792, 0.08001077),
        ("Device", "x"): ("x", 5, 69261, 0.00158750),
        ("Device", "kernel"): ("kernel", 5, 26440, 0.00060602),
        ("Host", "IDLE"): ("IDLE", 0, 286130868, 1.00000000),
    },
}
# (the kernel's name's beginning, grid, op): runs, total, shortest, longest
KERNELS: dict[str, dict[tuple[str, str, str], tuple[int, int, int, int]]] = {
    "jax_rocm_mi300_gemm": {
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "32,37,1", "jit(dot)/dot_general"): (
            3,
            1833003,
            573401,
            672121,
        ),
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "16,128,1", "jit(dot)/dot_general"): (
            3,
            552961,
            183801,
            184880,
        ),
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "16,18,1", "jit(dot)/dot_general"): (
            3,
            449280,
            147040,
            154160,
        ),
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "16,16,1", "jit(dot)/dot_general"): (
            3,
            352280,
            106760,
            133480,
        ),
        ("__amd_rocclr_copyBuffer.", "1,1,1", ""): (24, 87880, 1920, 8680),
        ("wrapped_broadcast.kd", "16384,1,1", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            5,
            75000,
            13800,
            16160,
        ),
        ("wrapped_broadcast.kd", "32768,1,1", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            2,
            46080,
            22920,
            23160,
        ),
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "8,32,1", "jit(dot)/dot_general"): (3, 31360, 9280, 12440),
        ("gemm_fusion_dot_general_", "256,1,1", "jit(dot)/dot_general"): (3, 15000, 4640, 5480),
        ("wrapped_broadcast.kd", "256,1,1", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            2,
            11080,
            5240,
            5840,
        ),
        ("wrapped_broadcast.kd", "1024,1,1", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            2,
            11000,
            5120,
            5880,
        ),
        ("wrapped_broadcast.kd", "4096,1,1", "jit(broadcast_in_dim)/broadcast_in_dim"): (
            1,
            10560,
            10560,
            10560,
        ),
    },
    "jax_rocm_mi300_conv_legacy": {
        ("input_transpose_fusion", "69840,1,1", CONV): (5, 1950960, 366060, 475582),
        ("Cijk_Ailk_Bljk_BBS_BH_MT", "219,40,1", CONV): (5, 1458753, 288466, 293593),
        ("Im3d2Col", "1024,1,1", CONV): (5, 81079, 16104, 16424),
        ("input_transpose_fusion_1", "6240,1,1", "x"): (5, 69261, 6329, 42983),
        ("loop_transpose_fusion", "1280,1,1", "kernel"): (5, 26440, 4727, 6890),
    },
}
# by_program: program, IDLE: time
PROGRAMS: dict[str, dict[str, int]] = {
    "jax_rocm_mi300_gemm": {
        "IDLE": 6040968,
        "jit_dot(49)": 1833003,
        "jit_dot(79)": 552961,
        "jit_dot(34)": 449280,
        "jit_dot(64)": 352280,
        "jit_dot(21)": 31360,
        "jit_broadcast_in_dim(32)": 29600,
        "jit_convert_element_type(1)": 27640,
        "jit_broadcast_in_dim(45)": 23160,
        "jit_broadcast_in_dim(47)": 22920,
        "jit_broadcast_in_dim(60)": 16160,
        "jit_broadcast_in_dim(62)": 15440,
        "jit_dot(5)": 15000,
        "jit_broadcast_in_dim(75)": 13800,
        "jit_broadcast_in_dim(3)": 11080,
        "jit_broadcast_in_dim(19)": 11000,
        "jit_broadcast_in_dim(77)": 10560,
    },
    "jax_rocm_mi300_conv_legacy": {
        "IDLE": 40042536,
        "jit_forward_3d_conv(15)": 3586493,
    },
}


def _rows(shared_data: Path, run: str, tool: str, table: int = 0) -> list[dict[str, Any]]:
    result = registry.get(tool).answer(
        Question(opened(shared_data / "public" / run), compat="xprof")
    )
    return answers.rows(result.tables[table])


@pytest.mark.parametrize("run", HLO)
def test_hlo_ops(shared_data: Path, run: str) -> None:
    found = {
        (row["program_id"], row["hlo_op_name"]): (
            row["category"],
            row["tf_op_name"] or "",
            row["occurrences"],
            round(1000 * row["total_self_time"]),
            pytest.approx(row["total_self_time_percent"], abs=1e-6),
        )
        for row in _rows(shared_data, run, "hlo_stats")
    }
    assert found == HLO[run]


# (program, op): FLOP/s in G, bandwidth in GiB/s, FLOP a byte, "bound by" as the converter has them.
# In `jax_rocm_mi300_gemm` it knows no cost of cuBLAS' products.
COSTS: dict[str, dict[tuple[str, str], tuple[float, float, float, str]]] = {
    "jax_rocm_mi300_gemm": {
        ("32", "wrapped_broadcast"): (0, 2111.4864864864862, 0, "HBM"),
        ("1", "copy.1"): (0, 0.0016173474522989497, 0, "HBM"),
        ("45", "wrapped_broadcast"): (0, 2698.6183074265973, 0, "HBM"),
        ("47", "wrapped_broadcast"): (0, 2726.876090750436, 0, "HBM"),
        ("60", "wrapped_broadcast"): (0, 1933.7871287128712, 0, "HBM"),
        ("62", "wrapped_broadcast"): (0, 2023.963730569948, 0, "HBM"),
        ("5", "gemm_fusion_dot_general.1"): (
            6710.8864,
            73.24218749999999,
            85.33333333333333,
            "HBM",
        ),
        ("75", "wrapped_broadcast"): (0, 2264.492753623188, 0, "HBM"),
        ("3", "wrapped_broadcast"): (0, 22.034688654359066, 0, "HBM"),
        ("19", "wrapped_broadcast"): (0, 355.11397502639073, 0, "HBM"),
        ("77", "wrapped_broadcast"): (0, 739.820252144427, 0, "HBM"),
    },
    "jax_rocm_mi300_conv_legacy": {
        ("15", "input_transpose_fusion"): (0, 2730.663604742585, 0, "HBM"),
        ("15", "input_transpose_fusion.1"): (0, 859.2032650950752, 0, "HBM"),
        ("15", "loop_transpose_fusion"): (0, 230.84401002269288, 0, "HBM"),
    },
}
# Of the convolution the converter bounds by a part of its bytes, whose rule is not known here.
CONVOLUTION = (212461.9516934315, 3502.3484765074004, 56.49655172413793)
# By node of op_profile: the part of the peak FLOP/s and of the memory's bandwidth, at most 1
USE: dict[str, dict[str, tuple[float, float]]] = {
    "jax_rocm_mi300_gemm": {
        "wrapped_broadcast (jit_broadcast_in_dim(32))": (0, 0.8515593023161382),
        "loop fusion": (0, 0.7692708606995236),
    },
    "jax_rocm_mi300_conv_legacy": {
        "input_transpose_fusion": (0, 1),
        "input_transpose_fusion.1": (0, 0.34651535496166674),
    },
}


def _costs(shared_data: Path, run: str, compat: str) -> dict[tuple[str, str], dict[str, Any]]:
    asked = opened(shared_data / "public" / run)
    stats = registry.get("hlo_stats").answer(Question(asked, compat=compat))  # type: ignore[arg-type]
    rows = answers.rows(stats["hlo_stats"])
    return {(row["program_id"], row["hlo_op_name"]): row for row in rows}


@pytest.mark.parametrize("run", COSTS)
def test_costs_are_those_of_the_converter(shared_data: Path, run: str) -> None:
    names = ("normalized_flop_rate", "measured_memory_bw", "operational_intensity", "bound_by")
    rows = _costs(shared_data, run, "xprof")
    for key, expected in COSTS[run].items():
        found = tuple(rows[key][name] for name in names)
        assert found == (*(pytest.approx(value, rel=1e-6) for value in expected[:3]), "HBM"), key
    if run == "jax_rocm_mi300_conv_legacy":
        conv = rows["15", "cudnn-conv.1.0"]
        assert tuple(conv[name] for name in names[:3]) == pytest.approx(CONVOLUTION)


def test_a_convolution_of_two_kernels_ran_once_for_both(shared_data: Path) -> None:
    """To the converter each kernel is a run, which doubles the FLOP/s of this convolution."""
    conv = _costs(shared_data, "jax_rocm_mi300_conv_legacy", "corrected")["15", "cudnn-conv.1.0"]
    assert conv["occurrences"] == 10
    assert conv["normalized_flop_rate"] == pytest.approx(CONVOLUTION[0] / 2)


def test_products_of_a_library_are_counted_from_the_program(shared_data: Path) -> None:
    rows = _costs(shared_data, "jax_rocm_mi300_gemm", "corrected")
    flops = 3 * 2 * 8192 * 8192 * 4096
    gemm = rows["49", "custom-call.1"]
    assert gemm["normalized_flop_rate"] == pytest.approx(flops / 1833003)
    assert gemm["bound_by"] == "Compute"


@pytest.mark.parametrize("run", COSTS)
def test_use_of_the_device_is_that_of_the_converter(shared_data: Path, run: str) -> None:
    rows = {row["name"].strip(): row for row in _rows(shared_data, run, "op_profile")}
    for name, expected in USE[run].items():
        use = (rows[name]["flops_utilization"], rows[name]["hbm_utilization"])
        assert use == pytest.approx(expected), name


def test_use_of_the_device_is_a_lower_bound_where_work_is_of_no_known_op(
    shared_data: Path,
) -> None:
    """What the ops of `hlo_stats` compute and move, over the whole time, against the peaks."""
    run = "jax_rocm_mi300_gemm"
    asked = opened(shared_data / "public" / run)
    overview = registry.get("overview_page").answer(Question(asked))
    facts = {fact.id: fact.value for fact in overview.facts}
    assert not {"flops_utilization", "hbm_utilization", "roofline_utilization"} & facts.keys()
    rows = _costs(shared_data, run, "corrected").values()
    flops = sum(row["normalized_flop_rate"] * 1e9 * row["total_self_time"] / 1e6 for row in rows)
    ops = top_ops.on_devices(asked.profiles[0], *Question(asked).window, "corrected")
    peak = device_facts.device_facts(asked.profiles[0].trace)[0].peak_flops
    assert peak is not None
    expected = flops / (ops.span / 1e12) / peak
    assert facts["flops_utilization_at_least"] == pytest.approx(expected, rel=1e-6)
    costed_ps = sum(row["total_self_time"] for row in rows) * 1e6
    assert facts["costed_share"] == pytest.approx(costed_ps / (ops.busy + ops.unnamed), rel=1e-6)
    assert facts["costed_share"] < 0.99


@pytest.mark.parametrize("run", OPS)
def test_framework_ops(shared_data: Path, run: str) -> None:
    found = {
        (row["host_or_device"], row["operation"]): (
            row["type"],
            row["occurrences"],
            round(1000 * row["total_self_time"]),
            pytest.approx(
                row[f"{row['host_or_device'].lower()}_total_self_time_percent"], abs=1e-8
            ),
        )
        for row in _rows(shared_data, run, "framework_op_stats")
        if row["operation"] != "(null)"
    }
    assert found == OPS[run]


@pytest.mark.parametrize("run", KERNELS)
def test_kernels(shared_data: Path, run: str) -> None:
    found = {
        (row["kernel_name"][:24], row["grid_dim"], row["op_name"] or ""): (
            row["occurrences"],
            *(round(1000 * row[f"{which}_duration_us"]) for which in ("total", "min", "max")),
        )
        for row in _rows(shared_data, run, "kernel_stats")
    }
    assert found == KERNELS[run]


@pytest.mark.parametrize("run", PROGRAMS)
def test_programs(shared_data: Path, run: str) -> None:
    rows = [row for row in _rows(shared_data, run, "op_profile", 1) if row["level"] == 0]
    assert {row["name"].strip(): round(row["time_s"] * 1e9) for row in rows} == PROGRAMS[run]


def test_an_op_without_one_of_the_framework_is_of_no_known_type(shared_data: Path) -> None:
    """In the overview's table, as the converter has it; `corrected` tells the HLO's category."""
    run = opened(shared_data / "public" / "jax_rocm_mi300_gemm")
    types = {}
    for compat in COMPAT:
        overview = registry.get("overview_page").answer(Question(run, compat=compat))
        rows = {row["operation"]: row for row in answers.rows(overview["top_ops"])}
        types[compat] = rows["copy.1"]["category"]
    assert types["xprof"] == "Unknown"
    assert types["corrected"] == "data formatting"


# What xprof 2.24.2 answers: GiB/s by all bytes and by those of the devices' memory, bound by.
RATES = {
    # A library's convolution has two results: of the memory only what it reads counts.
    ("jax_rocm_mi300_conv_legacy", "15", "cudnn-conv.1.0"): (
        3502.3484765074004,
        42.61035812267182,
        "Compute",
    ),
    # 64 MiB and a number of 4 bytes, added up in 32 bit and in whole numbers.
    ("jax_rocm_mi300_gemm", "32", "wrapped_broadcast"): (
        2111.4864864864862,
        2111.4866123408883,
        "HBM",
    ),
    # A product of a library: nothing is counted.
    ("jax_rocm_mi300_gemm", "49", "custom-call.1"): (None, None, None),
}


@pytest.mark.parametrize(("run", "program", "op"), sorted(RATES))
def test_costs_are_counted_as_the_converter_counts_them_where_its_answers_are_asked_for(
    shared_data: Path, run: str, program: str, op: str
) -> None:
    by_all, by_memory, bound = RATES[run, program, op]
    folder = shared_data / "public" / run

    def row(compat: Compat) -> dict[str, Any]:
        result = registry.get("hlo_stats").answer(Question(opened(folder), compat=compat))
        rows = answers.rows(result.tables[0])
        return next(r for r in rows if (r["program_id"], r["hlo_op_name"]) == (program, op))

    converter = row("xprof")
    assert converter["measured_memory_bw"] == pytest.approx(by_all, rel=1e-12)
    assert converter["hbm_bw"] == pytest.approx(by_memory, rel=1e-12)
    assert (converter["bound_by"] or None) == bound
    own = row("corrected")  # every byte counts, and all of them are the memory's
    assert own["measured_memory_bw"] == own["hbm_bw"] > 0


@pytest.mark.parametrize(
    ("kernel", "uses"),
    [
        ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN", True),
        ("Cijk_Ailk_Bljk_SB_MT128x64x8_SN_TT4_4", False),
        ("gemm_fusion_dot_general_1.kd", True),
        ("gemm_fusion_dot_general_1", False),  # Triton's on NVIDIA's devices: not known
        ("wrapped_broadcast.kd", False),
    ],
)
def test_kernels_of_amds_libraries_on_matrix_cores_are_known_by_their_names(
    kernel: str, uses: bool
) -> None:
    assert tensor_cores.used(kernel) is uses
