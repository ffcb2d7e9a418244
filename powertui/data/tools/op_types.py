"""The type of each of many ops: its own where the name tells, else the category of its work.

Programs number their ops (`fusion.1` … `fusion.900000`), and a number says nothing of the kind. So
numbers are taken out of all names at once, and the rules are asked once for each of the few names
that are left.
"""

from __future__ import annotations

import numpy as np

from powertui.data import category, texts
from powertui.data.category import Category
from powertui.data.model import Int32s, Int64s, Names
from powertui.data.texts import CancelCheck, Texts, unhindered
from powertui.patterns import late_pattern

_SEPARATORS = np.zeros(256, np.bool_)
_SEPARATORS[list(b"._-/:# ")] = True  # a number behind one of these counts instances
_NUMBER = late_pattern(r"(?<=[._\-/:# ])\d+")
# HLO text can be megabytes: its front says what it is, and names are replaced one by one where one
# of them is longer than this. Chosen, not measured.
_MAX_NAME_CHARS = 400


def kind_of(full: str, display: str) -> tuple[str, Category]:
    """(type, category) of one op."""
    kind = category.work_category(full)
    if kind is Category.OTHER and display:
        kind = category.work_category(display)
    return category.op_type(full) or kind.value, kind


def op_types(
    names: Names,
    indices: Int64s,
    check: CancelCheck = unhindered,
) -> tuple[Int32s, tuple[str, ...]]:
    """(for each of these names, which type it has; the types).

    Numbers within a type are taken for those of instances.
    """
    codes = np.zeros(len(indices), np.int32)
    types: dict[str, int] = {}
    code_of_pair: dict[tuple[str, str], int] = {}
    for rows, full, display in texts.batches(names, indices, check):
        full_texts = without_numbers(full).strings()
        display_texts = without_numbers(display).strings()
        pairs = list(zip(full_texts, display_texts, strict=True))
        # Of a million names few differ in more than numbers: each kind is looked at once.
        for pair in dict.fromkeys(pairs):
            if pair not in code_of_pair:
                check()
                op_type, _ = kind_of(*pair)
                code_of_pair[pair] = types.setdefault(op_type, len(types))
        codes[rows] = np.fromiter(
            map(code_of_pair.__getitem__, pairs),
            np.int32,
            len(pairs),
        )
    return codes, tuple(types)


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
