"""One trace's energy, put together: which channels count, what each epoch and step drew, and what
stands out.

Channels that overlap are never added up. Of several logs of the same machine the one that lies
surest on the trace is taken, because an exact integral in the wrong place is worth nothing.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from powertui.data import packed
from powertui.data.asked import Aligning
from powertui.data.by_number import ByNumber
from powertui.data.energy import (
    align,
    devices,
    expected_work,
    idle,
    integrate,
    log_alignment,
    main_log,
    meeting,
    mixture,
    owner_notes,
    placing,
    power_owners,
    profiled_gpus,
    scopes,
    summed_channels,
)
from powertui.data.energy.devices import Pair
from powertui.data.energy.idle import IdlePower
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.energy.measured_energy import (
    Energy,
    above_idle,
    interval_with_gain,
    unless_lost_in_noise,
    unresolved,
)
from powertui.data.energy.owner_evidence import Owner
from powertui.data.energy.owner_notes import Share
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.logdir import RunEntry
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Z95,
    Epochs,
    Figure,
    PowerOnTrace,
    Run,
    ScalarSeries,
    Scope,
    Steps,
    Trace,
    worst_badge,
)
from powertui.data.opened import Profile
from powertui.value_types import dataclass

if TYPE_CHECKING:  # names alone: power is drawn before somebody looks at what stands out in it
    from powertui.data.energy.findings.finding import Findings, Ops

_LONG_LOG_READINGS = 100_000  # from which on memory that was used to look at them is given back
# Surroundings of a profile in which findings are looked for, on each side: at least this time, or
# twice the profile, or this many readings. Chosen, not measured.
_MIN_SURROUNDINGS_PS = 1800 * PS_PER_S
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
    share: Share | None = (
        None  # of the run's power: on what evidence it is this host's, and what is nobody's
    )
    around: Callable[[Account], Account | None] | None = (
        None  # the same, as the training around it knows it by wall time
    )

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
        """The channels that something places on the trace, in the order in which they are drawn.

        The main log comes first, and in each log its devices.
        """
        power = [channel.power for channel in self.placed]
        placed = [
            row for row in main_log.order(power, self.trace.span) if power[row].status != "none"
        ]
        counted = [row for row in self.counted if row in placed]
        ordered = counted + [row for row in placed if row not in self.counted]
        logs = list(dict.fromkeys(power[row].series.path for row in ordered))
        device_of = {pair.channel: pair.device for pair in self.pairs if pair.channel is not None}

        def place_in_drawing(row: int) -> tuple[int, bool]:
            series = power[row].series
            # Where some GPUs have their channels, the others are GPUs that the trace did not see.
            unseen_gpu = (
                bool(device_of) and row not in device_of and series.sensor.scope is Scope.GPU
            )
            return logs.index(series.path), unseen_gpu

        ordered.sort(key=place_in_drawing)
        return tuple(
            replace(power[row], device=device_of[row]) if row in device_of else power[row]
            for row in ordered
        )

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
        every = [powers for _, powers in self._worlds] or [self.channels]
        if any(with_log) and len({channel.series.path for channel in self.channels}) == 1:
            moved = [powers[0].offset_ps - self.channels[0].offset_ps for powers in every]
            return self._over_places(
                [
                    integrate.across(
                        powers,
                        lo_ps + shift * with_log[0],
                        hi_ps + shift * with_log[1],
                        edge_ps=edge_ps,
                    )
                    for powers, shift in zip(every, moved, strict=True)
                ]
            )
        # All channels at all places at once: one place after the other costs as much again for
        # each.
        results = iter(
            integrate.across(
                [power for powers in every for power in powers], lo_ps, hi_ps, edge_ps=edge_ps
            )
        )
        return self._over_places([list(itertools.islice(results, len(powers))) for powers in every])

    def _over_places(self, every: Sequence[Sequence[Energy]]) -> Energy | None:
        """What the counted channels drew together, over all places in question; `every` tells of
        each of them at each place.
        """
        parts = [part for channels in every if (part := combined(channels)) is not None]
        if not self._worlds:
            return mixture.withheld(parts[0]) if parts else None
        return mixture.mixed([weight for weight, _ in self._worlds], parts) if parts else None

    @functools.cached_property
    def _worlds(self) -> list[tuple[float, tuple[PowerOnTrace, ...]]]:
        """The counted channels at all places in question."""
        return mixture.worlds(self.channels)

    @functools.cached_property
    def step_energies(self) -> tuple[Energy, ...]:
        """Every step, from its start to the next one's."""
        lo, hi = self.steps.start, self.steps.ends()
        if not self.counted and self.elsewhere:
            return tuple(
                unresolved(*bounds, self.apart)
                for bounds in zip(lo.tolist(), hi.tolist(), strict=True)
            )
        if not self.counted or not len(self.steps):
            return ()
        if len(self.channels) == 1:
            return tuple(mixture.energies(self.channels[0], lo, hi))
        every = [
            [integrate.energies(p, lo, hi) for p in powers]
            for _, powers in self._worlds or [(1.0, self.channels)]
        ]
        weights = [weight for weight, _ in self._worlds]
        out = []
        for row in range(len(lo)):
            parts = [
                e
                for powers in every
                if (e := combined([energies[row] for energies in powers])) is not None
            ]
            out.append(mixture.mixed(weights, parts) if weights else mixture.withheld(parts[0]))
        return tuple(out)

    def per_step(self, epoch: int | None) -> Energy | None:
        """Mean energy of one step over an epoch's steps (all steps for None), without those that
        traced.
        """
        lo, hi = self.steps.start, self.steps.ends()
        rows = np.ones(len(lo), np.bool_) if epoch is None else self.steps.epoch == epoch
        if not rows.any():
            return None
        usual = np.median((hi - lo)[rows])
        rows &= (hi - lo) <= 2.5 * usual
        every = [powers for _, powers in self._worlds] or [self.channels]
        mean = self._over_places(
            [
                [
                    energy
                    for channel in channels
                    if (energy := integrate.mean_energy(channel, lo[rows], hi[rows])) is not None
                ]
                for channels in every
            ]
        )
        return unless_lost_in_noise(mean) if mean is not None else None

    def epoch_number(self, index: int | None) -> int | None:
        """The program's own number of an epoch, by its place in the table."""
        if index is None or index < 0:
            return None
        return self.epochs[index].number if index < len(self.epochs) else index

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
        """What each epoch drew: the one figure that every page, table and file tells of it."""
        wall = self.by_wall
        wall_epochs = {epoch.number: epoch for epoch in wall.epochs} if wall is not None else {}
        energies = []
        for index, lo, hi, edge in self.epoch_windows():
            number = self.epochs[index].number
            wall_epoch, account = wall_epochs.get(number), self
            if (
                wall is not None
                and wall_epoch is not None
                and (wall_epoch.start, wall_epoch.end) == (lo, hi)
            ):
                account, edge = wall, wall_epoch.slack / Z95
            energies.append(
                EpochEnergy(
                    index, number, lo, hi, edge, account.energy(lo, hi, edge_ps=edge), account
                )
            )
        return tuple(energies)

    def of_window(self, lo: int, hi: int) -> Energy | None:
        """What any window drew; of one that is an epoch, what is told of the epoch."""
        epoch = next(
            (
                candidate
                for candidate in self.epoch_energies
                if (candidate.lo, candidate.hi) == (lo, hi)
            ),
            None,
        )
        return epoch.energy if epoch is not None else self.energy(lo, hi)

    @functools.cached_property
    def elsewhere(self) -> tuple[str, ...]:
        """The sentence of each log that does not meet the run: it is another run's, and is not
        used.
        """
        return tuple(
            dict.fromkeys(
                channel.alignment.elsewhere
                for channel in self.placed
                if channel.alignment.elsewhere
            )
        )

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
        how far the nearest lies.
        """
        sentences = [*self.elsewhere]
        beside: dict[
            int, str
        ] = {}  # by their distance (ps): logs of the training around the profile
        for channel in self.placed:
            if channel.power.status == "none" or not len(channel.power.series):
                continue
            gap = meeting.gap_on_trace(channel.power, self.trace.span)
            if gap is None:
                beside = {}
                break
            beside[gap] = channel.power.series.path
        if beside:
            gap = meeting.nearest(*beside)
            sentences.append(meeting.sentence(beside[gap], gap // PS_PER_NS, "this profile"))
        return " ".join(sentences)

    def compare(
        self, ops: Ops | None = None, scalars: Sequence[ScalarSeries] = (), *, around: bool = False
    ) -> Findings:
        """What stands out. `scalars` tell where training went on beside the profile; `around`:
        somebody else looks at what lies far from it.
        """
        from powertui.data.energy.findings import throttling, trace_findings

        training = log_alignment.AlignmentContext(self.trace, self.steps, self.epochs).training
        throttled = throttling.throttled_stretches(channel.power for channel in self.placed)
        near = self.near if around else None
        return trace_findings.findings_in_trace(
            trace_findings.FindingInputs(
                self.trace, self.steps, self.epochs, self.power, scalars, training, throttled, near
            ),
            ops,
        )

    @functools.cached_property
    def near(self) -> PowerOnTrace | None:
        """The counted channels as one, in the surroundings of the profile alone."""
        lo, hi = self.trace.span
        reach = max(_MIN_SURROUNDINGS_PS, 2 * (hi - lo))
        return summed_channels.summed(
            [
                placing.within(channel, lo - reach, hi + reach, _MIN_SURROUNDING_READINGS)
                for channel in self.channels
            ]
        )


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


def energy_account(profile: Profile, aligning: Aligning | None = None) -> Account:
    """The account of one profile of an opened run: worked out once for each way of aligning."""
    how = aligning or Aligning()
    opened = profile.opened

    def place(placed: Sequence[Placed]) -> Sequence[Placed]:
        placed_by_run: Sequence[Placed] = (
            opened.around.placed(profile, placed, how) if opened.around is not None else placed
        )
        return placed_by_run

    def make() -> Account:
        found = _of_run(opened.run, profile.index, place(placed_alone(profile, how)), how)
        training = opened.around
        return (
            found
            if training is None
            else replace(
                found,
                around=lambda one: cast("Account | None", training.by_wall(profile, one, how)),
            )
        )

    return opened.cached(key(profile.index, how), make)


def placed_alone(profile: Profile, aligning: Aligning) -> tuple[Placed, ...]:
    """The power of a profile where it lies by what the profile and the log tell, whatever training
    is around.
    """
    opened = profile.opened

    def make() -> tuple[Placed, ...]:
        around = (
            opened.around.around_ns(profile)
            if opened.around is not None and opened.run.power
            else None
        )
        return align.place_all(opened.run, profile.index, opened.entry, aligning, around)

    return opened.cached(("placed alone", profile.index, aligning), make)


def key(index: int, aligning: Aligning) -> tuple[object, ...]:
    """Under what an account is kept with the run."""
    return ("account", index, aligning)


def _findings_key(index: int, aligning: Aligning) -> tuple[object, ...]:
    return ("findings", index, aligning)


def findings(profile: Profile, aligning: Aligning | None = None) -> Findings:
    """What stands out in a profile, and which ops ran longer there: worked out once."""
    from powertui.data.tools.longer_ops import LongerOps

    how = aligning or Aligning()
    trace = profile.trace

    def compare() -> Findings:
        around = profile.opened.around
        rest = around is not None and around.looks_around(profile, how)
        account = energy_account(profile, how)
        result = account.compare(LongerOps(trace), profile.opened.run.scalars, around=rest)
        if rest and account.power is not None and len(account.power.times) > _LONG_LOG_READINGS:
            packed.give_back()
        return result if around is None else cast("Findings", around.findings(profile, result, how))

    return profile.opened.cached(_findings_key(profile.index, how), compare)


def of_run(
    run: Run, index: int, entry: RunEntry | None = None, aligning: Aligning | None = None
) -> Account:
    """The account of one trace of a run that nobody holds open."""
    how = aligning or Aligning()
    return _of_run(run, index, align.place_all(run, index, entry, how), how)


def alone(profile: Profile, aligning: Aligning | None = None) -> Account:
    """The account of a profile as it and the log tell it, whatever training is around."""
    how = aligning or Aligning()
    return _of_run(profile.opened.run, profile.index, placed_alone(profile, how), how)


def _of_run(run: Run, index: int, placed: Sequence[Placed], how: Aligning) -> Account:
    owners = power_owners.of_run(run)
    machine = owners.of_trace[index]
    beside = [
        trace
        for row, trace in enumerate(run.traces)
        if row != index and owners.of_trace[row] == machine
    ]
    share = owner_notes.share(run, index)
    found = of_placed(
        run.traces[index],
        run.steps[index],
        run.epochs[index],
        placed,
        idle_w=how.idle_w,
        machine=MachineShare(tuple(beside), share.owners),
    )
    return replace(found, share=share)


@dataclass(frozen=True, eq=False)
class MachineShare:
    """What a trace shares its machine's power with, and on what evidence each channel is that
    machine's.
    """

    beside: tuple[Trace, ...] = ()  # the other traces of the machine
    owners: tuple[Owner, ...] = ()  # of each channel; empty where nobody asked

    def assigned(self) -> frozenset[int]:
        """The channels that a person gave to the machine."""
        rows = enumerate(self.owners)
        return frozenset(row for row, owner in rows if owner.how is HostEvidence.SAID)

    def assumed(self) -> frozenset[int]:
        """The channels that are only assumed to be the machine's."""
        return frozenset(row for row, owner in enumerate(self.owners) if owner.is_assumed)


def of_placed(
    trace: Trace,
    steps: Steps,
    epochs: Epochs,
    placed: Sequence[Placed],
    *,
    idle_w: float | None = None,
    machine: MachineShare | None = None,
) -> Account:
    """The account of channels that lie on the trace already."""
    shared = machine or MachineShare()
    power = [p.power for p in placed]
    pairs_of = functools.cache(lambda: devices.pairs(trace, power))
    gpus = profiled_gpus.other_gpus((trace, *shared.beside), power, pairs_of, shared.assigned())
    assumed = shared.assumed()
    here = [row for row in main_log.order(power, trace.span) if not placed[row].alignment.elsewhere]
    usable = _usable(power, here, trace.span)
    total = scopes.of_one(
        [placed[row].power.series for row in usable],
        assumed=[at for at, row in enumerate(usable) if row in assumed],
        other_gpus=[at for at, row in enumerate(usable) if row in gpus],
    )
    counted = tuple(usable[i] for i in total.indices)
    text = total.text
    left = len(here) - len(usable)
    if left and text:
        text += (
            f"; {left} channel{'s' if left > 1 else ''} not counted: aligned less "
            "certainly, or at another time"
        )
    led = main_log.why([power[row] for row in here], trace.span)
    if led and text:
        text += f"; {led}"
    idle_of = functools.cache(
        lambda: _idle([placed[i].power for i in counted], trace, epochs, idle_w)
    )
    return Account(trace, steps, epochs, tuple(placed), counted, text, idle_of, pairs_of, gpus)


def combined(parts: Sequence[Energy]) -> Energy | None:
    """Channels that do not overlap, added up: resolved where all are.

    Errors of different sensors are independent.
    """
    if len(parts) < 2:
        return parts[0] if parts else None
    first = next((p for p in parts if not p.resolved), parts[0])
    if not all(p.resolved for p in parts):
        return replace(
            first,
            covered_joules=sum(p.covered_joules for p in parts),
            coverage=min(p.coverage for p in parts),
        )
    joules = sum(p.joules or 0.0 for p in parts)
    quantum, sampling, edges = (
        _root([getattr(p, n) for p in parts])
        for n in ("sigma_quantum", "sigma_sampling", "sigma_edges")
    )
    timing = sum(p.sigma_timing for p in parts)
    half = Z95 * _root([quantum, sampling, edges, timing])
    gains = [p.gain_j for p in parts if p.gain_j is not None]
    gain_j = _root(gains) if gains else None
    lo, hi = interval_with_gain(joules, joules - half, joules + half, gain_j)
    return replace(
        first,
        joules=joules,
        lo=lo,
        hi=hi,
        mean_w=sum(p.mean_w or 0.0 for p in parts),
        max_w=None,
        gain_j=gain_j,
        covered_joules=sum(p.covered_joules for p in parts),
        coverage=min(p.coverage for p in parts),
        extrapolated=any(p.extrapolated for p in parts),
        other_joules=None,
        badge=worst_badge(p.badge for p in parts),
        sigma_quantum=quantum,
        sigma_sampling=sampling,
        sigma_edges=edges,
        sigma_timing=timing,
    )


def _root(values: Sequence[float]) -> float:
    return float(np.sqrt(sum(v * v for v in values)))


def _usable(
    power: Sequence[PowerOnTrace], rows: Iterable[int], span: tuple[int, int] | None
) -> list[int]:
    """Of these channels, in this order, those placed as surely as any that meets the trace; of
    these the ones that cover it; of these the ones that more than their own power places.
    """
    rows = [*rows]
    usable = [row for row in rows if span is None or meeting.meets(power[row], span)] or rows
    best = min((main_log.placement_rank(power[row]) for row in usable), default=2)
    usable = [row for row in usable if main_log.placement_rank(power[row]) == best]
    if span is None or len(usable) < 2:
        return usable
    usable = [
        row for row in usable if main_log.coverage(power[row], span) >= main_log.FULL_COVERAGE
    ] or usable
    return [row for row in usable if power[row].source != log_alignment.SIGNAL] or usable


def _idle(
    channels: Sequence[PowerOnTrace], trace: Trace, epochs: Epochs, given: float | None
) -> IdlePower:
    """Idle power of all counted channels together."""
    if given is not None:
        return idle.given(given)
    if not channels or any(c.status == "none" for c in channels):
        return IdlePower(None)
    return idle.of_all(channels, _busy(trace, epochs))


def _busy(trace: Trace, epochs: Epochs) -> idle.When:
    """When something ran.

    Around the profile that is unknown, unless the epochs tell when training began and ended.
    """
    los, his = [], []
    for activity in expected_work.activities(trace):
        working = activity.kind > expected_work.WAIT
        los.append(activity.edges[:-1][working])
        his.append(activity.edges[1:][working])
    bounds = [e.start for e in epochs if e.start is not None] + [
        e.end for e in epochs if e.end is not None
    ]
    first, last = min([*bounds, trace.span[0]]), max([*bounds, trace.span[1]])
    los.append(np.array([first, trace.span[1]], np.int64))
    his.append(np.array([trace.span[0], last], np.int64))
    return idle.When(np.concatenate(los), np.concatenate(his), first, last, bool(bounds))
