"""Words in so many cells. A sign stands for what is left out."""

from __future__ import annotations

import re

from powertui.plain import width

_ELLIPSIS = "…"


def end(text: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut at the end."""
    if width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    return _head(text, cells - width(ellipsis)) + ellipsis


def words(text: str, cells: int) -> str:
    """The words at the beginning that have room in so many cells: no figure is cut.

    The caller adds the sign.
    """
    if width(text) <= cells:
        return text
    head = _head(text, cells + 1)
    complete_words, _, _ = head.rpartition(" ")
    return complete_words.rstrip() or _head(text, cells)


def middle(text: str, cells: int, ellipsis: str = _ELLIPSIS) -> str:
    """At most so many cells, cut in the middle.

    Names of runs, layers and threads differ at both ends.
    """
    if width(text) <= cells:
        return text
    if cells < 5:
        return end(text, cells, ellipsis)
    room = cells - width(ellipsis)
    end_part = tail(text, room // 2)
    head_room = room - width(end_part)
    return _head(text, head_room) + ellipsis + end_part


def around(
    text: str,
    match: str,
    cells: int,
    ellipsis: str = _ELLIPSIS,
) -> str:
    """At most so many cells, cut at both ends where need be.

    The first place that contains `match`, in any case of letters, stays in sight.
    """
    place = re.search(re.escape(match), text, re.IGNORECASE)
    if width(text) <= cells or place is None:
        return end(text, cells, ellipsis)
    sign_cells = width(ellipsis)
    head = text[: place.start()]
    tail_cells = width(text[place.end() :])
    spare = max(0, cells - 2 * sign_cells - width(place[0]))
    after = min(spare // 2, tail_cells)
    before = spare - after
    if after == tail_cells:
        before += sign_cells  # the end is in sight: it needs no sign
    if width(head) <= before + sign_cells:
        return end(text, cells, ellipsis)
    return end(
        ellipsis + tail(head, before) + text[place.start() :],
        cells,
        ellipsis,
    )


def _head(text: str, cells: int) -> str:
    """As much of the beginning as has room."""
    used = 0
    for count, char in enumerate(text):
        used += width(char)
        if used > cells:
            return text[:count]
    return text


def tail(text: str, cells: int) -> str:
    """As much of the end as has room, without a sign."""
    reversed_tail = _head(text[::-1], cells)
    return reversed_tail[::-1]
