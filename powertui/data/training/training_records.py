"""What is known of a training without an axis: its sessions, its scalars and power as logged.

Each part is read when somebody asks for it, and remembered. It holds an `Opened` for each of its
sessions. None is read for the list or the axis: a session is read when the view reaches it, and let
go when it leaves. Times are Unix ns (`training_parts`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from powertui.data import packed
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import settings
from powertui.data.formats import filenames
from powertui.data.formats.tfevents import EventLog
from powertui.data.loading import Beside
from powertui.data.logdir import RunEntry, TrainingEntry
from powertui.data.model import NS_PER_S, Mark, PowerSeries, Warn
from powertui.data.opened import Opened, Profile
from powertui.data.training import epoch_scalars, rate, session_places, stretches, training_logs
from powertui.data.training.rate import SessionSteps
from powertui.data.training.stretches import Stretches
from powertui.data.training.training_parts import (
    NO_RATE,
    Moment,
    PlacedSession,
    Rate,
    ScalarStrip,
    TrainedEpoch,
)
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

# Records of each epoch from which on they show how its steps ran. Chosen, not measured.
_MIN_EPOCH_RECORDS = settings.MIN_REPEATS
# A profile's head gives its start to a millisecond; what is known no better than this comes from a
# folder's or a file's time.
_RECORDED_NS = int(settings.SAME_CLOCK_S * NS_PER_S)
# A session that nobody has read may have taken so long: most captures take seconds.
_UNREAD_NS = settings.MAX_CAPTURE_S * NS_PER_S

_Value = TypeVar("_Value")


class Memory:
    """Values by name, each remembered for as long as what it depends on stays equal."""

    def __init__(self, values: Mapping[str, tuple[object, Any]] | None = None) -> None:
        self._values = dict(values or {})

    def value(self, name: str, make: Callable[[], _Value], depends_on: object = None) -> _Value:
        """The remembered value, made anew where there is none or what it depends on changed."""
        entry = self._values.get(name)
        if entry is None or entry[0] != depends_on:
            made = (depends_on, make())
            # Another thread may have made it meanwhile: then all get that one.
            entry = self._values.get(name)
            if entry is None or entry[0] != depends_on:
                self._values[name] = entry = made
        value: _Value = entry[1]
        return value

    def share(self, names: Iterable[str]) -> Memory:
        """A memory of its own that begins with some of these values."""
        return Memory({name: self._values[name] for name in names if name in self._values})


@dataclass(frozen=True, eq=False)
class Logs:
    """What lies beside the sessions: scalars and power, and what of it could not be read."""

    events: tuple[EventLog, ...]
    power: tuple[PowerSeries, ...]
    warnings: tuple[Warn, ...]


class TrainingRecords:
    """One training as recorded."""

    def __init__(
        self,
        entry: TrainingEntry,
        options: ReadOptions | None = None,
        aligning: Aligning | None = None,
    ) -> None:
        self.entry = entry
        self.options = options or ReadOptions()
        self.aligning = aligning or Aligning()
        self.beside = Beside()
        self._opened: dict[str, Opened] = {}
        # Sessions that somebody else opened and keeps, as long as they are kept.
        self._taken: WeakValueDictionary[str, Opened] = WeakValueDictionary()
        # Where the traces of sessions that were read and let go put them.
        self._released: dict[str, tuple[PlacedSession, ...]] = {}
        self._lock = threading.RLock()
        self._memory = Memory()
        # The rate that the sessions give, what it was made from, and how often it changed.
        self._session_rate: tuple[tuple[tuple[int, int], ...], Rate] = ((), NO_RATE)
        self._rate_changes = 0

    def _forget_axis(self) -> None:
        """Drop what was laid on an axis: what it stands on changed."""

    @property
    def name(self) -> str:
        """Its folder below the logdir."""
        return self.entry.name

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────

    def opened(self, entry: RunEntry) -> Opened:
        """One of its sessions. Nothing of it is read yet."""
        with self._lock:
            key = _session_key(entry)
            if key not in self._opened:
                self._opened[key] = self._open(entry)
            return self._opened[key]

    def _open(self, entry: RunEntry) -> Opened:
        return Opened(entry, self.options)

    def take(self, opened: Opened) -> None:
        """Know of a session that somebody else has read: its trace tells where the training is.

        Its place is known from now on, whether or not it is kept.
        """
        key = _session_key(opened.entry)
        with self._lock:
            self._taken[key] = opened
            self._released[key] = _places_of_read(opened)

    def _session(self, key: str) -> Opened | None:
        return self._taken.get(key) or self._opened.get(key)

    def read_sessions(self) -> tuple[Opened, ...]:
        """Those that somebody has read."""
        with self._lock:
            # By `items`: whoever keeps a taken session may let it go in another thread between the
            # listing of the keys and a look at what one of them holds.
            sessions = {**self._opened, **dict(self._taken.items())}
            return tuple(opened for opened in sessions.values() if opened.is_read)

    def let_go(self, entry: RunEntry) -> None:
        """Forget what was read of a session, but for its place."""
        with self._lock:
            key = _session_key(entry)
            opened = self._opened.pop(key, None)
            if opened is None:
                return
            if opened.is_read:
                self._released[key] = _places_of_read(opened)
            self._forget_axis_of(opened)

    def read_places(self, entry: RunEntry) -> tuple[PlacedSession, ...]:
        """Where a session is, as somebody read it; () where nobody did."""
        opened = self._session(_session_key(entry))
        if opened is not None and opened.is_read:
            return _places_of_read(opened)
        return self._released.get(_session_key(entry), ())

    def keep_places(self, entry: RunEntry, places: Sequence[PlacedSession]) -> None:
        """Where a session is that was read elsewhere."""
        with self._lock:
            here = tuple(replace(place, entry=entry) for place in places)
            self._released[_session_key(entry)] = here

    def _forget_axis_of(self, opened: Opened) -> None:
        """Drop what was laid on the axis of a session that goes."""

    @property
    def islands(self) -> tuple[PlacedSession, ...]:
        """Where its sessions are, by time; last those without a place or a credible clock."""
        return self._islands(self.scalar_span)

    def _islands(self, scalar_span: tuple[int, int] | None) -> tuple[PlacedSession, ...]:
        places = [
            session_places.judged(place, scalar_span)
            for entry in self.entry.sessions
            for place in self._places(entry)
        ]
        places.sort(
            key=lambda place: (
                place.start is None,
                place.start or Moment(0),
                place.entry.name,
                place.host,
            )
        )
        return tuple(places)

    def _places(self, entry: RunEntry) -> tuple[PlacedSession, ...]:
        """Where one of its sessions is: each profile of it."""
        key = _session_key(entry)
        opened = self._session(key)
        if opened is not None and opened.is_read:
            return _places_of_read(opened)
        return self._released.get(key) or session_places.unread(entry)

    # ── what lies beside them ────────────────────────────────────────────────────────────────────

    @property
    def logs(self) -> Logs:
        """Scalars and power, read once."""
        return self._memory.value("logs", self._read_logs)

    def _read_logs(self) -> Logs:
        warnings: list[Warn] = []
        events = self._read_events(warnings)
        power = training_logs.read_power(self, warnings, events)
        return Logs(
            events=tuple(events),
            power=tuple(power),
            warnings=tuple(warnings),
        )

    def _read_events(self, warnings: list[Warn]) -> list[EventLog]:
        events: list[EventLog] = []
        for file in self.entry.tfevents:
            try:
                log = self.beside.tfevents(file.path, file.group, self.options.limit)
            except UnreadableFile as error:
                warnings.append(Warn(file=error.path, where="", cause=error.cause))
                continue
            events.append(log)
            warnings += log.warnings
            if log.records > training_logs.GIVE_BACK_ROWS:
                packed.give_back()  # each window of a file takes many times what is kept of it
        return events

    def host_names(self) -> Iterator[str]:
        """What the files of its sessions call their hosts."""
        for session in self.entry.sessions:
            for file in session.profiles:
                writer = filenames.trace_writer(PurePath(file.path).name)
                yield writer.host if writer is not None else file.host

    def machines(self) -> Iterator[str]:
        """What the sessions that somebody has read call the machines they ran on."""
        for opened in self.read_sessions():
            for profile in opened.profiles:
                yield profile.trace.machine

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """What could not be read or believed beside the sessions."""
        return (
            *self.logs.warnings,
            *(warn for series in self.logs.power for warn in series.warnings),
        )

    @property
    def strips(self) -> tuple[ScalarStrip, ...]:
        """Every tag of the scalars."""
        return self._memory.value("strips", self._read_strips)

    def _read_strips(self) -> tuple[ScalarStrip, ...]:
        return rate.scalar_strips([series for log in self.logs.events for series in log.scalars])

    @property
    def logged_rate(self) -> Rate:
        """How many steps were done when, as logged: by scalars, else by marks of a recording."""
        return self._memory.value("logged_rate", self._read_logged_rate)

    def _read_logged_rate(self) -> Rate:
        return rate.step_rate(self.strips) or rate.rate_from_marks(self._clock_marks())

    @property
    def rate(self) -> Rate:
        """How many steps were done when.

        Where nothing was logged, the sessions that somebody has read tell it.
        """
        if len(self.logged_rate):
            return self.logged_rate
        sessions = self.numbered()
        key = tuple((session.zero_ns, len(session.steps)) for session in sessions)
        with self._lock:
            if key != self._session_rate[0]:
                self._session_rate = (key, rate.rate_from_sessions(sessions))
                self._rate_changes += 1
                self._forget_axis()
            return self._session_rate[1]

    @property
    def records(self) -> Rate:
        """The rate where it tells steps from pauses: by records within each epoch.

        Numbers of profiles tell nothing between those, nor does what is logged once or twice an
        epoch. They count only where no epochs are known.
        """
        if not self.epochs:
            return self.rate
        enough = len(self.logged_rate) > _MIN_EPOCH_RECORDS * len(self.epochs)
        return self.logged_rate if enough else NO_RATE

    def numbered(self) -> list[SessionSteps]:
        """The steps of the sessions that were read and whose clocks are believed."""
        doubted = {
            (place.entry.path, place.entry.name, place.index)
            for place in self.islands
            if not place.trusted
        }
        sessions = []
        for opened in self.read_sessions():
            for profile in opened.profiles:
                clock = profile.clock
                key = (opened.entry.path, opened.entry.name, profile.index)
                if clock.known and key not in doubted:
                    sessions.append(
                        SessionSteps(
                            steps=profile.steps, zero_ns=clock.mid_ns, half_ns=clock.half_ns
                        )
                    )
        return sessions

    @property
    def scalar_span(self) -> tuple[int, int] | None:
        """From the first to the last record of its scalars."""
        return self._memory.value("scalar_span", self._read_scalar_span)

    def _read_scalar_span(self) -> tuple[int, int] | None:
        return training_logs.scalar_span(self.logs.events)

    @property
    def extent_ns(self) -> tuple[int, int] | None:
        """From when to when it ran (Unix ns), by scalars and sessions: what its power has to meet.

        None where neither shows it.
        """
        return self.extent_with(self.scalar_span)

    def extent_with(self, scalar_span: tuple[int, int] | None) -> tuple[int, int] | None:
        """The same, with a span of scalars that is known already."""
        firm: list[int] = list(scalar_span or ())
        vague: list[int] = []
        for place in self._islands(scalar_span):
            if place.start is None or place.end is None:
                continue
            is_read = self._is_read(place.entry)
            spare = 0 if is_read else _UNREAD_NS  # how long it is, is not known yet
            # A folder's or a file's time is that of a copy as often as not: it counts where nothing
            # else gives one.
            bounds = firm if is_read or place.start.half_ns <= _RECORDED_NS else vague
            bounds.append(place.start.ns - place.start.half_ns - spare)
            bounds.append(place.end.ns + place.end.half_ns + spare)
        moments = firm or vague
        return (min(moments), max(moments)) if moments else None

    def around_ns(self, profile: Profile) -> tuple[int, int] | None:
        """The same for one of its profiles; None where the profile's own clock puts it
        elsewhere.
        """
        # Whoever read it: a list of runs must not show other joules than the pages of the run.
        if not self._is_read(profile.opened.entry):
            self.take(profile.opened)
        return self.extent_ns if session_places.believed(profile, self.scalar_span) else None

    def _is_read(self, entry: RunEntry) -> bool:
        key = _session_key(entry)
        opened = self._session(key)
        return key in self._released or (opened is not None and opened.is_read)

    @property
    def epochs(self) -> tuple[TrainedEpoch, ...]:
        """Its epochs, with validation."""
        return self._memory.value("epochs", self._find_epochs, self._rate_changes)

    def _find_epochs(self) -> tuple[TrainedEpoch, ...]:
        return epoch_scalars.trained_epochs(
            self.logs.events, self.strips, self.rate, self._clock_marks()
        )

    @property
    def stretches(self) -> Stretches:
        """When it ran steps, validated, or paused."""
        return self._memory.value("stretches", self._find_stretches, self._rate_changes)

    def _find_stretches(self) -> Stretches:
        return stretches.training_stretches(self.rate, self.epochs)

    def told_by_epochs(self, name: str, make: Callable[[], _Value], depends_on: object) -> _Value:
        """What depends on when it ran, its epochs and stretches, and on nothing else that changes
        beside `depends_on`: remembered.
        """
        _ = self.rate  # a session that was read may have changed it, which is counted now
        return self._memory.value(name, make, (self._rate_changes, depends_on))

    def _clock_marks(self) -> Iterator[Mark]:
        """Marks and windows of recordings whose log has a clock of its own, in Unix ns."""
        run = self.extent_ns
        for series in self.logs.power:
            if series.clock.known and (run is None or _meets(series, run)):
                zero = series.clock.mid_ns
                for mark in series.marks:
                    end = None if mark.end_ns is None else zero + mark.end_ns
                    yield Mark(
                        name=mark.name,
                        start_ns=zero + mark.start_ns,
                        end_ns=end,
                    )


def _session_key(entry: RunEntry) -> str:
    return f"{entry.path}\0{entry.name}"


def _places_of_read(opened: Opened) -> tuple[PlacedSession, ...]:
    """The place of each profile of a session that was read."""
    return tuple(
        session_places.read(opened.entry, index, trace)
        for index, trace in enumerate(opened.run.traces)
    )


def _meets(series: PowerSeries, run: tuple[int, int]) -> bool:
    """Whether a recording with a clock of its own was made while a program ran.

    Then its marks are that program's.
    """
    from powertui.data.energy import meeting

    clock = series.clock
    if clock.lo_ns is None or clock.hi_ns is None or not len(series):
        return False
    first = clock.lo_ns + int(series.times[0])
    last = clock.hi_ns + int(series.times[-1])
    return meeting.gap(first, last, run) is None
