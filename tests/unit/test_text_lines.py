"""Lines break between words, and never between a figure and its unit."""

from __future__ import annotations

import pytest
from rich.style import Style

from powertui.plain import width
from powertui.view.text_lines import text_lines
from powertui.widgets import lines

_TEXT = (
    "calling operators 39 %, launching kernels 7.4 % for 2.52 s, +149 J in 18 steps of 1,024 µs."
)


@pytest.mark.parametrize("cells", range(14, 100))
def test_a_figure_and_its_unit_stay_together(cells: int) -> None:
    ink = Style()
    drawn = lines.wrapped(((_TEXT, ink),), cells, 2)
    drawn_texts = ["".join(text for text, _ in line) for line in drawn]
    for told in (text_lines(_TEXT, cells, "  "), drawn_texts):
        assert all(width(line) <= cells for line in told)
        assert " ".join(" ".join(told).split()) == _TEXT
        for line in told[1:]:
            assert not line.strip().startswith(("%", "s,", "J ", "µs", "steps"))


def test_nothing_is_one_empty_line() -> None:
    assert text_lines("", 20) == [""]
