"""A walk through a folder tree that ends: bounded, each folder once, and nothing opened that is no
plain file.

Links are followed, loops are not. What cannot be listed or looked at is a problem with its name and
cause, never an exception. Names are kept as the system gives them, odd ones too.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import field
from itertools import islice
from pathlib import Path

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.gzip_stream import GZIP, GzipStream
from powertui.data.limits import FOLDERS_WITHOUT_LOGS, MAX_DEPTH, MAX_ENTRIES
from powertui.data.model import Warn
from powertui.named_tuples import NamedTuple
from powertui.opening import open_for_reading
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

# Runs are linked one by one or by the folder that they lie in. What holds more names is a disk, not
# a logdir.
MAX_LINKED_ENTRIES = 20_000

_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev")  # their files are not on a disk, and some never end

_POWER_NAME = late_pattern(
    r"(?<![a-z])(power|watts?|wattage|ipmi|dcmi|redfish|bmc|idrac|ilo|psu|pdu|leistung)(?![a-z])"
)
_ROTATED = late_pattern(r"\.\d{1,3}(?=(?:\.gz)?$)")  # what logrotate puts behind a log's name


class FoundFile(NamedTuple):
    """One plain file and its size."""

    path: str
    name: str
    size: int


class _Step(NamedTuple):
    """A folder that a walk comes to."""

    folder: str
    depth: int
    linked: bool  # a link leads to it, or to a folder above it


class _Links:
    """Which folders behind links a walk goes into: none that the tree itself is in, none of the
    system's, and not too many.
    """

    def __init__(self, root: str) -> None:
        self.entries = 0  # names in folders that links lead to
        self._root = root
        self._real_root = os.path.realpath(root)
        own_devices = {_device(root), _device(os.sep)}
        self._system_devices = {_device(folder) for folder in _SYSTEM_FOLDERS} - own_devices
        self._above: list[str] = []
        self._system: list[str] = []
        self._unsearched: list[str] = []

    def admit(self, step: _Step, device: int) -> bool:
        """Whether the walk goes into this folder."""
        if device in self._system_devices:
            self._system.append(step.folder)
            return False
        if not step.linked:
            return True
        real = os.path.realpath(step.folder)
        if self._real_root.startswith(real.rstrip(os.sep) + os.sep):
            self._above.append(step.folder)
            return False
        if self.entries >= MAX_LINKED_ENTRIES:
            self._unsearched.append(step.folder)
            return False
        return True

    def problems(self) -> list[Warn]:
        """What was not searched and why, one sentence for each kind."""
        kinds = (
            (self._above, "leads to a folder above the logdir and was not followed"),
            (self._system, "is a folder of the system (/proc, /sys or /dev) and was not searched"),
            (
                self._unsearched,
                f"was not searched: the links here lead to more than {MAX_LINKED_ENTRIES:,} names",
            ),
        )
        return [
            Warn(
                file=folders[0],
                where="",
                cause=cause + _and_more(len(folders) - 1),
            )
            for folders, cause in kinds
            if folders
        ]


def _and_more(count: int) -> str:
    if not count:
        return ""
    return f" … and {count:,} more {'folder was' if count == 1 else 'folders were'} not searched"


def _device(folder: str) -> int:
    try:
        return os.stat(folder).st_dev  # noqa: PTH116
    except OSError:
        return -1


@dataclass
class Tree:
    """What one walk has seen so far. Folders are listed once, whoever asks."""

    root: Path
    problems: list[Warn] = field(default_factory=list)
    entries: int = 0
    truncated: bool = False
    listed: dict[str, tuple[list[FoundFile], list[str]]] = field(default_factory=dict)
    _exists: dict[str, bool] = field(default_factory=dict)
    _links: set[str] = field(default_factory=set)  # folders of a listing that a link leads to

    def __post_init__(self) -> None:
        self._within = str(self.root).rstrip(os.sep) + os.sep

    def walk(self) -> Iterator[str]:
        """All folders below the root, each once, in a stable order.

        Links are followed, but not to where the tree itself lies.
        """
        links = _Links(str(self.root))
        visited: set[tuple[int, int]] = set()
        stack: list[_Step] = [
            _Step(
                folder=str(self.root),
                depth=0,
                linked=False,
            )
        ]
        while stack:
            step = stack.pop()
            try:
                status = os.stat(step.folder)  # noqa: PTH116
            except OSError as error:
                self.problems.append(
                    Warn(
                        file=step.folder,
                        where="",
                        cause=f"cannot be examined: {reason(error)}",
                    )
                )
                continue
            place = (status.st_dev, status.st_ino)
            if place in visited or not links.admit(step, status.st_dev):
                continue
            visited.add(place)
            files, below = self.listing(step.folder)
            links.entries += (len(files) + len(below)) if step.linked else 0
            yield step.folder
            if self.entries >= MAX_ENTRIES:
                self._stop(f"{self.entries:,} names", len(stack) + len(below))
                break
            if step.depth >= MAX_DEPTH:
                self._stop(f"{step.depth} levels of folders", len(below))
                continue
            for name in reversed(below):
                linked = step.linked or name in self._links
                stack.append(_Step(folder=name, depth=step.depth + 1, linked=linked))
        self.problems += links.problems()

    def _stop(self, reach: str, unsearched: int) -> None:
        """Say once that the walk does not go on here."""
        if unsearched and not self.truncated:
            self.truncated = True
            more = (
                f"{unsearched:,} more {'folder was' if unsearched == 1 else 'folders were'} "
                "not searched"
            )
            cause = (
                f"the tree is too large to scan: stopped after {reach}, … and {more}. Name "
                "a folder further down"
            )
            self.problems.append(
                Warn(
                    file=str(self.root),
                    where="",
                    cause=cause,
                )
            )

    def listing(self, folder: str) -> tuple[list[FoundFile], list[str]]:
        """(files that may matter, folders) of one folder, both by name."""
        if folder in self.listed:
            return self.listed[folder]
        files: list[FoundFile] = []
        below: list[str] = []
        try:
            with os.scandir(folder) as entries:
                entries_here = sorted(islice(entries, MAX_ENTRIES), key=lambda entry: entry.name)
        except OSError as error:
            self.problems.append(
                Warn(
                    file=folder,
                    where="",
                    cause=f"cannot be listed: {reason(error)}",
                )
            )
            entries_here = []
        if folder.startswith(self._within) or folder == str(
            self.root
        ):  # what is asked for beside the tree is not the tree
            self.entries += len(entries_here)
        for entry in entries_here:
            try:
                if entry.is_dir():
                    if entry.name not in FOLDERS_WITHOUT_LOGS:
                        below.append(entry.path)
                        if entry.is_symlink():
                            self._links.add(entry.path)
                elif may_matter(entry.name):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode):
                        files.append(
                            FoundFile(path=entry.path, name=entry.name, size=status.st_size)
                        )
                    else:
                        self.problems.append(
                            Warn(
                                file=entry.path,
                                where="",
                                cause="is not a plain file, so it was not opened",
                            )
                        )
            except OSError as error:
                self.problems.append(
                    Warn(
                        file=entry.path,
                        where="",
                        cause=f"cannot be examined: {reason(error)}",
                    )
                )
        self.listed[folder] = (files, below)
        return self.listed[folder]

    def exists(self, folder: str) -> bool:
        """Whether this is a folder; one that may not be looked at is not.

        Thousands of runs ask for the same few.
        """
        is_there = self._exists.get(folder)
        if is_there is None:
            is_there = self._exists[folder] = folder in self.listed or os.path.isdir(folder)  # noqa: PTH112
        return is_there


def may_matter(name: str) -> bool:
    """Whether a file of this name can be of use; the others are not even looked at."""
    return (
        filenames.is_events(name)
        or filenames.split_tool(name) is not None
        or may_be_power(name)
        or name.lower().endswith((".json", ".json.gz", *filenames.UNFINISHED))
    )


def may_be_power(name: str) -> bool:
    """Whether a power log could be called so, or a part of one that was rotated (power.csv.1)."""
    bare = _ROTATED.sub("", name.lower())
    if filenames.is_events(name):
        return False
    if bare.endswith(filenames.POWER_ENDINGS):
        return True
    return bare.endswith(filenames.NAMED_POWER_ENDINGS) and says_power(name)


def says_power(name: str) -> bool:
    """Whether a file's name says that it holds power: power.csv, node3_watts.txt."""
    return bool(_POWER_NAME.search(name.lower()))


def head_of(path: str, count: int = 4096) -> bytes:
    """The first bytes of a file, unpacked when it is gzip. Empty when it cannot be read."""
    if (mirrored := elsewhere.head(path, elsewhere.HEAD_BYTES)) is not None:
        return _unpacked(mirrored, count)
    try:
        with open_for_reading(path) as stream:
            head = stream.read(count)
            if not head.startswith(GZIP):
                return head
            file = stream.fileno()
            return _first(
                GzipStream(os.fstat(file).st_size, lambda lo, hi: os.pread(file, hi - lo, lo)),
                count,
            )
    except OSError:
        return b""


def _unpacked(head: bytes, count: int) -> bytes:
    """As much as the first bytes of a file hold."""
    if not head.startswith(GZIP):
        return head[:count]
    return _first(GzipStream(len(head), lambda lo, hi: head[lo:hi]), count)


def _first(packed: GzipStream, count: int) -> bytes:
    """So many bytes of what a gzip file unpacks to, or all that can be unpacked."""
    out = b""
    try:
        while len(out) < count and not packed.ended:
            out += packed.unpack(count - len(out))
    except zlib.error:
        return out
    return out


def reason(error: OSError | ValueError) -> str:
    """What the system says, in its own words and lower case."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
