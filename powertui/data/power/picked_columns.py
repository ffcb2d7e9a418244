"""A column that was picked for its readings, and what puts its unit in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.model import Bools, Floats
from powertui.data.power import reading_sizes, units
from powertui.data.power.cells import FileCells, number
from powertui.data.power.notes import Notes
from powertui.data.power.titles import Titles
from powertui.data.power.units import Unit
from powertui.patterns import late_pattern
from powertui.value_types import dataclass


@dataclass(frozen=True)
class PickedColumn:
    """A column of readings."""

    column: int
    name: str
    unit: Unit
    sure: bool  # the unit was written or given, or nothing else can be meant
    written: bool = True  # the table itself names the unit
    sized: bool = False  # it goes by the size of the readings
    where: Bools | None = None  # in a long table: its rows


def with_one_unit(picked: list[PickedColumn]) -> list[PickedColumn]:
    """Columns of one table whose unit goes by their size have one unit: that of the largest."""
    guessed = {item.unit for item in picked if item.sized}
    if len(guessed) < 2:
        return picked
    least = min(guessed, key=lambda unit: unit.factor)
    in_one_unit = []
    for item in picked:
        if item.sized:
            item = replace(item, unit=least, sure=False)
        in_one_unit.append(item)
    return in_one_unit


def without_repeats(picked: Sequence[PickedColumn], notes: Notes) -> list[PickedColumn]:
    """The columns without those that tell a reading again in another unit: `P (mW)` beside `P (W)`.

    Two columns of one name and one unit are two things.
    """
    first_units: dict[str, Unit] = {}
    remaining = []
    for item in picked:
        about = units.without_unit(item.name).casefold()
        is_repeat = (
            item.written
            and item.where is None
            and about in first_units
            and first_units[about] != item.unit
        )
        if is_repeat:
            notes.say(f"{item.name} is left out: it repeats {about!r} in another unit")
        else:
            first_units.setdefault(about, item.unit)
            remaining.append(item)
    return remaining


_AVERAGE_WORDS = frozenset({"avg", "average", "mean", "smoothed", "filtered", "rolling", "moving"})
_INSTANT_WORDS = frozenset(
    {"inst", "instant", "instantaneous", "momentary", "current", "raw", "now"}
)
_TIME_SPAN = late_pattern(r"\d+(?:s|sec|m|min|h)?|s|sec|m|min|minute|minutes|seconds")


def without_averages(picked: Sequence[PickedColumn], notes: Notes) -> list[PickedColumn]:
    """The columns without those that are a mean over a longer time of another one: that is the same
    power, late and smooth.
    """
    plain = {_about(item.name) for item in picked if not _is_averaged(item.name)}
    remaining = []
    dropped = []
    for item in picked:
        if _is_averaged(item.name) and _about(item.name) in plain:
            dropped.append(item.name)
        else:
            remaining.append(item)
    if dropped:
        names = ", ".join(dropped)
        notes.say(f"{names} is left out: a mean over a longer time of the column beside it")
    return remaining


def _is_averaged(name: str) -> bool:
    return not _AVERAGE_WORDS.isdisjoint(units.tokens(name))


def _about(name: str) -> frozenset[str]:
    """What a column is of, without what it says of its time."""
    words = set(units.tokens(name))
    if _is_averaged(name):
        words = {word for word in words if not _TIME_SPAN.fullmatch(word)}
    return frozenset(words - _AVERAGE_WORDS - _INSTANT_WORDS)


def with_doubts(picked: Sequence[PickedColumn], above: Titles, notes: Notes) -> list[PickedColumn]:
    """The columns; where the lines above the table give a scale, or another unit than the one
    taken, that is in doubt.
    """
    with_doubts = []
    for item in picked:
        if not _clear(item, above, notes):
            item = replace(item, sure=False)
        with_doubts.append(item)
    return with_doubts


def with_doubtful_thousands(
    column: PickedColumn,
    rows: FileCells,
    values: Floats,
    notes: Notes,
) -> tuple[PickedColumn, Floats]:
    """Readings that are in doubt where 2.000 may be two thousand.

    Of less than a watt nothing is known that logs it so, and thousands of it are a machine's.
    """
    if column.column not in rows.either:
        return column, values
    watts = values * column.unit.factor
    if not reading_sizes.may_be_thousands(watts):
        return column, values
    factor = 1.0
    otherwise = "separates thousands, every value is 1,000 times as large"
    if reading_sizes.are_thousands(watts):
        factor = 1000.0
        otherwise = "does not separate thousands, every value is a thousandth of that"
    cell = next(filter(None, rows.texts(column.column)))
    reading = factor * number(cell)
    notes.say(
        f"{column.name}: {cell} is taken for {reading:g} {column.unit.name}; "
        f"if that sign {otherwise}"
    )
    return replace(column, sure=False), values * factor


def _clear(item: PickedColumn, above: Titles, notes: Notes) -> bool:
    if above.scale or units.scaled(item.name):
        if above.scale:
            where = f"{above.scale!r} is written above the table"
        else:
            where = f"{item.name!r} names a scale"
        notes.say(f"{where}: none is applied to {item.name}; give its unit with --unit")
        return False
    if item.unit.quantity == "power":
        of_kind = above.power
    else:
        of_kind = above.energy
    if of_kind or item.written:
        others = of_kind
    else:
        others = (*above.power, *above.energy)
    if not others or item.unit in others:
        return True
    named = " and ".join(unit.name for unit in others)
    notes.say(
        f"{item.name} is taken for {item.unit.name}, but a line above the table names {named}: "
        "say so with --unit"
    )
    return False
