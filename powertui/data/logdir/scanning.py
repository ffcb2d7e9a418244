"""Looking through a folder: its runs, hosts, profiles, scalars and power logs; and what is missing.

Profiles are stored at `plugins/profile/<run>/<host>.<tool suffix>` at any depth, or anywhere as
`<host>.xplane.pb`. A host name may hold dots (`34.83.195.179_6003`), so a file name is cut at the
longest suffix that a profiler is known to write, never at a dot. Only names, sizes and the first
bytes of files with doubtful names are looked at: a scan costs the same for a kilobyte and for a
gigabyte.

`scan` never raises for what is in the folder: what cannot be listed is a problem with a name and
a cause. It raises `UnreadableFile` only when the path itself is not there or cannot be opened.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.logdir import moves, power_logs
from powertui.data.logdir.entries import EventFile, OtherFile, ProfileFile, RunEntry
from powertui.data.logdir.folder import Logdir
from powertui.data.logdir.run_files import event_files, profile_file, reader_takes
from powertui.data.logdir.run_folders import RunTree, home_of, is_run_folder
from powertui.data.logdir.tree import FoundFile, may_be_power, may_matter, reason
from powertui.errors import UnreadableFile, UsageError
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_PROGRESS_S = 0.25  # between two reports of how many names were gone through


# Of files that no tool's name tells apart: what stands before is the host, or what a person called
# the file, dots and all.
_ENDINGS = late_pattern(
    r"(?:\.(?:json|trace|pb|pftrace|perfetto-trace|csv|txt|log|gz|zst))+$", re.IGNORECASE
)


def again(path: str, entry: RunEntry) -> RunEntry:
    """The same run as it is now; `path` is what was scanned.

    Raises `UnreadableFile` when it is gone.
    """
    for run in scan(path).runs:
        if (run.path, run.name) == (entry.path, entry.name) and run.profiles:
            return run
    raise UnreadableFile(entry.path, "the profile is gone")


def scan(path: str | os.PathLike[str]) -> Logdir:
    """Look through a logdir, a run folder, or at one file ("-": a profile on standard input)."""
    (*_, logdir) = stream(path)
    return logdir


def stream(path: str | os.PathLike[str], every_s: float = 1e9) -> Iterator[Logdir]:
    """The stages of a scan: what was listed so far every so many seconds.

    The last stage is complete, with its trainings as a person put them together.
    """
    for stage in _stream(path, every_s):
        yield _corrected(stage)


def _corrected(logdir: Logdir) -> Logdir:
    """The folder after the moves that a person made by hand."""
    if not logdir.complete:
        return logdir
    made, problems = moves.load()
    if problems:
        logdir = replace(logdir, problems=(*logdir.problems, *problems))
    if not made:
        return logdir
    from powertui.data.logdir import by_hand

    return by_hand.corrected(logdir, made)


def _stream(path: str | os.PathLike[str], every_s: float) -> Iterator[Logdir]:
    text = os.fspath(path)
    if not text:
        raise UsageError(
            "the path is empty",
            hint="Name a logdir, a run folder or a profile; . is the current folder.",
        )
    if text == "-":
        yield Logdir(
            "-",
            (
                RunEntry(
                    name="standard input",
                    path="-",
                    profiles=(
                        ProfileFile(
                            path="-",
                            host="",
                            tool="",
                            size=0,
                        ),
                    ),
                ),
            ),
        )
        return
    if elsewhere.is_address(text):
        yield from _from_elsewhere(text, every_s)
        return
    yield from _here(text, text, every_s)


def _from_elsewhere(address: str, every_s: float) -> Iterator[Logdir]:
    """The same of a folder on another machine.

    A scan notes which heads it would need; they come in one question for all.
    """
    local = elsewhere.listed(address, may_matter)
    place = elsewhere.parse(address).place
    with elsewhere.gathered() as asked:
        for scanned in _here(local.path, address, _PROGRESS_S):
            elsewhere.report(elsewhere.TransferProgress(place, "names", scanned.entries))
    if asked.heads or asked.sums:
        elsewhere.look(asked)
        stages = _here(local.path, address, every_s)
    else:
        stages = iter((scanned,))
    for stage in stages:
        problems = tuple(
            replace(problem, file=elsewhere.shown(problem.file)) for problem in stage.problems
        )
        if stage.complete:
            problems = (*local.problems, *problems)
        yield replace(stage, problems=problems)
    elsewhere.report(None)


def _here(text: str, shown: str, every_s: float) -> Iterator[Logdir]:
    """A folder or file of this machine; `shown` is how a person named it."""
    if ".." in Path(text).parts:
        where = Path(text).resolve()
    else:
        where = Path(text).absolute()
    try:
        mode = where.stat().st_mode
    except (OSError, ValueError) as error:
        hint = "Check the path. `powertui doctor .` shows what is in the current folder."
        raise UnreadableFile(shown, reason(error), hint=hint) from None
    if stat.S_ISDIR(mode):
        yield from _Scan(where).folder(shown, every_s)
        return
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise UnreadableFile(
            shown,
            "is neither a folder nor a plain file",
            hint="Name a logdir, a run folder or a profile.",
        )
    yield _Scan(where.parent).single(shown, where)


def stream_all(paths: Sequence[str], every_s: float = 1e9) -> Iterator[Logdir]:
    """Several logdirs as one; those that are looked through already are in every stage."""
    if len(paths) == 1:
        yield from stream(paths[0], every_s)
        return
    done: list[Logdir] = []
    for path in paths:
        for stage in _stream(path, every_s):
            if not stage.complete:
                yield _together([*done, stage], paths)
        done.append(stage)
    yield _corrected(_together(done, paths))


def _together(logdirs: Sequence[Logdir], paths: Sequence[str]) -> Logdir:
    """Several logdirs as one."""
    is_complete = len(logdirs) == len(paths) and all(logdir.complete for logdir in logdirs)
    return Logdir(
        path=", ".join(paths),
        runs=_joined(logdir.runs for logdir in logdirs),
        tfevents=_joined(logdir.tfevents for logdir in logdirs),
        power=_joined(logdir.power for logdir in logdirs),
        unread=_joined(logdir.unread for logdir in logdirs),
        problems=_joined(logdir.problems for logdir in logdirs),
        entries=sum(logdir.entries for logdir in logdirs),
        truncated=any(logdir.truncated for logdir in logdirs),
        complete=is_complete,
        folders=_joined(logdir.folders for logdir in logdirs),
        began_ns=min(logdir.began_ns for logdir in logdirs),
        several=tuple(paths),
        parts=tuple(logdirs),
    )


def _joined(parts: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(itertools.chain.from_iterable(parts))


_Item = TypeVar("_Item")


# ── the scan ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Scan(RunTree):
    """One scan: the tree, and what its files are to a run."""

    def folder(self, shown: str, every_s: float) -> Iterator[Logdir]:
        """Everything below a folder, and before that what was listed so far, every `every_s`.

        A stage comes only when there are half as many runs again: whoever shows it goes through all
        of them each time, which for thousands of runs would take as long as the scan.
        """
        try:
            os.scandir(self.root).close()
        except OSError as error:
            hint = (
                "Ask its owner for read access, or copy the logs to a place where you can "
                "read them."
            )
            raise UnreadableFile(shown, f"cannot be listed: {reason(error)}", hint=hint) from None
        folders: list[str] = []
        runs: list[RunEntry] = []
        loose: list[OtherFile] = []
        events: list[EventFile] = []
        power: list[FoundFile] = []
        last_stage = time.monotonic()
        min_runs = 0
        began_ns = time.time_ns()
        for folder in self.walk():
            folders.append(folder)
            if time.monotonic() - last_stage >= every_s and len(runs) >= min_runs:
                yield Logdir(
                    path=shown,
                    runs=tuple(runs),
                    entries=self.entries,
                    complete=False,
                )
                last_stage = time.monotonic()
                min_runs = len(runs) + len(runs) // 2
            files, _ = self.listing(folder)
            if not files and not is_run_folder(folder):
                continue
            runs_here, others = self._runs_in(Path(folder), files)
            runs.extend(runs_here)
            loose.extend(others)
            events.extend(event_files(files, folder))
            power.extend(file for file in files if may_be_power(file.name))
        entries = self.entries
        logs = power_logs.recognised(power)
        above = power_logs.recognised(power_logs.candidates_above(self, self.root, folders))
        refusals = power_logs.refused(power, logs)
        with_power = power_logs.given(self.root, runs, logs, refusals)
        yield Logdir(
            path=shown,
            runs=tuple(replace(run, above=above) if above else run for run in with_power),
            tfevents=tuple(events),
            power=logs,
            unread=tuple(loose),
            problems=tuple(self.problems),
            entries=entries,
            truncated=self.truncated,
            folders=tuple(folders),
            began_ns=began_ns,
        )

    def _runs_in(
        self,
        folder: Path,
        files: list[FoundFile],
    ) -> tuple[list[RunEntry], list[OtherFile]]:
        """(the runs that a folder is or holds, the traces in it that no reader takes)"""
        runs, rest = self.pytorch(folder, files)
        amd_runs, rest = self.rocprof(folder, rest)
        runs += amd_runs
        chrome_runs, rest = self.chrome(folder, rest, alone=not runs)
        runs += chrome_runs
        run, others = self.run_of(folder, rest)
        if run is not None:
            runs.append(run)
        return runs, others

    def single(self, shown: str, path: Path) -> Logdir:
        """One file, with what is around it: scalars and power logs."""
        status = path.stat()
        file = FoundFile(
            path=str(path),
            name=path.name,
            size=status.st_size,
        )
        run = RunEntry(path.name, file.path)
        if filenames.is_events(file.name):
            run = replace(run, tfevents=tuple(event_files([file], str(path.parent))))
            return self._alone(shown, run)
        split = filenames.split_tool(file.name)
        host, tool = split if split is not None else (_ENDINGS.sub("", file.name) or file.name, "")
        if is_run_folder(path.parent):
            folder_name = path.parent.name
        else:
            folder_name = path.name
        profiles = (
            ProfileFile(
                path=file.path,
                host=host,
                tool=tool,
                size=file.size,
            ),
        )
        other_kinds = {**filenames.unread(), **filenames.RESULTS}
        if tool in other_kinds:
            other_file = OtherFile(
                path=file.path,
                host=host,
                tool=tool,
                size=file.size,
                what=other_kinds[tool],
            )
            run = replace(run, name=folder_name)
            if tool in filenames.RESULTS:
                run = replace(run, results=(other_file,))
            else:
                run = replace(run, unread=(other_file,))
            return self._with_surroundings(shown, run, path)
        if not stat.S_ISREG(status.st_mode):
            # What comes through a pipe was made elsewhere. What is around it would look like its
            # answer when nothing comes. And a pipe is never asked what it holds: what was read
            # from it to find out would be gone.
            return self._alone(shown, replace(run, profiles=profiles))
        if not filenames.readable(tool) and not reader_takes(file):
            logs = power_logs.named(file)
            if logs:
                return self._alone(shown, replace(run, power=logs))
            # Nobody reads it. What is around it was not asked for: it would look like this file's
            # answer.
            return self._alone(shown, replace(run, name=folder_name, profiles=profiles))
        if split is not None:
            alternates = self._alternates(path, host)
        else:
            alternates = ()
        run = replace(run, name=folder_name, profiles=profiles, alternates=alternates)
        return self._with_surroundings(shown, run, path)

    def _alone(self, shown: str, run: RunEntry) -> Logdir:
        """One file and nothing around it."""
        return Logdir(
            path=shown,
            runs=(run,),
            tfevents=run.tfevents,
            power=run.power,
            problems=tuple(self.problems),
            entries=1,
        )

    def _alternates(self, path: Path, host: str) -> tuple[ProfileFile, ...]:
        """The other profiles of a host beside this one."""
        alternates = []
        for file in self.listing(str(path.parent))[0]:
            profile = profile_file(file)
            if profile is not None and file.path != str(path) and profile.host == host:
                alternates.append(profile)
        return tuple(alternates)

    def _with_surroundings(self, shown: str, run: RunEntry, path: Path) -> Logdir:
        """A file with the scalars and the power logs around it."""
        home = home_of(path.parent)
        events = self.events_for(home)
        near = {str(home), str(path.parent)}
        candidates = [
            file for folder in near for file in self.listing(folder)[0] if may_be_power(file.name)
        ]
        logs = power_logs.recognised(candidates)
        refusals = () if logs else power_logs.refused(candidates, logs)
        above = power_logs.recognised(power_logs.candidates_above(self, home, list(near)))
        return Logdir(
            path=shown,
            runs=(replace(run, tfevents=events, power=logs, above=above, refused=refusals),),
            tfevents=events,
            power=logs,
            problems=tuple(self.problems),
            entries=self.entries,
            truncated=self.truncated,
        )
