"""Findings of a training: stretches that drew more or less than expected.

What is expected comes from its own records and its other epochs. The engine is that of a profile's
findings; only the expectation differs. A stretch that reaches over several epochs is one finding
for each of them, with the batches that ran meanwhile. Outside its sessions nothing can explain it:
"a capture here would show".
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import integrate, placing, samples
from powertui.data.energy.account import Account
from powertui.data.energy.findings import could_find, throttling, unexplained
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
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, Floats, PowerOnTrace
from powertui.data.training import (
    expected_course,
    layers,
    overlapping_loads,
    stretches,
    training_throttling,
)
from powertui.data.training.epoch_scalars import iterations
from powertui.data.training.expected_course import ExpectedOfTraining, KnownCourse
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import TrainedEpoch


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
    even_steps_share: float = 0.05  # of an epoch's steps: power alone tells batches no closer
    max_step_records: int = 100_000  # that the usual length of a step is taken from
    course_points: int = 201  # moments of an epoch at which its work is looked at
    paused_share: float = 0.5  # of a stretch that drew less: its steps took so much longer
    min_part_share: float = 0.1  # of a stretch: a smaller part in the next epoch is edge doubt
    min_same_epoch_weight: float = 0.9  # of all places: else the epoch is not known


_LIMITS = _Limits()
_MAX_EPOCH_RECORDS = 2  # with no more records than these, only the epochs are known
_WOULD_TELL = "not profiled: a capture here would show"


@dataclass(frozen=True)
class _EpochPart:
    """The part of a stretch within one epoch, with its batches as far as they are known."""

    epoch: int | None
    start: float  # s
    end: float
    first: int | None = None  # batches of the epoch, from 0, both included
    last: int | None = None
    half: int = 0  # ± of both
    share: tuple[float, float] | None = None  # of the epoch


class _PlaceFindings(NamedTuple):
    """What differs from the expectation with the log at one place."""

    weight: float
    offset: float
    expected: ExpectedOfTraining
    boxes: list[Box]
    noise: Noise


class _BatchRange(NamedTuple):
    """Batches from the first to the last, and the ± of both. None where they are not known."""

    first: int | None
    last: int | None
    half: int


_NO_BATCHES = _BatchRange(None, None, 0)


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
    shifts = [(place.weight, place.offset - likeliest.offset) for place in by_place]
    findings: list[Finding] = []
    for box in overlapping_loads.merge_stacked_boxes(boxes):
        on_axis = box.moved(likeliest.offset).wider(sigma)
        for finding in converter.from_box(on_axis, shifts):
            if not converter.is_pause(finding):
                findings.append(finding)
    matter = [finding for finding in findings if converter.matters(finding)]
    matter.sort(key=lambda finding: -abs(finding.delta_joules or 0.0))
    smaller = [finding for finding in findings if finding not in matter]
    limits, could = converter.detection_limits(likeliest.expected, likeliest.noise)
    notes = []
    if len(training.records) <= _MAX_EPOCH_RECORDS:
        # Where within an epoch it pauses is not known: drawing less than the others says nothing.
        matter = [finding for finding in matter if (finding.delta_watts or 0.0) > 0]
        smaller = [finding for finding in smaller if (finding.delta_watts or 0.0) > 0]
        notes.append(
            "only epochs are logged: how the first one begins is not judged; scalars every few "
            "batches would show more"
        )
    if doubtful:
        stretches_stand = "stretches stand" if doubtful > 1 else "stretch stands"
        notes.append(
            f"{doubtful} {stretches_stand} out only at some of the places where the power log may "
            "lie: not listed"
        )
    return Findings(
        None,
        tuple(matter),
        Unopened(smaller),
        limits.findings,
        could,
        tuple(notes),
        seen=limits.seen,
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
    places = [
        (place.weight, on_axis)
        for place, on_axis in zip(power.places, placing.everywhere(power), strict=True)
        if place.weight >= _LIMITS.min_place_weight
    ]
    out = []
    for weight, on_axis in places or [(1.0, power)]:
        half_s = (on_axis.offset_hi_ps - on_axis.offset_lo_ps) / 2 / PS_PER_S
        place_s = float(np.hypot(half_s / Z95, axis.apart_ns / Z95 / NS_PER_S))

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
        stretches = training.stretches
        lo = max(axis.at(int(stretches.start[0])), int(power.times[0]))
        hi = min(axis.at(int(stretches.end.max())), int(power.times[-1]))
        self.run_joules = self._joules(lo, hi) if hi > lo else 0.0

    def from_box(self, box: Box, shifts: Sequence[tuple[float, float]]) -> Iterator[Finding]:
        """A finding for each epoch that the box touches.

        `shifts`: the places where it may lie as well, each (weight, by how many s later).
        """
        parts = list(self._parts(box))
        if not self._same_epochs_everywhere(box, parts, shifts):
            parts = [_EpochPart(None, box.start, box.end)]
        for part in parts:
            start_within = box.start_within if part is parts[0] else (part.start, part.start)
            end_within = box.end_within if part is parts[-1] else (part.end, part.end)
            share = (part.end - part.start) / max(box.end - box.start, 1e-9)
            finding = Finding(
                kind="power",
                witnesses=(UNEXPLAINED,),
                start_ps=round(part.start * PS_PER_S),
                end_ps=round(part.end * PS_PER_S),
                start_within=_in_ps(start_within),
                end_within=_in_ps(end_within),
                epoch=part.epoch,
                step_lo=part.first,
                step_hi=part.last,
                elsewhere=self._elsewhere(part),
                delta_watts=box.watts,
                lo_watts=box.lo_watts,
                hi_watts=box.hi_watts,
                delta_joules=share * box.joules,
                lo_joules=share * box.lo_joules,
                hi_joules=share * box.hi_joules,
                delta_seconds=self._extra_seconds(part),
                p=box.p,
                badge=self.badge,
                step_half=part.half if part.first is not None else None,
                share=part.share,
            )
            yield replace(finding, text=_sentence(finding))

    def _same_epochs_everywhere(
        self, box: Box, parts: Sequence[_EpochPart], shifts: Sequence[tuple[float, float]]
    ) -> bool:
        """Whether the box is in one of the same epochs at nearly all places of the log."""
        epochs = {part.epoch for part in parts}
        agreeing = sum(
            weight
            for weight, shift_s in shifts
            if epochs & {part.epoch for part in self._parts(box.moved(shift_s))}
        )
        total = sum(weight for weight, _ in shifts)
        return agreeing >= _LIMITS.min_same_epoch_weight * total

    def _parts(self, box: Box) -> Iterator[_EpochPart]:
        """The parts of a box by epoch; the whole box where it is in no epoch."""
        cuts = []
        for epoch in self.training.epochs:
            if epoch.start is None or epoch.end is None:
                continue
            lo, hi = self._s(epoch.start.ns), self._s(epoch.end.ns)
            begin, end = max(box.start, lo), min(box.end, hi)
            if end > begin:
                cuts.append((epoch, begin, end, lo, hi))
        if not cuts:
            batches = self._batches(None, box.start, box.end, box)
            yield _EpochPart(None, box.start, box.end, *batches)
            return
        min_length = _LIMITS.min_part_share * (box.end - box.start)
        cuts = [cut for cut in cuts if cut[2] - cut[1] >= min_length] or cuts
        for number, (epoch, begin, end, lo, hi) in enumerate(cuts):
            start = box.start if number == 0 else begin
            stop = box.end if number == len(cuts) - 1 else end
            share = (max(0.0, (begin - lo) / (hi - lo)), min(1.0, (end - lo) / (hi - lo)))
            batches = self._batches(epoch, start, stop, box)
            yield _EpochPart(epoch.number, start, stop, *batches, share)

    def _batches(
        self, epoch: TrainedEpoch | None, start: float, end: float, box: Box
    ) -> _BatchRange:
        """The batches that ran meanwhile, counted in the epoch where there is one."""
        rate = self.training.rate
        sides = [
            within if within[0] <= at <= within[1] else (at, at)
            for at, within in ((start, box.start_within), (end, box.end_within))
        ]
        if not len(rate) or (rate.within and epoch is not None and epoch.steps is None):
            return (
                self._batches_by_work(epoch, start, end, sides)
                if epoch is not None
                else _NO_BATCHES
            )
        bounds = []
        for at, (earliest, latest) in zip((start, end), sides, strict=True):
            done = self._steps_done(epoch, at)
            if done is None:
                return _NO_BATCHES
            least = self._steps_done(epoch, earliest) or done
            most = self._steps_done(epoch, latest) or done
            bounds.append((least[0], done[1], most[2]))
        zero = epoch.steps[0] if epoch is not None and epoch.steps is not None else 0
        first, last = round(bounds[0][1]) - zero, round(bounds[1][1]) - zero - 1
        half = max((bound[2] - bound[0] + 1) // 2 for bound in bounds)
        if epoch is not None and epoch.steps is not None:
            last = min(last, epoch.steps[1] - zero - 1)
        return _BatchRange(max(0, first), max(0, first, last), int(half))

    def _batches_by_work(
        self, epoch: TrainedEpoch, start: float, end: float, within: Sequence[tuple[float, float]]
    ) -> _BatchRange:
        """Batches by the share of the epoch's work that was done, as the others' power shows it.

        This is for epochs of which only the number of steps is known. Steps draw power, pauses
        hardly do. Validation draws as well; the ± holds what even steps over all of the epoch would
        make of it.
        """
        steps = iterations(self.training.epochs, self.training.strips)
        if steps is None or epoch.start is None or epoch.end is None:
            return _NO_BATCHES
        done = self._work_course(epoch)
        lo, hi = self._s(epoch.start.ns), self._s(epoch.end.ns)
        moments = np.array([(at, *side) for at, side in zip((start, end), within, strict=True)])
        shares = np.clip((moments - lo) / (hi - lo), 0.0, 1.0)
        work = np.interp(shares, np.linspace(0, 1, len(done)), done)
        uneven = float(np.abs(work - shares)[:, 0].max()) / 2
        unplaced = float(np.abs(work[:, 1:] - work[:, :1]).max()) / 2
        first, last = round(float(work[0, 0]) * steps), round(float(work[1, 0]) * steps) - 1
        return _BatchRange(
            first=min(max(first, 0), steps - 1),
            last=min(max(last, first, 0), steps - 1),
            half=round(steps * (_LIMITS.even_steps_share + (uneven + unplaced))),
        )

    def _work_course(self, epoch: TrainedEpoch) -> Floats:
        """The share of its work that an epoch has done by each share of its time.

        It is the median of the other epochs.
        """
        grid = np.linspace(0, 1, _LIMITS.course_points)
        courses = []
        for candidate in self.training.epochs[1:]:
            if candidate.number == epoch.number:
                continue
            if candidate.start is not None and candidate.end is not None:
                lo, hi = self.axis.at(candidate.start.ns), self.axis.at(candidate.end.ns)
                moments = (lo + grid * (hi - lo)).astype(np.int64)
                watts = integrate.watts_at(self.power, moments)
                if np.isfinite(watts).all():
                    courses.append(watts)
        if len(courses) < 2:
            return grid
        middle = np.median(np.array(courses), axis=0)
        idle = self.account.idle.value if self.account.idle is not None else float(middle.min())
        high = float(np.percentile(middle, 75))
        if high <= idle:
            return grid
        drew = np.clip((middle - idle) / (high - idle), 0.0, 1.0)
        running = np.concatenate([[0.0], np.cumsum((drew[1:] + drew[:-1]) / 2)])
        return np.asarray(running / running[-1]) if running[-1] > 0 else grid

    def _steps_done(
        self, epoch: TrainedEpoch | None, second: float
    ) -> tuple[int, float, int] | None:
        """Steps done at a moment (at least, by interpolation, at most)."""
        ns = self.axis.unix_ns(round(second * PS_PER_S))
        rate, stretches = self.training.rate, self.training.stretches
        done = rate.step_at(ns)
        row = int(np.searchsorted(stretches.start, ns, side="right")) - 1
        if done is not None and row >= 0 and stretches.kind[row] != 0:
            # In a pause no step runs: those before it are done.
            before = rate.step_at(int(stretches.start[row]))
            middle = float(before[0]) if before is not None else done[1]
            return done[0], middle, done[2]
        if done is not None or epoch is None or epoch.steps is None:
            return done
        if epoch.start is None or epoch.end is None:
            return None
        in_second_half = ns >= (epoch.start.ns + epoch.end.ns) // 2
        steps = epoch.steps[1] if in_second_half else epoch.steps[0]
        return steps, float(steps), steps

    def _elsewhere(self, part: _EpochPart) -> tuple[tuple[int | None, int, int], ...]:
        """The same batches, else the same share, of the other epochs."""
        if part.share is None:
            return ()
        out: list[tuple[int | None, int, int]] = []
        for epoch in self.training.epochs:
            if epoch.number == part.epoch or epoch.start is None or epoch.end is None:
                continue
            lo, hi = epoch.start.ns, epoch.end.ns
            begin, end = (lo + round(share * (hi - lo)) for share in part.share)
            if part.first is not None and part.last is not None and epoch.steps is not None:
                first_ns = self.training.rate.ns_at(epoch.steps[0] + part.first, lo, hi)
                last_ns = self.training.rate.ns_at(epoch.steps[0] + part.last + 1, lo, hi)
                begin = first_ns if first_ns is not None else begin
                end = last_ns if last_ns is not None else end
            if end > begin:
                out.append((epoch.number, self.axis.at(begin), self.axis.at(end)))
        return tuple(out)

    def _extra_seconds(self, part: _EpochPart) -> float | None:
        """Seconds that the batches took longer than the same ones of other epochs."""
        if part.epoch is None or part.first is None or part.last is None:
            return None
        if part.last - part.first < 2 * max(self.training.rate.every, 1):
            return None
        own_s = None
        others_s = []
        for epoch in self.training.epochs:
            if epoch.steps is None or epoch.start is None or epoch.end is None:
                continue
            length_s = self._batches_s(epoch, part.first, part.last)
            if epoch.number == part.epoch:
                own_s = length_s
            elif length_s is not None:
                others_s.append(length_s)
        if own_s is None or not others_s:
            return None
        return own_s - float(np.median(others_s))

    def _batches_s(self, epoch: TrainedEpoch, first: int, last: int) -> float | None:
        """Seconds from record to record within these batches: what is certain to be in them."""
        assert epoch.steps is not None
        assert epoch.start is not None
        assert epoch.end is not None
        every = max(self.training.rate.every, 1)
        first_record = -(-first // every) * every or every
        last_record = (last + 1) // every * every
        begin_ns, end_ns = (
            self.training.rate.ns_at(epoch.steps[0] + number, epoch.start.ns, epoch.end.ns)
            for number in (first_record, last_record)
        )
        if begin_ns is None or end_ns is None or last_record <= first_record:
            return None
        return (end_ns - begin_ns) / NS_PER_S

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
        return longer_ns >= _LIMITS.paused_share * (end - start)

    @functools.cached_property
    def step_ns(self) -> float:
        """How long a step usually takes, by the records."""
        rate = self.training.records
        sampled = rate.per_s[:: max(1, len(rate) // _LIMITS.max_step_records)]
        return NS_PER_S / float(np.nanmedian(sampled))

    def detection_limits(
        self, model: ExpectedOfTraining, noise: Noise
    ) -> tuple[could_find.Limits, str]:
        """What would have been found, also in words."""
        stretches = self.training.stretches
        readings = model.readings
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
        unknown = could_find.beside(doubtful, sessions)
        limits = could_find.limits(
            readings,
            noise,
            span,
            matter_watts,
            MIN_RUN_SHARE * self.run_joules,
            looks=layers.piece_count(len(readings)),
            strong=could_find.StrongBurst(strong_watts, _LIMITS.min_strong_s),
            longest=layers.longest_stretch_s(readings),
            apart=(*unknown, *sessions),
        )
        limits = limits._replace(apart=unknown)
        return limits, could_find.sentence(limits, span[1] - span[0])

    def _joules(self, lo: int, hi: int) -> float:
        energy = integrate.energies(self.power, [lo], [hi])
        return float(energy.covered_joules[0] / max(float(energy.coverage[0]), 1e-9))

    def _s(self, ns: int) -> float:
        return self.axis.at(ns) / PS_PER_S


def _in_ps(within: tuple[float, float]) -> tuple[int, int]:
    return round(within[0] * PS_PER_S), round(within[1] * PS_PER_S)


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _sentence(finding: Finding) -> str:
    """Where, how much, against what."""
    figures = []
    if finding.delta_watts is not None:
        figures.append(f"{finding.delta_watts:+.0f} W")
    if finding.delta_joules is not None:
        figures.append(f"{finding.delta_joules:+.0f} J")
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    seconds = finding.delta_seconds
    if seconds is not None and abs(seconds) >= 0.02 * length_s:
        figures.append(f"{seconds:+.2f} s")
    drew = ", ".join(figures)
    return f"{_where(finding)}: {drew} against the usual level of training; {_WOULD_TELL}"


def _where(finding: Finding) -> str:
    """Its epoch with the batches, or the share of it, or its times."""
    parts = [f"epoch {finding.epoch}"] if finding.epoch is not None else []
    first, last = finding.step_lo, finding.step_hi
    if first is not None and last is not None:
        batches = f"batch {first}" if first == last else f"batches {first}-{last}"
        parts.append(batches + (f" ± {finding.step_half}" if finding.step_half else ""))
    elif finding.share is not None:
        parts.append(f"{finding.share[0]:.0%} to {finding.share[1]:.0%} of it")
    if parts:
        return ", ".join(parts)
    half = (finding.start_within[1] - finding.start_within[0]) / 2
    times = f"{finding.start_ps / PS_PER_S:.2f} … {finding.end_ps / PS_PER_S:.2f} s"
    # A ± shorter than the stretch, or than a second, is not worth the words.
    if half > finding.end_ps - finding.start_ps and half >= PS_PER_S:
        times += f" ± {half / PS_PER_S:.0f} s"
    return times


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
    could = [of_profile.could] if of_profile.could else []
    if of_training.could:
        could.append(f"over the whole training {of_training.could}")
    return replace(
        of_profile,
        findings=tuple(ordered),
        smaller=of_profile.smaller.some(in_profile, *of_training.smaller),
        could="; ".join(could),
        notes=tuple(dict.fromkeys((*of_profile.notes, *of_training.notes))),
    )
