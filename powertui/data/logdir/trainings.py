"""Groups sessions, scalars and power logs into trainings, each the work of one program, with the
reasons.

    a folder        `logs/run1`, with `train/`, `validation/` and `plugins/profile/` below it, is
                    one training
    a process       tfevents of one host and process id are one program's, wherever below the logdir
                    they are; so are PyTorch's traces with one host and process id in their names,
                    side by side
    hosts           folders named like workers or like their own host, side by side and at the same
                    time, are one training
    time            a folder that two programs used in turn holds two trainings, unless the later
                    went on where the earlier stopped

Two programs that are merely side by side stay apart. Only names, sizes and the first and last
records are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from powertui.data import elsewhere
from powertui.data.formats.filenames import run_of
from powertui.data.logdir import pytorch
from powertui.data.logdir.entries import EventFile, OtherFile, PowerFile, RunEntry
from powertui.data.logdir.joined_folders import JoinedFolders, joined_folders
from powertui.data.logdir.programs import TrainedProgram, base_of, goes_on, programs_of, span_of
from powertui.value_types import dataclass


@dataclass(frozen=True)
class TrainingEntry:
    """The files of what one program did; none of them has been read yet."""

    name: str  # the folder below the logdir
    path: str
    sessions: tuple[RunEntry, ...] = ()  # by name
    tfevents: tuple[EventFile, ...] = ()  # its scalars, and PowerBoard's marker
    power: tuple[PowerFile, ...] = ()
    # Logs above the folder that was named: listed, but read only when a person names them.
    above: tuple[PowerFile, ...] = ()
    results: tuple[OtherFile, ...] = ()
    # First and last record (Unix) of its scalars, or of its power where there is nothing else.
    first_ns: int | None = None
    last_ns: int | None = None
    is_local: bool = False  # the two are local times of a zone that is not known
    reasons: tuple[str, ...] = ()  # why these belong together, a clause each
    by_hand: bool = False  # a person put it together otherwise

    @property
    def is_log_alone(self) -> bool:
        """Whether there are power logs, and nothing that power could lie beside."""
        if self.tfevents or self.results or not self.power:
            return False
        return all(run.is_log_alone for run in self.sessions)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of its sessions, else those that wrote scalars."""
        hosts = {host for run in self.sessions for host in run.hosts}
        if not hosts:
            scalars = [file for file in self.tfevents if not file.is_marker]
            hosts = {run_of(file.path)[0] for file in scalars} - {""}
        return tuple(sorted(hosts))


def group(
    path: str,
    runs: Sequence[RunEntry],
    tfevents: Sequence[EventFile],
    power: Sequence[PowerFile],
) -> tuple[TrainingEntry, ...]:
    """Return the trainings among the files that a scan of `path` listed, by name."""
    trainings = _Grouping(path, runs, tfevents, power).trainings()
    return tuple(sorted(trainings, key=lambda training: training.name))


class _Grouping:
    def __init__(
        self,
        path: str,
        runs: Sequence[RunEntry],
        tfevents: Sequence[EventFile],
        power: Sequence[PowerFile],
    ) -> None:
        self.runs = runs
        self.tfevents = tfevents
        self.power = power
        self.markers = [file for file in tfevents if file.is_marker]
        self.is_remote = elsewhere.is_address(path)
        self.root = Path(path)
        if not self.is_remote:
            # A link would be resolved: the folder is named as a person wrote it.
            has_parent_parts = ".." in self.root.parts
            if has_parent_parts:
                self.root = self.root.resolve()
            else:
                self.root = self.root.absolute()

    def trainings(self) -> list[TrainingEntry]:
        """All trainings, in the order of their folders; power logs alone come last."""
        programs = programs_of(_scalar_files(self.runs, self.tfevents))
        by_base: dict[str, list[TrainedProgram]] = {}
        for program in programs:
            by_base.setdefault(program.base, []).append(program)
        sessions = self._sessions_by_base(by_base)
        bases = sorted({*sessions, *by_base})
        order = {id(program): number for number, program in enumerate(programs)}
        trainings: list[TrainingEntry] = []
        for folders in joined_folders(bases, programs, by_base):
            runs: list[RunEntry] = []
            members: list[TrainedProgram] = []
            for base in folders.bases:
                runs += sessions.get(base, [])
                members += by_base.get(base, [])
            members.sort(key=lambda program: order[id(program)])
            trainings += self._in_turn(folders, runs, members)
        return self._with_power(trainings)

    def _sessions_by_base(
        self,
        programs: Mapping[str, Sequence[TrainedProgram]],
    ) -> dict[str, list[RunEntry]]:
        """The sessions by the folder of their training.

        Traces side by side are apart where several programs wrote them and no scalars join them.
        """
        sessions: dict[str, list[RunEntry]] = {}
        for run in self.runs:
            if run.profiles or run.results or run.unread or run.problems or run.ignored:
                sessions.setdefault(_base_of_run(run), []).append(run)
        for base in [base for base in sessions if base not in programs]:
            loose = _loose_runs(sessions[base])
            if not loose:
                continue
            sessions[base] = [run for run in sessions[base] if _in_plugins(run)]
            for run in loose:
                sessions.setdefault(_writer(run), []).append(run)
            if not sessions[base]:
                del sessions[base]
        return sessions

    # ── time ─────────────────────────────────────────────────────────────────────────────────────

    def _in_turn(
        self,
        folders: JoinedFolders,
        runs: Sequence[RunEntry],
        programs: Sequence[TrainedProgram],
    ) -> list[TrainingEntry]:
        """The trainings that used these folders, one after the other."""
        turns: list[list[TrainedProgram]] = []
        for program in sorted(programs, key=lambda program: program.first_ns):
            if turns and goes_on(turns[-1], program):
                turns[-1].append(program)
            else:
                turns.append([program])
        path = folders.bases[0]
        if len(folders.bases) > 1:
            path = str(Path(path).parent)
        name = self._name(path)
        if len(turns) < 2:
            why = [*_clauses(runs, programs), *folders.reasons]
            return [self._entry(name, path, runs, programs, why)]
        runs_of_turns = _runs_of_turns(runs, turns)
        entries = []
        for number, (turn, turn_runs) in enumerate(zip(turns, runs_of_turns, strict=True), 1):
            also = f"{len(turns)} programs wrote into this folder in turn; this is number {number}"
            why = [*_clauses(turn_runs, turn), *folders.reasons, also]
            entries.append(self._entry(f"{name} ({number})", path, turn_runs, turn, why))
        return entries

    def _entry(
        self,
        name: str,
        path: str,
        runs: Sequence[RunEntry],
        programs: Sequence[TrainedProgram],
        reasons: Sequence[str],
    ) -> TrainingEntry:
        span = span_of(programs)
        return TrainingEntry(
            name=name,
            path=path,
            sessions=tuple(runs),
            tfevents=self._event_files(runs, programs),
            above=runs[0].above if runs else (),
            first_ns=span[0] if span else None,
            last_ns=span[1] if span else None,
            reasons=tuple(reasons),
        )

    def _event_files(
        self,
        runs: Sequence[RunEntry],
        programs: Sequence[TrainedProgram],
    ) -> tuple[EventFile, ...]:
        """The scalars of a training, and beside them the ends of its captures and PowerBoard's
        marker.
        """
        files = {file.path: file for program in programs for file in program.files}
        pids = {program.process[1] for program in programs}
        for run in runs:
            for file in run.tfevents:
                # Scalars beside a session may be another program's.
                is_alone = not programs or not file.has_scalars
                if is_alone or run_of(file.path)[1] in pids:
                    files.setdefault(file.path, file)
        for file in self.markers:
            pid = run_of(file.path)[1]
            if pid is not None and pid in pids:
                files.setdefault(file.path, file)
        return tuple(files.values())

    def _name(self, path: str) -> str:
        if self.is_remote:  # its files are in a copy here; they are named by where they are there
            path = elsewhere.shown(path)
        try:
            name = Path(path).relative_to(self.root).as_posix()
        except ValueError:
            name = Path(path).name
        if name not in ("", "."):
            return name
        return Path(path).name or path

    # ── power ────────────────────────────────────────────────────────────────────────────────────

    def _with_power(self, trainings: list[TrainingEntry]) -> list[TrainingEntry]:
        """Give power logs to the trainings below their folder.

        Those that no training has are measurements of their own.
        """
        unused = {log.path: log for log in self.power}
        entries = []
        for training in trainings:
            logs = self._logs_of(training)
            for path in logs:
                unused.pop(path, None)
            reasons = training.reasons
            if logs:
                words = "power logs are" if len(logs) > 1 else "power log is"
                reasons = (*reasons, f"{len(logs)} {words} in or above its folder")
            entries.append(replace(training, power=tuple(logs.values()), reasons=reasons))
        by_folder: dict[str, list[PowerFile]] = {}
        for log in unused.values():
            by_folder.setdefault(str(Path(log.path).parent), []).append(log)
        for folder, folder_logs in by_folder.items():
            entries += self._measurements(folder, folder_logs)
        return entries

    def _logs_of(self, training: TrainingEntry) -> dict[str, PowerFile]:
        """The power logs of a training by their paths: those of its sessions, else those that lie
        near it.
        """
        if training.sessions:
            return {log.path: log for run in training.sessions for log in run.power}
        return {log.path: log for log in self.power if _below(training.path, log.path)}

    def _measurements(self, folder: str, logs: Sequence[PowerFile]) -> list[TrainingEntry]:
        """The power logs of one folder that no training has, each group an entry of its own."""
        from powertui.data.logdir import log_groups

        entries = []
        groups = log_groups.groups(logs)
        for group in groups:
            first = group.logs[0].path
            name = self._name(first if len(groups) > 1 or len(logs) == 1 else folder)
            if len(group.logs) > 1 and len(groups) > 1:
                name += f" and {len(group.logs) - 1} more"
            entry = TrainingEntry(
                name=name,
                path=first if len(groups) > 1 else folder,
                power=group.logs,
                first_ns=group.first_ns,
                last_ns=group.last_ns,
                is_local=group.is_local,
                reasons=(group.reason,),
            )
            entries.append(entry)
        return entries


def _runs_of_turns(
    runs: Sequence[RunEntry],
    turns: Sequence[Sequence[TrainedProgram]],
) -> list[list[RunEntry]]:
    """The sessions of each of several trainings that used one folder in turn."""
    from powertui.data.logdir import session_turns

    spans = []
    for turn in turns:
        first = min(program.first_ns for program in turn)
        last = max(program.last_ns for program in turn)
        spans.append((first, last))
    runs_of_turns: list[list[RunEntry]] = [[] for _ in turns]
    for run, number in zip(runs, session_turns.turns_of_sessions(runs, spans), strict=True):
        runs_of_turns[number].append(run)
    return runs_of_turns


def _clauses(runs: Sequence[RunEntry], programs: Sequence[TrainedProgram]) -> list[str]:
    """Why sessions and scalars are one training, a clause each."""
    clauses = []
    if len(runs) > 1:
        writers = {_writer(run) for run in runs}
        writer = _writer(runs[0])
        if len(writers) == 1 and writer != runs[0].path:
            clauses.append(f"process {Path(writer).name} wrote all of its sessions")
        else:
            clauses.append("all of its sessions are in one logdir")
    processes = {program.process for program in programs}
    if len(processes) > 1:
        clauses.append(
            f"the scalars of {len(processes)} processes overlap or go on where the one "
            "before stopped"
        )
    elif programs and runs:
        clauses.append("sessions and scalars are in one folder")
    return clauses


def _loose_runs(runs: Sequence[RunEntry]) -> list[RunEntry]:
    """The traces of several programs side by side; none where one program wrote them all."""
    loose = [run for run in runs if not _in_plugins(run)]
    if len({_writer(run) for run in runs}) > 1:
        return loose
    return []


# ── what belongs where ───────────────────────────────────────────────────────────────────────────


def _scalar_files(runs: Sequence[RunEntry], tfevents: Sequence[EventFile]) -> list[EventFile]:
    """All files with scalars; PowerBoard's markers are none."""
    files = [*tfevents, *(file for run in runs for file in run.tfevents)]
    unique = {file.path: file for file in files}
    return [file for file in unique.values() if file.has_scalars]


def _base_of_run(run: RunEntry) -> str:
    """The folder of the training that a session belongs to."""
    place = Path(run.path)
    if run.path == "-":
        return "-"
    for above in (place, *place.parents[:3]):
        if above.name == "plugins":
            return base_of(str(above.parent))
    return base_of(str(place if place.is_dir() else place.parent))


def _writer(run: RunEntry) -> str:
    """What all sessions of a program share: the processes that PyTorch's handler names, else its
    own path.
    """
    processes = [pytorch.process(Path(profile.path).name) for profile in run.profiles]
    names = sorted(name for name in processes if name is not None)
    if not names or len(names) < len(processes):
        return run.path
    return str(Path(run.profiles[0].path).parent / " ".join(names))


def _in_plugins(run: RunEntry) -> bool:
    return "plugins" in Path(run.path).parts


def _below(base: str, log: str) -> bool:
    """Whether a training is below the folder of a log (its `data/` folder left aside), or the log
    in the training.
    """
    folder = Path(log).parent
    folder = folder.parent if folder.name == "data" else folder
    place = Path(base)
    return place == folder or folder in place.parents or place in folder.parents


def as_run(entry: TrainingEntry) -> RunEntry:
    """A training that was never profiled, as a run without profiles: scalars and power."""
    return RunEntry(
        name=entry.name,
        path=entry.path,
        tfevents=entry.tfevents,
        power=entry.power,
        above=entry.above,
    )
