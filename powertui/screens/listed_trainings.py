"""The trainings of the list of runs: which runs are sessions of one, and rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.plain import plain
from powertui.screens import trainings
from powertui.screens.grouping import grouped_with
from powertui.view import training_groups
from powertui.widgets import background

if TYPE_CHECKING:
    from powertui.screens.open import OpenScreen


class ListedTrainings:
    """Worked out in a thread for each folder, since it takes heads and ends of files."""

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        # Trainings with a row of their own; by the path of a session, that of its training's row.
        self.rows: tuple[tuple[RunEntry, TrainingEntry], ...] = ()
        self.row_of_session: dict[str, str] = {}
        self._asked_for: Logdir | None = None  # the folder whose trainings were asked for last
        self._worked_out: Logdir | None = None  # the folder whose trainings were worked out

    def work_out(self) -> None:
        """Find the trainings of the folder, once all of it was searched."""
        page = self._page
        folder = page.session.logdir
        if folder is None or not folder.complete or folder is self._asked_for:
            return
        self._asked_for = folder

        def done(rows: tuple[tuple[RunEntry, TrainingEntry], ...]) -> None:
            if not page.is_mounted or page.session.logdir is not folder:
                return
            self.rows = rows
            self._worked_out = folder
            self.row_of_session = {}
            for run, training in rows:
                sessions = (session.path for session in training.sessions)
                self.row_of_session.update((path, run.path) for path in sessions)
                page.reader.put_training(run, training)
            page.trainings_came()

        background.begin(page, "group", lambda _check: trainings.listed(folder), done)

    def forget(self) -> None:
        """Show no training until they are worked out anew."""
        self.rows = ()
        self.row_of_session = {}

    @property
    def is_under_way(self) -> bool:
        """Whether the trainings of this folder are still to come."""
        folder = self._page.session.logdir
        # Those of another folder are no longer of use.
        is_of_folder = folder is not None and folder is self._asked_for
        return is_of_folder and background.is_under_way(self._page, "group")

    def listed_runs(self, folder: Logdir) -> tuple[RunEntry, ...]:
        """The rows of the list: runs, and trainings that have one."""
        if not self.rows:
            return folder.runs
        runs = []
        for run in folder.runs:
            # A run without any of these is only a part of a training, which has a row of its own.
            if run.profiles or run.results or run.unread or run.problems:
                runs.append(run)
        for run, _ in self.rows:
            runs.append(run)
        return tuple(runs)

    def is_training(self, run: RunEntry) -> bool:
        """Whether this row is a training's."""
        return any(row is run for row, _ in self.rows)

    def profiled(self, run: RunEntry) -> RunEntry | None:
        """The run, or of a training's row its first session with a profile."""
        sessions: Sequence[RunEntry] = (run,)
        for row, training in self.rows:
            if row is run:
                sessions = training.sessions
        for session in sessions:
            if session.profiles:
                return session
        return None

    def reasons(self, run: RunEntry | None) -> list[str]:
        """Why a run belongs to its training; nothing where it is alone."""
        folder = self._page.session.logdir
        if folder is None or folder is not self._worked_out or run is None:
            return []
        for training in folder.trainings:
            if not grouped_with(training, run):
                continue
            if len(training.sessions) < 2 and not training.tfevents and not training.power:
                return []
            name = plain(training.name, 60)
            reasons = training_groups.group_reasons(training)
            return [f"{name}: {reasons}. {training_groups.why(training)}"]
        return []
