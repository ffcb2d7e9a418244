"""Trainings drawn at random in everything that may differ between two of them, held against what
really happened.

`python -m benchmarks.drawn_trainings [--count N] [--first SEED]`: ten minutes to twelve hours;
scalars of every batch, every ten or of epochs only; five sensors; a log with wall time or without,
whole, begun late, ended early or with holes; warm-up, validation, now and then a longer evaluation,
pauses to save; two sessions or none; in half of them a foreign burst of 20 to 100 W for 10 s to 10
minutes. Beside `long_training`, which asks the same question of each seed, this one asks for the
worst cell of any kind.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Table
from benchmarks.long_training import Floats
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from tests.synthetic.tfevents import write_scalars
from tests.synthetic.xplane import Event, Line, Plane, encode

UNIX = 1_795_000_000.0
TICK = 0.1
SENSORS = {
    "mean 0.1 s, 1 W": (0.1, 1.0, 0.1),
    "moment every 0.5 s": (0.5, 1.0, 0.0),
    "mean 1 s, 1 W": (1.0, 1.0, 1.0),
    "mean 3 s, 7 W": (3.0, 7.0, 3.0),
    "mean 10 s (PDU)": (10.0, 1.0, 10.0),
}  # refresh, quantum, window
SCALARS = ("batch", "ten", "epochs")
SHAPES = ("whole", "whole", "late", "early", "holes")
_RECORDS = 40_000  # at most: what is not asked here is how long reading takes
_LONG_FINE = 1.5  # h: beyond it nobody reads every 0.1 s here


class Drawn(NamedTuple):
    """What one seed stands for."""

    seed: int
    hours: float
    sensor: str
    scalars: str
    wall: bool
    shape: str
    sessions: int
    watts: float  # of the burst; 0: none
    seconds: float

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """(kind, value) of everything that a table is made of."""
        length = "to 30 min" if self.hours < 0.5 else "to 2 h" if self.hours < 2 else "to 12 h"
        return (
            ("all", ""),
            ("sensor", self.sensor),
            ("scalars", self.scalars),
            ("clock", "wall" if self.wall else "elapsed"),
            ("length", length),
            ("log", self.shape),
            ("sessions", str(self.sessions)),
            ("scalars, clock", f"{self.scalars}, {'wall' if self.wall else 'elapsed'}"),
        )


@dataclass
class LongCourse:
    """What happened: watts every 0.1 s from `-lead` on, and when what was done."""

    lead: float
    watts: Floats
    epochs: list[tuple[float, float]]
    records: list[tuple[float, int]]  # of every batch: when, steps done
    burst: tuple[float, float] | None
    pauses: list[tuple[float, float]]


@dataclass
class Tally:
    """What came of the trainings of one kind."""

    cases: int = 0
    quiet: int = 0
    loud_quiet: int = 0  # of them with a finding
    due: int = 0  # bursts that were said to be findable
    found: int = 0
    bursts: int = 0
    hits: int = 0
    small: int = 0
    epoch_right: int = 0
    windows: int = 0
    inside: int = 0
    sure: int = 0
    sure_wrong: int = 0
    unplaced: int = 0
    lines: list[str] = field(default_factory=list)


def drawn(seed: int) -> Drawn:
    """The kind of training that a seed stands for."""
    rng = np.random.default_rng([97, seed])
    hours = float(np.exp(rng.uniform(np.log(1 / 6), np.log(12))))
    sensor = str(rng.choice(list(SENSORS)))
    if sensor == "mean 0.1 s, 1 W":
        hours = min(hours, float(rng.uniform(0.2, _LONG_FINE)))
    watts, seconds = (
        float(rng.uniform(20, 100)),
        float(np.exp(rng.uniform(np.log(10), np.log(600)))),
    )
    return Drawn(
        seed,
        hours,
        sensor,
        str(rng.choice(SCALARS)),
        bool(rng.random() < 0.6),
        str(rng.choice(SHAPES)),
        2 * int(rng.random() < 0.4),
        watts if rng.random() < 0.5 else 0.0,
        min(seconds, 0.2 * hours * 3600),
    )


def make(case: Drawn) -> LongCourse:
    """A training of that kind."""
    rng = np.random.default_rng([98, case.seed])
    total = case.hours * 3600
    count = int(rng.integers(3, 25))
    step = max(
        float(np.exp(rng.uniform(np.log(0.05), np.log(2.0)))),
        total / _RECORDS if case.scalars == "batch" else 0.02,
    )
    per_epoch = max(20, int(total / count / step * 0.94))
    base, high = float(rng.uniform(80, 300)), float(rng.uniform(100, 600))
    lead, tail = float(rng.uniform(20, 300)), float(rng.uniform(20, 300))
    valid = float(rng.uniform(0.01, 0.12)) * total / count
    valid_w = float(rng.uniform(0.3, 1.0)) * high
    evaluated = int(rng.integers(2, 5)) if rng.random() < 0.3 else 0
    save_every, save_s = (
        (float(rng.uniform(300, 2400)), float(rng.uniform(2, 20)))
        if rng.random() < 0.5
        else (np.inf, 0.0)
    )
    warm_up = float(rng.uniform(3, 60))
    jitter = float(rng.uniform(0.01, 0.06))
    loads: list[tuple[float, float, float]] = [(-float(rng.uniform(1, 15)), 0.0, 0.25 * high)]
    epochs, records, pauses = [], [], []
    now, done, saved = 0.0, 0, 0.0
    for epoch in range(count):
        begin = now
        pause = warm_up if epoch == 0 else float(rng.uniform(0, 2))
        loads.append(
            (now, now + pause, float(rng.uniform(0.05, 0.5)) * high if epoch == 0 else 0.1 * high)
        )
        now += pause
        at = now
        length = step * np.maximum(1 + jitter * rng.standard_normal(per_epoch), 0.3)
        for took in length.tolist():
            now += took
            done += 1
            records.append((now, done))
            if now - saved > save_every:
                loads += [(at, now, high), (now, now + save_s, 0.15 * high)]
                pauses.append((now, now + save_s))
                now += save_s
                at = saved = now
        loads.append((at, now, high))
        took = valid * float(rng.uniform(0.95, 1.05))
        loads.append((now, now + took, valid_w))
        now += took
        if evaluated and (epoch + 1) % evaluated == 0:
            took = 2.5 * valid
            loads.append((now, now + took, valid_w))
            now += took
        epochs.append((begin, now))
    rows = int((now + lead + tail) / TICK)
    grid = np.arange(rows) * TICK - lead
    watts = np.full(rows, base)
    for lo, hi, amount in loads:
        watts[max(0, round((lo + lead) / TICK)) : round((hi + lead) / TICK)] += amount
    watts += (
        float(rng.uniform(0, 0.05))
        * high
        * (1 - np.exp(-np.maximum(grid, 0) / float(rng.uniform(200, 1500))))
        * (watts > base)
    )
    watts += (
        float(rng.uniform(0, 0.006)) * high * np.sin(grid / float(rng.uniform(300, 2000)) + 1)
    )  # fans, warmth of the room
    watts += float(rng.uniform(0.003, 0.012)) * high * _wandering(rng, rows, 50)
    watts += float(rng.uniform(0.01, 0.04)) * high * rng.standard_normal(rows)
    burst = None
    if case.watts:
        first = epochs[0][0] + 0.5 * (epochs[0][1] - epochs[0][0])
        at = float(rng.uniform(first, max(epochs[-1][1] - case.seconds - 5, first + 1)))
        burst = (at, at + case.seconds)
        watts[round((at + lead) / TICK) : round((at + case.seconds + lead) / TICK)] += case.watts
    return LongCourse(lead, watts, epochs, records, burst, pauses)


def _wandering(rng: np.random.Generator, rows: int, every: int) -> Floats:
    rest = rng.standard_normal(rows // every + 2)
    for row in range(1, len(rest)):
        rest[row] = 0.8 * rest[row - 1] + 0.6 * rest[row]
    return np.asarray(np.interp(np.arange(rows) / every, np.arange(len(rest)), rest))


def write(
    case: Drawn, course: LongCourse, folder: Path
) -> tuple[Path, Path, float, list[tuple[float, float]]]:
    """(logdir, power log, when its first row was written, from when to when it holds something)"""
    rng = np.random.default_rng([99, case.seed])
    every = {"batch": 1, "ten": 10}.get(case.scalars, 0)
    kept = [record for record in course.records if every and record[1] % every == 0]
    rows = [(UNIX + at + 0.001, done, "batch_loss", 1.0) for at, done in kept]
    rows += [
        (UNIX + end + 0.002, number, "epoch_loss", 1.0)
        for number, (_, end) in enumerate(course.epochs)
    ]
    rows.sort()
    logs = folder / "logs"
    begin = UNIX + course.epochs[0][0]
    write_scalars(
        logs / "train" / f"events.out.tfevents.{int(begin)}.vm.77.0.v2", rows, begin, graph=begin
    )
    val = [
        (UNIX + end - 0.003, number, "epoch_loss", 2.4)
        for number, (_, end) in enumerate(course.epochs)
    ]
    write_scalars(
        logs / "validation" / f"events.out.tfevents.{int(begin) + 9}.vm.77.1.v2", val, begin + 5
    )
    _sessions(case, course, logs, rng)
    refresh, quantum, window = SENSORS[case.sensor]
    size = round(refresh / TICK)
    phase = int(rng.integers(0, size))
    count = (len(course.watts) - phase) // size
    means = course.watts[phase : phase + count * size].reshape(count, size)
    watts = means.mean(axis=1) if window else means[:, -1]
    delay = float(rng.uniform(0.0, 0.05))
    at = (phase * TICK - course.lead) + (np.arange(count) + 1) * refresh + delay
    keep = np.ones(count, np.bool_)
    first, last = course.epochs[0][0], course.epochs[-1][1]
    held = [(float(at[0]), float(at[-1]))]
    if case.shape == "late":
        keep = at > first + float(rng.uniform(0.1, 0.4)) * (last - first)
    elif case.shape == "early":
        keep = at < last - float(rng.uniform(0.1, 0.4)) * (last - first)
    elif case.shape == "holes":
        for _ in range(int(rng.integers(1, 5))):
            hole, long = (
                float(rng.uniform(first, last)),
                float(rng.uniform(0.005, 0.05)) * (last - first),
            )
            keep &= (at < hole) | (at > hole + long)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], keep.astype(np.int8), [0]])))
    held = [(float(at[a]), float(at[b - 1])) for a, b in edges.reshape(-1, 2).tolist()]
    at, watts = at[keep], watts[keep]
    shown = np.round(watts / quantum) * quantum
    path = folder / "power.csv"
    with path.open("w") as file:
        file.write("time_unix_s,watts\n" if case.wall else "elapsed_s,watts\n")
        times = UNIX + at if case.wall else at - at[0]
        file.writelines(
            f"{t:.3f},{w:.0f}\n" for t, w in zip(times.tolist(), shown.tolist(), strict=True)
        )
    return logs, path, float(at[0]), held


def _sessions(case: Drawn, course: LongCourse, logs: Path, rng: np.random.Generator) -> None:
    """Profiles of 20 steps, which tell their own start and end."""
    ends = np.array([at for at, _ in course.records])
    for number in range(case.sessions):
        first = int(rng.integers(1, max(2, len(ends) - 22)))
        last = min(first + 20, len(ends) - 1)
        lo, hi = (round((UNIX + float(ends[row])) * 1e9) for row in (first, last))
        length = np.diff(ends[first : last + 1])
        steps = [
            Event(
                "train_step",
                round((float(at) - float(ends[first])) * 1e12),
                round(float(took) * 0.98e12),
                {"step_num": first + row + 1},
            )
            for row, (at, took) in enumerate(zip(ends[first:last], length, strict=True))
        ]
        clock = {"profile_start_time": lo, "profile_stop_time": hi}
        planes = [
            Plane("/host:CPU", [Line("python", steps, 1)]),
            Plane("Task Environment", [], stats=clock),
        ]
        path = logs / "train" / "plugins" / "profile" / f"session_{number}" / "vm.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(planes))


def judge(case: Drawn, folder: Path) -> Tally:
    """One training written, read, and held against its truth."""
    course = make(case)
    logs, log, first_row, held = write(case, course, folder)
    (entry,) = [one for one in logdir.scan(str(logs)).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    begin = time.process_time()
    seen = training.seen_from()
    shift = seen.zero_ns / 1e9 - UNIX
    whole = training_energy(seen)
    answers = whole.findings
    took = time.process_time() - begin
    status = seen.placements[0].power.status
    kind = (
        f"{case.hours:.2f} h, {case.sensor}, {case.scalars}, "
        f"{'wall' if case.wall else 'elapsed'}, {case.shape}"
    )
    kind += f", {case.sessions} sessions, burst {case.watts:.0f} W {case.seconds:.0f} s"
    name = f"seed {case.seed} ({kind}, {status}, {took:.1f} s)"
    out = Tally(cases=1, quiet=not case.watts, unplaced=status == "none")
    (channel,) = training.power
    if status == "aligned" and not case.wall and channel.zero is not None:
        off = channel.zero.ns / 1e9 - (UNIX + first_row)
        out.sure = 1
        if abs(off) > channel.zero.half_ns / 1e9:
            out.sure_wrong = 1
            out.lines.append(
                f"PLACE {name}: off {off:+.2f} s, said ± {channel.zero.half_ns / 1e9:.2f} s"
            )
    spare = 2 * SENSORS[case.sensor][0] + (0 if case.wall else 5)
    hit = small = False
    false = False
    touched = [
        n
        for n, (lo, hi) in enumerate(course.epochs)
        if course.burst and course.burst[0] < hi and course.burst[1] > lo
    ]
    right = True
    for one in (*answers.findings, *answers.smaller):
        a, b = one.start_ps / PS_PER_S + shift, one.end_ps / PS_PER_S + shift
        over = min(b, course.burst[1]) - max(a, course.burst[0]) if course.burst else -1.0
        first, last = (
            one.start_within[0] / PS_PER_S + shift,
            one.end_within[1] / PS_PER_S + shift,
        )  # as its ± says
        true = (
            course.burst is not None
            and min(a, first) < course.burst[1] + spare
            and max(b, last) > course.burst[0] - spare
        )
        matters = one in answers.findings
        if over > 0.5 * case.seconds or (
            over > 0 and len(touched) > 1 and (one.delta_watts or 0) > 0
        ):
            hit |= matters
            small |= not matters
        if true and matters and one.epoch is not None:
            right &= one.epoch in touched
        if not true and matters:
            false = True
            out.lines.append(
                f"FALSE {name}: {one.text} at {a:.0f} … {b:.0f}; epochs end "
                f"{[round(e) for _, e in course.epochs][:30]}"
            )
    out.loud_quiet = false
    if course.burst is not None:
        told = any(lo <= course.burst[0] and hi >= course.burst[1] for lo, hi in held)
        due = told and any(
            limit.watts <= case.watts and limit.seconds <= case.seconds for limit in answers.limits
        )
        due = due and course.burst[0] >= course.epochs[0][0] + 0.4 * (
            course.epochs[0][1] - course.epochs[0][0]
        )
        named = (
            max(0.0, min(b + shift, course.burst[1]) - max(a + shift, course.burst[0]))
            for a, b in answers.apart
        )
        due = due and sum(named) <= case.seconds / 3
        out.bursts, out.hits, out.small, out.due, out.found = (
            1,
            hit,
            small and not hit,
            due,
            due and hit,
        )
        out.epoch_right = hit and right
        if hit and not right:
            out.lines.append(
                f"EPOCH {name}: burst in {touched}, told {[one.text for one in answers.findings]}"
            )
        if due and not hit:
            out.lines.append(
                f"MISSED {name} at {course.burst[0]:.0f}: {'smaller' if small else 'nothing'}; "
                f"{answers.could}"
            )
        elif not hit:
            why = f"told {told}; {answers.reason or answers.could}; {answers.notes}"
            out.lines.append(
                f"UNDUE {name} at {course.burst[0]:.0f}: {'smaller' if small else 'nothing'}; {why}"
            )
    for window in whole.epochs():
        energy = window.energy
        if energy is None or energy.lo is None or energy.hi is None or window.epoch is None:
            continue
        lo, hi = course.epochs[window.epoch]
        a, b = ((side + course.lead) / TICK for side in (lo, hi))
        run = np.concatenate([[0.0], np.cumsum(course.watts[max(0, int(a)) : int(b) + 2])]) * TICK
        true_j = float(
            np.interp(b - int(a), np.arange(len(run)), run)
            - np.interp(a - int(a), np.arange(len(run)), run)
        )
        out.windows += 1
        out.inside += energy.lo <= true_j <= energy.hi
        if not energy.lo <= true_j <= energy.hi:
            out.lines.append(
                f"JOULES {name}: epoch {window.epoch} {true_j:.0f} J, told {energy.lo:.0f} … "
                f"{energy.hi:.0f}"
            )
    return out


def kinds(first: int, count: int) -> Iterator[Drawn]:
    """All that these seeds stand for."""
    for seed in range(first, first + count):
        yield drawn(seed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.drawn_trainings", description=__doc__
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    cells: dict[tuple[str, str], Tally] = {}
    for case in [drawn(seed) for seed in args.seed] or kinds(args.first, args.count):
        with tempfile.TemporaryDirectory() as folder:
            one = judge(case, Path(folder))
        for line in one.lines if args.v else ():
            print(line, flush=True)
        for fact in case.facts:
            cell = cells.setdefault(fact, Tally())
            for name in Tally.__dataclass_fields__:
                setattr(cell, name, getattr(cell, name) + getattr(one, name))
    table = Table(
        "Trainings drawn at random",
        (
            "kind",
            "",
            "trainings",
            "findings that were none",
            "promised bursts found",
            "of all bursts",
            "as smaller",
            "epoch right",
            "joules inside",
            "placed surely, wrong",
            "no place",
        ),
    )
    for (kind, value), one in sorted(cells.items()):
        table.row(
            kind,
            value,
            one.cases,
            f"{one.loud_quiet} of {one.cases}",
            f"{one.found}/{one.due}",
            f"{one.hits}/{one.bursts}",
            one.small,
            f"{one.epoch_right}/{one.hits}",
            f"{one.inside}/{one.windows}",
            f"{one.sure_wrong}/{one.sure}",
            one.unplaced,
        )
    table.print()


if __name__ == "__main__":
    main()
