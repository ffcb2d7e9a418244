"""The runs of a logdir: what each holds, filled in while one looks; Enter opens one."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
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
from powertui.report import run_table
from powertui.report import runs as listing
from powertui.report.runs import KnownRun
from powertui.screens import trainings
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.grouping import Regrouping, grouped_with
from powertui.screens.status import StatusLine
from powertui.terminal.theme import Theme
from powertui.view import nested_rows, run_columns, run_preview, training_groups
from powertui.widgets import background
from powertui.widgets.lines import LinesPane
from powertui.widgets.runs_table import RunsTable
from powertui.widgets.table import TableView

# Runs up to these sizes are read to list their steps, and their joules and conclusions, which take
# longer. What a larger run holds is known when it is opened. Both chosen, not measured.
_MAX_READ_BYTES = 100_000_000
_MAX_COUNTED_BYTES = 30_000_000
MAX_READ_RUNS = 500  # of more runs only those in sight are read
_RELIST_S = 0.25  # while runs are read, the list is drawn anew so often
WATCHED_S = 1.5  # between two looks for new files in the folders
# Looks at the folders after something came, whether they changed or not: it is still being written.
_LOOKS_AFTER_NEWS = 3
_MAX_PROBLEMS = 6  # lines below the list
_WAYS_ON = (
    "D opens a recorded run, T records ten seconds of this machine's power, "
    "P captures a program. Another folder: `powertui PATH`."
)
# Actions that depend on how runs are grouped.
_GROUPING_ACTIONS = (
    "run-open",
    "run-mark",
    "run-fold",
    "run-inside",
    "run-outside",
    "run-belongs",
)


if TYPE_CHECKING:
    from powertui.screens.first_steps import FirstSteps


class OpenScreen(BaseScreen):
    """The list of runs."""

    NAME = "open"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("open")

    def __init__(self) -> None:
        super().__init__()
        self._from_names: dict[str, KnownRun] = {}  # by path: facts that names alone give
        self._from_files: dict[str, KnownRun] = {}  # by path: facts of runs that were read
        # Paths of those that have grown since: what was read of them is shown until they are read
        # again, so that no row loses its place meanwhile.
        self._outdated: set[str] = set()
        self._sizes: dict[str, int] = {}  # by path: size of the file when it was read
        self._stop = threading.Event()
        self._reader: threading.Thread | None = None
        self._relist_timer: Timer | None = None
        self._changes: Changes | None = None
        # Trainings with a row of their own; by the path of a session, that of its training's row.
        self._trainings: tuple[tuple[RunEntry, TrainingEntry], ...] = ()
        self._within: dict[str, str] = {}
        self._is_watching = False  # whether a thread asks the folders what came
        self._grouping: Logdir | None = None  # the folder whose grouping was asked for last
        self._grouped: Logdir | None = None  # the folder whose trainings were worked out
        self._regrouping = Regrouping(self)
        # Paths, in the order in which they were marked: another look at the folder, which may come
        # at any moment, makes all entries anew.
        self._marked: dict[str, None] = {}
        self._looks_to_come = 0  # looks at the folders, whether they changed or not

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield Static("", id="title", markup=False)
        yield Input(placeholder="filter: any words in a row", id="filter", compact=True)
        yield RunsTable(theme=look, glyphs=glyphs, waiting="", id="runs")
        yield Static("", id="problems", markup=False)
        yield LinesPane(theme=look, glyphs=glyphs, id="preview")

    def on_mount(self) -> None:
        """Fill the list."""
        box = self.query_one("#filter", Input)
        box.cursor_blink = box.display = False
        self._fill()
        self.set_focus(self.table)
        if self.session.rest is not None:
            rest = self.session.rest
            self.session.rest = None
            self._follow(rest)
        self.set_interval(WATCHED_S, self._watch)

    def on_unmount(self) -> None:
        self._stop.set()

    @property
    def table(self) -> RunsTable:
        """The rows."""
        return self.query_one("#runs", RunsTable)

    @property
    def _runs(self) -> tuple[RunEntry, ...]:
        folder = self.session.logdir
        if folder is None:
            return ()
        if not self._trainings:
            return folder.runs
        runs = []
        for run in folder.runs:
            # A run without any of these is only a part of a training, which has a row of its own.
            if run.profiles or run.results or run.unread or run.problems:
                runs.append(run)
        for run, _ in self._trainings:
            runs.append(run)
        return tuple(runs)

    def _run(self, place: Place | None) -> RunEntry | None:
        """The run of a row, if it is still listed."""
        if place is None:
            return None
        for run in self._runs:
            if run.path == place.run:
                return run
        return None

    def _facts(self, run: RunEntry) -> KnownRun:
        """The facts of a run: from its files when they were read, else from its names."""
        facts = self._from_files.get(run.path) or self._from_names.get(run.path)
        if facts is None:
            facts = self._from_names[run.path] = listing.first(run)
        if facts.found is not None or facts.readable is False or not run.profiles:
            return facts
        if run.size <= _MAX_COUNTED_BYTES and _is_cheap(run):
            return facts  # it is looked at by itself
        facts = replace(facts, unseen=True)
        seen = self.session.seen.get(run.path)
        return facts if seen is None else seen.added_to(run, facts)

    def session_changed(self) -> None:
        """Read the runs while this page is in front, and only then."""
        self._group()
        if self.session.refused:
            self._show_problems()
        if len(self.session.together) > 1 or self.session.seen:
            self._show_rows()  # they show which runs are open, and what was concluded from them
        self._read_runs()

    def restyle(self, look: Theme) -> None:
        self.table.restyle(look, self.shell.capabilities.glyphs)

    def on_screen_suspend(self) -> None:
        """A run is being read: it needs the machine."""
        self._stop.set()

    def awaits(self, action: str) -> str:
        if action in ("reload", "filter-runs", "submit"):
            return ""
        folder = self.session.logdir
        is_partial = folder is None or not folder.complete
        needs_list = action == "run-belongs" or not len(self.table.lines)
        if is_partial and needs_list and background.is_under_way(self, "scan"):
            return "the list of runs"
        is_regrouping = any(background.is_under_way(self, group) for group in ("regroup", "lay"))
        if is_regrouping or self.table.is_arranging:
            return "the list of runs"
        # Trainings of another folder are not under way, or no longer of use.
        is_grouping = folder is not None and folder is self._grouping
        if action in _GROUPING_ACTIONS and is_grouping and background.is_under_way(self, "group"):
            return "the trainings"
        return ""

    def _fill(self) -> None:
        folder = self.session.logdir
        path = plain(folder.path) if folder else ""
        zone = run_columns.zone_words(time.time())
        title = Text(f" {path}: {self._count_words()}; {zone}", no_wrap=True)
        self.query_one("#title", Static).update(title)
        self._show_rows()
        self._show_problems()

    def _show_problems(self) -> None:
        """Show problems of the folder, else why the run under the cursor is grouped so."""
        problems = self._problems() or self._grouping_reasons()
        text = "\n".join(plain(problem) for problem in problems[:_MAX_PROBLEMS])
        box = self.query_one("#problems", Static)
        box.update(Text(text))
        box.set_class(not problems, "hidden")

    def _count_words(self) -> str:
        """How many runs are listed, in how many trainings, and what is still to come."""
        folder = self.session.logdir
        sessions = [run.path for run in self._runs if run.path in self._within]
        training_count = len({self._within[path] for path in sessions})
        run_count = len(self._runs) - training_count
        count = f"{run_count:,} {plural('run', run_count)}"
        if sessions:
            trainings_text = f"{training_count:,} {plural('training', training_count)}"
            count += f", {len(sessions):,} of them in {trainings_text}"
        if folder is not None and not folder.complete:
            count += " so far; searching folders …"
        if folder is not None and folder.moves:
            count += "; grouping changed by hand"
        return count

    def _problems(self) -> list[str]:
        """What is wrong with the folder, the most important first."""
        folder = self.session.logdir
        problems = []
        if not self._runs and (folder is None or folder.complete):
            path = folder.path if folder else "."
            problems.append(f"No profile was found here. `powertui doctor {path}` lists what was.")
        if folder:
            problems += map(str, folder.problems)
        if folder and folder.unread:
            problems.append(
                f"{len(folder.unread)} more files are in formats not supported yet. `powertui "
                "doctor` lists them."
            )
        if self._is_vain:
            problems.append(_WAYS_ON)
        return problems

    def _grouping_reasons(self) -> list[str]:
        """Why the run under the cursor belongs to its training; nothing where it is alone."""
        folder = self.session.logdir
        run = self._run(self.table.place)
        if folder is None or folder is not self._grouped or run is None:
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

    def _group(self) -> None:
        """Work out in a thread which runs are one training: it reads heads and ends of files."""
        folder = self.session.logdir
        if folder is None or not folder.complete or folder is self._grouping:
            return
        self._grouping = folder

        def grouped(rows: tuple[tuple[RunEntry, TrainingEntry], ...]) -> None:
            if not self.is_mounted or self.session.logdir is not folder:
                return
            self._trainings = rows
            self._grouped = folder
            self._within = {}
            for run, training in rows:
                self._within.update((session.path, run.path) for session in training.sessions)
                self._from_files[run.path] = listing.of_training(run, training)
            if rows:
                self._fill()
            else:
                self._show_problems()

        background.begin(self, "group", lambda _check: trainings.listed(folder), grouped)

    def _show_rows(self) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        all_runs = self._runs
        runs = self._filtered(all_runs, words) if words else all_runs
        facts = [self._facts(run) for run in runs]
        glyphs = self.table.glyphs
        remarks = "; ".join(self._remarks(runs, words))
        health = run_columns.health_counts(facts, glyphs)
        summary = "  ".join(filter(None, (remarks, health)))
        by_clock = len(all_runs) <= MAX_READ_RUNS
        table = run_table.table(runs, facts, summary, self._within, by_clock=by_clock)
        known = {run.path: run_facts for run, run_facts in zip(runs, facts, strict=True)}
        table = run_columns.screen_table(table, known, glyphs)
        marks = [self._mark_of(path) for path in table["path"].values]  # in the table's own order
        if any(marks):
            mark_column = text_column("marked", "", marks, weight=8)
            table = replace(table, columns=(mark_column, *table.columns))
        self.table.show_runs(table, known)
        self._show_preview()

    def _show_preview(self) -> None:
        """What to conclude from the run under the cursor, where the list leaves lines empty."""
        pane = self.query_one("#preview", LinesPane)
        run = self._run(self.table.place)
        columns, window_lines = self.size
        max_lines = run_preview.height(len(self.table.lines), window_lines)
        pane.display = bool(max_lines) and run is not None
        if run is None or not pane.display:
            return
        pane.styles.height = max_lines
        made = run_preview.preview_lines(
            run.name, self._facts(run), columns, max_lines, pane.glyphs.ellipsis
        )
        style = self.shell.look.style
        pane.set_lines([tuple((text, style(role)) for text, role in line) for line in made])

    def on_resize(self, event: Resize) -> None:
        """Another size: the preview breaks elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._show_preview()

    def _is_readable(self, run: RunEntry) -> bool:
        """Whether a run that was not read yet may be read unasked."""
        is_read = run.path in self._from_files and run.path not in self._outdated
        return not is_read and _is_cheap(run)

    def _filtered(self, runs: Sequence[RunEntry], words: Sequence[str]) -> tuple[RunEntry, ...]:
        """The rows that contain all words, with the trainings and sessions that belong to them."""
        rows = {run.path: row for row, run in enumerate(runs)}
        within = [rows.get(self._within.get(run.path, ""), -1) for run in runs]
        matching = [run_table.matches(run, self._facts(run), words) for run in runs]
        shown = nested_rows.left(np.array(within, np.int64), np.array(matching, np.bool_))
        return tuple(runs[row] for row in np.flatnonzero(shown).tolist())

    def _remarks(self, runs: Sequence[RunEntry], words: Sequence[str]) -> list[str]:
        """What is said beside the count of rows: the filter, and runs that are still to be read."""
        all_count = len(self._runs)
        remarks = []
        if words:
            remarks.append(f"of {all_count:,} contain {' '.join(words)!r}")
        unread_count = sum(self._is_readable(run) for run in runs[:MAX_READ_RUNS])
        if not unread_count or all_count < 2:
            return remarks
        if len(runs) <= MAX_READ_RUNS:
            remarks.append(f"{unread_count} still to be read")
        else:
            remarks.append("each is read when it comes into sight")
        return remarks

    def _mark_of(self, path: str) -> str:
        """The mark of a run; of several open ones "open", or "front" for the one in front."""
        if path in self._marked:
            return "*"
        open_paths = [entry.path for entry in self.session.together]
        if len(open_paths) < 2 or path not in open_paths:
            return ""
        if path == self.session.front:
            return "front"
        return "open"

    def _relist_soon(self) -> None:
        """Facts of a run came: show them together with what comes within the next moment."""
        if self.is_mounted and self._relist_timer is None:
            self._relist_timer = self.set_timer(_RELIST_S, self._relist)

    def _relist(self) -> None:
        self._relist_timer = None
        self._show_rows()
        if self._is_vain:  # only what was read tells that nothing can be opened
            self._show_problems()
            self.footer()

    # ── looking through folders ──────────────────────────────────────────────────────────────────

    def _follow(
        self, stages: Iterable[Logdir], *, again: bool = False, quiet: bool = False
    ) -> None:
        """Show the folder stage by stage while a thread goes through it."""

        def work(check: background.CancelCheck) -> Logdir | PowertuiError | None:
            last: Logdir | None = None
            try:
                with elsewhere.listening(lambda _progress: check()):
                    for stage in stages:
                        check()
                        if last is not None:
                            self.shell.from_thread(self._show_stage, last)
                        last = stage
            except PowertuiError as error:
                if isinstance(error, Cancelled):
                    raise
                return error
            return last

        def done(folder: Logdir | PowertuiError | None) -> None:
            if isinstance(folder, Logdir):
                self._show_folder(folder, again, quiet)
            elif folder is not None and not quiet:
                self.say(str(folder), warn=True)

        background.begin(self, "scan", work, done)

    def _show_stage(self, folder: Logdir) -> None:
        """Show what was found so far: runs that were listed keep their places."""
        if self.is_mounted and not (self.session.logdir and self.session.logdir.complete):
            self.session.logdir = folder
            self._fill()

    def _show_folder(self, folder: Logdir, again: bool, quiet: bool) -> None:
        """Show the folder when all of it was searched."""
        paths_before = {run.path for run in self._runs}
        self.session.logdir = folder
        self._changes = None
        self._from_names.clear()  # power logs are known only now
        for run in folder.runs:  # a profile that was still being written is read again
            facts = self._from_files.get(run.path)
            has_changed = self._sizes.get(run.path, run.size) != run.size
            if facts is None or not (has_changed or facts.growing):
                continue
            if _is_cheap(run):
                self._outdated.add(run.path)
            else:  # nobody reads it unasked: what was read may be wrong by now
                del self._from_files[run.path]
        self._fill()
        self._group()
        self._read_runs()
        new = [run for run in folder.runs if run.path not in paths_before]
        if again:
            self.say(f"{len(folder.runs):,} runs.")
        elif quiet and new:
            sentence = f"New: {new[0].name}"
            if len(new) > 1:
                sentence += f" and {len(new) - 1:,} more"
            self.say(sentence)
        elif not quiet and self.session.entry is None:
            self.shell.runs.open_found(folder)

    def _watch(self) -> None:
        """Ask the folders whether a run came, while this page is in front."""
        folder = self.session.logdir
        if folder is None or not folder.complete or not folder.folders or self._is_watching:
            return
        if self.shell.current() is not self:
            return
        self._is_watching = True
        changes = self._changes
        is_growing = any(facts.growing for facts in tuple(self._from_files.values()))
        look_anyway = is_growing or self._looks_to_come > 0
        self._looks_to_come = max(0, self._looks_to_come - 1)

        def look(_check: background.CancelCheck) -> tuple[Changes, bool]:
            looker = changes or Changes(folder.folders, folder.began_ns)
            return looker, looker.look()

        def answered(answer: tuple[Changes, bool]) -> None:
            self._is_watching = False
            if self.session.logdir is not folder:
                return
            self._changes, has_changed = answer
            if has_changed:
                self._looks_to_come = _LOOKS_AFTER_NEWS
            if has_changed or look_anyway:
                self._follow(logdir.stream_all(folder.paths), quiet=True)

        background.begin(self, "watch", look, answered)

    # ── reading the runs ─────────────────────────────────────────────────────────────────────────

    def _next_unread(self, folder: Logdir, table: TableView, tried: set[str]) -> RunEntry | None:
        """Which run to read next: those in sight come first."""
        by_path = {run.path: run for run in folder.runs}
        in_sight = [by_path[place.run] for place in table.in_sight if place.run in by_path]
        others = folder.runs if len(folder.runs) <= MAX_READ_RUNS else ()
        for run in (*in_sight, *others):
            if run.path not in tried and self._is_readable(run):
                return run
        return None

    @property
    def shows_all(self) -> bool:
        """Whether the runs have been read, or those in sight of very many."""
        return self._reader is None or not self._reader.is_alive()

    def _read_runs(self) -> None:
        """Read the runs in a thread, one after another, while this page is in front."""
        folder = self.session.logdir
        if folder is None or not folder.complete or len(folder.runs) < 2:
            return
        if self.shell.current() is not self:
            return
        if self._reader is not None and self._reader.is_alive() and not self._stop.is_set():
            return
        self._stop = stop = threading.Event()
        options = self.session.reading
        placing = self.session.placing
        tried: set[str] = set()
        # Asked for here: at the end the thread may outlive the page.
        shell = self.shell
        session = self.session
        table = self.table

        def keep(run: RunEntry, facts: KnownRun) -> None:
            if stop.is_set() or session.logdir is None:
                return
            if any(listed.path == run.path for listed in session.logdir.runs):
                self._from_files[run.path], self._sizes[run.path] = facts, run.size
                self._outdated.discard(run.path)
                shell.from_thread(self._relist_soon)

        def check(_done: int, _total: int, _events: int, /) -> None:
            if stop.is_set():
                raise Cancelled("no longer in sight")

        def read() -> None:
            while not stop.is_set():
                run = self._next_unread(folder, table, tried)
                if run is None:
                    return
                tried.add(run.path)
                try:
                    loaded = load_run(run, options=options, progress=check)
                    alone = Opened(run, options, loaded)
                    facts = listing.pictured(alone, listing.read(alone))
                    keep(run, facts)
                    if run.size > _MAX_COUNTED_BYTES or stop.is_set():
                        continue
                    # As a session of its training: as the other pages show it.
                    around = None
                    known_trainings = session.trainings_of() if run.power else None
                    if known_trainings is not None:
                        around = known_trainings.training_for(run, options, placing)
                    opened = Opened(run, options, loaded, around=around)
                    if run.power:
                        facts = listing.weighed(opened, facts, placing)
                        keep(run, facts)
                    if run.profiles and not stop.is_set():
                        keep(run, listing.concluded(opened, facts, placing))
                except Cancelled:
                    return
                except PowertuiError as error:
                    keep(run, listing.unreadable(run, str(error)))

        self._reader = threading.Thread(target=read, name="powertui-looking", daemon=True)
        self._reader.start()

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter, or a second click."""
        run = self._run(event.place)
        if run is None:
            return
        facts = self._from_files.get(run.path)
        if facts is not None and facts.problem:
            self.say(facts.problem, warn=True)
        elif self._marked:
            self._open_together((run, *self._marked_runs()))
        else:
            is_training = any(row is run for row, _ in self._trainings)
            self.shell.runs.open(self._profiled(run) or run, whole=is_training)

    def open_marked_to_compare(self) -> bool:
        """Open the marked runs together, in the order of their marks; whether two were marked."""
        marked = self._marked_runs()
        under_cursor = self._run(self.table.place)
        if len(marked) == 1 and under_cursor is not None:
            marked = (*marked, under_cursor)
        if len({run.path for run in marked}) < 2:
            return False
        self._open_together(marked)
        return True

    def _open_together(self, marked: tuple[RunEntry, ...]) -> None:
        """Open these runs together, with the first one in front."""
        self._marked = {}
        self._show_rows()
        profiled: dict[str, RunEntry] = {}  # by path: a training and its session may both be marked
        for run in marked:
            session = self._profiled(run)
            if session is not None:
                profiled[session.path] = session
        if not profiled:
            self.say("None of the marked runs has a profile.", warn=True)
        self.shell.runs.open_several(list(profiled.values()))

    def _marked_runs(self) -> tuple[RunEntry, ...]:
        """Those that are marked, as they are listed now; without those that are gone."""
        listed = {run.path: run for run in self._runs}
        return tuple(listed[path] for path in self._marked if path in listed)

    def _profiled(self, run: RunEntry) -> RunEntry | None:
        """The run, or of a training's row its first session with a profile."""
        sessions: Sequence[RunEntry] = (run,)
        for row, training in self._trainings:
            if row is run:
                sessions = training.sessions
        for session in sessions:
            if session.profiles:
                return session
        return None

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
        if not count:
            self.say("")
            return
        runs = f"{count:,} {plural('run', count)}"
        self.say(f"{runs} marked. Enter opens them together, = compares them; Space unmarks one.")

    def action_run_belongs(self) -> None:
        """Ask where the marked runs belong, else where parts of this training do."""
        run = self._run(self.table.place)
        if run is not None:
            self._regrouping.begin(run, self._marked_runs())

    def undo(self) -> bool:
        """What belongs together as it was before the last change by hand."""
        return self._regrouping.undo()

    def regrouped(self, folder: Logdir) -> None:
        """What belongs together was changed: the list and what is open follow."""
        before = {run.path: run for run in self._runs}
        self._marked.clear()
        self._from_names.clear()
        self._trainings = ()
        self._within = {}
        self.shell.runs.regrouped(folder)
        for run in folder.runs:
            if run != before.get(run.path):  # with other power, or other scalars
                self._from_files.pop(run.path, None)
        self._fill()
        self._group()
        self._read_runs()
        self.footer()

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """Say why a row cannot be read; read the runs that came into sight."""
        run = self._run(event.view.place)
        facts = self._from_files.get(run.path) if run is not None else None
        if facts is not None and facts.problem:
            self.say(facts.problem, warn=True)
        else:
            self._take_problem_back()
        self._show_problems()
        self._show_preview()
        self._read_runs()
        self.footer()

    def _take_problem_back(self) -> None:
        """The problem of another row is not said any longer; other messages stay."""
        message = self.query_one("#status", StatusLine).message
        # A copy: a thread adds to it.
        problems = {facts.problem for facts in tuple(self._from_files.values())}
        if message and message in problems:
            self.say("")

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
        self._from_files.clear()
        self._outdated.clear()
        self._sizes.clear()
        self.say("Searching the folder again …")
        self._follow(logdir.stream_all(folder.paths), again=True)

    def back(self) -> bool:
        """Close the filter, or end what is being recorded."""
        box = self.query_one("#filter", Input)
        if not box.display:
            return self.first_steps.stop()
        box.value = ""
        box.display = False
        self.set_focus(self.table)
        self.footer()
        return True

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the run under the cursor first; where there is none to open, the ways on."""
        if self._is_vain:
            yield "first-demo", "demo"
            yield "first-record", "record this machine"
            yield "first-capture", "capture a program"
        if self._run(self.table.place) is not None:
            count = len(self._marked)
            yield "run-open", f"open {count:,} runs" if count > 1 else "open"
            yield "run-mark", "mark"
            yield "run-belongs", "belongs to"
        if self.table.foldable:
            yield "run-fold", "fold"
        if self.session.logdir is not None and self.session.logdir.moves:
            yield "undo", "undo"
        yield "filter-runs", "filter"
        yield "runs-sort", "sort"
        yield "reload", "rescan"

    @functools.cached_property
    def first_steps(self) -> FirstSteps:
        """What can be done where there is no run to open."""
        from powertui.screens.first_steps import FirstSteps

        return FirstSteps(self)

    @property
    def _is_vain(self) -> bool:
        """Whether there is no run that could be opened."""
        folder = self.session.logdir
        if folder is not None and not folder.complete:
            return False
        return all(self._is_refused(run) for run in self._runs)

    def _is_refused(self, run: RunEntry) -> bool:
        """Whether it was tried to read this run, in vain."""
        facts = self._from_files.get(run.path)
        return run.path in self.session.refused or (facts is not None and facts.readable is False)

    def closes(self) -> str:
        return "the filter" if self.query_one("#filter", Input).display else ""


def _is_cheap(run: RunEntry) -> bool:
    """Whether a run may be read unasked: a small one that is not on another machine."""
    if run.size > _MAX_READ_BYTES:
        return False
    return not any(elsewhere.away(file.path) for file in run.profiles)
