"""The files of a run: the best of each host, each capture once, and traces that no reader takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.logdir.entries import EventFile, OtherFile, ProfileFile
from powertui.data.logdir.tree import FoundFile, head_of
from powertui.data.model import Warn
from powertui.opening import open_regular

# Two captures are told apart by five stretches of so many bytes. Chosen, not measured.
_SAMPLE_BYTES = 1 << 16
_SAMPLE_COUNT = 5
# Files of one size are compared by so many last bytes before they are sampled: 320 KiB of each of
# 512 hosts took 0.36 s of the list.
_ENDING_BYTES = 1 << 12
# Endings of profiles that most files with them are not.
_OFTEN_OTHERS = frozenset({"trace", "pickle", "pkl"})
_CHROME_BEGINS = (b'[{"ph"', b'[\n{"ph"', b'[\n  {\n    "ph"', b'[ {"ph"')


def file_name(path: str) -> str:
    """The last part of a path."""
    return os.path.basename(path)  # noqa: PTH119


def process_id(event: EventFile) -> int | None:
    """The process id in the name of a tfevents file."""
    split = filenames.split_events(file_name(event.path))
    return None if split is None else split[2]


def event_files(files: Iterable[FoundFile], folder: str) -> list[EventFile]:
    """The tfevents among the files of a folder."""
    name = file_name(folder)
    is_group = name in filenames.PARTS or name == filenames.MARKERS_FOLDER
    group = name if is_group else ""
    events = []
    for file in files:
        if filenames.is_events(file.name):
            kind = "profile-empty" if file.name.endswith(".profile-empty") else "scalars"
            events.append(
                EventFile(
                    path=file.path,
                    group=group,
                    kind=kind,
                    size=file.size,
                )
            )
    return events


def profile_file(file: FoundFile) -> ProfileFile | None:
    """A file as a profile; None where its name is no profile's that can be read."""
    split = filenames.split_tool(file.name)
    if split is None or not filenames.readable(split[1]):
        return None
    host, tool = split
    return ProfileFile(
        path=file.path,
        host=host,
        tool=tool,
        size=file.size,
    )


class SortedFiles:
    """The files of a folder by what they are to a run."""

    def __init__(self, *, is_run_folder: bool) -> None:
        self.profiles: list[ProfileFile] = []
        self.copies: list[FoundFile] = []  # of a profile, without a host in their names
        self.results: list[OtherFile] = []
        self.unread: list[OtherFile] = []
        self.ignored: list[OtherFile] = []
        self._is_run_folder = is_run_folder

    def add(self, file: FoundFile) -> None:
        """One more file."""
        split = filenames.split_tool(file.name)
        if split is None:
            self._add_by_content(file)
            return
        host, tool = split
        if filenames.readable(tool):
            self._add_profile(file, host, tool)
            return
        other_file = OtherFile(
            path=file.path,
            host=host,
            tool=tool,
            size=file.size,
            what="",
        )
        if tool in filenames.CACHES:
            self.ignored.append(other_file._replace(what=filenames.CACHES[tool]))
        elif tool not in filenames.RESULTS:
            self.unread.append(other_file._replace(what=filenames.unread()[tool]))
        elif host or self._is_run_folder or tool in filenames.CERTAIN_RESULTS:
            self.results.append(other_file._replace(what=filenames.RESULTS[tool]))

    def _add_by_content(self, file: FoundFile) -> None:
        """A file whose name says nothing."""
        if self._is_run_folder and file.name == filenames.SECOND_COPY:
            self.copies.append(file)
            return
        trace = _unknown_trace(file)
        if trace is not None:
            self.unread.append(trace)

    def _add_profile(self, file: FoundFile, host: str, tool: str) -> None:
        """A file that is called like a profile; other tools call their traces so, too."""
        if filenames.certain(tool) or self._is_run_folder or reader_takes(file):
            self.profiles.append(
                ProfileFile(
                    path=file.path,
                    host=host,
                    tool=tool,
                    size=file.size,
                )
            )
        elif tool not in _OFTEN_OTHERS:
            kind = "trace in an unknown JSON form"
            self.unread.append(
                OtherFile(
                    path=file.path,
                    host=host,
                    tool=tool,
                    size=file.size,
                    what=kind,
                )
            )


def one_per_host(
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


def without_twins(profiles: tuple[ProfileFile, ...]) -> tuple[tuple[ProfileFile, ...], list[Warn]]:
    """(the first of the profiles with the same bytes, a problem for each of the others).

    The same bytes under two names are one host's profile.
    """
    first_of: dict[str, ProfileFile] = {}  # by the path of each of its twins
    for first, *twins in _groups_alike(profiles):
        first_of.update((twin.path, first) for twin in twins)
    problems = []
    for profile in profiles:
        first = first_of.get(profile.path, profile)
        if first is profile:
            continue
        cause = (
            f"has the same bytes as {Path(first.path).name}: one host's profile under "
            "two names, counted once"
        )
        problems.append(Warn(file=profile.path, where="", cause=cause))
    return tuple(profile for profile in profiles if profile.path not in first_of), problems


def _groups_alike(profiles: tuple[ProfileFile, ...]) -> list[list[ProfileFile]]:
    """The profiles with the same bytes, two and more together.

    What is cheap to know is compared first: most hosts of a run already differ in size, and those
    that do not, at their end.
    """
    groups = [[profile for profile in profiles if profile.size]]
    traits: tuple[Callable[[ProfileFile], int | bytes], ...] = (_size, _ending, _samples)
    for trait in traits:
        groups = [alike for group in groups for alike in _split(group, trait) if len(alike) > 1]
    return groups


def _split(
    profiles: list[ProfileFile],
    trait: Callable[[ProfileFile], int | bytes],
) -> Iterable[list[ProfileFile]]:
    """The profiles by a trait; each group is in the order of the profiles."""
    groups: dict[int | bytes, list[ProfileFile]] = {}
    for profile in profiles:
        groups.setdefault(trait(profile), []).append(profile)
    return groups.values()


def _size(profile: ProfileFile) -> int:
    return profile.size


def _ending(profile: ProfileFile) -> bytes:
    """The last bytes of the file; nothing of one on another machine, which has a checksum."""
    if elsewhere.away(profile.path):
        return b""
    try:
        with open_regular(profile.path) as stream:
            stream.seek(max(0, profile.size - _ENDING_BYTES))
            return stream.read(_ENDING_BYTES)
    except OSError:
        return os.fsencode(profile.path)


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
        return OtherFile(
            path=file.path,
            host=stem,
            tool="tmp",
            size=file.size,
            what=cause,
        )
    if not file.name.lower().endswith((".json", ".json.gz")) or file.size < 64:
        return None
    head = head_of(file.path)
    is_chrome = b'"traceEvents"' in head or head.lstrip().startswith(_CHROME_BEGINS)
    # A head may end before the events: these members are what Kineto writes first.
    has_first_members = b'"schemaVersion"' in head and b'"deviceProperties"' in head
    if not is_chrome and not has_first_members:
        return None
    is_kineto = b"deviceProperties" in head or b"schemaVersion" in head
    cause = "PyTorch (Kineto) trace" if is_kineto else "Chrome trace"
    return OtherFile(
        path=file.path,
        host=stem,
        tool="json",
        size=file.size,
        what=cause,
    )


def reader_takes(file: FoundFile) -> bool:
    """Whether a reader of profiles recognizes this head.

    Asked only where the name does not settle it.
    """
    from powertui.data.formats import registry

    head = head_of(file.path, 65_536)
    return any(reader.sniff(head, file.path) > 0 for reader in registry.readers())
