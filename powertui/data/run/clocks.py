"""Where a profile's zero lies in Unix time: the ladder of evidence, and always an interval.

Profiles hold times since the session's start. What ties them to wall time, the surest first:

  the format's own   `ClockRule.zero`: XPlane's task environment holds the start of the session in Unix ns
  tfevents batch     Keras' record `batch_<N>`, written when the profiler stops
  profile-empty      the second in the name of `events.out.tfevents.<second>.<host>.profile-empty`: the export
  run directory      `2021_03_20_19_52_54`: the export too, in the profiled machine's local time
  epochs             steps that know their epoch lie inside it, as tfevents have it
  tfevents           first and last record of the training: the profile lies between them
  file time          when the profile was last written, if nobody copied it

A capture ends before it is exported, so an export gives a firm upper end: zero + span ≤ export. The lower end allows
for the time that collecting and writing takes. Evidence that agrees is intersected; what contradicts the better
evidence is left out and named in the clock's detail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats import registry
from powertui.data.formats.filenames import split_events
from powertui.data.formats.tfevents import EventLog, run_of
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, Clock, Steps, Trace
from powertui.data.run.logged import from_logs
from powertui.errors import UsageError

# Collecting, converting and writing a capture: seconds, more for large ones.
_EXPORT_S = 5.0
_EXPORT_BYTES_PER_S = 10e6
_COPY_S = 60.0  # how much later than the export a file may have been written and still be the original

_RUN_TIME = re.compile(r"^(\d{4})[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)(?:[_-](\d\d))?$")
_OFFSET = re.compile(r"^(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?$", re.IGNORECASE)
_QUARTER = 900
_ZONES = (-12 * 3600, 14 * 3600)


class Evidence(NamedTuple):
    """One interval for the zero, with what says so. Lower rank is better."""

    rank: int
    lo: int
    hi: int
    source: str
    detail: str


def find(
    trace: Trace,
    entry: RunEntry | None = None,
    logs: Sequence[EventLog] = (),
    *,
    tz: str | None = None,
    steps: Steps | None = None,
    epoch_num: bool = False,
) -> Clock:
    """The best clock that the evidence gives. `tz` is what a person says of the profiled machine's zone.

    `steps` sharpen it: the last one ended before `batch_<N>` was written; and where their epochs are the program's own
    numbers (`epoch_num`), each lies inside its epoch as tfevents have it.
    """
    run_folder = _run_folder(trace, entry)
    local = _local_time(run_folder)
    exported = _exports(entry)
    session = registry.clock_rule(trace.format).zero(trace)
    stop_ns = trace.stop_ns if session is not None else None
    batches = [wall // NS_PER_S for log in logs for _, wall in log.batches]
    offset, how = _utc_offset(local, [*exported, *batches], stop_ns, tz, trace.path)
    if session is not None:
        clock = session
    elif trace.clock.known:
        clock = trace.clock
    else:
        found = [*_from_batches(trace, logs, steps), *_from_exports(trace, exported), *_from_folder(trace, local, offset, how)]
        found += [*_from_training(trace, logs), *_from_file(trace)]
        if steps is not None and epoch_num:
            found += _from_epochs(steps, logs)
        clock = _settle(sorted(found, key=lambda e: e.rank))
    if offset is not None and clock.known:
        clock = Clock(clock.lo_ns, clock.hi_ns, clock.source, clock.detail, offset)
    return clock


def parse_zone(text: str, at: datetime | None = None) -> timedelta:
    """A zone that a person named: `-03:00`, `UTC+9`, `UTC`, or `America/Sao_Paulo` (at a moment: zones have summer time)."""
    match = _OFFSET.match(text.strip())
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset <= timedelta(hours=14) and int(match[3] or 0) < 60:
            return -offset if match[1] == "-" else offset
    elif text.strip().upper() in ("UTC", "GMT", "Z"):
        return timedelta(0)
    else:
        import zoneinfo

        try:
            offset_at = zoneinfo.ZoneInfo(text.strip()).utcoffset(at or datetime.now())
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            offset_at = None
        if offset_at is not None:
            return offset_at
    hint = "Give an offset like --tz=-03:00, or a name like --tz=America/Sao_Paulo."
    raise UsageError(f"--tz {text!r} is not a time zone that this machine knows", hint=hint)


def own_logs(logs: Sequence[EventLog], clock: Clock, span: tuple[int, int]) -> tuple[EventLog, ...]:
    """The logs of the process that was profiled, when several runs share a folder: those whose times hold the profile's."""
    processes = {run_of(log.path) for log in logs if log.first_ns is not None}
    if len(processes) <= 1 or clock.lo_ns is None or clock.hi_ns is None:
        return tuple(logs)
    first = clock.lo_ns + span[0] // PS_PER_NS
    last = clock.hi_ns + span[1] // PS_PER_NS
    best: dict[tuple[str, int | None], int] = {}
    for log in logs:
        if log.first_ns is not None and log.last_ns is not None:
            overlap = min(last, log.last_ns) - max(first, log.first_ns)
            best[run_of(log.path)] = max(best.get(run_of(log.path), -(1 << 62)), overlap)
    chosen = max(best, key=lambda process: best[process])
    return tuple(log for log in logs if run_of(log.path) == chosen)


# ── what the files say ───────────────────────────────────────────────────────────────────────────


def _run_folder(trace: Trace, entry: RunEntry | None) -> str:
    for path in (trace.path, entry.path if entry is not None else ""):
        for part in (Path(path).parent.name, Path(path).name):
            if _RUN_TIME.match(part):
                return part
    return ""


def _local_time(run_folder: str) -> datetime | None:
    """The run folder's name as a time. AWS' profiler writes the minute twice."""
    match = _RUN_TIME.match(run_folder)
    if match is None:
        return None
    parts = [int(part) for part in match.groups() if part is not None]
    if len(parts) == 7:
        del parts[5]
    try:
        return datetime(*parts[:6], tzinfo=timezone.utc)  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def _exports(entry: RunEntry | None) -> list[int]:
    """Unix seconds in the names of profile-empty files."""
    if entry is None:
        return []
    names = [Path(event.path).name for event in entry.tfevents if event.kind == "profile-empty"]
    return sorted(split[0] for name in names if (split := split_events(name)) is not None)


def _utc_offset(
    local: datetime | None, stopped: Sequence[int], stop_ns: int | None, tz: str | None, path: str
) -> tuple[int | None, str]:
    """(seconds east of UTC, how it is known) of the profiled machine."""
    if tz is not None:
        naive = local.replace(tzinfo=None) if local is not None else None
        return int(parse_zone(tz, naive).total_seconds()), "given with --tz"
    if local is None:
        return None, ""
    seconds = int(local.timestamp())
    if stop_ns is not None and (fit := _zone_fit(seconds - stop_ns // NS_PER_S, 1, 60)) is not None:
        return fit[-1], "folder name against the session's recorded end"
    # Several runs may share the folder: the one that was exported when this folder was named fits best.
    fits = [fit for second in stopped if (fit := _zone_fit(seconds - second, 5, 60)) is not None]
    if fits:
        return min(fits)[-1], "folder name against tfevents"
    try:
        written = Path(path).stat().st_mtime if path != "-" else None
    except OSError:
        written = None
    if written is not None and (fit := _zone_fit(seconds - int(written), 20, 1)) is not None:
        return fit[-1], "folder name against the file's own time"
    return None, ""


def _zone_fit(difference: int, early: int, late: int) -> tuple[bool, int, int] | None:
    """(not a whole hour, what is left over, offset) of the zone that a difference of clocks stands for; None for none.

    Zones are whole quarters of an hour. The smallest of several fits is the likeliest.
    """
    offset = round(difference / _QUARTER) * _QUARTER
    rest = difference - offset
    if -early <= rest <= late and _ZONES[0] <= offset <= _ZONES[1]:
        return bool(offset % 3600), abs(rest), offset
    return None


# ── what each piece of evidence gives ────────────────────────────────────────────────────────────


def _span(trace: Trace) -> int:
    return trace.span[1] // PS_PER_NS


def _allowance(trace: Trace) -> int:
    """How long collecting and writing this capture may have taken, in ns."""
    return int((_EXPORT_S + trace.size / _EXPORT_BYTES_PER_S) * NS_PER_S)


def _from_batches(trace: Trace, logs: Sequence[EventLog], steps: Steps | None) -> list[Evidence]:
    early, late = registry.clock_rule(trace.format).batch_ns
    out = []
    for log in logs:
        for batch, wall in log.batches:
            end = wall - _span(trace)
            hi = end + late
            if steps is not None and len(steps) and not steps.asynchronous:
                hi = min(hi, wall - int((steps.start + steps.duration).max()) // PS_PER_NS)
            lo = end + early
            out.append(Evidence(1, min(lo, hi), hi, "tfevents batch", f"record batch_{batch} of {Path(log.path).name}"))
    return out


def _from_exports(trace: Trace, exported: Sequence[int]) -> list[Evidence]:
    """The name holds whole seconds, cut: the export began within the second that follows."""
    out = []
    for second in exported:
        end = second * NS_PER_S - _span(trace)
        out.append(Evidence(2, end - _allowance(trace), end + NS_PER_S, "profile-empty", f"exported at Unix second {second}"))
    return out


def _from_folder(trace: Trace, local: datetime | None, offset: int | None, how: str) -> list[Evidence]:
    if local is None:
        return []
    seconds = int(local.timestamp())
    if offset is None:
        lo, hi = (seconds - _ZONES[1]) * NS_PER_S - _span(trace), (seconds - _ZONES[0]) * NS_PER_S - _span(trace)
        detail = "the folder's name is a local time and its time zone is not known: give --tz"
        return [Evidence(5, lo - _allowance(trace), hi + NS_PER_S, "run directory", detail)]
    end = (seconds - offset) * NS_PER_S - _span(trace)
    detail = f"exported at {local:%Y-%m-%d %H:%M:%S} {zone_name(offset)} ({how})"
    return [Evidence(3, end - _allowance(trace), end + NS_PER_S, "run directory", detail)]


def _from_epochs(steps: Steps, logs: Sequence[EventLog]) -> list[Evidence]:
    """The steps of an epoch began after the one before it was logged, and ended before it was logged itself."""
    out = []
    ends = steps.start + steps.duration
    numbers, place = np.unique(steps.epoch, return_inverse=True)
    groups = dict(zip(numbers.tolist(), ByNumber(place, len(numbers)), strict=True))
    for epoch in from_logs(logs):
        rows = groups.get(epoch.number)
        if rows is not None and epoch.start is not None:
            lo = epoch.start - int(steps.start[rows].min()) // PS_PER_NS
            hi = epoch.end - int(ends[rows].max()) // PS_PER_NS
            if lo <= hi:
                out.append(Evidence(3, lo, hi, "epochs", f"its steps lie inside epoch {epoch.number} of the tfevents"))
    return out


def _from_training(trace: Trace, logs: Sequence[EventLog]) -> list[Evidence]:
    training = [log for log in logs if log.group in ("train", "training", "") and log.first_ns is not None]
    out = []
    for log in training:
        assert log.first_ns is not None
        assert log.last_ns is not None
        start = log.header_ns if log.header_ns is not None else log.first_ns
        hi = max(log.last_ns - _span(trace) + NS_PER_S, start)
        detail = f"if the profile was taken between the first and the last record of {Path(log.path).name}"
        out.append(Evidence(4, start, hi, "tfevents", detail))
    return out


def _from_file(trace: Trace) -> list[Evidence]:
    if trace.path == "-":
        return []
    try:
        written = Path(trace.path).stat().st_mtime_ns
    except OSError:
        return []
    end = written - _span(trace)
    detail = "when the file was last written, which is right only if it was never copied"
    return [Evidence(6, end - _allowance(trace) - int(_COPY_S * NS_PER_S), end, "file time", detail)]


def _settle(found: list[Evidence]) -> Clock:
    """The best evidence, narrowed by all that agrees with it. Weak kinds (file time) narrow nothing.

    Of several pieces of one rank (several runs in one folder) the one that agrees with most others is taken.
    """
    if not found:
        return Clock(detail="nothing ties this profile to wall time")
    first = [e for e in found if e.rank == found[0].rank]
    others = [e for e in found if found[0].rank < e.rank <= 5]
    # Of equals the later is taken: a folder that was profiled twice was exported last for the newer run.
    best = max(first, key=lambda e: (sum(1 for o in others if o.lo <= e.hi and e.lo <= o.hi), e.hi))
    lo, hi = best.lo, best.hi
    agreed: set[str] = set()
    narrowing: list[str] = []
    against: list[str] = []
    for other in others:
        if max(lo, other.lo) <= min(hi, other.hi):
            agreed.add(other.source)
            if other.lo > lo or other.hi < hi:
                narrowing.append(other.source)
            lo, hi = max(lo, other.lo), min(hi, other.hi)
        else:
            against.append(other.source)
    detail = best.detail
    if narrowing:
        detail += ", narrowed by " + ", ".join(dict.fromkeys(narrowing))
    # Of several runs in one folder the others' files contradict, and mean nothing.
    if against := [source for source in dict.fromkeys(against) if source not in agreed]:
        detail += "; contradicted by " + ", ".join(against)
    return Clock(lo, hi, best.source, detail)


def zone_name(offset_s: int) -> str:
    """UTC−3, UTC+5:30."""
    sign = "−" if offset_s < 0 else "+"
    hours, rest = divmod(abs(offset_s), 3600)
    return f"UTC{sign}{hours}" + (f":{rest // 60:02d}" if rest else "") if offset_s else "UTC"
