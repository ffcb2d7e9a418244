"""The runs of the application: one in front, others beside it, and the training around them.

They are read in threads, and followed while they grow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from textual.timer import Timer

from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import Run
from powertui.data.opened import Opened
from powertui.errors import PowertuiError, UnreadableFile
from powertui.plain import plain
from powertui.screens import frame, spec, trainings
from powertui.screens.late_training import LateTraining
from powertui.screens.loader import LoadedPart, Loader, LoadingProgress, training_model
from powertui.screens.session import MAX_OPEN_RUNS
from powertui.screens.training_profiles import TrainingProfiles
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.elsewhere import TransferProgress
    from powertui.data.energy.trace_account import Account
    from powertui.data.training.training import Training
    from powertui.screens.run_changes import RunChanges
    from powertui.screens.runs_beside import RunsBeside
    from powertui.screens.shell import Shell

# After a run was read, conclusions are drawn with this delay: the first keys come before that.
LOOK_FOR_NEWS_S = 1.5
# Of power whose place was still looked for when a person stopped the reading.
_STOPPED_BEFORE = "not placed: reading was stopped; r reads the run again"


class OpenRuns:
    """What is read for the screens.

    Everything here is called on the screen's own thread; what takes long goes to others.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.session = shell.session
        self._loader: Loader | None = None
        self.profiles = TrainingProfiles(self)  # the other ones of the training
        self._shows_session = False  # a session was asked for, not its training
        self.late_training = LateTraining(shell)
        # The last request for the index of a profile that was read before.
        self._index_request: object = None
        self.awaits_news = False  # whether what to conclude from the run is still worked out
        self._news_timer: Timer | None = None
        self._whole = True  # whether the last run was asked for with its whole training
        self._changes: RunChanges | None = None
        self._beside: RunsBeside | None = None  # the runs that were marked with the one in front

    def open_found(self, folder: Logdir) -> bool:
        """Open what can only be meant: the one training, or the one run of each named path.

        Returns whether something was opened.
        """
        if several := trainings.named(folder):
            self.open_several(several, whole=True)
            return True
        alone = trainings.only(folder)
        if alone is not None:
            self.open(alone)
        return alone is not None

    def open(self, entry: RunEntry, *, whole: bool = True, page: str = "timeline") -> None:
        """Read a run and show it while it is read.

        `whole`: its training first, where that has several sessions.
        """
        self._shows_session = not whole
        self._whole = whole
        self.stop()
        opened = self.session.bring(entry)
        if opened.complete:
            self.work_out(opened, 0)
        else:
            self._load()
        self.shell.show(page)
        self.shell.tell()

    def open_several(self, entries: Sequence[RunEntry], *, whole: bool = False) -> None:
        """Read several runs: the first is shown, the others stay open beside it."""
        if entries:
            from powertui.screens.runs_beside import RunsBeside

            self._beside = RunsBeside(self, entries[1:])
            self.session.max_open = max(MAX_OPEN_RUNS, len(entries))
            self.session.together = tuple(entries)
            self.open(entries[0], whole=whole)
            if self.session.complete:
                self._read_beside()

    def open_next(self) -> None:
        """The next of the runs that are open, on the page where one is."""
        entry = self.session.next_run()
        page = self.shell.current()
        if entry is None:
            self.shell.say(
                "No other run is open. 8 lists the runs: Space marks several, Enter opens them "
                "together."
            )
            return
        stays = page is not None and spec(page.page_name).needs_run
        self.open(
            entry,
            whole=self._whole,
            page=page.page_name if page is not None and stays else "timeline",
        )

    def _read_beside(self) -> None:
        if self._beside is not None:
            self._beside.read_next()

    def being_read(self, path: str) -> Opened | None:
        """The run that is being read beside the one in front, where it is this one."""
        return None if self._beside is None else self._beside.being_read(path)

    def read_again(self) -> None:
        """Read the open run anew.

        What is shown stays until that is done, or for good when it fails.
        """
        entry = self.session.entry
        folder = self.session.logdir
        if entry is None or entry.path == "-":
            self.shell.say("A profile that came through a pipe cannot be read again.", warn=True)
        elif self.is_loading:
            self.shell.say("The run is still being read.", warn=True)
        else:
            assert self.session.opened is not None
            self.session.opened.complete = False
            self._load(again=folder.path_of(entry) if folder is not None else entry.path)
            self.shell.say("Reading the run again …")

    def look_for_changes(self) -> None:
        """Check whether the files of the run have changed, or its training has grown."""
        if self.session.run is not None and self.session.complete:
            self._change_watch().look()

    def _change_watch(self) -> RunChanges:
        if self._changes is None:
            # Imported once there is a run that may change: no first picture waits for it.
            from powertui.screens.run_changes import RunChanges

            self._changes = RunChanges(self)
        return self._changes

    def regrouped(self, folder: Logdir) -> None:
        """A person changed the grouping: read what is open as it is grouped now."""
        session = self.session
        now = {
            (run.path, run.name): run
            for run in (*folder.runs, *(run for run, _ in trainings.listed(folder)))
        }
        before = session.logdir
        in_front = session.entry
        session.logdir = folder
        session.trainings = None
        session.others = ()
        session.together = tuple(
            now[entry.path, entry.name]
            for entry in session.together
            if (entry.path, entry.name) in now
        )
        if in_front is None or before is None:
            return
        entry = now.get((in_front.path, in_front.name))
        training = session.training
        if entry == in_front and (training is None or training.entry in folder.trainings):
            return
        self.stop()
        if entry is None:
            session.close()  # it was a training that is none any more
            return
        session.bring(entry, anew=True)
        self._load()
        self.shell.tell()

    def _load(self, again: str = "") -> None:
        assert self.session.entry is not None
        self._loader = loader = Loader(
            self.session.entry,
            self.session.reading_of(self.session.entry.path),
            on_progress=lambda progress: self.shell.from_thread(self._progressed, loader, progress),
            on_part=lambda part: self.shell.from_thread(self._parted, loader, part),
            on_failed=lambda error: self.shell.from_thread(self._failed, loader, error),
            training=self.training_of(self.session.entry, again=bool(again)),
            aligning=self.session.aligning,
            trace_index=self.session.trace_index,
            look_in=again,
            whole_first=not self._shows_session,
        )
        loader.start()

    def training_of(self, entry: RunEntry, *, again: bool = False) -> Callable[[], Training | None]:
        """A function that finds the training of a run, for the thread that reads the run."""
        session = self.session
        reading = session.reading_of(entry.path)
        placing = session.placing
        if again:
            session.trainings = None
        kept_trainings = session.trainings_of()
        return lambda: (
            kept_trainings.training_for(entry, reading, placing)
            if kept_trainings is not None
            else None
        )

    def take(self, opened: Opened, part: LoadedPart) -> None:
        """Take over a run as far as it was read, and what was worked out from it in a thread."""
        session = self.session
        model = part.model
        power_account = part.account
        opened.around = part.training
        opened.adopt(part.run, complete=part.complete)
        if model is not None:
            session.trace_index = model.index
        session.model = model
        session.power = part.power
        if not part.complete:
            return
        if part.training is not None:
            part.training.take(opened)
        if model is not None:
            opened.keep(("model", model.index), model)
        if power_account is not None:
            from powertui.data.energy import account

            opened.keep(account.key(session.trace_index, part.aligning), power_account)
        self._follow(opened, part)

    def _follow(self, opened: Opened, part: LoadedPart) -> None:
        """What comes after the picture of a part that was read whole."""
        self.late_training.begin(opened, part)
        if part.aligning != self.session.aligning:  # the power was moved while the part was read
            from powertui.screens import nudging

            nudging.use(self.shell, self.session.aligning, undoing=True)

    def show_trace(self, index: int) -> None:
        """Look at another host's profile of the same run."""
        run = self.session.run
        if run is None:
            return
        self.session.trace_index = index
        self.session.model = None
        self.session.power = ()
        self.session.window = None
        self.shell.tell()
        assert self.session.opened is not None
        self.work_out(self.session.opened, index)

    def work_out(self, opened: Opened, index: int) -> None:
        """Make the index of a profile that was read before, and align its power, in a thread."""
        aligning = self.session.aligning
        request = self._index_request = object()

        def build() -> None:
            run = opened.run
            model = (
                opened.cached(("model", index), lambda: TimelineModel.from_run(run, index))
                if run.traces
                else None
            )
            self.shell.from_thread(
                self._indexed, request, training_model(opened, index, model, aligning)
            )

        self.shell.run_worker(build, thread=True, exclusive=True, group="trace")

    def _indexed(self, request: object, part: LoadedPart) -> None:
        if request is self._index_request:
            self._index_request = None
        run = part.run
        model = part.model
        account = part.account
        if run is not self.session.run or (
            model is not None and model.index != self.session.trace_index
        ):
            return
        self.session.model = model
        self.session.power = part.power
        assert self.session.opened is not None
        self._follow(self.session.opened, part)
        self.shell.tell()
        if model is not None and len(run.traces) > 1:
            self.shell.say(
                (
                    f"Host {plain(model.trace.host)} ({model.index + 1} of {len(run.traces)}). "
                    f"{_whose(run, account)}"
                ).strip()
            )

    def show_progress(self, words: str) -> None:
        """How far reading has come, on the page in front; "" takes it back."""
        page = self.shell.current()
        if page is not None and page.is_mounted:
            page.show_progress(words)

    def _progressed(self, loader: Loader, progress: LoadingProgress | TransferProgress) -> None:
        if loader is self._loader:
            self.show_progress(str(progress))

    def _parted(self, loader: Loader, part: LoadedPart) -> None:
        if loader is not self._loader:
            return
        self.shell.gate.release()
        session = self.session
        opened = session.opened
        if opened is None or opened.entry is not loader.entry:
            opened = session.opened = Opened(loader.entry, session.reading_of(loader.entry.path))
        self.take(opened, part)
        if part.complete and self._shows_session and part.model is not None:
            session.view = part.model.profiled
            self._shows_session = False
        page = self.shell.current()
        if part.complete and page is not None and page.is_mounted:
            page.show_progress("")
            if loader.again:
                page.say("")
        self.shell.tell()
        notice = ""
        if part.complete:
            notice = session.notice or _whose(part.run, part.account)
        if notice:
            self.shell.say(notice)
        if part.changed:
            self._change_watch().say_changed()
        if not part.complete:
            self.shell.call_after_refresh(loader.was_drawn)
        if part.complete:
            self._read_beside()
            self._look_for_news_soon(opened)

    def power_moved(self) -> None:
        """A person placed the power elsewhere: what is said of it is worked out again."""
        self.late_training.follow_power()
        opened = self.session.opened
        if opened is not None and self.session.complete:
            self._look_for_news_soon(opened)

    def _look_for_news_soon(self, opened: Opened) -> None:
        """Once nobody moves the power any more."""
        self.awaits_news = True
        if self._news_timer is not None:
            self._news_timer.stop()
        self._news_timer = self.shell.set_timer(LOOK_FOR_NEWS_S, lambda: self.look_for_news(opened))

    def look_for_news(self, opened: Opened) -> None:
        """Conclude from the run in a thread: the top line of every page counts what was found."""
        aligning = self.session.aligning
        is_in_front = opened is self.session.opened and not self.is_loading
        if not is_in_front or not frame.concludes_unasked(self.session):
            self.awaits_news = False
            return

        def look() -> None:
            from powertui.data.overview import at_a_glance
            from powertui.report import runs as listing

            # The file may be another one by now: its page says so, and is read again.
            with contextlib.suppress(PowertuiError):
                self.session.seen[opened.path] = listing.seen_run(opened, aligning)
                at_a_glance.at_a_glance(opened, aligning)
            self.shell.from_thread(self.tell_news)

        self.shell.run_worker(look, thread=True, exclusive=True, group="news")

    def tell_news(self) -> None:
        """Count the conclusions in the top line; the timeline shows the first one."""
        self.awaits_news = False
        page = self.shell.current()
        if page is not None and page.is_mounted:
            page.top_line()
            page.news_came()

    def _failed(self, loader: Loader, error: Exception) -> None:
        if loader is not self._loader:
            return
        if not isinstance(error, PowertuiError):
            raise error
        self._loader = None
        self.shell.gate.release()
        if loader.again:
            if self.session.opened is not None:
                self.session.opened.complete = True
            self.show_progress("")
            self.shell.say(f"{error.message}. What was read before is still shown.", warn=True)
            return
        self.session.give_up(loader.entry)
        self.shell.show("open")
        self.shell.drop_keys()
        shorter: tuple[str, ...] = ()
        if isinstance(error, UnreadableFile):
            name = PurePath(error.path).name
            shorter = (f"{name}: {error.cause}", f"{name}: {error.problem}.")
        self.shell.say(str(error), *shorter, warn=True)

    @property
    def is_loading(self) -> bool:
        """Whether a run is being read, or what was read of it last is on its way to the screen."""
        return self._loader is not None and not self.session.complete

    @property
    def awaited(self) -> str:
        """What the pages of the run in front wait for, in words; "" when it is read and indexed."""
        return "the run" if self.is_loading or self._index_request is not None else ""

    @property
    def awaits_training(self) -> str:
        """What pages wait for that need the training's energy and findings, too."""
        return self.awaited or ("the training" if self.late_training.is_awaited else "")

    def stop(self) -> None:
        """Stop reading; what was read stays."""
        self.profiles.stop()
        model = self.session.model
        if model is not None and model.unplaced:
            self.session.model = model.without_power(_STOPPED_BEFORE)
        if self._loader is not None:
            self._loader.cancel()
            if self._loader.again and self.session.opened is not None:
                self.session.opened.complete = True  # what is shown was read to its end
            self._loader = None


def _whose(run: Run, account: Account | None) -> str:
    """A sentence where no power of the run is this host's, or `--power-host` fits none."""
    if account is None or account.share is None:
        return ""
    from powertui.data.energy import owner_notes

    return owner_notes.in_short(run, account.share)
