"""Where the figures of a page are from: files, clocks, versions, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from powertui.html.markup import Markup, cut, element
from powertui.report import run_page
from powertui.report.facts import Facts

_MAX_LINES = 12  # of one label
_MAX_LETTERS = 400  # of a line


def run_provenance(run: Facts) -> list[tuple[str, str]]:
    """(label, line) of one run, as its text report has them."""
    rows = [("run", run["name"])]
    rows += [("time", line) for line in run_page.times(run)]
    profiles = run["profiles"]
    for profile in profiles:
        lines = run_page.step_lines(profile, several=len(profiles) > 1)
        rows += [("steps", line) for line in lines]
    for profile in profiles:
        if profile["epochs"]["count"]:
            rows.append(("epochs", f"{profile['epochs']['count']}: {profile['epochs']['source']}"))
            break
    return rows + run_page.rows_below_epochs(run)


def provenance(
    rows: Iterable[tuple[str, str]],
    notes: Sequence[str] = (),
    level: str = "h3",
) -> Markup | None:
    """The lines below their labels, then the notes on how figures are counted.

    `level` is that of the heading.
    """
    parts: list[Markup] = []
    for label, same in groupby(filter(_has_line, rows), key=lambda row: row[0]):
        lines = [line for _, line in same]
        parts.append(element("dt", label))
        parts += [element("dd", _limited(line)) for line in lines[:_MAX_LINES]]
        if len(lines) > _MAX_LINES:
            parts.append(element("dd", f"… {len(lines) - _MAX_LINES:,} more"))
    parts += _notes(notes)
    if not parts:
        return None
    return element(
        "section", element(level, "Sources"), element("dl", *parts, class_="sources"), class_="fine"
    )


def _has_line(row: tuple[str, str]) -> bool:
    return bool(row[1])


def _notes(notes: Sequence[str]) -> Iterable[Markup]:
    if not notes:
        return
    yield element("dt", "notes")
    for note in notes[:_MAX_LINES]:
        yield element("dd", _limited(note))


def _limited(words: str) -> str:
    return cut(words, _MAX_LETTERS)
