"""An export as Parquet, with columns that pandas, polars and DuckDB calculate with.

A time is two columns: seconds as a float64, for arithmetic, and beside it the whole number that
the float was made from: picoseconds of the profile's clock (`start_ps`) or Unix nanoseconds
(`unix_start_ns`). A float64 cannot hold either exactly. A decimal can, but pandas reads it as
Python objects that refuse to be multiplied by a float.

pandas turns whole numbers into floats where one is missing, and 1,700,000,000,000,000,001 ns become
...,000 then. So the file says in pandas' own metadata which columns are its nullable Int64: those
in which a value can be missing, also in a file where none is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from powertui import __version__
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


class _Kind(NamedTuple):
    """How a column is stored, and as what pandas reads it."""

    arrow: str
    pandas_type: str  # what it holds, in the words of pandas' metadata
    numpy_type: str  # the dtype of the column in a DataFrame
    unit: _Unit | None = None  # of the exact column beside a time
    can_miss: bool = True


# Trace times are exported to the picosecond, Unix times to the nanosecond (`sheets.py`).
_PICOSECONDS = _Unit("_ps", 10**12)
_NANOSECONDS = _Unit("_ns", 10**9)
_FLOAT = ("float64", "float64", "float64")
_KINDS = {
    "time": _Kind(*_FLOAT, _PICOSECONDS, can_miss=False),
    "partial time": _Kind(*_FLOAT, _PICOSECONDS),
    "unix time": _Kind(*_FLOAT, _NANOSECONDS),  # missing where the profile's wall time is not known
    "moment": _Kind("moment", "datetimetz", "datetime64[ns]"),
    "number": _Kind(*_FLOAT),
    "count": _Kind("int64", "int64", "int64", can_miss=False),
    "integer": _Kind("int64", "int64", "Int64"),
    "text": _Kind("text", "unicode", "object"),
}


def write_parquet(stream: BinaryIO, table: Sheet, facts: Sequence[tuple[str, Any]]) -> int:
    """Write all rows; the facts become the file's metadata. Returns the number of rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="pip install pyarrow, or write CSV instead: --format csv",
        ) from None
    except ImportError as error:  # the newest one does not take numpy 1
        raise UsageError(
            f"pyarrow cannot be imported: {plain(str(error), 120)}.",
            hint="Install one that fits, or write CSV instead: --format csv",
        ) from None
    fields = _fields(table)
    metadata = {"pandas": _pandas_metadata(fields)}
    for number, (key, value) in enumerate(facts):
        metadata[f"powertui.{number:02}.{key}"] = str(value)
    types = _types(pa)
    schema = pa.schema(
        [pa.field(name, types[kind.arrow], nullable=kind.can_miss) for name, kind in fields],
        metadata=metadata,
    )
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


def _fields(table: Sheet) -> list[tuple[str, _Kind]]:
    """The columns of the file: behind each time the exact number."""
    fields: list[tuple[str, _Kind]] = []
    for (name, _), kind_name in zip(table.columns, table.kinds, strict=True):
        kind = _KINDS[kind_name]
        fields.append((name, kind))
        if kind.unit is not None:
            exact_kind = _KINDS["integer" if kind.can_miss else "count"]
            fields.append((name.removesuffix("_s") + kind.unit.suffix, exact_kind))
    return fields


def _pandas_metadata(fields: Sequence[tuple[str, _Kind]]) -> str:
    """As pandas writes it for a frame of its own; other readers take the types of the file."""
    columns: list[dict[str, Any]] = []
    for name, kind in fields:
        columns.append(
            {
                "name": name,
                "field_name": name,
                "pandas_type": kind.pandas_type,
                "numpy_type": kind.numpy_type,
                "metadata": {"timezone": "UTC"} if kind.arrow == "moment" else None,
            }
        )
    return json.dumps(
        {
            "index_columns": [],
            "column_indexes": [],
            "columns": columns,
            "creator": {"library": "powertui", "version": __version__},
            "pandas_version": "1.5.0",  # whose form of this metadata it is
        }
    )


def _types(pa: Any) -> dict[str, Any]:
    """What Arrow holds."""
    return {
        "float64": pa.float64(),
        "int64": pa.int64(),
        "moment": pa.timestamp("ns", "UTC"),
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
        unit = _KINDS[kind].unit
        if unit is not None:
            arrays += _time_arrays(pa, column, batch.rows, unit)
            place += 1
        elif isinstance(column, Shared):
            width = column.words.width
            shared_kinds = kinds[place : place + width]
            shared_types = [types[_KINDS[shared].arrow] for shared in shared_kinds]
            arrays += _shared_arrays(pa, column, shared_kinds, shared_types)
            place += width
        elif isinstance(column, Moments):
            arrays.append(pa.array(column.ns).cast(types[_KINDS[kind].arrow]))
            place += 1
        else:
            arrays.append(_cell_array(pa, column, kind, types[_KINDS[kind].arrow]))
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
    pa: Any,
    column: Shared,
    kinds: Sequence[str],
    types: Sequence[Any],
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
