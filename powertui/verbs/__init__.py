"""The verbs of the command line, one file each: its arguments, its help and `run`.

A verb is a module here with

    HELP = "one line"                          # in `powertui --help`
    USAGE = "[OPTIONS] PATH ..."               # what follows the verb
    ABOUT = "which question it answers, ..."   # a few lines of `powertui VERB --help`
    EXAMPLES = (("powertui …", "what it does"), …)
    def arguments(parser) -> None              # its arguments
    def run(args) -> int                       # asks and prints; returns the exit code

and one line in `VERBS`. `argparse.Namespace` goes no deeper than `run`. Modules here import the
standard library alone when they are imported, so that `--help` answers at once; what a verb needs
is imported when it runs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse

# In the order of `powertui --help`.
VERBS = (
    "open",
    "report",
    "doctor",
    "energy",
    "compare",
    "check",
    "baseline",
    "export",
    "note",
    "record",
    "live",
    "capture",
    "sensors",
    "demo",
)


class Verb(Protocol):
    """What a module of this folder offers."""

    HELP: str
    USAGE: str
    ABOUT: str
    EXAMPLES: tuple[tuple[str, str], ...]

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: argparse.Namespace) -> int: ...


def load(name: str) -> Verb:
    """The module behind a verb."""
    return cast(Verb, importlib.import_module(f"powertui.verbs.{name}"))
