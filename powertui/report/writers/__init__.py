"""A `Result` written down: text, JSON, CSV and Markdown. None of the writers knows which tool gave
the answer.

A further form is one file beside these with `write(result) -> str`, and a function here with its
line in `WRITERS`. An answer is written in one form: the others are not imported.
"""

from __future__ import annotations

from collections.abc import Callable

from powertui.data.table import Result


def _text(result: Result) -> str:
    from powertui.report.writers import as_text

    return as_text.write(result)


def _json(result: Result) -> str:
    from powertui.report.writers import as_json

    return as_json.write(result)


def _csv(result: Result) -> str:
    from powertui.report.writers import as_csv

    return as_csv.write(result)


def _markdown(result: Result) -> str:
    from powertui.report.writers import as_markdown

    return as_markdown.write(result)


WRITERS: dict[str, Callable[[Result], str]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
}


def write(result: Result, form: str) -> str:
    """The result in one of the forms of `WRITERS`."""
    return WRITERS[form](result)
