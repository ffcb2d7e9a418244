"""A training that goes on: its scalars and power logs grow, sessions appear. The page that shows it
is the same, its axis grows.

Nothing is followed in place: what has grown is read anew, and only as often as that takes a small
part of the time.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.logdir import Logdir
from powertui.data.opened import Opened
from powertui.errors import PowertuiError
from powertui.screens.loader import LoadedPart, training_model, training_of
from powertui.value_types import dataclass
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.training.training import Training

# Scalars and power of more bytes than that are not followed while they grow. Chosen, not measured.
_MAX_REREAD_BYTES = 64_000_000
# So many times as long as reading took nothing is read again: it takes a tenth of a core at most.
_REREAD_PAUSE_RATIO = 10


@dataclass(frozen=True)
class Grown:
    """The same run in a training that has grown, and the folder as it is now."""

    opened: Opened
    part: LoadedPart
    folder: Logdir | None


class Growing:
    """Looks at one training, in a thread; each time that is asked says what it has become,
    or None.
    """

    def __init__(self, training: Training, folder: str) -> None:
        self.training = training
        self._folder = folder
        self._sizes = _known(training)
        self._not_before = 0.0

    def look(
        self,
        opened: Opened,
        index: int,
        model: TimelineModel,
        aligning: Aligning,
    ) -> Grown | None:
        """What it is now, where it has grown."""
        began = time.monotonic()
        sizes = _sizes(self.training)
        pairs = list(zip(sizes, self._sizes, strict=True))
        has_grown = any(None not in (now, was) and now != was for now, was in pairs)
        total = sum(size or 0 for size in sizes)
        if not has_grown or began < self._not_before or total > _MAX_REREAD_BYTES:
            self._sizes = tuple(now if was is None else was for now, was in pairs)
            return None
        self._sizes = sizes
        try:
            grown = self._again(opened, index, model, aligning)
        except PowertuiError:
            return None  # gone, or half written: the next look tells
        self._not_before = time.monotonic() + _REREAD_PAUSE_RATIO * (time.monotonic() - began)
        return grown

    def _again(
        self,
        opened: Opened,
        index: int,
        model: TimelineModel,
        aligning: Aligning,
    ) -> Grown | None:
        folder = logdir.scan(self._folder)
        entry = next(
            (
                training
                for training in folder.trainings
                if (training.path, training.name)
                == (self.training.entry.path, self.training.entry.name)
            ),
            None,
        )
        if entry is None:
            return None
        options = self.training.options
        from powertui.data.training.training import Training

        fresh = Training(entry, options, self.training.aligning)
        scalars = tuple(series for log in fresh.logs.events for series in log.scalars)
        run = replace(opened.run, power=fresh.logs.power, scalars=scalars)
        before = opened.entry
        same = next(
            (
                session
                for session in entry.sessions
                if (session.path, session.name) == (before.path, before.name)
            ),
            before,
        )
        again = Opened(same, opened.options, run, around=fresh)
        drawn = replace(model.within(None), run=run) if len(model.tracks) else None
        self.training = fresh
        self._sizes = _sizes(fresh)
        return Grown(again, training_model(again, index, drawn, aligning), folder)


def growing_training(opened: Opened | None, folder: Logdir | None) -> Growing | None:
    """What looks at the training of a run; None where there is nothing that could grow."""
    training = training_of(opened) if opened is not None else None
    if (
        training is None
        or folder is None
        or folder.path == "-"
        or not (training.entry.tfevents or training.entry.power)
    ):
        return None
    return Growing(training, folder.path)


def _known(training: Training) -> tuple[int | None, ...]:
    """The sizes with which its files were found; None where nobody looked."""
    entry = training.entry
    named = len(training.options.power)
    return (
        *(file.size for file in entry.tfevents),
        *(file.size for file in entry.power),
        *(None for _ in range(named)),
    )


def _sizes(training: Training) -> tuple[int | None, ...]:
    """Their sizes now; None for what is not there."""
    out: list[int | None] = []
    entry = training.entry
    for path in (
        *(file.path for file in entry.tfevents),
        *(file.path for file in entry.power),
        *training.options.power,
    ):
        try:
            out.append(Path(path).stat().st_size)
        except OSError:
            out.append(None)
    return tuple(out)
