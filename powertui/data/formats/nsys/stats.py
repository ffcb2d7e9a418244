"""What an export says of each event, read from its row when somebody asks."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import as_text, clean, stat
from powertui.data.formats.nsys.database import connected
from powertui.data.model import Int64s, Stat, StatColumn, UInt64s
from powertui.value_types import dataclass

_CORRELATION = "correlation_id"
_DETAILS = "kernel_details"
_STEP = "step_num"
# How a kernel was launched, in the words of NVIDIA's collector in XPlanes: word → columns.
_LAUNCH = {
    "regs": ("registersPerThread",),
    "static_shared": ("staticSharedMemory",),
    "dynamic_shared": ("dynamicSharedMemory",),
    "grid": ("gridX", "gridY", "gridZ"),
    "block": ("blockX", "blockY", "blockZ"),
}
_LAUNCH_COLUMNS = tuple(name for names in _LAUNCH.values() for name in names)
_NOT_SHOWN = frozenset(("start", "end", "correlationId", "text", "textId", "nameId"))
_MAX_SINGLE_ROWS = 200  # more are read in one pass over the rows between


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The events of one table: their positions count from `base`."""

    table: str
    columns: frozenset[str]
    base: int
    count: int
    first_row: int | None  # None: rows cannot be found again by their number
    correlation: Int64s | None  # unique over all processes; negative where there is none


class NsysStats:
    """The stats of all events (model.StatSource)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tables: list[StoredRows] = []
        self._lock = threading.Lock()
        self._steps = (np.empty(0, np.int64), np.empty(0, np.int64))  # positions, numbers

    @property
    def next_base(self) -> int:
        """The position of the first event of the next table."""
        if self._tables:
            last = self._tables[-1]
        else:
            last = None
        if last is None:
            return 1
        return last.base + last.count

    def add(self, rows: StoredRows) -> None:
        """The events of one more table."""
        self._tables.append(rows)

    def mark_steps(self, positions: Int64s, numbers: Int64s) -> None:
        """These events are steps, with these numbers. Positions rise."""
        self._steps = (positions, numbers)

    def _step_numbers(self, positions: Int64s) -> Int64s:
        marked, numbers = self._steps
        if not len(marked):
            return np.full(len(positions), -1, np.int64)
        row = np.searchsorted(marked, positions)
        row = np.minimum(row, len(marked) - 1)
        is_step = marked[row] == positions
        return np.where(is_step, numbers[row], -1)

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All that the row of an event says."""
        for rows in self._tables:
            number = position - rows.base
            if 0 <= number < rows.count:
                return self._of_row(rows, number)
        return ()

    def _of_row(self, rows: StoredRows, number: int) -> tuple[Stat, ...]:
        names = sorted(rows.columns - _NOT_SHOWN)
        by_place = self._asked(rows, names, np.array([number], np.int64))
        values = by_place.get(0, {})
        stats = []
        for name, value in values.items():
            if isinstance(value, (int, float, str)):
                stats.append(stat(clean(name), value))
        details = _launch_text(values)
        if details is not None:
            stats.append(stat(_DETAILS, details))
        if rows.correlation is not None:
            correlation = int(rows.correlation[number])
            if correlation >= 0:
                stats.append(stat(_CORRELATION, correlation))
        position = np.array([rows.base + number], np.int64)
        (step,) = self._step_numbers(position).tolist()
        if step >= 0:
            stats.append(stat(_STEP, step))
        return tuple(stats)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named stat for each of these events."""
        numbers = positions.astype(np.int64)
        fillers = {name: stat_columns.Filler(len(numbers)) for name in names}
        if _STEP in fillers:
            steps = _integers(self._step_numbers(numbers))
            fillers[_STEP].put(slice(None), steps)
        for rows in self._tables:
            of_table = numbers - rows.base
            is_here = (of_table >= 0) & (of_table < rows.count)
            here = np.flatnonzero(is_here)
            if not len(here):
                continue
            columns = self._columns_of(rows, of_table[here], names)
            for name, column in columns.items():
                fillers[name].put(here, column)
        return {name: filler.column() for name, filler in fillers.items()}

    def _columns_of(
        self,
        rows: StoredRows,
        numbers: Int64s,
        names: Sequence[str],
    ) -> dict[str, StatColumn]:
        """Those of the named stats that one table has, for these of its rows."""
        stored = [name for name in names if name in rows.columns - _NOT_SHOWN]
        if _DETAILS in names and rows.columns.issuperset(_LAUNCH_COLUMNS):
            stored.append(_DETAILS)
        columns = self._stored(rows, stored, numbers) if stored else {}
        if _CORRELATION in names and rows.correlation is not None:
            columns.setdefault(_CORRELATION, _integers(rows.correlation[numbers]))
        return columns

    def _stored(
        self,
        rows: StoredRows,
        names: Sequence[str],
        numbers: Int64s,
    ) -> dict[str, StatColumn]:
        asked = [name for name in names if name != _DETAILS]
        if _DETAILS in names:
            asked += [name for name in _LAUNCH_COLUMNS if name not in asked]
        values = self._asked(rows, asked, numbers)
        columns: dict[str, StatColumn] = {}
        for name in names:
            texts: list[str | None] = []
            for row in range(len(numbers)):
                of_row = values.get(row, {})
                if name == _DETAILS:
                    value = _launch_text(of_row)
                else:
                    value = of_row.get(name)
                texts.append(None if value is None else as_text(value))
            columns[name] = stat_columns.from_texts(texts)
        return columns

    def _asked(
        self,
        rows: StoredRows,
        names: Sequence[str],
        numbers: Int64s,
    ) -> dict[int, dict[str, Any]]:
        """The values of these columns by the place in `numbers`; what cannot be read is not
        there.
        """
        if rows.first_row is None or not names:
            return {}
        wanted = numbers + rows.first_row
        asked = ", ".join(f'"{name}"' for name in names)
        query = f'SELECT rowid, {asked} FROM "{rows.table}" WHERE rowid '
        found: dict[int, tuple[Any, ...]] = {}
        with self._lock:
            try:
                connection = connected(self._path)
                try:
                    if len(wanted) <= _MAX_SINGLE_ROWS:
                        for number in wanted.tolist():
                            for row in connection.execute(query + "= ? LIMIT 1", (number,)):
                                found[row[0]] = row[1:]
                    else:
                        ends = (int(wanted.min()), int(wanted.max()))
                        is_wanted = set(wanted.tolist())
                        limit = ends[1] - ends[0] + 1
                        between = query + f"BETWEEN ? AND ? LIMIT {limit}"
                        for row in connection.execute(between, ends):
                            if row[0] in is_wanted:
                                found[row[0]] = row[1:]
                finally:
                    connection.close()
            except (sqlite3.Error, OSError):  # the file was replaced, or is damaged just there
                return {}
        return {
            place: dict(zip(names, found[number], strict=True))
            for place, number in enumerate(wanted.tolist())
            if number in found
        }


def _integers(values: Int64s) -> StatColumn:
    present = values >= 0
    return StatColumn(
        present=present,
        ints=np.where(present, values, 0),
        floats=np.where(present, values.astype(np.float64), np.nan),
        texts=None,
    )


def _launch_text(values: dict[str, Any]) -> str | None:
    """ "regs:32 static_shared:0 grid:128,1,1 block:256,1,1"; None where it is no launch."""
    if not isinstance(values.get("gridX"), int):
        return None
    words = []
    for word, names in _LAUNCH.items():
        numbers = [values.get(name) for name in names]
        if all(isinstance(number, int) for number in numbers):
            sides = ",".join(map(str, numbers))
            words.append(f"{word}:{sides}")
    return " ".join(words)
