"""Small rules that a person reads, each at the value where it changes."""

from __future__ import annotations

import pytest

from powertui.data.conclusions import words
from powertui.data.export import openmetrics
from powertui.data.gate.limits_asked import fixed_limit
from powertui.data.run.rank_collectives import rank_calls
from powertui.plain import plain


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("2s", 2.0), ("2ms", 0.002), ("2us", 2e-6), ("2µs", 2e-6), ("2ns", 2e-9)],
)
def test_a_limit_in_each_unit_of_time_is_in_seconds(written: str, seconds: float) -> None:
    limit = fixed_limit(f"step_s={written}", is_least=False)
    assert limit.value == pytest.approx(seconds)


def test_a_share_gets_a_digit_behind_its_point_below_ten_percent() -> None:
    assert words.percent(0.0949) == "9.5 %"
    assert words.percent(0.1049) == "10 %"
    assert words.percent(0.0994) == "9.9 %"


def test_three_channels_that_are_equal_when_cut_count_up() -> None:
    name = "x" * 500
    first, second, third = openmetrics._told_apart([name, name, name])
    assert second == f"{first} (2)"
    assert third == f"{first} (3)"


def test_only_a_byte_of_a_file_name_is_shown_as_a_byte() -> None:
    assert plain("\udcff") == "\\xff"
    assert plain("\udd00") == "\\udd00"


def test_a_run_without_a_trace_has_no_collectives() -> None:
    assert list(rank_calls([])) == []
