"""An export as Parquet, with columns that pandas, polars and DuckDB calculate with.

A time is two columns: seconds as a float64, for arithmetic, and beside it the whole number that
the float was made from: picoseconds of the profile's clock (`start_ps`) or Unix nanoseconds
(`unix_start_ns`). A float64 cannot hold either exactly. A decimal can, but pandas reads it as
Python objects that refuse to be multiplied by a float.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from powertui.data.export.lines import Moments, Ticks
from powertui.data.export.sheets import Batch, Cell, ExportColumn, PartialTicks, Shared, Sheet
from powertui.data.model import UNKNOWN, Floats, Int64s
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

# Readers skip row groups by their smallest and largest value, and hold one group in memory.
_GROUP_ROWS = 65_536


class _Unit(NamedTuple):
    """What the exact column of a time counts."""

    suffix: str
    per_s: int


# Trace times are exported to the picosecond, Unix times to the nanosecond (`sheets.py`).
_UNITS = {"time": _Unit("_ps", 10**12), "unix time": _Unit("_ns", 10**9)}


def write_parquet(stream: BinaryIO, table: Sheet, facts: Sequence[tuple[str, Any]]) -> int:
    """Write all rows; the facts become the file's metadata. Returns the number of rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="pip install pyarrow, or write CSV instead: --format csv",
        ) from None
    metadata = {}
    for number, (key, value) in enumerate(facts):
        metadata[f"powertui.{number:02}.{key}"] = str(value)
    schema = pa.schema(_fields(pa, table), metadata=metadata)
    row_count = 0
    with pq.ParquetWriter(stream, schema) as writer:
        for batches in _row_groups(table.batches()):
            pieces_of_columns = zip(
                *(_arrays(pa, batch, table.kinds) for batch in batches), strict=True
            )
            arrays = [pa.concat_arrays(pieces) for pieces in pieces_of_columns]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            row_count += sum(batch.rows for batch in batches)
    return row_count


def _fields(pa: Any, table: Sheet) -> list[Any]:
    types = _types(pa)
    fields: list[Any] = []
    for (name, _), kind in zip(table.columns, table.kinds, strict=True):
        fields.append(pa.field(name, types[kind]))
        if kind in _UNITS:
            exact_name = name.removesuffix("_s") + _UNITS[kind].suffix
            fields.append(pa.field(exact_name, pa.int64()))
    return fields


def _types(pa: Any) -> dict[str, Any]:
    """What Arrow holds for each kind of column."""
    return {
        "time": pa.float64(),
        "unix time": pa.float64(),
        "moment": pa.timestamp("ns", "UTC"),
        "number": pa.float64(),
        "integer": pa.int64(),
        "text": pa.string(),
    }


def _row_groups(batches: Iterator[Batch]) -> Iterator[list[Batch]]:
    """Batches put together to row groups of a size that Parquet's readers like."""
    group: list[Batch] = []
    for batch in batches:
        if batch.rows:
            group.append(batch)
        if sum(member.rows for member in group) >= _GROUP_ROWS:
            yield group
            group = []
    if group:
        yield group


def _arrays(pa: Any, batch: Batch, kinds: Sequence[str]) -> list[Any]:
    """The columns of one batch, in the order of `_fields`."""
    types = _types(pa)
    arrays: list[Any] = []
    place = 0  # in `kinds`; a Shared takes several
    for column in batch.columns:
        kind = kinds[place]
        if kind in _UNITS:
            arrays += _time_arrays(pa, column, batch.rows, _UNITS[kind])
            place += 1
        elif isinstance(column, Shared):
            width = column.words.width
            shared_types = [types[kind] for kind in kinds[place : place + width]]
            arrays += _shared_arrays(pa, column, kinds[place : place + width], shared_types)
            place += width
        elif isinstance(column, Moments):
            arrays.append(pa.array(column.ns).cast(types[kind]))
            place += 1
        else:
            arrays.append(_cell_array(pa, column, kind, types[kind]))
            place += 1
    return arrays


def _time_arrays(pa: Any, column: ExportColumn, rows: int, unit: _Unit) -> list[Any]:
    """Seconds, and the whole number that they were made from."""
    if isinstance(column, Ticks):
        return [pa.array(_seconds(column.values, unit)), pa.array(column.values)]
    if isinstance(column, PartialTicks):
        is_missing = column.ps == UNKNOWN
        seconds = _seconds(np.where(is_missing, 0, column.ps), unit)
        return [pa.array(seconds, mask=is_missing), pa.array(column.ps, mask=is_missing)]
    # Neither: the profile's wall time is not known, for no row.
    return [pa.nulls(rows, pa.float64()), pa.nulls(rows, pa.int64())]


def _seconds(values: Int64s, unit: _Unit) -> Floats:
    """As floats. A Unix time in ns is more than a float64 holds: only its fraction is divided."""
    whole, fraction = np.divmod(values, unit.per_s)
    seconds: Floats = whole + fraction / unit.per_s
    return seconds


def _shared_arrays(
    pa: Any, column: Shared, kinds: Sequence[str], types: Sequence[Any]
) -> list[Any]:
    """Columns whose cells many rows share: each cell is converted once."""
    codes, rows = np.unique(column.codes, return_inverse=True)
    cells_by_column = zip(*(column.words.cells(code) for code in codes.tolist()), strict=True)
    taken = pa.array(rows)
    arrays: list[Any] = []
    for cells, kind, arrow_type in zip(cells_by_column, kinds, types, strict=True):
        arrays.append(_cell_array(pa, cells, kind, arrow_type).take(taken))
    return arrays


def _cell_array(pa: Any, cells: Any, kind: str, arrow_type: Any) -> Any:
    return pa.array([_typed(value, kind) for value in cells], type=arrow_type)


def _typed(value: Cell, kind: str) -> object:
    if value is None or value != value:
        return None
    if kind == "number":
        return float(value)
    return plain(str(value)) if kind == "text" else value
