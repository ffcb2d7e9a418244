"""The columns of each kind of export: samples, steps, ops, events.

Times are exact; what is unknown is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from powertui import units
from powertui.data.energy import expected_work, marks, mixture
from powertui.data.energy import sensor as sensors
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.energy.measured_energy import Energy
from powertui.data.export.lines import Moments, Ticks
from powertui.data.export.readings import ChannelReadings, together
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, UNKNOWN, Int64s, PowerOnTrace, Trace
from powertui.data.tools import op_stats
from powertui.data.window import Cut, Window
from powertui.value_types import dataclass

_CHUNK_ROWS = 8192  # rows at a time: their columns stay in the cache

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Cells that many rows share, by code: of one column, or of several that always go together."""

    count: int
    cells: Callable[[int], tuple[Cell, ...]]
    width: int = 1


class Shared(NamedTuple):
    """Row i holds the cells of `codes[i]`."""

    codes: npt.NDArray[Any]
    words: Vocabulary


#: One column (a Shared: as many as its vocabulary is wide). Without any time: a list of None.
ExportColumn: TypeAlias = "Ticks | Moments | Shared | Sequence[Cell]"


class Batch(NamedTuple):
    """Some rows, column by column."""

    rows: int
    columns: Sequence[ExportColumn]


class Sheet(NamedTuple):
    """The columns of an export, and its rows when they are asked for, some thousand at a time."""

    columns: tuple[tuple[str, str], ...]  # (name, what it holds in a few words)
    batches: Callable[[], Iterator[Batch]]
    # "time" (exact decimal), "moment", "number", "integer" or "text": for formats with types.
    kinds: tuple[str, ...]


def _seconds(ps: Int64s) -> Ticks:
    """Seconds with all twelve decimals."""
    return Ticks(ps, 12)


def _known(ps: Int64s) -> ExportColumn:
    """As `seconds`, with None for a time that is not known."""
    if (ps != UNKNOWN).all():
        return _seconds(ps)
    return [value / PS_PER_S if value != UNKNOWN else None for value in ps.tolist()]


def _unix(trace: Trace, ps: Int64s) -> ExportColumn:
    """Unix seconds with nanoseconds; None when the profile's wall time is not known."""
    if not trace.clock.known:
        return [None] * len(ps)
    return Ticks(trace.clock.mid_ns + ps // PS_PER_NS, 9)


def _moment(trace: Trace, ps: Int64s) -> ExportColumn:
    """The same as a date and time that every program reads."""
    if not trace.clock.known:
        return [None] * len(ps)
    return Moments(trace.clock.mid_ns + ps // PS_PER_NS)


def table(window: Window, what: str) -> Sheet:
    """One kind of content for one window."""
    return {"samples": _samples, "steps": _steps, "ops": _ops, "events": _events}[what](window)


# ── samples ──────────────────────────────────────────────────────────────────────────────────────


def channel_names(power: Sequence[PowerOnTrace]) -> list[str]:
    """One name for each channel, told apart where sensors have the same."""
    names: list[str] = []
    for channel in power:
        name = channel.series.sensor.label
        number, base = 2, name
        while name in names:
            name = f"{base} ({number})"
            number += 1
        names.append(name)
    return names


def _samples(window: Window) -> Sheet:
    power = [channel for channel in window.power if channel.status != "none"]
    names = channel_names(power)
    columns = [
        ("unix_s", "Unix time of the reading"),
        ("time_utc", "the same as date and time"),
        ("trace_s", "the same on the profile's clock"),
        (
            "about_s",
            "the moment the reading is about: earlier by half the sensor's window and its delay",
        ),
        *((f"watts: {name}", "W, empty where this channel has no reading") for name in names),
        *(
            (
                f"joules: {name}",
                "its part of the window's energy, which they add up to; empty when not resolved",
            )
            for name in names
        ),
        ("epoch", "at about_s"),
        ("step", "at about_s"),
        ("op", "what ran at about_s, the deepest of the heaviest kind"),
    ]
    kinds = [
        "time",
        "moment",
        "time",
        "time",
        *("number" for _ in (*power, *power)),
        "integer",
        "integer",
        "text",
    ]
    windows = [mark for mark in marks.on_trace(power) if mark.end_ps is not None]
    if windows:
        columns.append(
            ("window", "at about_s: the window of the recording, the innermost of several")
        )
        kinds.append("text")

    def batches() -> Iterator[Batch]:
        channels = [ChannelReadings.in_window(channel, window.lo, window.hi) for channel in power]
        rows = together(channels)
        running = _Running(window.trace)
        for start in range(0, len(rows.at), _CHUNK_ROWS):
            chunk = slice(start, start + _CHUNK_ROWS)
            at = rows.at[chunk]
            about = rows.about[chunk]
            watts: list[ExportColumn] = []
            joules: list[ExportColumn] = []
            for channel, channel_rows in zip(channels, rows.channel_rows, strict=True):
                watts.append(channel.watts(channel_rows[chunk]))
                joules.append(channel.joules(channel_rows[chunk]))
            epochs, steps = _step_at(window, about)
            cells: list[ExportColumn] = [
                _unix(window.trace, at),
                _moment(window.trace, at),
                _seconds(at),
                _seconds(about),
                *watts,
                *joules,
                epochs,
                steps,
                running.names(about),
            ]
            if windows:
                cells.append(_window_at(windows, about))
            yield Batch(len(at), cells)

    return Sheet(tuple(columns), batches, tuple(kinds))


def _window_at(windows: Sequence[MarkOnTrace], at: Int64s) -> list[str | None]:
    """The name of the shortest window around each moment."""

    def length(mark: MarkOnTrace) -> int:
        return (mark.end_ps or mark.start_ps) - mark.start_ps

    names: list[str | None] = [None] * len(at)
    for mark in sorted(windows, key=lambda mark: -length(mark)):
        inside = (at >= mark.start_ps) & (at < (mark.end_ps or mark.start_ps))
        for i in np.flatnonzero(inside).tolist():
            names[i] = mark.name
    return names


def _step_at(window: Window, at: Int64s) -> tuple[list[int | None], list[int | None]]:
    """(epoch, step) at each moment, by the program's own numbers.

    Where there is a step, its epoch is meant.
    """
    epochs = _epoch_at(window, at)
    steps = window.steps
    if not len(steps):
        return epochs, [None] * len(at)
    row = np.searchsorted(steps.start, at, side="right") - 1
    inside = (row >= 0) & (at < steps.ends()[np.maximum(row, 0)])
    numbers = np.where(steps.number >= 0, steps.number, np.arange(len(steps)))
    step_numbers: list[int | None] = [None] * len(at)
    for i in np.flatnonzero(inside).tolist():
        step_numbers[i] = int(numbers[row[i]])
        epoch = int(steps.epoch[row[i]])
        epochs[i] = _epoch_number(window, epoch) if epoch >= 0 else None
    return epochs, step_numbers


def _epoch_at(window: Window, at: Int64s) -> list[int | None]:
    epoch_numbers: list[int | None] = [None] * len(at)
    for index, epoch in enumerate(window.epochs):
        bounds = window.epochs.bounds(index, window.steps)
        if bounds is not None:
            for i in np.flatnonzero((at >= bounds[0]) & (at < bounds[1])).tolist():
                epoch_numbers[i] = epoch.number
    return epoch_numbers


@dataclass
class _Running:
    """What ran at any moment: of all lines the innermost event of the heaviest kind of work."""

    trace: Trace

    def __post_init__(self) -> None:
        self._weight = expected_work.kinds_of_names(self.trace)

    def names(self, at: Int64s) -> list[str | None]:
        """The op at each moment; None where nothing ran."""
        best_weight = np.full(len(at), -1, np.int64)
        name = np.full(len(at), -1, np.int64)
        for _, track in self.trace.tracks():
            if track.derived:
                continue
            for depth in range(track.lane_count):
                lane = track.lane(depth)
                if not len(lane):
                    continue
                row = np.searchsorted(lane.start, at, side="right") - 1
                started = row >= 0
                row = np.maximum(row, 0)
                runs = started & (at < lane.start[row] + lane.duration[row])
                # The kind of work goes first, then the depth.
                weight = self._weight[lane.name[row]] * 64 + min(depth, 63)
                better = runs & (weight > best_weight)
                best_weight = np.where(better, weight, best_weight)
                name = np.where(better, lane.name[row].astype(np.int64), name)
        return [self.trace.names.display(n) if n >= 0 else None for n in name.tolist()]


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


def _steps(window: Window) -> Sheet:
    power = [channel for channel in window.power if channel.status != "none"]
    names = channel_names(power)
    columns: list[tuple[str, str]] = [
        ("epoch", ""),
        ("step", "the program's own number"),
        ("name", ""),
        ("unix_start_s", "Unix time"),
        ("start_utc", "the same as date and time"),
        ("start_s", "trace time"),
        ("end_s", "the next step's start, or the end of the last channel"),
        ("host_s", "how long its marker was open"),
        ("device_s", "its work on devices"),
        ("step_s", "its time by TensorFlow's rule"),
    ]
    kinds = ["integer", "integer", "text", "time", "moment", "time", "time", "time", "time", "time"]
    for name in names:
        columns += [
            (f"joules: {name}", "empty when not resolved"),
            (f"lo_joules: {name}", "95 % interval"),
            (f"hi_joules: {name}", ""),
            (f"mean_watts: {name}", ""),
            (f"badge: {name}", "measured or estimated"),
            (f"reason: {name}", "why it is not resolved"),
        ]
        kinds += ["number", "number", "number", "number", "text", "text"]

    def batches() -> Iterator[Batch]:
        steps = window.steps
        indexes = window.step_rows()
        start = steps.start[indexes]
        end = steps.ends()[indexes]
        rows = [steps[index] for index in indexes.tolist()]
        cells: list[ExportColumn] = [
            [_epoch_number(window, step.epoch) for step in rows],
            [step.number if step.number >= 0 else None for step in rows],
            [step.name for step in rows],
            _unix(window.trace, start),
            _moment(window.trace, start),
            _seconds(start),
            _seconds(end),
            _known(steps.host[indexes]),
            _known(steps.device[indexes]),
            _known(steps.step[indexes]),
        ]
        for channel in power:
            energies = mixture.energies(channel, start, end)
            cells += [
                [e.joules for e in energies],
                [e.lo for e in energies],
                [e.hi for e in energies],
                [e.mean_w for e in energies],
                [e.badge.value if e.resolved else None for e in energies],
                [e.reason or None for e in energies],
            ]
        yield Batch(len(rows), cells)

    return Sheet(tuple(columns), batches, tuple(kinds))


def _epoch_number(window: Window, epoch: int | None) -> int | None:
    """The program's own number of an epoch, by its index."""
    if epoch is None or epoch >= len(window.epochs):
        return epoch
    return window.epochs[epoch].number


# ── ops and events ───────────────────────────────────────────────────────────────────────────────


def _ops(window: Window) -> Sheet:
    columns = (
        ("name", ""),
        ("type", "the op's own type, or its category"),
        ("device", ""),
        ("count", "events that touch the window"),
        ("total_s", "of the parts inside the window, children included"),
        ("self_s", "what no child covers"),
        ("average_s", "total / count"),
        ("share", "of all self time on this device"),
    )

    def batches() -> Iterator[Batch]:
        ops = op_stats.op_stats(window.trace, window.lo, window.hi).ops
        total = np.array([op.total for op in ops], np.int64)
        self_time = np.array([op.self_time for op in ops], np.int64)
        average = np.array([round(op.average) for op in ops], np.int64)
        yield Batch(
            len(ops),
            (
                [op.full for op in ops],
                [op.type for op in ops],
                [op.device for op in ops],
                [op.count for op in ops],
                _seconds(total),
                _seconds(self_time),
                _seconds(average),
                [op.share for op in ops],
            ),
        )

    return Sheet(
        columns, batches, ("text", "text", "text", "integer", "time", "time", "time", "number")
    )


def _events(window: Window) -> Sheet:
    columns = (
        ("unix_start_s", "Unix time"),
        ("start_utc", "the same as date and time"),
        ("start_s", "trace time; may be before the window"),
        ("duration_s", "as recorded, not cut off"),
        ("plane", ""),
        ("line", ""),
        ("depth", "nesting"),
        ("derived", "drawn from other lines by the collector"),
        ("name", "as recorded"),
    )

    def batches() -> Iterator[Batch]:
        cuts = list(window.cuts())
        full = window.trace.names.full
        names = Vocabulary(len(window.trace.names), lambda code: (full(code),))
        places = Vocabulary(len(cuts), lambda code: _place(cuts[code]), 4)
        for start, duration, name, cut in gathered(cuts):
            times = (
                _unix(window.trace, start),
                _moment(window.trace, start),
                _seconds(start),
                _seconds(duration),
            )
            yield Batch(len(start), (*times, Shared(cut, places), Shared(name, names)))

    return Sheet(
        columns,
        batches,
        ("time", "moment", "time", "time", "text", "text", "integer", "text", "text"),
    )


def _place(cut: Cut) -> tuple[Cell, ...]:
    return (
        cut.process.name,
        cut.track.name or str(cut.track.key),
        cut.depth,
        "yes" if cut.track.derived else "no",
    )


def gathered(cuts: Sequence[Cut]) -> Iterator[tuple[Int64s, Int64s, npt.NDArray[Any], Int64s]]:
    """(start, duration, name, number of the cut) of the events, some thousand at a time however
    short the lanes are.
    """
    parts: list[tuple[Int64s, Int64s, npt.NDArray[Any], Int64s]] = []
    rows = 0
    for number, cut in enumerate(cuts):
        first = cut.first
        while first < cut.last:
            last = min(cut.last, first + _CHUNK_ROWS - rows)
            events = cut.track.events[slice(first, last)]
            parts.append(
                (
                    events.start,
                    events.duration,
                    events.name,
                    np.full(last - first, number, np.int64),
                )
            )
            rows = rows + last - first
            first = last
            if rows == _CHUNK_ROWS:
                yield _together(parts)
                parts, rows = [], 0
    if parts:
        yield _together(parts)


def _together(
    parts: list[tuple[Int64s, Int64s, npt.NDArray[Any], Int64s]],
) -> tuple[Int64s, Int64s, npt.NDArray[Any], Int64s]:
    if len(parts) == 1:
        return parts[0]
    starts, durations, names, cuts = zip(*parts, strict=True)
    return (
        np.concatenate(starts),
        np.concatenate(durations),
        np.concatenate(names),
        np.concatenate(cuts),
    )


def about(
    window: Window, run: str, version: str, energies: Sequence[tuple[str, Energy]] = ()
) -> list[tuple[str, Any]]:
    """What a reader of the file must know: run, clock, window with its energy, and how the power
    got onto this clock.
    """
    trace = window.trace
    clock = trace.clock
    facts: list[tuple[str, Any]] = [
        ("powertui", version),
        ("run", run),
        ("host", trace.host),
        ("window", f"{_exact(window.lo)} s to {_exact(window.hi)} s of the profile"),
    ]
    facts += [("energy", f"{name}: {in_words(energy)}") for name, energy in energies]
    if clock.known:
        zero = units.fixed(clock.mid_ns, NS_PER_S, 9)
        half = units.fixed(clock.half_ns, NS_PER_S, 6)
        words = f"the profile's zero is at Unix {zero} s +- {half} s ({clock.source})"
    else:
        words = "the profile's wall time is not known"
    facts.append(("clock", words))
    for name, channel in zip(channel_names(window.power), window.power, strict=True):
        series = channel.series
        facts.append(("sensor", f"{name}: {sensors.sentence(series)} ({series.sensor.source})"))
        if channel.status == "none":
            facts.append(("alignment", f"{name}: none, left out"))
            continue
        zero = _exact(channel.offset_ps)
        low = _exact(channel.offset_lo_ps)
        high = _exact(channel.offset_hi_ps)
        at = f"its zero is at {zero} s of the profile (95 % {low} to {high} s)"
        facts.append(("alignment", f"{name}: {channel.status}, {channel.source}; {at}"))
    return facts


def energies(window: Window, *, edge_ps: float = 0.0) -> list[tuple[str, Energy]]:
    """The energy of the window, channel by channel."""
    names = channel_names(window.power)
    return [
        (name, mixture.energy(channel, window.lo, window.hi, edge_ps=edge_ps))
        for name, channel in zip(names, window.power, strict=True)
        if channel.status != "none"
    ]


def in_words(energy: Energy) -> str:
    """ "123.4 J (95 % 120.0 to 126.8 J), measured" """
    if energy.joules is None or energy.lo is None or energy.hi is None:
        return energy.reason or "not resolved"
    return (
        f"{energy.joules:.6g} J (95 % {energy.lo:.6g} to {energy.hi:.6g} J), {energy.badge.value}"
    )


def _exact(ps: int) -> str:
    return units.fixed(int(ps), PS_PER_S, 12)
