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
        self.begins = np.cumsum([1, *(len(table) for table in tables)]).astype(np.int64)

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All stats of one record."""
        number = int(self.begins.searchsorted(position, "right")) - 1
        if not 0 <= number < len(self._tables):
            return ()
        table = self._tables[number]
        row = position - int(self.begins[number])
        values = {str(name): table[name].iat[row] for name in table.columns if name not in _PLACES}
        return tuple(
            stat(clean(name), _plain(value)) for name, value in values.items() if _there(value)
        )

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named stat for each of these records."""
        where = positions.astype(np.int64)
        table_numbers = self.begins.searchsorted(where, "right") - 1
        out = {}
        for name in names:
            texts: list[str | None] = [None] * len(where)
            for number in wire.distinct(table_numbers).tolist():
                if 0 <= number < len(self._tables):
                    table = self._tables[number]
                else:
                    table = None
                if table is None or name in _PLACES or name not in table.columns:
                    continue
                rows = np.flatnonzero(table_numbers == number)
                values = table[name].to_numpy()[where[rows] - self.begins[number]].tolist()
                for row, value in zip(rows.tolist(), values, strict=True):
                    texts[row] = clean(str(_plain(value))) if _there(value) else None
            out[name] = stat_columns.from_texts(texts)
        return out


def _there(value: object) -> bool:
    return value is not None and value == value and value != ""  # NaN is not itself


def _plain(value: object) -> str | int | float:
    if isinstance(value, (np.integer, int)):
        return int(value)
    if isinstance(value, (np.floating, float)):
        if float(value).is_integer() and abs(value) < 1 << 53:
            return int(value)
        return float(value)
    return str(value)


def kernel_details(table: pd.DataFrame) -> list[str | None]:
    """How kernels were launched, in the words of NVIDIA's collector.

    ROCm counts a grid in work-items: here it is in groups.
    """
    rows: list[str | None] = []
    columns = [_integers(table, name) for name in (*_GRID, *_GROUP, "regs", "group_segment_size")]
    for gx, gy, gz, bx, by, bz, registers, shared in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if min(gx, gy, gz, bx, by, bz) <= 0:
            rows.append(None)
            continue
        parts = []
        if registers >= 0:
            parts.append(f"regs:{registers}")
        if shared >= 0:
            parts.append(f"static_shared:{shared}")
        # Blocks along each side of the grid, the last of them perhaps not full.
        blocks = (-(-gx // bx), -(-gy // by), -(-gz // bz))
        parts.append("grid:{},{},{}".format(*blocks))
        parts.append(f"block:{bx},{by},{bz}")
        rows.append(" ".join(parts))
    return rows


_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_GROUP = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z")


def _integers(table: pd.DataFrame, name: str) -> npt.NDArray[np.int64]:
    if name not in table.columns:
        return np.full(len(table), -1, np.int64)
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
    fits = np.isfinite(values) & (np.abs(values) < 1 << 62)
    return np.where(fits, values, -1).astype(np.int64)
