"""Foreign bursts in trainings of which only the scalars are known, held against what a matched
filter would see that knows every level.

`python -m benchmarks.burst_answers [--count N] [--first SEED] [--sensor NAME] [-v]`: trainings of a
minute to twelve; three to twelve epochs, one of them unlike the others in half of the trainings;
every third without a burst; bursts of 20 to 150 W for 2 to 20 s anywhere, over borders of epochs
too. Beside what was found stands the bound: the bursts that a matched filter sees that is told when
the training did what, what that draws, how the noise is correlated, and the burst's shape, where
noise alone would show one like it anywhere in one of 10,000 logs.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import NormalDist

import numpy as np

from benchmarks.harness import Table
from benchmarks.power_world import SENSORS, Burst, Course, Model, record, write_log, write_whole
from benchmarks.power_world.plan import Plan
from benchmarks.power_world.training import TICK, Floats, World
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy

MEAN_5S = Model("mean 5 s, 1 W", 5.0, 5.0, 0.5, quantum=1.0, delay=0.03, label="plug")
ASKED = {
    **{
        name: SENSORS[name]
        for name in ("25 ms of 0.1 s", "counter 0.1 s", "mean 1 s, 1 W", "mean 3 s, 7 W")
    },
    MEAN_5S.name: MEAN_5S,
}
MAX_FALSE_CHANCE = 1e-4  # of the matched filter, in a whole log
_MIN_STRETCH_SHARE = 0.05  # of its own stretch's energy: less is no finding by powertui's promise
_MIN_RUN_SHARE = 0.005  # of the training's energy, likewise


@dataclass(frozen=True, eq=False)
class Drawn:
    """A training, the power that its levels alone would draw, and the burst in it."""

    course: Course
    levels: Floats
    burst: Burst | None
    pauses: tuple[tuple[float, float], ...]  # that no scalar of an epoch shows


@dataclass
class Cell:
    """What came of the recordings of one kind."""

    cases: int = 0
    quiet: int = 0
    quiet_false: int = 0
    false: int = 0
    bursts: int = 0
    due: int = 0  # bursts that the matched filter sees, and that are large enough to matter
    due_found: int = 0
    found: int = 0
    split: int = 0  # bursts that were listed as more than one finding
    promised: int = 0
    promised_found: int = 0
    unpromised_found: int = 0
    watts_hold: list[bool] = field(default_factory=list)
    joules_hold: list[bool] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def drawn(seed: int, *, batches: bool) -> Drawn:
    """The training of a seed."""
    rng = np.random.default_rng([71, seed])
    short = bool(rng.random() < 0.5)  # half of them are trials of a minute
    count = int(rng.integers(3, 7 if short else 13))
    epoch_s = float(np.exp(rng.uniform(np.log(8), np.log(14 if short else 60))))
    unlike = int(rng.integers(0, count)) if rng.random() < 0.5 else -1
    unlike_s = float(rng.uniform(0.3, 1.2)) * epoch_s
    validation_s = float(rng.choice([0.0, rng.uniform(0.02, 0.15)])) * epoch_s
    pause_s = float(rng.choice([0.0, rng.uniform(0.0, 1.5)]))
    base, high = float(rng.uniform(60, 250)), float(np.exp(rng.uniform(np.log(30), np.log(400))))
    validation_w = float(rng.uniform(0.5, 1.0)) * high
    noise, slow = float(rng.uniform(0.002, 0.015)), float(rng.uniform(0.0, 0.006))
    lead, tail = float(rng.uniform(6, 20)), float(rng.uniform(4, 15))
    step_s = 0.05
    per_epoch = int(epoch_s / step_s)
    loads: list[tuple[float, float, float]] = [(-float(rng.uniform(1, 5)), 0.0, 0.3 * high)]
    pauses: list[tuple[float, float]] = []
    bounds, validated, done = [], [], []
    now = 0.0
    for epoch in range(count):
        begin = now
        waits = float(rng.uniform(0.5, 4)) if epoch == 0 else pause_s * float(rng.uniform(0.8, 1.2))
        loads.append((now, now + waits, 0.4 * high if epoch == 0 else 0.1 * high))
        pauses.append((now, now + waits))
        now += waits
        length = (1 + 0.03 * float(rng.standard_normal())) * epoch_s
        steps = np.linspace(0, length, per_epoch + 1)[1:]
        if epoch == unlike:
            at = float(rng.uniform(0.1, 0.9)) * length
            loads += [(now, now + at, high), (now + at + unlike_s, now + length + unlike_s, high)]
            pauses.append((now + at, now + at + unlike_s))
            steps = steps + np.where(steps > at, unlike_s, 0.0)
        else:
            loads.append((now, now + length, high))
        done += [now + float(step) for step in steps]
        now = done[-1]
        stop = now + validation_s * float(rng.uniform(0.95, 1.05))
        loads.append((now, stop, validation_w))
        validated.append((now, stop))
        now = stop
        bounds.append((begin, now))
    rows = int((now + lead + tail) / TICK)
    grid = np.arange(rows) * TICK - lead
    levels = np.full(rows, base)
    for lo, hi, amount in loads:
        levels[max(0, int((lo + lead) / TICK)) : int((hi + lead) / TICK)] += amount
    levels += 0.02 * (levels - base) * (1 - np.exp(-np.maximum(grid, 0) / 25.0))
    watts = levels + noise * high * _wandering(rng, rows, 0.1, 0.6)
    watts += slow * high * _wandering(rng, rows, 5.0, 0.8)
    foreign = np.zeros(rows)
    burst = None
    if seed % 3 != 2:
        seconds = min(float(np.exp(rng.uniform(np.log(2), np.log(20)))), 0.3 * now)
        start = float(rng.uniform(2.0, now - seconds - 0.5))
        burst = Burst(start, seconds, float(np.exp(rng.uniform(np.log(20), np.log(150)))))
        foreign[int((start + lead) / TICK) : int((burst.end + lead) / TICK)] += burst.watts
    world = World(
        Plan(seed, "keras", count, epoch_s, step_s, 0.0),
        (),
        (),
        tuple(bounds),
        (0.0, now),
        (0.0, now),
        (burst,) if burst else (),
        (),
        -lead,
        watts + foreign,
        foreign,
    )
    every = int(rng.choice([5, 10, 25])) if batches else 0
    course = Course(world, np.array(done), per_epoch, every, tuple(validated))
    return Drawn(course, levels, burst, tuple(pauses))


def _wandering(rng: np.random.Generator, rows: int, every_s: float, memory: float) -> Floats:
    fine = int(every_s / TICK)
    values = rng.standard_normal(rows // fine + 2)
    for row in range(1, len(values)):
        values[row] = memory * values[row - 1] + math.sqrt(1 - memory**2) * values[row]
    return np.asarray(np.interp(np.arange(rows) / fine, np.arange(len(values)), values))


# ── the bound ────────────────────────────────────────────────────────────────────────────────────


def seen_by_matched_filter(case: Drawn, model: Model) -> bool:
    """Whether a filter sees the burst that knows all levels, the noise and the burst's shape.

    Where only epochs are logged, nobody can know what a pause draws that only one of them has: what
    of a burst is there does not count, nor does a burst that is there for half of its time.
    """
    if case.burst is None:
        return False
    world = case.course.world
    hidden = np.zeros(len(world.watts))
    for lo, hi in () if case.course.every else case.pauses:
        hidden[int((lo - world.begin) / TICK) : int((hi - world.begin) / TICK)] = 1.0
    if float(hidden[world.foreign > 0].mean()) > 0.5:
        return False
    window = model.poll_s if model.counter else max(model.window_s, TICK)
    refresh = model.poll_s if model.counter else model.refresh_s
    ends = np.arange(world.begin + window, world.end, refresh)

    def means(watts: Floats) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
        at = world.begin + np.arange(len(sums)) * TICK
        return np.asarray((np.interp(ends, at, sums) - np.interp(ends - window, at, sums)) / window)

    rng = np.random.default_rng([73, world.plan.seed])
    noise = means(world.watts - world.foreign - case.levels)
    quantum_w = 0.0 if model.counter else model.quantum
    extra_w = math.hypot(0.0 if model.counter else model.noise_w, quantum_w / math.sqrt(12))
    shape = np.where(means(hidden) < 0.01, means(world.foreign), 0.0)
    near = np.flatnonzero(
        (ends > case.burst.start - 10 * refresh - 5.0)
        & (ends - window < case.burst.end + 10 * refresh + 5.0)
    )
    lags = np.arange(min(len(near), len(noise) // 2))
    centered = noise - noise.mean()
    covariance = np.array([(centered[: len(centered) - k] * centered[k:]).mean() for k in lags])
    covariance = np.concatenate([covariance, np.zeros(len(near) - len(lags))])
    # Tapered, as of far lags a single log says little.
    covariance *= np.exp(-0.5 * (np.arange(len(near)) * refresh / 30.0) ** 2)
    matrix = covariance[np.abs(near[:, None] - near[None, :])] + np.eye(len(near)) * (
        extra_w**2 + 1e-6
    )
    weighted = np.linalg.solve(matrix, shape[near])
    scale = math.sqrt(max(float(shape[near] @ weighted), 0.0))
    if scale == 0.0:
        return False
    rest = noise[near] + shape[near] + extra_w * rng.standard_normal(len(near))
    looks = 2 * len(ends) * math.log(len(ends))
    asked = NormalDist().inv_cdf(1 - MAX_FALSE_CHANCE / looks)
    return float(weighted @ rest) / scale >= asked


def _matters(case: Drawn) -> bool:
    """Whether the burst has so much of its stretch and of the training that it is a finding."""
    world, burst = case.course.world, case.burst
    assert burst is not None
    stretch = float(world.joules(burst.start, burst.end))
    whole = float(world.joules(*world.trained))
    least = max(_MIN_STRETCH_SHARE * stretch, _MIN_RUN_SHARE * whole)
    return burst.watts * burst.seconds >= 1.1 * least


# ── what powertui says ───────────────────────────────────────────────────────────────────────────


def judge(seed: int, sensor: str, cell: Cell, folder: Path, *, batches: bool = False) -> None:
    """One recording written, read, and held against its truth."""
    case = drawn(seed, batches=batches)
    model = ASKED[sensor]
    world = case.course.world
    taken = record(world, model, seed)
    logs = write_whole(case.course, folder)
    log = write_log(taken, folder / "power.csv", "wall")
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    seen = training.seen_from()
    shift = seen.zero_ns / 1e9 - world.plan.unix_s
    found = training_energy(seen).findings
    name = f"seed {seed} {sensor}{' batches' if batches else ''}"
    spare = model.window_s + model.refresh_s + 0.5
    cell.cases += 1
    cell.quiet += case.burst is None
    hits: list[tuple[float, float, Finding]] = []
    false = False
    for one in found.findings:
        start, end = one.start_ps / PS_PER_S + shift, one.end_ps / PS_PER_S + shift
        if one.kind != "power":
            continue
        burst = case.burst
        if burst and end > burst.start - spare and start < burst.end + spare:
            if (one.delta_watts or 0.0) > 0:
                hits.append((start, end, one))
        else:
            false = True
            cell.lines.append(f"FALSE {name}: {one.text} at {start:.1f} … {end:.1f} s")
    cell.false += false
    cell.quiet_false += false and case.burst is None
    if case.burst is not None:
        _burst(case, case.burst, taken.gain, model, found, hits, shift, cell, name)


def _burst(
    case: Drawn,
    burst: Burst,
    gain: float,
    model: Model,
    found: Findings,
    hits: list[tuple[float, float, Finding]],
    shift: float,
    cell: Cell,
    name: str,
) -> None:
    """Whether it was found, how often it is told, and whether the figures hold."""
    over = sum(max(0.0, min(end, burst.end) - max(start, burst.start)) for start, end, _ in hits)
    hit = over > 0.5 * burst.seconds
    due = seen_by_matched_filter(case, model) and _matters(case)
    apart = sum(
        max(0.0, min(b + shift, burst.end) - max(a + shift, burst.start)) for a, b in found.apart
    )
    promised = apart <= burst.seconds / 3 and any(
        limit.watts <= burst.watts and limit.seconds <= burst.seconds for limit in found.limits
    )
    cell.bursts += 1
    cell.found += hit
    cell.due += due
    cell.due_found += due and hit
    cell.promised += promised
    cell.promised_found += promised and hit
    cell.unpromised_found += hit and not promised
    cell.split += hit and len(hits) > 1
    what = f"{burst.watts:.0f} W for {burst.seconds:.1f} s at {burst.start:.1f} s"
    if due and not hit:
        smaller = [
            one
            for one in found.smaller
            if one.end_ps / PS_PER_S + shift > burst.start
            and one.start_ps / PS_PER_S + shift < burst.end
        ]
        epochs = [round(end, 1) for _, end in case.course.world.epochs]
        cell.lines.append(
            f"MISSED {name}: {what}; {'PROMISED ' if promised else ''}"
            f"{'smaller' if smaller else 'nothing'}; told {[h[2].text for h in hits]}; epochs end "
            f"{epochs}; {found.could or found.reason}"
        )
    if promised and not hit and not due:
        cell.lines.append(f"PROMISE {name}: {what}; {found.could}")
    if hit and len(hits) > 1:
        cell.lines.append(f"SPLIT {name}: {what}: {[one.text for _, _, one in hits]}")
    if hit:
        told = sum(one.delta_joules or 0.0 for _, _, one in hits)
        low = sum(one.lo_joules or 0.0 for _, _, one in hits)
        high = sum(one.hi_joules or 0.0 for _, _, one in hits)
        true_j = gain * burst.watts * burst.seconds
        cell.joules_hold.append(low <= true_j <= high)
        if not low <= true_j <= high:
            cell.lines.append(
                f"JOULES {name}: {what}: true {true_j:.0f}, {low:.0f} … {told:.0f} … {high:.0f}"
            )
        for start, end, one in hits:
            true_w = gain * float(case.course.world.joules(start, end, foreign=True))
            true_w /= end - start
            assert one.lo_watts is not None
            assert one.hi_watts is not None
            holds = one.lo_watts <= true_w <= one.hi_watts
            cell.watts_hold.append(holds)
            if not holds:
                cell.lines.append(
                    f"WATTS {name}: {what}: {one.lo_watts:.0f} … {one.hi_watts:.0f}, "
                    f"true {true_w:.0f} at {start:.1f} … {end:.1f}"
                )


Cells = dict[tuple[str, str], Cell]  # by sensor and what is logged


def run(seeds: range, sensors: tuple[str, ...], batches: tuple[bool, ...]) -> Cells:
    """All of them."""
    cells: dict[tuple[str, str], Cell] = defaultdict(Cell)
    for seed in seeds:
        for sensor in sensors:
            for by_batches in batches:
                key = (sensor, "batches" if by_batches else "epochs")
                with tempfile.TemporaryDirectory() as folder:
                    judge(seed, sensor, cells[key], Path(folder), batches=by_batches)
    return dict(cells)


def merged(parts: Iterable[Cells]) -> Cells:
    """The cells of several runs, added up."""
    total: dict[tuple[str, str], Cell] = defaultdict(Cell)
    for part in parts:
        for key, cell in part.items():
            for counted in fields(Cell):
                both = getattr(total[key], counted.name) + getattr(cell, counted.name)
                setattr(total[key], counted.name, both)
    return dict(total)


def table(cells: Cells, count: int) -> Table:
    """What was found, beside the bound."""
    shown = Table(
        f"Bursts in {count} trainings",
        (
            "sensor",
            "scalars",
            "found of the bound",
            "of all",
            "promised, found",
            "found unpromised",
            "as several",
            "watts hold",
            "joules hold",
            "quiet false",
            "false",
        ),
    )
    for (sensor, scalars), cell in sorted(cells.items()):
        shown.row(
            sensor,
            scalars,
            f"{cell.due_found}/{cell.due}",
            f"{cell.found}/{cell.bursts}",
            f"{cell.promised_found}/{cell.promised}",
            cell.unpromised_found,
            cell.split,
            f"{sum(cell.watts_hold)}/{len(cell.watts_hold)}",
            f"{sum(cell.joules_hold)}/{len(cell.joules_hold)}",
            f"{cell.quiet_false}/{cell.quiet}",
            f"{cell.false}/{cell.cases}",
        )
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.burst_answers", description=__doc__)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sensor", action="append", default=[])
    parser.add_argument("--scalars", choices=("epochs", "batches", "both"), default="epochs")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    batches = {"epochs": (False,), "batches": (True,), "both": (False, True)}[args.scalars]
    seeds = range(args.first, args.first + args.count)
    cells = run(seeds, tuple(args.sensor) or tuple(ASKED), batches)
    table(cells, args.count).print()
    if args.v:
        for _, cell in sorted(cells.items()):
            for line in cell.lines:
                print(line)


if __name__ == "__main__":
    main()
