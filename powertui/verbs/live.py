"""`powertui live`: watch power while a run trains, and record it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from powertui.errors import UnreadableFile, UsageError
from powertui.verbs import common, sampling_arguments, screen_arguments

if TYPE_CHECKING:
    from powertui.feed import Feed

HELP = "watch power while a run trains, and record it"
USAGE = "[OPTIONS]"
ABOUT = """\
Draws what `powertui record` records, with the epochs and losses of --logdir below it."""
EXAMPLES = (
    ("powertui live --host bmc", "watch the power while a run trains"),
    ("powertui live --host bmc --budget 4kWh", "and when this much energy will be used up"),
    ("powertui live --replay power.csv", "a recording, played again"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    sampling_arguments.sources(parser)
    sampling_arguments.recording(parser)
    recording = common.group(parser, "recording")
    training = common.group(parser, "the training beside it")
    replay = common.group(parser, "replay")
    sampling_arguments.budget(recording)
    recording.add_argument("--no-record", action="store_true", help="watch without recording")
    training.add_argument(
        "--logdir",
        metavar="DIR",
        help="watch this run's epochs, losses and profiles too",
    )
    training.add_argument(
        "--profile-server",
        metavar="HOST:PORT",
        help="where P captures a profile of that run from",
    )
    replay.add_argument("--replay", metavar="FILE", help="replay a recording on the same screen")
    common.log_columns(replay)
    replay.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="X",
        help="speed of the replay (default: 1)",
    )
    replay.add_argument(
        "--demo",
        action="store_true",
        help="replay the recording that ships with powertui",
    )
    screen_arguments.screen(parser)


def run(args: argparse.Namespace) -> int:
    """Watch until the person leaves.

    What was recorded is complete in every case, also after a hang-up.
    """
    display = screen_arguments.display_of(args, "`powertui record` samples without a screen.")
    if args.profile_server:
        from powertui.capture import address

        address.parse(args.profile_server)  # a slip is said now, not at the key
    feed = _feed(args)
    feed.start()
    from powertui.terminal.signals import HANGUP

    code = 1
    try:
        from powertui.data.asked import Aligning, ReadOptions
        from powertui.screens.session import Session
        from powertui.screens.shell import Shell

        # A profile that appears while we watch is opened with what was recorded until then.
        power = (str(feed.file),) if feed.file is not None else ()
        reading = ReadOptions(
            step_marker=display.settings.step_marker,
            power=power,
            find_power=not power,
        )
        server = args.profile_server or display.settings.profile_server or ""
        session = Session(
            reading,
            Aligning(),
            feed=feed,
            watched=args.logdir,
            profile_server=server,
        )
        code = Shell(session, display, first="live").run_to_exit()
    finally:
        feed.stop("the screen was closed")
        failure = feed.failure
        complete = failure is None and _tell(
            feed, silent=code == HANGUP
        )  # nobody reads what would be said
    if failure is not None and code != HANGUP:
        raise failure
    return code or int(not complete)


def _feed(args: argparse.Namespace) -> Feed:
    """A recorder for what was named, or a recording to play."""
    if args.demo or args.replay:
        if args.budget:
            raise UsageError("--budget is for what is measured now, not for a replay.")
        if args.host or args.source:
            raise UsageError("--replay samples nothing. Leave out --host and --source.")
        return _replay(args)
    from powertui.feed import RecorderFeed
    from powertui.sampler.csv_format import default_path
    from powertui.sampler.inventory import local_targets
    from powertui.sampler.process import RecorderProcess

    wanted = sampling_arguments.targets_of(args) or local_targets()
    path = None if args.no_record else args.output or default_path()
    targets = [(target.url, target.options) for target in wanted]
    recorder = RecorderProcess(
        targets,
        path=path,
        interval=args.interval,
        sync=sampling_arguments.sync_of(args),
    )
    title = f"{_title(args.host, [url for url, _ in targets])}, every {args.interval:g} s"
    if args.budget is None:
        return RecorderFeed(recorder, title)
    from powertui.data import budget

    return RecorderFeed(recorder, title, budget.BudgetMeter(budget.parse(args.budget)))


def _title(hosts: Sequence[str], urls: Sequence[str]) -> str:
    """What is watched, in a few words."""
    if len(urls) > 1:
        return f"{len(urls)} {'hosts' if hosts else 'sources'}"
    if hosts:
        return hosts[0].partition("=")[0]
    return urls[0].rpartition("://")[2].rpartition("@")[2] or urls[0]


def _replay(args: argparse.Namespace) -> Feed:
    from powertui import config
    from powertui.data.asked import ReadOptions
    from powertui.data.power import called_hosts, registry
    from powertui.feed import ReplayFeed

    if not 0 < args.speed <= 1_000_000:
        raise UsageError(
            f"A speed of {args.speed:g} is not possible: it must be above 0 and at most 1000000."
        )
    if args.demo:
        from powertui.demo import power_file

        path = str(power_file())
        title = "replay of the demo (a simulated sensor that followed the real CPU load)"
    else:
        from pathlib import Path

        path = args.replay
        title = f"replay of {Path(path).name}"
    log = registry.load(path, None if args.demo else common.log_columns_of(args))
    if not any(len(series) for series in log.series):
        raise UnreadableFile(
            path,
            "has no reading to replay",
            hint=f"`powertui doctor {path}` shows what it looks like.",
        )
    settings = config.load()
    names = ReadOptions(
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
    ).shown_names
    power = called_hosts.with_names(log.series, names)
    return ReplayFeed(power, title, speed=args.speed)


def _tell(feed: Feed, *, silent: bool) -> bool:
    """On the restored terminal: where the recording lies. Whether it is complete."""
    from powertui.plain import plain
    from powertui.sampler.recording_run import complete

    if feed.file is None:  # a replay: nothing was recorded
        return True
    summary = getattr(getattr(feed, "recorder", None), "summary", None)
    if summary is None:
        lines = [f"The recorder ended unexpectedly. What it had written is in {feed.file}."]
    else:
        lines = _summary_lines(feed, summary, silent=silent)
    if not silent:
        for line in lines:
            print(f"powertui: {plain(line)}", file=sys.stderr)
    return summary is not None and complete(summary)


def _summary_lines(feed: Feed, summary: dict[str, Any], *, silent: bool) -> list[str]:
    from powertui.sampler.channel_lines import channel_lines
    from powertui.sampler.recording_run import add_energies, rows_in

    lines = [rows_in(summary)]
    # The energies read the whole file once more: not where nobody sees them.
    if summary["channels"] and not silent:
        from powertui.report import recorded

        length_s = summary["duration_s"]
        begin_s = time.time() - length_s  # it ended just now
        add_energies(summary, recorded.energies, begin_s, length_s)
        lines += [f"  {line}" for line in channel_lines(summary)]
    if feed.trouble:
        lines.append(feed.trouble)
    if summary["rescued"]:
        lines.append(f"The rows that it did not accept are in {summary['rescued']}.")
    lines += [f"{name}: {why}" for name, why in summary["failed"].items()]
    if summary["lost"]:
        lines.append(f"{summary['lost']} rows were lost.")
    return lines
