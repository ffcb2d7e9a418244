"""Limits and tolerances as people write them, and as they miswrite them."""

from __future__ import annotations

import pytest

from powertui.data.gate.limits_asked import fixed_limit, tolerances
from powertui.data.gate.quantities import LISTED
from powertui.errors import UsageError


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("J/step=24", "J/step", 24.0),
        ("J/step = 1.2kJ", "J/step", 1200.0),
        ("step_s=50ms", "step_s", 0.05),
        ("step_s=5e-2", "step_s", 0.05),
        ("steps/s=20", "steps/s", 20.0),
        ("input_share=5%", "input_share", 0.05),
        ("memory_B=8GiB", "memory_B", 8.0 * 2**30),
        ("op:a=b=0.5", "op:a=b", 0.5),  # names may hold an equals sign
        ("op:aten::mm=10us", "op:aten::mm", 1e-5),
        ("W=-1", "W", -1.0),
    ],
)
def test_a_limit(words: str, name: str, value: float) -> None:
    limit = fixed_limit(words, is_least=False)
    assert limit.quantity.name == name
    assert limit.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("J/step", "--max J/step: is not a quantity and a number."),
        ("=24", "There is no quantity ''."),
        ("joules=24", "There is no quantity 'joules'."),
        ("step=24", "There is no quantity 'step'. Did you mean step_s?"),
        ("op:=24", "There is no quantity 'op:'."),
        ("step_s=fast", "--max step_s=fast: 'fast' is not a number of s (or with its unit)."),
        ("step_s=nan", "--max step_s=nan: 'nan' is not a number of s (or with its unit)."),
        ("step_s=1e999", "--max step_s=1e999: '1e999' is not a number of s (or with its unit)."),
        ("step_s=5W", "--max step_s=5W: '5W' is not a number of s (or with its unit)."),
        ("step_s=٥", "--max step_s=٥: '٥' is not a number of s (or with its unit)."),
    ],
)
def test_what_is_no_limit_is_refused_with_the_list(words: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        fixed_limit(words, is_least=False)
    assert refused.value.message == sentence
    assert LISTED in refused.value.hint


def test_the_tolerance_is_of_the_usual_quantities_or_of_one() -> None:
    def asked(
        *words: str, measured: tuple[str, ...] = ("step_s", "W", "J/step")
    ) -> list[tuple[str, float]]:
        return [(row.quantity.name, row.share) for row in tolerances(words, measured)]

    usual = [("step_median_s", 0.03), ("W", 0.03), ("step_s", 0.03), ("J/step", 0.03)]
    assert asked("3%") == usual
    assert asked("3 %") == usual
    assert [share for _, share in asked()] == [0.05] * 4
    assert asked("3%", measured=("step_s",)) == [("step_median_s", 0.03), ("step_s", 0.03)]
    assert asked("J/step=5%") == [("J/step", 0.05)]
    assert asked("3%", "step_s=2%", "op:a=b=1%") == [
        ("step_median_s", 0.03),
        ("W", 0.03),
        ("J/step", 0.03),
        ("step_s", 0.02),
        ("op:a=b", 0.01),
    ]


@pytest.mark.parametrize(
    "words", ["3", "0.03", "%", "-1%", "1e9%", "nan%", "three%", "3%%", "J/step=3", "what=3%"]
)
def test_what_is_no_tolerance_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        tolerances([words], ())


def test_a_tolerance_is_given_once() -> None:
    with pytest.raises(UsageError, match="twice for the usual quantities"):
        tolerances(["3%", "4%"], ())
