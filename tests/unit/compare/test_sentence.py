"""The first sentence says what the table says."""

from __future__ import annotations

from dataclasses import replace

from powertui.data.compare import step_figures
from powertui.data.compare.causes import BY_CATEGORY, BY_OP, Cause
from powertui.data.compare.figure import Basis, ComparedFigure, Family, FigureVerdict, Judgement
from powertui.data.compare.matching import Matched, Unmatched
from powertui.data.compare.sentence import Counts, answer

_MOSTLY = (Cause(BY_CATEGORY, "Host compute", 0.006, 0.9, None),)


def figure(name: str, b: float, verdict: FigureVerdict, basis: Basis) -> ComparedFigure:
    judgement = Judgement(verdict, basis, b - 0.021, b - 0.019)
    return ComparedFigure(Family.TIME, name, "s", 0.02, b, judgement)


def test_parts_of_the_mean_are_not_those_of_the_quartile() -> None:
    told = Matched(
        (
            figure("time per step", 0.027, FigureVerdict.CANNOT_TELL, Basis.RUN_TO_RUN),
            figure("lower quartile step", 0.024, FigureVerdict.DIFFERS, Basis.RUN_TO_RUN),
        ),
        (),
    )
    assert answer(told, _MOSTLY, Counts(5, 5, same_run=False)) == (
        "The lower quartile of steps takes 4 ms longer in B (20 ms in A, 24 ms in B; +20 %, "
        "95 % +15 to +25 %; 5 and 5 runs). The mean step may differ by chance; what was measured "
        "is mostly Host compute (+6 ms)."
    )


def test_where_a_drift_decides_the_cure_is_to_record_in_turns() -> None:
    step = figure(step_figures.STEP.name, 0.024, FigureVerdict.CANNOT_TELL, Basis.RUN_TO_RUN)
    needs = "A and B recorded in turns, about 5 runs a side, to see 5 %"
    judgement = replace(step.judgement, needs=needs, is_drift_decisive=True)
    told = Matched((replace(step, judgement=judgement),), ())
    assert answer(told, (), Counts(5, 5, same_run=False, is_a_first=True)) == (
        "Cannot tell whether a step takes longer (20 ms in A, 24 ms in B; +20 %, 95 % +15 to "
        "+25 %; 5 and 5 runs): the runs differ by more than they scatter, but A and B were not "
        "recorded in turns, and a drift of the machine may be as large. To tell: A and B recorded "
        "in turns, about 5 runs a side, to see 5 %."
    )


def test_one_block_of_runs_after_the_other_is_said_with_the_difference() -> None:
    step = figure(step_figures.STEP.name, 0.024, FigureVerdict.DIFFERS, Basis.RUN_TO_RUN)
    for is_a_first, words in (
        (True, " All of A was recorded before B, so the machine may have changed instead"),
        (False, " All of B was recorded before A, so the machine may have changed instead"),
    ):
        counts = Counts(5, 5, same_run=False, is_a_first=is_a_first)
        assert words in answer(Matched((step,), ()), (), counts)
    assert "machine" not in answer(Matched((step,), ()), (), Counts(5, 5, same_run=False))


def test_two_recordings_far_apart_are_measured_but_not_told_apart() -> None:
    step = figure(step_figures.STEP.name, 0.2, FigureVerdict.CANNOT_TELL, Basis.WITHIN_RUN)
    words = answer(Matched((step,), ()), _MOSTLY, Counts(1, 1, same_run=False))
    assert words.startswith(
        "Cannot tell whether a step takes longer: these two recordings differ by 180 ms "
    )
    assert "but two runs of one program may differ as much." in words


def test_a_part_many_times_the_difference_is_not_its_source() -> None:
    step = figure(step_figures.STEP.name, 0.0201, FigureVerdict.CANNOT_TELL, Basis.NONE)
    causes = (
        Cause(BY_CATEGORY, "Between steps", 0.0036, 36.0, None),
        Cause(BY_CATEGORY, "Host compute", -0.0035, -35.0, None),
    )
    assert answer(Matched((step,), ()), causes, Counts(1, 1, same_run=False)).endswith(
        "it is the sum of parts that nearly cancel, among them Between steps (+3.6 ms)."
    )


def test_without_steps_the_stretch_takes_longer_and_no_step() -> None:
    window = figure(step_figures.WINDOW.name, 0.03, FigureVerdict.CANNOT_TELL, Basis.NONE)
    words = answer(Matched((window,), ()), (), Counts(1, 1, same_run=True))
    assert words.startswith("Cannot tell whether it takes longer (20 ms in A, 30 ms in B; ")


def test_where_one_side_alone_has_steps_it_says_which() -> None:
    lone = Unmatched("b", Family.TIME, step_figures.STEP.name, "s", 0.02)
    words = answer(Matched((), (lone,)), (), Counts(1, 1, same_run=True))
    assert words == (
        "The time of a step cannot be compared: no step of A is in a profile, steps of B are."
    )


def test_an_op_that_took_longer_by_more_than_the_step_is_not_its_source() -> None:
    step = figure(step_figures.STEP.name, 0.024, FigureVerdict.DIFFERS, Basis.RUN_TO_RUN)
    causes = (
        Cause(BY_OP, "XLA module", 0.011, 2.75, None),
        Cause(BY_OP, "dot.3", 0.003, 0.75, None),
    )
    words = answer(Matched((step,), ()), causes, Counts(5, 5, same_run=False))
    assert "mostly dot.3 (+3 ms)." in words
    assert "XLA module" not in words


def test_an_energy_beyond_its_interval_that_is_not_told_apart_has_a_reason() -> None:
    step = figure(step_figures.STEP.name, 0.024, FigureVerdict.CANNOT_TELL, Basis.RUN_TO_RUN)
    for lo, reason in (
        (-1.0, "."),
        (0.2, ": chance, or a drift of the machine, may make as much."),
    ):
        judgement = Judgement(FigureVerdict.CANNOT_TELL, Basis.RUN_TO_RUN, lo, 3.0)
        joules = ComparedFigure(Family.ENERGY, "energy per step", "J", 10.0, 11.0, judgement)
        sentence = answer(Matched((step, joules), ()), (), Counts(5, 5, same_run=False))
        assert sentence.endswith(f"95 % {10 * lo:+.0f} to +30 %){reason}"), sentence
