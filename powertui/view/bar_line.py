"""One line of a list: a name, a bar, and a figure at the right."""

from __future__ import annotations

from powertui.named_tuples import NamedTuple
from powertui.plain import width
from powertui.terminal.glyphs import Glyphs
from powertui.view import truncation
from powertui.view.step_bars import LinePieces


class Bar(NamedTuple):
    share: float  # of the longest bar that has room; beyond 1 its end is a mark
    ink: str
    cells: int  # of that longest bar


def barred(
    name: str,
    room: int,
    bar: Bar,
    figure: str,
    glyphs: Glyphs,
) -> LinePieces:
    """The line, with `room` cells for the name."""
    if bar.share > 1:
        blocks = glyphs.thin_bar(1.0, bar.cells - 1) + glyphs.right
    else:
        blocks = glyphs.thin_bar(bar.share, bar.cells)
    name = truncation.middle(name, room, glyphs.ellipsis)
    return (
        (name + " " * (room - width(name) + 1), "text"),
        (blocks + " " * (bar.cells - width(blocks)), bar.ink),
        (figure, "title"),
    )
