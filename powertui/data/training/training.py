"""A training as opened: what is known of it so far, each part read when somebody asks and kept.

It holds an `Opened` for each of its sessions. None is read for the list, the axis or the power: a
session is read when the view reaches it, and let go when it left. Times are Unix ns (`parts`);
`seen_from` lays all of it on the axis of one profile.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from powertui.data import packed
from powertui.data.asked import Aligning, LogColumns, ReadOptions
from powertui.data.energy import marks as recorded_marks
from powertui.data.energy import meeting
from powertui.data.energy import sensor as sensors
from powertui.data.energy.align import Placed
from powertui.data.formats.tfevents import EventLog
from powertui.data.loading import Beside
from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.data.model import NS_PER_S, Mark, PowerSeries, Warn
from powertui.data.opened import Opened, Profile
from powertui.data.training import (
    epoch_scalars,
    placing,
    rate,
    session_places,
    stretches,
    training_on_axis,
    wall_time_epochs,
)
from powertui.data.training.placing import PlacedChannel
from powertui.data.training.rate import SessionSteps
from powertui.data.training.stretches import Stretches
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import (
    NO_RATE,
    Moment,
    PlacedSession,
    Rate,
    ScalarStrip,
    TrainedEpoch,
)
from powertui.errors import UnreadableFile

if TYPE_CHECKING:  # names alone: what is found is looked for after the first picture
    from powertui.data.energy.account import Account
    from powertui.data.energy.findings.finding import Findings

_WORKED_OUT = (
    "logs",
    "strips",
    "told_rate",
    "scalar_span",
    "epochs",
    "stretches",
    "_power",
    "marks",
)  # let go when something came

_MANY = 1 << 20  # readings, or records: what reading them took is worth handing back
_WITHIN = 3  # records of an epoch that tell how its steps ran
_RECORDED_NS = NS_PER_S // 100  # what a profile's head says of its start is known to a millisecond
_UNREAD_NS = (
    120 * NS_PER_S
)  # a session that nobody has read may take so long: most captures are of seconds


@dataclass(frozen=True, eq=False)
class Logs:
    """What lies beside the sessions: scalars and power, and what of it could not be read."""

    events: tuple[EventLog, ...]
    power: tuple[PowerSeries, ...]
    warnings: tuple[Warn, ...]


class Training:
    """One training. It is the `around` of its sessions."""

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
        self._lay: dict[
            str, tuple[PlacedSession, ...]
        ] = {}  # of sessions that were read and let go: where their traces said
        self._lock = threading.RLock()
        self._rate: tuple[tuple[tuple[int, int], ...], Rate] = ((), NO_RATE)
        self._telling: frozenset[str] = (
            frozenset()
        )  # the sessions that were read when its power was placed, and place it
        self._lasted: tuple[int, int] | None = (
            None  # when it ran, as far as that was known when its power was placed
        )
        self._otherwise: Training | None = (
            None  # the last that was asked for with its power placed otherwise
        )
        self._looked: tuple[Aligning, TrainingOnAxis] | None = (
            None  # the last that was seen from a profile
        )

    @property
    def name(self) -> str:
        """Its folder below the logdir."""
        return self.entry.name

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────

    def opened(self, entry: RunEntry) -> Opened:
        """One of its sessions. Nothing of it is read yet."""
        with self._lock:
            key = f"{entry.path}\0{entry.name}"
            if key not in self._opened:
                self._opened[key] = Opened(entry, self.options, around=self)
            return self._opened[key]

    def read_sessions(self) -> tuple[Opened, ...]:
        """Those that somebody has read."""
        with self._lock:
            return tuple(one for one in self._opened.values() if one.is_read)

    def let_go(self, entry: RunEntry) -> None:
        """Forget what was read of a session, but for where it lies."""
        with self._lock:
            key = f"{entry.path}\0{entry.name}"
            gone = self._opened.get(key)
            if gone is not None and gone.is_read:
                self._lay[key] = self._of_session(entry)
            self._opened.pop(key, None)
            if (
                self._looked is not None
                and self._looked[1].profile is not None
                and self._looked[1].profile.opened is gone
            ):
                self._looked = None

    @property
    def islands(self) -> tuple[PlacedSession, ...]:
        """Where its sessions lie, by time; those that nothing places, or whose clock is not
        believed, last.
        """
        found: list[PlacedSession] = []
        for entry in self.entry.sessions:
            found += [
                session_places.judged(one, self.scalar_span) for one in self._of_session(entry)
            ]
        return tuple(
            sorted(
                found,
                key=lambda one: (
                    one.start is None,
                    one.start or Moment(0),
                    one.entry.name,
                    one.host,
                ),
            )
        )

    def islands_unread(self) -> tuple[PlacedSession, ...]:
        """The same by what costs nothing: neither scalars nor sessions are read, so no clock is
        judged by the whole of them.
        """
        span = (self.entry.first_ns, self.entry.last_ns)
        known = (span[0], span[1]) if span[0] is not None and span[1] is not None else None
        return tuple(
            session_places.judged(one, known)
            for entry in self.entry.sessions
            for one in self._of_session(entry)
        )

    def _of_session(self, entry: RunEntry) -> tuple[PlacedSession, ...]:
        key = f"{entry.path}\0{entry.name}"
        opened = self._opened.get(key)
        if opened is not None and opened.is_read:
            return tuple(
                session_places.read(entry, index, trace)
                for index, trace in enumerate(opened.run.traces)
            )
        return self._lay.get(key) or session_places.unread(entry)

    def look_again(self, entry: TrainingEntry | None = None) -> bool:
        """Whether anything came since: `entry` is the training as it lies there now, with sessions
        that are new.
        """
        with self._lock:
            changed = entry is not None and entry != self.entry
            self.entry = entry if entry is not None else self.entry
            if self.beside.look_again() or changed:
                for name in _WORKED_OUT:
                    self.__dict__.pop(name, None)
                self._looked = self._otherwise = None
                self._lay.clear()
                return True
            return False

    # ── what lies beside them ────────────────────────────────────────────────────────────────────

    @functools.cached_property
    def logs(self) -> Logs:
        """Scalars and power, read once."""
        events: list[EventLog] = []
        power: list[PowerSeries] = []
        warnings: list[Warn] = []
        for file in self.entry.tfevents:
            try:
                log = self.beside.tfevents(file.path, file.group, self.options.limit)
            except UnreadableFile as error:
                warnings.append(Warn(error.path, "", error.cause))
                continue
            events.append(log)
            warnings += log.warnings
            if log.records > _MANY:
                packed.give_back()  # each window of a file takes many times what is kept of it
        options = self.options.columns or LogColumns(tz=self.options.tz, limit=self.options.limit)
        found = [file.path for file in self.entry.power] if self.options.find_power else []
        for path in dict.fromkeys((*self.options.power, *found)):
            try:
                read = self.beside.power(path, options)
            except UnreadableFile as error:
                if path in self.options.power:
                    raise  # it was asked for by name
                warnings.append(Warn(error.path, "", error.cause))
                continue
            power += [
                one if one.sensor.poll_s is not None else sensors.describe(one)
                for one in read.series
            ]
            warnings += read.warnings
        if sum(len(one) for one in power) > _MANY:
            packed.give_back()
        return Logs(tuple(events), tuple(power), tuple(warnings))

    @property
    def warnings(self) -> tuple[Warn, ...]:
        """What could not be read or believed beside the sessions."""
        return (
            *self.logs.warnings,
            *(warn for series in self.logs.power for warn in series.warnings),
        )

    @functools.cached_property
    def strips(self) -> tuple[ScalarStrip, ...]:
        """Every tag of the scalars."""
        return rate.scalar_strips([series for log in self.logs.events for series in log.scalars])

    @functools.cached_property
    def told_rate(self) -> Rate:
        """How many steps were done when, by what was logged: scalars, else marks of a recording."""
        return rate.step_rate(self.strips) or rate.rate_from_marks(self._clock_marks())

    @property
    def rate(self) -> Rate:
        """How many steps were done when.

        Where nothing was logged, the sessions that somebody has read tell it.
        """
        if len(self.told_rate):
            return self.told_rate
        sessions = self.numbered()
        key = tuple((one.zero_ns, len(one.steps)) for one in sessions)
        with self._lock:
            if key != self._rate[0]:
                self._rate = (key, rate.rate_from_sessions(sessions))
                for name in ("epochs", "stretches", "_power"):
                    self.__dict__.pop(name, None)
                self._looked = None
            return self._rate[1]

    @property
    def records(self) -> Rate:
        """The rate where it tells steps from pauses: records within each epoch. Numbers of profiles
        tell nothing between those, nor does what is logged once or twice an epoch; they are left
        for trainings of which no epochs are known.
        """
        if not self.epochs:
            return self.rate
        return self.told_rate if len(self.told_rate) > _WITHIN * len(self.epochs) else NO_RATE

    def numbered(self) -> list[SessionSteps]:
        """The steps of the sessions that were read and whose clocks are believed."""
        doubted = {
            (one.entry.path, one.entry.name, one.index) for one in self.islands if not one.trusted
        }
        return [
            SessionSteps(profile.steps, profile.clock.mid_ns, profile.clock.half_ns)
            for opened in self.read_sessions()
            for profile in opened.profiles
            if profile.clock.known
            and (opened.entry.path, opened.entry.name, profile.index) not in doubted
        ]

    @functools.cached_property
    def scalar_span(self) -> tuple[int, int] | None:
        """From the first to the last record of its scalars."""
        first = [
            log.first_ns
            for log in self.logs.events
            if log.first_ns is not None and log.group != "demo_logs"
        ]
        last = [
            log.last_ns
            for log in self.logs.events
            if log.last_ns is not None and log.group != "demo_logs"
        ]
        return (min(first), max(last)) if first and last else None

    @property
    def extent_ns(self) -> tuple[int, int] | None:
        """From when to when it ran (Unix ns), by scalars and sessions: what its power has to meet.

        None where neither tells.
        """
        firm: list[int] = list(self.scalar_span or ())
        vague: list[int] = []
        for one in self.islands:
            if one.start is None or one.end is None:
                continue
            read = self._is_read(one.entry)
            spare = 0 if read else _UNREAD_NS  # how long it is, is not known yet
            bounds = (
                one.start.ns - one.start.half_ns - spare,
                one.end.ns + one.end.half_ns + spare,
            )
            # A folder's or a file's time is that of a copy as often as not: it counts where nothing
            # else tells.
            (firm if read or one.start.half_ns <= _RECORDED_NS else vague).extend(bounds)
        known = firm or vague
        return (min(known), max(known)) if known else None

    def around_ns(self, profile: Profile) -> tuple[int, int] | None:
        """The same for one of its profiles; None where the profile's own clock puts it
        elsewhere.
        """
        return self.extent_ns if session_places.believed(profile, self.scalar_span) else None

    def _is_read(self, entry: RunEntry) -> bool:
        key = f"{entry.path}\0{entry.name}"
        opened = self._opened.get(key)
        return key in self._lay or (opened is not None and opened.is_read)

    @functools.cached_property
    def epochs(self) -> tuple[TrainedEpoch, ...]:
        """Its epochs, with validation."""
        return epoch_scalars.trained_epochs(
            self.logs.events, self.strips, self.rate, self._clock_marks()
        )

    @functools.cached_property
    def stretches(self) -> Stretches:
        """When it ran steps, validated, or paused."""
        return stretches.training_stretches(self.rate, self.epochs)

    def _clock_marks(self) -> Iterator[Mark]:
        """Marks and windows of recordings whose log has a clock of its own, in Unix ns."""
        run = self.extent_ns
        for series in self.logs.power:
            if series.clock.known and (run is None or _meets(series, run)):
                zero = series.clock.mid_ns
                for mark in series.marks:
                    end = None if mark.end_ns is None else zero + mark.end_ns
                    yield Mark(mark.name, zero + mark.start_ns, end)

    @property
    def power(self) -> tuple[PlacedChannel, ...]:
        """Its power channels, and where each lies."""
        telling = placing.telling(self)
        with self._lock:
            lasted = self.extent_ns
            # One that was read since may place them surer than the records do, and a log has to
            # meet all of it.
            if not telling <= self._telling or lasted != self._lasted:
                self._telling |= telling
                self._lasted = lasted
                self.__dict__.pop("_power", None)
                self.__dict__.pop("marks", None)
        return self._power

    @functools.cached_property
    def _power(self) -> tuple[PlacedChannel, ...]:
        found = placing.place_channels(self)
        if sum(len(one.series) for one in found) > _MANY:
            packed.give_back()  # each was looked at as a whole
        return found

    @functools.cached_property
    def marks(self) -> tuple[Mark, ...]:
        """Marks and windows of all its recordings that lie somewhere, in Unix ns, by time."""
        base = self.zero_ns
        found = recorded_marks.on_trace(one.on_axis(base) for one in self.power)
        return tuple(
            Mark(
                one.name,
                base + one.start_ps // 1000,
                None if one.end_ps is None else base + one.end_ps // 1000,
            )
            for one in found
        )

    # ── the axis ─────────────────────────────────────────────────────────────────────────────────

    @property
    def zero_ns(self) -> int:
        """The first thing that is placed: zero of the axis where no profile is looked at."""
        return self.span[0]

    @property
    def span(self) -> tuple[int, int]:
        """From the first to the last thing that is placed. (0, 0) where nothing is."""
        return training_on_axis.span(self)

    def seen_from(
        self, profile: Profile | None = None, aligning: Aligning | None = None
    ) -> TrainingOnAxis:
        """Everything on the axis of one profile (ps, zero as there), or without one on the
        training's own.
        """
        how = aligning or self.aligning
        found = training_on_axis.place_training(self, profile, how)
        if profile is not None:
            self._looked = (how, found)
        return found

    def placed(
        self, profile: Profile, found: tuple[Placed, ...], aligning: Aligning
    ) -> tuple[Placed, ...]:
        """Power on one of its profiles, put where the whole training places it surer than the
        profile alone.
        """
        return placing.on_profile(self, profile, found, aligning)

    def by_wall(self, profile: Profile, account: Account, aligning: Aligning) -> Account | None:
        """The account of one of its profiles as wall time alone knows power and epochs; None where
        it does not.
        """
        return wall_time_epochs.account_by_wall_time(self, profile, account, aligning)

    def _looked_from(self, profile: Profile, aligning: Aligning) -> TrainingOnAxis:
        """The same as somebody looked already, with what was worked out of it, where nothing came
        since.
        """
        known = self._looked
        if known is not None and known[0] == aligning:
            before = known[1].profile
            if before is not None and before.trace is profile.trace:
                return known[1]
        return self.seen_from(profile, aligning)

    def looks_around(self, profile: Profile, aligning: Aligning) -> bool:
        """Whether the power around one of its profiles is looked at here, and not only by what ran
        in the profile.
        """
        seen = self._looked_from(profile, aligning)
        return seen.wall and not seen.whole.findings.reason

    def findings(self, profile: Profile, found: Findings, aligning: Aligning) -> Findings:
        """What stands out in one of its profiles, and around it."""
        seen = self._looked_from(profile, aligning)
        if not seen.wall:
            return found  # nothing of the training lies on this profile's axis
        from powertui.data.training.training_findings import with_training_findings

        return with_training_findings(found, seen.whole.findings, profile.trace.span)

    def _with(self, aligning: Aligning) -> Training:
        """The same training with its power placed otherwise; what was read is shared."""
        other = Training(self.entry, self.options, aligning)
        other.beside, other._opened, other._lock = self.beside, self._opened, self._lock
        for name in _WORKED_OUT[:6]:
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def aligned(self, aligning: Aligning) -> Training:
        """This training, or the same with its power placed so: made once for the last that was
        asked for.
        """
        if aligning == self.aligning:
            return self
        with self._lock:
            if self._otherwise is None or self._otherwise.aligning != aligning:
                self._otherwise = self._with(aligning)
            return self._otherwise


def _meets(series: PowerSeries, run: tuple[int, int]) -> bool:
    """Whether a recording with a clock of its own was made while a program ran: its marks are that
    program's.
    """
    clock = series.clock
    if clock.lo_ns is None or clock.hi_ns is None or not len(series):
        return False
    return (
        meeting.gap(clock.lo_ns + int(series.times[0]), clock.hi_ns + int(series.times[-1]), run)
        is None
    )


class Trainings:
    """The trainings of a logdir, and the sessions that belong to each."""

    def __init__(
        self, found: Logdir, options: ReadOptions | None = None, aligning: Aligning | None = None
    ) -> None:
        self.found = found
        self.all = tuple(Training(entry, options, aligning) for entry in found.trainings)
        self._options = options
        self._of = {id(run): one for one in self.all for run in one.entry.sessions}

    def training_for(self, entry: RunEntry) -> Training | None:
        """The training that a session belongs to."""
        return self._of.get(id(entry))

    def opened(self, entry: RunEntry) -> Opened:
        """A run, opened as a session of its training where it has one."""
        around = self.training_for(entry)
        return around.opened(entry) if around is not None else Opened(entry, self._options)

    def each(self, entries: Iterable[RunEntry]) -> Iterator[Opened]:
        """Runs, one after the other: what was read of one is let go before the next."""
        for entry in entries:
            yield self.opened(entry)
            if (training := self.training_for(entry)) is not None:
                training.let_go(entry)

    def chosen(self, entries: Sequence[RunEntry], everything: bool) -> tuple[Training, ...]:
        """The trainings of these sessions; `everything`: those without any session as well."""
        wanted = {id(entry) for entry in entries}
        return tuple(
            one
            for one in self.all
            if any(id(run) in wanted for run in one.entry.sessions)
            or (everything and not one.entry.sessions)
        )
