"""Whose reading a row of a table is: columns that name a host, a device, a sensor."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data.model import Bools, Device, Floats, Int64s, Scope
from powertui.data.power import devices, long_tables, table, turns, units
from powertui.data.power.cells import CodedTexts
from powertui.data.power.column_times import TimeColumn
from powertui.data.power.naming_columns import MAX_NAMES, Key, naming_columns
from powertui.data.power.notes import Notes
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

MAX_CHANNELS = 4096  # more of them are no channels: a column that counts. Chosen, not measured
_ROWS_TOGETHER = 1 << 16  # of a long column: temporaries stay in the cache. Chosen, not measured.
HOST_WORDS = {"host", "hostname", "node", "instance", "server", "machine", "nodename"}
_OUTLET_WORDS = {"outlet", "plug", "socket", "port"}
# Columns of what runs on a machine, which draws a share of its power.
_WORK_WORDS = {"pod", "container", "namespace", "process", "cgroup"}
_LABEL_WORDS = {"name", "label"}
_DEVICE_WORDS = {
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


@dataclass(frozen=True)
class ChannelRows:
    """What a table says of one channel."""

    name: str = ""
    host: str = ""
    by: str = ""  # the columns that name it
    device: Device | None = None


def rows_by_channel(
    rows: table.FileCells,
    readings: set[int],
    quantity: int | None = None,
    ns: Int64s | None = None,
) -> list[tuple[ChannelRows, Bools]]:
    """Rows by channel, when some column names the channel. One group of everything otherwise.

    `readings` are the columns with times and readings, `quantity` is the one that names what was
    read. Times that are given decide where a column of numbers may be names or readings: names make
    each moment's rows different ones.
    """
    keys = naming_columns(rows, readings, quantity, ns)
    if not keys and quantity is None:
        return _one_channel(len(rows))
    hosts = next(filter(_names_hosts, keys), None)
    devices_first = [key for key in keys if key is not hosts]
    # An address names a device best when a number has not.
    devices_first.sort(key=_begins_with_address)
    nothing = CodedTexts(np.zeros(len(rows), np.int32), [""])
    owners = nothing if hosts is None else hosts.cells
    labels = _labels(devices_first, nothing)
    by_columns = [key.name for key in keys if len(key.values) > 1]
    if quantity is not None:
        names = long_tables.quantities(rows, quantity)
        labels = _with_quantity(labels, names, owners)
        by_columns.append(rows.names[quantity])
    pairs = _Combined.of_columns([owners, labels])
    if len(pairs.first_rows) > MAX_CHANNELS:
        return _one_channel(len(rows))
    by = ", ".join(f"`{name}`" for name in by_columns)
    channels = []
    for number, row in enumerate(pairs.first_rows):
        channel = ChannelRows(
            name=labels[row],
            host=owners[row],
            by=by,
            device=_device(devices_first, row),
        )
        channels.append((channel, pairs.codes == number))
    return channels


def _one_channel(row_count: int) -> list[tuple[ChannelRows, Bools]]:
    """All rows as those of one channel without a name."""
    everything = np.ones(row_count, np.bool_)
    return [(ChannelRows(), everything)]


class _Combined(NamedTuple):
    """Several columns as one: rows that are equal in all of them have one code."""

    codes: npt.NDArray[np.int32]
    first_rows: list[int]  # of each code, ascending

    @classmethod
    def of_columns(cls, columns: Sequence[CodedTexts]) -> _Combined:
        """The columns, combined; their codes are counted in the order of first rows."""
        combined = cls(np.zeros(len(columns[0]), np.int32), [0])
        for column in columns:
            value_count = len(column.values)
            if value_count <= 1:
                continue
            # Counted anew after each column, so that many columns do not overflow.
            count = len(combined.first_rows) * value_count
            if count < np.iinfo(np.int32).max:
                wide = np.int32
            else:
                wide = np.int64
            codes = combined.codes.astype(wide)
            codes *= value_count
            codes += column.codes
            combined = cls._counted(codes, count)
        return combined

    @classmethod
    def _counted(
        cls,
        codes: npt.NDArray[np.signedinteger[Any]],
        count: int,
    ) -> _Combined:
        """These codes, of so many, by their first rows."""
        if count > max(len(codes), MAX_NAMES):
            _, codes = np.unique(codes, return_inverse=True)
            count = len(codes)
        first = _first_rows(codes, count)
        occurring = np.flatnonzero(first >= 0)
        by_first_row = np.argsort(first[occurring])
        occurring = occurring[by_first_row]
        rank = np.zeros(count, np.int32)
        rank[occurring] = np.arange(len(occurring))
        return cls(
            codes=rank[codes],
            first_rows=first[occurring].tolist(),
        )


def _first_rows(codes: npt.NDArray[np.signedinteger[Any]], count: int) -> Int64s:
    """The first row of each code; -1 where none has it."""
    first = np.full(count, -1, np.int64)
    for start in range(0, len(codes), _ROWS_TOGETHER):
        end = start + _ROWS_TOGETHER
        part = codes[start:end]
        is_unseen = first[part] < 0
        # Written backwards: of rows with one code the first is the last that is written, and stays.
        unseen = np.flatnonzero(is_unseen)[::-1]
        first[part[unseen]] = start + unseen
    return first


def _labels(keys: Sequence[Key], nothing: CodedTexts) -> CodedTexts:
    """The name of each row's channel; `nothing` where no column tells them apart."""
    telling = _keys_that_distinguish(keys)
    if telling:
        labels = _joined_labels(keys, telling)
        if any(labels.values):
            return labels
    if not keys or len(keys[0].values) != 1:
        return nothing
    # All rows are of one channel, which the first column names.
    (name,) = keys[0].values
    if name.isdigit():
        return nothing
    return CodedTexts(nothing.codes, [name])


def _joined_labels(keys: Sequence[Key], telling: Sequence[Key]) -> CodedTexts:
    """Names of channels by the words of all columns that distinguish them, each word once."""
    combined = _Combined.of_columns([key.cells for key in telling])
    plugged = _plugged_in(keys, telling)
    if plugged is not None and len(set(plugged.values)) == len(combined.first_rows):
        labels = [f"outlet {plugged.cells[row]}" for row in combined.first_rows]
        return CodedTexts.in_order(combined.codes, labels)
    labels = []
    for row in combined.first_rows:
        words: list[str] = []
        for key in telling:
            word = _channel_word(key.name, key.cells[row])
            if word not in words:
                words.append(word)
        labels.append(" ".join(words))
    return CodedTexts.in_order(combined.codes, labels)


def _plugged_in(keys: Sequence[Key], telling: Sequence[Key]) -> Key | None:
    """The column that says what is plugged into each outlet, where another one numbers them."""
    if not any(_has_word(key, _OUTLET_WORDS) for key in telling):
        return None
    for key in keys:
        if _has_word(key, _LABEL_WORDS) and all(map(_has_letter, key.values)):
            return key
    return None


def _has_letter(text: str) -> bool:
    return re.search(r"[^\W\d_]", text) is not None


def _keys_that_distinguish(keys: Sequence[Key]) -> list[Key]:
    """The columns that distinguish channels, without those that only repeat what the ones before
    say.
    """
    telling: list[Key] = []
    columns: list[CodedTexts] = []
    channel_count = 1
    for key in keys:
        if len(key.values) < 2:
            continue
        columns.append(key.cells)
        count = len(_Combined.of_columns(columns).first_rows)
        if count > channel_count:
            telling.append(key)
            channel_count = count
        else:
            columns.pop()
    return telling


def _begins_with_address(key: Key) -> bool:
    """Whether the first cell of a column names a device by its UUID or PCI address alone."""
    if not key.cells:
        return False
    named = devices.device_named(key.cells[0])
    return named is not None and named.index is None


def _with_quantity(labels: CodedTexts, names: CodedTexts, owners: CodedTexts) -> CodedTexts:
    """What was read, of whom.

    A device that is read in two ways is one device: the second way stands in brackets.
    """
    combined = _Combined.of_columns([owners, labels, names])
    first_ways: dict[tuple[str, str], str] = {}
    for row in combined.first_rows:
        if long_tables.is_power(names[row]):
            device = (owners[row], labels[row])
            first_ways.setdefault(device, names[row])
    channel_names = []
    for row in combined.first_rows:
        label = labels[row]
        name = names[row]
        if not label:
            channel_name = name
        elif not label.startswith("GPU "):
            channel_name = f"{label} {name}"
        elif first_ways.get((owners[row], label)) == name:
            channel_name = label
        else:
            channel_name = f"{label} ({name})"
        channel_names.append(channel_name)
    return CodedTexts.in_order(combined.codes, channel_names)


def _device(keys: Sequence[Key], row: int) -> Device | None:
    """The device of a row, by all columns that name one.

    A number that all rows share is no device's where another column has several.
    """
    device: Device | None = None
    naming = [key for key in keys if _has_word(key, _DEVICE_WORDS)]
    are_several = any(len(key.values) > 1 for key in naming)
    for key in naming:
        cell = key.cells[row]
        is_shared_number = len(key.values) == 1 and cell.isdigit()
        if are_several and is_shared_number:
            continue
        named = devices.device_named(cell)
        device = devices.joined_device(device, named)
    return device


def _has_word(key: Key, words: set[str]) -> bool:
    """Whether the name of a column has one of these words."""
    return not words.isdisjoint(units.tokens(key.name))


def _names_hosts(key: Key) -> bool:
    return _has_word(key, HOST_WORDS)


def one_after_another(
    parts: Sequence[tuple[ChannelRows, Bools]],
    ns: Int64s,
    ok: Bools,
) -> bool:
    """Whether no two of these channels ever report at one time: they are phases of one sensor.

    Devices and hosts stay what they are.
    """
    if len(parts) < 2:
        return False
    spans = []
    for channel, is_channel in parts:
        if channel.device is not None or channel.host:
            return False
        times = ns[is_channel & ok]
        if len(times):
            span = (int(times.min()), int(times.max()))
            spans.append(span)
    spans.sort()
    for (_, last), (next_first, _) in itertools.pairwise(spans):
        if last >= next_first:
            return False
    # One reading each would be channels that were read once.
    return any(first < last for first, last in spans)


def _in_turn(ns: Int64s, values: Floats) -> list[tuple[ChannelRows, Bools]]:
    """Channels that nothing names but their turn; one group of everything when there is but one."""
    count = turns.count_by_values(ns, values)
    if count == 1:
        return _one_channel(len(ns))
    place, torn = turns.places(ns, count)
    channels = []
    for number in range(count):
        channel = ChannelRows(name=f"channel {number}", by="their turn")
        is_channel = (place == number) & ~torn
        channels.append((channel, is_channel))
    return channels


def _channel_word(name: str, value: str) -> str:
    """ "GPU 0" of a column gpu_index and the cell 0; a text stands for itself, but that of a part
    of the work on a machine: "pod train-0".
    """
    work = _WORK_WORDS.intersection(units.tokens(name))
    if work and value:
        return f"{min(work)} {value}"
    if not value.isdigit():
        return value
    _, _, name = name.rpartition(".")  # `tags.index` of a JSON document
    words = units.tokens(name)
    is_gpu = any(word.startswith("gpu") for word in words)
    if is_gpu or name == "index":
        return f"GPU {value}"
    if not words:
        return value
    return f"{words[0]} {value}"


def scope(channel: ChannelRows, name: str, column: str) -> Scope:
    """What a channel covers: by its own name, else its column's, else the device that it names."""
    for text in (name, column):
        by_name = units.scope_of(text)
        if by_name is not Scope.UNKNOWN:
            return by_name
    if channel.device is not None and re.match(r"GPU\b", channel.name):
        return Scope.GPU
    return Scope.UNKNOWN


def rows_by_turn(
    column: TimeColumn,
    values: Floats,
    notes: Notes,
) -> list[tuple[ChannelRows, Bools]]:
    """The rows of each channel of a nameless column: several where times and readings show that
    they take turns.
    """
    good = np.flatnonzero(column.ok & np.isfinite(values))
    channels = _in_turn(column.ns[good], values[good])
    if len(channels) == 1:
        return _one_channel(len(values))
    notes.say(
        f"no column names the channel: {len(channels)} of them take turns, distinguished by "
        "their order"
    )
    by_channel = []
    for channel, is_in_turn in channels:
        rows = np.zeros(len(values), np.bool_)
        rows[good[is_in_turn]] = True
        by_channel.append((channel, rows))
    return by_channel
