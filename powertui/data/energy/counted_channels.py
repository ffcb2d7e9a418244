"""Which channels of a trace's machine are added up, and what the machine draws when it rests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from powertui.data.energy import expected_work, idle, log_alignment, main_log, meeting, scopes
from powertui.data.energy.idle import IdlePower
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.owner_evidence import Owner
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.model import Epochs, PowerOnTrace, Trace
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class MachineShare:
    """What a trace shares its machine's power with, and on what evidence each channel is that
    machine's.
    """

    beside: tuple[Trace, ...] = ()  # the other traces of the machine
    owners: tuple[Owner, ...] = ()  # of each channel; empty where nobody asked

    def assigned(self) -> frozenset[int]:
        """The channels that a person gave to the machine."""
        return self._rows(lambda owner: owner.how is HostEvidence.SAID)

    def assumed(self) -> frozenset[int]:
        """The channels that are only assumed to be the machine's."""
        return self._rows(lambda owner: owner.is_assumed)

    def single(self) -> frozenset[int]:
        """The channels that a person gave to the machine one by one."""
        return self._rows(lambda owner: owner.is_single)

    def _rows(self, is_so: Callable[[Owner], bool]) -> frozenset[int]:
        return frozenset(row for row, owner in enumerate(self.owners) if is_so(owner))


class CountedChannels(NamedTuple):
    """Channels that are added up, and which they are and why, in words."""

    rows: tuple[int, ...]
    text: str


def counted_channels(
    placed: Sequence[Placed],
    span: tuple[int, int],
    machine: MachineShare,
    other_gpus: Collection[int],
) -> CountedChannels:
    """Of all channels, those that are added up.

    `other_gpus`: GPUs that are none of the profile's.
    """
    power = [channel.power for channel in placed]
    here = [row for row in main_log.order(power, span) if not placed[row].alignment.elsewhere]
    usable = _usable(power, here, span)
    assumed = machine.assumed()
    single = machine.single()
    total = scopes.of_one(
        [power[row].series for row in usable],
        assumed=[at for at, row in enumerate(usable) if row in assumed],
        single=[at for at, row in enumerate(usable) if row in single],
        other_gpus=[at for at, row in enumerate(usable) if row in other_gpus],
    )
    text = total.text
    unused = len(here) - len(usable)
    if unused and text:
        text += (
            f"; {unused} channel{'s' if unused > 1 else ''} not counted: aligned less "
            "certainly, or at another time"
        )
    why_main = main_log.why([power[row] for row in here], span)
    if why_main and text:
        text += f"; {why_main}"
    return CountedChannels(tuple(usable[at] for at in total.indices), text)


def _usable(
    power: Sequence[PowerOnTrace],
    rows: Iterable[int],
    span: tuple[int, int],
) -> list[int]:
    """Of these channels, in this order, those placed as surely as any that meets the trace; of
    these the ones that cover it; of these the ones that more than their own power places.
    """
    rows = [*rows]
    usable = [row for row in rows if meeting.meets(power[row], span)] or rows
    ranks = {row: main_log.placement_rank(power[row]) for row in usable}
    surest = min(ranks.values(), default=0)
    usable = [row for row in usable if ranks[row] == surest]
    if len(usable) < 2:
        return usable
    covering = [
        row for row in usable if main_log.coverage(power[row], span) >= main_log.ENOUGH_COVERAGE
    ]
    usable = covering or usable
    by_clock = [row for row in usable if power[row].source != log_alignment.SIGNAL]
    return by_clock or usable


def idle_power(
    channels: Sequence[PowerOnTrace],
    trace: Trace,
    epochs: Epochs,
    given: float | None,
) -> IdlePower:
    """Idle power of all counted channels together."""
    if given is not None:
        return idle.given(given)
    if not channels or any(channel.status == "none" for channel in channels):
        return IdlePower(None)
    return idle.of_all(channels, _busy(trace, epochs))


def _busy(trace: Trace, epochs: Epochs) -> idle.When:
    """When something ran.

    Around the profile that is unknown, unless the epochs tell when training began and ended.
    """
    bounds = [epoch.start for epoch in epochs if epoch.start is not None]
    bounds += [epoch.end for epoch in epochs if epoch.end is not None]
    first = min([*bounds, trace.span[0]])
    last = max([*bounds, trace.span[1]])
    starts, ends = [], []
    for activity in expected_work.activities(trace):
        is_working = activity.kind > expected_work.WAIT
        starts.append(activity.edges[:-1][is_working])
        ends.append(activity.edges[1:][is_working])
    # Beside the profile nothing is known to rest.
    starts.append(np.array([first, trace.span[1]], np.int64))
    ends.append(np.array([trace.span[0], last], np.int64))
    return idle.When(
        los=np.concatenate(starts),
        his=np.concatenate(ends),
        first=first,
        last=last,
        ends_known=bool(bounds),
    )
