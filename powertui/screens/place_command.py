"""The command that opens a run at a place: the last line of what `y` copies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from powertui.place_words import shell_word
from powertui.screens import trainings

if TYPE_CHECKING:
    from powertui.data.logdir import Logdir, RunEntry
    from powertui.screens.session import Session

_CANNOT_BE_TYPED = "(The name of this run holds control characters: no command can be given.)"
_PIPE = "(This run came through a pipe: no command opens it again.)"


def place_command(session: Session, place: str) -> str:
    """`powertui RUN --at PLACE` as a shell reads it, or in a sentence why there is none.

    Names come from elsewhere: each is one quoted word.
    """
    entry = session.entry
    folder = session.logdir
    if entry is None or folder is None or entry.path == "-":
        return _PIPE
    words = ["powertui", *_run_words(folder, entry)]
    if session.reading.columns is None:  # else more than its name is needed to read it
        for path in session.reading.power:
            words += _option("--power", _absolute(path))
    marker = session.reading_of(entry.path).step_marker
    if marker:
        words += _option("--step-marker", marker)
    quoted = [shell_word(word) for word in [*words, *_option("--at", place)]]
    if None in quoted:
        return _CANNOT_BE_TYPED
    return " ".join(word for word in quoted if word is not None)


def _run_words(folder: Logdir, entry: RunEntry) -> list[str]:
    """The path that the run was found under, and its name where more was found there."""
    path = folder.path_of(entry)
    found = next((part for part in folder.parts if part.path == path), folder)
    words = [_absolute(path)]
    alone = trainings.only(found)
    if alone is not None and alone.path == entry.path:
        return words
    for run in found.runs:
        if run.path == entry.path:
            return [*words, *_option("--run", run.name)]
    return words


def _option(name: str, value: str) -> list[str]:
    """An option; a value that looks like one itself (a time before zero) is tied to it."""
    if value.startswith("-"):
        return [f"{name}={value}"]
    return [name, value]


def _absolute(path: str) -> str:
    """The same from every folder; never taken for an option."""
    return path if "://" in path else os.path.abspath(path)  # noqa: PTH100  # keeps links
