"""Which names of a trace carry a stat: judged by a sample of each line, without decoding every
event's stats.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from powertui.data import wire
from powertui.data.model import (
    Bools,
    Events,
    Int32s,
    Int64s,
    Process,
    StatColumn,
    Trace,
    Track,
    UInt8s,
    UInt32s,
)

# What an event may carry that marks a step.
MARK_STATS = ("step_num", "step_name", "epoch_num", "graph_type", "_r", "group_id")

# Lines up to so many events are sampled whole; of longer ones the first and last event of each
# name, and about so many others, evenly spread. Chosen, not measured.
_MAX_WHOLE_EVENTS = 20_000
_SPREAD_EVENTS = 5_000
# Rows that are compared, and that are decoded, in one call: enough for numpy, and little memory.
_COMPARED_ROWS = 1 << 18
_DECODED_ROWS = 1 << 14
# Whoever samples a line for some stats samples it for these as well: reading it again costs more.
_TOOLS_ASK = (
    *MARK_STATS,
    "correlation_id",
    "run_id",
    "_pt",
    "_p",
    "_pid",
    "_ct",
    "_c",
    "_a",
    "id",
    "iter_num",
    "shape",
    "_ipl_stage_id",
    "tf_op",
    "hlo_op",
    "is_eager",
    "is_func",
    "tf_function_call",
)


def carried(
    trace: Trace,
    process: Process,
    tracks: Sequence[Track],
    stats: Sequence[str],
) -> dict[str, Bools]:
    """For each of these stats which names carry it, judged by a sample of each line.

    Each line is sampled once.
    """
    names_with = {stat: np.zeros(len(trace.names), np.bool_) for stat in stats}
    for track in tracks:
        by_stat = _CARRYING_NAMES.setdefault(track, {})
        missing = [stat for stat in stats if stat not in by_stat]
        if missing:
            for_tools = [stat for stat in _TOOLS_ASK if stat not in by_stat]
            asked = list(dict.fromkeys((*missing, *for_tools)))
            by_stat.update(_carried(process, track.events, len(trace.names), asked))
        for stat in stats:
            if len(by_stat[stat]):
                names_with[stat][by_stat[stat]] = True
    return names_with


def names_of_line(track: Track) -> tuple[Int32s, ...]:
    """For each stat that a line was asked for so far, the names that carry it there."""
    return tuple(_CARRYING_NAMES[track].values())  # another thread may ask for more meanwhile


# Which names carry a stat, line by line. Lines outlive their trace: one with another clock has the
# same lines.
_CARRYING_NAMES: WeakKeyDictionary[Track, dict[str, Int32s]] = WeakKeyDictionary()
# Which events of a line have a number of a stat, as bits: what launches work is asked for when
# steps are looked for and when events are typed. To decode a line again costs more than its bits.
_NUMBERED_EVENTS: WeakKeyDictionary[Track, dict[str, UInt8s]] = WeakKeyDictionary()


def _carried(
    process: Process,
    events: Events,
    name_count: int,
    stats: Sequence[str],
) -> dict[str, Int32s]:
    rows = _sample(events, name_count)
    names_of: dict[str, list[UInt32s]] = {}
    nothing: StatColumn | None = None  # a source has one column for all that it does not know
    for first in range(0, len(rows), _DECODED_ROWS):
        decoded = rows[first : first + _DECODED_ROWS]
        names = events.name[decoded]
        columns = process.source.columns(events.positions(decoded), stats)
        for stat, column in columns.items():
            if column is nothing:
                continue
            if not column.present.any():
                nothing = column
                continue
            names_of.setdefault(stat, []).append(names[column.present])
    carrying = dict.fromkeys(stats, np.empty(0, np.int32))
    for stat, parts in names_of.items():
        distinct_names = wire.distinct(np.concatenate(parts))
        carrying[stat] = distinct_names.astype(np.int32)
    return carrying


def rows_named(names: UInt32s, chosen: Bools) -> Int64s:
    """Rows with one of these names, without a mask as long as the line."""
    parts = [np.empty(0, np.int64)]
    for first in range(0, len(names), _COMPARED_ROWS):
        is_chosen = chosen[names[first : first + _COMPARED_ROWS]]
        parts.append(np.flatnonzero(is_chosen) + first)
    return np.concatenate(parts)


def _sample(events: Events, name_count: int) -> Int64s:
    """Rows that show all names of a line: every name is there."""
    count = len(events)
    if count <= _MAX_WHOLE_EVENTS:
        return np.arange(count)
    # A mask, and not the rows sorted: with a million names that alone took seconds.
    chosen = np.zeros(count, np.bool_)
    for ends in wire.ends(events.name, name_count):
        chosen[ends[ends >= 0]] = True
    chosen[:: max(1, count // _SPREAD_EVENTS)] = True
    return np.flatnonzero(chosen)


def whole_numbers(column: StatColumn) -> Int64s:
    """The numbers of a column; -1 where it has none.

    Texts that are numbers (TF 2.2's JSON) count as such.
    """
    numbers = np.isfinite(column.floats)
    numbers &= column.present
    if numbers.all():
        return column.ints
    out = np.where(numbers, column.ints, -1)
    for row in np.flatnonzero(column.present & ~numbers).tolist():
        text = column.text(row)
        if text is not None and text.lstrip("-").isdigit() and len(text) < 19:
            out[row] = int(text)
    return np.asarray(out, np.int64)


def stat_numbers(
    process: Process,
    track: Track,
    rows: Int64s,
    stat: str,
) -> Int64s:
    """One stat of some events of a line, as `whole_numbers`."""
    positions = track.events.positions(rows)
    columns = process.source.columns(positions, (stat,))
    return whole_numbers(columns[stat])


def numbers_of_line(
    process: Process,
    track: Track,
    carrying: Bools,
    stat: str,
) -> Int64s | None:
    """One stat of all events of a line, -1 for those without it; None where none carries it.

    `carrying`: which names do.
    """
    rows = np.flatnonzero(carrying.take(track.events.name))
    if not len(rows):
        return None
    numbers = np.full(len(track.events), -1, np.int64)
    numbers[rows] = stat_numbers(process, track, rows, stat)
    return numbers


def numbers_of_carriers(process: Process, track: Track, rows: Int64s, stat: str) -> Int64s:
    """`stat_numbers` of all events of a line whose names carry the stat; `have_number` knows of
    these then.
    """
    numbers = stat_numbers(process, track, rows, stat)
    is_numbered = numbers >= 0
    if len(rows) < len(track.events):
        of_rows = is_numbered
        is_numbered = np.zeros(len(track.events), np.bool_)
        is_numbered[rows] = of_rows
    _NUMBERED_EVENTS.setdefault(track, {})[stat] = np.packbits(is_numbered)
    return numbers


def stat_column(process: Process, track: Track, rows: Int64s, stat: str) -> StatColumn:
    """What these events of a line carry as one stat."""
    positions = track.events.positions(rows)
    return process.source.columns(positions, (stat,))[stat]


def have_number(process: Process, track: Track, rows: Int64s, stat: str) -> Bools:
    """Which of these events, whose names carry the stat, have a number of it, 0 or more."""
    bits = _NUMBERED_EVENTS.get(track, {}).get(stat)
    if bits is None:
        return stat_numbers(process, track, rows, stat) >= 0
    return np.unpackbits(bits, count=len(track.events)).view(np.bool_)[rows]
