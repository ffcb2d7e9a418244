"""`powertui export`: which window of which run, and where to."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import export, loading, logdir
from powertui.data.energy import account, align
from powertui.data.logdir import RunEntry
from powertui.data.model import Epochs, Run, Steps
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.report import summary, text
from powertui.terminal import marked


def run(args: argparse.Namespace) -> int:
    """The verb. What was written is said on standard error, so that `-o -` stays clean."""
    entry = _one(summary.chosen(logdir.scan(args.path), args.run), args.path)
    options = loading.LoadOptions.from_args(args)
    found = loading.load_run(entry, options=options)
    if not found.traces:
        raise UnreadableFile(
            args.path, "this run has no profile to export from", hint=f"See what is there: powertui doctor {args.path}"
        )
    index = _host(found, getattr(args, "host", None))
    lo, hi = window(args, found, index)
    placed = align.place_all(found, index, entry, align.Options.from_args(args))
    if args.format == "parquet" and args.output == "-" and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal.", hint="Name a file with -o FILE.")
    said = export.write(
        found, index, lo, hi, what=args.what, path=args.output, format=args.format, force=args.force,
        power=tuple(one.power for one in placed),
    )  # fmt: skip
    text.write(sys.stderr, said)
    return 0


def _one(entries: Sequence[RunEntry], path: str) -> RunEntry:
    if not entries:
        raise UnreadableFile(path, "holds no run", hint=f"See what is there: powertui doctor {path}")
    if len(entries) > 1:
        names = ", ".join(plain(entry.name, 80) for entry in entries[:6])
        raise UsageError(f"There are {len(entries)} runs here.", hint=f"Name one with --run: {names}")
    return entries[0]


def _host(run: Run, name: str | None) -> int:
    """Which trace: the host that was named, the only one, or (said aloud) the first."""
    hosts = [trace.host for trace in run.traces]
    if name is not None:
        if name not in hosts:
            raise UsageError(
                f"There is no host {plain(name, 80)!r}.", hint=f"The hosts are: {', '.join(plain(h, 60) for h in hosts)}"
            )
        return hosts.index(name)
    if len(hosts) > 1:
        text.write(sys.stderr, f"Of {len(hosts)} hosts this is {plain(hosts[0], 60)}; --host NAME picks another.")
    return 0


def window(args: argparse.Namespace, run: Run, index: int) -> tuple[int, int]:
    """The window (ps) that the arguments name; the whole profile when they name none."""
    trace = run.traces[index]
    by_time = args.from_ is not None or args.to is not None
    by_step = args.epoch is not None or args.steps is not None
    if by_time + by_step + args.marked > 1:
        raise UsageError("The window is named twice.", hint="Give either --from/--to, or --epoch/--steps, or --marked.")
    if args.marked:
        found = marked.load(trace.path)
        if found is None:
            raise UsageError("No window is marked in this profile.", hint="Mark one in the timeline: m at its start, m at its end.")
        return found
    if by_step:
        return _of_steps(run.steps[index], run.epochs[index], args.epoch, args.steps)
    lo = _time(args.from_) if args.from_ is not None else trace.span[0]
    hi = _time(args.to) if args.to is not None else trace.span[1] + 1
    begin, end = (f"{ps / 1e12:.3f} s" for ps in trace.span)
    outside = lo >= trace.span[1] or hi <= trace.span[0]
    if outside and (args.what != "samples" or hi <= lo):  # power is often recorded before and after the profile
        raise UsageError("The profile holds nothing in that window.", hint=f"It spans {begin} to {end}.")
    if hi <= lo:
        raise UsageError(
            f"The window ends before it begins ({units.duration(lo - hi)}).", hint="Give --from and then a later --to."
        )
    return lo, hi


def _time(words: str) -> int:
    found = units.parse_time(words)
    if found is None:
        raise UsageError(f"{plain(words, 40)!r} is no time.", hint="Write it like 27.31s, 350ms or 1:02.5.")
    return found


def _of_steps(steps: Steps, epochs: Epochs, epoch: int | None, wanted: str | None) -> tuple[int, int]:
    """From the first step's start to the last one's end; a whole epoch by its own bounds."""
    rows = np.ones(len(steps), np.bool_)
    if epoch is not None:
        at = next((i for i, e in enumerate(epochs) if e.number == epoch), None)
        if at is None:
            known = ", ".join(str(e.number) for e in epochs) or "none"
            raise UsageError(f"There is no epoch {epoch}.", hint=f"Epochs in this profile: {known}")
        if wanted is None:
            one = epochs[at]
            if one.start is not None and one.end is not None:
                return one.start, one.end
        rows = steps.epoch == at
    if wanted is not None:
        match = re.fullmatch(r"\s*(\d+)\s*(?:(?:-|\.\.|:)\s*(\d+))?\s*", wanted)
        if match is None:
            raise UsageError(f"{plain(wanted, 40)!r} are no steps.", hint="Write them like 185-258.")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        rows &= (steps.number >= min(first, last)) & (steps.number <= max(first, last))
        if epoch is None and len(np.unique(steps.epoch[rows])) > 1:
            raise UsageError("Several epochs have these steps.", hint="Say which one with --epoch N.")
    index = np.flatnonzero(rows)
    if not len(index):
        numbers = steps.number[steps.number >= 0]
        known = f"{numbers.min()} to {numbers.max()}" if len(numbers) else "none"
        raise UsageError("No such step is in this profile.", hint=f"Steps in it: {known}")
    starts, ends = account.step_windows(steps)
    return int(starts[index].min()), int(ends[index].max())
