"""`powertui record`: sample power into a file, alone or around a command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from powertui.errors import UsageError
from powertui.verbs import common, sampling_arguments

HELP = "sample power into a CSV file, alone or around a command"
USAGE = "[OPTIONS] [-- COMMAND]"
ABOUT = """\
Records until the command ends, until --duration has passed, or until Ctrl+C. Without
--host and --source it reads the sensors of this machine. Readings are on the disk at once;
what could not be read is a gap with its reason."""
if TYPE_CHECKING:
    from powertui.sampler.exporter import ExporterAddress
    from powertui.sampler.targets import Target

_MAX_STEPS_S = 60.0  # of a profile by steps: longer ones are too large to read
EXAMPLES = (
    (
        "powertui record --host bmc -o power.csv -- python train.py",
        "power of this command, from start to end",
    ),
    (
        "powertui record --profile-server 9012 --logdir ~/logs --steps 100-110 -- python train.py",
        "and a profile of ten steps",
    ),
    (
        "powertui record --exporter :9400 -o power.csv",
        "and Prometheus can scrape what is read",
    ),
    ("powertui record --source rapl: --duration 60", "a minute of this machine's own counters"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    sampling_arguments.sources(parser)
    sampling_arguments.recording(parser)
    recording = common.group(parser, "recording")
    recording.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="stop after this many seconds",
    )
    recording.add_argument(
        "--pulse",
        action="store_true",
        help="load the CPU in three pulses first, as a marker to align by",
    )
    recording.add_argument(
        "--exporter",
        metavar="[HOST]:PORT",
        help="answer scrapes of Prometheus with what is read; on loopback where HOST is left out",
    )
    group = parser.add_argument_group("a profile of the command")
    group.add_argument(
        "--profile-server",
        metavar="PORT",
        help="capture a profile from the command's profiler server, once it is there",
    )
    group.add_argument(
        "--logdir",
        metavar="DIR",
        help="the command's logdir, where the profile is written",
    )
    group.add_argument(
        "--steps",
        metavar="N-M",
        help="capture from step N to step M, as its tfevents log them",
    )
    group.add_argument(
        "--profile-after",
        metavar="TIME",
        default="10s",
        help="without --steps: how long after the server is there (default: 10s)",
    )
    group.add_argument(
        "--profile-time",
        metavar="TIME",
        help=(
            "how long (default: 2s, or as long as the slowest power sensor needs); with --steps at "
            "most 60s"
        ),
    )
    recording.add_argument("--quiet", action="store_true", help="print only errors")
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="record while this command runs",
    )


def run(args: argparse.Namespace) -> int:
    """The command's exit code is ours."""
    from powertui.sampler import recording_run
    from powertui.sampler.csv_format import default_path

    command: list[str] = args.command[1:] if args.command[:1] == ["--"] else list(args.command)
    path = args.output or default_path()
    if path == "-":
        raise UsageError("A recording needs a file. Name one with -o.")
    if command:
        from powertui.sampler.runner import look_up

        look_up(command[0])  # before anything is opened or written
    plan = recording_run.RecordingPlan(
        targets=sampling_arguments.targets_of(args),
        path=path,
        command=command,
        interval=args.interval,
        duration=args.duration,
        sync=sampling_arguments.sync_of(args),
        pulse=args.pulse,
        quiet=args.quiet,
        exporter=_exporter(args.exporter),
    )
    return recording_run.run(plan, energies=_energies, **_beside(args, command, plan.targets))


def _exporter(named: str | None) -> ExporterAddress | None:
    if named is None:
        return None
    from powertui.sampler.exporter import exporter_address

    return exporter_address(named)


def _beside(
    args: argparse.Namespace,
    command: list[str],
    targets: Sequence[Target],
) -> dict[str, Any]:
    """What captures a profile while the command runs, where that was asked for."""
    if not args.profile_server:
        if args.steps or args.logdir:
            raise UsageError("--steps and --logdir belong to --profile-server PORT.")
        return {}
    if not command:
        raise UsageError(
            (
                "--profile-server needs a command: powertui record --profile-server 9012 … -- "
                "python train.py"
            ),
            hint=(
                "To capture from a program that runs already: powertui capture HOST:PORT "
                "--logdir DIR"
            ),
        )
    if not args.logdir:
        raise UsageError(
            "Name the logdir of the command with --logdir: the profile is written there."
        )
    from pathlib import Path

    from powertui.capture import address, command_profile
    from powertui.capture.messages import ProfileRequest
    from powertui.capture.profile_session import Plan

    server = address.parse(args.profile_server)
    steps = command_profile.steps_of(args.steps) if args.steps else None
    length, notice = _profile_length(args, targets)
    asked = ProfileRequest(_MAX_STEPS_S if args.steps else length)
    plan = Plan((server,), str(Path(args.logdir).expanduser().absolute()), asked)
    wanted = command_profile.RequestedProfile(
        plan, steps, sampling_arguments.seconds(args.profile_after, "--profile-after"), length
    )

    def beside(say: Callable[[str], None]) -> command_profile.WhileRecording:
        if notice:
            say(notice)
        return command_profile.WhileRecording(wanted, say)

    return {"beside": beside}


def _profile_length(args: argparse.Namespace, targets: Sequence[Target]) -> tuple[float, str]:
    """How long to profile, and what is to be said of it before."""
    from powertui.sampler.profile_length import profile_length

    if not targets:
        from powertui.sampler.inventory import local_targets

        targets = local_targets()
    needed = profile_length([target.url for target in targets], args.interval)
    if args.profile_time is None:
        notice = needed.reason()
        return needed.seconds, f"{notice} --profile-time sets another length." if notice else ""
    length = sampling_arguments.seconds(args.profile_time, "--profile-time", 0.001, 3600.0)
    return length, needed.warning(length)


def _energies(path: str, begin_s: float, length_s: float) -> Mapping[str, Mapping[str, Any]]:
    if sys.maxsize < 2**32:
        return {}  # numpy indexes with 32 bits there; the recorder's own count is told
    from powertui.report import recorded  # numpy: only once the recording is over

    return recorded.energies(path, begin_s, length_s)
