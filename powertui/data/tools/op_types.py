"""The type of each of many ops: its own where the name tells, else the category of its work.

Programs number their ops (`fusion.1` … `fusion.900000`), and a number says nothing of the kind. So
numbers are taken out of all names at once, and the rules are asked once for each of the few names
that are left.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import category, texts
from powertui.data.category import Category
from powertui.data.model import Int32s, Int64s, Names
from powertui.data.texts import CancelCheck, Texts, unhindered

_SEPARATORS = np.zeros(256, np.bool_)
_SEPARATORS[list(b"._-/:# ")] = True  # a number behind one of these counts instances
_NUMBER = re.compile(r"(?<=[._\-/:# ])\d+")
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
    names: Names, indices: Int64s, check: CancelCheck = unhindered
) -> tuple[Int32s, tuple[str, ...]]:
    """(for each of these names, which type it has; the types).

    Numbers within a type are taken for those of instances.
    """
    out = np.zeros(len(indices), np.int32)
    types: dict[str, int] = {}
    numbers: dict[tuple[str, str], int] = {}
    for rows, full, display in texts.batches(names, indices, check):
        pairs = list(
            zip(without_numbers(full).strings(), without_numbers(display).strings(), strict=True)
        )
        for pair in dict.fromkeys(pairs):
            if pair not in numbers:
                check()
                numbers[pair] = types.setdefault(kind_of(*pair)[0], len(types))
        out[rows] = np.fromiter(map(numbers.__getitem__, pairs), np.int32, len(pairs))
    return out, tuple(types)


def without_numbers(names: Texts) -> Texts:
    """The same names with 0 for every number of an instance."""
    if not len(names.data):
        return names
    if not names.ascii or int(np.diff(names.start).max()) > _MAX_NAME_CHARS:
        return Texts.from_strings([_NUMBER.sub("0", text) for text in names.strings()])
    data = names.data
    digit = (data >= ord("0")) & (data <= ord("9"))
    begins = digit.copy()  # a run of digits …
    begins[1:] &= ~digit[:-1]
    behind = np.zeros(len(data), np.bool_)  # … behind a separator
    behind[1:] = _SEPARATORS[data[:-1]]
    first = names.start[names.start < len(data)]  # not one that ends another name
    begins[first] = digit[first]
    behind[first] = False
    edges = np.flatnonzero(begins)
    counted = np.zeros(len(edges) + 1, np.bool_)
    counted[1:] = behind[edges]
    drop = digit & ~begins & counted[np.cumsum(begins)]
    data = data.copy()
    data[edges[counted[1:]]] = ord("0")
    before = np.concatenate(([0], np.cumsum(drop)))
    return Texts(data[~drop], names.start - before[names.start])
