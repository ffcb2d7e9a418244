"""Sampling at a steady rate, into a file and to whoever listens.

One thread per source asks at absolute deadlines: a slow answer delays no later tick, and ticks that
were missed are left out, never made up for in a burst. One more thread writes the file, keeps the
health of each channel and calls the listeners, so that neither a slow disk nor a slow screen can
hold a reading up. No thread prints.

    recorder = Recorder([source], interval=1.0, file=RecordingFile("power.csv", 1.0))
    recorder.subscribe(lambda readings: …)      # in the writer's thread: return soon
    recorder.start(); …; recorder.mark("epoch 3"); …; recorder.stop()
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from powertui.errors import (
    AuthenticationFailed,
    NotSupported,
    PowertuiError,
    SensorError,
    UsageError,
)
from powertui.sampler import clocks
from powertui.sampler.csv_format import BEGIN, END, MARK, NOTE
from powertui.sampler.health import Health
from powertui.sampler.heartbeat import BEAT_S, Heartbeat
from powertui.sampler.limits import PowerLimit
from powertui.sampler.reading_intake import ReadingIntake
from powertui.sampler.recorder_events import Event, RecorderEvents
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Info, Reading, Source, Stamp
from powertui.sampler.source_state import SourceState

__all__ = ["Recorder"]

# These were chosen, not measured.
_MIN_REOPEN_PAUSE_S, _MAX_REOPEN_PAUSE_S = 0.25, 5.0  # between two tries to open a source
_MAX_QUEUED_ITEMS = 500_000  # batches of readings that may wait for a disk that hangs
_SHUTDOWN_S = 20.0  # to wait for a source or a disk at the end
_LIMITS_PERIOD_S = 2.0  # between two questions for a source's limits
_UPKEEP_PERIOD_S = 0.25  # between looks at the file, and at sources that do not answer
_STAGGER_S = 0.002  # between the ticks of two sources: a hundred are not to ask at the same instant
_MIN_INTERVAL_S, _MAX_INTERVAL_S = 0.01, 86400.0


def _may_pass(error: PowertuiError) -> bool:
    """A host that is away; not one that refuses us or has nothing to read."""
    return isinstance(error, SensorError) and not isinstance(
        error, (AuthenticationFailed, NotSupported)
    )


def _one_line(error: Exception) -> str:
    if not isinstance(error, PowertuiError):
        return type(error).__name__
    return "; ".join(line.strip() for line in error.message.splitlines())


def _in_parallel(work: Callable[[SourceState], None], states: Sequence[SourceState]) -> None:
    threads = [threading.Thread(target=work, args=(state,), daemon=True) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Sentinel:
    pass


_STOP = _Sentinel()
_Item = tuple[str, Any]


class Recorder:
    """Samples until it is stopped.

    Sources that cannot be opened yet are tried again; those that refuse us are not.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        interval: float = 1.0,
        file: RecordingFile | None = None,
    ) -> None:
        clocks.check()
        if not sources:
            raise UsageError(
                "There is no power source to record.", hint="Name one with --host or --source."
            )
        if not _MIN_INTERVAL_S <= interval <= _MAX_INTERVAL_S:
            raise UsageError(
                f"An interval of {interval:g} s is not possible: it must be between 0.01 s and "
                "a day."
            )
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"The source {name!r} is given twice.")
        self.interval = interval
        self._event_log = RecorderEvents(file)
        if file is not None:
            file.say = self.say
        self.states = {source.name: SourceState(source) for source in sources}
        self.events = self._event_log.events
        self._intake = ReadingIntake(interval, self._event_log)
        self.dropped = 0  # readings that even the queue could not take
        self.started: Stamp | None = None
        self.ended: Stamp | None = None
        self._queue: queue.Queue[_Item | _Sentinel] = queue.Queue(_MAX_QUEUED_ITEMS)
        self._halt = threading.Event()
        self._threads: list[threading.Thread] = []
        self._heartbeat = Heartbeat()
        # What a beat found is in the queue before anything that was read after it.
        self._beat_lock = threading.Lock()

    @property
    def file(self) -> RecordingFile | None:
        """Where rows are written to; None where only listeners take them."""
        return self._event_log.file

    @file.setter
    def file(self, file: RecordingFile) -> None:
        self._event_log.file = file

    # listening

    def subscribe(self, listener: Callable[[list[Reading]], None]) -> Callable[[], None]:
        """Hand every batch of readings to `listener`, in the writer's thread.

        Returns how to stop that.
        """
        self._intake.subscribers.append(listener)
        return lambda: self._intake.subscribers.remove(listener)

    def on_event(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        self._event_log.listeners.append(listener)
        return lambda: self._event_log.listeners.remove(listener)

    def on_limit(self, listener: Callable[[str, Stamp, PowerLimit], None]) -> None:
        """Call `listener` with a source's name and a channel's limit whenever that changes."""
        self._intake.limit_listeners.append(listener)

    def on_open(self, listener: Callable[[SourceState], None]) -> None:
        """Called when a source has been opened, also one that was away at the start."""
        self._intake.openings.append(listener)

    def on_new_channels(
        self,
        listener: Callable[[SourceState, Sequence[Channel]], None],
    ) -> None:
        """Called when a source has got channels since it was opened, before their readings."""
        self._intake.new_channels.append(listener)

    def health(self) -> list[tuple[SourceState, Health]]:
        """Every channel with its source, in order."""
        pairs: list[tuple[SourceState, Health]] = []
        for state in self.states.values():
            pairs += [(state, health) for health in list(state.channels.values())]
        return pairs

    # running

    def open(self, *, patient: bool = False) -> None:
        """Open all sources once, here and now. A refused login or a missing sensor is raised.

        A source that is only away is tried again while recording, as long as another one answers,
        or if we are patient.
        """
        errors: list[PowertuiError] = []
        failed: dict[str, PowertuiError] = {}

        def attempt(state: SourceState) -> None:
            try:
                self._opened(state, state.source.open())
            except PowertuiError as error:
                errors.append(error)
                failed[state.source.name] = error
            # A fault of ours in one source must not take the others with it.
            except Exception as error:
                errors.append(SensorError(f"{state.source.name}: {type(error).__name__}: {error}"))

        _in_parallel(attempt, list(self.states.values()))
        raised = next((error for error in errors if not _may_pass(error)), None)
        if raised is None and len(errors) == len(self.states) and not patient:
            raised = errors[0]
        for name, error in failed.items():
            # What is raised is shown where it is caught.
            if _may_pass(error) and error is not raised:
                self._event_log.report("warning", name, _one_line(error))
        if raised is not None:
            for state in self.states.values():
                state.source.close()
            raise raised

    def start(self) -> None:
        """Begin to sample. Returns at once."""
        self.started = Stamp.now()
        base = self.started.mono
        self._heartbeat = Heartbeat()
        threading.Thread(
            target=self._beat_until_stopped,
            name="powertui-heartbeat",
            daemon=True,
        ).start()
        writer = threading.Thread(target=self._write_all, name="powertui-writer", daemon=True)
        self._threads = [writer]
        writer.start()
        for index, state in enumerate(self.states.values()):
            phase = index * min(_STAGGER_S, self.interval / len(self.states))
            thread = threading.Thread(
                target=self._sample,
                args=(state, base + phase),
                name=f"powertui-{state.source.name}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()

    def stop(self, reason: str = "stopped") -> None:
        """End after the readings that are under way, write everything, let the sources go.

        May be called twice.
        """
        if self.ended is not None:
            return
        self._halt.set()
        end = clocks.steady_s() + _SHUTDOWN_S
        for thread, state in zip(self._threads[1:], self.states.values(), strict=False):
            if state.info is not None:  # one that is only being opened has nothing to record
                thread.join(max(0.0, end - clocks.steady_s()))
        self.ended = Stamp.now()
        if self._threads:
            writer = self._threads[0]
            self._queue.put(_STOP)
            writer.join(_SHUTDOWN_S)
            # A disk or a file server may not answer at all.
            if writer.is_alive() and self.file is not None:
                self.file.faults += 1
                self.dropped += self._queue.qsize()
                self._event_log.report(
                    "error",
                    "",
                    f"{self.file.path} does not answer: {self.dropped} rows are not written",
                )
                return
        if self.file is not None:
            self.file.close(reason)

    def mark(self, text: str, kind: str = MARK, stamp: Stamp | None = None) -> Stamp:
        """Note a moment, or the begin or end of a window, with its exact time."""
        if kind not in (MARK, BEGIN, END, NOTE):
            raise ValueError(kind)
        stamp = stamp or Stamp.now()
        self._put(("mark", (kind, stamp, text)))
        return stamp

    # whether this process ran all the time

    def _beat_until_stopped(self) -> None:
        while not self._halt.wait(BEAT_S):
            self._beat()

    def _beat(self) -> None:
        """To be called right after waking, and before what was read meanwhile is handed on."""
        with self._beat_lock:
            suspension = self._heartbeat.beat()
            if suspension is not None:
                self._intake.resumed_at = suspension.end
                self._put(("suspension", suspension))

    # the threads of the sources

    def _sample(self, state: SourceState, base: float) -> None:
        """Ask one source at the moments `base` + n periods until the recording ends."""
        source, tick = state.source, 0
        readings: list[Reading] = []
        period = self._period_s(source)
        while not self._halt.is_set():
            if state.info is None:
                self._try_to_open(state)
                if self._period_s(source) != period:  # as it turned out when it was opened
                    period = self._period_s(source)
                    base, tick = clocks.steady_s(), 0
            if state.info is not None:
                state.asked = Stamp.now()
                readings = self._read(source)
                self._beat()
                state.asked = None
                self._put(("readings", (state, readings)))
                self._look_for_limits(state)
            elapsed = clocks.steady_s() - base
            next_tick = max(tick + 1, int(elapsed / period) + 1)
            # A log or a Prometheus keeps what we were too late for: such ticks are not lost.
            caught_up = state.info is not None and len(readings) > len(source.channels)
            if not caught_up:
                state.missed += next_tick - tick - 1
            tick = next_tick
            self._halt.wait(max(0.0, base + tick * period - clocks.steady_s()))
            self._beat()
        # A stretch that is open at the end would last for ever in the timeline.
        for name in state.limits.rest():
            self.mark(name, END)
        if state.info is not None and state.down_since is None:
            # One more reading, out of rhythm, so that the energy is known up to the end.
            self._put(("readings", (state, self._read(source))))
        source.close()

    def _period_s(self, source: Source) -> float:
        """The time between two questions to a source."""
        period = max(self.interval, source.min_period)
        return min(period, getattr(source, "max_period", period))  # of counters that wrap

    def _try_to_open(self, state: SourceState) -> None:
        """Open a source that is away, if it is time for another try."""
        if state.failed or clocks.steady_s() < state.retry_at:
            return
        try:
            self._opened(state, state.source.open())
        except (AuthenticationFailed, NotSupported) as error:
            state.failed = _one_line(error)
            state.refusal = error
            self._event_log.report("error", state.name, state.failed)
        except Exception as error:  # also a fault of ours: the others go on
            pause = max(2 * state.reopen_pause, _MIN_REOPEN_PAUSE_S)
            state.reopen_pause = min(pause, _MAX_REOPEN_PAUSE_S)
            state.retry_at = clocks.steady_s() + state.reopen_pause
            self._intake.values_stay_out(state, _one_line(error))

    def _look_for_limits(self, state: SourceState) -> None:
        """Ask for the limits now and then: they change when somebody sets them."""
        ask = getattr(state.source, "limits", None)
        now = Stamp.now()
        if ask is None or now.mono < state.limits_due:
            return
        state.limits_due = now.mono + _LIMITS_PERIOD_S
        try:
            limits, begin, end = state.limits.changed(ask())
        except Exception as error:  # beside the readings: they go on
            state.limits_due = float("inf")
            self._event_log.report(
                "warning", state.source.name, f"its limits cannot be read: {type(error).__name__}"
            )
            return
        for limit in limits:
            self._put(("limit", (state, now, limit)))
        for name in end:
            self.mark(name, END, now)
        for name in begin:
            self.mark(name, BEGIN, now)

    def _read(self, source: Source) -> list[Reading]:
        stamp = Stamp.now()
        try:
            return source.read()
        except Exception as error:  # a fault in a source is a gap, never the end of the recording
            answered = stamp.middle()
            why = f"{type(error).__name__} in the source {source.name}"
            return [answered.gap(source.name, channel.name, why) for channel in source.channels]

    def _opened(self, state: SourceState, info: Info) -> None:
        state.info = info
        self._put(("info", (state, info)))

    def _put(self, item: _Item) -> None:
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            self.dropped += 1

    # the writer's thread

    def _write_all(self) -> None:
        last_upkeep = clocks.steady_s()
        while True:
            item: _Item | _Sentinel = ("", None)
            with contextlib.suppress(queue.Empty):
                item = self._queue.get(timeout=_UPKEEP_PERIOD_S)
            self._beat()
            if isinstance(item, _Sentinel):
                return
            # The writer must outlive anything that a listener or a value does.
            try:
                if clocks.steady_s() - last_upkeep >= _UPKEEP_PERIOD_S:
                    self._keep_up()
                    last_upkeep = clocks.steady_s()
                self._take(item)
            except Exception as error:
                self._event_log.report(
                    "error", "", f"{type(error).__name__} while writing: {error}"
                )

    def _take(self, item: _Item) -> None:
        kind, content = item
        if kind == "readings":
            self._intake.take_readings(*content)
        elif kind == "info":
            self._intake.take_info(*content)
        elif kind == "limit":
            self._intake.take_limit(*content)
        elif kind == "mark":
            self._intake.take_mark(*content)
        elif kind == "suspension":
            for state in self.states.values():
                state.suspension = content

    def _keep_up(self) -> None:
        """Between readings, look after the file and after sources that keep us waiting."""
        if self.file is not None:
            self.file.flush()
        for state in self.states.values():
            self._intake.note_silence(state)

    def say(self, text: str) -> None:
        """Report trouble on the disk; called by the file."""
        self._event_log.report("error", "", text)
