"""Where fuzzing starts: small pieces of real recordings, and whole small files of every format that
powertui reads.
"""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from powertui.data.wire import hop
from tests.fuzz import decoders, scanner
from tests.synthetic import tfevents, xplane

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
DEMO = ROOT / "powertui" / "demo" / "data"
LARGEST = 64 << 10  # bytes of a file that is mutated some thousand times


class Seed(NamedTuple):
    """A file that a reader takes: "profile", "tfevents" or "power"."""

    kind: str
    name: str
    data: bytes


def _profiles() -> Iterator[Path]:
    yield from sorted(DATA.rglob("*.xplane.pb"))


def of_scanner() -> Iterator[bytes]:
    """Inputs for scan_target.c: lines of the recordings, cut where they grow long, and lines made
    by hand.
    """
    zero = bytes(scanner.HEADER)
    for path in _profiles():
        data = np.fromfile(path, np.uint8)
        for lo, hi in zip(*hop(data, 0, len(data)).ranges(1), strict=True):
            plane = hop(data, int(lo), int(hi))
            yield zero + data[int(lo) : min(int(hi), int(lo) + 1500)].tobytes()
            for at, end in list(zip(*plane.ranges(3), strict=True))[:6]:
                yield zero + data[int(at) : min(int(end), int(at) + 900)].tobytes()
    rows = np.arange(300)
    for start, duration in (
        (rows, rows * 0 + 10**6),
        (rows, 10**6 - 2 * rows),
        (rows * 0, 10**6 - rows),
    ):  # taken as times
        yield zero + np.concatenate((start, duration)).astype("<i8").tobytes()
    for choice in range(1, 256):
        yield bytes([choice, *(0,) * 15, choice // 7, *(0,) * 15]) + xplane.blob(
            4, b"\x08\x01\x10\x02\x18\x03"
        )
    chance = random.Random(0)
    for size in (1, 3, 17, 300):
        for _ in range(20):
            yield (
                bytes([255, *(0,) * 15])
                + chance.randbytes(8)
                + bytes(8)
                + bytes(chance.randrange(256) for _ in range(size))
            )
            yield (
                bytes([255, *(0,) * 15])
                + chance.randbytes(8)
                + bytes(8)
                + bytes(chance.choice((0, 0, 1, 5)) for _ in range(size))
            )
    for number, line in enumerate(decoders.lines(300, 0)):
        yield bytes([0, number % 16, *(0,) * 22, 0, 1, 5, 255, 8, 16, 34, 17]) + line


def _protobuf() -> Iterator[Seed]:
    events = [
        xplane.Event(f"op {i % 7}", 10_000 * i, 9_000, {"step_num": i, "cost": i / 3, "note": "x"})
        for i in range(60)
    ]
    nested = [xplane.Event("outer", 0, 10**6), *events]
    session: dict[str, xplane.Value] = {
        "profile_start_time": 1_700_000_000 * 10**9,
        "profile_stop_time": 1_700_000_001 * 10**9,
    }
    planes = [
        xplane.Plane(
            "/host:CPU", [xplane.Line("python", nested, 1), xplane.Line("worker", events, 2)]
        ),
        xplane.Plane("/device:GPU:0", [xplane.Line("Stream #7", events, 7)], {"memory": 1 << 34}),
        xplane.Plane("Task Environment", (), session),
    ]
    made = xplane.encode(planes)
    yield Seed("profile", "made.xplane.pb", made)
    yield Seed("profile", "made.xplane.pb.gz", gzip.compress(made, mtime=0))
    logged = b"".join(
        tfevents.frame(
            tfevents.scalar(1.7e9 + i, i, f"epoch_{'loss' if i % 2 else 'accuracy'}", i / 7)
        )
        for i in range(20)
    )
    yield Seed("tfevents", "events.out.tfevents.1700000000.host.1.0.v2", logged)


def files() -> list[Seed]:
    """A small file of every profile, tfevents and power format, and those of the folder that
    POWERTUI_FUZZ_DATA names.
    """
    found = list(_protobuf())
    for path in sorted(DATA.rglob("*.trace.json.gz")):
        text = gzip.decompress(path.read_bytes())[: LARGEST // 2]
        found.append(Seed("profile", path.name.removesuffix(".gz"), text))
        found.append(Seed("profile", path.name, gzip.compress(text, mtime=0)))
    for path in _profiles():
        if path.stat().st_size <= LARGEST:
            found.append(Seed("profile", path.name, path.read_bytes()))
    for folder in (DATA, DEMO):
        found += [
            Seed("tfevents", path.name, path.read_bytes())
            for path in sorted(folder.rglob("events.out.tfevents.*"))
        ]
    for path in sorted((*(DATA / "power").iterdir(), *(DATA / "power_tools").iterdir())):
        if path.suffix == ".md":
            continue
        data = path.read_bytes()
        found.append(Seed("power", path.name, data if path.suffix == ".db" else data[:LARGEST]))
    more = os.environ.get("POWERTUI_FUZZ_DATA")
    return found + list(_of_folder(Path(more))) if more else found


def _of_folder(folder: Path) -> Iterator[Seed]:
    """Recordings of one's own, where they are small."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= LARGEST:
            name = path.name
            if ".xplane.pb" in name or ".trace.json" in name:
                yield Seed("profile", name, path.read_bytes())
            elif ".tfevents." in name:
                yield Seed("tfevents", name, path.read_bytes())
            elif path.suffix in (".csv", ".txt", ".log", ".db", ".json", ".tsv"):
                yield Seed("power", name, path.read_bytes())
