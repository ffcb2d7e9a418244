"""Values and differences of a comparison as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from powertui import units
from powertui.data.compare.figure import LEAST_MEASURED, ComparedFigure
from powertui.data.compare.kernel_figures import LAUNCHES
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S
from powertui.data.names_in_words import in_distinct_words, in_words


def is_listed(figure: ComparedFigure) -> bool:
    """Whether a person reads it: launches are for programs, and 0 beside 0 is for nobody."""
    return figure.unit != LAUNCHES and not figure.is_nothing


def in_unit(value: float | None, unit: str) -> str:
    """A value with its unit; "" for None."""
    if value is None:
        return ""
    if abs(value) < LEAST_MEASURED.get(unit, 0.0):
        value = 0.0
    if unit == "s":
        return units.duration(round(value * PS_PER_S))
    return units.quantity(value, unit)


def signed(value: float | None, unit: str) -> str:
    """A difference with its sign: "+3.1 ms"."""
    words = in_unit(value, unit)
    if value is None or value <= 0:
        return words
    is_rounding = value < LEAST_MEASURED.get(unit, 0.0)
    if is_rounding:
        return words
    return f"+{words}"


def both_sides(figure: ComparedFigure) -> str:
    """The values of both sides: "50.06 ms in A, 52.64 ms in B"."""
    a = in_unit(figure.a, figure.unit)
    b = in_unit(figure.b, figure.unit)
    return f"{a} in A, {b} in B"


def size_of_difference(figure: ComparedFigure) -> str:
    """The difference without its sign."""
    size = abs(figure.difference or 0.0)
    return in_unit(size, figure.unit)


def ratio(figure: ComparedFigure) -> str:
    """B as a multiple of A; "n/a" where A is 0, or so small that it is rounding."""
    if figure.ratio is None:
        if figure.a is None or figure.b is None:
            return ""
        return "n/a"
    if 0 < figure.ratio < _LEAST_RATIO:
        return f"<{_LEAST_RATIO}"
    if figure.ratio < _MANY_TIMES:
        return f"{figure.ratio:.3f}"
    if figure.ratio < _MOST_TIMES_WITH_TENTHS:
        return f"{figure.ratio:,.1f}"
    return f"{figure.ratio:,.0f}"


def change(figure: ComparedFigure) -> str:
    """The difference in percent with its interval: "+3.1 %, 95 % +1.2 to +5.0 %"."""
    if not figure.a or figure.ratio is None or figure.difference is None:
        return "no ratio"
    words = signed_percent(figure.difference / figure.a)
    judgement = figure.judgement
    if judgement.lo is None or judgement.hi is None:
        return f"{words} %"
    lo = signed_percent(judgement.lo / figure.a)
    hi = signed_percent(judgement.hi / figure.a)
    return f"{words} %, 95 % {lo} to {hi} %"


# What a ratio is written with: 0.905, 33.8, 1,000; less than a thousandth is not nothing.
_LEAST_RATIO = 0.001
_MANY_TIMES = 10.0
_MOST_TIMES_WITH_TENTHS = 100.0
_LEAST_PERCENT = 1e-3  # of files whose times are rounded to nanoseconds
_MANY_PERCENT = 999.5
IN_B = " in B)"  # behind what B calls an op
_OTHER_NAME = f" (another{IN_B}"
_DAY_NS = 24 * 3600 * NS_PER_S
_SHARED_CELLS = 48  # of a table's name column


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _TwoNames(_Named, Protocol):
    """A figure or a cause: what A calls it, and B where that differs."""

    @property
    def name_b(self) -> str: ...


def row_names(rows: Iterable[_TwoNames]) -> list[str]:
    """The first column of a table. Where a kernel's name is too long for it, all are in words, so
    that they read alike: ten names of C++ may begin with the same hundred letters.
    """
    rows = list(rows)
    names = [row.name for row in rows]
    names_b = [row.name_b for row in rows]
    if any(_is_long(name) for name in (*names, *names_b)):
        names_b = [_other_in_words(row.name, row.name_b) for row in rows]
        names = in_distinct_words(names)
    names = names_with_place(names, rows)
    return list(map(both_names, names, names_b))


def names_with_place(names: Sequence[str], rows: Sequence[_Named]) -> list[str]:
    """Names of which several are alike with where each runs: below which operator, on which side
    of the bus.
    """
    counts = Counter(names)
    out = []
    for name, row in zip(names, rows, strict=True):
        place = getattr(row, "within", "")
        is_ambiguous = counts[name] > 1
        if place and is_ambiguous:
            out.append(f"{name} · {place}")
        else:
            out.append(name)
    return out


def unmatched_names(rows: Sequence[_Named]) -> list[str]:
    """The same of what one side alone has."""
    names = [row.name for row in rows]
    if any(map(_is_long, names)):
        names = in_distinct_words(names)
    names = names_with_place(names, rows)
    return [_cut_in_middle(name, _SHARED_CELLS) for name in names]


def name_in_sentence(name: str, name_b: str, cells: int) -> str:
    """Both names of one op, in words where they are too long."""
    if len(name) + len(name_b) > cells:
        name_b = _other_in_words(name, name_b)
        name = in_words(name)
    return both_names(name, name_b, cells)


def _other_in_words(name: str, name_b: str) -> str:
    """What B calls it; "" where it reads as in A: functors of other lambdas are the same op."""
    words = in_words(name_b)
    if words == in_words(name):
        return ""
    return words


def _is_long(name: str) -> bool:
    return len(name) > _SHARED_CELLS


def both_names(name: str, name_b: str, cells: int = _SHARED_CELLS) -> str:
    """A name in so much room, and what B calls the same op: "fusion.3 (fusion.5 in B)"."""
    if not name_b:
        return _cut_in_middle(name, cells)
    room = cells - len(f" ({IN_B}")
    least_b = room // 2
    cells_b = max(least_b, room - len(name))
    short_b = cut(name_b, cells_b)
    short_a = cut(name, room - len(short_b))
    # Kernels of C++ may differ in their last letters alone, of hundreds.
    if short_a != name and name_b.startswith(short_a.removesuffix("…")):
        room = cells - len(_OTHER_NAME)
        return f"{cut(name, room)}{_OTHER_NAME}"
    return f"{short_a} ({short_b}{IN_B}"


def cut(name: str, cells: int) -> str:
    """A name that fits into so much room."""
    if len(name) <= cells:
        return name
    return f"{name[: cells - 1]}…"


def _cut_in_middle(name: str, cells: int) -> str:
    """The same with its end: names of libraries' kernels differ there."""
    if len(name) <= cells:
        return name
    tail = cells // 2
    head = cells - tail - 1
    return f"{name[:head]}…{name[-tail:]}"


def signed_percent(share: float) -> str:
    """A share with its sign and without its unit: "+3.1"; below a thousandth it is rounding."""
    percent = 100 * share
    if abs(percent) < _LEAST_PERCENT:
        return "+0"
    # Not as a power of ten.
    if abs(percent) >= _MANY_PERCENT:
        return f"{percent:+,.0f}"
    return f"{percent:+.3g}"


def time_apart(ns: float) -> str:
    """A pause between recordings: "35 min 10 s", "20 h 05 min", "3 days"."""
    days = round(ns / _DAY_NS)
    if days > 1:
        return f"{days} days"
    pause_ps = round(ns) * PS_PER_NS
    return units.duration(pause_ps)
