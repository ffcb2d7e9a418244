"""`nvidia-smi dmon`: columns under `#` headers, `-` for nothing, usually no time (one round a
second by default).
"""

from __future__ import annotations

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Figure, Scope, Sensor
from powertui.data.power import assemble, devices, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "nvidia-smi dmon"
PERIOD_S = 1.0  # dmon's own default


def _header(line: str) -> list[str]:
    names = line.lstrip("# ").replace(",", " ").lower().split()
    return names if "gpu" in names and "pwr" in names else []


def sniff(head: str, _path: str) -> int:
    """By its header."""
    return (
        98 if any(line.startswith("#") and _header(line) for line in head.split("\n")[:50]) else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per GPU."""
    notes = Notes(source.path)
    names: list[str] = []
    stamps: list[str] = []
    gpus: list[str] = []
    watts: list[float] = []
    rounds: list[int] = []
    current = -1
    gpus_of_round: set[str] = set()
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            names = _header(line) or names
            continue
        cells = line.replace(",", " ").split()
        if not cells:
            continue
        if len(cells) != len(names) or (number == len(lines) and line):
            notes.drop(
                number,
                f"has {len(cells)} fields where the header names {len(names)}"
                if len(cells) != len(names)
                else "the last line may be cut",
            )
            continue
        at = dict(zip(names, cells, strict=True))
        if at["gpu"] in gpus_of_round or current < 0:  # the same GPU again: the next round
            current += 1
            gpus_of_round.clear()
        gpus_of_round.add(at["gpu"])
        value = table.number(at["pwr"])
        if not np.isfinite(value):
            notes.drop(number, f"{at['pwr']!r} instead of a reading")
            continue
        stamps.append(f"{at.get('date', '')} {at.get('time', '')}".strip())
        gpus.append(at["gpu"])
        watts.append(value)
        rounds.append(current)
    if not watts:
        raise UnreadableFile(
            source.path,
            f"holds no reading of power ({notes.first_reason() or 'no row'})",
            hint="Record it with: nvidia-smi dmon -s p -o DT",
        )
    poll: Figure | None = None
    if stamps[0]:
        column = times.in_zone(times.from_texts(stamps), options.tz)
        guess = f"dmon: `pwr` in W, {column.words}"
    else:
        column = times.TimeColumn(
            np.array(rounds, np.int64) * times.S,
            np.ones(len(rounds), np.bool_),
            "elapsed",
            "one round per second, assumed",
        )
        poll = Figure(PERIOD_S, Badge.ASSUMED)
        notes.say(
            "no time in the log: one round per second is assumed, dmon's default (record times "
            "with -o DT)"
        )
        guess = "dmon: `pwr` in W; no time, one round per second assumed"
    ns, clock = assemble.zeroed(column, column.ok, keep_zero=not stamps[0])
    labels, values = np.array(gpus)[column.ok], np.array(watts)[column.ok]
    series = tuple(
        assemble.power_series(
            Sensor(
                f"GPU {gpu}",
                NAME,
                Scope.GPU,
                options.host,
                poll_s=poll,
                device=devices.device_named(gpu),
            ),
            ns[labels == gpu],
            values[labels == gpu],
            clock=clock,
            notes=notes,
        )
        for gpu in dict.fromkeys(labels.tolist())
    )
    return PowerLog(source.path, NAME, series, notes.warnings(), guess)
