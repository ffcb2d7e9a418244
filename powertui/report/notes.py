"""`powertui note`: notes on a run, written, listed and deleted."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from powertui import __version__
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_NS, PS_PER_S, PowerSeries
from powertui.data.notes import Note, add_note, checked_text, delete_note, note_named, run_notes
from powertui.errors import UnreadableFile, UsageError
from powertui.place_words import PlaceWords, host_named, host_word, parse_place
from powertui.plain import plain
from powertui.report import text
from powertui.value_types import dataclass


@dataclass(frozen=True)
class NotePlace:
    """Where a note is to be, as a person typed it."""

    place: str | None = None
    host: str | None = None
    beside: bool = False


def noted_run(path: str, name: str | None) -> RunEntry:
    """The run that is meant. Raises where there is none, or more than one."""
    return logdir.scan(path).only(name)


def write_note(entry: RunEntry, words: str, where: NotePlace, reading: ReadOptions) -> int:
    """Write a note at a place."""
    checked_text(words)  # before a large run is read for its place
    stretch, host = None, ""
    if where.place is not None:
        stretch, host = _stretch(entry, where, reading)
    note = add_note(entry, words, stretch, host, beside=where.beside)
    place = f" at {note.place}" if note.place else ""
    text.write(sys.stderr, f"Wrote note {note.id}{place}.")
    return 0


def delete(entry: RunEntry, id: str) -> int:
    """Take a note back."""
    found = run_notes(entry)
    _say_problem(found.problem)
    note = note_named(found.notes, id)
    delete_note(entry, note)
    text.write(sys.stderr, f"Deleted note {note.id}: {note.text}")
    return 0


def show(path: str, entry: RunEntry, form: str) -> int:
    """List the notes of a run."""
    found = run_notes(entry)
    _say_problem(found.problem)
    if form == "json":
        shown = [_json_note(note) for note in found.notes]
        text.out(
            text.to_json({"powertui": __version__, "path": path, "run": entry.name, "notes": shown})
        )
        return 0
    lines = [_note_line(note) for note in found.notes]
    text.out("\n".join(lines) or "This run has no notes. Write one: powertui note RUN TEXT")
    return 0


def _note_line(note: Note) -> str:
    """A note on one line: its id, its place and host, its text."""
    place = note.place or "whole run"
    if note.host:
        place += f" on {plain(note.host, 60)}"
    return f"{note.id}  {place}  {note.text}"


def _json_note(note: Note) -> dict[str, object]:
    """A note as JSON."""
    has_place = note.lo is not None and note.hi is not None
    return {
        "id": note.id,
        "text": note.text,
        "place": note.place,
        "start_s": note.lo / PS_PER_S if has_place and note.lo is not None else None,
        "end_s": note.hi / PS_PER_S if has_place and note.hi is not None else None,
        "host": note.host,
        "written": note.written,
        "beside": note.is_beside,
    }


def _say_problem(problem: str) -> None:
    if problem:
        text.write(sys.stderr, f"powertui: {problem}")


def _stretch_of_logs(
    entry: RunEntry,
    place: PlaceWords,
    power: Sequence[PowerSeries],
) -> tuple[int, int]:
    """The stretch of a place in power logs alone: times since they begin."""
    if not power:
        raise UnreadableFile(entry.path, "has no profile, so a note has no place in it")
    times = place.stretch.times if place.stretch is not None else None
    if times is None:
        raise UsageError(
            "A power log alone has no epochs or steps.",
            hint="Give times since it begins: --at 27.3s-28.8s",
        )
    begins = min(int(series.times[0]) for series in power)
    end_ps = max(int(series.times[-1]) - begins for series in power) * PS_PER_NS
    if times[1] < 0 or times[0] > end_ps:
        raise UsageError(
            "The log has nothing at that time.", hint=f"It is {end_ps / PS_PER_S:.3f} s long."
        )
    return times


def _stretch(
    entry: RunEntry,
    where: NotePlace,
    reading: ReadOptions,
) -> tuple[tuple[int, int], str]:
    """The stretch of a place, and the host where the run has several."""
    from powertui.data.training.training import Trainings
    from powertui.report.export import WindowWords, profile_window

    assert where.place is not None
    place = parse_place(where.place)
    opened = Trainings(logdir.scan(entry.path), reading).opened(entry)
    hosts = [trace.host for trace in opened.run.traces]
    if not hosts:
        return _stretch_of_logs(entry, place, opened.run.power), ""
    index = 0
    name = where.host or place.host
    if name is not None:
        found = host_named(hosts, name)
        if found is None:
            words = ", ".join(plain(host_word(hosts, number), 60) for number in range(len(hosts)))
            raise UsageError(
                f"There is no host {plain(name, 80)!r}.", hint=f"The hosts are: {words}"
            )
        index = found
    host = hosts[index] if len(hosts) > 1 else ""
    moment = place.stretch if place.stretch is not None and place.stretch.is_moment else None
    if moment is not None and moment.times is not None:
        lo, hi = opened.run.traces[index].span
        if not lo <= moment.times[0] <= hi:
            raise UsageError(
                "The profile has nothing at that moment.",
                hint=f"It spans {lo / PS_PER_S:.3f} s to {hi / PS_PER_S:.3f} s.",
            )
        return moment.times, host
    window = WindowWords.from_place(where.place)
    return profile_window(window, opened.run, index, outside=True), host
