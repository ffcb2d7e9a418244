"""The runs of a logdir: what each holds, filled in while one looks; Enter opens one."""

from __future__ import annotations

import functools
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

from powertui.data import logdir
from powertui.data.columns import text_column
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.table import Place
from powertui.plain import plain
from powertui.report import run_table
from powertui.screens import folder_search
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.folder_search import FolderSearch
from powertui.screens.grouping import Regrouping
from powertui.screens.listed_trainings import ListedTrainings
from powertui.screens.run_marks import RunMarks
from powertui.screens.run_reader import MAX_READ_RUNS, RunReader
from powertui.screens.status import StatusLine
from powertui.terminal.theme import Theme
from powertui.view import nested_rows, run_columns, run_preview
from powertui.widgets import background
from powertui.widgets.lines import LinesPane
from powertui.widgets.runs_table import RunsTable
from powertui.widgets.table import TableView

_RELIST_S = 0.25  # while runs are read, the list is drawn anew so often
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
        self.reader = RunReader(self)
        self.folders = FolderSearch(self)
        self._relist_timer: Timer | None = None
        self.trainings = ListedTrainings(self)
        self._regrouping = Regrouping(self)
        self.marks = RunMarks(self)

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
            self.folders.follow(rest)
        self.set_interval(folder_search.WATCHED_S, self.folders.watch)

    def on_unmount(self) -> None:
        self.reader.stop.set()

    @property
    def table(self) -> RunsTable:
        """The rows."""
        return self.query_one("#runs", RunsTable)

    @property
    def listed_runs(self) -> tuple[RunEntry, ...]:
        """The runs that have a row, and the trainings."""
        folder = self.session.logdir
        return () if folder is None else self.trainings.listed_runs(folder)

    def _run(self, place: Place | None) -> RunEntry | None:
        """The run of a row, if it is still listed."""
        if place is None:
            return None
        for run in self.listed_runs:
            if run.path == place.run:
                return run
        return None

    @property
    def run_under_cursor(self) -> RunEntry | None:
        """The run of the row with the cursor."""
        return self._run(self.table.place)

    @property
    def paths(self) -> set[str]:
        """Where the listed runs are."""
        return {run.path for run in self.listed_runs}

    def session_changed(self) -> None:
        """Read the runs while this page is in front, and only then."""
        self.trainings.work_out()
        if self.session.refused:
            self._show_problems()
        if len(self.session.together) > 1 or self.session.seen:
            self.show_rows()  # they show which runs are open, and what was concluded from them
        self.reader.read_on()

    def restyle(self, look: Theme) -> None:
        self.table.restyle(look, self.shell.capabilities.glyphs)

    def on_screen_suspend(self) -> None:
        """A run is being read: it needs the machine."""
        self.reader.stop.set()

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
        if action in _GROUPING_ACTIONS and self.trainings.is_under_way:
            return "the trainings"
        return ""

    def _fill(self) -> None:
        folder = self.session.logdir
        path = plain(folder.path) if folder else ""
        counts = run_columns.count_words(self.listed_runs, self.trainings.row_of_session, folder)
        zone = run_columns.zone_words(time.time(), map(self.reader.facts, self.listed_runs))
        title = Text(f" {path}: {counts}; {zone}", no_wrap=True)
        self.query_one("#title", Static).update(title)
        self.show_rows()
        self._show_problems()

    def _show_problems(self) -> None:
        """Show problems of the folder, else why the run under the cursor is grouped so."""
        problems = self._problems() or self.trainings.reasons(self.run_under_cursor)
        text = "\n".join(plain(problem) for problem in problems[:_MAX_PROBLEMS])
        box = self.query_one("#problems", Static)
        box.update(Text(text))
        box.set_class(not problems, "hidden")

    def _problems(self) -> list[str]:
        """What is wrong with the folder, the most important first."""
        folder = self.session.logdir
        problems = []
        if not self.listed_runs and (folder is None or folder.complete):
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

    def trainings_came(self) -> None:
        """Show the trainings that were found in the folder."""
        if self.trainings.rows:
            self._fill()
        else:
            self._show_problems()

    def show_rows(self) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        all_runs = self.listed_runs
        runs = self._filtered(all_runs, words) if words else all_runs
        facts = [self.reader.facts(run) for run in runs]
        glyphs = self.table.glyphs
        remarks = "; ".join(self._remarks(runs, words))
        health = run_columns.health_counts(facts, glyphs)
        summary = "  ".join(filter(None, (remarks, health)))
        by_clock = len(all_runs) <= MAX_READ_RUNS
        within = self.trainings.row_of_session
        complete = self.session.logdir is not None and self.session.logdir.complete
        table = run_table.table(
            runs, facts, summary, within, by_clock=by_clock, is_complete=complete
        )
        known = {run.path: run_facts for run, run_facts in zip(runs, facts, strict=True)}
        table = run_columns.screen_table(table, known, glyphs)
        marks = [self.marks.sign(path) for path in table["path"].values]  # in the table's own order
        if any(marks):
            mark_column = text_column("marked", "", marks, weight=8)
            table = replace(table, columns=(mark_column, *table.columns))
        self.table.show_runs(table, known)
        self._show_preview()

    def _show_preview(self) -> None:
        """What to conclude from the run under the cursor, where the list leaves lines empty."""
        pane = self.query_one("#preview", LinesPane)
        run = self.run_under_cursor
        columns, window_lines = self.size
        max_lines = run_preview.height(len(self.table.lines), window_lines)
        pane.display = bool(max_lines) and run is not None
        if run is None or not pane.display:
            return
        pane.styles.height = max_lines
        made = run_preview.preview_lines(
            run.name, self.reader.facts(run), columns, max_lines, pane.glyphs.ellipsis
        )
        style = self.shell.look.style
        pane.set_lines([tuple((text, style(role)) for text, role in line) for line in made])

    def on_resize(self, event: Resize) -> None:
        """Another size: the preview breaks elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._show_preview()

    def _filtered(self, runs: Sequence[RunEntry], words: Sequence[str]) -> tuple[RunEntry, ...]:
        """The rows that contain all words, with the trainings and sessions that belong to them."""
        row_by_path = {run.path: row for row, run in enumerate(runs)}
        rows_above: list[int] = []  # of the training that a session belongs to
        matching: list[bool] = []
        for run in runs:
            path_above = self.trainings.row_of_session.get(run.path, "")
            rows_above.append(row_by_path.get(path_above, -1))
            matching.append(run_table.matches(run, self.reader.facts(run), words))
        shown = nested_rows.left(np.array(rows_above, np.int64), np.array(matching, np.bool_))
        return tuple(runs[row] for row in np.flatnonzero(shown).tolist())

    def _remarks(self, runs: Sequence[RunEntry], words: Sequence[str]) -> list[str]:
        """What is said beside the count of rows: the filter, and runs that are still to be read."""
        all_count = len(self.listed_runs)
        remarks = []
        if words:
            remarks.append(f"of {all_count:,} contain {' '.join(words)!r}")
        unread_count = sum(self.reader.is_readable(run) for run in runs[:MAX_READ_RUNS])
        if not unread_count or all_count < 2:
            return remarks
        if len(runs) <= MAX_READ_RUNS:
            remarks.append(f"{unread_count} still to be read")
        else:
            remarks.append("each is read when it comes into sight")
        return remarks

    def relist_soon(self) -> None:
        """Facts of a run came: show them together with what comes within the next moment."""
        if self.is_mounted and self._relist_timer is None:
            self._relist_timer = self.set_timer(_RELIST_S, self._relist)

    def _relist(self) -> None:
        self._relist_timer = None
        self.show_rows()
        if self._is_vain:  # only what was read tells that nothing can be opened
            self._show_problems()
            self.footer()

    def show_stage(self, folder: Logdir) -> None:
        """Show what was found so far: runs that were listed keep their places."""
        if self.is_mounted and not (self.session.logdir and self.session.logdir.complete):
            self.session.logdir = folder
            self._fill()

    def show_folder(self, folder: Logdir) -> None:
        """Show the folder when all of it was searched; a profile that has grown is read again."""
        self.session.logdir = folder
        self.reader.forget_grown(folder)
        self._fill()
        self.trainings.work_out()
        self.reader.read_on()

    @property
    def shows_all(self) -> bool:
        """Whether the runs have been read, or those in sight of very many."""
        return self.reader.is_done

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def on_table_view_chosen(self, event: TableView.Chosen) -> None:
        """Enter, or a second click."""
        run = self._run(event.place)
        if run is None:
            return
        problem = self.reader.problem(run)
        if problem:
            self.say(problem, warn=True)
        elif self.marks:
            self.marks.open_together((run, *self.marks.marked_runs()))
        else:
            profiled = self.trainings.profiled(run) or run
            self.shell.runs.open(profiled, whole=self.trainings.is_training(run))

    def action_run_mark(self) -> None:
        """Mark the run under the cursor, or take its mark back."""
        run = self.run_under_cursor
        if run is None:
            return
        sentence = self.marks.toggle(run)
        self.show_rows()
        self.table.action_move(1)
        self.say(sentence)

    def action_run_belongs(self) -> None:
        """Ask where the marked runs belong, else where parts of this training do."""
        run = self.run_under_cursor
        if run is not None:
            self._regrouping.begin(run, self.marks.marked_runs())

    def undo(self) -> bool:
        """What belongs together as it was before the last change by hand."""
        return self._regrouping.undo()

    def regrouped(self, folder: Logdir) -> None:
        """What belongs together was changed: the list and what is open follow."""
        before = {run.path: run for run in self.listed_runs}
        self.marks.clear()
        self.trainings.forget()
        self.shell.runs.regrouped(folder)
        self.reader.forget_regrouped(before, folder)
        self._fill()
        self.trainings.work_out()
        self.reader.read_on()
        self.footer()

    def on_table_view_moved(self, event: TableView.Moved) -> None:
        """Say why a row cannot be read; read the runs that came into sight."""
        run = self._run(event.view.place)
        problem = self.reader.problem(run)
        if problem:
            self.say(problem, warn=True)
        else:
            self._take_problem_back()
        self._show_problems()
        self._show_preview()
        self.reader.read_on()
        self.footer()

    def _take_problem_back(self) -> None:
        """The problem of another row is not said any longer; other messages stay."""
        message = self.query_one("#status", StatusLine).message
        if message and message in self.reader.problems():
            self.say("")

    def action_filter_runs(self) -> None:
        """Type words: rows that have them all stay."""
        box = self.query_one("#filter", Input)
        box.display = True
        self.set_focus(box)
        self.footer()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self.show_rows()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: to the list."""
        self.set_focus(self.table)

    def action_reload(self) -> None:
        """Look through the folder again."""
        folder = self.session.logdir
        if folder is None or folder.path == "-":
            return
        self.reader.stop.set()
        self.reader.forget_all()
        self.say("Searching the folder again …")
        self.folders.follow(logdir.stream_all(folder.paths), again=True)

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
        if self.run_under_cursor is not None:
            count = len(self.marks)
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
        return all(self._is_refused(run) for run in self.listed_runs)

    def _is_refused(self, run: RunEntry) -> bool:
        """Whether it was tried to read this run, in vain."""
        return run.path in self.session.refused or self.reader.was_unreadable(run)

    def closes(self) -> str:
        return "the filter" if self.query_one("#filter", Input).display else ""
