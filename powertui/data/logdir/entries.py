"""What lies in a folder: runs, hosts, profiles, scalars, power logs; and what is missing.

Profiles lie at `plugins/profile/<run>/<host>.<tool suffix>` at any depth, or anywhere as `<host>.xplane.pb`.
A host name may hold dots (`34.83.195.179_6003`), so a file name is cut at the longest suffix that a profiler is
known to write, never at a dot. Only names, sizes and the first bytes of files with doubtful names are looked at:
a scan costs the same for a kilobyte and for a gigabyte.

`scan` never raises for what lies in the folder: what cannot be listed is a problem with a name and a cause.
It raises `UnreadableFile` only when the path itself is not there or cannot be opened.
"""

from __future__ import annotations

import functools
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.logdir import chrome, pytorch, rocprof
from powertui.data.logdir.tree import FoundFile, Tree, head_of, may_be_power, may_matter, reason
from powertui.data.model import Warn
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.logdir.trainings import TrainingEntry

_SAMPLE = 1 << 16  # bytes in each of the stretches by which two captures are told apart


class ProfileFile(NamedTuple):
    """A file that a reader takes. `tool` is the name's suffix ("xplane.pb"); the content decides the format."""

    path: str
    host: str
    tool: str
    size: int


class EventFile(NamedTuple):
    """A tfevents file. `kind`: "scalars", "profile-empty" (only says when a capture ended)."""

    path: str
    group: str  # "train", "validation", …: its folder's name where that names a part of a run; else ""
    kind: str
    size: int


class PowerFile(NamedTuple):
    """A power log that lies in or beside the logdir; `dialect` is the reader that recognised its head."""

    path: str
    dialect: str
    size: int


class OtherFile(NamedTuple):
    """A file that is known by its name. `what` says to a person what it is."""

    path: str
    host: str
    tool: str
    size: int
    what: str


@dataclass(frozen=True)
class RunEntry:
    """One run of the profiler, as found: nothing of it has been read yet."""

    name: str  # as TensorBoard names it: folder above plugins/ + "/" + folder below profile/
    path: str  # the run's folder, or the file itself when a bare file was given; "-" for standard input
    profiles: tuple[ProfileFile, ...] = ()  # one per host: the best of what lies there
    alternates: tuple[ProfileFile, ...] = ()  # the same capture in a second form: read when the first fails
    tfevents: tuple[EventFile, ...] = ()
    power: tuple[PowerFile, ...] = ()
    above: tuple[PowerFile, ...] = ()  # logs in the folders above what was asked for: told of, and read when they are named
    results: tuple[OtherFile, ...] = ()  # finished results of the profiler's tools: they hold no timeline
    unread: tuple[OtherFile, ...] = ()  # known by name, no reader yet
    ignored: tuple[OtherFile, ...] = ()  # caches that other viewers left behind
    problems: tuple[Warn, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, by name; those that left only result files too."""
        return tuple(sorted({f.host for f in self.profiles} | {f.host for f in (*self.results, *self.unread)}))

    @property
    def size(self) -> int:
        """Bytes of all profiles that would be read."""
        return sum(f.size for f in self.profiles)


@dataclass(frozen=True)
class Logdir:
    """Everything that was found under one path."""

    path: str
    runs: tuple[RunEntry, ...] = ()
    tfevents: tuple[EventFile, ...] = ()  # all of them, those of runs without a profile too
    power: tuple[PowerFile, ...] = ()
    unread: tuple[OtherFile, ...] = ()  # outside every run: traces of other tools, known by name
    problems: tuple[Warn, ...] = ()
    entries: int = 0  # how many names were looked at
    truncated: bool = False  # the tree is larger than a scan goes through
    complete: bool = True  # False while folders are still looked through: power logs are given to runs last
    folders: tuple[str, ...] = ()  # all that were listed
    began_ns: int = field(default=0, compare=False)  # when (Unix time)
    several: tuple[str, ...] = ()  # the paths, where there are several
    parts: tuple[Logdir, ...] = field(default=(), compare=False, repr=False)  # and what was found under each of them

    @property
    def paths(self) -> tuple[str, ...]:
        """What was looked through."""
        return self.several or (self.path,)

    def path_of(self, entry: RunEntry) -> str:
        """Which of the paths a run was found under."""
        if not self.several:
            return self.path
        whole = Path(entry.path).absolute()
        return next((path for path in self.paths if whole.is_relative_to(Path(path).absolute())), entry.path)

    @functools.cached_property
    def trainings(self) -> tuple[TrainingEntry, ...]:
        """What one program did each: its sessions, scalars and power logs."""
        from powertui.data.logdir import trainings  # which knows what a Logdir is

        return trainings.group(self)

    def chosen(self, name: str | None) -> tuple[RunEntry, ...]:
        """The runs that a name means: all for None, else one. Its whole name, its last parts, or a part that fits no other.

        Raises `UsageError` with the names that there are when none or several fit.
        """
        if name is None:
            return self.runs
        found: tuple[RunEntry, ...] = ()
        for fits in (str.__eq__, lambda own, said: own.endswith("/" + said), str.__contains__):
            found = tuple(run for run in self.runs if fits(run.name, name))
            if len(found) == 1:
                return found
            if found:
                break
        names = ", ".join(plain(run.name, 80) for run in (found or self.runs)[:8])
        what = "More than one run is" if found else "No run is"
        raise UsageError(f"{what} named {plain(name, 80)!r}.", hint=f"There are: {names}" if names else "There are no runs here.")


def again(path: str, entry: RunEntry) -> RunEntry:
    """The same run as it lies there now; `path` is what was scanned. Raises `UnreadableFile` when it is gone."""
    for run in scan(path).runs:
        if (run.path, run.name) == (entry.path, entry.name) and run.profiles:
            return run
    raise UnreadableFile(entry.path, "the profile is gone")


def scan(path: str | os.PathLike[str]) -> Logdir:
    """Look through a logdir, a run folder, or at one file ("-": a profile on standard input)."""
    (*_, found) = stream(path)
    return found


def stream(path: str | os.PathLike[str], every_s: float = 1e9) -> Iterator[Logdir]:
    """The same, with what was found so far every so many seconds; the whole comes last."""
    text = os.fspath(path)
    if not text:
        raise UsageError("the path is empty", hint="Name a logdir, a run folder or a profile; . is the current folder.")
    if text == "-":
        yield Logdir("-", (RunEntry("standard input", "-", (ProfileFile("-", "", "", 0),)),))
        return
    if elsewhere.is_address(text):
        yield from _from_elsewhere(text, every_s)
        return
    yield from _here(text, text, every_s)


def _from_elsewhere(address: str, every_s: float) -> Iterator[Logdir]:
    """The same of a folder on another machine. A scan notes which heads it would need; they come in one question for all."""
    local = elsewhere.listed(address, may_matter)
    with elsewhere.gathered() as asked:
        (*_, found) = _here(local.path, address, 1e9)
    if asked.heads or asked.sums:
        elsewhere.look(asked)
        stages = _here(local.path, address, every_s)
    else:
        stages = iter((found,))
    for stage in stages:
        own = tuple(replace(problem, file=elsewhere.shown(problem.file)) for problem in stage.problems)
        yield replace(stage, problems=(*local.problems, *own) if stage.complete else own)


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
        raise UnreadableFile(shown, "is neither a folder nor a plain file", hint="Name a logdir, a run folder or a profile.")
    yield _Scan(where.parent).single(shown, where)


def stream_all(paths: Sequence[str], every_s: float = 1e9) -> Iterator[Logdir]:
    """Several logdirs as one; those that are looked through already are in every stage."""
    if len(paths) == 1:
        yield from stream(paths[0], every_s)
        return
    done: list[Logdir] = []
    for path in paths:
        for found in stream(path, every_s):
            if not found.complete:
                yield _together([*done, found], paths)
        done.append(found)
    yield _together(done, paths)


def _together(found: Sequence[Logdir], paths: Sequence[str]) -> Logdir:
    return Logdir(
        ", ".join(paths), tuple(run for one in found for run in one.runs), tuple(log for one in found for log in one.tfevents),
        tuple(log for one in found for log in one.power), tuple(file for one in found for file in one.unread),
        tuple(warn for one in found for warn in one.problems), sum(one.entries for one in found),
        any(one.truncated for one in found), len(found) == len(paths) and all(one.complete for one in found),
        tuple(folder for one in found for folder in one.folders), min(one.began_ns for one in found), tuple(paths), tuple(found),
    )  # fmt: skip


# ── the scan ─────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Scan(Tree):
    """One scan: the tree, and what its files are to a run."""

    events: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)  # of each home

    def folder(self, shown: str, every_s: float) -> Iterator[Logdir]:
        """Everything below a folder, and before that what was found so far, now and then."""
        try:
            os.scandir(self.root).close()
        except OSError as error:
            hint = "Ask its owner for read access, or copy the logs to a place where you can read them."
            raise UnreadableFile(shown, f"cannot be listed: {reason(error)}", hint=hint) from None
        folders: list[str] = []
        runs: list[RunEntry] = []
        loose: list[OtherFile] = []
        events: list[EventFile] = []
        power: list[FoundFile] = []
        told, began = time.monotonic(), time.time_ns()
        for folder in self.walk():
            folders.append(folder)
            if time.monotonic() - told >= every_s:
                yield Logdir(shown, tuple(runs), entries=self.entries, complete=False)
                told = time.monotonic()
            files, _ = self.listing(folder)
            if not files and not _is_run_folder(folder):
                continue
            torch, rest = self.pytorch(Path(folder), files)
            runs.extend(torch)
            amd, rest = self.rocprof(Path(folder), rest)
            runs.extend(amd)
            plain_ones, rest = self.chrome(Path(folder), rest, alone=not torch and not amd)
            runs.extend(plain_ones)
            run, others = self.run_of(Path(folder), rest)
            if run is not None:
                runs.append(run)
            loose.extend(others)
            events.extend(_events(files, folder))
            power.extend(f for f in files if may_be_power(f.name))
        entries = self.entries
        logs, above = self.power_files(power), self.power_files(self.above(self.root, folders))
        yield Logdir(
            shown, tuple(replace(run, above=above) for run in self.with_power(runs, logs)), tuple(events), logs, tuple(loose),
            tuple(self.problems), entries, self.truncated, folders=tuple(folders), began_ns=began,
        )  # fmt: skip

    def single(self, shown: str, path: Path) -> Logdir:
        """One file, with what lies around it: scalars and power logs."""
        status = path.stat()
        size, regular = status.st_size, stat.S_ISREG(status.st_mode)
        split = filenames.split_tool(path.name)
        host, tool = split if split is not None else (path.name.split(".", 1)[0] or path.name, "")
        home = _home(path.parent)
        name = path.parent.name if _is_run_folder(path.parent) else path.name
        run = RunEntry(name, str(path))
        events: tuple[EventFile, ...] = ()
        if filenames.is_events(path.name):
            events = tuple(_events([FoundFile(str(path), path.name, size)], str(path.parent)))
            run = replace(run, name=path.name, tfevents=events)
            return Logdir(shown, (run,), events, (), (), tuple(self.problems), 1)
        unread = filenames.unread()
        if tool in filenames.RESULTS or tool in unread:
            kinds = filenames.RESULTS if tool in filenames.RESULTS else unread
            other = OtherFile(str(path), host, tool, size, kinds[tool])
            run = replace(run, results=(other,)) if tool in filenames.RESULTS else replace(run, unread=(other,))
        elif (
            regular
            and not filenames.readable(tool)
            and may_be_power(path.name)
            and (logs := self.power_files([FoundFile(str(path), path.name, size)]))
        ):
            # A pipe is never asked what it holds: what was read from it to find out would be gone.
            return Logdir(shown, (replace(run, name=path.name, power=logs),), (), logs, (), tuple(self.problems), 1)
        else:
            files, _ = self.listing(str(path.parent))
            twins = [f for f in files if f.path != str(path) and filenames.split_tool(f.name) is not None]
            alternates = [p for f in twins if (p := _profile(f)) is not None and p.host == host and split is not None]
            run = replace(run, profiles=(ProfileFile(str(path), host, tool, size),), alternates=tuple(alternates))
        events = self.events_for(home)
        near = {str(home), str(path.parent)}
        candidates = [f for folder in near for f in self.listing(folder)[0] if may_be_power(f.name)]
        logs = self.power_files(candidates)
        run = replace(run, tfevents=events, power=logs, above=self.power_files(self.above(home, list(near))))
        return Logdir(shown, (run,), events, logs, (), tuple(self.problems), self.entries, self.truncated)

    # ── runs ──

    def run_of(self, folder: Path, files: list[FoundFile]) -> tuple[RunEntry | None, list[OtherFile]]:
        """The run that this folder is, if it is one; else the traces of other tools that lie in it."""
        run_folder = _is_run_folder(folder)
        profiles: list[ProfileFile] = []
        groups: dict[str, list[OtherFile]] = {"results": [], "unread": [], "ignored": []}
        for file in files:
            split = filenames.split_tool(file.name)
            if split is None:
                if (kind := _unknown_trace(file)) is not None:
                    groups["unread"].append(kind)
                continue
            host, tool = split
            if filenames.readable(tool):
                if filenames.certain(tool) or run_folder or _reader_takes(file):
                    profiles.append(ProfileFile(file.path, host, tool, file.size))
                elif tool != "trace":  # other tools call their files so, too
                    groups["unread"].append(OtherFile(file.path, host, tool, file.size, "trace in an unknown JSON form"))
            elif tool in filenames.CACHES:
                groups["ignored"].append(OtherFile(file.path, host, tool, file.size, filenames.CACHES[tool]))
            elif tool in filenames.RESULTS:
                if host or run_folder:
                    groups["results"].append(OtherFile(file.path, host, tool, file.size, filenames.RESULTS[tool]))
            else:
                groups["unread"].append(OtherFile(file.path, host, tool, file.size, filenames.unread()[tool]))
        if not run_folder and not profiles and not groups["results"]:
            return None, groups["unread"]
        home = _home(folder)
        best, alternates = _one_per_host(profiles)
        best, problems = _without_twins(best)
        if not profiles and not groups["results"] and not groups["unread"]:
            cause = "the run's folder is empty" if not groups["ignored"] else "there are only caches of other viewers here"
            problems.append(Warn(str(folder), "", f"{cause}: the capture was not written, or was moved away"))
        return RunEntry(
            self.name_of(folder, home), str(folder), best, alternates, self.events_for(home), (), (),
            tuple(groups["results"]), tuple(groups["unread"]), tuple(groups["ignored"]), tuple(problems),
        ), []  # fmt: skip

    def pytorch(self, folder: Path, files: list[FoundFile]) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the runs of PyTorch in this folder, the files that are none of theirs)."""
        found = pytorch.traces(files) if not _is_run_folder(folder) else []
        if not found:
            return [], files
        home, cycles = _home(folder), pytorch.cycles(found)
        name, events = self.name_of(folder, home), self.events_for(home)
        runs = []
        for cycle in cycles:
            profiles = tuple(ProfileFile(one.file.path, one.stem, one.suffix, one.file.size) for one in cycle)
            own = name if len(cycles) == 1 else f"{name}/{cycle[0].stem}"
            runs.append(RunEntry(own, str(folder) if len(cycles) == 1 else cycle[0].file.path, profiles, tfevents=events))
        theirs = {one.file.path for one in found}
        return runs, [file for file in files if file.path not in theirs]

    def rocprof(self, folder: Path, files: list[FoundFile]) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the run of rocprofv3 in this folder, the files that are none of its)."""
        found, theirs = rocprof.captures(files)
        if not found:
            return [], files
        profiles, alternates = [], []
        for one in found:
            first, *second = one.files
            profiles.append(ProfileFile(first.path, one.prefix or folder.name, rocprof.TOOL, one.size))
            alternates += [ProfileFile(file.path, one.prefix or folder.name, rocprof.TOOL, file.size) for file in second]
        home = _home(folder)
        run = RunEntry(self.name_of(folder, home), str(folder), tuple(profiles), tuple(alternates), self.events_for(home))
        return [run], [file for file in files if file.path not in theirs]

    def chrome(self, folder: Path, files: list[FoundFile], *, alone: bool) -> tuple[list[RunEntry], list[FoundFile]]:
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
            runs.append(RunEntry(own, str(folder) if only else one.path, (profile,), tfevents=events))
        theirs = {one.path for one in found}
        return runs, [file for file in files if file.path not in theirs]

    def name_of(self, folder: Path, home: Path) -> str:
        """TensorBoard's name of a run: the way from the logdir to the folder above plugins/, then the run's own."""
        own = folder.name if _is_run_folder(folder) else ""
        try:
            above = home.relative_to(self.root).as_posix()
        except ValueError:  # the path that was named lies inside plugins/
            above = "."
        parts = [part for part in (above if above != "." else "", own) if part]
        return "/".join(parts) or folder.name or str(folder)

    def events_for(self, home: Path) -> tuple[EventFile, ...]:
        """The tfevents of a run: beside its plugins/, in train/ and validation/ next to that, and PowerBoard's marker."""
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
            folders += [below for below in self.listing(parent)[1] if os.path.basename(below) in filenames.PARTS]  # noqa: PTH119
        events: list[EventFile] = []
        for folder in dict.fromkeys(folders):
            if self.exists(folder):
                events += _events(self.listing(folder)[0], folder)
        pids = {split[2] for e in events if (split := filenames.split_events(os.path.basename(e.path))) is not None} - {None}  # noqa: PTH119
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

    # ── power ──

    def above(self, start: Path, walked: Iterable[str]) -> list[FoundFile]:
        """Candidates outside of what was asked for: in the folder above, or in the one that holds `logs`; and in its data/.

        Another training's log may lie there as well: nobody's power is taken unasked.
        """
        folders = [start.parent] if start.parent != start else []
        for above in (start, *start.parents[:5]):
            if above.name.lower() in filenames.LOG_FOLDERS and above.parent != above:
                folders.append(above.parent)
                break
        known = set(walked)
        out: list[FoundFile] = []
        for folder in dict.fromkeys(folders):
            for place in (folder, folder / "data"):
                if str(place) not in known and self.exists(str(place)):
                    known.add(str(place))
                    out += [f for f in self.listing(str(place))[0] if may_be_power(f.name)]
        return out

    def power_files(self, candidates: Iterable[FoundFile]) -> tuple[PowerFile, ...]:
        """Those candidates whose head a reader of power logs recognises."""
        out = []
        for file in candidates:
            if file.size and (dialect := _power_dialect(file)):
                out.append(PowerFile(file.path, dialect, file.size))
        return tuple(out)

    def with_power(self, runs: list[RunEntry], logs: tuple[PowerFile, ...]) -> Iterator[RunEntry]:
        """Each power log goes to the runs below its own folder, else to those of the project that the folder lies in."""
        given: dict[int, list[PowerFile]] = {}
        below = _runs_below(runs) if logs else {}
        for log in logs:
            base = Path(log.path).parent
            if base.name == "data":
                base = base.parent
            mine = below.get(str(base), _Below())
            if not mine.runs and base != self.root and base.parent != base:
                # `measurements/` beside `logs/`: theirs when the folder above holds one project, not a collection.
                above = below.get(str(base.parent), _Below())
                mine = above if len(above.tops) == 1 else mine
            for index in mine.runs:
                given.setdefault(index, []).append(log)
        for index, run in enumerate(runs):
            yield replace(run, power=tuple(given.get(index, ())))


# ── one file ─────────────────────────────────────────────────────────────────────────────────────


_RUNS_LIE_IN = os.path.join(os.sep, "plugins", "profile")  # noqa: PTH118


@dataclass
class _Below:
    """What lies below one folder: runs by their number, and the names of the next folders on the way to them."""

    runs: list[int] = field(default_factory=list)
    tops: set[str] = field(default_factory=set)


def _runs_below(runs: list[RunEntry]) -> dict[str, _Below]:
    """For every folder that has runs below it (or is one) which those are."""
    out: dict[str, _Below] = {}
    for index, run in enumerate(runs):
        folder, top = run.path, ""
        while True:
            below = out.setdefault(folder, _Below())
            below.runs.append(index)
            below.tops.add(top)
            above, top = os.path.split(folder)
            if above == folder:
                break
            folder = above
    return out


def _is_run_folder(folder: Path | str) -> bool:
    return os.path.dirname(folder).endswith(_RUNS_LIE_IN)  # noqa: PTH120


def _home(folder: Path) -> Path:
    """The folder above plugins/, where a run's tfevents lie; for profiles outside plugins/ their own folder."""
    for above in (folder, *folder.parents[:3]):
        if above.name == "plugins":
            return above.parent
    return folder


def _events(files: Iterable[FoundFile], folder: str) -> list[EventFile]:
    name = os.path.basename(folder)  # noqa: PTH119
    group = name if name in filenames.PARTS or name == "demo_logs" else ""
    return [
        EventFile(f.path, group, "profile-empty" if f.name.endswith(".profile-empty") else "scalars", f.size)
        for f in files
        if filenames.is_events(f.name)
    ]


def _profile(file: FoundFile) -> ProfileFile | None:
    split = filenames.split_tool(file.name)
    if split is None or not filenames.readable(split[1]):
        return None
    return ProfileFile(file.path, split[0], split[1], file.size)


def _one_per_host(profiles: list[ProfileFile]) -> tuple[tuple[ProfileFile, ...], tuple[ProfileFile, ...]]:
    """(the best file of each host, the others): a full one before an empty one, XPlane before its JSON copy."""
    ordered = sorted(profiles, key=lambda p: (p.host, p.size == 0, filenames.rank(p.tool)))
    best: dict[str, ProfileFile] = {}
    others: list[ProfileFile] = []
    for profile in ordered:
        if best.setdefault(profile.host, profile) is not profile:
            others.append(profile)
    return tuple(best.values()), tuple(others)


def _without_twins(profiles: tuple[ProfileFile, ...]) -> tuple[tuple[ProfileFile, ...], list[Warn]]:
    """Hosts whose profiles are the same bytes are one host: the first of them, and what to say of the others."""
    seen: dict[tuple[int, bytes], ProfileFile] = {}
    own: list[ProfileFile] = []
    problems: list[Warn] = []
    for profile in profiles:
        alone = len(profiles) < 2 or not profile.size
        if alone or (first := seen.setdefault((profile.size, _samples(profile)), profile)) is profile:
            own.append(profile)
        else:
            cause = f"has the same bytes as {Path(first.path).name}: one host's profile under two names, counted once"
            problems.append(Warn(profile.path, "", cause))
    return tuple(own), problems


def _samples(profile: ProfileFile) -> bytes:
    """Five stretches of the file: enough to tell two captures apart without reading them."""
    if (told := elsewhere.sum_of(profile.path)) is not None:
        return told or os.fsencode(profile.path)
    try:
        with Path(profile.path).open("rb") as stream:
            parts = []
            for index in range(5):
                stream.seek(max(0, (profile.size - _SAMPLE) * index // 4))
                parts.append(stream.read(_SAMPLE))
            return b"".join(parts)
    except OSError:
        return os.fsencode(profile.path)


def _unknown_trace(file: FoundFile) -> OtherFile | None:
    """A JSON file under any name that looks like a trace of another tool, or one that is not finished."""
    if file.name.endswith(filenames.UNFINISHED):
        what = "a trace that is still being written (PyTorch renames it when it is whole), or whose program ended before"
        return OtherFile(file.path, file.name.split(".", 1)[0], "tmp", file.size, what)
    if not file.name.lower().endswith((".json", ".json.gz")) or file.size < 64:
        return None
    head = head_of(file.path)
    if b'"traceEvents"' not in head and not head.lstrip().startswith((b'[{"ph"', b'[\n{"ph"', b'[\n  {\n    "ph"', b'[ {"ph"')):
        kineto = b'"schemaVersion"' in head and b'"deviceProperties"' in head
        if not kineto:
            return None
    what = "PyTorch (Kineto) trace" if b"deviceProperties" in head or b"schemaVersion" in head else "Chrome trace"
    return OtherFile(file.path, file.name.split(".", 1)[0], "json", file.size, what)


def _reader_takes(file: FoundFile) -> bool:
    """Whether a reader of profiles recognises this head. Asked only where the name does not settle it."""
    from powertui.data.formats import registry

    head = head_of(file.path, 65_536)
    return any(reader.sniff(head, file.path) > 0 for reader in registry.readers())


def _power_dialect(file: FoundFile) -> str:
    """The reader of power logs that recognises this file's head; "" when none does."""
    from powertui.data.power import registry  # sixteen dialects: only where there is a candidate

    dialect, score = registry.sniff(file.path)
    return dialect if score >= registry.IS_POWER else ""
