"""What a view holds, as lines of pieces (text, role): a legend that explains colours and letters,
and what stands out below it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from powertui import units
from powertui.data.category import Category
from powertui.plain import width as cells
from powertui.view.truncation import middle

if TYPE_CHECKING:
    from powertui.view.visible_content import LongStep, Side, VisibleContent

Pieces = tuple[
    tuple[str, str], ...
]  # (text, role of the theme; "category:NAME" for a cell of that kind)

_KIND_NAMES = {
    Category.MATMUL: "matrix products",
    Category.CONVOLUTION: "convolutions",
    Category.ELEMENTWISE: "element-wise",
    Category.REDUCTION: "reductions",
    Category.NORMALIZATION: "normalization",
    Category.MEMORY: "copies",
    Category.COMMUNICATION: "collectives",
    Category.INPUT: "input",
    Category.OPTIMIZER: "optimizer",
    Category.COMPILE: "compilation",
    Category.PYTHON: "Python",
    Category.HOST: "host ops",
    Category.RUNTIME: "runtime",
    Category.IDLE: "waiting",
    Category.OTHER: "other",
}
_MIN_LIST_CELLS = 38  # cells of a list
_MAX_LIST_CELLS = 64  # figures stand near their names
_LIST_GAP_CELLS = 3
_SAME_LENGTH_SHARE = (
    0.02  # steps that are longer than usual by less than this share of it are as long as usual
)
_KIND_GAP_CELLS = 2  # cells between two kinds
_MIN_NAMED_KINDS = 3  # kinds that a legend names at least
_MIN_LIST_ROWS = 3  # rows from which there are lists, and not lines


def _percent(share: float) -> str:
    """A share as few cells as it takes."""
    return f"{share:.0%}".replace("%", " %") if share >= 0.005 else "<1 %"


# ── the legend ───────────────────────────────────────────────────────────────────────────────────


def legend(seen: VisibleContent, width: int, lines: int = 1) -> list[Pieces]:
    """The kinds in view with letter, colour and part of the self time; those that do not fit are
    counted.

    Devices and host have a line each where there are two, else they share one.
    """
    if not seen.sides or width < 16:
        return []
    if len(seen.sides) == 1 or lines >= len(seen.sides):
        return [tuple(_side(side, width, named=len(seen.sides) > 1)) for side in seen.sides]
    half = width // 2
    return [
        tuple(
            piece
            for side, room in zip(seen.sides, (width - half, half), strict=True)
            for piece in _side(side, room, named=True)
        )
    ]


def _side(side: Side, room: int, *, named: bool) -> list[tuple[str, str]]:
    """As words where three kinds have room, else letters and shares alone."""
    head = f"{side.name}: " if named else ""
    full, told = _kinds(side, room - len(head), words=True)
    if told < min(_MIN_NAMED_KINDS, len(side.kinds)):
        full, _ = _kinds(side, room - len(head), words=False)
    used = len(head) + sum(len(text) for text, _ in full)
    if used > room:
        return [(" " * room, "label")]
    return [*([(head, "dim")] if head else []), *full, (" " * (room - used), "label")]


def _kinds(side: Side, room: int, *, words: bool) -> tuple[list[tuple[str, str]], int]:
    made: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for kind, share in side.kinds:
        name = (_KIND_NAMES[kind] if kind is not None else "not looked at") if words else ""
        letter = (kind.code, f"category:{kind.value}") if kind is not None else ("?", "dim")
        made.append(
            (letter, (f" {name} {_percent(share)}" if name else f" {_percent(share)}", "label"))
        )
    ends, used = [], 0
    for _, (text, _role) in made:
        used += 1 + len(text) + (_KIND_GAP_CELLS if used else 0)
        ends.append(used)
    for count in range(len(made), -1, -1):
        left = f"{len(made) - count} more" if count < len(made) else ""
        if (ends[count - 1] if count else 0) + (_KIND_GAP_CELLS if left and count else 0) + len(
            left
        ) <= room:
            break
    else:
        return [], 0
    told = [piece for one in made[:count] for piece in (*one, (" " * _KIND_GAP_CELLS, "label"))]
    return ([*told, (left, "dim")] if left else told[:-1]), count


# ── what stands out below it ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Row:
    name: str
    figures: str = ""
    tail: str = ""  # of the name, where all of it has no room
    texts: tuple[str, ...] = ()  # instead of both: the longest that fits is written


@dataclass(frozen=True)
class _List:
    title: str
    rows: tuple[_Row, ...]
    role: str = "text"


def panel(seen: VisibleContent, width: int, height: int) -> list[Pieces]:
    """At most `height` lines of at most `width` cells: the most telling first."""
    if height < 1 or width < _MIN_LIST_CELLS:
        return []
    found, steps, ops = _found(seen), _steps(seen), _ops(seen)
    lists = [one for one in (found, steps, ops) if one is not None]
    if not lists:
        return []
    if height < _MIN_LIST_ROWS:
        return [_line(one, width) for one in lists[:height]]
    most = max(1, (width + _LIST_GAP_CELLS) // (_MIN_LIST_CELLS + _LIST_GAP_CELLS))
    count = min(most, len(lists))
    each = min(_MAX_LIST_CELLS, (width - 1 - _LIST_GAP_CELLS * (count - 1)) // count)
    columns = [_column(one, each, height) for one in lists]
    if len(columns) > most and found is not None:
        above = columns[0][: max(2, height - _MIN_LIST_ROWS)]
        columns[:2] = [above + columns[1][: height - len(above)]]
    return _beside(columns[:most], each, height)


def _found(seen: VisibleContent) -> _List | None:
    return (
        _List("Stands out here", tuple(_Row(one[-1], texts=one) for one in seen.found), "warn")
        if seen.found
        else None
    )


def _steps(seen: VisibleContent) -> _List | None:
    if not seen.steps:
        return None
    usual = {one.usual for one in seen.steps}
    same = (
        units.duration(known, 3)
        if len(usual) == 1 and (known := next(iter(usual))) is not None
        else ""
    )
    title = "Longest steps here" if seen.step_count > 1 else "The step here"
    longer = [
        one
        for one in seen.steps
        if one.usual is None or one.length > one.usual * (1 + _SAME_LENGTH_SHARE)
    ]
    rows = tuple(
        _Row(one.name, _against(one, told=bool(same))) for one in (longer or seen.steps[:1])
    )
    return _List(f"{title}, usual {same}" if same else title, rows)


def _against(one: LongStep, *, told: bool) -> str:
    length = units.duration(one.length, 3)
    if one.usual is None or one.usual <= 0:
        return length
    more = f"{(one.length - one.usual) / one.usual:+.0%}".replace("%", " %")
    return (
        f"{length}  {more:>7}"
        if told
        else f"{length}  usual {units.duration(one.usual, 3)}  {more}"
    )


def _ops(seen: VisibleContent) -> _List | None:
    if not seen.ops:
        return None
    where = " on devices" if seen.sides and seen.sides[0].name == "devices" else ""
    tails = Counter(one.tail for one in seen.ops)  # what several share tells nothing
    rows = tuple(
        _Row(
            one.name,
            f"{units.duration(one.self_ps, 3)}  {_percent(one.share):>5}",
            one.tail if tails[one.tail] == 1 else "",
        )
        for one in seen.ops
    )
    return _List(f"Top ops here, self time{where}", rows)


def _line(one: _List, width: int) -> Pieces:
    """A list as one line: as many of its rows as have room whole."""
    title = one.title.partition(",")[0]
    room, told = width - len(title) - 4, ""
    for row in one.rows:
        text = (
            row.texts[0] if row.texts else f"{row.tail or row.name} {' '.join(row.figures.split())}"
        )
        if told and cells(told) + 3 + cells(text) > room:
            break
        told = f"{told}   {text}" if told else middle(text, room)
    return ((f" {title}  ", "dim"), (told, one.role))


def _beside(columns: Sequence[list[tuple[str, str]]], each: int, height: int) -> list[Pieces]:
    """Lists side by side."""
    out: list[Pieces] = []
    for y in range(min(height, max(len(column) for column in columns))):
        line: list[tuple[str, str]] = [(" ", "text")]
        for x, column in enumerate(columns):
            text, role = column[y] if y < len(column) else ("", "text")
            line.append(
                (
                    text
                    + " " * (each - cells(text) + (_LIST_GAP_CELLS if x + 1 < len(columns) else 0)),
                    role,
                )
            )
        out.append(tuple(line))
    return out


def _column(one: _List, width: int, height: int) -> list[tuple[str, str]]:
    out = [(middle(one.title, width), "dim")]
    for row in one.rows:
        if len(out) >= height:
            break
        if row.texts:
            wrapped = [textwrap.wrap(text, width) for text in row.texts]
            fits = next(
                (lines for lines in wrapped if len(lines) <= height - len(out)), wrapped[-1][:1]
            )
            out += [(line, one.role) for line in fits]
            continue
        room = width - cells(row.figures) - 1
        text = row.name if cells(row.name) <= room or not row.tail else row.tail
        text = middle(text, room)
        out.append((text + " " * (room - cells(text) + 1) + row.figures, one.role))
    return out
