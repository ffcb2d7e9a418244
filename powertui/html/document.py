"""The file around the sections of a page, and what is left out where they are too many for it."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import __version__
from powertui.html import style_sheet
from powertui.html.markup import Markup, element, style_text
from powertui.plain import plain
from powertui.value_types import dataclass

MAX_BYTES = 300_000  # of a file: it goes through any mail server and chat
_FRAME_BYTES = 2_000  # for what is around the blocks, beside the style sheet
# Nothing may be fetched and nothing may run, whatever a browser would make of a name.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MAX_TITLE = 120


@dataclass(frozen=True)
class Block:
    """A part of a page.

    What is not essential is left out, the largest first, where the file would be too large.
    """

    markup: Markup
    title: str = ""  # what is said in its place
    essential: bool = False

    @property
    def size(self) -> int:
        return len(self.markup.encode())


def block(
    markup: Markup | None,
    title: str = "",
    *,
    essential: bool = False,
) -> list[Block]:
    """A part that may be missing, as a list of none or one."""
    if markup is None:
        return []
    return [Block(markup, title, essential)]


def document(title: str, blocks: Sequence[Block]) -> str:
    """The whole file. The same blocks always give the same bytes."""
    rules = style_sheet.style_sheet()
    kept = fitting(blocks, MAX_BYTES - _FRAME_BYTES - len(rules.encode()))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", plain(title, _MAX_TITLE)),
        style_text(rules),
    )
    made_by = element("footer", f"powertui {__version__}")
    body = element("body", element("main", *kept, made_by))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def fitting(blocks: Sequence[Block], room: int) -> list[Markup]:
    """The blocks that have room, in their order, and a line that names the others.

    The largest go first; essential ones only where all others are gone.
    """
    sizes = [part.size for part in blocks]
    by_size = sorted(
        range(len(blocks)), key=lambda number: (blocks[number].essential, -sizes[number])
    )
    spare = room - sum(sizes)
    left_out: set[int] = set()
    for number in by_size:
        if spare >= 0:
            break
        left_out.add(number)
        spare += sizes[number]
    kept = [part.markup for number, part in enumerate(blocks) if number not in left_out]
    titles = [blocks[number].title for number in sorted(left_out) if blocks[number].title]
    if titles:
        words = f"Left out, because the file would be too large: {_listed(titles)}."
        kept.append(element("p", words, class_="note"))
    return kept


def _listed(titles: Sequence[str]) -> str:
    names = [plain(title, 60) for title in dict.fromkeys(titles)]
    more = len(names) - 8
    return ", ".join(names[:8]) + (f" and {more} more" if more > 0 else "")
