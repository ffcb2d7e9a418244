"""Runs whose profiles are equal to the byte: copies of one recording, not two runs.

Two recordings never are: their times alone differ. Counted as two they would make a comparison
sure of what was seen once. Only files of equal size are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from powertui.data.logdir.entries import ProfileFile, RunEntry
from powertui.opening import open_regular

_CHUNK_BYTES = 1 << 20  # of one read


class Recordings:
    """Tells copies of a recording from recordings; each file is read once."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def without_copies(self, entries: Sequence[RunEntry]) -> list[RunEntry]:
        """The first of each recording, in their order."""
        kept: list[RunEntry] = []
        for entry in entries:
            if not any(self.are_copies(entry, other) for other in kept):
                kept.append(entry)
        return kept

    def in_both(self, a: Sequence[RunEntry], b: Sequence[RunEntry]) -> list[RunEntry]:
        """The runs of A of which B has a copy, or which B has itself."""
        return [entry for entry in a if any(self.are_copies(entry, other) for other in b)]

    def are_copies(self, entry: RunEntry, other: RunEntry) -> bool:
        """Whether both have the same profiles of the same hosts."""
        if not entry.profiles or _sizes(entry) != _sizes(other):
            return False
        paths = _paths(entry), _paths(other)
        if paths[0] == paths[1]:
            return True
        try:
            return all(map(self._same, *paths))
        except OSError:
            return False  # whoever reads it says why it cannot be read

    def _same(self, path: str, other: str) -> bool:
        return self._digest(path) == self._digest(other)

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            digest = hashlib.blake2b()
            with open_regular(path) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
            self._digests[path] = digest.hexdigest()
        return self._digests[path]


def _sizes(entry: RunEntry) -> list[tuple[str, int]]:
    return [(file.host, file.size) for file in _by_host(entry)]


def _paths(entry: RunEntry) -> list[str]:
    return [file.path for file in _by_host(entry)]


def _by_host(entry: RunEntry) -> list[ProfileFile]:
    return sorted(entry.profiles, key=lambda file: (file.host, file.size))
