"""Notes that a person wrote on a run, in a file of that person's own.

`$XDG_DATA_HOME/powertui/notes/KEY.jsonl` holds one note a line. The key is worked out from the
content of the run's first file, so that notes stay with a run whose folder is moved. A file is only
ever appended to, in one write that begins a new line: writers need no lock, and a line that was
torn costs no other. Deleting appends a line, too. With `beside` the file is in the run's folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from powertui import config
from powertui.data.logdir.entries import RunEntry
from powertui.errors import PowertuiError, UsageError
from powertui.opening import open_regular
from powertui.place_words import time_words, times_words
from powertui.plain import plain
from powertui.value_types import dataclass

MAX_NOTE_CHARS = 1000  # a paragraph; what is longer belongs in a document
_MAX_FILE_BYTES = 4 << 20  # some ten thousand notes
_BESIDE = ".powertui-notes.jsonl"
_SAMPLE_BYTES = 1 << 16  # of either end of a profile: planes and events differ there
_HEAD_BYTES = 1 << 12  # of a log that may still grow
_MAX_PS = 1 << 62


@dataclass(frozen=True)
class Note:
    """One note. Without `lo` it is about the whole run; with `lo == hi` about a moment."""

    id: str
    text: str
    lo: int | None = None  # ps on the clock of its host's profile
    hi: int | None = None
    host: str = ""
    written: str = ""  # when, ISO 8601 in UTC
    is_beside: bool = False

    @property
    def place(self) -> str:
        """Where it is, in words; "" for the whole run."""
        if self.lo is None or self.hi is None:
            return ""
        if self.lo == self.hi:
            return time_words(self.lo)
        return times_words(self.lo, self.hi)

    def is_on(self, host: str) -> bool:
        """Whether it is to be drawn on the profile of this host."""
        return self.lo is not None and self.host in ("", host)


@dataclass(frozen=True)
class RunNotes:
    """All notes of a run by their place, and in a sentence what could not be read."""

    notes: tuple[Note, ...] = ()
    problem: str = ""


def checked_text(text: str) -> str:
    """The text of a note on one line. Raises `UsageError` where it cannot be one."""
    line = " ".join(text.split())
    if not line:
        raise UsageError("A note needs a text.")
    if len(line) > MAX_NOTE_CHARS:
        raise UsageError(
            f"A note has at most {MAX_NOTE_CHARS:,} characters; this one has {len(line):,}."
        )
    return plain(line)


def run_notes(entry: RunEntry) -> RunNotes:
    """The notes of a run: the person's own, and those beside it."""
    found: dict[str, Note] = {}
    problems = []
    for path, is_beside in ((_own_path(entry), False), (_path_beside(entry), True)):
        if path is None:
            continue
        notes, problem = _read(path, is_beside)
        found.update(notes)
        if problem:
            problems.append(problem)
    in_order = sorted(found.values(), key=lambda note: (note.lo or 0, note.hi or 0, note.written))
    return RunNotes(tuple(in_order), " ".join(problems))


def add_note(
    entry: RunEntry,
    text: str,
    stretch: tuple[int, int] | None,
    host: str = "",
    *,
    beside: bool = False,
) -> Note:
    """Write a note. Raises `PowertuiError` where it cannot be kept."""
    path = _path_beside(entry) if beside else _own_path(entry)
    if path is None:
        raise UsageError("This run has no file on this machine that a note could be kept for.")
    lo, hi = stretch if stretch is not None else (None, None)
    note = Note(
        id=os.urandom(4).hex(),
        text=checked_text(text),
        lo=lo,
        hi=hi,
        host=host[:MAX_NOTE_CHARS],
        written=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        is_beside=beside,
    )
    line = {"id": note.id, "text": note.text, "written": note.written, "run": entry.name[:1000]}
    if stretch is not None:
        line |= {"lo_ps": lo, "hi_ps": hi, "host": note.host}  # type: ignore[dict-item]
    _append(path, line)
    return note


def delete_note(entry: RunEntry, note: Note) -> None:
    """Take a note back. Raises `PowertuiError` where that cannot be kept."""
    path = _path_beside(entry) if note.is_beside else _own_path(entry)
    assert path is not None
    _append(path, {"delete": note.id})


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


def _own_path(entry: RunEntry) -> Path | None:
    key = _run_key(entry)
    if key is None:
        return None
    return config.data_folder() / "notes" / f"{key}.jsonl"


def _path_beside(entry: RunEntry) -> Path | None:
    if entry.path == "-":
        return None
    place = Path(entry.path)
    return (place if place.is_dir() else place.parent) / _BESIDE


def _run_key(entry: RunEntry) -> str | None:
    """A name for the run by what is in it; None where there is nothing to read."""
    for files, may_grow in ((entry.profiles, False), (entry.tfevents, True), (entry.power, True)):
        for path in sorted(file.path for file in files):
            try:
                return _content_key(path, may_grow=may_grow)
            except OSError:
                continue
    return None


def _content_key(path: str, *, may_grow: bool) -> str:
    with open_regular(path) as file:
        if may_grow:
            return hashlib.sha256(file.read(_HEAD_BYTES)).hexdigest()[:32]
        size = file.seek(0, os.SEEK_END)
        digest = hashlib.sha256(str(size).encode())
        for begin in (0, max(0, size - _SAMPLE_BYTES)):
            file.seek(begin)
            digest.update(file.read(_SAMPLE_BYTES))
        return digest.hexdigest()[:32]


def _append(path: Path, line: dict[str, Any]) -> None:
    """One write at the end of the file: what was there stays, whatever happens."""
    # The line break in front ends what an earlier writer may have left torn.
    content = f"\n{json.dumps(line)}\n".encode()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        handle = os.open(path, flags, 0o600)
        try:
            if os.fstat(handle).st_size + len(content) > _MAX_FILE_BYTES:
                raise UsageError("This run has no room for another note.")
            if os.write(handle, content) != len(content):
                raise OSError("the disk is full")
        finally:
            os.close(handle)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PowertuiError(f"The note cannot be kept in {plain(str(path))}: {reason}.") from None


def _read(path: Path, is_beside: bool) -> tuple[dict[str, Note], str]:
    """The notes of a file by their ids, and in a sentence what of it could not be read."""
    shown = plain(str(path))
    try:
        with open_regular(path) as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        return {}, f"The notes in {shown} cannot be read: {error.strerror or error}."
    if len(content) > _MAX_FILE_BYTES:
        return {}, f"{shown} is too large for notes."
    notes: dict[str, Note] = {}
    deleted = set()
    damaged = 0
    for raw in content.split(b"\n"):
        if not raw.strip():
            continue
        line = _parsed(raw)
        if line is not None and isinstance(line.get("delete"), str):
            deleted.add(line["delete"])
            continue
        note = None if line is None else _note(line, is_beside)
        if note is None:
            damaged += 1
        else:
            notes[note.id] = note
    problem = ""
    if damaged:
        lines = "1 line" if damaged == 1 else f"{damaged:,} lines"
        problem = f"{lines} of {shown} cannot be read as a note; nothing in it was changed."
    return {id: note for id, note in notes.items() if id not in deleted}, problem


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _note(line: dict[str, Any], is_beside: bool) -> Note | None:
    """A note as `add_note` writes it; None for anything else."""
    id = line.get("id")
    text = line.get("text")
    written = line.get("written", "")
    if not (isinstance(id, str) and isinstance(text, str) and isinstance(written, str)):
        return None
    if not id or len(id) > 64 or not text.strip():
        return None
    lo = line.get("lo_ps")
    hi = line.get("hi_ps")
    host = line.get("host", "")
    if lo is not None or hi is not None:
        if type(lo) is not int or type(hi) is not int or not isinstance(host, str):
            return None
        if not -_MAX_PS < lo <= hi < _MAX_PS:
            return None
    return Note(
        id=plain(id),
        text=plain(" ".join(text.split()), MAX_NOTE_CHARS),
        lo=lo,
        hi=hi,
        host=host if isinstance(host, str) else "",
        written=plain(written, 40),
        is_beside=is_beside,
    )


def note_named(notes: tuple[Note, ...], id: str) -> Note:
    """The note with this id, or the only one whose id begins so."""
    fitting = [note for note in notes if note.id == id] or [
        note for note in notes if id and note.id.startswith(id)
    ]
    if len(fitting) != 1:
        there = ", ".join(note.id for note in notes[:8])
        raise UsageError(
            f"No note, or more than one, has the id {plain(id, 80)!r}.",
            hint=f"There are: {there}" if there else "This run has no notes.",
        )
    return fitting[0]
