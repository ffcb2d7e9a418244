"""`powertui energy PATH`: joules per epoch and step, the sensors, the alignment and what stands
out.
"""

from __future__ import annotations

import argparse

from powertui import units
from powertui.verbs import common, window_arguments

HELP = "print joules per epoch and step, with intervals"
USAGE = "[OPTIONS] PATH [POWER_LOG ...]"
ABOUT = """\
How many joules did the run, its epochs and its steps take, and how sure is that? Also
lists findings (power that the trace does not explain), the sensors and the alignment."""
EXAMPLES = (
    ("powertui energy ~/logs --power power.csv", "joules per epoch and step"),
    (
        "powertui energy ~/logs --from 19:52:50 --to 19:53:10",
        "joules between two times of the training",
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    common.more_paths(parser, "power logs, as with --power")
    common.reading(parser)
    window_arguments.window(parser)
    common.output(parser, csv="one row per step")
    output = common.group(parser, "output")
    output.add_argument(
        "--verbose",
        action="store_true",
        help="with the sensors, the alignment, the evidence of findings and notes on the files",
    )
    output.add_argument(
        "--show-unit",
        choices=units.ENERGY_UNITS,
        help="unit of energies (default: J, kJ or MJ; from 12 hours on Wh or kWh)",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 3 when nothing of what was named could be read."""
    from powertui.report import energy
    from powertui.report.energy_page import PageOptions

    return energy.tell(
        common.one_path(args),
        args.run,
        common.reading_of(args),
        common.aligning_of(args),
        common.form_of(args),
        window_arguments.window_of(args),
        PageOptions(args.verbose, args.show_unit),
    )
