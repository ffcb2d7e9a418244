"""The first conclusions of a run as lines, for the foot of the first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.plain import plain, width
from powertui.view import truncation

if TYPE_CHECKING:  # names alone: nothing is concluded before the first picture
    from powertui.data.conclusions.conclusion import Conclusions

_Piece = tuple[str, str]  # text, role of the theme
# A text whose sentences fill so much of the line ends with the last of them: "… The largest op is"
# says nothing (chosen by eye, not measured).
_MIN_SENTENCES_SHARE = 0.6
_MAX_CHARACTERS = 400  # of a sentence that are looked at
_INDENT = "  "  # of the line on which a sentence goes on


def conclusion_lines(
    conclusions: Conclusions,
    key: str,
    cells: int,
    rows: int,
    ellipsis: str = "…",
) -> list[tuple[_Piece, ...]]:
    """What comes first, a line each, and behind the first the key of the page that shows all."""
    count = len(conclusions)
    if count > rows:
        more = f"  {key}: all {count:,}"
    else:
        more = f"  {key}: more"
    if not count:
        return [_line(conclusions.looked_at, "ok", more, cells, ellipsis)]
    if count < rows:
        return _wrapped(
            conclusions.items[0].sentence,
            more,
            cells,
            ellipsis,
        )
    lines: list[tuple[_Piece, ...]] = []
    for conclusion in conclusions.items[:rows]:
        role = "text" if lines else "title"
        lines.append(_line(conclusion.sentence, role, "" if lines else more, cells, ellipsis))
    return lines


def _wrapped(
    sentence: str,
    more: str,
    cells: int,
    ellipsis: str,
) -> list[tuple[_Piece, ...]]:
    """The only conclusion, on the line that no other needs, too."""
    text = plain(sentence, _MAX_CHARACTERS)
    begin = truncation.words(text, _room(more, cells))
    rest = text[len(begin) :].strip()
    lines = [_line(begin, "title", more, cells, ellipsis)]
    if rest:
        lines.append(_line(f"{_INDENT}{rest}", "title", "", cells, ellipsis))
    return lines


def _room(more: str, cells: int) -> int:
    """Of a line's text: a cell at either end stays empty."""
    return cells - width(more) - 2


def _line(
    sentence: str,
    role: str,
    more: str,
    cells: int,
    ellipsis: str,
) -> tuple[_Piece, ...]:
    room = _room(more, cells)
    text = plain(sentence, _MAX_CHARACTERS)
    if width(text) > room:
        text = f"{_cut(text, room - width(ellipsis) - 1)} {ellipsis}"
    gap = " " * max(0, room - width(text))
    return ((" ", ""), (text, role), (gap, ""), (more, "key"))


def _cut(text: str, room: int) -> str:
    """Whole sentences where these fill most of the room, else whole words."""
    words = truncation.words(text, room)
    if words.endswith("."):
        return words
    sentences, end, _ = words.rpartition(". ")
    if end and width(sentences) >= _MIN_SENTENCES_SHARE * room:
        return f"{sentences}."
    return words
