"""Records of tfevents that hold neither numbers nor texts that are wanted: headers, graphs,
histograms. Their fields tell them.

Nearly every file begins with some. Without this protobuf would be needed for each file, whose
import takes 15 ms and more.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.wire.types import LEN


class RecordAside(NamedTuple):
    """A record that holds neither numbers nor texts that are wanted here."""

    is_header: bool = False
    values: tuple[
        tuple[str, str], ...
    ] = ()  # (tag, plugin) of its tensors: graphs, histograms, pictures


def record_aside(record: memoryview, text_plugins: Collection[str]) -> RecordAside | None:
    """Such a record; None for any other, and for whatever is not plainly one.

    `told`: plugins whose texts are wanted.
    """
    data = np.frombuffer(record, np.uint8)
    event = _payloads(data, 0, len(data), {3, 5}, {4, 6, 7, 8, 9})
    if event is None or len(event) != 1:
        return None
    ((kind, lo, hi),) = event
    values = []
    try:
        if kind == 3:
            bytes(record[lo:hi]).decode()
            return RecordAside(is_header=True)
        for _, first, end in _payloads(data, lo, hi, {1}) or ():
            parts = _last(_payloads(data, first, end, {1, 8, 9}, {2, 4, 5, 6}))
            if not {1, 8, 9} <= parts.keys() or wire.hop(data, *parts[8]).bad >= 0:
                return None
            named = _last(
                _payloads(data, *_last(_payloads(data, *parts[9], {1})).get(1, (0, 0)), {1})
            )
            tag, plugin = (
                bytes(record[lo:hi]).decode() for lo, hi in (parts[1], named.get(1, (0, 0)))
            )
            if plugin in ("", "scalars") or plugin in text_plugins:
                return None
            values.append((tag, plugin))
    except UnicodeDecodeError:
        return None
    return RecordAside(values=tuple(values)) if values else None


def _payloads(
    data: wire.types.Bytes, lo: int, hi: int, numbers: set[int], others: Collection[int] = ()
) -> list[tuple[int, int, int]] | None:
    """(number, first byte, end) of the payloads with these numbers; None where the message is
    damaged or has one of `others`.
    """
    fields = wire.hop(data, lo, hi)
    if fields.bad >= 0 or not set(others).isdisjoint(fields.number.tolist()):
        return None
    payloads = zip(
        *(column[fields.wire == LEN].tolist() for column in (fields.number, fields.lo, fields.hi)),
        strict=True,
    )
    return [payload for payload in payloads if payload[0] in numbers]


def _last(payloads: list[tuple[int, int, int]] | None) -> dict[int, tuple[int, int]]:
    """Of each number the one that counts."""
    return {number: (lo, hi) for number, lo, hi in payloads or ()}
