"""Trainings that a person put together otherwise: moves from one training to another, applied to
what a scan grouped.

A `Move` names files and folders by their real paths, so that it holds from wherever the logs are
looked at. What is no longer there is passed over. Moves are applied in the order in which they were
made; leaving out the last one undoes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar

from powertui.data.formats import filenames, tfevents_ends
from powertui.data.formats.filenames import run_of
from powertui.data.logdir.entries import EventFile, PowerFile, RunEntry
from powertui.data.logdir.folder import Logdir
from powertui.data.logdir.moves import Move
from powertui.data.logdir.programs import base_of
from powertui.data.logdir.trainings import TrainingEntry
from powertui.value_types import dataclass

_File = TypeVar("_File", EventFile, PowerFile)
# Real paths by which a training is recognized later: enough for any that a person moves, and the
# file of moves stays small. Chosen, not measured.
_MAX_MEMBERS = 500


@dataclass(frozen=True)
class Part:
    """What can be moved: a session, the scalars of one program, a power log."""

    kind: str  # "session", "scalars", "power log"
    name: str
    paths: tuple[str, ...]  # real


def parts(entry: TrainingEntry) -> tuple[Part, ...]:
    """The parts that a training was put together from."""
    sessions = [
        Part(
            kind="session",
            name=run.name,
            paths=(key_of(run),),
        )
        for run in entry.sessions
    ]
    logs = [
        Part(
            kind="power log",
            name=Path(log.path).name,
            paths=(_real(log.path),),
        )
        for log in entry.power
    ]
    return (*sessions, *_scalar_parts(entry), *logs)


def _scalar_parts(entry: TrainingEntry) -> Iterator[Part]:
    """The scalars of a training, one part for each program that wrote some into a folder."""
    files_by_program: dict[tuple[str, str], list[EventFile]] = {}
    for file in _scalars(entry):
        files_by_program.setdefault(_program_of(file), []).append(file)
    for (folder, program), files in files_by_program.items():
        name = _name_of_scalars(folder, program, files)
        paths = tuple(_real(file.path) for file in files)
        yield Part(kind="scalars", name=name, paths=paths)


def _program_of(file: EventFile) -> tuple[str, str]:
    """The folder that a program wrote this file below, and the program in words."""
    folder = base_of(str(Path(file.path).parent))
    host, pid = run_of(file.path)
    if pid is None:
        return folder, host
    return folder, f"process {pid} of {host}"


def _name_of_scalars(base: str, program: str, files: Sequence[EventFile]) -> str:
    """What a person calls the scalars of one program: "run1 (train, process 7 of node3)"."""
    folders = dict.fromkeys(Path(file.path).parent.name for file in files)
    details = [name for name in folders if name in filenames.PARTS]
    if program:
        details.append(program)
    name = Path(base).name
    if details:
        return f"{name} ({', '.join(details)})"
    return name


def move(chosen: Iterable[Part], out_of: Iterable[TrainingEntry], to: TrainingEntry | None) -> Move:
    """These parts of some trainings belong to another one; None: to none."""
    givers = [path for training in out_of for path in _members(training)]
    receivers = () if to is None else _members(to)
    return Move(
        parts=tuple(path for part in chosen for path in part.paths),
        out_of=tuple(givers[:_MAX_MEMBERS]),
        to=receivers[:_MAX_MEMBERS],
    )


def corrected(logdir: Logdir, moves: Sequence[Move]) -> Logdir:
    """The same folder with its trainings as a person put them together.

    What was corrected before is worked out anew.
    """
    logdir = _as_scanned(logdir)
    if not logdir.complete:
        return logdir
    changes = _Changes(logdir)
    applied = [move for move in moves if _concerns(logdir, move) and changes.apply(move)]
    if not applied:
        return logdir
    entries = changes.entries()
    runs = [changes.changed_runs.get(id(run), run) for run in logdir.runs]
    return replace(
        logdir,
        runs=tuple(runs),
        by_hand=entries,
        moves=tuple(applied),
        as_found=logdir,
        parts=tuple(corrected(part, moves) for part in logdir.parts),
    )


def _as_scanned(logdir: Logdir) -> Logdir:
    """The folder as it was before anybody corrected it."""
    return logdir.as_found if logdir.as_found is not None else logdir


def key_of(run: RunEntry) -> str:
    """The real path of a session: its folder, also where one of its files was named."""
    place = Path(run.path)
    if place.parent.parent.parts[-2:] == ("plugins", "profile"):
        place = place.parent
    return _real(str(place))


# ── applying moves ───────────────────────────────────────────────────────────────────────────────


@dataclass
class _Content:
    """The parts of a training by their real paths, while moves change them."""

    entry: TrainingEntry
    sessions: dict[str, RunEntry] = field(default_factory=dict)
    scalars: dict[str, EventFile] = field(default_factory=dict)
    power: dict[str, PowerFile] = field(default_factory=dict)

    @classmethod
    def from_entry(cls, entry: TrainingEntry) -> _Content:
        return cls(
            entry=entry,
            sessions={key_of(run): run for run in entry.sessions},
            scalars=_by_real_path(_scalars(entry)),
            power=_by_real_path(entry.power),
        )

    @property
    def empty(self) -> bool:
        return not (self.sessions or self.scalars or self.power)

    def matches(self, paths: Iterable[str]) -> int:
        """How many of these paths identify it."""
        members = {*self.sessions, *self.scalars} or {*self.power}
        return sum(path in members for path in paths)

    def receive(self, path: str, giver: _Content, with_power: bool) -> bool:
        """Take one part from another training; False where it has no such part."""
        if path in giver.sessions:
            self.sessions[path] = giver.sessions.pop(path)
        elif path in giver.scalars:
            self.scalars[path] = giver.scalars.pop(path)
        elif with_power and path in giver.power:
            self.power[path] = giver.power.pop(path)
        else:
            return False
        return True

    def without(self, content: _Content) -> list[str]:
        """What it holds and the other does not, as a person calls it."""
        names = []
        for path, run in self.sessions.items():
            if path not in content.sessions:
                names.append(run.name)
        for path in self.scalars:
            if path not in content.scalars:
                names.append(f"the scalars in {Path(path).parent.name}")
        for path in self.power:
            if path not in content.power:
                names.append(Path(path).name)
        return list(dict.fromkeys(names))


class _Changes:
    """The trainings of a folder while moves are applied."""

    def __init__(self, logdir: Logdir) -> None:
        self.roots = tuple(_roots(logdir))
        # By the id of a session of the scan: the one that is read in its place.
        self.changed_runs: dict[int, RunEntry] = {}
        self.contents = [_Content.from_entry(entry) for entry in logdir.trainings]

    def apply(self, move: Move) -> bool:
        """Apply a move; return False where nothing of it is there any more."""
        sources = [content for content in self.contents if content.matches(move.out_of)]
        target = self._target(move)
        has_moved = False
        for path in move.parts:
            for content in self.contents:
                # A power log may belong to several trainings: only those named give it away.
                with_power = content in sources
                if content is not target and target.receive(path, content, with_power):
                    has_moved = True
        self.contents = [content for content in self.contents if not content.empty]
        if target not in self.contents:
            # A power log that another training still has is no training of its own.
            in_use = {path for content in self.contents for path in content.power}
            target.power = {path: log for path, log in target.power.items() if path not in in_use}
            if not target.empty:
                self.contents.append(target)
        return has_moved

    def _target(self, move: Move) -> _Content:
        """The training that receives what is moved; an empty one where it is none yet."""
        best = max(self.contents, key=lambda content: content.matches(move.to), default=None)
        if best is None or not best.matches(move.to):
            return _Content(TrainingEntry("", ""))
        return best

    def entries(self) -> tuple[TrainingEntry, ...]:
        """The changed trainings, by name."""
        entries: list[TrainingEntry] = []
        names: set[tuple[str, str]] = set()
        for content in self.contents:
            entry = self._entry(content)
            while (entry.path, entry.name) in names:
                entry = replace(entry, name=f"{entry.name} (by hand)")
            names.add((entry.path, entry.name))
            entries.append(entry)
        return tuple(sorted(entries, key=lambda entry: entry.name))

    def _entry(self, content: _Content) -> TrainingEntry:
        was = content.entry
        before = _Content.from_entry(content.entry)
        removed = before.without(content)
        added = content.without(before)
        if not removed and not added:
            return was
        sessions = self._sessions(content, before)
        path = was.path
        name = was.name
        reasons = [*was.reasons, *_by_hand(removed, added)]
        if not was.path:
            path, name = self._place(content)
            reasons = ["set apart by hand"]
        first_ns = was.first_ns
        last_ns = was.last_ns
        if not _has_same_times(content, before):
            first_ns, last_ns = _span(content.scalars.values())
        return replace(
            was,
            name=name,
            path=path,
            sessions=tuple(sessions),
            tfevents=(*content.scalars.values(), *_files_without_scalars(was, sessions)),
            power=tuple(content.power.values()),
            above=was.above or (sessions[0].above if sessions else ()),
            first_ns=first_ns,
            last_ns=last_ns,
            by_hand=True,
            reasons=tuple(reasons),
        )

    def _sessions(self, content: _Content, before: _Content) -> list[RunEntry]:
        """The sessions of a changed training, each with the scalars and logs that it reads now."""
        sessions = []
        for key, run in sorted(content.sessions.items(), key=lambda pair: pair[1].name):
            scalars = content.scalars
            power = content.power
            if key in before.sessions:
                scalars_of_run = _by_real_path(file for file in run.tfevents if file.has_scalars)
                scalars = _changed(scalars_of_run, before.scalars, scalars)
                power = _changed(_by_real_path(run.power), before.power, power)
            other_files = [file for file in run.tfevents if not file.has_scalars]
            changed = replace(
                run,
                tfevents=(*scalars.values(), *other_files),
                power=tuple(power.values()),
            )
            self.changed_runs[id(run)] = changed
            sessions.append(changed)
        return sessions

    def _place(self, content: _Content) -> tuple[str, str]:
        """Path and name of a training that was none before."""
        if content.sessions:
            first = min(content.sessions.values(), key=lambda run: run.name)
            return first.path, first.name
        files = [file.path for file in content.scalars.values()]
        if not files:
            files = [log.path for log in content.power.values()]
        folder = os.path.commonpath([str(Path(path).parent) for path in files])
        # A power log alone is called by its own name.
        named = Path(folder)
        if not content.scalars:
            named = Path(files[0])
        for root in self.roots:
            if not named.is_relative_to(root):
                continue
            below = named.relative_to(root)
            if below.parts:
                return folder, below.as_posix()
            break
        return folder, named.name


def _by_hand(removed: Sequence[str], added: Sequence[str]) -> list[str]:
    """What a person took out of a training and put into it, a clause each."""
    clauses = []
    if removed:
        clauses.append(f"taken out by hand: {', '.join(removed)}")
    if added:
        clauses.append(f"put in by hand: {', '.join(added)}")
    return clauses


def _files_without_scalars(
    entry: TrainingEntry,
    sessions: Sequence[RunEntry],
) -> Iterable[EventFile]:
    """The ends of captures and markers that belong to a training and to its sessions."""
    files = {}
    for file in entry.tfevents:
        if not file.has_scalars:
            files[file.path] = file
    for run in sessions:
        for file in run.tfevents:
            if file.kind != "scalars":
                files[file.path] = file
    return files.values()


def _has_same_times(content: _Content, before: _Content) -> bool:
    """Whether a training's first and last record are as before: they are those of its scalars, or
    of its power where it has none.
    """
    if {*content.scalars} != {*before.scalars}:
        return False
    return bool(content.scalars) or {*content.power} == {*before.power}


def _changed(
    read: dict[str, _File],
    before: dict[str, _File],
    now: dict[str, _File],
) -> dict[str, _File]:
    """The files that a session reads: its own without those that left its training, and those that
    came into it.
    """
    files = {}
    for path, file in read.items():
        if path in now or path not in before:
            files[path] = file
    for path, file in now.items():
        if path not in before:
            files[path] = file
    return files


def _by_real_path(files: Iterable[_File]) -> dict[str, _File]:
    return {_real(file.path): file for file in files}


def _scalars(entry: TrainingEntry) -> Iterator[EventFile]:
    return (file for file in entry.tfevents if file.has_scalars)


def _members(entry: TrainingEntry) -> tuple[str, ...]:
    """The paths that identify a training: it shares them with no other."""
    sessions = [key_of(run) for run in entry.sessions]
    scalars = [_real(file.path) for file in _scalars(entry)]
    return (*sessions, *scalars) or tuple(_real(log.path) for log in entry.power)


def _span(files: Iterable[EventFile]) -> tuple[int | None, int | None]:
    """The first and the last record of some files with scalars."""
    firsts = []
    lasts = []
    for file in files:
        ends = tfevents_ends.ends(file.path)
        if ends.first_ns is not None:
            firsts.append(ends.first_ns)
        if ends.last_ns is not None:
            lasts.append(ends.last_ns)
    first = min(firsts, default=None)
    return first, max(lasts, default=first)


def _roots(logdir: Logdir) -> Iterator[Path]:
    """The folders that were scanned, as paths here.

    For another machine's folders these are the copies that stand for them.
    """
    for part in logdir.parts or (logdir,):
        folder = part.path
        if part.folders:
            folder = part.folders[0]
        yield Path(folder).absolute()


def _concerns(logdir: Logdir, move: Move) -> bool:
    """Whether a move changes something below the folders that were scanned."""
    if not all(part.folders for part in logdir.parts or (logdir,)):
        return True  # one file was named, and what is around it belongs to it
    roots = []
    for root in _roots(logdir):
        path = _real(str(root)).rstrip(os.sep)
        roots.append(path + os.sep)
    return any((path + os.sep).startswith(tuple(roots)) for path in move.parts)


def _real(path: str) -> str:
    return os.fsdecode(os.path.realpath(path)).encode("utf-8", "backslashreplace").decode()
