"""`nvidia-smi --query-gpu=… --format=csv`: local time without a zone, with or without units and header.

Several GPUs take turns row by row, often without an index: then a column that differs between them (memory.total, name)
or the pause after each round tells how many there are, and their order tells which is which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Int64s, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, table, times, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import Source
from powertui.errors import UnreadableFile, UsageError

NAME = "nvidia-smi"
TAKES_OPTIONS = True
_STAMP = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
_IDENTITY = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "pci.bus", "serial", "gpu_serial")
_FIXED = (
    "memory.total",
    "name",
    "gpu_name",
    "power.limit",
    "enforced.power.limit",
    "power.default_limit",
    "clocks.max.sm",
    "vbios_version",
)
_ROUND = 5.0  # the pause after a round of GPUs is at least so many times the distance within it


def sniff(head: str | bytes, _path: str) -> int:
    """By the names of its columns, or by its stamps when there is no header."""
    if isinstance(head, bytes):
        return 0
    lines = [line for line in head.split("\n")[:5] if line.strip()]
    if not lines:
        return 0
    if re.search(r"(^|,\s*)\"?power\.draw", lines[0]) or ("timestamp" in lines[0] and "utilization.gpu" in lines[0]):
        return 98
    stamped = all(re.search(rf"(^|,\s*){_STAMP}\s*(,|$)", line) for line in lines)
    if stamped and re.search(r",\s*[\d.]+ W\s*(,|$)", lines[-1]):
        return 90
    return 40 if stamped and re.search(r",\s*P\d+\s*(,|$)", lines[-1]) else 0


def load(source: Source, options: LogColumns) -> PowerLog:
    """One series per GPU (and per kind of reading, when instant and average were both asked for)."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(source.path, "has nvidia-smi's header, but no rows")
    rows = table.read(source, layout, notes)
    if not len(rows):
        raise UnreadableFile(source.path, f"has no complete row ({notes.first_reason() or 'only a header'})")
    plain = [re.sub(r"\s*\[.*\]$", "", name).strip().lower() for name in rows.names]
    when = _time(source.path, rows, plain, options)
    column = times.in_zone(times.from_texts(rows.texts(when)), options.tz)
    notes.drop_all(rows.lines[~column.ok], "the time cannot be read")
    rows_ok = np.flatnonzero(column.ok)
    if not len(rows_ok):
        raise UnreadableFile(source.path, "has no row whose time can be read")
    labels, how = _gpus(rows, plain, column.ns, rows_ok, notes)
    ns_all, clock = assemble.zeroed(column, column.ok)
    series: list[PowerSeries] = []
    named = next((i for i, name in enumerate(plain) if name in ("name", "gpu_name")), None)
    models = rows.texts(named) if named is not None else []
    draws = _draws(source.path, rows, plain, options)
    for at, kind in draws:
        values, bad = rows.floats(at)
        bad |= np.isnan(values)
        notes.drop_all(rows.lines[bad & column.ok], f"{_seen(rows.texts(at), bad)} instead of a reading")
        unit = units.UNITS.get(options.unit or "") or units.of_name(rows.names[at]) or units.UNITS["W"]
        watts = values[rows_ok] * unit.factor
        for label in dict.fromkeys(labels.tolist()):
            mine = (labels == label) & ~bad[rows_ok]
            if not label or not mine.any():
                continue
            model = models[int(rows_ok[np.flatnonzero(mine)[0]])] if models else ""  # it decides how the sensor averages
            source_name = f"{NAME} {model}".strip()
            sensor = Sensor(f"{label} ({kind})" if kind else str(label), source_name, Scope.GPU, options.host)
            series.append(assemble.make(sensor, ns_all[mine], watts[mine], clock=clock, path=source.path, notes=notes))
    if not series:
        raise UnreadableFile(
            source.path,
            f"holds no reading of power ({notes.first_reason()})",
            hint="Older or virtual GPUs do not report power.draw.",
        )
    guess = assemble.join_guess((
        f"nvidia-smi: time `{rows.names[when]}`, {column.words}",
        "power " + ", ".join(f"`{rows.names[at]}`" for at, _ in draws) + " in W", how,
    ))  # fmt: skip
    return PowerLog(source.path, NAME, tuple(series), notes.warnings(), guess)


def _time(path: str, rows: table.Table, plain: Sequence[str], options: LogColumns) -> int:
    if options.time_col:
        given = rows.find(options.time_col)
        if given is None:
            raise UsageError(
                f"{path}: there is no column {options.time_col!r}", hint=f"Its columns are: {', '.join(rows.names[:12])}."
            )
        return given
    if "timestamp" in plain:
        return plain.index("timestamp")
    for i in range(len(rows.names)):
        if re.fullmatch(_STAMP, rows.texts(i)[0].strip()):
            return i
    raise UnreadableFile(
        path, "comes from nvidia-smi, but without times", hint="Record it with --query-gpu=timestamp,index,power.draw"
    )


def _draws(path: str, rows: table.Table, plain: Sequence[str], options: LogColumns) -> list[tuple[int, str]]:
    if options.watts_col:
        given = rows.find(options.watts_col)
        if given is None:
            raise UsageError(
                f"{path}: there is no column {options.watts_col!r}", hint=f"Its columns are: {', '.join(rows.names[:12])}."
            )
        return [(given, "")]
    found = [(i, name.removeprefix("power.draw").lstrip(".")) for i, name in enumerate(plain) if name.startswith("power.draw")]
    if found:
        return found
    watts = [i for i in range(len(rows.names)) if re.search(r"\d\s*W$", rows.texts(i)[0].strip())]
    moving = [i for i in watts if len(set(rows.texts(i))) > 1] or watts
    if moving:
        return [(moving[0], "")]
    raise UnreadableFile(
        path, "comes from nvidia-smi without a header, and no column is in W",
        hint="Name the column with the power: --watts-col NUMBER, counted from 1.",
    )  # fmt: skip


def _seen(texts: Sequence[str], bad: np.ndarray) -> str:
    found = dict.fromkeys(texts[i] for i in np.flatnonzero(bad)[:50])
    return ", ".join(repr(text[:20]) for text in list(found)[:3])


def _gpus(rows: table.Table, plain: Sequence[str], ns: Int64s, good: Int64s, notes: Notes) -> tuple[np.ndarray, str]:
    """A label per good row ("" = cannot be told), and by what they were told apart."""
    for name in _IDENTITY:
        if name in plain:
            own = rows.texts(plain.index(name))
            texts = [own[i] for i in good]
            numbered = all(text.isdigit() for text in texts)
            return np.array([f"GPU {text.strip()}" if numbered else text.strip() for text in texts]), f"GPUs by `{name}`"
    for name in _FIXED:
        if name in plain:
            cells = rows.texts(plain.index(name))
            texts = [cells[i] for i in good]
            distinct = list(dict.fromkeys(texts))
            if 1 < len(distinct) <= 16 and _takes_turns(texts, len(distinct)):
                return np.array(
                    [f"GPU {distinct.index(text)}" for text in texts]
                ), f"{len(distinct)} GPUs in turn, separated by `{name}`"
    count = _round(ns[good])
    if count == 1:
        return np.array(["GPU 0"] * len(good)), ""
    gaps = np.diff(ns[good])
    opens = np.r_[True, gaps > _pause(gaps)]
    place = np.arange(len(good)) - np.maximum.accumulate(np.where(opens, np.arange(len(good)), 0))
    sizes = np.bincount(np.cumsum(opens) - 1)[np.cumsum(opens) - 1]
    last = np.cumsum(opens) == np.cumsum(opens)[-1]
    torn = (sizes != count) & ~(last & (sizes < count))
    notes.drop_all(rows.lines[good[torn]], f"its round does not have {count} GPUs, so this GPU is unknown")
    return np.array(
        ["" if bad else f"GPU {p}" for p, bad in zip(place, torn, strict=True)]
    ), f"{count} GPUs in turn, by their order"


def _takes_turns(texts: Sequence[str], count: int) -> bool:
    same = sum(texts[i] == texts[i - count] for i in range(count, len(texts)))
    return same >= 0.9 * max(1, len(texts) - count)


def _pause(gaps: Int64s) -> float:
    """The distance that parts the pauses between rounds from those within; infinite when there are no rounds."""
    ordered = np.sort(gaps[gaps >= 0])
    if len(ordered) < 3:
        return float("inf")
    low, high = float(max(1e5, np.percentile(ordered, 5))), float(np.percentile(ordered, 95))
    return (low * high) ** 0.5 if high / low >= _ROUND else float("inf")


def _round(ns: Int64s) -> int:
    gaps = np.diff(ns)
    pause = _pause(gaps)
    if not np.isfinite(pause):
        return 1
    sizes = np.diff(np.r_[np.flatnonzero(np.r_[True, gaps > pause]), len(ns)])
    usual = int(np.bincount(sizes).argmax())
    return usual if usual <= 16 and (sizes == usual).mean() >= 0.7 else 1
