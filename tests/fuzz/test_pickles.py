"""Mutated pickles: nothing is run and nothing is imported, and each is read or refused with a
sentence. POWERTUI_FUZZ_EXAMPLES says how many, POWERTUI_FUZZ_SEED which.

`python -m tests.fuzz.test_pickles 1000000` does the same and counts aloud.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from powertui.data.formats import snapshot_records
from powertui.data.formats.snapshot_records import SnapshotRecords
from powertui.errors import UnreadableFile
from tests.synthetic.torch_snapshot import Allocator, snapshot

EXAMPLES = int(os.environ.get("POWERTUI_FUZZ_EXAMPLES", "5000"))
SEED = int(os.environ.get("POWERTUI_FUZZ_SEED", "34"))
# What would make an unpickler call something.
_CALLS = (
    b"cos\nsystem\n",
    b"\x8c\x02os\x8c\x06system\x93",
    b"cbuiltins\neval\n(X\x01\x00\x00\x001tR",
    b"R",
    b"b",
    b"(ios\nsystem\n",
    b"o",
    b"\x81",
    b"\x92",
    b"\x82\x01",
    b"Pname\n",
    b"Q",
    b"\x97",
)
_TOLD_EVERY = 10_000  # mutants


class _Watch:
    """What happens while pickles are read, as Python's own audit tells it: an import, a file, a
    process, compiled code. Reading from memory needs none of these, so any event is one too many.
    """

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _args: Any) -> None:
        if self.on:
            self.seen.append(event)


def _seeds() -> list[bytes]:
    small, two = Allocator(0), Allocator(1)
    small.run(3)
    two.run(6)
    return [
        pickle.dumps(snapshot(*allocators), protocol)
        for allocators in ((small,), (small, two))
        for protocol in (2, 4)
    ]


def _mutants(count: int) -> Iterator[bytes]:
    chance = random.Random(SEED)
    seeds = _seeds()
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            kind = chance.randrange(5)
            if kind == 0:
                data[at] = chance.randrange(256)
            elif kind == 1:
                data[at:at] = chance.choice(_CALLS)
            elif kind == 2:
                del data[at : at + chance.randint(1, 20)]
            elif kind == 3:
                data[at] ^= 1 << chance.randrange(8)
            else:
                start = chance.randrange(len(data))
                data[at:at] = data[start : start + chance.randint(1, 30)]
        yield bytes(data)


def _pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The bytes as a file gives them: at once, or with an end of a chunk somewhere."""
    at = chance.choice((0, chance.randrange(len(data) + 1)))
    return iter((data[:at], data[at:]) if at else (data,))


def _is_read(data: bytes, chance: random.Random, watch: _Watch) -> bool:
    """Whether a pickle is a snapshot's; False where it is refused with a sentence."""
    records = SnapshotRecords("mutant")
    pieces = _pieces(data, chance)
    watch.on = True
    try:
        top = records.machine.load(pieces)
        list(records.segment_rows(top))
        records.event_rows(top)
        snapshot_records.is_snapshot(top)
    except UnreadableFile:
        return False
    finally:
        watch.on = False
    return True


def test_nothing_of_a_mutated_pickle_is_run_or_imported() -> None:
    watch = _Watch()
    chance = random.Random(SEED)
    modules = set(sys.modules)
    read = sum(_is_read(data, chance, watch) for data in _mutants(EXAMPLES))
    assert watch.seen == []
    assert set(sys.modules) == modules
    assert EXAMPLES // 100 < read < EXAMPLES - EXAMPLES // 10


def test_the_watch_sees_what_an_unpickler_would_do() -> None:
    watch = _Watch()
    watch.on = True
    with contextlib.suppress(Exception):
        pickle.loads(b"\x80\x02cos\ngetcwd\n)R.")
    watch.on = False
    assert "pickle.find_class" in watch.seen


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    watch = _Watch()
    chance = random.Random(SEED)
    modules = set(sys.modules)
    read = 0
    for number, data in enumerate(_mutants(count), 1):
        read += _is_read(data, chance, watch)
        if number % _TOLD_EVERY == 0 or number == count:
            print(
                f"{number:,} of {count:,}: {read:,} read, {number - read:,} refused, "
                f"{len(watch.seen)} events, {len(set(sys.modules) - modules)} modules imported, "
                f"{time.process_time():.0f} CPU s",
                flush=True,
            )
    return 1 if watch.seen or set(sys.modules) != modules else 0


if __name__ == "__main__":
    sys.exit(main())
