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
from powertui.data.columns import text_column
from powertui.data.energy import account
from powertui.data.energy.counted_energy import combined
from powertui.data.energy.hostnames import MAX_LISTED_NAMES
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_NS
from powertui.data.opened import Opened
from powertui.data.table import Place, Table
from powertui.value_types import dataclass

_NAMELESS = "\0"  # begins the key of a host without a name, which no name begins with
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
        numbers: set[int] = set()
        for lead in self.leads:
            numbers.update(epoch.number for epoch in lead.epochs)
        sums = []
        for number in sorted(numbers):
            energies = [_epoch_energy(lead, number) for lead in self.leads]
            sums.append((number, _sum(energies, self.hosts)))
        return tuple(sums)

    @property
    def missing(self) -> tuple[str, ...]:
        """The hosts whose joules are not known."""
        energies = zip(self.hosts, self.energies, strict=True)
        return tuple(host for host, energy in energies if energy is None or not energy.resolved)


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
    for row, of_trace in enumerate(accounts):
        share = of_trace.share
        machine = share.machine if share is not None else of_trace.trace.host
        name = machine or f"{_NAMELESS}{row}"
        groups.setdefault(name, []).append(of_trace)
    hosts = []
    leads = []
    energies = []
    for name, group in groups.items():
        lead = max(group, key=_length_ps)
        lo, hi = _span(group, lead)
        energy = lead.energy(lo, hi) if idle else lead.drew(lo, hi)
        hosts.append("" if name.startswith(_NAMELESS) else name)
        leads.append(lead)
        energies.append(energy)
    return RunEnergy(
        hosts=tuple(hosts),
        indices=tuple(accounts.index(lead) for lead in leads),
        energies=tuple(energies),
        total=_sum(energies, hosts),
        leads=tuple(leads),
    )


def _length_ps(of_trace: Account) -> int:
    lo, hi = of_trace.trace.span
    return hi - lo


def _span(group: Sequence[Account], lead: Account) -> tuple[int, int]:
    """From the first start to the last end of a machine's traces, on the clock of one of them."""
    lead_clock = lead.trace.clock
    lo, hi = lead.trace.span
    for of_trace in group:
        clock = of_trace.trace.clock
        if clock.known and lead_clock.known:
            shift_ps = (clock.mid_ns - lead_clock.mid_ns) * PS_PER_NS
            begin, end = of_trace.trace.span
            lo = min(lo, begin + shift_ps)
            hi = max(hi, end + shift_ps)
    return lo, hi


def _epoch_energy(of_trace: Account, number: int) -> Energy | None:
    for epoch in of_trace.epoch_energies:
        if epoch.number == number:
            return epoch.energy
    return None


def _sum(parts: Sequence[Energy | None], hosts: Sequence[str]) -> Energy | None:
    """The hosts' joules, added up; not resolved, with the hosts that are missing, where one has
    none.
    """
    resolved = [part for part in parts if part is not None and part.resolved]
    if not resolved:
        return next((part for part in parts if part is not None), None)  # which says why
    lacking = []
    for host, part in zip(hosts, parts, strict=True):
        if part is None or not part.resolved:
            lacking.append(host or "a host")
    total = combined(resolved)
    if not lacking or total is None:
        return _all_idle(total, resolved)
    return without_hosts(total, lacking)


def without_hosts(drawn: Energy, lacking: Sequence[str]) -> Energy:
    """Not resolved: what some hosts drew, where nothing is known of these others."""
    names = ", ".join(lacking[:MAX_LISTED_NAMES])
    if len(lacking) > MAX_LISTED_NAMES:
        names += f" and {len(lacking) - MAX_LISTED_NAMES} more"
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
    if both is None or both.joules is None:
        return both
    idle = [part.idle_joules for part in parts if part.idle_joules is not None]
    if len(idle) < len(parts):
        return replace(both, idle_joules=None, active_joules=None)
    idle_joules = sum(idle)
    return replace(
        both,
        idle_joules=idle_joules,
        active_joules=both.joules - idle_joules,
    )


def table(opened: Opened, energy: RunEnergy) -> Table:
    """One row a host, and one for the run."""
    from powertui.data.energy import tables

    names = [*energy.hosts, _ALL]
    energies = [*energy.energies, energy.total]

    def place(row: int) -> Place | None:
        if row >= len(energy.indices):
            return None
        index = energy.indices[row]
        return Place(opened.name, index, *opened.profiles[index].trace.span)

    columns = (text_column("of", "host", names, weight=9), *tables.figures(energies))
    return Table(
        id="hosts",
        title="Energy of each host",
        columns=columns,
        place=place,
        empty=tables.NO_POWER,
        key=("of",),
        noun="row",
    )


def told(energy: RunEnergy, cells: Callable[[Energy | None], list[str]]) -> list[list[str]]:
    """The rows of a report: hosts, then all together, then each epoch of all together."""
    rows = []
    for host, of_host in zip(energy.hosts, energy.energies, strict=True):
        rows.append([host, *cells(of_host)])
    rows.append([_ALL, *cells(energy.total)])
    for number, of_epoch in energy.epochs:
        rows.append([f"  epoch {number}", *cells(of_epoch)])
    return rows
