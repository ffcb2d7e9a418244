"""Which names of a listing can be kept here, and what is wrong with the others."""

from __future__ import annotations

import os

from powertui.data.limits import MAX_DEPTH
from powertui.data.model import Warn

# Of folders below the one that is asked for: plugins/ may lie above that one.
_MAX_LEVELS = MAX_DEPTH + 5
_MAX_PROBLEMS = 200  # names with problems that are shown one by one
TROUBLE = {
    "u": "cannot be listed: permission denied",
    "l": "cannot be examined: a link to nothing",
    **dict.fromkeys("psbcD", "is not a plain file, so it was not opened"),
}


class NameProblems:
    """What is wrong with names, the first of them by name: a hostile host could make a page of
    each.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._first: list[Warn] = []
        self._others = 0

    def add(self, path: str, cause: str) -> None:
        """One more."""
        if len(self._first) < _MAX_PROBLEMS:
            self._first.append(Warn(path, "", cause))
        else:
            self._others += 1

    def all(self) -> list[Warn]:
        """Those that have names, and how many more there were."""
        more = (
            [Warn(self._address, "", f"{self._others:,} more names have problems like these")]
            if self._others
            else []
        )
        return [*self._first, *more]


def is_below(path: str, root: str) -> bool:
    """Whether a listed path is the root or inside it, and no deeper than we follow."""
    top = _around(root)
    if path != root and not path.startswith(top):
        return False
    return path.count("/") <= top.count("/") + _MAX_LEVELS


def impossible_names(count: int) -> str:
    if count == 1:
        return "1 impossible name was"
    return f"{count:,} impossible names were"


def _around(root: str) -> str:
    """The folder that everything of a listing lies in: a run's scalars lie above its plugins/."""
    above, plugins, _ = (root + "/").partition("/plugins/")
    return (above if plugins else root).rstrip("/") + "/"


def clean_path(path: str) -> str | None:
    """An absolute path that stays where it says; None for any other."""
    parts = path.split("/")[1:]
    stays = path.startswith("/") and not any(
        part in (".", "..") or len(os.fsencode(part)) > 250 for part in parts
    )
    return path if stays else None
