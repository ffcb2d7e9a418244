"""Arguments that several verbs share, and the typed options that are made of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from powertui.errors import UsageError

if TYPE_CHECKING:
    from powertui.data.asked import Aligning, LogColumns, ReadOptions
    from powertui.data.limits import MemoryLimit
    from powertui.data.training.named_windows import WindowRequest
    from powertui.power_server import PowerServer
    from powertui.report.compare_sides import Asked
    from powertui.report.export import WindowWords
    from powertui.sampler.targets import Target
    from powertui.terminal.launch import Display

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


def more_paths(parser: argparse.ArgumentParser, others: str) -> None:
    """What stands behind the first path."""
    parser.add_argument("more", metavar="PATH", nargs="*", default=[], help=others)


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
        runs, logs = named[:1], named[1:]
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
    named = [path for path in args.power if _is_server(path)]
    if not named:
        return ()
    import os

    from powertui.sampler.prometheus_fetch import PrometheusPower
    from powertui.sampler.targets import SourceArguments, targets

    login = SourceArguments(
        sources=named, password_file=args.password_file or "", insecure=args.insecure
    )
    reached = targets(login, environment=os.environ)
    return tuple(
        (path, PrometheusPower(target.url, target.options))
        for path, target in zip(named, reached, strict=True)
    )


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
        columns=replace(columns, limit=limit_of(args)) if columns else None,
        limit=limit_of(args),
        power_hosts=power_hosts_of(args),
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
    )


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


def window(parser: argparse.ArgumentParser) -> None:
    """Which window of a training."""
    group = parser.add_argument_group("a window of the training")
    group.add_argument(
        "--from", dest="from_", metavar="TIME", help="its start: 27.31s, or wall time: 19:52:50"
    )
    group.add_argument("--to", metavar="TIME", help="its end")
    group.add_argument("--epoch", type=int, metavar="N", help="this epoch")
    group.add_argument(
        "--steps",
        metavar="A-B",
        help="these steps of a profile (of --epoch when given)",
    )
    group.add_argument(
        "--batches",
        metavar="A-B",
        help="these batches of --epoch, e.g. 183-260 (without it: steps as logged)",
    )
    group.add_argument("--session", metavar="NAME", help="this profile session")
    at(group)


def at(options: argparse._ActionsContainer, *, action: str = "store") -> None:
    """The window as one line, for every verb that takes a window."""
    options.add_argument(
        "--at",
        action=action,
        metavar="PLACE",
        help="the window as one line: 'epoch 1 step 45-71', 27.31s-28.78s, or what y copied",
    )


def at_of(args: argparse.Namespace, *others: str) -> WindowWords | None:
    """The window of `--at`; None without it.

    `others` are the options that name a window too: one of them is enough.
    """
    if args.at is None:
        return None
    from powertui.report.export import WindowWords

    given = [getattr(args, name) for name in others]
    if any(value is not None and value is not False for value in given):
        raise UsageError(
            "The window is given twice.", hint="Give --at alone, without other options for it."
        )
    return WindowWords.from_place(args.at)


def window_of(args: argparse.Namespace) -> WindowRequest:
    """The window that was asked for, from the arguments of `window`."""
    from powertui.data.training.named_windows import WindowRequest

    place = at_of(args, "from_", "to", "epoch", "batches", "session", "steps")
    if place is not None:
        is_wall = place.is_of_training
        return WindowRequest(
            start=place.start,
            end=place.end,
            epoch=place.epoch,
            steps=place.steps,
            host=place.host,
            of_profile=place.start is not None and not is_wall,
            tz=args.tz,
        )
    return WindowRequest(
        start=args.from_,
        end=args.to,
        epoch=args.epoch,
        batches=args.batches,
        session=args.session,
        steps=args.steps,
        tz=args.tz,
    )


def time_of(words: str | None) -> int | None:
    """A moment of the trace (ps) as a person writes it; None where none is named."""
    from powertui import units
    from powertui.plain import plain

    if words is None:
        return None
    ps = units.parse_time(words)
    if ps is None:
        raise UsageError(
            f"{plain(words, 40)!r} is not a time.", hint="Write it like 27.31s, 350ms or 1:02.5."
        )
    return ps


def seconds(words: str, name: str, least: float = 0.0, most: float = 86400.0) -> float:
    """A length of time as a person writes it."""
    from powertui import units

    ps = units.parse_time(words)
    if ps is None or not least <= ps / units.PS_PER_S <= most:
        raise UsageError(
            f"{name} {words}: is not possible.", hint="Write it like 2s, 500ms or 10m."
        )
    return ps / units.PS_PER_S


def one_part(parser: argparse.ArgumentParser) -> None:
    """Which part of the runs, for verbs that take several paths."""
    part = group(parser, "which part of each run")
    part.add_argument(
        "--run",
        metavar="NAME",
        help="only this run of the folder: its name, or a part that no other name has",
    )
    part.add_argument("--host", metavar="NAME", help="only this host")
    part.add_argument("--epoch", type=int, metavar="N", help="only this epoch")
    part.add_argument("--steps", metavar="A-B", help="only these steps (of --epoch)")
    part.add_argument(
        "--from", dest="from_", metavar="TIME", help="start of the window in trace time: 27.31s"
    )
    part.add_argument("--to", metavar="TIME", help="end of the window")
    at(part)


def part_of(args: argparse.Namespace) -> Asked:
    """The part that was asked for, from the arguments of `one_part`."""
    from powertui.report.compare_sides import Asked

    given = {
        "run": args.run,
        "host": args.host,
        "epoch": args.epoch,
        "steps": args.steps,
        "start": args.from_,
        "end": args.to,
        "at": args.at,
    }
    return Asked(**{name: [value] for name, value in given.items() if value is not None})


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


def screen(parser: argparse.ArgumentParser) -> None:
    """What to draw with."""
    group = parser.add_argument_group("terminal")
    group.add_argument(
        "--glyphs",
        choices=("auto", "unicode", "console", "ascii"),
        default="auto",
        help="characters to draw with",
    )
    group.add_argument(
        "--color",
        choices=("auto", "none", "16", "256", "true"),
        default="auto",
        help="colors to draw with",
    )
    group.add_argument(
        "--theme",
        choices=("dark", "light"),
        default=None,
        help="colors for a dark or a light background",
    )
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    group.add_argument(
        "--no-motion", action="store_true", help="do not outline where a jump has led"
    )
    group.add_argument("--fps", type=int, metavar="N", help="at most N frames a second")


def display_of(args: argparse.Namespace, instead: str) -> Display:
    """A screen to draw on.

    Raises where there can be none; `instead` says what works there. Call it before textual is
    imported.
    """
    from powertui.terminal import capabilities, launch

    asked = capabilities.Wishes(
        color=None if args.color == "auto" else args.color,
        glyphs=None if args.glyphs == "auto" else args.glyphs,
        mouse=False if args.no_mouse else None,
        fps=args.fps,
        motion=False if args.no_motion else None,
    )
    return launch.prepare(asked, args.theme, instead)


# ── what to sample ───────────────────────────────────────────────────────────────────────────────


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
        "--password-file", metavar="FILE", help="file with the password, readable only by you"
    )
    group.add_argument("--kg-file", metavar="FILE", help="file with the BMC key K_G")
    group.add_argument(
        "--level",
        choices=("user", "operator", "administrator"),
        default=None,
        help="privilege to ask for (default: user)",
    )
    group.add_argument(
        "--insecure", action="store_true", help="accept any TLS certificate (redfish, prometheus)"
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
    options = group(parser, "recording")
    options.add_argument(
        "-o", "--output", metavar="FILE", help="CSV file to append to (default: power-DATE.csv)"
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
        "--budget", metavar="ENERGY", help="energy that may be spent: 4kWh, 500kJ, 20MJ"
    )


def sync_of(args: argparse.Namespace) -> float | None:
    """Seconds between two waits for the disk."""
    seconds: float | None = args.sync
    if seconds is not None and not 0.1 <= seconds <= 86400:
        raise UsageError(f"--sync {seconds:g} is not possible: it must be between 0.1 s and a day.")
    return seconds
