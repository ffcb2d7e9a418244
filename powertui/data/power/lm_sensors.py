"""What `sensors` (lm-sensors) prints, as it is or with -u, one call after the other in one file,
each below its time.

    amdgpu-pci-0300                          amdgpu-pci-0300
    Adapter: PCI adapter                     Adapter: PCI adapter
    PPT:   35.00 W  (cap = 255.00 W)         PPT:
    energy1:  5.36 MJ                          power1_average: 35.000

What stands in parentheses are limits and means, not readings.
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
from powertui.data.power.units import UNITS, Unit, scope_of, unit_of_symbol
from powertui.named_tuples import NamedTuple

NAME = "sensors"
UNITS_WRITTEN = True
_HINT = "Write the time before each: while sleep 1; do date +%s.%N; sensors; done >> power.txt"
_CHIP = re.compile(
    r"[A-Za-z0-9_]{2,40}-(?:acpi|isa|pci|i2c|virtual|hid|mdio|scsi|spi|usb)-[0-9a-fA-F-]{1,12}"
)
_VALUE = re.compile(r"([^:(]{1,60}):\s{1,40}(-?\d[\d.]*) ([mkMu]?[WJ])\s*(?:\(.*)?")
_LABEL = re.compile(r"([^:\s][^:]{0,60}):")
_RAW = re.compile(r"\s+(power|energy)\d{1,2}_(input|average): (-?[\d.]+)")
_MACHINE_CHIP = re.compile(r"power_meter|ibmaem|ibmpex")  # chips that measure the machine


class _Reading(NamedTuple):
    sensor: Sensor
    when: str
    value: str
    unit: Unit
    line: int
    mean: bool  # of a chip that has the reading itself, too, perhaps


def sniff(head: str, _path: str) -> int:
    """By a chip above its adapter, and something in watts or joules below."""
    if not re.search(r"^Adapter: ", head, re.MULTILINE):
        return 0
    lines = head.split("\n")
    if not any(_CHIP.fullmatch(line.strip()) for line in lines):
        return 0
    if any(_RAW.fullmatch(line) or _VALUE.fullmatch(line.strip()) for line in lines):
        return 95
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel for each of a chip's powers."""
    notes = Notes(source.path)
    readings = list(_readings(source.text))
    itself = {reading.sensor for reading in readings if not reading.mean}
    collected = Collected(source.path, notes)
    for reading in readings:
        if not reading.mean or reading.sensor not in itself:
            collected.add(
                reading.sensor, reading.when, reading.value, reading.line, unit=reading.unit
            )
    return collected.log(NAME, options, "sensors: as its units say", hint=_HINT)


def _readings(text: str) -> list[_Reading]:
    out: list[_Reading] = []
    when = chip = label = ""
    lines = text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        bare = line.strip()
        if number == len(lines):
            break  # it has no end: it may be cut
        if _CHIP.fullmatch(bare):
            chip = bare
        elif stamp := stamps.time_of_line(line):
            when = stamp
        elif match := _RAW.fullmatch(line.rstrip()):
            unit = UNITS["W" if match[1] == "power" else "J"]
            out.append(
                _Reading(
                    sensor=_sensor(chip, label),
                    when=when,
                    value=match[3],
                    unit=unit,
                    line=number,
                    mean=match[2] == "average",
                )
            )
        elif match := _VALUE.fullmatch(bare):
            unit_written = unit_of_symbol(match[3])
            if unit_written is not None:
                out.append(
                    _Reading(
                        sensor=_sensor(chip, match[1]),
                        when=when,
                        value=match[2],
                        unit=unit_written,
                        line=number,
                        mean=False,
                    )
                )
        elif match := _LABEL.fullmatch(bare):
            label = match[1]
    return out


def _sensor(chip: str, label: str) -> Sensor:
    name = f"{chip} {label}".strip()
    return Sensor(name, NAME, Scope.NODE if _MACHINE_CHIP.match(chip) else scope_of(name))
