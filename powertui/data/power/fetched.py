"""The power of a run as a server answered it, read like any log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Badge, Clock, Figure, PowerSeries, worst_badge
from powertui.data.power import prometheus, registry, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.prometheus_metrics import Metric
from powertui.errors import PowertuiError, UnreadableFile
from powertui.power_server import ClockAhead, FetchedPower, PowerQuestion, PowerServer

_MIN_SAMPLES = 2.0  # in a window that is resolved: as `energy.measured_energy.MIN_REFRESHES`
_CLOCK_ERROR_NS = NS_PER_S  # of the server's clock against ours, as its answers show it


def fetch(server: PowerServer, url: str, question: PowerQuestion) -> FetchedPower:
    """Ask a server. Raises `UnreadableFile`, as for a log that cannot be read."""
    try:
        return server.fetch(question)
    except PowertuiError as error:
        problem = error.message.rstrip(".")
        raise UnreadableFile(url, problem, hint=error.hint) from None


def load(url: str, answer: FetchedPower, options: LogColumns) -> PowerLog:
    """A server's answer as a log. Raises `UnreadableFile` when it holds no power."""
    notes = Notes(url)
    metrics = []
    first_times_s = [series.times_s[0] for series in answer.series]
    zero_ns = round(min(first_times_s, default=0.0) * NS_PER_S)
    for series in answer.series:
        # A float holds today's Unix seconds to a quarter of a microsecond.
        times_s = np.asarray(series.times_s, np.float64)
        unix_ns = np.round(times_s * NS_PER_S).astype(np.int64)
        metric = Metric(
            labels=dict(series.labels),
            ns=unix_ns - zero_ns,
            values=np.asarray(series.values, np.float64),
            clock=_clock(answer, zero_ns, series.clock),
        )
        metrics.append(metric)
    for note in answer.notes:
        notes.say(note)
    resolution = _resolution_words(answer)
    log = prometheus.log_of_metrics(url, metrics, notes, options, resolution)
    step_s = answer.step_s
    if step_s is not None:
        means = [_of_means(series, step_s) for series in log.series]
        log = replace(log, series=tuple(means))
    return registry.checked(log, has_unit=True)


def _clock(answer: FetchedPower, zero_ns: int, compared: ClockAhead | None) -> Clock:
    """Where its zero lies: by the clock of its machine where the server compared the two, else by
    the server's, which may have been as wrong then as it is now.
    """
    detail = "the server's time stamps"
    if compared is not None:
        middle_ms = 500 * (compared.low_s + compared.high_s)
        half_ms = 500 * (compared.high_s - compared.low_s)
        return Clock(
            lo_ns=zero_ns + round(compared.low_s * NS_PER_S),
            hi_ns=zero_ns + round(compared.high_s * NS_PER_S),
            source=times.COMPARED,
            detail=(
                f"{detail}; the machine's clock was {middle_ms:+.3g} ± {half_ms:.2g} ms beside the "
                "server's, by node_time_seconds"
            ),
        )
    lo_ns = hi_ns = zero_ns
    if answer.ahead_s:
        right_ns = zero_ns - round(answer.ahead_s * NS_PER_S)
        lo_ns = min(zero_ns, right_ns - _CLOCK_ERROR_NS)
        hi_ns = max(zero_ns, right_ns + _CLOCK_ERROR_NS)
        direction = "ahead of" if answer.ahead_s > 0 else "behind"
        detail += f", whose clock is {abs(answer.ahead_s):.0f} s {direction} ours now"
    return Clock(lo_ns, hi_ns, times.ABSOLUTE, detail)


def _of_means(series: PowerSeries, step_s: float) -> PowerSeries:
    """A channel of means over steps: each reading is the mean of the step before it."""
    if series.joules is not None:  # a counter's steps lose nothing
        return series
    sensor = series.sensor
    sensor = replace(
        sensor,
        window_s=Figure(step_s, Badge.MEASURED),
        scale=worst_badge((sensor.scale, Badge.ESTIMATED)),
    )
    return replace(series, sensor=sensor)


def _resolution_words(answer: FetchedPower) -> str:
    """What came, how fine it is and what that resolves: the end of a sentence."""
    machines = {prometheus.machine_of(series.labels) for series in answer.series}
    of_machines = f"{len(machines)} of {answer.machine_count} machines"
    finest_s = _MIN_SAMPLES * (answer.step_s or answer.spacing_s)
    resolved = f"windows of {finest_s:.3g} s and more can be resolved at best"
    every = f"one every {answer.spacing_s:.3g} s"
    if answer.step_s is None:
        return f"all samples of {of_machines}, {every}; {resolved}"
    return (
        f"means over {answer.step_s:g} s of {of_machines}, because its samples ({every}) are too "
        f"many to fetch; {resolved}"
    )
