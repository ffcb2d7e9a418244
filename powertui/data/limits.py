"""How much memory reading one file may take, and how much of a folder is looked at: one rule for
all readers, and for folders here and on other machines.

    half of what is free: of this machine, of the cgroup that powertui runs in, of the address space
    it may use

A reader says what it is about to take (`MemoryLimit.check`) before it takes it, so that a damaged
file, a mistaken name or a bomb costs one sentence and not the machine. `--max-memory SIZE` sets the
limit by hand, `--max-memory none` lifts it.

What is packed counts unpacked. Without a limit by hand, gzip that unpacks to more than
`_MAX_GZIP_RATIO` times its size is cut there, too: profiles and logs pack to a fifth or a fiftieth,
endless zeros to a thousandth.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from powertui import units
from powertui.errors import UnreadableFile, UsageError
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_FREE_DIVISOR = 2  # half of the free memory
UNCHECKED_BYTES = 64 << 20  # a smaller need is never refused
_MAX_GZIP_RATIO = 250
RATIO_FROM = 128 << 20  # bytes that may come out of any gzip stream
UNKNOWN = 8 << 30  # taken as free where it is not known
PIECE = 1 << 20
HINT = (
    "Set another limit with --max-memory SIZE, or none with --max-memory none (max_memory= "
    "in Python)."
)

# How much of a tree is looked at. A home folder given by mistake must not take minutes.
MAX_ENTRIES = 200_000
MAX_DEPTH = 40
# Trees that hold no logs and are large.
FOLDERS_WITHOUT_LOGS = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "node_modules",
    "site-packages",
    "dist-packages",
    ".venv",
    ".cache",
)

_SIZE = late_pattern(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class MemoryLimit:
    """The limit for one file.

    `said` is a person's own in bytes, infinite for none; None: what this machine bears.
    """

    said: float | None = None

    @classmethod
    def parse(cls, text: str | int | None) -> MemoryLimit:
        """From `--max-memory`: "24G", "500M", a number of bytes, or "none"."""
        if text is None:
            return cls()
        if str(text).strip().lower() == "none":
            return cls(float("inf"))
        match = _SIZE.fullmatch(str(text).strip())
        if match is None or not float(match[1]):
            raise UsageError(
                f"--max-memory {text}: is not a size",
                hint="Write it as 500M or 24G, or none for no limit.",
            )
        return cls(float(match[1]) * _UNITS[match[2].upper()])

    def exceeded(self, need: float) -> str:
        """Why this many bytes are too much; "" when they are not."""
        if self.said is not None:
            if need > self.said:
                return f"more than the {units.size(self.said)} of --max-memory"
            return ""
        if need <= UNCHECKED_BYTES:
            return ""
        free = available()
        if need > free / _FREE_DIVISOR:
            return f"more than half of the {units.size(free)} free here"
        return ""

    def check(self, path: str, need: float, what: str = "reading it takes") -> None:
        """Raise `UnreadableFile` when this many bytes are too much."""
        why = self.exceeded(need)
        if why:
            raise UnreadableFile(
                path, f"{what} about {units.size(need)} of memory, {why}", hint=HINT
            )

    def unpacks_too_far(self, packed: int, unpacked: int) -> str:
        """Why no file that people keep unpacks so far; "" when it may be one."""
        if self.said is None and unpacked > RATIO_FROM and unpacked > _MAX_GZIP_RATIO * packed:
            return (
                f"it unpacks to more than {_MAX_GZIP_RATIO} times its size, as no log or profile "
                f"does: the rest was left out. {HINT}"
            )
        return ""


MACHINE = MemoryLimit()
"""What a person says nothing about."""


def read_all(stream: BinaryIO, path: str, limit: MemoryLimit, *, times: float = 1) -> bytes:
    """A pipe to its end. `times` is how much memory each of its bytes will take."""
    out = bytearray()
    next_check = UNCHECKED_BYTES
    while piece := stream.read(PIECE):
        out += piece
        if len(out) > next_check:  # asked now and then: what is free changes
            next_check += UNCHECKED_BYTES
            limit.check(path, len(out) * times, "the piped data takes")
    return bytes(out)


# ── what is free ─────────────────────────────────────────────────────────────────────────────────


def available(root: Path = Path("/")) -> float:
    """Bytes that this process can still take, by whichever knows least of it."""
    bounds = (*_machine(root), *_cgroups(root), *_address_space(root))
    known = [bound for bound in bounds if bound >= 0]
    return min(known, default=UNKNOWN)


def _machine(root: Path) -> Iterator[float]:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


class _GroupFiles(NamedTuple):
    """Where a version of control groups keeps the memory of a group."""

    top: str
    limit: str
    usage: str
    reclaimable: str  # an entry of memory.stat


_GROUPS_V2 = _GroupFiles(
    top="sys/fs/cgroup",
    limit="memory.max",
    usage="memory.current",
    reclaimable="inactive_file",
)


_GROUPS_V1 = _GroupFiles(
    top="sys/fs/cgroup/memory",
    limit="memory.limit_in_bytes",
    usage="memory.usage_in_bytes",
    reclaimable="total_inactive_file",
)


_MAX_GROUP_LIMIT = 1 << 60  # version 1 writes its largest number for no limit


def _cgroups(root: Path) -> Iterator[float]:
    """What is left in each group above this process: version 2, then version 1."""
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            files = _GROUPS_V2
        elif "memory" in controllers.split(","):
            files = _GROUPS_V1
        else:
            continue
        top = root / files.top
        below = Path(path.lstrip("/"))
        for folder in (below, *below.parents):
            yield from _left_in_group(top / folder, files)


def _left_in_group(folder: Path, files: _GroupFiles) -> Iterator[float]:
    """What is left in one group, where it has a limit; cached files are given up when needed."""
    limit = _number(folder / files.limit)
    used = _number(folder / files.usage)
    if limit is None or used is None or limit >= _MAX_GROUP_LIMIT:
        return
    reclaimable = 0
    for entry in _lines(folder / "memory.stat"):
        if entry.startswith(files.reclaimable + " "):
            reclaimable += int(entry.split()[1])
    yield max(limit - used + reclaimable, 0)


def _address_space(root: Path) -> Iterator[float]:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return
    used_pages = 0
    for line in _lines(root / "proc/self/statm")[:1]:
        used_pages = int(line.split()[0])
    used = used_pages * os.sysconf("SC_PAGE_SIZE")
    yield max(soft - used, 0)


def _number(path: Path) -> int | None:
    text = next(iter(_lines(path)), "")
    if not text.isdecimal():
        return None
    return int(text)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
