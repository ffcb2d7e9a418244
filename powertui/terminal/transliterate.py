"""What to write where a terminal lacks a character: the last net under widgets that choose their
glyphs well.

Three sets: "unicode" has everything; "console" is the font of the Linux console (box lines, shades,
full block, a few arrows); "ascii" is what a VT100 or a Latin-1 terminal has. Textual's own widgets
draw borders, arrows and scrollbars: they are translated here, cell for cell, so that no layout
breaks. Control characters never pass, whatever a name contains.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from rich.cells import get_character_cell_size

from powertui.plain import HOSTILE
from powertui.terminal.capabilities import is_utf8

# The characters of Debian's console fonts beyond Latin-1 that powertui or its widgets use.
_ON_A_CONSOLE = frozenset("─│┌┐└┘├┤┬┴┼═║╔╗╚╝░▒▓█▲▼►◄■•·←→↑↓▬")

_ASCII = {
    "─━╌╍┄┅┈┉╴╶╸╺⎯‒–—―‐‑−▃↔⇔⋯": "-",
    "═▒▄▅▀⏸": "=",
    "│┃╎╏┆┇┊┋╵╷╹╻║▏▕▎▍↕": "|",
    "┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬╭╮╯╰┍┎┑┒┕┖┙┚╒╓╕╖╘╙╛╜╪╫╞╡╟╢╤╥╧╨": "+",
    "±": "±",  # painter.py writes it in two cells, "+-", once it knows the whole row
    "█■▉▊▋▌▐◼▮": "#",
    "▓▆▇": "%",
    "░▂⋮": ":",
    "▁·⋅․": ".",
    "▔▲▴△↑⬆⇧⌃": "^",
    "▼▾▽↓⬇⇩⌄✓✔": "v",
    "▶►▸▹→⮞⇒›❯⏵≥": ">",
    "◀◄◂◃←⮜⇐‹❮≤↵⏎": "<",
    "•●◉⏺◆⬤∙": "*",
    "○◯◌◇□▢°": "o",
    "…≈": "~",
    "×✕✖✗✘": "x",
    "‘’‚′": "'",
    "“”„″": '"',
    "µμ": "u",
    "÷": "/",
    "²": "2",
    "³": "3",
    "\u00a0\u2007\u202f\u2009": " ",
}

_CONSOLE = {
    "▁▂▃": "░",
    "▄▅▀": "▒",
    "▆▇": "▓",
    "▉▊▋▌▐◼▮": "█",
    "━╌╍┄┅┈┉╴╶╸╺⎯‒–—―‐‑−": "─",
    "┃╎╏┆┇┊┋╵╷╹╻▏▕▎▍": "│",
    "╭┏┍┎╒╓": "┌",
    "╮┓┑┒╕╖": "┐",
    "╰┗┕┖╘╙": "└",
    "╯┛┙┚╛╜": "┘",
    "┣╠╞╟": "├",
    "┫╣╡╢": "┤",
    "┳╦╤╥": "┬",
    "┻╩╧╨": "┴",
    "╋╬╪╫": "┼",
    "▴△": "▲",
    "▾▽": "▼",
    "▶▸▹": "►",
    "◀◂◃": "◄",
    "●◉⬤◆∙": "•",
    "μ": "µ",
    "…≈": "~",
    "≥": ">",
    "≤": "<",
}

# Braille: dots become denser signs, so that a curve stays a curve.
_BRAILLE = {"ascii": " .:-=+*#@", "console": " ··░░▒▒▓█"}


class _Table(dict[int, str]):
    """A table for `str.translate` that decides about a character when it first comes."""

    def __init__(self, fixed: dict[int, str], glyphs: str, encoding: str) -> None:
        super().__init__(fixed)
        self._glyphs = glyphs
        self._encoding = encoding

    def __missing__(self, code: int) -> str:
        char = chr(code)
        sign = char if self._can_show(char) else "?" * get_character_cell_size(char)
        self[code] = sign
        return sign

    def _can_show(self, char: str) -> bool:
        if char.isascii():
            return True
        if self._glyphs == "ascii" or (
            self._glyphs == "console" and char > "\xff" and char not in _ON_A_CONSOLE
        ):
            return False
        try:
            char.encode(self._encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True


@lru_cache(maxsize=16)
def _table(glyphs: str, encoding: str) -> _Table:
    fixed: dict[int, str] = {}
    if glyphs in _BRAILLE:
        fixed.update({0x2800 + dots: _BRAILLE[glyphs][dots.bit_count()] for dots in range(256)})
        groups = _ASCII if glyphs == "ascii" else _CONSOLE
        fixed.update({ord(char): sign for chars, sign in groups.items() for char in chars})
    return _Table(fixed, glyphs, encoding)


def translator(glyphs: str, encoding: str) -> Callable[[str], str]:
    """A function that rewrites a text for a glyph set ("unicode", "console", "ascii") and an output
    encoding.
    """
    if glyphs == "unicode" and is_utf8(encoding):
        # Everything can be shown: only look for what must not be.
        search = HOSTILE.search
        replace = HOSTILE.sub
        return lambda text: replace("\ufffd", text) if search(text) else text
    table = _table(glyphs, encoding)
    return lambda text: HOSTILE.sub("?", text).translate(table)
