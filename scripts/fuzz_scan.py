"""Feeds the scanner with mangled profiles for a while. Started by fuzz_scan.sh; any finding of a sanitizer ends it.

Seeds are lines written here, so that it runs without a file and without protobuf. What is fed to the compiled
decoder goes to the pure one as well from time to time, and their answers have to agree.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path.cwd()))

import numpy as np

from powertui.data.wire import compiled, pure, tag
from powertui.data.wire.types import EVENTS_FIELD, Columns


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(chance: random.Random) -> int:
    return chance.choice((0, 1, 5, 300, chance.getrandbits(chance.randrange(1, 65)), -1, 1 << 32, 1 << 63))


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
    return b"".join(field(chance, chance.choice(numbers), depth) for _ in range(chance.randrange(12 if depth == 0 else 6)))


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
            out[at:at] = chance.choice((b"\xff" * 9, b"\x80" * 12, varint(chance.getrandbits(64)), b"\x22", b"\x0b"))
        else:
            out[at] = chance.randrange(256)
    return bytes(out)


def answers(decoder: Any, line: bytes, chance: random.Random) -> list[Any]:
    """Every call of a decoder on one line, in a form that == compares."""
    data = np.array(bytearray(line), np.uint8)  # exactly as long as the line: one byte too far is one too many
    lo, hi = chance.choice(((0, len(line)), (chance.randrange(-2, len(line) + 2), chance.randrange(-2, len(line) + 9))))
    hop = decoder.hop(data, lo, hi)
    rows = decoder.hop(data, lo, hi, skip=EVENTS_FIELD).skipped
    columns = Columns.empty(rows + chance.randrange(2))
    scan = decoder.scan_events(data, lo, hi, number(chance) >> 2, columns, 0, chance.choice((1, 3, 1 << 62)))
    used = [column[: scan.rows] for column in columns]
    weird = np.array([0, len(line), chance.getrandbits(64), (1 << 64) - 1], np.uint64)
    positions = np.concatenate((used[3], weird))
    order = np.sort(used[1])
    parts = [
        *hop,
        *used,
        *scan,
        *decoder.pick(data, *hop.ranges(4), [tag(1, 0), tag(2, 0), tag(4, 2), tag(2, 1), number(chance) >> 3]),
        *decoder.scan_stats(data, positions, [0, 1, 5, -1, 300]),
        decoder.nest(order, used[2]),
    ]
    return [
        [np.asarray(part).tolist() for part in parts],
        repr(decoder.stats(data, lo, hi, 4)),
        [repr(decoder.event_stats(data, int(at))) for at in used[3]],
    ]


def main() -> int:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else time.time_ns()
    chance, until, rounds = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        line, choices = mangle(chance, message(chance)), chance.getrandbits(64)
        compiled_says = answers(compiled, line, random.Random(choices))
        if rounds % 8 == 0:
            pure.FEW = chance.choice((0, 16))
            if answers(pure, line, random.Random(choices)) != compiled_says:
                print(f"the decoders disagree (seed {seed}, round {rounds}) about {line!r}")
                return 1
        rounds += 1
    print(f"{rounds} lines, no finding (seed {seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
