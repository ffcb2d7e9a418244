"""Which of a BMC's sensors stands for the machine's power, whichever program asks it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from powertui.errors import NotSupported

DCMI_CHANNEL = "power"

# Names that BMCs give to the power of the whole machine, best first: IBM's "Total Power" before
# the others, and any "total" last, which may be a total of the fans.
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
        return _matching(names, patterns)
    for machine_power in _MACHINE_POWER_NAMES:
        for name in names:
            if machine_power.search(name):
                return [name]
    # The only one that there is. Among several none is guessed: each may be one power supply.
    if len(names) == 1:
        return list(names)
    return []


def _matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """In the order in which they were asked for, none of them twice."""
    chosen: list[str] = []
    for pattern in patterns:
        folded = pattern.casefold()
        # Equal first: a name may hold brackets, which a pattern would not match.
        hits = [
            name
            for name in names
            if name.casefold() == folded or fnmatch.fnmatch(name.casefold(), folded)
        ]
        if not hits:
            raise NotSupported(
                f"There is no power sensor {pattern!r}.",
                hint="The sensors are: " + (", ".join(names) or "none") + ".",
            )
        chosen += [name for name in hits if name not in chosen]
    return chosen
