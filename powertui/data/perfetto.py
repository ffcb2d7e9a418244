"""A window as Chrome's trace-event JSON, which ui.perfetto.dev and chrome://tracing open: events, steps, and power as counters.

Times are microseconds since the profile's zero, with all six decimals: a picosecond is not lost. Each line becomes a
thread; where a file's events overlap without nesting, which such viewers cannot draw, the deeper ones get a thread of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from powertui import units
from powertui.data.export_rows import channel_names
from powertui.data.model import PS_PER_US, ProcessKind, Track
from powertui.data.window import Cut, Window

_TRAINING = 1  # process ids: the steps, the power, then the planes in their order
_POWER = 2
_FIRST_PLANE = 10


def chunks(window: Window, about: list[tuple[str, Any]]) -> Iterator[str]:
    """The JSON text, piece by piece."""
    facts: dict[str, Any] = {}
    for key, value in about:
        facts[key] = f"{facts[key]}; {value}" if key in facts else value
    yield '{"displayTimeUnit":"ns","otherData":' + json.dumps(facts) + ',"traceEvents":[\n'
    first = True
    for line in _lines(window):
        yield line if first else ",\n" + line
        first = False
    yield "\n]}\n"


def _lines(window: Window) -> Iterator[str]:
    yield from _training(window)
    yield from _power(window)
    planes: dict[int, int] = {}
    for cut in window.cuts():
        plane = id(cut.process)
        if plane not in planes:
            planes[plane] = _FIRST_PLANE + len(planes)
            rank = 0 if cut.process.kind is ProcessKind.DEVICE else 1
            yield from _named("process", planes[plane], 0, cut.process.name, 2 + rank)
        yield from _cut(window, cut, planes[plane])


def _cut(window: Window, cut: Cut, pid: int) -> Iterator[str]:
    own = cut.depth > 0 and not _nests(cut)
    tid = cut.number * 1000 + (min(cut.depth, 999) if own else 0) + 1
    if cut.depth == 0 or own:
        name = cut.track.name or str(cut.track.key)
        yield from _named("thread", pid, tid, f"{name} (lane {cut.depth})" if own else name, tid)
    category = json.dumps("derived" if cut.track.derived else cut.track.kind.value)
    names: dict[int, str] = {}
    events = cut.events
    for start, duration, index in zip(events.start.tolist(), events.duration.tolist(), events.name.tolist(), strict=True):
        if index not in names:
            names[index] = json.dumps(window.trace.names.full(index)[:1000])
        yield _span(names[index], category, pid, tid, start, duration)


def _nests(cut: Cut) -> bool:
    """Whether every event of this lane lies within one of the lane above."""
    track: Track = cut.track
    above = track.lane(cut.depth - 1)
    events = cut.events
    row = np.searchsorted(above.start, events.start, side="right") - 1
    if (row < 0).any():
        return False
    return bool((events.start + events.duration <= above.start[row] + above.duration[row]).all())


def _training(window: Window) -> Iterator[str]:
    rows = window.step_rows()
    epochs = [window.epochs[i] for i in window.epoch_rows()]
    if not len(rows) and not epochs:
        return
    yield from _named("process", _TRAINING, 0, "training", 0)
    yield from _named("thread", _TRAINING, 1, "epochs", 1)
    yield from _named("thread", _TRAINING, 2, "steps", 2)
    for epoch in epochs:
        if epoch.start is not None and epoch.end is not None:
            yield _span(json.dumps(f"epoch {epoch.number}"), '"epoch"', _TRAINING, 1, epoch.start, epoch.end - epoch.start)
    for index in rows.tolist():
        step = window.steps[index]
        yield _span(json.dumps(step.name or f"step {step.number}"), '"step"', _TRAINING, 2, step.start, step.duration)


def _power(window: Window) -> Iterator[str]:
    """Counters. Such viewers hold a value until the next one, so a gap ends with an explicit zero-width nothing: no sample."""
    power = [p for p in window.power if p.status != "none"]
    if not power:
        return
    yield from _named("process", _POWER, 0, "power", 1)
    for name, one in zip(channel_names(power), power, strict=True):
        rows = window.samples(one)
        label = json.dumps(f"{name} (W)")
        for ps, watts in zip(one.times[rows].tolist(), one.watts[rows].tolist(), strict=True):
            if watts == watts:
                yield f'{{"ph":"C","name":{label},"pid":{_POWER},"ts":{_us(ps)},"args":{{"W":{watts!r}}}}}'


def _span(name: str, category: str, pid: int, tid: int, start: int, duration: int) -> str:
    return f'{{"ph":"X","name":{name},"cat":{category},"pid":{pid},"tid":{tid},"ts":{_us(start)},"dur":{_us(duration)}}}'


def _named(kind: str, pid: int, tid: int, name: str, order: int) -> Iterator[str]:
    label = json.dumps(name)
    yield f'{{"ph":"M","name":"{kind}_name","pid":{pid},"tid":{tid},"args":{{"name":{label}}}}}'
    yield f'{{"ph":"M","name":"{kind}_sort_index","pid":{pid},"tid":{tid},"args":{{"sort_index":{order}}}}}'


def _us(ps: int) -> str:
    return units.fixed(ps, PS_PER_US, 6)
