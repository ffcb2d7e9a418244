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

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from powertui.data import elsewhere
from powertui.data.formats import filenames, tfevents_ends
from powertui.data.formats.filenames import run_of
from powertui.data.logdir import log_groups, pytorch, session_turns
from powertui.data.logdir.entries import EventFile, OtherFile, PowerFile, RunEntry
from powertui.value_types import dataclass

# A program that started later than this after another one is a training of its own, unless its
# steps go on. Chosen, not measured.
_MAX_PAUSE_NS = 15 * 60 * 1_000_000_000
# Process ids are used again: the same one after more than a day is another program.
_PROCESS_REUSE_NS = 86_400 * 1_000_000_000
# A program that goes on begins at more than half of the steps that were done (a checkpoint may be
# old); after a long pause, close to their end. Chosen, not measured.
_MIN_RESUMED_SHARE = 0.5
_MIN_RESUMED_SHARE_AFTER_PAUSE = 0.9
_MIN_UNIQUE_PID = 100  # in containers every program has one of the first few process ids
_WORKER = re.compile(
    r"^(?:worker|rank|host|node|chief|ps|proc|process|replica|task)s?[-_.]?\d*$", re.IGNORECASE
)
_MAX_NAMES = 3  # folders named in a reason


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
    def hosts(self) -> tuple[str, ...]:
        """All hosts of its sessions, else those that wrote scalars."""
        hosts = {host for run in self.sessions for host in run.hosts}
        if not hosts:
            scalars = [file for file in self.tfevents if not file.is_marker]
            hosts = {run_of(file.path)[0] for file in scalars} - {""}
        return tuple(sorted(hosts))


class _Program(NamedTuple):
    """One process that wrote scalars into one folder."""

    base: str
    process: tuple[str, int | None]
    files: tuple[EventFile, ...]
    first_ns: int
    last_ns: int
    first_step: int | None
    last_step: int | None


class _Folders:
    """Folders that are joined into trainings, each with the reasons."""

    def __init__(self, bases: Sequence[str]) -> None:
        self._bases = bases
        self._parent = {base: base for base in bases}
        self._reasons: dict[str, list[str]] = {base: [] for base in bases}

    def _root(self, base: str) -> str:
        while self._parent[base] != base:
            base = self._parent[base]
        return base

    def join(self, base: str, twin: str, reason: str) -> None:
        """Make two folders one training, for this reason."""
        first, second = sorted((self._root(base), self._root(twin)))
        if first != second:
            self._parent[second] = first
            self._reasons[first] += [reason, *self._reasons.pop(second)]

    def groups(self) -> list[tuple[list[str], list[str]]]:
        """(the folders of one training, the reasons) for each."""
        members: dict[str, list[str]] = {}
        for base in self._bases:
            members.setdefault(self._root(base), []).append(base)
        return [(folders, self._reasons[root]) for root, folders in members.items()]


def group(
    path: str, runs: Sequence[RunEntry], tfevents: Sequence[EventFile], power: Sequence[PowerFile]
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
        self.runs, self.tfevents, self.power = runs, tfevents, power
        place = Path(path)
        self.is_remote = elsewhere.is_address(path)
        if self.is_remote:
            self.root = place
        else:
            self.root = place.resolve() if ".." in place.parts else place.absolute()
        self.markers = [file for file in tfevents if file.is_marker]

    def trainings(self) -> list[TrainingEntry]:
        """All trainings, in the order of their folders; power logs alone come last."""
        programs = _programs(_scalar_files(self.runs, self.tfevents))
        by_base: dict[str, list[_Program]] = {}
        for program in programs:
            by_base.setdefault(program.base, []).append(program)
        sessions = self._sessions_by_base(by_base)
        trainings: list[TrainingEntry] = []
        order = {id(program): number for number, program in enumerate(programs)}
        for bases, reasons in self._joined(sorted({*sessions, *by_base}), programs, by_base):
            members: list[_Program] = []
            runs: list[RunEntry] = []
            for base in bases:
                runs += sessions.get(base, [])
                members += by_base.get(base, [])
            members.sort(key=lambda program: order[id(program)])
            trainings += self._in_turn(bases, runs, members, reasons)
        return self._with_power(trainings)

    def _sessions_by_base(
        self, programs: Mapping[str, Sequence[_Program]]
    ) -> dict[str, list[RunEntry]]:
        """The sessions by the folder of their training.

        Traces side by side are apart where several programs wrote them and no scalars join them.
        """
        sessions: dict[str, list[RunEntry]] = {}
        for run in self.runs:
            if run.profiles or run.results or run.unread or run.problems or run.ignored:
                sessions.setdefault(_base_of_run(run), []).append(run)
        for base in [base for base in sessions if base not in programs]:
            runs = sessions[base]
            loose = [run for run in runs if not _in_plugins(run)]
            if not loose or len({_writer(run) for run in runs}) < 2:
                continue
            sessions[base] = [run for run in runs if _in_plugins(run)]
            for run in loose:
                sessions.setdefault(_writer(run), []).append(run)
            if not sessions[base]:
                del sessions[base]
        return sessions

    # ── folders ──────────────────────────────────────────────────────────────────────────────────

    def _joined(
        self,
        bases: Sequence[str],
        programs: Sequence[_Program],
        by_base: Mapping[str, Sequence[_Program]],
    ) -> list[tuple[list[str], list[str]]]:
        """Folders that are one training, each with the reasons."""
        folders = _Folders(bases)
        _join_processes(folders, programs)
        siblings: dict[str, list[str]] = {}
        for base in bases:
            workers = siblings.setdefault(str(Path(base).parent), [])
            if _WORKER.match(Path(base).name) or _is_host(base, by_base.get(base, ())):
                workers.append(base)
        for workers in siblings.values():
            for base, neighbor in itertools.pairwise(workers):
                a, b = _span(by_base.get(base, ())), _span(by_base.get(neighbor, ()))
                names = _names(base, neighbor)
                if a is None or b is None:
                    folders.join(base, neighbor, f"{names} are workers side by side")
                elif a[0] <= b[1] and b[0] <= a[1]:
                    reason = f"{names} are workers side by side whose scalars overlap in time"
                    folders.join(base, neighbor, reason)
        return folders.groups()

    # ── time ─────────────────────────────────────────────────────────────────────────────────────

    def _in_turn(
        self,
        bases: Sequence[str],
        runs: Sequence[RunEntry],
        programs: Sequence[_Program],
        reasons: list[str],
    ) -> list[TrainingEntry]:
        """The trainings that used these folders, one after the other."""
        turns: list[list[_Program]] = []
        for program in sorted(programs, key=lambda program: program.first_ns):
            if turns and _goes_on(turns[-1], program):
                turns[-1].append(program)
            else:
                turns.append([program])
        path = bases[0] if len(bases) == 1 else str(Path(bases[0]).parent)
        name = self._name(path)
        if len(turns) < 2:
            return [self._entry(name, path, runs, programs, self._why(runs, programs, reasons))]
        runs_of_turns: list[list[RunEntry]] = [[] for _ in turns]
        spans = [
            (
                min(program.first_ns for program in turn),
                max(program.last_ns for program in turn),
            )
            for turn in turns
        ]
        for run, number in zip(runs, session_turns.turns_of_sessions(runs, spans), strict=True):
            runs_of_turns[number].append(run)
        entries = []
        for number, (turn, turn_runs) in enumerate(zip(turns, runs_of_turns, strict=True), 1):
            also = f"{len(turns)} programs wrote into this folder in turn; this is number {number}"
            why = [*self._why(turn_runs, turn, reasons), also]
            entries.append(self._entry(f"{name} ({number})", path, turn_runs, turn, why))
        return entries

    def _why(
        self, runs: Sequence[RunEntry], programs: Sequence[_Program], reasons: Iterable[str]
    ) -> list[str]:
        """Why these are one training, a clause each."""
        clauses = []
        if len(runs) > 1:
            writers = {_writer(run) for run in runs}
            writer = _writer(runs[0])
            if len(writers) == 1 and writer != runs[0].path:
                clauses.append(f"process {Path(writer).name} wrote all of its sessions")
            else:
                clauses.append(f"{len(runs)} sessions are in one logdir")
        processes = {program.process for program in programs}
        if len(processes) > 1:
            clauses.append(
                f"the scalars of {len(processes)} processes overlap or go on where the one "
                "before stopped"
            )
        elif programs and runs:
            clauses.append("sessions and scalars are in one folder")
        return [*clauses, *reasons]

    def _entry(
        self,
        name: str,
        path: str,
        runs: Sequence[RunEntry],
        programs: Sequence[_Program],
        reasons: Sequence[str],
    ) -> TrainingEntry:
        files = {file.path: file for program in programs for file in program.files}
        # The ends of its captures and PowerBoard's marker belong to it beside its scalars.
        pids = {program.process[1] for program in programs}
        for run in runs:
            for file in run.tfevents:
                is_its_own = not file.has_scalars
                if is_its_own or not programs or run_of(file.path)[1] in pids:
                    files.setdefault(file.path, file)
        for file in self.markers:
            if run_of(file.path)[1] in pids - {None}:
                files.setdefault(file.path, file)
        span = _span(programs)
        return TrainingEntry(
            name=name,
            path=path,
            sessions=tuple(runs),
            tfevents=tuple(files.values()),
            above=runs[0].above if runs else (),
            first_ns=span[0] if span else None,
            last_ns=span[1] if span else None,
            reasons=tuple(reasons),
        )

    def _name(self, path: str) -> str:
        if self.is_remote:  # its files are in a copy here; they are named by where they are there
            path = elsewhere.shown(path)
        try:
            name = Path(path).relative_to(self.root).as_posix()
        except ValueError:
            name = Path(path).name
        return name if name not in ("", ".") else Path(path).name or path

    # ── power ────────────────────────────────────────────────────────────────────────────────────

    def _with_power(self, trainings: list[TrainingEntry]) -> list[TrainingEntry]:
        """Give power logs to the trainings below their folder.

        Those that no training has are measurements of their own.
        """
        unused = {log.path: log for log in self.power}
        out = []
        for training in trainings:
            logs = {log.path: log for run in training.sessions for log in run.power}
            if not training.sessions:
                logs = {log.path: log for log in self.power if _below(training.path, log.path)}
            for path in logs:
                unused.pop(path, None)
            reasons = training.reasons
            if logs:
                words = "power logs lie" if len(logs) > 1 else "power log lies"
                reasons = (*reasons, f"{len(logs)} {words} in or above its folder")
            out.append(replace(training, power=tuple(logs.values()), reasons=reasons))
        folders: dict[str, list[PowerFile]] = {}
        for log in unused.values():
            folders.setdefault(str(Path(log.path).parent), []).append(log)
        for folder, folder_logs in folders.items():
            out += self._measurements(folder, folder_logs)
        return out

    def _measurements(self, folder: str, logs: Sequence[PowerFile]) -> list[TrainingEntry]:
        """The power logs of one folder that no training has, each group an entry of its own."""
        entries = []
        groups = log_groups.groups(logs)
        for group in groups:
            first = group.logs[0].path
            name = self._name(first if len(groups) > 1 or len(logs) == 1 else folder)
            if len(group.logs) > 1 and len(groups) > 1:
                name += f" and {len(group.logs) - 1} more"
            entries.append(
                TrainingEntry(
                    name=name,
                    path=first if len(groups) > 1 else folder,
                    power=group.logs,
                    first_ns=group.first_ns,
                    last_ns=group.last_ns,
                    is_local=group.is_local,
                    reasons=(group.reason,),
                )
            )
        return entries


# ── what belongs where ───────────────────────────────────────────────────────────────────────────


def _scalar_files(runs: Sequence[RunEntry], tfevents: Sequence[EventFile]) -> list[EventFile]:
    """All files with scalars; PowerBoard's markers are none."""
    files = [*tfevents, *(file for run in runs for file in run.tfevents)]
    unique = {file.path: file for file in files}
    return [file for file in unique.values() if file.has_scalars]


def _join_processes(folders: _Folders, programs: Sequence[_Program]) -> None:
    """Join the folders into which one process wrote."""
    by_process: dict[tuple[str, int | None], list[_Program]] = {}
    for program in programs:
        if program.process[1] is not None:
            by_process.setdefault(program.process, []).append(program)
    for (host, pid), same in by_process.items():
        words = f"process {pid} of {host} wrote scalars into both"
        pairs: list[tuple[_Program, _Program]] = []
        if (pid or 0) >= _MIN_UNIQUE_PID:
            pairs += _at_once(same)
        for above, below in _related(same):
            if below.first_ns - above.last_ns < _PROCESS_REUSE_NS:
                pairs.append((above, below))
        for program, twin in pairs:
            folders.join(program.base, twin.base, f"{words}: {_names(program.base, twin.base)}")


def _base_of_run(run: RunEntry) -> str:
    """The folder of the training that a session belongs to."""
    place = Path(run.path)
    if run.path == "-":
        return "-"
    for above in (place, *place.parents[:3]):
        if above.name == "plugins":
            return _base(str(above.parent))
    return _base(str(place if place.is_dir() else place.parent))


def _at_once(programs: Sequence[_Program]) -> Iterator[tuple[_Program, _Program]]:
    """Each but the first with one that was still writing when it began."""
    latest: _Program | None = None
    for program in sorted(programs, key=lambda program: program.first_ns):
        if latest is not None and program.first_ns <= latest.last_ns:
            yield latest, program
        if latest is None or program.last_ns > latest.last_ns:
            latest = program


def _related(programs: Sequence[_Program]) -> Iterator[tuple[_Program, _Program]]:
    """Each with the folder that it is in, or is named after.

    PyTorch's writer makes `run_loss_aux` beside `run`.
    """
    above: list[_Program] = []
    for program in sorted(programs, key=lambda program: program.base):
        while above and not program.base.startswith(above[-1].base):
            above.pop()
        if above:
            yield above[-1], program
        above.append(program)


def _is_host(base: str, programs: Sequence[_Program]) -> bool:
    """Whether a folder is named after a host whose programs wrote into it."""
    name = Path(base).name.casefold()
    return any(program.process[0].casefold().split(".")[0] == name for program in programs)


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


def _base(folder: str) -> str:
    place = Path(folder)
    return str(place.parent) if place.name in filenames.PARTS else str(place)


def _programs(events: Sequence[EventFile]) -> list[_Program]:
    files_of: dict[tuple[str, tuple[str, int | None]], list[EventFile]] = {}
    for file in events:
        base = _base(str(Path(file.path).parent))
        files_of.setdefault((base, run_of(file.path)), []).append(file)
    programs = []
    for (base, process), files in files_of.items():
        ends = [tfevents_ends.ends(file.path) for file in files]
        firsts = [end.first_ns for end in ends if end.first_ns is not None]
        if not firsts:
            continue
        ends = [end for end in ends if end.first_ns is not None]
        lasts = [end.last_ns for end in ends if end.last_ns is not None]
        first_steps = [end.first_step for end in ends if end.first_step is not None]
        last_steps = [end.last_step for end in ends if end.last_step is not None]
        programs.append(
            _Program(
                base=base,
                process=process,
                files=tuple(files),
                first_ns=min(firsts),
                last_ns=max([min(firsts), *lasts]),
                first_step=min(first_steps, default=None),
                last_step=max(last_steps, default=None),
            )
        )
    return programs


def _span(programs: Sequence[_Program]) -> tuple[int, int] | None:
    """The first and the last record of some programs; None of none."""
    if not programs:
        return None
    first = min(program.first_ns for program in programs)
    return first, max(program.last_ns for program in programs)


def _goes_on(turn: Sequence[_Program], later: _Program) -> bool:
    """Whether a program belongs to the training of these: it ran at their time, in their process,
    or went on from where they stopped.
    """
    last_ns = max(program.last_ns for program in turn)
    if later.first_ns <= last_ns:
        return True
    if later.process[1] is not None and any(program.process == later.process for program in turn):
        return True
    steps = [program.last_step for program in turn if program.last_step is not None]
    last_step = max(steps, default=0)
    if later.first_step is None or last_step <= 0 or later.first_step <= 1:
        return False
    if later.first_step <= _MIN_RESUMED_SHARE * last_step:
        return False
    soon = later.first_ns - last_ns <= _MAX_PAUSE_NS
    return soon or later.first_step >= _MIN_RESUMED_SHARE_AFTER_PAUSE * last_step


def _below(base: str, log: str) -> bool:
    """Whether a training is below the folder of a log (its `data/` folder left aside), or the log
    in the training.
    """
    folder = Path(log).parent
    folder = folder.parent if folder.name == "data" else folder
    place = Path(base)
    return place == folder or folder in place.parents or place in folder.parents


def _names(*paths: str) -> str:
    names = [Path(path).name or path for path in paths[:_MAX_NAMES]]
    return " and ".join(dict.fromkeys(names))
