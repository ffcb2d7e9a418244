"""A `Result` written down: text, JSON, CSV and Markdown. None of the writers knows which tool gave
the answer.

A further form is one file beside these with `write(result) -> str` and one line in `WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from powertui.data.table import Result
from powertui.report.writers import as_csv, as_json, as_markdown, as_text

WRITERS: dict[str, Callable[[Result], str]] = {
    "text": as_text.write,
    "json": as_json.write,
    "csv": as_csv.write,
    "markdown": as_markdown.write,
}


def write(result: Result, form: str) -> str:
    """The result in one of the forms of `WRITERS`."""
    return WRITERS[form](result)
