"""A `Result` as DataFrames: ids are column names, times are seconds, what is unknown is missing.

Not in `WRITERS`: pandas is imported by whoever asks for a frame, never by the verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from powertui.data.columns import TIMES, Column, ps_of
from powertui.data.model import Bools
from powertui.data.table import Fact, Table


def of_table(table: Table) -> pd.DataFrame:
    """One row per row."""
    return frame({column.id: _column(column) for column in table.columns})


def of_facts(facts: Sequence[Fact]) -> pd.DataFrame:
    """One row per fact. `value` holds whatever Python type the fact has."""
    values = []
    lows = []
    highs = []
    badges: list[str | None] = []
    for fact in facts:
        value, lo, hi = fact.exported()
        values.append(value)
        lows.append(lo)
        highs.append(hi)
        badges.append(fact.badge.value if fact.badge is not None else None)
    return frame(
        {
            "id": texts([fact.id for fact in facts]),
            "label": texts([fact.label for fact in facts]),
            "value": pd.Series(values, dtype=object),
            "unit": texts([fact.exported_unit or None for fact in facts]),
            # None becomes NaN.
            "lo": np.array(lows, np.float64),
            "hi": np.array(highs, np.float64),
            "badge": texts(badges),
            "why": texts([fact.why or None for fact in facts]),
        }
    )


def of_hosts(frames: Sequence[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """Frames of the same form one below the other, the host of each as the first column.

    A host column of their own is replaced.
    """
    parts = []
    for host, answer in frames:
        part = answer
        if "host" in answer:
            part = answer.drop(columns="host")
        hosts = texts([host] * len(part))
        part.insert(0, "host", hosts)
        parts.append(part)
    # An empty frame has no types to give: its float column would turn the whole numbers of the
    # others into floats.
    filled = [part for part in parts if len(part)] or parts[:1]
    if not filled:
        return frame({"host": texts([])})
    if len(filled) == 1:
        return filled[0]
    below_each_other: pd.DataFrame = pd.concat(filled, ignore_index=True)
    return below_each_other


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Columns by name."""
    made: pd.DataFrame = pd.DataFrame(columns)
    return made


def typed(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> pd.DataFrame:
    """Rows of a JSON as a frame: these columns, each of a kind of `_TYPED`.

    Left to itself, pandas takes the type of a column from its values: whole numbers become floats
    beside a missing one, and a column that is missing altogether holds Python objects.
    """
    columns = {}
    for name, kind in kinds.items():
        columns[name] = _TYPED[kind]([row.get(name) for row in rows])
    return frame(columns)


def _column(column: Column) -> Any:
    if column.kind == "text":
        return texts([column.value(row) for row in range(len(column))])
    values, missing = _values(column)
    if column.kind in TIMES:
        times = values.astype(np.float64) / ps_of(column.unit)
        return np.where(missing, np.nan, times)
    if column.kind in ("number", "share"):
        numbers = values.astype(np.float64)
        is_percent = column.kind == "share" and column.unit
        if is_percent:
            numbers = numbers / 0.01
        return np.where(missing, np.nan, numbers)
    dtype = np.bool_ if column.kind == "flag" else np.int64
    filled = np.where(missing, 0, values).astype(dtype)
    if not missing.any():
        return filled
    return nullable(filled, ~missing)


def _values(column: Column) -> tuple[npt.NDArray[Any], Bools]:
    """The values of a column, and which of them are missing."""
    if isinstance(column.values, np.ndarray) and column.values.dtype.kind in "biuf":
        values = column.values
        missing = np.zeros(len(column), np.bool_)
    else:  # a list, which may hold None
        missing = np.array([value is None for value in column.values], np.bool_)
        values = np.array([0 if value is None else value for value in column.values])
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    if column.present is not None:
        missing = missing | ~column.present
    return values, missing


def nullable(values: Any, present: Bools) -> Any:
    """Whole numbers or flags of which some are not known: pandas' Int64 or boolean."""
    filled = np.where(present, values, 0).astype(values.dtype)
    is_flag = values.dtype == np.bool_
    column = pd.array(filled, dtype="boolean" if is_flag else "Int64")
    if not present.all():
        column[~present] = pd.NA
    return column


def texts(values: Any) -> Any:
    """A column of texts, `str` in pandas 3 and `object` before; None stays missing."""
    series = pd.Series(values, dtype=object)
    if pd.__version__.startswith(("1.", "2.")):
        return series
    return series.astype("str")


def _numbers(values: Sequence[float | None]) -> Any:
    return np.array(values, np.float64)  # None becomes NaN


def _whole_numbers(values: Sequence[int | None]) -> Any:
    """Int64, also where none is missing: a column has one type in every frame."""
    present = np.array([value is not None for value in values], np.bool_)
    filled = np.array([value or 0 for value in values], np.int64)
    return nullable(filled, present)


def _flags(values: Sequence[bool]) -> Any:
    return np.array(values, np.bool_)


_TYPED: dict[str, Callable[[Any], Any]] = {
    "flag": _flags,
    "text": texts,
    "number": _numbers,
    "whole": _whole_numbers,
}


def joined(parts: Sequence[Any], dtype: Any) -> Any:
    """Numpy columns one below the other; an empty one of this type when there is none."""
    if not parts:
        return np.empty(0, dtype)
    return np.concatenate(parts).astype(dtype, copy=False)
