"""What may be said of each figure: by run-to-run scatter where there is any, else by drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui import units
from powertui.data.compare import amounts, drift, relabeling, run_scatter, step_figures, turns
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
# The figures of a step's time in the order in which they are judged, and the part of the 5 % that
# each may use. Those that vary least from run to run come first. Once a figure differs, the next
# one may use its part, too (`run_scatter.differing_in_order`): so 0.0 is a figure that only differs
# beside the one before it. The mean keeps a part of its own, because no other figure shows a change
# of slow steps alone. Of 100 pairs with regular slow steps, 3 % apart, this rule found 91, and one
# rule for all four figures 81.
_LEVELS = {
    step_figures.UNDISTURBED_STEP.name: 0.04,
    step_figures.FAST_STEP.name: 0.0,
    step_figures.TYPICAL_STEP.name: 0.0,
    step_figures.STEP.name: 0.01,
}
_ERROR_SHARE = 0.05  # of comparisons without a difference that may call a family different
_WHOLE_PERCENT_SHARE = 1.0  # from here on a tenth of a percent says nothing
_THREE_RUNS = f"{run_scatter.MIN_RUNS} runs a side"
# Five trainings of one network on one quiet machine had median steps of 42.6 to 52.2 ms; ten on a
# busy one 17 to 50 ms. No size of a difference between two recordings is beyond that for certain.
_ACROSS_RUNS = "more than either recording drifts, but two runs of one program may differ as much"


@dataclass(frozen=True)
class WithinRun:
    """How two stretches relate whose run is the same."""

    gap: float = 0.0  # from the end of one to the start of the other, in lengths of a stretch
    alike_share: float | None = None  # share of the run's pairs of such windows that differ as much
    figures: int = 1  # how many figures of the family are judged together
    needs_share: bool = False  # nothing differs before `alike_share` is known
    is_other_total: bool = False  # the figure is a total, and the stretches differ in their steps


def judge(
    a: FigureSamples,
    b: FigureSamples,
    within_run: WithinRun | None = None,
    *,
    name: str = "",
) -> Judgement:
    """The interval of B less A, and what may be said of it."""
    if min(len(a.runs), len(b.runs)) >= run_scatter.MIN_RUNS:
        return _by_runs(a, b, _level_needed(name, figure_count=1))
    is_comparable = within_run is None or not within_run.is_other_total
    if len(a.blocks) and len(b.blocks) and is_comparable:
        return _by_drift(a, b, within_run)
    return _without_scatter(a, b, within_run)


def _level_needed(name: str, *, figure_count: int) -> float:
    """The p at which one of so many figures differs."""
    if name not in _LEVELS:
        return _ERROR_SHARE / figure_count
    level = _LEVELS[name]
    if level > 0:
        return level
    # It differs at the level that the first figure passes on to it.
    return _LEVELS[step_figures.UNDISTURBED_STEP.name]


def _without_scatter(a: FigureSamples, b: FigureSamples, within_run: WithinRun | None) -> Judgement:
    """Neither runs nor blocks: the figures stand beside each other, and no more."""
    needs = _THREE_RUNS
    if within_run is not None:
        needs = f"at least {drift.MIN_STEPS} steps in each stretch, or {_THREE_RUNS}"
    why = "nothing shows how much it varies"
    if within_run is not None and within_run.is_other_total:
        why = "a total of stretches that have other numbers of steps"
        needs = "stretches of as many steps"
    elif (len(a.runs), len(b.runs)) != (1, 1):
        why = f"{len(a.runs)} and {len(b.runs)} runs have it, too few to say how much it varies"
    return Judgement(
        verdict=FigureVerdict.CANNOT_TELL,
        basis=Basis.NONE,
        why=why,
        needs=needs,
    )


def judge_family(figures: Sequence[ComparedFigure]) -> list[ComparedFigure]:
    """The figures of one family: of many some are apart by chance, and do not differ."""
    tested = [figure for figure in figures if figure.judgement.p is not None]
    differing = {id(figure) for figure in _differing(tested)}
    judged = []
    for figure in figures:
        is_tested = figure.judgement.p is not None
        is_open = is_tested and id(figure) not in differing
        if is_open and figure.verdict is FigureVerdict.DIFFERS:
            judged.append(_by_chance(figure, len(tested)))
        else:
            judged.append(figure)
    return judged


def _differing(figures: Sequence[ComparedFigure]) -> Iterator[ComparedFigure]:
    """Those that differ, of figures that are judged together."""
    ordered = sorted(figures, key=_judging_order)
    levels = [_LEVELS.get(figure.name, 0.0) for figure in ordered]
    if any(levels):
        p_values = [_p_in_order(figure) for figure in ordered]
        verdicts = run_scatter.differing_in_order(p_values, levels)
    else:
        p_values = []
        split_p_values = _split_p_values(ordered)
        for figure, split_p in zip(ordered, split_p_values, strict=True):
            if relabeling.is_low(split_p, *_run_counts(figure)):
                p_values.append(_p_of_interval(figure))
            else:
                p_values.append(1.0)
        verdicts = run_scatter.differing(p_values)
    return itertools.compress(ordered, verdicts)


def _p_in_order(figure: ComparedFigure) -> float:
    """The p of a figure that has a level of its own: its interval's, or 1 where splits are against
    it.

    Only the interval's p is held against that level. The other splits of its runs are held against
    5 %, as for any figure: five runs a side in turns have 84 splits, and asked for 4 % of those, a
    difference of 3 % was missed in 20 of 100 pairs.
    """
    is_rare = relabeling.is_rare(*_sides(figure))
    return _p_of_interval(figure) if is_rare else 1.0


def _p_of_interval(figure: ComparedFigure) -> float:
    return run_scatter.p_to_believe(figure.judgement.p or 0.0, *_run_counts(figure))


def _run_counts(figure: ComparedFigure) -> tuple[int, int]:
    a, b = _sides(figure)
    return len(a.runs), len(b.runs)


def _sides(figure: ComparedFigure) -> tuple[FigureSamples, FigureSamples]:
    """The runs of a figure that runs decided."""
    assert figure.judgement.sides is not None
    return figure.judgement.sides


def _split_p_values(figures: Sequence[ComparedFigure]) -> list[float]:
    """How often other splits of the same runs show as much in one of these figures."""
    # Only figures of the same runs can be split together.
    rows_by_runs: dict[object, list[int]] = {}
    for row, figure in enumerate(figures):
        a, b = _sides(figure)
        runs = (a.places, b.places, len(a.runs), len(b.runs))
        rows_by_runs.setdefault(runs, []).append(row)
    p_values = [1.0] * len(figures)
    groups = len(rows_by_runs)
    for rows in rows_by_runs.values():
        sides = [_sides(figures[row]) for row in rows]
        p_of_rows = relabeling.family_p_values(sides)
        for row, p in zip(rows, p_of_rows, strict=True):
            # Each further group of runs is one more chance to be wrong.
            p_values[row] = min(1.0, p * groups)
    return p_values


def _by_chance(figure: ComparedFigure, count: int) -> ComparedFigure:
    """A figure whose interval leaves out zero, but which does not differ among so many figures."""
    judgement = figure.judgement
    runs = run_scatter.runs_to_find(
        figure.difference or 0.0,
        judgement.run_sigma or 0.0,
        more_than=judgement.most_runs,
        level=_level_needed(figure.name, figure_count=count),
    )
    judgement = replace(
        judgement,
        verdict=FigureVerdict.CANNOT_TELL,
        why=_chance_words(count),
        needs=f"about {runs} runs a side" if runs else "more runs a side",
        runs_needed=runs,
    )
    return replace(figure, judgement=judgement)


def _chance_words(count: int) -> str:
    if count == 1:
        return "the same runs, split into two groups in other ways, often differ as much"
    return f"one of {count} figures: as much is expected of one of them by chance"


def _judging_order(figure: ComparedFigure) -> int:
    """Its place among those that are judged in order."""
    names = list(_LEVELS)
    if figure.name in _LEVELS:
        return names.index(figure.name)
    return len(names)


def _by_runs(a: FigureSamples, b: FigureSamples, level: float) -> Judgement:
    scatter, why = _scatter(a, b)
    # Where the order is not known, recording in turns is not asked for.
    is_in_turns = not a.places or turns.are_in_turns(a.places, b.places)
    lo = scatter.difference - scatter.half
    hi = scatter.difference + scatter.half
    relevant = _RELEVANT_SHARE * abs(a.mean)
    runs, needs = None, ""
    most_runs = max(len(a.runs), len(b.runs))
    # In turns as many runs may show what they do not show one side after the other.
    more_than = most_runs if is_in_turns else most_runs - 1
    if scatter.p <= _ERROR_SHARE:
        verdict = FigureVerdict.DIFFERS
    elif max(-lo, hi) <= relevant:
        verdict = FigureVerdict.WITHIN_NOISE
    else:
        verdict = FigureVerdict.CANNOT_TELL
        runs = run_scatter.runs_to_find(
            relevant,
            scatter.run_sigma,
            more_than=more_than,
            level=level,
        )
        needs = _needs_words(runs, is_in_turns=is_in_turns)
        found = run_scatter.difference_found(scatter.run_sigma, most_runs, level)
        if not is_in_turns and runs == most_runs and found > 0:
            # A's mean is not 0 here: of a mean of 0 `relevant` is 0, and no number of runs that
            # scatter finds that.
            needs = _in_turns_words(most_runs, found / abs(a.mean))
    return Judgement(
        verdict=verdict,
        basis=Basis.RUN_TO_RUN,
        lo=lo,
        hi=hi,
        p=scatter.p,
        why=why,
        needs=needs,
        runs_needed=runs,
        run_sigma=scatter.run_sigma,
        most_runs=most_runs,
        sides=(a, b),
        is_drift_decisive=scatter.is_drift_decisive,
    )


def _in_turns_words(runs: int, smallest_share: float) -> str:
    """What as many runs would show if they were recorded in turns: the order then separates a
    difference from a drift of the machine.
    """
    return (
        f"A and B recorded in turns, where {runs} and {runs} runs would show a difference of about "
        f"{units.percent(smallest_share, 1)}"
    )


def _needs_words(runs: int | None, *, is_in_turns: bool) -> str:
    """Which recording would show a difference that people ask for."""
    order = "" if is_in_turns else "A and B recorded in turns, "
    if runs:
        count = f"about {runs} runs a side"
    else:
        count = "a machine that varies less"
    return f"{order}{count}, to see {units.percent(_RELEVANT_SHARE)}"


def _scatter(a: FigureSamples, b: FigureSamples) -> tuple[run_scatter.Scatter, str]:
    """How runs of one side differ, and what that is made of."""
    why = f"the scatter of {len(a.runs)} and {len(b.runs)} runs"
    scatter = turns.scatter_as_recorded(a, b)
    if not a.places or not b.places or not scatter.drift:
        return scatter, why
    if turns.are_in_turns(a.places, b.places):
        drifted = _percent(scatter.drift, a.mean)
        return scatter, f"{why} beside a drift of {drifted} from the first to the last"
    if scatter.is_drift_decisive:
        what_else = "a drift may do the same"
        pause_ns = turns.long_pause_ns(a.places, b.places)
        if pause_ns:
            pause = amounts.time_apart(pause_ns)
            what_else = f"the machine may have changed in the {pause} between A and B"
        return scatter, f"the runs differ by more than they scatter, but {what_else}"
    return scatter, f"{why} and their drift, as A and B were not recorded in turns"


def _by_drift(a: FigureSamples, b: FigureSamples, within_run: WithinRun | None) -> Judgement:
    """One run a side: what the blocks of each let expect, and no claim on further runs."""
    difference = b.mean - a.mean
    lies = within_run or WithinRun()
    half = drift.reach(a.blocks, b.blocks, lies.gap, lies.figures)
    if abs(difference) <= half:
        verdict, why, needs = _inside_drift(half, a.mean)
    elif within_run is None:
        verdict = FigureVerdict.CANNOT_TELL
        why = _ACROSS_RUNS
        needs = _THREE_RUNS
    else:
        verdict, why, needs = _beyond_drift(within_run)
    return Judgement(
        verdict=verdict,
        basis=Basis.WITHIN_RUN,
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
    if share is None and within_run.needs_share:
        why = "more than either stretch drifts, but the run is too short to show how often it jumps"
        needs = f"a run of {drift.MIN_WINDOWS} such stretches, or {_THREE_RUNS}"
        return FigureVerdict.CANNOT_TELL, why, needs
    if share is None or share <= drift.MAX_PAIR_SHARE:
        return FigureVerdict.DIFFERS, "more than the drift within either stretch explains", ""
    why = f"{units.percent(share, 1)} of all pairs of such windows in this run differ as much"
    return FigureVerdict.WITHIN_NOISE, why, ""


def _percent(part: float, whole: float) -> str:
    if not whole or not math.isfinite(part / whole):
        return "as much"
    share = part / abs(whole)
    if abs(share) >= _WHOLE_PERCENT_SHARE:
        return f"{round(100 * share):,} %"
    return units.percent(share, 1)
