"""What a sensor says of a workload: averaging, refresh, delay, rounding, noise, drop-outs and
repeated polls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from powertui.data.model import Badge, Figure, PowerKind, PowerSeries, Scope, Sensor

from .workload import Workload

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SensorModel:
    """Mean over `window_s`, published every `refresh_s` after `delay_s`, asked every `poll_s`."""

    name: str
    refresh_s: float
    window_s: float  # 0: the power of a moment
    poll_s: float
    quantum: float = 0.0  # W, or J for a counter
    noise_w: float = 1.0
    delay_s: float = 0.0
    counter_wrap_j: float = 0.0  # not 0: a joule counter that wraps here


SENSORS = {
    m.name: m
    for m in (
        SensorModel("nvml-1s", 1.0, 1.0, 1.0, quantum=1.0),
        SensorModel("nvml-25/100", 0.1, 0.025, 0.1),
        SensorModel("occ-40ms", 0.04, 0.0, 0.04),
        SensorModel("ipmi-3s/7W", 3.0, 3.0, 0.27, quantum=7.0),
        SensorModel("rapl", 0.1, 0.0, 0.1, quantum=61e-6, noise_w=0.0, counter_wrap_j=2048.0),
        SensorModel("pdu-10s", 10.0, 10.0, 10.0, quantum=1.0),
    )
}


@dataclass
class Recording:
    """Rows as a logger would write them (its own seconds, watts or joules), and where its zero
    really lies.
    """

    model: SensorModel
    seconds: Floats
    values: Floats
    offset_s: float  # trace time of the log's zero
    ppm: float

    def csv(self) -> str:
        column = "joules" if self.model.counter_wrap_j else "watts"
        rows = "".join(f"{t:.6f},{v:.9g}\n" for t, v in zip(self.seconds, self.values, strict=True))
        return f"elapsed_s,{column}\n{rows}"


def record(
    work: Workload,
    model: SensorModel,
    seed: int,
    *,
    offset_s: float | None = None,
    ppm: float = 0.0,
    drop: float = 0.0,
) -> Recording:
    """Sample the whole stretch that the workload knows.

    The log's zero lies `offset_s` into the trace's time.
    """
    rng = np.random.default_rng([11, seed])
    begin, end = float(work.edges[0]), float(work.edges[-1])
    warm = max(model.window_s, model.refresh_s) + model.delay_s
    published = np.arange(begin + warm + rng.uniform(0, model.refresh_s), end, model.refresh_s)
    low = published - model.delay_s - model.window_s
    if model.counter_wrap_j:
        raw = work.energy(np.full_like(published, begin), published - model.delay_s)
        raw = np.floor(raw / model.quantum) * model.quantum % model.counter_wrap_j
    else:
        mean = (
            work.energy(low, published - model.delay_s) / model.window_s
            if model.window_s
            else work.power(low)
        )
        raw = mean + rng.normal(0, model.noise_w, len(mean))
        if model.quantum:
            raw = np.round(raw / model.quantum) * model.quantum
    # Each poll takes a little longer or shorter than the last, and sees what was published before
    # it.
    gaps = model.poll_s * (
        1 + 0.15 * rng.standard_normal(int((end - published[0]) / model.poll_s) + 1).clip(-3, 3)
    )
    own_clock = model.poll_s == model.refresh_s  # read as it is published
    polls = published if own_clock else published[0] + np.cumsum(gaps)
    polls = polls[polls < end]
    values = raw[np.searchsorted(published, polls, side="right") - 1]
    if drop:
        keep = rng.random(len(polls)) >= drop
        polls, values = polls[keep], values[keep]
    if offset_s is None:
        offset_s = begin + float(rng.uniform(0, 1))
    return Recording(model, (polls - offset_s) / (1 + ppm * 1e-6), values, offset_s, ppm)


def series(recording: Recording, *, known: bool = True) -> PowerSeries:
    """The recording as a reader would hand it over; `known`: the dialect's defaults for window and
    delay are filled in.
    """
    model = recording.model
    sensor = Sensor(model.name, "synthetic", Scope.NODE)
    if known:
        window = model.window_s
        sensor = replace(
            sensor,
            window_s=Figure(window, Badge.ASSUMED),
            delay_s=Figure(model.delay_s, Badge.ASSUMED),
        )
    times = np.round(recording.seconds * 1e9).astype(np.int64)
    if not model.counter_wrap_j:
        return PowerSeries(sensor, times, recording.values, PowerKind.SAMPLED)
    joules = np.diff(recording.values, prepend=np.nan)
    joules[joules < 0] += model.counter_wrap_j
    watts = joules / np.diff(recording.seconds, prepend=np.nan)
    return PowerSeries(sensor, times, watts, PowerKind.INTERVAL, joules=joules)
