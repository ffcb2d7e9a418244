"""Events of a table that can be drawn, and the lines that they make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.formats.builder import LineEvents
from powertui.data.model import PS_PER_NS, Int64s, UInt32s, UInt64s
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class TableEvents:
    """Events of one table that can be drawn."""

    start: Int64s  # ns
    length: Int64s
    name: UInt32s
    position: UInt64s
    process: Int64s  # global process or thread number
    lanes: tuple[Int64s, ...]  # what else tells one line from another


def line_of_pieces(pieces: Sequence[tuple[TableEvents, Int64s]]) -> LineEvents:
    """The events of a line, in ps."""
    if len(pieces) == 1:
        ((events, rows),) = pieces
        # One line has all events of most tables: then nothing is copied.
        if len(rows) == len(events.start):
            return LineEvents(
                events.start * PS_PER_NS,
                events.length * PS_PER_NS,
                events.name,
                events.position,
            )
    start_ns = np.concatenate([events.start[rows] for events, rows in pieces])
    length_ns = np.concatenate([events.length[rows] for events, rows in pieces])
    return LineEvents(
        start_ns * PS_PER_NS,
        length_ns * PS_PER_NS,
        np.concatenate([events.name[rows] for events, rows in pieces]),
        np.concatenate([events.position[rows] for events, rows in pieces]),
    )
