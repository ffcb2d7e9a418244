"""Where a power log lies on a trace: a ladder of evidence, the best first, every rung shown.

    by hand > recorded in the trace itself > wall clocks on both sides > PowerBoard's marker > local
    times whose zone something tells > by signal > none

An offset is the trace time at which the log's own zero lies. It always comes with a 95 % interval
and with the words that say why. Signal alignment never overrules a clock: it only works inside a
clock's interval when that is wide.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.energy import (
    anchor,
    log_alignment,
    placing,
    power_owners,
    samples,
    sensor,
    settings,
    work_alignment,
)
from powertui.data.energy.alignment_places import Fit
from powertui.data.energy.clock_alignment import BY_HAND, by_clocks
from powertui.data.energy.hand_alignment import placed_by_hand
from powertui.data.energy.log_alignment import (
    SIGNAL,
    Alignment,
    AlignmentContext,
    Placed,
    places_in_words,
    unplaced,
)
from powertui.data.energy.offset_costs import MIN_SAMPLES
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import IN_TRACE, NS_PER_S, PS_PER_S, PowerSeries, Run
from powertui.data.quantiles import median_of_column, percentiles_of_column
from powertui.errors import UsageError

_MIN_STEP_SHARE = settings.NEGLIGIBLE_SHARE  # of the power: where a sensor's rounding is not known


def seconds(text: str) -> float:
    """A time as a person writes it: "1.25s", "-300ms", "2min", "12"."""
    time_ps = units.parse_time(text)
    if time_ps is None or abs(time_ps) > placing.FARTHEST_PS:
        raise UsageError(f"`{text}` is not a time.", hint="Write it like 1.25s, -300ms or 2min.")
    return time_ps / PS_PER_S


def place_all(
    run: Run,
    index: int,
    entry: RunEntry | None = None,
    options: Aligning | None = None,
    around_ns: tuple[int, int] | None = None,
) -> tuple[Placed, ...]:
    """Every channel of a trace's own host on that trace. Channels of one file have one clock, so
    they are placed together.

    `around_ns` is when the training around the profile ran: a log may meet that and not the
    profile.
    """
    options = options or Aligning()
    if not run.power or index >= len(run.traces):
        return ()
    channels = [sensor.described(run.power[row]) for row in power_owners.of_run(run).mine(index)]
    paths = [series.path for series in channels if series.path]

    @functools.cache
    def logs() -> Sequence[EventLog]:
        return anchor.near(entry, paths)

    context = AlignmentContext(
        run.traces[index], run.steps[index], run.epochs[index], logs, around_ns
    )
    rows_by_log: dict[str, list[int]] = {}
    for row, series in enumerate(channels):
        rows_by_log.setdefault(series.path or str(row), []).append(row)
    placed: dict[int, Placed] = {}
    for rows in rows_by_log.values():
        lead = max((channels[row] for row in rows), key=liveliness)
        alignment = place(lead, context, options).alignment
        for row in rows:
            shift_s = _zero_after(lead, channels[row])
            placed[row] = log_alignment.placed(channels[row], alignment.moved(shift_s))
    return tuple(placed[row] for row in range(len(channels)))


def _zero_after(lead: PowerSeries, series: PowerSeries) -> float:
    """How much later the zero of a channel is than that of another one of its log (s)."""
    if not series.clock.known or not lead.clock.known:
        return 0.0
    return (series.clock.mid_ns - lead.clock.mid_ns) / NS_PER_S


def place(
    series: PowerSeries,
    context: AlignmentContext,
    options: Aligning | None = None,
) -> Placed:
    """One channel on a trace, by the best evidence there is."""
    return log_alignment.placed(series, _ladder(series, context, options or Aligning()))


def _ladder(series: PowerSeries, context: AlignmentContext, options: Aligning) -> Alignment:
    by_hand = placed_by_hand(options)
    if by_hand is not None:
        return by_hand
    if options.mode == "none":
        return unplaced("alignment is switched off")
    reasons: list[str] = []
    alignment = _recorded_in_trace(series, context)
    if alignment is None and options.mode in ("auto", "clock"):
        alignment = by_clocks(series, context, options, reasons)
    if alignment is None and options.mode in ("auto", "signal"):
        alignment = _by_signal(series, context, reasons, asked=options.mode == "signal")
    if alignment is None:
        return unplaced(*reasons, BY_HAND)
    placed = log_alignment.placed(series, alignment)
    return log_alignment.moved(placed, options.pins.nudge_s).alignment


def _recorded_in_trace(series: PowerSeries, context: AlignmentContext) -> Alignment | None:
    if series.sensor.source != IN_TRACE or series.path != context.trace.path:
        return None
    words = "the power was recorded on the clock of the trace's events"
    return Alignment(0.0, 0.0, 0.0, "aligned", IN_TRACE, (words,))


def _by_signal(
    series: PowerSeries,
    context: AlignmentContext,
    reasons: list[str],
    *,
    asked: bool,
) -> Alignment | None:
    fit = _search(series, context)
    if isinstance(fit, str):
        reasons.append(f"by signal: {fit}")
        return None
    evidence = ["wall clocks were ignored, as requested"] if asked else reasons[-1:]
    evidence += [_fit_in_words(fit), *fit.reasons]
    if fit.ambiguous:
        evidence += places_in_words(fit.places)
    return Alignment(
        offset_s=fit.offset_s,
        lo_s=fit.lo_s,
        hi_s=fit.hi_s,
        status="ambiguous" if fit.ambiguous else "aligned",
        source=SIGNAL,
        evidence=tuple(evidence),
        ppm=fit.ppm,
        fit=fit,
        places=fit.places if fit.ambiguous else (),
    )


def _search(series: PowerSeries, context: AlignmentContext) -> Fit | str:
    if context.trace.span[1] <= context.trace.span[0]:
        return "the profile is empty"
    data = samples.power_samples(series)
    return work_alignment.fit_by_work(data, context)


def _fit_in_words(fit: Fit) -> str:
    idle_w = fit.watts[0][1]
    above_idle = [f"{name} {watts:+.0f} W" for name, watts in fit.watts[1:] if round(watts) > 0]
    kinds = ", ".join(above_idle) or "nothing above it"
    next_best = f"; next best at {fit.runner_up_s:.2f} s" if fit.runner_up_s is not None else ""
    return (
        f"what ran explains {units.percent(max(fit.r2, 0))} of the variation of "
        f"{fit.samples} samples (idle {idle_w:.0f} W, {kinds}){next_best}"
    )


def liveliness(series: PowerSeries) -> float:
    """How much a channel has to say about time: its swing in steps of its own resolution."""
    watts = series.watts[np.isfinite(series.watts)]
    if len(watts) < MIN_SAMPLES:
        return -1.0
    step_w = series.sensor.quantum_w.value if series.sensor.quantum_w else 0.0
    low_w, high_w = percentiles_of_column(watts, (5, 95))
    swing_w = float(high_w - low_w)
    least_step_w = _MIN_STEP_SHARE * abs(median_of_column(watts))
    return swing_w / max(step_w, least_step_w, 1e-9)
