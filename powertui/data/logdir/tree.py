"""A walk through a folder tree that ends: bounded, each folder once, and nothing opened that is no plain file.

Links are followed, loops are not. What cannot be listed or looked at is a problem with its name and cause, never an
exception. Names are kept as the system gives them, odd ones too.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from powertui.data import elsewhere
from powertui.data.formats import filenames
from powertui.data.model import Warn

# How much of a tree is looked at. A home folder given by mistake must not take minutes.
MAX_ENTRIES = 200_000
MAX_DEPTH = 40

# Trees that hold no logs and are large.
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", "site-packages", "dist-packages", ".venv", ".cache"})


class FoundFile(NamedTuple):
    """One plain file and its size."""

    path: str
    name: str
    size: int


@dataclass
class Tree:
    """What one walk has seen so far. Folders are listed once, whoever asks."""

    root: Path
    problems: list[Warn] = field(default_factory=list)
    entries: int = 0
    truncated: bool = False
    listed: dict[str, tuple[list[FoundFile], list[str]]] = field(default_factory=dict)
    _exists: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._within = str(self.root).rstrip(os.sep) + os.sep

    def walk(self) -> Iterator[str]:
        """All folders below the root, each once, in a stable order. Links are followed, loops are not."""
        seen: set[tuple[int, int]] = set()
        stack: list[tuple[str, int]] = [(str(self.root), 0)]
        while stack:
            folder, depth = stack.pop()
            try:
                status = os.stat(folder)  # noqa: PTH116
            except OSError as error:
                self.problems.append(Warn(folder, "", f"cannot be examined: {reason(error)}"))
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            _, below = self.listing(folder)
            yield folder
            if self.entries >= MAX_ENTRIES or depth >= MAX_DEPTH:
                if (below or (stack and self.entries >= MAX_ENTRIES)) and not self.truncated:
                    self.truncated = True
                    what = f"{self.entries:,} names" if self.entries >= MAX_ENTRIES else f"{depth} levels of folders"
                    self.problems.append(
                        Warn(
                            str(self.root),
                            "",
                            f"the tree is too large to scan: stopped after {what}. Name a folder further down",
                        )
                    )
                if self.entries >= MAX_ENTRIES:
                    return
                continue
            stack.extend((name, depth + 1) for name in reversed(below))

    def listing(self, folder: str) -> tuple[list[FoundFile], list[str]]:
        """(files that may matter, folders) of one folder, both by name."""
        if folder in self.listed:
            return self.listed[folder]
        files: list[FoundFile] = []
        below: list[str] = []
        try:
            with os.scandir(folder) as entries:
                found = sorted(islice(entries, MAX_ENTRIES), key=lambda entry: entry.name)
        except OSError as error:
            self.problems.append(Warn(folder, "", f"cannot be listed: {reason(error)}"))
            found = []
        if folder.startswith(self._within) or folder == str(self.root):  # what is asked for beside the tree is not the tree
            self.entries += len(found)
        for entry in found:
            try:
                if entry.is_dir():
                    if entry.name not in _SKIPPED:
                        below.append(entry.path)
                elif may_matter(entry.name):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode):
                        files.append(FoundFile(entry.path, entry.name, status.st_size))
                    else:
                        self.problems.append(Warn(entry.path, "", "is not a plain file, so it was not opened"))
            except OSError as error:
                self.problems.append(Warn(entry.path, "", f"cannot be examined: {reason(error)}"))
        self.listed[folder] = (files, below)
        return self.listed[folder]

    def exists(self, folder: str) -> bool:
        """Whether this is a folder; one that may not be looked at is not. Thousands of runs ask for the same few."""
        known = self._exists.get(folder)
        if known is None:
            known = self._exists[folder] = folder in self.listed or os.path.isdir(folder)  # noqa: PTH112
        return known


def may_matter(name: str) -> bool:
    """Whether a file of this name can be of use; the others are not even looked at."""
    return (
        filenames.is_events(name)
        or filenames.split_tool(name) is not None
        or may_be_power(name)
        or name.lower().endswith((".json", ".json.gz", *filenames.UNFINISHED))
    )


def may_be_power(name: str) -> bool:
    """Whether a power log could be called so."""
    return name.lower().endswith(filenames.POWER_ENDINGS) and not filenames.is_events(name)


def head_of(path: str, count: int = 4096) -> bytes:
    """The first bytes of a file, unpacked when it is gzip. Empty when it cannot be read."""
    if (known := elsewhere.head(path, elsewhere.HEAD)) is not None:
        return _unpacked(known, count)
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(count)
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(path) as stream:
                head = stream.read(count)
    except (OSError, EOFError, zlib.error):
        return b""
    return head


def _unpacked(head: bytes, count: int) -> bytes:
    """As much as the first bytes of a file hold."""
    if not head.startswith(b"\x1f\x8b"):
        return head[:count]
    try:
        return zlib.decompressobj(31).decompress(head, count)
    except zlib.error:
        return b""


def reason(error: OSError | ValueError) -> str:
    """What the system says, in its own words and lower case."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
