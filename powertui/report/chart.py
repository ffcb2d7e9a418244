"""How long each step took, as a small chart: one look tells a stall from a slow start. For
terminals only.

plotext draws it. What it is given is bounded by the width, and of several steps in one dot the
longest is kept, so that no stall is lost.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.report import text
from powertui.terminal import capabilities

FEWEST = 10  # steps that a chart says more about than the median does
_ROWS = 6
_MOST = 120  # columns: wider says no more
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def room() -> int:
    """How many columns a chart may take: none where output goes to no terminal, or to one that has
    no braille.
    """
    columns = text.terminal_columns()
    if not columns:
        return 0
    wishes = capabilities.wishes_from_env(os.environ)
    can = capabilities.detect(os.environ, sys.stdout.encoding or "ascii", wishes)
    return min(columns, _MOST) if can.glyphs == "unicode" else 0


def of_steps(seconds: Sequence[float], columns: int, indent: str = "") -> list[str]:
    """Lines of at most `columns` characters; none when there is too little to draw or no room for
    it.
    """
    columns -= len(indent)
    if len(seconds) < FEWEST or columns < 40:
        return []
    import plotext

    values = np.asarray(seconds, np.float64)
    top, above = _top(values)
    # Two dots a character; the labels on the left and the frame take about twelve.
    dots = 2 * (columns - 12)
    edges = np.linspace(0, len(values), min(dots, len(values)) + 1).astype(np.int64)[:-1]
    heights = np.minimum(np.maximum.reduceat(values, edges), top)
    last = len(values) - 1
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(columns, _ROWS + 3)
    plotext.plot(edges.tolist(), heights.tolist(), marker="braille")
    plotext.ylim(0, top)
    plotext.xlim(0, last)
    plotext.yticks([0, top / 2, top], ["0", _time(top / 2), _time(top)])
    plotext.xticks([0, last / 2, last], ["1", f"{last // 2 + 1:,}", f"{len(values):,}"])
    lines = [_ESCAPES.sub("", line).rstrip() for line in plotext.build().splitlines()]
    if above:
        longest = _time(float(values.max()))
        lines.append(
            f"{above:,} steps go beyond the top, up to {longest}"
            if above > 1
            else f"one step goes beyond the top: {longest}"
        )
    return [indent + line for line in lines if line]


def _top(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, int]:
    """(the highest value drawn, how many lie above): one step that traces for seconds must not
    flatten the rest.
    """
    usual = float(np.percentile(values, 90))
    highest = float(values.max())
    if usual <= 0 or highest <= 3 * usual:
        return highest or 1.0, 0
    return 2 * usual, int((values > 2 * usual).sum())


def _time(seconds: float) -> str:
    return units.duration(round(seconds * PS_PER_S), 2)
