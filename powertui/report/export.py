"""`powertui export`: which window of which run, and where to."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data import export, logdir, wire
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, owner_notes
from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_S, Z95, Epochs, Run, Steps
from powertui.data.notes import run_notes
from powertui.data.opened import Profile
from powertui.data.training import named_windows
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import run_of, training_energy
from powertui.errors import UnreadableFile, UsageError
from powertui.place_words import host_named, parse_place
from powertui.plain import plain
from powertui.report import text
from powertui.terminal import marked
from powertui.value_types import dataclass


@dataclass(frozen=True)
class WindowWords:
    """Which window, as a person typed it. Nothing given: the whole profile."""

    start: str | None = None  # times like "27.31s"
    end: str | None = None
    epoch: int | None = None
    steps: str | None = None  # "185-258"
    marked: bool = False  # the window that was marked in the timeline
    host: str | None = None
    batches: str | None = None  # "183-260" of `epoch`, as the training logged them
    session: str | None = None

    @property
    def is_of_training(self) -> bool:
        """Whether only the training knows where it is: batches, a session, or wall time."""
        if self.batches is not None or self.session is not None:
            return True
        times = [words for words in (self.start, self.end) if words is not None]
        return any(named_windows.is_wall(words) for words in times)

    @classmethod
    def from_place(cls, text: str) -> WindowWords:
        """The window of a place as `y` prints it. Raises `UsageError` where it is no window."""
        place = parse_place(text)
        window = place.window
        if window.steps is not None or window.epoch is not None:
            steps = None if window.steps is None else "{}-{}".format(*window.steps)
            return cls(epoch=window.epoch, steps=steps, host=place.host)
        if window.wall is not None:
            start, end = window.wall
            return cls(start=start, end=end, host=place.host)
        assert window.times is not None
        start, end = (f"{time}ps" for time in window.times)
        return cls(start=start, end=end, host=place.host)

    def request(self, tz: str | None) -> named_windows.WindowRequest | None:
        """The window as one of the training; None where only a profile knows it."""
        if self.steps is not None or self.marked:
            if self.batches is not None or self.session is not None:
                raise UsageError(
                    "The window is given twice.",
                    hint="Give --steps, or --marked, or --batches, or --session.",
                )
            return None
        return named_windows.WindowRequest(
            start=self.start,
            end=self.end,
            epoch=self.epoch,
            batches=self.batches,
            session=self.session,
            tz=tz,
        )


@dataclass(frozen=True)
class Output:
    """What is written, and where to."""

    path: str  # "-": standard output
    what: str  # "samples", "steps", "ops", …
    format: str | None = None
    force: bool = False
    comments: bool = False


def write(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    words: WindowWords,
    output: Output,
) -> int:
    """Write one window of one run.

    What was written is reported on standard error, so that `-o -` stays clean.
    """
    trainings = Trainings(logdir.scan(path), reading, aligning)
    entries = trainings.found.chosen(name)
    request = words.request(reading.tz)
    if output.what in export.OF_POWER and request is not None:
        training = _training_meant(trainings, entries, request)
        if training is not None:
            _write_training(training, request, output)
            return 0
    opened = trainings.opened(trainings.found.only(name))
    run = opened.run
    if not run.traces and output.what in export.OF_POWER and request is not None:
        training = trainings.training_of_logs(opened.entry)
        if training is not None:
            _write_training(training, request, output)
            return 0
    if not run.traces:
        raise UnreadableFile(
            path, "has no profile to export from", hint=f"See what is there: powertui doctor {path}"
        )
    index = _host(run, words.host)
    profile = opened.profiles[index]
    request = request if words.is_of_training else None
    training = trainings.training_for(opened.entry)
    outside = output.what in export.OF_POWER
    if training is None or request is None:
        lo, hi = profile_window(words, run, index, outside=outside)
    else:
        place = named_windows.find_window(training.seen_from(profile, aligning), request)
        lo, hi = place.lo, place.hi
        begin, end = run.traces[index].span
        if not outside and (lo >= end or hi <= begin):
            raise UsageError(
                "The profile has nothing in that window.",
                hint="What was not profiled can be exported as samples.",
            )
    _write_profile(profile, aligning, (lo, hi), reading, output)
    return 0


def _write_profile(
    profile: Profile,
    aligning: Aligning,
    window: tuple[int, int],
    reading: ReadOptions,
    output: Output,
) -> None:
    """Write a window (ps) of one host's profile."""
    run = profile.opened.run
    owner_notes.check([run], reading.power_hosts)
    energies = account.energy_account(profile, aligning)
    if energies.share is not None and (short := owner_notes.in_short(run, energies.share)):
        text.write(sys.stderr, plain(short))
    if output.format == "parquet" and output.path == "-" and sys.stdout.isatty():
        raise UsageError(
            "Parquet cannot be written to a terminal.", hint="Name a file with -o FILE."
        )
    lo, hi = window
    # The joules of a whole epoch are those that `powertui energy` reports, with its bounds' ±, and
    # the readings are where those joules were counted.
    edge_ps = 0.0
    total = None
    placed = energies.placed
    for epoch in energies.epoch_energies:
        if (epoch.lo, epoch.hi) == window:
            edge_ps, total = epoch.edge, epoch.energy
            placed = epoch.told_by.placed[: len(placed)]  # a sum of them may follow
            break
    else:
        total = energies.energy(lo, hi)
    message = export.write(
        run,
        profile.index,
        lo,
        hi,
        what=output.what,
        path=output.path,
        format=output.format,
        force=output.force,
        power=tuple(placement.power for placement in placed),
        comments=output.comments,
        edge_ps=edge_ps,
        total=total,
        notes=run_notes(profile.opened.entry).notes,
    )
    text.write(sys.stderr, message)


def _training_meant(
    trainings: Trainings,
    entries: Sequence[RunEntry],
    request: named_windows.WindowRequest,
) -> Training | None:
    """The training, where it is meant rather than one of its sessions; else None.

    It is meant where it has no session, or where a window was asked for and it has several.
    """
    chosen = trainings.chosen(entries, not entries)
    if len(chosen) != 1:
        return None
    is_meant = not entries or (len(entries) > 1 and request.anything)
    return chosen[0] if is_meant else None


def _write_training(
    training: Training,
    request: named_windows.WindowRequest,
    output: Output,
) -> None:
    """Write the samples of a window of a training, on its own axis."""
    axis = training.seen_from()
    energies = training_energy(axis)
    if request.anything:
        place = named_windows.find_window(axis, request)
        lo = place.lo
        hi = place.hi
        half = place.half
        total = energies.energy(lo, hi, half)
    else:
        # The same window and joules as `powertui energy` has for everything.
        whole = energies.whole()
        lo = whole.start
        hi = whole.end
        half = 0
        total = whole.energy
    message = export.write(
        run_of(axis),
        0,
        lo,
        hi,
        what=output.what,
        path=output.path,
        format=output.format,
        force=output.force,
        power=axis.power,
        comments=output.comments,
        edge_ps=half / Z95,
        total=total,
    )
    text.write(sys.stderr, message)


def _host(run: Run, name: str | None) -> int:
    """Which trace: that of the host that was named, or the first, which is reported."""
    hosts = [trace.host for trace in run.traces]
    if name is not None:
        index = host_named(hosts, name)
        if index is not None:
            return index
        if name not in hosts:
            raise UsageError(
                f"There is no host {plain(name, 80)!r}.",
                hint=f"The hosts are: {', '.join(plain(host, 60) for host in hosts)}",
            )
        return hosts.index(name)
    if len(hosts) > 1:
        first = f"This is host {plain(hosts[0], 60)}, the first of {len(hosts)}."
        text.write(sys.stderr, f"{first} Pick another with --host NAME.")
    return 0


def profile_window(
    words: WindowWords,
    run: Run,
    index: int,
    *,
    outside: bool = False,
) -> tuple[int, int]:
    """The window (ps) that was asked for; the whole profile when none was.

    `outside`: it may lie where nothing was profiled.
    """
    trace = run.traces[index]
    by_time = words.start is not None or words.end is not None
    by_step = words.epoch is not None or words.steps is not None
    if by_time + by_step + words.marked > 1:
        raise UsageError(
            "The window is given twice.",
            hint="Give either --from/--to, or --epoch/--steps, or --marked.",
        )
    if words.marked:
        bounds = marked.load(trace.path)
        if bounds is None:
            raise UsageError(
                "No window is marked in this profile.",
                hint="Mark one in the timeline: m at its start, m at its end.",
            )
        return bounds
    if by_step:
        return _of_steps(run.steps[index], run.epochs[index], words.epoch, words.steps)
    begin, end = trace.span
    lo = _time(words.start) if words.start is not None else begin
    if words.end is not None:
        hi = _time(words.end)
    else:
        hi = end + 1
    # Power is often recorded before and after the profile.
    if (lo >= end or hi <= begin) and (not outside or hi <= lo):
        span = f"It spans {begin / PS_PER_S:.3f} s to {end / PS_PER_S:.3f} s."
        raise UsageError("The profile has nothing in that window.", hint=span)
    if hi <= lo:
        raise UsageError(
            f"The window ends before it starts ({units.duration(lo - hi)}).",
            hint="Give --from and then a later --to.",
        )
    return lo, hi


def _time(typed: str) -> int:
    ps = units.parse_time(typed)
    if ps is None:
        raise UsageError(
            f"{plain(typed, 40)!r} is not a time.", hint="Write it like 27.31s, 350ms or 1:02.5."
        )
    return ps


def _of_steps(
    steps: Steps,
    epochs: Epochs,
    epoch: int | None,
    range_text: str | None,
) -> tuple[int, int]:
    """From the first step's start to the last one's end; a whole epoch by its own bounds."""
    rows = np.ones(len(steps), np.bool_)
    if epoch is not None:
        epoch_row = _epoch_row(epochs, epoch)
        if range_text is None:
            bounds = epochs.bounds(epoch_row, steps)
            if bounds is not None:
                return bounds
        rows = steps.epoch == epoch_row
    if range_text is not None:
        first, last = _step_range(range_text)
        rows &= (steps.number >= first) & (steps.number <= last)
        if epoch is None and len(wire.distinct(steps.epoch[rows])) > 1:
            raise UsageError(
                "More than one epoch has these steps.", hint="Say which one with --epoch N."
            )
    if not rows.any():
        numbers = steps.number[steps.number >= 0]
        names = "none"
        if len(numbers):
            names = f"{numbers.min()} to {numbers.max()}"
        raise UsageError("This profile has no such step.", hint=f"Steps in it: {names}")
    return int(steps.start[rows].min()), int(steps.ends()[rows].max())


def _epoch_row(epochs: Epochs, number: int) -> int:
    """Which epoch has this number."""
    numbers = [epoch.number for epoch in epochs]
    if number not in numbers:
        names = ", ".join(map(str, numbers)) or "none"
        raise UsageError(f"There is no epoch {number}.", hint=f"Epochs in this profile: {names}")
    return numbers.index(number)


def _step_range(typed: str) -> tuple[int, int]:
    """The first and the last step of a range like "185-258"."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:(?:-|\.\.|:)\s*(\d+))?\s*", typed)
    if match is None:
        raise UsageError(
            f"{plain(typed, 40)!r} is not a range of steps.", hint="Write them like 185-258."
        )
    bounds = int(match[1]), int(match[2] or match[1])
    return min(bounds), max(bounds)
