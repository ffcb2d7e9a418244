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
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from powertui.data.formats import registry
from powertui.data.formats.filenames import run_of, split_events
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, Clock, Steps, Trace
from powertui.data.run import captures, zones
from powertui.data.run.clock_evidence import (
    FILE_RANK,
    ClockEvidence,
    from_batches,
    from_epochs,
    from_exports,
    from_file,
    from_folder,
    from_training,
    written_ns,
)

# How many seconds before and after another moment the folder may have been named: before and after
# the second that names an export, and the recorded end of a session; a file is written soon after
# its folder was named.
_NAMED_S = (5, 60)
_NAMED_AFTER_SESSION_S = (1, 60)
_NAMED_BEFORE_FILE_S = (20, 1)


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
    if folder is not None:
        local = captures.local_time(folder.name)
    else:
        local = None
    exports = _exports(entry)
    batch_ends = [wall_ns // NS_PER_S for log in logs for _, wall_ns in log.batches]
    all_ends = [*exports, *batch_ends]
    ends = captures.own_ends(*_place(trace, folder), all_ends, tz)
    session = registry.clock_rule(trace.format).zero(trace)
    stop_ns = trace.stop_ns if session is not None else None
    offsets, how = _utc_offsets(local, sorted(ends), stop_ns, tz, trace.path)
    if session is not None:
        clock = session
    elif trace.clock.known:
        clock = trace.clock
    else:
        evidence = from_batches(trace, logs, steps, ends)
        evidence += from_exports(trace, [second for second in exports if second in ends])
        evidence += from_folder(trace, local, offsets, how)
        evidence += from_training(trace, logs)
        evidence += from_file(trace)
        if steps is not None and epoch_num:
            evidence += from_epochs(steps, logs)
        clock = _settle(sorted(evidence, key=lambda piece: piece.rank))
        if all_ends and not ends:
            of_others = "the ends of captures in its tfevents are of other runs"
            clock = replace(clock, detail=f"{clock.detail}; {of_others}")
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


def own_logs(
    logs: Sequence[EventLog],
    clock: Clock,
    span: tuple[int, int],
) -> tuple[EventLog, ...]:
    """The logs of the process that was profiled, when several runs share a folder.

    Those whose times hold the profile's.
    """
    processes = {run_of(log.path) for log in logs if log.first_ns is not None}
    if len(processes) <= 1 or clock.lo_ns is None or clock.hi_ns is None:
        return tuple(logs)
    first_ps, last_ps = span
    first = clock.lo_ns + first_ps // PS_PER_NS
    last = clock.hi_ns + last_ps // PS_PER_NS
    longest_overlap: dict[tuple[str, int | None], int] = {}
    for log in logs:
        if log.first_ns is None or log.last_ns is None:
            continue
        process = run_of(log.path)
        overlap = min(last, log.last_ns) - max(first, log.first_ns)
        longest = longest_overlap.get(process, overlap)
        longest_overlap[process] = max(longest, overlap)
    profiled = max(longest_overlap, key=lambda process: longest_overlap[process])
    return tuple(log for log in logs if run_of(log.path) == profiled)


# ── what the files say ───────────────────────────────────────────────────────────────────────────


def _run_folder(trace: Trace, entry: RunEntry | None) -> Path | None:
    """The folder that is named by the time of the capture."""
    entry_path = entry.path if entry is not None else ""
    for path in (trace.path, entry_path):
        # Without a `Path` for each: thousands of runs are asked.
        path = path.rstrip(os.sep)
        above, _, name = path.rpartition(os.sep)
        if captures.RUN_TIME.match(above.rpartition(os.sep)[2]):
            return Path(above)
        if captures.RUN_TIME.match(name):
            return Path(path)
    return None


def _place(trace: Trace, folder: Path | None) -> tuple[Path | None, str]:
    """(the folder that the capture lies in with others, its own name)."""
    if folder is not None:
        return folder.parent, folder.name
    own_folder = Path(trace.path).parent
    if own_folder.parent.name == "profile":
        return own_folder.parent, own_folder.name
    return None, own_folder.name


def _exports(entry: RunEntry | None) -> list[int]:
    """Unix seconds in the names of profile-empty files."""
    if entry is None:
        return []
    seconds = []
    for event in entry.tfevents:
        if event.kind != "profile-empty":
            continue
        name_parts = split_events(Path(event.path).name)
        if name_parts is not None:
            seconds.append(name_parts[0])
    return sorted(seconds)


def _utc_offsets(
    local: datetime | None,
    stopped: Sequence[int],
    stop_ns: int | None,
    tz: str | None,
    path: str,
) -> tuple[tuple[int, ...] | None, str]:
    """(seconds east of UTC when the folder was named, how that is known) of the profiled machine;
    None where it is not known.

    Two in the hour that clocks repeat in autumn, none at all in the one that they leave out in
    spring.
    """
    if local is None:
        return None, ""
    if tz is not None:
        return zones.offsets_in_zone(local, tz)
    named_s = int(local.timestamp())
    if stop_ns is not None:
        since_stop_s = named_s - stop_ns // NS_PER_S
        fit = zones.fit_zone(since_stop_s, *_NAMED_AFTER_SESSION_S)
        if fit is not None:
            return _fitting(fit, "the session's recorded end")
    # Several runs may share the folder: the one that was exported when this folder was named fits
    # best.
    fits = []
    for second in stopped:
        fit = zones.fit_zone(named_s - second, *_NAMED_S)
        if fit is not None:
            fits.append(fit)
    if fits:
        return _fitting(min(fits), "tfevents")
    file_ns = written_ns(path)
    if file_ns is not None:
        since_written_s = named_s - file_ns // NS_PER_S
        fit = zones.fit_zone(since_written_s, *_NAMED_BEFORE_FILE_S)
        if fit is not None:
            return _fitting(fit, "the file's own time")
    return None, ""


def _fitting(fit: zones.ZoneFit, against: str) -> tuple[tuple[int, ...], str]:
    return (fit.offset_s,), f"{zones.name(fit.offset_s)}, folder name against {against}"


def _offset_then(clock: Clock, offsets: tuple[int, ...] | None, tz: str | None) -> int | None:
    """Seconds east of UTC on the profiled machine at that time, when they are not in doubt."""
    if clock.lo_ns is None or clock.hi_ns is None:
        return None
    if tz is not None:
        then = {zones.offset_of(tz, clock.lo_ns), zones.offset_of(tz, clock.hi_ns)}
        if len(then) == 1 and offsets != ():
            return then.pop()
        return None
    return offsets[0] if offsets else None


def _settle(evidence: list[ClockEvidence]) -> Clock:
    """The best evidence, narrowed by all that agrees with it. Weak kinds (file time) narrow
    nothing.

    Of several pieces of one rank (several runs in one folder) the one that agrees with most others
    is taken.
    """
    if not evidence:
        return Clock(detail="nothing ties this profile to wall time")
    best_rank = evidence[0].rank
    best_pieces = [piece for piece in evidence if piece.rank == best_rank]
    others = [piece for piece in evidence if best_rank < piece.rank < FILE_RANK]

    def agreement(piece: ClockEvidence) -> tuple[int, int]:
        # Of equals the later is taken: a folder that was profiled twice was exported last for the
        # newer run.
        return sum(piece.agrees_with(other) for other in others), piece.hi

    best = max(best_pieces, key=agreement)
    agreed: list[str] = []
    narrowing: list[str] = []
    contradicting: list[str] = []
    settled = best
    for piece in others:
        if not settled.agrees_with(piece):
            contradicting.append(piece.source)
            continue
        agreed.append(piece.source)
        if piece.lo > settled.lo or piece.hi < settled.hi:
            narrowing.append(piece.source)
        settled = settled._replace(
            lo=max(settled.lo, piece.lo),
            hi=min(settled.hi, piece.hi),
        )
    detail = best.detail
    if narrowing:
        detail += ", narrowed by " + ", ".join(dict.fromkeys(narrowing))
    # Of several runs in one folder the others' files contradict, and mean nothing.
    contradicting = [source for source in dict.fromkeys(contradicting) if source not in agreed]
    if contradicting:
        detail += "; contradicted by " + ", ".join(contradicting)
    return Clock(
        lo_ns=settled.lo,
        hi_ns=settled.hi,
        source=best.source,
        detail=detail,
    )
