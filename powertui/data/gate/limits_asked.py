"""Limits and tolerances as a person writes them: "J/step=24", "step_s=50ms", "op:MatMul=10%"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from powertui.data.gate.quantities import (
    COMPARED,
    LISTED,
    SHARE,
    WATCHED,
    GateQuantity,
    quantity,
)
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

_DEFAULT_TOLERANCE = 0.05  # of the baseline; what `compare` takes for a difference worth seeing
_MAX_TOLERANCE = 10.0  # 1000 %: more is a slip
_MAX_LIMITS = 200  # no job has more; each costs a row
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(\S*)", re.ASCII)
_SCALES: dict[str, dict[str, float]] = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "J": {"J": 1.0, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6},
    "W": {"W": 1.0, "mW": 1e-3, "kW": 1e3},
    "B": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20}
    | {"GiB": 2.0**30},
    SHARE: {"%": 0.01},
    "steps/s": {"steps/s": 1.0, "/s": 1.0},
}
_SHOWN_CHARACTERS = 80  # of what a person wrote, in an error


@dataclass(frozen=True)
class FixedLimit:
    """The most, or the least, that a quantity may be."""

    quantity: GateQuantity
    value: float  # in the quantity's unit
    is_least: bool


@dataclass(frozen=True)
class Tolerance:
    """By how much a quantity may be worse than the baseline's."""

    quantity: GateQuantity
    share: float
    is_watched: bool = False  # "cannot say" does not stop anybody, "above" does


def fixed_limit(words: str, *, is_least: bool) -> FixedLimit:
    """A limit from "NAME=NUMBER". Raises `UsageError` with the quantities that there are."""
    option = "--min" if is_least else "--max"
    name, sign, number = words.rpartition("=")
    if not sign:
        raise UsageError(
            f"{option} {plain(words, _SHOWN_CHARACTERS)}: is not a quantity and a number.",
            hint=f"Write it like {option} 'J/step=24'. The quantities are {LISTED}.",
        )
    meant = quantity(name.strip())
    value = _in_unit(number.strip(), meant.unit)
    if value is None:
        raise UsageError(
            f"{option} {plain(words, _SHOWN_CHARACTERS)}: {plain(number.strip(), 40)!r} "
            f"is not a number of {_unit_words(meant.unit)}.",
            hint=f"The quantities are {LISTED}.",
        )
    return FixedLimit(meant, value, is_least)


def _in_unit(number: str, unit: str) -> float | None:
    match = _NUMBER.fullmatch(number)
    if match is None:
        return None
    if match[2]:
        scale = _SCALES[unit].get(match[2])
    else:
        scale = 1.0
    if scale is None:
        return None
    value = float(match[1]) * scale
    return value if math.isfinite(value) else None


def _unit_words(unit: str) -> str:
    if unit == SHARE:
        return "a share (0.05 or 5%)"
    return f"{unit} (or with its unit)"


def tolerances(words: Sequence[str], measured: Sequence[str]) -> tuple[Tolerance, ...]:
    """What is compared with the baseline, from all `--tolerance`.

    "3%" is for the usual quantities that the baseline has (`measured`); "J/step=5%" names one.
    """
    shares: dict[str, float] = {}
    for word in words:
        name, _, share = word.rpartition("=")
        name = name.strip()
        if name in shares:
            which = plain(name, _SHOWN_CHARACTERS) or "the usual quantities"
            raise UsageError(f"--tolerance is given twice for {which}.")
        shares[name] = _share(word, share)
    usual = shares.pop("", None)
    if usual is None and not shares:
        usual = _DEFAULT_TOLERANCE
    named = [Tolerance(quantity(name), share) for name, share in shares.items()]
    if usual is None:
        return tuple(named)
    out = []
    for name in COMPARED:
        is_wanted = name in measured or not quantity(name).is_power
        if name not in shares and is_wanted:
            out.append(Tolerance(quantity(name), usual))
    for name in WATCHED:
        if name not in shares and name in measured:
            out.append(Tolerance(quantity(name), usual, is_watched=True))
    return (*out, *named)


def _share(word: str, share: str) -> float:
    match = _NUMBER.fullmatch(share.strip())
    if match is None or match[2] != "%":
        raise UsageError(
            f"--tolerance {plain(word, _SHOWN_CHARACTERS)} is not a percentage.",
            hint="Write it like --tolerance 3% or --tolerance 'J/step=3%'.",
        )
    value = float(match[1]) / 100
    if not 0 <= value <= _MAX_TOLERANCE:
        raise UsageError(
            f"--tolerance {plain(word, _SHOWN_CHARACTERS)}: is not possible.",
            hint=f"A tolerance is 0% to {_MAX_TOLERANCE:.0%}.",
        )
    return value


def check_count(count: int) -> None:
    """Raises `UsageError` for more limits than anybody means."""
    if count > _MAX_LIMITS:
        raise UsageError(f"{count} limits are too many: {_MAX_LIMITS} at most.")
