"""What a capture of rocprofv3 holds, whichever form it was written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt
import pandas as pd

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import clean, stat
from powertui.data.model import Stat, StatColumn, UInt64s
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

KERNELS = "kernels"
COPIES = "copies"
CALLS = "calls"
MARKS = "marks"


class Agent(NamedTuple):
    """A CPU or GPU, as the tool tells of it. `gpu` counts the GPUs from 0; None for a CPU."""

    gpu: int | None
    facts: tuple[tuple[str, str | int | float], ...]


@dataclass
class RocprofRecords:
    """Each table has columns `name start end` (ns) and, for work of devices, `agent queue stream`;
    for calls `pid tid`. All other columns are stats.
    """

    tables: list[tuple[str, pd.DataFrame]] = field(default_factory=list)
    agents: dict[str, Agent] = field(default_factory=dict)  # by what records call them
    lost: dict[str, int] = field(default_factory=dict)  # what could not be used, counted
    cut: str = ""  # that a file ends before its end
    tool: tuple[Stat, ...] = ()
    # The hardware counters of the kernels: names of their columns.
    counters: dict[str, None] = field(default_factory=dict)

    def lose(self, cause: str, count: int = 1) -> None:
        """Something cannot be used."""
        if count:
            self.lost[cause] = self.lost.get(cause, 0) + count


_PLACES = frozenset(("name", "start", "end", "agent", "queue", "stream", "pid", "tid"))


class RecordStats:
    """The stats of all records (model.StatSource).

    A position is the record's number from 1, over all tables.
    """

    def __init__(self, tables: Sequence[pd.DataFrame]) -> None:
        self._tables = tables
        lengths = map(len, tables)
        self.begins = np.cumsum([1, *lengths]).astype(np.int64)

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All stats of one record."""
        number = int(self.begins.searchsorted(position, "right")) - 1
        if not 0 <= number < len(self._tables):
            return ()
        table = self._tables[number]
        row = position - int(self.begins[number])
        stats = []
        for name in table.columns:
            if name in _PLACES:
                continue
            value = table[name].iat[row]
            if _there(value):
                stats.append(stat(clean(str(name)), _plain(value)))
        return tuple(stats)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named stat for each of these records."""
        records = positions.astype(np.int64)
        table_numbers = self.begins.searchsorted(records, "right") - 1
        rows_by_table = {}
        for number in wire.distinct(table_numbers).tolist():
            if 0 <= number < len(self._tables):
                rows_by_table[number] = np.flatnonzero(table_numbers == number)
        columns = {}
        for name in names:
            texts: list[str | None] = [None] * len(records)
            for number, rows in rows_by_table.items():
                table = self._tables[number]
                if name in _PLACES or name not in table.columns:
                    continue
                table_rows = records[rows] - self.begins[number]
                values = table[name].to_numpy()[table_rows]
                for row, value in zip(rows.tolist(), values.tolist(), strict=True):
                    if _there(value):
                        texts[row] = clean(str(_plain(value)))
            columns[name] = stat_columns.from_texts(texts)
        return columns


def _there(value: object) -> bool:
    return value is not None and value == value and value != ""  # NaN is not itself


def _plain(value: object) -> str | int | float:
    if isinstance(value, (np.integer, int)):
        return int(value)
    if not isinstance(value, (np.floating, float)):
        return str(value)
    is_exact = float(value).is_integer() and abs(value) < 1 << 53
    return int(value) if is_exact else float(value)


def kernel_details(table: pd.DataFrame) -> list[str | None]:
    """How kernels were launched, in the words of NVIDIA's collector.

    ROCm counts a grid in work-items: here it is in groups.
    """
    details: list[str | None] = []
    names = (*_GRID, *_GROUP, "regs", "group_segment_size")
    columns = [_integers(table, name).tolist() for name in names]
    for *sides, registers, shared in zip(*columns, strict=True):
        if min(sides) <= 0:
            details.append(None)
            continue
        grid = sides[:3]
        group = sides[3:]
        parts = []
        if registers >= 0:
            parts.append(f"regs:{registers}")
        if shared >= 0:
            parts.append(f"static_shared:{shared}")
        # Blocks along each side of the grid, the last of them perhaps not full.
        blocks = [-(-items // block) for items, block in zip(grid, group, strict=True)]
        parts.append("grid:{},{},{}".format(*blocks))
        parts.append("block:{},{},{}".format(*group))
        details.append(" ".join(parts))
    return details


_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_GROUP = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z")


def _integers(table: pd.DataFrame, name: str) -> npt.NDArray[np.int64]:
    if name not in table.columns:
        return np.full(len(table), -1, np.int64)
    numbers = pd.to_numeric(table[name], errors="coerce")
    values = numbers.to_numpy(np.float64)
    fits = np.isfinite(values) & (np.abs(values) < 1 << 62)
    safe = np.where(fits, values, -1)
    return safe.astype(np.int64)
