"""The first conclusion of a run as one line, for the foot of the first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.plain import plain, width
from powertui.view import truncation

if TYPE_CHECKING:  # names alone: nothing is concluded before the first picture
    from powertui.data.conclusions.conclusion import Conclusions

_Piece = tuple[str, str]  # text, role of the theme


def conclusion_line(
    conclusions: Conclusions, key: str, cells: int, ellipsis: str = "…"
) -> tuple[_Piece, ...]:
    """What comes first, as much of it as has room, and the key of the page that shows all."""
    count = len(conclusions)
    more = f"  {key}: all {count:,}" if count > 1 else f"  {key}: more"
    room = cells - width(more) - 1
    text = plain(conclusions.headline, 400)
    if width(text) > room:
        text = f"{truncation.words(text, room - width(ellipsis) - 1)} {ellipsis}"
    gap = " " * max(0, room - width(text))
    role = "title" if count else "ok"
    return ((" ", ""), (text, role), (gap, ""), (more, "key"))
