"""The verb `open`: look at what lies at a path, in screens.

Textual is imported only after the terminal was looked at, because it reads its settings while it is imported; and not at all where
no screen can be shown.
"""

from __future__ import annotations

import argparse
import dataclasses

from powertui.errors import UsageError
from powertui.terminal.launch import prepare

FIRST_S = 0.2  # folders are looked through so long before the list is shown, and each time that it grows


def run(args: argparse.Namespace) -> int:
    """Open a logdir, a run or one profile."""
    capabilities, look = prepare(args)
    from powertui.data import logdir

    wanted = getattr(args, "run", None)
    stages = logdir.stream(args.path, FIRST_S)  # thousands of runs: the list stands with the first of them
    found = next(stages)
    if wanted:
        found = logdir.scan(args.path) if not found.complete else found
        runs = tuple(entry for entry in found.runs if entry.name == wanted or entry.name.endswith("/" + wanted))
        if not runs:
            names = ", ".join(entry.name for entry in found.runs[:8]) or "none"
            raise UsageError(f"there is no run {wanted!r} in {args.path}", hint=f"Runs there: {names}.")
        found = dataclasses.replace(found, runs=runs)
    from powertui.screens.shell import start

    return start(args, capabilities, look, found, stages)
