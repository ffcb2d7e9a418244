"""The command line: one table of verbs, each imported only when it runs.

Neither numpy nor textual is imported here, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from powertui import __version__
from powertui.errors import PowertuiError, UsageError
from powertui.terminal import signals

EPILOG = """\
examples:
  powertui ~/logs                              walk through the runs of a logdir
  powertui report ~/logs --json                the same facts, for a script
  powertui doctor ~/logs                       what is there, what is missing, what to do
  powertui energy ~/logs --power power.csv     joules per epoch and step
  powertui record --host bmc -o power.csv -- python train.py
  powertui live --host bmc                     watch the power while it trains
  powertui demo                                a recorded run, nothing to fetch

exit codes: 0 done, 1 it failed, 2 wrong usage or no terminal, 3 nothing readable, 130/143/129 interrupted
"""

# verb → (module:function that runs it, one line of help)
HANDLERS = {
    "open": "powertui.app:run",
    "report": "powertui.report.summary:run",
    "doctor": "powertui.report.doctor:run",
    "demo": "powertui.demo:run",
    "energy": "powertui.report.energy:run",
    "export": "powertui.report.export:run",
    "record": "powertui.sampler.commands:record",
    "sensors": "powertui.sampler.commands:sensors",
    "live": "powertui.live_app:run",
}


# Verbs that have something to put in order when they are interrupted: a file that is half written, a terminal without its echo.
IN_ORDER = ("export", "record", "sensors", "live")


def build_parser() -> argparse.ArgumentParser:
    """The whole tree. Options that several verbs share are added by the functions below."""
    parser = argparse.ArgumentParser(
        prog="powertui",
        description="Where a training run's time and energy went, in a terminal.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"powertui {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        # Without abbreviations: `--password x` must not be taken for `--password-file x`.
        return verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)

    p = verb("open", "walk through a logdir, a run or one profile (the verb may be left out)")
    _path(p)
    _run(p)
    _power(p)
    _screen(p)

    p = verb("report", "print what is known of each run")
    _path(p)
    _run(p)
    _power(p)
    _output(p)

    p = verb("doctor", "say what was found where, what is missing and why, and what to do")
    _path(p)
    p.add_argument("--json", action="store_true", help="machine-readable")

    p = verb("demo", "open the recorded run that ships with powertui")
    p.add_argument("--report", action="store_true", help="print the report instead of opening the screens")
    p.add_argument("--json", action="store_true", help="with --report: machine-readable")
    _screen(p)

    p = verb("energy", "print joules per epoch and step, the sensors, the alignment and what stands out")
    _path(p)
    _run(p)
    _power(p)
    _output(p)

    p = verb("export", "write a window of a run as CSV, Parquet or Perfetto JSON")
    _path(p)
    _run(p)
    _power(p)
    p.add_argument("--what", choices=("samples", "steps", "ops", "events", "perfetto"), default="samples",
                   help="what the file holds (default: samples)")  # fmt: skip
    p.add_argument("--from", dest="from_", metavar="TIME", help="start of the window in trace time, e.g. 27.31s")
    p.add_argument("--to", metavar="TIME", help="end of the window")
    p.add_argument("--epoch", type=int, metavar="N", help="the window is this epoch")
    p.add_argument("--steps", metavar="A-B", help="or these steps, of the epoch when one is named, e.g. 185-258")
    p.add_argument("--marked", action="store_true", help="the window that was marked in the timeline")
    p.add_argument("--host", metavar="NAME", help="which host of the run (default: the first)")
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="file to write (default: -, standard output)")
    p.add_argument("--format", choices=("csv", "parquet", "json"), help="default: by the file's name, else csv")
    p.add_argument("--force", action="store_true", help="replace an existing file")

    p = verb("record", "sample power into a CSV file, alone or around a command")
    _sources(p)
    p.add_argument("-o", "--output", metavar="FILE", help="CSV file to append to (default: power-DATE.csv)")
    p.add_argument("--interval", type=float, default=1.0, metavar="S", help="seconds between readings (default: 1)")
    p.add_argument("--duration", type=float, metavar="S", help="stop after so many seconds")
    _sync(p)
    p.add_argument("--pulse", action="store_true", help="burn three pulses of CPU first: a marker to align by")
    p.add_argument("--quiet", action="store_true", help="print nothing but errors")
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="record while this runs")

    p = verb("sensors", "list what power can be read here and there, and for the rest why not")
    _sources(p)
    p.add_argument("--json", action="store_true", help="machine-readable")

    p = verb("live", "watch power while it trains, and record it")
    _sources(p)
    p.add_argument("-o", "--output", metavar="FILE", help="CSV file to record to (default: power-DATE.csv)")
    p.add_argument("--no-record", action="store_true", help="only watch")
    p.add_argument("--interval", type=float, default=1.0, metavar="S", help="seconds between readings (default: 1)")
    _sync(p)
    p.add_argument("--logdir", metavar="DIR", help="watch this run's epochs, losses and profiles too")
    p.add_argument("--replay", metavar="FILE", help="play a recording through the same screen")
    p.add_argument("--speed", type=float, default=1.0, metavar="X", help="how fast to replay (default: 1)")
    p.add_argument("--demo", action="store_true", help="replay the recording that ships with powertui")
    _screen(p)
    # A profile that appears while one watches is opened as `open` would, with nothing said about it.
    p.set_defaults(run=None, step_marker=None, power=[], no_power=False, time_col=None, watts_col=None, unit=None, tz=None,
                   offset=None, align="auto", pins=None, idle=None)  # fmt: skip
    return parser


def _path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="logdir, run folder or profile; - reads a profile from standard input")
    parser.add_argument("--max-memory", metavar="SIZE",
                        help="how much memory one file may take: 24G, or none (default: half of what is free)")  # fmt: skip


def _run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to read")
    group.add_argument("--run", metavar="NAME", help="only this run of the logdir")
    group.add_argument("--step-marker", metavar="REGEX", help="events with such names start a step")


def _power(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("power")
    group.add_argument("--power", action="append", default=[], metavar="FILE", help="a power log beside the run (repeatable)")
    group.add_argument("--no-power", action="store_true", help="do not look for power logs")
    group.add_argument("--time-col", metavar="NAME", help="column that holds the time")
    group.add_argument("--watts-col", metavar="NAME", help="column that holds the power")
    group.add_argument("--unit", choices=("W", "mW", "uW", "J", "mJ", "uJ", "kWh", "Wh"), help="its unit")
    group.add_argument("--tz", metavar="ZONE", help="zone of local times: a name, or an offset like -03:00")
    group.add_argument("--offset", metavar="TIME", help="trace time at which the power log's zero lies, e.g. 1.25s")
    group.add_argument("--align", choices=("auto", "clock", "signal", "none"), default="auto", help="how to align (default: auto)")
    group.add_argument("--pins", metavar="FILE", help="sidecar file with pins set by hand")
    group.add_argument("--idle", type=float, metavar="W", help="idle power, when the log does not tell")


def _output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="one JSON object (a stable interface)")
    group.add_argument("--csv", action="store_true", help="one row per step")
    group.add_argument("--markdown", action="store_true", help="tables for a document")


def _screen(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("terminal")
    group.add_argument("--glyphs", choices=("auto", "unicode", "console", "ascii"), default="auto", help="characters to draw with")
    group.add_argument("--color", choices=("auto", "none", "16", "256", "true"), default="auto", help="colours to draw with")
    group.add_argument("--theme", choices=("dark", "light"), default=None, help="colours for a dark or a light background")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    group.add_argument("--fps", type=int, metavar="N", help="at most N frames a second")


def _sync(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--sync", type=float, metavar="S", help="save to the disk itself every S seconds, not only at gaps and at the end"
    )


def _sources(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sources")
    group.add_argument("--host", action="append", default=[], metavar="BMC[:PORT]",
                       help="a BMC, or a host named in the config file (repeatable)")  # fmt: skip
    group.add_argument("--source", action="append", default=[], metavar="URL",
                       help="ipmi:// ipmitool: redfish:// hwmon: rapl: nvml: amd: prometheus:// csv:FILE (repeatable)")  # fmt: skip
    group.add_argument("--user", metavar="NAME", help="user on the BMC")
    group.add_argument("--password-file", metavar="FILE", help="file that holds the password, readable by you alone")
    group.add_argument("--kg-file", metavar="FILE", help="file that holds the BMC key K_G")
    group.add_argument("--level", choices=("user", "operator", "administrator"), default=None,
                       help="privilege to ask for (default: user)")  # fmt: skip
    group.add_argument("--insecure", action="store_true", help="accept any TLS certificate (redfish, prometheus)")
    group.add_argument("--sensor", action="append", default=[], metavar="NAME", help="only this sensor (repeatable)")
    group.add_argument("--timeout", type=float, default=None, metavar="S",
                       help="give up on one answer after S seconds (default: 2)")  # fmt: skip


def normalise(argv: Sequence[str]) -> list[str]:
    """`powertui PATH …` means `powertui open PATH …`: put the verb in when the first word is no verb.

    A file that is named like a verb is opened as ./report. A word that is nearly a verb and no file is a slip.
    """
    args = list(argv)
    if not args:
        return ["open", "."]
    if args[0] in HANDLERS or args[0] in ("-h", "--help", "--version"):
        return args
    if args[0].isalpha() and not os.path.lexists(args[0]):
        import difflib

        near = difflib.get_close_matches(args[0].lower(), HANDLERS, 1)
        if near:
            raise UsageError(f"there is neither a verb nor a file named {args[0]!r}", hint=f"Did you mean powertui {near[0]}?")
    return ["open", *args]


def resolve(verb: str) -> Callable[[argparse.Namespace], int]:
    """Import the function behind a verb."""
    module, _, function = HANDLERS[verb].partition(":")
    handler: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), function)
    return handler


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Errors that a person is meant to read become one sentence and an exit code."""
    try:
        args = build_parser().parse_args(normalise(sys.argv[1:] if argv is None else argv))
        run = resolve(args.verb)
        if argv is None and args.verb in IN_ORDER:
            signals.by_exception()
        return run(args)
    except PowertuiError as error:
        from powertui.plain import plain  # a path in a message can hold anything

        print("\n".join(plain(line) for line in f"powertui: {error}".split("\n")), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has left. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
