"""The Textual application: which screen is shown, one run at a time, and leaving in order."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ScreenStackError
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.screen import Screen

from powertui.data import watch
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import Run
from powertui.data.opened import Opened
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens import SCREENS, frame, growing, page_of, spec, trainings
from powertui.screens.base import BaseScreen, Dialog, global_bindings
from powertui.screens.loader import LoadedPart, Loader, LoadingProgress, further, whole
from powertui.screens.messages import Messages
from powertui.screens.session import KEPT, Session
from powertui.screens.status import StatusLine
from powertui.screens.style import textual_theme
from powertui.screens.trail import Arriving, Trail
from powertui.screens.typeahead import TypeAhead
from powertui.terminal import clipboard, keymap, launch, signals
from powertui.terminal import theme as themes
from powertui.terminal.launch import Display
from powertui.terminal.pacing import Quality
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.energy.account import Account
    from powertui.data.training.training import Training
    from powertui.view.around import Around

SWITCH_S = 0.0005
EASE_S = 1.0  # by then the first picture is there
CHANGED = "The file has changed since it was read. Press r to read it again."
LOOK_FOR_NEWS_S = 1.5  # after a run was read: the first keys come before what nobody has asked for
LOOK_EVERY_S = 2.0  # whether the files of the run are still those that were read
COMPRESS = "This connection is slow. `ssh -C` (compression) makes powertui several times faster."


class Shell(TypeAhead[int]):
    """powertui's screens. `first` names the one to begin with."""

    TITLE = "powertui"
    CSS_PATH = "shell.tcss"
    ENABLE_COMMAND_PALETTE = False
    NOTIFICATION_TIMEOUT = 8
    BINDINGS: ClassVar[list[BindingType]] = [*global_bindings()]

    def __init__(self, session: Session, display: Display, *, first: str = "open") -> None:
        super().__init__(display.capabilities, display.look)
        self.animation_level = "none"
        # Reading and indexing run in threads. Each time a frame lets go of the interpreter (numpy does, often), it would wait for
        # Python's 5 ms before it gets it back: ten waits are a stall that a person feels.
        sys.setswitchinterval(SWITCH_S)
        self.session = session
        self._first = first
        self.trail = Trail()
        self.messages = Messages()
        self._loader: Loader | None = None
        self._reaching: Loader | None = None  # what reads another profile of the training
        self._unreachable: set[str] = set()
        self._growing: growing.Growing | None = None  # follows the training that is open
        self._inside = False  # a session was asked for, not its training
        self._whole = True  # how runs were asked for last
        self._screens: dict[str, BaseScreen] = {}
        self._crash: BaseException | None = None
        self._compress_said = False
        self._changed_run: Run | None = None  # the run whose files are known to have changed
        self._looking = False
        self.unsaid: tuple[str, bool] | None = None
        self._also: deque[RunEntry] = deque()  # runs that were marked with the one in front, still to be read
        self._changes: deque[Callable[[], None]] = deque()  # of the screen in front, while one is coming up
        for entry in SCREENS:
            if entry.key:
                self.bind(entry.key, f"show_page('{entry.name}')", description=entry.title, show=False)

    # ── start and end ────────────────────────────────────────────────────────────────────────────

    def on_mount(self) -> None:
        """The terminal is ours now: colours, first screen."""
        self.register_theme(textual_theme(self.look))
        self.theme = "powertui"
        self.set_timer(EASE_S, launch.at_ease)
        self.set_interval(LOOK_EVERY_S, self._look)
        folder = self.session.logdir
        if self._first != "open" or folder is None or not self.open_found(folder):
            self.show(self._first)

    def on_unmount(self) -> None:
        """Stop what still runs."""
        self.stop_loading()

    def run_to_exit(self) -> int:
        """Run until the person leaves; the process's exit code. After a crash the traceback is printed on the restored terminal."""
        signals.hand_to(self.end_with)
        self.run(mouse=self.capabilities.mouse)
        signals.in_time()
        if self.ended_with == signals.HANGUP:
            signals.let_go()
        if self.ended_with is not None:
            return self.ended_with
        if self._crash is not None:
            sys.stderr.write("".join(traceback.format_exception(self._crash)))
            sys.stderr.write("\npowertui: This is a bug in powertui. Please report it, with the lines above.\n")
            return 1
        return self.return_code or 0

    def _handle_exception(self, error: Exception) -> None:
        # Widgets go one after another at the end: whoever asks for one that is gone, or never came, asks for nothing.
        if not (self.is_leaving and isinstance(error, NoMatches | NoScreen | ScreenStackError)):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual's own traceback shows the values of local variables: passwords, perhaps. Ours is printed after the screen is gone.
        self._crash = self._crash or self._exception or sys.exc_info()[1]
        self._close_messages_no_wait()

    # ── screens ──────────────────────────────────────────────────────────────────────────────────

    def page(self, name: str) -> BaseScreen:
        """The screen of this name, made when it is first asked for."""
        if name not in self._screens:
            entry = spec(name)
            module, _, cls = entry.target.partition(":")
            page = getattr(importlib.import_module(module), cls)(*((entry.tool,) if entry.tool else ()))
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
        left = self.current()
        if left is not None:
            self.trail.turn(left.page_name, name, how)
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

    def _must_wait(self, change: Callable[[], None]) -> bool:
        """One screen after another: a change that comes while a screen is coming up is made when that is there."""
        if self.is_leaving:
            return True
        if len(self.screen_stack) > 1 and self.is_turning:
            self._changes.append(change)
            return True
        return False

    def arrived(self, screen: Screen[Any]) -> None:
        """A screen is in front with all its widgets: changes that waited for it are made, then its keys are handled."""
        if screen is not self.screen:
            return
        screen.is_there = True  # type: ignore[attr-defined]
        while self._changes and not self.is_leaving and not self.is_turning:
            self._changes.popleft()()
        if self.unsaid is not None and not self.is_turning:
            (message, warn), self.unsaid = self.unsaid, None
            self.say(message, warn=warn)
        self.release_keys()

    def action_show_page(self, name: str) -> None:
        """A number key."""
        self.show(name)

    def way_back(self, page: BaseScreen) -> tuple[str, ...]:
        """What the pages are called that Esc leads back along from this one, the nearest first."""
        return tuple(spec(name).title for name in self.trail or (self._before(page),) if name)

    def _before(self, page: BaseScreen) -> str:
        """The page that Esc leads to: where one came from, else the timeline, else the list of runs."""
        if self.trail.last or page.page_name == "timeline":
            return self.trail.last
        if self.session.entry is not None:
            return "timeline"
        return self._first if page.page_name not in ("open", self._first) else ""

    def current(self) -> BaseScreen | None:
        """The page in front (behind a dialog, the page below it)."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, BaseScreen)), None)

    def say(self, message: str, *, warn: bool = False) -> None:
        """One sentence on the bottom line of the page in front; on one that is only just coming up, as soon as it is there."""
        page = self.current()
        if page is not None and page.is_there and not self._changes:
            page.say(message, warn=warn)
        else:
            self.unsaid = (message, warn)

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

    # ── runs ─────────────────────────────────────────────────────────────────────────────────────

    def open_found(self, folder: Logdir) -> bool:
        """Straight to the timeline where only one thing can be meant: one training, or one run of each path that was named."""
        if several := trainings.named(folder):
            self.open_runs(several, whole=True)
            return True
        alone = trainings.only(folder)
        if alone is not None:
            self.open_run(alone)
        return alone is not None

    def open_run(self, entry: RunEntry, *, whole: bool = True, page: str = "timeline") -> None:
        """Read a run and show it, growing: with its whole training first, where that has several sessions, or not."""
        self._inside, self._whole = not whole, whole
        self.stop_loading()
        opened = self.session.bring(entry)
        if opened.complete:
            self._work_out(opened, 0)
        else:
            self._load()
        self.show(page)
        self.tell()

    def open_runs(self, entries: Sequence[RunEntry], *, whole: bool = False) -> None:
        """Read several runs: the first is shown, the others are read behind it and stay open beside it."""
        if entries:
            self._also = deque(entries[1:])
            self.session.kept = max(KEPT, len(entries))
            self.session.together = tuple(entries)
            self.open_run(entries[0], whole=whole)
            if self.session.complete:
                self._read_also()

    def _read_also(self) -> None:
        """The next run that was marked with the one in front."""
        while self._also and self._also[0].path in self.session.runs:
            self._also.popleft()
        if not self._also:
            return
        entry = self._also.popleft()
        opened, training = Opened(entry, self.session.reading_of(entry.path)), self._training_of(entry)

        def read() -> None:
            try:
                opened.around = training()
                opened.run  # noqa: B018  # asking for it reads it
                problem = ""
            except PowertuiError as error:
                problem = error.message
            self.from_thread(self._also_read, opened, problem)

        self.run_worker(read, thread=True, group="also")

    def _also_read(self, opened: Opened, problem: str) -> None:
        session = self.session
        if problem:
            session.together = tuple(one for one in session.together if one.path != opened.path)
            self.say(problem, warn=True)
        elif session.opened is None or session.opened.path != opened.path:  # else it was turned to meanwhile
            session.keep(opened)
            self.say(f"{opened.name} is open as well: R shows it, 8 lists the runs.")
        self.tell()
        self._read_also()

    def read_again(self) -> None:
        """Read the open run anew. What is shown stays until that is done, or for good when it fails."""
        entry, folder = self.session.entry, self.session.logdir
        if entry is None or entry.path == "-":
            self.say("A profile that came through a pipe cannot be read again.", warn=True)
        elif self.is_loading:
            self.say("The run is still being read.", warn=True)
        else:
            assert self.session.opened is not None
            self.session.opened.complete = False
            self._load(again=folder.path_of(entry) if folder is not None else entry.path)
            self.say("Reading the run again …")

    def _say_changed(self) -> None:
        """The files of the run are not those any more that were read."""
        self._changed_run = self.session.run
        page = self.current()
        if page is not None and page.is_mounted and page.NAME == "timeline":
            page.show_progress("changed on disk")  # it stays there when the sentence is gone
        self.say(CHANGED, warn=True)

    def _look(self) -> None:
        """Look in a thread: a file system that hangs holds up nobody."""
        run = self.session.run
        if self._looking or run is None or run is self._changed_run or not self.session.complete:
            return
        self._looking = True
        session = self.session
        opened, model, index, aligning = session.opened, session.model, session.trace_index, session.aligning
        if session.training is not (self._growing.training if self._growing is not None else None):
            self._growing = growing.of(opened, session.logdir)
        follows = self._growing

        def look() -> None:
            changed, grown = watch.changed(run), None
            if not changed and follows is not None and opened is not None and model is not None:
                grown = follows.look(opened, index, model, aligning)
            self.from_thread(self._looked, run, changed, grown)

        threading.Thread(target=look, name="powertui-looking", daemon=True).start()

    def _looked(self, run: Run, changed: bool, grown: growing.Grown | None = None) -> None:
        self._looking = False
        session = self.session
        if grown is not None and run is session.run and grown.part.model is not None:
            if grown.folder is not None and session.logdir is not None and session.logdir.path == grown.folder.path:
                session.logdir = grown.folder
            session.opened = grown.opened
            self._take(grown.opened, grown.part)
            self.tell()
        elif changed and run is self.session.run and run is not self._changed_run:
            self._say_changed()

    def _load(self, again: str = "") -> None:
        assert self.session.entry is not None
        self._loader = loader = Loader(
            self.session.entry,
            self.session.reading_of(self.session.entry.path),
            on_progress=lambda progress: self.from_thread(self._progressed, loader, progress),
            on_part=lambda part: self.from_thread(self._parted, loader, part),
            on_failed=lambda error: self.from_thread(self._failed, loader, error),
            training=self._training_of(self.session.entry, again=bool(again)),
            aligning=self.session.aligning,
            trace_index=self.session.trace_index,
            look_in=again,
            whole_first=not self._inside,
        )
        loader.start()

    def _training_of(self, entry: RunEntry, *, again: bool = False) -> Callable[[], Training | None]:
        """What finds the training of a run, in the thread that reads it."""
        session = self.session
        reading, placing = session.reading_of(entry.path), session.placing
        if again:
            session.trainings = None
        known = session.trainings_of()
        return lambda: known.of(entry, reading, placing) if known is not None else None

    # ── the other profiles of the training ───────────────────────────────────────────────────────

    def reach(self, path: str, name: str) -> None:
        """The view came to another profile of the training: read it beside the one that is shown, and then show that."""
        session = self.session
        training = session.training
        if training is None or self.is_loading:
            return
        entry = next((one for one in training.entry.sessions if (one.path, one.name) == (path, name)), None)
        if entry is None or (self._reaching is not None and self._reaching.running and self._reaching.entry is entry):
            return
        if self._reaching is not None:
            self._reaching.cancel()
            self._reaching = None
        known = session.runs.get(path)
        if known is not None and known.complete and known.entry == entry and known is not session.opened:
            self._work_out(session.turn_to(known), 0)
            return
        self._reaching = loader = Loader(
            entry,
            session.reading_of(entry.path),
            on_progress=lambda progress: self.from_thread(self._progressed, loader, progress),
            on_part=lambda part: self.from_thread(self._reached, loader, part),
            on_failed=lambda error: self.from_thread(self._not_reached, loader, error),
            training=lambda: training,
            aligning=session.aligning,
            island=True,
        )
        loader.start()

    def _reached(self, loader: Loader, part: LoadedPart) -> None:
        if loader is not self._reaching:
            return
        self._reaching = None
        session, page = self.session, self.current()
        if page is not None and page.is_mounted:
            page.show_progress("")
        if not part.run.traces:
            self._unreachable.add(loader.entry.path)
            why = [str(warn) for warn in part.run.warnings] or [f"{loader.entry.name} holds no profile."]
            self.say(plain(why[0], 400), warn=True)
            return
        opened = session.turn_to(Opened(loader.entry, session.reading_of(loader.entry.path), around=part.training))
        self._take(opened, part)
        self.tell()

    def _not_reached(self, loader: Loader, error: Exception) -> None:
        if not isinstance(error, PowertuiError):
            raise error
        if loader is self._reaching:
            self._unreachable.add(loader.entry.path)
            self._reaching = None
            self.say(str(error), warn=True)

    def can_reach(self, path: str) -> bool:
        """Whether a profile was not found to be unreadable."""
        return path not in self._unreachable

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

    def _take(self, opened: Opened, part: LoadedPart) -> None:
        """A run as far as it was read, and what was worked out of it in a thread."""
        session, model, found = self.session, part.model, part.account
        opened.around = part.training
        opened.adopt(part.run, complete=part.complete)
        if model is not None:
            session.trace_index = model.index
        session.model, session.power = model, part.power
        if not part.complete:
            return
        if model is not None:
            opened.keep(("model", model.index), model)
        if found is not None:
            from powertui.data.energy import account

            opened.keep(account.key(session.trace_index, session.aligning), found)
        self._look_further(opened, part)

    def _look_further(self, opened: Opened, part: LoadedPart) -> None:
        """What the training drew and what was found in it, in a thread: the picture is there before."""
        aligning, drawn = self.session.aligning, part.model
        if part.seen is None or drawn is None:
            return

        def work() -> None:
            self.from_thread(done, further(part, opened, aligning))

        def done(found: Around | None) -> None:
            session = self.session
            if found is None or session.model is not drawn or session.aligning != aligning:
                return
            session.model = drawn.within(found)
            if session.complete:
                opened.keep(("model", drawn.index), session.model)
            self.tell()

        self.run_worker(work, thread=True, exclusive=True, group="further")

    def show_trace(self, index: int) -> None:
        """Look at another host's profile of the same run."""
        run = self.session.run
        if run is None:
            return
        self.session.trace_index = index
        self.session.model, self.session.power, self.session.window = None, (), None
        self.tell()
        assert self.session.opened is not None
        self._work_out(self.session.opened, index)

    def _work_out(self, opened: Opened, index: int) -> None:
        """The index of a profile that was read before, and its power, in a thread: at once where they are known already."""
        aligning = self.session.aligning

        def build() -> None:
            run = opened.run
            model = opened.cached(("model", index), lambda: TimelineModel.of(run, index)) if run.traces else None
            self.from_thread(self._indexed, whole(opened, index, model, aligning))

        self.run_worker(build, thread=True, exclusive=True, group="trace")

    def _indexed(self, part: LoadedPart) -> None:
        run, model, found = part.run, part.model, part.account
        if run is not self.session.run or (model is not None and model.index != self.session.trace_index):
            return
        self.session.model, self.session.power = model, part.power
        assert self.session.opened is not None
        self._look_further(self.session.opened, part)
        self.tell()
        if model is not None and len(run.traces) > 1:
            self.say(f"Host {plain(model.trace.host)} ({model.index + 1} of {len(run.traces)}). {_whose(run, found)}".strip())

    def _progressed(self, loader: Loader, progress: LoadingProgress) -> None:
        if loader in (self._loader, self._reaching):
            page = self.current()
            if page is not None and page.is_mounted:
                page.show_progress(str(progress))

    def _parted(self, loader: Loader, part: LoadedPart) -> None:
        if loader is not self._loader:
            return
        session = self.session
        opened = session.opened
        if opened is None or opened.entry is not loader.entry:
            opened = session.opened = Opened(loader.entry, session.reading_of(loader.entry.path))
        self._take(opened, part)
        if part.complete and self._inside and part.model is not None:
            session.view, self._inside = part.model.profiled, False
        page = self.current()
        if part.complete and page is not None and page.is_mounted:
            page.show_progress("")
            if loader.again:
                page.say("")
        self.tell()
        notice = (session.notice or _whose(part.run, part.account)) if part.complete else ""
        if notice:
            self.say(notice)
        if part.changed:
            self._say_changed()
        if part.complete:
            self._read_also()
            self.set_timer(LOOK_FOR_NEWS_S, lambda: self._look_for_news(opened))

    def _look_for_news(self, opened: Opened) -> None:
        """What stands out is told in the top line of every page: it is looked for once the first picture is there."""
        profile, aligning = self.session.profile, self.session.aligning
        if opened is not self.session.opened or profile is None or self.is_loading:
            return

        def look() -> None:
            from powertui.data.energy import account

            account.findings(profile, aligning)
            self.from_thread(self._news)

        self.run_worker(look, thread=True, exclusive=True, group="news")

    def _news(self) -> None:
        """The top line counts what stands out. A page that has not said anything says what it is, and the key that leads there."""
        page, profile = self.current(), self.session.profile
        if page is None or profile is None:
            return
        page.top_line()
        words = frame.news(self.session)
        silent = page.is_mounted and not page.query_one("#status", StatusLine).message
        if words and silent and page.page_name not in frame.TELLS_NEWS:
            self.say(words)

    def _failed(self, loader: Loader, error: Exception) -> None:
        if loader is not self._loader:
            return
        if not isinstance(error, PowertuiError):
            raise error
        self._loader = None
        if loader.again:
            if self.session.opened is not None:
                self.session.opened.complete = True
            page = self.current()
            if page is not None and page.is_mounted:
                page.show_progress("")
            self.say(f"{error.message}. What was read before is still shown.", warn=True)
            return
        self.session.give_up(loader.entry)
        self.show("open")
        self.say(str(error), warn=True)

    @property
    def is_loading(self) -> bool:
        """Whether a run is being read."""
        return self._loader is not None and self._loader.running and not self.session.complete

    def stop_loading(self) -> None:
        """Stop reading; what was read stays."""
        if self._reaching is not None:
            self._reaching.cancel()
            self._reaching = None
        if self._loader is not None:
            self._loader.cancel()
            if self._loader.again and self.session.opened is not None:
                self.session.opened.complete = True  # what is shown is whole
            self._loader = None

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
        """Esc: close what is open, stop what loads, go back to the timeline or the runs. Never quits."""
        page = self.current()
        if page is None or (page.is_mounted and page.back()):
            return
        if self.is_loading:
            self.stop_loading()
            page.show_progress("")
            if self.session.run is None:
                self.session.close()
                self.show("open")
            self.say("Reading was stopped." + (" What was read so far is shown." if self.session.run else ""))
        elif before := self._before(page):
            self.show(before, how="back")

    def action_undo(self) -> None:
        """Put the power back to where it lay before the last pin, shift or choice."""
        from powertui.screens import nudging

        self.say(nudging.undo(self))

    def action_run_next(self) -> None:
        """The next of the runs that are open, on the page where one is."""
        entry, page = self.session.next_run(), self.current()
        if entry is None:
            self.say("No other run is open. 8 lists the runs: Space marks several, Enter opens them together.")
            return
        stays = page is not None and spec(page.page_name).needs_run
        self.open_run(entry, whole=self._whole, page=page.page_name if page is not None and stays else "timeline")

    def action_help(self) -> None:
        """The keys, and what the terminal can do."""
        self.show("help", how="into")

    @property
    def before_help(self) -> str:
        """The page that asked for help."""
        return self.trail.last

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
        if not command or self.is_leaving:
            return
        kind, _, text = command.partition(":")
        if kind == "show":
            self.show(text)
        elif kind == "tool":
            self.show_tool(text)
        elif kind == "goto":
            lo, hi = (int(part) for part in text.split(","))
            if hi > lo:  # a stretch that was named is the window: what is told beside it is of exactly that
                self.session.window = (lo, hi)
            self.goto(lo, hi)
        else:
            action = keymap.get(text)
            target: Any = self if "*" in action.screens else self.current()
            result = action.do(target) if action.do is not None else getattr(target, f"action_{action.method}")()
            if asyncio.iscoroutine(result):
                await result

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
        """Less or more colour and fewer or more runs; once, a hint at compression."""
        self.look = themes.get(self.look.name, self.capabilities.at_most(quality.color).color)  # type: ignore[arg-type]
        page = self.current()
        if page is not None and page.is_mounted:
            page.adapt()
        if self.gate.wants_compression and self.capabilities.remote and not self._compress_said:
            self._compress_said = True
            self.say(COMPRESS)


def _whose(run: Run, found: Account | None) -> str:
    """What is to be said of a run's power when none of it is this host's, or when what was said of it fits nothing."""
    if found is None or found.share is None:
        return ""
    from powertui.data.energy import belongs

    return belongs.in_short(run, found.share)
