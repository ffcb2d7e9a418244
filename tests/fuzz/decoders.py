"""Both decoders on the same lines, cut and mangled: whatever a line holds, compiled and pure say
the same of it.

Lines are made here, from a seed, or come from the inputs that libFuzzer kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from powertui.data.wire import pure, tag
from powertui.data.wire.pure import fields
from powertui.data.wire.types import EVENTS_FIELD, EventColumns
from tests.fuzz.scanner import Finding
from tests.synthetic.xplane import varint


def number(chance: random.Random) -> int:
    return chance.choice(
        (0, 1, 5, 300, chance.getrandbits(chance.randrange(1, 65)), -1, 1 << 32, 1 << 63)
    )


def field(chance: random.Random, which: int, depth: int) -> bytes:
    """Some field; deeper ones are events and stats."""
    wire = chance.choice((0, 0, 0, 2, 2, 2, 1, 5))
    head = varint(which << 3 | wire)
    if wire == 0:
        return head + varint(number(chance))
    if wire != 2:
        return head + chance.randbytes(8 if wire == 1 else 4)
    body = message(chance, depth + 1) if depth < 3 else chance.randbytes(chance.choice((0, 3, 130)))
    return head + varint(len(body)) + body


def message(chance: random.Random, depth: int = 0) -> bytes:
    numbers = (4, 4, 4, 4, 1, 2, 3, 9, 200) if depth == 0 else (1, 2, 3, 4, 4, 5, 6, 7, 16)
    return b"".join(
        field(chance, chance.choice(numbers), depth)
        for _ in range(chance.randrange(12 if depth == 0 else 6))
    )


def mangle(chance: random.Random, line: bytes) -> bytes:
    out = bytearray(line)
    for _ in range(chance.randrange(4)):
        if not out:
            break
        at = chance.randrange(len(out))
        what = chance.randrange(4)
        if what == 0:
            del out[at:]
        elif what == 1:
            out[at] ^= 1 << chance.randrange(8)
        elif what == 2:
            out[at:at] = chance.choice(
                (b"\xff" * 9, b"\x80" * 12, varint(chance.getrandbits(64)), b"\x22", b"\x0b")
            )
        else:
            out[at] = chance.randrange(256)
    return bytes(out)


def lines(count: int, seed: int) -> Iterator[bytes]:
    """So many lines, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield mangle(chance, message(chance))


def answers(decoder: Any, line: bytes, chance: random.Random) -> list[Any]:
    """Every call of a decoder on one line, in a form that == compares."""
    data = np.array(bytearray(line), np.uint8)
    lo, hi = chance.choice(
        ((0, len(line)), (chance.randrange(-2, len(line) + 2), chance.randrange(-2, len(line) + 9)))
    )
    hop = decoder.hop(data, lo, hi)
    rows = decoder.hop(data, lo, hi, skip=EVENTS_FIELD).skipped
    columns = EventColumns.empty(rows + chance.randrange(2))
    scan = decoder.scan_events(
        data, lo, hi, number(chance) >> 2, columns, 0, chance.choice((1, 3, 1 << 62))
    )
    used = [column[: scan.rows] for column in columns]
    weird = np.array([0, len(line), chance.getrandbits(64), (1 << 64) - 1], np.uint64)
    positions = np.concatenate((used[3], weird))
    order = np.sort(used[1])
    parts = [
        *hop,
        *used,
        *scan,
        *decoder.pick(
            data, *hop.ranges(4), [tag(1, 0), tag(2, 0), tag(4, 2), tag(2, 1), number(chance) >> 3]
        ),
        *decoder.scan_stats(data, positions, [0, 1, 5, -1, 300]),
        decoder.nest(order, used[2]),
    ]
    return [
        [np.asarray(part).tolist() for part in parts],
        repr(decoder.stats(data, lo, hi, 4)),
        [repr(decoder.event_stats(data, int(at))) for at in used[3]],
    ]


def compare(messages: Iterable[bytes], seed: int) -> int:
    """How many lines both decoders agreed on. Raises `Finding` with the first that they do not."""
    from powertui.data.wire import compiled

    count = 0
    few = fields.MIN_VECTOR_RECORDS
    for line in messages:
        choices = seed * 1_000_003 + count
        # Both of its ways: numpy for many records, a walk for few.
        fields.MIN_VECTOR_RECORDS = (0, 16)[count % 2]
        try:
            same = answers(compiled, line, random.Random(choices)) == answers(
                pure, line, random.Random(choices)
            )
        finally:
            fields.MIN_VECTOR_RECORDS = few
        if not same:
            raise Finding(f"the decoders disagree (choices {choices}) about {line!r}")
        count += 1
    return count
