"""The calls of tf.data's iterators: which call asked for each, and how long it worked by itself.

Every call of an iterator is an event that names the whole path from the root. Iterators that work
ahead run on threads of their own: what they produce (`PrefetchProduce`) and who consumes it carry
the same element's number. The own time of a call is what none of its children's calls overlaps; a
child blocks its parent as far as their calls overlap.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s, Trace
from powertui.data.run.stat_carriers import whole_numbers
from powertui.named_tuples import NamedTuple

_MAX_DEPTH = 64  # of the iterators below a root; more than any pipeline has
_HANDS = re.compile(r"^(\w+?)(Produce|Consume)$")
WORKS_AHEAD = frozenset(
    (
        "Prefetch",
        "ParallelInterleave",
        "ParallelMap",
        "ParseExample",
        "MapAndBatch",
        "DataService",
        "LegacyParallelInterleave",
        "ParallelBatch",
    )
)


class IteratorCalls(NamedTuple):
    """Every call of an iterator, as columns. Times in ps."""

    name: Int64s  # index into the trace's names
    start: Int64s
    end: Int64s
    track: Int64s
    id: Int64s  # of the iterator; -1 where the file does not tell
    # The call that asked for it, by row; -1 for roots and for what nothing ties to one.
    parent: Int64s
    overlap: Int64s  # with that call
    own: Int64s  # what no child's call overlaps
    root: Int64s  # the root's call that it belongs to, by row; -1 for none
    blocking: Bools  # it held its root's call up

    def __len__(self) -> int:
        return len(self.start)


_ITERATOR = 0
_PRODUCE = 1
_CONSUME = 2


class _Events(NamedTuple):
    """Calls and hand-overs as columns, line by line, each line by start. Times in ps."""

    start: Int64s
    end: Int64s
    track: Int64s
    role: Int64s  # _ITERATOR, _PRODUCE or _CONSUME
    family: Int64s  # which kind of iterator hands an element over
    id: Int64s
    element: Int64s
    name: Int64s


def iterator_calls(trace: Trace, lo: int, hi: int) -> IteratorCalls:
    """All calls that touch the window, each with the one that asked for it."""
    events = _events(trace, lo, hi)
    asker = _askers(events)
    calls = np.flatnonzero(events.role == _ITERATOR)
    # One place more: what nobody asked for has the asker -1, which is that place.
    call_of_event = np.full(len(events.role) + 1, -1, np.int64)
    call_of_event[calls] = np.arange(len(calls))
    parent = call_of_event[asker[calls]]
    start = events.start[calls]
    end = events.end[calls]
    has_parent = parent >= 0
    children = np.flatnonzero(has_parent)
    parents = parent[has_parent]
    common_end = np.minimum(end[children], end[parents])
    common_start = np.maximum(start[children], start[parents])
    overlap = np.zeros(len(calls), np.int64)
    overlap[children] = np.maximum(0, common_end - common_start)
    self_time = end - start
    np.subtract.at(self_time, parents, overlap[children])
    name = events.name[calls]
    is_root = _is_root(trace, name)
    root, blocking = _roots(is_root, parent, overlap)
    return IteratorCalls(
        name=name,
        start=start,
        end=end,
        track=events.track[calls],
        id=events.id[calls],
        parent=parent,
        overlap=overlap,
        own=np.maximum(0, self_time),
        root=root,
        blocking=blocking,
    )


def _askers(events: _Events) -> Int64s:
    """The event that asked for each, -1 for none: the one around it, across threads where an
    element was handed over.
    """
    role = events.role
    family = events.family
    element = events.element
    holder = _holders(events.track, events.start, events.end)
    # Who consumes an element: the iterator's call around the consumption.
    has_holder = holder >= 0
    is_consumption = (role == _CONSUME) & (element >= 0)
    consumed = np.flatnonzero(is_consumption & has_holder)
    role_of_consumer = role[holder[consumed]]
    consumed = consumed[role_of_consumer == _ITERATOR]
    consumers: dict[tuple[int, int], int] = {}
    for row in consumed.tolist():
        key = (int(family[row]), int(element[row]))
        consumers.setdefault(key, int(holder[row]))
    askers: Int64s = holder.copy()
    handed = np.flatnonzero((role == _ITERATOR) & has_holder)
    role_around = role[holder[handed]]
    handed = handed[role_around != _ITERATOR]
    for row in handed.tolist():
        asker = int(holder[row])
        while asker >= 0 and role[asker] == _CONSUME:
            asker = int(holder[asker])
        if asker >= 0 and role[asker] == _PRODUCE:
            key = (int(family[asker]), int(element[asker]))
            asker = consumers.get(key, -1)
        askers[row] = asker
    return askers


def _is_root(trace: Trace, name: Int64s) -> Bools:
    """Which of these are names of a root, "Iterator::Prefetch": paths of one part."""
    names, number = np.unique(name, return_inverse=True)
    is_root = []
    for index in names.tolist():
        path = trace.names.full(int(index))
        is_root.append(path.count("::") == 1)
    return np.array(is_root, np.bool_)[number.ravel()]


def _roots(is_root: Bools, parent: Int64s, overlap: Int64s) -> tuple[Int64s, Bools]:
    """(the root's call that each belongs to, whether it held that call up)."""
    rows = np.arange(len(parent))
    root = np.where(is_root, rows, -1)
    blocking = is_root.copy()
    has_parent = parent >= 0
    parent_row = np.maximum(parent, 0)
    for _ in range(_MAX_DEPTH):
        # One level further down with each round.
        takes_root = (root < 0) & has_parent
        next_root = np.where(takes_root, root[parent_row], root)
        blocks_parent = has_parent & (overlap > 0)
        next_blocking = blocking | (blocks_parent & blocking[parent_row])
        is_same_root = np.array_equal(next_root, root)
        if is_same_root and np.array_equal(next_blocking, blocking):
            break
        root = next_root
        blocking = next_blocking
    return root, blocking


def _roles(trace: Trace) -> tuple[Int64s, Int64s]:
    """(the role of each name, the kind of iterator that hands over there); -1 for none."""
    size = len(trace.names)
    role_of_name = np.full(size, -1, np.int64)
    family_of_name = np.full(size, -1, np.int64)
    families: dict[str, int] = {}
    for index in range(size):
        name = trace.names.full(index)
        if name.startswith("Iterator::"):
            role_of_name[index] = _ITERATOR
            continue
        if not name.endswith(("Produce", "Consume")):
            continue
        hand_over = _HANDS.match(name)
        if hand_over is None or hand_over[1] not in WORKS_AHEAD:
            continue
        if hand_over[2] == "Produce":
            role_of_name[index] = _PRODUCE
        else:
            role_of_name[index] = _CONSUME
        family = families.setdefault(hand_over[1], len(families))
        family_of_name[index] = family
    return role_of_name, family_of_name


def _events(trace: Trace, lo: int, hi: int) -> _Events:
    """All calls and hand-overs that touch the window."""
    role_of_name, family_of_name = _roles(trace)
    nothing = np.empty(0, np.int64)
    parts = [_Events(*[nothing] * len(_Events._fields))]
    for number, process, track in trace.threads():
        events = track.events
        has_role = role_of_name[events.name] >= 0
        rows = np.flatnonzero(has_role)
        start = events.start[rows]
        end = start + events.duration[rows]
        rows = rows[(start < hi) & (end >= lo)]
        if not len(rows):
            continue
        duration = events.duration[rows]
        by_start = np.lexsort((-duration, events.start[rows]))
        rows = rows[by_start]
        positions = events.positions(rows)
        columns = process.source.columns(positions, ("id", "element_id"))
        ids = columns["id"]
        name = events.name[rows].astype(np.int64)
        start = events.start[rows]
        parts.append(
            _Events(
                start=start,
                end=start + events.duration[rows],
                track=np.full(len(rows), number, np.int64),
                role=role_of_name[name],
                family=family_of_name[name],
                id=np.where(ids.present, ids.ints, -1),
                element=whole_numbers(columns["element_id"]),
                name=name,
            )
        )
    columns_of_parts = zip(*parts, strict=True)
    return _Events(*map(np.concatenate, columns_of_parts))


def _holders(track: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """The innermost event of the same line around each; -1 for none.

    Rows come line by line, each by start.
    """
    holder = np.full(len(start), -1, np.int64)
    if not len(start):
        return holder
    line_borders = np.flatnonzero(np.diff(track)) + 1
    every_row = np.arange(len(start))
    for rows in np.split(every_row, line_borders):
        duration = end[rows] - start[rows]
        depth = wire.nest(start[rows], duration)
        above = rows[depth == 0]
        for level in range(1, int(depth.max()) + 1):
            lane = rows[depth == level]
            # Rows are in order of start: the last one above that began before.
            place = np.searchsorted(above, lane) - 1
            row_above = above[np.maximum(place, 0)]
            holder[lane] = np.where(place >= 0, row_above, -1)
            above = lane
    held = np.flatnonzero(holder >= 0)
    end_of_holder = end[holder[held]]
    outlasts = end[held] > end_of_holder
    holder[held[outlasts]] = -1
    return holder
