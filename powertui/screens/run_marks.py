"""The marks of the list of runs: what is opened or compared together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data.logdir import RunEntry
from powertui.data.table import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from powertui.screens.open import OpenScreen


class RunMarks:
    """Which runs are marked, in the order in which they were."""

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        # By path: another look at the folder, which may come at any moment, makes all entries anew.
        self._paths: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def clear(self) -> None:
        self._paths.clear()

    def sign(self, path: str) -> str:
        """The mark of a run; of several open ones "open", or "front" for the one in front."""
        session = self._page.session
        if path in self._paths:
            return "*"
        open_paths = [entry.path for entry in session.together]
        if len(open_paths) < 2 or path not in open_paths:
            return ""
        if path == session.front:
            return "front"
        return "open"

    def toggle(self, run: RunEntry) -> str:
        """Mark a run, or take its mark back; what to say about it."""
        if run.path in self._paths:
            del self._paths[run.path]
        else:
            self._paths[run.path] = None
        if not self._paths:
            return ""
        runs = f"{len(self):,} {plural('run', len(self))}"
        return f"{runs} marked. Enter opens them together, = compares them; Space unmarks one."

    def marked_runs(self) -> tuple[RunEntry, ...]:
        """Those that are marked, as they are listed now; without those that are gone."""
        listed = {run.path: run for run in self._page.listed_runs}
        return tuple(listed[path] for path in self._paths if path in listed)

    def open_to_compare(self) -> None:
        """Open the marked runs together, in the order of their marks, where two are marked."""
        marked = self.marked_runs()
        under_cursor = self._page.run_under_cursor
        if len(marked) == 1 and under_cursor is not None:
            marked = (*marked, under_cursor)
        if len({run.path for run in marked}) > 1:
            self.open_together(marked)

    def open_together(self, marked: Sequence[RunEntry]) -> None:
        """Open these runs together, with the first one in front."""
        page = self._page
        self.clear()
        page.show_rows()
        profiled: dict[str, RunEntry] = {}  # by path: a training and its session may both be marked
        for run in marked:
            session = page.trainings.profiled(run)
            if session is not None:
                profiled[session.path] = session
        if not profiled:
            page.say("None of the marked runs has a profile.", warn=True)
        page.shell.runs.open_several(list(profiled.values()))
