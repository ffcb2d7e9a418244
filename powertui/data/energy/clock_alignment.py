"""Where a power log is on a trace by the clocks of both, after the readings had their vote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from powertui.data.asked import Aligning
from powertui.data.energy import (
    anchor,
    clock_check,
    clock_kinds,
    devices,
    log_zone,
    meeting,
    samples,
    settings,
    work_alignment,
)
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.clock_advice import RECORD_ENDS, clock_advice
from powertui.data.energy.clock_check import Status, Verdict
from powertui.data.energy.clock_kinds import ClockOffset
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.edge_matching import OffsetWeights, weights_of_places
from powertui.data.energy.log_alignment import (
    CLOCKS,
    LOCAL,
    MARKER,
    Alignment,
    AlignmentContext,
    Placed,
    elsewhere,
    places_in_words,
    unplaced,
    whole_ns,
)
from powertui.data.model import NS_PER_S, PS_PER_S, Clock, PowerSeries
from powertui.data.power import times
from powertui.named_tuples import NamedTuple

_LOCAL_TIMES = "the log's times are local"
BY_HAND = "give --offset, or --pins, to place it by hand"
# Two programs on one machine read one clock, but not at the same moment.
_CLOCK_READ_SLACK_S = settings.SAME_CLOCK_S
# Share of the variation that a fit must explain before samples say anything about a clock. Chosen:
# a fit that explains less is drawn aside by what no trace shows.
_MIN_EXPLAINED_SHARE = settings.MAJORITY_SHARE
# Of a sensor of which nothing is known: as most BMCs have.
_DEFAULT_REFRESH_S = 1.0
_MIN_WIDE_S = 0.5  # a clock that is known to this is never wide


class _LogClock(NamedTuple):
    """A clock that gives a log's times, and how it was found."""

    clock: Clock
    source: str
    words: str


def by_clocks(
    series: PowerSeries,
    context: AlignmentContext,
    options: Aligning,
    reasons: list[str],
) -> Alignment | None:
    """The place by wall clocks or a marker; None, with one more reason, where there is none."""
    profile = context.trace.clock
    if not profile.known:
        reasons.append("the wall time of the profile is not known")
        return None
    log = _log_clock(series, context, reasons)
    if log is None or isinstance(log, Alignment):
        return log
    lo, hi = _difference(log.clock, profile)
    about = f"{profile.source}: {profile.detail}" if profile.detail else profile.source
    profile_words = (
        f"the profile's zero is at Unix {profile.mid_ns / NS_PER_S:.3f} s ± "
        f"{profile.half_ns / NS_PER_S:.3g} s ({about})"
    )
    alignment = Alignment(
        offset_s=(lo + hi) / 2,
        lo_s=lo - _CLOCK_READ_SLACK_S,
        hi_s=hi + _CLOCK_READ_SLACK_S,
        status="aligned",
        source=log.source,
        evidence=(log.words, profile_words),
    )
    gap_ns = _gap_ns(series, context, alignment.moved(options.pins.nudge_s))
    if gap_ns is not None:
        other_zone = ["in another time zone it might: give --tz"] if log.source == LOCAL else []
        return elsewhere(series, gap_ns, *alignment.evidence, *other_zone, BY_HAND)
    either = _either_clock(series, alignment)
    if either is not None:
        return either
    if options.mode != "auto":
        given = ClockOffset(lo, hi, clock_kinds.GIVEN)
        verdict = clock_check.judge(given, None, samples.power_samples(series))
        return replace(checked(alignment, given, verdict), clock_owner="")
    kind = clock_kinds.MARKED
    if log.source != MARKER:
        trace = context.trace
        on_its_clock = replace(series, clock=log.clock)
        kind = clock_kinds.clock_kind(on_its_clock, [trace.host], devices.shown_ids(trace))
    return _checked_by_profile(series, context, alignment, ClockOffset(lo, hi, kind))


def _log_clock(
    series: PowerSeries,
    context: AlignmentContext,
    reasons: list[str],
) -> _LogClock | Alignment | None:
    """The clock of a log; an alignment where times alone say that the log is elsewhere."""
    clock = series.clock
    if times.is_local(clock):
        # The log may meet the profile, or the training around it.
        zoned = log_zone.log_clock(series, context.run_ns, context.trace.clock.utc_offset_s)
        if zoned is not None:
            return _in_zone(zoned)
        if clock.known:
            return _without_zone(series, context, reasons)
    if clock.known:
        return _LogClock(clock, CLOCKS, f"the log has wall time ({clock.source})")
    marked = anchor.find(series, context.logs())
    if marked is None:
        reasons.append(log_zone.unplaced(series))
        return None
    return _LogClock(marked.clock, MARKER, "; ".join(marked.evidence))


def zones_found(channels: Iterable[Placed]) -> list[str]:
    """In which time zone each log of local times was read, and why: each sentence once."""
    sentences: dict[str, None] = {}
    for channel in channels:
        name = PurePath(channel.power.series.path).name
        for evidence in channel.alignment.evidence:
            if evidence.startswith(_LOCAL_TIMES):
                sentences[f"{name}: {evidence}"] = None
    return list(sentences)


def _in_zone(zoned: Clock) -> _LogClock:
    words = [_LOCAL_TIMES, zoned.detail, zoned.assumed]
    return _LogClock(zoned, LOCAL, "; ".join(filter(None, words)))


def _without_zone(
    series: PowerSeries,
    context: AlignmentContext,
    reasons: list[str],
) -> Alignment | None:
    """What is left of local times whose zone is open."""
    if not log_zone.nowhere(series, context.run_ns):
        reasons.append("the log's times are local and their time zone is not known: give --tz")
        return None
    words = (
        "its times are local, and in no time zone do they overlap",
        "--align signal ignores its times",
    )
    if log_zone.nowhere(series, context.meeting_ns):
        return elsewhere(series, log_zone.nearest_gap(series, context.meeting_ns), *words)
    return unplaced(*words)  # the training around the profile may place it


def _difference(clock: Clock, profile: Clock) -> tuple[float, float]:
    """The interval (s) of a log's zero on the trace's time."""
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    assert profile.lo_ns is not None
    assert profile.hi_ns is not None
    lo_ns, hi_ns = clock.lo_ns - profile.hi_ns, clock.hi_ns - profile.lo_ns
    return lo_ns / NS_PER_S, hi_ns / NS_PER_S


def _reach_ns(series: PowerSeries, alignment: Alignment) -> tuple[int, int]:
    """From when to when the readings may be (ns on the trace), wherever in its interval the log
    is.
    """
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    first = int(series.times[0]) + round(alignment.lo_s * NS_PER_S)
    last = int(series.times[-1]) + round(alignment.hi_s * NS_PER_S)
    return first, last


def _gap_ns(series: PowerSeries, context: AlignmentContext, alignment: Alignment) -> int | None:
    """How far a log is from the run: from the profile, or from the training around it.

    None where they meet.
    """
    if not len(series):
        return 0
    zero = context.trace.clock.mid_ns
    first, last = _reach_ns(series, alignment)
    return meeting.gap(first + zero, last + zero, context.meeting_ns)


# ── what the readings say of a clock ─────────────────────────────────────────────────────────────


def checked(
    by_clock: Alignment,
    clock: ClockOffset,
    verdict: Verdict,
    advice: str = RECORD_ENDS,
) -> Alignment:
    """What a clock says, after the readings had their vote; `advice` is what to do about one that
    is left in doubt.
    """
    alignment = replace(
        by_clock,
        offset_s=verdict.offset_s,
        lo_s=verdict.lo_s,
        hi_s=verdict.hi_s,
        status=verdict.status,
        places=verdict.places,
        correction_s=verdict.correction_s,
        clock_owner=clock.kind.owner,
        confirmed=verdict.confirmed,
    )
    if alignment.is_doubtful:
        alignment = replace(alignment, advice=advice)
    said = [clock_words(alignment).clause]
    if alignment.advice:
        said.append(alignment.advice)
    evidence = (*by_clock.evidence, *said, *places_in_words(verdict.places))
    return replace(alignment, evidence=evidence)


def _checked_by_profile(
    series: PowerSeries,
    context: AlignmentContext,
    alignment: Alignment,
    clock: ClockOffset,
) -> Alignment:
    """What the readings say of a clock, by what ran in the profile."""
    data = samples.power_samples(series)
    readings = None
    if context.covers_training and len(series) > 0:
        first, last = _reach_ns(series, alignment)
        if meeting.gap(first, last, whole_ns(context.trace.span)) is None:
            readings = _weights_of_work(data, context, clock.search_range)
    verdict = clock_check.judge(clock, readings, data)
    zero_ns = context.trace.clock.mid_ns + round(verdict.offset_s * NS_PER_S)
    advice = clock_advice(series, zero_ns, context.meeting_ns)
    # Of a profile alone: records of a training may all be late.
    return replace(
        checked(alignment, clock, verdict, advice),
        power_sigma_s=verdict.power_sigma_s,
    )


def _weights_of_work(
    data: samples.Samples,
    context: AlignmentContext,
    range_s: tuple[float, float],
) -> OffsetWeights | None:
    """How likely each offset is by the work of the profile; None where it does not say."""
    first, last = context.trace.span[0] / PS_PER_S, context.trace.span[1] / PS_PER_S
    length = last - first
    if length <= 0:
        return None
    lo, hi = range_s
    is_near = (data.hi > first - hi - length) & (data.lo < last - lo + length)
    data = data[is_near]
    fit = work_alignment.fit_by_work(data, context, within=range_s)
    if isinstance(fit, str) or fit.r2 < _MIN_EXPLAINED_SHARE:
        return None
    # A place that is wider than a sure one overrules a clock all the same, as wide as it is.
    may_overrule = fit.is_one_place or not fit.ambiguous
    return weights_of_places(fit.places, data.age_s, may_overrule=may_overrule)


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
    of_most_rows = (lo + hi) / 2
    places = tuple(
        Where(of_most_rows + by, 1 / len(clocks), (hi - lo) / 2) for by in sorted(clocks, key=abs)
    )
    status: Status = alignment.status
    if _is_wide(series, alignment.lo_s, alignment.hi_s):
        status = "ambiguous"
    return replace(alignment, offset_s=of_most_rows, status=status, places=places)


def _is_wide(series: PowerSeries, lo_s: float, hi_s: float) -> bool:
    """Whether a clock leaves more open than the sensor resolves."""
    sensor = series.sensor
    refresh_s = sensor.refresh_s.value if sensor.refresh_s else _DEFAULT_REFRESH_S
    return hi_s - lo_s >= 2 * max(refresh_s, _MIN_WIDE_S)
