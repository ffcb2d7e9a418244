"""As few words as still break it: whole stretches are left out first, then single words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .play import Episode

Player = Callable[[Episode], Episode]


def shrink(broken: Episode, player: Player, *, seconds: float = 20.0, tries: int = 2) -> Episode:
    """A smaller episode with trouble.

    What comes and goes with the machine's timing may not get smaller: then it is as it was.
    """
    end = time.monotonic() + seconds

    def breaks(words: list[str]) -> Episode | None:
        for _ in range(tries):
            if time.monotonic() > end:
                return None
            tried = player(replace(broken, words=words, trouble=[]))
            if tried.trouble:
                return tried
        return None

    best = broken
    length = max(1, len(best.words) // 2)
    while time.monotonic() < end:
        at, smaller = 0, False
        while at < len(best.words) and time.monotonic() < end:
            found = breaks(best.words[:at] + best.words[at + length :])
            if found is not None:
                best, smaller = found, True
            else:
                at += length
        if length == 1 and not smaller:
            break
        length = max(1, length // 2)
    return best
