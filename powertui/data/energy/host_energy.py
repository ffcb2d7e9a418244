"""What a run drew: each of its hosts once, and all of them together.

Every host has an alignment, an idle power and a profile of its own, so its joules are those of its
own account. The run's are their sum, and only where every host has some: a part of a run is not the
run. Power that belongs to no host is in neither.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from powertui.data.asked import Aligning
from powertui.data.energy import account, tables
from powertui.data.energy.account import Account
from powertui.data.energy.counted_energy import combined
from powertui.data.energy.measured_energy import Energy
from powertui.data.opened import Opened
from powertui.data.table import Place, Table, text_column
from powertui.value_types import dataclass

_NO_POWER = "no power belongs to this host"
_ALL = "all hosts"


@dataclass(frozen=True, eq=False)
class RunEnergy:
    """Joules of every host over its whole profile, and their sum."""

    hosts: tuple[str, ...]
    indices: tuple[int, ...]  # of the trace that stands for each host
    energies: tuple[Energy | None, ...]
    total: Energy | None
    leads: tuple[Account, ...]  # of each host, that of the trace that stands for it

    @functools.cached_property
    def epochs(self) -> tuple[tuple[int, Energy | None], ...]:
        """(The program's own number, the sum over the hosts) of each epoch."""
        numbers = sorted({epoch.number for lead in self.leads for epoch in lead.epochs})
        return tuple(
            (number, _sum([_epoch(lead, number) for lead in self.leads], self.hosts))
            for number in numbers
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """The hosts whose joules are not known."""
        return tuple(
            h for h, e in zip(self.hosts, self.energies, strict=True) if e is None or not e.resolved
        )


def run_energy(opened: Opened, aligning: Aligning | None = None) -> RunEnergy:
    """A run's, worked out once for each way of aligning."""
    how = aligning or Aligning()
    return opened.cached(
        ("host energy", how),
        lambda: of_accounts([account.energy_account(profile, how) for profile in opened.profiles]),
    )


def of_accounts(accounts: Sequence[Account], *, idle: bool = True) -> RunEnergy:
    """Of the accounts of all traces of a run. Several traces of one machine (its workers, its
    ranks) share its power.

    `idle`: False where nobody asks what the hosts would have drawn idle, which takes longer to find
    than their joules.
    """
    groups: dict[str, list[Account]] = {}
    for index, one in enumerate(accounts):
        machine = one.share.machine if one.share is not None else one.trace.host
        groups.setdefault(machine or f"\0{index}", []).append(one)
    leads = [
        max(group, key=lambda one: one.trace.span[1] - one.trace.span[0])
        for group in groups.values()
    ]
    hosts = tuple("" if machine.startswith("\0") else machine for machine in groups)
    spans = [(lead, _span(group, lead)) for lead, group in zip(leads, groups.values(), strict=True)]
    energies = tuple(lead.energy(*span) if idle else lead.drew(*span) for lead, span in spans)
    return RunEnergy(
        hosts,
        tuple(accounts.index(lead) for lead in leads),
        energies,
        _sum(energies, hosts),
        tuple(leads),
    )


def _span(mine: Sequence[Account], lead: Account) -> tuple[int, int]:
    """From the first start to the last end of a machine's traces, on the clock of one of them."""
    lo, hi = lead.trace.span
    for one in mine:
        if one.trace.clock.known and lead.trace.clock.known:
            shift = (one.trace.clock.mid_ns - lead.trace.clock.mid_ns) * 1000
            lo, hi = min(lo, one.trace.span[0] + shift), max(hi, one.trace.span[1] + shift)
    return lo, hi


def _epoch(one: Account, number: int) -> Energy | None:
    return next((epoch.energy for epoch in one.epoch_energies if epoch.number == number), None)


def _sum(parts: Sequence[Energy | None], hosts: Sequence[str]) -> Energy | None:
    """The hosts' joules, added up; not resolved, with the hosts that are missing, where one has
    none.
    """
    known = [part for part in parts if part is not None and part.resolved]
    if not known:
        return next((part for part in parts if part is not None), None)  # which says why
    lacking = [
        host or "a host"
        for host, part in zip(hosts, parts, strict=True)
        if part is None or not part.resolved
    ]
    both = combined(known)
    if not lacking or both is None:
        return _all_idle(both, known)
    return without_hosts(both, lacking)


def without_hosts(drawn: Energy, lacking: Sequence[str]) -> Energy:
    """Not resolved: what some hosts drew, where nothing is known of these others."""
    names = ", ".join(lacking[:4]) + (f" and {len(lacking) - 4} more" if len(lacking) > 4 else "")
    return replace(
        drawn,
        resolved=False,
        joules=None,
        lo=None,
        hi=None,
        mean_w=None,
        max_w=None,
        gain_j=None,
        other_joules=None,
        idle_joules=None,
        active_joules=None,
        covered_joules=drawn.joules or 0.0,
        reason=f"not known for {names}",
    )


def _all_idle(both: Energy | None, parts: Sequence[Energy]) -> Energy | None:
    """The same with the idle machines' joules, where all are known."""
    idle = [part.idle_joules for part in parts if part.idle_joules is not None]
    if both is None or both.joules is None:
        return both
    if len(idle) < len(parts):
        return replace(both, idle_joules=None, active_joules=None)
    return replace(both, idle_joules=sum(idle), active_joules=both.joules - sum(idle))


def table(opened: Opened, found: RunEnergy) -> Table:
    """One row a host, and one for the run."""
    names = [*found.hosts, _ALL]
    energies = [*found.energies, found.total]

    def place(row: int) -> Place | None:
        if row >= len(found.indices):
            return None
        index = found.indices[row]
        return Place(opened.name, index, *opened.profiles[index].trace.span)

    columns = (text_column("of", "host", names, weight=9), *tables.figures(energies))
    return Table(
        "hosts",
        "Energy of each host",
        columns,
        place,
        empty=tables.NO_POWER,
        key=("of",),
        noun="row",
    )


def told(found: RunEnergy, cells: Callable[[Energy | None], list[str]]) -> list[list[str]]:
    """The rows of a report: hosts, then all together, then each epoch of all together."""
    rows = [
        [host, *cells(energy)] for host, energy in zip(found.hosts, found.energies, strict=True)
    ]
    rows.append([_ALL, *cells(found.total)])
    return rows + [[f"  epoch {number}", *cells(energy)] for number, energy in found.epochs]
