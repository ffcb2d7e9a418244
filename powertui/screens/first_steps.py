"""What a person can do where there is nothing to open: look at the demo, record the power of this
machine for ten seconds, capture a program.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.capture.stages import Stage
    from powertui.screens.open import OpenScreen
    from powertui.screens.shell import Shell

RECORDED_S = 10.0
_LOOK_EVERY_S = 0.5


class FirstSteps:
    """The three ways on of the list of runs; one recording or capture at a time."""

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Whether something is being recorded or captured."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> bool:
        """End what goes on. False when nothing does."""
        was_busy = self.is_busy
        self._stop.set()
        return was_busy

    def demo(self) -> None:
        """Open the recorded run that ships with the program."""
        from powertui import demo

        self._open(str(demo.folder()))
        self._page.shell.say(demo.NOTE)

    def _open(self, path: str) -> None:
        """Put what is there in the place of the folder that was listed."""
        from powertui.data import logdir

        shell = self._page.shell
        folder = logdir.scan(path)
        self._page.session.logdir = folder
        if not shell.runs.open_found(folder):
            shell.tell()

    def _folder(self) -> str:
        """Where files are written: the folder that is listed, else the working folder."""
        folder = self._page.session.logdir
        listed = Path(folder.path) if folder is not None else Path()
        return str(listed if listed.is_dir() and os.access(listed, os.W_OK) else Path.cwd())

    def _begin(self, work: object, *arguments: object) -> None:
        if self.is_busy:
            self._page.say("One after another: Esc ends what goes on.")
            return
        self._stop.clear()
        # Only the application's own thread may ask a page for its shell, and a thread that starts
        # late may find the page gone.
        self._thread = threading.Thread(
            target=work,  # type: ignore[arg-type]
            args=(self._page.shell, *arguments),
            name="powertui-first-step",
            daemon=True,
        )
        self._thread.start()

    # ── power of this machine ────────────────────────────────────────────────────────────────────

    def record(self) -> None:
        """Record the power of this machine for ten seconds, then open it."""
        name = time.strftime("power-%Y%m%d-%H%M%S.csv")
        self._begin(self._record, str(Path(self._folder(), name)))

    def _record(self, shell: Shell, path: str) -> None:
        from powertui.sampler.session import record

        try:
            with record(path, strict=True):
                end = time.monotonic() + RECORDED_S
                while (left := end - time.monotonic()) > 0 and not self._stop.is_set():
                    words = f"Recording the power of this machine: {left:.0f} s left. Esc ends it."
                    shell.from_thread(self._page.say, words)
                    self._stop.wait(min(_LOOK_EVERY_S, left))
        except PowertuiError as error:
            shell.from_thread(self._failed, error)
        else:
            shell.from_thread(self._open, path)

    def _failed(self, error: PowertuiError) -> None:
        # Of a list of refusals, one line a sensor, the foot has the heading; `!` shows all of it.
        heading, _, refusals = error.message.partition("\n")
        if refusals:
            heading = heading.removesuffix(":") + "."
        hint = f" {error.hint}" if error.hint else ""
        shorter = [plain(f"{heading}{hint}", 300), plain(heading, 300)]
        self._page.say(f"{error.message}{hint}"[:600], *shorter, warn=True)

    # ── a profile of a program ───────────────────────────────────────────────────────────────────

    def capture(self) -> None:
        """Ask where a program's profiler listens, and take a profile of it."""
        from powertui.screens.capturing import ServerDialog

        self._page.shell.ask(ServerDialog(), self._answered)

    def _answered(self, written: str | None) -> None:
        if written:
            self._begin(self._capture, written, self._folder())

    def _capture(self, shell: Shell, written: str, folder: str) -> None:
        from powertui.capture import address, profile_session
        from powertui.capture.profile_session import Plan

        def on_stage(stage: Stage) -> bool:
            shell.from_thread(self._page.say, stage.sentence("Esc") or f"{stage.what} …")
            return self._stop.is_set()

        try:
            profile = profile_session.take(Plan((address.parse(written),), folder), on_stage)
        except PowertuiError as error:
            shell.from_thread(self._failed, error)
            return
        if profile.problems:
            shell.from_thread(self._failed, profile.problems[0])
        elif profile.files:
            shell.from_thread(self._open, str(profile.folder))
        else:
            words = "The server wrote the profile on its own disk: {}"
            shell.from_thread(self._page.say, plain(words.format(*profile.elsewhere[:1]), 300))
