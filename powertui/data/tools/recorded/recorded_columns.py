"""Columns and facts of recorded values: what a field holds follows from its name and its values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.columns import Column, ColumnKind
from powertui.data.model import PS_PER_NS, PS_PER_US, Bools, Floats, Int64s
from powertui.data.table import Fact
from powertui.data.tools.recorded.known_tables import PS_PER_MS, KnownColumn

_INTEGER = re.compile(r"-?\d{1,18}")  # int64 in JSON is a string
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNIT_WORD = re.compile(r"( in)? (us|ms|ns|ps|percent)$")  # the value is shown with its unit
# The end of a field's name → kind, factor, unit.
_NAMED_KINDS: tuple[tuple[re.Pattern[str], ColumnKind, float, str], ...] = (
    (re.compile(r"(_us|[a-z]Us)$"), "duration", PS_PER_US, "us"),
    (re.compile(r"(_ms(_summary)?|[a-z]Ms)$"), "duration", PS_PER_MS, "ms"),
    (re.compile(r"(duration|time)(_ns|Ns)$"), "duration", PS_PER_NS, ""),
    (re.compile(r"(_ps|[a-z]Ps)$"), "duration", 1, ""),
    (re.compile(r"_fraction$"), "share", 1, ""),
    # Fractions in spite of their names: 0.79 is drawn as 79 %.
    (re.compile(r"^(selfTime|cumulativeTime|timeIn|selfTimeIn)Percent$"), "share", 1, ""),
    (re.compile(r"metrics\.(time|flops)$"), "share", 1, ""),
    (re.compile(r"_percent$"), "share", 0.01, "%"),
    (
        re.compile(r"(Bytes(InUse|UsageLifetime)?|_bytes|memoryCapacity|dataSize)$"),
        "number",
        1,
        "B",
    ),
)


def recorded_column(path: str, values: Sequence[Any], known: KnownColumn | None) -> Column:
    """A column of one field; a record without it has no value there."""
    how = known or _by_name(path, values)
    if how.kind == "text":
        return _words_column(how, values)
    is_missing = [value in (None, "") for value in values]
    numbers = []
    for value, gap in zip(values, is_missing, strict=True):
        numbers.append(0 if gap else value)
    return Column(
        id=how.id,
        label=how.label,
        kind=how.kind,
        values=_array(numbers, how),
        unit=how.unit,
        present=~np.array(is_missing, np.bool_),
        weight=how.weight,
    )


def _array(numbers: Sequence[Any], how: KnownColumn) -> Int64s | Floats | Bools:
    if how.kind == "integer":
        # Not by way of a float: a large integer keeps its last digits.
        return np.array([int(number) for number in numbers], np.int64)
    array = np.array([float(number) for number in numbers])
    if how.kind == "flag":
        return array.astype(np.bool_)
    return array * how.scale


def text_of_type(path: str, label: str, values: Sequence[Any]) -> Column:
    """A column that its document calls one of words, whatever they look like."""
    how = KnownColumn(path, label, "text", weight=5)
    return _words_column(how, values)


def _words_column(how: KnownColumn, values: Sequence[Any]) -> Column:
    words = []
    for value in values:
        words.append("" if value is None else _word(value))
    return Column(how.id, how.label, "text", words, weight=how.weight)


def recorded_fact(path: str, value: Any) -> Fact | None:
    """A value that is in no table; None where it is empty."""
    if value is None or value == "":
        return None
    how = _by_name(path, [value])
    label = words_of(path)
    if how.kind == "text":
        return Fact(path, label, _word(value))
    if how.kind == "flag":
        return Fact(path, label, bool(value), "flag")
    number = float(value)
    if not math.isfinite(number):
        return Fact(path, label, None, why="not a number")
    if how.kind == "integer":
        return Fact(path, label, int(value), "integer")
    scaled = number * how.scale
    return Fact(path, label, scaled, how.kind, how.unit)


def words_of(path: str) -> str:
    """The name of a field as words: the last two parts of its path at most."""
    parts = path.split(".")[-2:]
    spaced = [_CAMEL.sub(" ", part).replace("_", " ") for part in parts]
    words = " ".join(spaced)
    return _UNIT_WORD.sub("", words.lower()).strip()


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _by_name(path: str, values: Sequence[Any]) -> KnownColumn:
    """How a field that no page has is shown."""
    label = words_of(path.rpartition(".")[2])
    present = [value for value in values if value not in (None, "")]
    if not present:
        return KnownColumn(path, label, "text", weight=5)
    if all(isinstance(value, bool) for value in present):
        return KnownColumn(path, label, "flag")
    if not all(_is_number(value) or _is_integer(value) for value in present):
        return KnownColumn(path, label, "text", weight=5)
    for pattern, kind, scale, unit in _NAMED_KINDS:
        if pattern.search(path):
            return KnownColumn(path, label, kind, scale, unit, weight=6)
    if all(_is_integer(value) for value in present):
        return KnownColumn(path, label, "integer", weight=4)
    return KnownColumn(path, label, "number", weight=4)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    """Whether a value fits a column of whole numbers."""
    if isinstance(value, str):
        return _INTEGER.fullmatch(value) is not None
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return -(2**63) <= value < 2**63
