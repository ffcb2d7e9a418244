"""Which epochs and batches a stretch of a training lies in, as far as its records tell.

Where no record lies within an epoch, the share of it is told; and batches by the work that the
others' power shows, where the number of steps is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import integrate
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.model import NS_PER_S, PS_PER_S, Floats, PowerOnTrace
from powertui.data.training.epoch_scalars import iterations
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import TrainedEpoch
from powertui.value_types import dataclass

# Of an epoch's steps: power alone tells batches no closer. This and the others here are chosen, not
# measured.
_EVEN_STEPS_SHARE = 0.05
# Moments of an epoch at which its work is looked at.
_COURSE_POINTS = 201
# Of a stretch: a smaller part in the next epoch is edge doubt.
_MIN_PART_SHARE = 0.1


@dataclass(frozen=True)
class EpochPart:
    """The part of a stretch within one epoch, with its batches as far as they are known."""

    epoch: int | None
    start: float  # s
    end: float
    first: int | None = None  # batches of the epoch, from 0, both included
    last: int | None = None
    half: int = 0  # ± of both
    share: tuple[float, float] | None = None  # of the epoch


class _BatchRange(NamedTuple):
    """Batches from the first to the last, and the ± of both. None where they are not known."""

    first: int | None
    last: int | None
    half: int


_NO_BATCHES = _BatchRange(None, None, 0)


@dataclass(frozen=True, eq=False)
class EpochParts:
    """Where in a training's epochs its stretches lie."""

    training: PlacedTraining
    axis: TrainingOnAxis
    power: PowerOnTrace
    idle_w: float | None

    def of_box(self, box: Box) -> Iterator[EpochPart]:
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
            yield EpochPart(None, box.start, box.end, *batches)
            return
        min_length = _MIN_PART_SHARE * (box.end - box.start)
        cuts = [cut for cut in cuts if cut[2] - cut[1] >= min_length] or cuts
        for number, (epoch, begin, end, lo, hi) in enumerate(cuts):
            start = box.start if number == 0 else begin
            stop = box.end if number == len(cuts) - 1 else end
            share = (max(0.0, (begin - lo) / (hi - lo)), min(1.0, (end - lo) / (hi - lo)))
            batches = self._batches(epoch, start, stop, box)
            yield EpochPart(epoch.number, start, stop, *batches, share)

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
            half=round(steps * (_EVEN_STEPS_SHARE + (uneven + unplaced))),
        )

    def _work_course(self, epoch: TrainedEpoch) -> Floats:
        """The share of its work that an epoch has done by each share of its time.

        It is the median of the other epochs.
        """
        grid = np.linspace(0, 1, _COURSE_POINTS)
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
        idle = self.idle_w if self.idle_w is not None else float(middle.min())
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

    def elsewhere(self, part: EpochPart) -> tuple[tuple[int | None, int, int], ...]:
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

    def extra_seconds(self, part: EpochPart) -> float | None:
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

    def _s(self, ns: int) -> float:
        return self.axis.at(ns) / PS_PER_S
