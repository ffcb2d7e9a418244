"""The hits of a search by name: how many events each name has, their total time, and where its
longest lies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from powertui.data.model import Int64s, Trace
from powertui.data.search import Hits
from powertui.data.table import Column, Lazy, Place, Table, Value
from powertui.data.texts import CancelCheck, unhindered


def hit_table(trace: Trace, hits: Hits, check: CancelCheck = unhindered) -> Table:
    """One row a name, the most time first."""
    count, total, longest, where = _summed(trace, hits, check)
    names = np.flatnonzero(count)
    names = names[np.argsort(-total[names], kind="stable")]
    tracks = [track for _, track in trace.tracks()]
    columns = (
        Column(
            "name",
            "name",
            "text",
            Lazy(len(names), lambda row: trace.names.full(int(names[row]))),
            weight=9,
        ),
        Column("count", "count", "integer", count[names], weight=9),
        Column("total_s", "total", "duration", total[names], weight=9),
        Column(
            "average_s",
            "average",
            "duration",
            total[names] // np.maximum(count[names], 1),
            weight=7,
        ),
        Column("longest_s", "longest", "duration", longest[names], weight=6),
    )

    def place(row: int) -> Place:
        track, event = (int(part) for part in where[names[row]])
        events = tracks[track].events
        lo = int(events.start[event])
        return Place("", None, lo, lo + int(events.duration[event]), track, event)

    def sums(rows: Int64s) -> Mapping[str, Value]:
        events, time = int(count[names[rows]].sum()), int(total[names[rows]].sum())
        return {"count": events, "total_s": time, "average_s": time // events if events else None}

    return Table(
        "hits",
        "Hits by name",
        columns,
        place,
        ("total_s", True),
        "No name matches.",
        ("name",),
        "name",
        total=sums,
        layer=True,
    )


def _summed(trace: Trace, hits: Hits, check: CancelCheck) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    size = len(trace.names)
    count, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    longest, where = np.full(size, -1, np.int64), np.zeros((size, 2), np.int64)
    for number, (_, track) in enumerate(trace.tracks()):
        check()
        events = track.events
        rows = np.flatnonzero(hits.names[events.name])
        if not len(rows):
            continue
        name, took = events.name[rows].astype(np.int64), events.duration[rows]
        count += np.bincount(name, minlength=size)
        np.add.at(total, name, took)
        order = np.lexsort((took, name))
        last = order[
            np.append(np.flatnonzero(np.diff(name[order])), len(order) - 1)
        ]  # of each name its longest
        better = last[took[last] > longest[name[last]]]
        longest[name[better]] = took[better]
        where[name[better]] = np.stack([np.full(len(better), number), rows[better]], axis=1)
    return count, total, longest, where
