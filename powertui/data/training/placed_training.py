"""A training with its power placed, in Unix ns: its channels, marks and span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data import packed
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.logdir import TrainingEntry
from powertui.data.model import Mark
from powertui.data.training.training_logs import GIVE_BACK_ROWS
from powertui.data.training.training_records import TrainingRecords

if TYPE_CHECKING:  # what places power is imported when somebody asks for it
    from powertui.data.training.placing import PlacedChannel

# What stays the same when its power is placed by other options.
_NOT_BY_POWER = ("logs", "strips", "logged_rate", "scalar_span", "epochs", "stretches")


class PlacedTraining(TrainingRecords):
    """A training whose power lies where clocks, sessions or records place it."""

    def __init__(
        self,
        entry: TrainingEntry,
        options: ReadOptions | None = None,
        aligning: Aligning | None = None,
    ) -> None:
        super().__init__(entry, options, aligning)
        # When its power was placed: the sessions that were read and place it, and when it ran.
        self._placing_sessions: frozenset[str] = frozenset()
        self._placed_extent: tuple[int, int] | None = None
        # The last that was asked for with its power placed by other options.
        self._realigned: PlacedTraining | None = None

    @property
    def power(self) -> tuple[PlacedChannel, ...]:
        """Its power channels, and where each lies."""
        if not self.logs.power:
            return ()
        from powertui.data.training import placing

        sessions = placing.telling(self)
        with self._lock:
            extent = self.extent_ns
            # A session that was read since may place them better than the records do, and a log has
            # to meet all of the training.
            if not sessions <= self._placing_sessions or extent != self._placed_extent:
                self._placing_sessions |= sessions
                self._placed_extent = extent
        return self._memory.value("power", self._place_power, self._placement)

    @property
    def _placement(self) -> tuple[object, ...]:
        """What the places of its power depend on."""
        return self._rate_changes, self._placing_sessions, self._placed_extent

    def _place_power(self) -> tuple[PlacedChannel, ...]:
        from powertui.data.training import placing

        channels = placing.place_channels(self)
        if sum(len(channel.series) for channel in channels) > GIVE_BACK_ROWS:
            packed.give_back()  # each was looked at as a whole
        return channels

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Marks and windows of all its placed recordings, in Unix ns, by time."""
        return self._memory.value("marks", self._place_marks, self._placement)

    def _place_marks(self) -> tuple[Mark, ...]:
        from powertui.data.energy import marks as recorded_marks

        base = self.zero_ns
        marks = []
        for mark in recorded_marks.on_trace(channel.on_axis(base) for channel in self.power):
            end = None if mark.end_ps is None else base + mark.end_ps // 1000
            marks.append(
                Mark(
                    name=mark.name,
                    start_ns=base + mark.start_ps // 1000,
                    end_ns=end,
                )
            )
        return tuple(marks)

    @property
    def zero_ns(self) -> int:
        """The first thing that is placed: zero of the axis without a profile."""
        return self.span[0]

    @property
    def span(self) -> tuple[int, int]:
        """From the first to the last thing that is placed. (0, 0) where nothing is."""
        from powertui.data.energy import meeting

        starts, ends = self._record_bounds()
        run = (min(starts), max(ends)) if starts and ends else None
        for channel in self.power:
            zero = channel.zero
            if zero is None or not len(channel.series):
                continue
            first = zero.ns + int(channel.series.times[0])
            last = zero.ns + int(channel.series.times[-1])
            # A person may have placed it beside the run.
            if run is None or meeting.gap(first, last, run) is None:
                starts.append(first)
                ends.append(last)
        if starts and ends:
            return (min(starts), max(ends))
        return (0, 0)

    def _record_bounds(self) -> tuple[list[int], list[int]]:
        """Starts and ends of everything but the power."""
        starts = []
        ends = []
        if self.scalar_span is not None:
            starts.append(self.scalar_span[0])
            ends.append(self.scalar_span[1])
        for session in self.islands:
            if session.start is not None and session.end is not None:
                starts.append(session.start.ns)
                ends.append(session.end.ns)
        starts += [epoch.start.ns for epoch in self.epochs if epoch.start is not None]
        ends += [epoch.end.ns for epoch in self.epochs if epoch.end is not None]
        return starts, ends

    def _with(self, aligning: Aligning) -> PlacedTraining:
        """The same training with its power placed by other options; what was read is shared."""
        training = PlacedTraining(self.entry, self.options, aligning)
        training.beside = self.beside
        training._opened = self._opened
        training._lock = self._lock
        training._taken = self._taken
        training._released = self._released
        training._memory = self._memory.share(_NOT_BY_POWER)
        training._session_rate = self._session_rate
        training._rate_changes = self._rate_changes
        return training

    def aligned(self, aligning: Aligning) -> PlacedTraining:
        """This training, or the same with its power placed by these options.

        The last one that was asked for is remembered.
        """
        if aligning == self.aligning:
            return self
        with self._lock:
            if self._realigned is None or self._realigned.aligning != aligning:
                self._realigned = self._with(aligning)
            return self._realigned
