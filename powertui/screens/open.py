"""The runs of a logdir: what each holds, filled in while one looks; Enter opens one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import Input, Static

from powertui.data import elsewhere, logdir
from powertui.data.loading import load_run
from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.data.logdir.changes import Changes
from powertui.data.opened import Opened
from powertui.data.table import Place, plural, text_column
from powertui.errors import Cancelled, PowertuiError
from powertui.plain import plain
from powertui.report import runs as listing
from powertui.report.runs import KnownRun
from powertui.screens import trainings
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.grouping import Regrouping, grouped_with
from powertui.screens.status import StatusLine
from powertui.terminal.theme import Theme
from powertui.view import nested_rows, training_groups
from powertui.widgets import background
from powertui.widgets.folding import FoldingTable
from powertui.widgets.table import TableView

# Runs up to this size are read to say more of them; a larger one says it when it is opened. Joules
# take longer than steps.
_MAX_READ_BYTES = 100_000_000
_MAX_COUNTED_BYTES = 30_000_000
MAX_READ_RUNS = (
    500  # so many runs are all looked into; of more those in sight, as they come into it
)
_LISTED_S = 0.25  # what was learnt of the runs so often while they are read
WATCHED_S = 1.5  # and folders are asked so often whether something came
# What depends on how runs are grouped.
_OF_TRAININGS = (
    "run-open",
    "run-mark",
    "run-fold",
    "run-inside",
    "run-outside",
    "run-belongs",
)


class OpenScreen(BaseScreen):
    """The list of runs."""

    NAME = "open"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("open")

    def __init__(self) -> None:
        super().__init__()
        self._named: dict[str, KnownRun] = {}  # by path: what names tell
        self._known: dict[str, KnownRun] = {}  # and what was read
        self._sizes: dict[str, int] = {}  # what was read of a run is of a file of this size
        self._stop = threading.Event()
        self._looker: threading.Thread | None = None
        self._listing: Timer | None = None
        self._changes: Changes | None = None
        self._trainings: tuple[
            tuple[RunEntry, TrainingEntry], ...
        ] = ()  # those with a row of their own
        self._within: dict[
            str, str
        ] = {}  # by the path of a session that of the row of its training
        self._asking = False
        self._grouped: Logdir | None = None
        self._grouped_of: Logdir | None = None  # the folder whose trainings were worked out
        self._regrouping = Regrouping(self)
        # Paths, in the order in which they were marked: another look at the folder, which may come
        # at any moment, makes all entries anew.
        self._marked: dict[str, None] = {}
        self._again = 0  # looks at the folders that are still to come, whether they changed or not

    def body(self) -> ComposeResult:
        look, glyphs = self.shell.look, self.shell.capabilities.glyphs
        yield Static("", id="title", markup=False)
        yield Input(placeholder="filter: any words in a row", id="filter", compact=True)
        yield FoldingTable(theme=look, glyphs=glyphs, waiting="", id="runs")
        yield Static("", id="problems", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        box = self.query_one("#filter", Input)
        box.cursor_blink = box.display = False
        self._fill()
        self.set_focus(self.table)
        if self.session.rest is not None:
            rest, self.session.rest = self.session.rest, None
            self._follow(rest)
        self.set_interval(WATCHED_S, self._watch)

    def on_unmount(self) -> None:
        self._stop.set()

    @property
    def table(self) -> FoldingTable:
        """The rows."""
        return self.query_one("#runs", FoldingTable)

    @property
    def _runs(self) -> tuple[RunEntry, ...]:
        folder = self.session.logdir
        if folder is None:
            return ()
        known = {
            run.path
            for run in folder.runs
            if run.profiles or run.results or run.unread or run.problems
        }
        return (
            *(run for run in folder.runs if run.path in known or not self._trainings),
            *(run for run, _ in self._trainings),
        )

    def _run(self, place: Place | None) -> RunEntry | None:
        """The run that lies there, if it is still listed."""
        return next(
            (run for run in self._runs if place is not None and run.path == place.run), None
        )

    def _fact(self, run: RunEntry) -> KnownRun:
        """What is known of a run."""
        found = self._known.get(run.path) or self._named.get(run.path)
        if found is None:
            found = self._named[run.path] = listing.first(run)
        return found

    def session_changed(self) -> None:
        """Look into the runs while this page is in front, and only then."""
        self._group()
        if len(self.session.together) > 1:
            self._show_rows()  # it says which are open
        self._look_into()

    def restyle(self, look: Theme) -> None:
        self.table.restyle(look, self.shell.capabilities.glyphs)

    def on_screen_suspend(self) -> None:
        """A run is being read: it needs the machine."""
        self._stop.set()

    def awaits(self, action: str) -> str:
        folder = self.session.logdir
        searching = background.is_under_way(self, "scan") and (
            folder is None or not folder.complete
        )
        if action in ("reload", "filter-runs", "submit"):
            return ""
        if searching and (action == "run-belongs" or not len(self.table.lines)):
            return "the list of runs"
        if self.table.is_arranging or any(
            background.is_under_way(self, group) for group in ("regroup", "lay")
        ):
            return "the list of runs"
        grouping = (
            folder is not None
            and folder is self._grouped
            and background.is_under_way(self, "group")
        )
        return "the trainings" if action in _OF_TRAININGS and grouping else ""

    def _fill(self) -> None:
        folder = self.session.logdir
        runs = self._runs
        inside = {path for run in runs if (path := self._within.get(run.path)) is not None}
        lone = len(runs) - len(inside)
        count = f"{lone:,} run{'s' * (lone != 1)}"
        if inside:
            count += (
                f", {sum(run.path in self._within for run in runs):,} of them in "
                f"{len(inside):,} {plural('training', len(inside))}"
            )
        if folder is not None and not folder.complete:
            count = f"{count} so far; searching folders …"
        if folder is not None and folder.moves:
            count = f"{count}; grouping changed by hand"
        self.query_one("#title", Static).update(
            Text(f" {plain(folder.path if folder else '')}: {count}", no_wrap=True)
        )
        self._show_rows()
        self._tell_problems()

    def _tell_problems(self) -> None:
        """What is wrong with the folder; else why the run under the cursor belongs to what it
        belongs to.
        """
        folder, runs = self.session.logdir, self._runs
        problems = [str(warn) for warn in folder.problems] if folder else []
        if folder and folder.unread:
            problems.append(
                f"{len(folder.unread)} more files are in formats not supported yet. `powertui "
                "doctor` lists them."
            )
        if not runs and (folder is None or folder.complete):
            path = folder.path if folder else "."
            problems[:0] = [
                f"No profile was found here. `powertui doctor {path}` lists what was.",
                "Another folder: `powertui PATH`. A recorded run: `powertui demo`.",
            ]
        run = self._run(self.table.place)
        if not problems and folder is not None and folder is self._grouped_of and run is not None:
            training = next((one for one in folder.trainings if grouped_with(one, run)), None)
            if training is not None and (
                len(training.sessions) > 1 or training.tfevents or training.power
            ):
                problems = [
                    (
                        f"{plain(training.name, 60)}: {training_groups.group_reasons(training)}. "
                        f"{training_groups.why(training)}"
                    )
                ]
        self.query_one("#problems", Static).update(Text("\n".join(plain(p) for p in problems[:6])))
        self.query_one("#problems").set_class(not problems, "hidden")

    def _group(self) -> None:
        """Which of them are one training: heads and ends of files are read for that, in a
        thread.
        """
        folder = self.session.logdir
        if folder is None or not folder.complete or folder is self._grouped:
            return
        self._grouped = folder

        def grouped(found: tuple[tuple[RunEntry, TrainingEntry], ...]) -> None:
            if self.is_mounted and self.session.logdir is folder:
                self._trainings, self._grouped_of = found, folder
                self._within = {
                    session.path: run.path for run, one in found for session in one.sessions
                }
                for run, one in found:
                    self._known[run.path] = listing.of_training(run, one)
                if found:
                    self._fill()
                else:
                    self._tell_problems()

        background.begin(self, "group", lambda _check: trainings.listed(folder), grouped)

    def _show_rows(self) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        runs = self._runs
        if words:
            runs = self._left(runs, words)
        unread = sum(run.path not in self._known and _small(run) for run in runs[:MAX_READ_RUNS])
        summary = f"of {len(self._runs):,} contain {' '.join(words)!r}" if words else ""
        if unread and len(self._runs) > 1:
            left = (
                f"{unread} still to be read"
                if len(runs) <= MAX_READ_RUNS
                else "each is read when it comes into sight"
            )
            summary += f"{'; ' if summary else ''}{left}"
        table = listing.table(
            runs,
            [self._fact(run) for run in runs],
            summary,
            self._within,
            by_clock=len(self._runs) <= MAX_READ_RUNS,
        )
        marks = [
            self._mark_of(path) for path in table["path"].values
        ]  # the table has its own order
        if any(marks):
            table = replace(
                table, columns=(text_column("marked", "", marks, weight=8), *table.columns)
            )
        self.table.show(table)

    def _left(self, runs: Sequence[RunEntry], words: Sequence[str]) -> tuple[RunEntry, ...]:
        """What a filter leaves: rows that have all words, with the training around them, and all
        sessions of one that has them.
        """
        rows = {run.path: row for row, run in enumerate(runs)}
        within = np.array([rows.get(self._within.get(run.path, ""), -1) for run in runs], np.int64)
        matching = np.array(
            [listing.matches(run, self._fact(run), words) for run in runs], np.bool_
        )
        kept = nested_rows.left(within, matching)
        return tuple(run for run, keep in zip(runs, kept.tolist(), strict=True) if keep)

    def _mark_of(self, path: str) -> str:
        """Whether a run is marked; where several are open, which those are and which is in
        front.
        """
        together = [one.path for one in self.session.together]
        if path in self._marked:
            return "*"
        if len(together) < 2 or path not in together:
            return ""
        return "front" if path == self.session.front else "open"

    def _learned(self) -> None:
        """Something more is known of a run: shown together with what comes within the next
        moment.
        """
        if self.is_mounted and self._listing is None:
            self._listing = self.set_timer(_LISTED_S, self._relist)

    def _relist(self) -> None:
        self._listing = None
        self._show_rows()

    # ── looking through folders ──────────────────────────────────────────────────────────────────

    def _follow(
        self, stages: Iterable[Logdir], *, again: bool = False, quiet: bool = False
    ) -> None:
        """Show what is found, stage by stage, while a thread goes through the folders."""

        def work(check: background.CancelCheck) -> Logdir | PowertuiError | None:
            last: Logdir | None = None
            try:
                with elsewhere.listening(lambda _progress: check()):
                    for found in stages:
                        check()
                        if last is not None:
                            self.shell.from_thread(self._found, last)
                        last = found
            except PowertuiError as error:
                if isinstance(error, Cancelled):
                    raise
                return error
            return last

        background.begin(self, "scan", work, lambda found: self._found_all(found, again, quiet))

    def _found(self, found: Logdir) -> None:
        """More of the same: runs that were listed keep their places."""
        if self.is_mounted and not (self.session.logdir and self.session.logdir.complete):
            self.session.logdir = found
            self._fill()

    def _found_all(self, found: Logdir | PowertuiError | None, again: bool, quiet: bool) -> None:
        if isinstance(found, PowertuiError):
            if not quiet:
                self.say(str(found), warn=True)
        elif found is not None:
            before = {run.path for run in self._runs}
            self.session.logdir = found
            self._changes = None
            self._named.clear()  # power logs are known only now
            for run in found.runs:  # a profile that was still being written is read again
                known = self._known.get(run.path)
                if self._sizes.get(run.path, run.size) != run.size or (
                    known is not None and known.growing
                ):
                    self._known.pop(run.path, None)
            self._fill()
            self._group()
            self._look_into()
            new = [run for run in found.runs if run.path not in before]
            if again:
                self.say(f"{len(found.runs):,} runs.")
            elif quiet and new:
                self.say(
                    f"New: {new[0].name}" + (f" and {len(new) - 1:,} more" if len(new) > 1 else "")
                )
            elif not quiet and self.session.entry is None:
                self.shell.runs.open_found(found)

    def _watch(self) -> None:
        """Ask the folders whether a run came, while this page is in front."""
        folder = self.session.logdir
        if (
            folder is None
            or not folder.complete
            or not folder.folders
            or self._asking
            or self.shell.current() is not self
        ):
            return
        self._asking = True
        changes, again = (
            self._changes,
            self._again > 0 or any(known.growing for known in tuple(self._known.values())),
        )
        self._again = max(0, self._again - 1)

        def look(_check: background.CancelCheck) -> tuple[Changes, bool, bool]:
            asked = changes or Changes(folder.folders, folder.began_ns)
            return asked, asked.look(), again

        background.begin(self, "watch", look, lambda answer: self._watched(folder, *answer))

    def _watched(self, folder: Logdir, changes: Changes, moved: bool, again: bool) -> None:
        self._asking = False
        if self.session.logdir is not folder:
            return
        self._changes = changes
        if moved:
            self._again = 3  # what comes is still being written
        if moved or again:
            self._follow(logdir.stream_all(folder.paths), quiet=True)

    # ── looking into the runs ────────────────────────────────────────────────────────────────────

    def _next(self, folder: Logdir, listed: TableView, tried: set[str]) -> RunEntry | None:
        """Which run to look into next: those in sight come first."""
        paths = [place.run for place in listed.in_sight]
        by_path = {run.path: run for run in folder.runs}
        others = folder.runs if len(folder.runs) <= MAX_READ_RUNS else ()
        for run in (*(by_path[path] for path in paths if path in by_path), *others):
            if run.path not in self._known and run.path not in tried and _small(run):
                return run
        return None

    def _look_into(self) -> None:
        folder = self.session.logdir
        if (
            folder is None
            or not folder.complete
            or len(folder.runs) < 2
            or self.shell.current() is not self
        ):
            return
        if self._looker is not None and self._looker.is_alive() and not self._stop.is_set():
            return
        self._stop = stop = threading.Event()
        options, placing = self.session.reading, self.session.placing
        tried: set[str] = set()
        shell, session, listed = (
            self.shell,
            self.session,
            self.table,
        )  # asked for here: at the end the thread may outlive the page

        def learn(run: RunEntry, known: KnownRun) -> None:
            if (
                not stop.is_set()
                and session.logdir is not None
                and any(one.path == run.path for one in session.logdir.runs)
            ):
                self._known[run.path], self._sizes[run.path] = known, run.size
                shell.from_thread(self._learned)

        def look() -> None:
            def check(_done: int, _total: int, _events: int, /) -> None:
                if stop.is_set():
                    raise Cancelled("no longer in sight")

            while not stop.is_set() and (run := self._next(folder, listed, tried)) is not None:
                tried.add(run.path)
                try:
                    opened = Opened(run, options, load_run(run, options=options, progress=check))
                    known = listing.read(opened)
                    learn(run, known)
                    if run.power and run.size <= _MAX_COUNTED_BYTES and not stop.is_set():
                        learn(run, listing.weighed(opened, known, placing))
                except Cancelled:
                    return
                except PowertuiError as error:
                    learn(run, listing.unreadable(run, str(error)))

        self._looker = threading.Thread(target=look, name="powertui-looking", daemon=True)
        self._looker.start()

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter, or a second click."""
        run = self._run(event.place)
        if run is None:
            return
        known = self._known.get(run.path)
        if known is not None and known.problem:
            self.say(known.problem, warn=True)
        elif self._marked:
            marked = {run.path: run, **{one.path: one for one in self._marked_runs()}}
            self._marked = {}
            self._show_rows()
            chosen = [
                profiled
                for entry in marked.values()
                if (profiled := self._profiled(entry)) is not None
            ]
            if not chosen:
                self.say("None of the marked runs has a profile.", warn=True)
            self.shell.runs.open_several(list({one.path: one for one in chosen}.values()))
        else:
            whole = any(row is run for row, _ in self._trainings)
            self.shell.runs.open(self._profiled(run) or run, whole=whole)

    def _marked_runs(self) -> tuple[RunEntry, ...]:
        """Those that are marked, as they are listed now; without those that are gone."""
        listed = {run.path: run for run in self._runs}
        return tuple(listed[path] for path in self._marked if path in listed)

    def _profiled(self, run: RunEntry) -> RunEntry | None:
        """The run, or of a training's row its first session with a profile."""
        training = next((one for row, one in self._trainings if row is run), None)
        sessions = (run,) if training is None else training.sessions
        return next((one for one in sessions if one.profiles), None)

    def action_run_mark(self) -> None:
        """Mark the run under the cursor, or take its mark back."""
        run = self._run(self.table.place)
        if run is None:
            return
        if run.path in self._marked:
            del self._marked[run.path]
        else:
            self._marked[run.path] = None
        self._show_rows()
        self.table.action_move(1)
        count = len(self._marked)
        self.say(
            (
                f"{count:,} {plural('run', count)} marked. Enter opens them together; Space "
                "unmarks one."
            )
            if count
            else ""
        )

    def action_run_belongs(self) -> None:
        """What the runs that are marked belong to, else what is part of the training around the run
        under the cursor.
        """
        run = self._run(self.table.place)
        if run is not None:
            self._regrouping.begin(run, self._marked_runs())

    def undo(self) -> bool:
        """What belongs together as it was before the last change by hand."""
        return self._regrouping.undo()

    def regrouped(self, folder: Logdir) -> None:
        """What belongs together was changed: the list and what is open follow."""
        was = {run.path: run for run in self._runs}
        self._marked.clear()
        self._named.clear()
        self._trainings, self._within = (), {}
        self.shell.runs.regrouped(folder)
        for run in folder.runs:
            if run != was.get(run.path):  # with other power, or other scalars
                self._known.pop(run.path, None)
        self._fill()
        self._group()
        self._look_into()
        self.footer()

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """Say why a row cannot be read; look into what came into sight."""
        run = self._run(event.view.place)
        known = self._known.get(run.path) if run is not None else None
        if known is not None and known.problem:
            self.say(known.problem, warn=True)
        elif self.query_one("#status", StatusLine).message in {
            one.problem for one in tuple(self._known.values()) if one.problem
        }:
            self.say("")
        self._tell_problems()
        self._look_into()
        self.footer()

    def action_filter_runs(self) -> None:
        """Type words: rows that have them all stay."""
        box = self.query_one("#filter", Input)
        box.display = True
        self.set_focus(box)
        self.footer()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self._show_rows()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: to the list."""
        self.set_focus(self.table)

    def action_reload(self) -> None:
        """Look through the folder again."""
        folder = self.session.logdir
        if folder is None or folder.path == "-":
            return
        self._stop.set()
        self._known.clear()
        self._sizes.clear()
        self.say("Searching the folder again …")
        self._follow(logdir.stream_all(folder.paths), again=True)

    def back(self) -> bool:
        """Close the filter; or return to the run that is open."""
        box = self.query_one("#filter", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.set_focus(self.table)
            self.footer()
            return True
        return False

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the run under the cursor first."""
        if self._run(self.table.place) is not None:
            yield (
                "run-open",
                f"open {len(self._marked):,} runs" if len(self._marked) > 1 else "open",
            )
            yield "run-mark", "mark"
            yield "run-belongs", "belongs to"
        if self.table.foldable:
            yield "run-fold", "fold"
        if self.session.logdir is not None and self.session.logdir.moves:
            yield "undo", "undo"
        yield from (("filter-runs", "filter"), ("runs-sort", "sort"), ("reload", "rescan"))

    def closes(self) -> str:
        return "the filter" if self.query_one("#filter", Input).display else ""


def _small(run: RunEntry) -> bool:
    """Whether a run is looked into unasked: one that lies elsewhere moves when it is opened."""
    return run.size <= _MAX_READ_BYTES and not any(
        elsewhere.away(file.path) for file in run.profiles
    )
