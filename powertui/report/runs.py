"""A list of runs as a table: what a folder tells of each, and what reading it adds.

The page of runs and `doctor` show it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.logdir import RunEntry, TrainingEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, Clock
from powertui.data.opened import Opened
from powertui.data.run import clocks
from powertui.data.table import Column, Place, Table, optional, text_column
from powertui.plain import plain

_UNDATED = "undated"
_NO_DATE = "no date"  # of a power log whose times count from its own start
_FRESH_S = 10.0  # a writer that rests for longer has ended; clocks of file servers differ by less
_WRITTEN = "being written"
# The profiler names its folders after the local time of the machine that was profiled.
_FOLDER = re.compile(r"(?<!\d)(20\d\d)[-_]?(\d\d)[-_]?(\d\d)[-_](\d\d)[-_]?(\d\d)[-_]?(\d\d)(?!\d)")


@dataclass(frozen=True)
class KnownRun:
    """What is known of one run so far. None and "": not known."""

    when: str = ""  # as the profiled machine's clock showed it
    placed: float | None = (
        # Unix time of its folder's name or of its file: its place in the list before it was read
        None
    )
    began: float | None = None  # and by its own clock
    device: str = ""
    took_ps: int | None = None
    steps: int | None = None
    step_ps: int | None = None  # the median, from start to start
    epochs: int | None = None
    joules: float | None = None
    joules_lo: float | None = None
    joules_hi: float | None = None
    found: int | None = None
    power: str = ""
    readable: bool | None = None  # None: not tried yet
    growing: bool = False  # a profile of it was written to just before
    problem: str = ""


def growing(entry: RunEntry) -> bool:
    """Whether a profile of it was written to just before it was looked at: it may not be
    whole yet.
    """
    now = time.time()
    for file in entry.profiles:
        with contextlib.suppress(OSError, ValueError):
            if file.path != "-" and abs(now - Path(file.path).stat().st_mtime) < _FRESH_S:
                return True
    return False


def first(entry: RunEntry) -> KnownRun:
    """What names alone tell."""
    return replace(_first(entry), growing=growing(entry))


def _first(entry: RunEntry) -> KnownRun:
    logs = len(entry.power)
    power = f"{logs} log{'s' * (logs > 1)}" if logs else "none"
    match = _FOLDER.search(entry.name)
    with contextlib.suppress(ValueError):  # a 31st of February
        if match is not None:
            moment = datetime(*(int(part) for part in match.groups()))  # type: ignore[arg-type]
            return KnownRun(when=f"{moment:%Y-%m-%d %H:%M}", placed=moment.timestamp(), power=power)
    paths = [
        file.path
        for files in (entry.profiles, entry.tfevents, entry.power, entry.results)
        for file in files
    ]
    with contextlib.suppress(OSError, ValueError):
        if paths and entry.path != "-":
            return KnownRun(placed=Path(paths[0]).stat().st_mtime, power=power)
    return KnownRun(power=power)


def of_training(run: RunEntry, training: TrainingEntry) -> KnownRun:
    """What names and heads tell of a training."""
    by_name = first(run)
    count = len(training.sessions)
    what = (
        f"training of {count} sessions"
        if count
        else "scalars and power"
        if run.tfevents and run.power
        else "never profiled"
    )
    if not run.tfevents:
        what = "power log" + "s" * (len(run.power) > 1)
    lo, hi = training.first_ns, training.last_ns
    if lo is None or hi is None:
        when = (
            _by(by_name) if run.tfevents or count else _NO_DATE
        )  # copying a log gives its file another time
        return replace(by_name, when=by_name.when or when, device=what, readable=True)
    when = _when(Clock(lo, lo, "scalars"))
    when = when.replace(" UTC", " local") if training.is_local else when
    return replace(
        by_name,
        when=when,
        placed=lo / NS_PER_S,
        took_ps=(hi - lo) * PS_PER_NS,
        device=what,
        readable=True,
    )


def read(opened: Opened) -> KnownRun:
    """What the run says when it was read."""
    by_name, run = first(opened.entry), opened.run
    devices = [device for trace in run.traces for device in trace.devices]
    begun = clocks.first_began(run.traces)
    marked = max(run.steps, key=len, default=None)
    step_ps = None
    if marked is not None and len(marked):
        lengths = np.asarray(marked.ends()) - np.asarray(marked.start)
        step_ps = int(np.median(lengths))
    more = f" +{len(devices) - 1}" if len(devices) > 1 else ""
    channels = len(run.power)
    clock = (
        _when(begun) if begun.known and begun.source != "file time" else ""
    )  # somebody may have copied the file since
    return replace(
        by_name,
        when=clock or by_name.when or _by(by_name),
        began=begun.mid_ns / NS_PER_S if clock else None,
        device=devices[0] + more if devices else "CPU" if run.traces else "",
        took_ps=max((trace.span[1] - trace.span[0] for trace in run.traces), default=None),
        steps=max((len(steps) for steps in run.steps), default=0) or None,
        step_ps=step_ps,
        epochs=max((len(epochs) for epochs in run.epochs), default=0) or None,
        power=f"{channels} channel{'s' * (channels != 1)}" if channels else "none",
        readable=True,
    )


def unreadable(entry: RunEntry, problem: str) -> KnownRun:
    """What is left to say of a run that cannot be read."""
    by_name = first(entry)
    return replace(
        by_name,
        when=by_name.when or _by(by_name),
        device="cannot be read",
        readable=False,
        problem=problem,
    )


def weighed(opened: Opened, known: KnownRun, aligning: Aligning | None = None) -> KnownRun:
    """The same with its joules, how surely its power lies on it, and how many stretches stand out;
    of several hosts their sum.
    """
    from powertui.data.energy import (
        account,
        host_energy,
    )  # here, so that a list without power starts without it

    if not opened.run.power or not opened.profiles:
        return known
    accounts = [account.energy_account(profile, aligning) for profile in opened.profiles]
    placed = [power for account_of_host in accounts if (power := account_of_host.power) is not None]
    if not placed and any(account_of_host.elsewhere for account_of_host in accounts):
        return replace(known, power="of another time")
    if not placed:
        return replace(known, power="of no host")
    if all(power.status == "none" for power in placed):
        return replace(known, power="not placed")
    worst = max(
        placed,
        key=lambda power: (power.status != "aligned", power.offset_hi_ps - power.offset_lo_ps),
    )
    half = (worst.offset_hi_ps - worst.offset_lo_ps) / 2 / PS_PER_S
    known = replace(
        known, power=f"±{_seconds(half)}" if worst.status == "aligned" else worst.status
    )
    if len(placed) < len(accounts):
        known = replace(known, power=f"{len(placed)} of {len(accounts)} hosts")
    energy = host_energy.run_energy(opened, aligning).total
    if energy is not None and energy.joules is not None:
        known = replace(known, joules=energy.joules, joules_lo=energy.lo, joules_hi=energy.hi)
    return replace(
        known,
        found=sum(len(account.findings(profile, aligning).findings) for profile in opened.profiles),
    )


def table(
    entries: Sequence[RunEntry],
    facts: Sequence[KnownRun],
    summary: str = "",
    trainings: Mapping[str, str] | None = None,
    *,
    by_clock: bool = True,
) -> Table:
    """The list, newest first. Runs that nothing dates come last, in the order of their names.
    `trainings`: by the path of a session that of the training that it lies in, where that is listed
    too. `by_clock`: False where runs are read as they come into sight, so that reading does not
    move them out of it.
    """
    moments = [f.began if by_clock and f.began is not None else f.placed for f in facts]
    order = sorted(range(len(entries)), key=lambda i: -(moments[i] or 0.0))
    runs, facts = [entries[i] for i in order], [facts[i] for i in order]
    paths = [run.path for run in runs]
    row_of = {path: row for row, path in enumerate(paths)} if trainings else {}
    outer = [row_of.get(trainings.get(path, ""), -1) for path in paths] if trainings else []
    names, sizes = [run.name for run in runs], [run.size if run.profiles else None for run in runs]
    for row, around in enumerate(outer):
        if around >= 0:
            sizes[around] = (sizes[around] or 0) + runs[row].size
            names[row] = names[row].removeprefix(runs[around].name + "/")
    ranks = np.array(
        [np.nan if (moment := moments[i]) is None else moment for i in order], np.float64
    )
    columns = (
        text_column("run", "run", names, weight=9),
        text_column("when", "when", [f.when for f in facts], weight=6, ranks=ranks),
        text_column("hosts", "hosts", [", ".join(run.hosts) for run in runs], weight=2),
        text_column("device", "device", [_device(f) for f in facts], weight=3),
        optional("took_s", "took", "duration", [f.took_ps for f in facts], weight=7),
        optional("steps", "steps", "integer", [f.steps for f in facts], weight=7),
        optional("step_s", "a step", "duration", [f.step_ps for f in facts], weight=5),
        optional("epochs", "epochs", "integer", [f.epochs for f in facts], weight=1),
        optional("joules", "energy", "number", [f.joules for f in facts], unit="J", weight=8),
        optional("joules_lo", "from", "number", [f.joules_lo for f in facts], unit="J", weight=0),
        optional("joules_hi", "to", "number", [f.joules_hi for f in facts], unit="J", weight=0),
        optional("found", "found", "integer", [f.found for f in facts], weight=4),
        text_column("power", "power", [f.power for f in facts], weight=8),
        optional("size_bytes", "size", "number", sizes, unit="B", weight=2),
        Column(
            "readable",
            "readable",
            "flag",
            np.array([f.readable is not False for f in facts], np.bool_),
            "",
            np.array([f.readable is not None for f in facts], np.bool_),
            weight=0,
        ),
        text_column("path", "path", paths, weight=0),
    )
    return Table(
        "runs",
        "Runs",
        columns,
        place=lambda row: Place(run=paths[row]),
        order=("when", True),
        key=("path",),
        noun="run",
        empty="No run was found.",
        summary=summary,
        within=np.array(outer, np.int64) if any(row >= 0 for row in outer) else None,
    )


def _device(known: KnownRun) -> str:
    return ", ".join(part for part in (known.device, _WRITTEN if known.growing else "") if part)


def _when(clock: Clock) -> str:
    try:
        moment = datetime.fromtimestamp(clock.mid_ns // NS_PER_S, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""  # no year of ours
    if clock.utc_offset_s is None:
        return f"{moment:%Y-%m-%d %H:%M} UTC"
    return f"{moment.astimezone(timezone(timedelta(seconds=clock.utc_offset_s))):%Y-%m-%d %H:%M %z}"


def _by(known: KnownRun) -> str:
    """When a run was over at the latest, by its file."""
    if known.placed is None:
        return _UNDATED
    moment = int(known.placed * NS_PER_S)
    return f"by {when}" if (when := _when(Clock(moment, moment, "file time"))) else _UNDATED


def _seconds(value: float) -> str:
    from powertui.data.energy import sensor

    return sensor.seconds(value)


def matches(entry: RunEntry, known: KnownRun, words: Sequence[str]) -> bool:
    """Whether every word stands somewhere in what is known of the run."""
    text = " ".join(
        plain(part) for part in (entry.name, *entry.hosts, known.when, known.device, known.power)
    ).lower()
    return all(word in text for word in words)
