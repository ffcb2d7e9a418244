"""Which folders below a logdir are one training: those that one process wrote into, and those of
workers side by side.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from powertui.data.logdir.programs import TrainedProgram, span_of
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

# Process ids are used again: the same one after more than a day is another program.
_PROCESS_REUSE_NS = 86_400 * 1_000_000_000
_MIN_UNIQUE_PID = 100  # in containers every program has one of the first few process ids
_WORKER = late_pattern(
    r"^(?:worker|rank|host|node|chief|ps|proc|process|replica|task)s?[-_.]?\d*$", re.IGNORECASE
)
_MAX_NAMES = 3  # folders named in a reason


class JoinedFolders(NamedTuple):
    """The folders of one training, and the reasons why they are joined."""

    bases: list[str]
    reasons: list[str]


def joined_folders(
    bases: Sequence[str],
    programs: Sequence[TrainedProgram],
    by_base: Mapping[str, Sequence[TrainedProgram]],
) -> list[JoinedFolders]:
    """Folders that are one training, each with the reasons."""
    folders = _Folders(bases)
    _join_processes(folders, programs)
    workers_in: dict[str, list[str]] = {}
    for base in bases:
        folder = Path(base)
        workers = workers_in.setdefault(str(folder.parent), [])
        if _WORKER.match(folder.name) or _is_host(base, by_base.get(base, ())):
            workers.append(base)
    for workers in workers_in.values():
        for base, neighbor in itertools.pairwise(workers):
            _join_workers(folders, base, neighbor, by_base)
    return folders.groups()


def _join_workers(
    folders: _Folders,
    base: str,
    neighbor: str,
    by_base: Mapping[str, Sequence[TrainedProgram]],
) -> None:
    """Join two folders of workers, unless their scalars are of different times."""
    names = _names(base, neighbor)
    span = span_of(by_base.get(base, ()))
    neighbor_span = span_of(by_base.get(neighbor, ()))
    if span is None or neighbor_span is None:
        folders.join(base, neighbor, f"{names} are workers side by side")
        return
    first, last = span
    neighbor_first, neighbor_last = neighbor_span
    if first <= neighbor_last and neighbor_first <= last:
        reason = f"{names} are workers side by side whose scalars overlap in time"
        folders.join(base, neighbor, reason)


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

    def groups(self) -> list[JoinedFolders]:
        """The folders of each training."""
        members: dict[str, list[str]] = {}
        for base in self._bases:
            members.setdefault(self._root(base), []).append(base)
        return [JoinedFolders(bases, self._reasons[root]) for root, bases in members.items()]


def _join_processes(folders: _Folders, programs: Sequence[TrainedProgram]) -> None:
    """Join the folders into which one process wrote."""
    by_process: dict[tuple[str, int], list[TrainedProgram]] = {}
    for program in programs:
        host, pid = program.process
        if pid is not None:
            by_process.setdefault((host, pid), []).append(program)
    for (host, pid), of_process in by_process.items():
        pairs: list[tuple[TrainedProgram, TrainedProgram]] = []
        if pid >= _MIN_UNIQUE_PID:
            pairs += _at_once(of_process)
        for above, below in _related(of_process):
            pause_ns = below.first_ns - above.last_ns
            if pause_ns < _PROCESS_REUSE_NS:
                pairs.append((above, below))
        words = f"process {pid} of {host} wrote scalars into both"
        for program, twin in pairs:
            names = _names(program.base, twin.base)
            folders.join(program.base, twin.base, f"{words}: {names}")


def _at_once(programs: Sequence[TrainedProgram]) -> Iterator[tuple[TrainedProgram, TrainedProgram]]:
    """Each but the first with one that was still writing when it began."""
    latest: TrainedProgram | None = None
    for program in sorted(programs, key=lambda program: program.first_ns):
        if latest is not None and program.first_ns <= latest.last_ns:
            yield latest, program
        if latest is None or program.last_ns > latest.last_ns:
            latest = program


def _related(programs: Sequence[TrainedProgram]) -> Iterator[tuple[TrainedProgram, TrainedProgram]]:
    """Each with the folder that it is in, or is named after.

    PyTorch's writer makes `run_loss_aux` beside `run`.
    """
    above: list[TrainedProgram] = []
    for program in sorted(programs, key=lambda program: program.base):
        while above and not program.base.startswith(above[-1].base):
            above.pop()
        if above:
            yield above[-1], program
        above.append(program)


def _is_host(base: str, programs: Sequence[TrainedProgram]) -> bool:
    """Whether a folder is named after a host whose programs wrote into it."""
    name = Path(base).name.casefold()
    for program in programs:
        host, _ = program.process
        short_host, _, _ = host.casefold().partition(".")
        if short_host == name:
            return True
    return False


def _names(*paths: str) -> str:
    names = [Path(path).name or path for path in paths[:_MAX_NAMES]]
    return " and ".join(dict.fromkeys(names))
