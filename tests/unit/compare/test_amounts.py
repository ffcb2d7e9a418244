"""Differences as a person reads them."""

from __future__ import annotations

import pytest

from powertui.data.compare.amounts import (
    is_listed,
    name_in_sentence,
    row_names,
    signed,
    signed_percent,
    unmatched_names,
)
from powertui.data.compare.figure import Basis, ComparedFigure, Family, FigureVerdict, Judgement
from powertui.data.compare.kernel_figures import LAUNCHES
from powertui.value_types import dataclass

_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::"
ADD = f"{_ELEMENTWISE}CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::x)"
ADD_IN_B = f"{_ELEMENTWISE}CUDAFunctor_add<c10::BFloat16>, char*>(int, at::x)"
MUL = f"{_ELEMENTWISE}BinaryFunctor<c10::BFloat16, binary_internal::MulFunctor<float> > >(int)"


@dataclass(frozen=True)
class Row:
    """What a table has a line for."""

    name: str
    name_b: str = ""
    within: str = ""


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.0031, "s", "+3.1 ms"),
        (-0.0031, "s", "-3.1 ms"),
        (5e-10, "s", "+500 ps"),  # the least that is no rounding
        (4e-10, "s", "0 s"),
        (0.0, "s", "0 s"),
        (0.0, "launches", "0 launches"),
        (2.0, "launches", "+2 launches"),
        (None, "s", ""),
    ],
)
def test_a_difference_has_a_sign_where_it_is_more_than_rounding(
    value: float | None, unit: str, words: str
) -> None:
    assert signed(value, unit) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "+0"),
        (7e-8, "+0"),
        (-1.2e-7, "+0"),
        (0.0312, "+3.12"),
        (-0.5, "-50"),
        (23.04, "+2,304"),
    ],
)
def test_a_share_is_neither_rounding_nor_a_power_of_ten(share: float, words: str) -> None:
    assert signed_percent(share) == words


def test_kernels_whose_names_begin_alike_are_told_apart_in_words() -> None:
    rows = [Row(ADD, ADD_IN_B), Row(MUL, "attn_fwd"), Row("dot.1")]
    assert row_names(rows) == [
        "add bf16 vectorized",
        "Mul bf16 vectorized (attn_fwd in B)",
        "dot.1",
    ]


def test_names_that_fit_stay_as_they_are() -> None:
    assert row_names([Row("MatMul", "BatchMatMulWithBias"), Row("dot.1")]) == [
        "MatMul (BatchMatMulWithBias in B)",
        "dot.1",
    ]


def test_one_kernel_below_two_operators_is_told_apart_by_the_operator() -> None:
    rows = [
        Row(ADD, within="aten::add"),
        Row(ADD, within="aten::sum"),
        Row(MUL, within="aten::mul"),
    ]
    shown = ["add bf16 vectorized · aten::add", "add bf16 vectorized · aten::sum"]
    assert row_names(rows) == [*shown, "Mul bf16 vectorized"]
    assert unmatched_names(rows) == [*shown, "Mul bf16 vectorized"]


def test_a_name_that_is_cut_keeps_its_end() -> None:
    start = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize"
    shown = unmatched_names([Row(f"{start}128x128"), Row(f"{start}256x128")])
    assert [name[-7:] for name in shown] == ["128x128", "256x128"]
    assert {len(name) for name in shown} == {48}


def test_a_sentence_names_a_kernel_in_words() -> None:
    assert name_in_sentence(ADD, ADD_IN_B, 60) == "add bf16 vectorized"
    assert name_in_sentence(ADD, "attn_fwd", 60) == "add bf16 vectorized (attn_fwd in B)"
    assert name_in_sentence("dot.3", "dot.5", 60) == "dot.3 (dot.5 in B)"


def test_of_nothing_on_either_side_there_is_no_row() -> None:
    judgement = Judgement(FigureVerdict.CANNOT_TELL, Basis.NONE)
    for a, b, unit, is_meant in (
        (0.0, 0.0, "s", False),
        (0.0, 3e-10, "s", False),  # the rounding of the files
        (0.0, 1e-9, "s", True),
        (0.0, 0.0, "B", False),
        (0.0, 8.0, "B", True),
        (5.0, 5.0, LAUNCHES, False),  # for programs alone
    ):
        row = ComparedFigure(Family.CATEGORY, "Between steps", unit, a, b, judgement)
        assert is_listed(row) == is_meant, (a, b, unit)
