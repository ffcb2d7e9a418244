"""Which training a run belongs to: worked out once for each state of the logdir, in the threads
that read.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning, ReadOptions
from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.data.logdir.trainings import as_run

if TYPE_CHECKING:
    from powertui.data.training.training import Training

_MAX_RUNS = 100  # runs of a folder that may be one training's


class KeptTrainings:
    """Of one logdir. What was read of a training is kept as long as the folder is what it was."""

    def __init__(self, folder: Logdir) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._grouped: tuple[TrainingEntry, ...] | None = None
        self._made: dict[tuple[str, str], Training] = {}

    @property
    def entries(self) -> tuple[TrainingEntry, ...]:
        """All of them: heads and ends of files are read for that."""
        with self._lock:
            if self._grouped is None:
                self._grouped = self.folder.trainings
            return self._grouped

    def training_for(
        self,
        run: RunEntry,
        options: ReadOptions,
        aligning: Aligning,
    ) -> Training | None:
        """The training that has this run as one of its sessions; None where none has."""
        entry = self._entry_with_session(run)
        if entry is None and not run.profiles:  # scalars and power, never profiled
            entry = self._entry_named(run)
        if entry is None:
            return None
        return self.made(entry, options, aligning)

    def _entry_with_session(self, run: RunEntry) -> TrainingEntry | None:
        for entry in self.entries:
            if any(_same(run, session) for session in entry.sessions):
                return entry
        return None

    def _entry_named(self, run: RunEntry) -> TrainingEntry | None:
        """The training that is this run under another name, else the only one."""
        for entry in self.entries:
            if (entry.path, entry.name) == (run.path, run.name):
                return entry
        if len(self.entries) == 1:
            return self.entries[0]
        return None

    def made(self, entry: TrainingEntry, options: ReadOptions, aligning: Aligning) -> Training:
        """The training of an entry, made when it is first asked for."""
        from powertui.data.training.training import Training

        key = (entry.path, entry.name)
        with self._lock:
            if key not in self._made:
                self._made[key] = Training(entry, options, aligning)
            return self._made[key]


def only(folder: Logdir) -> RunEntry | None:
    """What to open where there is but one thing to see: a run, or the first session of the only
    training.
    """
    if not folder.complete or len(folder.runs) > _MAX_RUNS:
        return None
    if len(folder.runs) == 1 and folder.runs[0].profiles:
        return folder.runs[0]
    if len(folder.trainings) != 1:
        return None
    training = folder.trainings[0]
    if not training.tfevents and not training.power:
        return None  # sessions that nothing but their folder holds together
    if training.sessions:
        return next((run for run in training.sessions if run.profiles), None)
    return as_run(training)


def named(folder: Logdir) -> tuple[RunEntry, ...]:
    """What to open together where several paths were named: the one run of each; none where a path
    holds more than one.
    """
    if not folder.complete:
        return ()
    by_path = {}
    for part in folder.parts:
        run = only(part)
        if run is None:
            return ()
        by_path[run.path] = run
    if len(by_path) < 2:
        return ()
    return tuple(by_path.values())


def listed(folder: Logdir) -> tuple[tuple[RunEntry, TrainingEntry], ...]:
    """The trainings that have a row of their own: of several sessions, and those that were never
    profiled.
    """
    used_paths = {run.path for run in folder.runs}
    rows = []
    for training in folder.trainings:
        if len(training.sessions) == 1:
            continue
        if not training.tfevents and not training.power:
            continue  # sessions that nothing but their folder holds together
        run = as_run(training)
        # Runs are told apart by their paths, and a training may have that of its only folder.
        while run.path in used_paths:
            run = replace(run, path=f"{run.path}#{training.name}")
        used_paths.add(run.path)
        rows.append((run, training))
    return tuple(rows)


def _same(run: RunEntry, session: RunEntry) -> bool:
    return (run.path, run.name) == (session.path, session.name)
