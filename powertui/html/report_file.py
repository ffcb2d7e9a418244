"""`powertui report PATH --html FILE`: all runs that were named, as one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.asking_folder import path_as_typed
from powertui.data.logdir import Logdir, OtherFile, RunEntry
from powertui.data.opened import Opened
from powertui.data.training.training import Training, Trainings
from powertui.html.document import Block, document
from powertui.html.html_file import HtmlFile
from powertui.html.markup import Markup, breakable, element
from powertui.html.note_list import ShownNote, shown_notes
from powertui.html.provenance import provenance
from powertui.html.result_table import rows_section, short_name
from powertui.html.run_sections import PageRun, run_blocks, unread_blocks
from powertui.html.training_sections import training_blocks
from powertui.report import facts as run_facts
from powertui.report import summary
from powertui.report.facts import Facts

# Of more runs a page has the list alone. What has no room in the file is left out, the largest
# parts first: with 45 recordings (296 kB, 5 CPU s) tables, and no section. Chosen, not measured.
_MAX_RUNS_WITH_SECTION = 60
_MAX_LISTED_RUNS = 300  # rows of the list of runs; chosen, not measured


# What a person wrote on a run.
NotesOfRun: TypeAlias = Callable[[RunEntry], Sequence[ShownNote]]


def write_report(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    output: HtmlFile,
    notes_of: NotesOfRun | None,
) -> int:
    """Write the runs that were named, with the notes on each.

    Exit code 3 where nothing of them could be read.
    """
    output.check()
    scan = logdir.scan(path)
    entries = scan.chosen(name)
    trainings = Trainings(scan, reading, aligning)
    alone = _without_sessions(trainings.chosen(entries, name is None))
    page = _RunsPage(
        aligning,
        several=len(entries) + len(alone) > 1,
        notes_of=notes_of,
    )
    is_searched = len(entries) <= _MAX_RUNS_WITH_SECTION
    for entry in entries:
        page.add_run(entry, trainings, is_searched=is_searched)
    for training in alone:
        page.add_training(training)
    output.write(document(_title(scan), [*page.list_blocks(scan), *page.blocks]))
    return 0 if page.is_readable else 3


def opened_page(opened: Opened) -> str:
    """The file of one run that is open."""
    page = _RunsPage(Aligning(), several=False, notes_of=shown_notes)
    page.add_opened(opened)
    return document(opened.name, page.blocks)


def _without_sessions(trainings: Iterable[Training]) -> list[Training]:
    """Trainings that no run stands for, as far as anything of them was logged."""
    chosen = []
    for training in trainings:
        if not training.entry.sessions and (training.logs.power or training.scalar_span):
            chosen.append(training)
    return chosen


def _title(scan: Logdir) -> str:
    if len(scan.runs) == 1:
        return scan.runs[0].name
    return scan.path


class _RunsPage:
    """The runs of a page, as they are read one after the other."""

    def __init__(
        self,
        aligning: Aligning,
        *,
        several: bool,
        notes_of: NotesOfRun | None,
    ) -> None:
        self.blocks: list[Block] = []
        self.is_readable = False
        self._aligning = aligning
        self._several = several
        self._notes_of = notes_of
        self._charted: set[int] = set()
        self._listed: list[tuple[str, Facts]] = []  # (anchor, run); "" without a section
        self._sections = 0

    def add_run(
        self,
        entry: RunEntry,
        trainings: Trainings,
        *,
        is_searched: bool,
    ) -> None:
        """Read a run, and add its section where runs are searched; its row in any case."""
        for opened in trainings.each([entry]):
            self.add_opened(opened, is_searched=is_searched)

    def add_opened(self, opened: Opened, *, is_searched: bool = True) -> None:
        """The same of a run that is open."""
        entry = opened.entry
        run, problem = opened.run_or_problem()
        profiles = opened.profiles if run is not None else ()
        known = run_facts.of_run(
            entry,
            run,
            problem,
            profiles,
            self._aligning,
        )
        self.is_readable |= run is not None and summary.is_readable(entry, run)
        if not is_searched:
            self._listed.append(("", known))
            return
        place = self._place(self._notes_of(entry) if self._notes_of is not None else ())
        self._listed.append((place.anchor, known))
        if profiles:
            self.blocks += run_blocks(opened, known, place)
        else:
            self.blocks += unread_blocks(known, place)

    def add_training(self, training: Training) -> None:
        """A training that was never profiled."""
        self.is_readable |= bool(training.logs.power)
        self.blocks += training_blocks(training, self._place())

    def _place(self, notes: Sequence[ShownNote] = ()) -> PageRun:
        self._sections += 1
        return PageRun(
            aligning=self._aligning,
            anchor=f"run-{self._sections}",
            title_level="h2" if self._several else "h1",
            notes=notes,
            charted=self._charted,
        )

    def list_blocks(self, scan: Logdir) -> list[Block]:
        """What stands above the sections: the list of runs, and what was not read."""
        if self._sections == 1 and len(self._listed) < 2:
            return []
        heading = element("h1", scan.path, class_="eyebrow")
        rows = [("not read", _unread(file)) for file in scan.unread]
        rows += [("note", str(problem)) for problem in scan.problems]
        if not self._listed and not self._sections:
            rows.append(("runs", summary.no_run(scan)[0]))
        parts = [heading, self._runs_table(), provenance(rows, level="h2")]
        return [Block(element("header", *parts), "list of runs", essential=True)]

    def _runs_table(self) -> Markup | None:
        if not self._listed:
            return None
        rows = [_run_row(anchor, known) for anchor, known in self._listed[:_MAX_LISTED_RUNS]]
        left_out = len(self._listed) - len(rows)
        return rows_section(
            "",
            summary.RUN_HEADERS,
            rows,
            numbers=range(1, 8),
            left_out=left_out,
        )


def _run_row(anchor: str, known: Facts) -> list[str]:
    """The cells of a run; its name leads to its section."""
    name, *figures = summary.run_cells(known)
    words = short_name(name)
    return [element("a", breakable(words), href=f"#{anchor}") if anchor else words, *figures]


def _unread(file: OtherFile) -> str:
    return f"{path_as_typed(file.path)} ({run_facts.why_unread(file)})"
