"""What kernels do, by names as the libraries write them.

`kernel_kinds.tsv` holds the names with their kinds, written down before any rule was asked: of the
eleven libraries those in the set "tuned" were looked at while the rules were made, "held" and then
"fresh" only afterwards (first hits: 264 of 285 and 59 of 71; what they showed is in the rules now).
The set "recorded" is of the profiles that tests read.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

from powertui.data import category

TABLE = Path(__file__).resolve().parents[1] / "data" / "kernel_kinds.tsv"
SOURCES = {
    "cuBLAS",
    "cuDNN",
    "CUTLASS",
    "Triton",
    "FlashAttention 2/3",
    "TensorRT-LLM",
    "NCCL",
    "RCCL",
    "hipBLASLt",
    "MIOpen",
    "XLA",
}
# Names in which no rule finds what they do, or the wrong word first.
MISSED = {
    ("_temperature_kernel", "other"),
    ("create_flashinfer_kv_indices_triton", "matmul"),
}


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_kernels_have_the_kind_of_their_work() -> None:
    wrong = set()
    for row in rows():
        kind = category.work_category(row["name"]).value
        if kind != row["kind"]:
            wrong.add((row["name"], kind))
    assert wrong == MISSED


def test_the_table_holds_every_library_and_every_kind_of_a_device() -> None:
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows():
        by_source[row["source"]][row["kind"]] += 1
    assert set(by_source) >= SOURCES
    kinds = set().union(*by_source.values())
    assert kinds >= {"matmul", "convolution", "elementwise", "reduction", "normalization"}
    assert kinds >= {"memory", "communication", "optimizer"}


def test_a_call_of_the_host_is_no_kernel() -> None:
    for name in ("cudaLaunchKernel", "KernelAndDeviceFunc::Run", "hipLaunchKernel"):
        assert category.work_category(name) is category.Category.RUNTIME
