"""What to read and how to answer: arguments that several verbs share, and the typed options made of
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from powertui.errors import UsageError

if TYPE_CHECKING:
    from powertui.data.asked import Aligning, LogColumns, ReadOptions
    from powertui.data.host_parts import HostPart, HostQuestion, HostReader
    from powertui.data.limits import MemoryLimit
    from powertui.data.model import Warn
    from powertui.power_server import PowerServer

_Q = TypeVar("_Q")
_R = TypeVar("_R")

_FORMS = ("json", "csv", "markdown")
_WHAT_TO_READ = "what to read"  # a title that several groups of options share
UNITS = (
    "W",
    "mW",
    "uW",
    "kW",
    "dW",
    "J",
    "mJ",
    "uJ",
    "kJ",
    "Wh",
    "mWh",
    "kWh",
)  # as data/power/units.py knows them


# ── what to read ─────────────────────────────────────────────────────────────────────────────────


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The options below this title; one group, whoever asks for it."""
    for existing in parser._action_groups:
        if existing.title == title:
            return existing
    return parser.add_argument_group(title)


def path(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Where the runs are stored."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?" if optional else None,
        help="logdir, run folder or profile, or ssh://host/folder; - reads a profile from stdin",
    )
    memory(parser)


def memory(parser: argparse.ArgumentParser) -> None:
    """How much memory reading may take."""
    group(parser, _WHAT_TO_READ).add_argument(
        "--max-memory",
        metavar="SIZE",
        help=(
            "memory one file may take: 24G, or none for no limit (default: half of the free memory)"
        ),
    )


def more_paths(parser: argparse.ArgumentParser, others: str, *, name: str = "PATH") -> None:
    """What stands behind the first path; `name` is what the help calls it."""
    parser.add_argument("more", metavar=name, nargs="*", default=[], help=others)


def more_power_logs(parser: argparse.ArgumentParser) -> None:
    """Power logs behind the path of a run."""
    more_paths(parser, "power logs, as with --power", name="POWER_LOG")


def sort_out(args: argparse.Namespace) -> list[str]:
    """The paths with runs, the first of them in `args.path`. Power logs among them are taken as
    --power.

    Raises `UnreadableFile` for a path that is not there.
    """
    from powertui.data import logdir

    named = [args.path, *getattr(args, "more", ())]
    for path in named:
        _must_be_there(
            path, "Check the path. `powertui doctor .` shows what is in the current folder."
        )
    for path in getattr(args, "power", ()):
        _must_be_there(path, "Check the path after --power.")
    # A single path is scanned where it is opened: once is enough for a large logdir.
    if len(named) == 1:
        return named
    runs: list[str] = []
    logs: list[str] = []
    for path in named:
        scanned = logdir.scan(path)
        if scanned.tfevents or any(run.profiles or run.tfevents for run in scanned.runs):
            runs.append(path)
        elif scanned.power:
            logs.append(path)
        else:
            raise UsageError(
                f"{path} holds neither a run nor a power log.",
                hint=f"See what is there: powertui doctor {path}",
            )
    if not runs:
        # Power logs alone: the first is what is opened, the others are beside it.
        args.more = []
        runs = named[:1]
        logs = named[1:]
    args.path = runs[0]
    args.power = [*args.power, *logs]
    return runs


def one_path(args: argparse.Namespace) -> str:
    """The one path with runs, for verbs that tell of one."""
    runs = sort_out(args)
    if len(runs) > 1:
        hint = "Name the folder above them, or each by itself."
        raise UsageError(
            f"Only one path with runs can be reported at a time; {runs[0]} and {runs[1]} are two.",
            hint=hint,
        )
    return runs[0]


def _must_be_there(path: str, hint: str) -> None:
    import os.path

    from powertui.data import elsewhere

    if _is_server(path):
        return
    if path not in ("", "-") and not elsewhere.is_address(path) and not os.path.lexists(path):
        from powertui.errors import UnreadableFile

        raise UnreadableFile(path, "no such file or directory", hint=hint)


def _is_server(path: str) -> bool:
    """Whether what `--power` names is a server."""
    if "://" not in path:
        return False
    from powertui.power_server import is_server

    return is_server(path)


def power_files(named: list[str]) -> tuple[str, ...]:
    """The power logs that `--power` names. A folder stands for those in it."""
    from pathlib import Path

    from powertui.data import elsewhere

    out: list[str] = []
    for path in named:
        if _is_server(path) or (not Path(path).is_dir() and not elsewhere.is_address(path)):
            out.append(path)
            continue
        from powertui.data import logdir

        inside = [file.path for file in logdir.scan(path).power]
        if not inside:
            raise UsageError(
                f"The folder {path} holds no power log.",
                hint=f"See what is there: powertui doctor {path}",
            )
        out += inside
    return tuple(dict.fromkeys(out))


def limit_of(args: argparse.Namespace) -> MemoryLimit:
    """How much memory one file may take, from the arguments of `path`."""
    from powertui.data.limits import MemoryLimit

    return MemoryLimit.parse(args.max_memory)


def reading(parser: argparse.ArgumentParser) -> None:
    """Which run, and how to read it."""
    group(parser, _WHAT_TO_READ).add_argument(
        "--run",
        metavar="NAME",
        help="only this run of the logdir: its name, or a part that no other name has",
    )
    how_to_read(parser)


def how_to_read(parser: argparse.ArgumentParser) -> None:
    """How to read a run, and the power beside it."""
    group(parser, _WHAT_TO_READ).add_argument(
        "--step-marker", metavar="REGEX", help="events whose name matches start a step"
    )
    group(parser, _WHAT_TO_READ).add_argument(
        "--match-clocks",
        action="store_true",
        help="correct the clocks of hosts by the collectives that their ranks ran together",
    )
    where_to_read(parser)
    power = group(parser, "power logs")
    power.add_argument(
        "--power",
        action="append",
        default=[],
        metavar="PATH",
        help="a power log, a folder of them or prometheus://SERVER, beside the run (repeatable)",
    )
    _power_login(power)
    power.add_argument("--no-power", action="store_true", help="do not look for power logs")
    log_columns(power)
    power.add_argument(
        "--offset", metavar="TIME", help="trace time of the power log's zero, e.g. 1.25s"
    )
    power.add_argument(
        "--align",
        choices=("auto", "clock", "signal", "none"),
        default="auto",
        help="how to align (default: auto)",
    )
    power.add_argument("--pins", metavar="FILE", help="file of pins set by hand, read and written")
    power_host(power)
    power.add_argument(
        "--idle", type=float, metavar="W", help="idle power, when the log does not show it"
    )


def where_to_read(parser: argparse.ArgumentParser) -> None:
    """Who reads the hosts of a run of many."""
    group(parser, _WHAT_TO_READ).add_argument(
        "--on",
        metavar="dask://HOST:PORT",
        help="read the hosts of a run on a Dask cluster (default: a process a core)",
    )


def log_columns(options: argparse._ActionsContainer) -> None:
    """What a power log is that cannot be guessed, for every verb that reads one."""
    options.add_argument(
        "--time-col", metavar="NAME", help="column with the time: its name, or number from 1"
    )
    options.add_argument("--watts-col", metavar="NAME", help="column with the power (several: a,b)")
    options.add_argument("--unit", choices=UNITS, help="unit of that column")
    options.add_argument(
        "--tz", metavar="ZONE", help="time zone of local times: a name, or an offset like -03:00"
    )


def _power_login(options: argparse._ActionsContainer) -> None:
    """How to log in at a server that `--power` names."""
    options.add_argument(
        "--password-file",
        metavar="FILE",
        help="file with the password for prometheus://USER@SERVER, readable only by you",
    )
    options.add_argument(
        "--insecure", action="store_true", help="accept any TLS certificate of that server"
    )


def _power_servers(args: argparse.Namespace) -> tuple[tuple[str, PowerServer], ...]:
    """How the servers that `--power` names are reached, each by its address."""
    if not any(_is_server(path) for path in args.power):
        return ()
    from powertui.verbs.power_servers import power_servers

    return power_servers(args)


def log_columns_of(args: argparse.Namespace) -> LogColumns | None:
    """What was said of power logs, from the arguments of `log_columns`; None where nothing was."""
    from powertui.data.asked import LogColumns

    said = {
        name: getattr(args, name)
        for name in ("time_col", "watts_col", "unit", "tz")
        if getattr(args, name)
    }
    return LogColumns(**said) if said else None


def power_host(options: argparse._ActionsContainer) -> None:
    """Whose power it is, for every verb that reads power beside a run."""
    options.add_argument(
        "--power-host",
        action="append",
        default=[],
        metavar="LOGGED=HOST",
        help="whose power it is: a name in the log, a host of the run: bmc-17=host-a (repeatable)",
    )


def power_hosts_of(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """(a name in the power log, a host of the run), from the argument of `power_host`."""
    return tuple(_power_host(text) for text in args.power_host)


def reading_of(args: argparse.Namespace) -> ReadOptions:
    """How to read a run, from the arguments of `reading`."""
    from dataclasses import replace

    from powertui import config
    from powertui.data.asked import ReadOptions

    columns = log_columns_of(args)
    # Whoever names a log means that one; what lies around is for those who name none.
    settings = config.load()
    return ReadOptions(
        step_marker=args.step_marker,
        match_clocks=args.match_clocks,
        tz=args.tz,
        power=power_files(args.power),
        servers=_power_servers(args),
        find_power=not (args.no_power or args.power),
        hosts=host_reader(args.on),
        columns=replace(columns, limit=limit_of(args)) if columns else None,
        limit=limit_of(args),
        power_hosts=power_hosts_of(args),
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
    )


class _Copies:
    """A process a core reads the hosts of a run; imported once there is one of many."""

    cores = 0  # of others

    def answers(
        self, function: Callable[[_Q], _R], questions: Sequence[_Q], counts: Sequence[int]
    ) -> Iterator[_R]:
        """There is nobody else to ask."""
        return map(function, questions)

    def failed(self, error: BaseException, noun: str, count: int = 1) -> None:
        """None: everything is read here anyway."""

    def parts(
        self, questions: Sequence[HostQuestion], on_wait: Callable[[], None]
    ) -> Iterator[HostPart]:
        """The hosts in order."""
        from powertui.data.host_readers import HostReading

        return HostReading().parts(questions, on_wait)

    def warnings(self) -> tuple[Warn, ...]:
        """None: what a copy of this process cannot read goes wrong here."""
        return ()


def host_reader(address: str | None) -> HostReader:
    """Who reads the hosts of a run, from `--on`."""
    if address is None:
        return _Copies()
    from powertui.data import cluster

    return cluster.cluster_reader(address)


def _power_host(text: str) -> tuple[str, str]:
    """What `--power-host` says: (a name in the power log, a host of the run).

    The name is empty for power that names no host.
    """
    logged, sign, host = text.rpartition("=")
    if not sign or not host.strip():
        raise UsageError(
            f"--power-host {text}: is not a pair of names.",
            hint="Write it like --power-host bmc-17=host-a.",
        )
    return logged.strip(), host.strip()


def aligning_of(args: argparse.Namespace) -> Aligning:
    """How power is to be placed, from the arguments of `reading`."""
    from powertui.data.asked import Aligning, Pins

    offset_s, pinned = None, Pins()
    if args.offset:
        from powertui.data.energy import align

        offset_s = align.seconds(args.offset)
    if args.pins:
        from powertui.data.energy import pins

        pinned = pins.read(args.pins)
    return Aligning(mode=args.align, offset_s=offset_s, pins=pinned, idle_w=args.idle)


def baselines(options: argparse._ActionsContainer) -> None:
    """Where saved baselines are."""
    options.add_argument(
        "--dir",
        metavar="FOLDER",
        help="the folder of baselines (default: POWERTUI_BASELINES, else your data folder)",
    )


# ── how to answer ────────────────────────────────────────────────────────────────────────────────


def output(parser: argparse.ArgumentParser, csv: str, *, html: bool = False) -> None:
    """Which form the answer takes; `csv` describes the rows of that form. `html`: also a page."""
    options = group(parser, "output")
    forms = options.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object (a stable interface)")
    forms.add_argument("--csv", action="store_true", help=csv)
    forms.add_argument("--markdown", "--md", action="store_true", help="tables for a document")
    if html:
        forms.add_argument(
            "--html",
            metavar="FILE",
            help="a page to send: one HTML file without scripts, at most 300 kB",
        )
        options.add_argument("--force", action="store_true", help="with --html: replace the file")


def without(args: argparse.Namespace, option: str, *others: str) -> None:
    """Raise `UsageError` where `option` was given together with one of these."""
    for other in others:
        # `from` is a word of Python, so that its value is kept under another name.
        name = {"--from": "from_"}.get(other, other.removeprefix("--").replace("-", "_"))
        if getattr(args, name):
            raise UsageError(f"{option} and {other} cannot be given together.")


def form_of(args: argparse.Namespace) -> str:
    """The form that was asked for: a key of `report.writers.WRITERS`."""
    return next((form for form in _FORMS if getattr(args, form, False)), "text")
