"""`powertui PATH`: look at what lies there, in screens."""

from __future__ import annotations

import argparse
import dataclasses

from powertui.terminal.transfer_line import transfers_shown
from powertui.verbs import common

HELP = "browse a logdir, a run or one profile (the verb may be left out)"
USAGE = "[OPTIONS] PATH [PATH ...]"
ABOUT = """\
Opens the list of runs, or the run itself where PATH holds only one. Power logs beside a
run are found and aligned. Press ? on any page for its keys."""
EXAMPLES = (
    ("powertui ~/logs", "browse the runs of a logdir"),
    ("powertui vm.xplane.pb power.csv", "one profile with its power log"),
    ("powertui run_a run_b", "both, R goes from one to the other"),
)
_FIRST_S = (
    0.2  # folders are looked through so long before the list is shown, and each time that it grows
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    common.more_paths(parser, "more logdirs, runs or profiles, to open together; or power logs")
    common.reading(parser)
    common.screen(parser)


def run(args: argparse.Namespace, notice: str = "") -> int:
    """Open the screens.

    Textual reads its settings while it is imported: the terminal is looked at before.
    """
    with transfers_shown():
        paths = common.sort_out(
            args
        )  # a path that is not there is told as that, with or without a terminal
    display = common.display_of(
        args, f"`powertui report {args.path}` prints the same facts as text."
    )
    from powertui.data import logdir

    stages = logdir.stream_all(
        paths, _FIRST_S
    )  # thousands of runs: the list stands with the first of them
    with transfers_shown():
        scanned = next(stages)
        if args.run is not None and not scanned.complete:
            scanned = list(stages)[-1]
    if args.run is not None:
        scanned = dataclasses.replace(scanned, runs=scanned.chosen(args.run), parts=())
    from powertui.screens.session import Session
    from powertui.screens.shell import Shell

    reading = common.reading_of(args)
    reading = dataclasses.replace(
        reading, step_marker=reading.step_marker or display.settings.step_marker
    )
    session = Session(
        reading,
        common.aligning_of(args),
        logdir=scanned,
        rest=None if scanned.complete else stages,
        notice=notice,
    )
    return Shell(session, display).run_to_exit()
