"""Step times as machines produce them, and small traces and power logs with such steps.

What machines do was described before any recording was looked at: they are noisy, drift like a
random walk, decline while they warm up, jump between levels, are slowed for a while by something
else, have single long steps, and steps that are slower at regular intervals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

KINDS = (
    "white",
    "random walk",
    "autocorrelated",
    "decline",
    "trend",
    "levels",
    "slowed",
    "outliers",
    "periodic",
    "mixed",
)
UNIX_S = 1_760_000_000
LOG_START_S = -10.0  # of the power log, in time of the trace
_IDLE_W = 100.0


def step_series(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """Lengths of steps whose usual length is about 1."""
    steps = 1 + 0.05 * rng.standard_normal(count)
    if kind == "random walk":
        steps += 0.01 * np.cumsum(rng.standard_normal(count))
    if kind in ("autocorrelated", "mixed"):
        steps += _autocorrelated(count, 0.97, 0.08, rng)
    if kind in ("slowed", "periodic"):
        steps += _autocorrelated(count, 0.9, 0.03, rng)
    if kind in ("decline", "mixed"):
        steps += 0.6 * np.exp(-np.arange(count) / (count * rng.uniform(0.05, 0.4)))
    if kind == "trend":
        steps += np.linspace(0, rng.uniform(-0.3, 0.3), count)
    if kind == "levels":
        at = 0
        while at < count:
            length = int(rng.exponential(80)) + 10
            steps[at : at + length] += rng.uniform(0, 0.3)
            at += length
    if kind == "slowed":
        for _ in range(int(rng.integers(1, 3))):
            at = int(rng.integers(0, count))
            steps[at : at + int(rng.uniform(5, 60))] += rng.uniform(0.1, 0.6)
    if kind in ("outliers", "mixed"):
        steps += np.where(rng.random(count) < 0.01, rng.exponential(3, count), 0)
    if kind in ("periodic", "mixed"):
        steps[:: int(rng.integers(5, 60))] += rng.uniform(0.2, 2)
    return np.maximum(steps, 0.05)


def _autocorrelated(count: int, memory: float, sigma: float, rng: np.random.Generator) -> Floats:
    shocks = rng.standard_normal(count) * sigma * np.sqrt(1 - memory**2)
    out = np.empty(count)
    level = rng.standard_normal() * sigma
    for at in range(count):
        level = memory * level + shocks[at]
        out[at] = level
    return out


def write_run(
    folder: Path,
    steps_s: Floats,
    ops: Mapping[str, float],
    *,
    watts: Floats | float | None = None,
    host: str = "node",
    unix_s: int = UNIX_S,
) -> Path:
    """A trace of steps, each filled with ops by their shares of it, and a power log beside it.

    `watts` are those of each step; between readings of 0.1 s they are averaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = np.concatenate([[0.0], np.cumsum(steps_s)])
    events: list[dict[str, object]] = []
    for number, (start, length) in enumerate(zip(starts[:-1], steps_s, strict=True)):
        events.append(_event("user_annotation", f"ProfilerStep#{number}", start, length))
        at = start
        for name, share in ops.items():
            events.append(_event("cpu_op", name, at, share * length))
            at += share * length
    document = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": unix_s * 1_000_000_000,
        "traceEvents": events,
    }
    path = folder / f"{host}.pt.trace.json"
    path.write_text(json.dumps(document))
    if watts is not None:
        _write_power(folder / "power.csv", starts, np.broadcast_to(watts, len(steps_s)))
    return path


def _event(category: str, name: str, start_s: float, length_s: float) -> dict[str, object]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 99,
        "tid": 1,
        "ts": round(start_s * 1e6, 3),
        "dur": round(length_s * 1e6, 3),
    }


def _write_power(path: Path, starts: Floats, watts: Floats) -> None:
    """Ten idle seconds on either side, so that the clock's ± does not matter."""
    edges = np.concatenate([[LOG_START_S - 0.1], starts, [float(starts[-1]) + 10.0]])
    all_watts = np.concatenate([[_IDLE_W], watts, [_IDLE_W]])
    joules = np.concatenate([[0.0], np.cumsum(all_watts * np.diff(edges))])
    at = np.arange(edges[0], edges[-1], 0.1)
    means = np.diff(np.interp(at, edges, joules)) / 0.1
    # Readings that repeat would be taken for those of a slower sensor.
    means += np.random.default_rng(len(means)).normal(0, 0.5, len(means))
    rows = [f"{UNIX_S + t:.3f},{w:.3f}\n" for t, w in zip(at[1:], means, strict=True)]
    path.write_text("time_unix_s,watts\n" + "".join(rows))
