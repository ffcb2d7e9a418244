"""A week of training: 50 sessions of a million events, ten million scalar records, power of 100
channels every second.

    python -m benchmarks.make_training       → benchmarks/generated/training_week (about 2.5 GB;
                                             made only once)

The sessions are one profile whose start is told anew by a plane behind it: XSpace files may be laid
end to end.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.harness import GENERATED
from benchmarks.make_big import make as make_profile
from powertui.data.wire.crc32c import crc32c, masked
from tests.synthetic.tfevents import frame, scalar
from tests.synthetic.xplane import Plane, blob, double, encode

BEGIN_S = 1_700_000_000
WEEK_S = 7 * 86_400
TAGS = (
    "batch_loss",
    "batch_accuracy",
    "learning_rate",
    "grad_norm",
    "throughput",
    "loss/a",
    "loss/b",
    "loss/c",
    "lr/a",
    "lr/b",
)
AT_ONCE = 50_000


def make(
    *,
    sessions: int = 50,
    events: int = 1_000_000,
    records: int = 10_000_000,
    channels: int = 100,
    seconds: int = WEEK_S,
) -> Path:
    """The folder; made when it is not there yet."""
    folder = GENERATED / f"training_{sessions}_{events}_{records}_{channels}_{seconds}"
    if (folder / ".ready").exists():
        return folder
    _sessions(folder, sessions, events, seconds)
    _scalars(folder / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", records, seconds)
    _power(folder / "power.csv", channels, seconds)
    (folder / ".ready").touch()
    return folder


def _sessions(folder: Path, count: int, events: int, seconds: int) -> None:
    whole = make_profile(events).read_bytes()
    for number in range(count):
        start = (BEGIN_S + seconds * (2 * number + 1) // (2 * count)) * 1_000_000_000
        clock = {"profile_start_time": start, "profile_stop_time": start + 20_000_000_000}
        path = folder / "train" / "plugins" / "profile" / f"session_{number:03}" / "vm.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_without_clock(whole) + encode([Plane("Task Environment", (), clock)]))


def _without_clock(profile: bytes) -> bytes:
    """What tells its own start and end takes other names."""
    profile = profile.replace(b"Task Environment", b"Task environment")
    return profile.replace(b"profile_start_time", b"profile_begin_time").replace(
        b"profile_stop_time", b"profile_ends_time"
    )


def _scalars(path: Path, records: int, seconds: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    steps = records // len(TAGS)
    with path.open("wb") as file:
        file.write(frame(double(1, float(BEGIN_S)) + blob(3, b"brain.Event:2")))
        for first in range(1, steps + 1, AT_ONCE):
            numbers = np.arange(first, min(first + AT_ONCE, steps + 1))
            for part in _same_length(numbers):
                for tag in TAGS:
                    file.write(_records(part, tag, seconds / steps))


def _same_length(numbers: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Numbers that take as many bytes as each other."""
    size = np.ceil(np.log2(numbers + 1) / 7).astype(np.int64)
    for length in np.unique(size):
        yield numbers[size == length]


def _records(steps: npt.NDArray[np.int64], tag: str, each_s: float) -> bytes:
    """A record for each step, made of one by putting in what differs: time, step, value,
    checksums.
    """
    model = scalar(1.0, int(steps[0]), tag, 1.0)
    size = len(model)
    rows = np.tile(np.frombuffer(bytes(12) + model + bytes(4), np.uint8), (len(steps), 1))
    rows[:, :8] = np.frombuffer(struct.pack("<Q", size), np.uint8)
    wall = (BEGIN_S + steps * each_s).astype("<f8")
    rows[:, 13:21] = wall.view(np.uint8).reshape(-1, 8)
    left, at = steps.copy(), 22
    while True:
        last = int(left[0]) < 128
        rows[:, at] = (left & 127) | (0 if last else 128)
        left >>= 7
        at += 1
        if last:
            break
    values = (2.0 / (1.0 + steps / 1e5) + np.sin(steps / 50.0) * 0.05).astype("<f4")
    place = 12 + model.rindex(struct.pack("<f", 1.0))
    rows[:, place : place + 4] = values.view(np.uint8).reshape(-1, 4)
    data = memoryview(rows.tobytes())
    starts = [i * rows.shape[1] for i in range(len(steps))]
    rows[:, 8:12] = _sums(data, starts, 8)
    rows[:, -4:] = _sums(data, [start + 12 for start in starts], size)
    return rows.tobytes()


def _sums(data: memoryview, starts: list[int], length: int) -> npt.NDArray[np.uint8]:
    found = np.asarray(masked(crc32c(data, starts, [length] * len(starts)))).astype("<u4")
    return found.view(np.uint8).reshape(-1, 4)


def _power(path: Path, channels: int, seconds: int) -> None:
    rng = np.random.default_rng(1)
    names = ",".join(f"node watts {i:02}" for i in range(channels))
    with path.open("w") as file:
        file.write(f"time_unix_s,{names}\n")
        for first in range(0, seconds, 10_000):
            at = np.arange(first, min(first + 10_000, seconds))
            base = 200 + 60 * (at % 3600 < 3000)
            watts = base[:, None] + rng.integers(-9, 10, (len(at), channels))
            file.writelines(
                f"{BEGIN_S + t},{','.join(map(str, row))}\n"
                for t, row in zip(at.tolist(), watts.tolist(), strict=True)
            )


if __name__ == "__main__":
    began = time.perf_counter()
    print(make(), f"{time.perf_counter() - began:.0f} s")
