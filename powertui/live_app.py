"""`powertui live`: from the command line to a feed, and from the feed to the screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.sampler.commands import checked_sync, chosen_targets, complete, default_path, rows_in
from powertui.terminal.launch import prepare
from powertui.terminal.signals import HANGUP

if TYPE_CHECKING:
    from powertui.feed import Feed


def run(args: argparse.Namespace) -> int:
    """Watch until the person leaves. What was recorded is complete in every case, also after a hang-up."""
    capabilities, look = prepare(args)
    feed = _feed(args)
    feed.start()
    if feed.file is not None:
        # A profile that appears while we watch is opened with what was recorded until then.
        args.power = [*args.power, str(feed.file)]
    code = 1
    try:
        from powertui.screens.shell import Shell

        shell = Shell(args, capabilities, look, first="live")
        shell.session.feed = feed
        code = shell.run_to_exit()
    finally:
        feed.stop("the screen was closed")
        failure = feed.failure
        whole = failure is None and _tell(feed, silent=code == HANGUP)  # nobody reads what would be said
    if failure is not None and code != HANGUP:
        raise failure
    return code or int(not whole)


def _feed(args: argparse.Namespace) -> Feed:
    """A recorder for what was named, or a recording to play."""
    if args.demo or args.replay:
        if args.host or args.source:
            raise UsageError("--replay plays a recording and samples nothing: leave --host and --source out.")
        return _replay(args)
    from powertui.feed import RecorderFeed
    from powertui.sampler.inventory import local_targets
    from powertui.sampler.process import RecorderProcess

    wanted = chosen_targets(args) or local_targets()
    path = None if args.no_record else args.output or default_path()
    recorder = RecorderProcess([(t.url, t.options) for t in wanted], path=path, interval=args.interval, sync=checked_sync(args))
    return RecorderFeed(recorder, f"{_title(args, [t.url for t in wanted])}, every {args.interval:g} s")


def _title(args: argparse.Namespace, urls: Sequence[str]) -> str:
    """What is watched, in a few words."""
    if len(urls) > 1:
        return f"{len(urls)} {'hosts' if args.host else 'sources'}"
    if args.host:
        return str(args.host[0])
    return urls[0].rpartition("://")[2].rpartition("@")[2] or urls[0]


def _replay(args: argparse.Namespace) -> Feed:
    from powertui.data.power import registry
    from powertui.feed import ReplayFeed

    if not 0 < args.speed <= 1_000_000:
        raise UsageError(f"A speed of {args.speed:g} is not possible.")
    if args.demo:
        from powertui.demo import power_file

        path = str(power_file())
        title = "replay of the demo (a simulated sensor that followed the real CPU load)"
    else:
        path = args.replay
        title = f"replay of {Path(path).name}"
    log = registry.load(path)
    if not any(len(series) for series in log.series):
        raise UnreadableFile(path, "holds no reading to play", hint=f"`powertui doctor {path}` says what it looks like.")
    return ReplayFeed(log.series, title, speed=args.speed)


def _tell(feed: Feed, *, silent: bool) -> bool:
    """On the restored terminal: where the recording lies. Whether it is complete."""
    if feed.file is None:
        return True
    summary = getattr(getattr(feed, "recorder", None), "summary", None)
    lines = []
    if summary is None:
        lines.append(f"the recorder died; what it wrote until then is in {feed.file}")
    else:
        lines.append(rows_in(summary))
        if feed.trouble:
            lines.append(feed.trouble)
        if summary["rescued"]:
            lines.append(f"the rows that it did not take are in {summary['rescued']}")
        lines += [f"{name}: {why}" for name, why in summary["failed"].items()]
        if summary["lost"]:
            lines.append(f"{summary['lost']} rows were lost")
    if not silent:
        for line in lines:
            print(f"powertui: {plain(line)}", file=sys.stderr)
    return summary is not None and complete(summary)
