"""What a person wrote beside a run: notes with the moment that each is about."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.logdir import RunEntry
from powertui.data.notes import run_notes
from powertui.html.markup import Markup, element
from powertui.value_types import dataclass

_MAX_NOTES = 100
_MAX_LETTERS = 1000  # of a note


@dataclass(frozen=True)
class ShownNote:
    """A note as a page lists it: where in the run, and its words. Both are text, never markup."""

    place: str
    words: str


def shown_notes(entry: RunEntry) -> list[ShownNote]:
    """The notes of a run, as `powertui note` lists them."""
    shown = []
    for note in run_notes(entry).notes:
        place = note.place or "whole run"
        shown.append(ShownNote(f"{place} on {note.host}" if note.host else place, note.text))
    return shown


def note_list(notes: Sequence[ShownNote]) -> Markup | None:
    """All notes in their order. None without any."""
    if not notes:
        return None
    rows = []
    for note in notes[:_MAX_NOTES]:
        rows.append(element("dt", note.place))
        rows.append(element("dd", note.words[:_MAX_LETTERS]))
    if len(notes) > _MAX_NOTES:
        rows.append(element("dd", f"… {len(notes) - _MAX_NOTES:,} more"))
    return element(
        "section", element("h3", "Notes"), element("dl", *rows, class_="sources"), class_="notes"
    )
