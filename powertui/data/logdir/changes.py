"""Whether something came into a tree of folders or left it: asked of the folders' own times, which costs next to nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence

AT_ONCE = 300  # folders that are asked at one look: the outermost always, of the others these many by turns


class Changes:
    """The folders of one scan. `since`: when it began (Unix ns), so that what came while it went on is not missed."""

    def __init__(self, folders: Sequence[str], since: int, at_once: int = AT_ONCE) -> None:
        ordered = sorted(folders, key=lambda folder: folder.count(os.sep))
        self._always, self._others = ordered[:at_once], ordered[at_once:]
        self._at_once = at_once
        self._turn = 0  # the next of the others
        self._times: dict[str, int | None] = {}
        self._since = since

    def look(self) -> bool:
        """Whether one of the folders that are asked this time is another than before."""
        by_turns = self._others[self._turn : self._turn + self._at_once]
        self._turn = self._turn + self._at_once if self._turn + self._at_once < len(self._others) else 0
        moved = False
        for folder in (*self._always, *by_turns):
            now = _time(folder)
            moved |= now != self._times[folder] if folder in self._times else now is None or now >= self._since
            self._times[folder] = now
        return moved


def _time(folder: str) -> int | None:
    """When something came into it or left it; None when it is gone."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
