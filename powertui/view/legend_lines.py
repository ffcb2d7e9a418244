"""The legend of a view as lines of pieces (text, role): what its colors and letters stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.category import SHORT_NAMES, Category

if TYPE_CHECKING:
    from powertui.view.visible_content import Side, VisibleContent

# (text, role of the theme); the role "category:NAME" is the color of that kind
Pieces = tuple[tuple[str, str], ...]

_KIND_GAP_CELLS = 2
_MAX_SIDE_LINES = 2  # fifteen kinds in words take about 230 cells
# Where devices and host share a line, the host has at least this share of it (chosen by eye).
_MIN_SECOND_SHARE = 0.4
# On a host a smaller share of unknown names may be hidden among "4 more"; of kernels none is.
# Chosen, not measured: at 0 the words of the other kinds gave way to it in 120 columns.
_MIN_UNKNOWN_HOST_SHARE = 0.05


def _percent(share: float) -> str:
    """A share in as few cells as possible."""
    if share >= 0.005:
        return f"{share:.0%}".replace("%", " %")
    return "<1 %"


def legend(content: VisibleContent, width: int, lines: int = 1) -> list[Pieces]:
    """The kinds in view with letter, color and share of the self time.

    Kinds that do not fit are counted. Devices and host have lines of their own where there are
    two, else they share one. With two lines a side every kind there is in words.
    """
    sides = content.sides
    if not sides or width < 16:
        return []
    if len(sides) == 1 or lines >= len(sides):
        side_lines = min(_MAX_SIDE_LINES, lines // len(sides))
        legend_lines: list[Pieces] = []
        for side in sides:
            legend_lines += _side_on_lines(side, width, side_lines, named=len(sides) > 1)
        return legend_lines
    first, second = sides
    room = width - _KIND_GAP_CELLS
    left_over = room - _side_cells(first)
    second_room = max(min(width // 2, left_over), int(width * _MIN_SECOND_SHARE))
    gap = (" " * _KIND_GAP_CELLS, "label")
    left = _side(first, room - second_room, named=True)
    right = _side(second, second_room, named=True)
    return [(*left, gap, *right)]


def _side_on_lines(
    side: Side,
    width: int,
    max_lines: int,
    *,
    named: bool,
) -> list[Pieces]:
    """The kinds of a side: on one line where they all have room there in words, or it is the only
    one; else in words below each other.
    """
    head = f"{side.name}: " if named else ""
    room = width - len(head)
    in_words = _cells(_pieces(side, len(side.kinds), len(side.kinds)))
    if max_lines < 2 or in_words <= room:
        return [tuple(_side(side, width, named=named))]
    lines: list[Pieces] = []
    kinds = side.kinds
    while kinds and len(lines) < max_lines:
        is_last = len(lines) == max_lines - 1
        shown, pieces = _line_in_words(
            replace(side, kinds=kinds),
            room,
            counted=is_last,
        )
        if not shown:
            break
        start = " " * len(head) if lines else head
        end = " " * (room - _cells(pieces))
        lines.append(((start, "dim"), *pieces, (end, "label")))
        kinds = kinds[shown:]
    return lines or [tuple(_side(side, width, named=named))]


def _line_in_words(
    side: Side,
    room: int,
    *,
    counted: bool,
) -> tuple[int, list[tuple[str, str]]]:
    """As many kinds as fit, all in words, and how many these are; the rest as a count or left to
    the next line.
    """
    for shown in range(len(side.kinds), 0, -1):
        pieces = _pieces(
            side,
            shown,
            shown,
            counted=counted,
        )
        if _cells(pieces) <= room:
            return shown, pieces
    return 0, []


def _side_cells(side: Side) -> int:
    """How many cells a side takes with its largest kind in words and the others as letters."""
    head = f"{side.name}: "
    pieces = _pieces(side, len(side.kinds), 1)
    return len(head) + _cells(pieces)


def _side(side: Side, room: int, *, named: bool) -> list[tuple[str, str]]:
    """The kinds of devices or host in `room` cells."""
    head = ""
    if named:
        head = f"{side.name}: "
    kinds_room = room - len(head)
    pieces = _kinds(side, kinds_room)
    free_cells = kinds_room - _cells(pieces)
    if free_cells < 0:
        return [(" " * room, "label")]
    if head:
        pieces.insert(0, (head, "dim"))
    pieces.append((" " * free_cells, "label"))
    return pieces


def _kinds(side: Side, room: int) -> list[tuple[str, str]]:
    """The kinds in so many cells: all of them, as many as possible in words and the rest as
    letters; where that has no room, some of them in words, or as letters, and a count.
    """
    all_kinds = len(side.kinds)
    for words in range(all_kinds, 0, -1):
        pieces = _pieces(side, all_kinds, words)
        if _cells(pieces) <= room:
            return pieces
    # One kind by its name says more than two by their letters.
    for words, min_named in ((all_kinds, 3), (2, 3), (1, 1)):
        pieces = _most(side, room, words=words)
        if _named_count(pieces) >= min_named:
            return pieces
    return _most(side, room, words=0)


def _most(side: Side, room: int, *, words: int) -> list[tuple[str, str]]:
    """As many kinds as fit, the first `words` of them in words, and the rest as a count."""
    for shown in range(len(side.kinds), -1, -1):
        pieces = _pieces(side, shown, words)
        if _cells(pieces) <= room:
            return pieces
    return []


def _pieces(
    side: Side,
    shown: int,
    words: int,
    *,
    counted: bool = True,
) -> list[tuple[str, str]]:
    """The first kinds, the first of these in words, and how many others there are."""
    gap = (" " * _KIND_GAP_CELLS, "label")
    pieces: list[tuple[str, str]] = []
    for place, (kind, share) in enumerate(side.kinds[:shown]):
        pieces += [*_kind(kind, share, words=place < words), gap]
    rest = _rest(side, shown, words=words > 0) if counted else ""
    if rest:
        return [*pieces, (rest, "dim")]
    return pieces[:-1]


def _cells(pieces: Sequence[tuple[str, str]]) -> int:
    return sum(len(text) for text, _ in pieces)


def _named_count(pieces: Sequence[tuple[str, str]]) -> int:
    """How many kinds these pieces name: each has one letter in a color."""
    count = 0
    for text, role in pieces:
        if role.startswith("category:") or text == "?":
            count += 1
    return count


def _rest(side: Side, shown: int, *, words: bool) -> str:
    """How many kinds have no room; what no rule knows is not hidden among them where it matters."""
    hidden = side.kinds[shown:]
    if not hidden:
        return ""
    more = f"{len(hidden)} more"
    unknown_share = 0.0
    for kind, share in hidden:
        if kind is Category.OTHER:
            unknown_share = share
    max_hidden_share = _MIN_UNKNOWN_HOST_SHARE
    if side.name == "devices":
        max_hidden_share = 0.0
    if unknown_share <= max_hidden_share:
        return more
    name = Category.OTHER.code
    if words:
        name = SHORT_NAMES[Category.OTHER]
    percent = _percent(unknown_share)
    return f"{more}, {name} {percent}"


def _kind(
    kind: Category | None,
    share: float,
    *,
    words: bool,
) -> tuple[tuple[str, str], tuple[str, str]]:
    """A kind's letter, and its share with its name."""
    letter = ("?", "dim")
    name = "not looked at"
    if kind is not None:
        letter = (kind.code, f"category:{kind.value}")
        name = SHORT_NAMES[kind]
    text = _percent(share)
    if words:
        text = f"{name} {text}"
    return letter, (f" {text}", "label")
