"""Power logs of lines `second watts` under the line TOYWATTS."""

from __future__ import annotations

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Clock, Scope, Sensor
from powertui.data.power import assemble
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "toy"


def sniff(head: str | bytes, path: str) -> int:
    """The first line says it all."""
    return 100 if isinstance(head, str) and head.startswith("TOYWATTS") else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel, in Unix time."""
    notes = Notes(source.path)
    rows = np.array([line.split() for line in source.head_text.splitlines()[1:]], np.float64)
    ns = (rows[:, 0] * 1e9).astype(np.int64)
    clock = Clock(int(ns[0]), int(ns[0]), "absolute timestamps")
    series = assemble.power_series(
        Sensor("toy", NAME, Scope.NODE),
        ns - ns[0],
        rows[:, 1],
        clock=clock,
        notes=notes,
    )
    return PowerLog(source.path, NAME, (series,), ())
