"""Text on several lines, broken between words, but never between a figure and its unit."""

from __future__ import annotations

import re
import textwrap

_UNIT_GAP = re.compile(r"(?<=\d) (?=%|[^\W\d_])")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def text_lines(text: str, cells: int, indent: str = "") -> list[str]:
    """At least one line; `indent` is before all but the first."""
    unbroken = _UNIT_GAP.sub(_NO_BREAK, text)
    lines = textwrap.wrap(unbroken, cells, subsequent_indent=indent) or [""]
    return [line.replace(_NO_BREAK, " ") for line in lines]
