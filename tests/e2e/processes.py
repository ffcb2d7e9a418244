"""What processes are doing, as the kernel tells: whether a program has more to do, or waits for
somebody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

PROC = Path("/proc")
# of processor time between two looks: more than threads need that only look whether there is
# something to do
WORK_NS = 3_000_000


def state(pid: int) -> str:
    """R running or waiting for a processor, S asleep, D reading a disk, T stopped, Z ended; empty
    when there is no such process.
    """
    return _stat(PROC / str(pid))[0]


def parent(pid: int) -> int:
    """The process that started this one, or has taken it over; 0 when there is no such process."""
    return _stat(PROC / str(pid))[1]


def _stat(folder: Path) -> tuple[str, int]:
    """State and parent."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[1])


def family(roots: Iterable[int]) -> set[int]:
    """These processes and all that descend from them."""
    parents = {int(entry.name): _stat(entry)[1] for entry in PROC.iterdir() if entry.name.isdigit()}
    found = set(roots)
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent in found} - found
        found |= children
        grown = bool(children)
    return found


def threads(pid: int) -> Iterator[Path]:
    """The folder of each thread."""
    with contextlib.suppress(OSError):
        yield from (PROC / str(pid) / "task").iterdir()


class Watch:
    """Looks again and again at programs and what they started."""

    def __init__(self, roots: Iterable[int]) -> None:
        self._roots = tuple(roots)
        self._used: dict[Path, int] = {}

    def busy(self) -> bool:
        """Whether one of them is at work now, waits for a processor, or has worked since the last
        look.
        """
        busy = False
        used: dict[Path, int] = {}
        for pid in family(self._roots):
            for thread in threads(pid):
                busy = busy or _stat(thread)[0] in ("R", "D")
                with contextlib.suppress(OSError, ValueError):
                    used[thread] = int((thread / "schedstat").read_text().split()[0])
        busy = busy or sum(used[thread] - self._used.get(thread, 0) for thread in used) > WORK_NS
        self._used = used
        return busy
