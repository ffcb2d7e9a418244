"""Whether something came into a tree of folders or left it: asked of the folders' own times, which
costs next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

_PLUGINS, _PROFILE = "plugins", "profile"
_SESSIONS = os.sep + os.path.join(_PLUGINS, _PROFILE)  # noqa: PTH118
_AT_ONCE = 2000  # folders that are asked at one look: those where runs come, the outermost first
_BY_TURNS = 300  # and so many of the others, by turns


class Changes:
    """The folders of one scan.

    `since`: when it began (Unix ns), so that what came while it went on is not missed.
    """

    def __init__(
        self,
        folders: Sequence[str],
        since: int,
        at_once: int = _AT_ONCE,
        by_turns: int = _BY_TURNS,
    ) -> None:
        there = set(folders)
        ordered = sorted(folders, key=lambda folder: (_seldom(folder, there), folder.count(os.sep)))
        likely = min(at_once, sum(not _seldom(folder, there) for folder in folders))
        self._always = ordered[:likely]
        self._others = ordered[likely:]
        self._by_turns = by_turns
        self._turn = 0  # the next of the others
        self._times: dict[str, int | None] = {}
        self._since = since

    def look(self) -> bool:
        """Whether one of the folders that are asked this time is another than before."""
        by_turns = self._others[self._turn : self._turn + self._by_turns]
        if self._turn + self._by_turns < len(self._others):
            self._turn = self._turn + self._by_turns
        else:
            self._turn = 0
        moved = False
        for folder in (*self._always, *by_turns):
            now = _time(folder)
            moved |= (
                now != self._times[folder]
                if folder in self._times
                else now is None or now >= self._since
            )
            self._times[folder] = now
        return moved


def _seldom(folder: str, there: set[str]) -> bool:
    """Whether hardly anything new comes into a folder: it is a session, or only leads to the folder
    of sessions that is there, or lies beside what does.
    """
    above = os.path.dirname(folder)  # noqa: PTH120
    return (
        above.endswith(_SESSIONS)
        or above + _SESSIONS in there
        or folder + _SESSIONS in there
        or (folder + os.sep + _PROFILE in there and folder.endswith(os.sep + _PLUGINS))
    )


def _time(folder: str) -> int | None:
    """When something came into it or left it; None when it is gone."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
