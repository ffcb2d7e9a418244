"""Logs of two hosts that wait for each other, with little idling around the run: where are they?

`python -m benchmarks.wait_clocks [--first SEED] [--count N]`: each world with another sensor, 5, 2
or 0 s of idling before and after it, its log's clock right, off, or missing. Power stays where it is
in the short pauses between two steps, and changes only where a rank waits in a collective. Half of
the logs hold only a part of the run. It shares no code with what places logs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.harness import Table
from benchmarks.rank_world import BASE_NS, Ranks, RankWorld, happened, write_traces
from powertui.data import loading, logdir
from powertui.data.asked import Aligning
from powertui.data.energy import align
from powertui.data.energy.log_alignment import Alignment

Floats = npt.NDArray[np.float64]

SENSORS = ("mean 1", "moment 1", "counter 0.5", "mean 2", "moment 0.2", "mean 5")
IDLE_S = (5.0, 2.0, 0.0)
CLOCKS = ("relative", "0", "0.5", "2", "-15", "60")
_CUTS = ((0.0, 1.0), (0.0, 0.5), (0.0, 1.0), (0.2, 0.7))  # of the run, what a log holds
_GRID_S = 0.01
_TRACE_BEGINS_S = 0.001  # after the base of the trace
_SLACK_S = 0.02  # two writers read one clock, but not at the same moment
_MIN_READINGS = 5


class WaitingHost(NamedTuple):
    """What a host draws (W)."""

    busy_w: float
    wait_w: float
    idle_w: float
    drift_w: float


class PlacedLog(NamedTuple):
    """Where a log was placed, as seen from where it is (s)."""

    alignment: Alignment
    error_s: float
    lo_s: float
    hi_s: float

    @property
    def is_wrong(self) -> bool:
        """Whether one place is claimed that is not the true one."""
        return self.alignment.is_sure and not self.lo_s - _SLACK_S <= 0 <= self.hi_s + _SLACK_S


def waiting_world(seed: int) -> tuple[RankWorld, list[WaitingHost], np.random.Generator]:
    """Two ranks of which the second is late, always or for some seconds at a time."""
    chance = np.random.default_rng([77, seed])
    length_s = float(chance.choice([10, 20, 40, 75, 120]))
    step_s = float(chance.choice([0.1, 0.25, 0.5]))
    late_s = float(chance.uniform(0.2, 0.8)) * step_s
    slow_s = float(chance.choice([0, 3, 9, 20]))
    world = RankWorld(
        seed,
        ranks=2,
        steps=int(length_s / (step_s + late_s / 2)),
        step_s=step_s,
        late={1: late_s},
        slow_s=slow_s,
        jitter_s=0.004,
        skew_s=0.002,
    )
    hosts = []
    for _ in range(2):
        idle_w = float(chance.uniform(60, 120))
        wait_w = idle_w + float(chance.uniform(0, 100))
        busy_w = wait_w + float(chance.uniform(20, 300))
        hosts.append(WaitingHost(busy_w, wait_w, idle_w, float(chance.choice([0, 1, 4]))))
    return world, hosts, chance


def drawn(
    ranks: Ranks, rank: int, host: WaitingHost, idle_s: float, chance: np.random.Generator
) -> tuple[Floats, Floats]:
    """True times and watts of a host."""
    end = ranks.leaves[-1][rank]
    times = np.arange(-idle_s, end + idle_s, _GRID_S)
    watts = np.full(len(times), host.busy_w)
    for arrivals in ranks.arrivals:
        waits = (times >= arrivals[rank]) & (times < max(arrivals))
        watts[waits] = host.wait_w
    seconds = len(times) // 100 + 2
    drift = np.zeros(seconds)
    for second in range(1, seconds):
        drift[second] = 0.9 * drift[second - 1] + chance.normal(0, 0.19**0.5) * host.drift_w
    watts = watts + np.repeat(drift, 100)[: len(times)]
    watts[(times < 0) | (times >= end)] = host.idle_w
    return times, watts


def read_by(
    sensor: str, times: Floats, watts: Floats, chance: np.random.Generator
) -> tuple[Floats, Floats]:
    """Times and values that a sensor writes: watts, or joules of a counter."""
    kind, period = sensor.split()
    period_s = float(period)
    first = times[0] + period_s + chance.uniform(0, period_s)
    at = np.arange(first, times[-1], period_s)
    joules = np.concatenate([[0.0], np.cumsum(watts) * _GRID_S])
    edges = np.append(times, times[-1] + _GRID_S)
    if kind == "counter":
        return at, np.round(1000 + np.interp(at, edges, joules), 3)
    noise_w = chance.normal(0, 1.5, len(at))
    if kind == "moment":
        return at, np.round(np.interp(at, times, watts) + noise_w)
    before = np.interp(at - period_s, edges, joules)
    return at, np.round((np.interp(at, edges, joules) - before) / period_s + noise_w)


def placed_logs(seed: int, sensor: str, idle_s: float, clock: str) -> list[PlacedLog]:
    """Where the logs of both hosts were placed."""
    world, hosts, chance = waiting_world(seed)
    ranks = happened(world)
    begin_share, end_share = _CUTS[seed % len(_CUTS)]
    is_relative = clock == "relative"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_traces(world, ranks, folder)
        true_zero: dict[str, float] = {}
        for rank, host in enumerate(hosts):
            times, watts = drawn(ranks, rank, host, idle_s + 0.013, chance)
            is_logged = (times >= times[-1] * begin_share - idle_s) & (
                times <= times[-1] * end_share
            )
            at, values = read_by(sensor, times[is_logged], watts[is_logged], chance)
            if len(at) < _MIN_READINGS:
                continue
            file = f"power_node{rank}_{100 + rank}.csv"
            by_host = at + ranks.skews[rank] + _TRACE_BEGINS_S
            true_zero[file] = float(by_host[0])
            column = "energy_j" if sensor.startswith("counter") else "power_w"
            if is_relative:
                lines, shown = [f"time_s,{column}"], at - at[0]
            else:
                lines, shown = [f"unix_time,{column}"], BASE_NS / 1e9 + by_host + float(clock)
            lines += [f"{t:.3f},{value:.3f}" for t, value in zip(shown, values, strict=True)]
            (folder / file).write_text("\n".join(lines) + "\n")
        runs = [run for run in logdir.scan(name).runs if len(run.profiles) == 2]
        if not runs:
            return []
        run = loading.load_run(runs[0])
        found = []
        for index, trace in enumerate(run.traces):
            zero_ns = trace.clock.mid_ns
            for placed in align.place_all(run, index, runs[0], Aligning()):
                series, alignment = placed.power.series, placed.alignment
                if is_relative:
                    true_s = true_zero[Path(series.path).name] + (BASE_NS - zero_ns) / 1e9
                else:
                    true_s = (series.clock.mid_ns - zero_ns) / 1e9 - float(clock)
                bounds = (alignment.offset_s, alignment.lo_s, alignment.hi_s)
                beside = [bound - true_s if bound is not None else np.nan for bound in bounds]
                found.append(PlacedLog(alignment, *beside))
        return found


def answers(first: int, count: int) -> Table:
    """How many logs got which answer, by their clock and by how long the machine idled."""
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    worst: dict[tuple[str, str], float] = defaultdict(float)
    for seed in range(first, first + count):
        idle_s = IDLE_S[seed % len(IDLE_S)]
        sensor = SENSORS[seed // len(IDLE_S) % len(SENSORS)]
        for clock in CLOCKS:
            key = (f"{idle_s:g} s", clock)
            for log in placed_logs(seed, sensor, idle_s, clock):
                cells[key][log.alignment.status] += 1
                if log.is_wrong:
                    cells[key]["sure and wrong"] += 1
                    worst[key] = max(worst[key], abs(log.error_s))
    shown = ("aligned", "clock corrected", "ambiguous", "cannot tell", "none", "sure and wrong")
    table = Table(
        f"{count} runs of two hosts that wait for each other",
        ("idle around", "clock off by, s", *shown, "worst, s"),
    )
    for key in sorted(cells):
        table.row(*key, *(cells[key][name] for name in shown), f"{worst[key]:.2f}")
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wait_clocks", description=__doc__)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--count", type=int, default=18)
    args = parser.parse_args()
    answers(args.first, args.count).print()


if __name__ == "__main__":
    main()
