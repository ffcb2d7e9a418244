"""Lines of a pane that wrap instead of being cut."""

from __future__ import annotations

from rich.style import Style

from powertui.plain import width
from powertui.widgets.lines import wrapped

DIM, TITLE = Style(dim=True), Style(bold=True)


def test_a_line_goes_on_below_and_loses_no_word() -> None:
    line = ((" > ", TITLE), ("epoch 1, steps 46-71: +59 W, ", TITLE), ("no difference in the trace · 界界界界 · measured", DIM))
    whole = "".join(text for text, _ in line).split()
    for cells in range(16, 90):
        rows = wrapped(line, cells, 5)
        assert " ".join("".join(text for text, _ in row) for row in rows).split() == whole
        assert all(width("".join(text for text, _ in row).rstrip()) <= cells for row in rows)
        assert all("".join(text for text, _ in row).startswith("     ") for row in rows[1:])
    assert wrapped(line, 200, 5) == [(((" > epoch 1, steps 46-71: +59 W, "), TITLE), line[2])]


def test_a_word_that_is_wider_than_the_pane_is_left_to_the_pane() -> None:
    assert len(wrapped((("a ", DIM), ("x" * 40, DIM), (" b", DIM)), 20, 2)) == 2
