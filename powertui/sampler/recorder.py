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
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from powertui.errors import (
    AuthenticationFailed,
    NotSupported,
    PowertuiError,
    SensorError,
    UsageError,
)
from powertui.sampler import clocks
from powertui.sampler.csv_format import BEGIN, END, MARK, NOTE, limit_row, mark_row, reading_row
from powertui.sampler.health import Health
from powertui.sampler.heartbeat import BEAT_S, Heartbeat, Suspension
from powertui.sampler.limits import PowerLimit, Watcher
from powertui.sampler.plausible import Judge
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import AnswerTime, Channel, Info, Reading, Source, Stamp, reason_of

__all__ = ["Event", "Recorder", "SourceState"]

# These were chosen, not measured.
_MIN_REOPEN_PAUSE_S, _MAX_REOPEN_PAUSE_S = 0.25, 5.0  # between two tries to open a source
_CLOCK_STEP_S = 0.1  # a jump of the host's clock that is worth a note
_MAX_QUEUED_ITEMS = 500_000  # batches of readings that may wait for a disk that hangs
_SHUTDOWN_S = 20.0  # to wait for a source or a disk at the end
_MAX_OUTAGE_REASONS = 5  # reported of one outage: a line that comes and goes must not fill the log
_LIMITS_PERIOD_S = 2.0  # between two questions for a source's limits
_UPKEEP_PERIOD_S = 0.25  # between looks at the file, and at sources that do not answer
_STAGGER_S = 0.002  # between the ticks of two sources: a hundred are not to ask at the same instant
_MIN_INTERVAL_S, _MAX_INTERVAL_S = 0.01, 86400.0


class Event(NamedTuple):
    """Something a person may want to know: connected, lost, reconnected, marked, disk full."""

    stamp: Stamp
    level: str  # "info", "warning", "error"
    source: str  # "" when it concerns the recording as a whole
    text: str


@dataclass
class SourceState:
    """What the recorder knows of one source."""

    source: Source
    info: Info | None = None
    missed: int = 0  # ticks that passed while an answer was waited for
    failed: str = ""  # why it will never be asked again
    refusal: PowertuiError | None = None  # what said so
    reopen_pause: float = 0.0  # s that the last try to open it in vain was followed by
    retry_at: float = 0.0  # monotonic: not opened again before
    down_since: float | None = None  # monotonic; None while values come
    asked: Stamp | None = None  # since when an answer is waited for
    silent: Stamp | None = None  # the request whose silence was noted as a gap
    # Of the recorder, until readings come that were taken after it.
    suspension: Suspension | None = None
    caught_up: bool = False  # some readings came that were taken during that suspension
    gaps_of: Suspension | None = None  # the last one that left a gap
    reported: set[str] = field(default_factory=set)  # reasons of this outage
    channels: dict[str, Health] = field(default_factory=dict)
    judges: dict[str, Judge] = field(default_factory=dict)
    limits: Watcher = field(default_factory=Watcher)
    limits_due: float = 0.0  # monotonic
    implausible: set[str] = field(default_factory=set)  # channels with an impossible value so far

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def reconnects(self) -> int:
        return self.source.reconnects

    def channel(self, name: str) -> Channel:
        """What the source says of a channel; a bare one where it says nothing."""
        for channel in self.source.channels:
            if channel.name == name:
                return channel
        return Channel(name)


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


def _first_of_each(readings: Sequence[Reading]) -> list[Reading]:
    """The first reading of each channel."""
    return list({reading.channel: reading for reading in reversed(readings)}.values())


class _Sentinel:
    pass


_STOP = _Sentinel()
_Item = tuple[str, Any]


class Recorder:
    """Samples until it is stopped.

    Sources that cannot be opened yet are tried again; those that refuse us are not.
    """

    def __init__(
        self, sources: Sequence[Source], *, interval: float = 1.0, file: RecordingFile | None = None
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
        self.file = file
        if file is not None:
            file.say = self.say
        self.states = {source.name: SourceState(source) for source in sources}
        self.events: deque[Event] = deque(maxlen=1000)
        self.dropped = 0  # readings that even the queue could not take
        self.started: Stamp | None = None
        self.ended: Stamp | None = None
        self._subscribers: list[Callable[[list[Reading]], None]] = []
        self._listeners: list[Callable[[Event], None]] = []
        self._limit_listeners: list[Callable[[str, Stamp, PowerLimit], None]] = []
        self._openings: list[Callable[[SourceState], None]] = []
        self._queue: queue.Queue[_Item | _Sentinel] = queue.Queue(_MAX_QUEUED_ITEMS)
        self._halt = threading.Event()
        self._threads: list[threading.Thread] = []
        self._clock: float | None = None  # wall minus steady clock, at the last reading
        self._heartbeat = Heartbeat()
        # What a beat found is in the queue before anything that was read after it.
        self._beat_lock = threading.Lock()
        self._resumed = 0.0  # when the last suspension ended, by the steady clock
        self._reported: Suspension | None = None

    # listening

    def subscribe(self, listener: Callable[[list[Reading]], None]) -> Callable[[], None]:
        """Hand every batch of readings to `listener`, in the writer's thread.

        Returns how to stop that.
        """
        self._subscribers.append(listener)
        return lambda: self._subscribers.remove(listener)

    def on_event(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_limit(self, listener: Callable[[str, Stamp, PowerLimit], None]) -> None:
        """Call `listener` with a source's name and a channel's limit whenever that changes."""
        self._limit_listeners.append(listener)

    def on_open(self, listener: Callable[[SourceState], None]) -> None:
        """Called when a source has been opened, also one that was away at the start."""
        self._openings.append(listener)

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
                self._event("warning", name, _one_line(error))
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
            target=self._beat_until_stopped, name="powertui-heartbeat", daemon=True
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
                self._event(
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
                self._resumed = suspension.end
                self._put(("suspension", suspension))

    # the threads of the sources

    def _sample(self, state: SourceState, base: float) -> None:
        """Ask one source at the moments `base` + n periods until the recording ends."""
        source, tick = state.source, 0
        readings: list[Reading] = []
        period = max(self.interval, source.min_period)
        period = min(period, getattr(source, "max_period", period))  # of counters that wrap
        while not self._halt.is_set():
            if state.info is None:
                self._try_to_open(state)
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

    def _try_to_open(self, state: SourceState) -> None:
        """Open a source that is away, if it is time for another try."""
        if state.failed or clocks.steady_s() < state.retry_at:
            return
        try:
            self._opened(state, state.source.open())
        except (AuthenticationFailed, NotSupported) as error:
            state.failed, state.refusal = _one_line(error), error
            self._event("error", state.name, state.failed)
        except Exception as error:  # also a fault of ours: the others go on
            pause = max(2 * state.reopen_pause, _MIN_REOPEN_PAUSE_S)
            state.reopen_pause = min(pause, _MAX_REOPEN_PAUSE_S)
            state.retry_at = clocks.steady_s() + state.reopen_pause
            self._down(state, _one_line(error))

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
            self._event(
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
                self._event("error", "", f"{type(error).__name__} while writing: {error}")

    def _take(self, item: _Item) -> None:
        kind, content = item
        if kind == "readings":
            self._take_readings(*content)
        elif kind == "info":
            self._take_info(*content)
        elif kind == "limit":
            self._take_limit(*content)
        elif kind == "mark":
            self._take_mark(*content)
        elif kind == "suspension":
            for state in self.states.values():
                state.suspension = content

    def _keep_up(self) -> None:
        """Between readings, look after the file and after sources that keep us waiting."""
        if self.file is not None:
            self.file.flush()
        for state in self.states.values():
            self._note_silence(state)

    def _note_silence(self, state: SourceState) -> None:
        """Record a gap where a request has waited longer than a hole between values may last.

        It has the moment of the request, which is between the reading before and the one that
        this request may still yield.
        """
        asked = state.asked
        if asked is None or asked is state.silent or not state.channels:
            return
        waited = clocks.steady_s() - max(asked.mono, self._resumed)
        if waited <= max(health.longest_bridge for health in state.channels.values()):
            return
        state.silent = asked
        why = f"no answer for {waited:.1f} s"
        request = AnswerTime(asked.t, asked.mono, waited)
        gaps = [request.gap(state.name, name, why) for name in list(state.channels)]
        self._take_readings(state, gaps)

    def _take_info(self, state: SourceState, info: Info) -> None:
        for channel in info.channels:
            state.channels.setdefault(channel.name, Health(state.name, channel, self.interval))
        if self.file is not None:
            self.file.add_source(state.name, info)
        text = f"{info.source}: " + ", ".join(channel.name for channel in info.channels)
        if info.facts:
            facts = ", ".join(f"{name} {fact}" for name, fact in info.facts.items())
            text += f" ({facts})"
        self._event("info", state.name, text)
        for note in info.notes:
            self._event("warning", state.name, note)
        for listener in self._openings:
            listener(state)
        period = state.source.min_period
        if period > self.interval:
            text = f"asked every {period:g} s; more often would show nothing new"
            self._event("warning", state.name, text)

    def _take_readings(self, state: SourceState, readings: list[Reading]) -> None:
        if not readings:
            return
        self._watch_clock(readings[0])
        if state.suspension is not None:
            self._take_suspension(state, state.suspension, readings)
        readings = [self._judged(state, reading) for reading in readings]
        was_down = state.down_since is not None
        self._note_outage(state, readings)
        for reading in readings:
            if reading.channel not in state.channels:
                channel = state.channel(reading.channel)
                state.channels[channel.name] = Health(state.name, channel, self.interval)
            state.channels[reading.channel].add(reading)
            if self.file is not None:
                self.file.write(reading_row(reading))
        if self.file is not None and (state.down_since is not None) != was_down:
            self.file.sync()  # where values stop the machine may be about to
        self._call_subscribers(readings)

    def _note_outage(self, state: SourceState, readings: list[Reading]) -> None:
        """Report that a source's values stay out, or come again."""
        first_value = next((reading for reading in readings if reading.watts is not None), None)
        if first_value is None:
            self._down(state, reason=reason_of(readings[0].quality), mono=readings[0].mono)
        elif state.down_since is not None:
            text = f"values again after {first_value.mono - state.down_since:.1f} s"
            state.down_since = None
            state.reported.clear()
            self._event("info", state.name, text, note=True)

    def _call_subscribers(self, readings: list[Reading]) -> None:
        for listener in list(self._subscribers):
            # A listener that fails is not called again; the recording goes on.
            try:
                listener(readings)
            except Exception as error:
                with contextlib.suppress(ValueError):
                    self._subscribers.remove(listener)
                failure = f"{type(error).__name__}: {error}"
                self._event("error", "", f"a listener failed and is no longer called: {failure}")

    def _take_suspension(
        self, state: SourceState, suspension: Suspension, readings: list[Reading]
    ) -> None:
        """Record a gap in each channel whose readings are too far apart, as nothing ran between.

        A reading that was taken just before may come only now: the suspension is over with the
        first that was taken after it.
        """
        gaps = []
        for reading in _first_of_each(readings):
            gap = self._gap_before(state, suspension, reading)
            if gap is not None:
                gaps.append(gap)
        if gaps:
            state.gaps_of = suspension
            if self._reported is not suspension:
                self._reported = suspension
                self._event("warning", "", reason_of(gaps[0].quality), note=True)
            for gap in gaps:
                state.channels[gap.channel].add_hole(gap)
                if self.file is not None:
                    self.file.write(reading_row(gap))
            self._call_subscribers(gaps)
        state.caught_up = state.caught_up or len(readings) > len(state.channels)
        if not any(reading.mono >= suspension.end for reading in readings):
            return
        if state.caught_up and state.gaps_of is not suspension:
            text = (
                f"{suspension.cause} for {suspension.length}, and then read what the source "
                "had kept: nothing is missing"
            )
            self._event("warning", state.name, text, note=True)
        state.suspension, state.caught_up = None, False

    def _gap_before(
        self, state: SourceState, suspension: Suspension, after: Reading
    ) -> Reading | None:
        """The hole between a reading and the last one of its channel.

        None where the two are close enough.
        """
        health = state.channels.get(after.channel)
        before = health.last if health is not None else None
        if health is None or before is None:
            return None
        # Stricter than for other holes: here it is certain that nothing was read in between.
        if after.mono - before.mono <= health.longest_bridge / 2:
            return None
        inside = before.mono < suspension.middle < after.mono
        mono = suspension.middle if inside else (before.mono + after.mono) / 2
        why = f"nothing was recorded for {suspension.length}: {suspension.cause}"
        hole = AnswerTime(after.t - (after.mono - mono), mono, 0.0)
        return hole.gap(state.name, after.channel, why)

    def _judged(self, state: SourceState, reading: Reading) -> Reading:
        name = reading.channel
        if name not in state.judges:
            state.judges[name] = Judge(state.channel(name), self.interval)
        judged = state.judges[name].judge(reading)
        was_refused = judged.watts is None and reading.watts is not None
        if was_refused and name not in state.implausible:
            state.implausible.add(name)
            self._event("warning", state.name, f"{name}: {reason_of(judged.quality)}")
        return judged

    def _take_limit(self, state: SourceState, stamp: Stamp, limit: PowerLimit) -> None:
        if self.file is not None:
            self.file.write(limit_row(stamp, state.name, limit))
        words = "has no limit" if limit.watts is None else f"is limited to {limit.watts:g} W"
        self._event("info", state.name, f"{limit.channel} {words}", stamp=stamp)
        for listener in list(self._limit_listeners):
            with contextlib.suppress(Exception):  # its own affair, as with readings
                listener(state.name, stamp, limit)

    def _take_mark(self, kind: str, stamp: Stamp, text: str) -> None:
        if self.file is not None:
            self.file.write(mark_row(kind, stamp, text))
        words = {BEGIN: "begin of ", END: "end of ", MARK: "mark: ", NOTE: ""}
        self._event("info", "", words[kind] + text, stamp=stamp)

    def _down(self, state: SourceState, reason: str, mono: float | None = None) -> None:
        """Report that values stay out, and again when there is another reason.

        A BMC that was away may come back and refuse us.
        """
        if state.down_since is None:
            state.down_since = clocks.steady_s() if mono is None else mono
        if reason not in state.reported and len(state.reported) < _MAX_OUTAGE_REASONS:
            state.reported.add(reason)
            self._event("warning", state.name, f"no value: {reason}")

    def _watch_clock(self, reading: Reading) -> None:
        """Note it when somebody sets the host's clock.

        Rows before and after have different origins then; `mono` joins them.
        """
        offset = reading.t - reading.mono
        if self._clock is not None and abs(offset - self._clock) > _CLOCK_STEP_S:
            text = f"the host's clock was stepped by {offset - self._clock:+.3f} s"
            if clocks.asleep_s() is None:
                text += ", or this machine slept: this system does not show which"
            self._event("warning", "", text, note=True)
        self._clock = offset

    def _event(
        self, level: str, source: str, text: str, *, note: bool = False, stamp: Stamp | None = None
    ) -> None:
        event = Event(stamp or Stamp.now(), level, source, text)
        self.events.append(event)
        if note and self.file is not None:
            self.file.write(mark_row(NOTE, event.stamp, text, source))
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):
                listener(event)

    def say(self, text: str) -> None:
        """Report trouble on the disk; called by the file."""
        self._event("error", "", text)
