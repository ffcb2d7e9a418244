"""Memory snapshots of PyTorch, with stacks and without: how fast they are read and how much memory
that takes beside the size of the file.

    python -m benchmarks.bench_snapshot [MEGABYTES]      (64; 1000 takes several minutes)

The files follow the schema in torch/cuda/_memory_viz.py, record by record as Python's pickler
writes it (protocol 4): each event has a list of its own that refers to frames which came before.
They are written directly, as a list of twenty million dicts would not fit into memory.
"""

from __future__ import annotations

import itertools
import pickle
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from benchmarks.bench_formats import OURS
from benchmarks.bench_scan import MB, script
from benchmarks.harness import GENERATED, Table

_MEGABYTES = 64
_STACKS = 200
_DEPTHS = (8, 60)  # calls of a stack
_BATCH = 1000  # items that a pickler appends at once
_BASE_US = 1_760_000_000_000_000  # Unix time, in 2025
_BASE_ADDRESS = 0x7F0000000000
_BLOCK_BYTES = 2 << 20
_MAX_ALIVE = 5000  # blocks
_TRIED_BYTES = 3 * MB

_FRAMES = [
    {
        "filename": f"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/part{number % 40}.py",
        "line": 10 + number,
        "name": f"forward_{number}",
    }
    for number in range(400)
]


class _Event(NamedTuple):
    """What the allocator did."""

    action: str
    address: int
    size: int
    us: int
    stack: int  # its number


class _Allocator:
    """One device: what it does, and what is alive."""

    def __init__(self) -> None:
        self.alive: list[tuple[int, int, int]] = []  # (number, size, stack) of each block
        chance = random.Random(35)
        self.stacks = [
            chance.choices(range(len(_FRAMES)), k=chance.randint(*_DEPTHS)) for _ in range(_STACKS)
        ]

    def events(self) -> Iterator[_Event]:
        """Allocations and frees, without end."""
        chance = random.Random(34)
        free = list(range(_MAX_ALIVE))
        alive = self.alive
        for us in itertools.count(_BASE_US, 3):
            if free and (not alive or chance.random() < 0.5):
                block = (
                    free.pop(),
                    512 * chance.randint(1 << 7, _BLOCK_BYTES // 512),
                    chance.randrange(_STACKS),
                )
                alive.append(block)
                actions: tuple[str, ...] = ("alloc",)
            else:
                at = chance.randrange(len(alive))
                alive[at], alive[-1] = alive[-1], alive[at]
                block = alive.pop()
                free.append(block[0])
                actions = ("free_requested", "free_completed")
            number, size, stack = block
            for action in actions:
                yield _Event(action, _BASE_ADDRESS + number * _BLOCK_BYTES, size, us, stack)

    def segments(self) -> list[dict[str, Any]]:
        """What is reserved at the end: a segment for each block."""
        return [
            {
                "device": 0,
                "address": _BASE_ADDRESS + number * _BLOCK_BYTES,
                "total_size": _BLOCK_BYTES,
                "stream": 0,
                "segment_type": "large",
                "blocks": [
                    {
                        "address": _BASE_ADDRESS + number * _BLOCK_BYTES,
                        "size": size,
                        "requested_size": size,
                        "state": "active_allocated",
                    }
                ],
            }
            for number, size, _ in self.alive
        ]


class _Pickle:
    """Writes what a pickler writes, and counts the memo as one does."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.memo = 0
        self._known: dict[
            str | int, bytes
        ] = {}  # references to texts, and to frames by their identity

    def value(self, value: Any) -> None:
        """A value with all that is in it."""
        if isinstance(value, int):
            self.file.write(integer(value))
        elif isinstance(value, str):
            if not self._is_known(value):
                data = value.encode()
                self.file.write(b"\x8c" + bytes((len(data),)) + data + b"\x94")
        elif isinstance(value, list):
            self.open_list()
            for start in range(0, len(value), _BATCH):
                self.file.write(b"(")
                for item in value[start : start + _BATCH]:
                    self.value(item)
                self.file.write(b"e")
        elif "filename" not in value or not self._is_known(id(value)):
            self.memo += "filename" not in value
            self.file.write(b"}\x94(")
            for part in itertools.chain.from_iterable(value.items()):
                self.value(part)
            self.file.write(b"u")

    def open_list(self) -> None:
        """An empty list, to be filled."""
        self.file.write(b"]\x94")
        self.memo += 1

    def reference(self, value: Any) -> bytes:
        """To something that was written."""
        return self._known[value if isinstance(value, str) else id(value)]

    def _is_known(self, key: str | int) -> bool:
        """Whether a reference could be written; otherwise the value comes next."""
        if key in self._known:
            self.file.write(self._known[key])
            return True
        place = self.memo
        self._known[key] = (
            b"h" + bytes((place,)) if place < 256 else b"j" + struct.pack("<I", place)
        )
        self.memo += 1
        return False


def integer(number: int) -> bytes:
    """A number that is not negative."""
    if number < 1 << 8:
        return b"K" + bytes((number,))
    if number < 1 << 16:
        return b"M" + struct.pack("<H", number)
    if number < 1 << 31:
        return b"J" + struct.pack("<i", number)
    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes((len(data),)) + data


class _EventWriter:
    """Events, one after the other: the first of each kind as any value, and those like it by what
    this wrote.
    """

    def __init__(self, out: _Pickle, stacks: list[list[dict[str, Any]]]) -> None:
        self._out = out
        self._stacks = stacks
        self._likes: dict[tuple[str, int], bytes] = {}

    def write(self, event: _Event) -> None:
        """One event; its dict and its list of frames go into the memo."""
        out = self._out
        like = self._likes.get((event.action, event.stack))
        if like is None:
            out.value(record(event, self._stacks[event.stack]))
            self._likes[event.action, event.stack] = self._like(event)
            return
        numbers = (integer(event.address), integer(event.size), integer(event.us))
        out.file.write(like % numbers)
        out.memo += 2

    def _like(self, event: _Event) -> bytes:
        out = self._out
        parts = []
        for key, value in record(event, self._stacks[event.stack]).items():
            if key == "frames":
                frames = b"".join(map(out.reference, value))
                written = b"]\x94" + (b"(" + frames + b"e" if frames else b"")
            elif key == "stream":
                written = integer(value)
            else:
                written = b"%b" if isinstance(value, int) else out.reference(value)
            key_written = out.reference(key).replace(b"%", b"%%")
            parts.append(
                key_written + (written if written == b"%b" else written.replace(b"%", b"%%"))
            )
        return b"}\x94(" + b"".join(parts) + b"u"


def record(event: _Event, frames: list[dict[str, Any]]) -> dict[str, Any]:
    """An event as PyTorch has it."""
    return {
        "action": event.action,
        "addr": event.address,
        "size": event.size,
        "stream": 0,
        "time_us": event.us,
        "frames": list(frames),
    }


def write(path: Path, size: int, *, with_stacks: bool) -> int:
    """A snapshot of about so many bytes; how many allocations and frees it has."""
    allocator = _Allocator()
    stacks = [[_FRAMES[number] for number in stack * with_stacks] for stack in allocator.stacks]
    shown = 0
    with path.open("wb") as file:
        out = _Pickle(file)
        file.write(b"\x80\x04}\x94(")
        out.memo += 1
        out.value("device_traces")
        out.open_list()
        out.open_list()
        writer = _EventWriter(out, stacks)
        events = allocator.events()
        event = None
        # What was only asked to be freed is neither alive nor freed.
        while file.tell() < size or (event and event.action == "free_requested"):
            file.write(b"(")
            for event in itertools.islice(events, _BATCH):
                writer.write(event)
                shown += event.action != "free_requested"
            file.write(b"e")
        file.write(b"a")
        out.value("segments")
        out.value(allocator.segments())
        file.write(b"u.")
    return shown


def check(path: Path) -> None:
    """Python's own unpickler finds in such a file what was written into it."""
    for with_stacks in (False, True):
        write(path, _TRIED_BYTES, with_stacks=with_stacks)
        snapshot = pickle.loads(path.read_bytes())
        allocator = _Allocator()
        (trace,) = snapshot["device_traces"]
        for found, event in zip(trace, allocator.events(), strict=False):
            stack = allocator.stacks[event.stack] * with_stacks
            assert found == record(event, [_FRAMES[number] for number in stack])
    path.unlink()


def main() -> None:
    """The row of docs/benchmarks.md."""
    is_own = __name__ == "__main__" or sys.argv[0].endswith("bench_snapshot.py")
    megabytes = int(sys.argv[1].replace(",", "")) if is_own and sys.argv[1:] else _MEGABYTES
    GENERATED.mkdir(parents=True, exist_ok=True)
    path = GENERATED / "snapshot.pickle"
    check(path)
    table = Table(
        "memory snapshots of PyTorch",
        ("what", "MB", "allocations and frees", "CPU s", "MB/s", "memory ÷ size"),
    )
    for with_stacks in (False, True):
        shown = write(path, megabytes * MB, with_stacks=with_stacks)
        size = path.stat().st_size
        read, _ = script(OURS, path)
        path.unlink()
        assert read["events"] == shown
        assert not read["warnings"]
        table.row(
            "with stacks" if with_stacks else "without stacks",
            f"{size / MB:,.0f}",
            f"{shown:,}",
            f"{read['cpu']:.1f}",
            f"{size / MB / read['cpu']:.1f}",
            f"{read['peak'] / size:.2f}",
        )
    table.print()


if __name__ == "__main__":
    main()
