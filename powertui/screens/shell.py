"""The Textual application: which screen is in front, what its keys do everywhere, and leaving in
order.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import ScreenStackError
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.screen import Screen
from textual.worker import WorkerFailed

from powertui.screens import SCREENS, page_of, spec
from powertui.screens.answer_threads import AnswerThreads
from powertui.screens.base import BaseScreen, Dialog, global_bindings
from powertui.screens.messages import Messages
from powertui.screens.runs import OpenRuns
from powertui.screens.session import Session
from powertui.screens.style import textual_theme
from powertui.screens.trail import Arriving, Trail
from powertui.screens.typeahead import TypeAhead
from powertui.terminal import clipboard, keymap, launch, signals
from powertui.terminal import theme as themes
from powertui.terminal.launch import Display
from powertui.terminal.pacing import Quality

_SWITCH_S = 0.0005
_EASE_S = 1.0  # by then the first picture is there
_WAITS_S = 0.4  # a page without its run is not worth a frame, unless reading takes longer than this
_LOOK_EVERY_S = 2.0  # whether the files of the run are still those that were read
_COMPRESS = "This connection is slow. `ssh -C` (compression) makes powertui several times faster."


class Shell(TypeAhead[int]):
    """powertui's screens. `first` names the one to begin with."""

    TITLE = "powertui"
    CSS_PATH = "shell.tcss"
    ENABLE_COMMAND_PALETTE = False
    NOTIFICATION_TIMEOUT = 8
    BINDINGS: ClassVar[list[BindingType]] = [*global_bindings()]

    def __init__(
        self,
        session: Session,
        display: Display,
        *,
        first: str = "open",
        place: str = "",
    ) -> None:
        super().__init__(display.capabilities, display.look)
        self.animation_level = "none"
        self._take_look()
        # Reading and indexing run in threads. Each time a frame lets go of the interpreter (numpy
        # does, often), it would wait for Python's 5 ms before it gets it back: ten waits are a
        # stall that a person feels.
        sys.setswitchinterval(_SWITCH_S)
        self.session = session
        self._first = first
        self._first_place = place  # where to go once the run is read
        self.trail = Trail()
        self.messages = Messages()
        self.runs = OpenRuns(self)
        self._screens: dict[str, BaseScreen] = {}
        self._crash: BaseException | None = None
        self._ends_process = False  # in a test others need the threads still
        self._compress_said = False
        self.placing: object = None  # the request whose answer is where the power lies
        self.unsaid: tuple[tuple[str, ...], bool] | None = None
        self._changes: deque[Callable[[], None]] = (
            deque()
        )  # of the screen in front, while one is coming up
        for entry in SCREENS:
            if entry.key:
                self.bind(
                    entry.key,
                    f"show_page('{entry.name}')",
                    description=entry.title,
                    show=False,
                )

    def _take_look(self) -> None:
        """Our colors, before Textual reads its style sheets: a theme that is set later has it read
        all of them once more.
        """
        look = textual_theme(self.look)
        self.register_theme(look)
        self.set_reactive(Shell.theme, look.name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.set_class(look.dark, "-dark-mode", update=False)
        self.set_class(not look.dark, "-light-mode", update=False)
        self.add_class(f"-theme-{look.name}", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)

    # ── start and end ────────────────────────────────────────────────────────────────────────────

    def on_mount(self) -> None:
        """The terminal is ours now: colors, first screen."""
        if self._ends_process:
            asyncio.get_running_loop().set_default_executor(AnswerThreads())
        self.set_timer(_EASE_S, launch.at_ease)
        self.set_interval(_LOOK_EVERY_S, self.runs.look_for_changes)
        folder = self.session.logdir
        self.gate.hold(time.monotonic() + _WAITS_S)
        if self._first != "open" or folder is None or not self.runs.open_found(folder):
            self.gate.release()
            self.show(self._first)
        if self._first_place:
            from powertui.screens.arriving import go_and_say

            self.run_worker(go_and_say(self, self._first_place), group="place", exclusive=True)

    def on_unmount(self) -> None:
        """Stop what still runs."""
        self.runs.stop()

    def run_to_exit(self) -> int:
        """Run until the person leaves; the process's exit code.

        After a crash the traceback is printed on the restored terminal.
        """
        signals.hand_to(self.end_with)
        self._ends_process = True
        self.run(mouse=self.capabilities.mouse)
        signals.in_time()
        if self.ended_with == signals.HANGUP:
            signals.let_go()
        if self.ended_with is not None:
            return self.ended_with
        if self._crash is not None:
            sys.stderr.write("".join(traceback.format_exception(self._crash)))
            sys.stderr.write(
                "\npowertui: This is a bug in powertui. Please report it, with the lines above.\n"
            )
            return 1
        return self.return_code or 0

    def _handle_exception(self, error: Exception) -> None:
        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            error = error.error  # it knows the line that failed; what Textual makes of it does not
        # Widgets go one after another at the end: whoever asks for one that is gone, or never came,
        # asks for nothing.
        if not (self.is_leaving and isinstance(error, NoMatches | NoScreen | ScreenStackError)):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual's own traceback shows the values of local variables: passwords, perhaps. Ours is
        # printed after the screen is gone.
        self._crash = self._crash or self._exception or sys.exc_info()[1]
        self._close_messages_no_wait()

    # ── screens ──────────────────────────────────────────────────────────────────────────────────

    def page(self, name: str) -> BaseScreen:
        """The screen of this name, made when it is first asked for."""
        if name not in self._screens:
            entry = spec(name)
            module, _, cls = entry.target.partition(":")
            page = getattr(importlib.import_module(module), cls)(
                *((entry.tool,) if entry.tool else ())
            )
            page.page_name = name
            self._screens[name] = page
        return self._screens[name]

    def show(self, name: str, *, how: Arriving = "page") -> None:
        """Bring a screen to the front. `how` says what Esc does there: see `Trail`."""
        entry = spec(name)
        if entry.needs_run and self.session.entry is None:
            self.say("Open a run first: choose one and press Enter.", warn=True)
            return
        if self._must_wait(lambda: self.show(name, how=how)):
            return
        page = self.page(name)
        if self.screen is page:
            return
        before = self.current()
        if before is not None:
            self.trail.turn(before.page_name, name, how)
        page.is_there = False
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if not self.is_screen_installed(page):
            self.install_screen(page, name)
        if len(self.screen_stack) > 1:
            self.switch_screen(name)
        else:
            self.push_screen(name)

    def ask(self, dialog: Dialog, answered: Callable[[Any], Any]) -> None:
        """Show a dialog in front of the page."""
        if not self._must_wait(lambda: self.ask(dialog, answered)):
            self.push_screen(dialog, answered)

    def ask_export(self, page: BaseScreen, window: tuple[int, int] | None) -> None:
        """Ask what to write of this window (None: the page alone), and where."""
        from powertui.screens.export import ExportDialog, PageOnScreen

        title = spec(page.page_name or page.NAME).title
        dialog = ExportDialog(page.session, PageOnScreen(title, self.svg_of(page)), window)
        self.ask(dialog, lambda message: page.say(message) if message else None)

    def _must_wait(self, change: Callable[[], None]) -> bool:
        """One screen after another: a change that comes while a screen is coming up is made when
        that is there.
        """
        if self.is_leaving:
            return True
        if len(self.screen_stack) > 1 and self.is_turning:
            self._changes.append(change)
            return True
        return False

    def arrived(self, screen: Screen[Any]) -> None:
        """A screen is in front with all its widgets: changes that waited for it are made, then its
        keys are handled.
        """
        if screen is not self.screen:
            return
        screen.is_there = True  # type: ignore[attr-defined]
        while self._changes and not self.is_leaving and not self.is_turning:
            self._changes.popleft()()
        if self.unsaid is not None and not self.is_turning:
            (messages, warn), self.unsaid = self.unsaid, None
            self.say(*messages, warn=warn)
        self.release_keys()

    def action_show_page(self, name: str) -> None:
        """A number key."""
        self.show(name)

    def way_back(self, page: BaseScreen) -> tuple[str, ...]:
        """What the pages are called that Esc leads back along from this one, the nearest first."""
        return tuple(spec(name).title for name in self.trail or (self._before(page),) if name)

    def _before(self, page: BaseScreen) -> str:
        """The page that Esc leads to: where one came from, else the timeline, else the list of
        runs.
        """
        if self.trail.last or page.page_name == "timeline":
            return self.trail.last
        if self.session.entry is not None:
            return "timeline"
        return self._first if page.page_name not in ("open", self._first) else ""

    def current(self) -> BaseScreen | None:
        """The page in front (behind a dialog, the page below it)."""
        return next(
            (screen for screen in reversed(self.screen_stack) if isinstance(screen, BaseScreen)),
            None,
        )

    def say(self, message: str, *shorter: str, warn: bool = False) -> None:
        """One sentence on the bottom line of the page in front; on one that is only just coming up,
        as soon as it is there.
        """
        page = self.current()
        if page is not None and page.is_there and not self._changes:
            page.say(message, *shorter, warn=warn)
        else:
            self.unsaid = ((message, *shorter), warn)

    def tell(self) -> None:
        """The session changed: the page in front catches up now, the others when they are shown."""
        page = self.current()
        if page is not None and page.is_mounted:
            page.catch_up()

    def goto(self, lo: int, hi: int, *, mark: bool = False) -> None:
        """Show a stretch of time in the timeline. Esc leads back to where one came from.

        `mark` makes exactly this stretch the window, and shows it with some room on either side.
        """
        margin = (hi - lo) // 2 if mark else 0
        if mark and hi > lo:
            self.session.window = (lo, hi)
        self.session.view = (lo - margin, hi + margin)
        self.show("timeline", how="into")
        self.tell()

    @property
    def is_placing(self) -> bool:
        """Whether the power is being placed anew."""
        return self.placing is not None

    def awaits(self, action: str) -> str:
        """What an action of everywhere has to wait for, in words."""
        if action == "compare":
            return self.runs.awaited
        return "the power" if action == "undo" and self.is_placing else ""

    def tell_waiting(self, words: str) -> None:
        self.say(words)

    def from_thread(self, function: Callable[..., None], *args: Any) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._in_context, function, args)

    def _in_context(self, function: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self.is_leaving:
            return  # nobody is there to look at it
        with self._context():
            try:
                function(*args)
            except Exception as error:
                self._handle_exception(error)

    # ── actions of everywhere ────────────────────────────────────────────────────────────────────

    def key_pressed(self) -> None:
        """A message stands until the next key."""
        page = self.current()
        if page is not None and page is self.screen and page.is_mounted:
            page.say("")

    def action_act(self, id: str) -> None:
        """What an action of the keymap carries."""
        action = keymap.get(id)
        if action.do is not None:
            action.do(self)

    async def action_back(self) -> None:
        """Esc: close what is open, stop what loads, go back to the timeline or the runs.

        Never quits.
        """
        page = self.current()
        if page is None or (page.is_mounted and page.back()):
            return
        if self.runs.is_loading:
            self.runs.stop()
            page.show_progress("")
            if self.session.run is None:
                self.session.close()
                self.show("open")
            else:
                self.tell()  # what is waited for no longer goes
            self.say(
                "Reading was stopped."
                + (" What was read so far is shown." if self.session.run else "")
            )
        elif before := self._before(page):
            self.show(before, how="back")

    def action_undo(self) -> None:
        """Take back the last change: of the page in front, else of where the power lies."""
        from powertui.screens import nudging

        page = self.current()
        if page is None or not page.undo():
            self.say(nudging.undo(self))

    def action_help(self) -> None:
        """The keys, and what the terminal can do."""
        self.show("help", how="into")

    @property
    def before_help(self) -> str:
        """The page that asked for help."""
        return self.trail.last

    def action_compare(self) -> None:
        """The run in front with another one, or two of its epochs."""
        from powertui.screens.comparing import compare

        compare(self)

    def action_messages(self) -> None:
        """What was said so far."""
        from powertui.screens.messages import MessagesDialog

        if not isinstance(self.screen, MessagesDialog):
            self.ask(MessagesDialog(self.messages, self.look), lambda _answer: None)

    def next_pane(self, by: int) -> None:
        """Tab."""
        page = self.current()
        if page is not None and page is self.screen:
            page.next_pane(by)
        elif by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_palette(self) -> None:
        """Commands, times and ranges."""
        from powertui.screens.palette import Palette

        page = self.current()
        if page is not None and not isinstance(self.screen, Palette):
            self.ask(Palette(page), self.run_command)

    async def run_command(self, command: str | None) -> None:
        """What the palette answered: an action's id, `show:<screen>`, or a place."""
        if command and not self.is_leaving:
            from powertui.screens.commands import run_command

            await run_command(self, command)

    def show_tool(self, name: str, *, how: Arriving = "page") -> None:
        """A tool, on its own page where it has one."""
        page = page_of(name)
        if page == "tool":
            self.session.tool = name
        self.show(page, how=how)
        self.tell()

    async def action_quit(self) -> None:
        """Leave, unless a page has something to ask."""
        if all(page.leaving() for page in self._screens.values() if page.is_mounted):
            self.exit(return_code=0)

    def copy_text(self, text: str) -> bool:
        """Put a text on the person's clipboard, through the terminal."""
        sequence = clipboard.osc52(text, self.capabilities.term)
        if sequence and self._driver is not None:
            self._driver.write(sequence)
        self._clipboard = text
        return bool(sequence)

    def quality_changed(self, quality: Quality) -> None:
        """Less or more color and fewer or more runs; once, a hint at compression."""
        self.look = themes.get(self.look.name, self.capabilities.at_most(quality.color).color)  # type: ignore[arg-type]
        page = self.current()
        if page is not None and page.is_mounted:
            page.adapt()
        if self.gate.wants_compression and self.capabilities.remote and not self._compress_said:
            self._compress_said = True
            self.say(_COMPRESS)
