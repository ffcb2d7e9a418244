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
from powertui.data.name_shapes import without_numbers
from powertui.data.texts import CancelCheck, unhindered


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
