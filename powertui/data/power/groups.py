"""Whose reading a row of a table is: columns that name a host, a device, a sensor; and long tables,
where a column names what was read, so that only some rows are power at all.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from powertui.data.model import Bools, Device, Floats, Int64s, Scope
from powertui.data.power import devices, table, turns, units
from powertui.data.power.units import Unit

MAX_CHANNELS = 4096
_MOST_KINDS = 512  # names of what was read in one long table
_WORDS = {
    "gpu",
    "index",
    "device",
    "uuid",
    "host",
    "hostname",
    "node",
    "sensor",
    "channel",
    "name",
    "instance",
    "socket",
    "domain",
    "outlet",
    "source",
    "id",
    "card",
    "label",
    "component",
    "rank",
    "server",
    "pci",
    "bus",
    "rail",
    "zone",
    "machine",
    "serial",
    "accelerator",
    "gpuid",
    "deviceid",
    "sensorname",
}
_HOSTS = {"host", "hostname", "node", "instance", "server", "machine", "nodename"}
_DEVICES = {
    "gpu",
    "index",
    "device",
    "uuid",
    "card",
    "pci",
    "bus",
    "accelerator",
    "gpuid",
    "deviceid",
}
_QUANTITIES = {
    "sensor",
    "entity",
    "event",
    "field",
    "metric",
    "name",
    "channel",
    "measurement",
    "quantity",
    "counter",
    "variable",
    "signal",
    "parameter",
    "item",
    "key",
    "type",
    "label",
    "fieldname",
    "fieldid",
    "sensorname",
    "property",
    "series",
}
_VALUES = {
    "value",
    "state",
    "reading",
    "val",
    "measurement",
    "sample",
    "data",
    "result",
    "values",
    "readings",
}
_UNIT = {"unit", "units", "uom"}
_DCGM = {
    "155": "DCGM_FI_DEV_POWER_USAGE",
    "156": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "157": "DCGM_FI_DEV_POWER_USAGE_INSTANT",
}


@dataclass(frozen=True)
class ChannelRows:
    """Rows of one channel."""

    name: str = ""
    host: str = ""
    by: str = ""
    device: Device | None = None


@dataclass(frozen=True, eq=False)
class Long:
    """A table whose rows are of many kinds: where the value stands, what names it, and the rows of
    each unit.
    """

    value: int
    quantity: int | None
    kinds: tuple[tuple[Unit | None, Bools], ...]  # None: power by name, without a unit


# ── long tables ──────────────────────────────────────────────────────────────────────────────────


def long_form(rows: table.FileCells, powers: Sequence[int]) -> Long | None:
    """The power among the rows of a long table; None for a table whose columns are the channels.

    `powers`: those named so.
    """
    value = next(
        (i for i, name in enumerate(rows.names) if _is(name, _VALUES, 2) and _numbers(rows, i)),
        None,
    )
    if value is None and len(powers) == 1:
        value = powers[0]
    if value is None:
        return None
    of_unit = next(
        (i for i, name in enumerate(rows.names) if _is(name, _UNIT) and i != value), None
    )
    quantity, meant = None, dict[str, Unit | None]()
    for i, name in enumerate(rows.names):
        if i in (value, of_unit) or not _is(name, _QUANTITIES):
            continue
        cells = dict.fromkeys(_quantities(rows, i))
        found = {
            cell: _metric(cell) or units.unit_of_name(cell)
            for cell in cells
            if len(cells) <= _MOST_KINDS and is_power(cell)
        }
        if found and (quantity is None or len(found) > len(meant)):
            quantity, meant = i, found
    if of_unit is not None:
        return _by_unit(rows, value, quantity, of_unit)
    if quantity is None or (
        value in powers and len(meant) == len(dict.fromkeys(_quantities(rows, quantity)))
    ):
        return None
    names = np.array(_quantities(rows, quantity))
    kinds = {
        unit: np.isin(names, [cell for cell, own in meant.items() if own == unit])
        for unit in dict.fromkeys(meant.values())
    }
    return Long(value, quantity, tuple(kinds.items()))


def is_value(name: str) -> bool:
    """A column that holds whatever the row names."""
    return _is(name, _VALUES, 2)


def _numbers(rows: table.FileCells, column: int) -> bool:
    """Most of the first cells are numbers."""
    cells = rows.columns[column][:200]
    return len(cells) > 0 and 2 * sum(
        bool(np.isfinite(table.number(str(cell)))) for cell in cells
    ) > len(cells)


def _by_unit(rows: table.FileCells, value: int, quantity: int | None, of_unit: int) -> Long | None:
    cells = rows.texts(of_unit)
    known = {
        cell: unit
        for cell in dict.fromkeys(cells)
        if (unit := units.unit_of_symbol(cell)) is not None
    }
    if not known:
        return None
    written = np.array(cells)
    limits = np.zeros(len(rows), np.bool_)
    if quantity is not None:  # a limit in watts is no reading
        limits = np.array(
            [bool(units.NO_POWER.search(cell)) for cell in _quantities(rows, quantity)]
        )
    kinds: dict[Unit, Bools] = {}
    for cell, unit in known.items():
        mine = (written == cell) & ~limits
        kinds[unit] = kinds[unit] | mine if unit in kinds else mine
    named = quantity if quantity is not None else _named_by_text(rows, {value, of_unit})
    kept = tuple((unit, mask) for unit, mask in kinds.items() if mask.any())
    return Long(value, named, kept) if kept else None


def _named_by_text(rows: table.FileCells, taken: set[int]) -> int | None:
    """The column that names the sensors, where none of its names says that it is power."""
    return next(
        (
            i
            for i, name in enumerate(rows.names)
            if i not in taken and _is(name, _QUANTITIES) and not rows.is_numeric(i)
        ),
        None,
    )


def _quantities(rows: table.FileCells, column: int) -> list[str]:
    """The cells that name what was read; DCGM's field numbers by their names."""
    cells = (
        [cell.removesuffix(".0") for cell in rows.texts(column)]
        if rows.is_numeric(column)
        else rows.texts(column)
    )
    if all(cell.isdigit() for cell in cells[:50]) and _is(rows.names[column], {"field", "fieldid"}):
        return [_DCGM.get(cell, cell) for cell in cells]
    return cells


def is_power(name: str) -> bool:
    """A cell that names power or energy, not a limit, a temperature, a share of time."""
    return name in units.METRICS or units.unit_of_name(name) is not None or units.means_power(name)


def _metric(name: str) -> Unit | None:
    return units.UNITS[units.METRICS[name]] if name in units.METRICS else None


def _is(name: str, words: set[str], at_most: int = 3) -> bool:
    own = units.tokens(name)
    return (len(own) <= at_most and bool(set(own) & words)) or "".join(own) in words


# ── channels ─────────────────────────────────────────────────────────────────────────────────────


def rows_by_channel(
    rows: table.FileCells, taken: set[int], quantity: int | None = None
) -> list[tuple[ChannelRows, Bools]]:
    """Rows by channel, when some column names the channel. One group of everything otherwise."""
    keys: list[tuple[int, list[str], dict[str, None]]] = []
    for i, name in enumerate(rows.names):
        if i == quantity or i in taken or not _identifies(name):
            continue
        values = rows.texts(i)
        if rows.is_numeric(i):
            values = [text.removesuffix(".0") for text in values]
        distinct = dict.fromkeys(values)
        if len(distinct) > max(1, min(512, len(rows) // 2)) and not (
            len(rows) <= len(distinct) <= 64 and quantity is not None
        ):
            continue
        if (
            len(distinct) > 1
            and all(value.isdigit() for value in distinct)
            and not _names_rows(values, distinct)
        ):
            continue  # a column "gpu" may hold its load
        keys.append((i, values, distinct))
    everything = np.ones(len(rows), np.bool_)
    if not keys and quantity is None:
        return [(ChannelRows(), everything)]
    hosts = next((key for key in keys if set(units.tokens(rows.names[key[0]])) & _HOSTS), None)
    others = sorted(
        (key for key in keys if key is not hosts),
        key=lambda key: _is_address(key[1][0]) if key[1] else False,
    )
    told = _telling(rows, others)
    labels = [
        " ".join(dict.fromkeys(_channel_word(name, values[row]) for name, values in told))
        for row in range(len(rows))
    ]
    if not any(labels) and others and len(others[0][2]) == 1:
        labels = (
            [next(iter(others[0][2]))] * len(rows)
            if not next(iter(others[0][2])).isdigit()
            else labels
        )
    owners = hosts[1] if hosts is not None else [""] * len(rows)
    if quantity is not None:
        labels = _with_quantity(labels, _quantities(rows, quantity), owners)
    by_columns = [i for i, _, distinct in keys if len(distinct) > 1] + (
        [] if quantity is None else [quantity]
    )
    by = ", ".join(f"`{rows.names[i]}`" for i in by_columns)
    numbers: dict[tuple[str, str], int] = {}
    which = np.array(
        [numbers.setdefault(pair, len(numbers)) for pair in zip(owners, labels, strict=True)]
    )
    if len(numbers) > MAX_CHANNELS:
        return [(ChannelRows(), everything)]
    first = {number: row for row, number in reversed(list(enumerate(which.tolist())))}
    return [
        (ChannelRows(label, owner, by, _device(rows, others, first[number])), which == number)
        for (owner, label), number in numbers.items()
    ]


def _identifies(name: str) -> bool:
    """A column that could name channels: not a reading of them (a clock, a load, anything with a
    unit).
    """
    words = units.tokens(name)
    if (
        not set(words) & _WORDS
        or units.unit_of_name(name) is not None
        or re.search(r"[\[(][^\])]{0,40}[\])]\s{0,3}$", name)
    ):
        return False
    return not units.no_power(name) and len(words) <= 4


def _names_rows(values: Sequence[str], distinct: dict[str, None]) -> bool:
    """Numbers that name channels come block by block, or each as often as the others; a load
    wanders.
    """
    changes = sum(a != b for a, b in itertools.pairwise(values))
    if changes == len(distinct) - 1:
        return True
    if len(distinct) > _MOST_KINDS:
        return False
    times = Counter(values)
    least, most = min(times.values()), max(times.values())
    counted = set(distinct) == {str(k) for k in range(len(distinct))}
    return least >= 0.8 * most or (
        counted and changes >= 0.9 * (len(values) - 1) and least >= 0.1 * most
    )


def _telling(
    rows: table.FileCells, keys: Sequence[tuple[int, list[str], dict[str, None]]]
) -> list[tuple[str, list[str]]]:
    """The columns that tell channels apart, without those that say again what the ones
    before said.
    """
    told: list[tuple[str, list[str]]] = []
    apart = 1
    for i, values, distinct in keys:
        if len(distinct) < 2:
            continue
        together = len(set(zip(*(cells for _, cells in told), values, strict=True)))
        if together > apart:
            told.append((rows.names[i], values))
            apart = together
    return told


def _is_address(text: str) -> bool:
    named = devices.device_named(text)
    return named is not None and named.index is None


def _with_quantity(labels: Sequence[str], names: Sequence[str], owners: Sequence[str]) -> list[str]:
    """What was read, of whom.

    A device that is read in two ways is one device: the second way stands in brackets.
    """
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for owner, label, name in zip(owners, labels, names, strict=True):
        if is_power(name):
            kinds.setdefault((owner, label), {})[name] = None
    out = []
    for owner, label, name in zip(owners, labels, names, strict=True):
        ways = list(kinds.get((owner, label), ()))
        if not label:
            out.append(name)
        elif label.startswith("GPU ") and ways[:1] == [name]:
            out.append(label)
        else:
            out.append(f"{label} ({name})" if label.startswith("GPU ") else f"{label} {name}")
    return out


def _device(
    rows: table.FileCells, keys: Sequence[tuple[int, list[str], dict[str, None]]], row: int
) -> Device | None:
    found: Device | None = None
    for i, values, _ in keys:
        if set(units.tokens(rows.names[i])) & _DEVICES:
            found = devices.joined_device(found, devices.device_named(values[row]))
    return found


def one_after_another(parts: Sequence[tuple[ChannelRows, Bools]], ns: Int64s, ok: Bools) -> bool:
    """No two of these channels ever speak at one time: they are phases of one sensor.

    Devices and hosts stay what they are.
    """
    if len(parts) < 2 or any(group.device is not None or group.host for group, _ in parts):
        return False
    spans = sorted(
        (int(ns[mask & ok].min()), int(ns[mask & ok].max()))
        for _, mask in parts
        if (mask & ok).any()
    )
    return all(before[1] < after[0] for before, after in itertools.pairwise(spans)) and any(
        lo < hi for lo, hi in spans
    )


def in_turn(ns: Int64s, values: Floats) -> list[tuple[ChannelRows, Bools]]:
    """Channels that nothing names but their turn; one group of everything when there is but one."""
    everything = np.ones(len(ns), np.bool_)
    count = turns.count_by_values(ns, values)
    if count == 1:
        return [(ChannelRows(), everything)]
    place, torn = turns.places(ns, count)
    return [
        (ChannelRows(f"channel {k}", "", "their turn"), (place == k) & ~torn) for k in range(count)
    ]


def _channel_word(name: str, value: str) -> str:
    """ "GPU 0" of a column gpu_index and the cell 0; a text stands for itself."""
    if not value.isdigit():
        return value
    words = units.tokens(name)
    what = (
        "GPU"
        if any(word.startswith("gpu") for word in words) or name == "index"
        else words[0]
        if words
        else ""
    )
    return f"{what} {value}".strip()


def scope(group: ChannelRows, name: str, column: str) -> Scope:
    """What a channel covers, by its own name or else its column's."""
    own = units.scope_of(name)
    if own is Scope.UNKNOWN:
        own = units.scope_of(column)
    return (
        Scope.GPU
        if own is Scope.UNKNOWN and group.device is not None and re.match(r"GPU\b", group.name)
        else own
    )


def device_of_column(name: str) -> Device | None:
    """The device that a column's own name refers to ("GPU0", "system.gpu.1.powerWatts"); None when
    it names none.
    """
    match = re.search(
        r"(?<![a-z])(?:gpu|cuda|card|accel|npu)[ _.:#-]?(\d{1,3})(?!\d)", name, re.IGNORECASE
    )
    return Device(int(match[1])) if match else None
