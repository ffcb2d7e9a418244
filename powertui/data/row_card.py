"""What a row of a table leads to: a card with all that is known of it, or the same page about
something else.
"""

from __future__ import annotations

from powertui.data.table import Fact
from powertui.value_types import dataclass


@dataclass(frozen=True)
class Lead:
    """A tool, asked about one thing: a program, an op of a program."""

    label: str  # what a person reads: "operands and users"
    tool: str
    choice: str  # as `Question.choice` takes it


@dataclass(frozen=True)
class Card:
    """Everything known of one row, to be read by itself."""

    title: str
    facts: tuple[Fact, ...]
    leads: tuple[Lead, ...] = ()
