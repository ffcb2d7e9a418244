"""Which epochs and batches a stretch of a training lies in, as far as its records tell.

Where no record lies within an epoch, the share of it is told; and batches by the work that the
others' power shows, where the number of steps is known.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.energy import integrate, settings
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.model import NS_PER_S, PS_PER_S, Floats, PowerOnTrace
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.data.training.epoch_scalars import iterations
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.stretches import KINDS, TRAINING
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import StepsDone, TrainedEpoch, bounded_epochs
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Of an epoch's steps: power alone tells batches no closer. This and the others here are chosen, not
# measured.
_EVEN_STEPS_SHARE = settings.NOTABLE_SHARE
# Moments of an epoch at which its work is looked at.
_COURSE_POINTS = 201
# Of a stretch: a smaller part in the next epoch is edge doubt.
_MIN_PART_SHARE = settings.MINOR_SHARE


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


_NO_BATCHES = _BatchRange(first=None, last=None, half=0)


class _Bounded(NamedTuple):
    """A moment (s), and between which moments it is known to be."""

    likeliest: float
    earliest: float
    latest: float


class _Cut(NamedTuple):
    """What of a box is in one epoch (s), and which share of the epoch that is."""

    epoch: TrainedEpoch
    begin: float
    end: float
    share: tuple[float, float]


def _bounded(moment: float, within: tuple[float, float]) -> _Bounded:
    """A moment with its bounds; itself where it was cut off at an epoch's end."""
    earliest, latest = within
    if earliest <= moment <= latest:
        return _Bounded(likeliest=moment, earliest=earliest, latest=latest)
    return _Bounded(likeliest=moment, earliest=moment, latest=moment)


@dataclass(frozen=True, eq=False)
class EpochParts:
    """Where in a training's epochs its stretches lie."""

    training: PlacedTraining
    axis: TrainingOnAxis
    power: PowerOnTrace
    idle_w: float | None

    def of_box(self, box: Box) -> Iterator[EpochPart]:
        """The parts of a box by epoch; all of the box where it is in no epoch."""
        cuts = self._cuts(box)
        if not cuts:
            batches = self._batches(None, box.start, box.end, box)
            yield EpochPart(None, box.start, box.end, *batches)
            return
        min_length = _MIN_PART_SHARE * (box.end - box.start)
        cuts = [cut for cut in cuts if cut.end - cut.begin >= min_length] or cuts
        for number, cut in enumerate(cuts):
            start = box.start if number == 0 else cut.begin
            is_last = number == len(cuts) - 1
            end = box.end if is_last else cut.end
            batches = self._batches(cut.epoch, start, end, box)
            yield EpochPart(
                epoch=cut.epoch.number,
                start=start,
                end=end,
                first=batches.first,
                last=batches.last,
                half=batches.half,
                share=cut.share,
            )

    def _cuts(self, box: Box) -> list[_Cut]:
        """What of a box is in each epoch."""
        cuts = []
        for epoch, epoch_start, epoch_end in bounded_epochs(self.training.epochs):
            lo = self._s(epoch_start.ns)
            hi = self._s(epoch_end.ns)
            begin = max(box.start, lo)
            end = min(box.end, hi)
            if end <= begin:
                continue
            length = hi - lo
            begin_share = max(0.0, (begin - lo) / length)
            end_share = min(1.0, (end - lo) / length)
            cuts.append(
                _Cut(
                    epoch=epoch,
                    begin=begin,
                    end=end,
                    share=(begin_share, end_share),
                )
            )
        return cuts

    def _batches(
        self,
        epoch: TrainedEpoch | None,
        start: float,
        end: float,
        box: Box,
    ) -> _BatchRange:
        """The batches that ran meanwhile, counted in the epoch where there is one."""
        rate = self.training.rate
        bounded_start = _bounded(start, box.start_within)
        bounded_end = _bounded(end, box.end_within)
        steps = epoch.steps if epoch is not None else None
        if epoch is None:
            is_counted = bool(len(rate))
        else:
            is_counted = len(rate) > 0 and (not rate.within or steps is not None)
        if not is_counted:
            if epoch is None:
                return _NO_BATCHES
            return self._batches_by_work(epoch, bounded_start, bounded_end)
        at_start = self._steps_done_within(epoch, bounded_start)
        at_end = self._steps_done_within(epoch, bounded_end)
        if at_start is None or at_end is None:
            return _NO_BATCHES
        # Steps are counted over the training, batches from the epoch's beginning on.
        zero = steps[0] if steps is not None else 0
        first = round(at_start.likeliest) - zero
        last = round(at_end.likeliest) - zero - 1
        if steps is not None:
            last = min(last, steps[1] - zero - 1)
        start_half = (at_start.most - at_start.fewest + 1) // 2
        end_half = (at_end.most - at_end.fewest + 1) // 2
        half = max(start_half, end_half)
        return _BatchRange(
            first=max(0, first),
            last=max(0, first, last),
            half=int(half),
        )

    def _steps_done_within(self, epoch: TrainedEpoch | None, moment: _Bounded) -> StepsDone | None:
        """Steps done at a moment, as far as its bounds leave that open."""
        done = self._steps_done(epoch, moment.likeliest)
        if done is None:
            return None
        at_earliest = self._steps_done(epoch, moment.earliest) or done
        at_latest = self._steps_done(epoch, moment.latest) or done
        return StepsDone(fewest=at_earliest.fewest, likeliest=done.likeliest, most=at_latest.most)

    def _batches_by_work(self, epoch: TrainedEpoch, start: _Bounded, end: _Bounded) -> _BatchRange:
        """Batches by the share of the epoch's work that was done, as the others' power shows it.

        This is for epochs of which only the number of steps is known. Steps draw power, pauses
        hardly do. Validation draws as well; the ± contains what even steps over all of the epoch
        would make of it.
        """
        steps = iterations(self.training.epochs, self.training.strips)
        if steps is None or epoch.start is None or epoch.end is None:
            return _NO_BATCHES
        done = self._work_course(epoch)
        lo = self._s(epoch.start.ns)
        hi = self._s(epoch.end.ns)
        # Of start and end: the likeliest moment, and then its bounds.
        moments = np.array([start, end])
        shares = np.clip((moments - lo) / (hi - lo), 0.0, 1.0)
        even_shares = np.linspace(0, 1, len(done))
        work = np.interp(shares, even_shares, done)
        likeliest_work = work[:, 0]
        uneven = np.abs(likeliest_work - shares[:, 0]).max()
        unplaced = np.abs(work[:, 1:] - work[:, :1]).max()
        half_share = _EVEN_STEPS_SHARE + (float(uneven) / 2 + float(unplaced) / 2)
        first = round(float(likeliest_work[0]) * steps)
        last = round(float(likeliest_work[1]) * steps) - 1
        last_step = steps - 1
        return _BatchRange(
            first=min(max(first, 0), last_step),
            last=min(max(last, first, 0), last_step),
            half=round(steps * half_share),
        )

    def _work_course(self, epoch: TrainedEpoch) -> Floats:
        """The share of its work that an epoch has done by each share of its time.

        It is the median of the other epochs.
        """
        grid = np.linspace(0, 1, _COURSE_POINTS)
        courses = self._power_courses(epoch, grid)
        if len(courses) < 2:
            return grid
        middle = np.median(np.array(courses), axis=0)
        idle_w = self.idle_w
        if idle_w is None:
            idle_w = float(middle.min())
        high_w = percentile_of_column(middle, 75)
        if high_w <= idle_w:
            return grid
        above_idle = (middle - idle_w) / (high_w - idle_w)
        activity = np.clip(above_idle, 0.0, 1.0)
        between_points = (activity[1:] + activity[:-1]) / 2
        done = np.concatenate([[0.0], np.cumsum(between_points)])
        total = done[-1]
        if total > 0:
            return np.asarray(done / total)
        return grid

    def _power_courses(self, epoch: TrainedEpoch, grid: Floats) -> list[Floats]:
        """The watts of the other epochs at these shares of them; the first one starts as well, and
        does not count.
        """
        courses = []
        for another, start, end in bounded_epochs(self.training.epochs[1:]):
            if another.number == epoch.number:
                continue
            lo = self.axis.at(start.ns)
            hi = self.axis.at(end.ns)
            moments = (lo + grid * (hi - lo)).astype(np.int64)
            watts = integrate.watts_at(self.power, moments)
            if np.isfinite(watts).all():
                courses.append(watts)
        return courses

    def _steps_done(self, epoch: TrainedEpoch | None, second: float) -> StepsDone | None:
        ns = self.axis.unix_ns(round(second * PS_PER_S))
        rate = self.training.rate
        stretches = self.training.stretches
        done = rate.step_at(ns)
        if done is not None:
            row = int(np.searchsorted(stretches.start, ns, side="right")) - 1
            if row < 0 or KINDS[stretches.kind[row]] == TRAINING:
                return done
            # In a pause no step runs: those before it are done.
            before_pause = rate.step_at(int(stretches.start[row]))
            if before_pause is None:
                return done
            return StepsDone(
                fewest=done.fewest,
                likeliest=float(before_pause.fewest),
                most=done.most,
            )
        if epoch is None or epoch.steps is None:
            return None
        if epoch.start is None or epoch.end is None:
            return None
        in_second_half = ns >= (epoch.start.ns + epoch.end.ns) // 2
        steps = epoch.steps[1] if in_second_half else epoch.steps[0]
        return StepsDone(
            fewest=steps,
            likeliest=float(steps),
            most=steps,
        )

    def elsewhere(self, part: EpochPart) -> tuple[tuple[int | None, int, int], ...]:
        """The same batches, else the same share, of the other epochs."""
        stretches: list[tuple[int | None, int, int]] = []
        for epoch in self.training.epochs:
            if epoch.number == part.epoch:
                continue
            bounds = self._same_part(part, epoch)
            if bounds is None:
                continue
            begin_ns, end_ns = bounds
            if end_ns > begin_ns:
                begin = self.axis.at(begin_ns)
                end = self.axis.at(end_ns)
                stretches.append((epoch.number, begin, end))
        return tuple(stretches)

    def _same_part(self, part: EpochPart, epoch: TrainedEpoch) -> tuple[int, int] | None:
        """When the same batches ran in another epoch, else the same share of it (Unix ns)."""
        if part.share is None or epoch.start is None or epoch.end is None:
            return None
        lo = epoch.start.ns
        hi = epoch.end.ns
        length = hi - lo
        begin_share, end_share = part.share
        begin = lo + round(begin_share * length)
        end = lo + round(end_share * length)
        if part.first is None or part.last is None or epoch.steps is None:
            return begin, end
        rate = self.training.rate
        zero = epoch.steps[0]
        first_ns = rate.ns_at(zero + part.first, lo, hi)
        if first_ns is not None:
            begin = first_ns
        last_ns = rate.ns_at(zero + part.last + 1, lo, hi)
        if last_ns is not None:
            end = last_ns
        return begin, end

    def extra_seconds(self, part: EpochPart) -> float | None:
        """Seconds that the batches took longer than the same ones of other epochs."""
        if part.epoch is None or part.first is None or part.last is None:
            return None
        if part.last - part.first < 2 * max(self.training.rate.every, 1):
            return None
        part_s = None
        others_s = []
        for epoch in self.training.epochs:
            length_s = self._batches_s(epoch, part.first, part.last)
            if epoch.number == part.epoch:
                part_s = length_s
            elif length_s is not None:
                others_s.append(length_s)
        if part_s is None or not others_s:
            return None
        return part_s - median_of_column(others_s)

    def _batches_s(self, epoch: TrainedEpoch, first: int, last: int) -> float | None:
        """Seconds from record to record within these batches: what is certain to be in them."""
        if epoch.steps is None or epoch.start is None or epoch.end is None:
            return None
        rate = self.training.rate
        every = max(rate.every, 1)
        first_record = -(-first // every) * every or every
        last_record = (last + 1) // every * every
        if last_record <= first_record:
            return None
        zero = epoch.steps[0]
        lo = epoch.start.ns
        hi = epoch.end.ns
        begin_ns = rate.ns_at(zero + first_record, lo, hi)
        end_ns = rate.ns_at(zero + last_record, lo, hi)
        if begin_ns is None or end_ns is None:
            return None
        return (end_ns - begin_ns) / NS_PER_S

    def _s(self, ns: int) -> float:
        return self.axis.at(ns) / PS_PER_S
