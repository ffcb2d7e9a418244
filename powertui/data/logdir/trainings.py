"""Trainings: which sessions, scalars and power logs are what one program did, by folder, process
and time; and why.

    a folder        `logs/run1`, with `train/`, `validation/` and `plugins/profile/` below it, is one training
    a process       tfevents of one host and process id are one program's, wherever below the logdir they lie; so are PyTorch's
                    traces with one host and process id in their names, side by side
    hosts           folders named like workers or like their own host, side by side and at the same time, are one training
    time            a folder that two programs used in turn holds two trainings, unless the later went on where the earlier stopped

Two programs that merely lie side by side stay apart. Only names, sizes and the first and last
records are looked at.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from powertui.data import elsewhere
from powertui.data.formats import filenames, tfevents_ends
from powertui.data.formats.tfevents import run_of
from powertui.data.logdir import captured, log_groups, pytorch
from powertui.data.logdir.entries import EventFile, OtherFile, PowerFile, RunEntry

_PAUSE_NS = (
    15 * 60 * 1_000_000_000
)  # a program that went on later than this after another is another training, unless its steps go on
_DAY_NS = 86_400 * 1_000_000_000
_CONTAINED = 100  # in containers every program has one of the first few process ids
_WORKER = re.compile(
    r"^(?:worker|rank|host|node|chief|ps|proc|process|replica|task)s?[-_.]?\d*$", re.IGNORECASE
)
_SHOWN = 3


@dataclass(frozen=True)
class TrainingEntry:
    """What one program did, as found: nothing of it has been read yet."""

    name: str  # the folder below the logdir
    path: str
    sessions: tuple[RunEntry, ...] = ()  # by name
    tfevents: tuple[EventFile, ...] = ()  # its scalars, and PowerBoard's marker
    power: tuple[PowerFile, ...] = ()
    above: tuple[
        PowerFile, ...
    ] = ()  # logs above what was asked for: told of, read when they are named
    results: tuple[OtherFile, ...] = ()
    first_ns: int | None = (
        None  # of its scalars, else of its power where that is all: first and last record (Unix)
    )
    last_ns: int | None = None
    is_local: bool = False  # the two are local times of a zone that is not known
    reasons: tuple[str, ...] = ()  # why these belong together, a clause each
    by_hand: bool = False  # a person put it together otherwise

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of its sessions, else those that wrote scalars."""
        found = {host for run in self.sessions for host in run.hosts}
        return tuple(
            sorted(
                found
                or {
                    host
                    for file in self.tfevents
                    if (host := run_of(file.path)[0]) and file.group != "demo_logs"
                }
            )
        )


class _Program(NamedTuple):
    """One process that wrote scalars into one folder."""

    base: str
    process: tuple[str, int | None]
    files: tuple[EventFile, ...]
    first_ns: int
    last_ns: int
    first_step: int | None
    last_step: int | None


def group(
    path: str, runs: Sequence[RunEntry], tfevents: Sequence[EventFile], power: Sequence[PowerFile]
) -> tuple[TrainingEntry, ...]:
    """The trainings among what was found under a path, by name."""
    return tuple(sorted(_Grouping(path, runs, tfevents, power).all(), key=lambda one: one.name))


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
        self.markers = [file for file in tfevents if file.group == "demo_logs"]  # PowerBoard's

    def all(self) -> list[TrainingEntry]:
        runs, events = list(self.runs), _own_events(self.runs, self.tfevents)
        bases: dict[str, list[RunEntry]] = {}
        for run in runs:
            if run.profiles or run.results or run.unread or run.problems or run.ignored:
                bases.setdefault(_base_of_run(run), []).append(run)
        found = _programs(events)
        place = {id(one): number for number, one in enumerate(found)}
        programs: dict[str, list[_Program]] = {}
        for one in found:
            programs.setdefault(one.base, []).append(one)
        for base in [base for base in bases if base not in programs]:
            apart = [run for run in bases[base] if not _in_plugins(run)]
            if len(bases[base]) > 1 and apart and len({_writer(run) for run in bases[base]}) > 1:
                # traces that lie side by side, and nothing says that one program wrote them all
                bases[base] = [run for run in bases[base] if _in_plugins(run)]
                for run in apart:
                    bases.setdefault(_writer(run), []).append(run)
                if not bases[base]:
                    del bases[base]
        groups = self._joined(sorted({*bases, *programs}), found, programs)
        out: list[TrainingEntry] = []
        for members, reasons in groups:
            mine = [run for base in members for run in bases.get(base, ())]
            theirs = sorted(
                (one for base in members for one in programs.get(base, ())),
                key=lambda one: place[id(one)],
            )
            out += self._in_turn(members, mine, theirs, reasons)
        return self._with_power(out)

    # ── folders ──────────────────────────────────────────────────────────────────────────────────

    def _joined(
        self,
        bases: Sequence[str],
        found: Sequence[_Program],
        programs: Mapping[str, Sequence[_Program]],
    ) -> list[tuple[tuple[str, ...], list[str]]]:
        """Folders that are one training, each with the reasons."""
        parent = {base: base for base in bases}
        why: dict[str, list[str]] = {base: [] for base in bases}

        def root(base: str) -> str:
            while parent[base] != base:
                base = parent[base]
            return base

        def join(one: str, other: str, reason: str) -> None:
            a, b = sorted((root(one), root(other)))
            if a != b:
                parent[b] = a
                why[a] += [reason, *why.pop(b)]

        by_process: dict[tuple[str, int | None], list[_Program]] = {}
        for one in found:
            if one.process[1] is not None:
                by_process.setdefault(one.process, []).append(one)
        for (host, pid), same in by_process.items():
            words = f"process {pid} of {host} wrote scalars into both"
            if (pid or 0) >= _CONTAINED:
                for before, after in _at_once(same):
                    join(before.base, after.base, f"{words}: {_names(before.base, after.base)}")
            for before, after in _related(same):
                if (
                    abs(after.first_ns - before.last_ns) < _DAY_NS
                    or after.first_ns <= before.last_ns
                ):  # process ids are used again
                    join(before.base, after.base, f"{words}: {_names(before.base, after.base)}")
        beside: dict[str, list[str]] = {}
        for base in bases:
            beside.setdefault(str(Path(base).parent), []).append(base)
        spans = {base: _span(programs.get(base, ())) for base in bases}
        for siblings in beside.values():
            workers = [
                base
                for base in siblings
                if _WORKER.match(Path(base).name) or _is_host(base, programs.get(base, ()))
            ]
            for base, other in itertools.pairwise(workers):
                a, b = spans[base], spans[other]
                if a is None or b is None or (a[0] <= b[1] and b[0] <= a[1]):
                    reason = "are workers side by side" + (
                        " whose scalars overlap in time" if a is not None and b is not None else ""
                    )
                    join(base, other, f"{_names(base, other)} {reason}")
        out: dict[str, list[str]] = {}
        for base in bases:
            out.setdefault(root(base), []).append(base)
        return [(tuple(members), why[first]) for first, members in out.items()]

    # ── time ─────────────────────────────────────────────────────────────────────────────────────

    def _in_turn(
        self,
        members: Sequence[str],
        runs: Sequence[RunEntry],
        programs: Sequence[_Program],
        reasons: list[str],
    ) -> list[TrainingEntry]:
        """The trainings that used these folders, one after the other."""
        turns: list[list[_Program]] = []
        for one in sorted(programs, key=lambda p: p.first_ns):
            if turns and _goes_on(turns[-1], one):
                turns[-1].append(one)
            else:
                turns.append([one])
        path = members[0] if len(members) == 1 else str(Path(members[0]).parent)
        name = self._name(path)
        if len(turns) < 2:
            return [self._entry(name, path, runs, programs, self._why(runs, programs, reasons))]
        given: list[list[RunEntry]] = [[] for _ in turns]
        for run in runs:
            given[_nearest(run, turns)].append(run)
        out = []
        for number, (turn, mine) in enumerate(zip(turns, given, strict=True), 1):
            also = f"{len(turns)} programs wrote into this folder in turn; this is number {number}"
            out.append(
                self._entry(
                    f"{name} ({number})", path, mine, turn, [*self._why(mine, turn, reasons), also]
                )
            )
        return out

    def _why(
        self, runs: Sequence[RunEntry], programs: Sequence[_Program], reasons: Iterable[str]
    ) -> list[str]:
        said = []
        if len(runs) > 1:
            said.append(f"{len(runs)} sessions lie in one logdir")
            if (process := _writer(runs[0])) != runs[0].path and all(
                _writer(run) == process for run in runs
            ):
                said[-1] = f"process {Path(process).name} wrote all of its sessions"
        processes = {one.process for one in programs}
        if len(processes) > 1:
            said.append(
                f"the scalars of {len(processes)} processes overlap or go on where the one "
                "before stopped"
            )
        elif programs and runs:
            said.append("sessions and scalars lie in one folder")
        return [*said, *reasons]

    def _entry(
        self,
        name: str,
        path: str,
        runs: Sequence[RunEntry],
        programs: Sequence[_Program],
        reasons: Sequence[str],
    ) -> TrainingEntry:
        files = {file.path: file for one in programs for file in one.files}
        # Beside the scalars of its own programs: the ends of its captures, and PowerBoard's marker.
        pids = {one.process[1] for one in programs}
        for run in runs:
            for file in run.tfevents:
                own = file.kind != "scalars" or file.group == "demo_logs"
                if own or not programs or run_of(file.path)[1] in pids:
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
        """Logs go to the trainings below their folder; those that no training has are measurements
        of their own.
        """
        left = {log.path: log for log in self.power}
        out = []
        for one in trainings:
            mine = {log.path: log for run in one.sessions for log in run.power}
            if not one.sessions:
                mine = {log.path: log for log in self.power if _below(one.path, log.path)}
            for path in mine:
                left.pop(path, None)
            said = (
                (
                    f"{len(mine)} power log{'s lie' if len(mine) > 1 else ' lies'} in or above its "
                    "folder"
                )
                if mine
                else ""
            )
            out.append(
                replace(
                    one,
                    power=tuple(mine.values()),
                    reasons=(*one.reasons, *([said] if said else ())),
                )
            )
        folders: dict[str, list[PowerFile]] = {}
        for log in left.values():
            folders.setdefault(str(Path(log.path).parent), []).append(log)
        for folder, logs in folders.items():
            measured = log_groups.groups(logs)
            for group in measured:
                first = group.logs[0].path
                named = (
                    self._name(first) if len(measured) > 1 or len(logs) == 1 else self._name(folder)
                )
                named += (
                    f" and {len(group.logs) - 1} more"
                    if len(group.logs) > 1 and len(measured) > 1
                    else ""
                )
                path = first if len(measured) > 1 else folder
                out.append(
                    TrainingEntry(
                        name=named,
                        path=path,
                        power=group.logs,
                        first_ns=group.first_ns,
                        last_ns=group.last_ns,
                        is_local=group.is_local,
                        reasons=(group.reason,),
                    )
                )
        return out


# ── what lies where ──────────────────────────────────────────────────────────────────────────────


def _own_events(runs: Sequence[RunEntry], tfevents: Sequence[EventFile]) -> list[EventFile]:
    """All files with scalars; PowerBoard's markers are none."""
    every = {
        file.path: file for file in (*tfevents, *(file for run in runs for file in run.tfevents))
    }
    return [file for file in every.values() if file.kind == "scalars" and file.group != "demo_logs"]


def _base_of_run(run: RunEntry) -> str:
    """The folder of the training that a session belongs to."""
    place = Path(run.path)
    if run.path == "-":
        return "-"
    for above in (place, *place.parents[:3]):
        if above.name == "plugins":
            return _base(str(above.parent))
    return _base(str(place if place.is_dir() else place.parent))


def _at_once(same: Sequence[_Program]) -> Iterator[tuple[_Program, _Program]]:
    """Each but the first with one that was still writing when it began."""
    latest: _Program | None = None
    for one in sorted(same, key=lambda one: one.first_ns):
        if latest is not None and one.first_ns <= latest.last_ns:
            yield latest, one
        if latest is None or one.last_ns > latest.last_ns:
            latest = one


def _related(same: Sequence[_Program]) -> Iterator[tuple[_Program, _Program]]:
    """Each with the folder that it lies in, or is named after: `run` and `run_loss_aux`, as
    PyTorch's writer makes them.
    """
    above: list[_Program] = []
    for one in sorted(same, key=lambda one: one.base):
        while above and not one.base.startswith(above[-1].base):
            above.pop()
        if above:
            yield above[-1], one
        above.append(one)


def _is_host(base: str, programs: Sequence[_Program]) -> bool:
    """Whether a folder is named after a host whose programs wrote into it."""
    name = Path(base).name.casefold()
    return any(one.process[0].casefold().split(".")[0] == name for one in programs)


def _writer(run: RunEntry) -> str:
    """What all sessions of its program share: the processes that PyTorch's handler names, else
    nothing but its own path.
    """
    wrote = [pytorch.process(Path(profile.path).name) for profile in run.profiles]
    told = sorted(one for one in wrote if one is not None)
    return (
        str(Path(run.profiles[0].path).parent / " ".join(told))
        if told and len(told) == len(wrote)
        else run.path
    )


def _in_plugins(run: RunEntry) -> bool:
    return "plugins" in Path(run.path).parts


def _base(folder: str) -> str:
    place = Path(folder)
    return str(place.parent) if place.name in filenames.PARTS else str(place)


def _programs(events: Sequence[EventFile]) -> list[_Program]:
    by: dict[tuple[str, tuple[str, int | None]], list[EventFile]] = {}
    for file in events:
        by.setdefault((_base(str(Path(file.path).parent)), run_of(file.path)), []).append(file)
    out = []
    for (base, process), files in by.items():
        ends = [tfevents_ends.ends(file.path) for file in files]
        known = [one for one in ends if one.first_ns is not None]
        if not known:
            continue
        first = min(one.first_ns for one in known if one.first_ns is not None)
        last = max((one.last_ns for one in known if one.last_ns is not None), default=first)
        steps = [one.first_step for one in known if one.first_step is not None]
        ends_at = [one.last_step for one in known if one.last_step is not None]
        out.append(
            _Program(
                base=base,
                process=process,
                files=tuple(files),
                first_ns=first,
                last_ns=max(first, last),
                first_step=min(steps, default=None),
                last_step=max(ends_at, default=None),
            )
        )
    return out


def _span(programs: Sequence[_Program]) -> tuple[int, int] | None:
    return (
        (min(one.first_ns for one in programs), max(one.last_ns for one in programs))
        if programs
        else None
    )


def _goes_on(turn: Sequence[_Program], later: _Program) -> bool:
    """Whether a program belongs to the training that these are: at their time, of their process, or
    on from where they stopped.
    """
    last = max(one.last_ns for one in turn)
    if later.first_ns <= last or any(
        one.process == later.process and one.process[1] is not None for one in turn
    ):
        return True
    steps = [one.last_step for one in turn if one.last_step is not None]
    if later.first_step is None or max(steps, default=0) <= 0 or later.first_step <= 1:
        return False
    near = later.first_ns - last <= _PAUSE_NS
    return later.first_step > 0.5 * max(steps) and (near or later.first_step >= 0.9 * max(steps))


def _nearest(run: RunEntry, turns: Sequence[Sequence[_Program]]) -> int:
    """The training that a session was taken in: by when it was exported, else by when its files
    were written.
    """
    at = captured.when(run)
    if at is None:
        return len(turns) - 1

    def off(turn: Sequence[_Program]) -> int:
        first, last = min(one.first_ns for one in turn), max(one.last_ns for one in turn)
        return max(0, first - at.hi_ns, at.lo_ns - last)

    distances: list[int] = [off(turn) for turn in turns]
    return distances.index(min(distances))


def _below(base: str, log: str) -> bool:
    """Whether a training lies below the folder of a log (its `data/` folder left aside), or the log
    in the training.
    """
    folder = Path(log).parent
    folder = folder.parent if folder.name == "data" else folder
    place = Path(base)
    return place == folder or folder in place.parents or place in folder.parents


def _names(*paths: str) -> str:
    names: Callable[[str], str] = lambda path: Path(path).name or path  # noqa: E731
    return " and ".join(dict.fromkeys(names(path) for path in paths[:_SHOWN]))
