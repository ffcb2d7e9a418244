"""The answer in a sentence: its size, its interval, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare import power_figures, run_scatter, step_figures
from powertui.data.compare.causes import Cause
from powertui.data.compare.figure import Basis, Figure, Verdict
from powertui.data.compare.matching import Matched
from powertui.data.model import PS_PER_S
from powertui.value_types import dataclass

# A part that explains less of the difference than this is not named as its source. Chosen: at half
# of it two small parts of many were named, at twice it a difference of three parts had no source.
_MIN_NAMED_SHARE = 0.25
# Below half a nanosecond and a microjoule a difference is the rounding of the files.
_LEAST_SHOWN = {"s": 0.5e-9, "J": 1e-6}
_CLOSING_ROWS = (cause_accounts.OTHER_OPS, cause_accounts.OUTSIDE_OPS, cause_accounts.POWER)


@dataclass(frozen=True)
class Counts:
    """How many runs each side has, and whether both are stretches of one."""

    a: int
    b: int
    same_run: bool


def answer(matched: Matched, causes: Sequence[Cause], counts: Counts) -> str:
    """What changed from A to B: the time of a step, and its joules."""
    time = _headline(matched)
    joules = matched.figure(power_figures.JOULES)
    if time is None:
        return "Nothing could be compared: neither steps nor a length of time are known."
    words = _of_time(time, causes, counts)
    return words if joules is None else f"{words} {_of_joules(joules)}"


def _headline(matched: Matched) -> Figure | None:
    """The mean step, unless only the usual ones differ: then a few slow steps hide it."""
    keys = (step_figures.STEP, step_figures.TYPICAL_STEP, step_figures.FAST_STEP)
    figures = [figure for figure in map(matched.figure, keys) if figure is not None]
    differing = [figure for figure in figures if figure.verdict is Verdict.DIFFERS]
    return next(iter(differing or figures), matched.figure(step_figures.WINDOW))


def _of_time(time: Figure, causes: Sequence[Cause], counts: Counts) -> str:
    sizes = f"{in_unit(time.a, 's')} in A, {in_unit(time.b, 's')} in B"
    noun = {
        step_figures.STEP.name: "A step takes",
        step_figures.TYPICAL_STEP.name: "The median step takes",
        step_figures.FAST_STEP.name: "The lower quartile of steps takes",
        step_figures.WINDOW.name: "It takes",
    }[time.name]
    change, basis = _change(time), _basis(time, counts)
    if time.verdict is Verdict.DIFFERS:
        longer = "longer" if (time.difference or 0) > 0 else "less"
        size = in_unit(abs(time.difference or 0), "s")
        words = f"{noun} {size} {longer} in B ({sizes}; {change}; {basis})"
        return f"{words}{_source(causes)}."
    if time.verdict is Verdict.WITHIN_NOISE:
        return f"No difference of time shows: {sizes} ({change}; {basis})."
    needs = time.judgement.needs
    tail = f" To tell: {needs}." if needs else ""
    return f"It cannot be told whether a step takes longer: {sizes} ({change}; {basis}).{tail}"


def _of_joules(joules: Figure) -> str:
    sizes = f"{in_unit(joules.a, 'J')} in A, {in_unit(joules.b, 'J')} in B"
    if joules.verdict is Verdict.DIFFERS:
        more = "more" if (joules.difference or 0) > 0 else "less"
        size = in_unit(abs(joules.difference or 0), "J")
        return f"A step draws {size} {more} ({sizes}; {_change(joules)})."
    if joules.verdict is Verdict.WITHIN_NOISE:
        return f"Its energy shows no difference: {sizes} ({_change(joules)})."
    return f"Of its energy it cannot be told: {sizes} ({_change(joules)})."


def _change(figure: Figure) -> str:
    """The difference in percent with its interval: "+3.1 %, 95 % +1.2 to +5.0 %"."""
    if not figure.a or figure.difference is None:
        return "no ratio"
    words = f"{100 * figure.difference / figure.a:+.3g} %"
    judgement = figure.judgement
    if judgement.lo is None or judgement.hi is None:
        return words
    lo, hi = 100 * judgement.lo / figure.a, 100 * judgement.hi / figure.a
    return f"{words}, 95 % {lo:+.3g} to {hi:+.3g} %"


def _basis(figure: Figure, counts: Counts) -> str:
    if figure.judgement.basis is Basis.RUN_TO_RUN:
        return f"{counts.a} and {counts.b} runs"
    if figure.judgement.basis is Basis.WITHIN_RUN:
        return "two stretches of one run" if counts.same_run else Basis.WITHIN_RUN.value
    if min(counts.a, counts.b) < run_scatter.MIN_RUNS:
        return "too little to say how much it varies"
    return "no interval"


def _source(causes: Sequence[Cause]) -> str:
    """The category and the op that make up most of the difference."""
    parts = []
    for account in (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP):
        cause = _first(causes, account)
        if cause is not None:
            parts.append(f"{cause.name} ({signed(cause.seconds, 's')})")
    return f", mostly {' and '.join(parts)}" if parts else ""


def _first(causes: Sequence[Cause], account: str) -> Cause | None:
    """The largest part that differs by itself, else the largest; None where it explains little."""
    named = [
        cause
        for cause in causes
        if cause.account == account
        and cause.name not in _CLOSING_ROWS
        and (cause.share or 0.0) >= _MIN_NAMED_SHARE
    ]
    differing = [cause for cause in named if cause.differs]
    return next(iter(differing or named), None)


def in_unit(value: float | None, unit: str) -> str:
    """A value as a person reads it; "" for None."""
    if value is None:
        return ""
    value = 0.0 if abs(value) < _LEAST_SHOWN.get(unit, 0.0) else value
    if unit == "s":
        return units.duration(round(value * PS_PER_S))
    return units.quantity(value, unit)


def signed(value: float | None, unit: str) -> str:
    """A difference as a person reads it: "+3.1 ms"."""
    words = in_unit(value, unit)
    return f"+{words}" if value is not None and value > _LEAST_SHOWN.get(unit, 0.0) else words
