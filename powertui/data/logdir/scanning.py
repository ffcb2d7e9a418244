"""Looking through a folder: its runs, hosts, profiles, scalars and power logs; and what is missing.

Profiles lie at `plugins/profile/<run>/<host>.<tool suffix>` at any depth, or anywhere as
`<host>.xplane.pb`. A host name may hold dots (`34.83.195.179_6003`), so a file name is cut at the
longest suffix that a profiler is known to write, never at a dot. Only names, sizes and the first
bytes of files with doubtful names are looked at: a scan costs the same for a kilobyte and for a
gigabyte.

`scan` never raises for what lies in the folder: what cannot be listed is a problem with a name and
a cause. It raises `UnreadableFile` only when the path itself is not there or cannot be opened.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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

_PROGRESS_S = 0.25  # between two reports of how many names were gone through
_SAMPLE = 1 << 16  # bytes in each of the stretches by which two captures are told apart


# Of files that no tool's name tells apart: what stands before is the host, or what a person called
# the file, dots and all.
_ENDINGS = re.compile(
    r"(?:\.(?:json|trace|pb|pftrace|perfetto-trace|csv|txt|log|gz|zst))+$", re.IGNORECASE
)


def again(path: str, entry: RunEntry) -> RunEntry:
    """The same run as it lies there now; `path` is what was scanned.

    Raises `UnreadableFile` when it is gone.
    """
    for run in scan(path).runs:
        if (run.path, run.name) == (entry.path, entry.name) and run.profiles:
            return run
    raise UnreadableFile(entry.path, "the profile is gone")


def scan(path: str | os.PathLike[str]) -> Logdir:
    """Look through a logdir, a run folder, or at one file ("-": a profile on standard input)."""
    (*_, found) = stream(path)
    return found


def stream(path: str | os.PathLike[str], every_s: float = 1e9) -> Iterator[Logdir]:
    """The same, with what was found so far every so many seconds; the whole comes last, as a person
    put it together.
    """
    for found in _stream(path, every_s):
        yield _corrected(found)


def _corrected(found: Logdir) -> Logdir:
    """With what was moved from one training to another by hand."""
    if not found.complete:
        return found
    known, problems = moves.load()
    if problems:
        found = replace(found, problems=(*found.problems, *problems))
    return by_hand.corrected(found, known) if known else found


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
        for found in _here(local.path, address, _PROGRESS_S):
            elsewhere.report(elsewhere.TransferProgress(place, "names", found.entries))
    if asked.heads or asked.sums:
        elsewhere.look(asked)
        stages = _here(local.path, address, every_s)
    else:
        stages = iter((found,))
    for stage in stages:
        own = tuple(
            replace(problem, file=elsewhere.shown(problem.file)) for problem in stage.problems
        )
        yield replace(stage, problems=(*local.problems, *own) if stage.complete else own)
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
        for found in _stream(path, every_s):
            if not found.complete:
                yield _together([*done, found], paths)
        done.append(found)
    yield _corrected(_together(done, paths))


def _together(found: Sequence[Logdir], paths: Sequence[str]) -> Logdir:
    return Logdir(
        path=", ".join(paths),
        runs=tuple(run for one in found for run in one.runs),
        tfevents=tuple(log for one in found for log in one.tfevents),
        power=tuple(log for one in found for log in one.power),
        unread=tuple(file for one in found for file in one.unread),
        problems=tuple(warn for one in found for warn in one.problems),
        entries=sum(one.entries for one in found),
        truncated=any(one.truncated for one in found),
        complete=len(found) == len(paths) and all(one.complete for one in found),
        folders=tuple(folder for one in found for folder in one.folders),
        began_ns=min(one.began_ns for one in found),
        several=tuple(paths),
        parts=tuple(found),
    )


# ── the scan ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Scan(Tree):
    """One scan: the tree, and what its files are to a run."""

    events: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)  # of each home

    def folder(self, shown: str, every_s: float) -> Iterator[Logdir]:
        """Everything below a folder, and before that what was found so far: now and then, and each
        time half as much again.

        Whoever shows it goes through all of it each time: of thousands of runs that were as much as
        finding them.
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
        told, worth, began = time.monotonic(), 0, time.time_ns()
        for folder in self.walk():
            folders.append(folder)
            if time.monotonic() - told >= every_s and len(runs) >= worth:
                yield Logdir(shown, tuple(runs), entries=self.entries, complete=False)
                told, worth = time.monotonic(), len(runs) + len(runs) // 2
            files, _ = self.listing(folder)
            if not files and not _is_run_folder(folder):
                continue
            here = Path(folder)
            torch, rest = self.pytorch(here, files)
            runs.extend(torch)
            amd, rest = self.rocprof(here, rest)
            runs.extend(amd)
            plain_ones, rest = self.chrome(here, rest, alone=not torch and not amd)
            runs.extend(plain_ones)
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
        """One file, with what lies around it: scalars and power logs."""
        status = path.stat()
        size, regular = status.st_size, stat.S_ISREG(status.st_mode)
        split = filenames.split_tool(path.name)
        host, tool = split if split is not None else (_ENDINGS.sub("", path.name) or path.name, "")
        home = _home(path.parent)
        name = path.parent.name if _is_run_folder(path.parent) else path.name
        run = RunEntry(name, str(path))
        events: tuple[EventFile, ...] = ()
        if filenames.is_events(path.name):
            events = tuple(_events([FoundFile(str(path), path.name, size)], str(path.parent)))
            run = replace(run, name=path.name, tfevents=events)
            return Logdir(
                path=shown,
                runs=(run,),
                tfevents=events,
                power=(),
                unread=(),
                problems=tuple(self.problems),
                entries=1,
            )
        unread = filenames.unread()
        if tool in filenames.RESULTS or tool in unread:
            kinds = filenames.RESULTS if tool in filenames.RESULTS else unread
            other = OtherFile(str(path), host, tool, size, kinds[tool])
            run = (
                replace(run, results=(other,))
                if tool in filenames.RESULTS
                else replace(run, unread=(other,))
            )
        elif (
            regular
            and not filenames.readable(tool)
            and not _reader_takes(file := FoundFile(str(path), path.name, size))
        ):
            # A pipe is never asked what it holds: what was read from it to find out would be gone.
            if logs := power_logs.named(file):
                return Logdir(
                    path=shown,
                    runs=(replace(run, name=path.name, power=logs),),
                    tfevents=(),
                    power=logs,
                    unread=(),
                    problems=tuple(self.problems),
                    entries=1,
                )
            # Nobody reads it. What lies around it was not asked for: it would look like this file's
            # answer.
            run = replace(run, profiles=(ProfileFile(str(path), host, tool, size),))
            return Logdir(shown, (run,), problems=tuple(self.problems), entries=1)
        elif not regular:
            # What comes through a pipe was made elsewhere. What lies around it would look like its
            # answer when nothing comes.
            run = replace(run, name=path.name, profiles=(ProfileFile(str(path), host, tool, size),))
            return Logdir(shown, (run,), problems=tuple(self.problems), entries=1)
        else:
            files, _ = self.listing(str(path.parent))
            twins = [
                f for f in files if f.path != str(path) and filenames.split_tool(f.name) is not None
            ]
            alternates = [
                p
                for f in twins
                if (p := _profile(f)) is not None and p.host == host and split is not None
            ]
            run = replace(
                run,
                profiles=(ProfileFile(str(path), host, tool, size),),
                alternates=tuple(alternates),
            )
        events = self.events_for(home)
        near = {str(home), str(path.parent)}
        candidates = [f for folder in near for f in self.listing(folder)[0] if may_be_power(f.name)]
        logs = power_logs.recognised(candidates)
        above = power_logs.recognised(power_logs.candidates_above(self, home, list(near)))
        run = replace(run, tfevents=events, power=logs, above=above)
        return Logdir(
            path=shown,
            runs=(run,),
            tfevents=events,
            power=logs,
            unread=(),
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
        """(the runs of PyTorch in this folder, the files that are none of theirs)."""
        found = pytorch.traces(files) if not _is_run_folder(folder) else []
        if not found:
            return [], files
        home, cycles = _home(folder), pytorch.cycles(found)
        name, events = self.name_of(folder, home), self.events_for(home)
        runs = []
        for cycle in cycles:
            named = pytorch.hosts(cycle)
            profiles = tuple(
                ProfileFile(one.file.path, host, one.suffix, one.file.size)
                for one, host in zip(cycle, named, strict=True)
            )
            own = name if len(cycles) == 1 else f"{name}/{cycle[0].stem}"
            runs.append(
                RunEntry(
                    own,
                    str(folder) if len(cycles) == 1 else cycle[0].file.path,
                    profiles,
                    tfevents=events,
                )
            )
        theirs = {one.file.path for one in found}
        return runs, [file for file in files if file.path not in theirs]

    def rocprof(
        self, folder: Path, files: list[FoundFile]
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the run of rocprofv3 in this folder, the files that are none of its)."""
        found, theirs = rocprof.captures(files)
        if not found:
            return [], files
        profiles, alternates = [], []
        for one in found:
            first, *second = one.files
            profiles.append(
                ProfileFile(first.path, one.prefix or folder.name, rocprof.TOOL, one.size)
            )
            alternates += [
                ProfileFile(file.path, one.prefix or folder.name, rocprof.TOOL, file.size)
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
        return [run], [file for file in files if file.path not in theirs]

    def chrome(
        self, folder: Path, files: list[FoundFile], *, alone: bool
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """The Chrome traces of a folder under names of their own, each a run; and the other files.

        `alone`: no run lies beside them.
        """
        found = chrome.traces(files) if not _is_run_folder(folder) else []
        if not found:
            return [], files
        home = _home(folder)
        name, events = self.name_of(folder, home), self.events_for(home)
        runs = []
        for one in found:
            profile = ProfileFile(one.path, chrome.stem(one), chrome.suffix(one), one.size)
            only = alone and len(found) == 1
            own = name if only else f"{name}/{chrome.stem(one)}"
            runs.append(
                RunEntry(own, str(folder) if only else one.path, (profile,), tfevents=events)
            )
        theirs = {one.path for one in found}
        return runs, [file for file in files if file.path not in theirs]

    def name_of(self, folder: Path, home: Path) -> str:
        """TensorBoard's name of a run: the way from the logdir to the folder above plugins/, then
        the run's own.
        """
        own = folder.name if _is_run_folder(folder) else ""
        try:
            above = home.relative_to(self.root).as_posix()
        except ValueError:  # the path that was named lies inside plugins/
            above = "."
        parts = [part for part in (above if above != "." else "", own) if part]
        return "/".join(parts) or folder.name or str(folder)

    def events_for(self, home: Path) -> tuple[EventFile, ...]:
        """The tfevents of a run: beside its plugins/, in train/ and validation/ next to that, and
        PowerBoard's marker.
        """
        place = str(home)
        known = self.events.get(place)
        if known is None:  # many captures of one training share a home
            known = self.events[place] = self._events_for(place)
        return known

    def _events_for(self, home: str) -> tuple[EventFile, ...]:
        folders = [home]
        above, name = os.path.split(home)
        parent = above if name in filenames.PARTS else home
        if parent != home:
            folders.append(parent)
        if self.exists(parent):
            folders += [
                below
                for below in self.listing(parent)[1]
                if os.path.basename(below) in filenames.PARTS  # noqa: PTH119
            ]
        events: list[EventFile] = []
        for folder in dict.fromkeys(folders):
            if self.exists(folder):
                events += _events(self.listing(folder)[0], folder)
        pids = {
            split[2]
            for e in events
            if (split := filenames.split_events(os.path.basename(e.path))) is not None  # noqa: PTH119
        } - {None}
        folder = home
        for _ in range(6):
            marker = os.path.join(folder, "demo_logs")  # noqa: PTH118
            if pids and self.exists(marker):
                for event in _events(self.listing(marker)[0], marker):
                    split = filenames.split_events(os.path.basename(event.path))  # noqa: PTH119
                    if split is not None and split[2] in pids:
                        events.append(event)
                break
            if self.exists(os.path.join(folder, ".git")) or os.path.dirname(folder) == folder:  # noqa: PTH118, PTH120
                break
            folder = os.path.dirname(folder)  # noqa: PTH120
        return tuple(events)


# ── one file ─────────────────────────────────────────────────────────────────────────────────────

_RUNS_LIE_IN = os.path.join(os.sep, "plugins", "profile")  # noqa: PTH118


def _is_run_folder(folder: Path | str) -> bool:
    return os.path.dirname(folder).endswith(_RUNS_LIE_IN)  # noqa: PTH120


def _home(folder: Path) -> Path:
    """The folder above plugins/, where a run's tfevents lie; for profiles outside plugins/ their
    own folder.
    """
    for above in (folder, *folder.parents[:3]):
        if above.name == "plugins":
            return above.parent
    return folder


def _events(files: Iterable[FoundFile], folder: str) -> list[EventFile]:
    name = os.path.basename(folder)  # noqa: PTH119
    group = name if name in filenames.PARTS or name == "demo_logs" else ""
    return [
        EventFile(
            f.path,
            group,
            "profile-empty" if f.name.endswith(".profile-empty") else "scalars",
            f.size,
        )
        for f in files
        if filenames.is_events(f.name)
    ]


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
    ordered = sorted(profiles, key=lambda p: (p.host, p.size == 0, filenames.rank(p.tool)))
    best: dict[str, ProfileFile] = {}
    others: list[ProfileFile] = []
    for profile in ordered:
        if best.setdefault(profile.host, profile) is not profile:
            others.append(profile)
    return tuple(best.values()), tuple(others)


def _without_twins(profiles: tuple[ProfileFile, ...]) -> tuple[tuple[ProfileFile, ...], list[Warn]]:
    """Hosts whose profiles are the same bytes are one host: the first of them, and what to say of
    the others.
    """
    seen: dict[tuple[int, bytes], ProfileFile] = {}
    own: list[ProfileFile] = []
    problems: list[Warn] = []
    for profile in profiles:
        alone = len(profiles) < 2 or not profile.size
        if (
            alone
            or (first := seen.setdefault((profile.size, _samples(profile)), profile)) is profile
        ):
            own.append(profile)
        else:
            cause = (
                f"has the same bytes as {Path(first.path).name}: one host's profile under "
                "two names, counted once"
            )
            problems.append(Warn(profile.path, "", cause))
    return tuple(own), problems


def _samples(profile: ProfileFile) -> bytes:
    """Five stretches of the file: enough to tell two captures apart without reading them."""
    if (told := elsewhere.sum_of(profile.path)) is not None:
        return told or os.fsencode(profile.path)
    try:
        with open_regular(profile.path) as stream:
            parts = []
            for index in range(5):
                stream.seek(max(0, (profile.size - _SAMPLE) * index // 4))
                parts.append(stream.read(_SAMPLE))
            return b"".join(parts)
    except OSError:
        return os.fsencode(profile.path)


def _unknown_trace(file: FoundFile) -> OtherFile | None:
    """A JSON file under any name that looks like a trace of another tool, or one that is not
    finished.
    """
    if file.name.endswith(filenames.UNFINISHED):
        what = (
            "a trace that is still being written (PyTorch renames it when it is whole), or "
            "whose program ended before"
        )
        return OtherFile(file.path, file.name.split(".", 1)[0], "tmp", file.size, what)
    if not file.name.lower().endswith((".json", ".json.gz")) or file.size < 64:
        return None
    head = head_of(file.path)
    if b'"traceEvents"' not in head and not head.lstrip().startswith(
        (b'[{"ph"', b'[\n{"ph"', b'[\n  {\n    "ph"', b'[ {"ph"')
    ):
        kineto = b'"schemaVersion"' in head and b'"deviceProperties"' in head
        if not kineto:
            return None
    what = (
        "PyTorch (Kineto) trace"
        if b"deviceProperties" in head or b"schemaVersion" in head
        else "Chrome trace"
    )
    return OtherFile(file.path, file.name.split(".", 1)[0], "json", file.size, what)


def _reader_takes(file: FoundFile) -> bool:
    """Whether a reader of profiles recognises this head.

    Asked only where the name does not settle it.
    """
    from powertui.data.formats import registry

    head = head_of(file.path, 65_536)
    return any(reader.sniff(head, file.path) > 0 for reader in registry.readers())
