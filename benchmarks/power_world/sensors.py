"""What a sensor says of a world, and what a logger writes down of it.

A sensor measures (at a moment, over a window, or counts), publishes now and then, some time later;
a logger asks at its own pace and gets what was published last. All of it has its own phase, jitter
and error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.power_world.training import TICK, Floats, World

Label = Literal[
    "rapl", "occ", "nvidia instant", "nvidia average", "bmc", "dcmi", "powerboard", "plug", ""
]


@dataclass(frozen=True)
class Model:
    """The mean over `window_s` (0: of a moment), published every `refresh_s`, asked every
    `poll_s`.
    """

    name: str
    refresh_s: float
    window_s: float
    poll_s: float
    quantum: float = 0.0  # W; J for a counter
    noise_w: float = 0.3
    delay: float = 0.05  # at most, as a share of the refresh: from the window's end to publication
    counter: bool = False  # joules since some time
    wrap_j: float = 0.0
    gain: float = 0.015  # at most: of the sensor's own scale
    label: Label = ""  # which known source its labelled log comes from
    forget_s: float = 0.0  # an exponential mean that forgets so slowly; 0: none


SENSORS = {
    one.name: one
    for one in (
        Model("moment 0.04 s", 0.04, 0.0, 0.04, quantum=0.1, noise_w=0.6, delay=0.2, label="occ"),
        Model(
            "counter 0.1 s",
            0.001,
            0.0,
            0.1,
            quantum=61e-6,
            counter=True,
            wrap_j=262_143.0,
            label="rapl",
        ),
        Model("25 ms of 0.1 s", 0.1, 0.025, 0.1, quantum=0.01, noise_w=0.8, label="nvidia instant"),
        Model("mean 0.5 s, 1 W", 0.5, 0.5, 0.25, quantum=1.0, delay=0.1, label="bmc"),
        Model("mean 1 s, 1 W", 1.0, 1.0, 0.5, quantum=1.0, delay=0.1, label="dcmi"),
        Model(
            "mean 1 s every 0.1 s", 0.1, 1.0, 0.1, quantum=0.01, noise_w=0.1, label="nvidia average"
        ),
        Model("mean 3 s, 7 W", 3.0, 3.0, 0.3, quantum=7.0, delay=0.03, label="powerboard"),
        Model("mean 10 s (PDU)", 10.0, 10.0, 1.0, quantum=1.0, delay=0.02, label="plug"),
    )
}

# Filters of first order, as many meters have one: no window, but a memory.
FORGETFUL = {
    one.name: one
    for one in (
        Model(
            "forgets in 0.3 s, 0.1 s",
            0.1,
            0.0,
            0.1,
            quantum=0.1,
            noise_w=0.2,
            delay=0.1,
            forget_s=0.3,
        ),
        Model(
            "forgets in 0.7 s, 0.25 s",
            0.25,
            0.0,
            0.25,
            quantum=1.0,
            noise_w=0.2,
            delay=0.1,
            forget_s=0.7,
        ),
        Model("forgets in 1 s, 0.5 s", 0.5, 0.0, 0.25, quantum=1.0, delay=0.1, forget_s=1.0),
    )
}


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a recording. Times on the profile's clock."""

    missed: float = 0.01  # share of polls that get no answer
    repeated: float = 0.0  # share of polls for which the logger writes its last answer again
    restart: tuple[float, float] | None = None  # (when, how long): the BMC says 0 W
    clock_step: tuple[float, float] | None = None  # (when, by how much): the logger's clock is set
    pause: tuple[int, float] | None = None  # (every how many rows, how long): the logger sleeps
    begin: float | None = None  # the log begins here …
    cut: float | None = None  # … and ends here


class Measured(NamedTuple):
    """What a sensor measured, each once: from, to (s on the profile's clock), W by its scale."""

    lo_s: Floats
    hi_s: Floats
    watts: Floats


@dataclass(frozen=True, eq=False)
class Taken:
    """Rows of a log: the logger's Unix times, and what it was told."""

    model: Model
    unix: Floats
    values: Floats  # W, or J since some time
    gain: float  # what the sensor's scale really is
    offset_s: float  # where on the profile's clock a log that counts from its first row begins
    # from the end of what was measured to its publication: no log can tell it from the offset
    delay_s: float = 0.0
    measured: Measured | None = None


def record(world: World, model: Model, seed: int, fault: Fault | None = None) -> Taken:
    """Ask a sensor about a world, from before the training until after it."""
    fault = fault or Fault()
    rng = np.random.default_rng([37, seed, sum(map(ord, model.name))])
    gain = 1 + float(rng.uniform(-model.gain, model.gain))
    polls = _polls(world, model, rng, fault)
    delay = 0.0 if model.counter else float(rng.uniform(0, model.delay)) * model.refresh_s
    if model.counter:
        values = _counted(world, model, rng, polls, gain)
        joules = np.diff(values) % model.wrap_j if model.wrap_j else np.diff(values)
        measured = Measured(polls[:-1], polls[1:], joules / np.diff(polls))
    else:
        values, measured = _published(world, model, rng, polls, gain, delay)
    if fault.repeated:
        again = rng.random(len(polls)) < fault.repeated
        again[0] = False
        values = values[np.maximum.accumulate(np.where(again, 0, np.arange(len(values))))]
    if fault.restart is not None:
        begin, seconds = fault.restart
        values = np.where((polls >= begin) & (polls < begin + seconds), 0.0, values)
    stamps = polls + world.plan.unix_s
    if fault.clock_step is not None:
        stamps = stamps + np.where(polls >= fault.clock_step[0], fault.clock_step[1], 0.0)
    return Taken(model, stamps, values, gain, float(polls[0]), delay, measured)


def _polls(
    world: World, model: Model, rng: np.random.Generator, fault: Fault
) -> npt.NDArray[np.float64]:
    """When the logger asked: late by a little each time, now and then by more; not a clockwork."""
    end = world.end - 0.2 if fault.cut is None else min(fault.cut, world.end - 0.2)
    first = (
        world.begin
        + model.window_s
        + model.refresh_s
        + model.poll_s
        + float(rng.uniform(0.05, 0.6))
    )
    if fault.begin is not None:
        first = max(first, fault.begin)
    period = model.poll_s * (1 + float(rng.uniform(-0.004, 0.01)))
    due = np.arange(first, end, period)
    if fault.pause is not None:
        due = due + np.floor(np.arange(len(due)) / fault.pause[0]) * fault.pause[1]
    late = rng.exponential(0.02 * model.poll_s, len(due)) + (
        rng.random(len(due)) < 0.01
    ) * rng.uniform(0, 0.5 * model.poll_s, len(due))
    asked = due + np.minimum(late, 0.9 * model.poll_s)
    kept = (rng.random(len(asked)) >= fault.missed) & (asked < end)
    return np.asarray(asked[kept])


def _published(
    world: World, model: Model, rng: np.random.Generator, polls: Floats, gain: float, delay: float
) -> tuple[Floats, Measured]:
    """What each poll is told, and what the sensor measured of that."""
    period = model.refresh_s * (1 + float(rng.uniform(-0.004, 0.004)))
    count = int((world.end - world.begin - model.window_s) / period)
    done = world.begin + model.window_s + float(rng.uniform(0, period)) + np.arange(count) * period
    done = np.minimum(done + rng.normal(0, 0.002 * period, count), world.end)
    if world.end - done[-1] > period:
        # It goes on publishing until the world ends, which need not be after whole periods.
        done = np.append(done, done[-1] + period)
    if model.forget_s:
        said = _remembered(world, model.forget_s, done)
    else:
        said = (
            world.joules(done - model.window_s, done) / model.window_s
            if model.window_s
            else world.power(done)
        )
    said = gain * said + model.noise_w * rng.standard_normal(len(done))
    if model.quantum:
        said = np.round(said / model.quantum) * model.quantum
    last = np.maximum(np.searchsorted(done + delay, polls, side="right") - 1, 0)
    published = np.unique(last)
    at = done[published]
    measured = Measured(at - model.window_s, at, np.asarray(said[published]))
    return np.asarray(said[last]), measured


def _remembered(world: World, forget_s: float, at: Floats) -> Floats:
    """What a filter of first order shows at these moments."""
    part = TICK / forget_s
    shown, now = np.empty(len(world.watts)), float(world.watts[:200].mean())
    for row, watts in enumerate(world.watts.tolist()):
        now += part * (watts - now)
        shown[row] = now
    return np.asarray(
        shown[np.clip(((at - world.begin) / TICK).astype(np.int64), 0, len(shown) - 1)]
    )


def _counted(
    world: World, model: Model, rng: np.random.Generator, polls: Floats, gain: float
) -> Floats:
    before = np.floor((polls - world.begin) / model.refresh_s) * model.refresh_s + world.begin
    joules = float(rng.uniform(1e4, 2.6e5)) + gain * world.joules(world.begin, before)
    joules = np.floor(joules / model.quantum) * model.quantum
    return np.asarray(joules % model.wrap_j if model.wrap_j else joules)
