"""What `kasa emeter` prints of a TP-Link plug, again and again in one file, each time below a time:

== Energy ==
Current: 1.04 A
Voltage: 230.1 V
Power: 238.7 W
Total consumption: 12.063 kWh
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import stamps
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "kasa"
UNITS_WRITTEN = True
_POWER = re.compile(r"\s*Power:\s*(-?[\d.]+|None)\s*W\s*")
_PLUG = re.compile(r"\s*==\s*(.{1,80}?)\s*==\s*")
_TITLES = ("Energy", "Emeter")
_HINT = "Write the time before each answer: date +%s >> FILE; kasa --host PLUG emeter >> FILE"


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel for each plug that is named above its readings."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    when, plug = "", "plug"
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        if stamp := stamps.time_of_line(line):
            when = stamp
        elif (title := _PLUG.fullmatch(line)) and title[1] not in _TITLES:
            plug = title[1]
        elif match := _POWER.fullmatch(line):
            collected.add(Sensor(plug, NAME, Scope.PLUG), when, match[1], number)
    return collected.log(NAME, options, "kasa emeter: Power in W", hint=_HINT)
