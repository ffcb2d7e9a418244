from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.plain import cell, plain, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\x9b31m", "\\x9b31m"),  # the 8-bit form of ESC [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("abc\u202edef", "abc\\u202edef"),  # right-to-left override
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\U000e0041", "\\U000e0041"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),  # not for a terminal to obey: left as it is
        ("gradient_tape/dense/MatMul:MatMul µ 漢", "gradient_tape/dense/MatMul:MatMul µ 漢"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),  # a file name that is no UTF-8
        ("\ud800", "\\ud800"),
    ],
)
def test_hostile_characters_become_visible(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = plain(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert plain(shown) == shown


@given(st.text(st.characters(), max_size=60), st.integers(0, 40))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    assert len(plain(text, limit)) <= limit
    if len(plain(text)) <= limit:
        assert plain(text, limit) == plain(text)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-2", "@SUM(A1)", "\t=1", " =1", "|calc", "\uff1d1"]
)
def test_a_cell_is_never_a_formula(text: str) -> None:
    assert not cell(text).lstrip().startswith(("=", "+", "-", "@", "|", "\uff1d"))
    assert plain(text) in cell(text)


def test_an_ordinary_cell_stays_as_it_is() -> None:
    assert cell("train 12") == "train 12"


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_terminal_cells(text: str, cells: int) -> None:
    assert width(text) == cells
