"""Words in so many cells.

What is left out is always told by a sign, and stands where it tells least.
"""

from __future__ import annotations

import re

from powertui.plain import width

_ELLIPSIS = "…"


def end(text: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut at the end."""
    if width(text) <= cells:
        return text
    return _head(text, cells - width(ellipsis)) + ellipsis if cells > 0 else ""


def words(text: str, cells: int) -> str:
    """The words at the beginning that have room in so many cells: no figure is cut.

    Whoever asks adds the sign.
    """
    if width(text) <= cells:
        return text
    head = _head(text, cells + 1)
    return head.rpartition(" ")[0].rstrip() or _head(text, cells)


def middle(text: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut in the middle: names of runs, layers and threads differ at both
    ends.
    """
    if width(text) <= cells:
        return text
    if cells < 5:
        return end(text, cells, ellipsis)
    room = cells - width(ellipsis)
    tail = _head(text[::-1], room // 2)[::-1]
    return _head(text, room - width(tail)) + ellipsis + tail


def around(text: str, found: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut at both ends where need be: the first place that holds `found`, in
    any case of letters, stays.
    """
    place = re.search(re.escape(found), text, re.IGNORECASE)
    if width(text) <= cells or place is None:
        return end(text, cells, ellipsis)
    head, tail = text[: place.start()], text[place.end() :]
    spare = max(0, cells - 2 * width(ellipsis) - width(place[0]))
    after = min(spare // 2, width(tail))
    before = (
        spare - after + (width(ellipsis) if after == width(tail) else 0)
    )  # no sign where the end is in sight
    if width(head) <= before + width(ellipsis):
        return end(text, cells, ellipsis)
    return end(ellipsis + _head(head[::-1], before)[::-1] + text[place.start() :], cells, ellipsis)


def _head(text: str, cells: int) -> str:
    kept, used = "", 0
    for char in text:
        used += width(char)
        if used > cells:
            break
        kept += char
    return kept
