"""Ends of flows as a reader meets them, joined to arrows.

A flow is a start, steps and finishes that share a group and an id.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable

import numpy as np

from powertui.data.model import Arrows, Int32s, Int64s, UInt8s
from powertui.data.sorted_columns import numbered

START, STEP, FINISH = range(3)
NEXT = 4  # added to a kind: the end means the event that begins next, not the one around it
BYTES = 25  # memory of each end: the width of its five columns


class FlowEnds:
    """All ends of a trace. Groups and lines are numbered as they come."""

    def __init__(self) -> None:
        self._group = array("i")
        self._line = array("i")
        self._id = array("q")
        self._at = array("q")
        self._kind = array("B")
        self._groups: dict[Hashable, int] = {}
        self.lines: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._at)

    def group(self, key: Hashable) -> int:
        """The number of what ends must share beside their id."""
        return self._groups.setdefault(key, len(self._groups))

    def line(self, key: Hashable) -> int:
        """The number of a line."""
        return self.lines.setdefault(key, len(self.lines))

    def add(self, group: int, id: int, line: int, at: int, kind: int) -> None:
        """One end at this time (ps)."""
        self._group.append(group)
        self._id.append(id)
        self._line.append(line)
        self._at.append(at)
        self._kind.append(kind)

    def extend(self, group: Int32s, id: Int64s, line: Int32s, at: Int64s, kind: UInt8s) -> None:
        """Several ends at once."""
        self._group.frombytes(group.astype(np.int32).tobytes())
        self._id.frombytes(id.astype(np.int64).tobytes())
        self._line.frombytes(line.astype(np.int32).tobytes())
        self._at.frombytes(at.astype(np.int64).tobytes())
        self._kind.frombytes(kind.astype(np.uint8).tobytes())

    def arrows(self, shift_ps: int = 0) -> Arrows:
        """From each start or step to the steps and finishes that follow it.

        `shift_ps`: the trace's zero.
        """
        group = np.array(self._group, np.int32)
        line = np.array(self._line, np.int32)
        id = np.array(self._id, np.int64)
        at = np.array(self._at, np.int64)
        kind = np.array(self._kind, np.uint8)
        means_next = kind & NEXT > 0
        kind = kind & ~np.uint8(NEXT)
        flow, _ = numbered(group, id)
        is_start = kind == START
        flow_count = int(flow.max(initial=-1)) + 1
        start_counts = np.bincount(flow[is_start], minlength=flow_count)
        # Clocks of a host and a device differ a little: the only start of a flow comes first,
        # whatever its time.
        only_start = is_start & (start_counts[flow] == 1)
        order = np.lexsort((kind, at, ~only_start, flow))
        flow = flow[order]
        kind = kind[order]
        rows = np.arange(len(order))
        source_rows = np.where(kind != FINISH, rows, -1)
        # For each end the last start or step before it: an arrow where both are of one flow.
        last_source = np.maximum.accumulate(source_rows)
        source = np.full(len(order), -1)
        source[1:] = last_source[:-1]
        is_arrow = (kind != START) & (source >= 0)
        is_arrow[is_arrow] = flow[source[is_arrow]] == flow[is_arrow]
        head = order[is_arrow]
        tail = order[source[is_arrow]]
        return Arrows(
            line=line[tail],
            at=at[tail] - shift_ps,
            to_line=line[head],
            to_at=at[head] - shift_ps,
            next=means_next[head],
        )
