"""`powertui doctor [PATH]`: what was found where, what is missing and why, and what to do."""

from __future__ import annotations

import argparse

from powertui.errors import UsageError
from powertui.verbs import common

HELP = "show what was found, what is missing, why, and what to do"
USAGE = "[OPTIONS] [PATH]"
ABOUT = """\
Why is a run, a step or a power log not there? Checks files, clocks, steps, power logs and
this installation, and names the next command for each problem."""
EXAMPLES = (
    ("powertui doctor ~/logs", "what is there, what is missing, what to do"),
    ("powertui doctor ~/logs --power power.csv", "also whether this power log fits"),
    ("powertui doctor --power power.csv", "what this power log holds, without a run"),
    ("powertui doctor --power a.csv --watts-col P", "the same, of the columns that are named"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser, optional=True)
    common.where_to_read(parser)
    power = common.group(parser, "power logs")
    power.add_argument(
        "--power",
        action="append",
        default=[],
        metavar="PATH",
        help="a power log, or a folder of them, beside the run or alone (repeatable)",
    )
    common.log_columns(power)
    common.power_host(power)
    forms = common.group(parser, "output").add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object (a stable interface)")
    forms.add_argument("--csv", action="store_true", help="one row per check")
    forms.add_argument("--markdown", action="store_true", help="tables for a document")


def run(args: argparse.Namespace) -> int:
    """Exit code 3 when nothing readable was found."""
    from dataclasses import replace

    from powertui import config
    from powertui.data.asked import ReadOptions
    from powertui.report import doctor

    if args.path is None and not args.power:
        raise UsageError(
            "Name a path, or a power log with --power.",
            hint="For the current folder: powertui doctor .",
        )
    power = common.power_files(args.power)
    columns = common.log_columns_of(args)
    settings = config.load()
    reading = ReadOptions(
        tz=args.tz,
        columns=replace(columns, limit=common.limit_of(args)) if columns else None,
        power=power,
        find_power=not power,
        # It asks little of each host: other processes would do more than that for it.
        hosts=common.host_reader(args.on) if args.on else None,
        limit=common.limit_of(args),
        power_hosts=common.power_hosts_of(args),
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
    )
    return doctor.tell(args.path, reading, common.form_of(args))
