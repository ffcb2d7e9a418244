"""What `powertui doctor` checks in a run that was read: its profiles, steps, devices, clock and
power.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from powertui import units
from powertui.data import elsewhere, texts
from powertui.data.asking_folder import path_as_typed
from powertui.data.logdir import RunEntry
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    Clock,
    PowerSeries,
    Process,
    ProcessKind,
    Run,
    Steps,
    Trace,
    TrackKind,
)
from powertui.report import facts, text, ways_on
from powertui.report.checks import Check, CheckState, typed_path

# Half of a clock's interval: from here on, power read once a second cannot be aligned by it.
_MIN_VAGUE_NS = NS_PER_S
_MAX_SEARCHED_NAMES = 200_000  # of events, for names of GPU launches; chosen, not measured
_CUPTI = ("cupti", "insufficient_privileges", "gpu tracer", "libcupti", "roctracer", "rocprofiler")
_GPU_HOST_NAMES = (
    b"cudaLaunchKernel",
    b"cuLaunchKernel",
    b"hipLaunchKernel",
    b"hipModuleLaunchKernel",
    b"GpuLaunch",
    b"MemcpyH2D",
)
_GPU_HOST_LINES = ("tf_gpu_", "tf_GPU_Event_Manager", "gpu_")
_GPU_FIX = (
    "NVIDIA: let users profile (options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
    "/etc/modprobe.d, then reload the driver or "
    "reboot), or run with CAP_SYS_ADMIN (docker --cap-add SYS_ADMIN); and let the loader find "
    "libcupti "
    "(LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64). AMD: add the user to the groups "
    "render and video"
)


def of_run(entry: RunEntry, run: Run, around_ns: tuple[int, int] | None = None) -> Iterator[Check]:
    """What reading the run showed; `around_ns` is when the training around it ran."""
    for warning in run.warnings:
        if warning not in entry.problems:
            yield Check(
                topic="files",
                state="problem",
                what=elsewhere.warning_text(warning),
            )
    for trace, steps, epochs in zip(run.traces, run.steps, run.epochs, strict=True):
        yield from _of_profile(trace, steps, entry)
        if len(epochs):
            yield Check(
                topic="epochs",
                state="ok",
                what=f"{len(epochs)}: {epochs.source}",
            )
        elif len(steps):
            do = "log epoch scalars (the TensorBoard callback does), or restart step_num each epoch"
            yield Check(
                topic="epochs",
                state="note",
                what=f"none: {epochs.source}",
                do=do,
            )
    yield from _of_power(entry, run, around_ns)


def _of_profile(trace: Trace, steps: Steps, entry: RunEntry) -> Iterator[Check]:
    """One host's profile."""
    name = facts.short_path(trace.path)
    if trace.event_count == 0:
        what = f"{name} holds no events: nothing ran while it was taken"
        yield Check(
            topic="profile",
            state="missing",
            what=what,
            do="profile later or longer: profile_batch=(10, 20)",
        )
    else:
        events = text.plural(trace.event_count, "event")
        state: CheckState = "ok" if trace.complete and not trace.missing else "problem"
        yield Check(
            topic="profile",
            state=state,
            what=f"{name}: {events} read as {trace.format}",
        )
    for warning in trace.warnings:
        if not _is_gpu_error(warning.cause):  # those are told with the devices
            yield Check(
                topic="profile",
                state="problem",
                what=elsewhere.warning_text(warning),
            )
    if trace.secret_names:
        names = ", ".join(trace.secret_names)
        what = f"{name} contains secrets, whose values are not shown: {names}"
        yield Check(
            topic="secrets",
            state="problem",
            what=what,
            do="remove them before you share the file",
        )
    yield from _devices(trace)
    if trace.event_count:
        yield from _steps(trace, steps, entry)
    yield _clock(trace.clock, tensorboard=ways_on.of_tensorboard(trace))


def _steps(trace: Trace, steps: Steps, entry: RunEntry) -> Iterator[Check]:
    option = f"powertui report {typed_path(entry)} --step-marker 'REGEX'"
    if not len(steps):
        what = f"no step marker: {steps.source}"
        do = (
            f"name one: {option} (any event that runs once "
            "a step); or mark steps: "
            f"{ways_on.to_mark_steps(trace)}"
        )
        yield Check(
            topic="steps",
            state="missing",
            what=what,
            do=do,
        )
        return
    if "no step marker" in steps.source:
        substitute = steps.source.split(" (")[0]
        what = f"no step marker in the profile: {len(steps):,} steps were taken from {substitute}"
        yield Check(
            topic="steps",
            state="note",
            what=what,
            do=f"if these are not your steps: {option}",
        )
    else:
        yield Check(
            topic="steps",
            state="ok",
            what=f"{len(steps):,} from {steps.source}",
        )
    for note in steps.notes:
        yield Check(topic="steps", state="note", what=note)
    if "Profiled batch" in steps.source:
        what = (
            "Keras 3 marks steps in a way that TensorBoard's overview does not know, so it "
            "shows none for this run"
        )
        yield Check(topic="steps", state="note", what=what)
    if steps.asynchronous:
        what = (
            "the steps were dispatched asynchronously: judge them by device time, or by "
            "start to start, not by the host's time"
        )
        yield Check(topic="steps", state="note", what=what)


def _devices(trace: Trace) -> Iterator[Check]:
    devices = [process for process in trace.processes if process.kind is ProcessKind.DEVICE]
    busy = [device for device in devices if not device.empty]
    errors = [warning.cause for warning in trace.warnings if _is_gpu_error(warning.cause)]
    for error in errors:
        yield Check(
            topic="devices",
            state="problem",
            what=f"the GPU could not be traced: {error}",
            do=_GPU_FIX,
        )
    if busy:
        yield from _busy_devices(busy, idle=len(devices) - len(busy))
    elif errors:
        return
    elif _gpu_on_host(trace):
        what = "GPU work was launched, but no kernel was recorded, so the GPU tracer did not run"
        yield Check(
            topic="devices",
            state="problem",
            what=what,
            do=_GPU_FIX,
        )
    elif devices:
        what = f"{text.plural(len(devices), 'device')} present, none recorded anything"
        yield Check(
            topic="devices",
            state="missing",
            what=what,
            do=_GPU_FIX,
        )
    elif trace.format == "torch_snapshot":
        what = "a snapshot of a device's memory: it holds allocations, and no steps or kernels"
        yield Check(topic="devices", state="note", what=what)
    else:
        what = (
            "a CPU-only run: kernel statistics and the memory of devices do not apply to it; "
            "time and power do"
        )
        yield Check(topic="devices", state="note", what=what)


def _busy_devices(devices: Sequence[Process], idle: int) -> Iterator[Check]:
    what = f"{len(devices)} recorded"
    if idle:
        what += f", {idle} present but idle: not drawn"
    yield Check(topic="devices", state="ok", what=what)
    tracks = (track for device in devices for track in device.tracks)
    if not any(track.kind is TrackKind.STREAM for track in tracks):
        what = "the devices have only derived lines: no stream was recorded"
        yield Check(topic="devices", state="note", what=what)


def _is_gpu_error(cause: str) -> bool:
    lower = cause.lower()
    return any(word in lower for word in _CUPTI)


def _gpu_on_host(trace: Trace) -> bool:
    """Whether host lines or names show that a GPU was used."""
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        for track in process.tracks:
            if track.event_count and track.name.startswith(_GPU_HOST_LINES):
                return True
    count = min(len(trace.names), _MAX_SEARCHED_NAMES)
    for first in range(0, count, texts.BATCH):
        names = trace.names.texts(np.arange(first, min(first + texts.BATCH, count)))
        if names.any_begins(_GPU_HOST_NAMES):
            return True
    return False


def _clock(clock: Clock, *, tensorboard: bool) -> Check:
    if not clock.known:
        what = f"nothing ties the profile to wall time ({clock.detail})"
        do = "align by hand: --offset"
        if tensorboard:
            do = f"keep the run folder's name and the tfevents with the profile, or {do}"
        return Check(
            topic="clock",
            state="missing",
            what=what,
            do=do,
        )
    half = units.duration(clock.half_ns * PS_PER_NS, 2)
    source = f"{clock.source}, ± {half} ({clock.detail})"
    if clock.source == "file time":
        do = "copy it with its time: cp -p, rsync -t"
        if tensorboard:
            do = "keep tfevents and the run folder's name with the profile"
        return Check(
            topic="clock",
            state="note",
            what=f"only the file's own time: {source}",
            do=do,
        )
    if clock.source == "run directory" and clock.utc_offset_s is None:
        do = "give the time zone of the profiled machine: --tz=-03:00"
        return Check(
            topic="clock",
            state="note",
            what=source,
            do=do,
        )
    if clock.half_ns >= _MIN_VAGUE_NS:
        do = "or align the power by signal: --align signal"
        return Check(
            topic="clock",
            state="note",
            what=f"vague: {source}",
            do=do,
        )
    return Check(topic="clock", state="ok", what=source)


# ── power ────────────────────────────────────────────────────────────────────────────────────────


def _of_power(entry: RunEntry, run: Run, around_ns: tuple[int, int] | None) -> Iterator[Check]:
    """Whether there is power, and whether it belongs to this time."""
    if not run.power:
        yield _no_power(entry)
        return
    for series in run.power:
        yield _overlap(series, run.traces, around_ns)
    yield from _of_owners(run)


def _no_power(entry: RunEntry) -> Check:
    path = typed_path(entry)
    if not entry.above:
        what = "no power log in the logdir (data/, *.csv, *.db and similar were checked)"
        do = (
            f"powertui {path} --power FILE, or record it next time: powertui record -o "
            "power.csv -- python train.py"
        )
        return Check(
            topic="power",
            state="missing",
            what=what,
            do=do,
        )
    log = path_as_typed(entry.above[0].path)
    logs = log
    if len(entry.above) > 1:
        logs += f" and {len(entry.above) - 1} more"
    what = f"no power log in the logdir; {logs} above it may be another's, so it was not taken"
    do = f"if it is this run's: powertui {path} --power {shlex.quote(log)}"
    return Check(
        topic="power",
        state="missing",
        what=what,
        do=do,
    )


def _of_owners(run: Run) -> Iterator[Check]:
    """The power that belongs to no host of the run, and what would give it one."""
    if not run.traces or not run.power:
        return
    from powertui.data.energy import owner_notes, power_owners

    owners = power_owners.of_run(run)
    has_owner = any(owner.machine is not None for owner in owners.owners)
    state: CheckState = "note" if has_owner else "problem"
    for what, remedy in owner_notes.strangers_and_remedies(run.power, owners):
        yield Check(
            topic="power",
            state=state,
            what=what,
            do=remedy,
        )


def _overlap(
    series: PowerSeries,
    traces: Sequence[Trace],
    around_ns: tuple[int, int] | None,
) -> Check:
    """Whether a channel was recorded while the run, or the training around it, ran."""
    name = f"{series.sensor.label} ({series.sensor.source}, {facts.short_path(series.path)})"
    if not np.isfinite(series.watts).any():
        rows = text.plural(len(series), "row")
        remedy = (
            "check that the source answers: powertui sensors; if the watts are in another "
            "column, name it: --watts-col NAME"
        )
        return Check(
            topic="power",
            state="problem",
            what=f"{name} has {rows} and not one reading",
            do=remedy,
        )
    what = f"{name}: {text.plural(len(series), 'reading')}"
    if not series.clock.known:
        what += "; its times are relative, so it is aligned by evidence or by signal"
        return Check(
            topic="power",
            state="ok",
            what=what,
            do="to see how: powertui energy PATH",
        )
    profiled = [_span_ns(trace) for trace in traces if trace.clock.known and trace.event_count]
    spans = list(profiled)
    if around_ns is not None:
        spans.append(around_ns)
    if not spans:
        return Check(topic="power", state="ok", what=what)
    from powertui.data.energy import log_zone, meeting

    starts_ns, ends_ns = zip(*spans, strict=True)
    run_ns = min(starts_ns), max(ends_ns)
    clock = _clock_of_log(series, traces, run_ns)
    away = log_zone.gap(series, clock, run_ns)
    if away is not None:
        do = (
            "if it is this run's: give its time zone with --tz ZONE, or align it by signal "
            "with --align signal"
        )
        return Check(
            topic="power",
            state="problem",
            what=f"{what}. {meeting.not_used(series.path, away)}",
            do=do,
        )
    if clock is None:
        what += "; its times are local, and their zone is not known"
        return Check(
            topic="power",
            state="note",
            what=what,
            do="give it: --tz ZONE",
        )
    gaps = [log_zone.gap(series, clock, span) for span in profiled]
    # The training around the run may have been logged, and none of its profiles.
    if gaps and None not in gaps:
        nearest = meeting.nearest(*(gap or 0 for gap in gaps))
        beside = meeting.sentence(series.path, nearest, "the profile")
        return Check(
            topic="power",
            state="note",
            what=f"{what}, at the time of the training. {beside}",
        )
    covered = "profile" if profiled else "training"
    return Check(
        topic="power",
        state="ok",
        what=f"{what}, at the time of the {covered}",
    )


def _clock_of_log(
    series: PowerSeries,
    traces: Sequence[Trace],
    run_ns: tuple[int, int],
) -> Clock | None:
    """The clock of a log, in the zone of the run where its times are local; None without one."""
    from powertui.data.energy import log_zone
    from powertui.data.power import times

    if not times.is_local(series.clock):
        return series.clock
    zone_s = None
    for trace in traces:
        if trace.clock.utc_offset_s is not None:
            zone_s = trace.clock.utc_offset_s
            break
    return log_zone.log_clock(series, run_ns, zone_s)


def _span_ns(trace: Trace) -> tuple[int, int]:
    """When a profile ran (Unix ns), with the ± of its clock."""
    lo_ns = trace.clock.lo_ns or 0
    hi_ns = trace.clock.hi_ns or 0
    start_ps, end_ps = trace.span
    return lo_ns + start_ps // PS_PER_NS, hi_ns + end_ps // PS_PER_NS
