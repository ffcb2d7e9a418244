"""Trainings of hours whose truth is known at 0.1 s: is a short burst found in them, and does a
quiet one stay quiet?

`python -m benchmarks.long_training [--count N] [--hours H]`: sensors, scalars every few batches or
once an epoch, wall time or elapsed. It shares no code with what it judges but the writer of
scalars.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.harness import Table
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from tests.synthetic.tfevents import write_scalars

TICK = 0.1
UNIX = 1_795_000_000.0
SENSORS = {
    "mean 1 s, 1 W": (1.0, 1.0),
    "mean 3 s, 7 W": (3.0, 7.0),
    "mean 10 s (PDU)": (10.0, 1.0),
    "moment every 0.5 s": (0.5, 1.0),
}

Floats = npt.NDArray[np.float64]


class LongCase(NamedTuple):
    """One training."""

    seed: int
    hours: float
    batches: bool
    sensor: str
    wall: bool
    watts: float  # of the burst; 0: none
    seconds: float


@dataclass
class LongWorld:
    """What happened: watts every 0.1 s from `-lead` on, and when what was done."""

    lead: float
    watts: Floats
    epochs: list[tuple[float, float]]
    records: list[tuple[float, int]]  # when, steps done
    burst: tuple[float, float] | None


def make(case: LongCase) -> LongWorld:
    """A training drawn by its seed."""
    rng = np.random.default_rng([91, case.seed, int(10 * case.hours)])
    total = case.hours * 3600
    count = int(rng.integers(3, 25))
    step = float(np.exp(rng.uniform(np.log(0.1), np.log(2.0))))
    per_epoch = max(20, int(total / count / step * 0.94))
    every = max(1, per_epoch * count // 4000)
    base, high = float(rng.uniform(80, 300)), float(rng.uniform(100, 600))
    lead, tail = float(rng.uniform(20, 300)), float(rng.uniform(20, 300))
    val_s, val_w = 0.04 * total / count, float(rng.uniform(0.4, 0.9)) * high
    loads: list[tuple[float, float, float]] = []
    epochs, records = [], []
    now, done = 0.0, 0
    save_every, save_s = (
        (float(rng.uniform(600, 2400)), float(rng.uniform(2, 15)))
        if rng.random() < 0.5
        else (1e12, 0.0)
    )
    saved = 0.0
    for epoch in range(count):
        begin = now
        pause = float(rng.uniform(5, 30)) if epoch == 0 else float(rng.uniform(0, 2))
        loads.append((now, now + pause, 0.1 * high))
        now += pause
        at = now
        for first in range(0, per_epoch, every):
            steps = min(every, per_epoch - first)
            now += steps * step * (1 + 0.03 * float(rng.standard_normal()) / np.sqrt(steps))
            done += steps
            records.append((now, done))
            if now - saved > save_every:
                loads += [(at, now, high), (now, now + save_s, 0.15 * high)]
                now += save_s
                at = saved = now
        loads.append((at, now, high))
        took = val_s * float(rng.uniform(0.97, 1.03))
        loads.append((now, now + took, val_w))
        now += took
        epochs.append((begin, now))
    rows = int((now + lead + tail) / TICK)
    grid = np.arange(rows) * TICK - lead
    watts = np.full(rows, base)
    for lo, hi, amount in loads:
        watts[int((lo + lead) / TICK) : int((hi + lead) / TICK)] += amount
    watts += 0.03 * high * (1 - np.exp(-np.maximum(grid, 0) / 900)) * (watts > base + 0.5 * high)
    watts += (
        0.004 * high * np.sin(grid / float(rng.uniform(300, 2000)) + 1)
    )  # fans, warmth of the room
    wander = rng.standard_normal(rows // 50 + 2)
    for row in range(1, len(wander)):
        wander[row] = 0.8 * wander[row - 1] + 0.6 * wander[row]
    watts += (
        float(rng.uniform(0.003, 0.012))
        * high
        * np.interp(np.arange(rows) / 50, np.arange(len(wander)), wander)
    )
    watts += float(rng.uniform(0.01, 0.04)) * high * rng.standard_normal(rows)
    burst = None
    if case.watts:
        begin = float(
            rng.uniform(
                epochs[0][0] + 0.5 * (epochs[0][1] - epochs[0][0]), epochs[-1][1] - case.seconds - 5
            )
        )
        burst = (begin, begin + case.seconds)
        watts[int((begin + lead) / TICK) : int((begin + case.seconds + lead) / TICK)] += case.watts
    return LongWorld(lead, watts, epochs, records, burst)


def write(case: LongCase, world: LongWorld, folder: Path) -> tuple[Path, Path]:
    """(logdir, power log)"""
    rows = (
        [(UNIX + at, done, "batch_loss", 1.0) for at, done in world.records] if case.batches else []
    )
    rows += [
        (UNIX + end, number, "epoch_loss", 1.0) for number, (_, end) in enumerate(world.epochs)
    ]
    rows.sort()
    logs = folder / "logs"
    begin = UNIX + world.epochs[0][0]
    write_scalars(
        logs / "train" / f"events.out.tfevents.{int(begin)}.vm.77.0.v2", rows, begin, graph=begin
    )
    val = [
        (UNIX + end + 0.001, number, "epoch_loss", 2.4)
        for number, (_, end) in enumerate(world.epochs)
    ]
    write_scalars(
        logs / "validation" / f"events.out.tfevents.{int(begin) + 9}.vm.77.1.v2", val, begin + 5
    )
    pace, quantum = SENSORS[case.sensor]
    size = round(pace / TICK)
    count = len(world.watts) // size
    means = world.watts[: count * size].reshape(count, size)
    watts = means[:, -1] if "moment" in case.sensor else means.mean(axis=1)
    at = (np.arange(count) + 1) * pace - world.lead + 0.02
    shown = np.round(watts / quantum) * quantum
    path = folder / "power.csv"
    with path.open("w") as file:
        file.write("time_unix_s,watts\n" if case.wall else "elapsed_s,watts\n")
        times = UNIX + at if case.wall else at - at[0]
        file.writelines(
            f"{t:.3f},{w:.0f}\n" for t, w in zip(times.tolist(), shown.tolist(), strict=True)
        )
    return logs, path


@dataclass
class LongCell:
    """What came of the trainings of one kind."""

    cases: int = 0
    bursts: int = 0
    found: int = 0
    listed: int = 0  # of them as smaller differences only
    inside: int = 0
    windows: int = 0
    cpu: float = 0.0
    false: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


def judge(case: LongCase, cell: LongCell, folder: Path) -> None:
    """One training written, read, and held against its truth."""
    world = make(case)
    logs, log = write(case, world, folder)
    (entry,) = [one for one in logdir.scan(str(logs)).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    begin = time.process_time()
    seen = training.seen_from()
    shift = seen.zero_ns / 1e9 - UNIX
    whole = training_energy(seen)
    answers = whole.findings
    cell.cpu += time.process_time() - begin
    cell.cases += 1
    spare = 2 * SENSORS[case.sensor][0] + (0 if case.wall else 5)
    name = (
        f"seed {case.seed}, {case.hours:g} h, {case.watts:.0f} W {case.seconds:.0f} s, "
        f"{seen.placements[0].power.status}"
    )
    hit = small = False
    for one in (*answers.findings, *answers.smaller):
        a, b = one.start_ps / PS_PER_S + shift, one.end_ps / PS_PER_S + shift
        over = min(b, world.burst[1]) - max(a, world.burst[0]) if world.burst else -1.0
        true = world.burst is not None and a < world.burst[1] + spare and b > world.burst[0] - spare
        matters = one in answers.findings
        if world.burst and over > 0.5 * case.seconds and (one.delta_watts or 0) > 0:
            hit |= matters
            small |= not matters
        if not true and matters:
            cell.false.append(f"{name}: {one.text} at {a:.0f} … {b:.0f}")
    if world.burst:
        cell.bursts += 1
        cell.found += hit
        cell.listed += small and not hit
        if not hit:
            cell.missed.append(
                f"{name} at {world.burst[0]:.0f}: {'smaller' if small else 'nothing'}; "
                f"{answers.reason or answers.could}"
            )
    for window in whole.epochs():
        energy = window.energy
        if energy is None or energy.lo is None or energy.hi is None or window.epoch is None:
            continue
        lo, hi = world.epochs[window.epoch]
        a, b = ((side + world.lead) / TICK for side in (lo, hi))
        true_j = float(world.watts[round(a) : round(b)].sum()) * TICK
        cell.windows += 1
        cell.inside += energy.lo <= true_j <= energy.hi
        if not energy.lo <= true_j <= energy.hi:
            cell.outside.append(
                f"{name}: epoch {window.epoch} {true_j:.0f} J, told {energy.lo:.0f} … "
                f"{energy.hi:.0f}"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_training", description=__doc__)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--hours", type=float, action="append", default=[])
    parser.add_argument("--sensor", action="append", default=[])
    parser.add_argument("--watts", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--wall-only", action="store_true")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    found: dict[tuple[str, ...], LongCell] = defaultdict(LongCell)
    for hours in args.hours or [2.0, 10.0]:
        for sensor in args.sensor or SENSORS:
            for batches in (True, False):
                for wall in (True,) if args.wall_only else (True, False):
                    key = (
                        f"{hours:g} h",
                        sensor,
                        "batches" if batches else "epochs",
                        "wall" if wall else "elapsed",
                    )
                    for seed in range(args.count):
                        watts = args.watts if seed % 3 != 2 else 0.0
                        seconds = args.seconds * max(1.0, SENSORS[sensor][0] / 2)
                        with tempfile.TemporaryDirectory() as folder:
                            judge(
                                LongCase(seed, hours, batches, sensor, wall, watts, seconds),
                                found[key],
                                Path(folder),
                            )
    table = Table(
        (
            f"Trainings of hours, a burst of {args.watts:.0f} W for {args.seconds:.0f} s (longer "
            "with slow sensors) in two of three"
        ),
        (
            "training",
            "sensor",
            "scalars",
            "clock",
            "found",
            "as smaller",
            "findings that were none",
            "joules inside",
            "each",
        ),
    )
    for key, cell in found.items():
        table.row(
            *key,
            f"{cell.found}/{cell.bursts}",
            cell.listed,
            f"{len(cell.false)} of {cell.cases}",
            f"{cell.inside}/{cell.windows}",
            f"{cell.cpu / max(cell.cases, 1):.1f} s",
        )
    table.print()
    if args.v:
        for cell in found.values():
            for kind in ("false", "missed", "outside"):
                for line in getattr(cell, kind):
                    print(kind.upper(), line)


if __name__ == "__main__":
    main()
