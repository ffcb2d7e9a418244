"""Which of a BMC's sensors stands for the machine's power, whichever program asks it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from powertui.errors import NotSupported

DCMI_CHANNEL = "power"

# Names that BMCs give to the power of the whole machine, best first.
_MACHINE_POWER_NAMES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^total[ _]?power$",
        r"^(system|sys|node|chassis)[ _]?(power|pwr)",
        r"^(power|pwr)[ _]?(consumption|input|total|system|sys)",
        r"total",
    )
]


def covers_machine(name: str) -> bool:
    """Whether a sensor of this name stands for the whole machine."""
    return any(pattern.search(name) for pattern in _MACHINE_POWER_NAMES)


def pick_sensors(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The sensors that a person asked for, or the one that covers the whole machine.

    Wildcards as in a shell.
    """
    if patterns:
        chosen: list[str] = []
        for pattern in patterns:
            hits = [
                n
                for n in names
                if n.casefold() == pattern.casefold()
                or fnmatch.fnmatch(n.casefold(), pattern.casefold())
            ]
            if not hits:
                raise NotSupported(
                    f"There is no power sensor {pattern!r}.",
                    hint="The sensors are: " + (", ".join(names) or "none") + ".",
                )
            chosen += [n for n in hits if n not in chosen]
        return chosen
    for pattern_ in _MACHINE_POWER_NAMES:
        for name in names:
            if pattern_.search(name):
                return [name]
    if len(names) == 1:
        return list(names)
    return []
