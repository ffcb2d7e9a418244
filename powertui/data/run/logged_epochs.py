"""The epochs of a training as its tfevents tell them: one point of `epoch_…` scalars an epoch,
logged at its END.

Validation runs log beside (`validation/`), a few milliseconds later. A folder may hold several
trainings in turn.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PS_PER_NS, Clock

_TRAIN = ("train", "training", "")
_LIMIT_NS = (
    1 << 52
)  # 52 days in ps fit an int64 many times over; farther away it is another training
LOGGED_NS = (
    20_000_000  # a record is written within so long of what it tells: callbacks run before it
)
_SAME_MOMENT = (
    5_000_000_000  # a validation point belongs to the training point that it follows so closely
)


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
    points: list[tuple[int, int, str, float]] = []  # wall, epoch, tag, value
    for log in logs:
        if log.group in _TRAIN:
            for series in log.scalars:
                if series.tag.startswith("epoch_"):
                    points += zip(
                        series.wall_ns.tolist(),
                        series.steps.tolist(),
                        [series.tag] * len(series.steps),
                        series.values.tolist(),
                        strict=True,
                    )
    trainings = _trainings(points)
    if not trainings:
        return ()
    chosen = trainings[-1]
    if moment_ns is not None:
        chosen = min(trainings, key=lambda t: max(0, t[0][0] - moment_ns, moment_ns - t[-1][0]))
    validation = _Validation([log for log in logs if log.group not in _TRAIN and not log.is_marker])
    began = [log.keras_graph_ns or log.first_ns for log in logs if log.group in _TRAIN]
    out: list[LoggedEpoch] = []
    by_number: dict[int, list[tuple[int, int, str, float]]] = {}
    for point in chosen:
        by_number.setdefault(point[1], []).append(point)
    for number, mine in sorted(by_number.items()):
        end = min(point[0] for point in mine)
        if out and out[-1].number == number - 1:
            start: int | None = out[-1].end
        else:
            start = (
                max((t for t in began if t is not None and t < end), default=None)
                if number == 0
                else None
            )
        validated, extra = validation.validation_after(number, start, end)
        out.append(
            LoggedEpoch(
                number,
                start,
                end,
                validated,
                (*((tag, value) for _, _, tag, value in mine), *extra),
            )
        )
    return tuple(out)


def _trainings(
    points: list[tuple[int, int, str, float]],
) -> list[list[tuple[int, int, str, float]]]:
    """Points by time, cut where the epoch number goes back: fit() was called again."""
    out: list[list[tuple[int, int, str, float]]] = []
    for point in sorted(points):
        if not out or point[1] < out[-1][-1][1]:
            out.append([])
        out[-1].append(point)
    return out


class _Validation:
    """What validation runs logged, ready to be asked epoch by epoch."""

    def __init__(self, logs: Sequence[EventLog]) -> None:
        self._of: dict[
            int, list[tuple[int, str, float]]
        ] = {}  # epoch → (wall, tag, value) as logged
        self._evaluated: list[
            int
        ] = []  # when Keras' `evaluation_*` were logged: right after the run
        for log in logs:
            for series in log.scalars:
                if series.tag.startswith("epoch_"):
                    for wall, step, value in zip(
                        series.wall_ns.tolist(),
                        series.steps.tolist(),
                        series.values.tolist(),
                        strict=True,
                    ):
                        self._of.setdefault(step, []).append((wall, f"val_{series.tag}", value))
                elif series.tag.startswith("evaluation_"):
                    self._evaluated += series.wall_ns.tolist()
        self._evaluated.sort()

    def validation_after(
        self, number: int, start: int | None, end: int
    ) -> tuple[int | None, tuple[tuple[str, float], ...]]:
        """(when the validation of this epoch was logged first, its scalars as val_…)."""
        mine = [point for point in self._of.get(number, ()) if abs(point[0] - end) < _SAME_MOMENT]
        walls = [wall for wall, _, _ in mine]
        first = bisect_right(self._evaluated, start or end - _LIMIT_NS)
        if first < bisect_left(self._evaluated, end + 1):
            walls.append(self._evaluated[first])
        return (min(walls) if walls else None), tuple((tag, value) for _, tag, value in mine)
