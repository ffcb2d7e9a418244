"""Kernels of two makers: each row is the difference of TraceLens's rows for the two."""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import powertui
from powertui.comparison_view import ComparisonView

_PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "public"
_PAIRS = (
    ("kineto_h100_bert", "kineto_mi300_bert"),
    ("kineto_h100_qwen", "kineto_mi300_qwen"),
)
_NO_OPERATOR = "(no operator)"


@cache
def compared(a: str, b: str) -> ComparisonView:
    if not (_PUBLIC / a).is_dir():
        pytest.skip("needs the third-party recordings")
    return powertui.compare(_PUBLIC / a, _PUBLIC / b)


def tracelens(name: str, *, by_kernel: bool) -> dict[tuple[str, str], float]:
    """Seconds by (operator, kernel), or by (operator, ""), of one trace."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    with (_PUBLIC / name / "tracelens" / "kernel_summary.csv").open() as file:
        for row in csv.DictReader(file):
            operator = row["Parent cpu_op"] or _NO_OPERATOR
            key = (operator, row["Kernel name"] if by_kernel else "")
            sums[key] += float(row["Kernel duration (µs)_sum"]) * 1e-6
    return sums


@pytest.mark.parametrize("pair", _PAIRS)
@pytest.mark.parametrize("by_kernel", [False, True])
def test_every_row_is_the_difference_of_tracelens_rows(
    pair: tuple[str, str], by_kernel: bool
) -> None:
    document = compared(*pair).json
    family = "kernels" if by_kernel else "kernels by operator"
    theirs = [tracelens(name, by_kernel=by_kernel) for name in pair]

    def key(row: dict[str, str]) -> tuple[str, str]:
        return (row["within"], row["name"]) if by_kernel else (row["name"], "")

    def is_meant(row: dict[str, str]) -> bool:
        return row["family"] == family and row["unit"] == "s"

    matched = {key(row): row for row in document["figures"] if is_meant(row)}
    assert set(matched) == set(theirs[0]) & set(theirs[1])
    for name, row in matched.items():
        difference = theirs[1][name] - theirs[0][name]
        assert row["difference"] == pytest.approx(difference, rel=1e-6, abs=1e-12)
    for side, own, other in (("a", *theirs), ("b", *reversed(theirs))):
        unmatched = {
            key(row): row["value"]
            for row in document["unmatched"]
            if is_meant(row) and row["side"] == side
        }
        assert set(unmatched) == set(own) - set(other)
        for name, seconds in unmatched.items():
            assert seconds == pytest.approx(own[name], rel=1e-6)


def test_operators_match_where_kernels_do_not() -> None:
    assert len(ours("operators by their kernels", "s")) == 20  # of 21
    assert len({name for _, name in _common_kernels()}) == 12  # of 80 names


def test_all_kernel_time_is_in_matched_and_unmatched_rows() -> None:
    for pair in _PAIRS:
        document = compared(*pair).json
        for family in ("kernels", "kernels by operator"):
            rows, rest = (
                [row for row in document[key] if row["family"] == family and row["unit"] == "s"]
                for key in ("figures", "unmatched")
            )
            for side, name in zip("ab", pair, strict=True):
                total = sum(row[side] for row in rows)
                total += sum(row["value"] for row in rest if row["side"] == side)
                theirs = sum(tracelens(name, by_kernel=False).values())
                assert total == pytest.approx(theirs, rel=1e-9)


def reference(name: str) -> list[dict[str, str]]:
    """TraceLens's own comparison of the two traces."""
    path = _PUBLIC / "kineto_compare_qwen_h100_mi300" / "tracelens" / f"{name}.csv"
    if not path.is_file():
        pytest.skip("needs the third-party recordings")
    with path.open() as file:
        return list(csv.DictReader(file))


def ours(family: str, unit: str) -> dict[str, dict[str, float]]:
    rows = compared(*_PAIRS[1]).json["figures"]
    return {row["name"]: row for row in rows if row["family"] == family and row["unit"] == unit}


def _common_kernels() -> dict[tuple[str, str], dict[str, float]]:
    """Kernels by (operator, name) that ran on both sides."""
    return {
        (row["within"], row["name"]): row
        for row in compared(*_PAIRS[1]).json["figures"]
        if row["family"] == "kernels" and row["unit"] == "s"
    }


def test_the_time_of_the_devices_is_that_of_tracelens_comparison() -> None:
    mine = ours("time of the devices", "s")
    theirs = reference("gpu_timeline")
    assert set(mine) == {row["type"] for row in theirs}
    for row in theirs:
        difference = float(row["time ms__mi300_diff"]) * 1e-3
        # TraceLens rounds each time to 2⁻¹¹ µs on its way: docs/KINETO.md, §4
        assert mine[row["type"]]["difference"] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_operators_are_those_of_tracelens_comparison() -> None:
    seconds, launches = (ours("operators by their kernels", unit) for unit in ("s", "launches"))
    unmatched = {row["name"] for row in compared(*_PAIRS[1]).json["unmatched"]}
    for row in reference("ops_summary"):
        name, difference_ms = row["name"], row["total_direct_kernel_time_ms__mi300_diff"]
        if not difference_ms:
            assert name in unmatched
            continue
        # Each of the calls may be off by half of TraceLens's rounding.
        slack = float(row["h100::Count"]) * 0.5e-9
        assert seconds[name]["difference"] == pytest.approx(float(difference_ms) * 1e-3, abs=slack)
        assert launches[name]["difference"] == float(row["Count__mi300_diff"])


def test_kernels_of_both_makers_are_those_of_tracelens_comparison() -> None:
    own = compared(*_PAIRS[1]).json
    rows = [*own["figures"], *own["unmatched"]]
    names = {row["name"] for row in rows if row["family"] == "kernels"}
    assert names == {row["Kernel name"] for row in reference("kernel_summary")}
    # TraceLens joins by name alone: a row of one operator on both sides is the row of ours.
    mine = _common_kernels()
    looked_at = 0
    for row in reference("kernel_summary"):
        operators = row["h100::Parent cpu_op"], row["mi300::Parent cpu_op"]
        if not row["Kernel duration (µs)_sum__mi300_diff"] or len(set(operators)) > 1:
            continue
        looked_at += 1
        found = mine[operators[0] or _NO_OPERATOR, row["Kernel name"]]
        difference = float(row["Kernel duration (µs)_sum__mi300_diff"]) * 1e-6
        assert found["difference"] == pytest.approx(difference, rel=1e-6, abs=1e-12)
    assert looked_at >= 10
