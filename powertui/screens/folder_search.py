"""Looking through the folders of the list of runs: once from end to end, then for what is new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from powertui.data import elsewhere, logdir
from powertui.data.logdir import Logdir
from powertui.data.logdir.changes import Changes
from powertui.errors import Cancelled, PowertuiError
from powertui.widgets import background

if TYPE_CHECKING:
    from powertui.screens.open import OpenScreen

WATCHED_S = 1.5  # between two looks for new files in the folders
# Looks at the folders after something came, whether they changed or not: it is still being written.
_LOOKS_AFTER_NEWS = 3


class FolderSearch:
    """Searches in threads; the list shows each stage as it comes."""

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        self._changes: Changes | None = None
        self._is_watching = False  # whether a thread asks the folders what came
        self._looks_to_come = 0  # looks at the folders, whether they changed or not

    def follow(self, stages: Iterable[Logdir], *, again: bool = False, quiet: bool = False) -> None:
        """Show the folder stage by stage while a thread goes through it."""
        page = self._page

        def work(check: background.CancelCheck) -> Logdir | PowertuiError | None:
            last: Logdir | None = None
            try:
                with elsewhere.listening(lambda _progress: check()):
                    for stage in stages:
                        check()
                        if last is not None:
                            page.shell.from_thread(page.show_stage, last)
                        last = stage
            except PowertuiError as error:
                if isinstance(error, Cancelled):
                    raise
                return error
            return last

        def done(folder: Logdir | PowertuiError | None) -> None:
            if isinstance(folder, Logdir):
                self._changes = None
                self._show_folder(folder, again, quiet)
            elif folder is not None and not quiet:
                page.say(str(folder), warn=True)

        background.begin(page, "scan", work, done)

    def _show_folder(self, folder: Logdir, again: bool, quiet: bool) -> None:
        """Show the folder when all of it was searched, and report what is new."""
        page = self._page
        paths_before = page.paths
        page.show_folder(folder)
        new = [run for run in folder.runs if run.path not in paths_before]
        if again:
            page.say(f"{len(folder.runs):,} runs.")
        elif quiet and new:
            sentence = f"New: {new[0].name}"
            if len(new) > 1:
                sentence += f" and {len(new) - 1:,} more"
            page.say(sentence)
        elif not quiet and page.session.entry is None:
            page.shell.runs.open_found(folder)

    def watch(self) -> None:
        """Ask the folders whether a run came, while the list is in front."""
        page = self._page
        session = page.session
        folder = session.logdir
        if folder is None or not folder.complete or not folder.folders or self._is_watching:
            return
        if page.shell.current() is not page:
            return
        self._is_watching = True
        changes = self._changes
        look_anyway = page.reader.any_growing or self._looks_to_come > 0
        self._looks_to_come = max(0, self._looks_to_come - 1)

        def look(_check: background.CancelCheck) -> tuple[Changes, bool]:
            looker = changes or Changes(folder.folders, folder.began_ns)
            return looker, looker.look()

        def answered(answer: tuple[Changes, bool]) -> None:
            self._is_watching = False
            if session.logdir is not folder:
                return
            self._changes, has_changed = answer
            if has_changed:
                self._looks_to_come = _LOOKS_AFTER_NEWS
            if has_changed or look_anyway:
                self.follow(logdir.stream_all(folder.paths), quiet=True)

        background.begin(page, "watch", look, answered)
