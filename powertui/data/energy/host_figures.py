"""What tells the hosts of a run apart, for a list that is sorted by it: how far each is behind the
others, how long it waited in collectives, what it drew.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.energy import host_energy
from powertui.data.model import Floats
from powertui.data.opened import Opened
from powertui.data.run.rank_collectives import RankCalls
from powertui.data.tools import hosts
from powertui.data.tools.rank_lateness import medians_of_others, run_lateness
from powertui.named_tuples import NamedTuple

HostOrder = Literal["behind", "waited", "joules"]


class HostFigures(NamedTuple):
    """Of each profile of a run; NaN where it is not known."""

    behind_ps: Floats  # a step, over the median of the others, without collectives
    waited_ps: Floats  # in collectives, for whoever came last
    joules: Floats

    def order(self, by: HostOrder) -> list[int]:
        """The profiles by one of them, the largest first; those of which it is not known last."""
        columns = {
            "behind": self.behind_ps,
            "waited": self.waited_ps,
            "joules": self.joules,
        }
        column = columns[by]
        values = np.where(np.isnan(column), -np.inf, column)
        order: list[int] = np.argsort(-values, kind="stable").tolist()
        return order


def host_figures(opened: Opened, aligning: Aligning) -> HostFigures:
    """The figures of all hosts, worked out once; a matter of seconds for hundreds of hosts."""
    return opened.cached(("host figures", aligning), lambda: _figures(opened, aligning))


def _figures(opened: Opened, aligning: Aligning) -> HostFigures:
    count = len(opened.profiles)
    behind = np.full(count, np.nan)
    waited = np.full(count, np.nan)
    common = hosts.together(opened, "corrected")
    if common is not None:
        numbers = {profile.host: number for number, profile in enumerate(opened.profiles)}
        for host, ps in _excess_of_hosts(common):
            behind[numbers[host]] = ps
    lateness = run_lateness(opened)
    if lateness is not None:
        ranks = lateness.matched.ranks
        for rank, ps in zip(ranks, lateness.waited().tolist(), strict=True):
            waited[rank.host] = np.nansum([waited[rank.host], ps])
        if common is None:
            _by_lateness(behind, lateness.mean_late, ranks)
    return HostFigures(
        behind_ps=behind,
        waited_ps=waited,
        joules=_joules(opened, aligning),
    )


def _excess_of_hosts(common: hosts.CommonSteps) -> list[tuple[str, float]]:
    """How far the mean step of each host that is compared is over the median of the others."""
    comparison = common.comparison()
    if not comparison.times.size:
        return []
    means = comparison.times.mean(axis=0)[None, :]
    excess = means - medians_of_others(means)
    names = [common.hosts[member] for member in comparison.members.tolist()]
    return list(zip(names, excess[0].tolist(), strict=True))


def _joules(opened: Opened, aligning: Aligning) -> Floats:
    """What each host drew; NaN where that is not known."""
    joules = np.full(len(opened.profiles), np.nan)
    if opened.run.power:
        energy = host_energy.run_energy(opened, aligning)
        for number, of_host in zip(energy.indices, energy.energies, strict=True):
            if of_host is not None and of_host.joules is not None:
                joules[number] = of_host.joules
    return joules


def _by_lateness(
    behind: Floats,
    late: Floats,
    ranks: tuple[RankCalls, ...],
) -> None:
    """Where no steps are found, how late a host comes to collectives says how far it is behind."""
    for rank, ps in zip(ranks, late.tolist(), strict=True):
        behind[rank.host] = np.fmax(behind[rank.host], ps)
