"""The columns of steps, ops and events, and which kind of content has which rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.energy import mixture
from powertui.data.export.samples import samples
from powertui.data.export.sheets import (
    CHUNK_ROWS,
    Batch,
    Cell,
    ExportColumn,
    Shared,
    Sheet,
    Vocabulary,
    channel_names,
    epoch_number,
    known_seconds,
    placed_channels,
    seconds,
    unix_seconds,
    utc_moments,
)
from powertui.data.model import Int64s, UInt32s
from powertui.data.tools import op_stats
from powertui.data.window import Cut, Window
from powertui.named_tuples import NamedTuple


def table(window: Window, what: str) -> Sheet:
    """One kind of content for one window."""
    sheets = {"samples": samples, "steps": _steps, "ops": _ops, "events": _events}
    return sheets[what](window)


def _steps(window: Window) -> Sheet:
    power = placed_channels(window)
    columns = list(_step_columns(channel_names(power)))

    def batches() -> Iterator[Batch]:
        steps = window.steps
        indexes = window.step_rows()
        start = steps.start[indexes]
        end = steps.ends()[indexes]
        rows = [steps[index] for index in indexes.tolist()]
        cells: list[ExportColumn] = [
            [epoch_number(window, step.epoch) for step in rows],
            [step.number if step.number >= 0 else None for step in rows],
            [step.name for step in rows],
            unix_seconds(window.trace, start),
            utc_moments(window.trace, start),
            seconds(start),
            seconds(end),
            known_seconds(steps.host[indexes]),
            known_seconds(steps.device[indexes]),
            known_seconds(steps.step[indexes]),
        ]
        for channel in power:
            # All steps of a channel at once: one integral, cut at their ends.
            energies = mixture.energies(channel, start, end)
            cells += [
                [energy.joules for energy in energies],
                [energy.lo for energy in energies],
                [energy.hi for energy in energies],
                [energy.mean_w for energy in energies],
                [energy.badge.value if energy.resolved else None for energy in energies],
                [energy.reason or None for energy in energies],
            ]
        yield Batch(len(rows), cells)

    return Sheet(
        columns=tuple((name, meaning) for name, meaning, _ in columns),
        batches=batches,
        kinds=tuple(kind for _, _, kind in columns),
    )


def _step_columns(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(name, what it holds, kind) of each column."""
    yield "epoch", "", "integer"
    yield "step", "the program's own number", "integer"
    yield "name", "", "text"
    yield "unix_start_s", "Unix time", "unix time"
    yield "start_utc", "the same as date and time", "moment"
    yield "start_s", "trace time", "time"
    yield "end_s", "the next step's start, or the end of the last channel", "time"
    yield "host_s", "how long its marker was open", "partial time"
    yield "device_s", "its work on devices", "partial time"
    yield "step_s", "its time by TensorFlow's rule", "partial time"
    for name in names:
        yield f"joules: {name}", "empty when not resolved", "number"
        yield f"lo_joules: {name}", "95 % interval", "number"
        yield f"hi_joules: {name}", "", "number"
        yield f"mean_watts: {name}", "", "number"
        yield f"badge: {name}", "measured or estimated", "text"
        yield f"reason: {name}", "why it is not resolved", "text"


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
                seconds(total),
                seconds(self_time),
                seconds(average),
                [op.share for op in ops],
            ),
        )

    return Sheet(
        columns, batches, ("text", "text", "text", "count", "time", "time", "time", "number")
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
        # A name or a place is written as text once for all of its rows.
        cuts = list(window.cuts())
        full = window.trace.names.full
        names = Vocabulary(len(window.trace.names), lambda code: (full(code),))
        places = Vocabulary(len(cuts), lambda code: _place(cuts[code]), 4)
        for start, duration, name, cut in gathered(cuts):
            times = (
                unix_seconds(window.trace, start),
                utc_moments(window.trace, start),
                seconds(start),
                seconds(duration),
            )
            yield Batch(len(start), (*times, Shared(cut, places), Shared(name, names)))

    return Sheet(
        columns,
        batches,
        ("unix time", "moment", "time", "time", "text", "text", "count", "text", "text"),
    )


def _place(cut: Cut) -> tuple[Cell, ...]:
    return (
        cut.process.name,
        cut.track.name or str(cut.track.key),
        cut.depth,
        "yes" if cut.track.derived else "no",
    )


class GatheredEvents(NamedTuple):
    """Some events of several cuts, in their order. Times in ps."""

    start: Int64s
    duration: Int64s
    name: UInt32s
    cut: Int64s  # number of the cut that each belongs to


def gathered(cuts: Sequence[Cut]) -> Iterator[GatheredEvents]:
    """The events of the cuts, some thousand at a time however short the lanes are."""
    parts: list[GatheredEvents] = []
    rows = 0
    for number, cut in enumerate(cuts):
        first = cut.first
        while first < cut.last:
            last = min(cut.last, first + CHUNK_ROWS - rows)
            events = cut.track.events[slice(first, last)]
            numbers = np.full(last - first, number, np.int64)
            parts.append(GatheredEvents(events.start, events.duration, events.name, numbers))
            rows += last - first
            first = last
            if rows == CHUNK_ROWS:
                yield _together(parts)
                parts = []
                rows = 0
    if parts:
        yield _together(parts)


def _together(parts: list[GatheredEvents]) -> GatheredEvents:
    if len(parts) == 1:
        return parts[0]
    return GatheredEvents(
        start=np.concatenate([part.start for part in parts]),
        duration=np.concatenate([part.duration for part in parts]),
        name=np.concatenate([part.name for part in parts]),
        cut=np.concatenate([part.cut for part in parts]),
    )
