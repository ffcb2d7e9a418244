"""`nvidia-smi --query-gpu=… --format=csv`: local time without a zone, with or without units and
header.

Several GPUs take turns row by row. A column tells them apart (index, gpu, uuid, pci.bus_id … by its
name, or without a header by its cells); without one a column that repeats from round to round
(memory.total, memory.used) or the pause after each round tells how many there are, and their order
tells which is which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Bools, Device, Int64s, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, column_times, devices, table, times, turns, units
from powertui.data.power.notes import Notes
from powertui.data.power.nvidia_turns import cells_of_rows, turns_by_column, turns_by_pause
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile, UsageError
from powertui.value_types import dataclass

NAME = "nvidia-smi"
TAKES_OPTIONS = True
# nvidia-smi's own, and that of Habana's hl-smi, which takes the same queries.
_STAMP = (
    r"(?:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d [A-Z]{3,5} \d{4})"
)
# Columns that tell GPUs apart, the surest first: an index is what a profile names GPUs by.
_IDENTITY = (
    "index",
    "gpu",
    "gpu_index",
    "gpu_id",
    "gpuid",
    "id",
    "device",
    "device_id",
    "minor_number",
    "uuid",
    "gpu_uuid",
    "pci.bus_id",
    "gpu_bus_id",
    "pci.bus",
    "serial",
    "gpu_serial",
    "card",
)
# nvidia-smi writes milliseconds; loops in shells around other tools do not.
_STAMP_MS = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"
# Of rows without a header or units: so many are looked at, and fewer than so many say too little.
# Both are chosen, not measured.
_MAX_PROBED_ROWS = 60
_MIN_PROBED_ROWS = 4
_MIN_PROBED_COLUMNS = 3  # whole numbers beside the decimals show that nvidia-smi wrote them
_SCORE_WITHOUT_UNITS = 88
_HOSTS = ("host", "hostname", "node", "server")
_MODELS = ("name", "gpu_name")


def sniff(head: str, _path: str) -> int:
    """By the names of its columns, or by its stamps when there is no header."""
    lines = list(filter(str.strip, head.split("\n")[:5]))
    if not lines or lines[0].lstrip().startswith(("{", "[")):
        return 0
    if _is_header(lines[0]):
        return 98
    for line in lines:
        if not re.search(rf"(^|,\s{{0,8}}){_STAMP}\s{{0,8}}(,|$)", line):
            return 0
    last_line = lines[-1]
    if re.search(r",\s{0,8}[\d.]{1,12} W\s{0,8}(,|$)", last_line):
        return 90
    if _draw_without_unit(head) is not None:
        return _SCORE_WITHOUT_UNITS
    has_performance_state = re.search(r",\s{0,8}P\d{1,2}\s{0,8}(,|$)", last_line)
    return 40 if has_performance_state else 0


def _is_header(line: str) -> bool:
    if re.search(r"(^|[,;\t] {0,8})\"?power\.draw", line):
        return True
    return "timestamp" in line and "utilization.gpu" in line


def _draw_without_unit(head: str) -> int | None:
    """The column of power in rows that have neither a header nor units; None where it is unsure.

    nvidia-smi prints watts with two decimals, and all else without any. Limits do not change.
    """
    rows = []
    for line in head.split("\n")[:_MAX_PROBED_ROWS]:
        if re.match(rf"\s*{_STAMP_MS}\s*,", line):
            rows.append([cell.strip() for cell in line.split(",")])
    if len(rows) > 2:
        rows.pop()  # the last line of a head may be cut
    if not rows:
        return None
    width = len(rows[0])
    rows = [row for row in rows if len(row) == width]
    if len(rows) < _MIN_PROBED_ROWS or width < _MIN_PROBED_COLUMNS:
        return None
    varying = []
    for column, cells in enumerate(zip(*rows, strict=True)):
        if _are_varying_watts(cells):
            varying.append(column)
    if len(varying) == 1:
        return varying[0]
    return None


def _are_varying_watts(cells: Sequence[str]) -> bool:
    if len(set(cells)) < 2:
        return False
    return all(re.fullmatch(r"\d{1,4}\.\d\d|\[?N/A\]?", cell) for cell in cells)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per GPU (and per kind of reading, when instant and average were both asked
    for).
    """
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(source.path, "has nvidia-smi's header, but no rows")
    rows = table.read(source, layout, notes)
    if not len(rows):
        reason = notes.first_reason() or "only a header"
        raise UnreadableFile(source.path, f"has no complete row ({reason})")
    plain = [re.sub(r"\s*\[.*\]$", "", name).strip().lower() for name in rows.names]
    when = _time(source.path, rows, plain, options)
    column = column_times.from_texts(rows.texts(when))
    column = times.in_zone(column, options.tz)
    notes.drop_all(rows.lines[~column.ok], "the time cannot be read")
    good_rows = np.flatnonzero(column.ok)
    if not len(good_rows):
        raise UnreadableFile(source.path, "has no row whose time can be read")
    gpus, how = _gpus(rows, plain, column.ns, good_rows, notes)
    ns, clock = assemble.zeroed(column, column.ok)
    draws = _draws(source, rows, plain, options)
    is_guessed = not options.watts_col and _is_draw_guessed(source.head_text, plain)
    scale = Badge.ASSUMED if is_guessed else Badge.MEASURED
    series: list[PowerSeries] = []
    for place, kind in draws:
        values, is_bad = rows.floats(place)
        is_bad |= np.isnan(values)
        bad_cells = _shown_cells(rows.texts(place), is_bad)
        notes.drop_all(rows.lines[is_bad & column.ok], f"{bad_cells} instead of a reading")
        unit = _unit(rows.names[place], options)
        watts = values[good_rows] * unit.factor
        has_reading = ~is_bad[good_rows]
        for gpu in gpus:
            mine = gpu.rows & has_reading
            if not mine.any():
                continue
            channel = assemble.power_series(
                _sensor(gpu, kind, options.host, scale),
                ns[mine],
                watts[mine],
                clock=clock,
                notes=notes,
            )
            series.append(channel)
    if not series:
        raise UnreadableFile(
            source.path,
            f"holds no reading of power ({notes.first_reason()})",
            hint="Older or virtual GPUs do not report power.draw.",
        )
    draw_names = ", ".join(f"`{rows.names[place]}`" for place, _ in draws)
    how_found = ", found by its decimals" if is_guessed else ""
    guess = assemble.join_guess(
        (
            f"nvidia-smi: time `{rows.names[when]}`, {column.words}",
            f"power {draw_names} in W{how_found}",
            how,
        )
    )
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def _unit(name: str, options: LogColumns) -> units.Unit:
    """The unit of a column: as a person gave it, as its name says, else watts."""
    given = units.UNITS.get(options.unit or "")
    return given or units.unit_of_name(name) or units.UNITS["W"]


def _sensor(gpu: _Gpu, kind: str, host: str, scale: Badge) -> Sensor:
    return Sensor(
        f"{gpu.label} ({kind})" if kind else gpu.label,
        f"{NAME} {gpu.device.model}".strip(),  # the model decides how the sensor averages
        Scope.GPU,
        gpu.host or host,
        device=gpu.device,
        scale=scale,
    )


def _asked_column(path: str, rows: table.FileCells, name: str) -> int:
    """The column that a person named."""
    column = rows.find(name)
    if column is None:
        raise UsageError(
            f"{path}: there is no column {name!r}",
            hint=f"Its columns are: {', '.join(rows.names[:12])}.",
        )
    return column


def _time(path: str, rows: table.FileCells, plain: Sequence[str], options: LogColumns) -> int:
    if options.time_col:
        return _asked_column(path, rows, options.time_col)
    if "timestamp" in plain:
        return plain.index("timestamp")
    for i in range(len(rows.names)):
        if re.fullmatch(_STAMP, rows.texts(i)[0].strip()):
            return i
    raise UnreadableFile(
        path,
        "comes from nvidia-smi, but without times",
        hint="Record it with --query-gpu=timestamp,index,power.draw",
    )


def _draws(
    source: LogFile,
    rows: table.FileCells,
    plain: Sequence[str],
    options: LogColumns,
) -> list[tuple[int, str]]:
    """The columns of power, each with its kind: "instant", "average", or "" of `power.draw`."""
    path = source.path
    if options.watts_col:
        return [(_asked_column(path, rows, options.watts_col), "")]
    draws = []
    for place, name in enumerate(plain):
        if name.startswith("power.draw"):
            draws.append((place, name.removeprefix("power.draw").lstrip(".")))
    if draws:
        return draws
    in_watts = [
        place
        for place in range(len(rows.names))
        if re.search(r"\d\s*W$", rows.texts(place)[0].strip())
    ]
    # A limit is in watts, too, and does not change.
    changing = [place for place in in_watts if len(set(rows.texts(place))) > 1]
    if in_watts:
        return [((changing or in_watts)[0], "")]
    without_unit = _draw_without_unit(source.head_text)
    if without_unit is not None:
        return [(without_unit, "")]
    raise UnreadableFile(
        path,
        "comes from nvidia-smi without a header, and no column is in W",
        hint="Name the column with the power: --watts-col NUMBER, counted from 1.",
    )


def _is_draw_guessed(head: str, plain: Sequence[str]) -> bool:
    """Whether no name says which column is the power: then its decimals do."""
    if any(name.startswith("power.draw") for name in plain):
        return False
    return _draw_without_unit(head) is not None


def _shown_cells(texts: Sequence[str], is_bad: Bools) -> str:
    """The first cells that are no readings, each once."""
    bad_rows = np.flatnonzero(is_bad)[:50]
    bad_texts = dict.fromkeys(texts[row] for row in bad_rows)
    first_texts = list(bad_texts)[:3]
    return ", ".join(repr(text[:20]) for text in first_texts)


@dataclass(frozen=True, eq=False)
class _Gpu:
    """One GPU of one host, and its rows among the good ones."""

    label: str
    host: str
    device: Device
    rows: Bools


def _gpus(
    rows: table.FileCells,
    plain: Sequence[str],
    ns: Int64s,
    good: Int64s,
    notes: Notes,
) -> tuple[list[_Gpu], str]:
    """The GPUs of the log, and by what they were told apart."""
    models = _cells_of_first(rows, plain, _MODELS, good)
    hosts = _cells_of_first(rows, plain, _HOSTS, good)
    identities = _identities(rows, plain, good)
    if identities:
        first_column, _ = identities[0]
        gpus = _by_identity(identities, hosts, models)
        return gpus, f"GPUs by `{rows.names[first_column]}`"
    by_turn = None
    if set(plain).isdisjoint(_HOSTS):
        by_turn = turns_by_column(rows, plain, good)
    if by_turn is None:
        by_turn = turns_by_pause(ns[good])
    count = by_turn.gpu_count
    if by_turn.is_torn.any():
        torn_rows = good[by_turn.is_torn]
        notes.drop_all(
            rows.lines[torn_rows],
            f"its round does not have {count} GPUs, so this GPU is unknown",
        )
    gpus = []
    for number in range(count):
        mine = (by_turn.turn == number) & ~by_turn.is_torn
        if mine.any():
            first = int(np.flatnonzero(mine)[0])
            index = number if count > 1 else None
            device = Device(index, "", "", models[first])
            gpus.append(_Gpu(f"GPU {number}", hosts[first], device, mine))
    return gpus, by_turn.how


def _cells_of_first(
    rows: table.FileCells,
    plain: Sequence[str],
    names: Sequence[str],
    good: Int64s,
) -> list[str]:
    """The cells of the first column that has one of these names; empty ones where none has."""
    column = next((i for i, name in enumerate(plain) if name in names), None)
    if column is None:
        return [""] * len(good)
    return cells_of_rows(rows, column, good)


def _identities(
    rows: table.FileCells,
    plain: Sequence[str],
    good: Int64s,
) -> list[tuple[int, list[str]]]:
    """Columns whose cells name devices, the best first: by the column's name, or without a header
    by the cells.
    """
    identities = []
    for name in _IDENTITY:
        if name in plain:
            column = plain.index(name)
            cells = cells_of_rows(rows, column, good)
            if _may_name_devices(cells):
                identities.append((column, cells))
    for column, name in enumerate(plain):
        if name.startswith("column "):
            cells = cells_of_rows(rows, column, good)
            if _are_addresses(cells) or _counts(cells):
                identities.append((column, cells))
    return identities


def _may_name_devices(cells: Sequence[str]) -> bool:
    """Whether the cells of a column that is called like a device name some: "gpu" may be a load."""
    named = map(devices.device_named, cells[:200])
    if all(device is not None for device in named):
        return True
    value_count = len(set(cells))
    max_count = max(2, len(cells) // 2)
    return 1 < value_count <= max_count


def _are_addresses(cells: Sequence[str]) -> bool:
    for cell in cells[:64]:
        device = devices.device_named(cell)
        if device is None or not (device.uuid or device.pci):
            return False
    return True


def _counts(cells: Sequence[str]) -> bool:
    """0, 1, 2 … in turn: an index."""
    size = len(set(cells))
    return (
        1 < size <= turns.MAX_TURN_CHANNELS
        and set(cells) == {str(k) for k in range(size)}
        and turns.takes_turns(cells, size)
    )


def _by_identity(
    identities: Sequence[tuple[int, list[str]]],
    hosts: Sequence[str],
    models: Sequence[str],
) -> list[_Gpu]:
    _, first_cells = identities[0]
    numbers: dict[tuple[str, str], int] = {}
    pairs = zip(hosts, first_cells, strict=True)
    gpu_of_row = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs])
    gpus = []
    for (host, text), number in numbers.items():
        mine = gpu_of_row == number
        row = int(np.flatnonzero(mine)[0])
        device: Device | None = Device(model=models[row])
        for _, cells in identities:
            named = devices.device_named(cells[row])
            device = devices.joined_device(device, named)
        assert device is not None
        name = f"GPU {text}" if text.isdigit() else text
        gpus.append(_Gpu(name, host, device, mine))
    return gpus
