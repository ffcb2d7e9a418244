"""The table that nvidia-smi prints when it is asked for nothing else, again and again in one file:
`68W / 400W` under each GPU.

Above each table stands its local time. Watts are whole; for more, query `power.draw`.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, stamps
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "nvidia-smi table"
UNITS_WRITTEN = True
_GPU = (
    r"\|\s{1,4}(\d{1,3})\s{1,3}(\S.{1,60}?)\s{1,40}(?:On|Off|N/A)\s{0,4}"
    r"\|\s{0,4}([0-9A-Fa-f:.]{7,16})\s.*"
)
_POWER = (
    r"\|.{0,40}?\s(\d{1,5}|N/A|ERR!|Unknown "
    r"Error|\[N/A\])W?\s{0,3}/\s{0,3}(?:\d{1,5}W|N/A|\S{1,12})\s{0,4}\|.*"
)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    when = ""
    gpu: Sensor | None = None
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        if not line.startswith("|"):
            when = stamps.time_of_line(line) or when
            gpu = None if line.strip() else gpu
        elif match := re.fullmatch(_GPU, line):
            device = Device(int(match[1]), "", devices.pci_address(match[3]), match[2].strip())
            gpu = Sensor(f"GPU {match[1]}", f"nvidia-smi {device.model}", Scope.GPU, device=device)
        elif gpu is not None and (match := re.fullmatch(_POWER, line)):
            collected.add(gpu, when, match[1], number)
            gpu = None
    return collected.log(
        NAME,
        options,
        "nvidia-smi's table: whole watts",
        hint="Record it with: nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv -l 1",
    )
