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

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.logdir import by_hand, chrome, moves, power_logs, pytorch, rocprof
from powertui.data.logdir.entries import EventFile, OtherFile, ProfileFile, RunEntry
from powertui.data.logdir.folder import Logdir
from powertui.data.logdir.tree import FoundFile, Tree, head_of, may_be_power, may_matter, reason
from powertui.data.model import Warn
from powertui.errors import UnreadableFile, UsageError
from powertui.opening import open_regular
from powertui.value_types import dataclass

_PROGRESS_S = 0.25  # between two reports of how many names were gone through
# Two captures are told apart by five stretches of so many bytes. Chosen, not measured.
_SAMPLE_BYTES = 1 << 16
_SAMPLE_COUNT = 5
# A marker of PowerBoard's is looked for in so many folders upwards. Chosen, not measured.
_MAX_MARKER_LEVELS = 6


# Of files that no tool's name tells apart: what stands before is the host, or what a person called
# the file, dots and all.
_ENDINGS = re.compile(
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
    return by_hand.corrected(logdir, made) if made else logdir


def _stream(path: str | os.PathLike[str], every_s: float) -> Iterator[Logdir]:
    text = os.fspath(path)
    if not text:
        raise UsageError(
            "the path is empty",
            hint="Name a logdir, a run folder or a profile; . is the current folder.",
        )
    if text == "-":
        yield Logdir("-", (RunEntry("standard input", "-", (ProfileFile("-", "", "", 0),)),))
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
    where = Path(text).resolve() if ".." in Path(text).parts else Path(text).absolute()
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
    return Logdir(
        path=", ".join(paths),
        runs=tuple(run for logdir in logdirs for run in logdir.runs),
        tfevents=tuple(log for logdir in logdirs for log in logdir.tfevents),
        power=tuple(log for logdir in logdirs for log in logdir.power),
        unread=tuple(file for logdir in logdirs for file in logdir.unread),
        problems=tuple(warn for logdir in logdirs for warn in logdir.problems),
        entries=sum(logdir.entries for logdir in logdirs),
        truncated=any(logdir.truncated for logdir in logdirs),
        complete=len(logdirs) == len(paths) and all(logdir.complete for logdir in logdirs),
        folders=tuple(folder for logdir in logdirs for folder in logdir.folders),
        began_ns=min(logdir.began_ns for logdir in logdirs),
        several=tuple(paths),
        parts=tuple(logdirs),
    )


# ── the scan ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Scan(Tree):
    """One scan: the tree, and what its files are to a run."""

    events: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)  # of each home

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
        last_stage, min_runs, began = time.monotonic(), 0, time.time_ns()
        for folder in self.walk():
            folders.append(folder)
            if time.monotonic() - last_stage >= every_s and len(runs) >= min_runs:
                yield Logdir(shown, tuple(runs), entries=self.entries, complete=False)
                last_stage, min_runs = time.monotonic(), len(runs) + len(runs) // 2
            files, _ = self.listing(folder)
            if not files and not _is_run_folder(folder):
                continue
            here = Path(folder)
            torch_runs, rest = self.pytorch(here, files)
            runs.extend(torch_runs)
            amd_runs, rest = self.rocprof(here, rest)
            runs.extend(amd_runs)
            chrome_runs, rest = self.chrome(here, rest, alone=not torch_runs and not amd_runs)
            runs.extend(chrome_runs)
            run, others = self.run_of(here, rest)
            if run is not None:
                runs.append(run)
            loose.extend(others)
            events.extend(_events(files, folder))
            power.extend(f for f in files if may_be_power(f.name))
        entries = self.entries
        logs = power_logs.recognised(power)
        above = power_logs.recognised(power_logs.candidates_above(self, self.root, folders))
        given = (replace(run, above=above) for run in power_logs.given(self.root, runs, logs))
        yield Logdir(
            path=shown,
            runs=tuple(given),
            tfevents=tuple(events),
            power=logs,
            unread=tuple(loose),
            problems=tuple(self.problems),
            entries=entries,
            truncated=self.truncated,
            folders=tuple(folders),
            began_ns=began,
        )

    def single(self, shown: str, path: Path) -> Logdir:
        """One file, with what is around it: scalars and power logs."""
        status = path.stat()
        file = FoundFile(str(path), path.name, status.st_size)
        run = RunEntry(path.name, file.path)
        if filenames.is_events(file.name):
            run = replace(run, tfevents=tuple(_events([file], str(path.parent))))
            return self._alone(shown, run)
        split = filenames.split_tool(file.name)
        host, tool = split if split is not None else (_ENDINGS.sub("", file.name) or file.name, "")
        folder_name = path.parent.name if _is_run_folder(path.parent) else path.name
        profiles = (ProfileFile(file.path, host, tool, file.size),)
        results, unread = filenames.RESULTS, filenames.unread()
        if tool in results:
            other_file = OtherFile(file.path, host, tool, file.size, results[tool])
            run = replace(run, name=folder_name, results=(other_file,))
        elif tool in unread:
            other_file = OtherFile(file.path, host, tool, file.size, unread[tool])
            run = replace(run, name=folder_name, unread=(other_file,))
        elif not stat.S_ISREG(status.st_mode):
            # What comes through a pipe was made elsewhere. What is around it would look like its
            # answer when nothing comes. And a pipe is never asked what it holds: what was read
            # from it to find out would be gone.
            return self._alone(shown, replace(run, profiles=profiles))
        elif not filenames.readable(tool) and not _reader_takes(file):
            logs = power_logs.named(file)
            if logs:
                return self._alone(shown, replace(run, power=logs))
            # Nobody reads it. What is around it was not asked for: it would look like this file's
            # answer.
            return self._alone(shown, replace(run, name=folder_name, profiles=profiles))
        else:
            alternates = self._alternates(path, host) if split is not None else ()
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
            profile = _profile(file)
            if profile is not None and file.path != str(path) and profile.host == host:
                alternates.append(profile)
        return tuple(alternates)

    def _with_surroundings(self, shown: str, run: RunEntry, path: Path) -> Logdir:
        """A file with the scalars and the power logs around it."""
        home = _home(path.parent)
        events = self.events_for(home)
        near = {str(home), str(path.parent)}
        candidates = [
            file for folder in near for file in self.listing(folder)[0] if may_be_power(file.name)
        ]
        logs = power_logs.recognised(candidates)
        above = power_logs.recognised(power_logs.candidates_above(self, home, list(near)))
        return Logdir(
            path=shown,
            runs=(replace(run, tfevents=events, power=logs, above=above),),
            tfevents=events,
            power=logs,
            problems=tuple(self.problems),
            entries=self.entries,
            truncated=self.truncated,
        )

    # ── runs ──

    def run_of(
        self, folder: Path, files: list[FoundFile]
    ) -> tuple[RunEntry | None, list[OtherFile]]:
        """The run that this folder is, if it is one; else the traces of other tools that
        lie in it.
        """
        run_folder = _is_run_folder(folder)
        profiles: list[ProfileFile] = []
        copies: list[FoundFile] = []
        groups: dict[str, list[OtherFile]] = {"results": [], "unread": [], "ignored": []}
        for file in files:
            split = filenames.split_tool(file.name)
            if split is None:
                if run_folder and file.name == filenames.SECOND_COPY:
                    copies.append(file)
                elif (kind := _unknown_trace(file)) is not None:
                    groups["unread"].append(kind)
                continue
            host, tool = split
            if filenames.readable(tool):
                if filenames.certain(tool) or run_folder or _reader_takes(file):
                    profiles.append(ProfileFile(file.path, host, tool, file.size))
                elif tool != "trace":  # other tools call their files so, too
                    groups["unread"].append(
                        OtherFile(file.path, host, tool, file.size, "trace in an unknown JSON form")
                    )
            elif tool in filenames.CACHES:
                groups["ignored"].append(
                    OtherFile(file.path, host, tool, file.size, filenames.CACHES[tool])
                )
            elif tool in filenames.RESULTS:
                if host or run_folder:
                    groups["results"].append(
                        OtherFile(file.path, host, tool, file.size, filenames.RESULTS[tool])
                    )
            else:
                groups["unread"].append(
                    OtherFile(file.path, host, tool, file.size, filenames.unread()[tool])
                )
        if not run_folder and not profiles and not groups["results"]:
            return None, groups["unread"]
        # It names no host: that of the capture beside it, or none where it was left alone.
        host = profiles[0].host if profiles else folder.name
        profiles += [ProfileFile(file.path, host, "trace.json.gz", file.size) for file in copies]
        home = _home(folder)
        best, alternates = _one_per_host(profiles)
        best, problems = _without_twins(best)
        if not profiles and not groups["results"] and not groups["unread"]:
            cause = (
                "the run's folder is empty"
                if not groups["ignored"]
                else "there are only caches of other viewers here"
            )
            problems.append(
                Warn(str(folder), "", f"{cause}: the capture was not written, or was moved away")
            )
        return RunEntry(
            name=self.name_of(folder, home),
            path=str(folder),
            profiles=best,
            alternates=alternates,
            tfevents=self.events_for(home),
            power=(),
            above=(),
            results=tuple(groups["results"]),
            unread=tuple(groups["unread"]),
            ignored=tuple(groups["ignored"]),
            problems=tuple(problems),
        ), []

    def pytorch(
        self, folder: Path, files: list[FoundFile]
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the runs of PyTorch in this folder, the other files)."""
        traces = pytorch.traces(files) if not _is_run_folder(folder) else []
        if not traces:
            return [], files
        home, cycles = _home(folder), pytorch.cycles(traces)
        name, events = self.name_of(folder, home), self.events_for(home)
        runs = []
        for cycle in cycles:
            hosts = pytorch.hosts(cycle)
            profiles = tuple(
                ProfileFile(trace.file.path, host, trace.suffix, trace.file.size)
                for trace, host in zip(cycle, hosts, strict=True)
            )
            run_name = name if len(cycles) == 1 else f"{name}/{cycle[0].stem}"
            runs.append(
                RunEntry(
                    run_name,
                    str(folder) if len(cycles) == 1 else cycle[0].file.path,
                    profiles,
                    tfevents=events,
                )
            )
        trace_paths = {trace.file.path for trace in traces}
        return runs, [file for file in files if file.path not in trace_paths]

    def rocprof(
        self, folder: Path, files: list[FoundFile]
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the run of rocprofv3 in this folder, the files that are none of its)."""
        captures, capture_paths = rocprof.captures(files)
        if not captures:
            return [], files
        profiles, alternates = [], []
        for capture in captures:
            first, *second = capture.files
            profiles.append(
                ProfileFile(first.path, capture.prefix or folder.name, rocprof.TOOL, capture.size)
            )
            alternates += [
                ProfileFile(file.path, capture.prefix or folder.name, rocprof.TOOL, file.size)
                for file in second
            ]
        home = _home(folder)
        run = RunEntry(
            self.name_of(folder, home),
            str(folder),
            tuple(profiles),
            tuple(alternates),
            self.events_for(home),
        )
        return [run], [file for file in files if file.path not in capture_paths]

    def chrome(
        self, folder: Path, files: list[FoundFile], *, alone: bool
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """The Chrome traces of a folder under names of their own, each a run; and the other files.

        `alone`: no run lies beside them.
        """
        traces = chrome.traces(files) if not _is_run_folder(folder) else []
        if not traces:
            return [], files
        home = _home(folder)
        name, events = self.name_of(folder, home), self.events_for(home)
        runs = []
        for file in traces:
            profile = ProfileFile(file.path, chrome.stem(file), chrome.suffix(file), file.size)
            only = alone and len(traces) == 1
            run_name = name if only else f"{name}/{chrome.stem(file)}"
            runs.append(
                RunEntry(run_name, str(folder) if only else file.path, (profile,), tfevents=events)
            )
        trace_paths = {file.path for file in traces}
        return runs, [file for file in files if file.path not in trace_paths]

    def name_of(self, folder: Path, home: Path) -> str:
        """TensorBoard's name of a run: the way from the logdir to the folder above plugins/, then
        the run's own name.
        """
        parts: list[str] = []
        # The path that was named may be inside plugins/, below the run's home.
        if home.is_relative_to(self.root):
            parts += home.relative_to(self.root).parts
        if _is_run_folder(folder) and folder.name:
            parts.append(folder.name)
        return "/".join(parts) or folder.name or str(folder)

    def events_for(self, home: Path) -> tuple[EventFile, ...]:
        """The tfevents of a run: beside its plugins/, in train/ and validation/ next to that, and
        PowerBoard's marker.
        """
        place = str(home)
        if place not in self.events:  # many captures of one training share a home
            self.events[place] = self._events_for(place)
        return self.events[place]

    def _events_for(self, home: str) -> tuple[EventFile, ...]:
        folders = [home]
        above, name = os.path.split(home)
        parent = above if name in filenames.PARTS else home
        if parent != home:
            folders.append(parent)
        if self.exists(parent):
            for below in self.listing(parent)[1]:
                if _file_name(below) in filenames.PARTS:
                    folders.append(below)
        events: list[EventFile] = []
        for folder in dict.fromkeys(folders):
            if self.exists(folder):
                events += _events(self.listing(folder)[0], folder)
        pids = {_pid(event) for event in events} - {None}
        if pids:
            events += [event for event in self._markers(home) if _pid(event) in pids]
        return tuple(events)

    def _markers(self, home: str) -> list[EventFile]:
        """PowerBoard's markers of the nearest folder above that has some."""
        folder = home
        for _ in range(_MAX_MARKER_LEVELS):
            markers = os.path.join(folder, filenames.MARKERS_FOLDER)  # noqa: PTH118
            if self.exists(markers):
                return _events(self.listing(markers)[0], markers)
            above = os.path.dirname(folder)  # noqa: PTH120
            is_repository = self.exists(os.path.join(folder, ".git"))  # noqa: PTH118
            if is_repository or above == folder:
                break
            folder = above
        return []


# ── one file ─────────────────────────────────────────────────────────────────────────────────────

_RUNS_FOLDER = os.path.join(os.sep, "plugins", "profile")  # noqa: PTH118


def _is_run_folder(folder: Path | str) -> bool:
    return os.path.dirname(folder).endswith(_RUNS_FOLDER)  # noqa: PTH120


def _file_name(path: str) -> str:
    return os.path.basename(path)  # noqa: PTH119


def _pid(event: EventFile) -> int | None:
    """The process id in the name of a tfevents file."""
    split = filenames.split_events(_file_name(event.path))
    return None if split is None else split[2]


def _home(folder: Path) -> Path:
    """The folder above plugins/, where a run's tfevents are; for profiles outside plugins/ their
    own folder.
    """
    for above in (folder, *folder.parents[:3]):
        if above.name == "plugins":
            return above.parent
    return folder


def _events(files: Iterable[FoundFile], folder: str) -> list[EventFile]:
    name = _file_name(folder)
    group = name if name in filenames.PARTS or name == filenames.MARKERS_FOLDER else ""
    events = []
    for file in files:
        if filenames.is_events(file.name):
            kind = "profile-empty" if file.name.endswith(".profile-empty") else "scalars"
            events.append(EventFile(file.path, group, kind, file.size))
    return events


def _profile(file: FoundFile) -> ProfileFile | None:
    split = filenames.split_tool(file.name)
    if split is None or not filenames.readable(split[1]):
        return None
    return ProfileFile(file.path, split[0], split[1], file.size)


def _one_per_host(
    profiles: list[ProfileFile],
) -> tuple[tuple[ProfileFile, ...], tuple[ProfileFile, ...]]:
    """(the best file of each host, the others): a full one before an empty one, XPlane before its
    JSON copy.
    """
    best: dict[str, ProfileFile] = {}
    alternates: list[ProfileFile] = []
    for profile in sorted(profiles, key=lambda p: (p.host, p.size == 0, filenames.rank(p.tool))):
        if best.setdefault(profile.host, profile) is not profile:
            alternates.append(profile)
    return tuple(best.values()), tuple(alternates)


def _without_twins(profiles: tuple[ProfileFile, ...]) -> tuple[tuple[ProfileFile, ...], list[Warn]]:
    """(the first of the profiles with the same bytes, a problem for each of the others).

    The same bytes under two names are one host's profile.
    """
    if len(profiles) < 2:
        return profiles, []
    firsts: dict[tuple[int, bytes], ProfileFile] = {}
    unique: list[ProfileFile] = []
    problems: list[Warn] = []
    for profile in profiles:
        first = profile
        if profile.size:
            first = firsts.setdefault((profile.size, _samples(profile)), profile)
        if first is profile:
            unique.append(profile)
            continue
        cause = (
            f"has the same bytes as {Path(first.path).name}: one host's profile under "
            "two names, counted once"
        )
        problems.append(Warn(profile.path, "", cause))
    return tuple(unique), problems


def _samples(profile: ProfileFile) -> bytes:
    """Some stretches of the file: enough to tell two captures apart without reading them."""
    checksum = elsewhere.sum_of(profile.path)
    if checksum is not None:
        return checksum or os.fsencode(profile.path)
    try:
        with open_regular(profile.path) as stream:
            samples = []
            for index in range(_SAMPLE_COUNT):
                last = profile.size - _SAMPLE_BYTES
                stream.seek(max(0, last * index // (_SAMPLE_COUNT - 1)))
                samples.append(stream.read(_SAMPLE_BYTES))
            return b"".join(samples)
    except OSError:
        return os.fsencode(profile.path)


def _unknown_trace(file: FoundFile) -> OtherFile | None:
    """A JSON file under any name that looks like a trace of another tool, or one that is not
    finished.
    """
    stem = file.name.split(".", 1)[0]
    if file.name.endswith(filenames.UNFINISHED):
        cause = (
            "a trace that is still being written (PyTorch renames it when it is whole), or "
            "whose program ended before"
        )
        return OtherFile(file.path, stem, "tmp", file.size, cause)
    if not file.name.lower().endswith((".json", ".json.gz")) or file.size < 64:
        return None
    head = head_of(file.path)
    has_schema, has_devices = b'"schemaVersion"' in head, b'"deviceProperties"' in head
    is_chrome = b'"traceEvents"' in head or head.lstrip().startswith(_CHROME_BEGINS)
    if not is_chrome and not (has_schema and has_devices):
        return None
    is_kineto = b"deviceProperties" in head or b"schemaVersion" in head
    cause = "PyTorch (Kineto) trace" if is_kineto else "Chrome trace"
    return OtherFile(file.path, stem, "json", file.size, cause)


_CHROME_BEGINS = (b'[{"ph"', b'[\n{"ph"', b'[\n  {\n    "ph"', b'[ {"ph"')


def _reader_takes(file: FoundFile) -> bool:
    """Whether a reader of profiles recognises this head.

    Asked only where the name does not settle it.
    """
    from powertui.data.formats import registry

    head = head_of(file.path, 65_536)
    return any(reader.sniff(head, file.path) > 0 for reader in registry.readers())
