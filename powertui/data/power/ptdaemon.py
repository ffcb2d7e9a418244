"""SPEC PTDaemon, as MLPerf's power logs keep it: `Time,MM-DD-YYYY
HH:MM:SS.mmm,Watts,…,Volts,…,Amps,…,PF,…,Mark,…` a line.

What an analyser with several channels measures stands behind the mark, each in its own turn. −1
means "not measured".
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import stamps, table
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "ptdaemon"
UNITS_WRITTEN = True
_LINE = r"Time,(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d(?:\.\d{1,6})?),Watts,([^,]{0,30}),(.{0,2000})"
# Behind the sums of an analyser with several channels: Ch1,Watts,…,Ch2,Watts,…
_CHANNEL = r"(Ch\d{1,2}),Watts,([^,]{0,30})"


def sniff(head: str, _path: str) -> int:
    """By its lines."""
    if any(re.match(_LINE, line) for line in head.split("\n")[:200]):
        return 98
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """What the analyser measured together; its channels are parts of that."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        match = re.fullmatch(_LINE, line.strip())
        if match is None:
            if line.startswith("Time,"):
                notes.drop(number, "is not a whole line of PTDaemon")
            continue
        if number == len(lines) and line and "Mark," not in match[3]:
            notes.drop(number, "the last line may be cut")
            continue
        _add(collected, Sensor("analyser", NAME, Scope.PLUG), match[1], match[2], number)
        for name, cell in re.findall(_CHANNEL, match[3]):
            _add(collected, Sensor(f"analyser {name}", NAME, Scope.RAIL), match[1], cell, number)
    return collected.log(
        NAME, options, "PTDaemon: Watts", hint="Give the log of ptd itself, or spl.txt of a run."
    )


def _add(collected: Collected, sensor: Sensor, when: str, cell: str, line: int) -> None:
    collected.add(sensor, when, cell if table.number(cell) != -1 else "-1, not measured", line)
