"""A run's power, placed on the clock of one of its traces as the command line asks."""

from __future__ import annotations

import argparse

from powertui.data.energy import align
from powertui.data.logdir import RunEntry
from powertui.data.model import PowerOnTrace, Run


def place(
    run: Run, index: int, entry: RunEntry | None, args: argparse.Namespace, chosen: align.Options | None = None
) -> tuple[PowerOnTrace, ...]:
    """What can be drawn above that trace. Series that nothing places are left out here; the alignment page shows why."""
    if not run.power or index >= len(run.traces):
        return ()
    placed = align.place_all(run, index, entry, chosen or align.Options.from_args(args))
    return tuple(one.power for one in placed if one.power.status != "none")
