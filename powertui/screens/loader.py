"""Reading a run in a thread, with progress, first parts, and a way to cancel."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from powertui import units
from powertui.data import logdir, packed, watch
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.elsewhere import TransferProgress, listening
from powertui.data.loading import stream_run
from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_S, PowerOnTrace, Run
from powertui.data.opened import Opened, Profile
from powertui.errors import Cancelled, PowertuiError
from powertui.value_types import dataclass
from powertui.view.timeline_model import TimelineModel
from powertui.view.training_surroundings import first_surroundings, training_surroundings

if TYPE_CHECKING:
    from powertui.data.energy.trace_account import Account
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
# Less than this is over before it is read; and a pace is not known before so much was read.
_MIN_TOLD_LEFT_S = 2.0
_MIN_PACED_S = 1.0
_PART_EVERY_S = 1.0  # indexing a part costs time that the rest of the reading needs
# Power is placed once the tracks are drawn: both would share the processor, and the picture would
# be late. Where a line is slow, or another page in front, nobody waits longer (chosen).
_MAX_DRAWING_S = 1.0


@dataclass(frozen=True)
class LoadingProgress:
    """How far reading has come."""

    done: int
    total: int
    events: int
    left_s: float = math.inf  # until the end, at the pace so far

    def __str__(self) -> str:
        share = ""
        if self.total:
            share = f"{100 * self.done / self.total:.0f} % of "
        text = f"{share}{units.size(self.total or self.done)} · {self.events:,} events"
        if _MIN_TOLD_LEFT_S <= self.left_s < math.inf:
            text += f" · {units.duration(round(self.left_s) * PS_PER_S)} left"
        return text


class _Pace:
    """How fast a file is read, and how long the rest of it will take."""

    def __init__(self) -> None:
        self._total = self._done = 0
        self._began = 0.0

    def update(self, now: float, done: int, total: int) -> None:
        """So much of it is read now."""
        if total != self._total:
            self._total = total
            self._began = now
        self._done = done

    def remaining_s(self, now: float) -> float:
        """Seconds until all of it is read, at the pace so far; infinite where that is not known."""
        if not self._total or not self._done:
            return math.inf
        return (now - self._began) * (self._total - self._done) / self._done

    def told_left_s(self, now: float) -> float:
        """The same, once enough was read to say it."""
        if now - self._began >= _MIN_PACED_S:
            return self.remaining_s(now)
        return math.inf


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
    on_axis: TrainingOnAxis | None = None  # the training on the axis of the profile in front
    aligning: Aligning = Aligning()  # how the power was asked to lie when it was placed


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
        self._on_progress = on_progress
        self._on_part = on_part
        self._on_failed = on_failed
        self._training = training
        self._aligning = aligning
        self._index = trace_index
        self._whole_first = whole_first
        self._island = island  # another profile is shown until this one is there
        self._cancelled = threading.Event()
        self._drawn = threading.Event()
        self._told = self._parted = 0.0
        self._pace = _Pace()
        self._thread = threading.Thread(target=self._read, name="powertui-reading", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop soon. What was read stays with whoever has it."""
        self._cancelled.set()
        self._drawn.set()

    def was_drawn(self) -> None:
        """The part that was handed over is on the screen."""
        self._drawn.set()

    @property
    def running(self) -> bool:
        """Whether it still reads."""
        return self._thread.is_alive() and not self._cancelled.is_set()

    def _progress(self, done: int, total: int, events: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")
        now = time.monotonic()
        self._pace.update(now, done, total)
        if now - self._told >= _PROGRESS_EVERY_S:
            self._told = now
            left_s = self._pace.told_left_s(now)
            self._on_progress(LoadingProgress(done=done, total=total, events=events, left_s=left_s))

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
            is_group = training is not None and len(training.entry.sessions) != 1
            if parts and self._whole_first and training is not None and is_group:
                self._on_part(_first(training, self.entry))
                parts = False
            for run in stream_run(
                self.entry,
                options=self._options,
                progress=self._progress,
                beside=beside,
            ):
                latest = run
                is_partial = any(not trace.complete for trace in run.traces)
                # Of many hosts the first is there, and others are being read.
                is_partial = is_partial or 0 < len(run.traces) < len(self.entry.profiles)
                if parts and is_partial and self._is_time_for_part():
                    self._give(run, None)
                    self._parted = time.monotonic()
            if latest is not None:
                opened = Opened(self.entry, self._options, latest, around=training)
                if training is not None:
                    training.take(opened)
                self._give(latest, opened, tracks_first=parts)
        except Cancelled:
            pass
        except Exception as error:
            if not isinstance(error, PowertuiError) and hasattr(error, "add_note"):
                error.add_note(f"while reading {self.entry.path}")
            self._on_failed(error)

    def _is_time_for_part(self) -> bool:
        """Whether a part may be shown: not too soon after the last, nor shortly before the end."""
        now = time.monotonic()
        if now - self._parted < _PART_EVERY_S:
            return False
        return self._pace.remaining_s(now) > _MIN_REMAINING_S

    def _give(self, run: Run, opened: Opened | None, *, tracks_first: bool = False) -> None:
        """Hand a part of the run over; all of it where it was opened."""
        index = min(self._index, max(0, len(run.traces) - 1))
        model = None
        if run.traces:
            model = TimelineModel.from_run(run, index, progress=self._stop_if_cancelled)
        if opened is None:
            part = LoadedPart(run, model)
        else:
            if tracks_first and model is not None and run.power:
                around = opened.around is not None
                waiting = model.before_power(len(run.power), in_training=around)
                self._on_part(LoadedPart(run, waiting))
                self._drawn.wait(_MAX_DRAWING_S)
                self._stop_if_cancelled(0)
            part = training_model(opened, index, model, self._aligning)
            part = replace(part, changed=watch.changed(run))
        if opened is not None and sum(len(series) for series in run.power) > _LARGE_READINGS:
            packed.give_back()
        if not self._cancelled.is_set():
            self._on_part(part)

    def _stop_if_cancelled(self, _done: int, /) -> None:
        if self._cancelled.is_set():
            raise Cancelled("reading was stopped")


def _first(training: Training, entry: RunEntry) -> LoadedPart:
    """The axis of a training from names and heads of files, before any of them is read."""
    nothing = Run(
        name=entry.name,
        path=entry.path,
        traces=(),
        steps=(),
        epochs=(),
    )
    around = first_surroundings(training)
    model = TimelineModel.without_profile(nothing, around)
    return LoadedPart(nothing, model, training=training)


def training_model(
    opened: Opened,
    index: int,
    model: TimelineModel | None,
    aligning: Aligning,
) -> LoadedPart:
    """A run that was read, with its power and its training.

    Takes as long as aligning the power does: for a thread.
    """
    run = opened.run
    training = training_of(opened)
    on_axis: TrainingOnAxis | None = None
    power_account: Account | None = None
    power: tuple[PowerOnTrace, ...] = ()
    if model is not None and run.power and index < len(run.traces):
        from powertui.data.energy import account

        power_account = account.energy_account(Profile(opened, index), aligning)
        power = power_account.drawn
    if training is not None:
        on_axis = training.seen_from(Profile(opened, index) if run.traces else None, aligning)
        power = power or on_axis.power
        around = training_surroundings(on_axis)
        for strip in around.strips[:_PREPARED_STRIPS]:
            strip.make()  # in this thread, and not when it is drawn
        if model is None:
            model = TimelineModel.without_profile(run, around)
        else:
            model = model.within(around)
    if model is not None:
        has_no_power = power_account is not None and not power
        note = _not_placed(power_account) if power_account is not None and has_no_power else ""
        model = replace(model, power_note=note)
    return LoadedPart(
        run=run,
        model=model,
        power=power,
        complete=True,
        account=power_account,
        training=training,
        on_axis=on_axis,
        aligning=aligning,
    )


def _not_placed(account: Account) -> str:
    """What to do where a log has no place on the profile: most have relative times.

    Logs of another time come first.
    """
    if account.elsewhere:
        return account.apart
    lost = [placed.power.series.path for placed in account.placed if placed.power.status == "none"]
    if not lost:
        return ""
    name = Path(lost[0]).name
    return (
        f"{name} cannot be aligned here: 4 shows why; p pins an edge to the cursor, or start "
        "with --offset"
    )


def further(part: LoadedPart, opened: Opened, aligning: Aligning) -> Surroundings | None:
    """The surroundings with energy and findings of the training, which come after the picture."""
    on_axis, model = part.on_axis, part.model
    if on_axis is None or model is None:
        return None
    from powertui.data.training.training_energy import training_energy

    # Without a clock nothing of the training has a place on this profile's axis.
    has_place = on_axis.profile is None or on_axis.wall
    training = training_energy(on_axis) if has_place else None
    findings = list(training.findings.findings) if training is not None else []
    power = part.account.power if part.account is not None else None
    if power is not None and _count_between(power, *model.profiled) >= _MIN_FINDING_READINGS:
        from powertui.data.energy import account

        # These are the profile's, and those of the training around it.
        findings = list(account.findings(Profile(opened, model.index), aligning).findings)
    around = training_surroundings(
        on_axis,
        training.epochs() if training is not None else (),
        training.phases() if training is not None else (),
        findings,
    )
    if sum(len(series) for series in opened.run.power) > _LARGE_READINGS:
        packed.give_back()
    return around


def _count_between(power: PowerOnTrace, lo: int, hi: int) -> int:
    """How many readings are in [lo, hi)."""
    first, last = power.times.searchsorted([lo, hi])
    return int(last - first)


def training_of(opened: Opened) -> Training | None:
    """The training that a run belongs to, as far as somebody looked."""
    from powertui.data.training.training import Training

    return opened.around if isinstance(opened.around, Training) else None
