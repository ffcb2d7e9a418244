"""`powertui export`: which window of which run, and where to."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from powertui import units
from powertui.data import export, logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, power_owners
from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_S, Z95, Epochs, Run, Steps
from powertui.data.opened import Opened
from powertui.data.training import named_windows
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import run_of
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.report import text
from powertui.terminal import marked


@dataclass(frozen=True)
class Wanted:
    """Which window, in a person's words. Nothing said: the whole profile."""

    start: str | None = None  # times like "27.31s"
    end: str | None = None
    epoch: int | None = None
    steps: str | None = None  # "185-258"
    marked: bool = False  # the window that was marked in the timeline
    host: str | None = None
    batches: str | None = None  # "183-260" of `epoch`, as the training logged them
    session: str | None = None

    def of_training(self, tz: str | None) -> named_windows.WindowRequest | None:
        """The window as one of the training; None where only a profile can tell it."""
        if self.steps is not None or self.marked:
            if self.batches is not None or self.session is not None:
                raise UsageError(
                    "The window is given twice.",
                    hint="Give --steps, or --marked, or --batches, or --session.",
                )
            return None
        return named_windows.WindowRequest(
            self.start, self.end, self.epoch, self.batches, self.session, tz
        )


def write(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    wanted: Wanted,
    *,
    what: str,
    output: str,
    format: str | None,
    force: bool,
    comments: bool = False,
) -> int:
    """Write one window of one run.

    What was written is said on standard error, so that `-o -` stays clean.
    """
    around = Trainings(logdir.scan(path), reading, aligning)
    entries = around.found.chosen(name)
    asked = wanted.of_training(reading.tz)
    if (
        what == "samples"
        and asked is not None
        and (whole := _without_session(around, entries, asked)) is not None
    ):
        return _write_whole(
            whole, asked, output=output, format=format, force=force, comments=comments
        )
    opened = around.opened(_one(entries, path))
    found = opened.run
    if not found.traces:
        raise UnreadableFile(
            path, "has no profile to export from", hint=f"See what is there: powertui doctor {path}"
        )
    index = _host(found, wanted.host)
    lo, hi = _window(wanted, around, opened, index, aligning, reading.tz, outside=what == "samples")
    power_owners.check([found], reading.power_hosts)
    told = account.energy_account(opened.profiles[index], aligning)
    power = tuple(one.power for one in told.placed)
    if told.share is not None and (short := power_owners.in_short(found, told.share)):
        text.write(sys.stderr, plain(short))
    epoch = next((one for one in told.epoch_energies if (one.lo, one.hi) == (lo, hi)), None)
    if format == "parquet" and output == "-" and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal.", hint="Name a file with -o FILE.")
    said = export.write(
        found,
        index,
        lo,
        hi,
        what=what,
        path=output,
        format=format,
        force=force,
        power=power,
        comments=comments,
        edge_ps=epoch.edge if epoch is not None else 0.0,
        total=epoch.energy if epoch is not None else told.energy(lo, hi),
    )
    text.write(sys.stderr, said)
    return 0


def _without_session(
    around: Trainings, entries: Sequence[RunEntry], asked: named_windows.WindowRequest
) -> Training | None:
    """The training that is meant where no one session is: there is none, or a window of the
    training was asked for of several.
    """
    chosen = around.chosen(entries, not entries)
    return (
        chosen[0]
        if len(chosen) == 1 and (not entries or (len(entries) > 1 and asked.anything))
        else None
    )


def _write_whole(
    training: Training,
    asked: named_windows.WindowRequest,
    *,
    output: str,
    format: str | None,
    force: bool,
    comments: bool,
) -> int:
    """Samples of a window of a training, on its own axis."""
    seen = training.seen_from()
    place = named_windows.find_window(seen, asked)
    told = seen.whole
    said = export.write(
        run_of(seen),
        0,
        place.lo,
        place.hi,
        what="samples",
        path=output,
        format=format,
        force=force,
        power=seen.power,
        comments=comments,
        edge_ps=place.half / Z95,
        total=told.energy(place.lo, place.hi, place.half),
    )
    text.write(sys.stderr, said)
    return 0


def _window(
    wanted: Wanted,
    around: Trainings,
    opened: Opened,
    index: int,
    aligning: Aligning,
    tz: str | None,
    *,
    outside: bool,
) -> tuple[int, int]:
    """The window on the profile: as the training tells it where only that can, else as the profile
    does.
    """
    training, asked = around.training_for(opened.entry), wanted.of_training(tz)
    wall = any(
        words is not None and named_windows.is_wall(words) for words in (wanted.start, wanted.end)
    )
    if (
        training is None
        or asked is None
        or not (wall or wanted.batches is not None or wanted.session is not None)
    ):
        return window(wanted, opened.run, index, outside=outside)
    found = named_windows.find_window(training.seen_from(opened.profiles[index], aligning), asked)
    span = opened.run.traces[index].span
    if not outside and (found.lo >= span[1] or found.hi <= span[0]):
        raise UsageError(
            "The profile has nothing in that window.",
            hint="What was not profiled can be exported as samples.",
        )
    return found.lo, found.hi


def _one(entries: Sequence[RunEntry], path: str) -> RunEntry:
    if not entries:
        raise UnreadableFile(
            path, "holds no run", hint=f"See what is there: powertui doctor {path}"
        )
    if len(entries) > 1:
        names = ", ".join(plain(entry.name, 80) for entry in entries[:6])
        raise UsageError(
            f"There are {len(entries)} runs here.", hint=f"Name one with --run: {names}"
        )
    return entries[0]


def _host(run: Run, name: str | None) -> int:
    """Which trace: the host that was named, the only one, or (said aloud) the first."""
    hosts = [trace.host for trace in run.traces]
    if name is not None:
        if name not in hosts:
            raise UsageError(
                f"There is no host {plain(name, 80)!r}.",
                hint=f"The hosts are: {', '.join(plain(h, 60) for h in hosts)}",
            )
        return hosts.index(name)
    if len(hosts) > 1:
        text.write(
            sys.stderr,
            (
                f"This is host {plain(hosts[0], 60)}, the first of {len(hosts)}. Pick another with "
                "--host NAME."
            ),
        )
    return 0


def window(wanted: Wanted, run: Run, index: int, *, outside: bool = False) -> tuple[int, int]:
    """The window (ps) that was asked for; the whole profile when none was.

    `outside`: it may lie where nothing was profiled.
    """
    trace = run.traces[index]
    by_time = wanted.start is not None or wanted.end is not None
    by_step = wanted.epoch is not None or wanted.steps is not None
    if by_time + by_step + wanted.marked > 1:
        raise UsageError(
            "The window is given twice.",
            hint="Give either --from/--to, or --epoch/--steps, or --marked.",
        )
    if wanted.marked:
        found = marked.load(trace.path)
        if found is None:
            raise UsageError(
                "No window is marked in this profile.",
                hint="Mark one in the timeline: m at its start, m at its end.",
            )
        return found
    if by_step:
        return _of_steps(run.steps[index], run.epochs[index], wanted.epoch, wanted.steps)
    lo = _time(wanted.start) if wanted.start is not None else trace.span[0]
    hi = _time(wanted.end) if wanted.end is not None else trace.span[1] + 1
    begin, end = (f"{ps / PS_PER_S:.3f} s" for ps in trace.span)
    beside = lo >= trace.span[1] or hi <= trace.span[0]
    if beside and (not outside or hi <= lo):  # power is often recorded before and after the profile
        raise UsageError(
            "The profile has nothing in that window.", hint=f"It spans {begin} to {end}."
        )
    if hi <= lo:
        raise UsageError(
            f"The window ends before it starts ({units.duration(lo - hi)}).",
            hint="Give --from and then a later --to.",
        )
    return lo, hi


def _time(words: str) -> int:
    found = units.parse_time(words)
    if found is None:
        raise UsageError(
            f"{plain(words, 40)!r} is not a time.", hint="Write it like 27.31s, 350ms or 1:02.5."
        )
    return found


def _of_steps(
    steps: Steps, epochs: Epochs, epoch: int | None, wanted: str | None
) -> tuple[int, int]:
    """From the first step's start to the last one's end; a whole epoch by its own bounds."""
    rows = np.ones(len(steps), np.bool_)
    if epoch is not None:
        at = next((i for i, e in enumerate(epochs) if e.number == epoch), None)
        if at is None:
            known = ", ".join(str(e.number) for e in epochs) or "none"
            raise UsageError(f"There is no epoch {epoch}.", hint=f"Epochs in this profile: {known}")
        if wanted is None:
            bounds = epochs.bounds(at, steps)
            if bounds is not None:
                return bounds
        rows = steps.epoch == at
    if wanted is not None:
        match = re.fullmatch(r"\s*(\d+)\s*(?:(?:-|\.\.|:)\s*(\d+))?\s*", wanted)
        if match is None:
            raise UsageError(
                f"{plain(wanted, 40)!r} is not a range of steps.", hint="Write them like 185-258."
            )
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        rows &= (steps.number >= min(first, last)) & (steps.number <= max(first, last))
        if epoch is None and len(np.unique(steps.epoch[rows])) > 1:
            raise UsageError(
                "More than one epoch has these steps.", hint="Say which one with --epoch N."
            )
    index = np.flatnonzero(rows)
    if not len(index):
        numbers = steps.number[steps.number >= 0]
        known = f"{numbers.min()} to {numbers.max()}" if len(numbers) else "none"
        raise UsageError("This profile has no such step.", hint=f"Steps in it: {known}")
    return int(steps.start[index].min()), int(steps.ends()[index].max())
