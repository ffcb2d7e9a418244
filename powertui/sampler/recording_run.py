"""A recording from the command line: what is printed while it runs and at its end, and what the
exit codes mean.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.sampler import blocked_signals, clocks
from powertui.sampler.csv_format import BEGIN, END, NOTE
from powertui.sampler.process import RecorderProcess
from powertui.sampler.recorder import Event
from powertui.sampler.source import Stamp
from powertui.sampler.targets import Target
from powertui.units import quantity

__all__ = ["add_energies", "channel_lines", "complete", "rows_in", "run"]


_END_SIGNALS = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
)  # a recording without a command
_LOOK_PERIOD_S = 1.0  # between two looks at the recorder
_MIN_LOOK_PERIOD_S = 0.02  # while it puts its file in order
_MAX_LISTED = 12  # sources or channels that are listed one by one
_MAX_NAMED_MACHINES = 4  # machines whose names are in the line of their sum
_HOST_AND_PORT = re.compile(r"(.+?)(?::\d{1,5})?")


# (path, Unix seconds, length in s) → by "source channel": joules, lo, hi, reason
EnergyFunction = Callable[[str, float, float], Mapping[str, Mapping[str, Any]]]


def _no_energies(_path: str, _begin_s: float, _length_s: float) -> Mapping[str, Mapping[str, Any]]:
    return {}


# something that goes on while the command runs; it is given what it can say lines with
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


def run(
    wanted: Sequence[Target],
    path: str,
    command: Sequence[str],
    *,
    interval: float,
    duration: float | None,
    sync: float | None,
    pulse: bool,
    quiet: bool,
    energies: EnergyFunction = _no_energies,
    beside: CommandCompanion = _no_companion,
) -> int:
    """Record until the command, the duration or the person ends it. The command's exit code is
    ours. No target: what is here.

    `energies` reads the joules from the complete file: this package counts, but knows no intervals.
    `beside` goes on while the command runs, and is told how to say something.
    """
    if not wanted:
        from powertui.sampler.inventory import local_targets

        wanted = local_targets()
    targets = [(target.url, target.options) for target in wanted]
    recorder = RecorderProcess(
        targets, path=str(Path(path).absolute()), interval=interval, sync=sync
    )
    talker = _Talker(quiet, status=not command)
    recorder.on_event(talker.event)
    recorder.start()
    begin = Stamp.now()
    try:
        # Whoever reads "recording to" may end it at once: what ends it waits from here on until it
        # is asked for.
        with _blocked(_END_SIGNALS if not command and not pulse else set()):
            talker.started(recorder, path)
            if pulse:
                from powertui.sampler.pulse import pulses

                talker.say("Loading the CPU in three pulses (2, 3 and 5 s) to align by …")
                pulses(lambda text, kind, stamp: recorder.mark(text, kind, stamp))
            begin = Stamp.now()
            if command:
                with beside(talker.say):
                    code = _around(command, recorder, duration)
            else:
                if duration is not None:
                    _end_after(recorder, duration, begin)
                code = _until_stopped(
                    recorder, talker, None if duration is None else begin.mono + duration
                )
    except KeyboardInterrupt:
        code = 130
    except PowertuiError:
        recorder.stop("the command could not be started")
        raise
    end = Stamp.now()
    summary = recorder.stop("the command ended" if command else "stopped", (begin.mono, end.mono))
    length = min(end.mono - begin.mono, duration or float("inf"))
    if summary is not None and not quiet:
        add_energies(summary, energies, begin.t, length)
    return _finish(talker, summary, code, length)


def add_energies(
    summary: dict[str, Any], energies: EnergyFunction, begin_s: float, length_s: float
) -> None:
    """Put the joules that the file gives beside what was counted."""
    found = (
        energies(summary["path"], begin_s, length_s) if summary["rows"] and summary["path"] else {}
    )
    for channel in summary["channels"]:
        channel["energy"] = found.get(f"{channel['source']} {channel['channel']}".strip())


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
    """The recorder ends by itself: its clock also counts the time that we, or the whole machine,
    are suspended.
    """
    end = begin.mono + duration
    recorder.end_at(end, f"after {duration:g} s", (begin.mono, end))


def _until_stopped(recorder: RecorderProcess, talker: _Talker, end: float | None) -> int:
    with _blocked(_END_SIGNALS):
        while recorder.alive:
            remaining = _LOOK_PERIOD_S if end is None else end - clocks.steady_s()
            taken = blocked_signals.take(
                _END_SIGNALS, min(max(remaining, _MIN_LOOK_PERIOD_S), _LOOK_PERIOD_S)
            )
            if taken is not None:  # ctrl+c is how such a recording ends
                return 0 if taken.number == signal.SIGINT else 128 + taken.number
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
        talker.problem("The recorder died. What it had written is in the file.")
        return code or 1
    talker.summary(summary, seconds)
    return code or int(not complete(summary) or not summary["rows"])


def complete(summary: dict[str, Any]) -> bool:
    """Whether the file holds everything that was to be recorded."""
    return not (summary["faults"] or summary["lost"] or summary["failed"])


class _Talker:
    """Lines on standard error, all with our name in front: standard output belongs to the
    command.
    """

    def __init__(self, quiet: bool, *, status: bool) -> None:
        self.quiet = quiet
        self._live = status and not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._dirty = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.problem(text)

    def problem(self, text: str) -> None:
        with contextlib.suppress(
            OSError, ValueError
        ):  # the terminal may be gone; the recording is not
            if self._dirty:
                sys.stderr.write("\r\x1b[K")
                self._dirty = False
            sys.stderr.write(f"powertui: {plain(text)}\n")
            sys.stderr.flush()

    def event(self, event: Event) -> None:
        where = f"{event.source}: " if event.source else ""
        if event.level == "error":
            self.problem(where + event.text)
        elif event.level == "warning" or event.text.startswith("values again"):
            self.say(where + event.text)

    def started(self, recorder: RecorderProcess, path: str) -> None:
        infos = list(recorder.infos.items())
        for name, info in infos[:_MAX_LISTED]:
            channels = ", ".join(
                c.name + (f" ({c.note})" if c.note else "") for c in info.channels[:8]
            )
            more = f" and {len(info.channels) - 8} more" if len(info.channels) > 8 else ""
            self.say(f"{name}: {info.source}: {channels}{more}")
        if len(infos) > _MAX_LISTED:
            self.say(f"… and {len(infos) - _MAX_LISTED} more sources")
        self.say(
            f"recording to {path} every {recorder.interval:g} s"
            + (", ctrl+c ends it" if self._live else "")
        )

    def status(self, recorder: RecorderProcess) -> None:
        if not self._live:
            return
        parts = []
        for source, health in recorder.health()[:6]:
            now = (
                f"{health.last.watts:,.0f} W"
                if health.last and health.last.watts is not None
                else f"no value ({health.reason})"
            )
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


def channel_lines(summary: dict[str, Any]) -> list[str]:
    """What each channel drew, of many the first ones; and the sum over machines."""
    channels = summary["channels"]
    lines = [_channel_line(channel) for channel in channels[:_MAX_LISTED]]
    if len(channels) > _MAX_LISTED:
        lines.append(f"… and {len(channels) - _MAX_LISTED} more channels")
    together = _sum_line(channels)
    return [*lines, together] if together else lines


def _joules(c: dict[str, Any]) -> float:
    """As the file gives it, where that is resolved; else as counted."""
    read = c.get("energy")
    joules: float = read["joules"] if read and read["joules"] is not None else c["joules"]
    return joules


def _channel_line(c: dict[str, Any]) -> str:
    """J, mean W, and how far they may be trusted."""
    name = f"{c['source']} {c['channel']}: "
    if c["joules"] is None or c["samples"] < 2:
        why = f"{c['samples']} reading{'s' * (c['samples'] != 1)} in {c['span_s']:.1f} s"
        return (
            name
            + f"energy not resolved ({why}"
            + (f", {c['gaps']} without a value)" if c["gaps"] else ")")
        )
    text = _energy_text(c)
    notes = [
        f"{c['gaps']} of {c['readings']} readings without a value" if c["gaps"] else "",
        f"{c['missed']} tick{'s' * (c['missed'] != 1)} missed" if c["missed"] else "",
        f"{c['reconnects']} reconnect{'s' * (c['reconnects'] != 1)}" if c["reconnects"] else "",
    ]
    said = ", ".join(n for n in notes if n)
    return name + text + (f" ({said})" if said else "")


def _energy_text(c: dict[str, Any]) -> str:
    """The energy as the file gives it, with its interval, where that is resolved; else as counted,
    and why.
    """
    read = c.get("energy")
    spread = f" ({c['min_w']:.0f} to {c['max_w']:.0f} W)" if c["min_w"] is not None else ""
    if read and read["joules"] is not None:
        text = (
            f"{quantity(read['joules'], 'J')}, mean {read['mean_w']:.1f} W{spread} over "
            f"{read['over_s']:.1f} s"
        )
        text += f", 95% interval {quantity(read['lo'], 'J')} to {quantity(read['hi'], 'J')}"
        return text + (
            f", {read['coverage']:.1%} of the time sampled" if read["coverage"] < 0.995 else ""
        )
    text = (
        f"{quantity(c['joules'], 'J')}, mean {c['watts']:.1f} W{spread} over {c['covered_s']:.1f} s"
    )
    share = c["covered_s"] / c["span_s"] if c["span_s"] else 0.0
    if share < 0.995:
        text += f", which is {share:.1%} of the time; the rest has no values"
    return text + (f", without an interval: {read['reason']}" if read else "")


def _sum_line(channels: list[dict[str, Any]]) -> str:
    """The sum over whole machines.

    Parts of a machine are not added up: they may hold each other.
    """
    nodes = [c for c in channels if c["scope"] == "node"]
    machines = {c["host"] or c["source"]: c.get("how", "") for c in nodes}
    if len(machines) < 2 or len(machines) < len(nodes) or _may_be_one_machine(machines):
        return ""
    known = [c for c in nodes if c["joules"] is not None and c["samples"] >= 2]
    names = f" ({', '.join(machines)})" if len(machines) <= _MAX_NAMED_MACHINES else ""
    text = f"{len(known)} machines together{names}: {quantity(sum(_joules(c) for c in known), 'J')}"
    text += f", mean {sum(c['watts'] for c in known):,.0f} W"
    return text + (
        f" (without {len(nodes) - len(known)} that had no values)"
        if len(known) < len(nodes)
        else ""
    )


def _may_be_one_machine(machines: Mapping[str, str]) -> bool:
    """Whether two of them may be the IPMI and the Redfish of one machine, behind two ports of one
    address: nobody can tell.
    """
    protocols: dict[str, set[str]] = {}
    for name, how in machines.items():
        match = _HOST_AND_PORT.fullmatch(name)
        host = match[1] if match else name
        protocols.setdefault(host, set()).add("redfish" if how.startswith("redfish") else "ipmi")
    return any(len(together) > 1 for together in protocols.values())
