"""The answer in a sentence: its size, its interval, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powertui import units
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare import power_figures, run_scatter, step_figures, turns
from powertui.data.compare.amounts import (
    IN_B,
    both_sides,
    change,
    name_in_sentence,
    signed,
    size_of_difference,
    time_apart,
)
from powertui.data.compare.causes import Cause
from powertui.data.compare.figure import Basis, ComparedFigure, Family, FigureVerdict
from powertui.data.compare.matching import Matched
from powertui.value_types import dataclass

# A part that explains less of the difference than this is not named as its source. Chosen: at half
# of it two small parts of many were named, at twice it a difference of three parts had no source.
_MIN_NAMED_SHARE = 0.25
# A part this many times the whole is no explanation: others take it back. "Between steps (+3.6 ms)"
# of a difference of 0.1 ms was read as if a step took 3.6 ms longer. Chosen.
_CANCELING_SHARE = 4.0
# An op that took longer by more than the step runs beside others, or over several steps: it is no
# part of the step. 2.8 times the difference was a module of XLA that lasted longer than its step.
_MAX_OP_SHARE = 1.25
# Of the time of ops. Runs of one program have 87 to 100 % in common, also on GPUs of two makers; a
# training in TensorFlow and one in PyTorch 0 %, two networks 5 to 60 %.
_MIN_COMMON_SHARE = 0.5
# Of a side whose ops the other has, too: that is the same program with something more, however long
# this takes. A sort that took 5 times the rest of the step was called another program.
_MIN_CONTAINED_SHARE = 0.9
_CLOSING_ROWS = (cause_accounts.OTHER_OPS, cause_accounts.OUTSIDE_OPS, cause_accounts.POWER)
_NAME_LETTERS = 60  # of a kernel's name, which may take a page
_SUBJECTS = {
    step_figures.STEP.name: "A step takes",
    step_figures.TYPICAL_STEP.name: "The median step takes",
    step_figures.FAST_STEP.name: "The lower quartile of steps takes",
    step_figures.UNDISTURBED_STEP.name: "A step that nothing disturbs takes",
    step_figures.WINDOW.name: "It takes",
}

# What a few slow steps do not move.
_USUAL_STEPS = (
    step_figures.TYPICAL_STEP,
    step_figures.FAST_STEP,
    step_figures.UNDISTURBED_STEP,
)
_ALL_OF_A_STEP = (step_figures.STEP.name, step_figures.WINDOW.name)


@dataclass(frozen=True)
class Counts:
    """How many runs each side has, and whether both are stretches of one."""

    a: int
    b: int
    same_run: bool
    is_a_first: bool | None = None  # whether all of A was recorded before B; None: neither


def answer(matched: Matched, causes: Sequence[Cause], counts: Counts) -> str:
    """What changed from A to B: the time of a step, and its joules."""
    time = _headline(matched)
    if time is None:
        return _nothing_compared(matched)
    unlike = _few_common_ops(matched)
    if unlike and time.verdict is FigureVerdict.CANNOT_TELL:
        # Of two programs the largest part of the difference explains nothing.
        causes = [cause for cause in causes if cause.differs]
    words = _of_time(time, causes, counts, _needs(matched, time))
    joules = matched.figure(power_figures.JOULES)
    if joules is not None:
        words += f" {_of_joules(joules)}"
        if counts.same_run and joules.verdict is FigureVerdict.CANNOT_TELL:
            # A load in a few steps of one side is no difference of the step.
            words += " A load in a part of one side is listed by powertui energy."
    return words + unlike


def _few_common_ops(matched: Matched) -> str:
    """A warning where most of what ran on one side has no counterpart on the other."""
    common = {"a": 0.0, "b": 0.0}
    for figure in matched.figures:
        if figure.family is Family.OP:
            common["a"] += figure.a or 0.0
            common["b"] += figure.b or 0.0
    total = dict(common)
    for row in matched.unmatched:
        if row.family is Family.OP:
            total[row.side] += row.value
    if not all(total.values()):
        return ""
    share_a = common["a"] / total["a"]
    share_b = common["b"] / total["b"]
    is_contained = max(share_a, share_b) >= _MIN_CONTAINED_SHARE
    if is_contained or min(share_a, share_b) >= _MIN_COMMON_SHARE:
        return ""
    if not common["a"] and not common["b"]:
        return " A and B have no op in common: they may be different programs."
    percent_a = units.percent(share_a)
    percent_b = units.percent(share_b)
    return (
        f" A and B have few ops in common ({percent_a} of the op time of A, "
        f"{percent_b} of B): they may be different programs."
    )


def _nothing_compared(matched: Matched) -> str:
    """Why there is no time of both sides: one has steps, the other a length alone."""
    for row in matched.unmatched:
        if row.name == step_figures.STEP.name:
            if row.side == "a":
                with_steps, without = ("A", "B")
            else:
                with_steps, without = ("B", "A")
            return (
                f"The time of a step cannot be compared: no step of {without} is in a profile, "
                f"steps of {with_steps} are."
            )
        if row.name == step_figures.WINDOW.name:
            empty = "B" if row.side == "a" else "A"
            return f"Nothing could be compared: {empty} holds no event."
    return "Nothing could be compared: neither steps nor a length of time are known."


def _headline(matched: Matched) -> ComparedFigure | None:
    """The mean step, unless only the usual ones differ: then a few slow steps hide it."""
    mean = matched.figure(step_figures.STEP)
    if mean is None:
        return matched.figure(step_figures.WINDOW)
    if mean.verdict is FigureVerdict.DIFFERS:
        return mean
    for key in _USUAL_STEPS:
        figure = matched.figure(key)
        if figure is not None and figure.verdict is FigureVerdict.DIFFERS:
            return figure
    return mean


def _of_time(time: ComparedFigure, causes: Sequence[Cause], counts: Counts, needs: str) -> str:
    sizes = f"{both_sides(time)}; {change(time)}; {_basis(time, counts)}"
    if time.verdict is FigureVerdict.DIFFERS:
        if (time.difference or 0.0) > 0:
            longer = "longer"
        else:
            longer = "less"
        size = size_of_difference(time)
        words = f"{_SUBJECTS[time.name]} {size} {longer} in B ({sizes})"
        if time.name in _ALL_OF_A_STEP:
            words += f"{_source(causes)}."
        else:
            # The parts add up to the mean step, which is another difference.
            words += "." + (_parts_that_differ(causes) or _largest_parts_of_mean(causes))
        return words + _order_words(counts)
    if time.verdict is FigureVerdict.WITHIN_NOISE:
        return f"{_subject(time)} takes the same time, as far as the noise shows ({sizes})."
    cannot_tell = f"Cannot tell whether {_subject(time).lower()} takes longer"
    words = f"{cannot_tell} ({sizes})."
    if _is_beyond_drift(time, counts):
        words = (
            f"{cannot_tell}: these two recordings differ by {size_of_difference(time)} ({sizes}), "
            "but two runs of one program may differ as much."
        )
    elif time.judgement.is_drift_decisive:
        words = f"{cannot_tell} ({sizes}): the runs differ by more than they scatter, but "
        words += _drift_words(time)
    if needs:
        words += f" To tell: {needs}."
    return words + (_parts_that_differ(causes) or _largest_parts(causes))


def _subject(time: ComparedFigure) -> str:
    """What takes so long: without steps it is the whole stretch."""
    if time.name == step_figures.WINDOW.name:
        return "It"
    return "A step"


def _is_beyond_drift(time: ComparedFigure, counts: Counts) -> bool:
    """Whether two recordings are further apart than either drifts, which nobody can explain."""
    is_single = time.judgement.basis is Basis.WITHIN_RUN and not counts.same_run
    return is_single and time.judgement.excludes_zero


def _drift_words(time: ComparedFigure) -> str:
    """What else may make such a difference of runs that were not recorded in turns."""
    pause_ns = 0.0
    if time.judgement.sides is not None:
        a, b = time.judgement.sides
        pause_ns = turns.long_pause_ns(a.places, b.places)
    if pause_ns:
        pause = time_apart(pause_ns)
        return f"A and B were recorded {pause} apart, and the machine may have changed meanwhile."
    return "A and B were not recorded in turns, and a drift of the machine may be as large."


def _order_words(counts: Counts) -> str:
    """What else may have made a difference of two groups of runs."""
    if counts.is_a_first is None:
        return ""
    if counts.is_a_first:
        first, second = ("A", "B")
    else:
        first, second = ("B", "A")
    return (
        f" All of {first} was recorded before {second}, so the machine may have changed instead: "
        "record them in turns."
    )


def _parts_that_differ(causes: Sequence[Cause]) -> str:
    """Ops, else categories, that differ by themselves, where the step as a whole varies too much
    to show it.
    """
    for account, one, several in (
        (cause_accounts.BY_OP, "One op differs", "These ops differ"),
        (cause_accounts.BY_CATEGORY, "One category differs", "These categories differ"),
    ):
        parts = [cause for cause in causes if cause.account == account and cause.differs]
        if not parts:
            continue
        sizes = [_with_size(cause) for cause in parts[:2]]
        named = " and ".join(sizes)
        if len(parts) == 1:
            return f" {one}: {named}."
        others = ""
        if len(parts) > 2:
            others = f", and {len(parts) - 2} more"
        return f" {several}: {named}{others}."
    return ""


def _largest_parts(causes: Sequence[Cause]) -> str:
    """What most of the difference is here, though it may be chance."""
    source = _source(causes)
    if source:
        return f" What was measured may be chance; it is{source.removeprefix(',')}."
    return ""


def _largest_parts_of_mean(causes: Sequence[Cause]) -> str:
    source = _source(causes)
    if not source:
        return ""
    return f" The mean step may differ by chance; what was measured is{source.removeprefix(',')}."


def _with_size(cause: Cause) -> str:
    """A part and how much longer it takes: "dot.3 (dot.5 in B; +1.2 ms)"."""
    name = name_in_sentence(cause.name, cause.name_b, _NAME_LETTERS)
    size = signed(cause.seconds, "s")
    has_other_name = name.endswith(IN_B)
    if has_other_name:
        return f"{name[:-1]}; {size})"
    return f"{name} ({size})"


def _needs(matched: Matched, time: ComparedFigure) -> str:
    """What would tell: the fewest runs that show a difference of all steps."""
    fewest = time.judgement
    for key in _USUAL_STEPS:
        figure = matched.figure(key)
        if figure is None or figure.judgement.runs_needed is None:
            continue
        if fewest.runs_needed is None or figure.judgement.runs_needed < fewest.runs_needed:
            fewest = figure.judgement
    return fewest.needs


def _of_joules(joules: ComparedFigure) -> str:
    sizes = f"{both_sides(joules)}; {change(joules)}"
    if joules.verdict is FigureVerdict.DIFFERS:
        if (joules.difference or 0.0) > 0:
            more = "more"
        else:
            more = "less"
        return f"A step draws {size_of_difference(joules)} {more} ({sizes})."
    if joules.verdict is FigureVerdict.WITHIN_NOISE:
        return f"Its energy is the same, as far as the noise shows ({sizes})."
    words = f"Cannot tell whether it draws more energy ({sizes})"
    judgement = joules.judgement
    if judgement.excludes_zero and judgement.basis is Basis.RUN_TO_RUN:
        # Its interval alone would say that it does.
        return f"{words}: chance, or a drift of the machine, may make as much."
    return f"{words}."


def _basis(figure: ComparedFigure, counts: Counts) -> str:
    """What the interval is made of."""
    basis = figure.judgement.basis
    if basis is Basis.RUN_TO_RUN:
        return f"{counts.a} and {counts.b} runs"
    if basis is Basis.WITHIN_RUN:
        return "two stretches of one run" if counts.same_run else basis.value
    if min(counts.a, counts.b) < run_scatter.MIN_RUNS:
        return "too little to say how much it varies"
    return "no interval"


def _source(causes: Sequence[Cause]) -> str:
    """The category and the op that make up most of the difference."""
    accounts = (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP)
    parts = []
    for account in accounts:
        part = _first_named(causes, account)
        if part:
            parts.append(part)
    if not parts:
        return ""
    named = " and ".join(_with_size(part) for part in parts)
    if max(part.share or 0.0 for part in parts) > _CANCELING_SHARE:
        return f", the sum of parts that nearly cancel, among them {named}"
    return f", mostly {named}"


def _first_named(causes: Sequence[Cause], account: str) -> Cause | None:
    """The largest part that differs by itself, else the largest; None where it explains little."""
    largest = None
    for cause in _nameable(causes, account):
        if cause.differs:
            return cause
        largest = largest or cause
    return largest


def _nameable(causes: Sequence[Cause], account: str) -> Iterator[Cause]:
    for cause in causes:
        if cause.account != account or cause.name in _CLOSING_ROWS or cause.share is None:
            continue
        is_beside_step = account == cause_accounts.BY_OP and (
            _MAX_OP_SHARE < cause.share <= _CANCELING_SHARE
        )
        if cause.share >= _MIN_NAMED_SHARE and not is_beside_step:
            yield cause
