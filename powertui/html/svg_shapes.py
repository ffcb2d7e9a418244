"""Shapes of SVG that fill the box they are put in, in as few bytes as their columns need.

A shape has a box of its own: so many columns wide, `HEIGHT` high, stretched to the room that the
page has. Words are no part of it, because they would be stretched, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.html.markup import Markup, element

HEIGHT = 1000  # units from the bottom of a shape to its top: a pixel of 200 px is five of them


def stretched(columns: int, shapes: Iterable[str | None], label: str) -> Markup:
    """Shapes in a box of so many columns; `label` is what a screen reader says of it."""
    return element(
        "svg",
        *shapes,
        viewBox=f"0 0 {columns} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def area(
    low: Floats,
    high: Floats,
    class_: str,
    gap: float = 0.0,
) -> Markup | None:
    """Columns that are filled from `low` to `high`, both shares of the height; NaN is no column.

    `gap` is the share of each column that stays empty at its right. None where nothing is filled.
    """
    tops = _heights(high)
    bottoms = _heights(low)
    parts = []
    for start, end in _known_stretches(~np.isnan(high)):
        if gap:
            for column in range(start, end):
                parts.append(_outline(column, tops[column : column + 1], bottoms, 1 - gap))
        else:
            parts.append(_outline(start, tops[start:end], bottoms, 1))
    if not parts:
        return None
    return element("path", class_=class_, d="".join(parts))


def top_line(values: Floats, class_: str) -> Markup | None:
    """A line along the top of columns; NaN interrupts it."""
    tops = _heights(values)
    parts = []
    for start, end in _known_stretches(~np.isnan(values)):
        parts.append(f"M{start} {tops[start]}{_course(tops[start:end], 1)}")
    if not parts:
        return None
    return line("".join(parts), class_)


def line(course: str, class_: str) -> Markup:
    """A line that is as thin as it is, however the picture is stretched."""
    return element(
        "path",
        class_=class_,
        d=course,
        vector_effect="non-scaling-stroke",
    )


def band(
    start: float,
    end: float,
    class_: str,
    low: float = 0.0,
    high: float = 1.0,
) -> Markup:
    """A rectangle from one column to another, and from one share of the height to another."""
    return element(
        "rect",
        class_=class_,
        x=round(start, 2),
        y=round((1 - high) * HEIGHT),
        width=round(max(end - start, 0.0), 2),
        height=round((high - low) * HEIGHT),
    )


def _heights(shares: Floats) -> Int64s:
    """Units from the top; what is not known is at the bottom, and is not drawn."""
    known = np.clip(np.nan_to_num(shares), 0.0, 1.0)
    return np.rint((1 - known) * HEIGHT).astype(np.int64)


def _known_stretches(is_known: Sequence[bool] | np.ndarray) -> Iterable[tuple[int, int]]:
    """Stretches of columns that have a value: [start, end)."""
    padded = np.concatenate([[0], np.asarray(is_known, np.int8), [0]])
    edges = np.flatnonzero(np.diff(padded))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _outline(
    start: int,
    tops: Int64s,
    bottoms: Int64s,
    width: float,
) -> str:
    """Around a stretch: along its tops, and back along its bottoms."""
    end = start + len(tops)
    below = bottoms[start:end][::-1]
    back = _course(below, -width)
    return f"M{start} {tops[0]}{_course(tops, width)}V{below[0]}{back}z"


def _course(heights: Int64s, width: float) -> str:
    """A stepped line over columns of this width; equal neighbors are one piece."""
    changes = np.flatnonzero(np.diff(heights)) + 1
    starts = np.concatenate([[0], changes]).tolist()
    counts = np.diff(np.concatenate([starts, [len(heights)]])).tolist()
    pieces = []
    for start, count in zip(starts, counts, strict=True):
        rise = f"V{heights[start]}" if start else ""
        pieces.append(f"{rise}h{count * width:g}")
    return "".join(pieces)
