"""From a call on one thread back to whoever asked for it on another: producers (`_pt`, `_p`) hand
work to consumers (`_ct`, `_c`).

A program may return from a step long before a thread of the runtime launches the step's kernels.
What the launch lies in was handed over; the event that handed it over lies in the step's mark, or
was handed over itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Int32s, Int64s, Trace
from powertui.data.run.device_intervals import host_lines
from powertui.data.run.marks import carried, whole_numbers

_STATS = ("_pt", "_p", "_ct", "_c")
_AROUND = 8  # consumers that began before a moment and may still hold it: they nest no deeper
MAX_HOPS = 3


class HandoverEnds(NamedTuple):
    """The ends of hand-overs of one kind: producers, or consumers, with what ties them."""

    start: Int64s
    end: Int64s
    line: Int32s
    kind: Int64s
    key: Int64s


class HandOvers(NamedTuple):
    """All hand-overs of the host."""

    producers: HandoverEnds
    consumers: HandoverEnds

    def back(self, moments: Int64s, lines: Int32s) -> tuple[Int64s, Int32s]:
        """Where what ran at each moment, on its line, was asked for.

        The same moment where nothing says.
        """
        out, where = moments.copy(), lines.copy()
        holder = self._holders(moments, lines)
        asked = np.flatnonzero(holder >= 0)
        if not len(asked):
            return out, where
        made, used = self._codes()
        order = np.argsort(made, kind="stable")
        ordered, wanted = made[order], used[holder[asked]]
        place = np.minimum(ordered.searchsorted(wanted), len(order) - 1)
        matches = ordered[place] == wanted
        producer, consumer = order[place[matches]], asked[matches]
        out[consumer] = self.producers.start[producer]
        where[consumer] = self.producers.line[producer]
        return out, where

    def _codes(self) -> tuple[Int64s, Int64s]:
        """One code for each kind and key, of the producers and of the consumers."""
        make, use = self.producers, self.consumers
        kinds = np.unique(np.concatenate([make.kind, use.kind]), return_inverse=True)[1].ravel()
        keys = np.unique(np.concatenate([make.key, use.key]), return_inverse=True)[1].ravel()
        code = kinds * (len(keys) + 1) + keys
        return code[: len(make.key)], code[len(make.key) :]

    def _holders(self, moments: Int64s, lines: Int32s) -> Int64s:
        """The innermost consumer that is open at each moment on its line; -1 for none."""
        out = np.full(len(moments), -1, np.int64)
        for line in np.unique(lines).tolist():
            mine = np.flatnonzero(self.consumers.line == line)
            if not len(mine):
                continue
            mine = mine[np.argsort(self.consumers.start[mine], kind="stable")]
            asked = np.flatnonzero(lines == line)
            place = self.consumers.start[mine].searchsorted(moments[asked], side="right") - 1
            for _ in range(_AROUND):
                open_ = (
                    (place >= 0)
                    & (self.consumers.end[mine[np.maximum(place, 0)]] > moments[asked])
                    & (out[asked] < 0)
                )
                out[asked[open_]] = mine[place[open_]]
                place = place - 1
        return out


def thread_handovers(trace: Trace) -> HandOvers | None:
    """The hand-overs of the host's threads; None where the file has none."""
    made: list[HandoverEnds] = []
    used: list[HandoverEnds] = []
    for process, tracks in host_lines(trace):
        names = carried(trace, process, [track for _, track in tracks], ("_p", "_c"))
        either = names["_p"] | names["_c"]
        for line, track in tracks:
            rows = np.flatnonzero(either[track.events.name])
            if not len(rows):
                continue
            events = track.events[rows]
            columns = process.source.columns(events.position, _STATS)
            for side, kind, key in ((made, "_pt", "_p"), (used, "_ct", "_c")):
                has = np.flatnonzero(columns[key].present)
                where = np.full(len(has), line, np.int32)
                side.append(
                    HandoverEnds(
                        events.start[has],
                        events.end[has],
                        where,
                        whole_numbers(columns[kind])[has],
                        columns[key].ints[has],
                    )
                )
    if not sum(len(ends.key) for ends in made) or not sum(len(ends.key) for ends in used):
        return None
    return HandOvers(
        *(
            HandoverEnds(*(np.concatenate(parts) for parts in zip(*side, strict=True)))
            for side in (made, used)
        )
    )
