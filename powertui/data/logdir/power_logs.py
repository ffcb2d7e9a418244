"""Which power logs lie in or above a folder, and which of its runs each belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from pathlib import Path

from powertui.data.formats import filenames
from powertui.data.logdir.entries import PowerFile, RunEntry
from powertui.data.logdir.run_files import reader_takes
from powertui.data.logdir.tree import FoundFile, Tree, may_be_power, says_power
from powertui.data.model import Warn
from powertui.value_types import dataclass

_MAX_REFUSED = 8  # files of which a scan says why they are no power logs; chosen


def candidates_above(tree: Tree, start: Path, walked: Iterable[str]) -> list[FoundFile]:
    """Candidates outside of what was asked for: in the folder above, or in the one that holds
    `logs`; and in its data/.

    Another training's log may be there as well: nobody's power is taken unasked.
    """
    if start.parent != start:
        folders = [start.parent]
    else:
        folders = []
    for above in (start, *start.parents[:5]):
        if above.name.lower() in filenames.LOG_FOLDERS and above.parent != above:
            folders.append(above.parent)
            break
    searched = set(walked)
    candidates: list[FoundFile] = []
    for folder in dict.fromkeys(folders):
        for place in (str(folder), str(folder / "data")):
            if place not in searched and tree.exists(place):
                searched.add(place)
                files, _ = tree.listing(place)
                candidates += [file for file in files if may_be_power(file.name)]
    return candidates


def recognised(candidates: Iterable[FoundFile]) -> tuple[PowerFile, ...]:
    """Those candidates whose head a reader of power logs recognizes."""
    out = []
    for file in candidates:
        if file.size and (dialect := _sure(file)):
            out.append(PowerFile(path=file.path, dialect=dialect, size=file.size))
    return tuple(out)


def refused(candidates: Iterable[FoundFile], taken: Iterable[PowerFile]) -> tuple[Warn, ...]:
    """Why those whose names say power are not taken: whoever wrote one waits for its joules.

    A profile may be called so as well: power.pt.trace.json.
    """
    taken_paths = {log.path for log in taken}
    out = []
    for file in candidates:
        if file.path in taken_paths or not file.size or not says_power(file.name):
            continue
        from powertui.data.power import registry  # many modules: only where there is such a file

        cause = registry.why_not_taken(file.path)
        if cause and not reader_takes(file):
            out.append(Warn(file.path, "", cause))
        if len(out) == _MAX_REFUSED:
            break
    return tuple(out)


def named(file: FoundFile) -> tuple[PowerFile, ...]:
    """The log that a person named: what a reader of power logs takes at all, under any name."""
    dialect, _ = _dialect(file) if file.size else ("", 0)
    if dialect:
        return (PowerFile(path=file.path, dialect=dialect, size=file.size),)
    return ()


def given(
    root: Path,
    runs: list[RunEntry],
    logs: tuple[PowerFile, ...],
    refusals: tuple[Warn, ...] = (),
) -> Iterator[RunEntry]:
    """Each power log goes to the runs below its own folder, else to those of the project that the
    folder is in. Runs without one hear which files there are none.
    """
    below = _runs_below(runs) if logs or refusals else {}
    logs_of_run: dict[int, list[PowerFile]] = {}
    for log in logs:
        for index in _receivers(root, log.path, below):
            logs_of_run.setdefault(index, []).append(log)
    refusals_of_run: dict[int, list[Warn]] = {}
    for refusal in refusals:
        for index in _receivers(root, refusal.file, below):
            refusals_of_run.setdefault(index, []).append(refusal)
    for index, run in enumerate(runs):
        if index in logs_of_run:
            run = replace(run, power=tuple(logs_of_run[index]))
        elif index in refusals_of_run:
            run = replace(run, refused=tuple(refusals_of_run[index]))
        yield run


def _receivers(root: Path, log: str, below: dict[str, _Below]) -> list[int]:
    """The numbers of the runs that a log in its place is given to."""
    base = Path(log).parent
    if base.name == "data":
        base = base.parent
    receivers = below.get(str(base), _Below())
    if not receivers.runs and base != root and base.parent != base:
        # `measurements/` beside `logs/`: theirs when the folder above holds one project, not a
        # collection.
        above = below.get(str(base.parent), _Below())
        if len(above.tops) == 1:
            receivers = above
    return receivers.runs


@dataclass
class _Below:
    """What lies below one folder: runs by their number, and the names of the next folders on the
    way to them.
    """

    runs: list[int] = field(default_factory=list)
    tops: set[str] = field(default_factory=set)


def _runs_below(runs: list[RunEntry]) -> dict[str, _Below]:
    """For every folder that has runs below it (or is one) which those are."""
    out: dict[str, _Below] = {}
    for index, run in enumerate(runs):
        folder = run.path
        top = ""
        while True:
            below = out.setdefault(folder, _Below())
            below.runs.append(index)
            below.tops.add(top)
            above, top = os.path.split(folder)
            if above == folder:
                break
            folder = above
    return out


def _dialect(file: FoundFile) -> tuple[str, int]:
    """The reader of power logs that recognizes this file's head, and how sure it is; "" when none
    does.
    """
    from powertui.data.power import registry  # many modules: only where there is a candidate

    return registry.sniff(file.path)


def _sure(file: FoundFile) -> str:
    """That reader, where it is sure enough for a file that nobody named."""
    from powertui.data.power import registry

    dialect, score = _dialect(file)
    min_score = registry.IS_POWER
    if says_power(file.name):
        min_score = registry.IS_POWER_BY_NAME
    return dialect if score >= min_score else ""
