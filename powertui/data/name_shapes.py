"""Names that differ only in numbers of instances, brought together: a rule that no such number
decides is asked once for all of them.

Programs number their ops (`fusion.1` … `fusion.900000`): of a million names a few thousand are
left, and a rule costs what these cost.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from powertui.data import texts
from powertui.data.model import Bools, Int32s, Names
from powertui.data.texts import Texts
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_SEPARATORS = np.zeros(256, np.bool_)
_SEPARATORS[list(b"._-/:# ")] = True  # a number behind one of these counts instances
_NUMBER = late_pattern(r"(?<=[._\-/:# ])\d+")
# HLO text can be megabytes: its front says what it is, and names are replaced one by one where one
# of them is longer than this. Chosen, not measured.
_MAX_NAME_CHARS = 400
# Rules read so much of a name or more. Of one that is no longer they read all, however long its
# numbers are; a longer one has a shape of its own.
READ_CHARACTERS = 200

_T = TypeVar("_T")
_shapes: weakref.WeakKeyDictionary[Names, NameShapes] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class NameShapes:
    """Which shape each name of a trace has."""

    of_name: Int32s
    examples: tuple[str, ...]  # a name of each shape

    def answers(self, rule: Callable[[str], _T]) -> list[_T]:
        """What the rule says of each shape."""
        return list(map(rule, self.examples))

    def numbers(self, rule: Callable[[str], int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The number that the rule gives each name."""
        return np.array(self.answers(rule), dtype).take(self.of_name)

    def where(self, rule: Callable[[str], object]) -> Bools:
        """Which names the rule holds for: it gives them something that is true."""
        holds = [bool(rule(example)) for example in self.examples]
        return np.array(holds, np.bool_).take(self.of_name)

    def found(self, pattern: re.Pattern[str]) -> Bools:
        """In the beginnings of which names the pattern is found."""
        return self.where(lambda name: pattern.search(name[:READ_CHARACTERS]))


def name_shapes(names: Names) -> NameShapes:
    """The shapes of a trace's names. Found once, and again where names were added."""
    shapes = _shapes.get(names)
    if shapes is None or len(shapes.of_name) != len(names):
        shapes = _shapes[names] = _find_shapes(names)
    return shapes


def _find_shapes(names: Names) -> NameShapes:
    count = len(names)
    of_name = np.zeros(count, np.int32)
    number_of_text: dict[str, int] = {}
    examples: list[int] = []
    for begin in range(0, count, texts.BATCH):
        batch = np.arange(begin, min(begin + texts.BATCH, count))
        full = names.texts(batch)
        is_shaped = _may_share_shape(full)
        rows = np.flatnonzero(is_shaped)
        shaped = full if len(rows) == len(batch) else full.take(rows)
        numbers = []
        for row, text in zip(rows.tolist(), without_numbers(shaped).strings(), strict=True):
            number = number_of_text.get(text)
            if number is None:
                number = number_of_text[text] = len(examples)
                examples.append(begin + row)
            numbers.append(number)
        of_name[batch[rows]] = numbers
        for row in np.flatnonzero(~is_shaped).tolist():
            of_name[begin + row] = len(examples)
            examples.append(begin + row)
    return NameShapes(of_name, tuple(map(names.full, examples)))


def _may_share_shape(full: Texts) -> Bools:
    """Which of these texts are short, and in ASCII: of no others do the bytes say enough."""
    is_short = np.diff(full.start) <= READ_CHARACTERS
    if full.ascii:
        return np.asarray(is_short)
    foreign_before = np.concatenate(([0], np.cumsum(full.data >= 0x80)))
    return np.asarray(is_short & (np.diff(foreign_before[full.start]) == 0))


def beginning(names: Names, *prefixes: str, whole: bool = False) -> Bools:
    """Which full names begin with one of these; `whole`: which are one of these."""
    assert not any(map(has_instance_number, prefixes)), "the number of an instance decides"
    if whole:
        return name_shapes(names).where(frozenset(prefixes).__contains__)
    return name_shapes(names).where(lambda name: name.startswith(prefixes))


def has_instance_number(text: str) -> bool:
    """Whether texts of one shape may differ in this one."""
    return _NUMBER.search(text) is not None


def without_numbers(names: Texts) -> Texts:
    """The same names with 0 for every number of an instance."""
    if not len(names.data):
        return names
    # Bytes are characters only in ASCII.
    longest = int(np.diff(names.start).max())
    if not names.ascii or longest > _MAX_NAME_CHARS:
        replaced = [_NUMBER.sub("0", text) for text in names.strings()]
        return Texts.from_strings(replaced)
    data = names.data
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    begins_number = is_digit.copy()
    begins_number[1:] &= ~is_digit[:-1]
    byte_before = data[:-1]
    behind_separator = np.zeros(len(data), np.bool_)
    behind_separator[1:] = _SEPARATORS[byte_before]
    # What another name ends with says nothing of the first character of the next.
    first = names.start[names.start < len(data)]
    begins_number[first] = is_digit[first]
    behind_separator[first] = False
    edges = np.flatnonzero(begins_number)
    counts_instances = behind_separator[edges]
    # Of such a number one digit stays, as a 0. The number of a digit is the last one begun.
    number_of_byte = np.cumsum(begins_number)
    is_counted = np.append(False, counts_instances)
    in_counted = is_counted[number_of_byte]
    is_dropped = is_digit & ~begins_number & in_counted
    data = data.copy()
    data[edges[counts_instances]] = ord("0")
    dropped_so_far = np.cumsum(is_dropped)
    dropped_before = np.concatenate(([0], dropped_so_far))
    start = names.start - dropped_before[names.start]
    return Texts(data[~is_dropped], start)
