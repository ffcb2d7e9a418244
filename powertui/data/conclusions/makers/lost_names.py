"""A cut file without the names of its events: what the program did cannot be told."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Cost, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.model import Trace, Track

# Of the profile's time, on any one line. Chosen, not measured: what takes less is not notable.
_MAX_LOST_SHARE = 0.05
_LOST_NAME = re.compile(r"\bevent \d+\b")  # how the reader calls an event without a name


def lost_names(inquiry: Inquiry) -> Conclusion | None:
    """That most of what happened has no name; None where little or nothing is nameless, or the
    file of another host is whole: its names tell of the program.
    """
    traces = [profile.trace for profile in inquiry.profiles]
    if not all(trace.lost_names for trace in traces):
        return None  # nothing else is looked at of a file that is whole
    share = min(map(_lost_ps, traces)) / inquiry.length_ps
    if share <= _MAX_LOST_SHARE:
        return None
    return Conclusion(
        kind=Kind.UNKNOWN_TIME,
        sentence="The names of the events were in the part of the file that is missing: what took "
        "the time cannot be told; record again or copy the file anew.",
        short="names missing",
        confidence=Confidence.SURE,
        evidence=Evidence("timeline"),
        cost=Cost(share=min(1.0, share)),
        next="Compare the size of the file with that of its original.",
    )


def without_nameless(inquiry: Inquiry, conclusions: Iterable[Conclusion]) -> list[Conclusion]:
    """Those that blame no event whose name is lost."""
    if not any(profile.trace.lost_names for profile in inquiry.profiles):
        return list(conclusions)
    return [each for each in conclusions if not _LOST_NAME.search(each.sentence)]


def _lost_ps(trace: Trace) -> int:
    """How long events without a name run on the line where they run longest."""
    return max((_covered(track, trace.lost_names) for _, track in trace.tracks()), default=0)


def _covered(track: Track, lost: range) -> int:
    events = track.events
    rows = np.flatnonzero((events.name >= lost.start) & (events.name < lost.stop))
    if not len(rows):
        return 0
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    starts = events.start[rows]
    ends = np.maximum.accumulate(starts + events.duration[rows])
    begins = starts.copy()
    begins[1:] = np.maximum(starts[1:], ends[:-1])
    return int(np.maximum(ends - begins, 0).sum())
