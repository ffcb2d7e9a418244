"""IBM Spyre's aiu-smi: columns under `#ID`, a line of units below it, date and time of each line,
as text or with commas.

The list of metric files above the table tells the PCI address of each card.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, stamps, table, units
from powertui.data.power.cells import below_header
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "aiu-smi"


def _header(line: str) -> list[str]:
    titles = line.strip().lstrip("#")
    words = titles.replace(",", " ").split()
    if words[:1] == ["ID"] and "pwr" in words:
        return [word.lower() for word in words]
    return []


def sniff(head: str, _path: str) -> int:
    """By its header."""
    lines = head.split("\n")[:60]
    if any(map(_header, lines)):
        return 98
    return 0


# A card in the list of metric files above the table: its number, and its PCI address.
_CARD = re.compile(
    r"#\s*(\d{1,3})\s+\S*?\.?((?:[0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$"
)


class _Table:
    """What the lines above a row say of it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.unit = units.UNITS["W"]
        self.addresses: dict[int, str] = {}  # of each card

    def set_header(self, line: str, names: list[str]) -> None:
        """The names of columns; with commas each title may hold its unit: "pwr W"."""
        self.names = names
        if "," not in line:
            return
        self.names = []
        for title in line.strip().lstrip("#").split(","):
            words = title.split()
            if words:
                self.names.append(words[0].lower())

    def add_comment(self, line: str) -> None:
        """A line that begins with `#`: a card, or the units of the columns."""
        if card := _CARD.match(line.strip()):
            number, address = card.groups()
            self.addresses[int(number)] = devices.pci_address(address)
        words = line.replace("#", " ").split()
        # The column `ID` has no unit: what stands there is the form of the date.
        are_units = words[:1] == ["YYYYMMDD"] and len(words) == len(self.names) - 1
        if are_units and "pwr" in self.names:
            place = self.names.index("pwr") - 1
            unit = units.unit_of_symbol(words[place])
            self.unit = unit or self.unit

    def misfit(self, cells: list[str], *, is_last: bool) -> str:
        """Why a row does not fit the header; "" where it does."""
        width = len(self.names)
        if len(cells) != width:
            return below_header(len(cells), width)
        if is_last and table.was_cut(cells[-1], ["0.1"]):
            return "the last line may be cut"
        return ""

    def sensor(self, card: int) -> Sensor:
        """What a row with this card is of."""
        device = Device(
            index=card,
            pci=self.addresses.get(card, ""),
            model="IBM Spyre",
        )
        return Sensor(
            f"AIU {card}",
            source=NAME,
            scope=Scope.GPU,
            device=device,
        )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per card."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    above = _Table()
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if header := _header(line):
            above.set_header(line, header)
            continue
        if line.lstrip().startswith("#"):
            above.add_comment(line)
            continue
        if not above.names:
            continue
        if "," in line:
            cells = [cell.strip() for cell in line.split(",")]
        else:
            cells = line.split()
        misfit = above.misfit(cells, is_last=number == len(lines))
        if misfit:
            notes.drop(number, misfit)
            continue
        row = dict(zip(above.names, cells, strict=True))
        if not re.fullmatch(r"\d{1,4}", row["id"]):
            notes.drop(number, "the card is not a number")
            continue
        card = int(row["id"])
        day = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", row.get("date", ""))
        time = row.get("time", "")
        collected.add(
            above.sensor(card),
            when=f"{day} {time}".strip(),
            value=row["pwr"],
            line=number,
            unit=above.unit,
        )
    return collected.log(NAME, options, "aiu-smi: pwr in W", period_s=1.0)
