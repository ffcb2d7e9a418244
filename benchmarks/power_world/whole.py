"""Trainings of minutes of which nothing is profiled: epochs, validation, pauses, checkpoints, and
what their scalars say of it.

course = make_whole(3, batches=True)            # what ran when, and the true watts
write_whole(course, folder)                     # its scalars as Keras writes them, every few batches or once an epoch
record(course.world, SENSORS["mean 1 s, 1 W"], 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.power_world.plan import Burst, Plan
from benchmarks.power_world.shift_bound import Levels, levels
from benchmarks.power_world.training import TICK, Floats, World
from tests.synthetic.tfevents import write_scalars

HOST = "bench"


@dataclass(frozen=True, eq=False)
class Course:
    """A training and when each of its steps was done (seconds on the world's clock)."""

    world: World
    done: Floats  # end of every step of all epochs
    per_epoch: int
    every: int  # steps from one record to the next; 0: epoch scalars alone
    validated: tuple[tuple[float, float], ...]
    base_w: float = 0.0  # of the idle machine
    loads: tuple[tuple[float, float, float], ...] = ()  # from, to, W above it: one after the other


def make_whole(
    seed: int, *, batches: bool = True, burst: bool = True, epochs: int | None = None
) -> Course:
    """A training drawn by its seed."""
    rng = np.random.default_rng([53, seed])
    count = int(epochs or rng.integers(2, 8))
    step_s = float(np.exp(rng.uniform(np.log(0.02), np.log(0.5))))
    epoch_s = float(rng.uniform(12, 60))
    per_epoch = max(20, int(epoch_s / step_s))
    every = int(rng.choice([1, 5, 10, 25])) if batches else 0
    validation_s, pause_s = (
        float(rng.uniform(0.2, 6)),
        float(rng.choice([0.0, rng.uniform(0.5, 4)])),
    )
    checkpoint_s, checkpoint_every = (
        float(rng.choice([0.0, rng.uniform(0.5, 3)])),
        max(10, int(per_epoch / rng.uniform(1.5, 4))),
    )
    base, high = float(rng.uniform(60, 300)), float(np.exp(rng.uniform(np.log(25), np.log(500))))
    validation_w, pause_w, start_w = (
        float(rng.uniform(0.3, 1.0)) * high,
        float(rng.uniform(0, 0.15)) * high,
        0.4 * high,
    )
    jitter, noise = float(rng.uniform(0.01, 0.08)), float(rng.uniform(0.003, 0.02))
    lead, tail = float(rng.uniform(6, 15)), float(rng.uniform(5, 12))
    loads: list[tuple[float, float, float]] = []  # from, to, W above the base
    bounds, validated, done = [], [], []
    now = 0.0
    loads.append((-float(rng.uniform(1, 4)), 0.0, 0.3 * high))  # libraries and data
    for epoch in range(count):
        begin = now
        first = float(rng.uniform(1, 5)) if epoch == 0 else pause_s * float(rng.uniform(0.9, 1.1))
        loads.append((now, now + first, start_w if epoch == 0 else pause_w))
        now += first
        at = now
        for number in range(per_epoch):
            now += step_s * (1 + jitter * float(rng.standard_normal()))
            done.append(now)
            if checkpoint_s and (number + 1) % checkpoint_every == 0 and number + 1 < per_epoch:
                loads.append((at, now, high))
                stop = now + checkpoint_s * float(rng.uniform(0.9, 1.1))
                loads.append((now, stop, pause_w))
                now = at = stop
        loads.append((at, now, high))
        stop = now + validation_s * float(rng.uniform(0.95, 1.05))
        loads.append((now, stop, validation_w))
        validated.append((now, stop))
        now = stop
        bounds.append((begin, now))
    end = now
    bursts: tuple[Burst, ...] = ()
    if burst:
        seconds, watts = float(rng.uniform(4, 0.4 * epoch_s)), float(rng.uniform(0.15, 0.8)) * high
        bursts = (
            Burst(
                float(rng.uniform(bounds[0][0] + 8, max(end - seconds - 1, bounds[0][0] + 9))),
                seconds,
                watts,
            ),
        )
    rows = int((end + lead + tail) / TICK)
    watts = np.full(rows, base)
    grid = np.arange(rows) * TICK - lead
    for lo, hi, amount in loads:
        watts[max(0, int((lo + lead) / TICK)) : int((hi + lead) / TICK)] += amount
    foreign = np.zeros(rows)
    for one in bursts:
        foreign[int((one.start + lead) / TICK) : int((one.end + lead) / TICK)] += one.watts
    watts += foreign
    dynamic = watts - base
    watts += 0.02 * dynamic * (1 - np.exp(-np.maximum(grid, 0) / 25.0))  # warmth
    fine = int(0.1 / TICK)
    wander = rng.standard_normal(rows // fine + 2)
    for row in range(1, len(wander)):
        wander[row] = 0.6 * wander[row - 1] + 0.8 * wander[row]
    watts += noise * high * np.interp(np.arange(rows) / fine, np.arange(len(wander)), wander)
    slow = np.cumsum(rng.standard_normal(rows // 5000 + 2)) * 0.002 * base
    watts += np.interp(np.arange(rows) / 5000, np.arange(len(slow)), slow - slow.mean())
    plan = Plan(seed, "keras", count, epoch_s, step_s, jitter)
    world = World(
        plan, (), (), tuple(bounds), (0.0, end), (0.0, end), bursts, (), -lead, watts, foreign
    )
    return Course(
        world=world,
        done=np.array(done),
        per_epoch=per_epoch,
        every=every,
        validated=tuple(validated),
        base_w=base,
        loads=tuple(loads),
    )


def course_levels(course: Course) -> Levels:
    """What its machine draws, and what its records leave open of that."""
    edge_s = [course.loads[0][0]]
    watts = [course.base_w]
    for _, end, amount in course.loads:
        edge_s.append(end)
        watts.append(course.base_w + amount)
    record_s = [end for _, end in course.world.epochs]
    record_s += [end for _, end in course.validated]
    usual_interval_s = course.world.epochs[0][1]
    if course.every:
        at = course.done[course.every - 1 :: course.every]
        record_s += at.tolist()
        usual_interval_s = float(np.median(np.diff(at)))
    return levels(
        np.array(edge_s),
        np.array([*watts, course.base_w]),
        np.array(record_s),
        begun_s=course.world.trained[0],
        usual_interval_s=usual_interval_s,
    )


def write_whole(course: Course, folder: Path) -> Path:
    """Its scalars as Keras' TensorBoard callback writes them; the answer is the logdir."""
    world, unix = course.world, course.world.plan.unix_s
    rows: list[tuple[float, int, str, float]] = []
    if course.every:
        for row in range(course.every - 1, len(course.done), course.every):
            rows.append(
                (
                    unix + float(course.done[row]) + 0.0005,
                    row + 1,
                    "batch_loss",
                    2.3 / (1 + 0.01 * row),
                )
            )
    for number, (_, end) in enumerate(world.epochs):
        rows.append((unix + end, number, "epoch_loss", 2.3 / (1 + number)))
        rows.append((unix + end + 0.0004, number, "epoch_learning_rate", 0.001))
    rows.sort()
    logs = folder / "logs"
    begin = unix + world.trained[0]
    write_scalars(
        logs / "train" / f"events.out.tfevents.{int(begin)}.{HOST}.77.0.v2",
        rows,
        begin,
        graph=begin,
    )
    val = [
        (unix + end + 0.001, number, "epoch_loss", 2.4)
        for number, (_, end) in enumerate(course.validated)
    ]
    write_scalars(
        logs / "validation" / f"events.out.tfevents.{int(begin) + 9}.{HOST}.77.1.v2",
        val,
        unix + course.validated[0][1],
    )
    return logs
