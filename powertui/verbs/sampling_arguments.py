"""What to sample, how often and where to: arguments that several verbs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from powertui.errors import UsageError
from powertui.verbs import common

if TYPE_CHECKING:
    from powertui.sampler.targets import Target


def sources(parser: argparse.ArgumentParser) -> None:
    """Which sensors, and how to log in there."""
    from powertui.sampler import schemes

    group = parser.add_argument_group("sources")
    group.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="BMC[:PORT]",
        help="a BMC (NAME=BMC to name it), or a host named in the config file (repeatable)",
    )
    group.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="URL",
        help=f"{schemes.as_help()} (repeatable)",
    )
    group.add_argument("--user", metavar="NAME", help="user on the BMC")
    group.add_argument(
        "--password-file",
        metavar="FILE",
        help="file with the password, readable only by you",
    )
    group.add_argument("--kg-file", metavar="FILE", help="file with the BMC key K_G")
    group.add_argument(
        "--level",
        choices=("user", "operator", "administrator"),
        default=None,
        help="privilege to ask for (default: user)",
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        help="accept any TLS certificate (redfish, prometheus)",
    )
    group.add_argument(
        "--sensor",
        action="append",
        default=[],
        metavar="NAME",
        help="only this sensor (repeatable)",
    )
    group.add_argument(
        "--timeout",
        type=float,
        default=None,
        metavar="S",
        help="wait at most S seconds for an answer (default: 2)",
    )


def targets_of(args: argparse.Namespace) -> list[Target]:
    """What `--host` and `--source` name; empty when they name nothing."""
    import os

    from powertui import config
    from powertui.sampler.targets import SourceArguments, targets

    named = SourceArguments(
        hosts=args.host,
        sources=args.source,
        user=args.user or "",
        password_file=args.password_file or "",
        kg_file=args.kg_file or "",
        level=args.level or "",
        insecure=args.insecure,
        sensors=args.sensor,
        timeout=args.timeout,
    )
    hosts = config.load().hosts if args.host or args.source else {}
    return targets(named, config=hosts, environment=os.environ)


def recording(parser: argparse.ArgumentParser) -> None:
    """How often to sample, and where to."""
    options = common.group(parser, "recording")
    options.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="CSV file to append to (default: power-DATE.csv)",
    )
    options.add_argument(
        "--interval",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds between readings (default: 1)",
    )
    options.add_argument(
        "--sync",
        type=float,
        metavar="S",
        help="fsync every S seconds, not only at gaps and at the end",
    )


def budget(options: argparse._ActionsContainer) -> None:
    """How much energy may be spent."""
    options.add_argument(
        "--budget",
        metavar="ENERGY",
        help="energy that may be spent: 4kWh, 500kJ, 20MJ",
    )


def sync_of(args: argparse.Namespace) -> float | None:
    """Seconds between two waits for the disk."""
    seconds: float | None = args.sync
    if seconds is not None and not 0.1 <= seconds <= 86400:
        raise UsageError(f"--sync {seconds:g} is not possible: it must be between 0.1 s and a day.")
    return seconds


def seconds(words: str, name: str, least: float = 0.0, most: float = 86400.0) -> float:
    """A length of time as a person writes it."""
    from powertui import units

    ps = units.parse_time(words)
    if ps is None or not least <= ps / units.PS_PER_S <= most:
        raise UsageError(
            f"{name} {words}: is not possible.", hint="Write it like 2s, 500ms or 10m."
        )
    return ps / units.PS_PER_S
