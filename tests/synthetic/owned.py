"""A small training whose machines and GPUs are known, and logs in which each channel draws watts of
its own: so the watts of an answer show whose channels were counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .tfevents import write_scalars
from .xplane import Event, Line, Plane, encode

BEGIN = 1_763_726_400.0  # Unix time at which training began: 2025-11-21 12:00:00 UTC
EPOCHS, EPOCH_S = 3, 12.0
EPOCH_RECORDS = 4  # of a loss, in each epoch: the watts of an answer are asked, not its rows
STEP_S = 1.25  # of the profile
PROFILE_S = (12.0, 22.0)  # since BEGIN
LEAD_S = 8  # of power before and after
MS = 1_000_000_000
NAME = "2025_11_21_12_00_12"


@dataclass(frozen=True)
class Gpu:
    """A GPU that a profile shows: as its program numbers it, and what the profile says of it."""

    number: int = 0
    stats: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rank:
    """One profiled process.

    `file` is the name of its profile without its ending; `inside` is what the profile itself calls
    its machine.
    """

    file: str
    inside: str = ""
    gpus: tuple[Gpu, ...] = ()
    number: int | None = None  # of a PyTorch rank: then its profile is one of PyTorch
    about: tuple[tuple[str, Any], ...] = ()  # further members of PyTorch's file


def write(folder: Path, ranks: Sequence[Rank]) -> Path:
    """The logdir of a training of three epochs with one profile session of these processes."""
    logs = folder / "logs"
    rows = []
    for epoch in range(EPOCHS):
        for step in range(EPOCH_RECORDS):
            at = BEGIN + epoch * EPOCH_S + (step + 1) * EPOCH_S / EPOCH_RECORDS
            number = epoch * EPOCH_RECORDS + step + 1
            rows.append((at, number, "batch_loss", 2.0 / (1 + step + epoch)))
        rows.append((BEGIN + (epoch + 1) * EPOCH_S, epoch, "epoch_loss", 2.0 / (2 + epoch)))
    write_scalars(logs / "train" / "events.out.tfevents.1763726400.vm.77.0.v2", rows, BEGIN)
    for rank in ranks:
        if rank.number is None:
            place = logs / "train" / "plugins" / "profile" / NAME / f"{rank.file}.xplane.pb"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_xplane(rank))
        else:
            (logs / "train" / f"{rank.file}.pt.trace.json").write_text(_kineto(rank))
    return logs


def _xplane(rank: Rank) -> bytes:
    length = PROFILE_S[1] - PROFILE_S[0]
    count = round(length / STEP_S)
    step_ps = round(STEP_S * 1e12)
    steps = [
        Event("train", i * step_ps, step_ps - 20 * MS, {"step_num": i, "group_id": i, "_r": 1})
        for i in range(count)
    ]
    work = [Event("sgemm", i * step_ps + 20 * MS, step_ps - 70 * MS, {}) for i in range(count)]
    devices = [
        Plane(f"/device:GPU:{gpu.number}", [Line("Stream #13(Compute)", work, 13)], dict(gpu.stats))
        for gpu in rank.gpus
    ]
    start, stop = (round((BEGIN + at) * 1e9) for at in PROFILE_S)
    clock: dict[str, int | float | str] = {"profile_start_time": start, "profile_stop_time": stop}
    planes = [
        Plane("/host:CPU", [Line("python", steps, 1)]),
        *devices,
        Plane("Task Environment", (), clock),
    ]
    return encode(planes, [rank.inside or rank.file])


def _kineto(rank: Rank) -> str:
    pid = 4000 + (rank.number or 0)
    start_us = (BEGIN + PROFILE_S[0]) * 1e6
    base_ns = 1_759_247_974 * 10**9
    events: list[dict[str, Any]] = []
    step_us = round(STEP_S * 1e6)
    for i in range(round((PROFILE_S[1] - PROFILE_S[0]) / STEP_S)):
        at = start_us - base_ns / 1000 + i * step_us
        head = {"ph": "X", "pid": pid, "tid": pid, "ts": at}
        events.append(
            head | {"cat": "user_annotation", "name": f"ProfilerStep#{i}", "dur": step_us - 20_000}
        )
        events.append(
            head
            | {
                "cat": "cpu_op",
                "name": "aten::mm",
                "ts": at + 10_000,
                "dur": step_us - 60_000,
                "args": {},
            }
        )
        for gpu in rank.gpus:
            kernel = {"cat": "kernel", "name": "sgemm", "pid": gpu.number, "tid": 7}
            args = {"device": gpu.number, "stream": 7, "correlation": i + 1}
            events.append(
                head | kernel | {"ts": at + 20_000, "dur": step_us - 70_000, "args": args}
            )
    about: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": gpu.number, "name": "NVIDIA H100 80GB HBM3", **dict(gpu.stats)}
            for gpu in rank.gpus
        ],
        "baseTimeNanoseconds": base_ns,
        "distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": 2},
    }
    if rank.inside:
        about["host_name"] = rank.inside
    for key, value in rank.about:
        if isinstance(value, dict) and isinstance(about.get(key), dict):
            about[key] = about[key] | value
        else:
            about[key] = value
    return json.dumps({**about, "traceEvents": events})


# ── logs ─────────────────────────────────────────────────────────────────────────────────────────


def moments() -> Iterator[tuple[int, float]]:
    """(number, Unix s) of each reading: one a second, from before the training to after it."""
    count = round(EPOCHS * EPOCH_S) + 2 * LEAD_S
    return ((k, BEGIN - LEAD_S + k) for k in range(count))


def watts(level: float, k: int, channel: int = 0) -> float:
    """A reading around a level: a live sensor never repeats itself for long."""
    return level * (1 + ((k * 7919 + channel * 31) % 13 - 6) / 1000)


def wide(columns: Mapping[str, float], *, time: str = "time_unix_s", every: int = 1) -> str:
    """A table with a column for each channel."""
    lines = [",".join((time, *columns))]
    for k, at in moments():
        cells = (f"{watts(level, k, i):.2f}" for i, level in enumerate(columns.values()))
        if k % every == 0:
            lines.append(f"{at:.1f}," + ",".join(cells))
    return "\n".join(lines) + "\n"


def long(names: Sequence[str], rows: Sequence[tuple[str | float, ...]], unit: str = "watts") -> str:
    """A table with a row for each channel and moment: `names` are its columns after the time, the
    last cell of each row is the channel's watts.
    """
    lines = [",".join(("time_unix_s", *names, unit))]
    for k, at in moments():
        for i, (*cells, level) in enumerate(rows):
            value = f"{watts(float(level), k, i):.2f}"
            lines.append(",".join((f"{at:.1f}", *map(str, cells), value)))
    return "\n".join(lines) + "\n"


def lines_of(line: Callable[[int, float], str], head: str = "") -> str:
    """Any other log: a line, or several, for each moment."""
    return head + "".join(line(k, at) for k, at in moments())
