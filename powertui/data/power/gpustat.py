"""gpustat's text, once or again and again in one file: `[0] Tesla V100 | 45'C, 93 % | 220 / 300 W`.

A line above each answer names the host and its local time. Power is there with `--show-power`.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import stamps
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "gpustat"
UNITS_WRITTEN = True
_GPU = re.compile(r"\s{0,4}\[(\d{1,3})\]\s{1,4}([^|]{1,80}?)\s{0,40}\|(.{1,400})")
# Watts end a field; the limit behind the slash is no reading.
_POWER = re.compile(
    r"(?<![\w.])(\d{1,5}(?:\.\d{1,3})?|\?{1,3})\s{0,3}"
    r"(?:/\s{0,3}(?:\d{1,5}|\?{1,3})\s{0,3})?W(?!\w)"
)
_HEADER = re.compile(r"(\S{1,80})\s{1,60}(\S.{10,40}?)(?:\s{2,}[\d.]{3,20})?\s*")


def sniff(head: str, _path: str) -> int:
    """By lines of GPUs with watts between bars."""
    for line in head.split("\n"):
        if (match := _GPU.match(line)) is not None and _POWER.search(match[3]):
            return 97
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU and host."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    when, host = "", ""
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        gpu = _GPU.match(line)
        if gpu is not None:
            power = _POWER.search(gpu[3])
            if power is None:
                notes.drop(number, "has no watts")
                continue
            device = Device(int(gpu[1]), "", "", gpu[2].strip())
            sensor = Sensor(f"GPU {gpu[1]}", f"gpustat {gpu[2]}", Scope.GPU, host, device=device)
            collected.add(sensor, when, power[1], number)
        elif stamp := stamps.time_of_line(line):
            when = stamp
        elif (header := _HEADER.fullmatch(line)) and (stamp := stamps.time_of_line(header[2])):
            host = header[1]
            when = stamp
    return collected.log(
        NAME,
        options,
        "gpustat: whole watts",
        hint="Record it with: while sleep 1; do gpustat --show-power; done >> FILE",
    )
