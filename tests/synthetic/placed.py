"""Synthetic recordings through the program's own readers: bytes to trace, steps and epochs; sensor
to placed series.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from powertui.data.energy import (
    expected_work,
    placing,
    samples,
    sensor,
    signal_alignment,
    window_shares,
)
from powertui.data.energy.alignment_places import Fit
from powertui.data.formats import registry
from powertui.data.model import Epoch, Epochs, PowerOnTrace, PowerSeries, Steps, Trace
from powertui.data.run import clocks, epochs

from .power import SENSORS, Recording, record, series
from .workload import Plan, Workload, build


@dataclass
class Made:
    """One workload with its trace as read back from XPlane bytes."""

    work: Workload
    trace: Trace
    steps: Steps
    epochs: Epochs

    def shares(self, least_s: float) -> window_shares.WindowShares:
        return window_shares.shares(
            expected_work.activities(self.trace), self.trace.span, least_s=least_s
        )


def make(seed: int, plan: Plan | None = None) -> Made:
    """Build, write as XPlane, read again."""
    work = build(seed, plan or Plan())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.xplane.pb"
        path.write_bytes(work.xplane())
        trace = list(registry.load(str(path)))[-1]
    trace = replace(trace, clock=clocks.best_clock(trace))
    steps, _ = epochs.mark(trace)
    bounds = tuple(
        Epoch(i, round(lo * 1e12), round(hi * 1e12), "synthetic")
        for i, (lo, hi) in enumerate(work.epochs)
    )
    return Made(work, trace, steps, Epochs(bounds))


def sensed(made: Made, name: str, seed: int, **options: float) -> tuple[PowerSeries, Recording]:
    """What a sensor recorded of it, described as a reader would."""
    taken = record(made.work, SENSORS[name], seed, **options)
    return sensor.describe(series(taken)), taken


def truly_placed(found: PowerSeries, taken: Recording) -> PowerOnTrace:
    """The series exactly where it belongs."""
    at = round(taken.offset_s * 1e12)
    return placing.on_trace(found, at, at, at, "aligned", "truth")


def search(made: Made, found: PowerSeries, **options: object) -> Fit | str:
    """Alignment by signal of one recording."""
    data = samples.power_samples(found)
    gaps = made.steps.start_to_start()
    usual = float(np.median(gaps[gaps > 0])) / 1e12
    return signal_alignment.search(data, made.shares(data.refresh), step_s=usual, **options)  # type: ignore[arg-type]
