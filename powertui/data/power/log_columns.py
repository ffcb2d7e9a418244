"""Which of several power logs the columns that a person named are of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.power import column_names, table
from powertui.data.power.source import LogFile
from powertui.errors import PowertuiError


def columns_by_log(paths: Iterable[str], columns: LogColumns) -> dict[str, LogColumns]:
    """What was said of each log.

    Named columns are of the logs that have them; where none has them they are of all, so that each
    says what it has instead.
    """
    of_all = dict.fromkeys(paths, columns)
    if len(of_all) < 2 or not (columns.time_col or columns.watts_col):
        return of_all
    holding = {path for path in of_all if _holds(path, columns)}
    if not holding:
        return of_all
    of_others = replace(
        columns,
        time_col=None,
        watts_col=None,
        unit=None,
    )
    by_log = {}
    for path in of_all:
        by_log[path] = columns if path in holding else of_others
    return by_log


def _holds(path: str, columns: LogColumns) -> bool:
    """Whether a log has the columns that were named."""
    asked = columns.watts_col or ""
    try:
        head = LogFile(path, columns.limit).head_text
    except PowertuiError:
        return False
    names = [columns.time_col or "", *asked.split(",")]
    if head.lstrip().startswith(("{", "[")):
        for name in filter(None, names):
            _, _, member = name.rpartition(".")
            if f'"{member}"' not in head:
                return False
        return True
    layout = column_names.table_layout(head, path)
    if layout is None:
        return False
    rows = table.FileCells(layout.names, np.zeros(0, np.int64), [])
    if rows.find(asked) is not None:
        names = [columns.time_col or "", asked]  # a name with a comma in it
    return all(rows.find(name) is not None for name in filter(None, names))
