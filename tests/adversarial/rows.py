"""The table: each row is a program that ran, and what a reader of its profile has to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.adversarial.program import Program

Build: TypeAlias = "Callable[[], Program] | Callable[[], list[Program]]"


@dataclass(frozen=True)
class Row:
    """`cannot` says why the profile does not tell; then the right answer is that nobody can tell,
    with a reason.
    """

    name: str
    build: Build
    cannot: str = ""

    @property
    def subject(self) -> str:
        """The file that it stands in."""
        return self.build.__module__.rpartition(".")[2]

    @property
    def story(self) -> str:
        """What happened, in a sentence or two."""
        return " ".join((self.build.__doc__ or "").split())

    def programs(self) -> list[Program]:
        """What ran: one program a host."""
        made = self.build()
        return made if isinstance(made, list) else [made]


ROWS: dict[str, Row] = {}


def row(build: Build) -> Build:
    """A program whose profile tells the truth."""
    ROWS[build.__name__] = Row(build.__name__, build)
    return build


def cannot_tell(why: str) -> Callable[[Build], Build]:
    """A program whose profile holds too little."""

    def add(build: Build) -> Build:
        ROWS[build.__name__] = Row(build.__name__, build, why)
        return build

    return add
