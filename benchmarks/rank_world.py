"""Ranks whose lateness, clocks and watts are known: the truth that the answers about late ranks are
held against. It shares no code with what works them out.

A step of a rank is some work and some collectives. A collective begins on a rank when that rank is
there, moves its message once the last one is there, and ends on all of them within some µs. Each
rank's clock has an error of its own. Every rank writes a trace as PyTorch does.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

BASE_NS = 7_889_238_000_000_000 * 228  # as Kineto has it: a multiple of a quarter of a year
_US = 1e-6
_IDLE_S = 45  # of each log before the profile and after it

# As NCCL was named before and since 2.19, RCCL, and PyTorch's gloo.
KERNELS = {
    "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "old nccl": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
    "rccl": "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*) [rccl]",
    "gloo": "gloo:all_reduce",
}


@dataclass(frozen=True)
class RankWorld:
    """What is to happen. Times are in s."""

    seed: int
    ranks: int = 8
    steps: int = 100
    step_s: float = 0.1
    jitter_s: float = 0.0005  # of each rank's work, anew in each step
    drift: float = 0.0  # how much of a step's jitter stays in the next one
    skew_s: float = 0.002  # clocks are off by up to that, either way
    leave_s: float = 10 * _US  # ranks leave a collective within that time
    move_s: float = 0.003  # what moving the message takes
    late: dict[int, float] = field(default_factory=dict)  # by rank: s a step
    late_every: int = 1  # a rank is late in each n-th step
    cause: str = "compute"  # "compute", "input", or "both"
    library: str = "nccl"
    arguments: bool = False  # whether kernels carry group and size
    numbered: bool = False  # … and the number of the call in its group
    lost: float = 0.0  # share of the calls that a profile lost
    cut: bool = False  # profiles begin at different calls
    slow_s: float = 0.0  # for so long at a time the late rank is late or is not


@dataclass
class Ranks:
    """What happened: true times of every collective, and the clocks' errors."""

    arrivals: list[list[float]]  # [collective][rank]
    leaves: list[list[float]]
    skews: list[float]
    works: list[list[list[tuple[str, float, float]]]]  # [step][rank]: (kind, from, to)


def happened(world: RankWorld) -> Ranks:
    """The course of all ranks."""
    chance = random.Random(world.seed)
    skews = [chance.uniform(-world.skew_s, world.skew_s) for _ in range(world.ranks)]
    now = [chance.uniform(0, 0.01) for _ in range(world.ranks)]
    jitters = [0.0] * world.ranks
    ranks = Ranks([], [], skews, [])
    for step in range(world.steps):
        works: list[list[tuple[str, float, float]]] = []
        arrivals = []
        step_s = world.step_s * (1 + 0.05 * chance.gauss(0, 1))
        for rank in range(world.ranks):
            fresh = chance.gauss(0, world.jitter_s)
            jitters[rank] = world.drift * jitters[rank] + (1 - world.drift**2) ** 0.5 * fresh
            late_s = world.late.get(rank, 0.0) if step % world.late_every == 0 else 0.0
            if world.slow_s and int(min(now) / world.slow_s) % 2:
                late_s = 0.0
            waits_s = 0.2 * step_s
            work_s = max(1e-4, 0.8 * step_s + jitters[rank])
            waits_s += late_s * {"compute": 0.0, "input": 1.0, "both": 0.5}[world.cause]
            work_s += late_s * {"compute": 1.0, "input": 0.0, "both": 0.5}[world.cause]
            begin = now[rank] + waits_s
            works.append([("compute", begin, begin + work_s)])
            arrivals.append(begin + work_s)
        done = max(arrivals) + world.move_s
        leaves = [done + chance.uniform(0, world.leave_s) for _ in range(world.ranks)]
        now = list(leaves)
        ranks.works.append(works)
        ranks.arrivals.append(arrivals)
        ranks.leaves.append(leaves)
    return ranks


def write_traces(world: RankWorld, ranks: Ranks, folder: Path) -> None:
    """A trace of each rank, as its profiler would have written it."""
    chance = random.Random(world.seed + 1)
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(world.ranks):
        first = chance.randrange(3) if world.cut else 0
        events = list(_metadata(rank))
        for step in range(first, world.steps):
            skew = ranks.skews[rank]
            for _, begin, end in ranks.works[step][rank]:
                events.append(_event("kernel", "gemm_f32", rank, 7, begin + skew, end + skew))
            if chance.random() < world.lost:
                continue
            arrival, leave = ranks.arrivals[step][rank], ranks.leaves[step][rank]
            events.append(_collective(world, rank, step, arrival + skew, leave + skew))
        document = {
            "schemaVersion": 1,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world.ranks},
            "baseTimeNanoseconds": BASE_NS,
            "traceEvents": events,
        }
        path = folder / f"node{rank}_{100 + rank}.1700000000000000000.pt.trace.json"
        path.write_text(json.dumps(document))


def _metadata(rank: int) -> list[dict[str, object]]:
    name = {"ph": "M", "name": "process_name", "ts": 0, "pid": rank, "tid": 0}
    label = {"ph": "M", "name": "process_labels", "ts": 0, "pid": rank, "tid": 0}
    return [
        {**name, "args": {"name": "python"}},
        {**label, "args": {"labels": f"GPU {rank}"}},
    ]


def _event(
    category: str, name: str, rank: int, stream: int, begin: float, end: float
) -> dict[str, object]:
    # Kineto writes µs with three decimals.
    begin_us, end_us = round(begin / _US, 3), round(end / _US, 3)
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": rank,
        "tid": stream,
        "ts": begin_us + 1000,
        "dur": round(end_us - begin_us, 3),
        "args": {"device": rank, "stream": stream, "correlation": int(begin_us)},
    }


def _collective(
    world: RankWorld, rank: int, step: int, begin: float, end: float
) -> dict[str, object]:
    name = KERNELS[world.library]
    if world.library == "gloo":
        event = _event("user_annotation", name, rank, 1, begin, end)
        return {**event, "pid": 4000 + rank, "args": {}}
    event = _event("kernel", name, rank, 20, begin, end)
    arguments = dict(event["args"])  # type: ignore[call-overload]
    if world.arguments:
        arguments |= {
            "Collective name": "allreduce",
            "In msg nelems": 1_000_000,
            "Out msg nelems": 1_000_000,
            "Group size": world.ranks,
            "dtype": "Float",
            "Process Group Name": "0",
            "Process Group Ranks": str(list(range(world.ranks))),
        }
    if world.numbered:
        arguments["Seq"] = step
    return {**event, "args": arguments}


# ── watts ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Watts:
    """What a host draws, and how its sensor tells it once a second."""

    busy_w: float = 320.0
    wait_w: float = 190.0
    idle_w: float = 90.0  # before and after the profile
    drift_w: float = 4.0  # of what it draws at work, from second to second
    noise_w: float = 1.5  # of a reading
    gain: float = 0.0  # by which share the sensor reads too much


def write_power(world: RankWorld, ranks: Ranks, watts: list[Watts], folder: Path) -> list[float]:
    """A log for each rank's host; the joules that each really drew while it waited."""
    chance = random.Random(world.seed + 2)
    joules = []
    for rank, host in enumerate(watts):
        joules.append(_write_log(ranks, rank, host, chance, folder, ranks.skews[rank]))
    return joules


def _write_log(
    ranks: Ranks, rank: int, host: Watts, chance: random.Random, folder: Path, skew: float
) -> float:
    end = ranks.leaves[-1][rank]
    waits = []
    for arrivals in ranks.arrivals:
        waits.append((arrivals[rank], max(arrivals)))
    drift, wasted, place = 0.0, 0.0, 0
    lines = ["unix_time,power_w"]
    for second in range(-_IDLE_S, int(end) + 1 + _IDLE_S):
        drift = 0.9 * drift + chance.gauss(0, host.drift_w * 0.19**0.5)
        waited = 0.0
        # Waits are in order, and none is longer than a second.
        while place < len(waits) and waits[place][1] <= second:
            place += 1
        for begin, until in waits[place : place + 40]:
            waited += max(0.0, min(until, second + 1) - max(begin, second))
        worked = max(0.0, min(end, second + 1) - max(0.0, second)) - waited
        joules = waited * host.wait_w + worked * (host.busy_w + drift)
        joules += (1 - waited - worked) * host.idle_w
        wasted += waited * host.wait_w
        reading = joules * (1 + host.gain) + chance.gauss(0, host.noise_w)
        # A reading of a second is the mean of it, and is written at its end by the host's clock.
        time_s = BASE_NS / 1e9 + 0.001 + second + 1 + skew
        lines.append(f"{time_s:.3f},{round(reading)}")
    (folder / f"power_node{rank}_{100 + rank}.csv").write_text("\n".join(lines) + "\n")
    return wasted
