"""What a run holds, as DataFrames: events, steps, epochs, lines, scalars, power.

Times are seconds, or whole picoseconds where they are asked for; their columns end in `_s` or
`_ps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from powertui.data.model import (
    PS_PER_S,
    UNKNOWN,
    Bools,
    Epochs,
    Int64s,
    Names,
    PowerSeries,
    Process,
    ScalarSeries,
    StatColumn,
    Steps,
    Trace,
    Track,
)
from powertui.data.window import touches
from powertui.report.writers.as_frame import frame, joined, nullable, texts

# What a name must be: the text itself, a pattern that is found in it, or a question about it. None:
# any.
Match: TypeAlias = "str | re.Pattern[str] | Callable[[str], bool] | None"
TimeUnit: TypeAlias = Literal["s", "ps"]
UNITS: tuple[TimeUnit, ...] = ("s", "ps")


def steps(steps: Steps, epochs: Epochs, unit: TimeUnit = "s") -> pd.DataFrame:
    """One row a step. `epoch` is the epoch's own number; it and start_to_start are missing where
    there is none.

    host, device and step are the three times of a step: missing where they are not known.
    """
    numbers = np.array([epoch.number for epoch in epochs], np.int64)
    index = steps.epoch.astype(np.int64)
    has = (index >= 0) & (index < len(numbers))
    gaps = steps.start_to_start()
    return frame(
        {
            "number": steps.number,
            "name": texts(list(steps.names)),
            "epoch": nullable(
                numbers[np.where(has, index, 0)]
                if len(numbers)
                else np.zeros(len(index), np.int64),
                has,
            ),
            f"start_{unit}": _times(steps.start, unit),
            f"duration_{unit}": _times(steps.duration, unit),
            f"start_to_start_{unit}": _known(gaps, gaps >= 0, unit),
            f"host_{unit}": _known(steps.host, steps.host != UNKNOWN, unit),
            f"device_{unit}": _known(steps.device, steps.device != UNKNOWN, unit),
            f"step_{unit}": _known(steps.step, steps.step != UNKNOWN, unit),
        }
    )


def _times(ps: Int64s, unit: TimeUnit) -> Any:
    return ps if unit == "ps" else ps / PS_PER_S


def _known(ps: Int64s, present: Bools, unit: TimeUnit) -> Any:
    """Those that are not known are missing."""
    return nullable(ps, present) if unit == "ps" else np.where(present, ps / PS_PER_S, np.nan)


def epochs(epochs: Epochs, unit: TimeUnit = "s") -> pd.DataFrame:
    """One row an epoch, and a column per scalar."""
    marks = list(epochs)
    made = frame(
        {
            "number": np.array([epoch.number for epoch in marks], np.int64),
            f"start_{unit}": _optional([epoch.start for epoch in marks], unit),
            f"end_{unit}": _optional([epoch.end for epoch in marks], unit),
            f"slack_{unit}": _times(np.array([epoch.slack for epoch in marks], np.int64), unit),
            "source": texts([epoch.source for epoch in marks]),
        }
    )
    for tag in dict.fromkeys(tag for epoch in marks for tag, _ in epoch.scalars):
        made[tag] = np.array([dict(epoch.scalars).get(tag, np.nan) for epoch in marks], np.float64)
    return made


def tracks(lines: Iterable[tuple[Process, Track]]) -> pd.DataFrame:
    """One row a line of the profile."""
    pairs = list(lines)
    return frame(
        {
            "process": texts([process.name for process, _ in pairs]),
            "track": texts([track.name for _, track in pairs]),
            "kind": texts([track.kind.value for _, track in pairs]),
            "derived": np.array([track.derived for _, track in pairs], np.bool_),
            "events": np.array([len(track.events) for _, track in pairs], np.int64),
            "lanes": np.array([track.lane_count for _, track in pairs], np.int64),
        }
    )


def scalars(series: Sequence[ScalarSeries]) -> pd.DataFrame:
    """One row a value that the training logged."""
    counts = [len(s.steps) for s in series]
    return frame(
        {
            "group": _repeated([s.group for s in series], counts),
            "tag": _repeated([s.tag for s in series], counts),
            "step": joined([s.steps for s in series], np.int64),
            "wall_ns": joined([s.wall_ns for s in series], np.int64),
            "value": joined([s.values for s in series], np.float64),
        }
    )


def power(series: Sequence[PowerSeries]) -> pd.DataFrame:
    """One row a sample."""
    counts = [len(s.times) for s in series]
    return frame(
        {
            "sensor": _repeated([s.sensor.name for s in series], counts),
            "host": _repeated([s.sensor.host for s in series], counts),
            "scope": _repeated([s.sensor.scope.value for s in series], counts),
            "time_ns": joined([s.times for s in series], np.int64),
            "watts": joined([s.watts for s in series], np.float64),
        }
    )


# ── events ───────────────────────────────────────────────────────────────────────────────────────


def events(
    trace: Trace | None,
    *,
    process: Match,
    track: Match,
    name: Match,
    exact: str | None,
    lo: int | None,
    hi: int | None,
    stats: Sequence[str],
    unit: TimeUnit,
) -> pd.DataFrame:
    """One row an event that fits; without a trace, the empty frame of the same form.

    `lo` and `hi` are ps.
    """
    if trace is None:
        return _events_frame([], [], stats, unit)
    fits = _name_filter(trace.names, name, exact)
    parts = []
    for owner, line in trace.tracks():
        if _matches(process, owner.name) and _matches(track, line.name):
            rows = _rows(line, fits, lo, hi)
            if len(rows):
                parts.append((owner, line, rows))
    index = joined([line.events.name[rows] for _, line, rows in parts], np.uint32)
    used, which = np.unique(index, return_inverse=True)
    texts_of = [
        _taken([text(i) for i in used.tolist()], which)
        for text in (trace.names.display, trace.names.full)
    ]
    return _events_frame(texts_of, parts, stats, unit)


def _matches(match: Match, text: str) -> bool:
    if match is None:
        return True
    if isinstance(match, str):
        return match == text
    return match.search(text) is not None if isinstance(match, re.Pattern) else bool(match(text))


def _name_filter(names: Names, match: Match, exact: str | None) -> Bools | None:
    """Which names fit; None when all do. Names are asked once each, not once per event."""
    if match is None and exact is None:
        return None

    def fits(text: str) -> bool:
        held = match in text if isinstance(match, str) else _matches(match, text)
        return held and exact in (None, text)

    return np.array(
        [fits(names.display(i)) or fits(names.full(i)) for i in range(len(names))], np.bool_
    )


def _rows(track: Track, fits: Bools | None, lo: int | None, hi: int | None) -> Int64s:
    events = track.events
    keep = np.ones(len(events), np.bool_) if fits is None else fits[events.name]
    if lo is not None or hi is not None:
        ends = np.iinfo(np.int64)
        keep &= touches(
            events.start, events.end, ends.min if lo is None else lo, ends.max if hi is None else hi
        )
    return np.flatnonzero(keep)


def _events_frame(
    names: Sequence[Any],
    parts: list[tuple[Process, Track, Int64s]],
    stats: Sequence[str],
    unit: TimeUnit,
) -> pd.DataFrame:
    """`names`: the short name of every row, and its full one."""
    counts = [len(rows) for _, _, rows in parts]
    short, full = names or ([], [])
    made = frame(
        {
            "process": _repeated([process.name for process, _, _ in parts], counts),
            "track": _repeated([track.name for _, track, _ in parts], counts),
            "lane": joined(
                [np.searchsorted(track.lanes, rows, side="right") - 1 for _, track, rows in parts],
                np.int64,
            ),
            "name": texts(short),
            "full_name": texts(full),
            f"start_{unit}": _times(
                joined([track.events.start[rows] for _, track, rows in parts], np.int64), unit
            ),
            f"duration_{unit}": _times(
                joined([track.events.duration[rows] for _, track, rows in parts], np.int64), unit
            ),
        }
    )
    columns_of = [
        process.source.columns(track.events.positions(rows), list(stats)) if stats else {}
        for process, track, rows in parts
    ]
    for stat in stats:
        made[stat] = _stat_column([columns[stat] for columns in columns_of])
    return made


def _stat_column(columns: list[StatColumn]) -> Any:
    """One stat of all rows: Int64 when all are whole numbers, float64 when all are numbers, else
    texts.
    """
    present = joined([c.present for c in columns], np.bool_)
    floats = joined([c.floats for c in columns], np.float64)
    ints = joined([c.ints for c in columns], np.int64)
    numeric = ~np.isnan(floats)
    # ints hold 0 for numbers that are not whole; uint64 values beyond int64 have wrapped
    integral = numeric & (
        floats == np.where(ints < 0, np.where(floats < 0, ints, np.nan), ints).astype(np.float64)
    )
    if (integral | ~present).all():
        return nullable(ints, present)
    if (numeric | ~present).all():
        return floats
    return texts([c.text(row) for c in columns for row in range(len(c))])


def _taken(values: list[str], which: Any) -> Any:
    return np.array(values, object)[which] if values else np.empty(0, object)


def _repeated(values: list[str], counts: list[int]) -> Any:
    return texts(np.repeat(np.array(values, object), counts) if values else np.empty(0, object))


def _optional(values: list[int | None], unit: TimeUnit) -> Any:
    present = np.array([value is not None for value in values], np.bool_)
    return _known(np.array([value or 0 for value in values], np.int64), present, unit)
