"""Where power logs lie on a training: by their clocks, by PowerBoard's marker, by the edges of
epochs, validation and training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui.data.energy import account, align, anchor, clock_alignment, log_alignment, log_zone
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.hand_alignment import placed_by_hand
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.model import NS_PER_S, PS_PER_NS, Z95, Clock, PowerOnTrace, PowerSeries
from powertui.data.opened import Profile
from powertui.data.power import times
from powertui.data.training import edge_placing, local_logs
from powertui.data.training.training_parts import Moment
from powertui.data.training.training_records import TrainingRecords
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class PlacedChannel:
    """One power channel, and where its log's zero lies: `alignment` counts in s from `base_ns`
    (Unix ns).
    """

    series: PowerSeries
    base_ns: int
    alignment: Alignment

    @property
    def status(self) -> str:
        """ "aligned", "ambiguous" or "none"."""
        return self.alignment.status

    @property
    def zero(self) -> Moment | None:
        """Where the log's zero lies; None where nothing places it."""
        alignment = self.alignment
        if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
            return None
        offset_ns = round(alignment.offset_s * NS_PER_S)
        half_ns = round((alignment.hi_s - alignment.lo_s) / 2 * NS_PER_S)
        return Moment(self.base_ns + offset_ns, half_ns)

    def on_axis(self, zero_ns: int) -> PowerOnTrace:
        """The channel on an axis whose zero lies there."""
        return self.placed(zero_ns).power

    def placed(self, zero_ns: int, half_ns: int = 0) -> Placed:
        """The same, with why."""
        return put_on_axis(self.series, self.seen_from(zero_ns, half_ns))

    def seen_from(self, zero_ns: int, half_ns: int = 0) -> Alignment:
        """Its alignment on that axis."""
        shift_s = (self.base_ns - zero_ns) / NS_PER_S
        return _wider(self.alignment.moved(shift_s), half_ns / NS_PER_S)


def place_channels(training: TrainingRecords) -> tuple[PlacedChannel, ...]:
    """Every channel of a training.

    Those of one file have one clock, so they are placed together.
    """
    groups: dict[str, list[PowerSeries]] = {}
    for number, series in enumerate(training.logs.power):
        groups.setdefault(series.path or str(number), []).append(series)
    out: list[PlacedChannel] = []
    for channels in groups.values():
        lead = max(channels, key=align.liveliness)
        base, alignment = _place(training, lead)
        if not alignment.is_by_hand:  # as a place in a session is, where its power was shifted
            alignment = alignment.nudged(training.aligning.pins.nudge_s)
        for series in channels:
            shift = 0.0
            if series.clock.known and lead.clock.known:
                shift = (series.clock.mid_ns - lead.clock.mid_ns) / NS_PER_S
            out.append(
                PlacedChannel(
                    series=series,
                    base_ns=base,
                    alignment=alignment.moved(shift),
                )
            )
    return tuple(out)


# ── one log ──────────────────────────────────────────────────────────────────────────────────────


def _place(training: TrainingRecords, series: PowerSeries) -> tuple[int, Alignment]:
    """(where the seconds of the alignment count from, the alignment)."""
    options = training.aligning
    notes: list[str] = []
    span = training.scalar_span
    base = _first_record_ns(training)
    if options.mode == "none":
        return base, log_alignment.unplaced("alignment is switched off")
    by_hand = placed_by_hand(options)
    if by_hand is not None:
        base, half_ns = zero_of_offsets(training)
        return base, _wider(by_hand, half_ns / NS_PER_S)
    if options.mode in ("auto", "clock"):
        by_clock = _by_clock(training, series, base, notes)
        if by_clock is not None:
            return by_clock
    if options.mode in ("auto", "signal"):
        by_session = _by_session(training, series)
        if by_session is not None:
            return by_session
        by_edges = edge_placing.place_by_edges(training, series, base, notes)
        by_sessions = [] if _tells_within(training) else _by_short_sessions(training, series, base)
        if by_edges is not None or by_sessions:
            return base, surest(by_sessions, by_edges)
    has_sessions = any(session.start is not None for session in training.islands)
    if span is None and not has_sessions:
        by_own_clock = _by_own_clock(series, training.logs.power)
        if by_own_clock is not None:
            return 0, by_own_clock
        notes.append("its times count from its own start, and the logs beside it have wall time")
    if span is not None and len(training.records) <= 2:
        notes.append(
            "a log with wall time, or scalars every few batches (update_freq), would place it"
        )
    notes.append("give --offset, or --pins, to place it by hand")
    return base, log_alignment.unplaced(*notes)


def _by_own_clock(series: PowerSeries, logs: Sequence[PowerSeries]) -> Alignment | None:
    """A log's own times, where no run is beside it; None where other logs know more of the time."""
    if local_logs.has_local_times(series):
        if local_logs.extent_with_zone(logs) is not None:
            return None
    elif not series.clock.known and any(log.clock.known for log in logs):
        return None
    lag_s = local_logs.lag_s(series, logs)
    evidence = ["nothing else is on this axis"]
    if lag_s or any(log.path != series.path and local_logs.has_local_times(log) for log in logs):
        evidence = ["the local times of all logs are taken to be of one zone"]
    return Alignment(
        offset_s=lag_s,
        lo_s=lag_s,
        hi_s=lag_s,
        status="aligned",
        source=log_alignment.OWN_CLOCK,
        evidence=tuple(evidence),
    )


def _by_clock(
    training: TrainingRecords,
    series: PowerSeries,
    base: int,
    notes: list[str],
) -> tuple[int, Alignment] | None:
    """Where the log's clock places it, or that it is of another time; None without a clock."""
    clock = _clock(training, series, notes)
    away_ns = _gap_ns(training, series, clock)
    if away_ns is not None:
        if clock is not None and clock.known:
            notes += edge_placing.hours_off(training, series, clock)
        return base, log_alignment.elsewhere(series, away_ns, *notes, clock_alignment.BY_HAND)
    if clock is None or clock.lo_ns is None or clock.hi_ns is None:
        return None
    # Of a log alone nothing contradicts the clock: its own times are the axis.
    check = training.aligning.mode == "auto" and training.extent_ns is not None
    checked = edge_placing.place_by_clock(training, series, clock, check=check)
    # A clock that is only believed gives way to what ran in a profile, which may contradict it; one
    # that is confirmed to what shows its place more closely.
    by_session = _by_session(training, series)
    if by_session is not None and _says_more(by_session[1], checked):
        return by_session
    return clock.mid_ns, checked


def _says_more(by_session: Alignment, by_edges: Alignment) -> bool:
    """Whether the work of a profile shows more of a clock than the edges of the training did."""
    if by_edges.is_sure and by_edges.confirmed:
        return _confirms_more_closely(by_session, by_edges)
    if by_session.confirmed or by_session.status in ("clock corrected", "ambiguous"):
        return True
    return by_session.is_sure and by_edges.status != "ambiguous"


def _confirms_more_closely(by_session: Alignment, by_edges: Alignment) -> bool:
    """Whether both call the clock right, and the profile by a narrower interval.

    A counter's epochs were 3.7 times as wide as needed by edges that place it to 0.3 s, where the
    work of the profile did to 0.07 s.
    """
    if not by_session.confirmed or by_session.status != by_edges.status:
        return False
    return _width(by_session) < _width(by_edges)


def zero_of_offsets(training: TrainingRecords) -> Moment:
    """What a person's offset counts from: the zero of the first session, without one the first
    record.
    """
    for opened in training.read_sessions():
        for profile in opened.profiles:
            if profile.clock.known:
                return Moment(profile.clock.mid_ns, profile.clock.half_ns)
    for session in training.islands:
        if session.start is not None:
            return session.start
    return Moment(_first_record_ns(training))


def _first_record_ns(training: TrainingRecords) -> int:
    """0 where a log lies alone."""
    span = training.scalar_span
    return span[0] if span is not None else 0


def _by_session(training: TrainingRecords, series: PowerSeries) -> tuple[int, Alignment] | None:
    """Where a session that was read and covers most of the training places it: its trace shows more
    than the records do.
    """
    for profile in _telling(training):
        if not _covers(training, profile):
            continue
        for placed in account.placed_alone(profile, training.aligning):
            if placed.power.series.path == series.path and placed.power.status != "none":
                half_s = profile.clock.half_ns / NS_PER_S
                return profile.clock.mid_ns, _wider(placed.alignment, half_s)
    return None


def telling(training: TrainingRecords) -> frozenset[str]:
    """The sessions that were read and may place its power."""
    return frozenset(
        f"{profile.opened.path}\0{profile.opened.name}" for profile in _telling(training)
    )


def _telling(training: TrainingRecords) -> Iterator[Profile]:
    for opened in training.read_sessions():
        for profile in opened.profiles:
            if not profile.clock.known:
                continue
            if _covers(training, profile) or not _tells_within(training):
                yield profile


def _covers(training: TrainingRecords, profile: Profile) -> bool:
    """Whether a profile covers most of what the scalars cover."""
    span = training.scalar_span
    if span is None:
        return True
    lo, hi = profile.trace.span
    training_ps = (span[1] - span[0]) * PS_PER_NS
    return hi - lo > log_alignment.MIN_COVERED_SHARE * training_ps


def _tells_within(training: TrainingRecords) -> bool:
    """Whether its records tell of more than where its epochs lie."""
    return len(training.records) > 2


def _by_short_sessions(
    training: TrainingRecords,
    series: PowerSeries,
    base: int,
) -> list[Alignment]:
    """Where sessions that are a small part of the training place the log for sure, in s from
    `base`.
    """
    alignments = []
    for profile in _telling(training):
        for placed in account.placed_alone(profile, training.aligning):
            if placed.power.series.path != series.path:
                continue
            is_aligned = placed.power.status == "aligned"
            if is_aligned and placed.alignment.source == log_alignment.SIGNAL:
                half_s = profile.clock.half_ns / NS_PER_S
                shift_s = (profile.clock.mid_ns - base) / NS_PER_S
                alignments.append(_wider(placed.alignment, half_s).moved(shift_s))
                break
    return alignments


def surest(by_sessions: Sequence[Alignment], by_edges: Alignment | None) -> Alignment:
    """Of what sessions say for sure and what the epochs say: the narrowest, if all agree; else
    those that differ, in question.
    """
    every = list(by_sessions)
    if by_edges is not None:
        every.append(by_edges)
    sure = [alignment for alignment in every if alignment.status == "aligned"]
    if not sure:
        return every[0]
    best = min(sure, key=_width)
    lo, hi = _ends(best)
    against = []
    for alignment in every:
        begin, end = _ends(alignment)
        if begin > hi or end < lo:
            against.append(alignment)
    if not against:
        return best
    in_question = [best, *against]
    places: list[Where] = []
    for alignment in in_question:
        for place in _places(alignment):
            places.append(place._replace(weight=place.weight / len(in_question)))
    doubts = [f"but {alignment.evidence[-1]}" for alignment in against]
    return Alignment(
        offset_s=best.offset_s,
        lo_s=min(_ends(alignment)[0] for alignment in in_question),
        hi_s=max(_ends(alignment)[1] for alignment in in_question),
        status="ambiguous",
        source=log_alignment.SIGNAL,
        evidence=(*best.evidence, *doubts),
        places=tuple(places),
    )


def _width(alignment: Alignment) -> float:
    lo, hi = _ends(alignment)
    return hi - lo


def _ends(alignment: Alignment) -> tuple[float, float]:
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    return alignment.lo_s, alignment.hi_s


def _places(alignment: Alignment) -> tuple[Where, ...]:
    if alignment.places:
        return alignment.places
    lo, hi = _ends(alignment)
    return (
        Where(
            offset_s=(lo + hi) / 2,
            weight=1.0,
            half_s=(hi - lo) / 2,
        ),
    )


def _clock(training: TrainingRecords, series: PowerSeries, notes: list[str]) -> Clock | None:
    if series.clock.known and series.clock.source != times.LOCAL:
        return replace(
            series.clock,
            source=log_alignment.CLOCKS,
            detail=f"the log has wall time ({series.clock.source})",
        )
    if times.is_local(series.clock):
        clock = _zone(training, series)
        if clock is not None and clock.assumed:
            notes.append(f"the log's {clock.assumed}")
        if clock is None and series.clock.known:
            notes.append("the log's times are local and their time zone is not known: give --tz")
        if clock is not None or series.clock.known:
            return clock
    marked = anchor.find(series, training.logs.events)
    if marked is not None:
        return replace(marked.clock, source=log_alignment.MARKER, detail="; ".join(marked.evidence))
    notes.append(log_zone.unplaced(series))
    return None


def _gap_ns(training: TrainingRecords, series: PowerSeries, clock: Clock | None) -> int | None:
    """How far a log with wall time lies from the training; None where they meet, or where wall time
    tells nothing of that.
    """
    if training.extent_ns is None:
        return None
    nudge_ns = round(training.aligning.pins.nudge_s * NS_PER_S)
    first_ns, last_ns = training.extent_ns
    return log_zone.gap(series, clock, (first_ns - nudge_ns, last_ns - nudge_ns))


def _zone(training: TrainingRecords, series: PowerSeries) -> Clock | None:
    """A clock for naive local times."""
    span = training.scalar_span or _of_islands(training)
    span = span or local_logs.extent_with_zone(training.logs.power)
    if span is None:
        return None
    clock = log_zone.log_clock(series, span, _utc_offset_s(training))
    if clock is None:
        return None
    return replace(clock, source=log_alignment.LOCAL)


def _utc_offset_s(training: TrainingRecords) -> int | None:
    """That of the first profile that has one."""
    for opened in training.read_sessions():
        for profile in opened.profiles:
            if profile.clock.utc_offset_s is not None:
                return profile.clock.utc_offset_s
    return None


def _of_islands(training: TrainingRecords) -> tuple[int, int] | None:
    starts = []
    ends = []
    for session in training.islands:
        if session.start is not None and session.end is not None:
            starts.append(session.start.ns)
            ends.append(session.end.ns)
    if not starts:
        return None
    return min(starts), max(ends)


def _wider(alignment: Alignment, by_s: float) -> Alignment:
    if not by_s or alignment.lo_s is None or alignment.hi_s is None:
        return alignment
    wider_places = []
    for place in alignment.places:
        wider_places.append(place._replace(half_s=place.half_s + by_s))
    return replace(
        alignment,
        lo_s=alignment.lo_s - by_s,
        hi_s=alignment.hi_s + by_s,
        places=tuple(wider_places),
        power_sigma_s=_wider_sigma_s(alignment.power_sigma_s, by_s),
    )


def _wider_sigma_s(sigma_s: float | None, by_s: float) -> float | None:
    if sigma_s is None:
        return None
    return math.hypot(sigma_s, by_s / Z95)


def put_on_axis(series: PowerSeries, alignment: Alignment) -> Placed:
    return Placed(log_alignment.put_on_trace(series, alignment), alignment)
