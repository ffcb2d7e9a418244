"""What a program's allocators held over time, at most, and for what.

For TensorFlow and XLA by the rules of the converter's tool of this name (`memory_peak`); for
PyTorch from the marks of its allocators. A figure that an allocator does not give is missing, never
0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from powertui.data.asked import Compat
from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.data.model.allocations import AllocatorLog
from powertui.data.table import Chart, Fact, Result, Series
from powertui.data.tools import allocation_steps, memory_peak, memory_tables
from powertui.data.tools.allocation_views import AllocatorView, allocator_views
from powertui.data.tools.memory_peak import Peak, PeakRow
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple

EMPTY = "This profile holds no events of an allocator."
HOW = (
    "PyTorch records them with profile_memory=True; TensorFlow and JAX where their allocator is "
    "traced (on GPUs, and TensorFlow's on the CPU)."
)
_MAX_FACTS = 2  # allocators with facts of their own: a page has no room for more
MAX_POINTS = 1000  # of a curve, as many as the converter keeps


class AllocatorPeak(NamedTuple):
    """One allocator with its peak in the window."""

    view: AllocatorView
    peak: Peak | None
    rows: tuple[PeakRow, ...]  # what is in it at the peak


def answer(question: Question) -> Result:
    """The allocators of one host: their peaks, what is in them, and every event."""
    peaks = [_with_peak(view, question) for view in _views(question)]
    peaks.sort(key=lambda each: -each.peak.in_use if each.peak is not None else 0.0)
    tables = memory_tables.tables(question, peaks, f"{EMPTY} {HOW}")
    return Result(
        id="memory_profile",
        title="Memory",
        tables=tables,
        facts=tuple(_facts(peaks, question.compat)),
        charts=_charts(question, peaks),
        notes=tuple(_notes(peaks, question.compat)),
        mode=question.compat,
    )


def _views(question: Question) -> tuple[AllocatorView, ...]:
    """The allocators, with the steps that the converter finds where its answers are asked for."""
    profile = question.profile
    views = allocator_views(profile)
    if question.compat == "corrected":
        return views
    return tuple(
        AllocatorView(profile.trace, allocation_steps.with_steps(profile, view.log))
        if view.log.reserved_beside
        else view
        for view in views
    )


def _has_converter_table(log: AllocatorLog, compat: Compat) -> bool:
    """Whether the table at the peak holds what the converter's does.

    Where the file does not say the steps, all that is alive at the peak tells a person more.
    """
    has_steps = bool((log.step >= 0).any())
    return log.reserved_beside and (compat != "corrected" or has_steps)


def _with_peak(view: AllocatorView, question: Question) -> AllocatorPeak:
    log = view.log
    lo, hi = question.window
    in_window = (log.times >= lo) & (log.times < hi)
    peak = memory_peak.peak_event(log, in_window)
    if peak is None:
        return AllocatorPeak(view, None, ())
    if _has_converter_table(log, question.compat):
        moments = None
        if question.compat != "corrected":
            moments = allocation_steps.moments_on_lines(question.profile.trace, log)
        rows = memory_peak.peak_rows(log, peak, question.compat, moments)
    else:
        rows = view.rows_alive(int(log.times[peak.event]), peak.in_use)
    return AllocatorPeak(view, peak, tuple(rows))


def _facts(peaks: list[AllocatorPeak], compat: Compat) -> Iterator[Fact]:
    for number, (view, peak, _) in enumerate(peaks[:_MAX_FACTS]):
        log = view.log
        name = log.allocator
        if peak is None:
            why = "its events do not say how much was in use"
            yield Fact(f"peak_{number}", f"{name} peak", None, "number", "B", why=why)
            continue
        yield Fact(f"peak_{number}", f"{name} peak", peak.in_use, "number", "B")
        at_ps = int(log.times[peak.event])
        yield Fact(f"peak_at_{number}", f"{name} peak at", at_ps, "instant")
        lifetime = memory_peak.lifetime_peak(log, compat)
        if lifetime is not None:
            label = f"{name} lifetime peak"
            yield Fact(f"lifetime_peak_{number}", label, lifetime, "number", "B")


def _charts(question: Question, peaks: list[AllocatorPeak]) -> tuple[Chart, ...]:
    """Bytes in use over time, a curve for each allocator."""
    lo, hi = question.window
    series = []
    for view, _, _ in peaks:
        log = view.log
        in_window = (log.times >= lo) & (log.times < hi)
        rows = np.flatnonzero(in_window & np.isfinite(log.in_use))
        if len(rows):
            rows = rows[largest_of_boxes(log.in_use[rows])]
            seconds = log.times[rows] / PS_PER_S
            series.append(Series(log.allocator, seconds, log.in_use[rows]))
    if not series:
        return ()
    chart = Chart(
        id="memory",
        title="Memory in use",
        series=tuple(series),
        kind="line",
        x_label="time (s)",
        y_label="bytes",
        y_unit="B",
    )
    return (chart,)


def largest_of_boxes(values: Floats) -> Int64s:
    """At most `MAX_POINTS` rows that hold every peak: the largest of each of as many boxes.

    By the converter's rule: the first boxes are one row shorter where the rows do not divide.
    """
    count = len(values)
    if count <= MAX_POINTS:
        return np.arange(count)
    width = count // MAX_POINTS
    short_boxes = MAX_POINTS * (width + 1) - count
    widths = np.full(MAX_POINTS, width + 1)
    widths[:short_boxes] = width
    starts = np.concatenate(([0], np.cumsum(widths)))
    chosen = [
        int(start) + int(np.argmax(values[start:end])) for start, end in itertools.pairwise(starts)
    ]
    return np.array(chosen, np.int64)


def _notes(peaks: list[AllocatorPeak], compat: Compat) -> Iterator[str]:
    if any(_has_converter_table(log, compat) for log in _logs(peaks)):
        yield (
            f"As in TensorBoard's tool, the table at the peak holds the allocations of the peak's "
            f'step; what was there before is the row "{memory_peak.BEFORE}". The table of what is '
            "alive holds everything that the profile saw."
        )
    if any(log.allocator.endswith("since the start") for log in _logs(peaks)):
        yield (
            "This trace counts bytes from its own start: what was allocated earlier is not counted."
        )
    if any(_counts_from_start(log) for log in _logs(peaks)):
        yield (
            "PyTorch counts the CPU's memory from the start of the profile: what was allocated "
            "earlier, the parameters perhaps, is in no figure here."
        )
    if not all(log.is_timed for log in _logs(peaks)):
        yield "The snapshot has no times: its events are drawn one µs apart, in their order."
    if any(view.has_operators for view, _, _ in peaks):
        yield (
            "The op is the innermost operator around an allocation, past those that only allocate; "
            "type and shape are those of its inputs."
        )


def _counts_from_start(log: AllocatorLog) -> bool:
    """Whether PyTorch's allocator of the CPU held nothing but its first recorded allocation."""
    return (
        log.allocator == "CPU"
        and log.segments is None
        and len(log) > 0
        and bool(log.taken[0])
        and log.allocated[0] == log.size[0]
    )


def _logs(peaks: list[AllocatorPeak]) -> list[AllocatorLog]:
    return [view.log for view, _, _ in peaks]
