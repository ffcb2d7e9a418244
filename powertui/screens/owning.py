"""Giving power that names no host of a run to the host that is looked at, from the alignment page:
`--power-host` by a key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.energy import power_owners
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.model import Run
from powertui.plain import plain
from powertui.screens import nudging

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

_NOTHING = "All power in these logs belongs to a host of this run by its name."


def _on_offer(run: Run, found: Belongings, trace: int) -> list[str]:
    """The names under which power is nobody's, or was given to this host: as `--power-host` would
    name them.
    """
    machine = found.of_trace[trace]
    names = [
        power_owners.called(one, run.power)
        for one, owner in zip(run.power, found.owners, strict=True)
        if owner.machine is None or (owner.machine == machine and owner.how is HostEvidence.SAID)
    ]
    return list(dict.fromkeys(names))


def give_next(shell: Shell) -> str:
    """Give the next name's power to the host that is looked at, in place of the one before; after
    the last, none. A sentence.
    """
    session = shell.session
    run, opened, index = session.run, session.opened, session.trace_index
    if run is None or opened is None or not session.complete or not run.traces or not run.power:
        return "There is no power to give to a host."
    found = power_owners.of_run(run)
    host = found.machines[found.of_trace[index]]
    names = _on_offer(run, found, index)
    if not host or not names:
        return _NOTHING if host else "This profile does not say which host it is of."
    taken = next((name for name, owner in run.power_hosts if owner == host and name in names), None)
    after = names[names.index(taken) + 1 :] if taken is not None else names
    said = tuple(pair for pair in run.power_hosts if pair != (taken, host))
    if after:
        said = ((after[0], host), *(pair for pair in said if pair[0] != after[0]))
    model = session.model
    opened.adopt(replace(run, power_hosts=said))
    if model is not None:
        opened.keep(("model", model.index), model)  # what is drawn does not depend on the power
    nudging.use(shell, session.aligning)
    name, owner = plain((after or [taken or ""])[0], 60), plain(host, 60)
    if not after:
        return f"{name} no longer counts as {owner}'s power."
    return (
        f"{name} is taken for {owner}'s power until you "
        f"quit.{' Press o for the next.' if len(after) > 1 else ''}"
    )
