from __future__ import annotations

import math

import pytest

from powertui.data.formats import stat_columns


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("30", (30, 30.0)),
        ("-7", (-7, -7.0)),
        ("18446744073709551615", (-1, 18446744073709551615.0)),
        ("2.5", (0, 2.5)),
        ("4.0", (4, 4.0)),
        ("1e3", (1000, 1000.0)),
        ("train 30", None),
        ("", None),
        ("nan", None),
        ("x5", None),
        ("9" * 50, None),
        ("1e9999999", (0, math.inf)),
    ],
)
def test_numbers_in_text(text: str, found: tuple[int, float] | None) -> None:
    assert stat_columns.number(text) == found


def test_a_column_of_texts() -> None:
    column = stat_columns.from_texts(["3", None, "word"])
    assert column.present.tolist() == [True, False, True]
    assert column.ints.tolist() == [3, 0, 0]
    assert column.floats[0] == 3.0
    assert math.isnan(column.floats[1])
    assert math.isnan(column.floats[2])
    assert [column.text(i) for i in range(3)] == ["3", None, "word"]


def test_an_absent_stat_is_a_column_of_nothing() -> None:
    column = stat_columns.absent(4)
    assert len(column) == 4
    assert not column.present.any()
    assert column.text(0) is None
