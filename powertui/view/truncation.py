"""Words in so many cells. A sign stands for what is left out."""

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

    The caller adds the sign.
    """
    if width(text) <= cells:
        return text
    head = _head(text, cells + 1)
    return head.rpartition(" ")[0].rstrip() or _head(text, cells)


def middle(text: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut in the middle.

    Names of runs, layers and threads differ at both ends.
    """
    if width(text) <= cells:
        return text
    if cells < 5:
        return end(text, cells, ellipsis)
    room = cells - width(ellipsis)
    tail = _head(text[::-1], room // 2)[::-1]
    return _head(text, room - width(tail)) + ellipsis + tail


def around(text: str, match: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut at both ends where need be.

    The first place that contains `match`, in any case of letters, stays in sight.
    """
    place = re.search(re.escape(match), text, re.IGNORECASE)
    if width(text) <= cells or place is None:
        return end(text, cells, ellipsis)
    head = text[: place.start()]
    tail = text[place.end() :]
    spare = max(0, cells - 2 * width(ellipsis) - width(place[0]))
    after = min(spare // 2, width(tail))
    before = spare - after
    if after == width(tail):
        before += width(ellipsis)  # the end is in sight: it needs no sign
    if width(head) <= before + width(ellipsis):
        return end(text, cells, ellipsis)
    start = _head(head[::-1], before)[::-1]
    return end(ellipsis + start + text[place.start() :], cells, ellipsis)


def _head(text: str, cells: int) -> str:
    head, used = "", 0
    for char in text:
        used += width(char)
        if used > cells:
            break
        head += char
    return head
