"""Long names in few cells, so that two that differ look different."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.names_in_words import in_distinct_words, shared_start
from powertui.plain import width
from powertui.view import truncation

_CONTEXT = 2  # characters before what differs, so that one sees where it is
_MIN_HEAD_CELLS = 4


def distinct(names: Iterable[str], cells: int, ellipsis: str = "…") -> list[str]:
    """Names in at most so many cells each: two that differ look different.

    Where one is too long, all are told in words, so that they read alike.
    """
    texts = list(names)
    if any(width(name) > cells for name in texts):
        texts = in_distinct_words(texts)
    shown = [truncation.middle(text, cells, ellipsis) for text in texts]
    alike: dict[str, list[int]] = {}
    for row, short in enumerate(shown):
        alike.setdefault(short, []).append(row)
    for rows in alike.values():
        different = sorted({texts[row] for row in rows})
        if len(different) > 1:
            start = shared_start(different)
            for row in rows:
                shown[row] = _from_difference(
                    texts[row],
                    start,
                    cells,
                    ellipsis,
                )
    return shown


def _from_difference(
    text: str,
    start: int,
    cells: int,
    ellipsis: str,
) -> str:
    """A text that keeps what follows its first `start` characters, and as much of its head as has
    room.
    """
    tail = text[max(0, start - _CONTEXT) :]
    head_cells = cells - width(ellipsis) - width(tail)
    if head_cells < _MIN_HEAD_CELLS:
        return truncation.end(ellipsis + tail, cells, ellipsis)
    head = truncation.end(text, head_cells + width(ellipsis), ellipsis)
    return head + tail
