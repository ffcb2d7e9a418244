"""A log on a training by its edges: what its readings say of its clock, and where it is without
one.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import (
    clock_alignment,
    clock_check,
    clock_kinds,
    devices,
    edge_matching,
    log_alignment,
    samples,
    settings,
)
from powertui.data.energy.clock_advice import RECORD_ENDS, clock_advice
from powertui.data.energy.clock_kinds import ClockOffset
from powertui.data.energy.edge_matching import OffsetWeights
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.window_shares import OUTSIDE, WindowShares
from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.data.run.zones import HALF_HOUR_S
from powertui.data.training import expected_edges
from powertui.data.training.stretches import KINDS, TRAINING
from powertui.data.training.training_records import TrainingRecords
from powertui.data.training.training_start import stretches_from_start

# Bins of the training's course. Chosen, not measured.
_GRID_BINS = 1 << 16
# The clocks of two programs on one machine agree this well. Chosen, not measured.
_CLOCK_ERROR_S = settings.SAME_CLOCK_S
# Log and training overlap by this part of the shorter one. Chosen, not measured.
_MIN_OVERLAP_SHARE = settings.LESSER_SHARE
_EPOCH_SHARE = settings.VISIBLE_SHARE  # of an epoch: longer means of readings hide its edges
_MIN_SAMPLES = settings.MIN_SAMPLE_VALUES
_MAX_HALF_HOURS = 28  # time zones reach 14 hours
# Beside whole half hours a clock in another zone is off as any other.
_ZONE_S = settings.FOREIGN_CLOCK_S
_MAX_HOURS_LOG_S = 12 * HALF_HOUR_S  # a longer log would meet the training in its own zone, too


def place_by_clock(
    training: TrainingRecords,
    series: PowerSeries,
    clock: Clock,
    *,
    check: bool,
) -> Alignment:
    """Where wall time puts a log, and what its readings say of that; s from the clock's middle."""
    half = clock.half_ns / NS_PER_S + _CLOCK_ERROR_S
    by_clock = Alignment(
        offset_s=0.0,
        lo_s=-half,
        hi_s=half,
        status="aligned",
        source=clock.source,
        evidence=(clock.detail or clock.source,),
    )
    if not check:
        return by_clock
    kind = clock_kinds.clock_kind(series, _hosts(training), _gpu_ids(training))
    kind = clock_kinds.MARKED if clock.source == log_alignment.MARKER else kind
    half = clock.half_ns / NS_PER_S
    offset = ClockOffset(
        lo_s=-half,
        hi_s=half,
        kind=kind,
    )

    def judge() -> clock_check.Verdict:
        data = samples.power_samples(series)
        weights = _weights_of_edges(training, data, clock.mid_ns, offset.search_range)
        readings = None if isinstance(weights, str) else weights
        return clock_check.judge(offset, readings, data)

    # Power is placed again whenever a session was read. That changes no edge, and this takes most
    # of the time.
    name = f"clock of {series.path} {series.sensor.name} {series.sensor.device}"
    verdict = training.told_by_epochs(name, judge, (clock.mid_ns, offset))
    advice = RECORD_ENDS
    run_ns = training.extent_ns
    if run_ns is not None:
        zero_ns = clock.mid_ns + round(verdict.offset_s * NS_PER_S)
        advice = clock_advice(series, zero_ns, run_ns)
    return clock_alignment.checked(by_clock, offset, verdict, advice)


def hours_off(training: TrainingRecords, series: PowerSeries, clock: Clock) -> list[str]:
    """Whether a log that does not meet the training would fit it in another time zone.

    It is said and not believed: a program that starts every hour leaves logs that fit as well.
    """
    data = samples.power_samples(series)
    if not len(data) or float(data.hi[-1] - data.lo[0]) > _MAX_HOURS_LOG_S:
        return []
    weights = _weights_of_edges(training, data, clock.mid_ns, None)
    if isinstance(weights, str):
        return []
    verdict = clock_check.judge(None, weights, data)
    halves = round(verdict.offset_s / HALF_HOUR_S)
    beside_s = abs(verdict.offset_s - halves * HALF_HOUR_S)
    if verdict.status != "aligned" or not 0 < abs(halves) <= _MAX_HALF_HOURS or beside_s > _ZONE_S:
        return []
    way = "ahead" if verdict.offset_s < 0 else "behind"
    hours = f"{abs(halves) / 2:g} h {way}"
    return [f"its readings fit this training if its clock is {hours}: --align signal takes that"]


def _hosts(training: TrainingRecords) -> list[str]:
    """Its machines: those of its sessions, else those that wrote its scalars."""
    return [session.host for session in training.islands] or list(training.entry.hosts)


def _gpu_ids(training: TrainingRecords) -> frozenset[str]:
    """What the sessions that were read call their GPUs."""
    sessions = training.read_sessions()
    traces = [trace for opened in sessions for trace in opened.run.traces]
    return frozenset().union(*(devices.shown_ids(trace) for trace in traces))


def _weights_of_edges(
    training: TrainingRecords,
    data: samples.Samples,
    base_ns: int,
    range_s: tuple[float, float] | None,
) -> OffsetWeights | str:
    """How likely each offset is by the edges of the training, in s from `base_ns`."""
    edges = expected_edges.expected_edges(training, base_ns)
    shares = _shares_of(training, base_ns)
    if edges is None or shares is None or not len(data):
        return "the records of the training show no edges"
    first, last = edges.span
    least = _MIN_OVERLAP_SHARE * min(last - first, float(data.hi[-1] - data.lo[0]))
    lo = first + least - float(data.hi[-1])
    hi = last - least - float(data.lo[0])
    if range_s is not None:
        lo = max(lo, range_s[0])
        hi = min(hi, range_s[1])
        # Of a log of weeks only what may be near the training.
        beside = last - first
        near = (data.hi > first - hi - beside) & (data.lo < last - lo + beside)
        data = data[near]
    if len(data) < _MIN_SAMPLES or hi <= lo:
        return "log and training do not overlap enough at any offset"
    longest_mean_s = _EPOCH_SHARE * (last - first) / max(len(training.epochs), 1)
    weights = edge_matching.offset_weights(
        data=data,
        edges=edges,
        shares=shares,
        range_s=(lo, hi),
        longest_mean_s=longest_mean_s,
    )
    if not training.epochs and len(edges) == 2 and not isinstance(weights, str):
        # A loop may have compiled before its first record and evaluated after its last one.
        return weights._replace(may_overrule=False)
    return weights


def place_by_edges(
    training: TrainingRecords,
    series: PowerSeries,
    base: int,
    notes: list[str],
) -> Alignment | None:
    """Where a log without wall time is; s from `base`."""
    data = samples.power_samples(series)
    weights = _weights_of_edges(training, data, base, None)
    if isinstance(weights, str):
        notes.append(f"by the edges of the training: {weights}")
        return None
    verdict = clock_check.judge(None, weights, data)
    words = f"{weights.matched} of {weights.jumps} jumps of power happen at edges of the training"
    return Alignment(
        offset_s=verdict.offset_s,
        lo_s=verdict.lo_s,
        hi_s=verdict.hi_s,
        status=verdict.status,
        source=log_alignment.SIGNAL,
        evidence=(*notes, words, *log_alignment.places_in_words(verdict.places)),
        places=verdict.places,
    )


def _shares_of(training: TrainingRecords, base: int) -> WindowShares | None:
    """What a sensor should have seen of the training: steps, validation, pauses, and neither.

    Seconds from `base`.
    """
    stretches = stretches_from_start(training)
    if not len(stretches) or not stretches.seconds(TRAINING):
        return None
    lo = int(stretches.start[0])
    hi = int(stretches.end.max())
    grid = np.linspace(lo, hi, _GRID_BINS + 1).astype(np.int64)
    length = (hi - lo) / NS_PER_S
    names = [
        kind
        for kind in KINDS
        if stretches.seconds(kind) >= max(settings.SLIGHT_SHARE * length, 1.0)
    ]
    if TRAINING not in names:
        return None
    table = np.stack([stretches.running(kind, grid) / NS_PER_S for kind in names], axis=1)
    span = ((lo - base) / NS_PER_S, (hi - base) / NS_PER_S)
    return WindowShares(
        names=("base", *names, OUTSIDE),
        span=span,
        training=span,
        table=table,
        mixture=table[-1] / max(length, 1e-12),
        step=length / _GRID_BINS,
        has_bounds=True,
    )
