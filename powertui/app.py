"""The verb `open`: look at what lies at a path, in screens.

Textual is imported only after the terminal was looked at, because it reads its settings while it is imported; and not at all where
no screen can be shown.
"""

from __future__ import annotations

import argparse
import dataclasses

from powertui.errors import UsageError
from powertui.terminal.launch import prepare


def run(args: argparse.Namespace) -> int:
    """Open a logdir, a run or one profile."""
    capabilities, look = prepare(args)
    from powertui.data import logdir

    found = logdir.scan(args.path)
    wanted = getattr(args, "run", None)
    if wanted:
        runs = tuple(entry for entry in found.runs if entry.name == wanted or entry.name.endswith("/" + wanted))
        if not runs:
            names = ", ".join(entry.name for entry in found.runs[:8]) or "none"
            raise UsageError(f"there is no run {wanted!r} in {args.path}", hint=f"Runs there: {names}.")
        found = dataclasses.replace(found, runs=runs)
    from powertui.screens.shell import start

    return start(args, capabilities, look, found)
