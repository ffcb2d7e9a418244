"""What becomes of readings: rows of the file, health of the channels, calls of listeners.

All of it happens in the writer's thread of a recorder, so that no reading waits for a disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from powertui.sampler import clocks
from powertui.sampler.csv_format import BEGIN, END, MARK, NOTE, limit_row, mark_row, reading_row
from powertui.sampler.health import Health
from powertui.sampler.heartbeat import Suspension
from powertui.sampler.limits import PowerLimit
from powertui.sampler.plausible import Judge
from powertui.sampler.recorder_events import RecorderEvents
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import AnswerTime, Channel, Info, Reading, Stamp, reason_of
from powertui.sampler.source_state import SourceState

__all__ = ["ReadingIntake"]

# These were chosen, not measured.
_CLOCK_STEP_S = 0.1  # a jump of the host's clock that is worth a note
_MAX_NAMED_CHANNELS = 8  # in the line that tells of a source
_MAX_OUTAGE_REASONS = 5  # reported of one outage: a line that comes and goes must not fill the log


class ReadingIntake:
    """Takes what the threads of the sources hand on, one item after another."""

    def __init__(self, interval: float, events: RecorderEvents) -> None:
        self._interval = interval
        self._events = events
        self.subscribers: list[Callable[[list[Reading]], None]] = []
        self.limit_listeners: list[Callable[[str, Stamp, PowerLimit], None]] = []
        self.openings: list[Callable[[SourceState], None]] = []
        # Called with channels that a source has got since it was opened.
        self.new_channels: list[Callable[[SourceState, Sequence[Channel]], None]] = []
        self.resumed_at = 0.0  # when the last suspension ended, by the steady clock
        self._clock: float | None = None  # wall minus steady clock, at the last reading
        self._reported: Suspension | None = None

    @property
    def _file(self) -> RecordingFile | None:
        return self._events.file

    def note_silence(self, state: SourceState) -> None:
        """Record a gap where a request has waited longer than a hole between values may last.

        It has the moment of the request, which is between the reading before and the one that
        this request may still yield.
        """
        asked = state.asked
        if asked is None or asked is state.silent or not state.channels:
            return
        waited = clocks.steady_s() - max(asked.mono, self.resumed_at)
        first_channel = next(iter(state.channels.values()))
        if waited <= first_channel.shortest_bridge:
            return  # surely too early, without a look at each of a thousand channels
        if waited <= max(health.longest_bridge for health in state.channels.values()):
            return
        state.silent = asked
        why = f"no answer for {waited:.1f} s"
        request = AnswerTime(asked.t, asked.mono, waited)
        gaps = [request.gap(state.name, name, why) for name in list(state.channels)]
        self.take_readings(state, gaps)

    def take_info(self, state: SourceState, info: Info) -> None:
        for channel in info.channels:
            state.channels.setdefault(channel.name, Health(state.name, channel, self._interval))
        if self._file is not None:
            self._file.add_source(state.name, info)
        text = f"{info.source}: {_channel_names(info.channels)}"
        if info.facts:
            facts = ", ".join(f"{name} {fact}" for name, fact in info.facts.items())
            text += f" ({facts})"
        self._events.report("info", state.name, text)
        for note in info.notes:
            self._events.report("warning", state.name, note)
        for listener in self.openings:
            listener(state)
        period = state.source.min_period
        if period > self._interval:
            text = f"asked every {period:g} s; more often would show nothing new"
            self._events.report("warning", state.name, text)

    def take_readings(self, state: SourceState, readings: list[Reading]) -> None:
        if not readings:
            return
        self._watch_clock(readings[0])
        if state.suspension is not None:
            self._take_suspension(state, state.suspension, readings)
        readings = [self._judged(state, reading) for reading in readings]
        was_down = state.down_since is not None
        self._note_outage(state, readings)
        self._take_new_channels(state, readings)
        for reading in readings:
            state.channels[reading.channel].add(reading)
            if self._file is not None:
                self._file.write(reading_row(reading))
        if self._file is not None and (state.down_since is not None) != was_down:
            self._file.sync()  # where values stop the machine may be about to
        self._call_subscribers(readings)

    def _take_new_channels(self, state: SourceState, readings: list[Reading]) -> None:
        """Take up channels that came after the source was opened, as it describes them now."""
        new: dict[str, Channel] = {}
        for reading in readings:
            if reading.channel not in state.channels and reading.channel not in new:
                new[reading.channel] = state.channel(reading.channel)
        for name, channel in new.items():
            state.channels[name] = Health(state.name, channel, self._interval)
        if not new or state.info is None:
            return
        if self._file is not None:
            self._file.add_channels(state.name, new.values())
        for listener in self.new_channels:
            listener(state, tuple(new.values()))

    def _note_outage(self, state: SourceState, readings: list[Reading]) -> None:
        """Report that a source's values stay out, or come again."""
        first_value = next((reading for reading in readings if reading.watts is not None), None)
        if first_value is None:
            # One host of a fleet that is silent between two scrapes of the others is no outage.
            if state.channels.keys() <= {reading.channel for reading in readings}:
                self.values_stay_out(
                    state,
                    reason=reason_of(readings[0].quality),
                    mono=readings[0].mono,
                )
        elif state.down_since is not None:
            text = f"values again after {first_value.mono - state.down_since:.1f} s"
            state.down_since = None
            state.reported.clear()
            self._events.report("info", state.name, text, note=True)

    def _call_subscribers(self, readings: list[Reading]) -> None:
        for listener in list(self.subscribers):
            # A listener that fails is not called again; the recording goes on.
            try:
                listener(readings)
            except Exception as error:
                with contextlib.suppress(ValueError):
                    self.subscribers.remove(listener)
                failure = f"{type(error).__name__}: {error}"
                self._events.report(
                    "error", "", f"a listener failed and is no longer called: {failure}"
                )

    def _take_suspension(
        self,
        state: SourceState,
        suspension: Suspension,
        readings: list[Reading],
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
                self._events.report("warning", "", reason_of(gaps[0].quality), note=True)
            for gap in gaps:
                state.channels[gap.channel].add_hole(gap)
                if self._file is not None:
                    self._file.write(reading_row(gap))
            self._call_subscribers(gaps)
        state.caught_up = state.caught_up or len(readings) > len(state.channels)
        if not any(reading.mono >= suspension.end for reading in readings):
            return
        if state.caught_up and state.gaps_of is not suspension:
            text = (
                f"{suspension.cause} for {suspension.length}, and then read what the source "
                "had kept: nothing is missing"
            )
            self._events.report("warning", state.name, text, note=True)
        state.suspension, state.caught_up = None, False

    def _gap_before(
        self,
        state: SourceState,
        suspension: Suspension,
        after: Reading,
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
        if inside:
            mono = suspension.middle
        else:
            mono = (before.mono + after.mono) / 2
        why = f"nothing was recorded for {suspension.length}: {suspension.cause}"
        hole = AnswerTime(after.t - (after.mono - mono), mono, 0.0)
        return hole.gap(state.name, after.channel, why)

    def _judged(self, state: SourceState, reading: Reading) -> Reading:
        name = reading.channel
        if name not in state.judges:
            state.judges[name] = Judge(state.channel(name), self._interval)
        judged = state.judges[name].judge(reading)
        was_refused = judged.watts is None and reading.watts is not None
        if was_refused and name not in state.implausible:
            state.implausible.add(name)
            self._events.report("warning", state.name, f"{name}: {reason_of(judged.quality)}")
        return judged

    def take_limit(self, state: SourceState, stamp: Stamp, limit: PowerLimit) -> None:
        if self._file is not None:
            self._file.write(limit_row(stamp, state.name, limit))
        if limit.watts is None:
            words = "has no limit"
        else:
            words = f"is limited to {limit.watts:g} W"
        self._events.report("info", state.name, f"{limit.channel} {words}", stamp=stamp)
        for listener in list(self.limit_listeners):
            with contextlib.suppress(Exception):  # its own affair, as with readings
                listener(state.name, stamp, limit)

    def take_mark(self, kind: str, stamp: Stamp, text: str) -> None:
        if self._file is not None:
            self._file.write(mark_row(kind, stamp, text))
        words = {BEGIN: "begin of ", END: "end of ", MARK: "mark: ", NOTE: ""}
        self._events.report("info", "", words[kind] + text, stamp=stamp)

    def values_stay_out(self, state: SourceState, reason: str, mono: float | None = None) -> None:
        """Report that values stay out, and again when there is another reason.

        A BMC that was away may come back and refuse us.
        """
        if state.down_since is None:
            if mono is None:
                state.down_since = clocks.steady_s()
            else:
                state.down_since = mono
        if reason not in state.reported and len(state.reported) < _MAX_OUTAGE_REASONS:
            state.reported.add(reason)
            self._events.report("warning", state.name, f"no value: {reason}")

    def _watch_clock(self, reading: Reading) -> None:
        """Note it when somebody sets the host's clock.

        Rows before and after have different origins then; `mono` joins them.
        """
        offset = reading.t - reading.mono
        if self._clock is not None and abs(offset - self._clock) > _CLOCK_STEP_S:
            text = f"the host's clock was stepped by {offset - self._clock:+.3f} s"
            if clocks.asleep_s() is None:
                text += ", or this machine slept: this system does not show which"
            self._events.report("warning", "", text, note=True)
        self._clock = offset


def _channel_names(channels: Sequence[Channel]) -> str:
    """The names of channels; of a fleet the first of them, and how many more there are."""
    names = ", ".join(channel.name for channel in channels[:_MAX_NAMED_CHANNELS])
    more = len(channels) - _MAX_NAMED_CHANNELS
    if more > 0:
        return f"{names} and {more:,} more"
    return names


def _first_of_each(readings: Sequence[Reading]) -> list[Reading]:
    """The first reading of each channel."""
    return list({reading.channel: reading for reading in reversed(readings)}.values())
