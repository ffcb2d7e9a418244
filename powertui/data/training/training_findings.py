"""What stands out in a training: stretches that drew more or less than its own records and its
other epochs let expect.

The engine is that of a profile's findings; only what is expected differs. A stretch that reaches
over several epochs is one finding for each of them, with the batches that ran meanwhile. Outside
its sessions nothing can explain it: "a capture here would tell".
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from powertui.data.energy import integrate, placing, samples
from powertui.data.energy.account import Account
from powertui.data.energy.findings import could_find, throttling, unexplained
from powertui.data.energy.findings.finding import UNEXPLAINED, Finding, Findings, Unopened
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, PS_PER_S, Badge, Floats, PowerOnTrace
from powertui.data.training import (
    expected_course,
    layers,
    overlapping_loads,
    stretches,
    training_throttling,
)
from powertui.data.training.epoch_scalars import iterations
from powertui.data.training.expected_course import ExpectedOfTraining, KnownCourse
from powertui.data.training.training_parts import TrainedEpoch

if TYPE_CHECKING:
    from powertui.data.training.training import Training
    from powertui.data.training.training_on_axis import TrainingOnAxis

_OF_STRETCH, _OF_RUN, _OF_EPOCH = (
    0.05,
    0.005,
    0.02,
)  # least share of its own energy, of the run's, of its epoch's
_STRONG, _LONG_ENOUGH_S = (
    0.08,
    10.0,
)  # or so much of its own, for so long: little of ten hours, and yet somebody else ran there
# of a training that its sessions cover: then their traces tell, and nothing is left for this
_COVERED = 0.8
_FEW = 0.02  # a place that weighs less is not looked at
_EVEN = 0.05  # of an epoch's steps: no closer is their number known by power alone
_STEPS = 100_000  # records that tell how long a step takes
_COURSE = 201  # moments of an epoch at which its work is looked at
_PAUSED = 0.5  # of a stretch that drew less: so much longer its steps took
_LEAST_PART = 0.1  # of a stretch: a smaller part in a neighbouring epoch is its edge's doubt
_SAME_EPOCH = 0.9  # of the weight of all places: else its epoch is not known
_WOULD_TELL = "not profiled: a capture here would show"


@dataclass(frozen=True)
class _EpochPart:
    """The part of a stretch that lies in one epoch: its batches, as far as records or its share of
    the epoch tell.
    """

    epoch: int | None
    start: float  # s
    end: float
    first: int | None = None  # batches of the epoch, from 0, both included
    last: int | None = None
    half: int = 0  # ± of both
    share: tuple[float, float] | None = None  # of the epoch


class _Looked(NamedTuple):
    weight: float
    offset: float
    expected: ExpectedOfTraining
    boxes: list[Box]
    noise: Noise


def findings_in_training(training: Training, seen: TrainingOnAxis, account: Account) -> Findings:
    """Everything that stands out outside the sessions, on the axis of `seen`."""
    found = _of(training, seen, account)
    back = training_throttling.throttled_in_training(
        training, seen, [one.power for one in account.placed]
    )
    if not back:
        return found
    span = (seen.at(int(training.stretches.start[0])), seen.at(int(training.stretches.end.max())))
    told = [
        replace(one, text=throttling.sentence(by, _where(one), None, 0))
        for one, by in training_throttling.throttling_findings(training, seen, back)
    ]
    rest = throttling.without(found.findings, back, span)
    notes = (*found.notes, found.reason) if found.reason else found.notes
    return replace(
        found,
        findings=(*rest, *told),
        smaller=Unopened(throttling.without(found.smaller, back, span)),
        reason="",
        notes=tuple(notes),
    )


def _of(training: Training, seen: TrainingOnAxis, account: Account) -> Findings:
    power = account.power
    if power is None or power.status == "none" or not len(power.times):
        return Findings(None, (), reason="no power log covers this training")
    if not len(training.stretches):
        return Findings(None, (), reason="no record tells when it trained")
    if _covered(training, seen) >= _COVERED:
        return Findings(None, (), reason="its sessions cover it: see theirs")
    if (half_s := _open(power)) > _epoch_s(training):
        return Findings(
            None,
            (),
            reason=(
                f"the power log may lie anywhere within ± {half_s:.0f} s: that is too "
                "uncertain for findings"
            ),
        )
    looked = _look(training, seen, power)
    first = looked[0].expected
    if first.reason:
        return Findings(None, (), reason=first.reason)
    found, doubtful = unexplained.join_over_places(
        [(one.weight, [box.moved(-one.offset) for box in one.boxes]) for one in looked]
    )
    sigma = unexplained.spread([one.weight for one in looked], [one.offset for one in looked])
    if len(looked) == 1:
        sigma = float(
            np.hypot(sigma, (power.offset_hi_ps - power.offset_lo_ps) / 2 / 1.96 / PS_PER_S)
        )
    told = _Telling(training, seen, account, power)
    places = [(one.weight, one.offset - looked[0].offset) for one in looked]
    every = [
        one
        for box in overlapping_loads.merge_stacked_boxes(found)
        for one in told.of_box(box.moved(looked[0].offset).wider(sigma), places)
    ]
    every = [one for one in every if not told.paused(one)]
    matter = sorted(
        (one for one in every if told.matters(one)), key=lambda one: -abs(one.delta_joules or 0.0)
    )
    smaller = [one for one in every if one not in matter]
    limits, could = told.could(first, looked[0].noise)
    if (
        len(training.records) <= 2
    ):  # where within an epoch it pauses is not known: less than the others draw there is nothing
        matter, smaller = (
            [one for one in all if (one.delta_watts or 0.0) > 0] for all in (matter, smaller)
        )
    notes = []
    if len(training.records) <= 2:
        notes.append(
            "only epochs are logged: how the first one begins is not judged; scalars every few "
            "batches would show more"
        )
    if doubtful:
        many = "stretches stand" if doubtful > 1 else "stretch stands"
        notes.append(
            f"{doubtful} {many} out only at some of the places where the power log may lie: "
            "not listed"
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


def _open(power: PowerOnTrace) -> float:
    """How far off (s) the log may lie from the middle of all places in question."""
    weights = [place.weight for place in power.places]
    return (
        1.96 * unexplained.spread(weights, [place.offset_ps / PS_PER_S for place in power.places])
        if weights
        else 0.0
    )


def _epoch_s(training: Training) -> float:
    """How long an epoch takes, s; of a training without any, a tenth of it."""
    known = [
        one.end.ns - one.start.ns
        for one in training.epochs
        if one.start is not None and one.end is not None
    ]
    stretches = training.stretches
    return (
        float(np.median(known) if known else 0.1 * (stretches.end.max() - stretches.start[0]))
        / NS_PER_S
    )


def _covered(training: Training, seen: TrainingOnAxis) -> float:
    """The share of the training that its sessions cover."""
    stretches = training.stretches
    length = int((stretches.end - stretches.start).sum())
    inside = 0
    for lo, hi in _islands(seen):
        a, b = seen.unix_ns(round(lo * PS_PER_S)), seen.unix_ns(round(hi * PS_PER_S))
        inside += int(
            np.clip(np.minimum(stretches.end, b) - np.maximum(stretches.start, a), 0, None).sum()
        )
    return inside / max(length, 1)


def _islands(seen: TrainingOnAxis) -> tuple[tuple[float, float], ...]:
    return tuple(
        (one.start / PS_PER_S, one.end / PS_PER_S)
        for one in seen.islands
        if one.start is not None and one.end is not None
    )


def _look(training: Training, seen: TrainingOnAxis, power: PowerOnTrace) -> list[_Looked]:
    """What stands out at each place where the power may lie."""
    data = samples.power_samples(power.series)
    bounds = [
        (one.start, one.end)
        for one in training.epochs
        if one.start is not None and one.end is not None
    ]
    known = KnownCourse(
        stretches.training_stretches(training.records, training.epochs),
        seen.zero_ns,
        tuple(
            ((a.ns - seen.zero_ns) / NS_PER_S, (b.ns - seen.zero_ns) / NS_PER_S) for a, b in bounds
        ),
        len(training.records) > 2,
        _islands(seen),
    )
    places = [
        (p.weight, one)
        for p, one in zip(power.places, placing.everywhere(power), strict=True)
        if p.weight >= _FEW
    ]
    out = []
    for weight, one in places or [(1.0, power)]:
        half = (one.offset_hi_ps - one.offset_lo_ps) / 2 / PS_PER_S
        place_s = float(np.hypot(half / 1.96, seen.apart_ns / 1.96 / NS_PER_S))

        def expect(
            layer: Samples, one: PowerOnTrace = one, place_s: float = place_s
        ) -> ExpectedOfTraining:
            return expected_course.expected_course(
                unexplained.placed_on(layer, one),
                known,
                unexplained.window_prior(power, layer, place_s),
            )

        out.append(_Looked(weight, one.offset_ps / PS_PER_S, *layers.find_in_layers(data, expect)))
    return out


class _Telling:
    """Boxes as findings: which epoch and batches, whether they matter, in words."""

    def __init__(
        self, training: Training, seen: TrainingOnAxis, account: Account, power: PowerOnTrace
    ) -> None:
        self.training, self.seen, self.account, self.power = training, seen, account, power
        self.badge = Badge.MEASURED if power.status == "aligned" else Badge.ESTIMATED
        stretches = training.stretches
        lo = max(seen.at(int(stretches.start[0])), int(power.times[0]))
        hi = min(seen.at(int(stretches.end.max())), int(power.times[-1]))
        self.run_joules = self._joules(lo, hi) if hi > lo else 0.0

    def of_box(self, box: Box, places: Sequence[tuple[float, float]]) -> Iterator[Finding]:
        """One for each epoch that it touches; `places`: (weight, s later) at which it may lie as
        well.
        """
        parts = list(self._parts(box))
        own = {part.epoch for part in parts}
        there = sum(
            weight
            for weight, by in places
            if own & {part.epoch for part in self._parts(box.moved(by))}
        )
        if there < _SAME_EPOCH * sum(weight for weight, _ in places):
            parts = [_EpochPart(None, box.start, box.end)]
        for part in parts:
            share = (part.end - part.start) / max(box.end - box.start, 1e-9)
            start, end = round(part.start * PS_PER_S), round(part.end * PS_PER_S)
            first, last = part is parts[0], part is parts[-1]
            within = [
                (round(a * PS_PER_S), round(b * PS_PER_S))
                for a, b in (
                    box.start_within if first else (part.start, part.start),
                    box.end_within if last else (part.end, part.end),
                )
            ]
            one = Finding(
                "power",
                (UNEXPLAINED,),
                start,
                end,
                within[0],
                within[1],
                part.epoch,
                part.first,
                part.last,
                self._elsewhere(part),
                box.watts,
                box.lo_watts,
                box.hi_watts,
                share * box.joules,
                share * box.lo_joules,
                share * box.hi_joules,
                self._longer(part),
                box.p,
                self.badge,
                step_half=part.half if part.first is not None else None,
                share=part.share,
            )
            yield replace(one, text=_sentence(one))

    def _parts(self, box: Box) -> Iterator[_EpochPart]:
        cuts = []
        for epoch in self.training.epochs:
            if epoch.start is None or epoch.end is None:
                continue
            lo, hi = (self._s(moment.ns) for moment in (epoch.start, epoch.end))
            a, b = max(box.start, lo), min(box.end, hi)
            if b > a:
                cuts.append((epoch, a, b, lo, hi))
        big = [
            cut for cut in cuts if cut[2] - cut[1] >= _LEAST_PART * (box.end - box.start)
        ] or cuts
        if not big:
            yield _EpochPart(
                None, box.start, box.end, *self._batches(None, box.start, box.end, box)
            )
            return
        for number, (epoch, a, b, lo, hi) in enumerate(big):
            start = box.start if number == 0 else a
            end = box.end if number == len(big) - 1 else b
            share = (max(0.0, (a - lo) / (hi - lo)), min(1.0, (b - lo) / (hi - lo)))
            yield _EpochPart(
                epoch.number, start, end, *self._batches(epoch, start, end, box), share
            )

    def _batches(
        self, epoch: TrainedEpoch | None, start: float, end: float, box: Box
    ) -> tuple[int | None, int | None, int]:
        """(first, last, ±) of the batches that ran meanwhile, counted in the epoch where there is
        one.
        """
        rate = self.training.rate
        if not len(rate) or (rate.within and epoch is not None and epoch.steps is None):
            near = ((start, box.start_within), (end, box.end_within))
            sides = [one if one[0] <= at <= one[1] else (at, at) for at, one in near]
            return (
                self._by_share(epoch, start, end, sides) if epoch is not None else (None, None, 0)
            )
        zero, most = epoch.steps if epoch is not None and epoch.steps is not None else (0, None)
        bounds = []
        for at, within in ((start, box.start_within), (end, box.end_within)):
            ends = within if within[0] <= at <= within[1] else (at, at)
            found = [self._done(epoch, second) for second in (ends[0], at, ends[1])]
            if found[1] is None:
                return None, None, 0
            low, high = found[0] or found[1], found[2] or found[1]
            bounds.append((low[0], found[1][1], high[2]))
        first, last = round(bounds[0][1]) - zero, round(bounds[1][1]) - zero - 1
        half = max((bound[2] - bound[0] + 1) // 2 for bound in bounds)
        if most is not None:
            last = min(last, most - zero - 1)
        return max(0, first), max(0, first, last), int(half)

    def _by_share(
        self, epoch: TrainedEpoch, start: float, end: float, within: Sequence[tuple[float, float]]
    ) -> tuple[int | None, int | None, int]:
        """Where only the number of an epoch's steps is known: by how much of its work was done, as
        the power of the others tells.

        Steps draw, pauses hardly do. Validation draws as well; the ± holds what even steps over all
        of the epoch would make of it.
        """
        each = iterations(self.training.epochs, self.training.strips)
        if each is None or epoch.start is None or epoch.end is None:
            return None, None, 0
        done = self._course(epoch)
        lo, hi = self._s(epoch.start.ns), self._s(epoch.end.ns)
        shares = np.clip(
            (np.array([(at, *side) for at, side in zip((start, end), within, strict=True)]) - lo)
            / (hi - lo),
            0.0,
            1.0,
        )
        work = np.interp(shares, np.linspace(0, 1, len(done)), done)
        off = (
            float(np.abs(work - shares)[:, 0].max()) / 2
            + float(np.abs(work[:, 1:] - work[:, :1]).max()) / 2
        )
        first, last = round(float(work[0, 0]) * each), round(float(work[1, 0]) * each) - 1
        return (
            min(max(first, 0), each - 1),
            min(max(last, first, 0), each - 1),
            round(each * (_EVEN + off)),
        )

    def _course(self, epoch: TrainedEpoch) -> Floats:
        """The share of its work that an epoch has done by each share of its time: the median of the
        others.
        """
        grid = np.linspace(0, 1, _COURSE)
        rows = []
        for other in self.training.epochs[1:]:
            if other.number != epoch.number and other.start is not None and other.end is not None:
                lo, hi = self.seen.at(other.start.ns), self.seen.at(other.end.ns)
                rows.append(
                    integrate.watts_at(self.power, (lo + grid * (hi - lo)).astype(np.int64))
                )
        known = np.array([row for row in rows if np.isfinite(row).all()])
        if len(known) < 2:
            return grid
        middle = np.median(known, axis=0)
        idle = self.account.idle.value if self.account.idle is not None else float(middle.min())
        high = float(np.percentile(middle, 75))
        if high <= idle:
            return grid
        drew = np.clip((middle - idle) / (high - idle), 0.0, 1.0)
        running = np.concatenate([[0.0], np.cumsum((drew[1:] + drew[:-1]) / 2)])
        return np.asarray(running / running[-1]) if running[-1] > 0 else grid

    def _done(self, epoch: TrainedEpoch | None, second: float) -> tuple[int, float, int] | None:
        """Steps done at a moment: in a pause those of the records around it."""
        ns = self.seen.unix_ns(round(second * PS_PER_S))
        found = self.training.rate.step_at(ns)
        stretches = self.training.stretches
        row = int(np.searchsorted(stretches.start, ns, side="right")) - 1
        if (
            found is not None and row >= 0 and stretches.kind[row] != 0
        ):  # no step ran: those before it are done
            before = self.training.rate.step_at(int(stretches.start[row]))
            done = float(before[0]) if before is not None else found[1]
            found = (found[0], done, found[2])
        if (
            found is None
            and epoch is not None
            and epoch.steps is not None
            and epoch.end is not None
            and epoch.start is not None
        ):
            done = epoch.steps[1] if ns >= (epoch.start.ns + epoch.end.ns) // 2 else epoch.steps[0]
            return done, float(done), done
        return found

    def _elsewhere(self, part: _EpochPart) -> tuple[tuple[int | None, int, int], ...]:
        """The same batches, else the same share, of the other epochs."""
        out: list[tuple[int | None, int, int]] = []
        for epoch in self.training.epochs:
            if (
                epoch.number == part.epoch
                or epoch.start is None
                or epoch.end is None
                or part.share is None
            ):
                continue
            lo, hi = epoch.start.ns, epoch.end.ns
            ends = [lo + round(side * (hi - lo)) for side in part.share]
            if part.first is not None and part.last is not None and epoch.steps is not None:
                known = [
                    self.training.rate.ns_at(epoch.steps[0] + number, lo, hi)
                    for number in (part.first, part.last + 1)
                ]
                ends = [
                    there if there is not None else by_share
                    for there, by_share in zip(known, ends, strict=True)
                ]
            if ends[1] > ends[0]:
                out.append((epoch.number, self.seen.at(ends[0]), self.seen.at(ends[1])))
        return tuple(out)

    def _longer(self, part: _EpochPart) -> float | None:
        """Seconds that the batches took longer than the same ones of other epochs."""
        if (
            part.first is None
            or part.last is None
            or part.last - part.first < 2 * max(self.training.rate.every, 1)
        ):
            return None
        times = {
            epoch.number: self._took(epoch, part.first, part.last)
            for epoch in self.training.epochs
            if epoch.steps is not None and epoch.start is not None and epoch.end is not None
        }
        rest = [took for number, took in times.items() if number != part.epoch and took is not None]
        own = times.get(part.epoch) if part.epoch is not None else None
        return own - float(np.median(rest)) if own is not None and rest else None

    def _took(self, epoch: TrainedEpoch, first: int, last: int) -> float | None:
        """From record to record within these batches: what is certain to lie in them."""
        assert epoch.steps is not None
        assert epoch.start is not None
        assert epoch.end is not None
        every = max(self.training.rate.every, 1)
        inner = (-(-first // every) * every or every, (last + 1) // every * every)
        ends = [
            self.training.rate.ns_at(epoch.steps[0] + number, epoch.start.ns, epoch.end.ns)
            for number in inner
        ]
        return (
            (ends[1] - ends[0]) / NS_PER_S
            if ends[0] is not None and ends[1] is not None and inner[1] > inner[0]
            else None
        )

    def matters(self, one: Finding) -> bool:
        """At least 5 % of its own stretch, and 0.5 % of the run or 2 % of its epoch; or 8 % more
        for 10 s (less is a pause).
        """
        if one.may_be_nothing:
            return False
        stretch = abs(self._joules(one.start_ps, max(one.end_ps, one.start_ps + 1)))
        least = _OF_RUN * self.run_joules
        epoch = next((e for e in self.training.epochs if e.number == one.epoch), None)
        if epoch is not None and epoch.start is not None and epoch.end is not None:
            least = min(
                least,
                _OF_EPOCH * self._joules(self.seen.at(epoch.start.ns), self.seen.at(epoch.end.ns)),
            )
        more = one.delta_joules or 0.0
        strong = (
            more >= _STRONG * stretch and one.end_ps - one.start_ps >= _LONG_ENOUGH_S * PS_PER_S
        )
        return strong or abs(more) >= max(_OF_STRETCH * stretch, least)

    def paused(self, one: Finding) -> bool:
        """Whether it drew less because its steps took longer by half of it or more: the records
        tell of that pause already.
        """
        rate = self.training.records
        if (one.delta_watts or 0.0) >= 0 or len(rate) <= 2:
            return False
        start, end = self.seen.unix_ns(one.start_ps), self.seen.unix_ns(one.end_ps)
        first = max(int(rate.at_ns.searchsorted(start, side="right")) - 1, 0)
        last = min(int(rate.at_ns.searchsorted(end)), len(rate) - 1)
        usual = self.step_ns * max(int(rate.step[last] - rate.step[first]), 0)
        return float(rate.at_ns[last] - rate.at_ns[first]) - usual >= _PAUSED * (end - start)

    @functools.cached_property
    def step_ns(self) -> float:
        """How long a step usually takes, by the records."""
        rate = self.training.records
        return NS_PER_S / float(np.nanmedian(rate.per_s[:: max(1, len(rate) // _STEPS)]))

    def could(self, model: ExpectedOfTraining, noise: Noise) -> tuple[could_find.Limits, str]:
        """What would have been found."""
        stretches = self.training.stretches
        begin, end = self._s(int(stretches.start[0])), self._s(int(stretches.end.max()))
        judged = np.flatnonzero(model.readings.judged)
        if (
            len(judged) and len(self.training.records) <= 2
        ):  # how the first epoch begins is not judged, and nothing is promised of it
            begin = max(begin, float(model.readings.lo[judged[0]]))
        span = (begin, end)
        ceiling = model.readings.ceiling
        least = np.where(np.isfinite(ceiling), ceiling, 0.0) * _OF_STRETCH / (1 - _OF_STRETCH)
        strong = could_find.StrongBurst(
            least * _STRONG / _OF_STRETCH * (1 - _OF_STRETCH) / (1 - _STRONG), _LONG_ENOUGH_S
        )
        looks, longest = (
            layers.piece_count(len(model.readings)),
            layers.longest_stretch_s(model.readings),
        )
        # Sessions have limits of their own, by their traces: these are about the rest.
        sessions = _islands(self.seen)
        unknown = could_find.beside(could_find.doubtful(model.readings, span, least), sessions)
        spared = (*unknown, *sessions)
        found = could_find.limits(
            model.readings,
            noise,
            span,
            least,
            _OF_RUN * self.run_joules,
            looks,
            strong,
            longest,
            spared,
        )
        found = found._replace(apart=unknown)
        return found, could_find.sentence(found, span[1] - span[0])

    def _joules(self, lo: int, hi: int) -> float:
        found = integrate.energies(self.power, [lo], [hi])
        return float(found.covered_joules[0] / max(float(found.coverage[0]), 1e-9))

    def _s(self, ns: int) -> float:
        return self.seen.at(ns) / PS_PER_S


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _sentence(one: Finding) -> str:
    """Where, how much, against what."""
    drew = []
    if one.delta_watts is not None:
        drew.append(f"{one.delta_watts:+.0f} W")
    if one.delta_joules is not None:
        drew.append(f"{one.delta_joules:+.0f} J")
    length = (one.end_ps - one.start_ps) / PS_PER_S
    if one.delta_seconds is not None and abs(one.delta_seconds) >= 0.02 * length:
        drew.append(f"{one.delta_seconds:+.2f} s")
    return f"{_where(one)}: {', '.join(drew)} against the usual level of training; {_WOULD_TELL}"


def _where(one: Finding) -> str:
    """Its epoch with the batches, or the share of it, or its times."""
    parts = [f"epoch {one.epoch}"] if one.epoch is not None else []
    if one.step_lo is not None and one.step_hi is not None:
        steps = (
            f"batch {one.step_lo}"
            if one.step_lo == one.step_hi
            else f"batches {one.step_lo}-{one.step_hi}"
        )
        parts.append(steps + (f" ± {one.step_half}" if one.step_half else ""))
    elif one.share is not None:
        parts.append(f"{one.share[0]:.0%} to {one.share[1]:.0%} of it")
    if not parts:
        half = (one.start_within[1] - one.start_within[0]) / 2
        open_s = (
            f" ± {half / PS_PER_S:.0f} s"
            if half > one.end_ps - one.start_ps and half >= PS_PER_S
            else ""
        )
        parts.append(f"{one.start_ps / PS_PER_S:.2f} … {one.end_ps / PS_PER_S:.2f} s{open_s}")
    return ", ".join(parts)


def with_training_findings(own: Findings, whole: Findings, span: tuple[int, int]) -> Findings:
    """What stands out in a profile, and around it: outside its span the whole training knows more
    than the profile does.
    """
    if whole.reason:
        return own

    def mine(one: Finding) -> bool:
        return one.end_ps > span[0] and one.start_ps < span[1]

    kept = tuple(filter(mine, own.findings))
    rest = tuple(
        one
        for one in whole.findings
        if not any(
            one.start_ps < k.end_ps and one.end_ps > k.start_ps for k in kept if k.delta_watts
        )
    )
    ordered = tuple(
        sorted((*kept, *rest), key=lambda one: (one.kind != "power", -abs(one.delta_joules or 0.0)))
    )
    could = "; ".join(
        words
        for words in (own.could, f"over the whole training {whole.could}" if whole.could else "")
        if words
    )
    notes = tuple(dict.fromkeys((*own.notes, *whole.notes)))
    return replace(
        own,
        findings=ordered,
        smaller=own.smaller.some(mine, *whole.smaller),
        could=could,
        notes=notes,
    )
