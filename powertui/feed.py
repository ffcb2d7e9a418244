"""Where a live screen's readings come from: a recorder that samples now, or a recording that is
played again.

Both fill the same board and the same health facts, so a screen cannot tell them apart but for the
clock. Readings wait in a queue until whoever shows them calls `drain`. A screen that is slow,
suspended or gone holds no reading up: the recorder samples and writes in a process of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from powertui.data.live import Board, ChannelKey, History
from powertui.data.model import Badge, Mark, PowerKind, PowerSeries, Scope
from powertui.errors import PowertuiError
from powertui.sampler import clocks
from powertui.sampler.health import Health
from powertui.sampler.process import RecorderProcess
from powertui.sampler.recorder_events import Event
from powertui.sampler.source import Channel, Reading, Stamp

if TYPE_CHECKING:
    from powertui.data.budget import BudgetMeter

NS = 1_000_000_000


class Feed(Protocol):
    """What a live screen stands on."""

    board: Board
    healths: dict[ChannelKey, Health]
    marks: list[Mark]  # what was named so far; their times are those of `now_ns`
    interval_s: float
    is_simulated: bool  # whether the readings are of a simulated sensor: nothing was measured
    budget: BudgetMeter | None  # of energy, where a person gave one

    @property
    def file(self) -> Path | None:
        """Where it is recorded; None when it is only watched."""

    @property
    def title(self) -> str:
        """What is watched, in a few words."""

    @property
    def over(self) -> bool:
        """Nothing will come any more."""

    @property
    def away(self) -> Mapping[str, str]:
        """Sources that have never answered, and why, as far as that is known: they have no
        row yet.
        """

    @property
    def failure(self) -> PowertuiError | None:
        """Why nothing can come at all: the file cannot be written, or every source refused us."""

    @property
    def trouble(self) -> str:
        """Why the file does not hold everything; "" when it does."""

    def start(self) -> None: ...
    def stop(self, reason: str) -> None: ...
    def drain(self) -> int:
        """Take what has come since the last call into the board; how many readings that were."""

    def events(self) -> list[Event]:
        """What happened since the last call."""

    def reconnects(self, key: ChannelKey) -> int:
        """How often the connection behind this channel was built up again."""

    def mark(self, text: str) -> None: ...
    def now_ns(self) -> int:
        """The present, on the clock of the readings."""

    def mono(self) -> float:
        """The present, on the monotonic clock of the readings."""


def _history(key: ChannelKey, channel: Channel) -> History:
    """A channel's history with what the sampler knows of its scope and kind."""
    if channel.scope in {s.value for s in Scope}:
        scope = Scope(channel.scope)
    else:
        scope = Scope.UNKNOWN
    kind = PowerKind.INTERVAL if channel.kind == "interval" else PowerKind.SAMPLED
    return History(key, host=channel.host, group=channel.group, scope=scope, kind=kind)


class RecorderFeed:
    """Readings of a recorder, which runs in a process of its own and outlives whatever happens to
    the screen.
    """

    def __init__(
        self,
        recorder: RecorderProcess,
        title: str,
        budget: BudgetMeter | None = None,
    ) -> None:
        self.budget = budget
        self.board = Board()
        self.healths: dict[ChannelKey, Health] = {}
        self.marks: list[Mark] = []
        self.is_simulated = False
        self.interval_s = recorder.interval
        self.title = title
        self.recorder = recorder
        self._trouble = ""
        # Times come from the monotonic clock: one that is set while we watch would hide readings,
        # or tear a hole into them.
        self._zero_ns = int((clocks.wall_s() - clocks.steady_s()) * NS)
        self._batches: deque[list[Reading]] = deque()
        self._events: deque[Event] = deque()
        recorder.subscribe(self._batches.append)
        recorder.on_event(self._events.append)
        self._limits: deque[tuple[str, str, float, float | None]] = deque()
        recorder.on_limit(lambda *told: self._limits.append(told))

    @property
    def file(self) -> Path | None:
        if self.recorder.path is None:
            return None
        return Path(self.recorder.path)

    @property
    def over(self) -> bool:
        return not self.recorder.alive

    @property
    def away(self) -> Mapping[str, str]:
        return dict(self.recorder.away)

    @property
    def failure(self) -> PowertuiError | None:
        return self.recorder.failure

    @property
    def trouble(self) -> str:
        return self._trouble

    def start(self) -> None:
        """Begin, and return at once: whoever shows it need not wait for a host that is silent."""
        self.recorder.start(wait=False)

    def stop(self, reason: str) -> None:
        self.recorder.stop(reason)

    def drain(self) -> int:
        count = 0
        while self._batches:
            for reading in self._batches.popleft():
                key = ChannelKey(reading.source, reading.channel)
                if key not in self.healths:
                    self.healths[key] = self.recorder.channels[key]
                    self.board.add(_history(key, self.healths[key].channel))
                self.board.histories[key].append(self._at(reading.mono), reading.watts)
                count += 1
        for _ in range(len(self._limits)):
            limit = self._limits.popleft()
            source, channel, mono, watts = limit
            history = self.board.histories.get(ChannelKey(source, channel))
            if history is not None:
                history.limit(self._at(mono), watts)
            else:
                self._limits.append(limit)  # before its first reading
        if self.budget is not None and count:
            totals = [self.healths[key].total() for key in self.board.addable()[0]]
            if any(total.covered_s > 0 for total in totals):
                self.budget.take(self.mono(), sum(total.with_gaps for total in totals))
        return count

    def events(self) -> list[Event]:
        news = [self._events.popleft() for _ in range(len(self._events))]
        for event in news:
            # Trouble with no source of its own concerns the file: it must stay in sight.
            if event.level == "error" and not event.source:
                self._trouble = event.text
        return news

    def reconnects(self, key: ChannelKey) -> int:
        return self.recorder.reconnects.get(key.source, 0)

    def mark(self, text: str) -> None:
        stamp = self.recorder.mark(text)
        self.marks.append(Mark(text, self._at(stamp.mono)))

    def _at(self, mono: float) -> int:
        return self._zero_ns + int(mono * NS)

    def now_ns(self) -> int:
        return self._at(self.mono())

    def mono(self) -> float:
        return clocks.steady_s()


class ReplayFeed:
    """A recording played again, `speed` times at its own speed.

    Its own clock runs from its first sample.
    """

    def __init__(
        self,
        series: Sequence[PowerSeries],
        title: str,
        *,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.board = Board()
        self.healths: dict[ChannelKey, Health] = {}
        self.marks: list[Mark] = []
        self.title = title
        self.is_simulated = any(channel.sensor.scale is Badge.SIMULATED for channel in series)
        self.budget: BudgetMeter | None = None
        self.speed = speed
        self._clock = clock
        self._began: float | None = None
        self._news: list[Event] = []
        self._rows = _rows(series)
        self._recorded = _marks(series)  # those that are still to come
        self._next = 0
        self._zero = int(self._rows[0].t * NS) if self._rows else 0
        self._end = int(self._rows[-1].t * NS) if self._rows else 0
        self.interval_s = _interval(series)
        self._stopped = False
        for index, channel_series in enumerate(series):
            key = _key(channel_series, index)
            channel = Channel(
                key.channel,
                channel_series.sensor.shown_host,
                channel_series.sensor.scope.value,
                kind=channel_series.kind.value,
            )
            self.healths[key] = Health(key.source, channel, self.interval_s)
            history = self.board.add(_history(key, channel))
            zero_ns = _zero_ns(channel_series)
            for cap in channel_series.limits:
                history.limit(zero_ns + cap.start_ns, cap.watts)

    @property
    def file(self) -> Path | None:
        return None

    @property
    def over(self) -> bool:
        return self._stopped or self._next >= len(self._rows)

    @property
    def away(self) -> Mapping[str, str]:
        return {}

    @property
    def failure(self) -> PowertuiError | None:
        return None

    @property
    def trouble(self) -> str:
        return ""

    def start(self) -> None:
        self._began = self._clock()
        pace = "at its own speed"
        if self.speed != 1:
            pace = f"at {self.speed:g} times its own speed"
        length_s = (self._end - self._zero) / NS
        self._say(f"a recording of {length_s:.0f} s is played {pace}; nothing is sampled")

    def stop(self, reason: str) -> None:
        self._stopped = True

    def drain(self) -> int:
        if self._began is None or self._stopped:
            return 0
        now = self.now_ns()
        first = self._next
        while self._next < len(self._rows):
            reading = self._rows[self._next]
            at_ns = int(reading.t * NS)
            if at_ns > now:
                break
            key = ChannelKey(reading.source, reading.channel)
            self.healths[key].add(reading)
            self.board.histories[key].append(at_ns, reading.watts)
            self._next += 1
        while self._recorded and self._recorded[0].start_ns <= now:
            self.marks.append(self._recorded.popleft())
        if first < self._next == len(self._rows):
            self._say("end of the recording")
        return self._next - first

    def events(self) -> list[Event]:
        news, self._news = self._news, []
        return news

    def reconnects(self, key: ChannelKey) -> int:
        return 0

    def mark(self, text: str) -> None:
        self.marks.append(Mark(text, self.now_ns()))
        self._say(f"mark: {text} (on the screen only; a replay records nothing)")

    def now_ns(self) -> int:
        if self._began is None:
            return self._zero
        played_s = (self._clock() - self._began) * self.speed
        # The clock stops with the recording: "3 minutes ago" would be said of a value that is the
        # last there is.
        return min(self._zero + int(played_s * NS), self._end)

    def mono(self) -> float:
        return self.now_ns() / NS

    def _say(self, text: str) -> None:
        stamp = Stamp(self.now_ns() / NS, self.mono())
        self._news.append(Event(stamp, "info", "", text))


def _key(series: PowerSeries, index: int) -> ChannelKey:
    """Names of channels may be missing or repeat in foreign logs; keys must not."""
    source = series.sensor.shown_host or series.sensor.source or "log"
    return ChannelKey(source, series.sensor.name or f"channel {index + 1}")


def _zero_ns(series: PowerSeries) -> int:
    """Where the times of a log count from, in Unix ns; 0 where nothing dates it."""
    if series.clock.known:
        return series.clock.mid_ns
    return 0


def _marks(series: Sequence[PowerSeries]) -> deque[Mark]:
    """What a recording names, by time, on the clock of its readings: its marks, and windows with
    their ends.
    """
    # The channels of one log share its marks.
    logs = {log.path: log for log in series if log.marks}
    marks = []
    for log in logs.values():
        zero_ns = _zero_ns(log)
        for mark in log.marks:
            end_ns = None
            if mark.end_ns is not None:
                end_ns = mark.end_ns + zero_ns
            marks.append(Mark(mark.name, mark.start_ns + zero_ns, end_ns))
    return deque(sorted(marks, key=lambda mark: mark.start_ns))


def _interval(series: Sequence[PowerSeries]) -> float:
    """How often the log was written: the median distance of the densest channel, in s."""
    medians = []
    for channel_series in series:
        gaps_ns = sorted(np.diff(channel_series.times).tolist())
        # Readings of one time say nothing about how often they were taken.
        if gaps_ns and gaps_ns[len(gaps_ns) // 2] > 0:
            medians.append(gaps_ns[len(gaps_ns) // 2] / NS)
    return min(medians, default=1.0)


def _rows(series: Sequence[PowerSeries]) -> list[Reading]:
    """All samples as the readings they once were, by time.

    Gaps (NaN) become readings without a value.
    """
    rows = []
    for index, channel_series in enumerate(series):
        key = _key(channel_series, index)
        zero_ns = _zero_ns(channel_series)
        times = channel_series.times.tolist()
        watts_column = channel_series.watts.tolist()
        for at_ns, watts in zip(times, watts_column, strict=True):
            t = (zero_ns + at_ns) / NS
            if watts == watts:
                rows.append(Reading(t, t, watts, 0.0, *key, "ok"))
            else:  # NaN
                rows.append(Reading(t, t, None, 0.0, *key, "none:no value was recorded"))
    rows.sort(key=lambda reading: reading.t)
    return rows
