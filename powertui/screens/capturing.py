"""Taking a profile from the program that is watched, from the live page: which server to ask, and
what becomes of it.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from powertui.data import logdir
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens.base import Dialog

if TYPE_CHECKING:
    from powertui.capture.profile_session import CapturedProfile, Plan
    from powertui.capture.stages import Stage
    from powertui.data.logdir import RunEntry
    from powertui.screens.live import LiveScreen
    from powertui.screens.shell import Shell

__all__ = ["LiveCapture", "ServerDialog"]


class ServerDialog(Dialog):
    """Asks where the program's profiler server listens; answers with what was typed, or None."""

    DEFAULT_CSS = """
    ServerDialog { align: center middle; }
    ServerDialog #server { width: 64; height: auto; padding: 1 2; background: $surface; }
    """

    def compose(self) -> ComposeResult:
        with Vertical(id="server"):
            yield Static(
                "Capture 2 s of the program. Where does its profiler server listen?", markup=False
            )
            yield Input(placeholder="localhost:9012", compact=True)
            yield Static("Enter captures, Esc cancels", id="server-message", markup=False)

    def on_mount(self) -> None:
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: nothing typed means what stands there in gray."""
        event.stop()
        from powertui.capture import address

        written = event.value.strip() or "localhost:9012"
        try:
            address.parse(written)
        except PowertuiError as error:
            self.query_one("#server-message", Static).update(Text(plain(error.message)))
            return
        self.answer(written)


class LiveCapture:
    """One capture at a time, in a thread of its own; the page hears of it through the shell."""

    def __init__(self, page: LiveScreen) -> None:
        self._page = page
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._said = ""

    @property
    def runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def key(self) -> None:
        """P: begin; pressed again, end it early."""
        page = self._page
        if page.session.watched is None:
            page.say("Start with --logdir DIR to capture: the profile is written there.")
        elif self.runs:
            self._stop.set()
            page.say("Ending the profile; what it has is kept.")
        elif page.session.profile_server:
            self.begin(page.session.profile_server)
        else:
            page.shell.ask(ServerDialog(), self._answered)

    def _answered(self, written: str | None) -> None:
        if written and not self.runs:
            self._page.session.profile_server = written  # the next time it is known
            self.begin(written)

    def begin(self, written: str) -> None:
        """Capture, with the power that is being recorded anyway."""
        from powertui.capture import address
        from powertui.capture.profile_session import Plan

        page = self._page
        self._stop.clear()
        self._said = ""
        try:
            plan = Plan(
                (address.parse(written),),
                str(Path(page.session.watched or "").expanduser().absolute()),
            )
        except PowertuiError as error:
            page.say(error.message, warn=True)
            return
        if page.feed is not None:
            page.feed.mark("profile")
        page.say(f"Capturing from {written} …")
        self._thread = threading.Thread(
            target=self._take,
            args=(page.shell, plan),
            name="powertui-capture",
            daemon=True,
        )
        self._thread.start()

    def _take(self, shell: Shell, plan: Plan) -> None:
        """Take the profile, in a thread. The page may be gone meanwhile, and its shell with it."""
        from powertui.capture import profile_session

        try:
            profile = profile_session.take(plan, partial(self._told, shell))
            entry = (
                next(iter(logdir.scan(str(profile.folder)).runs), None) if profile.files else None
            )
        except PowertuiError as error:
            shell.from_thread(self._failed, error)
        else:
            shell.from_thread(self._done, profile, entry)

    def _told(self, shell: Shell, stage: Stage) -> bool:
        length = (
            f"{stage.past_s:.0f} of {stage.of_s:g} s"
            if stage.of_s is not None
            else f"{stage.past_s:.0f} s"
        )
        words = (
            stage.sentence("P") or f"{stage.what[:1].upper()}{stage.what[1:]}, {length}. P ends it."
        )
        if words != self._said:
            self._said = words
            shell.from_thread(self._page.say, words)
        return self._stop.is_set()

    def _failed(self, error: PowertuiError) -> None:
        self._page.note(plain(error.message), "error")
        self._page.say(error.message, warn=True)

    def _done(self, profile: CapturedProfile, entry: RunEntry | None) -> None:
        page = self._page
        for problem in profile.problems:
            self._failed(problem)
        if profile.elsewhere:
            page.note(profile.elsewhere[0])
            page.say(
                (
                    "The server wrote the profile on its own disk. To fetch it: "
                    f"{plain(profile.elsewhere[0], 400)}"
                ),
                warn=True,
            )
        if entry is None or profile.problems:
            return
        page.profile = entry
        page.note(f"captured: {entry.name}")
        if page.is_current:
            page.shell.runs.open(entry)
        else:
            page.say("The profile was captured. Enter on the live page opens it.")
