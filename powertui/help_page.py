"""`powertui --help` without argparse: somebody who asks what there is gets it at once.

What stands in the page is written by `scripts/completions.py` from the parser (`help_words`). This
breaks it where the terminal ends, as argparse would; nothing is imported for that.
"""

from __future__ import annotations

import os
import sys

# As in argparse: where nothing tells how wide the terminal is, and what its right side stays free.
_FALLBACK_WIDTH = 80
MARGIN = 2
# In less room argparse breaks names and usage in other ways: it makes the page then.
_MIN_WIDTH = 60


def tell() -> str:
    """The page for this terminal; "" where it is too narrow for this."""
    columns = terminal_width()
    return "" if columns < _MIN_WIDTH else _page(columns - MARGIN)


def _page(room: int) -> str:
    """The page in lines of so many cells."""
    # Imported late: the parser, from which it is written, stands on this file.
    from powertui import help_words

    lines = [*_usage(help_words.USAGE, room), "", help_words.DESCRIPTION, ""]
    for title, rows in help_words.GROUPS:
        lines.append(f"{title}:")
        for name, text in rows:
            lines += _row(name, text, room)
        lines.append("")
    return "\n".join([*lines, help_words.EPILOG]) + "\n"


def _usage(parts: tuple[str, tuple[str, ...], str], room: int) -> list[str]:
    start, options, verb = parts
    whole = " ".join((start, *options, verb))
    if len(whole) <= room:
        return [whole]
    indent = " " * (len(start) + 1)
    first, *rest = broken(list(options), room - len(indent))
    return [f"{start} {first}", *(indent + line for line in (*rest, verb))]


def _row(name: str, text: str, room: int) -> list[str]:
    if not text:
        return [name]
    indent = len(name)  # names are filled up to where the texts begin
    first, *rest = broken(text.split(), room - indent)
    return [name + first, *(" " * indent + line for line in rest)]


def broken(words: list[str], room: int) -> list[str]:
    """Words in lines of at most so many characters; a longer word has a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def terminal_width() -> int:
    """Columns, as `shutil.get_terminal_size` finds them; it would import all archives for that."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if sys.__stdout__ is None:
        return _FALLBACK_WIDTH
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _FALLBACK_WIDTH
    except (ValueError, OSError):  # closed, or no terminal
        return _FALLBACK_WIDTH
