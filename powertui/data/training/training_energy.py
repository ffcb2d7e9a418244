"""The energy of a training: joules of its epochs, validation, pauses, hours and windows, and what
stands out, on any axis of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data import packed
from powertui.data.energy import (
    energy_rows,
    host_energy,
    idle,
    integrate,
    main_log,
    meeting,
    summed_channels,
    window_energy,
)
from powertui.data.energy.account import Account
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.idle import IdlePower
from powertui.data.energy.log_alignment import SIGNAL, Alignment, Placed
from powertui.data.energy.measured_energy import Energy, above_idle
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    Z95,
    Clock,
    PowerOnTrace,
    PowerSeries,
    Run,
    Steps,
    Trace,
)
from powertui.data.run.logged_epochs import LOGGED_NS
from powertui.data.texts import NoNames
from powertui.data.training import checkpoints, machines, training_findings
from powertui.data.training.machines import TrainingPower
from powertui.data.training.named_windows import AxisWindow
from powertui.data.training.stretches import PAUSE, STARTING, VALIDATION
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_parts import Moment
from powertui.value_types import dataclass

_HOUR_NS = 3600 * NS_PER_S
_MAX_HOURS = 24 * 400
# From so many readings on, memory that working on them took is given back. Chosen, not measured.
_GIVE_BACK_READINGS = 100_000
# A first epoch compiles and fills caches. One that seems to have taken more than so many of the
# others waited for something before it. Chosen, not measured.
_MAX_FIRST_STRETCHES = 2.0
# How far its length may be off where only the others show it, as a share. Chosen, not measured.
_FIRST_STRETCH_ERROR = 0.25
_MIN_RECORDS = 3  # that show how long it usually takes from one to the next; chosen, not measured
_CHECKPOINT = "checkpoint"
_NAMES = {VALIDATION: "validation", PAUSE: "pause", STARTING: "start-up"}


@dataclass(frozen=True)
class TrainingWindow:
    """A stretch of a training with a name, and what it drew (None: no power lies there)."""

    # "epoch", "validation", "pause", "checkpoint", "starting", "before", "after", "hour",
    # "training", "whole", "window"
    kind: str
    name: str
    epoch: int | None
    start: int  # ps on the axis
    end: int
    half: int  # ± of both bounds
    energy: Energy | None
    steps: tuple[int, int] | None = None  # of the rate's numbers
    joules_per_step: tuple[float, float, float] | None = None  # with its interval


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
        self, lo: int, hi: int, half: int = 0, *, with_log: tuple[bool, bool] = (False, False)
    ) -> Energy | None:
        """Any window of the axis (ps).

        Not resolved where a machine of the training has no power: a part is not the training.
        `with_log`: whether it begins, and whether it ends, with the log, wherever that is.
        """
        drawn = self.account.energy(lo, hi, edge_ps=half / Z95, with_log=with_log)
        lacking = self.owned.lacking if self.seen.profile is None else ()
        if drawn is None or not lacking:
            return drawn
        return host_energy.without_hosts(drawn, lacking)

    def epochs(self) -> list[TrainingWindow]:
        """Each epoch whose bounds are known."""
        out = []
        first = self._first_start
        for index, epoch in enumerate(self.seen.epochs):
            if index == 0 and epoch.start is None and first is not None and epoch.end is not None:
                half = first.half_ns * PS_PER_NS
                start = self.seen.at(first.ns)
                name = f"epoch {epoch.number}"
                out.append(self._window("epoch", name, epoch.number, start, epoch.end, half))
            elif epoch.start is not None and epoch.end is not None and epoch.end > epoch.start:
                steps = (
                    self.seen.training.epochs[index].steps
                    if index < len(self.seen.training.epochs)
                    else None
                )
                half = epoch.slack - self.seen.half + self.seen.apart_ns * PS_PER_NS
                out.append(
                    self._window(
                        "epoch",
                        f"epoch {epoch.number}",
                        epoch.number,
                        epoch.start,
                        epoch.end,
                        half,
                        steps,
                    )
                )
        return out

    def parts(self) -> list[EnergyRow]:
        """Rows that add up: what lies before and after the training, in it its epochs, and in each
        of these its start-up, validation, checkpoints, pauses and steps. The last row is all of it.
        """
        total = _row_of(self.whole(), "all of it", 0)
        training = self.training()
        phases = self.phases()
        rows = [_row_of(phase, "before", 0) for phase in phases if phase.kind == "before"]
        if training is not None:
            rows.append(_row_of(training, training.name, 0))
            epochs = self.epochs()
            for epoch in epochs:
                rows.append(_row_of(epoch, epoch.name, 1))
                rows += self._inside(epoch, phases, 2)
            if epochs:
                rest = energy_rows.remainder_row(
                    _row_of(training, "", 0),
                    [row for row in rows if row.level == 1],
                    "between the epochs",
                )
                rows += [replace(rest, level=1)] if rest is not None else []
            else:
                rows += self._inside(training, phases, 1)
        rows += [_row_of(phase, "after", 0) for phase in phases if phase.kind == "after"]
        top = [row for row in rows if not row.level]
        rest = energy_rows.remainder_row(total, top, "the rest") if top else None
        return [*rows, *([rest] if rest is not None else []), total]

    def _inside(
        self, window: TrainingWindow, phases: Sequence[TrainingWindow], level: int
    ) -> list[EnergyRow]:
        """What an epoch is made of; nothing where that is steps alone."""
        rows = []
        at = window.start
        for phase in phases:
            lo, hi = max(phase.start, at), min(phase.end, window.end)
            if phase.kind in ("before", "after") or hi - lo < PS_PER_S // 2:
                continue
            energy = phase.energy
            if (lo, hi) != (phase.start, phase.end):
                energy = self.energy(lo, hi, phase.half)
            if energy is None or not energy.resolved:
                continue
            name = phase.name.replace(f" in epoch {phase.epoch}", "")
            rows.append(EnergyRow(phase.kind, name, window.epoch, hi - lo, energy, lo, level))
            at = hi
        if not rows:
            return []
        rest = energy_rows.remainder_row(_row_of(window, "", 0), rows, "steps")
        if rest is not None:
            steps = window.steps
            count = steps[1] - steps[0] if steps is not None else None
            name = f"{count} steps" if count is not None else "steps"
            rows.append(
                replace(rest, kind="steps", name=name, epoch=window.epoch, level=level, steps=count)
            )
        return rows

    def phases(self) -> list[TrainingWindow]:
        """What was no step: validation, pauses, starting; and the idle machine before and after."""
        stretches = self.seen.training.stretches
        out = []
        bounds = [
            (e.number, e.start.ns, e.end.ns)
            for e in self.seen.training.epochs
            if e.start is not None and e.end is not None
        ]
        saved = checkpoints.saved_checkpoints(self.seen.training) if len(stretches) else ()
        for kind in (VALIDATION, PAUSE, STARTING):
            start, end = stretches.spans(kind)
            long = np.flatnonzero(end - start >= NS_PER_S // 2)
            for row in long.tolist():
                a, b = int(start[row]), int(end[row])
                number = next((n for n, lo, hi in bounds if lo <= (a + b) // 2 < hi), None)
                checkpoint = checkpoints.checkpoint_within(saved, a, b) if kind == PAUSE else None
                words = (_CHECKPOINT if checkpoint else _NAMES[kind]) + (
                    f" in epoch {number}" if number is not None else ""
                )
                words += f" ({checkpoint.by})" if checkpoint else ""
                out.append(
                    self._window(
                        _CHECKPOINT if checkpoint else kind,
                        words,
                        number,
                        self.seen.at(a),
                        self.seen.at(b),
                        LOGGED_NS * PS_PER_NS,
                    )
                )
        out.sort(key=lambda window: window.start)
        return [*self._beside("before"), *out, *self._beside("after")]

    def hours(self) -> list[TrainingWindow]:
        """Hour by hour of wall time, where it is longer than one."""
        lo, hi = self.seen.unix_ns(self.seen.start), self.seen.unix_ns(self.seen.end)
        if hi - lo < _HOUR_NS or (hi - lo) // _HOUR_NS > _MAX_HOURS:
            return []
        first = lo - lo % _HOUR_NS if self.seen.wall else lo
        out = []
        for number, at in enumerate(range(first, hi, _HOUR_NS)):
            a, b = max(at, lo), min(at + _HOUR_NS, hi)
            out.append(
                self._window("hour", f"hour {number}", None, self.seen.at(a), self.seen.at(b), 0)
            )
        return out

    def training(self) -> TrainingWindow | None:
        """From its first to its last step or epoch."""
        stretches = self.seen.training.stretches
        first = self._first_start
        if not len(stretches):
            return None
        a, b = int(stretches.start[0]), int(stretches.end.max())
        half_ns = LOGGED_NS
        if first is not None and first.ns < a:
            a, half_ns = first.ns, max(first.half_ns, LOGGED_NS)
        rate = self.seen.training.rate
        all_counted = len(rate) and not rate.within and rate.goes_on[1:].all()
        steps = (int(rate.step[0]) - rate.every, int(rate.step[-1])) if all_counted else None
        return self._window(
            "training",
            "the training",
            None,
            self.seen.at(a),
            self.seen.at(b),
            half_ns * PS_PER_NS,
            steps,
        )

    @functools.cached_property
    def _first_start(self) -> Moment | None:
        """When the training began, where its first record came at the end of something: of its
        first epoch, or of its first steps. None where that is known, or nothing shows it.

        The log file was opened shortly before; without that, or where it was opened long before,
        the first stretch took about as long as the others.
        """
        first_end, usual_ns = self._first_record()
        if first_end is None or not usual_ns:
            return None
        opened = [
            log.header_ns
            for log in self.seen.training.logs.events
            if log.header_ns is not None and not log.is_marker
        ]
        opened_ns = max((ns for ns in opened if ns < first_end), default=None)
        if opened_ns is not None and first_end - opened_ns <= _MAX_FIRST_STRETCHES * usual_ns:
            return Moment(opened_ns, NS_PER_S)
        return Moment(first_end - usual_ns, round(_FIRST_STRETCH_ERROR * usual_ns))

    def _first_record(self) -> tuple[int | None, int]:
        """When the first record came, and how long it usually takes from one to the next (ns)."""
        training = self.seen.training
        epochs, rate = training.epochs, training.rate
        if epochs:
            lengths = [
                epoch.end.ns - epoch.start.ns
                for epoch in epochs
                if epoch.start is not None and epoch.end is not None
            ]
            if epochs[0].start is not None or epochs[0].end is None or not lengths:
                return None, 0
            return epochs[0].end.ns, int(np.median(lengths))
        if len(rate) < _MIN_RECORDS or rate.within:
            return None, 0
        gaps = np.diff(rate.at_ns)[rate.goes_on[1:]]
        return int(rate.at_ns[0]), int(np.median(gaps)) if len(gaps) else 0

    def whole(self) -> TrainingWindow:
        """As far as its power tells; without any, everything that is placed."""
        window = self._window(
            "whole", "everything", None, *(self._power_reach or (self.seen.start, self.seen.end)), 0
        )
        if window.energy is None or not window.energy.resolved:
            return window
        energy = window_energy.log_energy(self.account.channels, window.start, window.end)
        if energy is None:
            return window
        return replace(window, energy=above_idle(energy, self.account.idle))

    def window(self, axis_window: AxisWindow) -> TrainingWindow:
        """Any window that was asked for."""
        steps = None
        if axis_window.epoch is not None:
            epoch = next(
                epoch for epoch in self.seen.training.epochs if epoch.number == axis_window.epoch
            )
            steps = epoch.steps if axis_window.words == f"epoch {axis_window.epoch}" else None
        return self._window(
            "window",
            axis_window.words,
            axis_window.epoch,
            axis_window.lo,
            axis_window.hi,
            axis_window.half,
            steps,
        )

    def _beside(self, which: str) -> list[TrainingWindow]:
        """The machine before the first and after the last record, as far as power was logged."""
        training, reach = self.training(), self._power_reach
        if training is None or reach is None:
            return []
        bounds = (reach[0], training.start) if which == "before" else (training.end, reach[1])
        if bounds[1] - bounds[0] < PS_PER_S // 2:
            return []
        half = LOGGED_NS * PS_PER_NS
        with_log = (which == "before", which == "after")
        energy = self.energy(*bounds, half, with_log=with_log)
        return [TrainingWindow(which, f"{which} the training", None, *bounds, half, energy)]

    @functools.cached_property
    def _power_reach(self) -> tuple[int, int] | None:
        """From when to when power was logged: as `powertui energy` takes a log without a place."""
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
        return TrainingWindow(
            kind,
            name,
            epoch,
            lo,
            hi,
            half,
            energy,
            steps,
            _per_step(energy, steps, self.seen.training.logged_rate.every),
        )


def _row_of(window: TrainingWindow, name: str, level: int) -> EnergyRow:
    steps = window.steps
    return EnergyRow(
        window.kind,
        name,
        window.epoch,
        window.end - window.start,
        window.energy,
        window.start,
        level,
        steps[1] - steps[0] if steps is not None else None,
    )


def training_energy(axis: TrainingOnAxis) -> TrainingEnergy:
    """The energy of a training as it lies on this axis, worked out once."""
    return axis.cached("energy", lambda: _worked_out(axis))


def _worked_out(axis: TrainingOnAxis) -> TrainingEnergy:
    owned = machines.power_of(axis.training)
    account, counted = _account_of(axis, owned)
    findings = training_findings.findings_in_training(axis.training, axis, account)
    if account.power is not None and len(account.power.times) > _GIVE_BACK_READINGS:
        packed.give_back()
    return TrainingEnergy(axis, account, findings, owned, counted)


def _account_of(
    axis: TrainingOnAxis, owned: TrainingPower
) -> tuple[Account, tuple[PowerSeries, ...]]:
    """The account of a training's power, with the arithmetic that one profile's is made with; and
    the channels that it adds up.
    """
    reach = _reach(axis)
    power = [
        placed.power for placed in axis.by_wall or axis.placements if placed.power.status != "none"
    ]
    # A profile's own account holds its machine's channels alone.
    if axis.profile is None:
        power = [channel for channel in power if owned.is_owned(channel.series)]
    usable = _usable_rows(power, reach)
    series = [power[row].series for row in usable]
    total = owned.total(series) if axis.profile is None else owned.of_machine(series)
    counted = tuple(usable[row] for row in total.indices)
    summed = summed_channels.where_many([power[row] for row in counted])
    if summed is not None:
        power.append(summed)
        counted = (len(power) - 1,)
    text = total.text
    not_counted = len(power) - len(usable)
    if not_counted and text:
        text += (
            f"; {not_counted} channel{'s' if not_counted > 1 else ''} not counted: aligned less "
            "certainly, or at another time"
        )
    led = main_log.why(power, reach)
    if led and text:
        text += f"; {led}"
    channels = tuple(Placed(channel, _alignment(axis, channel)) for channel in power)
    idle_power = _idle(axis, [power[row] for row in counted])
    account = Account(
        _trace_of(axis, reach),
        Steps.none(),
        axis.epochs,
        channels,
        counted,
        text,
        lambda: idle_power,
    )
    return account, total.series


def _usable_rows(power: Sequence[PowerOnTrace], reach: tuple[int, int]) -> list[int]:
    """The channels that may be counted, the main log first: those that are placed best."""
    order = main_log.order(power, reach)
    usable = [row for row in order if meeting.meets(power[row], reach)] or list(order)
    best = min((main_log.placement_rank(power[row]) for row in usable), default=2)
    usable = [row for row in usable if main_log.placement_rank(power[row]) == best]
    enough = [
        row for row in usable if main_log.coverage(power[row], reach) >= main_log.FULL_COVERAGE
    ]
    usable = enough or usable
    # As in a profile: a channel that only its own power places counts for a host that no other log
    # is of.
    sure_hosts = {power[row].series.sensor.host for row in usable if power[row].source != SIGNAL}
    return [
        row
        for row in usable
        if power[row].source != SIGNAL or power[row].series.sensor.host not in sure_hosts
    ]


def _trace_of(axis: TrainingOnAxis, span: tuple[int, int] | None = None) -> Trace:
    """The axis of a training as a trace without events, for what asks a trace only where it
    lies.
    """
    clock = (
        Clock(axis.zero_ns - axis.half_ns, axis.zero_ns + axis.half_ns, "the training's axis")
        if axis.wall
        else Clock()
    )
    return Trace(
        axis.training.entry.path,
        "",
        "training",
        (),
        NoNames(),
        clock,
        span or (axis.start, axis.end),
        0,
    )


def run_of(axis: TrainingOnAxis) -> Run:
    """A training as a run: one trace without events, its epochs, scalars and power."""
    training = axis.training
    scalars = tuple(series for log in training.logs.events for series in log.scalars)
    return Run(
        training.name,
        training.entry.path,
        (_trace_of(axis),),
        (Steps.none("nothing is profiled here"),),
        (axis.epochs,),
        scalars,
        training.logs.power,
        training.logs.warnings,
    )


def _reach(axis: TrainingOnAxis) -> tuple[int, int]:
    stretches = axis.training.stretches
    if len(stretches):
        return axis.at(int(stretches.start[0])), axis.at(int(stretches.end.max()))
    islands = [
        (session.start, session.end)
        for session in axis.islands
        if session.start is not None and session.end is not None
    ]
    if islands:
        return min(a for a, _ in islands), max(b for _, b in islands)
    return axis.start, max(axis.end, axis.start + 1)


def _alignment(axis: TrainingOnAxis, power: PowerOnTrace) -> Alignment:
    """How it was placed, as told on this axis."""
    for channel in axis.by_wall or axis.placements:
        if channel.power is power or channel.power.series is power.series:
            return channel.alignment
    at, lo, hi = (ps / PS_PER_S for ps in (power.offset_ps, power.offset_lo_ps, power.offset_hi_ps))
    return Alignment(at, lo, hi, power.status, power.source, ())


def _idle(axis: TrainingOnAxis, channels: Sequence[PowerOnTrace]) -> IdlePower:
    """Idle power of all counted channels: what they drew while no record says that anything ran."""
    if axis.idle_w is not None:
        return idle.given(axis.idle_w)
    stretches = axis.training.stretches
    if not channels or not len(stretches) or any(channel.status == "none" for channel in channels):
        return IdlePower(None)
    lo, hi = axis.at(int(stretches.start[0])), axis.at(int(stretches.end.max()))
    return idle.of_all(
        channels, idle.When(np.array([lo], np.int64), np.array([hi], np.int64), lo, hi, True)
    )


def _per_step(
    energy: Energy | None, steps: tuple[int, int] | None, every: int
) -> tuple[float, float, float] | None:
    """Joules of one step by how many were logged: the interval holds that of the energy, and a
    record more or less.
    """
    if (
        energy is None
        or energy.joules is None
        or energy.lo is None
        or energy.hi is None
        or steps is None
        or steps[1] <= steps[0]
    ):
        return None
    count = steps[1] - steps[0]
    spare = every / 2 if every > 1 else 0.0
    return energy.joules / count, energy.lo / (count + spare), energy.hi / max(count - spare, 1.0)
