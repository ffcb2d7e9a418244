"""The answer of a page in a large sentence, and the conclusions below it with what each costs."""

from __future__ import annotations

from collections.abc import Iterable

from powertui import units
from powertui.data.columns import shown
from powertui.data.conclusions.conclusion import Conclusion, Conclusions, Confidence
from powertui.html.markup import Markup, cut, element, left_out_note, percent
from powertui.html.result_table import badge

_MAX_LISTED = 12
_MAX_LARGE = 160  # letters of a sentence that is set large
_MAX_SENTENCE = 700  # letters: names in a sentence are cut before, this is for hostile ones


def headline(conclusions: Conclusions, level: str) -> Markup:
    """The first conclusion in a heading of this level, what it costs, and what to do about it."""
    first = conclusions.first
    words = _limited(conclusions.headline)
    size = "answer long" if len(words) > _MAX_LARGE else "answer"
    sentence = element(level, words, class_=size)
    if first is None:
        return element("div", sentence, class_="headline")
    return element(
        "div",
        sentence,
        _costs(first),
        *_advice(first),
        class_="headline",
    )


def further_conclusions(conclusions: Conclusions) -> Markup | None:
    """The conclusions after the first, the most important first. None where there is none."""
    items = conclusions.items[1:]
    if not items:
        return None
    rows = []
    for conclusion in items[:_MAX_LISTED]:
        sentence = element("p", _limited(conclusion.sentence))
        rows.append(element("li", sentence, _costs(conclusion), *_advice(conclusion)))
    left_out = len(items) - len(rows)
    more = left_out_note(left_out)
    return element(
        "div",
        element("ol", *rows, class_="conclusions"),
        more,
        class_="table",
    )


def _limited(words: str) -> str:
    return cut(words, _MAX_SENTENCE)


def _costs(conclusion: Conclusion) -> Markup:
    """How much of the run it is, and how sure that is."""
    cost = conclusion.cost
    words = []
    if cost.share is not None:
        words.append(f"{units.percent(cost.share)} of the time")
    words.append(shown(cost.seconds, "number", "s"))
    words.append(shown(cost.joules, "number", "J"))
    bar = None
    if cost.share is not None:
        length = min(1.0, max(0.0, abs(cost.share)))
        bar = element(
            "span",
            element("i", style=f"width:{percent(length)}"),
            class_="cost",
        )
    sure = None
    if conclusion.confidence is not Confidence.SURE:
        sure = badge(conclusion.confidence.value)
    return element(
        "p",
        bar,
        " · ".join(filter(None, words)),
        sure,
        class_="costs",
    )


def _advice(conclusion: Conclusion) -> Iterable[Markup]:
    if conclusion.next:
        words = element("b", "To do: ")
        yield element("p", words, _limited(conclusion.next), class_="next")
    if conclusion.doubt:
        yield element("p", _limited(conclusion.doubt), class_="note")
