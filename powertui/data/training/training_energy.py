"""The energy of a training: joules of its epochs, validation, pauses, hours and windows, and what
stands out, on any axis of it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data import packed
from powertui.data.energy.account import LONG_LOG_READINGS
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.measured_energy import Energy, above_idle
from powertui.data.energy.trace_account import Account
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    Z95,
    PowerSeries,
    Run,
    Steps,
)
from powertui.data.run.logged_epochs import LOGGED_NS
from powertui.data.training import machines, training_findings
from powertui.data.training.machines import TrainingPower
from powertui.data.training.stretches import PAUSE, STARTING, VALIDATION
from powertui.data.training.training_account import trace_of, training_account
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import Moment, bounded_epochs
from powertui.data.training.training_window import (
    MIN_PHASE_S,
    TrainingWindow,
    WindowsOfTraining,
    joules_per_step,
    rows_that_add_up,
)
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.energy.energy_rows import EnergyRow
    from powertui.data.training.named_windows import AxisWindow

_HOUR_NS = 3600 * NS_PER_S
_MAX_HOURS = 24 * 400
_CHECKPOINT = "checkpoint"
_NAMES = {VALIDATION: "validation", PAUSE: "pause", STARTING: "start-up"}


@dataclass(frozen=True, eq=False)
class TrainingEnergy:
    """What a training drew."""

    seen: TrainingOnAxis
    account: Account
    findings: Findings
    owned: TrainingPower
    counted: tuple[PowerSeries, ...]  # the channels that are added up

    @property
    def strangers(self) -> tuple[str, ...]:
        """Sentences on the power in its logs that belongs to no machine of the training."""
        return self.owned.strangers

    def energy(
        self,
        lo: int,
        hi: int,
        half: int = 0,
        *,
        with_log: tuple[bool, bool] = (False, False),
    ) -> Energy | None:
        """Any window of the axis (ps).

        Not resolved where a machine of the training has no power: a part is not the training.
        `with_log`: whether it begins, and whether it ends, with the log, wherever that is.
        """
        drawn = self.account.energy(lo, hi, edge_ps=half / Z95, with_log=with_log)
        lacking = self.owned.lacking if self.seen.profile is None else ()
        if drawn is None or not lacking:
            return drawn
        from powertui.data.energy import host_energy

        return host_energy.without_hosts(drawn, lacking)

    def epochs(self) -> list[TrainingWindow]:
        """Each epoch whose bounds are known; of the first one also where only its end is."""
        windows = []
        for index, epoch in enumerate(self.seen.epochs):
            name = f"epoch {epoch.number}"
            first = self._first_start
            if index == 0 and epoch.start is None and first is not None and epoch.end is not None:
                half = first.half_ns * PS_PER_NS
                start = self.seen.at(first.ns)
                windows.append(
                    self._window(
                        kind="epoch",
                        name=name,
                        epoch=epoch.number,
                        lo=start,
                        hi=epoch.end,
                        half=half,
                    )
                )
                continue
            if epoch.start is None or epoch.end is None or epoch.end <= epoch.start:
                continue
            trained = self.seen.training.epochs
            windows.append(
                self._window(
                    kind="epoch",
                    name=name,
                    epoch=epoch.number,
                    lo=epoch.start,
                    hi=epoch.end,
                    half=epoch.slack - self.seen.half + self.seen.apart_ns * PS_PER_NS,
                    steps=trained[index].steps if index < len(trained) else None,
                )
            )
        return windows

    def parts(self) -> list[EnergyRow]:
        """Rows that add up; the last one is all of it."""
        windows = WindowsOfTraining(
            total=self.whole(),
            training=self.training(),
            epochs=self.epochs(),
            phases=self.phases(),
        )
        return rows_that_add_up(windows, self.energy)

    def phases(self) -> list[TrainingWindow]:
        """What was no step: validation, pauses, starting; and the idle machine before and after."""
        from powertui.data.training import checkpoints

        training = self.seen.training
        epochs = list(bounded_epochs(training.epochs))
        saved = checkpoints.saved_checkpoints(training) if len(training.stretches) else ()
        windows = []
        for kind in (VALIDATION, PAUSE, STARTING):
            starts, ends = training.stretches.spans(kind)
            long = ends - starts >= MIN_PHASE_S * NS_PER_S
            for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
                middle = (start + end) // 2
                number = None
                for epoch, epoch_start, epoch_end in epochs:
                    if epoch_start.ns <= middle < epoch_end.ns:
                        number = epoch.number
                        break
                checkpoint = None
                if kind == PAUSE:
                    checkpoint = checkpoints.checkpoint_within(saved, start, end)
                name = _CHECKPOINT if checkpoint else _NAMES[kind]
                if number is not None:
                    name += f" in epoch {number}"
                if checkpoint:
                    name += f" ({checkpoint.by})"
                windows.append(
                    self._window(
                        kind=_CHECKPOINT if checkpoint else kind,
                        name=name,
                        epoch=number,
                        lo=self.seen.at(start),
                        hi=self.seen.at(end),
                        half=LOGGED_NS * PS_PER_NS,
                    )
                )
        windows.sort(key=lambda window: window.start)
        return [*self._beside("before"), *windows, *self._beside("after")]

    def hours(self) -> list[TrainingWindow]:
        """Hour by hour of wall time, where it is longer than one."""
        lo = self.seen.unix_ns(self.seen.start)
        hi = self.seen.unix_ns(self.seen.end)
        if hi - lo < _HOUR_NS or (hi - lo) // _HOUR_NS > _MAX_HOURS:
            return []
        first = lo - lo % _HOUR_NS if self.seen.wall else lo
        windows = []
        for number, hour_ns in enumerate(range(first, hi, _HOUR_NS)):
            start = self.seen.at(max(hour_ns, lo))
            end = self.seen.at(min(hour_ns + _HOUR_NS, hi))
            windows.append(
                self._window(
                    kind="hour",
                    name=f"hour {number}",
                    epoch=None,
                    lo=start,
                    hi=end,
                    half=0,
                )
            )
        return windows

    def training(self) -> TrainingWindow | None:
        """From its first to its last step or epoch."""
        stretches = self.seen.training.stretches
        if not len(stretches):
            return None
        start_ns = int(stretches.start[0])
        end_ns = int(stretches.end.max())
        half_ns = LOGGED_NS
        first = self._first_start
        if first is not None and first.ns < start_ns:
            start_ns = first.ns
            half_ns = max(first.half_ns, LOGGED_NS)
        rate = self.seen.training.rate
        steps = None
        if len(rate) and not rate.within and rate.goes_on[1:].all():
            steps = (int(rate.step[0]) - rate.every, int(rate.step[-1]))
        return self._window(
            kind="training",
            name="the training",
            epoch=None,
            lo=self.seen.at(start_ns),
            hi=self.seen.at(end_ns),
            half=half_ns * PS_PER_NS,
            steps=steps,
        )

    @functools.cached_property
    def _first_start(self) -> Moment | None:
        from powertui.data.training.training_start import training_start

        return training_start(self.seen.training)

    def whole(self) -> TrainingWindow:
        """As far as its power reaches; without any, everything that is placed."""
        lo, hi = self._power_reach or (self.seen.start, self.seen.end)
        window = self._window(
            kind="whole",
            name="everything",
            epoch=None,
            lo=lo,
            hi=hi,
            half=0,
        )
        if window.energy is None or not window.energy.resolved:
            return window
        from powertui.data.energy import window_energy

        energy = window_energy.log_energy(self.account.channels, window.start, window.end)
        if energy is None:
            return window
        return replace(window, energy=above_idle(energy, self.account.idle))

    def window(self, axis_window: AxisWindow) -> TrainingWindow:
        """Any window that was asked for."""
        steps = None
        # Batches of an epoch have its number, too, but not its steps.
        if axis_window.words == f"epoch {axis_window.epoch}":
            for epoch in self.seen.training.epochs:
                if epoch.number == axis_window.epoch:
                    steps = epoch.steps
                    break
        return self._window(
            kind="window",
            name=axis_window.words,
            epoch=axis_window.epoch,
            lo=axis_window.lo,
            hi=axis_window.hi,
            half=axis_window.half,
            steps=steps,
        )

    def _beside(self, which: str) -> list[TrainingWindow]:
        """The machine before the first and after the last record, as far as power was logged."""
        training = self.training()
        reach = self._power_reach
        if training is None or reach is None:
            return []
        is_before = which == "before"
        start, end = (reach[0], training.start) if is_before else (training.end, reach[1])
        if end - start < MIN_PHASE_S * PS_PER_S:
            return []
        half = LOGGED_NS * PS_PER_NS
        energy = self.energy(start, end, half, with_log=(is_before, not is_before))
        return [
            TrainingWindow(
                kind=which,
                name=f"{which} the training",
                epoch=None,
                start=start,
                end=end,
                half=half,
                energy=energy,
            )
        ]

    @functools.cached_property
    def _power_reach(self) -> tuple[int, int] | None:
        """From when to when power was logged: as `powertui energy` takes a log without a place."""
        from powertui.data.energy import integrate

        reaches = []
        for channel in self.account.channels:
            reach = integrate.reach(channel)
            if reach is not None:
                reaches.append(reach)
        if not reaches:
            return None
        return min(start for start, _ in reaches), max(end for _, end in reaches)

    def _window(
        self,
        kind: str,
        name: str,
        epoch: int | None,
        lo: int,
        hi: int,
        half: int,
        steps: tuple[int, int] | None = None,
    ) -> TrainingWindow:
        energy = self.energy(lo, hi, half)
        every = self.seen.training.logged_rate.every
        return TrainingWindow(
            kind=kind,
            name=name,
            epoch=epoch,
            start=lo,
            end=hi,
            half=half,
            energy=energy,
            steps=steps,
            joules_per_step=joules_per_step(energy, steps, every),
        )


def training_energy(axis: TrainingOnAxis) -> TrainingEnergy:
    """The energy of a training as it lies on this axis, worked out once."""
    return axis.cached("energy", lambda: _worked_out(axis))


def _worked_out(axis: TrainingOnAxis) -> TrainingEnergy:
    owned = machines.power_of(axis.training)
    account, counted = training_account(axis, owned)
    findings = training_findings.findings_in_training(axis.training, axis, account)
    if account.power is not None and len(account.power.times) > LONG_LOG_READINGS:
        packed.give_back()
    return TrainingEnergy(
        seen=axis,
        account=account,
        findings=findings,
        owned=owned,
        counted=counted,
    )


def run_of(axis: TrainingOnAxis) -> Run:
    """A training as a run: one trace without events, its epochs, scalars and power."""
    training = axis.training
    scalars = tuple(series for log in training.logs.events for series in log.scalars)
    return Run(
        name=training.name,
        path=training.entry.path,
        traces=(trace_of(axis),),
        steps=(Steps.none("nothing is profiled here"),),
        epochs=(axis.epochs,),
        scalars=scalars,
        power=training.logs.power,
        warnings=training.logs.warnings,
    )
