"""What an export's table is made of: its columns, and its rows some thousand at a time.

Times are exact; what is unknown is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from powertui.data.export.lines import Moments, Ticks
from powertui.data.model import PS_PER_NS, PS_PER_S, UNKNOWN, Int64s, PowerOnTrace, Trace
from powertui.data.window import Window
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

CHUNK_ROWS = 8192  # rows at a time: their columns stay in the cache

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


class PartialTicks(NamedTuple):
    """Times of which some are not known: picoseconds, `UNKNOWN` for those."""

    ps: Int64s

    def cells(self) -> list[float | None]:
        """In seconds; None for a time that is not known."""
        times: list[float | None] = []
        for value in self.ps.tolist():
            times.append(value / PS_PER_S if value != UNKNOWN else None)
        return times


#: One column (a Shared: as many as its vocabulary is wide). Without any time: a list of None.
ExportColumn: TypeAlias = "Ticks | PartialTicks | Moments | Shared | Sequence[Cell]"


class Batch(NamedTuple):
    """Some rows, column by column."""

    rows: int
    columns: Sequence[ExportColumn]


class Sheet(NamedTuple):
    """The columns of an export, and its rows when they are asked for, some thousand at a time."""

    columns: tuple[tuple[str, str], ...]  # (name, what it holds in a few words)
    batches: Callable[[], Iterator[Batch]]
    # A kind of `parquet._KINDS` each. A column is of one kind in every file, whatever it holds.
    kinds: tuple[str, ...]


def seconds(ps: Int64s) -> Ticks:
    """Seconds with all twelve decimals: a picosecond is not lost."""
    return Ticks(ps, 12)


def known_seconds(ps: Int64s) -> ExportColumn:
    """As `seconds`, where some times may not be known."""
    if (ps != UNKNOWN).all():
        return seconds(ps)
    return PartialTicks(ps)


def unix_seconds(trace: Trace, ps: Int64s) -> ExportColumn:
    """Unix seconds with nanoseconds; None when the profile's wall time is not known."""
    if not trace.clock.known:
        return [None] * len(ps)
    return Ticks(trace.clock.mid_ns + ps // PS_PER_NS, 9)


def utc_moments(trace: Trace, ps: Int64s) -> ExportColumn:
    """The same as a date and time that every program reads."""
    if not trace.clock.known:
        return [None] * len(ps)
    return Moments(trace.clock.mid_ns + ps // PS_PER_NS)


def channel_names(power: Sequence[PowerOnTrace]) -> list[str]:
    """One name for each channel, told apart where sensors have the same."""
    names: list[str] = []
    for channel in power:
        label = channel.series.sensor.label
        name, number = label, 2
        while name in names:
            name = f"{label} ({number})"
            number += 1
        names.append(name)
    return names


def placed_channels(window: Window) -> list[PowerOnTrace]:
    """The channels that have a place on the profile's clock."""
    return [channel for channel in window.power if channel.status != "none"]


def epoch_number(window: Window, epoch: int | None) -> int | None:
    """The program's own number of an epoch, by its index."""
    if epoch is None or epoch >= len(window.epochs):
        return epoch
    return window.epochs[epoch].number
