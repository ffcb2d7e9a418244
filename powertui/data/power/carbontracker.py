"""carbontracker's log: for each epoch its length and, of each component, the mean power.

    2025-11-18 15:54:28 - Epoch 1:
    2025-11-18 15:54:28 - Duration: 0:00:33.57
    2025-11-18 15:54:28 - Average power usage (W) for gpu: [136.86]

The lines are written when the epoch is over. They are read as joules over that stretch of time.
"""

from __future__ import annotations

import csv
import io
import re

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Scope
from powertui.data.power import energy_tables
from powertui.data.power.dialects import EnergyColumn, EnergyTable
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "carbontracker"
_DURATION = re.compile(r"(.{19}) - Duration: (?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)\s*")
_POWER = re.compile(r".{19} - Average power usage \(W\) for (\w{1,20}): (.{0,4000}?)\s*")
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
_TABLE = EnergyTable(
    name=NAME,
    program=NAME,
    columns=(),
    score=0,
    time="end",
    time_is_end=True,
    duration="duration",
    energies=(
        EnergyColumn(r"gpu (\d+)", "GPU {}", Scope.GPU),
        EnergyColumn(r"cpu (\d+)", "CPU {}", Scope.PACKAGE, Badge.ESTIMATED),
    ),
    joules_per_unit=1.0,
    estimates="carbontracker's processors without a counter are estimates",
    guess="carbontracker: mean power of each epoch, which ends at the line's time ({time})",
)


def _length_s(duration: re.Match[str]) -> float:
    """How long an epoch took: "1 day, 2:03:04.5", mostly without days."""
    _, days, hours, minutes, seconds = duration.groups()
    whole_hours = int(days or 0) * 24 + int(hours)
    whole_minutes = whole_hours * 60 + int(minutes)
    return whole_minutes * 60 + float(seconds)


def _epochs(text: str) -> list[dict[str, str]]:
    """A row for each epoch: its end, its length in s, and the joules of each device in it."""
    epochs: list[dict[str, str]] = []
    for line in text.split("\n"):
        if match := _DURATION.fullmatch(line):
            epochs.append({"end": match[1], "duration": f"{_length_s(match):.3f}"})
        elif epochs and (match := _POWER.fullmatch(line)):
            epoch = epochs[-1]
            length_s = float(epoch["duration"])
            for number, watts in enumerate(re.findall(_NUMBER, match[2])):
                joules = float(watts) * length_s
                epoch[f"{match[1]} {number}"] = f"{joules:.3f}"
    return epochs


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per device, with an interval for each epoch."""
    epochs = _epochs(source.text)
    names = list(dict.fromkeys(name for epoch in epochs for name in epoch))
    if len(names) <= len(("end", "duration")):
        raise UnreadableFile(source.path, "comes from carbontracker, but holds no power")
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(epochs)
    return energy_tables.load(_TABLE, LogFile.of_text(source, out.getvalue()), options)
