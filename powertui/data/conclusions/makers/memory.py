"""Device memory that is given back to the driver and taken anew while steps run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui import units
from powertui.data import name_shapes
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent, seconds, whole_percent
from powertui.data.model import PS_PER_S, Bools, ProcessKind, Trace
from powertui.data.tools import framework_advice, wall_time
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined, union
from powertui.value_types import dataclass

# Calls that give memory of a device back, and that take it. A caching allocator makes them while
# it warms up, and again only when it runs out of what it holds. The asynchronous ones take from a
# pool of the driver and cost little.
_FREES = ("cudaFree", "hipFree", "cuMemFree", "cuMemFree_v2", "cuMemUnmap", "cuMemRelease")
_ALLOCATIONS = (
    "cudaMalloc",
    "hipMalloc",
    "cuMemAlloc",
    "cuMemAlloc_v2",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
)
# Share of the profile from which on these calls have a sentence. TensorBoard's threshold for input.
_MIN_SHARE = 0.05
# They are no warming up where so many steps make both. Chosen, not measured.
_MIN_STEPS = 3
_MIN_STEPS_SHARE = 0.1


@dataclass(frozen=True)
class MemoryCalls:
    """What giving memory back and taking it anew costs the steps."""

    ps: int
    steps: int  # that do both
    all_steps: int


def memory_calls(inquiry: Inquiry) -> MemoryCalls | None:
    """The calls of steps that give device memory back and take it anew; None where few do."""
    profile = inquiry.profile
    trace = profile.trace
    frees = _calls(trace, name_shapes.beginning(trace.names, *_FREES, whole=True))
    if not len(frees.start):
        return None
    allocations = _calls(trace, name_shapes.beginning(trace.names, *_ALLOCATIONS, whole=True))
    periods = wall_time.wall_time(profile).periods
    frees_ps = frees.inside(periods.start, periods.end)
    allocations_ps = allocations.inside(periods.start, periods.end)
    both = (frees_ps > 0) & (allocations_ps > 0)
    both[:1] = False  # the first step warms up
    count = int(both.sum())
    if count < max(_MIN_STEPS, _MIN_STEPS_SHARE * len(both)):
        return None
    steps = CoveredTime(periods.start[both], periods.end[both])
    ps = joined([frees, allocations]).common(steps).length
    return MemoryCalls(ps, count, len(both))


def memory_pressure(inquiry: Inquiry) -> Iterator[Conclusion]:
    """Steps that give device memory back and take it anew."""
    calls = memory_calls(inquiry)
    if calls is None or calls.ps < _MIN_SHARE * inquiry.length_ps:
        return
    share = calls.ps / inquiry.length_ps
    length = f"{seconds(calls.ps / PS_PER_S)} of {seconds(inquiry.length_ps / PS_PER_S)}"
    reserved = _reserved(inquiry.profile.trace)
    yield Conclusion(
        kind=Kind.MEMORY,
        sentence=f"{calls.steps:,} of {calls.all_steps:,} steps free device memory and allocate "
        f"it again: that takes {percent(share)} of the time ({length}){reserved}.",
        short=f"memory {whole_percent(share)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("timeline", "cudaFree, cudaMalloc and their like"),
        cost=inquiry.cost_of_time(calls.ps),
        next=framework_advice.KEEP_MEMORY[inquiry.framework],
        doubt="Memory may be full, or the program frees it itself. Part of the time is the "
        "wait for the device that such a call implies.",
    )


def _calls(trace: Trace, names: Bools) -> CoveredTime:
    """When any thread of the host is in a call of these names."""
    if not names.any():
        return NO_TIME
    starts = [np.empty(0, np.int64)]
    ends = [np.empty(0, np.int64)]
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        for track in process.tracks:
            rows = np.flatnonzero(names[track.events.name])
            starts.append(track.events.start[rows])
            ends.append(track.events.end[rows])
    start = np.concatenate(starts)
    end = np.concatenate(ends)
    return union(start[end > start], end[end > start])


def _reserved(trace: Trace) -> str:
    """How much the allocator held at most, where the trace shows it."""
    peaks = [
        float(counter.values.max())
        for counter in trace.all_counters()
        if counter.name.startswith("reserved GPU") and counter.unit == "bytes" and len(counter)
    ]
    if peaks:
        return f". Its allocator holds up to {units.quantity(max(peaks), 'B', 3)}"
    return ""
