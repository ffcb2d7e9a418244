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

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.formats import registry
from powertui.data.formats.filenames import run_of, split_events
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, Clock, Steps, Trace
from powertui.data.run import captures, zones
from powertui.data.run.logged_epochs import from_logs
from powertui.named_tuples import NamedTuple

# Collecting, converting and writing a capture: seconds, more for large ones.
_EXPORT_S = 5.0
_EXPORT_BYTES_PER_S = 10e6
# So much later than the export a file may have been written and still be the original. Chosen, not
# measured.
_COPY_S = 60.0

# How many seconds before and after another moment the folder may have been named: before and after
# the second that names an export, and the recorded end of a session; a file is written soon after
# its folder was named.
_NAMED_S = (5, 60)
_NAMED_AFTER_SESSION_S = (1, 60)
_NAMED_BEFORE_FILE_S = (20, 1)


class _Evidence(NamedTuple):
    """One interval for the zero, with what says so. Lower rank is better."""

    rank: int
    lo: int  # Unix ns
    hi: int
    source: str
    detail: str

    def agrees_with(self, other: _Evidence) -> bool:
        """Whether both can be true."""
        return self.lo <= other.hi and other.lo <= self.hi


# Ranks of evidence, the surest first. A file's own time narrows nothing.
_BATCH_RANK = 1
_EXPORT_RANK = 2
_FOLDER_IN_ZONE_RANK = 3
_EPOCHS_RANK = 4
_TRAINING_RANK = 5
_FOLDER_RANK = 6
_FILE_RANK = 7


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
        evidence = _from_batches(trace, logs, steps, ends)
        evidence += _from_exports(trace, [second for second in exports if second in ends])
        evidence += _from_folder(trace, local, offsets, how)
        evidence += _from_training(trace, logs)
        evidence += _from_file(trace)
        if steps is not None and epoch_num:
            evidence += _from_epochs(steps, logs)
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


def own_logs(logs: Sequence[EventLog], clock: Clock, span: tuple[int, int]) -> tuple[EventLog, ...]:
    """The logs of the process that was profiled, when several runs share a folder.

    Those whose times hold the profile's.
    """
    processes = {run_of(log.path) for log in logs if log.first_ns is not None}
    if len(processes) <= 1 or clock.lo_ns is None or clock.hi_ns is None:
        return tuple(logs)
    first = clock.lo_ns + span[0] // PS_PER_NS
    last = clock.hi_ns + span[1] // PS_PER_NS
    longest_overlap: dict[tuple[str, int | None], int] = {}
    for log in logs:
        if log.first_ns is None or log.last_ns is None:
            continue
        process = run_of(log.path)
        overlap = min(last, log.last_ns) - max(first, log.first_ns)
        longest_overlap[process] = max(longest_overlap.get(process, overlap), overlap)
    profiled = max(longest_overlap, key=lambda process: longest_overlap[process])
    return tuple(log for log in logs if run_of(log.path) == profiled)


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
    if folder is not None:
        own_folder = folder
    else:
        own_folder = Path(trace.path).parent
    if folder is not None or own_folder.parent.name == "profile":
        return own_folder.parent, own_folder.name
    return None, own_folder.name


def _exports(entry: RunEntry | None) -> list[int]:
    """Unix seconds in the names of profile-empty files."""
    seconds = []
    for event in entry.tfevents if entry is not None else ():
        if event.kind == "profile-empty":
            name_parts = split_events(Path(event.path).name)
        else:
            name_parts = None
        if name_parts is not None:
            seconds.append(name_parts[0])
    return sorted(seconds)


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
        return _offsets_in_zone(local, tz)
    named_s = int(local.timestamp())
    if stop_ns is not None:
        fit = zones.fit_zone(named_s - stop_ns // NS_PER_S, *_NAMED_AFTER_SESSION_S)
        if fit is not None:
            return _fitting(fit, "the session's recorded end")
    # Several runs may share the folder: the one that was exported when this folder was named fits
    # best.
    fits = [zones.fit_zone(named_s - second, *_NAMED_S) for second in stopped]
    best_fit = min((fit for fit in fits if fit is not None), default=None)
    if best_fit is not None:
        return _fitting(best_fit, "tfevents")
    written_ns = _written_ns(path)
    if written_ns is not None:
        fit = zones.fit_zone(named_s - written_ns // NS_PER_S, *_NAMED_BEFORE_FILE_S)
        if fit is not None:
            return _fitting(fit, "the file's own time")
    return None, ""


def _offsets_in_zone(local: datetime, tz: str) -> tuple[tuple[int, ...], str]:
    offsets = zones.offsets_at(tz, local.replace(tzinfo=None))
    if not offsets:
        return offsets, f"no such time in {tz}, where clocks were set forward: check --tz"
    names = " or ".join(zones.name(offset) for offset in offsets)
    if len(offsets) == 2:
        return offsets, f"{names}: the clocks in {tz} showed this hour twice"
    return offsets, f"{names}, given with --tz"


def _fitting(fit: zones.ZoneFit, against: str) -> tuple[tuple[int, ...], str]:
    return (fit.offset_s,), f"{zones.name(fit.offset_s)}, folder name against {against}"


def _written_ns(path: str) -> int | None:
    """When a file was last written; None for what is no file."""
    if path == "-":
        return None
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


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
    last_mark_ns = None
    if steps is not None and len(steps) and not steps.asynchronous:
        last_mark_ns = int(steps.mark_ends().max()) // PS_PER_NS
    evidence = []
    for log in logs:
        for batch, wall_ns in log.batches:
            if wall_ns // NS_PER_S not in ends:
                continue
            zero = wall_ns - _span(trace)
            hi = zero + late
            if last_mark_ns is not None:
                hi = min(hi, wall_ns - last_mark_ns)
            evidence.append(
                _Evidence(
                    rank=_BATCH_RANK,
                    lo=min(zero + early, hi),
                    hi=hi,
                    source="tfevents batch",
                    detail=f"record batch_{batch} of {Path(log.path).name}",
                )
            )
    return evidence


def _from_exports(trace: Trace, exported: Sequence[int]) -> list[_Evidence]:
    """The name holds whole seconds, cut: the export began within the second that follows."""
    evidence = []
    for second in exported:
        zero = second * NS_PER_S - _span(trace)
        evidence.append(
            _Evidence(
                rank=_EXPORT_RANK,
                lo=zero - _allowance(trace),
                hi=zero + NS_PER_S,
                source="profile-empty",
                detail=f"exported at Unix second {second}",
            )
        )
    return evidence


def _from_folder(
    trace: Trace, local: datetime | None, offsets: tuple[int, ...] | None, how: str
) -> list[_Evidence]:
    if local is None:
        return []
    shown = f"{local:%Y-%m-%d %H:%M:%S}"
    if offsets:
        rank = _FOLDER_IN_ZONE_RANK
        detail = f"exported at {shown} ({how})"
    elif offsets is not None:
        rank = _FOLDER_RANK
        detail = f"{shown}: {how}"
    else:
        rank = _FOLDER_RANK
        detail = "the folder's name is a local time and its time zone is not known: give --tz"
    possible = offsets or zones.OFFSET_LIMITS
    named_s = int(local.timestamp())
    first_zero = (named_s - max(possible)) * NS_PER_S - _span(trace)
    last_zero = (named_s - min(possible)) * NS_PER_S - _span(trace)
    return [
        _Evidence(
            rank=rank,
            lo=first_zero - _allowance(trace),
            hi=last_zero + NS_PER_S,
            source="run directory",
            detail=detail,
        )
    ]


def _from_epochs(steps: Steps, logs: Sequence[EventLog]) -> list[_Evidence]:
    """The steps of an epoch began after the one before it was logged, and ended before it was
    logged itself.
    """
    ends = steps.mark_ends()
    numbers, place = np.unique(steps.epoch, return_inverse=True)
    rows_by_number = dict(zip(numbers.tolist(), ByNumber(place, len(numbers)), strict=True))
    evidence = []
    for epoch in from_logs(logs):
        rows = rows_by_number.get(epoch.number)
        if rows is None or epoch.start is None:
            continue
        lo = epoch.start - int(steps.start[rows].min()) // PS_PER_NS
        hi = epoch.end - int(ends[rows].max()) // PS_PER_NS
        if lo <= hi:
            detail = f"its steps are inside epoch {epoch.number} of the tfevents"
            evidence.append(_Evidence(_EPOCHS_RANK, lo, hi, "epochs", detail))
    return evidence


def _from_training(trace: Trace, logs: Sequence[EventLog]) -> list[_Evidence]:
    evidence = []
    for log in logs:
        if log.group not in ("train", "training", "") or log.first_ns is None:
            continue
        assert log.last_ns is not None
        if log.header_ns is not None:
            start = log.header_ns
        else:
            start = log.first_ns
        hi = max(log.last_ns - _span(trace) + NS_PER_S, start)
        detail = (
            "if the profile was taken between the first and the last record of "
            f"{os.path.basename(log.path)}"  # noqa: PTH119
        )
        evidence.append(_Evidence(_TRAINING_RANK, start, hi, "tfevents", detail))
    return evidence


def _from_file(trace: Trace) -> list[_Evidence]:
    written_ns = _written_ns(trace.path)
    if written_ns is None:
        return []
    hi = written_ns - _span(trace)
    lo = hi - _allowance(trace) - int(_COPY_S * NS_PER_S)
    detail = "when the file was last written, which is right only if it was never copied"
    return [_Evidence(_FILE_RANK, lo, hi, "file time", detail)]


def _settle(evidence: list[_Evidence]) -> Clock:
    """The best evidence, narrowed by all that agrees with it. Weak kinds (file time) narrow
    nothing.

    Of several pieces of one rank (several runs in one folder) the one that agrees with most others
    is taken.
    """
    if not evidence:
        return Clock(detail="nothing ties this profile to wall time")
    best_rank = evidence[0].rank
    best_pieces = [piece for piece in evidence if piece.rank == best_rank]
    others = [piece for piece in evidence if best_rank < piece.rank < _FILE_RANK]

    def agreement(piece: _Evidence) -> tuple[int, int]:
        # Of equals the later is taken: a folder that was profiled twice was exported last for the
        # newer run.
        return sum(piece.agrees_with(other) for other in others), piece.hi

    best = max(best_pieces, key=agreement)
    agreed: set[str] = set()
    narrowing: list[str] = []
    contradicting: list[str] = []
    settled = best
    for piece in others:
        if not settled.agrees_with(piece):
            contradicting.append(piece.source)
            continue
        agreed.add(piece.source)
        if piece.lo > settled.lo or piece.hi < settled.hi:
            narrowing.append(piece.source)
        settled = settled._replace(lo=max(settled.lo, piece.lo), hi=min(settled.hi, piece.hi))
    detail = best.detail
    if narrowing:
        detail += ", narrowed by " + ", ".join(dict.fromkeys(narrowing))
    # Of several runs in one folder the others' files contradict, and mean nothing.
    contradicting = [source for source in dict.fromkeys(contradicting) if source not in agreed]
    if contradicting:
        detail += "; contradicted by " + ", ".join(contradicting)
    return Clock(settled.lo, settled.hi, best.source, detail)
