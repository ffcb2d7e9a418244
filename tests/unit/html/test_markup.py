"""What a page is made of: names stay text, and a file stays small enough to send."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.table import Chart, Series
from powertui.html import step_chart, svg_shapes, time_axis
from powertui.html.document import MAX_BYTES, Block, document, fitting
from powertui.html.markup import element, text
from powertui.html.note_list import ShownNote, note_list
from tests.unit.html.pages import PageReader, check_safe


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('"onload=x', "&quot;onload=x"),
        ("]]>", "]]&gt;"),
        ("a\u202eb", "a\\u202eb"),
        ("a\0b\x1b[31m", "a\\x00b\\x1b[31m"),
        ("\ufdd0\uffff\U0001fffe\ud800", "\\ufdd0\\uffff\\u1fffe\\ud800"),
    ],
)
def test_a_name_is_text(name: str, shown: str) -> None:
    assert text(name) == shown


@given(st.text(), st.text())
def test_whatever_a_name_holds_it_makes_no_element(name: str, attribute: str) -> None:
    made = PageReader(element("p", name, title=attribute))
    assert made.tags == ["p"]
    assert [key for key, _ in made.attributes] == ["title"]


def test_what_is_markup_already_is_not_escaped_twice() -> None:
    assert element("p", element("b", "a & b"), None) == "<p><b>a &amp; b</b></p>"


def test_a_shape_is_one_path_and_leaves_holes() -> None:
    high = np.array([0.5, 0.5, np.nan, 1.0])
    shape = svg_shapes.area(np.where(np.isnan(high), np.nan, 0.0), high, "power")
    assert shape == '<path class="power" d="M0 500h2V1000h-2zM3 0h1V1000h-1z"/>'
    assert svg_shapes.area(high * np.nan, high * np.nan, "power") is None


def test_a_long_training_makes_no_large_picture_and_loses_no_slow_step() -> None:
    """Ten thousand steps of nine parts: one that is slow is marked, however many share its bar."""
    steps = np.full(10_000, 0.1)
    steps[7_777] = 4.0
    rng = np.random.default_rng(1)
    names = [str(number) for number in range(len(steps))]
    series = tuple(
        Series(label, names, steps * rng.uniform(0.9, 1, len(steps))) for label in "abcdefghi"
    )
    chart = step_chart.step_chart(Chart("step_time", "Step time by category", series))
    assert chart is not None
    assert len(chart) < 40_000
    page = PageReader(chart)
    assert "each column is the longest of 28 steps" in page.text
    assert "1 longer than shown" in page.text
    assert [value for name, value in page.attributes if value == "cut"] == ["cut"]


@pytest.mark.parametrize(
    ("length_s", "words"),
    [
        (0.004, ["0 s", "500 µs", "1 ms"]),
        (20, ["0 s", "5 s", "10 s"]),
        (600, ["0 min", "2 min", "4 min"]),
        (30_000, ["0 h", "2 h", "4 h"]),
        (604_800, ["0 h", "24 h", "48 h"]),
    ],
)
def test_an_axis_has_round_moments(length_s: float, words: list[str]) -> None:
    assert [mark for _, mark in time_axis.ticks(0, round(length_s * 1e12))][:3] == words


def test_an_axis_of_years_and_of_nothing_ends() -> None:
    assert len(time_axis.ticks(-(10**19), 10**19)) <= 10
    assert time_axis.ticks(5, 5) == [(5, "5 ps")]


def test_the_largest_parts_are_left_out_and_named() -> None:
    parts = [
        Block(element("header", "x" * 500), "head", essential=True),
        Block(element("p", "y" * 400), "large"),
        Block(element("p", "z" * 100), "small"),
    ]
    kept = fitting(parts, 800)
    assert kept[:2] == [parts[0].markup, parts[2].markup]
    assert kept[2] == '<p class="note">Left out, because the file would be too large: large.</p>'
    assert fitting(parts, 2000) == [part.markup for part in parts]


def test_a_file_is_never_too_large() -> None:
    parts = [Block(element("p", "&" * 20_000), f"part {number}") for number in range(40)]
    page = document("<title>", [*parts, Block(element("p", "é" * 400_000), "", essential=True)])
    assert len(page.encode()) <= MAX_BYTES
    check_safe(page)


def test_notes_are_listed_as_they_were_written() -> None:
    assert note_list([]) is None
    listed = note_list([ShownNote("epoch 1, steps 45-71", "the <backup> ran")])
    assert listed is not None
    assert PageReader(listed).texts == ["Notes", "epoch 1, steps 45-71", "the <backup> ran"]
