"""Which GPUs of a log are those that a machine's profiles show.

A log may hold all eight GPUs of a machine of which a program used one: the others are somebody
else's, and count in no sum of that program's parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from powertui.data.energy import devices, scopes
from powertui.data.energy.devices import Pair
from powertui.data.model import Device, PowerOnTrace, Scope, Trace


def other_gpus(
    traces: Sequence[Trace],
    power: Sequence[PowerOnTrace],
    own_pairs: Callable[[], Sequence[Pair]],
    assigned: Collection[int] = (),
) -> frozenset[int]:
    """The GPU channels of one machine that are none of these profiles'; all, where nothing shows
    which of them are.

    All traces are of one session; the power is on the clock of the first, whose pairs are given.
    `assigned` are the channels that a person gave to the machine: where these are some of the GPUs,
    they are its own.
    """
    rows = [row for row, channel in enumerate(power) if channel.series.sensor.scope is Scope.GPU]
    said = [row for row in rows if row in assigned]
    if said and len(said) < len(rows):
        return frozenset(rows) - frozenset(said)
    logged = devices.one_each(power)
    shown = [devices.gpu_count(trace) for trace in traces]
    if not logged or not sum(shown) or len(logged) <= max(shown):
        return frozenset()
    found: list[int | None] = [pair.channel for pair in own_pairs()]
    for trace in traces[1:]:
        found += [pair.channel for pair in devices.pairs(trace, power, on_its_clock=False)]
    chosen = [row for row in found if row is not None]
    if len(chosen) < len(found) or len(set(chosen)) < len(chosen):
        chosen = _by_local_rank(traces, logged) if len(logged) > sum(shown) else list(logged)
    own = [logged[row] for row in chosen]
    return frozenset(row for row in rows if not _is_one_of(power[row], row, chosen, own))


def _is_one_of(
    channel: PowerOnTrace, row: int, chosen: Collection[int], own: Sequence[Device]
) -> bool:
    """Whether a channel is a chosen one, or another way to read the same GPU."""
    if row in chosen:
        return True
    device = scopes.device(channel.series.sensor)
    return device is not None and any(devices.is_same(device, listed) for listed in own)


def _by_local_rank(traces: Sequence[Trace], logged: dict[int, Device]) -> list[int]:
    """One channel for each process, by its number on its machine: where each sees one GPU alone,
    its program numbers it 0. Empty where that does not fit.
    """
    rows = {device.index: row for row, device in logged.items()}
    chosen: list[int] = []
    for trace in traces:
        number = trace.launch.local_rank if trace.launch is not None else None
        if number is None or number not in rows or devices.gpu_count(trace) != 1:
            return []
        chosen.append(rows[number])
    return chosen if len(set(chosen)) == len(chosen) else []
