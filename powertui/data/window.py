"""Everything that happened between two times: rows of every line, steps, epochs, power.

It is what a selection holds, and what is exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.model import (
    Bools,
    Epochs,
    Events,
    Int64s,
    PowerOnTrace,
    Process,
    Steps,
    Trace,
    Track,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


def touches(start: Int64s, end: Int64s, lo: int, hi: int) -> Bools:
    """Which stretches belong to [lo, hi): those that overlap it, and those without length that lie
    in it.

    The one rule for windows. What belongs to one counts by its part inside.
    """
    inside: Bools = (start < hi) & ((end > lo) | (start >= lo))
    return inside


def lane_rows(lane: Events, lo: int, hi: int) -> tuple[int, int]:
    """Rows [first, last) of a lane that belong to [lo, hi): the same rule where nothing overlaps
    and all is in order.
    """
    first, last = (int(row) for row in lane.start.searchsorted([lo, hi]))
    if first > 0 and int(lane.start[first - 1] + lane.duration[first - 1]) > lo:
        first -= 1
    return first, max(first, last)


def rows_of_windows(lane: Events, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s]:
    """`lane_rows` of many windows at once."""
    first = lane.start.searchsorted(lo)
    last = lane.start.searchsorted(hi)
    before = np.maximum(first - 1, 0)
    if len(lane.start):
        first = first - ((first > 0) & (lane.start[before] + lane.duration[before] > lo))
    return first, np.maximum(first, last)


class Cut(NamedTuple):
    """The events of one lane that touch the window: rows [first, last) of the track's columns."""

    number: int  # of the track, as Trace.tracks() counts
    process: Process
    track: Track
    depth: int
    first: int
    last: int

    @property
    def events(self) -> Events:
        return self.track.events[slice(self.first, self.last)]


@dataclass(frozen=True, eq=False)
class Window:
    """[lo, hi) of a trace.

    An event belongs to it when it overlaps it, or lies in it without length; it is not cut off.
    """

    trace: Trace
    lo: int
    hi: int
    steps: Steps
    epochs: Epochs
    power: tuple[PowerOnTrace, ...] = ()

    def cuts(self, *, derived: bool = True) -> Iterator[Cut]:
        """Lane by lane, in drawing order; empty ones are left out."""
        for number, (process, track) in enumerate(self.trace.tracks()):
            if track.derived and not derived:
                continue
            for depth in range(track.lane_count):
                lo = int(track.lanes[depth])
                hi = int(track.lanes[depth + 1])
                first, last = lane_rows(track.events[lo:hi], self.lo, self.hi)
                if last > first:
                    yield Cut(
                        number=number,
                        process=process,
                        track=track,
                        depth=depth,
                        first=lo + first,
                        last=lo + last,
                    )

    def event_count(self) -> int:
        """How many events; those of lines drawn from other lines are none."""
        return sum(cut.last - cut.first for cut in self.cuts(derived=False))

    @property
    def straddled(self) -> bool:
        """Whether an event lies across one of its ends."""
        for cut in self.cuts(derived=False):
            events = cut.events
            if (
                int(events.start[0]) < self.lo
                or int(events.start[-1] + events.duration[-1]) > self.hi
            ):
                return True
        return False

    def step_rows(self) -> Int64s:
        """Indices of the steps that touch the window."""
        return np.flatnonzero(touches(self.steps.start, self.steps.ends(), self.lo, self.hi))

    def epoch_rows(self) -> list[int]:
        """Indices of the epochs that touch it; those without known bounds do not."""
        return [
            i
            for i, epoch in enumerate(self.epochs)
            if epoch.start is not None
            and epoch.start < self.hi
            and (epoch.end is None or epoch.end > self.lo)
        ]


def window_summary(
    trace: Trace,
    lo: int,
    hi: int,
    *,
    steps: Steps | None = None,
    epochs: Epochs | None = None,
    power: Sequence[PowerOnTrace] = (),
) -> Window:
    """What happened in [lo, hi) of a trace."""
    return Window(
        trace=trace,
        lo=min(lo, hi),
        hi=max(lo, hi),
        steps=steps if steps is not None else Steps.none(),
        epochs=epochs or Epochs(),
        power=tuple(power),
    )
