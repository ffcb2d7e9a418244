"""A table as a DataFrame: ids are column names, times are seconds, what is unknown is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from powertui.data.model import PS_PER_S
from powertui.data.table import TIMES, Column, Table


def of_table(table: Table) -> pd.DataFrame:
    """One row per row."""
    frame: pd.DataFrame = pd.DataFrame({column.id: _column(column) for column in table.columns})
    return frame


def _column(column: Column) -> object:
    if column.kind == "text":
        return texts([column.value(row) for row in range(len(column))])
    values = np.asarray(column.values)
    if column.kind in TIMES or column.kind in ("number", "share"):
        numbers = values.astype(np.float64) / (PS_PER_S if column.kind in TIMES else 1)
        return numbers if column.present is None else np.where(column.present, numbers, np.nan)
    if column.present is None or column.present.all():
        return values.astype(np.bool_ if column.kind == "flag" else np.int64)
    out = pd.array(np.where(column.present, values, 0), dtype="boolean" if column.kind == "flag" else "Int64")
    out[~column.present] = pd.NA
    return out


def texts(values: object) -> object:
    """A column of texts, `str` in pandas 3 and `object` before; None stays missing."""
    series = pd.Series(values, dtype=object)
    return series if pd.__version__.startswith(("1.", "2.")) else series.astype("str")
