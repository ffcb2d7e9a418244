"""The size of a finding, written beside or in its band in a chart."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs

_MAX_FLAG_ROWS = 3  # from the top of a chart, in which a flag may be


class Flag(NamedTuple):
    """Where a flag has room: its row, its first cell, and its text."""

    row: int
    first: int
    text: str

    @property
    def stop(self) -> int:
        return self.first + len(self.text)


def beside_band(
    rows: Sequence[Sequence[str]],
    band: range,
    sizes: Sequence[str],
    glyphs: Glyphs,
) -> Flag | None:
    """The longest of the sizes that has room beside the band, else within it, in the highest empty
    row.

    `rows`: the cells of the chart, top first.
    """
    for size in sizes:
        on_left = f" {size} {glyphs.right}"
        on_right = f"{glyphs.left} {size} "
        flags = ((on_left, band.start - len(on_left)), (on_right, band.stop))
        for row, cells in enumerate(rows[:_MAX_FLAG_ROWS]):
            for text, first in flags:
                flag = Flag(row, first, text)
                if _has_room(cells, flag):
                    return flag
    return _within_band(rows, band, sizes)


def _within_band(
    rows: Sequence[Sequence[str]],
    band: range,
    sizes: Sequence[str],
) -> Flag | None:
    """The longest of the sizes that has room in the band, above what the chart shows there."""
    for size in sizes:
        for row, cells in enumerate(rows[:_MAX_FLAG_ROWS]):
            for first in range(band.start, band.stop - len(size) + 1):
                flag = Flag(row, first, size)
                if _has_room(cells, flag):
                    return flag
    return None


def at_edge(
    rows: Sequence[Sequence[str]],
    text: str,
    glyphs: Glyphs,
    *,
    is_later: bool,
) -> Flag | None:
    """A finding beyond the chart: a flag at the edge on its side, that points there."""
    for row, cells in enumerate(rows[:_MAX_FLAG_ROWS]):
        flag = Flag(row, 0, f"{glyphs.left} {text} ")
        if is_later:
            words = f" {text} {glyphs.right}"
            flag = Flag(row, len(cells) - len(words), words)
        if _has_room(cells, flag):
            return flag
    return None


def _has_room(cells: Sequence[str], flag: Flag) -> bool:
    is_in_view = flag.first >= 0 and flag.stop <= len(cells)
    if not is_in_view:
        return False
    beside = cells[flag.first : flag.stop]
    return all(char == " " for char in beside)
