"""`powertui record`: sample power into a file, alone or around a command."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from powertui.errors import UsageError
from powertui.verbs import common

HELP = "sample power into a CSV file, alone or around a command"
EXAMPLES = (
    ("powertui record --host bmc -o power.csv -- python train.py", "power of this command, from start to end"),
    ("powertui record --source rapl: --duration 60", "a minute of this machine's own counters"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.sources(parser)
    common.recording(parser)
    parser.add_argument("--duration", type=float, metavar="S", help="stop after this many seconds")
    parser.add_argument("--pulse", action="store_true", help="load the CPU in three pulses first: a marker to align by")
    parser.add_argument("--quiet", action="store_true", help="print only errors")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="record while this command runs")


def run(args: argparse.Namespace) -> int:
    """The command's exit code is ours."""
    from powertui.sampler import recording_run
    from powertui.sampler.recording_file import default_path

    command: list[str] = args.command[1:] if args.command[:1] == ["--"] else list(args.command)
    path = args.output or default_path()
    if path == "-":
        raise UsageError("A recording needs a file. Name one with -o.")
    if command:
        from powertui.sampler.runner import look_up

        look_up(command[0])  # before anything is opened or written
    return recording_run.run(
        common.targets_of(args), path, command, interval=args.interval, duration=args.duration, sync=common.sync_of(args),
        pulse=args.pulse, quiet=args.quiet, energies=_energies,
    )  # fmt: skip


def _energies(path: str, begin_s: float, length_s: float) -> Mapping[str, Mapping[str, Any]]:
    from powertui.report import recorded  # numpy: only once the recording is over

    return recorded.energies(path, begin_s, length_s)
