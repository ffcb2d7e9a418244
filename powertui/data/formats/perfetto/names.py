"""Numbers that stand for names, per sequence of packets: what each meant when an event used it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Int64s


class Definitions(NamedTuple):
    """What numbers of one kind came to mean, by sequence, in the order of the file."""

    packet: list[int]
    sequence: list[int]
    number: list[int]
    text: list[str]

    def add(self, packet: int, sequence: int, number: int, text: str) -> None:
        self.packet.append(packet)
        self.sequence.append(sequence)
        self.number.append(number)
        self.text.append(text)


def last_definitions(defined: tuple[Int64s, ...], wanted: tuple[Int64s, ...]) -> Int64s:
    """For each wanted (key …, packet) the last definition with this key at or before that packet;
    -1 for none.

    Both are columns, the packet last. Definitions stand in the order of the file.
    """
    rows, of = len(defined[0]), len(wanted[0])
    columns = [np.concatenate(pair) for pair in zip(defined, wanted, strict=True)]
    asks = np.concatenate((np.zeros(rows, np.int64), np.ones(of, np.int64)))
    order = np.lexsort((np.arange(rows + of), asks, *reversed(columns)))
    same = np.ones(rows + of, np.bool_)
    for column in columns[:-1]:
        same[1:] &= column[order][1:] == column[order][:-1]
    same[:1] = False
    group = np.cumsum(~same)
    place = np.where(asks[order] == 0, np.arange(rows + of), -1)
    last = np.maximum.accumulate(place)  # the last definition so far, of whatever key …
    good = (last >= 0) & (group[np.maximum(last, 0)] == group)  # … which must be of this one
    out = np.full(of, -1, np.int64)
    mine = asks[order] == 1
    out[order[mine] - rows] = np.where(good[mine], order[np.maximum(last[mine], 0)], -1)
    return out
