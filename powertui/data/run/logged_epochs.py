"""The epochs of a training as its tfevents tell them: one point of `epoch_…` scalars an epoch,
logged at its END.

Validation runs log beside (`validation/`), a few milliseconds later. A folder may hold several
trainings in turn.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PS_PER_NS, Clock
from powertui.named_tuples import NamedTuple

_TRAIN = ("train", "training", "")
# 52 days: their picoseconds fit an int64 many times over. Farther away it is another training.
_LIMIT_NS = 1 << 52
# A record is written within so long of what it reports: callbacks run before it.
LOGGED_NS = 20_000_000
# A validation point belongs to the training point that it follows so closely.
_SAME_MOMENT_NS = 5_000_000_000


class _Point(NamedTuple):
    """One value that was logged for one epoch."""

    wall_ns: int
    epoch: int
    tag: str
    value: float


class LoggedEpoch(NamedTuple):
    """One epoch as tfevents tell it, in Unix ns."""

    number: int
    start: int | None
    end: int
    validated: int | None  # when its validation's results were logged
    scalars: tuple[tuple[str, float], ...]


def in_trace(wall_ns: int | None, clock: Clock) -> int | None:
    """A moment in Unix ns on the clock of a trace, in ps; None where it is not known or out of all
    reach.
    """
    if wall_ns is None or abs(wall_ns - clock.mid_ns) > _LIMIT_NS:
        return None
    return (wall_ns - clock.mid_ns) * PS_PER_NS


def from_logs(logs: Sequence[EventLog], moment_ns: int | None = None) -> tuple[LoggedEpoch, ...]:
    """The epochs of one training, by number.

    `moment_ns` picks the training when a folder holds several in turn.
    """
    began_ns: list[int] = []
    points: list[_Point] = []
    for log in logs:
        if log.group in _TRAIN:
            points += _points(log, "epoch_")
            first_ns = log.keras_graph_ns or log.first_ns
            if first_ns is not None:
                began_ns.append(first_ns)
    trainings = _trainings(points)
    if not trainings:
        return ()
    training = trainings[-1]
    if moment_ns is not None:
        training = min(trainings, key=lambda points: _distance_ns(points, moment_ns))
    validation = _Validation(logs)
    epochs: list[LoggedEpoch] = []
    for number, points_of_epoch in sorted(_by_epoch(training).items()):
        end = min(point.wall_ns for point in points_of_epoch)
        start = None
        if epochs and epochs[-1].number == number - 1:
            start = epochs[-1].end
        elif number == 0:
            start = max((began for began in began_ns if began < end), default=None)
        validated, validation_scalars = validation.validation_after(number, start, end)
        scalars = [(point.tag, point.value) for point in points_of_epoch]
        epochs.append(
            LoggedEpoch(
                number=number,
                start=start,
                end=end,
                validated=validated,
                scalars=(*scalars, *validation_scalars),
            )
        )
    return tuple(epochs)


def _by_epoch(points: Iterable[_Point]) -> dict[int, list[_Point]]:
    by_epoch: dict[int, list[_Point]] = {}
    for point in points:
        by_epoch.setdefault(point.epoch, []).append(point)
    return by_epoch


def _points(log: EventLog, prefix: str) -> Iterator[_Point]:
    """The points of the log's series whose tags begin so."""
    for series in log.scalars:
        if series.tag.startswith(prefix):
            walls = series.wall_ns.tolist()
            steps = series.steps.tolist()
            for wall_ns, step, value in zip(walls, steps, series.values.tolist(), strict=True):
                yield _Point(wall_ns, step, series.tag, value)


def _distance_ns(training: list[_Point], moment_ns: int) -> int:
    """How far a moment is from the time in which a training logged; 0 inside it."""
    return max(0, training[0].wall_ns - moment_ns, moment_ns - training[-1].wall_ns)


def _trainings(points: list[_Point]) -> list[list[_Point]]:
    """Points by time, cut where the epoch number goes back: fit() was called again."""
    trainings: list[list[_Point]] = []
    for point in sorted(points):
        if not trainings or point.epoch < trainings[-1][-1].epoch:
            trainings.append([])
        trainings[-1].append(point)
    return trainings


class _Validation:
    """What validation runs logged, epoch by epoch."""

    def __init__(self, logs: Sequence[EventLog]) -> None:
        points: list[_Point] = []
        # When Keras' `evaluation_*` were logged: right after the run.
        self._evaluated_ns: list[int] = []
        for log in logs:
            if log.group in _TRAIN or log.is_marker:
                continue
            points += _points(log, "epoch_")
            self._evaluated_ns += [point.wall_ns for point in _points(log, "evaluation_")]
        self._by_epoch = _by_epoch(points)  # as they were logged
        self._evaluated_ns.sort()

    def validation_after(
        self,
        number: int,
        start: int | None,
        end: int,
    ) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """(when the validation of this epoch was logged first, its scalars as val_…)."""
        points = [
            point
            for point in self._by_epoch.get(number, ())
            if abs(point.wall_ns - end) < _SAME_MOMENT_NS
        ]
        walls = [point.wall_ns for point in points]
        first = bisect_right(self._evaluated_ns, start or end - _LIMIT_NS)
        if first < bisect_left(self._evaluated_ns, end + 1):
            walls.append(self._evaluated_ns[first])
        scalars = tuple((f"val_{point.tag}", point.value) for point in points)
        return min(walls, default=None), scalars
