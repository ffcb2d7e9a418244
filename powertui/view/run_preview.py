"""What to conclude from the run under the cursor of the runs list, in the lines below the list."""

from __future__ import annotations

from powertui.plain import plain
from powertui.report.runs import KnownRun
from powertui.view import truncation
from powertui.view.step_bars import LinePieces
from powertui.view.text_lines import text_lines

_MAX_LINES = 12
# Two of heading, titles of the columns, count of rows, keys, three of why the run is grouped so.
_FRAME_LINES = 8
_MIN_WINDOW_LINES = 20  # a smaller window has no line to spare
_INDENT = "  "


def height(row_count: int, window_lines: int) -> int:
    """Lines for the preview: what a list of so many rows leaves empty, at least a title and one.

    It depends on no run, so that nothing moves with the cursor.
    """
    if window_lines < _MIN_WINDOW_LINES:
        return 0
    return max(2, min(_MAX_LINES, window_lines - _FRAME_LINES - row_count))


def preview_lines(
    name: str,
    facts: KnownRun,
    columns: int,
    max_lines: int,
    ellipsis: str,
) -> list[LinePieces]:
    """The run's name and its conclusions, as many as have room in full; the first one cut."""
    title = ((f" {truncation.middle(plain(name), columns - 2, ellipsis)}", "title"),)
    lines: list[LinePieces] = [title]
    for sentence in facts.sentences or _why_nothing(facts).splitlines():
        rows = text_lines(plain(sentence, 600), max(20, columns - 4))
        if len(lines) + len(rows) > max_lines:
            if lines == [title]:
                cut = truncation.end(plain(sentence), columns - 4, ellipsis)
                lines.append(((_INDENT + cut, "text"),))
            break
        lines += [((_INDENT + line, "text"),) for line in rows]
    return lines


def _why_nothing(facts: KnownRun) -> str:
    """Why no conclusion is shown."""
    if facts.problem:
        return facts.problem
    if facts.found == 0:
        return "Nothing to conclude."
    if facts.unseen:
        return "Not read yet, as it is large or far away: Enter reads it."
    return ""
