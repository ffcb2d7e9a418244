"""Times as text and text as times."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui import units
from powertui.data.columns import shown


@pytest.mark.parametrize(
    ("ps", "text"),
    [
        (0, "0 s"),
        (1, "1 ps"),
        (1_234, "1.234 ns"),
        (999_960, "1 µs"),
        (999_949, "999.9 ns"),
        (28_780_000_000_000, "28.78 s"),
        (121_800_000_000, "121.8 ms"),
        (200_000_000_000_000, "3 min 20 s"),
        (10**17, "27 h 47 min"),
        (-1_500, "-1.5 ns"),
        (119_999_999_999_999, "120 s"),
    ],
)
def test_durations(ps: int, text: str) -> None:
    assert units.duration(ps) == text


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("27.31s", 27_310_000_000_000),
        ("350ms", 350_000_000_000),
        ("12us", 12_000_000),
        ("12 µs", 12_000_000),
        ("90", 90 * 10**12),
        ("1:02.5", 62_500_000_000_000),
        ("1:00:00", 3600 * 10**12),
        (".5ms", 500_000_000),
        ("-2ns", -2000),
        ("3m", 180 * 10**12),
        ("7ps", 7),
        ("", None),
        ("s", None),
        ("1e3s", None),
        ("12 potatoes", None),
    ],
)
def test_times_are_read(text: str, ps: int | None) -> None:
    assert units.parse_time(text) == ps


@given(st.integers(0, 10**17), st.integers(0, 12))
def test_neighbouring_marks_never_read_the_same(start: int, exponent: int) -> None:
    grid = 10**exponent
    first = start // grid * grid
    texts = [units.instant(first + i * grid, grid) for i in range(3)]
    assert len(set(texts)) == 3
    assert [units.parse_time(text) for text in texts] == [first + i * grid for i in range(3)]


@given(st.integers(-(10**18), 10**18), st.integers(0, 12))
def test_fixed_rounds_to_the_nearest(value: int, decimals: int) -> None:
    shown = units.fixed(value, 10**12, decimals)
    digits = int(shown.replace(".", "").replace("-", ""))
    assert abs(digits * 10 ** (12 - decimals) - abs(value)) * 2 <= 10 ** (12 - decimals)
    assert shown.startswith("-") == (value < 0 and digits > 0)


def test_figures_of_an_instant_follow_a_length() -> None:
    assert units.resolution(121_800_000_000) == 100_000_000
    assert units.instant(3_432_156_838_000, units.resolution(121_800_000_000)) == "3.4322s"
    assert units.resolution(0) == 1


def test_one_of_many_below_each_other_keeps_its_last_zeros() -> None:
    assert units.duration(48_200_000_000) == "48.2 ms"
    assert units.duration(48_200_000_000, padded=True) == "48.20 ms"
    assert units.duration(-48_200_000_000, padded=True) == "-48.20 ms"
    assert units.duration(0, padded=True) == "0 s"
    assert units.duration(999_999_600_000, padded=True) == "1.000 s"
    assert units.quantity(9.5, "J", padded=True) == "9.500 J"
    assert units.quantity(855.0, "J", padded=True) == "855.0 J"
    assert units.quantity(2_617.0, "J", padded=True) == "2,617 J"
    assert units.quantity(0.0, "J", padded=True) == "0 J"
    assert shown(208.0, "number", "W", padded=True) == "208 W", "a sensor may show whole watts"


def test_a_unit_with_a_prefix_of_its_own_is_shown_with_the_right_one() -> None:
    assert units.quantity(1307.0, "TFLOP/s") == "1.307 PFLOP/s"
    assert units.quantity(899_800.0, "GFLOP/s") == "899.8 TFLOP/s"
    assert units.quantity(0.25, "GFLOP/s") == "250 MFLOP/s"
    assert units.quantity(1536.0, "GiB/s") == "1.5 TiB/s"
    assert units.quantity(0.5, "GiB/s") == "512 MiB/s"
    assert units.quantity(0.0, "GiB/s") == "0 B/s"
    assert units.quantity(math.nan, "GiB/s") == "– B/s"


def test_counts_and_quantities() -> None:
    assert units.count(12_345) == "12,345"
    assert units.count(11_350_000) == "11.4 M"
    assert units.quantity(245.34, "W") == "245.3 W"
    assert units.quantity(1234.0, "J") == "1,234 J"
    assert units.quantity(0.0, "J") == "0 J"
    assert units.quantity(math.nan, "W") == "– W"
    assert units.quantity(math.nan, "J") == "– J"
    assert units.quantity(0.0123, "J") == "12.3 mJ"


@pytest.mark.parametrize(
    ("joules", "lo", "hi", "words"),
    [
        (9_658.2, 9_640.0, 9_676.4, "9,658 J ± 18"),
        (13_190.0, 13_184.0, 13_196.0, "13.19 kJ ± 6.0 J"),
        (7_734.0, 7_700.0, 7_854.0, "7,734 J ± 120"),  # the wider side
        (0.0235, 0.0230, 0.0240, "23.50 mJ ± 0.50"),
        (12.0, 0.0, 36.0, "≤ 36 J"),
        (1_234_500.0, 1_233_300.0, 1_235_700.0, "1,234 kJ ± 1,200 J"),
        (500.0, 500.0, 500.0, "500.0 J"),
        (0.0, 0.0, 0.0, "0 J"),
    ],
)
def test_an_energy_and_its_interval_have_one_form(joules, lo, hi, words) -> None:
    assert units.energy_interval(joules, lo, hi) == words


@pytest.mark.parametrize(
    ("delta", "unit", "text"),
    [
        (59.6, "W", "+60 W"),
        (-3479.2, "J", "-3,479 J"),
        (124.0, "J", "+124 J"),
        (12_430.0, "J", "+12.4 kJ"),
        (361754.0, "J", "+362 kJ"),
        (-12_345_678.0, "J", "-12.3 MJ"),
    ],
)
def test_a_difference_has_a_sign_and_no_more_than_four_digits(
    delta: float, unit: str, text: str
) -> None:
    assert units.difference(delta, unit) == text


@pytest.mark.parametrize(
    ("joules", "half", "unit", "words"),
    [
        (5366.0, 21.0, "MJ", "0.005366 MJ ± 0.000021"),
        (5366.0, 21.0, "kWh", "0.001491 kWh ± 0.0058 Wh"),
        (23.08, 0.09, "MJ", "0.00002308 MJ ± 0.00000009"),
        (23.08, 0.09, "Wh", "0.006411 Wh ± 0.000025"),
    ],
)
def test_a_unit_that_a_person_asked_for_keeps_four_digits(
    joules: float, half: float, unit: str, words: str
) -> None:
    assert units.energy_interval(joules, joules - half, joules + half, unit) == words


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert units.percent(-0.0004) == "0 %"
    assert units.percent(-0.004, 1) == "-0.4 %"
    assert units.zero_without_sign("-0.0") == "0.0"
    assert units.zero_without_sign("+0") == "0"
    assert units.zero_without_sign("-0.1") == "-0.1"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0123456, "0.01235"),
        (999.96, "1,000"),
        (1234.4, "1,234"),
        (10_000, "10,000"),
        (123_456, "123,500"),
        (-20_000, "-20,000"),
        (12_345_678, "1.235e+07"),
        (float("nan"), "nan"),
        (0, "0"),
    ],
)
def test_a_number_without_a_unit_has_commas_and_no_power_of_ten_below_a_million(
    value: float, words: str
) -> None:
    assert units.number(value) == words
