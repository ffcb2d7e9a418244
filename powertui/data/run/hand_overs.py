"""Hand-overs of work between nodes, collected piece by piece as stats are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s
from powertui.named_tuples import NamedTuple

# A context with this many on both sides connects nothing with anything. Chosen, not measured.
_CROWD_SIZE = 64
MISSING = -(1 << 62)


class HandOver(NamedTuple):
    """Producers and consumers of one kind of hand-over: parallel (context, node) pairs, producers
    by context.
    """

    size: int
    producers: Int32s
    producer_starts: Int64s  # where each context's producers begin
    consumers: Int32s  # each once
    consumer_of: Int32s


class NodesOfContexts(NamedTuple):
    """Nodes with the number of the context that each is of: parallel arrays."""

    node: Int32s | Int64s
    context: Int32s | Int64s


class NodePairs:
    """Nodes with a number each, collected piece by piece."""

    def __init__(self) -> None:
        self._nodes: list[Int32s] = [np.empty(0, np.int32)]
        self._values: list[Int32s] = [np.empty(0, np.int32)]

    def add(self, nodes: Int64s, values: Int64s) -> None:
        """Some more; those with a negative number are left out."""
        has_number = values >= 0
        if has_number.any():
            self._nodes.append(nodes[has_number].astype(np.int32))
            self._values.append(values[has_number].astype(np.int32))

    def all(self) -> NodesOfContexts:
        """All of them."""
        return NodesOfContexts(np.concatenate(self._nodes), np.concatenate(self._values))


def or_minus_one(values: Int64s) -> Int64s:
    """What is missing counts as -1."""
    return np.where(values == MISSING, -1, values)


class NodeStats:
    """Nodes with some of their stats, collected piece by piece."""

    def __init__(self, stats: Sequence[str]) -> None:
        self._stats = stats
        self._nodes: list[Int64s] = [np.empty(0, np.int64)]
        self._columns: list[list[Int64s]] = [[np.empty(0, np.int64)] for _ in stats]

    def add(self, nodes: Int64s, stats: dict[str, Int64s], rows: Bools) -> None:
        """Those of these nodes."""
        self._nodes.append(nodes[rows])
        for column, stat in zip(self._columns, self._stats, strict=True):
            column.append(or_minus_one(stats[stat][rows]))

    def nodes(self) -> Int64s:
        """All of them."""
        return np.concatenate(self._nodes)

    def columns(self) -> tuple[Int64s, ...]:
        """Their stats, -1 where one has none."""
        return tuple(np.concatenate(column) for column in self._columns)


def hand_over(
    count: int,
    makers: NodesOfContexts,
    users: NodesOfContexts,
    *,
    without_crowds: bool = False,
) -> HandOver:
    """Bring the nodes that hand over, and those that take, together by the number of what is handed
    over.
    """
    maker_count = np.bincount(makers.context, minlength=count)
    user_count = np.bincount(users.context, minlength=count)
    connects = (maker_count > 0) & (user_count > 0)
    if without_crowds:
        few_makers = maker_count < _CROWD_SIZE
        few_users = user_count < _CROWD_SIZE
        connects &= few_makers | few_users
    renumber = (np.cumsum(connects) - 1).astype(np.int32)
    has_user = connects[makers.context]
    has_maker = connects[users.context]
    producer = makers.node[has_user].astype(np.int32)
    context = renumber[makers.context[has_user]]
    if (context[1:] < context[:-1]).any():
        order = np.argsort(context, kind="stable")
        producer = producer[order]
        context = context[order]
    context_count = int(connects.sum())
    starts = context.searchsorted(np.arange(context_count, dtype=np.int32))
    return HandOver(
        size=len(starts),
        producers=producer,
        producer_starts=starts,
        consumers=users.node[has_maker].astype(np.int32),
        consumer_of=renumber[users.context[has_maker]],
    )
