"""The rows of each kind of export: samples, steps, ops, events. Times are exact; what is unknown is None."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from powertui import units
from powertui.data.energy import integrate, predict
from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_NS, PS_PER_S, Int64s, PowerOnTrace, Trace
from powertui.data.tools import op_stats
from powertui.data.window import Window

_CHUNK = 4096


class Exact(str):
    """A number that is text already, with every digit: it is written as it is, never guarded as text is."""

    __slots__ = ()


Cell = str | int | float | None
Row = Sequence[Cell]


class Table(NamedTuple):
    """Columns, each with what it holds in a few words, and the rows when they are asked for."""

    columns: tuple[tuple[str, str], ...]
    rows: Callable[[], Iterator[Row]]
    kinds: tuple[str, ...]  # "time" (exact decimal), "number", "integer", "text": for formats with types


def seconds(ps: int) -> Exact:
    """Seconds with all twelve decimals."""
    return Exact(units.fixed(int(ps), PS_PER_S, 12))


def unix(trace: Trace, ps: int) -> Exact | None:
    """Unix seconds with nanoseconds; None when nothing tells the profile's wall time."""
    if not trace.clock.known:
        return None
    return Exact(units.fixed(trace.clock.mid_ns + int(ps) // PS_PER_NS, 1_000_000_000, 9))


def table(window: Window, what: str) -> Table:
    """One kind of content for one window."""
    return {"samples": _samples, "steps": _steps, "ops": _ops, "events": _events}[what](window)


# ── samples ──────────────────────────────────────────────────────────────────────────────────────


def channel_names(power: Sequence[PowerOnTrace]) -> list[str]:
    """One name for each channel, told apart where sensors have the same."""
    names: list[str] = []
    for one in power:
        sensor = one.series.sensor
        name = sensor.name or sensor.source or "power"
        name = f"{sensor.host} {name}" if sensor.host else name
        number, base = 2, name
        while name in names:
            name, number = f"{base} ({number})", number + 1
        names.append(name)
    return names


def _samples(window: Window) -> Table:
    power = [p for p in window.power if p.status != "none"]
    columns = [
        ("unix_s", "Unix time of the reading"), ("trace_s", "the same on the profile's clock"),
        ("about_s", "the moment that the reading tells of: earlier by half the sensor's window and its delay"),
        *((f"watts: {name}", "W, empty where this channel has no reading") for name in channel_names(power)),
        ("epoch", "at about_s"), ("step", "at about_s"), ("op", "what ran at about_s, the deepest of the heaviest kind"),
    ]  # fmt: skip
    kinds = ("time", "time", "time", *("number" for _ in power), "integer", "integer", "text")

    def rows() -> Iterator[Row]:
        times = [one.times[window.samples(one)] for one in power]
        every = np.unique(np.concatenate(times)) if times else np.empty(0, np.int64)
        late = round(sensors.centre_s(power[0].series.sensor) * PS_PER_S) if power else 0
        running = Running(window.trace)
        for start in range(0, len(every), _CHUNK):
            at = every[start : start + _CHUNK]
            watts = []
            for one, mine in zip(power, times, strict=True):
                values = one.watts[window.samples(one)]
                row = np.searchsorted(mine, at)
                row[row == len(mine)] = 0
                watts.append(np.where(mine[row] == at, values[row], np.nan) if len(mine) else np.full(len(at), np.nan))
            where = at - late
            steps, epochs, ops = _step_at(window, where), _epoch_at(window, where), running.names(where)
            for i, ps in enumerate(at.tolist()):
                readings = (float(w[i]) if np.isfinite(w[i]) else None for w in watts)
                yield (unix(window.trace, ps), seconds(ps), seconds(int(where[i])), *readings, epochs[i], steps[i], ops[i])

    return Table(tuple(columns), rows, kinds)


def _step_at(window: Window, at: Int64s) -> list[int | None]:
    steps = window.steps
    if not len(steps):
        return [None] * len(at)
    gaps = steps.start_to_start()
    ends = steps.start + np.where(gaps > 0, gaps, steps.duration)
    row = np.searchsorted(steps.start, at, side="right") - 1
    inside = (row >= 0) & (at < ends[np.maximum(row, 0)])
    numbers = np.where(steps.number >= 0, steps.number, np.arange(len(steps)))
    return [int(numbers[r]) if ok else None for r, ok in zip(row.tolist(), inside.tolist(), strict=True)]


def _epoch_at(window: Window, at: Int64s) -> list[int | None]:
    found: list[int | None] = [None] * len(at)
    for epoch in window.epochs:
        if epoch.start is not None and epoch.end is not None:
            for i in np.flatnonzero((at >= epoch.start) & (at < epoch.end)).tolist():
                found[i] = epoch.number
    return found


@dataclass
class Running:
    """What ran at any moment: of all lines the innermost event of the heaviest kind of work."""

    trace: Trace

    def __post_init__(self) -> None:
        self._weight = predict.kinds_of_names(self.trace)

    def names(self, at: Int64s) -> list[str | None]:
        """The op at each moment; None where nothing ran."""
        best, name = np.full(len(at), -1, np.int64), np.full(len(at), -1, np.int64)
        for _, track in self.trace.tracks():
            if track.derived:
                continue
            for depth in range(track.lane_count):
                lane = track.lane(depth)
                if not len(lane):
                    continue
                row = np.searchsorted(lane.start, at, side="right") - 1
                here = np.maximum(row, 0)
                runs = (row >= 0) & (at < lane.start[here] + lane.duration[here])
                weight = self._weight[lane.name[here]] * 64 + min(depth, 63)
                better = runs & (weight > best)
                best = np.where(better, weight, best)
                name = np.where(better, lane.name[here].astype(np.int64), name)
        return [self.trace.names.display(n) if n >= 0 else None for n in name.tolist()]


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


def _steps(window: Window) -> Table:
    power = [p for p in window.power if p.status != "none"]
    names = channel_names(power)
    columns: list[tuple[str, str]] = [
        ("epoch", ""), ("step", "the program's own number"), ("name", ""), ("unix_start_s", "Unix time"),
        ("start_s", "trace time"), ("end_s", "the next step's start, or the end of the last one"),
        ("marker_s", "length of the step's own event"),
    ]  # fmt: skip
    kinds = ["integer", "integer", "text", "time", "time", "time", "time"]
    for name in names:
        columns += [
            (f"joules: {name}", "empty when not resolved"), (f"lo_joules: {name}", "95 % interval"), (f"hi_joules: {name}", ""),
            (f"mean_watts: {name}", ""), (f"badge: {name}", "measured or estimated"), (f"reason: {name}", "why it is not resolved"),
        ]  # fmt: skip
        kinds += ["number", "number", "number", "number", "text", "text"]

    def rows() -> Iterator[Row]:
        steps = window.steps
        picked = window.step_rows()
        gaps = steps.start_to_start()
        ends = steps.start + np.where(gaps > 0, gaps, steps.duration)
        energies = [integrate.energies(one, steps.start[picked], ends[picked]) for one in power]
        for place, index in enumerate(picked.tolist()):
            step = steps[index]
            epoch = window.epochs[step.epoch].number if step.epoch is not None and step.epoch < len(window.epochs) else step.epoch
            cells: list[Cell] = [
                epoch, step.number if step.number >= 0 else None, step.name, unix(window.trace, step.start), seconds(step.start),
                seconds(int(ends[index])), seconds(step.duration),
            ]  # fmt: skip
            for found in energies:
                one = found[place]
                cells += [one.joules, one.lo, one.hi, one.mean_w, one.badge.value if one.resolved else None, one.reason or None]
            yield cells

    return Table(tuple(columns), rows, tuple(kinds))


# ── ops and events ───────────────────────────────────────────────────────────────────────────────


def _ops(window: Window) -> Table:
    columns = (
        ("name", ""), ("type", "the op's own type, or its category"), ("device", ""), ("count", "events that touch the window"),
        ("total_s", "of the parts inside the window, children included"), ("self_s", "what no child covers"),
        ("average_s", "total / count"), ("share", "of all self time on this device"),
    )  # fmt: skip

    def rows() -> Iterator[Row]:
        for op in op_stats.of(window.trace, window.lo, window.hi).ops:
            yield (
                op.full, op.type, op.device, op.count, seconds(op.total), seconds(op.self_time),
                seconds(round(op.average)), op.share,
            )  # fmt: skip

    return Table(columns, rows, ("text", "text", "text", "integer", "time", "time", "time", "number"))


def _events(window: Window) -> Table:
    columns = (
        ("unix_start_s", "Unix time"), ("start_s", "trace time; may lie before the window"),
        ("duration_s", "as recorded, not cut off"), ("plane", ""), ("line", ""), ("depth", "nesting"),
        ("derived", "drawn from other lines by the collector"), ("name", "as recorded"),
    )  # fmt: skip

    def rows() -> Iterator[Row]:
        for cut in window.cuts():
            line = cut.track.name or str(cut.track.key)
            derived = "yes" if cut.track.derived else "no"
            events = cut.events
            for start, duration, name in zip(events.start.tolist(), events.duration.tolist(), events.name.tolist(), strict=True):
                full = window.trace.names.full(name)
                yield (
                    unix(window.trace, start),
                    seconds(start),
                    seconds(duration),
                    cut.process.name,
                    line,
                    cut.depth,
                    derived,
                    full,
                )

    return Table(columns, rows, ("time", "time", "time", "text", "text", "integer", "text", "text"))


def about(window: Window, run: str, version: str) -> list[tuple[str, Any]]:
    """What a reader of the file must know: run, clock, window, and how the power got onto this clock."""
    trace = window.trace
    clock = trace.clock
    facts: list[tuple[str, Any]] = [
        ("powertui", version), ("run", run), ("host", trace.host),
        ("window", f"{seconds(window.lo)} s to {seconds(window.hi)} s of the profile"),
    ]  # fmt: skip
    if clock.known:
        zero = units.fixed(clock.mid_ns, 1_000_000_000, 9)
        half = units.fixed(clock.half_ns, 1_000_000_000, 6)
        facts.append(("clock", f"the profile's zero lies at Unix {zero} s +- {half} s ({clock.source})"))
    else:
        facts.append(("clock", "nothing tells the profile's wall time"))
    for name, one in zip(channel_names(window.power), window.power, strict=True):
        facts.append(("sensor", f"{name}: {sensors.sentence(one.series)} ({one.series.sensor.source})"))
        if one.status == "none":
            facts.append(("alignment", f"{name}: none, left out"))
            continue
        low, high = seconds(one.offset_lo_ps), seconds(one.offset_hi_ps)
        at = f"its zero lies at {seconds(one.offset_ps)} s of the profile (95 % {low} to {high} s)"
        facts.append(("alignment", f"{name}: {one.status}, {one.source}; {at}"))
    return facts
