"""Values and differences of a comparison as a person reads them."""

from __future__ import annotations

from powertui import units
from powertui.data.compare.figure import ComparedFigure
from powertui.data.model import PS_PER_S

# Below half a nanosecond and a microjoule a difference is the rounding of the files.
_LEAST_SHOWN = {"s": 0.5e-9, "J": 1e-6}


def in_unit(value: float | None, unit: str) -> str:
    """A value with its unit; "" for None."""
    if value is None:
        return ""
    if abs(value) < _LEAST_SHOWN.get(unit, 0.0):
        value = 0.0
    if unit == "s":
        return units.duration(round(value * PS_PER_S))
    return units.quantity(value, unit)


def signed(value: float | None, unit: str) -> str:
    """A difference with its sign: "+3.1 ms"."""
    words = in_unit(value, unit)
    if value is None or value <= _LEAST_SHOWN.get(unit, 0.0):
        return words
    return f"+{words}"


def both_sides(figure: ComparedFigure) -> str:
    """The values of both sides: "50.06 ms in A, 52.64 ms in B"."""
    a = in_unit(figure.a, figure.unit)
    b = in_unit(figure.b, figure.unit)
    return f"{a} in A, {b} in B"


def size_of_difference(figure: ComparedFigure) -> str:
    """The difference without its sign."""
    return in_unit(abs(figure.difference or 0.0), figure.unit)


def change(figure: ComparedFigure) -> str:
    """The difference in percent with its interval: "+3.1 %, 95 % +1.2 to +5.0 %"."""
    if not figure.a or figure.difference is None:
        return "no ratio"
    words = _percent(figure.difference, figure.a)
    judgement = figure.judgement
    if judgement.lo is None or judgement.hi is None:
        return f"{words} %"
    lo = _percent(judgement.lo, figure.a)
    hi = _percent(judgement.hi, figure.a)
    return f"{words} %, 95 % {lo} to {hi} %"


def _percent(difference: float, a: float) -> str:
    return f"{100 * difference / a:+.3g}"
