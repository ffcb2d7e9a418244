"""What runs at the same time: every line's events in a window, by name, with the time they share
with it. Asked about the stretch of one event, it says what overlaps that event.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.columns import Field, columns_of
from powertui.data.model import Int64s, Trace
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.window import Cut, window_summary
from powertui.named_tuples import NamedTuple

_MAX_ROWS = 10_000  # names on lines; those that share least are left out (chosen, not measured)


class _Overlap(NamedTuple):
    """The events of one name on one line."""

    process: str
    line: str
    name: str
    events: int
    shared: int  # ps, each moment once
    share: float  # of the window
    track: int
    event: int  # the one that shares most


def answer(question: Question) -> Result:
    """What overlaps the window, what shares most time first."""
    lo, hi = question.window
    trace = question.profile.trace
    rows = sorted(_overlaps(trace, lo, hi), key=lambda row: (-row.shared, -row.events))
    listed = rows[:_MAX_ROWS]

    def place(row: int) -> Place:
        return question.event_place(listed[row].track, listed[row].event)

    table = Table(
        id="overlap",
        title="What runs at the same time, longest overlap first",
        columns=columns_of(listed, _FIELDS),
        place=place,
        order=("shared_s", True),
        empty="Nothing was recorded in this window.",
        key=("process", "line", "name"),
        noun="name",
    )
    facts = (
        Fact("window_s", "the window", hi - lo, "duration"),
        Fact("lines", "lines with events", len({row.track for row in rows}), "integer"),
        Fact("events", "events", sum(row.events for row in rows), "integer"),
    )
    notes = ("An event counts by the part of it that lies in the window.",)
    return Result(
        id="overlap",
        title="Overlap",
        tables=(table,),
        facts=facts,
        notes=notes,
    )


def _overlaps(trace: Trace, lo: int, hi: int) -> Iterator[_Overlap]:
    """Each name on each line that has events in [lo, hi)."""
    by_track: dict[int, list[Cut]] = {}
    for cut in window_summary(trace, lo, hi).cuts(derived=False):
        by_track.setdefault(cut.number, []).append(cut)
    for number, cuts in by_track.items():
        rows_of_cuts = [np.arange(cut.first, cut.last) for cut in cuts]
        rows = np.concatenate(rows_of_cuts)
        process = cuts[0].process
        track = cuts[0].track
        events = track.events
        event_end = events.start[rows] + events.duration[rows]
        start = np.maximum(events.start[rows], lo)
        end = np.minimum(event_end, hi)
        inside = np.maximum(end - start, 0)
        names, place = np.unique(events.name[rows], return_inverse=True)
        numbers = np.arange(len(names))
        counts = np.bincount(place)
        shared = _shared_times(place, start, start + inside, len(names))
        longest_first = np.lexsort((-inside, place))
        first_of_name = place[longest_first].searchsorted(numbers)
        longest = rows[longest_first[first_of_name]]
        for row, name in enumerate(names.tolist()):
            shared_ps = int(shared[row])
            yield _Overlap(
                process=process.name,
                line=track.name,
                name=trace.names.full(name),
                events=int(counts[row]),
                shared=shared_ps,
                share=shared_ps / max(1, hi - lo),
                track=number,
                event=int(longest[row]),
            )


def _shared_times(place: Int64s, start: Int64s, end: Int64s, count: int) -> Int64s:
    """How long any event of each name runs, ps. `place`: each event's name.

    Where one is inside another of its name, as of a function that calls itself, a moment counts
    once: no name shares more than all of the window.
    """
    in_order = np.lexsort((start, place))
    place = place[in_order]
    start = start[in_order]
    end = end[in_order]
    shared = np.bincount(place, weights=end - start, minlength=count).astype(np.int64)
    is_same_name = place[1:] == place[:-1]
    begins_before_end = start[1:] < end[:-1]
    meets_next = is_same_name & begins_before_end
    for name in np.unique(place[1:][meets_next]).tolist():
        first, stop = np.searchsorted(place, (name, name + 1))
        name_ends = end[first:stop]
        # What the events before have covered does not count again.
        begins = start[first:stop].copy()
        last_end_so_far = np.maximum.accumulate(name_ends)
        begins[1:] = np.maximum(begins[1:], last_end_so_far[:-1])
        shared[name] = np.maximum(name_ends - begins, 0).sum()
    return shared


_FIELDS = (
    Field[_Overlap]("name", "name", "text", lambda row: row.name, weight=9),
    Field[_Overlap]("line", "line", "text", lambda row: row.line, weight=6),
    Field[_Overlap]("process", "process", "text", lambda row: row.process, weight=4),
    Field[_Overlap]("count", "count", "integer", lambda row: row.events, weight=6, always=True),
    Field[_Overlap](
        "shared_s",
        "overlap",
        "duration",
        lambda row: row.shared,
        weight=9,
        always=True,
    ),
    Field[_Overlap]("share", "share", "share", lambda row: row.share, weight=8, always=True),
)
