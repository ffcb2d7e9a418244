"""A training as opened: everything of it, on any axis.

`seen_from` lays all of it on the axis of one profile. The parts below it know less:
`training_records` reads it, `placed_training` places its power. What asks about power is imported
when somebody does: most questions about a run are about its profile alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning, ReadOptions
from powertui.data.loading import Beside
from powertui.data.logdir import Logdir, RunEntry, TrainingEntry
from powertui.data.opened import Opened, Profile
from powertui.data.training.placed_training import PlacedTraining

if TYPE_CHECKING:  # names alone: what is found is looked for after the first picture
    from powertui.data.energy.findings.finding import Findings
    from powertui.data.energy.log_alignment import Placed
    from powertui.data.energy.trace_account import Account
    from powertui.data.training.training_on_axis import TrainingOnAxis


class Training(PlacedTraining):
    """One training. It is the `around` of its sessions."""

    def __init__(
        self,
        entry: TrainingEntry,
        options: ReadOptions | None = None,
        aligning: Aligning | None = None,
    ) -> None:
        super().__init__(entry, options, aligning)
        self._last_axis: tuple[Aligning, TrainingOnAxis] | None = None  # from a profile
        self._own_axis: TrainingOnAxis | None = None

    def _open(self, entry: RunEntry) -> Opened:
        return Opened(entry, self.options, around=self)

    def as_run(self) -> Opened:
        """Its first session; where nobody profiled it, a run of its scalars and power alone."""
        entry = self.entry
        if entry.sessions:
            return self.opened(entry.sessions[0])
        run = RunEntry(
            name=entry.name,
            path=entry.path,
            tfevents=entry.tfevents,
            power=entry.power,
        )
        return Opened(run, self.options, around=self)

    def _forget_axis(self) -> None:
        self._last_axis = self._own_axis = None

    def _forget_axis_of(self, opened: Opened) -> None:
        last = self._last_axis  # another thread may forget it meanwhile
        profile = last[1].profile if last is not None else None
        if profile is not None and profile.opened is opened:
            self._last_axis = None

    def seen_from(
        self,
        profile: Profile | None = None,
        aligning: Aligning | None = None,
    ) -> TrainingOnAxis:
        """Everything on the axis of one profile (ps, its zero), else on the training's own.

        Its own axis stays the same one for as long as everything on it does: what was worked out
        on it is minutes of work for a log of a week.
        """
        from powertui.data.training import training_on_axis

        options = aligning or self.aligning
        axis = training_on_axis.place_training(self, profile, options)
        with self._lock:
            if profile is not None:
                self._last_axis = (options, axis)
                return axis
            own = self._own_axis
            if own is None or not own.holds_what(axis):
                own = axis
            self._own_axis = own  # what was compared may have been read only now: that forgets it
            return own

    def placed(
        self,
        profile: Profile,
        placed: tuple[Placed, ...],
        aligning: Aligning,
    ) -> tuple[Placed, ...]:
        """Power on one of its profiles, placed by the whole training where that is surer."""
        if not placed:
            return placed
        from powertui.data.training import profile_power

        return profile_power.on_profile(self, profile, placed, aligning)

    def by_wall(self, profile: Profile, account: Account, aligning: Aligning) -> Account | None:
        """The account of one of its profiles by wall time alone; None where that places nothing."""
        from powertui.data.training import wall_time_epochs

        return wall_time_epochs.account_by_wall_time(self, profile, account, aligning)

    def axis_of(self, profile: Profile, aligning: Aligning) -> TrainingOnAxis:
        """The axis of a profile: the last one with all that was worked out on it, or a new one."""
        last = self._last_axis  # another thread may forget it meanwhile
        if last is not None and last[0] == aligning:
            axis = last[1]
            if axis.profile is not None and axis.profile.trace is profile.trace:
                return axis
        return self.seen_from(profile, aligning)

    def looks_around(self, profile: Profile, aligning: Aligning) -> bool:
        """Whether findings around one of its profiles come from the training as a whole."""
        axis = self.axis_of(profile, aligning)
        if not axis.wall:
            return False
        from powertui.data.training.training_energy import training_energy

        return not training_energy(axis).findings.reason

    def findings(self, profile: Profile, in_profile: Findings, aligning: Aligning) -> Findings:
        """The findings in one of its profiles, and around it."""
        axis = self.axis_of(profile, aligning)
        if not axis.wall:
            return in_profile  # nothing of the training is on this profile's axis
        from powertui.data.training.training_energy import training_energy
        from powertui.data.training.training_findings import with_training_findings

        in_training = training_energy(axis).findings
        return with_training_findings(in_profile, in_training, profile.trace.span)


class Trainings:
    """The trainings of a logdir, and the sessions that belong to each."""

    def __init__(
        self,
        logdir: Logdir,
        options: ReadOptions | None = None,
        aligning: Aligning | None = None,
    ) -> None:
        self.found = logdir
        self.all = tuple(Training(entry, options, aligning) for entry in logdir.trainings)
        self.options = options or ReadOptions()
        self._aligning = aligning
        self._by_session = {
            id(run): training for training in self.all for run in training.entry.sessions
        }

    def __reduce__(self) -> tuple[type[Trainings], tuple[Logdir, ReadOptions, Aligning | None]]:
        # What was read stays where it was read. Sessions are known by which objects they are.
        return type(self), (self.found, self.options, self._aligning)

    def needed_by(self, entries: Sequence[RunEntry]) -> Trainings:
        """Some runs with what they need of their trainings, to be read elsewhere."""
        needed = []
        for entry in entries:
            for training in (self.training_for(entry), self.training_of_logs(entry)):
                if training is not None and training not in needed:
                    needed.append(training)
        found = Logdir(
            path=self.found.path,
            runs=tuple(entries),
            by_hand=tuple(training.entry for training in needed),
        )
        return Trainings(found, replace(self.options, hosts=None), self._aligning)

    def training_for(self, entry: RunEntry) -> Training | None:
        """The training that a session belongs to."""
        return self._by_session.get(id(entry))

    def training_of_logs(self, entry: RunEntry) -> Training | None:
        """The training that one of this run's power logs belongs to: also of a log alone."""
        paths = {log.path for log in entry.power}
        for training in self.all:
            if any(log.path in paths for log in training.entry.power):
                return training
        return None

    def opened(self, entry: RunEntry) -> Opened:
        """A run, opened as a session of its training where it has one."""
        training = self.training_for(entry)
        if training is not None:
            return training.opened(entry)
        return Opened(entry, self.options, beside=self._beside(entry))

    def _beside(self, entry: RunEntry) -> Beside | None:
        """Where the power logs of a run without a training are read: a training of the same logs
        has them, too.
        """
        training = self.training_of_logs(entry)
        if training is not None:
            return training.beside
        return None

    def each(self, entries: Iterable[RunEntry]) -> Iterator[Opened]:
        """Runs, one after the other: what was read of one is let go before the next."""
        for entry in entries:
            yield self.opened(entry)
            if (training := self.training_for(entry)) is not None:
                training.let_go(entry)

    def without_sessions(self) -> Iterator[Opened]:
        """The trainings that nobody profiled, each opened as a run of its scalars and power."""
        for training in self.all:
            if not training.entry.sessions and training.entry.tfevents:
                yield training.as_run()

    def chosen(self, entries: Sequence[RunEntry], everything: bool) -> tuple[Training, ...]:
        """The trainings of these sessions; with `everything` also those without any session."""
        chosen_ids = {id(entry) for entry in entries}
        trainings = []
        for training in self.all:
            sessions = training.entry.sessions
            if any(id(run) in chosen_ids for run in sessions) or (everything and not sessions):
                trainings.append(training)
        return tuple(trainings)
