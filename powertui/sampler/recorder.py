"""Sampling at a steady rate, into a file and to whoever listens.

One thread per source asks at absolute deadlines: a slow answer delays no later tick, and ticks that
were missed are left out, never made up for in a burst. One more thread writes the file, keeps the
health of each channel and tells the listeners, so that neither a slow disk nor a slow screen can
hold a reading up. No thread prints.

    recorder = Recorder([source], interval=1.0, file=RecordingFile("power.csv", 1.0))
    recorder.subscribe(lambda readings: …)      # from the writer's thread: return soon, hand work over
    recorder.start(); …; recorder.mark("epoch 3"); …; recorder.stop()
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
from powertui.sampler.source import Channel, Info, Reading, Source, Stamp, none, reason_of

__all__ = ["Event", "Recorder", "SourceState"]

_REOPEN_PAUSE_S = (0.25, 5.0)
_CLOCK_STEP_S = 0.1  # s: a jump of the host's clock worth a note
_MAX_QUEUED_ITEMS = 500_000  # readings that may wait for a disk that hangs
_SHUTDOWN_S = 20.0  # s to wait for a source or a disk at the end
_MAX_OUTAGE_REASONS = (
    5  # that are reported of one outage: a line that comes and goes must not fill the log
)
_LIMITS_PERIOD_S = 2.0  # s between looks at what a source says of limits
_UPKEEP_PERIOD_S = 0.25  # s between looks at the file, and at sources that do not answer
# s between the ticks of neighbouring sources, so that a hundred do not ask at the same instant
_STAGGER_S = 0.002


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
    down_since: float | None = None  # monotonic; None while values come
    asked: Stamp | None = None  # since when an answer is waited for
    silent: Stamp | None = None  # the request whose silence was noted as a gap
    suspension: Suspension | None = (
        None  # of the recorder, until readings come that were taken after it
    )
    caught_up: bool = False  # and some came that were taken during it
    gaps_of: Suspension | None = None  # the last one that left a gap
    told: set[str] = field(default_factory=set)  # reasons of this outage that have been said
    channels: dict[str, Health] = field(default_factory=dict)
    judges: dict[str, Judge] = field(default_factory=dict)
    limits: Watcher = field(default_factory=Watcher)
    limits_due: float = 0.0  # monotonic
    refused: set[str] = field(
        default_factory=set
    )  # channels of which it was said that a value is not possible

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def reconnects(self) -> int:
        return self.source.reconnects


def _may_pass(error: PowertuiError) -> bool:
    """A host that is away; not one that refuses us or has nothing to read."""
    return isinstance(error, SensorError) and not isinstance(
        error, (AuthenticationFailed, NotSupported)
    )


def _one_line(error: PowertuiError) -> str:
    return "; ".join(line.strip() for line in error.message.splitlines())


def _first_of_each(readings: Sequence[Reading]) -> list[Reading]:
    """The first reading of each channel."""
    return list({reading.channel: reading for reading in reversed(readings)}.values())


class _Sentinel:
    pass


_STOP = _Sentinel()
_Item = tuple[str, object]


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
        if not 0.01 <= interval <= 86400:
            raise UsageError(
                f"An interval of {interval:g} s is not possible: it must be between 0.01 s and "
                "a day."
            )
        names = [s.name for s in sources]
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise UsageError(f"The source {twice!r} is given twice.")
        self.interval = interval
        self.file = file
        if file is not None:
            file.say = self.say
        self.states: dict[str, SourceState] = {s.name: SourceState(s) for s in sources}
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
        self._beating = (
            threading.Lock()
        )  # what a beat found is in the queue before anything that was read after it
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
        """Called with a source's name and what one of its channels is held to, whenever that
        changes.
        """
        self._limit_listeners.append(listener)

    def on_open(self, listener: Callable[[SourceState], None]) -> None:
        """Called when a source has been opened, also one that was away at the start."""
        self._openings.append(listener)

    def health(self) -> list[tuple[SourceState, Health]]:
        """Every channel with its source, in order."""
        return [
            (state, health)
            for state in self.states.values()
            for health in list(state.channels.values())
        ]

    # running

    def open(self, *, patient: bool = False) -> None:
        """Open all sources once, here and now. A refused login or a missing sensor is raised.

        A source that is only away is tried again while recording, as long as another one answers,
        or if we are patient.
        """
        errors: list[PowertuiError] = []
        failed: dict[str, PowertuiError] = {}
        threads = []

        def attempt(state: SourceState) -> None:
            try:
                self._opened(state, state.source.open())
            except PowertuiError as error:
                errors.append(error)
                failed[state.source.name] = error
            except (
                Exception
            ) as error:  # a fault of ours in one source must not take the others with it
                errors.append(SensorError(f"{state.source.name}: {type(error).__name__}: {error}"))

        for state in self.states.values():
            thread = threading.Thread(target=attempt, args=(state,), daemon=True)
            threads.append(thread)
            thread.start()
        for thread in threads:
            thread.join()
        raised = next((e for e in errors if not _may_pass(e)), None)
        if raised is None and len(errors) == len(self.states) and not patient:
            raised = errors[0]
        for name, error in failed.items():
            if (
                _may_pass(error) and error is not raised
            ):  # what is raised is shown where it is caught
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
            self._queue.put(_STOP)
            self._threads[0].join(_SHUTDOWN_S)
            if (
                self._threads[0].is_alive() and self.file is not None
            ):  # a disk or file server that does not answer at all
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
        with self._beating:
            suspension = self._heartbeat.beat()
            if suspension is not None:
                self._resumed = suspension.end
                self._put(("suspension", suspension))

    # the threads of the sources

    def _sample(self, state: SourceState, base: float) -> None:
        source, tick = state.source, 0
        readings: list[Reading] = []
        backoff, retry_at = 0.0, 0.0
        period = max(self.interval, source.min_period)
        period = min(period, getattr(source, "max_period", period))  # of counters that wrap
        while not self._halt.is_set():
            if state.info is None and not state.failed and clocks.steady_s() >= retry_at:
                try:
                    self._opened(state, source.open())
                except (AuthenticationFailed, NotSupported) as error:
                    state.failed, state.refusal = _one_line(error), error
                    self._event("error", source.name, state.failed)
                except Exception as error:
                    backoff = min(max(backoff * 2, _REOPEN_PAUSE_S[0]), _REOPEN_PAUSE_S[1])
                    retry_at = clocks.steady_s() + backoff
                    self._down(
                        state,
                        _one_line(error)
                        if isinstance(error, PowertuiError)
                        else type(error).__name__,
                    )
            if state.info is not None:
                state.asked = Stamp.now()
                readings = self._read(source)
                self._beat()
                state.asked = None
                self._put(("readings", (state, readings)))
                self._look_for_limits(state)
            elapsed = clocks.steady_s() - base
            following = max(tick + 1, int(elapsed / period) + 1)
            # A log or a Prometheus keeps what we were too late for: such ticks are not lost.
            caught_up = state.info is not None and len(readings) > len(source.channels)
            state.missed += 0 if caught_up else following - tick - 1
            tick = following
            self._halt.wait(max(0.0, base + tick * period - clocks.steady_s()))
            self._beat()
        for name in state.limits.rest():
            self.mark(name, END)
        if state.info is not None and state.down_since is None:
            self._put(
                ("readings", (state, self._read(source)))
            )  # out of rhythm: so that energy is known up to the end
        source.close()

    def _look_for_limits(self, state: SourceState) -> None:
        """What the source says of limits, now and then: they change when somebody sets them."""
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
            t, mono, rtt = stamp.middle()
            why = f"none:{type(error).__name__} in the source {source.name}"
            return [Reading(t, mono, None, rtt, source.name, c.name, why) for c in source.channels]

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
        tended = clocks.steady_s()
        while True:
            item: _Item | _Sentinel = ("", None)
            with contextlib.suppress(queue.Empty):
                item = self._queue.get(timeout=_UPKEEP_PERIOD_S)
            self._beat()
            if isinstance(item, _Sentinel):
                return
            kind, what = item
            try:
                if clocks.steady_s() - tended >= _UPKEEP_PERIOD_S:
                    self._tend()
                    tended = clocks.steady_s()
                if kind == "readings":
                    self._take_readings(*what)  # type: ignore[misc]
                elif kind == "info":
                    self._take_info(*what)  # type: ignore[misc]
                elif kind == "limit":
                    self._take_limit(*what)  # type: ignore[misc]
                elif kind == "mark":
                    self._take_mark(*what)  # type: ignore[misc]
                elif kind == "suspension":
                    for state in self.states.values():
                        state.suspension = what  # type: ignore[assignment]
            except (
                Exception
            ) as error:  # the writer must outlive anything that a listener or a value does
                self._event("error", "", f"{type(error).__name__} while writing: {error}")

    def _tend(self) -> None:
        """Between readings: is the file still there, and does a source keep us waiting?"""
        if self.file is not None:
            self.file.flush()
        for state in self.states.values():
            self._note_silence(state)

    def _note_silence(self, state: SourceState) -> None:
        """A request that is not answered for longer than values may lie apart is a gap now, not
        when its answer comes at last.

        It has the moment of the request, which lies between the reading before and the one that
        this request may still yield.
        """
        asked = state.asked
        if asked is None or asked is state.silent or not state.channels:
            return
        waited = clocks.steady_s() - max(asked.mono, self._resumed)
        if waited <= max(health.longest_bridge for health in state.channels.values()):
            return
        state.silent = asked
        why = none(f"no answer for {waited:.1f} s")
        self._take_readings(
            state,
            [
                Reading(asked.t, asked.mono, None, waited, state.name, name, why)
                for name in list(state.channels)
            ],
        )

    def _take_info(self, state: SourceState, info: Info) -> None:
        for channel in info.channels:
            state.channels.setdefault(
                channel.name, Health(state.source.name, channel, self.interval)
            )
        if self.file is not None:
            self.file.add_source(state.source.name, info)
        facts = ", ".join(f"{k} {v}" for k, v in info.facts.items())
        self._event(
            "info",
            state.source.name,
            f"{info.source}: "
            + ", ".join(c.name for c in info.channels)
            + f" ({facts})" * bool(facts),
        )
        for note in info.notes:
            self._event("warning", state.source.name, note)
        for listener in self._openings:
            listener(state)
        if state.source.min_period > self.interval:
            self._event(
                "warning",
                state.source.name,
                f"asked every {state.source.min_period:g} s; more often would show nothing new",
            )

    def _take_readings(self, state: SourceState, readings: list[Reading]) -> None:
        if not readings:
            return
        self._watch_clock(readings[0])
        if state.suspension is not None:
            self._take_suspension(state, state.suspension, readings)
        readings = [self._judged(state, reading) for reading in readings]
        values = [r for r in readings if r.watts is not None]
        was_down = state.down_since is not None
        if not values:
            self._down(state, reason=reason_of(readings[0].quality), mono=readings[0].mono)
        elif state.down_since is not None:
            text = f"values again after {values[0].mono - state.down_since:.1f} s"
            state.down_since = None
            state.told.clear()
            self._event("info", state.source.name, text, note=True)
        for reading in readings:
            health = state.channels.get(reading.channel)
            if health is None:
                channel = next(
                    (c for c in state.source.channels if c.name == reading.channel),
                    Channel(reading.channel),
                )
                health = state.channels[reading.channel] = Health(
                    state.source.name, channel, self.interval
                )
            health.add(reading)
            if self.file is not None:
                self.file.write(reading_row(reading))
        if self.file is not None and (state.down_since is not None) != was_down:
            self.file.sync()  # where values stop the machine may be about to
        self._tell_subscribers(readings)

    def _tell_subscribers(self, readings: list[Reading]) -> None:
        for listener in list(self._subscribers):
            try:
                listener(readings)
            except (
                Exception
            ) as error:  # a listener that fails is not asked again; the recording goes on
                with contextlib.suppress(ValueError):
                    self._subscribers.remove(listener)
                self._event(
                    "error",
                    "",
                    f"a listener failed and is no longer called: {type(error).__name__}: {error}",
                )

    def _take_suspension(
        self, state: SourceState, suspension: Suspension, readings: list[Reading]
    ) -> None:
        """What the time in which nothing ran cost this source: a gap in each channel whose readings
        lie too far apart.

        A reading that was taken just before may come only now: the suspension is over with the
        first that was taken after it.
        """
        gaps = [
            gap
            for gap in (
                self._gap_before(state, suspension, reading) for reading in _first_of_each(readings)
            )
            if gap
        ]
        if gaps:
            state.gaps_of = suspension
            if self._reported is not suspension:
                self._reported = suspension
                self._event("warning", "", reason_of(gaps[0].quality), note=True)
            for gap in gaps:
                state.channels[gap.channel].add_hole(gap)
                if self.file is not None:
                    self.file.write(reading_row(gap))
            self._tell_subscribers(gaps)
        state.caught_up = state.caught_up or len(readings) > len(state.channels)
        if not any(reading.mono >= suspension.end for reading in readings):
            return
        if state.caught_up and state.gaps_of is not suspension:
            text = (
                f"{suspension.cause} for {suspension.length}, and then read what the source "
                "had kept: nothing is missing"
            )
            self._event("warning", state.source.name, text, note=True)
        state.suspension, state.caught_up = None, False

    def _gap_before(
        self, state: SourceState, suspension: Suspension, after: Reading
    ) -> Reading | None:
        """The hole between a reading and the last one of its channel; None where they lie close
        enough.
        """
        health = state.channels.get(after.channel)
        before = health.last if health is not None else None
        if (
            health is None
            or before is None
            or after.mono - before.mono <= health.longest_bridge / 2
        ):
            return None
        inside = before.mono < suspension.middle < after.mono
        mono = suspension.middle if inside else (before.mono + after.mono) / 2
        why = none(f"nothing was recorded for {suspension.length}: {suspension.cause}")
        return Reading(
            after.t - (after.mono - mono), mono, None, 0.0, state.name, after.channel, why
        )

    def _judged(self, state: SourceState, reading: Reading) -> Reading:
        if reading.channel not in state.judges:
            known = next(
                (c for c in state.source.channels if c.name == reading.channel),
                Channel(reading.channel),
            )
            state.judges[reading.channel] = Judge(known, self.interval)
        judged = state.judges[reading.channel].judge(reading)
        if (
            judged.watts is None
            and reading.watts is not None
            and reading.channel not in state.refused
        ):
            state.refused.add(reading.channel)
            self._event(
                "warning", state.source.name, f"{reading.channel}: {reason_of(judged.quality)}"
            )
        return judged

    def _take_limit(self, state: SourceState, stamp: Stamp, limit: PowerLimit) -> None:
        if self.file is not None:
            self.file.write(limit_row(stamp, state.source.name, limit))
        words = "has no limit" if limit.watts is None else f"is limited to {limit.watts:g} W"
        self._event("info", state.source.name, f"{limit.channel} {words}", stamp=stamp)
        for told in list(self._limit_listeners):
            with contextlib.suppress(Exception):  # its own affair, as with readings
                told(state.source.name, stamp, limit)

    def _take_mark(self, kind: str, stamp: Stamp, text: str) -> None:
        if self.file is not None:
            self.file.write(mark_row(kind, stamp, text))
        words = {BEGIN: "begin of ", END: "end of ", MARK: "mark: ", NOTE: ""}
        self._event("info", "", words[kind] + text, stamp=stamp)

    def _down(self, state: SourceState, reason: str, mono: float | None = None) -> None:
        """Say that values stay out, and again when there is another reason: a BMC that was away may
        come back and refuse us.
        """
        if state.down_since is None:
            state.down_since = clocks.steady_s() if mono is None else mono
        if reason not in state.told and len(state.told) < _MAX_OUTAGE_REASONS:
            state.told.add(reason)
            self._event("warning", state.source.name, f"no value: {reason}")

    def _watch_clock(self, reading: Reading) -> None:
        """Somebody set the host's clock: rows before and after have different origins, `mono` joins
        them.
        """
        offset = reading.t - reading.mono
        if self._clock is not None and abs(offset - self._clock) > _CLOCK_STEP_S:
            text = f"the host's clock was stepped by {offset - self._clock:+.3f} s"
            if clocks.asleep_s() is None:
                text += ", or this machine slept: this system does not tell which"
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
        """For the file: trouble on the disk."""
        self._event("error", "", text)
