"""What a conclusion costs, as a column beside its sentence: a share, a bar, and of what it is."""

from __future__ import annotations

from powertui import units
from powertui.data.conclusions.conclusion import Cost
from powertui.data.model import PS_PER_S
from powertui.terminal.glyphs import Glyphs
from powertui.view.step_bars import LinePieces

_FIGURE_CELLS = 9  # "of energy", "100 %"
_GAP_CELLS = 2  # between the figure and what is right of it
_GAP = " " * _GAP_CELLS
_BAR_CELLS = 8
_MIN_BAR_SHARE = 0.5 / _BAR_CELLS
_MAX_SHARE_WITH_DECIMAL = 0.0995  # "9.9 %", but "10 %"
# A page as wide as this has room for bars: beside them a sentence keeps 80 cells.
_MIN_CELLS_WITH_BARS = 100


def cost_column(
    cost: Cost,
    page_cells: int,
    glyphs: Glyphs,
) -> tuple[LinePieces, LinePieces]:
    """Two lines of equal width: figure and bar, and what the figure is a share of."""
    share, part = _largest(cost)
    ink = "power" if part == "energy" else "overview"
    figure = _figure(cost, share, part)
    if not figure:
        words = ""
    elif share is None:
        words = part
    else:
        words = f"of {part}"
    above: LinePieces = ((f"{figure:>{_FIGURE_CELLS}}{_GAP}", ink),)
    below = f"{words:>{_FIGURE_CELLS}}{_GAP}"
    if page_cells >= _MIN_CELLS_WITH_BARS:
        above = (*above, *_bar_pieces(share, ink, glyphs))
        below += " " * _BAR_CELLS + _GAP
    return above, ((below, "dim"),)


def _bar_pieces(share: float | None, ink: str, glyphs: Glyphs) -> LinePieces:
    """The bar of a share, the line on to the whole, and a gap; blanks where no share is known."""
    if share is None:
        blanks = " " * _BAR_CELLS + _GAP
        return ((blanks, "dim"),)
    # Half a cell at least: what costs something is seen.
    shown_share = min(max(share, _MIN_BAR_SHARE), 1.0)
    bar = glyphs.thin_bar(shown_share, _BAR_CELLS)
    rest = glyphs.horizontal * (_BAR_CELLS - len(bar))
    return (
        (bar, ink),
        (rest, "grid"),
        (_GAP, "dim"),
    )


def column_cells(page_cells: int) -> int:
    """How wide the column is on a page of so many cells."""
    cells = _FIGURE_CELLS + _GAP_CELLS
    if page_cells >= _MIN_CELLS_WITH_BARS:
        return cells + _BAR_CELLS + _GAP_CELLS
    return cells


def _figure(cost: Cost, share: float | None, part: str) -> str:
    """The share; joules or seconds where nobody knows what they are a share of."""
    if share is not None:
        decimals = 1 if share < _MAX_SHARE_WITH_DECIMAL else 0
        return units.percent(share, decimals)
    if part == "energy" and cost.joules is not None:
        return units.quantity(abs(cost.joules), "J", 3)
    if part == "time" and cost.seconds is not None:
        length_ps = round(abs(cost.seconds) * PS_PER_S)
        return units.duration(length_ps, 2)
    return ""


def _largest(cost: Cost) -> tuple[float | None, str]:
    """The larger of the shares of time and energy, and which of them it is; the share of a step
    where the sentence says that.
    """
    time = None
    if cost.share is not None:
        time = abs(cost.share)
    energy = None
    if cost.joules_share is not None:
        energy = abs(cost.joules_share)
    if cost.step_share is not None and energy is None:
        return cost.step_share, "a step"
    if energy is not None and (time is None or energy > time):
        return energy, "energy"
    if time is None and cost.joules is not None:
        return None, "energy"
    return time, "time"
