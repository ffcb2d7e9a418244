"""amd-smi: `metric --json` and `--csv`, `monitor` as a table, CSV or JSON.

Values stand with their unit; -w writes Unix seconds.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import json_docs, stamps, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "amd-smi"
UNITS_WRITTEN = True
_POWERS = {
    "socket_power": "",
    "current_socket_power": "instant",
    "average_socket_power": "average",
    "power_usage": "",
    "power": "",
    "apu_average_socket_power": "average",
}
_HINT = (
    "Write the time before each answer (date +%s >> FILE), or record with: amd-smi monitor "
    "-p -w 1 --csv --file FILE"
)


def _header(line: str) -> list[str]:
    """The columns of `amd-smi monitor` or of its CSV."""
    if "," not in line and line != line.upper():
        return []
    cells = (
        [cell.strip().lower() for cell in line.split(",")] if "," in line else line.lower().split()
    )
    return cells if "gpu" in cells and any(cell in _POWERS for cell in cells) else []


def sniff(head: str, _path: str) -> int:
    """By its members, or the columns of a monitor."""
    if re.search(r'"gpu"\s*:\s*\d', head) and re.search(
        r'"(?:\w*socket_power|power_usage)"\s*:', head
    ):
        return 97
    if re.search(r"(?m)^GPU: \d{1,3}\s*$", head) and "SOCKET_POWER:" in head:
        return 96
    for line in head.split("\n")[:30]:
        cells = _header(stamps.split_time(line)[1])
        if cells and (
            set(cells) & (set(_POWERS) - {"power"})
            or ("power" in cells and "," not in line and cells[0] in ("gpu", "timestamp"))
        ):
            return 96
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    if re.search(r'"gpu"\s*:\s*\d', source.head_text):
        for doc in json_docs.documents(source.text, notes):
            _walk(doc.value, json_docs.when_in(doc.value, doc.when), doc.line, collected)
    elif re.search(r"(?m)^GPU: \d{1,3}\s*$", source.head_text):
        _text(source.text, collected)
    else:
        _table(source.text, notes, collected)
    return collected.log(NAME, options, "amd-smi: socket power in W", hint=_HINT)


def _sensor(gpu: int, kind: str) -> Sensor:
    return Sensor(
        f"GPU {gpu} ({kind})" if kind else f"GPU {gpu}", NAME, Scope.GPU, device=Device(gpu)
    )


def _walk(value: Any, when: str, line: int, collected: Collected) -> None:
    if isinstance(value, list):
        for entry in value:
            _walk(entry, json_docs.when_in(entry, when), line, collected)
        return
    if not isinstance(value, dict):
        return
    gpu = value.get("gpu")
    if not isinstance(gpu, int) or isinstance(gpu, bool):
        for member in value.values():
            if isinstance(member, (dict, list)):
                _walk(member, json_docs.when_in(member, when), line, collected)
        return
    power = value.get("power", value)
    for name, kind in _POWERS.items():
        cell = power.get(name) if isinstance(power, dict) else power if name == "power" else None
        unit = "W"
        if isinstance(cell, dict):
            unit, cell = str(cell.get("unit", "W")), cell.get("value")
        if cell is not None and not isinstance(cell, (dict, list)):
            collected.add(
                _sensor(gpu, kind),
                when,
                str(cell),
                line,
                unit=units.unit_of_symbol(unit) or units.UNITS["W"],
            )


def _text(text: str, collected: Collected) -> None:
    """`amd-smi metric` as it is printed: GPU by GPU, one member a line."""
    when = ""
    gpu: int | None = None
    for number, line in stamps.numbered_lines(text.split("\n")):
        when = stamps.time_of_line(line) or when
        if match := re.fullmatch(r"GPU: (\d{1,3})\s*", line):
            gpu = int(match[1])
        elif gpu is not None and (
            match := re.fullmatch(
                r"\s+((?:CURRENT_|AVERAGE_)?SOCKET_POWER): (\S{1,20})(?: (m?W))?\s*", line
            )
        ):
            collected.add(
                _sensor(gpu, _POWERS[match[1].lower()]),
                when,
                match[2],
                number,
                unit=units.UNITS[match[3] or "W"],
            )


def _table(text: str, notes: Notes, collected: Collected) -> None:
    names: list[str] = []
    above = ""
    commas = False
    lines = text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if when := stamps.time_of_line(line):
            above = when
            continue
        when, rest = stamps.split_time(line)
        if header := _header(line) or _header(rest):
            names, commas = header, "," in line
            continue
        if not names or not rest.strip():
            continue
        if names[0] == "timestamp" or commas:
            when, rest = "", line
        cells = (
            table.fields(rest, ",")
            if commas
            else re.sub(r"(?<=\d)\s+(?=(?:m?W|%|MHz|MB|GB|V|°?C|°\s?C)(?:\s|$))", "", rest).split()
        )
        cut = number == len(lines) and line and table.was_cut(cells[-1] if cells else "", ["0.1"])
        if len(cells) < len(names) or cut:
            notes.drop(
                number,
                "the last line may be cut"
                if cut
                else f"has {len(cells)} fields where the header names {len(names)}",
            )
            continue
        row = dict(zip(names, cells, strict=False))
        if not re.fullmatch(r"\d{1,4}", row["gpu"]):
            notes.drop(number, "the GPU is not a number")
            continue
        for name, kind in _POWERS.items():
            if name in row and (name != "power" or row[name]):
                collected.add(
                    _sensor(int(row["gpu"]), kind),
                    row.get("timestamp", "") or when or above,
                    row[name],
                    number,
                )
