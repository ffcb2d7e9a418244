"""One trace's energy: what its epochs and steps drew, and what stands out.

How an account is made, and kept with an opened run: see `account`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.energy import (
    log_alignment,
    meeting,
    placing,
    summed_channels,
)
from powertui.data.energy.devices import Pair
from powertui.data.energy.expected_work import TRACING_STEP_FACTOR
from powertui.data.energy.idle import AROUND_PS, IdlePower
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.energy.measured_energy import (
    Energy,
    above_idle,
    unless_lost_in_noise,
    unresolved,
)
from powertui.data.energy.owner_notes import Share
from powertui.data.model import (
    PS_PER_NS,
    Z95,
    Epochs,
    Figure,
    PowerOnTrace,
    ScalarSeries,
    Steps,
    Trace,
)
from powertui.value_types import dataclass

if TYPE_CHECKING:  # names alone: power is drawn before somebody looks at what stands out in it
    from powertui.data.energy.counted_energy import EnergyOfCounted
    from powertui.data.energy.findings.finding import Findings, Ops

# Surroundings of a profile in which findings are looked for, on each side: at least
# `idle.AROUND_PS`, or twice the profile, or this many readings. Chosen: long enough to learn noise
# from, and short enough that a log of a week costs no more than one of an hour.
_MIN_SURROUNDING_READINGS = 2000


@dataclass(frozen=True, eq=False)
class Account:
    """Everything that `powertui energy` and the screens tell of one trace."""

    trace: Trace
    steps: Steps
    epochs: Epochs
    placed: tuple[Placed, ...]  # every channel
    counted: tuple[int, ...]  # those that are added up
    text: str  # which they are, and why
    idle_of: Callable[[], IdlePower]  # see `idle`
    pairs_of: Callable[[], tuple[Pair, ...]] = tuple  # see `pairs`
    other_gpus: frozenset[int] = frozenset()  # channels that are no GPU of the profile
    # Of the run's power: on what evidence it is this host's, and what is nobody's.
    share: Share | None = None
    # The same, as the training around it knows it by wall time.
    around: Callable[[Account], Account | None] | None = None

    @property
    def idle(self) -> Figure | None:
        """Idle power of the counted channels: worked out when it is first asked for, not before
        power can be drawn.
        """
        return self.idle_of().figure

    @property
    def idle_text(self) -> str:
        """Where it was read, or why it is not known; "" where nothing can be said."""
        idle_power = self.idle_of()
        return f"at most: {idle_power.text}" if idle_power.at_most else idle_power.text

    @property
    def idle_at_most(self) -> bool:
        """Something that the trace does not show may have run wherever it was read."""
        return self.idle_of().at_most

    @functools.cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Which channel is which GPU's."""
        return self.pairs_of()

    @functools.cached_property
    def drawn(self) -> tuple[PowerOnTrace, ...]:
        """The channels that something places on the trace, in the order in which they are drawn."""
        from powertui.data.energy import drawn_channels

        return drawn_channels.drawn_channels(self.placed, self.counted, self.pairs, self.trace.span)

    @property
    def channels(self) -> tuple[PowerOnTrace, ...]:
        """The channels that are added up."""
        return tuple(self.placed[i].power for i in self.counted)

    @property
    def alignment(self) -> Alignment | None:
        """Of the first counted channel: what the whole account stands on.

        Where none is counted, why the first is not.
        """
        if self.counted:
            return self.placed[self.counted[0]].alignment
        return self.placed[0].alignment if self.elsewhere else None

    @functools.cached_property
    def power(self) -> PowerOnTrace | None:
        """The counted channels as one."""
        return summed_channels.summed(self.channels)

    def energy(
        self,
        lo_ps: int,
        hi_ps: int,
        *,
        edge_ps: float = 0.0,
        with_log: tuple[bool, bool] = (False, False),
    ) -> Energy | None:
        """The counted channels over any window, and what of it was more than idle."""
        drawn = self.drew(lo_ps, hi_ps, edge_ps=edge_ps, with_log=with_log)
        return above_idle(drawn, self.idle) if drawn is not None else None

    def drew(
        self,
        lo_ps: int,
        hi_ps: int,
        *,
        edge_ps: float = 0.0,
        with_log: tuple[bool, bool] = (False, False),
    ) -> Energy | None:
        """The counted channels over any window, for those who do not ask what an idle machine would
        have drawn.

        `with_log`: whether the window begins, and whether it ends, with the log: wherever the log
        is, no reading there is lost.
        """
        if not self.counted:
            return unresolved(lo_ps, hi_ps, self.apart) if self.elsewhere else None
        from powertui.data.energy import repeated_work

        energy = self._sum.of_window(lo_ps, hi_ps, edge_ps=edge_ps, with_log=with_log)
        return repeated_work.judged(energy, self.channels, self.trace, lo_ps, hi_ps)

    @functools.cached_property
    def _sum(self) -> EnergyOfCounted:
        from powertui.data.energy.counted_energy import EnergyOfCounted

        return EnergyOfCounted(self.channels)

    @functools.cached_property
    def step_energies(self) -> tuple[Energy, ...]:
        """Every step, from its start to the next one's."""
        start = self.steps.start
        end = self.steps.ends()
        if not self.counted and self.elsewhere:
            windows = zip(start.tolist(), end.tolist(), strict=True)
            return tuple(unresolved(lo, hi, self.apart) for lo, hi in windows)
        if not self.counted or not len(self.steps):
            return ()
        return self._sum.of_steps(start, end)

    def per_step(self, epoch: int | None) -> Energy | None:
        """Mean energy of one step over an epoch's steps (all steps for None), without those that
        traced.
        """
        start = self.steps.start
        end = self.steps.ends()
        length = end - start
        if epoch is None:
            rows = np.ones(len(start), np.bool_)
        else:
            rows = self.steps.epoch == epoch
        if not rows.any():
            return None
        rows &= length <= TRACING_STEP_FACTOR * np.median(length[rows])
        mean = self._sum.mean(start[rows], end[rows])
        return unless_lost_in_noise(mean) if mean is not None else None

    def epoch_number(self, index: int | None) -> int | None:
        """The program's own number of an epoch, by its place in the table."""
        if index is None or index < 0:
            return None
        if index < len(self.epochs):
            return self.epochs[index].number
        return index

    def epoch_windows(self) -> list[tuple[int, int, int, float]]:
        """(index, start, end, one sigma of the edges) of every epoch; a bound that is not known is
        that of its steps.

        Epochs that have neither bounds nor steps in this profile are left out.
        """
        rows = ByNumber(self.steps.epoch, len(self.epochs))
        windows = []
        for index, epoch in enumerate(self.epochs):
            bounds = self.epochs.bounds(index, self.steps, rows[index])
            if bounds is not None:
                windows.append((index, *bounds, epoch.slack / Z95))
        return windows

    @functools.cached_property
    def by_wall(self) -> Account | None:
        """The same channels as wall time alone places them, with the epochs that are known so. How
        well the profile's own clock is known makes no difference to their joules; None: not known.
        """
        return self.around(self) if self.around is not None else None

    @functools.cached_property
    def epoch_energies(self) -> tuple[EpochEnergy, ...]:
        """What each epoch drew: the one figure that every page, table and file shows of it."""
        by_wall = self.by_wall
        wall_epochs = {epoch.number: epoch for epoch in by_wall.epochs} if by_wall else {}
        energies = []
        for index, lo, hi, edge in self.epoch_windows():
            number = self.epochs[index].number
            account = self
            wall_epoch = wall_epochs.get(number)
            if by_wall and wall_epoch and (wall_epoch.start, wall_epoch.end) == (lo, hi):
                account = by_wall
                edge = wall_epoch.slack / Z95
            energy = account.energy(lo, hi, edge_ps=edge)
            energies.append(
                EpochEnergy(
                    index=index,
                    number=number,
                    lo=lo,
                    hi=hi,
                    edge=edge,
                    energy=energy,
                    told_by=account,
                )
            )
        return tuple(energies)

    def of_window(self, lo: int, hi: int) -> Energy | None:
        """What any window drew; of one that is an epoch, the figure of the epoch."""
        for epoch in self.epoch_energies:
            if (epoch.lo, epoch.hi) == (lo, hi):
                return epoch.energy
        return self.energy(lo, hi)

    @functools.cached_property
    def elsewhere(self) -> tuple[str, ...]:
        """The sentence of each log that does not meet the run: it is another run's, and is not
        used.
        """
        sentences = [channel.alignment.elsewhere for channel in self.placed]
        return tuple(dict.fromkeys(filter(None, sentences)))

    @property
    def owner_notes(self) -> tuple[str, ...]:
        """What was assumed of whose power it is, and what is nobody's. Nothing was assumed of logs
        that are not used.
        """
        share = self.share
        if share is None:
            return ()
        is_used = any(
            owner.is_assumed and not channel.alignment.elsewhere
            for owner, channel in zip(share.owners, self.placed, strict=False)
        )
        return tuple(note for note in share.notes if is_used or note != share.assumption)

    @functools.cached_property
    def apart(self) -> str:
        """Sentences on the logs that do not meet the run, and, where none meets the profile itself,
        how far the nearest is.
        """
        from powertui.data.energy import drawn_channels

        sentences = [*self.elsewhere]
        beside = drawn_channels.logs_beside(self.placed, self.trace.span)
        if beside:
            gap = meeting.nearest(*beside)
            sentences.append(meeting.sentence(beside[gap], gap // PS_PER_NS, "this profile"))
        return " ".join(sentences)

    def compare(
        self,
        ops: Ops | None = None,
        scalars: Sequence[ScalarSeries] = (),
        *,
        around: bool = False,
    ) -> Findings:
        """What stands out. `scalars` show where training went on beside the profile; `around`:
        somebody else looks at what is far from it.
        """
        from powertui.data.energy.findings import throttling, trace_findings

        context = log_alignment.AlignmentContext(self.trace, self.steps, self.epochs)
        throttled = throttling.throttled_stretches(channel.power for channel in self.placed)
        inputs = trace_findings.FindingInputs(
            trace=self.trace,
            steps=self.steps,
            epochs=self.epochs,
            power=self.power,
            scalars=scalars,
            training=context.training,
            held=throttled,
            near=self.near if around else None,
        )
        return trace_findings.findings_in_trace(inputs, ops)

    @functools.cached_property
    def near(self) -> PowerOnTrace | None:
        """The counted channels as one, in the surroundings of the profile alone."""
        lo, hi = self.trace.span
        reach = max(AROUND_PS, 2 * (hi - lo))
        around = lo - reach, hi + reach, _MIN_SURROUNDING_READINGS
        return summed_channels.summed([placing.within(row, *around) for row in self.channels])


@dataclass(frozen=True, eq=False)
class EpochEnergy:
    """What an epoch drew."""

    index: int  # in the account's epochs
    number: int
    lo: int  # ps
    hi: int
    edge: float  # one sigma of the bounds
    energy: Energy | None
    told_by: Account  # whose channels these are, and where they lie
