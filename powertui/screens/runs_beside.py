"""The runs that were marked with the one in front: read one after another, once it is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.errors import PowertuiError

if TYPE_CHECKING:
    from powertui.screens.runs import OpenRuns


class RunsBeside:
    """They stay open beside the one in front: R goes from one to the next."""

    def __init__(self, runs: OpenRuns, entries: Sequence[RunEntry]) -> None:
        self._runs = runs
        self._shell = runs.shell
        self._session = runs.session
        self._waiting = deque(entries)  # still to be read
        self._reading: Opened | None = None  # the one of them that is being read

    def read_next(self) -> None:
        """Read the next one in a thread."""
        while self._waiting and self._waiting[0].path in self._session.runs:
            self._waiting.popleft()
        if not self._waiting:
            return
        entry = self._waiting.popleft()
        opened = self._reading = Opened(entry, self._session.reading_of(entry.path))
        training = self._runs.training_of(entry)

        def read() -> None:
            try:
                around = opened.around = training()
                opened.run  # noqa: B018  # asking for it reads it
                if around is not None:
                    around.take(opened)
                problem = ""
            except PowertuiError as error:
                problem = error.message
            self._shell.from_thread(self._was_read, opened, problem)

        self._shell.run_worker(read, thread=True, group="also")

    def _was_read(self, opened: Opened, problem: str) -> None:
        session = self._session
        self._reading = None
        in_front = session.opened is not None and session.opened.path == opened.path
        if problem:
            remaining = (entry for entry in session.together if entry.path != opened.path)
            session.together = tuple(remaining)
            self._shell.say(problem, warn=True)
        elif not in_front:  # else somebody turned to it meanwhile
            session.keep(opened)
            self._shell.say(f"{opened.name} is open as well: = compares the two, R shows it.")
        self._shell.tell()
        self.read_next()

    def being_read(self, path: str) -> Opened | None:
        """The run that is being read, where it is this one."""
        if self._reading is None or self._reading.path != path:
            return None
        return self._reading
