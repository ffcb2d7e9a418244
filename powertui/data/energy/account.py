"""One trace's energy, put together: which channels count, and where they are on the trace.

Channels that overlap are never added up. Of several logs of the same machine the one that lies
surest on the trace is taken, because an exact integral in the wrong place is worth nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from powertui.data import packed
from powertui.data.asked import Aligning
from powertui.data.energy import devices, owner_notes, power_owners, profiled_gpus
from powertui.data.energy.counted_channels import MachineShare, counted_channels, idle_power
from powertui.data.energy.trace_account import Account
from powertui.data.logdir import RunEntry
from powertui.data.model import IN_TRACE, Epochs, Run, Steps, Trace
from powertui.data.opened import Profile

if TYPE_CHECKING:  # names alone: power is drawn before somebody looks at what stands out in it
    from powertui.data.energy.findings.finding import Findings
    from powertui.data.energy.log_alignment import Placed

LONG_LOG_READINGS = 100_000  # from which on memory that was used to look at them is given back


def energy_account(profile: Profile, aligning: Aligning | None = None) -> Account:
    """The account of one profile of an opened run: worked out once for each way of aligning."""
    how = aligning or Aligning()
    opened = profile.opened
    training = opened.around

    def make() -> Account:
        placed: Sequence[Placed] = placed_alone(profile, how)
        if training is None:
            return _of_run(opened.run, profile.index, placed, how)
        placed = training.placed(profile, placed, how)
        account = _of_run(opened.run, profile.index, placed, how)

        def by_wall(account: Account) -> Account | None:
            return cast("Account | None", training.by_wall(profile, account, how))

        return replace(account, around=by_wall)

    return opened.cached(key(profile.index, how), make)


def placed_alone(profile: Profile, aligning: Aligning) -> tuple[Placed, ...]:
    """The power of a profile where profile and log place it, whatever training is around."""

    def make() -> tuple[Placed, ...]:
        channels = placed_as_read(profile, aligning)
        if not any(channel.power.series.sensor.source == IN_TRACE for channel in channels):
            return channels
        from powertui.data.energy import aiu_scale

        return aiu_scale.settled(channels)

    return profile.opened.cached(("placed alone", profile.index, aligning), make)


def placed_as_read(profile: Profile, aligning: Aligning) -> tuple[Placed, ...]:
    """The same in the watts that trace and logs state."""
    opened = profile.opened

    def make() -> tuple[Placed, ...]:
        around_ns = None
        if opened.around is not None and opened.run.power:
            around_ns = opened.around.around_ns(profile)
        return _place_all(opened.run, profile.index, opened.entry, aligning, around_ns)

    return opened.cached(("placed as read", profile.index, aligning), make)


def _place_all(
    run: Run,
    index: int,
    entry: RunEntry | None,
    aligning: Aligning,
    around_ns: tuple[int, int] | None = None,
) -> tuple[Placed, ...]:
    """Every channel of a trace's own host on that trace."""
    if not run.power:
        return ()
    from powertui.data.energy import align

    return align.place_all(run, index, entry, aligning, around_ns)


def key(index: int, aligning: Aligning) -> tuple[object, ...]:
    """Under what an account is kept with the run."""
    return ("account", index, aligning)


def findings(profile: Profile, aligning: Aligning | None = None) -> Findings:
    """What stands out in a profile, and which ops ran longer there: worked out once."""
    from powertui.data.tools.longer_ops import LongerOps

    how = aligning or Aligning()
    training = profile.opened.around

    def compare() -> Findings:
        others_look_around = training is not None and training.looks_around(profile, how)
        account = energy_account(profile, how)
        ops = LongerOps(profile.trace)
        result = account.compare(ops, profile.opened.run.scalars, around=others_look_around)
        is_long = account.power is not None and len(account.power.times) > LONG_LOG_READINGS
        if others_look_around and is_long:
            packed.give_back()
        if training is None:
            return result
        return cast("Findings", training.findings(profile, result, how))

    return profile.opened.cached(("findings", profile.index, how), compare)


def of_run(
    run: Run,
    index: int,
    entry: RunEntry | None = None,
    aligning: Aligning | None = None,
) -> Account:
    """The account of one trace of a run that nobody holds open."""
    how = aligning or Aligning()
    return _of_run(run, index, _place_all(run, index, entry, how), how)


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
    account = of_placed(
        trace=run.traces[index],
        steps=run.steps[index],
        epochs=run.epochs[index],
        placed=placed,
        idle_w=how.idle_w,
        machine=MachineShare(tuple(beside), share.owners),
    )
    return replace(account, share=share)


def of_placed(
    trace: Trace,
    steps: Steps,
    epochs: Epochs,
    placed: Sequence[Placed],
    *,
    idle_w: float | None = None,
    machine: MachineShare | None = None,
) -> Account:
    """The account of channels that are on the trace already."""
    shared = machine or MachineShare()
    placed = [
        replace(channel, power=replace(channel.power, borders=trace.span)) for channel in placed
    ]
    power = [channel.power for channel in placed]
    pairs_of = functools.cache(lambda: devices.pairs(trace, power))
    gpus = profiled_gpus.other_gpus((trace, *shared.beside), power, pairs_of, shared.assigned())
    counted = counted_channels(placed, trace.span, shared, gpus)
    channels = [power[row] for row in counted.rows]
    return Account(
        trace=trace,
        steps=steps,
        epochs=epochs,
        placed=tuple(placed),
        counted=counted.rows,
        text=counted.text,
        idle_of=functools.cache(lambda: idle_power(channels, trace, epochs, idle_w)),
        pairs_of=pairs_of,
        other_gpus=gpus,
    )
