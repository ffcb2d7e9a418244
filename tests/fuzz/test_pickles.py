"""Mutated pickles: nothing is run and nothing is imported, and each is read or refused with a
sentence. POWERTUI_FUZZ_EXAMPLES says how many, POWERTUI_FUZZ_SEED which.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Iterator
from typing import Any

from powertui.data.formats import snapshot_records
from powertui.data.formats.snapshot_records import SnapshotRecords
from powertui.errors import UnreadableFile
from tests.synthetic.torch_snapshot import Allocator, snapshot

EXAMPLES = int(os.environ.get("POWERTUI_FUZZ_EXAMPLES", "5000"))
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
_WATCHED = ("import", "exec", "compile", "os.", "subprocess.", "open", "pickle.", "socket.")


class _Watch:
    """What happens while pickles are read, as Python's own audit tells it."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _args: Any) -> None:
        if self.on and event.startswith(_WATCHED):
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
    chance = random.Random(int(os.environ.get("POWERTUI_FUZZ_SEED", "34")))
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


def test_nothing_of_a_mutated_pickle_is_run_or_imported() -> None:
    watch = _Watch()
    modules = set(sys.modules)
    read = refused = 0
    for data in _mutants(EXAMPLES):
        records = SnapshotRecords("mutant")
        watch.on = True
        try:
            top = records.machine.load(iter((data,)))
            list(records.segment_rows(top))
            records.event_rows(top)
            snapshot_records.is_snapshot(top)
            read += 1
        except UnreadableFile:
            refused += 1
        finally:
            watch.on = False
    assert watch.seen == []
    assert set(sys.modules) == modules
    assert read > EXAMPLES // 100
    assert refused > EXAMPLES // 10
