"""Words in so many cells. What is left out is always told by a sign, and stands where it tells least."""

from __future__ import annotations

from powertui.plain import width

ELLIPSIS = "…"


def end(text: str, cells: int, ellipsis: str = ELLIPSIS) -> str:
    """At most so many cells, cut at the end."""
    if width(text) <= cells:
        return text
    return _head(text, cells - width(ellipsis)) + ellipsis if cells > 0 else ""


def middle(text: str, cells: int, ellipsis: str = ELLIPSIS) -> str:
    """At most so many cells, cut in the middle: names of runs, layers and threads differ at both ends."""
    if width(text) <= cells:
        return text
    if cells < 5:
        return end(text, cells, ellipsis)
    room = cells - width(ellipsis)
    tail = _head(text[::-1], room // 2)[::-1]
    return _head(text, room - width(tail)) + ellipsis + tail


def _head(text: str, cells: int) -> str:
    kept, used = "", 0
    for char in text:
        used += width(char)
        if used > cells:
            break
        kept += char
    return kept
