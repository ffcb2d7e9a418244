"""Where a profile's zero lies in Unix time: the ladder of evidence, and always an interval.

Profiles hold times since the session's start. What ties them to wall time, the surest first:

  the format's own   `ClockRule.zero`: XPlane's task environment holds the start of the session in
                     Unix ns
  tfevents batch     Keras' record `batch_<N>`, written when the profiler stops
  profile-empty      the second in the name of `events.out.tfevents.<second>.<host>.profile-empty`:
                     the export
  run directory      `2021_03_20_19_52_54`: the export too, in the profiled machine's local time
  epochs             steps that know their epoch lie inside it, as tfevents have it
  tfevents           first and last record of the training: the profile lies between them
  file time          when the profile was last written, if nobody copied it

A capture ends before it is exported, so an export gives a firm upper end: zero + span ≤ export. The
lower end allows for the time that collecting and writing takes. Evidence that agrees is
intersected; what contradicts the better evidence is left out and named in the clock's detail.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats import registry
from powertui.data.formats.filenames import split_events
from powertui.data.formats.tfevents import EventLog, run_of
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, Clock, Steps, Trace
from powertui.data.run import captures, zones
from powertui.data.run.logged_epochs import from_logs

# Collecting, converting and writing a capture: seconds, more for large ones.
_EXPORT_S = 5.0
_EXPORT_BYTES_PER_S = 10e6
_COPY_S = (
    60.0  # how much later than the export a file may have been written and still be the original
)

# An export is named by its second: the folder at most so many seconds before it, and so many after.
_NAMED_S = (5, 60)


class _Evidence(NamedTuple):
    """One interval for the zero, with what says so. Lower rank is better."""

    rank: int
    lo: int
    hi: int
    source: str
    detail: str


def best_clock(
    trace: Trace,
    entry: RunEntry | None = None,
    logs: Sequence[EventLog] = (),
    *,
    tz: str | None = None,
    steps: Steps | None = None,
    epoch_num: bool = False,
) -> Clock:
    """The best clock that the evidence gives. `tz` is what a person says of the profiled machine's
    zone.

    `steps` sharpen it: the last one ended before `batch_<N>` was written; and where their epochs
    are the program's own numbers (`epoch_num`), each lies inside its epoch as tfevents have it.
    """
    folder = _run_folder(trace, entry)
    local = captures.local_time(folder.name) if folder is not None else None
    everyones = [*_exports(entry), *(wall // NS_PER_S for log in logs for _, wall in log.batches)]
    ends = captures.own_ends(*_place(trace, folder), everyones, tz)
    session = registry.clock_rule(trace.format).zero(trace)
    stop_ns = trace.stop_ns if session is not None else None
    offsets, how = _utc_offsets(local, sorted(ends), stop_ns, tz, trace.path)
    if session is not None:
        clock = session
    elif trace.clock.known:
        clock = trace.clock
    else:
        evidence = [
            *_from_batches(trace, logs, steps, ends),
            *_from_exports(trace, [second for second in _exports(entry) if second in ends]),
        ]
        evidence += [
            *_from_folder(trace, local, offsets, how),
            *_from_training(trace, logs),
            *_from_file(trace),
        ]
        if steps is not None and epoch_num:
            evidence += _from_epochs(steps, logs)
        clock = _settle(sorted(evidence, key=lambda e: e.rank))
        if everyones and not ends:
            clock = replace(
                clock,
                detail=f"{clock.detail}; the ends of captures in its tfevents are of other runs",
            )
    return replace(clock, utc_offset_s=_offset_then(clock, offsets, tz))


def _moment(trace: Trace, ps: int) -> Clock:
    """Where a moment of the trace lies in Unix time."""
    clock = trace.clock
    if clock.lo_ns is None or clock.hi_ns is None:
        return clock
    return replace(clock, lo_ns=clock.lo_ns + ps // PS_PER_NS, hi_ns=clock.hi_ns + ps // PS_PER_NS)


def began(trace: Trace) -> Clock:
    """Where its first event lies in Unix time: what "from" means wherever a run is told.

    The zero may be much earlier.
    """
    return _moment(trace, trace.span[0])


def first_began(traces: Sequence[Trace]) -> Clock:
    """The first event of several hosts: of those whose clock is known, the earliest."""
    clocks = [began(trace) for trace in traces if trace.clock.known and trace.event_count]
    if not clocks:
        return traces[0].clock if traces else Clock(detail="there is no profile")
    return min(clocks, key=lambda clock: clock.mid_ns)


def own_logs(logs: Sequence[EventLog], clock: Clock, span: tuple[int, int]) -> tuple[EventLog, ...]:
    """The logs of the process that was profiled, when several runs share a folder.

    Those whose times hold the profile's.
    """
    processes = {run_of(log.path) for log in logs if log.first_ns is not None}
    if len(processes) <= 1 or clock.lo_ns is None or clock.hi_ns is None:
        return tuple(logs)
    first = clock.lo_ns + span[0] // PS_PER_NS
    last = clock.hi_ns + span[1] // PS_PER_NS
    overlaps: dict[tuple[str, int | None], int] = {}
    for log in logs:
        if log.first_ns is None or log.last_ns is None:
            continue
        process = run_of(log.path)
        overlap = min(last, log.last_ns) - max(first, log.first_ns)
        overlaps[process] = max(overlaps.get(process, overlap), overlap)
    chosen = max(overlaps, key=lambda process: overlaps[process])
    return tuple(log for log in logs if run_of(log.path) == chosen)


# ── what the files say ───────────────────────────────────────────────────────────────────────────


def _run_folder(trace: Trace, entry: RunEntry | None) -> Path | None:
    """The folder that is named by the time of the capture."""
    for path in (Path(trace.path), Path(entry.path if entry is not None else "")):
        for part in (path.parent, path):
            if captures.RUN_TIME.match(part.name):
                return part
    return None


def _place(trace: Trace, folder: Path | None) -> tuple[Path | None, str]:
    """(the folder that the capture lies in with others, its own name)."""
    lies_alone = folder if folder is not None else Path(trace.path).parent
    return (
        lies_alone.parent if folder is not None or lies_alone.parent.name == "profile" else None
    ), lies_alone.name


def _exports(entry: RunEntry | None) -> list[int]:
    """Unix seconds in the names of profile-empty files."""
    if entry is None:
        return []
    names = [Path(event.path).name for event in entry.tfevents if event.kind == "profile-empty"]
    return sorted(split[0] for name in names if (split := split_events(name)) is not None)


def _utc_offsets(
    local: datetime | None, stopped: Sequence[int], stop_ns: int | None, tz: str | None, path: str
) -> tuple[tuple[int, ...] | None, str]:
    """(seconds east of UTC when the folder was named, how that is known) of the profiled machine;
    None where it is not known.

    Two in the hour that clocks repeat in autumn, none at all in the one that they leave out in
    spring.
    """
    if local is None:
        return None, ""
    if tz is not None:
        offsets = zones.offsets_at(tz, local.replace(tzinfo=None))
        if len(offsets) == 2:
            return (
                offsets,
                (
                    f"{' or '.join(zones.name(offset) for offset in offsets)}: the clocks in {tz} "
                    "showed this hour twice"
                ),
            )
        return (
            offsets,
            f"{zones.name(offsets[0])}, given with --tz"
            if offsets
            else f"no such time in {tz}, where clocks were put forward: check --tz",
        )
    seconds = int(local.timestamp())
    if (
        stop_ns is not None
        and (fit := zones.fit_zone(seconds - stop_ns // NS_PER_S, 1, 60)) is not None
    ):
        return (fit[-1],), f"{zones.name(fit[-1])}, folder name against the session's recorded end"
    # Several runs may share the folder: the one that was exported when this folder was named fits
    # best.
    fits = [
        fit
        for second in stopped
        if (fit := zones.fit_zone(seconds - second, *_NAMED_S)) is not None
    ]
    if fits:
        return (min(fits)[-1],), f"{zones.name(min(fits)[-1])}, folder name against tfevents"
    try:
        written = os.stat(path).st_mtime if path != "-" else None  # noqa: PTH116
    except OSError:
        written = None
    if written is not None and (fit := zones.fit_zone(seconds - int(written), 20, 1)) is not None:
        return (fit[-1],), f"{zones.name(fit[-1])}, folder name against the file's own time"
    return None, ""


def _offset_then(clock: Clock, offsets: tuple[int, ...] | None, tz: str | None) -> int | None:
    """Seconds east of UTC on the profiled machine at that time, when they are not in doubt."""
    if clock.lo_ns is None or clock.hi_ns is None:
        return None
    if tz is not None:
        then = {zones.offset_of(tz, clock.lo_ns), zones.offset_of(tz, clock.hi_ns)}
        return then.pop() if len(then) == 1 and offsets != () else None
    return offsets[0] if offsets else None


# ── what each piece of evidence gives ────────────────────────────────────────────────────────────


def _span(trace: Trace) -> int:
    return trace.span[1] // PS_PER_NS


def _allowance(trace: Trace) -> int:
    """How long collecting and writing this capture may have taken, in ns."""
    return int((_EXPORT_S + trace.size / _EXPORT_BYTES_PER_S) * NS_PER_S)


def _from_batches(
    trace: Trace, logs: Sequence[EventLog], steps: Steps | None, ends: Container[int]
) -> list[_Evidence]:
    early, late = registry.clock_rule(trace.format).batch_ns
    out = []
    for log in logs:
        for batch, wall in log.batches:
            if wall // NS_PER_S not in ends:
                continue
            end = wall - _span(trace)
            hi = end + late
            if steps is not None and len(steps) and not steps.asynchronous:
                hi = min(hi, wall - int(steps.mark_ends().max()) // PS_PER_NS)
            lo = end + early
            out.append(
                _Evidence(
                    1,
                    min(lo, hi),
                    hi,
                    "tfevents batch",
                    f"record batch_{batch} of {Path(log.path).name}",
                )
            )
    return out


def _from_exports(trace: Trace, exported: Sequence[int]) -> list[_Evidence]:
    """The name holds whole seconds, cut: the export began within the second that follows."""
    out = []
    for second in exported:
        end = second * NS_PER_S - _span(trace)
        out.append(
            _Evidence(
                2,
                end - _allowance(trace),
                end + NS_PER_S,
                "profile-empty",
                f"exported at Unix second {second}",
            )
        )
    return out


def _from_folder(
    trace: Trace, local: datetime | None, offsets: tuple[int, ...] | None, how: str
) -> list[_Evidence]:
    if local is None:
        return []
    seconds = int(local.timestamp())
    shown = f"{local:%Y-%m-%d %H:%M:%S}"
    if offsets:
        first, last = (seconds - offset for offset in (max(offsets), min(offsets)))
        rank, detail = 3, f"exported at {shown} ({how})"
    else:
        first, last = (seconds - offset for offset in reversed(zones.OFFSET_LIMITS))
        rank = 5
        detail = (
            f"{shown}: {how}"
            if offsets == ()
            else "the folder's name is a local time and its time zone is not known: give --tz"
        )
    lo, hi = (second * NS_PER_S - _span(trace) for second in (first, last))
    return [_Evidence(rank, lo - _allowance(trace), hi + NS_PER_S, "run directory", detail)]


def _from_epochs(steps: Steps, logs: Sequence[EventLog]) -> list[_Evidence]:
    """The steps of an epoch began after the one before it was logged, and ended before it was
    logged itself.
    """
    out = []
    ends = steps.mark_ends()
    numbers, place = np.unique(steps.epoch, return_inverse=True)
    groups = dict(zip(numbers.tolist(), ByNumber(place, len(numbers)), strict=True))
    for epoch in from_logs(logs):
        rows = groups.get(epoch.number)
        if rows is not None and epoch.start is not None:
            lo = epoch.start - int(steps.start[rows].min()) // PS_PER_NS
            hi = epoch.end - int(ends[rows].max()) // PS_PER_NS
            if lo <= hi:
                out.append(
                    _Evidence(
                        3,
                        lo,
                        hi,
                        "epochs",
                        f"its steps are inside epoch {epoch.number} of the tfevents",
                    )
                )
    return out


def _from_training(trace: Trace, logs: Sequence[EventLog]) -> list[_Evidence]:
    training = [
        log for log in logs if log.group in ("train", "training", "") and log.first_ns is not None
    ]
    out = []
    for log in training:
        assert log.first_ns is not None
        assert log.last_ns is not None
        start = log.header_ns if log.header_ns is not None else log.first_ns
        hi = max(log.last_ns - _span(trace) + NS_PER_S, start)
        detail = (
            "if the profile was taken between the first and the last record of "
            f"{os.path.basename(log.path)}"  # noqa: PTH119
        )
        out.append(_Evidence(4, start, hi, "tfevents", detail))
    return out


def _from_file(trace: Trace) -> list[_Evidence]:
    if trace.path == "-":
        return []
    try:
        written = os.stat(trace.path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return []
    end = written - _span(trace)
    detail = "when the file was last written, which is right only if it was never copied"
    return [
        _Evidence(6, end - _allowance(trace) - int(_COPY_S * NS_PER_S), end, "file time", detail)
    ]


def _settle(evidence: list[_Evidence]) -> Clock:
    """The best evidence, narrowed by all that agrees with it. Weak kinds (file time) narrow
    nothing.

    Of several pieces of one rank (several runs in one folder) the one that agrees with most others
    is taken.
    """
    if not evidence:
        return Clock(detail="nothing ties this profile to wall time")
    first = [e for e in evidence if e.rank == evidence[0].rank]
    others = [e for e in evidence if evidence[0].rank < e.rank <= 5]
    # Of equals the later is taken: a folder that was profiled twice was exported last for the newer
    # run.
    best = max(first, key=lambda e: (sum(1 for o in others if o.lo <= e.hi and e.lo <= o.hi), e.hi))
    lo, hi = best.lo, best.hi
    agreed: set[str] = set()
    narrowing: list[str] = []
    against: list[str] = []
    for further in others:
        if max(lo, further.lo) <= min(hi, further.hi):
            agreed.add(further.source)
            if further.lo > lo or further.hi < hi:
                narrowing.append(further.source)
            lo, hi = max(lo, further.lo), min(hi, further.hi)
        else:
            against.append(further.source)
    detail = best.detail
    if narrowing:
        detail += ", narrowed by " + ", ".join(dict.fromkeys(narrowing))
    # Of several runs in one folder the others' files contradict, and mean nothing.
    if against := [source for source in dict.fromkeys(against) if source not in agreed]:
        detail += "; contradicted by " + ", ".join(against)
    return Clock(lo, hi, best.source, detail)
