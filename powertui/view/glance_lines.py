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
from powertui.view.context_lines import Section, SectionLines

if TYPE_CHECKING:
    from powertui.data.overview.at_a_glance import Glance

_TITLE = "At a glance"
_MAX_FINDING_CHARACTERS = 120
_DIFFERENCE = "epoch_difference_joules"
_GAP = " · "


def glance_section(glance: Glance) -> Section:
    """A name and a value each, the most asked for first."""
    lines = SectionLines(_TITLE)
    lines.add("input wait", plain(glance.input, 80))
    lines.add("drew more", _drew_more(glance))
    for name, fact in _named_energies(glance):
        lines.add(name, _joules(fact), _notable_badge(fact))
    return lines.section()


def _named_energies(glance: Glance) -> Iterator[tuple[str, Fact]]:
    """The energies of epochs, of the profile and of a step, each with its name."""
    for fact in _epochs(glance.energy):
        yield _epoch_name(fact), fact
    by_id = {fact.id: fact for fact in glance.energy}
    for name, id in (("profile", "energy"), ("a step", "step_joules")):
        if id in by_id:
            yield name, by_id[id]


def short_facts(glance: Glance) -> list[str]:
    """The same in few words each, for a line that several share."""
    waits = plain(glance.input, 80)
    parts = [f"input wait {waits}"]
    for name, fact in _named_energies(glance):
        if fact.value is not None:
            joules = _joules(fact)
            parts.append(f"{name} {joules}")
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
    epochs = []
    for fact in facts:
        if fact.id.startswith("epoch_") and fact.id != _DIFFERENCE:
            epochs.append(fact)
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
        reason, _, _ = fact.why.partition(":")
        return plain(reason or "not known", 80)
    figure, error = overview_lines.figure_and_error(fact)
    return f"{figure}{error}"
