"""A recording from the command line: what is printed while it runs and at its end, and what the
exit codes mean.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.sampler import blocked_signals, clocks
from powertui.sampler.channel_lines import channel_lines
from powertui.sampler.csv_format import BEGIN, END, NOTE
from powertui.sampler.process import RecorderProcess
from powertui.sampler.recorder_events import Event
from powertui.sampler.source import Info, Stamp
from powertui.sampler.targets import Target
from powertui.units import quantity
from powertui.wrapping import fitted, terminal_columns

if TYPE_CHECKING:
    from powertui.sampler.exporter import ExporterAddress

__all__ = ["RecordingPlan", "add_energies", "complete", "rows_in", "run"]

_SPEAKER = "powertui: "  # before what a recording says


# What ends a recording that has no command.
_END_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_LOOK_PERIOD_S = 1.0  # between two looks at the recorder, and two lines of status
_MIN_LOOK_PERIOD_S = 0.02  # once the time is over and the recorder puts its file in order
# How much is listed one by one: chosen so that a screen holds it, not measured.
_MAX_LISTED = 12  # sources, or channels at the end
_MAX_SOURCE_CHANNELS = 8  # in the line of one source
_MAX_STATUS_CHANNELS = 6  # in the line that is renewed


# (path, Unix seconds, length in s) → by "source channel": joules, lo, hi, reason
EnergyFunction = Callable[[str, float, float], Mapping[str, Mapping[str, Any]]]


def _no_energies(_path: str, _begin_s: float, _length_s: float) -> Mapping[str, Mapping[str, Any]]:
    return {}


# Something that goes on while the command runs; it is given what it can say lines with.
CommandCompanion = Callable[[Callable[[str], None]], contextlib.AbstractContextManager[object]]


def _no_companion(_say: Callable[[str], None]) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext()


def rows_in(summary: dict[str, Any]) -> str:
    """How many rows were recorded, and where they are."""
    if summary["path"] is None:
        return "No reading was recorded, and no file was left."
    if summary["rows_before"]:
        return (
            f"{summary['rows']} rows added to {summary['path']}, which now has "
            f"{summary['rows'] + summary['rows_before']}"
        )
    return f"{summary['rows']} rows in {summary['path']}"


@dataclass(frozen=True)
class RecordingPlan:
    """What to record, where to, and for how long."""

    targets: Sequence[Target]  # none: what is on this machine
    path: str
    command: Sequence[str] = ()
    interval: float = 1.0
    duration: float | None = None  # s; None: until the command or the person ends it
    sync: float | None = None  # s between two waits for the disk
    pulse: bool = False  # load the CPU in pulses first, to align by
    quiet: bool = False
    exporter: ExporterAddress | None = None  # where what is read can be scraped


def run(
    plan: RecordingPlan,
    energies: EnergyFunction = _no_energies,
    beside: CommandCompanion = _no_companion,
) -> int:
    """Record until the command, the duration or the person ends it; returns the exit code.

    `energies` reads the joules from the complete file: this package counts, but knows no intervals.
    `beside` goes on while the command runs, and is given what it can say lines with.
    """
    targets, command = plan.targets, plan.command
    if not targets:
        from powertui.sampler.inventory import local_targets

        targets = local_targets()
    recorder = RecorderProcess(
        [(target.url, target.options) for target in targets],
        path=str(Path(plan.path).absolute()),
        interval=plan.interval,
        sync=plan.sync,
    )
    talker = _Talker(plan.quiet, status=not command)
    recorder.on_event(talker.event)
    with _exported(plan, recorder, talker):
        return _record(plan, recorder, talker, energies, beside)


@contextlib.contextmanager
def _exported(plan: RecordingPlan, recorder: RecorderProcess, talker: _Talker) -> Iterator[None]:
    """While this goes on, what is read can be scraped."""
    if plan.exporter is None:
        yield
        return
    from powertui.sampler.exporter import Exporter

    # Before anything is recorded: a port that is taken is said at once.
    exporter = Exporter(plan.exporter, lambda: [health for _, health in recorder.health()])
    talker.say(f"exporting to http://{exporter.address}/metrics")
    if exporter.is_open_to_others:
        talker.say("everybody who reaches this address can read it: it asks for no password")
    exporter.start()
    try:
        yield
    finally:
        exporter.stop()


def _record(
    plan: RecordingPlan,
    recorder: RecorderProcess,
    talker: _Talker,
    energies: EnergyFunction,
    beside: CommandCompanion,
) -> int:
    command = plan.command
    recorder.start()
    begin = Stamp.now()
    try:
        # Whoever reads "recording to" may end it at once: what ends it waits from here on until it
        # is asked for.
        with _blocked(_END_SIGNALS if not command and not plan.pulse else set()):
            talker.started(recorder, plan.path)
            if plan.pulse:
                _pulse(recorder, talker)
            begin = Stamp.now()
            if command:
                with beside(talker.say):
                    code = _around(command, recorder, plan.duration)
            else:
                code = _until_stopped(recorder, talker, plan.duration, begin)
    except KeyboardInterrupt:
        code = 130  # as a shell says it of a command that ctrl+c ended
    except PowertuiError:
        recorder.stop("the command could not be started")
        raise
    end = Stamp.now()
    summary = recorder.stop("the command ended" if command else "stopped", (begin.mono, end.mono))
    length_s = end.mono - begin.mono
    if plan.duration:
        length_s = min(length_s, plan.duration)
    if summary is not None and not plan.quiet:
        add_energies(summary, energies, begin.t, length_s)
    return _finish(talker, summary, code, length_s)


def add_energies(
    summary: dict[str, Any],
    energies: EnergyFunction,
    begin_s: float,
    length_s: float,
) -> None:
    """Put the joules that the file gives beside what was counted."""
    by_name: Mapping[str, Mapping[str, Any]] = {}
    if summary["rows"] and summary["path"]:
        by_name = energies(summary["path"], begin_s, length_s)
    for channel in summary["channels"]:
        channel["energy"] = by_name.get(f"{channel['source']} {channel['channel']}".strip())


def _pulse(recorder: RecorderProcess, talker: _Talker) -> None:
    from powertui.sampler.pulse import pulses

    talker.say("Loading the CPU in three pulses (2, 3 and 5 s) to align by …")
    pulses(recorder.mark)


def _around(command: Sequence[str], recorder: RecorderProcess, duration: float | None) -> int:
    from powertui.sampler.credentials import scrub
    from powertui.sampler.runner import run as run_command

    name = Path(command[0]).name  # its arguments may hold anything, secrets too
    begin = recorder.mark(name, BEGIN)
    if duration is not None:  # the recording ends then, the command goes on
        _end_after(recorder, duration, begin)

    def paused(stopped: bool) -> None:
        recorder.mark(f"{name} was suspended" if stopped else f"{name} goes on", NOTE)

    try:
        return run_command(command, scrub(os.environ), paused=paused)
    finally:
        recorder.mark(name, END)


def _end_after(recorder: RecorderProcess, duration: float, begin: Stamp) -> None:
    """Let the recorder end by itself.

    Its clock also counts the time that we, or the whole machine, are suspended.
    """
    end = begin.mono + duration
    recorder.end_at(end, f"after {duration:g} s", (begin.mono, end))


def _until_stopped(
    recorder: RecorderProcess,
    talker: _Talker,
    duration: float | None,
    begin: Stamp,
) -> int:
    if duration is not None:
        _end_after(recorder, duration, begin)
    with _blocked(_END_SIGNALS):
        while recorder.alive:
            wait_s = _LOOK_PERIOD_S
            if duration is not None:
                remaining_s = begin.mono + duration - clocks.steady_s()
                wait_s = min(max(remaining_s, _MIN_LOOK_PERIOD_S), _LOOK_PERIOD_S)
            ended_by = blocked_signals.take(_END_SIGNALS, wait_s)
            if ended_by is not None:  # ctrl+c is how such a recording ends
                if ended_by.number == signal.SIGINT:
                    return 0
                return 128 + ended_by.number
            talker.status(recorder)
    return 0


@contextlib.contextmanager
def _blocked(signals: Set[signal.Signals]) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _finish(talker: _Talker, summary: dict[str, Any] | None, code: int, seconds: float) -> int:
    if summary is None:
        talker.problem("The recorder ended unexpectedly. What it had written is in the file.")
        return code or 1
    talker.summary(summary, seconds)
    return code or int(not complete(summary) or not summary["rows"])


def complete(summary: dict[str, Any]) -> bool:
    """Whether the file holds everything that was to be recorded."""
    return not (summary["faults"] or summary["lost"] or summary["failed"])


class _Talker:
    """Lines on standard error, all with our name in front.

    Standard output belongs to the command.
    """

    def __init__(self, quiet: bool, *, status: bool) -> None:
        self.quiet = quiet
        self._live = status and not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._dirty = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.problem(text)

    def problem(self, text: str) -> None:
        # The terminal may be gone; the recording is not.
        with contextlib.suppress(OSError, ValueError):
            if self._dirty:
                sys.stderr.write("\r\x1b[K")
                self._dirty = False
            room = terminal_columns(sys.stderr) - len(_SPEAKER)
            first, *rest = fitted([plain(text)], room)
            sys.stderr.write("\n".join([_SPEAKER + first, *rest]) + "\n")
            sys.stderr.flush()

    def event(self, event: Event) -> None:
        if event.source:
            where = f"{event.source}: "
        else:
            where = ""
        if event.level == "error":
            self.problem(where + event.text)
        elif event.level == "warning" or event.text.startswith("values again"):
            self.say(where + event.text)

    def started(self, recorder: RecorderProcess, path: str) -> None:
        infos = list(recorder.infos.items())
        for name, info in infos[:_MAX_LISTED]:
            self.say(f"{name}: {info.source}: {_channel_names(info)}")
        if len(infos) > _MAX_LISTED:
            self.say(f"… and {len(infos) - _MAX_LISTED} more sources")
        how_to_end = ", ctrl+c ends it" if self._live else ""
        self.say(f"recording to {path} every {recorder.interval:g} s{how_to_end}")

    def status(self, recorder: RecorderProcess) -> None:
        if not self._live:
            return
        parts = []
        for source, health in recorder.health()[:_MAX_STATUS_CHANNELS]:
            now = f"no value ({health.reason})"
            if health.last and health.last.watts is not None:
                now = f"{health.last.watts:,.0f} W"
            parts.append(f"{source} {health.channel.name} {now}, {quantity(health.joules, 'J')}")
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            sys.stderr.write("\r\x1b[K" + plain(" · ".join(parts), max(10, width - 1)))
            sys.stderr.flush()
            self._dirty = True

    def summary(self, summary: dict[str, Any], seconds: float) -> None:
        rows = rows_in(summary)
        self.say(f"{seconds:.1f} s; {rows}" if summary["path"] is not None else rows)
        for line in channel_lines(summary):
            self.say("  " + line)
        for name, why in summary["failed"].items():
            self.problem(f"  {name}: {why}")
        if summary["lost"]:
            self.problem(f"{summary['lost']} rows were lost.")


def _channel_names(info: Info) -> str:
    names = []
    for channel in info.channels[:_MAX_SOURCE_CHANNELS]:
        names.append(f"{channel.name} ({channel.note})" if channel.note else channel.name)
    more = len(info.channels) - _MAX_SOURCE_CHANNELS
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
