"""From a call on one thread back to whoever asked for it on another: producers (`_pt`, `_p`) hand
work to consumers (`_ct`, `_c`).

A program may return from a step long before a thread of the runtime launches the step's kernels.
What the launch lies in was handed over; the event that handed it over lies in the step's mark, or
was handed over itself.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.model import Int32s, Int64s, Trace
from powertui.data.run.device_intervals import host_lines
from powertui.data.run.stat_carriers import carried, whole_numbers
from powertui.data.sorted_columns import places_among
from powertui.named_tuples import NamedTuple

_STATS = ("_pt", "_p", "_ct", "_c")
# Consumers that began before a moment and may still hold it: they nest no deeper. Chosen, not
# measured.
_MAX_NESTED = 8
_ENDS = {"producers": ("_pt", "_p"), "consumers": ("_ct", "_c")}  # stats: the kind, the key


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
        asked_at = moments.copy()
        asked_on = lines.copy()
        holder = self._holders(moments, lines)
        consumed = np.flatnonzero(holder >= 0)
        if not len(consumed):
            return asked_at, asked_on
        produced_codes, consumed_codes = self._codes()
        by_code = np.argsort(produced_codes, kind="stable")
        ascending_codes = produced_codes[by_code]
        asked_codes = consumed_codes[holder[consumed]]
        place, matches = places_among(ascending_codes, asked_codes)
        producer = by_code[place[matches]]
        consumer = consumed[matches]
        asked_at[consumer] = self.producers.start[producer]
        asked_on[consumer] = self.producers.line[producer]
        return asked_at, asked_on

    def _codes(self) -> tuple[Int64s, Int64s]:
        """One code for each kind and key, of the producers and of the consumers."""
        producers = self.producers
        consumers = self.consumers
        every_kind = np.concatenate([producers.kind, consumers.kind])
        every_key = np.concatenate([producers.key, consumers.key])
        _, kind = np.unique(every_kind, return_inverse=True)
        _, key = np.unique(every_key, return_inverse=True)
        code = kind.ravel() * (len(key) + 1) + key.ravel()
        producer_count = len(producers.key)
        return code[:producer_count], code[producer_count:]

    def _holders(self, moments: Int64s, lines: Int32s) -> Int64s:
        """The innermost consumer that is open at each moment on its line; -1 for none."""
        consumers = self.consumers
        out = np.full(len(moments), -1, np.int64)
        for line in wire.distinct(lines).tolist():
            on_line = np.flatnonzero(consumers.line == line)
            if not len(on_line):
                continue
            order = np.argsort(consumers.start[on_line], kind="stable")
            by_start = on_line[order]
            start = consumers.start[by_start]
            end = consumers.end[by_start]
            asked = np.flatnonzero(lines == line)
            moment = moments[asked]
            place = start.searchsorted(moment, side="right") - 1
            # What began last may have ended: one that began before may go on.
            for _ in range(_MAX_NESTED):
                end_at_place = end[np.maximum(place, 0)]
                is_unheld = out[asked] < 0
                is_open = (place >= 0) & (end_at_place > moment) & is_unheld
                out[asked[is_open]] = by_start[place[is_open]]
                place = place - 1
        return out


def thread_handovers(trace: Trace) -> HandOvers | None:
    """The hand-overs of the host's threads; None where the file has none."""
    parts: dict[str, list[HandoverEnds]] = {side: [] for side in _ENDS}
    for process, lines in host_lines(trace):
        tracks = [track for _, track in lines]
        names_with = carried(trace, process, tracks, ("_p", "_c"))
        either = names_with["_p"] | names_with["_c"]
        for line, track in lines:
            rows = np.flatnonzero(either[track.events.name])
            if not len(rows):
                continue
            events = track.events[rows]
            columns = process.source.columns(events.position, _STATS)
            for side, (kind, key) in _ENDS.items():
                has_key = np.flatnonzero(columns[key].present)
                kinds = whole_numbers(columns[kind])
                parts[side].append(
                    HandoverEnds(
                        start=events.start[has_key],
                        end=events.end[has_key],
                        line=np.full(len(has_key), line, np.int32),
                        kind=kinds[has_key],
                        key=columns[key].ints[has_key],
                    )
                )
    for ends_of_side in parts.values():
        if not any(len(ends.key) for ends in ends_of_side):
            return None
    return HandOvers(
        producers=_joined(parts["producers"]),
        consumers=_joined(parts["consumers"]),
    )


def _joined(parts: list[HandoverEnds]) -> HandoverEnds:
    return HandoverEnds(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
