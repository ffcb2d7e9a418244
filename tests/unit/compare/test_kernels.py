"""Kernels of two makers: each row is the difference of TraceLens's rows for the two."""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import powertui
from powertui.report.comparison_view import ComparisonView

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

    matched = {key(row): row for row in document["figures"] if row["family"] == family}
    assert set(matched) == set(theirs[0]) & set(theirs[1])
    for name, row in matched.items():
        difference = theirs[1][name] - theirs[0][name]
        assert row["difference"] == pytest.approx(difference, rel=1e-6, abs=1e-12)
    for side, own, other in (("a", *theirs), ("b", *reversed(theirs))):
        unmatched = {
            key(row): row["value"]
            for row in document["unmatched"]
            if row["family"] == family and row["side"] == side
        }
        assert set(unmatched) == set(own) - set(other)
        for name, seconds in unmatched.items():
            assert seconds == pytest.approx(own[name], rel=1e-6)


def test_operators_match_where_kernels_do_not() -> None:
    document = compared(*_PAIRS[1]).json
    operators = [row for row in document["figures"] if row["family"] == "kernels by operator"]
    kernels = [row for row in document["figures"] if row["family"] == "kernels"]
    assert len(operators) > len(kernels)


def test_all_kernel_time_is_in_matched_and_unmatched_rows() -> None:
    for pair in _PAIRS:
        document = compared(*pair).json
        for family in ("kernels", "kernels by operator"):
            rows = [row for row in document["figures"] if row["family"] == family]
            rest = [row for row in document["unmatched"] if row["family"] == family]
            for side, name in zip("ab", pair, strict=True):
                total = sum(row[side] for row in rows)
                total += sum(row["value"] for row in rest if row["side"] == side)
                theirs = sum(tracelens(name, by_kernel=False).values())
                assert total == pytest.approx(theirs, rel=1e-9)
