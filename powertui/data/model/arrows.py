"""Arrows that a trace draws from one event to another: what was submitted here began there, what
this call began ended there.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model.ground import Bools, Int32s, Int64s
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class Arrows:
    """Each from a moment of one line to a moment of another (lines count as in Trace.tracks()).

    The event that it means is the innermost one there, or where `next` says so the first that
    begins at or after that moment.
    """

    line: Int32s
    at: Int64s  # ps, as the trace's events
    to_line: Int32s
    to_at: Int64s
    next: Bools  # of where it ends

    def __len__(self) -> int:
        return len(self.line)

    def on(self, lines: Int64s) -> Arrows:
        """The same on lines of other numbers, without those whose line is -1 there."""
        line = lines[self.line]
        to_line = lines[self.to_line]
        good = (line >= 0) & (to_line >= 0)
        return Arrows(
            line=line[good].astype(np.int32),
            at=self.at[good],
            to_line=to_line[good].astype(np.int32),
            to_at=self.to_at[good],
            next=self.next[good],
        )
