"""What everybody asks of a run first, as lines: for the pane beside the tracks, and in few words
for the foot of a small window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from powertui.data.model import Badge
from powertui.data.table import Fact
from powertui.plain import plain, width
from powertui.view import overview_lines
from powertui.view.context import MAX_GLANCE_EPOCHS
from powertui.view.context_lines import ContextLine, Section

if TYPE_CHECKING:
    from powertui.data.overview.at_a_glance import Glance

_TITLE = "At a glance"
_MAX_FINDING_CHARACTERS = 120
_DIFFERENCE = "epoch_difference_joules"
_GAP = " · "


def glance_section(glance: Glance) -> Section:
    """A name and a value each, the most asked for first."""
    facts = [
        ContextLine("input wait", plain(glance.input, 80)),
        ContextLine("drew more", _drew_more(glance)),
    ]
    by_id = {fact.id: fact for fact in glance.energy}
    for fact in _epochs(glance.energy):
        facts.append(ContextLine(_epoch_name(fact), _joules(fact), _notable_badge(fact)))
    for name, id in (("profile", "energy"), ("a step", "step_joules")):
        if id in by_id:
            facts.append(ContextLine(name, _joules(by_id[id]), _notable_badge(by_id[id])))
    return Section(_TITLE, tuple(facts))


def short_facts(glance: Glance) -> list[str]:
    """The same in few words each, for a line that several share."""
    by_id = {fact.id: fact for fact in glance.energy}
    parts = [f"input wait {plain(glance.input, 80)}"]
    for fact in _epochs(glance.energy):
        if fact.value is not None:
            parts.append(f"{_epoch_name(fact)} {_joules(fact)}")
    for name, id in (("profile", "energy"), ("a step", "step_joules")):
        if id in by_id and by_id[id].value is not None:
            parts.append(f"{name} {_joules(by_id[id])}")
    return parts


def packed_lines(parts: Sequence[tuple[str, ...]], cells: int, rows: int) -> list[str]:
    """As many of the parts as have room in so many lines, none of them cut: each in its longest
    text that fits, in the first line that it fits in.
    """
    lines = [""] * rows
    for texts in parts:
        _pack(texts, lines, cells)
    return lines


def _pack(texts: tuple[str, ...], lines: list[str], cells: int) -> None:
    for text in texts:
        for number, line in enumerate(lines):
            longer = f"{line}{_GAP}{text}" if line else text
            if width(longer) <= cells:
                lines[number] = longer
                return


def _drew_more(glance: Glance) -> str:
    first = plain(glance.drew_more[0], _MAX_FINDING_CHARACTERS)
    others = len(glance.drew_more) - 1
    if others:
        return f"{first} (and {others} more)"
    return first


def _epochs(facts: Sequence[Fact]) -> Iterator[Fact]:
    """The first two epochs and the last, where the joules of one are known."""
    epochs = [fact for fact in facts if fact.id.startswith("epoch_") and fact.id != _DIFFERENCE]
    if all(fact.value is None for fact in epochs):
        return
    if len(epochs) > MAX_GLANCE_EPOCHS:
        epochs[MAX_GLANCE_EPOCHS - 1 :] = epochs[-1:]
    yield from epochs


def _epoch_name(fact: Fact) -> str:
    return plain(fact.label, 20)


def _notable_badge(fact: Fact) -> Badge | None:
    """How sure the joules are, where that is less than measured."""
    if fact.badge is Badge.MEASURED:
        return None
    return fact.badge


def _joules(fact: Fact) -> str:
    """Joules with their interval, or that they are not resolved."""
    if fact.value is None:
        return plain(fact.why.partition(":")[0] or "not known", 80)
    figure, error = overview_lines.figure_and_error(fact)
    return f"{figure}{error}"
