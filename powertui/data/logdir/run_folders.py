"""Which runs a folder is or holds: profiles under plugins/, and the traces of PyTorch, rocprofv3
and Chrome, each with the scalars around it.
"""

from __future__ import annotations

import os
from dataclasses import field, replace
from pathlib import Path

from powertui.data.formats import filenames
from powertui.data.logdir import chrome, pytorch, rocprof
from powertui.data.logdir.entries import EventFile, OtherFile, ProfileFile, RunEntry
from powertui.data.logdir.run_files import (
    SortedFiles,
    event_files,
    file_name,
    one_per_host,
    process_id,
    without_twins,
)
from powertui.data.logdir.tree import FoundFile, Tree
from powertui.data.model import Warn
from powertui.value_types import dataclass

# A marker of PowerBoard's is looked for in so many folders upwards. Chosen, not measured.
_MAX_MARKER_LEVELS = 6

# A run's folder is plugins/profile/RUN, the third from there; one more for what lies in it.
_MAX_HOME_LEVELS = 4

_RUNS_FOLDER = os.path.join(os.sep, "plugins", "profile")  # noqa: PTH118


def is_run_folder(folder: Path | str) -> bool:
    """Whether a folder is where TensorBoard's profiles of one run are."""
    above, _, _ = os.fspath(folder).rpartition(os.sep)
    return above.endswith(_RUNS_FOLDER)


def _without_capture(folder: Path, *, has_caches: bool) -> Warn:
    """What is said of a run's folder that holds no capture."""
    cause = "the run's folder is empty"
    if has_caches:
        cause = "there are only caches of other viewers here"
    return Warn(
        file=str(folder),
        where="",
        cause=f"{cause}: the capture was not written, or was moved away",
    )


def home_of(folder: Path) -> Path:
    """The folder above plugins/, where a run's tfevents are; for profiles outside plugins/ their
    own folder.
    """
    names = folder.parts
    for level in range(1, min(_MAX_HOME_LEVELS, len(names)) + 1):
        if names[-level] == "plugins":
            return folder.parents[level - 1]
    return folder


@dataclass
class RunTree(Tree):
    """A tree, and what the files of its folders are to a run."""

    events: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)  # of each home
    # Of each folder: its markers, where it has some, and the folder in which to look on.
    _marked: dict[str, tuple[list[EventFile], str]] = field(default_factory=dict)

    def run_of(
        self,
        folder: Path,
        files: list[FoundFile],
    ) -> tuple[RunEntry | None, list[OtherFile]]:
        """The run that this folder is, if it is one; else the traces of other tools that
        lie in it.
        """
        in_plugins = is_run_folder(folder)
        by_kind = SortedFiles(is_run_folder=in_plugins)
        for file in files:
            by_kind.add(file)
        profiles = by_kind.profiles
        if not in_plugins and not profiles and not by_kind.results:
            return None, by_kind.unread
        # A copy names no host: it is that of the capture beside it, or none where it was left
        # alone.
        host = profiles[0].host if profiles else folder.name
        for file in by_kind.copies:
            profiles.append(
                ProfileFile(
                    path=file.path,
                    host=host,
                    tool="trace.json.gz",
                    size=file.size,
                )
            )
        home = home_of(folder)
        best, alternates = one_per_host(profiles)
        best, problems = without_twins(best)
        if not profiles and not by_kind.results and not by_kind.unread:
            problems.append(_without_capture(folder, has_caches=bool(by_kind.ignored)))
        run = RunEntry(
            name=self.name_of(folder, home),
            path=str(folder),
            profiles=best,
            alternates=alternates,
            tfevents=self.events_for(home),
            power=(),
            above=(),
            results=tuple(by_kind.results),
            unread=tuple(by_kind.unread),
            ignored=tuple(by_kind.ignored),
            problems=tuple(problems),
        )
        return run, []

    def pytorch(
        self,
        folder: Path,
        files: list[FoundFile],
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the runs of PyTorch in this folder, the other files)."""
        if not is_run_folder(folder):
            traces = pytorch.traces(files)
        else:
            traces = []
        if not traces:
            return [], files
        home = home_of(folder)
        cycles = pytorch.cycles(traces)
        name = self.name_of(folder, home)
        events = self.events_for(home)
        runs = []
        for cycle in cycles:
            profiles = []
            for trace, host in zip(cycle, pytorch.hosts(cycle), strict=True):
                file = trace.file
                profiles.append(
                    ProfileFile(
                        path=file.path,
                        host=host,
                        tool=trace.suffix,
                        size=file.size,
                    )
                )
            run = RunEntry(
                name=name,
                path=str(folder),
                profiles=tuple(profiles),
                tfevents=events,
            )
            if len(cycles) > 1:
                first = cycle[0]
                run = replace(run, name=f"{name}/{first.stem}", path=first.file.path)
            runs.append(run)
        trace_paths = {trace.file.path for trace in traces}
        return runs, [file for file in files if file.path not in trace_paths]

    def rocprof(
        self,
        folder: Path,
        files: list[FoundFile],
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """(the run of rocprofv3 in this folder, the files that are none of its)."""
        captures, capture_paths = rocprof.captures(files)
        if not captures:
            return [], files
        profiles, alternates = [], []
        for capture in captures:
            host = capture.prefix or folder.name
            first, *second = capture.files
            profiles.append(
                ProfileFile(
                    path=first.path,
                    host=host,
                    tool=rocprof.TOOL,
                    size=capture.size,
                )
            )
            for file in second:
                alternates.append(
                    ProfileFile(
                        path=file.path,
                        host=host,
                        tool=rocprof.TOOL,
                        size=file.size,
                    )
                )
        home = home_of(folder)
        run = RunEntry(
            name=self.name_of(folder, home),
            path=str(folder),
            profiles=tuple(profiles),
            alternates=tuple(alternates),
            tfevents=self.events_for(home),
        )
        return [run], [file for file in files if file.path not in capture_paths]

    def chrome(
        self,
        folder: Path,
        files: list[FoundFile],
        *,
        alone: bool,
    ) -> tuple[list[RunEntry], list[FoundFile]]:
        """The Chrome traces of a folder under names of their own, each a run; and the other files.

        `alone`: no run lies beside them.
        """
        if not is_run_folder(folder):
            traces = chrome.traces(files)
        else:
            traces = []
        if not traces:
            return [], files
        home = home_of(folder)
        name = self.name_of(folder, home)
        events = self.events_for(home)
        is_only_run = alone and len(traces) == 1
        runs = []
        for file in traces:
            stem = chrome.stem(file)
            profile = ProfileFile(
                path=file.path,
                host=stem,
                tool=chrome.suffix(file),
                size=file.size,
            )
            run = RunEntry(
                name=name,
                path=str(folder),
                profiles=(profile,),
                tfevents=events,
            )
            if not is_only_run:
                run = replace(run, name=f"{name}/{stem}", path=file.path)
            runs.append(run)
        trace_paths = {file.path for file in traces}
        return runs, [file for file in files if file.path not in trace_paths]

    def name_of(self, folder: Path, home: Path) -> str:
        """TensorBoard's name of a run: the way from the logdir to the folder above plugins/, then
        the run's own name.
        """
        parts: list[str] = []
        # The path that was named may be inside plugins/, below the run's home.
        if str(home).startswith(self._within):
            parts += home.parts[len(self.root.parts) :]
        if is_run_folder(folder) and folder.name:
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
        above, name = os.path.split(home)
        parent = above if name in filenames.PARTS else home
        folders = [home, parent]
        if self.exists(parent):
            _, below = self.listing(parent)
            folders += [folder for folder in below if file_name(folder) in filenames.PARTS]
        events: list[EventFile] = []
        for folder in dict.fromkeys(folders):
            if self.exists(folder):
                files, _ = self.listing(folder)
                events += event_files(files, folder)
        # A marker is in a folder for all runs: its process tells whose it is.
        pids = {process_id(event) for event in events} - {None}
        if pids:
            events += [event for event in self._markers(home) if process_id(event) in pids]
        return tuple(events)

    def _markers(self, home: str) -> list[EventFile]:
        """PowerBoard's markers of the nearest folder above that has some."""
        folder = home
        for _ in range(_MAX_MARKER_LEVELS):
            if folder not in self._marked:  # thousands of runs ask for the same few
                self._marked[folder] = self._markers_in(folder)
            markers, folder = self._marked[folder]
            if markers or not folder:
                return markers
        return []

    def _markers_in(self, folder: str) -> tuple[list[EventFile], str]:
        """(PowerBoard's markers in a folder, the folder above; "" where not to look on)."""
        markers = os.path.join(folder, filenames.MARKERS_FOLDER)  # noqa: PTH118
        if self.exists(markers):
            return event_files(self.listing(markers)[0], markers), ""
        above = os.path.dirname(folder)  # noqa: PTH120
        is_repository = self.exists(os.path.join(folder, ".git"))  # noqa: PTH118
        if is_repository or above == folder:
            return [], ""
        return [], above
