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
from powertui.data.power import assemble, devices, table, times, turns, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile, UsageError
from powertui.value_types import dataclass

NAME = "nvidia-smi"
TAKES_OPTIONS = True
_STAMP = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
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
_STAMP_MS = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"
# Of rows without a header or units: so many are looked at, and fewer than so many say too little.
# Both are chosen, not measured.
_MAX_PROBED_ROWS = 60
_MIN_PROBED_ROWS = 4
_MIN_PROBED_COLUMNS = 3  # whole numbers beside the decimals show that nvidia-smi wrote them
_SCORE_WITHOUT_UNITS = 88
_HOSTS = ("host", "hostname", "node", "server")
_MODELS = ("name", "gpu_name")
_NO_TURN = re.compile(
    r"timestamp|power\.draw|^column "
)  # columns whose repeating says nothing of turns


def sniff(head: str, _path: str) -> int:
    """By the names of its columns, or by its stamps when there is no header."""
    lines = [line for line in head.split("\n")[:5] if line.strip()]
    if not lines or lines[0].lstrip()[:1] in ("{", "["):
        return 0
    if re.search(r"(^|[,;\t] {0,8})\"?power\.draw", lines[0]) or (
        "timestamp" in lines[0] and "utilization.gpu" in lines[0]
    ):
        return 98
    stamped = all(re.search(rf"(^|,\s{{0,8}}){_STAMP}\s{{0,8}}(,|$)", line) for line in lines)
    if stamped and re.search(r",\s{0,8}[\d.]{1,12} W\s{0,8}(,|$)", lines[-1]):
        return 90
    if stamped and _draw_without_unit(head) is not None:
        return _SCORE_WITHOUT_UNITS
    return 40 if stamped and re.search(r",\s{0,8}P\d{1,2}\s{0,8}(,|$)", lines[-1]) else 0


def _draw_without_unit(head: str) -> int | None:
    """The column of power in rows that have neither a header nor units; None where it is unsure.

    nvidia-smi prints watts with two decimals, and all else without any. Limits do not change.
    """
    rows = [
        [cell.strip() for cell in line.split(",")]
        for line in head.split("\n")[:_MAX_PROBED_ROWS]
        if re.match(rf"\s*{_STAMP_MS}\s*,", line)
    ]
    # The last line of a head may be cut.
    rows = [row for row in rows[: len(rows) - (len(rows) > 2)] if len(row) == len(rows[0])]
    if len(rows) < _MIN_PROBED_ROWS or len(rows[0]) < _MIN_PROBED_COLUMNS:
        return None
    varying = [
        column
        for column, cells in enumerate(zip(*rows, strict=True))
        if len(set(cells)) > 1
        and all(re.fullmatch(r"\d{1,4}\.\d\d|\[?N/A\]?", cell) for cell in cells)
    ]
    return varying[0] if len(varying) == 1 else None


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
        raise UnreadableFile(
            source.path, f"has no complete row ({notes.first_reason() or 'only a header'})"
        )
    plain = [re.sub(r"\s*\[.*\]$", "", name).strip().lower() for name in rows.names]
    when = _time(source.path, rows, plain, options)
    column = times.in_zone(times.from_texts(rows.texts(when)), options.tz)
    notes.drop_all(rows.lines[~column.ok], "the time cannot be read")
    rows_ok = np.flatnonzero(column.ok)
    if not len(rows_ok):
        raise UnreadableFile(source.path, "has no row whose time can be read")
    gpus, how = _gpus(rows, plain, column.ns, rows_ok, notes)
    ns_all, clock = assemble.zeroed(column, column.ok)
    series: list[PowerSeries] = []
    draws = _draws(source, rows, plain, options)
    is_guessed = (
        not options.watts_col
        and not any(name.startswith("power.draw") for name in plain)
        and _draw_without_unit(source.head_text) is not None
    )
    for at, kind in draws:
        values, bad = rows.floats(at)
        bad |= np.isnan(values)
        notes.drop_all(
            rows.lines[bad & column.ok], f"{_seen(rows.texts(at), bad)} instead of a reading"
        )
        unit = (
            units.UNITS.get(options.unit or "")
            or units.unit_of_name(rows.names[at])
            or units.UNITS["W"]
        )
        watts = values[rows_ok] * unit.factor
        for gpu in gpus:
            mine = gpu.rows & ~bad[rows_ok]
            if not mine.any():
                continue
            source_name = (
                f"{NAME} {gpu.device.model}".strip()
            )  # the model decides how the sensor averages
            name = f"{gpu.label} ({kind})" if kind else gpu.label
            sensor = Sensor(
                name,
                source_name,
                Scope.GPU,
                gpu.host or options.host,
                device=gpu.device,
                scale=Badge.ASSUMED if is_guessed else Badge.MEASURED,
            )
            series.append(
                assemble.power_series(sensor, ns_all[mine], watts[mine], clock=clock, notes=notes)
            )
    if not series:
        raise UnreadableFile(
            source.path,
            f"holds no reading of power ({notes.first_reason()})",
            hint="Older or virtual GPUs do not report power.draw.",
        )
    guess = assemble.join_guess(
        (
            f"nvidia-smi: time `{rows.names[when]}`, {column.words}",
            "power "
            + ", ".join(f"`{rows.names[at]}`" for at, _ in draws)
            + (" in W, taken by its decimals" if is_guessed else " in W"),
            how,
        )
    )
    return PowerLog(source.path, NAME, tuple(series), notes.warnings(), guess)


def _time(path: str, rows: table.FileCells, plain: Sequence[str], options: LogColumns) -> int:
    if options.time_col:
        given = rows.find(options.time_col)
        if given is None:
            raise UsageError(
                f"{path}: there is no column {options.time_col!r}",
                hint=f"Its columns are: {', '.join(rows.names[:12])}.",
            )
        return given
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
    source: LogFile, rows: table.FileCells, plain: Sequence[str], options: LogColumns
) -> list[tuple[int, str]]:
    path = source.path
    if options.watts_col:
        given = rows.find(options.watts_col)
        if given is None:
            raise UsageError(
                f"{path}: there is no column {options.watts_col!r}",
                hint=f"Its columns are: {', '.join(rows.names[:12])}.",
            )
        return [(given, "")]
    draws = [
        (i, name.removeprefix("power.draw").lstrip("."))
        for i, name in enumerate(plain)
        if name.startswith("power.draw")
    ]
    if draws:
        return draws
    watts = [i for i in range(len(rows.names)) if re.search(r"\d\s*W$", rows.texts(i)[0].strip())]
    moving = [i for i in watts if len(set(rows.texts(i))) > 1] or watts
    if moving:
        return [(moving[0], "")]
    without_unit = _draw_without_unit(source.head_text)
    if without_unit is not None:
        return [(without_unit, "")]
    raise UnreadableFile(
        path,
        "comes from nvidia-smi without a header, and no column is in W",
        hint="Name the column with the power: --watts-col NUMBER, counted from 1.",
    )


def _seen(texts: Sequence[str], bad: np.ndarray) -> str:
    texts_seen = dict.fromkeys(texts[i] for i in np.flatnonzero(bad)[:50])
    return ", ".join(repr(text[:20]) for text in list(texts_seen)[:3])


@dataclass(frozen=True, eq=False)
class _Gpu:
    """One GPU of one host, and its rows among the good ones."""

    label: str
    host: str
    device: Device
    rows: Bools


def _gpus(
    rows: table.FileCells, plain: Sequence[str], ns: Int64s, good: Int64s, notes: Notes
) -> tuple[list[_Gpu], str]:
    """The GPUs of the log, and by what they were told apart."""
    named = next((i for i, name in enumerate(plain) if name in _MODELS), None)
    models = _cells(rows, named, good) if named is not None else [""] * len(good)
    owner = next((i for i, name in enumerate(plain) if name in _HOSTS), None)
    hosts = _cells(rows, owner, good) if owner is not None else [""] * len(good)
    identities = _identities(rows, plain, good)
    if identities:
        return _by_identity(identities, hosts, models), f"GPUs by `{rows.names[identities[0][0]]}`"
    by_turn = np.zeros(len(good), np.int32), np.zeros(len(good), np.bool_)
    count, how = 1, ""
    for i, name in enumerate(plain):
        if not _NO_TURN.search(name) and owner is None:
            cells = _cells(rows, i, good)
            count = turns.count_by_column(cells) if len(set(cells)) > 1 else 1
            if count > 1:
                by_turn = (
                    (np.arange(len(good)) % count).astype(np.int32),
                    np.zeros(len(good), np.bool_),
                )
                how = f"{count} GPUs in turn, separated by `{rows.names[i]}`"
                break
    if count == 1 and (count := turns.count_by_pause(ns[good])) > 1:
        by_turn = turns.places(ns[good], count)
        how = f"{count} GPUs in turn, by their order"
        notes.drop_all(
            rows.lines[good[by_turn[1]]],
            f"its round does not have {count} GPUs, so this GPU is unknown",
        )
    gpus = []
    for k in range(count):
        mine = (by_turn[0] == k) & ~by_turn[1]
        if mine.any():
            first = int(np.flatnonzero(mine)[0])
            gpus.append(
                _Gpu(
                    f"GPU {k}",
                    hosts[first],
                    Device(k if count > 1 else None, "", "", models[first]),
                    mine,
                )
            )
    return gpus, how


def _cells(rows: table.FileCells, column: int, good: Int64s) -> list[str]:
    cells_of_unit = (
        [text.removesuffix(".0") for text in rows.texts(column)]
        if rows.is_numeric(column)
        else rows.texts(column)
    )
    return [cells_of_unit[i].strip() for i in good]


def _identities(
    rows: table.FileCells, plain: Sequence[str], good: Int64s
) -> list[tuple[int, list[str]]]:
    """Columns whose cells name devices, the best first: by the column's name, or without a header
    by the cells.
    """
    out = []
    for name in _IDENTITY:
        if name in plain:
            cells = _cells(rows, plain.index(name), good)
            if all(devices.device_named(cell) is not None for cell in cells[:200]) or 1 < len(
                set(cells)
            ) <= max(2, len(cells) // 2):
                out.append((plain.index(name), cells))
    for i, name in enumerate(plain):
        if name.startswith("column "):
            cells = _cells(rows, i, good)
            kinds = [devices.device_named(cell) for cell in cells[:64]]
            if all(kind is not None and (kind.uuid or kind.pci) for kind in kinds) or _counts(
                cells
            ):
                out.append((i, cells))
    return out


def _counts(cells: Sequence[str]) -> bool:
    """0, 1, 2 … in turn: an index."""
    size = len(set(cells))
    return (
        1 < size <= turns.MAX_TURN_CHANNELS
        and set(cells) == {str(k) for k in range(size)}
        and turns.takes_turns(cells, size)
    )


def _by_identity(
    identities: Sequence[tuple[int, list[str]]], hosts: Sequence[str], models: Sequence[str]
) -> list[_Gpu]:
    first = identities[0][1]
    numbers: dict[tuple[str, str], int] = {}
    which = np.array(
        [numbers.setdefault(pair, len(numbers)) for pair in zip(hosts, first, strict=True)]
    )
    gpus = []
    for (host, text), number in numbers.items():
        mine = which == number
        row = int(np.flatnonzero(mine)[0])
        device: Device | None = Device(model=models[row])
        for _, cells in identities:
            device = devices.joined_device(device, devices.device_named(cells[row]))
        assert device is not None
        gpus.append(_Gpu(f"GPU {text}" if text.isdigit() else text, host, device, mine))
    return gpus
