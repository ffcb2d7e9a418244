"""Lines of a pane that wrap instead of being cut."""

from __future__ import annotations

from rich.style import Style

from powertui.plain import width
from powertui.view import truncation
from powertui.widgets.lines import wrapped

DIM, TITLE = Style(dim=True), Style(bold=True)


def test_a_line_goes_on_below_and_loses_no_word() -> None:
    line = (
        (" > ", TITLE),
        ("epoch 1, steps 46-71: +59 W, ", TITLE),
        ("no difference in the trace · 界界界界 · measured", DIM),
    )
    whole = "".join(text for text, _ in line).split()
    for cells in range(16, 90):
        rows = wrapped(line, cells, 5)
        assert " ".join("".join(text for text, _ in row) for row in rows).split() == whole
        assert all(width("".join(text for text, _ in row)) <= cells for row in rows)
        assert all("".join(text for text, _ in row).startswith("     ") for row in rows[1:])
    assert wrapped(line, 200, 5) == [(((" > epoch 1, steps 46-71: +59 W, "), TITLE), line[2])]


def test_a_word_that_is_wider_than_the_pane_is_left_to_the_pane() -> None:
    assert len(wrapped((("a ", DIM), ("x" * 40, DIM), (" b", DIM)), 20, 2)) == 2


def test_a_line_that_is_broken_needs_no_cell_for_the_blank_at_its_end() -> None:
    style = Style()
    for cells in range(8, 60):
        lines = wrapped(
            (("one two  three four ", style), ("five six seven eight nine", style)), cells, 2
        )
        assert all(sum(len(text) for text, _ in line) <= max(cells, 7) for line in lines)
        told = " ".join("".join(text for text, _ in line) for line in lines).split()
        assert told == ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def test_words_at_the_beginning_and_no_part_of_a_figure() -> None:
    assert truncation.words("+152 J and +60 W", 3) == "+15", "better a part than nothing"
    assert truncation.words("+152 J and +60 W", 5) == "+152"
    assert truncation.words("+152 J and +60 W", 6) == "+152 J"
    assert truncation.words("+152 J and +60 W", 13) == "+152 J and"
    assert truncation.words("+152 J and +60 W", 16) == "+152 J and +60 W"
