"""Giving power without a host to the host in front, from the alignment page.

It is what `--power-host` does on the command line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.energy import owner_notes, power_owners
from powertui.data.energy.power_owners import Belongings
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.model import Run
from powertui.plain import plain
from powertui.screens import nudging

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

_NOTHING = "All power in these logs belongs to a host of this run by its name."


def _on_offer(run: Run, belongings: Belongings, trace: int) -> list[str]:
    """The names (as of `--power-host`) of power that is nobody's, or was given to this host."""
    machine = belongings.of_trace[trace]
    names = []
    for series, owner in zip(run.power, belongings.owners, strict=True):
        was_given = owner.machine == machine and owner.how is HostEvidence.SAID
        if owner.machine is None or was_given:
            names.append(owner_notes.called(series, run.power))
    return list(dict.fromkeys(names))


def give_next(shell: Shell) -> str:
    """Give the power of the next name to the host in front, in place of the name before.

    After the last name, none is given. Returns a sentence that says what was done.
    """
    session = shell.session
    run = session.run
    opened = session.opened
    index = session.trace_index
    if run is None or opened is None or not session.complete or not run.traces or not run.power:
        return "There is no power to give to a host."
    belongings = power_owners.of_run(run)
    host = belongings.machines[belongings.of_trace[index]]
    if not host:
        return "This profile does not say which host it is of."
    names = _on_offer(run, belongings, index)
    if not names:
        return _NOTHING
    given_names = [name for name, owner in run.power_hosts if owner == host and name in names]
    given = given_names[0] if given_names else None
    if given is not None:
        after = names[names.index(given) + 1 :]
    else:
        after = names
    pairs = tuple(pair for pair in run.power_hosts if pair != (given, host))
    if after:
        others = [(name, owner) for name, owner in pairs if name != after[0]]
        pairs = ((after[0], host), *others)
    model = session.model
    opened.adopt(replace(run, power_hosts=pairs))
    if model is not None:
        opened.keep(("model", model.index), model)  # what is drawn does not depend on the power
    nudging.use(shell, session.aligning)
    name = plain((after or [given or ""])[0], 60)
    owner = plain(host, 60)
    if not after:
        return f"{name} no longer counts as {owner}'s power."
    more = " Press o for the next." if len(after) > 1 else ""
    return f"{name} is taken for {owner}'s power until you quit.{more}"
