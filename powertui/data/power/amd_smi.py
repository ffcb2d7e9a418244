"""amd-smi: `metric --json` and `--csv`, `monitor` as a table, CSV or JSON.

Values stand with their unit; -w writes Unix seconds.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import json_docs, stamps, table, units
from powertui.data.power.cells import below_header
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "amd-smi"
UNITS_WRITTEN = True
# Names of the reading by version and by verb (`metric`, `monitor`).
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
    if "," in line:
        cells = [cell.strip().lower() for cell in line.split(",")]
    elif line == line.upper():
        cells = line.lower().split()
    else:
        return []
    if "gpu" in cells and any(cell in _POWERS for cell in cells):
        return cells
    return []


def sniff(head: str, _path: str) -> int:
    """By its members, or the columns of a monitor."""
    has_power = re.search(r'"(?:\w*socket_power|power_usage)"\s*:', head)
    if has_power and re.search(r'"gpu"\s*:\s*\d', head):
        return 97
    if "SOCKET_POWER:" in head and re.search(r"(?m)^GPU: \d{1,3}\s*$", head):
        return 96
    for line in head.split("\n")[:30]:
        _, text = stamps.split_time(line)
        if _is_monitor(text):
            return 96
    return 0


def _is_monitor(line: str) -> bool:
    """Whether a line is a header of `monitor`: a column `power` alone may be any tool's."""
    cells = _header(line)
    powers = _POWERS.keys() & set(cells)
    if powers - {"power"}:
        return True
    if not powers or "," in line:
        return False
    return cells[0] in ("gpu", "timestamp")


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    head = source.head_text
    if re.search(r'"gpu"\s*:\s*\d', head):
        for doc in json_docs.documents(source.text, notes):
            when = json_docs.when_in(doc.value, doc.when)
            _walk(doc.value, when, doc.line, collected)
    elif re.search(r"(?m)^GPU: \d{1,3}\s*$", head):
        _text(source.text, collected)
    else:
        _table(source.text, notes, collected)
    return collected.log(NAME, options, "amd-smi: socket power in W", hint=_HINT)


def _sensor(gpu: int, kind: str) -> Sensor:
    name = f"GPU {gpu}"
    if kind:
        name += f" ({kind})"
    return Sensor(
        name,
        source=NAME,
        scope=Scope.GPU,
        device=Device(gpu),
    )


def _walk(value: Any, when: str, line: int, collected: Collected) -> None:
    if isinstance(value, list):
        for entry in value:
            _walk(entry, json_docs.when_in(entry, when), line, collected)
        return
    if not isinstance(value, dict):
        return
    gpu = value.get("gpu")
    if isinstance(gpu, int) and not isinstance(gpu, bool):
        _add_gpu(gpu, value.get("power", value), when, line, collected)
        return
    for member in value.values():
        if isinstance(member, (dict, list)):
            _walk(member, json_docs.when_in(member, when), line, collected)


def _add_gpu(
    gpu: int,
    power: Any,
    when: str,
    line: int,
    collected: Collected,
) -> None:
    """The readings of one GPU: an object with several, or one alone."""
    readings = power if isinstance(power, dict) else {"power": power}
    for name, kind in _POWERS.items():
        cell = readings.get(name)
        symbol = "W"
        if isinstance(cell, dict):
            symbol = str(cell.get("unit", "W"))
            cell = cell.get("value")
        if cell is None or isinstance(cell, (dict, list)):
            continue
        unit = units.unit_of_symbol(symbol) or units.UNITS["W"]
        collected.add(
            _sensor(gpu, kind),
            when,
            str(cell),
            line,
            unit=unit,
        )


class _Header(NamedTuple):
    """The columns of the rows below it, and whether commas separate them."""

    names: list[str]
    has_commas: bool

    def cells(self, row: str) -> list[str]:
        """The cells of a row, numbers without the units behind them."""
        if self.has_commas:
            return table.fields(row, ",")
        return _UNIT_BEHIND_NUMBER.sub("", row).split()

    def misfit(self, cells: list[str], *, is_last: bool) -> str:
        """Why a row does not fit its header; "" where it does."""
        last_cell = cells[-1] if cells else ""
        if is_last and table.was_cut(last_cell, ["0.1"]):
            return "the last line may be cut"
        width = len(self.names)
        if len(cells) < width:
            return below_header(len(cells), width)
        return ""


# Units behind the numbers of `monitor`, which are no cells of their own.
_UNIT_BEHIND_NUMBER = re.compile(r"(?<=\d)\s+(?=(?:m?W|%|MHz|MB|GB|V|°?C|°\s?C)(?:\s|$))")


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
    header = _Header([], False)
    for line in stamps.timed_lines(text):
        if names := _header(line.written) or _header(line.text):
            header = _Header(names, "," in line.written)
            continue
        if not header.names:
            continue
        # With -w a row begins with Unix seconds, which are a column.
        has_own_time = header.names[0] == "timestamp" or header.has_commas
        if has_own_time:
            when = line.above
            cells = header.cells(line.written)
        else:
            when = line.when
            cells = header.cells(line.text)
        misfit = header.misfit(cells, is_last=line.is_last)
        if misfit:
            notes.drop(line.number, misfit)
            continue
        row = dict(zip(header.names, cells, strict=False))
        if not re.fullmatch(r"\d{1,4}", row["gpu"]):
            notes.drop(line.number, "the GPU is not a number")
            continue
        gpu = int(row["gpu"])
        when = row.get("timestamp") or when
        for name, kind in _POWERS.items():
            reading = row.get(name)
            if reading is None or (name == "power" and not reading):
                continue
            collected.add(_sensor(gpu, kind), when, reading, line.number)
