"""Power of a machine that runs steps, and the log that a sensor makes of it.

Described by what sensors do (docs/record.md) before any recording was compared: a board's
controller publishes means of a second, rounded to a watt, and who asks ten times a second reads
each of them ten times. What the machine draws is noisy, drifts slowly, rises while it warms up, and
differs from run to run, as do its steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.synthetic.step_world import UNIX_S, Floats

POWER_KINDS = ("steady", "drifting", "warming", "uneven", "neighbor")
RUN_SIGMA = 0.005  # by which the power of whole runs differs
_GRID_S = 0.02
_MARGIN_S = 8.0  # of idle machine on either side of the steps
_IDLE_W, _INPUT_W, _COMPUTE_W = 150.0, 190.0, 270.0
_INPUT_SHARE = 0.15  # of a step, at its beginning
_NEIGHBOR_W = 60.0


@dataclass(frozen=True)
class SimulatedSensor:
    """How watts become a log."""

    mean_s: float  # a value is the mean of so long, and holds until the next one
    poll_s: float
    rounded_w: float


SENSORS = {
    "means of 1 s, read every 0.1 s": SimulatedSensor(1.0, 0.1, 1.0),
    "means of 0.1 s": SimulatedSensor(0.1, 0.1, 0.1),
}


def write_power_log(
    folder: Path,
    kind: str,
    steps_s: Floats,
    sensor: SimulatedSensor,
    factor: float,
    rng: np.random.Generator,
) -> None:
    """`power.csv` of a run with these steps; its steps draw `factor` times as much."""
    edges = np.concatenate([[0.0], np.cumsum(steps_s)])
    at = np.arange(-_MARGIN_S, edges[-1] + _MARGIN_S, _GRID_S)
    watts = _drawn(kind, at, edges, factor * rng.normal(1, RUN_SIGMA), rng)
    joules = np.concatenate([[0.0], np.cumsum(watts * _GRID_S)])
    # The controller's seconds are not those of the training.
    published = np.arange(at[0] + rng.uniform(0, sensor.mean_s), at[-1], sensor.mean_s)
    means = np.diff(np.interp(published, np.append(at, at[-1] + _GRID_S), joules)) / sensor.mean_s
    means = np.round(means / sensor.rounded_w) * sensor.rounded_w
    polls = np.arange(published[1], published[-1], sensor.poll_s) + sensor.poll_s / 2
    seen = means[np.searchsorted(published[1:], polls, side="right") - 1]
    rows = [f"{UNIX_S + t:.3f},{w:.1f}\n" for t, w in zip(polls, seen, strict=True)]
    (folder / "power.csv").write_text("time_unix_s,watts\n" + "".join(rows))


def _drawn(kind: str, at: Floats, edges: Floats, factor: float, rng: np.random.Generator) -> Floats:
    """The true watts on the grid."""
    step = np.searchsorted(edges, at, side="right") - 1
    running = (at >= 0) & (at < edges[-1])
    inside = np.clip(step, 0, len(edges) - 2)
    phase = (at - edges[inside]) / np.diff(edges)[inside]
    work_w = np.where(phase < _INPUT_SHARE, _INPUT_W, _COMPUTE_W)
    if kind == "uneven":
        work_w = work_w + rng.normal(0, 20, len(edges) - 1)[inside]
    if kind == "warming":
        work_w = work_w * (1 + 0.03 * (1 - np.exp(-np.maximum(at, 0) / rng.uniform(3, 20))))
    if kind == "drifting":
        work_w = work_w * (1 + 0.01 * _wander(len(at), 5.0, rng))
    watts = np.where(running, factor * work_w, _IDLE_W)
    watts = watts + _wander(len(at), 2.0, rng) + rng.normal(0, 1, len(at))
    if kind == "neighbor":
        begin = rng.uniform(0, edges[-1])
        watts = watts + _NEIGHBOR_W * ((at > begin) & (at < begin + rng.uniform(1, 8)))
    return np.asarray(watts)


def _wander(count: int, memory_s: float, rng: np.random.Generator) -> Floats:
    """Noise that remembers, with a deviation of 1."""
    memory = np.exp(-_GRID_S / memory_s)
    shocks = rng.standard_normal(count) * np.sqrt(1 - memory**2)
    out = np.empty(count)
    level = rng.standard_normal()
    for at in range(count):
        level = memory * level + shocks[at]
        out[at] = level
    return out
