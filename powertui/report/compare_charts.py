"""Causes and intervals of a comparison as ASCII charts of at most 80 letters, for a document."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from powertui.data.compare.amounts import row_names, signed, signed_percent
from powertui.data.compare.causes import Cause
from powertui.data.compare.figure import ComparedFigure
from powertui.report import text

_NAME_CELLS = 28
_FIGURE_CELLS = 14
_BAR_CELLS = 80 - _NAME_CELLS - _FIGURE_CELLS - 4
_MAX_SHARE = 1.0  # of A: an interval that reaches farther is cut


def waterfall_lines(causes: Sequence[Cause]) -> list[str]:
    """A bar for each cause, which begins where the one before it ends; `|` is no difference."""
    sums = list(itertools.accumulate((cause.seconds for cause in causes), initial=0.0))
    total = sums[-1]
    cells = _Cells(min(sums), max(sums))
    lines = []
    for row, (name, cause) in enumerate(zip(row_names(causes), causes, strict=True)):
        sign = _sign(cause.seconds)
        bar = cells.drawn(sums[row], sums[row + 1], sign)
        lines.append(_line(name, bar, signed(cause.seconds, "s")))
    bar_of_all = cells.drawn(0.0, total, _sign(total))
    lines.append(_line("together", bar_of_all, signed(total, "s")))
    return lines


def _sign(seconds: float) -> str:
    return "+" if seconds >= 0 else "-"


def interval_lines(figures: Sequence[ComparedFigure]) -> list[str]:
    """Each difference (`o`) with its interval (`-`) on one scale, as a share of A."""
    rows = []
    ends = [0.0]
    for name, figure in zip(row_names(figures), figures, strict=True):
        lo = figure.judgement.lo
        hi = figure.judgement.hi
        middle = figure.difference
        if not figure.a or middle is None or lo is None or hi is None:
            continue
        size = abs(figure.a)
        shares = (_cut(lo / size), _cut(middle / size), _cut(hi / size))
        rows.append((name, shares))
        ends += shares
    cells = _Cells(min(ends), max(ends))
    lines = []
    for name, (lo, middle, hi) in rows:
        bar = cells.drawn(lo, hi, "-", dot=middle)
        lines.append(_line(name, bar, f"{signed_percent(middle)} %"))
    return lines


def _cut(share: float) -> float:
    return min(_MAX_SHARE, max(-_MAX_SHARE, share))


def _line(name: str, bar: str, figure: str) -> str:
    short = text.fenced_text(name, _NAME_CELLS - 2).ljust(_NAME_CELLS)[:_NAME_CELLS]
    return text.in_ascii(f"{short}  {bar}  {figure:>{_FIGURE_CELLS}}").rstrip()


class _Cells:
    """A row of cells on a scale that holds 0."""

    def __init__(self, lo: float, hi: float) -> None:
        self._lo = lo
        self._length = (hi - lo) or 1.0

    def _cell(self, value: float) -> int:
        return round((value - self._lo) / self._length * (_BAR_CELLS - 1))

    def drawn(self, begin: float, end: float, sign: str, dot: float | None = None) -> str:
        """A stretch of signs, and where nothing differs."""
        cells = [" "] * _BAR_CELLS
        first, last = sorted((self._cell(begin), self._cell(end)))
        cells[first : last + 1] = sign * (last - first + 1)
        cells[self._cell(0.0)] = "|"
        if dot is not None:
            cells[self._cell(dot)] = "o"
        return "".join(cells)
