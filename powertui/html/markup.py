"""HTML that is safe by how it is made: whatever is not `Markup` is escaped on its way in.

Names of files, ops, hosts and sensors come from elsewhere. They become text or the value of an
attribute, and nothing else.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from powertui.plain import plain

# HTML has no text for these code points, not even as references: U+FDD0 to U+FDEF, and the last two
# of each plane.
_NO_CHARACTERS = re.compile(
    "[\ufdd0-\ufdef"
    + "".join(
        chr(plane * 0x10000 + 0xFFFE) + "-" + chr(plane * 0x10000 + 0xFFFF) for plane in range(17)
    )
    + "]"
)
_VOID_ELEMENTS = frozenset(("meta", "br", "path", "rect", "line", "circle"))


class Markup(str):
    """HTML that needs no escaping any more. Only this module makes it."""

    __slots__ = ()


def text(words: str, limit: int | None = None) -> Markup:
    """Words as they are read: nothing in them is markup, reorders its neighbors, or hides."""
    shown = _NO_CHARACTERS.sub(_visible, plain(words, limit))
    return Markup(html.escape(shown))


def element(tag: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """An element with its children; None is no child.

    An attribute that is None is left out; `class_` and `aria_label` are written "class" and
    "aria-label".
    """
    written = [tag]
    for name, value in attributes.items():
        if value is None:
            continue
        written.append(f'{name.rstrip("_").replace("_", "-")}="{text(_figure(value))}"')
    opening = f"<{' '.join(written)}>"
    if tag in _VOID_ELEMENTS:
        # Elements of SVG are closed by the slash; those of HTML have none.
        is_html = tag in ("meta", "br")
        return Markup(opening if is_html else f"{opening[:-1]}/>")
    return Markup(f"{opening}{joined(children)}</{tag}>")


def optional(tag: str, words: str, **attributes: str | float | None) -> Markup | None:
    """An element with these words; None where there are none."""
    if not words:
        return None
    return element(tag, words, **attributes)


def left_out_note(count: int, noun: str = "") -> Markup | None:
    """How many more there are than a page lists. None where it lists all."""
    if count <= 0:
        return None
    return element("p", f"… {count:,} more {noun}".rstrip(), class_="note")


def cut(words: str, letters: int) -> str:
    """At most so many letters; a sign stands for what is left out."""
    if len(words) <= letters:
        return words
    return f"{words[:letters]}…"


def breakable(words: str) -> Markup:
    """Words that may go on in the next line behind each slash, as names of layers should."""
    return joined(words.replace("/", "/\n").split("\n"), "<wbr>")


def joined(children: Iterable[str | None], between: str = "") -> Markup:
    """Children beside each other; `between` is markup of ours."""
    parts = []
    for child in children:
        if child is None:
            continue
        parts.append(child if isinstance(child, Markup) else text(child))
    return Markup(between.join(parts))


def style_text(rules: str) -> Markup:
    """A style sheet of ours as an element: nothing that was read may be in it."""
    return Markup(f"<style>{rules}</style>")


def percent(share: float) -> str:
    """A length or a place as CSS has it: "12.5%"."""
    return f"{_figure(round(100 * share, 3))}%"


def _figure(value: str | float) -> str:
    """A number in as few characters as it needs."""
    if isinstance(value, str):
        return value
    return f"{value:.6g}"


def _visible(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
