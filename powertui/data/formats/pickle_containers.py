"""The containers of a pickle while it is read, and what may stand for them once they are closed."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol


class Folding(Protocol):
    """What becomes of containers as they close. Both give back what stands for the container: the
    container itself, or something smaller.
    """

    def dict_closed(self, items: dict[Any, Any], /) -> Any: ...

    def items_closed(self, items: list[Any], /) -> list[Any]:
        """Items that a list takes, perhaps fewer."""
        ...


class FoldedAway:
    """What stands for a folded container. `shared`: others may refer to it, too."""

    __slots__ = ()
    shared: ClassVar[bool] = False


class ItemList:
    """A list as it is read: what `Folding` makes of its items."""

    __slots__ = ("items", "place")

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.place = -1  # in the memo


class OpenDict:
    """A dict that may still be filled."""

    __slots__ = ("items", "place")

    def __init__(self) -> None:
        self.items: dict[Any, Any] = {}
        self.place = -1  # in the memo


def items_of(value: Any) -> dict[Any, Any]:
    """The items of a dict of a pickle; none of anything else."""
    return value.items if isinstance(value, OpenDict) else {}
