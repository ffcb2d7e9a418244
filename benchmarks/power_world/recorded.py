"""Real trainings whose true power is known, with bursts of any size laid into it: read by any
sensor of this world.

The profile is the recorded one; its power is what was recorded beside it every 20 ms. What no
simulation thinks of (steps that vary with a busy machine, Python that waits, validation) is in
both.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.power_world.plan import SECONDS, WATTS, Burst, Plan, plan
from benchmarks.power_world.training import TICK, Floats, World

APART = 5.0  # s between two bursts
OWN_W = 60.0  # of the foreign process that ran in the recording itself


@dataclass(frozen=True)
class Recording:
    """A folder with a profile, the true power and what happened.

    `zero`: Unix time of the profile's clock; `span`: on it, s.
    """

    folder: Path
    zero: float
    span: tuple[float, float]
    at: Floats = field(
        repr=False
    )  # s on the profile's clock: the end of what each of `watts` is the mean of
    watts: Floats = field(repr=False)
    bursts: tuple[Burst, ...] = ()


def read(folder: Path, zero: float, span: tuple[float, float]) -> Recording:
    """A recording with its truth."""
    with (folder / "truth_watts.csv").open() as file:
        rows = np.array([[float(cell) for cell in row[:2]] for row in list(csv.reader(file))[1:]])
    bursts = []
    for event in json.loads((folder / "truth_events.json").read_text()):
        if event[0] == "burst_start":
            start = next(cell for cell in event[1:] if isinstance(cell, float) and cell > 1e9)
            bursts.append(Burst(start - zero, float(event[-1]), OWN_W))
    return Recording(folder, zero, span, rows[:, 0] - zero, rows[:, 1], tuple(bursts))


def world(one: Recording, seed: int, *, quiet: bool = False) -> World:
    """The recording with one more burst somewhere in its profile, away from its own."""
    rng = np.random.default_rng([53, seed])
    begin = float(one.at[0])
    count = int((one.at[-1] - begin) / TICK)
    moments = begin + (np.arange(count) + 0.5) * TICK
    watts = one.watts[np.minimum(np.searchsorted(one.at, moments), len(one.at) - 1)]
    laid: tuple[Burst, ...] = ()
    if not quiet:
        turn = seed % (len(WATTS) * len(SECONDS))
        seconds, size = SECONDS[turn // len(WATTS)], WATTS[turn % len(WATTS)]
        for _ in range(60):
            start = (
                float(rng.uniform(one.span[0] + 0.2, one.span[1] - seconds - 0.2))
                if one.span[1] > seconds + 1
                else np.inf
            )
            if np.isfinite(start) and all(
                start > b.end + APART or start + seconds < b.start - APART for b in one.bursts
            ):
                laid = (Burst(start, seconds, size),)
                break
    foreign = np.zeros(count)
    for burst in (*one.bursts, *laid):
        foreign += burst.watts * ((moments >= burst.start) & (moments < burst.end))
    own = watts + sum(
        (b.watts * ((moments >= b.start) & (moments < b.end)) for b in laid), np.zeros(count)
    )
    usual: Plan = replace(plan(seed, quiet=True), unix_s=one.zero)
    # Its own burst is true as well, but not as sharply: it is neither judged nor held to be false.
    odd = tuple((b.start, b.end) for b in one.bursts)
    return World(usual, (), (), (), one.span, one.span, laid, odd, begin, own, foreign)
