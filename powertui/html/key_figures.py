"""The figures of a run in a row, each with its interval and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.model import Badge
from powertui.data.table import Fact
from powertui.html.markup import Markup, element
from powertui.html.result_table import badge
from powertui.view import overview_lines

# Facts of the overview, by id, in the order of the row. What a run lacks is left out.
_SHOWN_IDS = (
    "step_time_usual_s",
    "run_step_time_s",
    "steps",
    "energy",
    "step_joules",
    "mean",
    "epoch_difference_joules",
    "input_share",
    "device_compute_share",
    "collectives_share",
    "device_idle_share",
    "host_compute_share",
    "length",
)
_MAX_FIGURES = 7
_MIN_SHOWN_SHARE = 0.005  # shares that round to 0 % tell nothing


def key_figures(facts: Iterable[Fact]) -> Markup | None:
    """The row. None where nothing of it is known."""
    by_id = {fact.id: fact for fact in facts}
    chosen = []
    for id in _SHOWN_IDS:
        if id in by_id and _is_telling(by_id[id]):
            chosen.append(by_id[id])
    if not chosen:
        return None
    return element("dl", *map(_figure, chosen[:_MAX_FIGURES]), class_="figures")


def _is_telling(fact: Fact) -> bool:
    if fact.value is None:
        return False
    if fact.kind == "share":
        return float(fact.value) >= _MIN_SHOWN_SHARE
    return fact.value != 0


def _figure(fact: Fact) -> Markup:
    figure, error = overview_lines.figure_and_error(fact)
    interval = error.strip()
    # The first sentence has shares of the whole profile: without a word of what, they disagree.
    whole = "of a mean step" if fact.kind == "share" else None
    sure = None
    if fact.badge is not None and (fact.badge is not Badge.MEASURED or interval):
        sure = badge(fact.badge.value)
    return element(
        "div",
        element("dt", fact.label),
        element("dd", element("b", figure)),
        element("dd", interval or whole, sure) if interval or whole or sure else None,
    )
