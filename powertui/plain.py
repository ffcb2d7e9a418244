"""Text from files, made safe to print: nothing in it can move a cursor, set a title or forge a
line.

Names of events, hosts, files and sensors come from elsewhere. A terminal obeys control characters
in them (ANSI escapes, carriage returns, the 8-bit C1 forms), and a reader is fooled by characters
that reorder or hide text (bidirectional overrides, zero-width marks). Here each becomes visible, as
Python would write it: `\\x1b`, `\\u202e`. Everything that prints or draws foreign text passes it
through `plain` first; it is pure and needs nothing, so that every layer can.
"""

from __future__ import annotations

import re
import unicodedata

from powertui.patterns import late_pattern

# C0, DEL and C1 controls; line and paragraph separators; zero-width and bidirectional marks;
# interlinear annotation; the byte-order mark; lone surrogates (undecodable bytes of file names);
# tag characters.
HOSTILE = late_pattern(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def plain(text: str, limit: int | None = None) -> str:
    """`text` on one line, with everything hostile made visible; cut to `limit` characters with an
    ellipsis.
    """
    if limit is not None and len(text) > limit:
        # Cut before escaping: a name of a megabyte (HLO text) must not be escaped to show sixty
        # characters.
        text = text[: max(0, limit)]
        shown = HOSTILE.sub(_visible, text)
        if limit > 0:
            return shown[: max(0, limit - 1)] + "…"
        return ""
    shown = HOSTILE.sub(_visible, text)
    if limit is not None and len(shown) > limit:
        if limit > 0:
            return shown[: max(0, limit - 1)] + "…"
        return ""
    return shown


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code in _ESCAPE_LETTERS:
        return _ESCAPE_LETTERS[code]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte of a file name that was no UTF-8
    if code <= 0xFF:
        return f"\\x{code:02x}"
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


_ESCAPE_LETTERS = {9: "\\t", 10: "\\n", 13: "\\r"}


def cell(text: str) -> str:
    """Text for a cell of a CSV file: a spreadsheet must not run it as a formula.

    Numbers are for the caller to write as numbers; this is for names. What could begin a formula
    gets an apostrophe in front, as spreadsheets themselves write it, also behind blanks that they
    would skip.
    """
    shown = plain(text)
    if shown.lstrip()[:1] in _FORMULA:
        return "'" + shown
    return shown


_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20|%")


def width(text: str) -> int:
    """How many terminal cells `text` takes. It should have been through `plain`."""
    if text.isascii():
        return len(text)
    cells = 0
    for char in text:
        if unicodedata.combining(char):
            continue
        cells += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return cells
