"""Trainings that a person put together otherwise: what was moved out of one and into another, laid
over what was found.

A `Move` names files and folders by their real paths, so that it holds from wherever the logs are
looked at. What is no longer there is passed over. Moves are laid on in the order in which they were
made; the last one is taken back by leaving it out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from powertui.data.formats import filenames, tfevents_ends
from powertui.data.formats.tfevents import run_of
from powertui.data.logdir.entries import EventFile, PowerFile, RunEntry
from powertui.data.logdir.folder import Logdir
from powertui.data.logdir.moves import Move
from powertui.data.logdir.trainings import TrainingEntry

_File = TypeVar("_File", EventFile, PowerFile)
_MOST_NAMED = 500  # members by which a training is known again


@dataclass(frozen=True)
class Part:
    """What can be moved: a session, the scalars of one program, a power log."""

    kind: str  # "session", "scalars", "power log"
    name: str
    paths: tuple[str, ...]  # real


def parts(entry: TrainingEntry) -> tuple[Part, ...]:
    """What a training was put together from."""
    out = [Part("session", run.name, (key_of(run),)) for run in entry.sessions]
    programs: dict[tuple[str, str], list[EventFile]] = {}
    for file in _scalars(entry):
        host, pid = run_of(file.path)
        place = Path(file.path).parent
        base = place.parent if place.name in filenames.PARTS else place
        programs.setdefault(
            (str(base), f"process {pid} of {host}" if pid is not None else host), []
        ).append(file)
    for (folder, program), files in programs.items():
        folders = dict.fromkeys(Path(file.path).parent.name for file in files)
        told = ", ".join(
            part
            for part in (*(name for name in folders if name in filenames.PARTS), program)
            if part
        )
        out.append(
            Part(
                "scalars",
                f"{Path(folder).name}{f' ({told})' if told else ''}",
                tuple(_real(file.path) for file in files),
            )
        )
    out += [Part("power log", Path(log.path).name, (_real(log.path),)) for log in entry.power]
    return tuple(out)


def move(chosen: Iterable[Part], out_of: Iterable[TrainingEntry], to: TrainingEntry | None) -> Move:
    """These parts of some trainings belong to another one; None: to none."""
    members = tuple(path for one in out_of for path in _members(one))
    return Move(
        tuple(path for part in chosen for path in part.paths),
        members[:_MOST_NAMED],
        _members(to)[:_MOST_NAMED] if to is not None else (),
    )


def corrected(found: Logdir, moves: Sequence[Move]) -> Logdir:
    """The same folder with its trainings as a person put them together.

    What was corrected before is worked out anew.
    """
    found = _as_found(found)
    if not found.complete or not (own := [one for one in moves if _concerns(found, one)]):
        return found
    changing = _Changing(found)
    done = tuple(one for one in own if changing.take(one))
    if not done:
        return found
    entries = changing.entries()
    runs = tuple(changing.read_as.get(id(run), run) for run in found.runs)
    parts = tuple(corrected(part, moves) for part in found.parts)
    return replace(found, runs=runs, by_hand=entries, moves=done, as_found=found, parts=parts)


def _as_found(found: Logdir) -> Logdir:
    """The folder as it was before anybody corrected it."""
    return found.as_found if found.as_found is not None else found


def key_of(run: RunEntry) -> str:
    """The real path of a session: its folder, also where one of its files was named."""
    place = Path(run.path)
    if place.parent.parent.parts[-2:] == ("plugins", "profile"):
        place = place.parent
    return _real(str(place))


# ── laying them on ───────────────────────────────────────────────────────────────────────────────


@dataclass
class _Whole:
    """A training while parts go and come, by their real paths."""

    entry: TrainingEntry
    sessions: dict[str, RunEntry] = field(default_factory=dict)
    scalars: dict[str, EventFile] = field(default_factory=dict)
    power: dict[str, PowerFile] = field(default_factory=dict)

    @classmethod
    def from_entry(cls, entry: TrainingEntry) -> _Whole:
        return cls(
            entry,
            {key_of(run): run for run in entry.sessions},
            {_real(file.path): file for file in _scalars(entry)},
            {_real(log.path): log for log in entry.power},
        )

    @property
    def empty(self) -> bool:
        return not (self.sessions or self.scalars or self.power)

    def known_by(self, paths: Iterable[str]) -> int:
        """By how many of these it is known."""
        own = {*self.sessions, *self.scalars} or {*self.power}
        return sum(path in own for path in paths)

    def without(self, other: _Whole) -> list[str]:
        """What it holds and the other does not, as a person calls it."""
        names = [run.name for path, run in self.sessions.items() if path not in other.sessions]
        names += [
            f"the scalars in {Path(path).parent.name}"
            for path in self.scalars
            if path not in other.scalars
        ]
        names += [Path(path).name for path in self.power if path not in other.power]
        return list(dict.fromkeys(names))


class _Changing:
    """The trainings of a folder while moves are laid on."""

    def __init__(self, found: Logdir) -> None:
        self.roots = tuple(_roots(found))
        self.read_as: dict[
            int, RunEntry
        ] = {}  # by the id of a session as found: what is read in its place
        self.whole = [_Whole.from_entry(one) for one in found.trainings]

    def take(self, one: Move) -> bool:
        """Lay a move on; False where nothing of it is there any more."""
        sources = [two for two in self.whole if two.known_by(one.out_of)]
        best = max(self.whole, key=lambda two: two.known_by(one.to), default=None)
        target = (
            best if best is not None and best.known_by(one.to) else _Whole(TrainingEntry("", ""))
        )
        took = False
        for path in one.parts:
            for two in self.whole:
                if two is target:
                    continue
                if path in two.sessions:
                    target.sessions[path] = two.sessions.pop(path)
                elif path in two.scalars:
                    target.scalars[path] = two.scalars.pop(path)
                elif path in two.power and two in sources:
                    target.power[path] = two.power.pop(path)
                else:
                    continue
                took = True
        self.whole = [two for two in self.whole if not two.empty]
        if target not in self.whole:  # what others still have is no training of its own
            target.power = {
                path: log
                for path, log in target.power.items()
                if not any(path in two.power for two in self.whole)
            }
            self.whole += [] if target.empty else [target]
        return took

    def entries(self) -> tuple[TrainingEntry, ...]:
        """What became of them, by name."""
        out: list[TrainingEntry] = []
        names: set[tuple[str, str]] = set()
        for one in self.whole:
            entry = self._entry(one)
            while (entry.path, entry.name) in names:
                entry = replace(entry, name=f"{entry.name} (by hand)")
            names.add((entry.path, entry.name))
            out.append(entry)
        return tuple(sorted(out, key=lambda one: one.name))

    def _entry(self, one: _Whole) -> TrainingEntry:
        was, before = one.entry, _Whole.from_entry(one.entry)
        gone, come = before.without(one), one.without(before)
        if not gone and not come:
            return was
        path, name = (was.path, was.name) if was.path else self._place(one)
        sessions = []
        for key, run in sorted(one.sessions.items(), key=lambda pair: pair[1].name):
            others = [file for file in run.tfevents if not _is_scalars(file)]
            if key in before.sessions:
                own = {_real(file.path): file for file in run.tfevents if _is_scalars(file)}
                scalars = _changed(own, before.scalars, one.scalars)
                power = _changed(
                    {_real(log.path): log for log in run.power}, before.power, one.power
                )
            else:
                scalars, power = one.scalars, one.power
            now = self.read_as[id(run)] = replace(
                run, tfevents=(*scalars.values(), *others), power=tuple(power.values())
            )
            sessions.append(now)
        beside = {file.path: file for file in was.tfevents if not _is_scalars(file)}
        for run in sessions:
            beside |= {file.path: file for file in run.tfevents if file.kind != "scalars"}
        same = {*one.scalars} == {*before.scalars} and (
            one.scalars or {*one.power} == {*before.power}
        )
        span = (was.first_ns, was.last_ns) if same else _span(one.scalars.values())
        said = [
            f"{what} by hand: {', '.join(some)}"
            for what, some in (("taken out", gone), ("put in", come))
            if some
        ]
        return replace(
            was,
            name=name,
            path=path,
            sessions=tuple(sessions),
            tfevents=(*one.scalars.values(), *beside.values()),
            power=tuple(one.power.values()),
            above=was.above or (sessions[0].above if sessions else ()),
            first_ns=span[0],
            last_ns=span[1],
            by_hand=True,
            reasons=(*was.reasons, *said) if was.path else ("set apart by hand",),
        )

    def _place(self, one: _Whole) -> tuple[str, str]:
        """Path and name of a training that was none before."""
        if one.sessions:
            first = min(one.sessions.values(), key=lambda run: run.name)
            return first.path, first.name
        files = [file.path for file in one.scalars.values()] or [
            log.path for log in one.power.values()
        ]
        folder = os.path.commonpath([str(Path(path).parent) for path in files])
        named = Path(folder if one.scalars else files[0])
        below = next(
            (named.relative_to(root) for root in self.roots if named.is_relative_to(root)), None
        )
        return folder, below.as_posix() if below is not None and below.parts else named.name


def _changed(
    own: dict[str, _File], before: dict[str, _File], now: dict[str, _File]
) -> dict[str, _File]:
    """What a session reads of its own, less what left its training, and what came into that."""
    kept = {path: file for path, file in own.items() if path in now or path not in before}
    return kept | {path: file for path, file in now.items() if path not in before}


def _is_scalars(file: EventFile) -> bool:
    return file.kind == "scalars" and file.group != "demo_logs"


def _scalars(entry: TrainingEntry) -> Iterator[EventFile]:
    return (file for file in entry.tfevents if _is_scalars(file))


def _members(entry: TrainingEntry) -> tuple[str, ...]:
    """By what a training is known again: what it shares with no other."""
    own = (
        *(key_of(run) for run in entry.sessions),
        *(_real(file.path) for file in _scalars(entry)),
    )
    return own or tuple(_real(log.path) for log in entry.power)


def _span(files: Iterable[EventFile]) -> tuple[int | None, int | None]:
    ends = [tfevents_ends.ends(file.path) for file in files]
    first = min((one.first_ns for one in ends if one.first_ns is not None), default=None)
    return first, max((one.last_ns for one in ends if one.last_ns is not None), default=first)


def _roots(found: Logdir) -> Iterator[Path]:
    """The folders that were looked through, here: of another machine's those that stand for
    them.
    """
    for one in found.parts or (found,):
        yield Path(one.folders[0] if one.folders else one.path).absolute()


def _concerns(found: Logdir, one: Move) -> bool:
    """Whether a move is of something below what was looked through: of the others nothing
    is asked.
    """
    if not all(part.folders for part in found.parts or (found,)):
        return True  # one file, with what lies around it
    roots = tuple(_real(str(root)).rstrip(os.sep) + os.sep for root in _roots(found))
    return any((path + os.sep).startswith(roots) for path in one.parts)


def _real(path: str) -> str:
    return os.fsdecode(os.path.realpath(path)).encode("utf-8", "backslashreplace").decode()
