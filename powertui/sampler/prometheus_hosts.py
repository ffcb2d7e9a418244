"""Which machines of a server's series are those of a run.

This only keeps away what nobody asked for. Whose power a channel is, is decided by the rules of
ownership, which look at the names again (`data/energy/power_owners.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from powertui.errors import SensorError
from powertui.power_server import HOST_LABELS

__all__ = ["chosen_machines", "machine_label", "machine_names"]

# Where no name fits, all of so few machines are taken: their owner is found out later, or assigned
# with --power-host.
_MAX_UNNAMED = 8
_MAX_SHOWN = 4
_PORT = re.compile(r":[0-9]{1,5}$")
# What the name of a management controller has beside that of its machine.
_CONTROLLER = re.compile(r"i?bmc[0-9]?|ipmi|ilo|i?drac|imm|xcc|oob|mgmt|mgt|management|redfish")
_ADDRESS = re.compile(r"[0-9.]+|.*:.*:.*")


def machine_label(labels: Mapping[str, str]) -> str:
    """The label that names the machine of a series; "" where none does."""
    return next((name for name in HOST_LABELS if labels.get(name)), "")


def chosen_machines(
    machines: Collection[str],
    hosts: Collection[str],
    server: str,
    *,
    keep_all: bool,
) -> frozenset[str] | None:
    """The machines of these hosts, as labels name them; None: all.

    Raises SensorError where it cannot be told which of many they are.
    """
    if not hosts:
        return None
    names = {name for host in hosts for name in machine_names(host)}
    fitting = frozenset(machine for machine in machines if machine_names(machine) & names)
    if fitting:
        return fitting
    if keep_all or len(machines) <= _MAX_UNNAMED:
        return None
    shown = sorted(machine for machine in machines if machine)[:_MAX_SHOWN]
    raise SensorError(
        f"{server} has power of {len(machines)} machines ({', '.join(shown)}, …), and none is "
        f"named like a host of the run ({', '.join(sorted(hosts)[:_MAX_SHOWN])}).",
        hint="Say which one it is: --power-host MACHINE=HOST, or prometheus://…?instance=MACHINE.",
    )


def machine_names(machine: str) -> set[str]:
    """What a name may be short for: without port, domain and what only a controller has."""
    bare = _PORT.sub("", machine.strip().casefold()).strip("[]")
    if not bare or _ADDRESS.fullmatch(bare):
        return {bare} - {""}
    labels = [label for label in bare.split(".") if not _CONTROLLER.fullmatch(label)]
    first = labels[0] if labels else bare
    words = [word for word in re.split("[-_]", first) if not _CONTROLLER.fullmatch(word)]
    return {bare, first, "-".join(words)} - {""}
