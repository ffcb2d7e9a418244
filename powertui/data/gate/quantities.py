"""What a limit can be put on: the names, their units, and how each is measured."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass


@dataclass(frozen=True)
class GateQuantity:
    """Something that one run has one value of."""

    name: str
    unit: str
    measured: str  # how, as a fragment
    more_is_better: bool = False
    is_power: bool = False  # whose readings carry the gain of a sensor


STEP = "step_s"
MEDIAN_STEP = "step_median_s"
QUARTILE_STEP = "step_p25_s"
STEPS_PER_S = "steps/s"
DEVICE = "device_s"
INPUT_SHARE = "input_share"
STEP_JOULES = "J/step"
WATTS = "W"
JOULES = "J"
MEMORY = "memory_B"
SHARE = "share"  # the unit of a part of a whole

_FIXED = (
    GateQuantity(STEP, "s", "mean of the steps that are compared, each up to the next one's start"),
    GateQuantity(MEDIAN_STEP, "s", "median of the same steps"),
    GateQuantity(QUARTILE_STEP, "s", "lower quartile of the same steps"),
    GateQuantity(STEPS_PER_S, "steps/s", "1 ÷ step_s", more_is_better=True),
    GateQuantity(DEVICE, "s", "time of a step in which a device works; of several, their mean"),
    GateQuantity(INPUT_SHARE, SHARE, "share of a step that waits for input"),
    GateQuantity(STEP_JOULES, "J", "mean energy of a step, all hosts together", is_power=True),
    GateQuantity(WATTS, "W", "mean power while steps run", is_power=True),
    GateQuantity(JOULES, "J", "energy of the whole profile or window", is_power=True),
    GateQuantity(MEMORY, "B", "largest reading of the memory counters"),
)
OP, KERNEL, CATEGORY = "op:", "kernel:", "category:"
_NAMED = {
    OP: "own time per step of ops of this name, on the devices where it ran there, else the host",
    KERNEL: "time per step of the kernels of this name (PyTorch traces)",
    CATEGORY: "time per step in this category of the step breakdown",
}
_BY_NAME = {quantity.name: quantity for quantity in _FIXED}
# What a baseline is held against where no quantity is named. A few slow steps move the mean by more
# than a tolerance and hide everything else, so the median and the watts decide; the means beside
# them are watched. Of 100 simulated pairs of five unchanged runs the median was called "within 3 %"
# in 48 where something slows the machine for a while, in 100 with single long steps and in 87 with
# regular ones; the mean in 12, 40 and 17.
COMPARED = (MEDIAN_STEP, WATTS)
WATCHED = (STEP, STEP_JOULES)

LISTED = ", ".join((*_BY_NAME, *(f"{prefix}NAME" for prefix in _NAMED)))
_MAX_NAME_CHARACTERS = 120  # of a name in an error


def fixed_quantities() -> tuple[GateQuantity, ...]:
    """Those that are always there, in the order in which they are listed."""
    return _FIXED


def quantity(name: str) -> GateQuantity:
    """The quantity that a person wrote. Raises `UsageError` with the list for another name."""
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    for prefix, measured in _NAMED.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            return GateQuantity(name, "s", measured)
    near = difflib.get_close_matches(name, _BY_NAME, 1)
    if near:
        meant = f" Did you mean {near[0]}?"
    else:
        meant = ""
    raise UsageError(
        f"There is no quantity {plain(name, _MAX_NAME_CHARACTERS)!r}.{meant}",
        hint=f"There are: {LISTED}.",
    )


def prefix_of(name: str) -> str:
    """The prefix of a quantity that carries a name; "" for a fixed one."""
    return next((prefix for prefix in _NAMED if name.startswith(prefix)), "")


def near_names(name: str, others: Iterable[str]) -> list[str]:
    """Names with the same prefix that this one may have meant; none of a page's length."""
    prefix = prefix_of(name)
    same_kind = []
    for other in others:
        if prefix and other.startswith(prefix) and len(other) <= _MAX_NAME_CHARACTERS:
            same_kind.append(other)
    return difflib.get_close_matches(name[:_MAX_NAME_CHARACTERS], same_kind, 3, cutoff=0.5)
