"""Whether a program waits for its input: TensorBoard's word, with what the conclusions know.

TensorBoard looks at the steps alone. A program that prepares each batch between two steps waits for
its input, too, and no page may say that it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.table import Fact, Result
from powertui.data.tools import advice, input_pipeline
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares

_SHARES_OF_STEPS = frozenset(("input_share", "input_percent"))


def answer(question: Question) -> Result:
    """The page of the input pipeline."""
    page = input_pipeline.answer(question)
    shown = {fact.id: fact.value for fact in page.facts}
    if shown["bottleneck"] == "host":
        return page
    between_steps = _input_between_steps(question)
    if between_steps is None:
        return page
    instead = {
        "input_conclusion": between_steps.sentence,
        "bottleneck": advice.input_bound(between_steps.cost.share or 0.0),
        "summary_nextstep": between_steps.next,
    }
    facts = (
        Fact(
            id=fact.id,
            label=fact.label,
            value=instead[fact.id],
        )
        if fact.id in instead
        else fact
        for fact in page.facts
    )
    return replace(page, facts=of_steps_alone(facts))


def of_steps_alone(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The same facts, where the share of the steps that waits for input is not all that does."""
    return tuple(
        replace(fact, label=f"{fact.label} in steps") if fact.id in _SHARES_OF_STEPS else fact
        for fact in facts
    )


def input_verdict(question: Question, shares: Shares | None) -> tuple[str, str]:
    """(TensorBoard's word, in ours): does the program wait for its input."""
    bound, words = advice.bound_by_input(shares)
    if bound == "host":
        return bound, words
    between_steps = _input_between_steps(question)
    if between_steps is None:
        return bound, words
    return advice.input_bound(between_steps.cost.share or 0.0), between_steps.sentence


def _input_between_steps(question: Question) -> Conclusion | None:
    """What the conclusions of a whole run say about its input, if that is much."""
    if question.lo is not None or question.hi is not None or question.compat != "corrected":
        return None
    for conclusion in run_conclusions(question.opened, question.aligning):
        # A stretch is a single pause: the page is about what every step waits for.
        if conclusion.kind is Kind.INPUT and conclusion.stretch is None:
            is_much = (conclusion.cost.share or 0.0) >= advice.INPUT_SOME
            return conclusion if is_much else None
    return None
