"""Numbers that stand for names, per sequence of packets: what each meant when an event used it.

The parts of a key are columns: the sequence, where there is one the number, and the packet last.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s
from powertui.named_tuples import NamedTuple


class Definitions(NamedTuple):
    """What the numbers of one kind stand for, by sequence, in the order of the file."""

    packet: list[int]
    sequence: list[int]
    number: list[int]
    text: list[str]

    def add(self, packet: int, sequence: int, number: int, text: str) -> None:
        """From this packet on, the number stands for the text."""
        self.packet.append(packet)
        self.sequence.append(sequence)
        self.number.append(number)
        self.text.append(text)


def last_definitions(defined: tuple[Int64s, ...], uses: tuple[Int64s, ...]) -> Int64s:
    """The row of the definition that held for each use; -1 where there was none.

    It is the last one with the same key, at or before the packet of the use. Definitions are in the
    order of the file.
    """
    defined_count = len(defined[0])
    use_count = len(uses[0])
    row_count = defined_count + use_count
    places = np.arange(row_count)
    columns = [np.concatenate(pair) for pair in zip(defined, uses, strict=True)]
    is_use = places >= defined_count
    # By key and packet, a definition before the uses in its packet.
    order = np.lexsort((places, is_use, *reversed(columns)))
    same_key = np.ones(row_count, np.bool_)
    for column in columns[:-1]:
        in_order = column[order]
        same_key[1:] &= in_order[1:] == in_order[:-1]
    same_key[:1] = False
    group = np.cumsum(~same_key)
    # The last definition before each row, of any key: it holds where it is of the same group.
    is_use = is_use[order]
    definition_places = np.where(is_use, -1, places)
    last = np.maximum.accumulate(definition_places)
    last_or_first = np.maximum(last, 0)
    is_same_group = group[last_or_first] == group
    holds = (last >= 0) & is_same_group
    definition = np.where(holds, order[last_or_first], -1)
    held = np.full(use_count, -1, np.int64)
    use_rows = order[is_use] - defined_count
    held[use_rows] = definition[is_use]
    return held
