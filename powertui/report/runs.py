"""A list of runs as a table: what the names of files show of each run, and what reading it adds.

The page of runs and `doctor` show it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning
from powertui.data.logdir import RunEntry, TrainingEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, Clock, PowerOnTrace, Run, Steps
from powertui.data.opened import Opened
from powertui.data.quantiles import median_of_column
from powertui.data.run import clocks
from powertui.data.run.steps import dispatched_step_ps
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:  # the list starts without it
    from powertui.data.conclusions.conclusion import Conclusion

# How a run is, the worst first: something unusual happened, it waits for something, neither.
HEALTH = ("unusual", "look", "well")
_UNDATED = "undated"
_NO_DATE = "no date"  # of a power log whose times count from its own start
# Conclusions of these kinds (values of `Kind`) are about something that happened, not about what a
# usual step is bound by.
_UNUSUAL_KINDS = (
    "unexplained_power",
    "slow_steps",
    "throttling",
    "straggler",
    "pause",
    "long_epoch",
    "recompilation",
)
_MAX_SENTENCES = 12  # conclusions that a list of runs keeps: a preview has no more lines
# Slow steps that cost less of a run's time are usual: a log, a save. Chosen, not measured.
_MIN_SLOW_SHARE = 0.02
# These are about the run, but nothing that its time goes to.
_ASIDE_KINDS = ("wrong_clock", "memory_pressure", "precision")
# A file changed within this is taken for one that is still written. A writer that rests for longer
# has ended, and clocks of file servers differ by less. Chosen, not measured.
_MAX_WRITER_PAUSE_S = 10.0
# The profiler names its folders after the local time of the machine that was profiled.
_FOLDER = re.compile(r"(?<!\d)(20\d\d)[-_]?(\d\d)[-_]?(\d\d)[-_](\d\d)[-_]?(\d\d)[-_]?(\d\d)(?!\d)")


@dataclass(frozen=True)
class KnownRun:
    """What is known of one run so far. None and "": not known."""

    when: str = ""  # as the profiled machine's clock showed it
    # Unix time of its folder's name or of its file: its place in the list before it was read.
    placed: float | None = None
    by_file: bool = False  # `placed` is when its file was written, which copying changes
    began: float | None = None  # Unix time by its own clock
    device: str = ""
    took_ps: int | None = None
    steps: int | None = None
    # The median without steps that trace; the mean with its work where it is dispatched ahead.
    step_ps: int | None = None
    epochs: int | None = None
    joules: float | None = None
    joules_lo: float | None = None
    joules_hi: float | None = None
    found: int | None = None  # conclusions
    conclusion: str = ""  # the first one, in a mark and three words: "! idle 84 %"
    unseen: bool = False  # it is too large, or too far away, to be looked at unasked
    power: str = ""
    readable: bool | None = None  # None: not tried yet
    growing: bool = False  # a profile of it was written to just before
    problem: str = ""
    # What only the screen shows, in a few cells.
    framework: str = ""
    model: str = ""  # of its devices, in short: "H100 ×8"
    bars: tuple[int, ...] = ()  # its course (`run_curve`)
    has_power_bars: bool = False  # they show power, not the time of steps
    health: str = ""  # one of HEALTH; "": nobody looked
    bound: str = ""  # what takes its time, in three words
    bound_kind: str = ""  # the value of its `Kind`
    unusual: str = ""  # the most important unusual thing, in three words
    sentences: tuple[str, ...] = ()  # of the first conclusions


LOCAL_TIME = " local"  # behind a time of logs that name no zone


def growing(entry: RunEntry) -> bool:
    """Whether a profile of it was written to just now: it may not be complete yet."""
    now = time.time()
    for file in entry.profiles:
        with contextlib.suppress(OSError, ValueError):
            if file.path == "-":
                continue
            written = os.stat(file.path).st_mtime  # noqa: PTH116 # of thousands of runs
            if abs(now - written) < _MAX_WRITER_PAUSE_S:
                return True
    return False


def first(entry: RunEntry) -> KnownRun:
    """What the names and times of its files show."""
    power = _counted(len(entry.power), "log")
    facts = KnownRun(power=power, growing=growing(entry))
    match = _FOLDER.search(entry.name)
    if match is not None:
        with contextlib.suppress(ValueError):  # a 31st of February
            moment = datetime(*map(int, match.groups()))  # type: ignore[arg-type]
            return replace(facts, when=f"{moment:%Y-%m-%d %H:%M}", placed=moment.timestamp())
    groups = (entry.profiles, entry.tfevents, entry.power, entry.results)
    paths = [file.path for files in groups for file in files]
    if paths and entry.path != "-":
        with contextlib.suppress(OSError, ValueError):
            return replace(facts, placed=Path(paths[0]).stat().st_mtime, by_file=True)
    return facts


def _counted(count: int, noun: str) -> str:
    if not count:
        return "none"
    if count > 1:
        noun += "s"
    return f"{count} {noun}"


def of_training(run: RunEntry, training: TrainingEntry) -> KnownRun:
    """What the names and first lines of its files show of a training."""
    facts = replace(first(run), device=_kind_of_training(run, training), readable=True)
    first_ns, last_ns = training.first_ns, training.last_ns
    if first_ns is None or last_ns is None:
        if facts.when:
            return facts
        # The time of a power log's file is no evidence: copying gives it another.
        is_dated = bool(run.tfevents or training.sessions)
        return replace(facts, when=_by(facts) if is_dated else _NO_DATE)
    when = _when(Clock(lo_ns=first_ns, hi_ns=first_ns, source="scalars"))
    if training.is_local:
        when = when.replace(" UTC", LOCAL_TIME)
    return replace(
        facts,
        when=when,
        placed=first_ns / NS_PER_S,
        by_file=False,
        took_ps=(last_ns - first_ns) * PS_PER_NS,
    )


def _kind_of_training(run: RunEntry, training: TrainingEntry) -> str:
    if not run.tfevents:
        return "power logs" if len(run.power) > 1 else "power log"
    if training.sessions:
        return f"training of {len(training.sessions)} sessions"
    return "scalars and power" if run.power else "never profiled"


def read(opened: Opened) -> KnownRun:
    """What reading the run showed."""
    facts = first(opened.entry)
    run = opened.run
    begun = clocks.first_began(run.traces)
    when = ""
    if begun.known and begun.source != "file time":  # the file may have been copied since
        when = _when(begun)
    spans = [trace.span[1] - trace.span[0] for trace in run.traces]
    return replace(
        facts,
        when=when or facts.when or _by(facts),
        began=begun.mid_ns / NS_PER_S if when else None,
        device=_devices(run),
        took_ps=max(spans, default=None),
        steps=len(_most_steps(run)) or None,
        step_ps=_step_ps(run),
        epochs=max(map(len, run.epochs), default=0) or None,
        power=_counted(len(run.power), "channel"),
        readable=True,
    )


def _most_steps(run: Run) -> Steps:
    """The steps of the host that has most of them."""
    return max(run.steps, key=len, default=Steps.none())


def _step_ps(run: Run) -> int | None:
    """How long a step took: the median of those that do not trace or compile, or the mean with its
    work where that was dispatched.
    """
    steps = _most_steps(run)
    for trace, steps_of_host, epochs in zip(run.traces, run.steps, run.epochs, strict=True):
        if len(steps) and steps_of_host is steps:
            is_counted = (steps.lengths() >= 0) & steps.begin_outside(epochs.tracing)
            lengths = steps.lengths()[is_counted]
            median_ps = int(median_of_column(lengths)) if len(lengths) else None
            return dispatched_step_ps(trace, steps) or median_ps
    return None


def pictured(opened: Opened, facts: KnownRun) -> KnownRun:
    """The same with what the list on the screen has beside: model, framework and course."""
    # Imported here: other lists show none of it.
    from powertui.report import run_curve, run_devices

    run = opened.run
    return replace(
        facts,
        framework=run_devices.framework_name(run),
        model=run_devices.model_names(run),
        bars=run_curve.step_bars(_most_steps(run)),
    )


def _devices(run: Run) -> str:
    """The first device, and how many more there are."""
    devices = [device for trace in run.traces for device in trace.devices]
    if not devices:
        return "CPU" if run.traces else ""
    if len(devices) == 1:
        return devices[0]
    return f"{devices[0]} +{len(devices) - 1}"


def unreadable(entry: RunEntry, problem: str) -> KnownRun:
    """What remains to say of a run that cannot be read."""
    facts = first(entry)
    return replace(
        facts,
        when=facts.when or _by(facts),
        device="cannot be read",
        readable=False,
        problem=problem,
    )


def weighed(opened: Opened, facts: KnownRun, aligning: Aligning | None = None) -> KnownRun:
    """The same with its joules, and how surely its power is aligned.

    Of several hosts it is their sum.
    """
    # Imported here, so that a list without power starts without it.
    from powertui.data.energy import account, host_energy
    from powertui.report import run_curve

    if not opened.run.power or not opened.profiles:
        return facts
    accounts = [account.energy_account(profile, aligning) for profile in opened.profiles]
    powers = [host_account.power for host_account in accounts]
    placed = [power for power in powers if power is not None]
    if not placed:
        of_another_time = any(host_account.elsewhere for host_account in accounts)
        return replace(facts, power="of another time" if of_another_time else "of no host")
    if all(power.status == "none" for power in placed):
        return replace(facts, power="not aligned")
    if len(placed) < len(accounts):
        quality = f"{len(placed)} of {len(accounts)} hosts"
    else:
        quality = _alignment(placed)
    energy = host_energy.run_energy(opened, aligning).total
    if energy is not None and energy.joules is not None:
        facts = replace(facts, joules=energy.joules, joules_lo=energy.lo, joules_hi=energy.hi)
    first = accounts[0]
    if first.power is not None and first.power.status != "none":
        bars = run_curve.power_bars(first.power, *first.trace.span)
        if bars:
            facts = replace(facts, bars=bars, has_power_bars=True)
    return replace(facts, power=quality)


def concluded(opened: Opened, facts: KnownRun, aligning: Aligning | None = None) -> KnownRun:
    """The same with what to conclude from it."""
    # Imported here, so that the list starts without it.
    from powertui.data.conclusions.conclusion import Kind
    from powertui.data.conclusions.run_conclusions import run_conclusions

    conclusions = run_conclusions(opened, aligning)
    first = conclusions.first
    if first is None:
        return replace(facts, found=0, conclusion="", health="well")
    # A run that is busy computing needs no attention.
    is_computing = first.kind is Kind.COMPUTE
    unusual = next(filter(_is_unusual, conclusions), None)
    bound = _bound(conclusions)
    if unusual is not None:
        health = "unusual"
    else:
        health = "well" if is_computing else "look"
    facts = replace(
        facts,
        found=len(conclusions),
        sentences=tuple(item.sentence for item in conclusions.items[:_MAX_SENTENCES]),
        conclusion=first.short if is_computing else f"! {first.short}",
        health=health,
        bound="",
        bound_kind="",
        unusual="",
    )
    if bound is not None:
        facts = replace(facts, bound=bound.short, bound_kind=bound.kind.value)
    if unusual is not None:
        facts = replace(facts, unusual=unusual.short + _beyond_profile(unusual, opened))
    return facts


def _beyond_profile(conclusion: Conclusion, opened: Opened) -> str:
    """Whether a finding of the training is outside of the profile, whose course shows nothing of
    it: " outside".
    """
    stretch = conclusion.stretch
    if conclusion.finding is None or stretch is None or stretch.host >= len(opened.profiles):
        return ""
    lo, hi = opened.profiles[stretch.host].trace.span
    is_outside = stretch.end_ps <= lo or stretch.start_ps >= hi
    return " outside" if is_outside else ""


def _is_unusual(conclusion: Conclusion) -> bool:
    if conclusion.kind.value == "slow_steps":
        return (conclusion.cost.share or 0.0) >= _MIN_SLOW_SHARE
    return conclusion.kind.value in _UNUSUAL_KINDS


class SeenRun(NamedTuple):
    """What was learned of a run that was open, and the state of its files then."""

    files: tuple[tuple[str, int, int], ...]
    facts: KnownRun

    def added_to(self, entry: RunEntry, facts: KnownRun) -> KnownRun:
        """These facts, unless a file changed since; with those that only the list reads."""
        if _state_of_files(entry) != self.files:
            return facts
        seen = self.facts
        course = seen if seen.bars else facts
        return replace(
            seen,
            unseen=False,
            growing=facts.growing,
            framework=seen.framework or facts.framework,
            model=seen.model or facts.model,
            bars=course.bars,
            has_power_bars=course.has_power_bars,
        )


def seen_run(opened: Opened, aligning: Aligning) -> SeenRun:
    """What to remember of a run that is open."""
    files = _state_of_files(opened.entry)
    facts = concluded(opened, weighed(opened, read(opened), aligning), aligning)
    return SeenRun(files, facts)


def _bound(conclusions: Iterable[Conclusion]) -> Conclusion | None:
    """What its time goes to: of a usual step, unless more of the time goes to something unusual,
    as to pauses.
    """
    listed = list(conclusions)
    usual = next(filter(_is_bound, listed), None)
    if usual is None or usual.cost.share is None:
        return usual
    unusual = filter(_is_unusual, listed)
    return max((usual, *unusual), key=lambda conclusion: conclusion.cost.share or 0.0)


def _is_bound(conclusion: Conclusion) -> bool:
    """Whether it says what a usual step's time goes to."""
    return conclusion.kind.value not in (*_UNUSUAL_KINDS, *_ASIDE_KINDS)


def _state_of_files(entry: RunEntry) -> tuple[tuple[str, int, int], ...]:
    """(path, size, time of the last change) of each profile and power log."""
    states = []
    paths = [file.path for file in entry.profiles]
    paths += [file.path for file in entry.power]
    for path in paths:
        size = changed_ns = -1  # of a file that is gone, or of no file
        with contextlib.suppress(OSError, ValueError):
            status = Path(path).stat()
            size, changed_ns = status.st_size, status.st_mtime_ns
        states.append((path, size, changed_ns))
    return tuple(states)


def _alignment(placed: Sequence[PowerOnTrace]) -> str:
    """How well the worst of the power channels is aligned."""
    worst = max(placed, key=_badness)
    if worst.status != "aligned":
        return worst.status
    from powertui.data.energy import sensor

    half_ps = _width_ps(worst) / 2
    return f"±{sensor.seconds(half_ps / PS_PER_S)}"


def _badness(power: PowerOnTrace) -> tuple[bool, int]:
    return power.status != "aligned", _width_ps(power)


def _width_ps(power: PowerOnTrace) -> int:
    """How wide the interval is in which its log's zero lies."""
    return power.offset_hi_ps - power.offset_lo_ps


def _when(clock: Clock) -> str:
    """A date and a time of day; "" for what no calendar has."""
    try:
        moment = datetime.fromtimestamp(clock.mid_ns // NS_PER_S, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    if clock.utc_offset_s is None:
        return f"{moment:%Y-%m-%d %H:%M} UTC"
    zone = timezone(timedelta(seconds=clock.utc_offset_s))
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %z}"


def _by(facts: KnownRun) -> str:
    """When a run had ended at the latest, by the time of its file."""
    if facts.placed is None:
        return _UNDATED
    unix_ns = int(facts.placed * NS_PER_S)
    when = _when(Clock(lo_ns=unix_ns, hi_ns=unix_ns, source="file time"))
    return f"by {when}" if when else _UNDATED
