"""Reading a run in a thread while the screens stay alive: progress, first parts, cancel,
failure.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data import logdir, packed, watch
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.elsewhere import TransferProgress, listening
from powertui.data.loading import stream_run
from powertui.data.logdir import RunEntry
from powertui.data.model import PowerOnTrace, Run
from powertui.data.opened import Opened, Profile
from powertui.errors import Cancelled, PowertuiError
from powertui.view import surroundings
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.energy.account import Account
    from powertui.data.training.training import Training
    from powertui.data.training.training_on_axis import TrainingOnAxis
    from powertui.view.surroundings import Surroundings

_PROGRESS_EVERY_S = 0.2  # a person reads no faster, and each telling costs a few bytes on the line
_PREPARED_STRIPS = 6  # strips that are drawn unless a person chooses
_MIN_FINDING_READINGS = 20  # readings in a profile from which it can tell what stands out in it
_LARGE_READINGS = 1 << 20  # readings: what looking at all of them took is worth handing back
_MIN_REMAINING_S = (
    0.3  # what will be whole within this is not shown in parts: it would be drawn, and sent, twice
)
_PART_EVERY_S = 1.0  # indexing a part costs time that the rest of the reading needs


@dataclass(frozen=True)
class LoadingProgress:
    """How far reading has come."""

    done: int
    total: int
    events: int

    def __str__(self) -> str:
        share = f"{100 * self.done / self.total:.0f} % of " if self.total else ""
        return f"{share}{units.size(self.total or self.done)} · {self.events:,} events"


class _Pace:
    """How fast a file is read, and how long the rest of it will take."""

    def __init__(self) -> None:
        self._total = self._done = 0
        self._began = 0.0

    def told(self, now: float, done: int, total: int) -> None:
        """So much of it is read now."""
        if total != self._total:
            self._total, self._began = total, now
        self._done = done

    def left_s(self, now: float) -> float:
        """Seconds until it is whole, if it goes on so; endless where it is not known."""
        if not self._total or not self._done:
            return math.inf
        return (now - self._began) * (self._total - self._done) / self._done


@dataclass(frozen=True, eq=False)
class LoadedPart:
    """A run as far as it was read, with the index of the trace that is looked at."""

    run: Run
    model: TimelineModel | None  # None: no timeline in it (yet)
    power: tuple[PowerOnTrace, ...] = ()  # what is drawn above it
    complete: bool = False
    changed: bool = False  # the files are others already
    account: Account | None = None  # of the power, where there is some
    training: Training | None = None
    seen: TrainingOnAxis | None = None  # the training from the profile that is looked at


class Loader:
    """One reading.

    The callbacks are called in the reading thread: hand over to the screen's own with
    `call_from_thread`.
    """

    def __init__(
        self,
        entry: RunEntry,
        options: ReadOptions,
        *,
        on_progress: Callable[[LoadingProgress | TransferProgress], None],
        on_part: Callable[[LoadedPart], None],
        on_failed: Callable[[Exception], None],
        training: Callable[[], Training | None],
        aligning: Aligning,
        trace_index: int = 0,
        look_in: str = "",
        island: bool = False,
        whole_first: bool = True,
    ) -> None:
        self.entry = entry
        self.again = bool(
            look_in
        )  # it was read before: what is shown stays until the whole run is there
        self._look_in = look_in
        self._options = options
        self._on_progress, self._on_part, self._on_failed = on_progress, on_part, on_failed
        self._training, self._aligning = training, aligning
        self._index = trace_index
        self._whole_first = whole_first
        self._island = island  # another profile is shown until this one is there
        self._cancelled = threading.Event()
        self._told = self._parted = 0.0
        self._pace = _Pace()
        self._thread = threading.Thread(target=self._read, name="powertui-reading", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop soon. What was read stays with whoever has it."""
        self._cancelled.set()

    @property
    def running(self) -> bool:
        """Whether it still reads."""
        return self._thread.is_alive() and not self._cancelled.is_set()

    def _progress(self, done: int, total: int, events: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")
        now = time.monotonic()
        self._pace.told(now, done, total)
        if now - self._told >= _PROGRESS_EVERY_S:
            self._told = now
            self._on_progress(LoadingProgress(done, total, events))

    def _transferred(self, progress: TransferProgress | None) -> None:
        """Something of it comes from another machine, or is waited for."""
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")
        now = time.monotonic()
        if progress is not None and now - self._told >= _PROGRESS_EVERY_S:
            self._told = now
            self._on_progress(progress)

    def _read(self) -> None:
        with listening(self._transferred):
            self._read_run()

    def _read_run(self) -> None:
        try:
            latest: Run | None = None
            if self._look_in:
                self.entry = logdir.again(self._look_in, self.entry)
            training = self._training()
            beside = training.beside if training is not None else None
            parts = not self.again and not self._island
            if (
                parts
                and self._whole_first
                and training is not None
                and len(training.entry.sessions) != 1
            ):
                self._on_part(_first(training, self.entry))
                parts = False
            for run in stream_run(
                self.entry, options=self._options, progress=self._progress, beside=beside
            ):
                latest = run
                now = time.monotonic()
                worth = (
                    now - self._parted >= _PART_EVERY_S
                    and self._pace.left_s(now) > _MIN_REMAINING_S
                )
                if parts and worth and any(not trace.complete for trace in run.traces):
                    self._give(run, None)
                    self._parted = time.monotonic()
            if latest is not None:
                self._give(latest, Opened(self.entry, self._options, latest, around=training))
        except Cancelled:
            pass
        except Exception as error:
            if not isinstance(error, PowertuiError):
                error.add_note(f"while reading {self.entry.path}") if hasattr(
                    error, "add_note"
                ) else None
            self._on_failed(error)

    def _give(self, run: Run, opened: Opened | None) -> None:
        """A part of the run; the whole of it where it was opened."""
        index = min(self._index, max(0, len(run.traces) - 1))
        model = (
            TimelineModel.from_run(run, index, progress=self._stop_if_cancelled)
            if run.traces
            else None
        )
        if opened is None:
            part = LoadedPart(run, model)
        else:
            part = training_model(opened, index, model, self._aligning)
            part = replace(part, changed=watch.changed(run))
        if opened is not None and sum(len(one) for one in run.power) > _LARGE_READINGS:
            packed.give_back()
        if not self._cancelled.is_set():
            self._on_part(part)

    def _stop_if_cancelled(self, _done: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")


def _first(training: Training, entry: RunEntry) -> LoadedPart:
    """The axis of a training, by what names and heads tell: nothing of it was read."""
    nothing = Run(entry.name, entry.path, (), (), ())
    return LoadedPart(
        nothing,
        TimelineModel.without_profile(nothing, surroundings.first_surroundings(training)),
        training=training,
    )


def training_model(
    opened: Opened, index: int, model: TimelineModel | None, aligning: Aligning
) -> LoadedPart:
    """A run that was read, with its power and its training.

    Takes as long as placing the power does: for a thread.
    """
    run = opened.run
    training = training_of(opened)
    seen: TrainingOnAxis | None = None
    found: Account | None = None
    if model is not None and run.power and index < len(run.traces):
        from powertui.data.energy import account

        found = account.energy_account(Profile(opened, index), aligning)
    power = found.drawn if found is not None else ()
    if training is not None:
        seen = training.seen_from(Profile(opened, index) if run.traces else None, aligning)
        power = power or seen.power
        lies = surroundings.training_surroundings(seen)
        for strip in lies.strips[:_PREPARED_STRIPS]:
            strip.make()  # in this thread, and not when it is drawn
        model = TimelineModel.without_profile(run, lies) if model is None else model.within(lies)
    if model is not None:
        model = replace(
            model, power_note=_not_placed(found) if found is not None and not power else ""
        )
    return LoadedPart(run, model, power, complete=True, account=found, training=training, seen=seen)


def _not_placed(found: Account) -> str:
    """What to do where a log has no place on the profile: most have relative times.

    Those of another time are told of first.
    """
    if found.elsewhere:
        return found.apart
    lost = [one.power.series.path for one in found.placed if one.power.status == "none"]
    if not lost:
        return ""
    name = Path(lost[0]).name
    return (
        f"{name} cannot be aligned here: 4 shows why; p pins an edge to the cursor, or start "
        "with --offset"
    )


def further(part: LoadedPart, opened: Opened, aligning: Aligning) -> Surroundings | None:
    """What the training drew and what was found in it: what takes longer than its picture."""
    from powertui.data.energy import account
    from powertui.data.training.training_energy import training_energy

    if part.seen is None or part.model is None:
        return None
    tied = (
        part.seen.profile is None or part.seen.wall
    )  # else nothing of the training lies on this profile's axis
    told = training_energy(part.seen) if tied else None
    found = list(told.findings.findings) if told is not None else []
    lo, hi = part.model.profiled
    read = part.account.power if part.account is not None else None
    if read is not None and np.diff(read.times.searchsorted([lo, hi]))[0] >= _MIN_FINDING_READINGS:
        # These are the profile's, and those of the training around it.
        found = list(account.findings(Profile(opened, part.model.index), aligning).findings)
    lies = surroundings.training_surroundings(
        part.seen, told.epochs() if told else (), told.phases() if told else (), found
    )
    if sum(len(one) for one in opened.run.power) > _LARGE_READINGS:
        packed.give_back()
    return lies


def training_of(opened: Opened) -> Training | None:
    """The training that a run belongs to, as far as somebody looked."""
    from powertui.data.training.training import Training

    return opened.around if isinstance(opened.around, Training) else None
