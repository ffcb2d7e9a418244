"""`powertui sensors`: what power can be read here and there, and for the rest why not."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from powertui.verbs import sampling_arguments

if TYPE_CHECKING:
    from powertui.sampler.inventory import FoundSource

HELP = "list the power sensors here or on a BMC, and why others cannot be read"
USAGE = "[OPTIONS]"
ABOUT = """\
Lists what can be recorded, finest first, with its current value, and what to ask the
administrator for where a sensor is closed to you."""
EXAMPLES = (
    ("powertui sensors", "what this machine can read, and why not the rest"),
    ("powertui sensors --host bmc", "the power sensors there"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    sampling_arguments.sources(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable")


def run(args: argparse.Namespace) -> int:
    """0 when anything can be read."""
    from powertui.errors import SensorError
    from powertui.sampler.inventory import as_lines, look_here, look_there
    from powertui.wrapping import fitted, terminal_columns

    sources = (
        look_there(sampling_arguments.targets_of(args)) if args.host or args.source else look_here()
    )
    if args.json:
        _print_json(sources)
    else:
        # A sensor's name may hold letters that this terminal has not.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        columns = terminal_columns()
        for line in as_lines(sources):
            print("\n".join(fitted(_parts(line, columns), columns)))
    if any(source.ok for source in sources):
        return 0
    if args.host:
        raise SensorError("No power can be read there.", hint="The lines above say why.")
    return 1


def _parts(line: str, columns: int) -> list[str]:
    """A row that is wider than the terminal, with its last column below itself."""
    row, _, remark = line.rpartition("  ")
    if columns and len(line) > columns and row.strip():
        return [row.rstrip(), f"       {remark}"]
    return [line]


def _print_json(sources: list[FoundSource]) -> None:
    import json

    listed = [source.as_dict() for source in sources]
    json.dump({"powertui_sensors": 1, "sensors": listed}, sys.stdout, indent=2)
    print()
