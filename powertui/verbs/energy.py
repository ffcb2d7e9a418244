"""`powertui energy PATH`: joules per epoch and step, the sensors, the alignment and what stands
out.
"""

from __future__ import annotations

import argparse

from powertui import units
from powertui.errors import UsageError
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
    (
        "powertui energy --job 12345 --power prometheus://server:9090",
        "joules of a job, without a profile",
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser, optional=True)
    common.more_power_logs(parser)
    common.reading(parser)
    window_arguments.window(parser)
    job = common.group(parser, "a job without a profile")
    job.add_argument(
        "--job",
        metavar="JOB",
        help="the joules of this Slurm job, or of pod=NAME, user=NAME or LABEL=VALUE, from the "
        "server that --power names",
    )
    job.add_argument(
        "--sacct",
        metavar="FILE",
        help="what `sacct --parsable2` wrote of it (default: ask sacct, where there is one)",
    )
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
    if args.job is not None:
        return _job(args)
    if args.path is None:
        raise UsageError(
            "Name a path.",
            hint="For the current folder: powertui energy .",
        )
    if args.sacct is not None:
        raise UsageError("--sacct is for --job.")
    from powertui.report import energy
    from powertui.report.energy_page import PageOptions

    return energy.tell(
        path=common.one_path(args),
        name=args.run,
        reading=common.reading_of(args),
        aligning=common.aligning_of(args),
        form=common.form_of(args),
        asked=window_arguments.window_of(args),
        options=PageOptions(args.verbose, args.show_unit),
    )


def _job(args: argparse.Namespace) -> int:
    """The joules of a job, which no path is of."""
    if args.path is not None:
        raise UsageError("--job needs no PATH: a job is found by its label on the server.")
    common.without(args, "--job", "--from", "--to", "--epoch", "--steps", "--batches", "--at")
    from powertui.verbs.power_servers import job_servers

    servers = job_servers(args)
    if len(servers) != 1:
        raise UsageError(
            "--job needs the server that has the power of it, and one alone.",
            hint="Name it: --power prometheus://SERVER:9090",
        )
    from powertui.report import job_energy

    ((url, server),) = servers
    return job_energy.tell(
        written=args.job,
        url=url,
        server=server,
        sacct=args.sacct,
        form=common.form_of(args),
        unit=args.show_unit or "J",
    )
