"""The first line of every page: what is open, and the pages with their keys.

In a narrow window the ends of the pages' names go first, then the names of pages without content,
then the facts of the run, then the middle of the run's name. The page in front and pages with news
always have their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from powertui.plain import width
from powertui.value_types import dataclass
from powertui.view import truncation

_Form: TypeAlias = Literal["full", "all short", "filled", "short", "keys"]

_MIN_NAME_CELLS = 8  # cells of the run's name, however narrow
_GOOD_NAME_CELLS = 16  # as many as tell one run from another
_FEWEST_NAME_CELLS = 12  # as many beside short names of pages, before those go
_SHORT_TITLES = {"Overview": "Over", "Timeline": "Time", "Findings": "Find", "Alignment": "Align"}
_PAGES_GAP_CELLS = 2  # cells between the run and the pages


@dataclass(frozen=True)
class Tab:
    """One page, as the line names it."""

    name: str  # what `Shell.show` takes
    key: str
    title: str
    present: bool = False
    news: int = 0  # what it has to say that is new: findings
    dim: bool = False  # it can have no content here


@dataclass(frozen=True)
class Head:
    """What is open. Each of `power` says how far its clock can be trusted, the longest first."""

    name: str = ""
    host: str = ""
    took: str = ""
    power: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A part of the line: its text, its role in the theme, and the page that a click on it
    shows.
    """

    text: str
    role: str
    page: str = ""

    @property
    def cells(self) -> int:
        return width(self.text)


def top_line_pieces(head: Head, tabs: Sequence[Tab], room: int) -> list[Piece]:
    """The line in exactly so many cells."""
    pages: list[Piece] = []
    facts = ""
    name_room = 0
    mostly_empty = _mostly_empty(tabs)
    for form, facts in _forms(head, mostly_empty=mostly_empty):
        pages = list(_pages(tabs, form))
        others_cells = 1 + _cells(pages) + _PAGES_GAP_CELLS + width(facts)
        name_room = room - others_cells
        if mostly_empty and form == "all short":
            # No run is open: the line below names the folder, and keys alone would say nothing.
            enough = _MIN_NAME_CELLS
        elif form in ("full", "filled"):
            enough = _GOOD_NAME_CELLS
        else:
            enough = _FEWEST_NAME_CELLS
        if name_room >= min(width(head.name), enough):
            break
    name = truncation.middle(head.name, max(_MIN_NAME_CELLS, name_room))
    line = [
        Piece(" ", "ruler"),
        Piece(name, "title"),
        Piece(facts, "label"),
    ]
    free_cells = room - _cells(line) - _cells(pages)
    gap = " " * max(1, free_cells)
    line.append(Piece(gap, "ruler"))
    return line + pages


def page_at(pieces: Sequence[Piece], x: int) -> str:
    """The page whose name is in a cell; "" for none."""
    begin = 0
    for piece in pieces:
        if begin <= x < begin + piece.cells:
            return piece.page
        begin += piece.cells
    return ""


def _mostly_empty(tabs: Sequence[Tab]) -> bool:
    """Whether most pages can have no content: a row of keys alone would say nothing."""
    empty = sum(tab.dim for tab in tabs)
    return 2 * empty > len(tabs)


def _forms(head: Head, *, mostly_empty: bool) -> Iterator[tuple[_Form, str]]:
    """How the pages are named, and the facts: each time shorter."""
    power = head.power or ("",)
    long_facts = [_joined(head.host, head.took, power[0])]
    long_facts += [_joined(head.took, words) for words in power]
    all_facts = [*long_facts, _joined(power[-1]), ""]
    forms: list[tuple[_Form, list[str]]] = [
        ("full", long_facts),
        ("all short", long_facts),
        ("filled", long_facts),
        ("short", all_facts),
        ("keys", all_facts),
    ]
    if mostly_empty:
        forms.insert(1, ("all short", all_facts))
    for form, each in forms:
        for facts in each:
            yield form, facts


def _joined(*facts: str) -> str:
    return "".join(f" · {fact}" for fact in facts if fact)


def _pages(tabs: Sequence[Tab], form: _Form) -> Iterator[Piece]:
    """The pages: all with names; or those without content as keys alone; or with short names; or
    only the present one and those with news with names.
    """
    for tab in tabs:
        has_name = {
            "full": True,
            "all short": True,
            "filled": not tab.dim,
            "short": not tab.dim,
            "keys": False,
        }[form]
        has_short_name = form in ("all short", "short")
        title = _SHORT_TITLES.get(tab.title, tab.title) if has_short_name else tab.title
        news = f"·{tab.news}" if tab.news else ""
        is_named = has_name or tab.present or tab.news
        if is_named:
            words = f"{tab.key} {title}{news}"
        else:
            words = tab.key
        if tab.present:
            words = f"[{words}]"  # bold type alone is not seen on every terminal
            role = "title"
        elif tab.dim:
            role = "dim"
        else:
            role = "warn" if tab.news else "label"
        yield Piece(words, role, tab.name)
        yield Piece("  " if form in ("full", "filled") else " ", "ruler")


def _cells(pieces: Sequence[Piece]) -> int:
    return sum(piece.cells for piece in pieces)
