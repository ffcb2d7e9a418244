"""The way that led to the page in front: what Esc goes back along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

# How a page is shown. "page": one of the pages in the top line; one that was left before is gone
# back to, so that going to and fro leaves no trail. "into": something on this page led there.
# "back": Esc.
Arriving: TypeAlias = Literal["page", "into", "back"]

_MAX_TRAIL_PAGES = 20
_NOT_KEPT = ("help",)  # nobody wants to come back to it


class Trail:
    """Names of pages, the last one first to go back to."""

    def __init__(self) -> None:
        self._left: list[str] = []

    @property
    def last(self) -> str:
        """Where Esc leads; "" when this is where one began."""
        return self._left[-1] if self._left else ""

    def __iter__(self) -> Iterator[str]:
        """The pages that Esc leads back along, the nearest first."""
        return reversed(self._left)

    def __len__(self) -> int:
        return len(self._left)

    def turn(self, before: str, to: str, how: Arriving) -> None:
        """From one page to another."""
        if how == "back":
            if self._left and self._left[-1] == to:
                self._left.pop()
            return
        if how == "page" and to in self._left:
            del self._left[self._left.index(to) :]
            return
        if before not in _NOT_KEPT and before != self.last:
            self._left.append(before)
            del self._left[:-_MAX_TRAIL_PAGES]
        if self.last == to:
            self._left.pop()
