"""Notes on the timeline: read once the run is, drawn in a lane, written and deleted with a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens.answer_threads import writing
from powertui.view.time_navigation import State

if TYPE_CHECKING:
    from powertui.data.logdir import RunEntry
    from powertui.data.notes import Note, RunNotes
    from powertui.data.opened import Opened
    from powertui.screens.timeline import TimelineScreen

_MAX_SHOWN = 3  # in the context pane


class Noting:
    """The notes of the run in front. Files are read and written in threads."""

    def __init__(self, page: TimelineScreen) -> None:
        self._page = page
        self._asked_for: Opened | None = None  # the run whose notes are read, or were
        self._changed: Note | None = None  # the note that the box is about
        self._stretch: tuple[int, int] | None = None

    def show(self) -> None:
        """Draw the notes of the run in front; read them first where that was not done."""
        session = self._page.session
        entry = session.entry
        if entry is None or not session.complete:
            return
        if session.opened is not self._asked_for:
            self._asked_for = session.opened
            session.notes = ()
            self._in_thread(entry, lambda: None, "")
        self._draw()

    def _draw(self) -> None:
        from powertui.data.energy.marks import MarkOnTrace

        marks = []
        for note in self._here():
            if note.lo is not None and note.hi is not None:
                end = note.hi if note.hi > note.lo else None
                marks.append(MarkOnTrace(note.text, note.lo, end))
        self._page.view.set_notes(marks)

    def _here(self) -> list[Note]:
        """The notes on the profile that is shown."""
        model = self._page.timeline.model
        host = model.trace.host if model is not None else ""
        return [note for note in self._page.session.notes if note.is_on(host)]

    def texts_at(self, state: State) -> list[str]:
        """What was written about the window, or about what is under the cursor."""
        return [note.text for note in self._at(state)][:_MAX_SHOWN]

    def _at(self, state: State) -> list[Note]:
        """The notes of the marked window, else of the cell under the cursor; the shortest first."""
        lo = state.cursor_ps // state.viewport.cell_ps * state.viewport.cell_ps
        hi = lo + state.viewport.cell_ps
        found = []
        for note in self._here():
            if note.lo is None or note.hi is None:
                continue
            if state.window is not None:
                if (note.lo, note.hi) == state.window:
                    found.append(note)
            elif note.lo < hi and max(note.hi, note.lo + 1) > lo:
                found.append(note)
        return sorted(found, key=lambda note: (note.hi or 0) - (note.lo or 0))

    # ── writing ──────────────────────────────────────────────────────────────────────────────────

    def ask(self) -> None:
        """Open the box: empty, or with the note that is here."""
        state = self._page.timeline.state
        if state is None or not self._page.session.complete:
            self._page.say("The run is still being read.", warn=True)
            return
        here = self._at(state)
        self._changed = here[0] if here else None
        cursor_ps = state.cursor_ps
        self._stretch = state.window or (cursor_ps, cursor_ps)
        if self._changed is None:
            self._page.box.open("note", "note: Enter keeps it, Esc does not")
        else:
            self._page.box.open(
                "note",
                "empty: Enter deletes the note",
                self._changed.text,
            )

    def write(self, text: str) -> None:
        """Enter in the box."""
        entry = self._page.session.entry
        model = self._page.timeline.model
        before = self._changed
        stretch = self._stretch
        if entry is None or model is None or (before is None and not text.strip()):
            return
        if before is not None and text.strip() == before.text:
            return
        host = ""
        if len(model.run.traces) > 1:
            host = model.trace.host
        if before is not None and before.lo is not None and before.hi is not None:
            stretch = (before.lo, before.hi)
            host = before.host

        def keep() -> None:
            from powertui.data.notes import add_note, delete_note

            if text.strip():
                beside = before is not None and before.is_beside
                add_note(
                    entry,
                    text,
                    stretch,
                    host,
                    beside=beside,
                )
            if before is not None:
                delete_note(entry, before)

        if not text.strip():
            done = "The note was deleted."
        elif before is not None:
            done = "The note was changed."
        else:
            done = "The note was kept in your own folder, not beside the run."
        self._in_thread(entry, keep, done)

    def _in_thread(
        self,
        entry: RunEntry,
        change: Callable[[], None],
        done: str,
    ) -> None:
        """Make a change, then read the notes as they are now."""
        shell = self._page.shell

        def work() -> None:
            from powertui.data.notes import RunNotes, run_notes

            problem = ""
            try:
                change()
            except (PowertuiError, OSError) as error:
                problem = str(error)
            try:
                found = run_notes(entry)
            except OSError as error:
                found = RunNotes(problem=f"The notes cannot be read: {plain(str(error))}.")
            shell.from_thread(
                self._read,
                entry,
                found,
                problem or found.problem,
                done,
            )

        shell.run_worker(writing(work), thread=True, group="notes")

    def _read(
        self,
        entry: RunEntry,
        found: RunNotes,
        problem: str,
        done: str,
    ) -> None:
        session = self._page.session
        if session.entry is None or session.entry.path != entry.path:
            return
        session.notes = found.notes
        if self._page.is_mounted:
            self._draw()
            self._page.context_changed()
        if problem:
            shell = self._page.shell
            shell.say(problem, warn=True)
        elif done:
            self._page.say(done)
