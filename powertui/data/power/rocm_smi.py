"""rocm-smi, as JSON, as CSV or as text: cards by number, watts in the names of the columns, no time
of its own.

Each answer needs a time before it (`date`), or beside its cards.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, json_docs, stamps, table
from powertui.data.power.cells import below_header
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "rocm-smi"
UNITS_WRITTEN = True
# The name of the reading differs between versions and kinds of cards.
_POWER = (
    r"(Average Graphics Package|Current Socket Graphics Package|Current Socket|Average "
    r"Socket|Package|Graphics Package) Power \(W\)"
)
_TEXT = r"GPU\[(\d{1,3})\]\s*:\s*" + _POWER + r"\s*:\s*(\S{1,20})"
# The concise table of `rocm-smi` without options: watts are in a column of changing place.
_ROW = r"\s{0,8}(\d{1,3})\s(?:.{0,120}?\s)?(\d{1,5}(?:\.\d{1,4})?) ?W\b.{0,200}"
_HEAD = r"\s{0,8}(?:GPU|Device)\s.{0,200}?(?:AvgPwr|Power)\b.{0,200}?\b(?:SCLK|VRAM%).{0,200}"
_HINT = "Write the time before each answer: date +%s >> FILE; rocm-smi --showpower --json >> FILE"


def sniff(head: str, _path: str) -> int:
    """By the names of its readings, with cards around them."""
    if "Power (W)" not in head:
        for line in head.split("\n")[:80]:
            if re.fullmatch(_HEAD, line):
                return 95
        return 0
    has_cards = re.search(r'"card\d+"\s*:\s*\{', head)
    if has_cards and re.search(rf'"{_POWER}"', head):
        return 97
    if re.search(rf"^(?:\S+,)?device,.*{_POWER}", head, re.MULTILINE):
        return 97
    if re.search(_TEXT, head):
        return 97
    return 0


def _sensor(card: str, kind: str, model: str = "", uuid: str = "", pci: str = "") -> Sensor:
    named = devices.device_named(card)
    index = named.index if named is not None else None
    if index is not None:
        label = f"GPU {index}"
    else:
        label = card
    word = "instant" if kind.startswith("Current") else ""
    return Sensor(
        f"{label} ({word})" if word else label,
        NAME,
        Scope.GPU,
        device=Device(index, uuid, devices.pci_address(pci), model),
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per card."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    if re.search(r'"card\d+"\s*:', source.head_text):
        for doc in json_docs.documents(source.text, notes):
            when = json_docs.when_in(doc.value, doc.when)
            _cards(doc.value, when, doc.line, collected)
    else:
        _lines(source.text, notes, collected)
    return collected.log(NAME, options, "rocm-smi: power in W", hint=_HINT)


def _cards(value: Any, when: str, line: int, collected: Collected) -> None:
    """Cards wherever a wrapper put them."""
    if isinstance(value, list):
        for entry in value:
            _cards(entry, json_docs.when_in(entry, when), line, collected)
        return
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        if not isinstance(member, (dict, list)):
            continue
        then = json_docs.when_in(member, when)
        if isinstance(member, dict) and re.fullmatch(r"card\d{1,3}", key):
            _add_card(key, member, then, line, collected)
        else:
            _cards(member, then, line, collected)


# Where a card's model is, by the version of rocm-smi.
_MODEL_KEYS = ("Card Series", "Card series", "Card model")


def _add_card(
    card: str,
    members: dict[str, Any],
    when: str,
    line: int,
    collected: Collected,
) -> None:
    """The readings of one card."""
    facts = {name: str(cell) for name, cell in members.items()}
    models = filter(None, map(facts.get, _MODEL_KEYS))
    model = next(models, "")
    uuid = facts.get("Unique ID", "")
    pci = facts.get("PCI Bus", "")
    for name, cell in facts.items():
        match = re.fullmatch(_POWER, name)
        if match is not None:
            sensor = _sensor(card, match[1], model, uuid, pci)
            collected.add(sensor, when, cell, line)


def _lines(text: str, notes: Notes, collected: Collected) -> None:
    """CSV with its header before each answer, or the text of --showpower."""
    names: list[str] = []
    is_concise = False
    for line in stamps.timed_lines(text):
        if re.fullmatch(_HEAD, line.text):
            is_concise = True
            continue
        if is_concise and (row := re.fullmatch(_ROW, line.text)):
            number, watts = row.groups()
            sensor = _sensor(f"card{number}", "")
            collected.add(sensor, line.when, watts, line.number)
            continue
        if reading := re.search(_TEXT, line.text):
            number, kind, watts = reading.groups()
            sensor = _sensor(f"card{number}", kind)
            collected.add(sensor, line.when, watts, line.number)
            continue
        cells = table.fields(line.written, ",")
        if "device" in cells:
            names = cells
        elif names and len(cells) > 1:
            _add_row(names, cells, line, notes, collected)


def _add_row(
    names: list[str],
    cells: list[str],
    line: stamps.TimedLine,
    notes: Notes,
    collected: Collected,
) -> None:
    """A row of the CSV."""
    is_cut = line.is_last and table.was_cut(cells[-1], ["0.1"])
    if is_cut or len(cells) != len(names):
        notes.drop(line.number, below_header(len(cells), len(names)))
        return
    row = dict(zip(names, cells, strict=True))
    when = line.when
    for name in names:
        if name.lower() in ("timestamp", "time", "date"):
            when = row[name] or when
            break
    for name in names:
        match = re.fullmatch(_POWER, name)
        if match is not None:
            sensor = _sensor(row["device"], match[1])
            collected.add(sensor, when, row[name], line.number)
