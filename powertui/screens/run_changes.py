"""Whether the run in front has changed on the disk since it was read, or its training has grown."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from powertui.data import watch
from powertui.data.model import Run
from powertui.screens import growing

if TYPE_CHECKING:
    from powertui.screens.runs import OpenRuns

_CHANGED = "The file has changed since it was read. Press r to read it again."


class RunChanges:
    """Looks in a thread: a file system that hangs does not block the screen."""

    def __init__(self, runs: OpenRuns) -> None:
        self._runs = runs
        self._shell = runs.shell
        self._session = runs.session
        self._growing: growing.Growing | None = None  # follows the training that is open
        self._changed_run: Run | None = None  # the run whose files are known to have changed
        self._is_looking = False  # whether a thread looks for changes

    def say_changed(self) -> None:
        """Say that the files of the run have changed since they were read."""
        self._changed_run = self._session.run
        page = self._shell.current()
        if page is not None and page.is_mounted and page.NAME == "timeline":
            page.show_progress("changed on disk")  # stays when the sentence is gone
        self._shell.say(_CHANGED, warn=True)

    def look(self) -> None:
        """Look once, unless a thread still does."""
        session = self._session
        run = session.run
        if self._is_looking or run is None or run is self._changed_run or not session.complete:
            return
        self._is_looking = True
        opened = session.opened
        model = session.model
        index = session.trace_index
        aligning = session.aligning
        followed = self._growing.training if self._growing is not None else None
        if session.training is not followed:
            self._growing = growing.growing_training(opened, session.logdir)
        follows = self._growing

        def look() -> None:
            changed = watch.changed(run)
            grown = None
            if not changed and follows is not None and opened is not None and model is not None:
                grown = follows.look(
                    opened,
                    index,
                    model,
                    aligning,
                )
            self._shell.from_thread(
                self._looked,
                run,
                changed,
                grown,
            )

        threading.Thread(target=look, name="powertui-looking", daemon=True).start()

    def _looked(
        self,
        run: Run,
        changed: bool,
        grown: growing.Grown | None = None,
    ) -> None:
        self._is_looking = False
        if run is not self._session.run:
            return
        if grown is not None and grown.part.model is not None:
            self._show_grown(grown)
        elif changed and run is not self._changed_run:
            self.say_changed()

    def _show_grown(self, grown: growing.Grown) -> None:
        """Show more of a training that goes on."""
        session = self._session
        folder = grown.folder
        if folder is not None and session.logdir is not None and session.logdir.path == folder.path:
            session.logdir = folder
        session.opened = grown.opened
        self._runs.take(grown.opened, grown.part)
        self._shell.tell()
