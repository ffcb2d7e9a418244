"""A `Result` as DataFrames: ids are column names, times are seconds, what is unknown is missing.

Not in `WRITERS`: pandas is imported by whoever asks for a frame, never by the verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from powertui.data.model import Bools
from powertui.data.table import TIMES, Column, Fact, Table, ps_of


def of_table(table: Table) -> pd.DataFrame:
    """One row per row."""
    return frame({column.id: _column(column) for column in table.columns})


def of_facts(facts: Sequence[Fact]) -> pd.DataFrame:
    """One row per fact. `value` holds whatever Python type the fact has."""
    shown = [fact.exported() for fact in facts]
    return frame(
        {
            "id": texts([fact.id for fact in facts]),
            "label": texts([fact.label for fact in facts]),
            "value": pd.Series([value for value, _, _ in shown], dtype=object),
            "unit": texts([fact.exported_unit or None for fact in facts]),
            "lo": np.array([np.nan if lo is None else lo for _, lo, _ in shown], np.float64),
            "hi": np.array([np.nan if hi is None else hi for _, _, hi in shown], np.float64),
            "badge": texts(
                [fact.badge.value if fact.badge is not None else None for fact in facts]
            ),
            "why": texts([fact.why or None for fact in facts]),
        }
    )


def of_hosts(frames: Sequence[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """Frames of the same form one below the other, the host of each as the first column (once, if
    they have it themselves).
    """
    found = []
    for host, one in frames:
        bare = one.drop(columns="host") if "host" in one else one
        bare.insert(0, "host", texts([host] * len(bare)))
        found.append(bare)
    # An empty frame has no types to give: its float column would turn the whole numbers of the
    # others into floats.
    filled = [one for one in found if len(one)] or found[:1]
    if not filled:
        return frame({"host": texts([])})
    return filled[0] if len(filled) == 1 else pd.concat(filled, ignore_index=True)


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Columns by name."""
    made: pd.DataFrame = pd.DataFrame(columns)
    return made


def _column(column: Column) -> Any:
    if column.kind == "text":
        return texts([column.value(row) for row in range(len(column))])
    if isinstance(column.values, np.ndarray) and column.values.dtype.kind in "biuf":
        values, missing = column.values, np.zeros(len(column), np.bool_)
    else:  # a list, which may say None
        missing = np.array([value is None for value in column.values], np.bool_)
        values = np.array([0 if value is None else value for value in column.values])
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    if column.present is not None:
        missing = missing | ~column.present
    if column.kind in TIMES or column.kind in ("number", "share"):
        size = (
            ps_of(column.unit)
            if column.kind in TIMES
            else 0.01
            if column.kind == "share" and column.unit
            else 1
        )
        return np.where(missing, np.nan, values.astype(np.float64) / size)
    whole = np.where(missing, 0, values).astype(np.bool_ if column.kind == "flag" else np.int64)
    return nullable(whole, ~missing) if missing.any() else whole


def nullable(values: Any, present: Bools) -> Any:
    """Whole numbers or flags of which some are not known: pandas' Int64 or boolean."""
    column = pd.array(
        np.where(present, values, 0).astype(values.dtype),
        dtype="boolean" if values.dtype == np.bool_ else "Int64",
    )
    if not present.all():
        column[~present] = pd.NA
    return column


def texts(values: Any) -> Any:
    """A column of texts, `str` in pandas 3 and `object` before; None stays missing."""
    series = pd.Series(values, dtype=object)
    return series if pd.__version__.startswith(("1.", "2.")) else series.astype("str")


def joined(parts: Sequence[Any], dtype: Any) -> Any:
    """Numpy columns one below the other; an empty one of this type when there is none."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)
