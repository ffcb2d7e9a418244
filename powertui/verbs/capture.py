"""`powertui capture`: take a profile from a program that runs, with power around it, and
open both.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError, SensorError, UsageError
from powertui.verbs import sampling_arguments, screen_arguments

if TYPE_CHECKING:
    from powertui.capture.messages import ProfileRequest
    from powertui.capture.profile_session import CapturedProfile, Plan
    from powertui.capture.stages import Stage
    from powertui.sampler.targets import Target

HELP = "take a profile from a TensorFlow or JAX program that runs, with power around it"
USAGE = "[OPTIONS] HOST:PORT [HOST:PORT ...]"
ABOUT = """\
Asks the program's profiler server for a profile, records power before, during and after
it, and opens the timeline. Ctrl+C ends the profile early and keeps what is there."""
EXAMPLES = (
    (
        "powertui capture localhost:9012 --logdir ~/logs",
        "2 s of a running program, then its timeline",
    ),
    (
        "powertui capture a:9012 b:9012 -t 5s --logdir /shared/logs --host bmc-a --host bmc-b",
        "two hosts, and the power of both",
    ),
)
_MIN_IMPORT_S = 3.0  # of power before the profile, to have something imported meanwhile
_SIGNAL_CODES_ABOVE = 128  # exit codes above it: ended by a signal
_MIN_REPEAT_S = 1.0  # a repetition more often than this is none
_INTERRUPTED_CODE = 130  # as a shell reports a program that Ctrl+C ended
_MIN_INTERVAL_S, _MAX_INTERVAL_S = 0.01, 3600.0  # between two readings of power
_MIN_PATIENCE_S = 0.1  # a server needs some time to write, even where it has little
_MAX_REPEAT_S = 30 * 86400.0  # a month: more is a slip of the unit


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument(
        "address",
        metavar="HOST:PORT",
        nargs="*",
        help="where the program's profiler server listens; several are started together",
    )
    parser.add_argument(
        "--pid",
        type=int,
        metavar="PID",
        help="a PyTorch program of this machine instead (see --other pytorch)",
    )
    parser.add_argument(
        "--logdir",
        metavar="DIR",
        help="logdir to write to; the server writes the profile, so it must be able to",
    )
    _profiling(parser)
    parser.add_argument(
        "--patience",
        metavar="TIME",
        default="30s",
        help="how long to wait for the server's answer beyond -t (default: 30s)",
    )
    parser.add_argument("--delay", metavar="TIME", default="0s", help="wait this long first")
    parser.add_argument(
        "--every",
        metavar="TIME",
        help="repeat after this time, e.g. 10m, until Ctrl+C; opens no screen",
    )
    parser.add_argument("--keep", type=int, metavar="N", help="of those, keep the last N")
    parser.add_argument(
        "--server-logdir",
        metavar="DIR",
        default="",
        help="the logdir as the server sees it (containers, other mounts)",
    )
    parser.add_argument(
        "--via",
        action="append",
        default=[],
        metavar="USER@HOST",
        help="fetch the profile from there with ssh (repeatable: one for each address)",
    )
    parser.add_argument(
        "--no-open",
        action="store_true",
        help="print the summary and open no screen",
    )
    parser.add_argument(
        "--other",
        choices=("pytorch", "neuron", "amd", "nvidia"),
        help="explain how to profile such programs, and capture nothing",
    )
    group = parser.add_argument_group("power")
    group.add_argument("--no-power", action="store_true", help="record no power")
    group.add_argument(
        "--interval",
        type=float,
        default=0.25,
        metavar="S",
        help="seconds between readings (default: 0.25)",
    )
    group.add_argument(
        "--before",
        metavar="TIME",
        default="5s",
        help="power this long before the profile (default: 5s)",
    )
    group.add_argument("--after", metavar="TIME", default="5s", help="and after it (default: 5s)")
    sampling_arguments.sources(parser)
    screen_arguments.screen(parser)


def _profiling(parser: argparse.ArgumentParser) -> None:
    """How long, and how much the profilers record."""
    group = parser.add_argument_group("what the profiler records")
    group.add_argument(
        "-t",
        "--time",
        metavar="TIME",
        help="how long (default: 2s, or as long as the slowest power sensor needs)",
    )
    group.add_argument(
        "--host-level",
        type=int,
        choices=range(4),
        default=2,
        help="how much of what the host does (default: 2)",
    )
    group.add_argument(
        "--device-level",
        type=int,
        choices=range(3),
        default=1,
        help="how much of what devices do (default: 1)",
    )
    group.add_argument(
        "--python-level",
        type=int,
        choices=range(2),
        default=0,
        help="1: calls of Python functions (default: 0)",
    )
    group.add_argument(
        "--no-hlo",
        action="store_true",
        help="leave out the compiled programs: a smaller file, ops without shapes",
    )


def run(args: argparse.Namespace) -> int:
    """Take it, say what it came to, open it."""
    if args.other:
        from powertui.capture import other_makers

        print(other_makers.INSTRUCTIONS[args.other])
        return 0
    from powertui.verbs import capture_messages

    # Before the plan, which looks for sensors: a wrong argument is refused at once.
    every_s = None
    if args.every:
        every_s = sampling_arguments.seconds(args.every, "--every", _MIN_REPEAT_S, _MAX_REPEAT_S)
    plan = _plan(args)
    if every_s is not None:
        from powertui.capture import repetition

        return repetition.run(
            plan,
            every_s,
            args.keep,
            capture_messages.CaptureProgress().on_stage,
            capture_messages.report_one,
        )
    if args.keep is not None:
        raise UsageError("--keep belongs to --every.")
    capture = _capture_once(args, plan)
    capture_messages.print_result(capture)
    capture_messages.print_next_command(capture)
    if capture.stopped:
        return _INTERRUPTED_CODE
    return int(bool(capture.problems) or not capture.good)


def _capture_once(args: argparse.Namespace, plan: Plan) -> CapturedProfile:
    """Take one profile, and open it as soon as it is there."""
    from powertui.capture import profile_session
    from powertui.verbs import capture_messages

    opens = not args.no_open and sys.stdin.isatty() and sys.stdout.isatty()
    progress = capture_messages.CaptureProgress()
    prepared = False

    def on_stage(stage: Stage) -> bool:
        nonlocal prepared
        if not prepared and _has_time_for_imports(stage, plan):
            prepared = True
            _prepare(args, opens)
        return progress.on_stage(stage)

    def meanwhile(capture: CapturedProfile) -> bool:
        progress.clear()
        capture_messages.print_files(capture)
        # What went wrong has to be read first: the screens would cover it.
        if not opens or not capture.files or capture.problems or capture.stopped:
            return False
        return _open(args, capture, plan)

    try:
        return profile_session.take(plan, on_stage, meanwhile=meanwhile)
    finally:
        progress.clear()


def _has_time_for_imports(stage: Stage, plan: Plan) -> bool:
    """Not while something is profiled that may run on this machine: imports take a core."""
    from powertui.capture import profile_session

    if stage.what == profile_session.BEFORE:
        return plan.before_s >= _MIN_IMPORT_S
    return stage.what == profile_session.WRITING


def _prepare(args: argparse.Namespace, opens: bool) -> None:
    """Import what the end needs while nothing is profiled: in the first moments of the power
    before, or while the server writes.
    """
    import importlib
    import threading

    names = ["powertui.report.captured", "powertui.data.conclusions.run_conclusions"]
    if opens:
        try:
            screen_arguments.display_of(
                args, ""
            )  # before textual is imported: it reads its settings then
            names = ["powertui.screens.shell", "powertui.screens.timeline"]
        except PowertuiError:
            pass  # said when it is to be opened
    # A daemon: where the capture is ended early, nobody waits for its imports.
    threading.Thread(
        target=lambda: [importlib.import_module(name) for name in names],
        daemon=True,
    ).start()


def _plan(args: argparse.Namespace) -> Plan:
    from pathlib import Path

    from powertui.capture import address, session_files
    from powertui.capture.profile_session import Plan

    _check_target(args)
    _check_numbers(args)
    addresses = tuple(dict.fromkeys(address.parse(text) for text in args.address))
    if len(args.via) not in (0, 1, len(addresses)):
        raise UsageError("Give --via once, or once for each address.")
    if args.server_logdir and not args.server_logdir.startswith("/"):
        raise UsageError(
            "--server-logdir must be an absolute path, because the server does not know this "
            "working folder."
        )
    power = _power_of(args)
    return Plan(
        addresses=addresses,
        # Absolute: the server writes there, and has a working folder of its own.
        logdir=str(Path(args.logdir).expanduser().absolute()),
        asked=_asked_of(args, _length_of(args, power)),
        power=power,
        interval=args.interval,
        before_s=sampling_arguments.seconds(args.before, "--before"),
        after_s=sampling_arguments.seconds(args.after, "--after"),
        delay_s=sampling_arguments.seconds(args.delay, "--delay"),
        server_logdir=args.server_logdir,
        pid=args.pid,
        via=tuple(session_files.via(text) for text in args.via),
    )


def _check_target(args: argparse.Namespace) -> None:
    """Refuse what names no program, or two, or no place for the profile."""
    if args.pid is not None and (args.address or args.pid < 1):
        raise UsageError("--pid takes the number of one process, and no address beside it.")
    if not args.address and args.pid is None:
        from powertui.capture.problems import THREE_LINES

        raise UsageError(
            "Name where the program's profiler server listens, like localhost:9012.",
            hint=THREE_LINES,
        )
    if not args.logdir:
        raise UsageError(
            "Name the logdir with --logdir: the profile and its power are written there."
        )


def _check_numbers(args: argparse.Namespace) -> None:
    if not _MIN_INTERVAL_S <= args.interval <= _MAX_INTERVAL_S:
        raise UsageError(
            f"An interval of {args.interval:g} s is not possible: it must be between "
            f"{_MIN_INTERVAL_S:g} s and {_MAX_INTERVAL_S:g} s."
        )
    if args.keep is not None and args.keep < 1:
        raise UsageError("--keep must be 1 or more.")


def _length_of(args: argparse.Namespace, power: tuple[Target, ...]) -> float:
    """How long to profile: as was asked for, or as the slowest power sensor needs; says why."""
    from powertui.sampler.profile_length import profile_length
    from powertui.verbs import capture_messages

    needed = profile_length([target.url for target in power], args.interval)
    if args.time is None:
        if reason := needed.reason():
            capture_messages.say(f"{reason} -t sets another length.")
        return needed.seconds
    length = sampling_arguments.seconds(args.time, "-t", 0.001, 3600.0)
    if warning := needed.warning(length):
        capture_messages.say(warning)
    return length


def _asked_of(args: argparse.Namespace, length: float) -> ProfileRequest:
    """What the profiler is to record, from the arguments of `profiling`."""
    from powertui.capture.messages import ProfileRequest

    patience = sampling_arguments.seconds(args.patience, "--patience", _MIN_PATIENCE_S, 86400.0)
    return ProfileRequest(
        seconds=length,
        host_level=args.host_level,
        device_level=args.device_level,
        python_level=args.python_level,
        hlo=not args.no_hlo,
        patience_s=patience,
    )


def _power_of(args: argparse.Namespace) -> tuple[Target, ...]:
    """The sources that were named, else what this machine has. None of its own is no error."""
    from powertui.sampler.inventory import local_targets
    from powertui.verbs import capture_messages

    if args.no_power:
        if args.host or args.source:
            raise UsageError("--no-power records nothing. Leave out --host and --source.")
        return ()
    named = sampling_arguments.targets_of(args)
    if named:
        return tuple(named)
    try:
        return tuple(local_targets())
    except SensorError:
        capture_messages.say(
            "No power is recorded: this machine has no sensor of its own that can be read "
            "(powertui sensors shows why). "
            "Name its BMC with --host."
        )
        return ()


def _open(args: argparse.Namespace, capture: CapturedProfile, plan: Plan) -> bool:
    """The timeline, with the power beside it as it comes.

    True where the terminal is gone or somebody ended us.
    """
    from pathlib import Path

    from powertui.terminal import signals
    from powertui.verbs import open as opening

    # As if it were typed: what `powertui PATH` decides from its arguments is decided there alone.
    parser = argparse.ArgumentParser()
    opening.arguments(parser)
    words = [str(capture.folder), "--glyphs", args.glyphs, "--color", args.color]
    words += ["--theme", args.theme] if args.theme else []
    words += ["--no-mouse"] if args.no_mouse else []
    words += ["--no-motion"] if args.no_motion else []
    words += ["--fps", str(args.fps)] if args.fps is not None else []
    if capture.power and Path(capture.power).parent != capture.folder:
        words.append(capture.power)
    until = time.strftime("%H:%M:%S", time.localtime(capture.ended_ns / 1e9 + plan.after_s))
    notice = ""
    if capture.power and plan.after_s:
        notice = f"Power is recorded until {until}."
    code = opening.run(parser.parse_args(words), notice)
    signals.by_exception()  # the screens had the signals
    return code > _SIGNAL_CODES_ABOVE
