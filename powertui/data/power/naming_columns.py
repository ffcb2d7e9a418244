"""Which columns of a table name channels: a host, a device, a sensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from powertui.data.model import Int64s
from powertui.data.power import devices, long_tables, table, units
from powertui.data.power.cells import CodedTexts
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

# Names in one column of a table (half as many as it has rows, in a short one): more are no names.
# A few more are let through where every row of a long table has its own. Chosen, not measured.
MAX_NAMES = 512
_MAX_NAMES_OF_ONE_ROUND = 64
# Numbers name channels when each comes nearly as often as the others, or when they count from 0 and
# change with nearly every row. Chosen, not measured.
_MIN_EVEN_SHARE = 0.8
_MIN_CHANGING_SHARE = 0.9
_MIN_COUNTED_SHARE = 0.1
# Of all moments so many have a row with each name: readings wander. Chosen, not measured.
_MIN_MOMENTS_SHARE = 0.5
_MAX_COMPARED_ROWS = 20_000  # a bound of time
# Of the rows that shared a moment and a channel so many may still do so when a column that names
# channels is taken, too: copies of rows. Chosen, not measured.
_MAX_REPEAT_SHARE = 0.1
_BRACKETS_AT_END = late_pattern(r"[\[(][^\])]{0,40}[\])]\s{0,3}$")
_NAME_WORDS = {
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
    "series",
    "target",
}


class Key(NamedTuple):
    """A column that names channels."""

    column: int
    name: str
    cells: CodedTexts

    @property
    def values(self) -> Sequence[str]:
        """The names that occur, in the order of their first rows."""
        return self.cells.values


def naming_columns(
    rows: table.FileCells,
    readings: set[int],
    quantity: int | None,
    ns: Int64s | None,
) -> list[Key]:
    """The columns that name channels."""
    # Of a long table only the rows of power count: others may come more often.
    power_rows: Int64s | None = None
    if quantity is not None:
        read = long_tables.quantities(rows, quantity)
        power_rows = np.flatnonzero(read.where(filter(long_tables.is_power, read.values)))
    keys: list[Key] = []
    doubtful: list[Key] = []
    # Cells are looked at only where they may decide something: a log may have millions of rows.
    repeats = ns is not None and quantity is None and _has_repeats(ns)
    for column, name in enumerate(rows.names):
        if column == quantity or column in readings:
            continue
        could_name = _could_name(name)
        if not could_name and not repeats:
            continue
        cells = _cells_of_names(rows, column, is_long=quantity is not None)
        if cells is None:
            continue
        key = Key(column, name, cells)
        if could_name and not _may_be_load(cells, power_rows):
            keys.append(key)
        else:
            doubtful.append(key)
    if ns is not None and repeats:
        for key in doubtful:
            if _tells_rows_apart(keys, key, ns):
                keys.append(key)
    return sorted(keys, key=lambda key: key.column)


def _cells_of_names(rows: table.FileCells, column: int, *, is_long: bool) -> CodedTexts | None:
    """The cells of a column where they may be names; None where they are too many, or measured."""
    max_names = max(1, min(MAX_NAMES, len(rows) // 2))
    cells = rows.coded(column, max(max_names, _MAX_NAMES_OF_ONE_ROUND))
    if cells is None:
        return None
    if rows.is_numeric(column):
        # The parser made 0.0 of a 0.
        written = [value.removesuffix(".0") for value in cells.values]
        cells = CodedTexts(cells.codes, written)
    count = len(cells.values)
    # A log that was stopped after its first round names each of its channels once.
    is_one_round = is_long and len(rows) <= count <= _MAX_NAMES_OF_ONE_ROUND
    if count > max_names and not is_one_round:
        return None
    return None if _are_measured(cells.values) else cells


def _may_be_load(cells: CodedTexts, power_rows: Int64s | None) -> bool:
    """Whether the cells of a column that is called like a device are numbers that wander: a column
    "gpu" may hold its load.
    """
    are_numbers = len(cells.values) > 1 and all(value.isdigit() for value in cells.values)
    if not are_numbers:
        return False
    if power_rows is not None and len(power_rows):
        cells = cells.take(power_rows)
    return not _are_names(cells)


def _are_measured(values: Sequence[str]) -> bool:
    """Whether cells are readings, as fractions and signs show."""
    written = [value for value in values if value]
    if all(value.isdigit() for value in written):
        return False
    return all(np.isfinite(table.number(value)) for value in written)


def _has_repeats(ns: Int64s) -> bool:
    times = np.sort(ns[:_MAX_COMPARED_ROWS])
    return bool((np.diff(times) == 0).any())


def _tells_rows_apart(keys: Sequence[Key], key: Key, ns: Int64s) -> bool:
    """Whether rows of one moment and one channel are of one channel no more with this column."""
    moments: list[int] = ns[:_MAX_COMPARED_ROWS].tolist()
    cells = _compared_codes(key)
    rarest_count = min(Counter(cells).values())
    if len(key.values) < 2 or rarest_count < _MIN_MOMENTS_SHARE * len(set(moments)):
        return False  # a reading that happens to differ
    columns = [moments, *map(_compared_codes, keys)]
    repeats_without = _repeat_count(columns)
    repeats_with = _repeat_count([*columns, cells])
    return repeats_without > 0 and repeats_with <= _MAX_REPEAT_SHARE * repeats_without


def _compared_codes(key: Key) -> list[int]:
    codes: list[int] = key.cells.codes[:_MAX_COMPARED_ROWS].tolist()
    return codes


def _repeat_count(columns: Sequence[list[int]]) -> int:
    """How many rows have the cells of an earlier row in all these columns."""
    different_rows = set(zip(*columns, strict=True))
    return len(columns[0]) - len(different_rows)


def _could_name(name: str) -> bool:
    """Whether a column could name channels: it is no reading of them (a clock, a load, anything
    with a unit).
    """
    words = units.tokens(name)
    if _NAME_WORDS.isdisjoint(words) or len(words) > 4:
        return False
    if units.unit_of_name(name) is not None or _BRACKETS_AT_END.search(name):
        return False
    if devices.device_of_column(name) is not None:
        return False  # a reading of that device: "system.gpu.0.gpu" is its load
    return not units.no_power(name) or name.strip().lower() in _NAME_WORDS


def _are_names(cells: CodedTexts) -> bool:
    """Whether numbers name channels: those come block by block, or each as often as the others; a
    load wanders.
    """
    values = cells.values
    changes = int(np.count_nonzero(np.diff(cells.codes)))
    if changes == len(values) - 1:
        return True
    if len(values) > long_tables.MAX_QUANTITIES:
        return False
    counts = np.bincount(cells.codes)
    least = int(counts.min())
    most = int(counts.max())
    if least >= _MIN_EVEN_SHARE * most:
        return True
    count_from_zero = set(values) == {str(number) for number in range(len(values))}
    is_changing = changes >= _MIN_CHANGING_SHARE * (len(cells) - 1)
    return count_from_zero and is_changing and least >= _MIN_COUNTED_SHARE * most
