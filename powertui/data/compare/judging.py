"""What may be said of each figure: by run-to-run scatter where there is any, else by drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui.data.compare import drift, run_scatter, step_figures, turns
from powertui.data.compare.figure import (
    Basis,
    ComparedFigure,
    FigureSamples,
    FigureVerdict,
    Judgement,
)
from powertui.value_types import dataclass

# A smaller difference than this share of A is what people ask for: gates stand at 5 % (nsys-ai) and
# below. An interval that could hide as much says "cannot tell" instead of "within noise".
_RELEVANT_SHARE = 0.05
# Five trainings of one network on one machine had median steps of 42.6, 46.4, 48.4, 49.0 and
# 52.2 ms: a standard deviation of 7.6 %, so 95 % of pairs of such runs lie within 30 %
# (t with 4 degrees of freedom, √2).
RUN_TO_RUN_SHARE = 0.30

# The figures of a step's time, those first that vary least from run to run, and what each may take
# of the 5 %. The mean keeps a part: only it shows a change of slow steps alone. Judged by one rule
# for all three, 3 % more was found in 81 of 100 pairs with regular slow steps, and so in 91.
_LEVELS = {
    step_figures.FAST_STEP.name: 0.04,
    step_figures.TYPICAL_STEP.name: 0.0,
    step_figures.STEP.name: 0.01,
}
_ERROR_SHARE = 0.05  # of comparisons without a difference that may call a family different
_THREE_RUNS = f"{run_scatter.MIN_RUNS} runs a side"


@dataclass(frozen=True)
class WithinRun:
    """How two stretches of one run lie: only where both sides are of the same run."""

    gap: float = 0.0  # what lies between them, in lengths of one
    alike_share: float | None = None  # of the run's pairs of windows that differ as much


def judge(
    a: FigureSamples,
    b: FigureSamples,
    within_run: WithinRun | None = None,
    *,
    name: str = "",
) -> Judgement:
    """The interval of B less A, and what may be said of it."""
    if min(len(a.runs), len(b.runs)) >= run_scatter.MIN_RUNS:
        return _by_runs(a, b, _level_needed(name))
    if len(a.blocks) and len(b.blocks):
        return _by_drift(a, b, within_run)
    return _without_scatter(a, b, within_run)


def _level_needed(name: str) -> float:
    """At which level so many runs must show a figure; the median may take what the quartile had."""
    if name == step_figures.TYPICAL_STEP.name:
        return _LEVELS[step_figures.FAST_STEP.name]
    return _LEVELS.get(name, _ERROR_SHARE)


def _without_scatter(a: FigureSamples, b: FigureSamples, within_run: WithinRun | None) -> Judgement:
    """Neither runs nor blocks: the figures stand beside each other, and no more."""
    needs = _THREE_RUNS
    if within_run is not None:
        needs = f"at least {drift.MIN_STEPS} steps in each stretch, or {_THREE_RUNS}"
    why = "nothing shows how much it varies"
    if (len(a.runs), len(b.runs)) != (1, 1):
        why = f"{len(a.runs)} and {len(b.runs)} runs have it, too few to say how much it varies"
    return Judgement(FigureVerdict.CANNOT_TELL, Basis.NONE, why=why, needs=needs)


def judge_family(figures: Sequence[ComparedFigure]) -> list[ComparedFigure]:
    """The figures of one family: of many some are apart by chance, and do not differ."""
    tested = [figure for figure in figures if figure.judgement.p is not None]
    differing = {id(figure) for figure in _differing(tested)}
    judged = []
    for figure in figures:
        is_tested = figure.judgement.p is not None
        if is_tested and figure.verdict is FigureVerdict.DIFFERS and id(figure) not in differing:
            judged.append(_by_chance(figure, len(tested)))
        else:
            judged.append(figure)
    return judged


def _differing(figures: Sequence[ComparedFigure]) -> Iterator[ComparedFigure]:
    """Those that differ, of figures that are judged together."""
    ordered = sorted(figures, key=_rank)
    p_values = [figure.judgement.p or 0.0 for figure in ordered]
    levels = [_LEVELS.get(figure.name, 0.0) for figure in ordered]
    if any(levels):
        verdicts = run_scatter.differing_in_order(p_values, levels)
    else:
        verdicts = run_scatter.differing(p_values)
    return itertools.compress(ordered, verdicts)


def _by_chance(figure: ComparedFigure, count: int) -> ComparedFigure:
    """A figure that would differ if it were the only one."""
    judgement = figure.judgement
    runs = run_scatter.runs_to_find(
        figure.difference or 0.0,
        judgement.run_sigma or 0.0,
        more_than=judgement.most_runs,
        level=_LEVELS.get(figure.name, _ERROR_SHARE / count),
    )
    judgement = replace(
        judgement,
        verdict=FigureVerdict.CANNOT_TELL,
        why=f"one of {count} figures: as much is expected of one of them by chance",
        needs=f"about {runs} runs a side" if runs else "more runs a side",
        runs_needed=runs,
    )
    return replace(figure, judgement=judgement)


def _rank(figure: ComparedFigure) -> int:
    """Its place among those that are judged in order."""
    names = list(_LEVELS)
    return names.index(figure.name) if figure.name in _LEVELS else len(names)


def _by_runs(a: FigureSamples, b: FigureSamples, level: float) -> Judgement:
    scatter, why = _scatter(a, b)
    lo, hi = scatter.difference - scatter.half, scatter.difference + scatter.half
    relevant = _RELEVANT_SHARE * abs(a.mean)
    runs, needs = None, ""
    most_runs = max(len(a.runs), len(b.runs))
    if scatter.p <= _ERROR_SHARE:
        verdict = FigureVerdict.DIFFERS
    elif max(-lo, hi) <= relevant:
        verdict = FigureVerdict.WITHIN_NOISE
    else:
        verdict = FigureVerdict.CANNOT_TELL
        runs = run_scatter.runs_to_find(
            relevant, scatter.run_sigma, more_than=most_runs, level=level
        )
        needs = f"about {runs} runs a side" if runs else "a machine that varies less"
        needs += f", to see {_RELEVANT_SHARE:.0%}"
    return Judgement(
        verdict,
        Basis.RUN_TO_RUN,
        lo,
        hi,
        scatter.p,
        why=why,
        needs=needs,
        runs_needed=runs,
        run_sigma=scatter.run_sigma,
        most_runs=most_runs,
    )


def _scatter(a: FigureSamples, b: FigureSamples) -> tuple[run_scatter.Scatter, str]:
    """How runs of one side differ, and what that is made of."""
    why = f"the scatter of {len(a.runs)} and {len(b.runs)} runs"
    if not turns.are_in_turns(a.places, b.places):
        return run_scatter.welch(a.runs, b.runs), why
    scatter = turns.welch_in_turns(a, b)
    if not scatter.drift:
        return scatter, why
    drifted = _percent(scatter.drift, a.mean)
    return scatter, f"{why} beside a drift of {drifted} from the first to the last"


def _by_drift(a: FigureSamples, b: FigureSamples, within_run: WithinRun | None) -> Judgement:
    """One run a side: what the blocks of each let expect, and no claim on further runs."""
    difference = b.mean - a.mean
    gap = 0.0 if within_run is None else within_run.gap
    half = drift.reach(a.blocks, b.blocks, gap)
    if abs(difference) <= half:
        verdict, why, needs = _inside_drift(half, a.mean)
    elif within_run is None:
        verdict, why, needs = _across_runs(difference, a.mean)
    else:
        verdict, why, needs = _beyond_drift(within_run)
    return Judgement(
        verdict,
        Basis.WITHIN_RUN,
        lo=difference - half,
        hi=difference + half,
        why=why,
        needs=needs,
    )


def _inside_drift(half: float, mean: float) -> tuple[FigureVerdict, str, str]:
    """A difference that drift alone may make."""
    why = f"blocks of steps within a side let expect ± {_percent(half, mean)} by drift"
    if half <= _RELEVANT_SHARE * abs(mean):
        return FigureVerdict.WITHIN_NOISE, why, ""
    return FigureVerdict.CANNOT_TELL, why, _THREE_RUNS


def _beyond_drift(within_run: WithinRun) -> tuple[FigureVerdict, str, str]:
    """Two stretches of one run that lie further apart than either drifts."""
    share = within_run.alike_share
    if share is None or share <= drift.MAX_PAIR_SHARE:
        return FigureVerdict.DIFFERS, "more than the drift within either stretch lets expect", ""
    why = f"{share:.1%} of all pairs of such windows in this run differ as much"
    return FigureVerdict.WITHIN_NOISE, why, ""


def _across_runs(difference: float, mean: float) -> tuple[FigureVerdict, str, str]:
    """One recording a side: what lies beyond the drift may still be another day's machine."""
    if abs(difference) > RUN_TO_RUN_SHARE * abs(mean):
        why = (
            f"more than {RUN_TO_RUN_SHARE:.0%}, which runs of one program on one machine "
            "were seen to differ by"
        )
        return FigureVerdict.DIFFERS, why, _THREE_RUNS
    why = (
        "more than either drifts, but two runs of one program may differ as much "
        f"(up to {RUN_TO_RUN_SHARE:.0%} seen)"
    )
    return FigureVerdict.CANNOT_TELL, why, _THREE_RUNS


def _percent(part: float, whole: float) -> str:
    return f"{part / abs(whole):.1%}" if whole and math.isfinite(part / whole) else "as much"
