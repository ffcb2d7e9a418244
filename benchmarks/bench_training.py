"""What a whole training costs: its grouping and first axis, its scalars, its power, its answers, at
sizes that grow.

Each row is a process of its own. `POWERTUI_WEEK=1` measures the largest: a week of 1 Hz × 100
channels, ten million scalars.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import make_big
from benchmarks.harness import GENERATED, Table, run_process
from powertui.data.wire.crc32c import crc32c, masked
from tests.synthetic.tfevents import frame, scalar

UNIX = 1_795_000_000
TAGS = ("batch_loss", "batch_accuracy", "learning_rate", "gradient_norm")
CHUNK = 40_000


class Size(NamedTuple):
    """One training: seconds of power, channels, scalar records, sessions, events in each."""

    seconds: int
    channels: int
    records: int
    sessions: int
    events: int

    @property
    def name(self) -> str:
        return f"{self.seconds}s_{self.channels}ch_{self.records}rec_{self.sessions}x{self.events}"


SIZES = [
    Size(6_048, 10, 10_000, 5, 10_000),
    Size(60_480, 10, 100_000, 15, 10_000),
    Size(60_480, 100, 1_000_000, 50, 10_000),
]
WEEK = Size(604_800, 100, 10_000_000, 50, 1_000_000)

PROGRAM = """
import json, resource, sys, time
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
out, begin = {}, time.perf_counter()
def lap(name):
    global begin
    out[name] = time.perf_counter() - begin
    begin = time.perf_counter()
base = peak()
(entry,) = logdir.scan(sys.argv[1]).trainings
training = Training(entry, ReadOptions())
lap("list")
out["list_mb"] = peak() - base
training.logs; lap("read")
out["records"] = sum(log.records for log in training.logs.events)
out["read_mb"] = peak() - base
seen = training.seen_from(); lap("axis")
whole = training_energy(seen); whole.epochs(); whole.phases(); whole.hours(); lap("answers")
begin = time.perf_counter()
for turn in range(50):
    lo = seen.start + (seen.end - seen.start) * turn // 100
    whole.energy(lo, lo + (seen.end - seen.start) // 50)
out["window_ms"] = (time.perf_counter() - begin) / 50 * 1000
out["mb"] = peak() - base
print(json.dumps(out))
"""


def make(size: Size) -> Path:
    """The logdir of one training."""
    folder = GENERATED / "trainings" / size.name
    done = folder / "done"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "train").mkdir(parents=True)
    _scalars(folder / "train" / f"events.out.tfevents.{UNIX}.bench.77.0.v2", size)
    _power(folder / "power.csv", size)
    profile = make_big.make(size.events)
    for number in range(size.sessions):
        at = UNIX + (number + 1) * size.seconds // (size.sessions + 1)
        place = folder / "train" / "plugins" / "profile" / f"session_{number:03d}"
        place.mkdir(parents=True)
        name = next(profile.rglob("*.xplane.pb")) if profile.is_dir() else profile
        (place / "bench.xplane.pb").symlink_to(name)
        os.utime(place, (at, at))
    done.touch()
    return folder


def _scalars(path: Path, size: Size) -> None:
    each = size.seconds * 0.98 / (size.records / len(TAGS))
    with path.open("wb") as file:
        file.write(frame(struct.pack("<Bd", 9, float(UNIX)) + b"\x1a\x0dbrain.Event:2"))
        for first in range(0, size.records, CHUNK):
            rows = range(first, min(first + CHUNK, size.records))
            records = [
                scalar(UNIX + 1 + (i // 4) * each, 1 + i // 4, TAGS[i % 4], 1.0 / (1 + i))
                for i in rows
            ]
            file.write(_framed(records))
        epochs = [
            scalar(UNIX + 1 + size.seconds * 0.98 * (n + 1) / 20, n, "epoch_loss", 1.0)
            for n in range(20)
        ]
        file.write(_framed(epochs))


def _framed(records: list[bytes]) -> bytes:
    """Many records at once: their checksums are worked out together."""
    lengths = [len(record) for record in records]
    heads = b"".join(struct.pack("<Q", length) for length in lengths)
    first = masked(crc32c(heads, list(range(0, len(heads), 8)), [8] * len(lengths)))
    body = b"".join(records)
    second = masked(crc32c(body, np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist(), lengths))
    parts = zip(records, first.tolist(), second.tolist(), strict=True)
    return b"".join(
        heads[8 * i : 8 * i + 8] + struct.pack("<I", a) + record + struct.pack("<I", b)
        for i, (record, a, b) in enumerate(parts)
    )


def _power(path: Path, size: Size) -> None:
    rng = np.random.default_rng(3)
    with path.open("w") as file:
        file.write("time_unix_s," + ",".join(f"gpu{n}_watts" for n in range(size.channels)) + "\n")
        for first in range(0, size.seconds, 3600):
            at = np.arange(first, min(first + 3600, size.seconds))
            watts = (
                250 + 50 * np.sin(at / 600)[:, None] + rng.normal(0, 5, (len(at), size.channels))
            )
            rows = np.column_stack([UNIX + at, watts])
            np.savetxt(file, rows, fmt=["%.3f", *["%.0f"] * size.channels], delimiter=",")


def main() -> None:
    """Print the table."""
    table = Table(
        "A whole training",
        (
            "1 Hz for",
            "channels",
            "scalar records",
            "sessions",
            "list",
            "scalars, power read",
            "axis",
            "answers",
            "a window",
            "memory before",
            "read",
            "in all",
        ),
    )
    for size in [*SIZES, *([WEEK] if os.environ.get("POWERTUI_WEEK") else [])]:
        done = run_process([sys.executable, "-c", PROGRAM, str(make(size))])
        told = json.loads(done.stdout)
        table.row(
            f"{size.seconds / 3600:.1f} h",
            size.channels,
            f"{size.records:,}",
            f"{size.sessions} × {size.events:,}",
            f"{told['list']:.2f} s",
            f"{told['read']:.1f} s",
            f"{told['axis']:.2f} s",
            f"{told['answers']:.2f} s",
            f"{told['window_ms']:.1f} ms",
            f"{told['list_mb']:.0f} MB",
            f"{told['read_mb']:.0f} MB",
            f"{told['mb']:.0f} MB",
        )
    table.note(
        "No session is read for any of this. Sessions are opened when somebody looks at them."
    )
    table.print()


if __name__ == "__main__":
    main()
