"""`powertui export PATH`: a window of a run as a file."""

from __future__ import annotations

import argparse

from powertui.verbs import common, window_arguments

HELP = "write a window of a run as CSV, Parquet, Perfetto JSON or OpenMetrics"
USAGE = "[OPTIONS] PATH [POWER_LOG ...]"
ABOUT = """\
Writes power samples, steps, ops or events of exactly one window. Without options for the
window, of the whole run. `openmetrics` is for a database such as Prometheus."""
EXAMPLES = (
    ("powertui export ~/logs --epoch 1 --steps 185-258", "these steps, as CSV"),
    ("powertui export ~/logs --at 27.31s-28.78s", "a place that y copied"),
    ("powertui export ~/logs --marked -o window", "the window marked last in the timeline"),
    ("powertui export ~/logs --what openmetrics -o run.om", "power and steps for Prometheus"),
)

# Options that name a window as well as --at.
_OTHER_WINDOWS = ("from_", "to", "epoch", "steps", "batches", "session", "marked")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    common.more_power_logs(parser)
    common.reading(parser)
    output = common.group(parser, "output")
    window = common.group(parser, "the window")
    output.add_argument(
        "--what",
        choices=("samples", "steps", "ops", "events", "perfetto", "openmetrics"),
        default="samples",
        help="what the file holds (default: samples)",
    )
    window.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help="start of the window: trace time like 27.31s, or wall time like 19:52:50",
    )
    window.add_argument("--to", metavar="TIME", help="end of the window")
    window.add_argument("--epoch", type=int, metavar="N", help="the window is this epoch")
    window.add_argument(
        "--steps",
        metavar="A-B",
        help="the window is these steps (of --epoch when given), e.g. 185-258",
    )
    window.add_argument(
        "--batches",
        metavar="A-B",
        help="the window is these batches of --epoch, as the training logged them",
    )
    window.add_argument(
        "--session",
        metavar="NAME",
        help="the window is this profile session of the training",
    )
    window.add_argument("--marked", action="store_true", help="the window marked in the timeline")
    window_arguments.at(window)
    window.add_argument("--host", metavar="NAME", help="host of the run (default: the first)")
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="file to write (default: -, standard output)",
    )
    output.add_argument(
        "--format",
        choices=("csv", "parquet", "json"),
        help="default: by the file's name, else csv",
    )
    output.add_argument(
        "--comments",
        action="store_true",
        help="CSV: write what it is based on in # lines above the table, not in a file beside it",
    )
    output.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    """What was written is said on standard error, so that `-o -` stays clean."""
    from powertui.report import export

    window = window_arguments.at_of(args, *_OTHER_WINDOWS)
    if window is not None:
        from dataclasses import replace

        window = replace(window, host=args.host or window.host)
    window = window or export.WindowWords(
        start=args.from_,
        end=args.to,
        epoch=args.epoch,
        steps=args.steps,
        marked=args.marked,
        host=args.host,
        batches=args.batches,
        session=args.session,
    )
    output = export.Output(
        path=args.output,
        what=args.what,
        format=args.format,
        force=args.force,
        comments=args.comments,
    )
    reading = common.reading_of(args)
    aligning = common.aligning_of(args)
    return export.write(
        path=args.path,
        name=args.run,
        reading=reading,
        aligning=aligning,
        words=window,
        output=output,
    )
