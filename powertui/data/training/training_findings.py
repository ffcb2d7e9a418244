"""Findings of a training: stretches that drew more or less than expected.

What is expected comes from its own records and its other epochs. The engine is that of a profile's
findings; only the expectation differs. A stretch that reaches over several epochs is one
finding, from a batch of the first to one of the last. Outside its sessions nothing can explain it:
"a capture here would show".
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui import units
from powertui.data.energy import integrate, placing, samples
from powertui.data.energy.account import Account
from powertui.data.energy.findings import could_find, finding_texts, throttling, unexplained
from powertui.data.energy.findings.finding import UNEXPLAINED, Finding, Findings, Unopened
from powertui.data.energy.findings.finding_rules import (
    MIN_RUN_SHARE,
    MIN_STRETCH_SHARE,
    expected_watts,
    min_watts,
    same_stretch,
)
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import held_against
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, PowerOnTrace
from powertui.data.training import (
    expected_course,
    layers,
    overlapping_loads,
    stretches,
    training_throttling,
)
from powertui.data.training.epoch_parts import EpochPart, EpochParts
from powertui.data.training.expected_course import ExpectedOfTraining, KnownCourse
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.value_types import dataclass


@dataclass(frozen=True)
class _Limits:
    """What matters, and what counts as the same.

    A finding matters by the same shares as one of a profile (`finding_rules`), or with 2 % of its
    epoch's energy instead of 0.5 % of the run's. Little of ten hours may still be somebody else's
    program, so 8 % more for 10 s matters as well. The other values are chosen, not measured.
    """

    min_epoch_share: float = 0.02
    strong_share: float = 0.08
    min_strong_s: float = 10.0
    max_covered_share: float = 0.8  # of the training by its sessions: their traces say more
    min_place_weight: float = 0.02  # a place of the log that weighs less is not looked at
    max_step_records: int = 100_000  # that the usual length of a step is taken from
    paused_share: float = 0.5  # of a stretch that drew less: its steps took so much longer
    min_same_epoch_weight: float = 0.9  # of all places: else the epoch is not known
    # Readings that are searched, all places together: 100,000 take 4 s. A longer log is searched at
    # its likeliest place alone, where the others make its place less sure.
    max_searched_readings: int = 200_000


_LIMITS = _Limits()
_MAX_EPOCH_RECORDS = 2  # with no more records than these, only the epochs are known
_WOULD_TELL = "not profiled: a capture here would show"


class _PlaceFindings(NamedTuple):
    """What differs from the expectation with the log at one place."""

    weight: float
    offset: float
    expected: ExpectedOfTraining
    boxes: list[Box]
    noise: Noise
    skipped: tuple[tuple[float, float], ...]


def findings_in_training(
    training: PlacedTraining, axis: TrainingOnAxis, account: Account
) -> Findings:
    """All findings outside the sessions, on this axis."""
    by_power = _power_findings(training, axis, account)
    throttled = training_throttling.throttled_in_training(
        training, axis, [placed.power for placed in account.placed]
    )
    if not throttled:
        return by_power
    span = (axis.at(int(training.stretches.start[0])), axis.at(int(training.stretches.end.max())))
    limited = [
        replace(finding, text=throttling.sentence(stretch, _where(finding), None, 0))
        for finding, stretch in training_throttling.throttling_findings(training, axis, throttled)
    ]
    rest = throttling.without(by_power.findings, throttled, span)
    notes = by_power.notes
    if by_power.reason:
        notes = (*notes, by_power.reason)
    return replace(
        by_power,
        findings=(*rest, *limited),
        smaller=Unopened(throttling.without(by_power.smaller, throttled, span)),
        reason="",
        notes=tuple(notes),
    )


def _power_findings(training: PlacedTraining, axis: TrainingOnAxis, account: Account) -> Findings:
    """Stretches of unexpected power, or why there are none."""
    power = account.power
    if power is None or power.status == "none" or not len(power.times):
        return Findings(None, (), reason="no power log covers this training")
    if not len(training.stretches):
        return Findings(None, (), reason="no record shows when it trained")
    if _covered_share(training, axis) >= _LIMITS.max_covered_share:
        return Findings(None, (), reason="its sessions cover it: see theirs")
    half_s = _place_half_s(power)
    if half_s > _epoch_s(training):
        return Findings(
            None,
            (),
            reason=(
                f"the power log may be anywhere within ± {half_s:.0f} s: that is too "
                "uncertain for findings"
            ),
        )
    by_place = _findings_by_place(training, axis, power)
    likeliest = by_place[0]
    if likeliest.expected.reason:
        return Findings(None, (), reason=likeliest.expected.reason)
    # Boxes are compared on the log's own clock, on which they do not move from place to place.
    boxes, doubtful = unexplained.join_over_places(
        [(place.weight, [box.moved(-place.offset) for box in place.boxes]) for place in by_place]
    )
    offsets = [place.offset for place in by_place]
    sigma = unexplained.spread([place.weight for place in by_place], offsets)
    if len(by_place) == 1:
        half_ps = (power.offset_hi_ps - power.offset_lo_ps) / 2
        sigma = float(np.hypot(sigma, half_ps / Z95 / PS_PER_S))
    converter = _FindingsFromBoxes(training, axis, account, power)
    shifts = [
        (weight, on_axis.offset_ps / PS_PER_S - likeliest.offset)
        for weight, on_axis in _places(power)
    ]
    findings: list[Finding] = []
    for box in overlapping_loads.merge_stacked_boxes(boxes):
        on_axis = box.moved(likeliest.offset).wider(sigma)
        finding = converter.from_box(on_axis, shifts)
        if not converter.is_pause(finding):
            findings.append(finding)
    matter = [finding for finding in findings if converter.matters(finding)]
    matter.sort(key=lambda finding: -abs(finding.delta_joules or 0.0))
    smaller = [finding for finding in findings if finding not in matter]
    limits, could = converter.detection_limits(likeliest)
    notes = []
    if likeliest.skipped:
        notes.append(_skipped_sentence(likeliest.skipped))
    if len(training.records) <= _MAX_EPOCH_RECORDS:
        # Where within an epoch it pauses is not known: drawing less than the others says nothing.
        matter = [finding for finding in matter if (finding.delta_watts or 0.0) > 0]
        smaller = [finding for finding in smaller if (finding.delta_watts or 0.0) > 0]
        notes.append("only epochs are logged: scalars every few batches would show more")
    if doubtful:
        notes.append(finding_texts.doubtful_note(doubtful))
    return Findings(
        None,
        tuple(matter),
        Unopened(smaller),
        limits.findings,
        could,
        tuple(notes),
        seen=limits.seen,
        against=held_against(likeliest.expected.readings),
        apart=limits.apart,
    )


def _place_half_s(power: PowerOnTrace) -> float:
    """How far (s) the log may lie from the middle of all places in question."""
    if not power.places:
        return 0.0
    weights = [place.weight for place in power.places]
    offsets = [place.offset_ps / PS_PER_S for place in power.places]
    return Z95 * unexplained.spread(weights, offsets)


def _epoch_s(training: PlacedTraining) -> float:
    """How long an epoch takes, s; of a training without any, a tenth of it."""
    lengths = [
        epoch.end.ns - epoch.start.ns
        for epoch in training.epochs
        if epoch.start is not None and epoch.end is not None
    ]
    stretches = training.stretches
    if lengths:
        usual = np.median(lengths)
    else:
        usual = 0.1 * (stretches.end.max() - stretches.start[0])
    return float(usual) / NS_PER_S


def _covered_share(training: PlacedTraining, axis: TrainingOnAxis) -> float:
    """The share of the training that its sessions cover."""
    stretches = training.stretches
    length = int((stretches.end - stretches.start).sum())
    inside = 0
    for lo, hi in _session_spans(axis):
        begin, end = axis.unix_ns(round(lo * PS_PER_S)), axis.unix_ns(round(hi * PS_PER_S))
        overlap = np.minimum(stretches.end, end) - np.maximum(stretches.start, begin)
        inside += int(np.clip(overlap, 0, None).sum())
    return inside / max(length, 1)


def _session_spans(axis: TrainingOnAxis) -> tuple[tuple[float, float], ...]:
    """From when to when each placed session ran, s on the axis."""
    return tuple(
        (session.start / PS_PER_S, session.end / PS_PER_S)
        for session in axis.islands
        if session.start is not None and session.end is not None
    )


def _places(power: PowerOnTrace) -> list[tuple[float, PowerOnTrace]]:
    """The places where the power may be, with their weights, the likeliest first."""
    return [
        (place.weight, on_axis)
        for place, on_axis in zip(power.places, placing.everywhere(power), strict=True)
        if place.weight >= _LIMITS.min_place_weight
    ] or [(1.0, power)]


def _findings_by_place(
    training: PlacedTraining, axis: TrainingOnAxis, power: PowerOnTrace
) -> list[_PlaceFindings]:
    """What differs from the expectation at each place where the power may lie."""
    data = samples.power_samples(power.series)
    epochs = tuple(
        (
            (epoch.start.ns - axis.zero_ns) / NS_PER_S,
            (epoch.end.ns - axis.zero_ns) / NS_PER_S,
        )
        for epoch in training.epochs
        if epoch.start is not None and epoch.end is not None
    )
    course = KnownCourse(
        stretches=stretches.training_stretches(training.records, training.epochs),
        zero_ns=axis.zero_ns,
        epochs=epochs,
        by_steps=len(training.records) > _MAX_EPOCH_RECORDS,
        islands=_session_spans(axis),
    )
    places = _places(power)
    apart_s = 0.0
    if len(places) * len(data) > _LIMITS.max_searched_readings:
        offsets = [on_axis.offset_ps / PS_PER_S for _, on_axis in places]
        apart_s = unexplained.spread([weight for weight, _ in places], offsets)
        places = places[:1]
    out = []
    for weight, on_axis in places:
        half_s = (on_axis.offset_hi_ps - on_axis.offset_lo_ps) / 2 / PS_PER_S
        place_s = float(np.hypot(half_s / Z95, axis.apart_ns / Z95 / NS_PER_S))
        place_s = float(np.hypot(place_s, apart_s))

        def expect(
            layer: Samples, on_axis: PowerOnTrace = on_axis, place_s: float = place_s
        ) -> ExpectedOfTraining:
            prior = unexplained.window_prior(power, layer, place_s)
            return expected_course.expected_course(
                unexplained.placed_on(layer, on_axis), course, prior
            )

        layered = layers.find_in_layers(data, expect)
        out.append(_PlaceFindings(weight, on_axis.offset_ps / PS_PER_S, *layered))
    return out


class _FindingsFromBoxes:
    """Boxes as findings: which epoch and batches they are in, and whether they matter."""

    def __init__(
        self, training: PlacedTraining, axis: TrainingOnAxis, account: Account, power: PowerOnTrace
    ) -> None:
        self.training, self.axis, self.account, self.power = training, axis, account, power
        self.badge = power.badge
        idle_w = account.idle.value if account.idle is not None else None
        self.parts = EpochParts(training, axis, power, idle_w)
        stretches = training.stretches
        lo = max(axis.at(int(stretches.start[0])), int(power.times[0]))
        hi = min(axis.at(int(stretches.end.max())), int(power.times[-1]))
        self.run_joules = self._joules(lo, hi) if hi > lo else 0.0

    def from_box(self, box: Box, shifts: Sequence[tuple[float, float]]) -> Finding:
        """The box as a finding, in the epoch that holds most of it.

        `shifts`: the places where it may lie as well, each (weight, by how many s later).
        """
        parts = list(self.parts.of_box(box))
        if not self._same_epochs_everywhere(box, parts, shifts):
            parts = [EpochPart(None, box.start, box.end)]
        main = max(parts, key=lambda part: part.end - part.start)
        longer = [self.parts.extra_seconds(part) for part in parts]
        known = [seconds for seconds in longer if seconds is not None]
        finding = Finding(
            kind="power",
            witnesses=(UNEXPLAINED,),
            start_ps=round(box.start * PS_PER_S),
            end_ps=round(box.end * PS_PER_S),
            start_within=_in_ps(box.start_within),
            end_within=_in_ps(box.end_within),
            epoch=main.epoch,
            epochs=tuple(part.epoch for part in parts if part.epoch is not None),
            step_lo=main.first,
            step_hi=main.last,
            elsewhere=self.parts.elsewhere(main),
            delta_watts=box.watts,
            lo_watts=box.lo_watts,
            hi_watts=box.hi_watts,
            delta_joules=box.joules,
            lo_joules=box.lo_joules,
            hi_joules=box.hi_joules,
            delta_seconds=sum(known) if known else None,
            p=box.p,
            badge=self.badge,
            step_half=main.half if main.first is not None else None,
            share=main.share,
            crossing=_from_to(parts[0], parts[-1]) if len(parts) > 1 else "",
        )
        where = finding.crossing or _where(finding)
        return replace(finding, text=_sentence(finding, where))

    def _same_epochs_everywhere(
        self, box: Box, parts: Sequence[EpochPart], shifts: Sequence[tuple[float, float]]
    ) -> bool:
        """Whether the box is in one of the same epochs at nearly all places of the log."""
        epochs = {part.epoch for part in parts}
        agreeing = sum(
            weight
            for weight, shift_s in shifts
            if epochs & {part.epoch for part in self.parts.of_box(box.moved(shift_s))}
        )
        total = sum(weight for weight, _ in shifts)
        return agreeing >= _LIMITS.min_same_epoch_weight * total

    def matters(self, finding: Finding) -> bool:
        """Whether it is large enough for its stretch, and for the run or its epoch (`_Limits`)."""
        if finding.may_be_nothing:
            return False
        length_ps = finding.end_ps - finding.start_ps
        stretch = abs(self._joules(finding.start_ps, max(finding.end_ps, finding.start_ps + 1)))
        min_joules = MIN_RUN_SHARE * self.run_joules
        epoch = next((e for e in self.training.epochs if e.number == finding.epoch), None)
        if epoch is not None and epoch.start is not None and epoch.end is not None:
            lo, hi = self.axis.at(epoch.start.ns), self.axis.at(epoch.end.ns)
            min_joules = min(min_joules, _LIMITS.min_epoch_share * self._joules(lo, hi))
        more = finding.delta_joules or 0.0
        # Only more counts as strong: less is a pause.
        if more >= _LIMITS.strong_share * stretch and length_ps >= _LIMITS.min_strong_s * PS_PER_S:
            return True
        return abs(more) >= max(MIN_STRETCH_SHARE * stretch, min_joules)

    def is_pause(self, finding: Finding) -> bool:
        """Whether it drew less because its steps took longer, by half of it or more.

        The records show such a pause already.
        """
        rate = self.training.records
        if (finding.delta_watts or 0.0) >= 0 or len(rate) <= _MAX_EPOCH_RECORDS:
            return False
        start, end = self.axis.unix_ns(finding.start_ps), self.axis.unix_ns(finding.end_ps)
        first = max(int(rate.at_ns.searchsorted(start, side="right")) - 1, 0)
        last = min(int(rate.at_ns.searchsorted(end)), len(rate) - 1)
        usual_ns = self.step_ns * max(int(rate.step[last] - rate.step[first]), 0)
        longer_ns = float(rate.at_ns[last] - rate.at_ns[first]) - usual_ns
        # A pause shorter than a reading shows in all of it: by its joules it may be so short.
        least_w = min(finding.lo_watts or 0.0, finding.delta_watts or 0.0)
        shortest_ns = NS_PER_S * (finding.delta_joules or 0.0) / min(least_w, -1e-9)
        return longer_ns >= _LIMITS.paused_share * min(end - start, shortest_ns)

    @functools.cached_property
    def step_ns(self) -> float:
        """How long a step usually takes, by the records."""
        rate = self.training.records
        sampled = rate.per_s[:: max(1, len(rate) // _LIMITS.max_step_records)]
        return NS_PER_S / float(np.nanmedian(sampled))

    def detection_limits(self, found: _PlaceFindings) -> tuple[could_find.Limits, str]:
        """What would have been found, also in words."""
        stretches = self.training.stretches
        readings = found.expected.readings
        begin, end = self._s(int(stretches.start[0])), self._s(int(stretches.end.max()))
        judged = np.flatnonzero(readings.judged)
        if len(judged) and len(self.training.records) <= _MAX_EPOCH_RECORDS:
            # How the first epoch begins is not judged, and nothing is promised of it.
            begin = max(begin, float(readings.lo[judged[0]]))
        span = (begin, end)
        expected = expected_watts(readings.ceiling)
        matter_watts = min_watts(expected)
        strong_watts = min_watts(expected, _LIMITS.strong_share)
        # Sessions have limits of their own, by their traces: these are about the rest.
        sessions = _session_spans(self.axis)
        doubtful = could_find.doubtful(readings, span, matter_watts)
        # Where it drew less than expected a load shows the less of itself.
        paused = [box.span for box in found.boxes if box.watts < 0]
        unchecked = sorted([*doubtful, *paused, *found.skipped])
        unknown = could_find.beside(_joined(unchecked), sessions)
        limits = could_find.limits(
            readings,
            found.noise,
            span,
            matter_watts,
            MIN_RUN_SHARE * self.run_joules,
            looks=layers.piece_count(len(readings)),
            strong=could_find.StrongBurst(strong_watts, _LIMITS.min_strong_s),
            longest=layers.longest_stretch_s(readings),
            apart=(*unknown, *sessions),
        )
        limits = limits._replace(apart=unknown)
        return limits, could_find.sentence(limits, span, sum(hi - lo for lo, hi in sessions))

    def _joules(self, lo: int, hi: int) -> float:
        energy = integrate.energies(self.power, [lo], [hi])
        return float(energy.covered_joules[0] / max(float(energy.coverage[0]), 1e-9))

    def _s(self, ns: int) -> float:
        return self.axis.at(ns) / PS_PER_S


def _joined(stretches: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches by their start, those that overlap as one."""
    out: list[tuple[float, float]] = []
    for start, end in stretches:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _in_ps(within: tuple[float, float]) -> tuple[int, int]:
    return round(within[0] * PS_PER_S), round(within[1] * PS_PER_S)


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _sentence(finding: Finding, where: str) -> str:
    """Where, how much, against what."""
    figures = []
    if finding.delta_watts is not None:
        figures.append(units.difference(finding.delta_watts, "W"))
    if finding.delta_joules is not None:
        figures.append(units.difference(finding.delta_joules, "J"))
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    seconds = finding.delta_seconds
    if seconds is not None and abs(seconds) >= 0.02 * length_s:
        figures.append(f"{seconds:+.2f} s")
    drew = ", ".join(figures)
    return f"{where}: {drew} against the usual level of training; {_WOULD_TELL}"


def _skipped_sentence(spans: Sequence[tuple[float, float]]) -> str:
    """That the power changes too often for every short load to be looked for."""
    seconds = sum(end - start for start, end in _joined(sorted(spans)))
    return (
        f"the power changes by itself so often that short loads were not looked for in "
        f"{units.duration(round(seconds * PS_PER_S))}"
    )


def _where(finding: Finding) -> str:
    """Its epoch with the batches, or the share of it, or its times."""
    parts = [f"epoch {finding.epoch}"] if finding.epoch is not None else []
    first, last = finding.step_lo, finding.step_hi
    if first is not None and last is not None:
        batches = f"batch {first}" if first == last else f"batches {first}-{last}"
        parts.append(batches + (f" ± {finding.step_half}" if finding.step_half else ""))
    elif finding.share is not None:
        parts.append(
            f"{units.percent(finding.share[0])} to {units.percent(finding.share[1])} of it"
        )
    if parts:
        return ", ".join(parts)
    half = (finding.start_within[1] - finding.start_within[0]) / 2
    times = f"{finding.start_ps / PS_PER_S:.2f} … {finding.end_ps / PS_PER_S:.2f} s"
    # A ± shorter than the stretch, or than a second, is not worth the words.
    if half > finding.end_ps - finding.start_ps and half >= PS_PER_S:
        times += f" ± {half / PS_PER_S:.0f} s"
    return times


def _from_to(first: EpochPart, last: EpochPart) -> str:
    """From which moment of one epoch to which of a later one."""

    def moment(part: EpochPart, batch: int | None, side: int) -> str:
        if batch is not None:
            return f"epoch {part.epoch}, batch {batch}" + (f" ± {part.half}" if part.half else "")
        share = part.share[side] if part.share is not None else float(side)
        return f"epoch {part.epoch}, {units.percent(share)} of it"

    return f"from {moment(first, first.first, 0)}, to {moment(last, last.last, 1)}"


def with_training_findings(
    of_profile: Findings, of_training: Findings, span: tuple[int, int]
) -> Findings:
    """The findings of a profile within its span, and those of the training around it."""
    if of_training.reason:
        return of_profile

    def in_profile(finding: Finding) -> bool:
        return finding.end_ps > span[0] and finding.start_ps < span[1]

    inside = [finding for finding in of_profile.findings if in_profile(finding)]
    # The same stretch may be known to both: the profile knows more of it.
    with_power = [finding for finding in inside if finding.delta_watts]
    around = [
        finding
        for finding in of_training.findings
        if not any(same_stretch(finding.span, nearer.span) for nearer in with_power)
    ]
    ordered = sorted(
        (*inside, *around),
        key=lambda finding: (finding.kind != "power", -abs(finding.delta_joules or 0.0)),
    )
    could = [of_profile.could] if of_profile.seen or not of_training.seen else []
    could = [text for text in could if text]
    if of_training.could:
        could.append(f"around the profile: {of_training.could}")
    return replace(
        of_profile,
        findings=tuple(ordered),
        smaller=of_profile.smaller.some(in_profile, *of_training.smaller),
        could="; ".join(could),
        notes=tuple(dict.fromkeys((*of_profile.notes, *of_training.notes))),
        around=of_training.against,
    )
