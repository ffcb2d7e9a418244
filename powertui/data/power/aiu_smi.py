"""IBM Spyre's aiu-smi: columns under `#ID`, a line of units below it, date and time of each line,
as text or with commas.

The list of metric files above the table tells the PCI address of each card.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, stamps, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "aiu-smi"


def _header(line: str) -> list[str]:
    words = line.strip().lstrip("#").strip().replace(",", " ").split()
    return [word.lower() for word in words] if words[:1] == ["ID"] and "pwr" in words else []


def sniff(head: str, _path: str) -> int:
    """By its header."""
    return 98 if any(_header(line) for line in head.split("\n")[:60]) else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per card."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    names: list[str] = []
    unit = units.UNITS["W"]
    addresses: dict[int, str] = {}
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if header := _header(line):
            # with commas each title may hold its unit: "pwr W"
            names = (
                [
                    title.split()[0].lower()
                    for title in line.strip().lstrip("#").split(",")
                    if title.split()
                ]
                if "," in line
                else header
            )
            continue
        if line.lstrip().startswith("#"):
            if match := re.match(
                r"#\s*(\d{1,3})\s+\S*?\.?((?:[0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$",
                line.strip(),
            ):
                addresses[int(match[1])] = devices.pci_address(match[2])
            words = line.replace("#", " ").split()
            if words[:1] == ["YYYYMMDD"] and "pwr" in names and len(words) == len(names) - 1:
                unit = units.unit_of_symbol(words[names.index("pwr") - 1]) or unit
            continue
        cells = [cell.strip() for cell in line.split(",")] if "," in line else line.split()
        if not names or not line.strip():
            continue
        if len(cells) != len(names) or (
            number == len(lines) and line and table.was_cut(cells[-1], ["0.1"])
        ):
            short = len(cells) != len(names)
            notes.drop(
                number,
                f"has {len(cells)} fields where the header names {len(names)}"
                if short
                else "the last line may be cut",
            )
            continue
        row = dict(zip(names, cells, strict=True))
        if not re.fullmatch(r"\d{1,4}", row["id"]):
            notes.drop(number, "the card is not a number")
            continue
        card = int(row["id"])
        day = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", row.get("date", ""))
        when = f"{day} {row.get('time', '')}".strip()
        device = Device(card, "", addresses.get(card, ""), "IBM Spyre")
        collected.add(
            Sensor(f"AIU {card}", NAME, Scope.GPU, device=device),
            when,
            row["pwr"],
            number,
            unit=unit,
        )
    return collected.log(NAME, options, "aiu-smi: pwr in W", period_s=1.0)
