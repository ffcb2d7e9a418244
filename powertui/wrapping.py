"""Sentences for a terminal: broken at blanks where it ends.

`powertui sensors` runs where numpy is missing, so nothing of this imports any.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from powertui.plain import width

# In less room than this, text is not wrapped: a word a line reads worse. Chosen, not measured.
_MIN_WRAPPED_CELLS = 30
_HANGING = 2  # cells that the rest of a sentence is set in


def wrapped(text: str, room: int) -> list[str]:
    """Text in lines of at most so many cells, broken at blanks.

    Paths longer than a line stay whole, to be copied. In no room at all it is one line: a pipe.
    """
    if room < _MIN_WRAPPED_CELLS:
        return [text]
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(lines[-1]) + 1 + width(word) <= room:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def fitted(lines: Iterable[str], columns: int | None = None) -> list[str]:
    """Lines of a page, with sentences that are wider than the terminal broken at blanks.

    Rows of tables, which have two blanks somewhere, and commands to copy stay as they are.
    """
    if columns is None:
        columns = terminal_columns()
    single_lines = "\n".join(lines).split("\n")
    if columns < _MIN_WRAPPED_CELLS:
        return single_lines  # a pipe: measuring lines is 3 % of a report of 2,000 runs
    kept: list[str] = []
    for line in single_lines:
        sentence = line.lstrip(" ")
        indent = len(line) - len(sentence)
        if width(line) <= columns or "  " in sentence or sentence.startswith("powertui "):
            kept.append(line)
            continue
        first, *rest = wrapped(sentence, columns - indent - _HANGING)
        kept.append(" " * indent + first)
        kept += [" " * (indent + _HANGING) + part for part in rest]
    return kept


def terminal_columns(stream: TextIO | None = None) -> int:
    """The width of the terminal that standard output, or another stream, writes to.

    0 when output goes elsewhere.
    """
    stream = sys.stdout if stream is None else stream
    try:
        if stream.isatty():
            import shutil  # only for a terminal: it imports bz2 and lzma

            # Where standard output is a file, standard error may still be a terminal.
            return shutil.get_terminal_size(os.get_terminal_size(stream.fileno())).columns
    except (AttributeError, ValueError):  # the stream is closed, or no file at all
        return 0
    except OSError:  # a terminal that does not tell its size
        import shutil

        return shutil.get_terminal_size((80, 24)).columns
    return 0
