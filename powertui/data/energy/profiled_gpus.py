"""Which GPUs of a log are those that a machine's profiles show.

A log may hold all eight GPUs of a machine of which a program used one: the others are somebody
else's, and count in no sum of that program's parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from powertui.data.energy import devices, scopes
from powertui.data.energy.devices import Pair
from powertui.data.model import IN_TRACE, Device, PowerOnTrace, Scope, Trace


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
    gpu_rows = []
    for row, channel in enumerate(power):
        sensor = channel.series.sensor
        # What a device of the profile counted itself is its own, whatever a person gave to it.
        if sensor.scope is Scope.GPU and sensor.source != IN_TRACE:
            gpu_rows.append(row)
    all_gpus = frozenset(gpu_rows)
    assigned_gpus = all_gpus.intersection(assigned)
    if assigned_gpus and len(assigned_gpus) < len(all_gpus):
        return all_gpus - assigned_gpus
    if _are_foreign(traces, power, gpu_rows):
        return all_gpus
    logged = devices.one_each(power)
    profiled = [devices.gpu_count(trace) for trace in traces]
    if len(logged) == 1 and profiled == [1] and own_pairs()[0].channel is None:
        return all_gpus
    if not logged or not sum(profiled) or len(logged) <= max(profiled):
        return frozenset()
    chosen = _paired_rows(traces, power, own_pairs())
    if chosen is None and len(logged) > sum(profiled):
        chosen = _by_local_rank(traces, logged)
    elif chosen is None:
        chosen = list(logged)
    chosen_devices = [logged[row] for row in chosen]
    others = []
    for row in gpu_rows:
        if not _is_one_of(power[row], row, chosen, chosen_devices):
            others.append(row)
    return frozenset(others)


def _are_foreign(
    traces: Sequence[Trace],
    power: Sequence[PowerOnTrace],
    gpu_rows: Sequence[int],
) -> bool:
    """Whether all of these channels and all GPUs of the traces have UUIDs, and none in common."""
    shown = [devices.shown_uuids(trace) for trace in traces]
    logged: set[str] = set()
    for row in gpu_rows:
        device = power[row].series.sensor.device
        logged.add(device.uuid.casefold() if device is not None else "")
    if not logged or "" in logged or not shown or None in shown:
        return False
    return not any(logged & uuids for uuids in shown if uuids)


def _paired_rows(
    traces: Sequence[Trace],
    power: Sequence[PowerOnTrace],
    first_pairs: Sequence[Pair],
) -> list[int] | None:
    """The channel of each GPU of all traces; None where one has none, or two have the same."""
    pairs = list(first_pairs)
    for trace in traces[1:]:
        pairs += devices.pairs(trace, power, on_its_clock=False)
    rows = [pair.channel for pair in pairs if pair.channel is not None]
    if len(rows) < len(pairs) or len(set(rows)) < len(rows):
        return None
    return rows


def _is_one_of(
    channel: PowerOnTrace,
    row: int,
    rows: Collection[int],
    gpus: Sequence[Device],
) -> bool:
    """Whether a channel is one of these rows, or another way to read the same GPU."""
    if row in rows:
        return True
    device = scopes.device(channel.series.sensor)
    if device is None:
        return False
    return any(devices.is_same(device, gpu) for gpu in gpus)


def _by_local_rank(traces: Sequence[Trace], logged: dict[int, Device]) -> list[int]:
    """One channel for each process, by its number on its machine: where each sees one GPU alone,
    its program numbers it 0. Empty where that does not fit.
    """
    row_of_index = {device.index: row for row, device in logged.items()}
    chosen: list[int] = []
    for trace in traces:
        if trace.launch is None or devices.gpu_count(trace) != 1:
            return []
        rank = trace.launch.local_rank
        if rank is None or rank not in row_of_index:
            return []
        chosen.append(row_of_index[rank])
    is_one_each = len(set(chosen)) == len(chosen)
    return chosen if is_one_each else []
