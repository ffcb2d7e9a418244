"""Logs of 20 minutes to 3 hours without wall time that hold a profiled run once, or not at all,
beside other work of the machine: where they are put, and whether joules hold the truth.

`python -m benchmarks.long_logs [--first SEED] [--count N]`. The other work is the same program with
other epochs, the same again, the same for longer, other programs, steady loads of any length.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.energy_answers import ask
from benchmarks.harness import Table
from benchmarks.power_world import SENSORS, Model, Plan, World, make, plan, record, write, write_log
from benchmarks.power_world.training import TICK, Floats

BESIDE = ("alone", "idle", "slower", "again", "longer", "other", "mixed", "absent")
MODELS = (
    Model("mean 0.1 s", 0.1, 0.1, 0.1, quantum=0.1),
    SENSORS["mean 1 s, 1 W"],
    Model("moment 1 s", 1.0, 0.0, 1.0, quantum=1.0),
    Model("mean 5 s", 5.0, 5.0, 1.0, quantum=2.0),
    SENSORS["mean 10 s (PDU)"],
    Model("counter 1 s", 0.001, 0.0, 1.0, quantum=61e-6, counter=True, wrap_j=262_143.0),
)
_SLOW_S = 5.0  # sensors from here on get runs of minutes
_SLACK_S = 0.02
_ABSENT_S = 50_000.0  # a run that the log does not hold was so long after its begin


class Scene(NamedTuple):
    """A run, and the world of the log, on the clock of the run."""

    seed: int
    beside: str
    model: Model
    run: World
    world: World


def make_scene(seed: int) -> Scene:
    """The scene of a seed."""
    rng = np.random.default_rng([29112902, seed])
    beside = BESIDE[seed % len(BESIDE)]
    model = MODELS[(seed // len(BESIDE)) % len(MODELS)]
    is_slow = model.refresh_s >= _SLOW_S
    base_plan = replace(plan(seed + 50_000, quiet=True, long=is_slow), after_s=0.0)
    run = make(base_plan)
    total_s = float(np.exp(rng.uniform(np.log(1200), np.log(10_800))))
    if model.refresh_s == model.window_s == 0.1:
        total_s = min(total_s, 3600.0)
    other_w = [
        make(guest).watts - guest.base_w for guest in _guests(beside, base_plan, rng, is_slow)
    ]
    run_w = run.watts - base_plan.base_w
    has_loads = beside in ("other", "mixed", "idle") and rng.random() < 0.6
    seconds = (sum(len(watts) for watts in other_w) + len(run_w)) * TICK
    spare_s = max(total_s, 1.3 * seconds) - seconds
    pieces = list(other_w)
    row_of_run = int(rng.integers(0, len(other_w) + 1))
    if beside != "absent":
        pieces.insert(row_of_run, run_w)
    gaps_s = rng.dirichlet(np.ones(len(pieces) + 1)) * spare_s
    level_w = float(np.percentile(run_w, 90))
    parts = [_gap(float(gaps_s[0]), level_w, rng, has_loads)]
    begin_s = _ABSENT_S
    for row, piece in enumerate(pieces):
        if beside != "absent" and row == row_of_run:
            begin_s = sum(map(len, parts)) * TICK
        parts += [piece, _gap(float(gaps_s[row + 1]), level_w, rng, has_loads)]
    watts = _with_noise(base_plan.base_w + np.concatenate(parts), base_plan.base_w, level_w, rng)
    world = replace(run, begin=run.begin - begin_s, watts=watts, foreign=np.zeros(len(watts)))
    return Scene(seed, beside, model, run, world)


def _guests(beside: str, own: Plan, rng: np.random.Generator, is_slow: bool) -> list[Plan]:
    """The other programs."""
    factor = float(np.exp(rng.uniform(np.log(0.6), np.log(1.7))))
    if abs(factor - 1) < 0.04:
        factor = 1.08
    slower = replace(
        own,
        seed=own.seed + 1,
        epoch_s=own.epoch_s * factor,
        step_s=own.step_s * factor,
        validation_s=own.validation_s * factor,
    )
    count = int(rng.integers(1, 4))
    others: list[Plan] = []
    for number in range(1, 4):
        other = plan(own.seed + 40_000 + number, quiet=True, long=is_slow)
        machine = replace(other, style=own.style, devices=own.devices, device_w=own.device_w)
        others.append(replace(machine, core_w=own.core_w, cores=own.cores, after_s=0.0))
    if beside == "slower" or (beside == "absent" and rng.random() < 0.4):
        return [slower]
    if beside == "again":
        return [replace(own, seed=own.seed + 7)]
    if beside == "longer":
        longer = replace(own, seed=own.seed + 7, epoch_s=own.epoch_s * 2)
        return [replace(longer, epoch_s=own.epoch_s, epochs=own.epochs + count * (own.epochs > 0))]
    if beside in ("other", "absent"):
        return others[:count]
    if beside == "mixed":
        return [slower, *others][:count]
    return []


def _gap(seconds: float, level_w: float, rng: np.random.Generator, has_loads: bool) -> Floats:
    """The machine between two programs: idle, or with steady loads."""
    seconds = max(seconds, 2.0)
    watts = np.zeros(int(seconds / TICK))
    if has_loads and seconds > 60:
        for _ in range(int(rng.integers(1, 6))):
            begin = float(rng.uniform(5, seconds - 10))
            length = float(np.exp(rng.uniform(np.log(5), np.log(max(seconds / 2, 6)))))
            end = min(begin + length, seconds - 5)
            watts[int(begin / TICK) : int(end / TICK)] = level_w * float(rng.uniform(0.3, 1.1))
    return watts


def _with_noise(watts: Floats, base_w: float, level_w: float, rng: np.random.Generator) -> Floats:
    """With noise of 0.1 s, and what wanders over minutes."""
    row = np.arange(len(watts))
    fast = rng.standard_normal(len(watts) // 100 + 2)
    slow = np.cumsum(rng.standard_normal(len(watts) // 60_000 + 2)) * 0.001 * base_w
    noisy = watts + 0.004 * level_w * np.interp(row / 100, np.arange(len(fast)), fast)
    noisy += np.interp(row / 60_000, np.arange(len(slow)), slow - slow.mean())
    return np.maximum(noisy, 1.0)


class Judged(NamedTuple):
    """What was answered."""

    scene: Scene
    status: str
    holds: bool  # whether the place is within what is claimed
    windows: int
    missed: tuple[str, ...]  # windows whose joules are not within theirs


def judge(scene: Scene, folder: Path) -> Judged:
    """Ask for the place of a scene's log, and for joules."""
    taken = record(scene.world, scene.model, scene.seed)
    logs = write(scene.run, folder)
    asked = ask(logs, write_log(taken, folder / "log.csv", "relative"), findings=False)
    alignment = asked.run["alignment"]
    is_absent = scene.beside == "absent"
    holds = alignment["offset_s"] is None
    if not holds and not is_absent:
        is_late = alignment["lo_s"] > taken.offset_s + _SLACK_S
        is_early = alignment["hi_s"] < taken.offset_s - taken.delay_s - _SLACK_S
        holds = not (is_late or is_early)
    windows = 0
    missed: list[str] = []
    for part in asked.view.energy().to_dict("records"):
        lo, hi = part.get("lo"), part.get("hi")
        if is_absent or lo is None or not np.isfinite(lo):
            continue
        begin, end = _window(scene.run, part)
        true_j = taken.gain * float(scene.world.joules(begin, end))
        windows += 1
        if not lo <= true_j <= hi and abs(part["joules"] / true_j - 1) > 1e-5:
            missed.append(f"{part['window']}: {true_j:.0f} J, told {lo:.0f} to {hi:.0f}")
    return Judged(scene, alignment["status"], holds, windows, tuple(missed))


def _window(run: World, part: dict[str, float | str]) -> tuple[float, float]:
    """An epoch as it was, from the end of the one before; else what is claimed."""
    number = str(part["window"]).removeprefix("epoch ")
    if number.isdigit() and int(number) < len(run.epochs):
        epoch = int(number)
        begin, end = run.epochs[epoch]
        return (run.epochs[epoch - 1][1] if epoch else begin), end
    return float(part["start_s"]), float(part["end_s"])


def answers(first: int, count: int) -> Iterator[Judged]:
    """One after the other."""
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            yield judge(make_scene(seed), Path(folder))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_logs", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=48)
    args = parser.parse_args()
    cells: dict[str, Counter[str]] = defaultdict(Counter)
    for judged in answers(args.first, args.count):
        for name in ("all", judged.scene.beside, judged.scene.model.name):
            cell = cells[name]
            cell["logs"] += 1
            cell[judged.status] += 1
            is_sure = judged.status == "aligned"
            cell["sure and wrong"] += is_sure and not judged.holds
            cell["left out"] += not is_sure and not judged.holds
            cell["windows"] += judged.windows
            cell["missed"] += len(judged.missed)
        for words in judged.missed:
            print(judged.scene.seed, judged.status, words, flush=True)
    shown = ("logs", "aligned", "sure and wrong", "ambiguous", "left out", "none")
    table = Table("long logs", ("beside", *shown, "windows", "missed"))
    for name, cell in cells.items():
        table.row(name, *(cell[column] for column in (*shown, "windows", "missed")))
    table.print()


if __name__ == "__main__":
    main()
