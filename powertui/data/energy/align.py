"""Where a power log lies on a trace: a ladder of evidence, the best first, every rung shown.

    by hand > recorded in the trace itself > wall clocks on both sides > PowerBoard's marker > local
    times whose zone something tells > by signal > none

An offset is the trace time at which the log's own zero lies. It always comes with a 95 % interval
and with the words that say why. Signal alignment never overrules a clock: it only works inside a
clock's interval when that is wide.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.energy import (
    anchor,
    clock_check,
    clock_kinds,
    expected_work,
    log_zone,
    meeting,
    pins,
    placing,
    power_owners,
    samples,
    sensor,
    signal_alignment,
    window_shares,
)
from powertui.data.energy.alignment_places import Fit, Where
from powertui.data.energy.clock_check import ClockOffset, Status, Verdict
from powertui.data.energy.edge_matching import OffsetWeights, weights_of_places
from powertui.data.energy.offset_costs import MIN_SAMPLES
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    Clock,
    Epochs,
    LogPlace,
    PowerOnTrace,
    PowerSeries,
    Run,
    Steps,
    Trace,
)
from powertui.data.power import in_trace, times
from powertui.errors import UsageError
from powertui.value_types import dataclass

# What the timeline and the integrals ask: whether one place is as good as sure.
_STATUS_ON_TRACE: dict[Status, Literal["aligned", "ambiguous", "none"]] = {
    "aligned": "aligned",
    "clock corrected": "aligned",
    "ambiguous": "ambiguous",
    "cannot tell": "ambiguous",
    "none": "none",
}

CLOCKS, MARKER, LOCAL, SIGNAL = (
    "wall clocks of both",
    "powerboard marker",
    "local time, zone found",
    "by signal",
)
OFFSET, PINNED, NOTHING = "set by hand", "pinned by hand", "none"
BY_HAND = "give --offset, or --pins, to place it by hand"
_SAME_CLOCK = in_trace.SOURCE
# Two programs on one machine read one clock, but not at the same moment.
_CLOCK_READ_SLACK_S = 0.010
_MAX_TIME_PS = 1 << 62
# Of a training: a profile that covers less of it says less of where a log is than the whole.
# Chosen, not measured.
MIN_COVERED_SHARE = 0.5
# Share of the variation that a fit must explain before samples say anything about a clock.
_MIN_EXPLAINED_SHARE = 0.5


def seconds(text: str) -> float:
    """A time as a person writes it: "1.25s", "-300ms", "2min", "12"."""
    time_ps = units.parse_time(text)
    if time_ps is None or abs(time_ps) > _MAX_TIME_PS:
        raise UsageError(f"`{text}` is not a time.", hint="Write it like 1.25s, -300ms or 2min.")
    return time_ps / PS_PER_S


@dataclass(frozen=True)
class Alignment:
    """Where the log's zero lies on the trace (s), and why. Without evidence the times are None."""

    offset_s: float | None
    lo_s: float | None
    hi_s: float | None
    status: Status
    source: str
    evidence: tuple[str, ...]
    ppm: float = 0.0
    fit: Fit | None = None
    # Where it is not sure: every place in question, the likeliest (`offset_s`) first.
    places: tuple[Where, ...] = ()
    # The sentence of a log that does not meet the run: it is another run's, and nothing places it
    # here.
    elsewhere: str = ""
    # What was added to the times that the log's clock gives.
    correction_s: float = 0.0
    clock_sentence: str = ""  # what readings and clock say of each other, for a person

    @property
    def is_sure(self) -> bool:
        """Whether readings or clocks leave one place."""
        return self.status in ("aligned", "clock corrected")

    def moved(self, by_s: float) -> Alignment:
        """The same for a log whose zero lies `by_s` later."""
        if self.offset_s is None or self.lo_s is None or self.hi_s is None:
            return self
        places = tuple(p._replace(offset_s=p.offset_s + by_s) for p in self.places)
        return replace(
            self,
            offset_s=self.offset_s + by_s,
            lo_s=self.lo_s + by_s,
            hi_s=self.hi_s + by_s,
            places=places,
        )

    def as_dict(self) -> dict[str, Any]:
        """As `powertui energy --json` shows it."""
        shown: dict[str, Any] = {
            "offset_s": self.offset_s,
            "lo_s": self.lo_s,
            "hi_s": self.hi_s,
            "source": self.source,
            "status": self.status,
            "correction_s": self.correction_s,
            "evidence": list(self.evidence),
            "drift_ppm": self.ppm,
            "places": [{"offset_s": p.offset_s, "weight": p.weight} for p in self.places],
        }
        if self.fit is not None:
            shown["fit"] = {
                "r2": self.fit.r2,
                "runner_up_s": self.fit.runner_up_s,
                "elsewhere": self.fit.elsewhere,
                "window_s": self.fit.window_s,
                "samples": self.fit.samples,
                "effective_samples": self.fit.effective,
                "watts": dict(self.fit.watts),
            }
        return shown


@dataclass(frozen=True)
class Placed:
    """One channel on one trace."""

    power: PowerOnTrace
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class AlignmentContext:
    """What alignment may look at beside the two logs."""

    trace: Trace
    steps: Steps
    epochs: Epochs
    logs: Callable[[], Sequence[EventLog]] = tuple  # read only when a marker is asked for
    around_ns: tuple[int, int] | None = (
        None  # first and last moment of the training around the profile (Unix ns)
    )

    @functools.cached_property
    def training(self) -> tuple[int, int] | None:
        """When training ran (ps), as far as something says so to a second."""
        epochs = [
            epoch
            for epoch in self.epochs
            if epoch.start is not None and epoch.end is not None and epoch.slack < PS_PER_S
        ]
        if not epochs:
            return None
        ends = [epoch.end for epoch in epochs if epoch.end is not None] + [
            p.end for p in self.epochs.phases
        ]
        return min(epoch.start for epoch in epochs if epoch.start is not None), max(ends)

    @property
    def span_with_training(self) -> tuple[int, int]:
        """First and last moment (ps) of the profile and of the training around it."""
        lo, hi = self.trace.span
        if self.training is None:
            return lo, hi
        return min(lo, self.training[0]), max(hi, self.training[1])

    @property
    def covers_training(self) -> bool:
        """Whether the profile tells more of the training than its records do."""
        if self.around_ns is None:
            return True
        length_ns = (self.trace.span[1] - self.trace.span[0]) / PS_PER_NS
        return length_ns > MIN_COVERED_SHARE * (self.around_ns[1] - self.around_ns[0])

    @functools.cached_property
    def step_s(self) -> float | None:
        """The usual distance of two steps."""
        distance = self.steps.usual_distance(min_count=3)
        return distance / PS_PER_S if distance is not None else None

    @functools.cached_property
    def activities(self) -> tuple[expected_work.Activity, ...]:
        return expected_work.activities(self.trace)

    def shares(self, least_s: float) -> window_shares.WindowShares:
        return window_shares.shares(
            self.activities, self.trace.span, self.training, least_s=least_s
        )


def is_doubtful(alignment: Alignment) -> bool:
    """Whether the log may lie elsewhere, or nothing shows that it does not."""
    return alignment.status in ("ambiguous", "cannot tell")


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
    mine = [run.power[i] for i in power_owners.of_run(run).mine(index)]
    every = [s if s.sensor.poll_s is not None else sensor.describe(s) for s in mine]
    paths = [s.path for s in every if s.path]

    @functools.cache
    def logs() -> Sequence[EventLog]:
        return anchor.near(entry, paths)

    context = AlignmentContext(
        run.traces[index], run.steps[index], run.epochs[index], logs, around_ns
    )
    groups: dict[str, list[int]] = {}
    for number, series in enumerate(every):
        groups.setdefault(series.path or str(number), []).append(number)
    placed: dict[int, Placed] = {}
    for numbers in groups.values():
        lead = max(numbers, key=lambda n: liveliness(every[n]))
        first = place(every[lead], context, options)
        for number in numbers:
            series = every[number]
            shift = 0.0
            if series.clock.known and every[lead].clock.known:
                shift = (series.clock.mid_ns - every[lead].clock.mid_ns) / NS_PER_S
            placed[number] = Placed(
                put_on_trace(series, first.alignment.moved(shift)), first.alignment.moved(shift)
            )
    return tuple(placed[n] for n in range(len(every)))


def place(
    series: PowerSeries, context: AlignmentContext, options: Aligning | None = None
) -> Placed:
    """One channel on a trace, by the best evidence there is."""
    options = options or Aligning()
    alignment = _ladder(series, context, options)
    return Placed(put_on_trace(series, alignment), alignment)


def moved(placed: Placed, by_s: float) -> Placed:
    """The same channel, shifted by hand."""
    if placed.alignment.offset_s is None or not by_s:
        return placed
    alignment = placed.alignment.moved(by_s)
    alignment = replace(
        alignment,
        source=OFFSET,
        evidence=(*alignment.evidence, f"shifted by hand by {by_s:+.3f} s"),
    )
    return Placed(put_on_trace(placed.power.series, alignment), alignment)


def shifted(power: PowerOnTrace, by_ps: int) -> PowerOnTrace:
    """A placed channel moved by hand, without looking for evidence again."""
    return placing.shifted(power, by_ps, source=OFFSET)


def put_on_trace(series: PowerSeries, alignment: Alignment) -> PowerOnTrace:
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        lo, hi = -(1 << 62), 1 << 62
        return placing.on_trace(series, 0, lo, hi, "none", alignment.source)
    status = _STATUS_ON_TRACE[alignment.status]
    at, lo, hi = (round(x * PS_PER_S) for x in (alignment.offset_s, alignment.lo_s, alignment.hi_s))
    places = [
        LogPlace(round(place.offset_s * PS_PER_S), place.weight, round(place.half_s * PS_PER_S))
        for place in alignment.places
    ]
    if not alignment.ppm:
        return placing.on_trace(series, at, lo, hi, status, alignment.source, places)
    stretched = replace(
        series,
        times=series.times + np.round(series.times * (alignment.ppm * 1e-6)).astype(np.int64),
    )
    return replace(
        placing.on_trace(stretched, at, lo, hi, status, alignment.source, places),
        series=series,
    )


def _ladder(series: PowerSeries, context: AlignmentContext, options: Aligning) -> Alignment:
    reasons: list[str] = []
    by_hand = placed_by_hand(options)
    if by_hand is not None:
        return by_hand
    alignment: Alignment | None = None
    if options.mode == "none":
        return Alignment(None, None, None, "none", NOTHING, ("alignment is switched off",))
    if series.sensor.source == _SAME_CLOCK and series.path == context.trace.path:
        alignment = Alignment(
            0.0,
            0.0,
            0.0,
            "aligned",
            _SAME_CLOCK,
            ("the power was recorded on the clock of the trace's events",),
        )
    if alignment is None and options.mode in ("auto", "clock"):
        alignment = _by_clocks(series, context, options, reasons)
    if alignment is None and options.mode in ("auto", "signal"):
        alignment = _by_signal(series, context, reasons, asked=options.mode == "signal")
    if alignment is None:
        reasons.append(BY_HAND)
        return Alignment(None, None, None, "none", NOTHING, tuple(reasons))
    return moved(Placed(put_on_trace(series, alignment), alignment), options.pins.nudge_s).alignment


def placed_by_hand(options: Aligning) -> Alignment | None:
    if options.offset_s is not None:
        at = options.offset_s + options.pins.nudge_s
        return Alignment(
            at,
            at,
            at,
            "aligned",
            OFFSET,
            (f"--offset puts the log's zero at {options.offset_s:g} s of the trace",),
        )
    line = pins.fit(options.pins)
    if line is None:
        return None
    count = len(options.pins.pins)
    words = [
        (
            f"{count} pin{'s' if count > 1 else ''} set by hand, at most {line.worst_s:.3f} s from "
            "their common line"
        )
    ]
    if line.ppm:
        words.append(f"the log's clock runs {line.ppm:+.0f} ppm against the trace's")
    return Alignment(
        line.offset_s,
        line.offset_s - line.half_s,
        line.offset_s + line.half_s,
        "aligned",
        PINNED,
        tuple(words),
        line.ppm,
    )


# ── by clocks ────────────────────────────────────────────────────────────────────────────────────


def _by_clocks(
    series: PowerSeries, context: AlignmentContext, options: Aligning, reasons: list[str]
) -> Alignment | None:
    trace = context.trace.clock
    if not trace.known:
        reasons.append("the wall time of the profile is not known")
        return None
    clock, source, words = series.clock, CLOCKS, f"the log has wall time ({series.clock.source})"
    resolved = _zone(series, context) if times.is_local(clock) else None
    if times.is_local(clock) and (clock.known or resolved is not None):
        if resolved is None:
            if log_zone.nowhere(series, _run_ns(context)):
                run = _meeting_ns(context)
                zones = (
                    "its times are local, and in no time zone do they overlap",
                    "--align signal sets its times aside",
                )
                if log_zone.nowhere(series, run):
                    return elsewhere(series, log_zone.nearest_gap(series, run), *zones)
                return Alignment(
                    None, None, None, "none", NOTHING, zones
                )  # the training around the profile may place it
            reasons.append("the log's times are local and their time zone is not known: give --tz")
            return None
        bmc = "BMC" in series.clock.detail  # in the right zone it is still a clock that nobody sets
        clock, source = (
            replace(times.bmc(resolved), detail=resolved.detail) if bmc else resolved,
            LOCAL,
        )
        words = "; ".join(filter(None, ("the log's times are local", clock.detail, clock.assumed)))
    elif not clock.known:
        marked = anchor.find(series, context.logs())
        if marked is None:
            reasons.append(log_zone.unplaced(series))
            return None
        clock, source, words = marked.clock, MARKER, "; ".join(marked.evidence)
    lo, hi = _difference(clock, trace)
    kind = clock_kinds.clock_kind(replace(series, clock=clock), [context.trace.host])
    kind = clock_kinds.MARKED if source == MARKER else kind
    spare = _CLOCK_READ_SLACK_S
    about = f"{trace.source}: {trace.detail}" if trace.detail else trace.source
    evidence = [
        words,
        (
            f"the profile's zero is at Unix {trace.mid_ns / NS_PER_S:.3f} s ± "
            f"{trace.half_ns / NS_PER_S:.3g} s ({about})"
        ),
    ]
    alignment = Alignment((lo + hi) / 2, lo - spare, hi + spare, "aligned", source, tuple(evidence))
    away = _gap_ns(series, context, alignment.moved(options.pins.nudge_s))
    if away is not None:
        zone = "in another time zone it might: give --tz" if source == LOCAL else ""
        return elsewhere(series, away, *evidence, *filter(None, (zone, BY_HAND)))
    if options.mode != "auto":
        given = ClockOffset(lo, hi, clock_kinds.GIVEN)
        by_clock = checked(
            alignment, given, clock_check.judge(given, None, samples.power_samples(series))
        )
        return _either_clock(series, alignment) or replace(by_clock, clock_sentence="")
    return _checked_by_profile(series, context, alignment, ClockOffset(lo, hi, kind))


def _difference(clock: Clock, trace: Clock) -> tuple[float, float]:
    """The interval (s) of a log's zero on the trace's time."""
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    assert trace.lo_ns is not None
    assert trace.hi_ns is not None
    return (clock.lo_ns - trace.hi_ns) / NS_PER_S, (clock.hi_ns - trace.lo_ns) / NS_PER_S


def _overlaps(series: PowerSeries, trace: Trace, alignment: Alignment) -> bool:
    return (
        len(series) > 0 and meeting.gap(*_reach_ns(series, alignment), _span_ns(trace.span)) is None
    )


def _span_ns(span: tuple[int, int]) -> tuple[int, int]:
    """A span in ps as whole ns that hold all of it."""
    return span[0] // PS_PER_NS, -(-span[1] // PS_PER_NS)


def _reach_ns(series: PowerSeries, alignment: Alignment) -> tuple[int, int]:
    """From when to when the readings may lie (ns on the trace), wherever in its interval the log
    lies.
    """
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    return int(series.times[0]) + round(alignment.lo_s * NS_PER_S), int(series.times[-1]) + round(
        alignment.hi_s * NS_PER_S
    )


def _gap_ns(series: PowerSeries, context: AlignmentContext, found: Alignment) -> int | None:
    """How far a log lies from the run: from the profile, or from the training around it.

    None where they meet.
    """
    if not len(series):
        return 0
    zero = context.trace.clock.mid_ns
    first, last = _reach_ns(series, found)
    return meeting.gap(first + zero, last + zero, _meeting_ns(context))


def _meeting_ns(context: AlignmentContext) -> tuple[int, int]:
    """First and last moment of the run that a log has to meet (Unix ns).

    The ± of its clock is in the log's interval already.
    """
    zero = context.trace.clock.mid_ns
    lo, hi = context.span_with_training
    first, last = _span_ns((lo, hi))
    first, last = zero + first, zero + last
    around = context.around_ns
    return (first, last) if around is None else (min(first, around[0]), max(last, around[1]))


def elsewhere(series: PowerSeries, gap_ns: int, *evidence: str) -> Alignment:
    """No place, for the log does not meet the run: the sentence that says so, and what else is
    known of it.
    """
    sentence = meeting.not_used(series.path, gap_ns)
    return Alignment(None, None, None, "none", NOTHING, (sentence, *evidence), elsewhere=sentence)


def _zone(series: PowerSeries, context: AlignmentContext) -> Clock | None:
    """A clock for naive local times: the log may meet the profile, or the training around it."""
    return log_zone.log_clock(series, _run_ns(context), context.trace.clock.utc_offset_s)


def _run_ns(context: AlignmentContext) -> tuple[int, int]:
    """First and last moment of the profile, or of the training around it (Unix ns)."""
    clock = context.trace.clock
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    lo, hi = context.span_with_training
    return clock.lo_ns + lo // PS_PER_NS, clock.hi_ns + hi // PS_PER_NS


def _checked_by_profile(
    series: PowerSeries, context: AlignmentContext, alignment: Alignment, clock: ClockOffset
) -> Alignment:
    """What the readings say of a clock, by what ran in the profile."""
    either = _either_clock(series, alignment)
    if either is not None:
        return either
    data = samples.power_samples(series)
    readings = None
    if context.covers_training and _overlaps(series, context.trace, alignment):
        readings = _weights_of_work(data, context, clock.search_range)
    return checked(alignment, clock, clock_check.judge(clock, readings, data))


def _weights_of_work(
    data: samples.Samples, context: AlignmentContext, range_s: tuple[float, float]
) -> OffsetWeights | None:
    """How likely each offset is by the work of the profile; None where it does not say."""
    first, last = context.trace.span[0] / PS_PER_S, context.trace.span[1] / PS_PER_S
    if last <= first:
        return None
    beside = last - first
    near = (data.hi > first - range_s[1] - beside) & (data.lo < last - range_s[0] + beside)
    data = data[near]
    fit = signal_alignment.search(
        data, context.shares(data.refresh), within=range_s, step_s=context.step_s
    )
    if isinstance(fit, str) or fit.r2 < _MIN_EXPLAINED_SHARE:
        return None
    return weights_of_places(fit.places, data.age_s)


def _either_clock(series: PowerSeries, alignment: Alignment) -> Alignment | None:
    """A log whose clock was set: one clock was right or the other, and none between them.

    None where each leaves much open.
    """
    if len(series.clocks_ns) < 2 or alignment.lo_s is None or alignment.hi_s is None:
        return None
    clocks = [clock / NS_PER_S for clock in series.clocks_ns]
    lo, hi = alignment.lo_s - min(clocks), alignment.hi_s - max(clocks)
    if _is_wide(series, lo, hi):
        return None
    usual = (lo + hi) / 2
    places = tuple(
        Where(usual + by, 1 / len(clocks), (hi - lo) / 2)
        for by in sorted(clocks, key=abs)  # that of most rows first
    )
    status: Status = (
        "ambiguous" if _is_wide(series, alignment.lo_s, alignment.hi_s) else alignment.status
    )
    return replace(alignment, offset_s=usual, status=status, places=places)


def _is_wide(series: PowerSeries, lo_s: float, hi_s: float) -> bool:
    """Whether a clock leaves more open than the sensor resolves."""
    refresh = series.sensor.refresh_s.value if series.sensor.refresh_s else 1.0
    return hi_s - lo_s >= 2 * max(refresh, 0.5)


# ── by signal ────────────────────────────────────────────────────────────────────────────────────


def _search(
    series: PowerSeries, context: AlignmentContext, within: tuple[float, float] | None = None
) -> Fit | str:
    if context.trace.span[1] <= context.trace.span[0]:
        return "the profile is empty"
    data = samples.power_samples(series)
    return signal_alignment.search(
        data, context.shares(data.refresh), within=within, step_s=context.step_s
    )


def _by_signal(
    series: PowerSeries, context: AlignmentContext, reasons: list[str], *, asked: bool
) -> Alignment | None:
    fit = _search(series, context)
    if isinstance(fit, str):
        reasons.append(f"by signal: {fit}")
        return None
    first = "wall clocks were ignored, as requested" if asked else reasons[-1] if reasons else ""
    evidence = [
        *([first] if first else []),
        _fit_in_words(fit),
        *fit.reasons,
        *_several_places(fit),
    ]
    return Alignment(
        fit.offset_s,
        fit.lo_s,
        fit.hi_s,
        "ambiguous" if fit.ambiguous else "aligned",
        SIGNAL,
        tuple(evidence),
        fit.ppm,
        fit,
        fit.places if fit.ambiguous else (),
    )


def _fit_in_words(fit: Fit) -> str:
    kinds = ", ".join(f"{name} {watts:+.0f} W" for name, watts in fit.watts[1:] if watts >= 0.5)
    next_best = f"; next best at {fit.runner_up_s:.2f} s" if fit.runner_up_s is not None else ""
    return (
        f"what ran explains {units.percent(max(fit.r2, 0))} of the variation of "
        f"{fit.samples} samples"
        f" (idle {fit.watts[0][1]:.0f} W, {kinds or 'nothing above it'}){next_best}"
    )


def _several_places(fit: Fit) -> list[str]:
    """The places in question, where there are several."""
    return places_in_words(fit.places) if fit.ambiguous else []


def places_in_words(places: Sequence[Where]) -> list[str]:
    """The likeliest of several places; nothing of one."""
    if len(places) < 2:
        return []
    shown = sorted(places, key=lambda place: -place.weight)[:4]
    listed = ", ".join(f"{place.offset_s:.2f} s ({units.percent(place.weight)})" for place in shown)
    rest = len(places) - len(shown)
    more = f" and {rest} more" if rest else ""
    return [
        (
            f"it may be at {listed}{more}; joules are computed over all of these places, weighted "
            "by probability"
        )
    ]


def checked(by_clock: Alignment, clock: ClockOffset, verdict: Verdict) -> Alignment:
    """What a clock says, after the readings had their vote."""
    sentence = clock_check.in_words(clock, verdict)
    return replace(
        by_clock,
        offset_s=verdict.offset_s,
        lo_s=verdict.lo_s,
        hi_s=verdict.hi_s,
        status=verdict.status,
        evidence=(*by_clock.evidence, sentence, *places_in_words(verdict.places)),
        places=verdict.places,
        correction_s=verdict.correction_s,
        clock_sentence=sentence,
    )


def liveliness(series: PowerSeries) -> float:
    """How much a channel has to say about time: its swing in steps of its own resolution."""
    good = series.watts[np.isfinite(series.watts)]
    if len(good) < MIN_SAMPLES:
        return -1.0
    step = series.sensor.quantum_w.value if series.sensor.quantum_w else 0.0
    swing = float(np.percentile(good, 95) - np.percentile(good, 5))
    return swing / max(step, 0.01 * abs(float(np.median(good))), 1e-9)
