"""A window as Chrome's trace-event JSON, which ui.perfetto.dev and chrome://tracing open: events,
steps, and power as counters.

A reading of power stands at the moment that it is about, and beside it what the recording named:
windows and marks. Times are microseconds since the profile's zero, with all six decimals: a
picosecond is not lost. Each line becomes a thread; where a file's events overlap without nesting,
which such viewers cannot draw, the deeper ones get a thread of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np

from powertui import units
from powertui.data.energy import marks
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.export import lines as export_lines
from powertui.data.export import readings
from powertui.data.export.lines import CodeTexts, Ticks
from powertui.data.export.rows import gathered
from powertui.data.export.sheets import channel_names, placed_channels
from powertui.data.model import PS_PER_US, Epoch, ProcessKind, Step, Track
from powertui.data.notes import Note
from powertui.data.sorted_columns import last_begun
from powertui.data.window import Cut, Window
from powertui.named_tuples import NamedTuple

# Process ids: the steps, the power, the notes, then the planes in their order.
_TRAINING = 1
_POWER = 2
_NOTES = 3
_FIRST_PLANE = 10
_LINES_AT_ONCE = 1 << 13  # lines of text encoded together; chosen, not measured
_SLICE_EVENTS = 1 << 20  # events looked at together
_MAX_NAME_CHARACTERS = 1000
_TIDS_PER_LINE = 1000  # a line's lanes that do not nest have thread ids behind its own


class LineCounter(Protocol):
    """Told how many lines were written."""

    value: int


def chunks(
    window: Window,
    about: list[tuple[str, Any]],
    counter: LineCounter,
    notes: Sequence[Note] = (),
) -> Iterator[bytes]:
    """The JSON text, piece by piece."""
    # JSON keeps one value for each key: sensors share one.
    facts: dict[str, Any] = {}
    for key, value in about:
        facts[key] = f"{facts[key]}; {value}" if key in facts else value
    facts["read_back"] = _read_back(window)
    yield (
        '{"displayTimeUnit":"ns","otherData":' + json.dumps(facts) + ',"traceEvents":[\n'
    ).encode()
    cuts = list(window.cuts())
    threads = _threads(cuts)
    for lines, count in _lines(window, cuts, threads, notes):
        if count:
            yield lines if counter.value else lines[2:]  # no comma before the first
            counter.value += count
    yield b"\n]}\n"


def _lines(
    window: Window,
    cuts: list[Cut],
    threads: list[_Thread],
    notes: Sequence[Note],
) -> Iterator[tuple[bytes, int]]:
    """Lines that each begin with a comma and a line end, and how many they are."""
    texts = chain(_training(window), _power(window), _notes(notes), _names(cuts, threads))
    while lines := list(islice(texts, _LINES_AT_ONCE)):
        yield "".join(",\n" + line for line in lines).encode(), len(lines)
    full = window.trace.names.full

    def event_head(code: int) -> bytes:
        name = json.dumps(full(code)[:_MAX_NAME_CHARACTERS])
        return b',\n{"ph":"X","name":' + name.encode() + b',"cat":'

    names = CodeTexts(len(window.trace.names), event_head)
    places = CodeTexts(len(cuts), lambda code: _place(cuts[code], threads[code]))
    for events in gathered(cuts):
        parts = (
            (events.name, names),
            (events.cut, places),
            Ticks(events.start, 6),
            b',"dur":',
            Ticks(events.duration, 6),
            b"}",
        )
        count = len(events.start)
        yield export_lines.join(parts, count), count


class _Thread(NamedTuple):
    """What a lane is drawn as; no name where the lane above has named the thread."""

    pid: int
    tid: int
    name: str


def _threads(cuts: list[Cut]) -> list[_Thread]:
    """The thread of each lane."""
    threads = []
    planes: dict[int, int] = {}
    for cut in cuts:
        pid = planes.setdefault(id(cut.process), _FIRST_PLANE + len(planes))
        tid = cut.number * _TIDS_PER_LINE + 1
        name = cut.track.name or str(cut.track.key)
        if cut.depth > 0 and _nests(cut):
            name = ""
        elif cut.depth > 0:
            # Such viewers cannot draw it within the lane above: it gets a thread of its own.
            tid += min(cut.depth, _TIDS_PER_LINE - 1)
            name = f"{name} (lane {cut.depth})"
        threads.append(_Thread(pid, tid, name))
    return threads


def _names(cuts: list[Cut], threads: list[_Thread]) -> Iterator[str]:
    named_planes: set[int] = set()
    for cut, thread in zip(cuts, threads, strict=True):
        pid = thread.pid
        if pid not in named_planes:
            named_planes.add(pid)
            order = 2 if cut.process.kind is ProcessKind.DEVICE else 3  # behind steps and power
            yield from _named("process", pid, 0, cut.process.name, order)
        if thread.name:
            yield from _named("thread", pid, thread.tid, thread.name, thread.tid)


def _place(cut: Cut, thread: _Thread) -> bytes:
    category = json.dumps("derived" if cut.track.derived else cut.track.kind.value)
    return f'{category},"pid":{thread.pid},"tid":{thread.tid},"ts":'.encode()


def _nests(cut: Cut) -> bool:
    """Whether every event of this lane is within one of the lane above."""
    track: Track = cut.track
    above = track.lane(cut.depth - 1)
    for first in range(cut.first, cut.last, _SLICE_EVENTS):
        last = min(first + _SLICE_EVENTS, cut.last)
        events = track.events[slice(first, last)]
        any_begun, row = last_begun(above.start, events.start)
        if not any_begun.all():
            return False
        end = events.start + events.duration
        outer_end = above.start[row] + above.duration[row]
        if (end > outer_end).any():
            return False
    return True


def _training(window: Window) -> Iterator[str]:
    """Epochs, phases and steps as spans of one process."""
    rows = window.step_rows()
    epoch_rows = window.epoch_rows()
    phases = [
        phase for phase in window.epochs.phases if phase.start < window.hi and phase.end > window.lo
    ]
    if not len(rows) and not epoch_rows and not phases:
        return
    yield from _named("process", _TRAINING, 0, "training", 0)
    yield from _named("thread", _TRAINING, 1, "epochs", 1)
    yield from _named("thread", _TRAINING, 2, "steps", 2)
    for index in epoch_rows:
        epoch = window.epochs[index]
        bounds = window.epochs.bounds(index, window.steps)
        if bounds is not None:
            yield _span(f"epoch {epoch.number}", "epoch", 1, bounds, _epoch_args(epoch))
    numbers = [epoch.number for epoch in window.epochs]
    for phase in phases:
        args: dict[str, Any] = {"source": phase.source}
        if phase.epoch is not None:
            args["epoch"] = numbers[phase.epoch]
        yield _span(phase.name, "phase", 1, (phase.start, phase.end), args)
    for index in rows.tolist():
        step = window.steps[index]
        epoch_number = None if step.epoch is None else numbers[step.epoch]
        name = step.name or f"step {step.number}"
        bounds = (step.start, step.mark_end)
        yield _span(name, "step", 2, bounds, _step_args(step, epoch_number))


def _epoch_args(epoch: Epoch) -> dict[str, Any]:
    args: dict[str, Any] = {
        "number": epoch.number,
        "source": epoch.source,
        "slack_ps": epoch.slack,
    }
    for name, value in epoch.scalars:
        if math.isfinite(value):  # JSON has no word for the others
            args[name] = value
    return args


def _step_args(step: Step, epoch: int | None) -> dict[str, Any]:
    """What is known of a step, in exact picoseconds."""
    args = {
        "number": step.number,
        "epoch": epoch,
        "host_ps": step.host,
        "device_ps": step.device,
        "step_ps": step.step,
        "until_ps": step.until,
    }
    return {name: value for name, value in args.items() if value is not None}


def _read_back(window: Window) -> dict[str, Any]:
    """What powertui needs of its own file beside the events: the exact clock, and how the steps
    were found.
    """
    clock = window.trace.clock
    steps = window.steps
    return {
        "host": window.trace.host,
        "clock": [clock.lo_ns, clock.hi_ns, clock.source, clock.detail, clock.utc_offset_s],
        "steps": {
            "source": steps.source,
            "asynchronous": steps.asynchronous,
            "device_by": steps.device_by,
            "inferred": steps.inferred,
            "confidence": steps.confidence,
            "notes": list(steps.notes),
        },
        "epochs": window.epochs.source,
    }


def _power(window: Window) -> Iterator[str]:
    """Channels as counters, then windows and marks.

    Such viewers hold a value until the next one, so a gap looks like the reading before it.
    """
    power = placed_channels(window)
    if not power:
        return
    yield from _named("process", _POWER, 0, "power", 1)
    for name, channel in zip(channel_names(power), power, strict=True):
        moments = readings.about(channel)
        inside = (moments >= window.lo) & (moments < window.hi)
        # JSON has no word for a gap's NaN.
        rows = np.flatnonzero(inside & np.isfinite(channel.watts))
        label = json.dumps(f"{name} (W)")
        for ps, watts in zip(moments[rows].tolist(), channel.watts[rows].tolist(), strict=True):
            yield (
                f'{{"ph":"C","name":{label},"pid":{_POWER},"ts":{_us(ps)},'
                f'"args":{{"W":{watts!r}}}}}'
            )
    windows: list[MarkOnTrace] = []
    moment_marks: list[MarkOnTrace] = []
    for mark in marks.on_trace(power):
        if mark.end_ps is None:
            if window.lo <= mark.start_ps < window.hi:
                moment_marks.append(mark)
        elif mark.start_ps < window.hi and mark.end_ps > window.lo:
            windows.append(mark)
    yield from _windows(windows)
    for mark in moment_marks:
        label = json.dumps(mark.name)
        yield (
            f'{{"ph":"i","s":"p","name":{label},"cat":"mark","pid":{_POWER},"tid":1,'
            f'"ts":{_us(mark.start_ps)}}}'
        )


def _notes(notes: Sequence[Note]) -> Iterator[str]:
    """What a person wrote: a span for a stretch, an instant for a moment."""
    placed = [note for note in notes if note.lo is not None and note.hi is not None]
    if not placed:
        return
    yield from _named("process", _NOTES, 0, "notes", _NOTES)
    for number, note in enumerate(placed):
        lo = note.lo or 0
        hi = note.hi or 0
        if lo < hi:  # each on a thread of its own: they may overlap
            yield _span(
                name=note.text,
                category="note",
                tid=number + 2,
                bounds=(lo, hi),
                args={},
                pid=_NOTES,
            )
            continue
        yield (
            f'{{"ph":"i","s":"g","name":{json.dumps(note.text)},"cat":"note","pid":{_NOTES},'
            f'"tid":1,"ts":{_us(lo)}}}'
        )


def _windows(windows: list[MarkOnTrace]) -> Iterator[str]:
    """Windows as spans.

    One that overlaps another without being inside it gets a thread of its own, as such viewers
    cannot draw both on one.
    """
    open_ends: list[list[int]] = []  # of each thread the ends of the windows that are open
    for window in sorted(windows, key=lambda mark: (mark.start_ps, -(mark.end_ps or 0))):
        end = window.end_ps or window.start_ps
        for ends in open_ends:
            while ends and ends[-1] <= window.start_ps:
                ends.pop()
        number = _first_thread_with_room(open_ends, end)
        tid = number + 1
        if number == len(open_ends):
            open_ends.append([])
            name = f"windows {tid}" if number else "windows"
            yield from _named("thread", _POWER, tid, name, tid)
        open_ends[number].append(end)
        yield _span(
            name=window.name,
            category="window",
            tid=tid,
            bounds=(window.start_ps, end),
            args={},
            pid=_POWER,
        )


def _first_thread_with_room(open_ends: list[list[int]], end: int) -> int:
    """The first thread on which nothing is open, or only what lasts at least until then."""
    for number, ends in enumerate(open_ends):
        if not ends or end <= ends[-1]:
            return number
    return len(open_ends)


def _span(
    name: str,
    category: str,
    tid: int,
    bounds: tuple[int, int],
    args: dict[str, Any],
    pid: int = _TRAINING,
) -> str:
    start, end = bounds
    return (
        f'{{"ph":"X","name":{json.dumps(name)},"cat":"{category}","pid":{pid},"tid":{tid},'
        f'"ts":{_us(start)},"dur":{_us(end - start)},'
        f'"args":{json.dumps(args)}}}'
    )


def _named(kind: str, pid: int, tid: int, name: str, order: int) -> Iterator[str]:
    label = json.dumps(name)
    yield f'{{"ph":"M","name":"{kind}_name","pid":{pid},"tid":{tid},"args":{{"name":{label}}}}}'
    yield (
        f'{{"ph":"M","name":"{kind}_sort_index","pid":{pid},"tid":{tid},'
        f'"args":{{"sort_index":{order}}}}}'
    )


def _us(ps: int) -> str:
    return units.fixed(ps, PS_PER_US, 6)
