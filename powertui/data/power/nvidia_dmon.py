"""`nvidia-smi dmon`: columns under `#` headers, `-` for nothing, usually no time (one round a
second by default).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Figure, Scope, Sensor
from powertui.data.power import assemble, column_times, devices, table, times
from powertui.data.power.cells import below_header
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "nvidia-smi dmon"
PERIOD_S = 1.0  # dmon's own default


def _header(line: str) -> list[str]:
    names = line.lstrip("# ").replace(",", " ").lower().split()
    if "gpu" in names and "pwr" in names:
        return names
    return []


def sniff(head: str, _path: str) -> int:
    """By its header."""
    lines = head.split("\n")[:50]
    if any(line.startswith("#") and _header(line) for line in lines):
        return 98
    return 0


class _Reading(NamedTuple):
    """One GPU in one round."""

    stamp: str  # "" without -o DT
    gpu: str
    watts: float
    round: int


def _readings(text: str, notes: Notes) -> list[_Reading]:
    """All readings; a round begins where a GPU comes again."""
    readings: list[_Reading] = []
    names: list[str] = []
    current_round = -1
    gpus_of_round: set[str] = set()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            names = _header(line) or names
            continue
        cells = line.replace(",", " ").split()
        if not cells:
            continue
        if len(cells) != len(names):
            notes.drop(number, below_header(len(cells), len(names)))
            continue
        if number == len(lines):
            notes.drop(number, "the last line may be cut")
            continue
        row = dict(zip(names, cells, strict=True))
        if row["gpu"] in gpus_of_round or current_round < 0:
            current_round += 1
            gpus_of_round.clear()
        gpus_of_round.add(row["gpu"])
        watts = table.number(row["pwr"])
        if not np.isfinite(watts):
            notes.drop(number, f"{row['pwr']!r} instead of a reading")
            continue
        stamp = f"{row.get('date', '')} {row.get('time', '')}".strip()
        readings.append(_Reading(stamp, row["gpu"], watts, current_round))
    return readings


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per GPU."""
    notes = Notes(source.path)
    readings = _readings(source.text, notes)
    if not readings:
        raise UnreadableFile(
            source.path,
            f"holds no reading of power ({notes.first_reason() or 'no row'})",
            hint="Record it with: nvidia-smi dmon -s p -o DT",
        )
    has_times = bool(readings[0].stamp)
    poll: Figure | None = None
    if has_times:
        stamps = [reading.stamp for reading in readings]
        column = times.in_zone(column_times.from_texts(stamps), options.tz)
        guess = f"dmon: `pwr` in W, {column.words}"
    else:
        column = _assumed_times(readings)
        poll = Figure(PERIOD_S, Badge.ASSUMED)
        notes.say(
            "no time in the log: one round per second is assumed, dmon's default (record times "
            "with -o DT)"
        )
        guess = "dmon: `pwr` in W; no time, one round per second assumed"
    ns, clock = assemble.zeroed(column, column.ok, keep_zero=not has_times)
    labels = np.array([reading.gpu for reading in readings])[column.ok]
    watts = np.array([reading.watts for reading in readings])[column.ok]
    series = []
    for gpu in dict.fromkeys(labels.tolist()):
        mine = labels == gpu
        device = devices.device_named(gpu)
        sensor = Sensor(f"GPU {gpu}", NAME, Scope.GPU, options.host, poll_s=poll, device=device)
        series.append(
            assemble.power_series(sensor, ns[mine], watts[mine], clock=clock, notes=notes)
        )
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def _assumed_times(readings: Sequence[_Reading]) -> column_times.TimeColumn:
    """One round a second."""
    rounds = np.array([reading.round for reading in readings], np.int64)
    is_known = np.ones(len(rounds), np.bool_)
    words = "one round per second, assumed"
    return column_times.TimeColumn(rounds * times.S, is_known, "elapsed", words)
