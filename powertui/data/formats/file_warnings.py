"""What of a file could not be read or was left out: warnings, counted instead of repeated."""

from __future__ import annotations

from collections.abc import Hashable

from powertui.data.model import (
    Warn,
)

MAX_FINDINGS = 1000  # different ones of one file: who reads so many?
# Each process and line costs some 0.3 ms and 5 KB, in the reader, the search for steps and the
# screens together. Perfetto traces of whole machines have some thousands of lines. A file of a
# million processes must not take minutes.
MAX_PROCESSES = 10_000
MAX_LINES = 50_000


class FileWarnings:
    """Warnings of one file, the same ones counted instead of repeated."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.missing = ""  # the first of what `lose` was told
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, cause: str, where: str = "", count: int = 1) -> None:
        """Something could not be read or believed."""
        if count > 0:
            if len(self._counts) >= MAX_FINDINGS and (where, cause) not in self._counts:
                where, cause = "", "there is more that could not be read"
            self._counts[where, cause] = self._counts.get((where, cause), 0) + count

    def lose(self, cause: str, where: str = "") -> None:
        """A part of the file is not there or cannot be read, which may be what took the time."""
        self.missing = self.missing or cause
        self.add(f"{cause}; what came before was read", where)

    def all(self) -> tuple[Warn, ...]:
        """What was found so far, in the order of its first appearance."""
        return tuple(
            Warn(self.path, where, cause, count) for (where, cause), count in self._counts.items()
        )


class LineQuota:
    """Which lines of a file are read: the first ones, as many as powertui draws.

    What is on the others is counted.
    """

    def __init__(self) -> None:
        self.left_out = 0  # events on lines that are not read
        self._lines = 0
        self._processes: set[Hashable] = set()

    def admits(self, process: Hashable) -> bool:
        """Whether one more line of this process is read."""
        if self._lines >= MAX_LINES or (
            process not in self._processes and len(self._processes) >= MAX_PROCESSES
        ):
            return False
        self._processes.add(process)
        self._lines += 1
        return True

    def say(self, findings: FileWarnings) -> None:
        """Tell how much was left out."""
        limit = f"more than {MAX_PROCESSES:,} processes or {MAX_LINES:,} lines"
        findings.add(f"there are {limit}; events on the others were left out", count=self.left_out)
