"""What is known of the runs of a list: from their names at once, from their files as a thread reads
one after another.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data import elsewhere
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.loading import load_run
from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.data.opened import Opened
from powertui.errors import Cancelled, PowertuiError
from powertui.report import runs as listing
from powertui.report.runs import KnownRun
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.screens.open import OpenScreen
    from powertui.screens.session import Session
    from powertui.screens.shell import Shell
    from powertui.widgets.table import TableView

# Runs up to these sizes are read to list their steps, and their joules and conclusions, which take
# longer. What a larger run holds is known when it is opened. Both chosen, not measured.
_MAX_READ_BYTES = 100_000_000
_MAX_COUNTED_BYTES = 30_000_000
MAX_READ_RUNS = 500  # of more runs only those in sight are read


@dataclass(frozen=True)
class _Assignment:
    """What one thread reads, and for whom: asked of the page before the thread starts.

    At the end the thread may outlive the page.
    """

    folder: Logdir
    stop: threading.Event
    options: ReadOptions
    placing: Aligning
    shell: Shell
    session: Session
    table: TableView

    def check(self, _done: int, _total: int, _events: int, /) -> None:
        """End what is being read once nobody looks any more."""
        if self.stop.is_set():
            raise Cancelled("no longer in sight")


class RunReader:
    """The facts of the listed runs, and the thread that reads them while the list is in front."""

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        self.from_names: dict[str, KnownRun] = {}  # by path: facts that names alone give
        self.from_files: dict[str, KnownRun] = {}  # by path: facts of runs that were read
        # Paths of those that have grown since: what was read of them is shown until they are read
        # again, so that no row loses its place meanwhile.
        self._outdated: set[str] = set()
        self._sizes: dict[str, int] = {}  # by path: size of the file when it was read
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None

    # ── what is known ────────────────────────────────────────────────────────────────────────────

    def facts(self, run: RunEntry) -> KnownRun:
        """The facts of a run: from its files when they were read, else from its names."""
        facts = self.from_files.get(run.path) or self.from_names.get(run.path)
        if facts is None:
            facts = self.from_names[run.path] = listing.first(run)
        if facts.readable is False or not run.profiles:
            return facts
        seen = self._page.session.seen.get(run.path)
        if facts.found is None:
            if run.size <= _MAX_COUNTED_BYTES and _is_cheap(run):
                return facts  # it is looked at by itself
            facts = replace(facts, unseen=True)
        # What was concluded from an open run holds for where a person placed its power.
        return facts if seen is None else seen.added_to(run, facts)

    def problem(self, run: RunEntry | None) -> str:
        """Why a run could not be read; "" where it could, or where nobody tried yet."""
        facts = self.from_files.get(run.path) if run is not None else None
        return facts.problem if facts is not None else ""

    def problems(self) -> set[str]:
        """Why runs could not be read, of all of them."""
        # A copy: a thread adds to it.
        return {facts.problem for facts in tuple(self.from_files.values())}

    def was_unreadable(self, run: RunEntry) -> bool:
        """Whether it was tried to read this run, in vain."""
        facts = self.from_files.get(run.path)
        return facts is not None and facts.readable is False

    def is_readable(self, run: RunEntry) -> bool:
        """Whether a run that was not read yet may be read unasked."""
        is_read = run.path in self.from_files and run.path not in self._outdated
        return not is_read and _is_cheap(run)

    @property
    def any_growing(self) -> bool:
        """Whether a run was still being written when it was read."""
        return any(facts.growing for facts in tuple(self.from_files.values()))

    # ── what is known no longer ──────────────────────────────────────────────────────────────────

    def forget_all(self) -> None:
        """Read all runs anew."""
        self.from_files.clear()
        self._outdated.clear()
        self._sizes.clear()

    def forget_regrouped(self, before: dict[str, RunEntry], folder: Logdir) -> None:
        """Read those runs anew to which other power or other scalars belong now."""
        self.from_names.clear()
        for run in folder.runs:
            if run != before.get(run.path):
                self.from_files.pop(run.path, None)

    def forget_grown(self, folder: Logdir) -> None:
        """Read those runs anew that changed on the disk since they were read."""
        self.from_names.clear()  # power logs are known only now
        for run in folder.runs:
            facts = self.from_files.get(run.path)
            has_changed = self._sizes.get(run.path, run.size) != run.size
            if facts is None or not (has_changed or facts.growing):
                continue
            if _is_cheap(run):
                self._outdated.add(run.path)
            else:  # nobody reads it unasked: what was read may be wrong by now
                del self.from_files[run.path]

    def put_training(self, row: RunEntry, training: TrainingEntry) -> None:
        """The facts of a training, for the row that it has."""
        self.from_files[row.path] = listing.of_training(row, training)

    # ── the thread ───────────────────────────────────────────────────────────────────────────────

    @property
    def is_done(self) -> bool:
        """Whether the runs have been read, or those in sight of very many."""
        return self.thread is None or not self.thread.is_alive()

    def read_on(self) -> None:
        """Read the runs in a thread, one after another, while the list is in front."""
        session = self._page.session
        folder = session.logdir
        if folder is None or not folder.complete:
            return
        if len(folder.runs) == 1 and session.entry is None:
            return  # it is about to be opened: its picture waits for no second reading
        if self._page.shell.current() is not self._page:
            return
        if not self.is_done and not self.stop.is_set():
            return
        self.stop = threading.Event()
        assignment = _Assignment(
            folder=folder,
            stop=self.stop,
            options=session.reading,
            placing=session.placing,
            shell=self._page.shell,
            session=session,
            table=self._page.table,
        )
        self.thread = threading.Thread(
            target=self._read_all,
            args=(assignment,),
            name="powertui-looking",
            daemon=True,
        )
        self.thread.start()

    def _read_all(self, assignment: _Assignment) -> None:
        tried: set[str] = set()
        while not assignment.stop.is_set():
            run = self._next_unread(assignment.folder, assignment.table, tried)
            if run is None:
                return
            tried.add(run.path)
            try:
                self._read(run, assignment)
            except Cancelled:
                return
            except PowertuiError as error:
                self._keep(run, listing.unreadable(run, str(error)), assignment)

    def _next_unread(
        self,
        folder: Logdir,
        table: TableView,
        tried: set[str],
    ) -> RunEntry | None:
        """Which run to read next: those in sight come first."""
        by_path = {run.path: run for run in folder.runs}
        in_sight = [by_path[place.run] for place in table.in_sight if place.run in by_path]
        others = folder.runs if len(folder.runs) <= MAX_READ_RUNS else ()
        for run in (*in_sight, *others):
            if run.path not in tried and self.is_readable(run):
                return run
        return None

    def _read(self, run: RunEntry, assignment: _Assignment) -> None:
        """Read one run, and list its steps, then its joules, then its conclusions."""
        options = assignment.options
        placing = assignment.placing
        loaded = load_run(run, options=options, progress=assignment.check)
        alone = Opened(run, options, loaded)
        facts = listing.pictured(alone, listing.read(alone))
        self._keep(run, facts, assignment)
        if run.size > _MAX_COUNTED_BYTES or assignment.stop.is_set():
            return
        # As a session of its training: as the other pages show it.
        around = None
        known_trainings = assignment.session.trainings_of() if loaded.power else None
        if known_trainings is not None:
            around = known_trainings.training_for(run, options, placing)
        opened = Opened(run, options, loaded, around=around)
        if loaded.power:  # also of a log that was named apart from the folder
            facts = listing.weighed(opened, facts, placing)
            self._keep(run, facts, assignment)
        if run.profiles and not assignment.stop.is_set():
            self._keep(
                run,
                listing.concluded(opened, facts, placing),
                assignment,
            )

    def _keep(
        self,
        run: RunEntry,
        facts: KnownRun,
        assignment: _Assignment,
    ) -> None:
        """Take over what was read, where the run is still listed."""
        folder = assignment.session.logdir
        if assignment.stop.is_set() or folder is None:
            return
        if any(listed.path == run.path for listed in folder.runs):
            self.from_files[run.path] = facts
            self._sizes[run.path] = run.size
            self._outdated.discard(run.path)
            assignment.shell.from_thread(self._page.relist_soon)


def _is_cheap(run: RunEntry) -> bool:
    """Whether a run may be read unasked: a small one that is not on another machine."""
    if run.size > _MAX_READ_BYTES:
        return False
    return not any(elsewhere.away(file.path) for file in run.profiles)
