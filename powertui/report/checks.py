"""The checks of `powertui doctor`: pure functions from what was found to findings.

Each finding is what was found, why it matters, and the next thing to do. The cases are the ones
that people ask about: a profile on the wrong level, no steps, no GPU kernels, tools that do not
apply, power that is not there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from powertui import plugins, units
from powertui.data import elsewhere, wire
from powertui.data.logdir import Logdir, RunEntry
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
from powertui.report import facts, runs, text, ways_on

CheckState = Literal["ok", "note", "missing", "problem"]

# Half of a clock's interval: from here on, power read once a second cannot be aligned by it.
_MIN_VAGUE_NS = NS_PER_S
_MAX_SEARCHED_NAMES = 200_000  # of events, for names of GPU launches; chosen, not measured
_CUPTI = ("cupti", "insufficient_privileges", "gpu tracer", "libcupti", "roctracer", "rocprofiler")
_GPU_HOST_NAMES = (
    "cudaLaunchKernel",
    "cuLaunchKernel",
    "hipLaunchKernel",
    "hipModuleLaunchKernel",
    "GpuLaunch",
    "MemcpyH2D",
)
_GPU_HOST_LINES = ("tf_gpu_", "tf_GPU_Event_Manager", "gpu_")
# The folders that Keras and others write scalars to.
_TRAINING_GROUPS = {"train", "training"}
_VALIDATION_GROUPS = {"validation", "val", "valid", "eval", "test"}

_GPU_FIX = (
    "NVIDIA: let users profile (options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
    "/etc/modprobe.d, then reload the driver or "
    "reboot), or run with CAP_SYS_ADMIN (docker --cap-add SYS_ADMIN); and let the loader find "
    "libcupti "
    "(LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64). AMD: add the user to the groups "
    "render and video"
)
_PROFILE_HOW = (
    "profile a few steps: tf.keras.callbacks.TensorBoard(log_dir, profile_batch=(10, 20)), "
    "or with jax.profiler.trace(log_dir): …, or tf.profiler.experimental.start(log_dir), "
    "or torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(log_dir))"
)


class Check(NamedTuple):
    """One finding. `do` is the next command or step; "" when nothing needs doing."""

    topic: str
    state: CheckState
    what: str
    do: str = ""


# ── the program ──────────────────────────────────────────────────────────────────────────────────


def of_program() -> Iterator[Check]:
    """What concerns powertui itself on this machine."""
    if wire.WHY_PURE:
        do = "install gcc and Python's headers (python3-dev on Debian), then powertui again"
        if os.environ.get("POWERTUI_PURE"):
            do = "unset POWERTUI_PURE"
        what = (
            f"profiles are read without the compiled scanner ({wire.WHY_PURE}): the same "
            "answers, several times more slowly"
        )
        yield Check("program", "note", what, do)
    for problem in (*plugins.problems(), *plugins.failed()):
        yield Check("program", "note", problem, "update the package, or uninstall it")


# ── the whole path ───────────────────────────────────────────────────────────────────────────────


def of_logdir(scan: Logdir) -> Iterator[Check]:
    """What concerns the path and no run."""
    if not scan.runs:
        yield from _nothing(scan)
    yield from _inside_plugins(scan)
    for file in scan.unread:
        yield Check("files", "note", f"{facts.shown(file.path)}: {facts.why_unread(file)}")
    claimed = {log for run in scan.runs for log in run.power}
    for log in scan.power:
        if log not in claimed:
            path = facts.shown(log.path)
            what = (
                f"{path} is a power log ({log.dialect}), but nothing shows which run it belongs to"
            )
            yield Check("power", "note", what, f"powertui RUN --power {shlex.quote(path)}")
    for problem in scan.problems:
        yield Check("access", "problem", str(problem), _access_hint(problem.cause, problem.file))


def _inside_plugins(scan: Logdir) -> Iterator[Check]:
    """Whether the path is below the folder that TensorBoard needs."""
    if not scan.runs or scan.path == "-" or elsewhere.is_address(scan.path):
        return
    path = Path(scan.path).absolute()
    for folder in (path, *path.parents[:3]):
        if folder.name == "plugins":
            logdir_path = shlex.quote(facts.shown(str(folder.parent)))
            what = (
                "this is inside plugins/: powertui reads it, but TensorBoard needs the folder above"
            )
            yield Check("level", "note", what, f"tensorboard --logdir {logdir_path}")


def _nothing(scan: Logdir) -> Iterator[Check]:
    scalars = [event for event in scan.tfevents if event.kind == "scalars"]
    if scalars:
        logged = text.plural(len(scalars), "tfevents file")
        what = f"the training was logged ({logged}), but no profile was taken or kept"
        yield Check("profile", "missing", what, _PROFILE_HOW)
        return
    if any(event.kind == "profile-empty" for event in scan.tfevents):
        what = (
            "a profile was taken here (profile-empty shows it), but its folder "
            "plugins/profile/ is not here"
        )
        yield Check(
            "profile",
            "missing",
            what,
            "copy the whole logdir, folders included: rsync -a HOST:LOGDIR .",
        )
        return
    what = (
        "no profile that powertui reads is here, at any depth: no *.xplane.pb, no "
        "*.trace.json.gz, no other trace"
    )
    yield Check(
        "profile",
        "missing",
        what,
        "name the folder that your program was given as log_dir; or " + _PROFILE_HOW,
    )


def _access_hint(cause: str, path: str) -> str:
    if "ermission" in cause:
        return f"ls -ld {shlex.quote(path)}"
    return ""


# ── one run, as found ────────────────────────────────────────────────────────────────────────────


def of_entry(entry: RunEntry) -> Iterator[Check]:
    """What the names of files and folders show."""
    if runs.growing(entry):
        what = "a profile of this run was written to just now: what is complete was read"
        yield Check("files", "note", what, "look again when its program has ended")
    if entry.path != "-" and entry.profiles and ways_on.is_tensorboards(entry.profiles[0].path):
        yield from _level(entry)
    if not entry.profiles and (why := facts.why_no_timeline(entry)):
        do = "" if entry.results or entry.unread else _PROFILE_HOW
        if entry.results:
            do = (
                "copy HOST.xplane.pb from the machine that was profiled; newer versions write "
                "it beside these files"
            )
        yield Check("timeline", "missing", why, do)
    for file in entry.unread:
        if entry.profiles:
            yield Check("files", "note", f"{facts.shown(file.path)}: {facts.why_unread(file)}")
    if entry.ignored:
        count = text.plural(len(entry.ignored), "cache file")
        yield Check("files", "note", f"{count} of other viewers: ignored, safe to delete")
    for problem in entry.problems:
        yield Check("files", "problem", str(problem))


def _typed(entry: RunEntry) -> str:
    """The run's path as one types it in a command."""
    return "PATH" if entry.path == "-" else shlex.quote(facts.shown(entry.path))


def _level(entry: RunEntry) -> Iterator[Check]:
    folder = Path(entry.profiles[0].path).parent
    here = elsewhere.shown(str(folder)) == str(folder)
    if here and not (folder.parent.name == "profile" and folder.parent.parent.name == "plugins"):
        what = "outside plugins/profile/RUN/: powertui reads it here, TensorBoard would not find it"
        target = shlex.quote(facts.shown(str(folder / "plugins" / "profile" / "run1")))
        do = f"for TensorBoard: mkdir -p {target}, and move the profile there"
        yield Check("level", "note", what, do)
        return
    scalars = [event for event in entry.tfevents if event.has_scalars]
    empty = [event for event in entry.tfevents if event.kind == "profile-empty"]
    if not scalars and not empty:
        what = (
            "no tfevents beside plugins/ (not even profile-empty): powertui needs none, but "
            "TensorBoard hides the Profile tab"
        )
        do = (
            "epochs and losses come from tfevents: keep train/events.out.tfevents.* with the "
            "profile"
        )
        yield Check("tfevents", "note", what, do)
    groups = {event.group for event in scalars}
    if groups & _TRAINING_GROUPS and not groups & _VALIDATION_GROUPS:
        what = (
            "only train/: there is no validation/ beside it, so validation runs cannot be "
            "recognized by name"
        )
        yield Check("tfevents", "note", what)
    if groups & _VALIDATION_GROUPS and not groups & {*_TRAINING_GROUPS, ""}:
        what = "only validation/: the epochs of the training are not here"
        yield Check("tfevents", "missing", what, "copy train/ too")


# ── one run, as read ─────────────────────────────────────────────────────────────────────────────


def of_run(entry: RunEntry, run: Run, around_ns: tuple[int, int] | None = None) -> Iterator[Check]:
    """What reading the run showed; `around_ns` is when the training around it ran."""
    for warning in run.warnings:
        if warning not in entry.problems:
            yield Check("files", "problem", str(warning))
    for trace, steps, epochs in zip(run.traces, run.steps, run.epochs, strict=True):
        yield from _of_profile(trace, steps, entry)
        if len(epochs):
            yield Check("epochs", "ok", f"{len(epochs)}: {epochs.source}")
        elif len(steps):
            do = "log epoch scalars (the TensorBoard callback does), or restart step_num each epoch"
            yield Check("epochs", "note", f"none: {epochs.source}", do)
    yield from _of_power(entry, run, around_ns)


def _of_profile(trace: Trace, steps: Steps, entry: RunEntry) -> Iterator[Check]:
    """One host's profile."""
    name = facts.short_path(trace.path)
    read = f"{name}: {text.plural(trace.event_count, 'event')} read as {trace.format}"
    if trace.event_count == 0:
        what = f"{name} holds no events: nothing ran while it was taken"
        yield Check("profile", "missing", what, "profile later or longer: profile_batch=(10, 20)")
    else:
        yield Check("profile", "ok" if trace.complete else "problem", read)
    for warning in trace.warnings:
        if not _is_gpu_error(warning.cause):
            yield Check("profile", "problem", str(warning))
    yield from _devices(trace)
    if trace.event_count:
        yield from _steps(trace, steps, entry)
    yield _clock(trace.clock, tensorboard=ways_on.of_tensorboard(trace))


def _steps(trace: Trace, steps: Steps, entry: RunEntry) -> Iterator[Check]:
    path = _typed(entry)
    if not len(steps):
        what = f"no step marker: {steps.source}"
        do = (
            f"name one: powertui report {path} --step-marker 'REGEX' (any event that runs once "
            "a step); or mark steps: "
            f"{ways_on.to_mark_steps(trace)}"
        )
        yield Check("steps", "missing", what, do)
        return
    if "no step marker" in steps.source:
        what = (
            f"no step marker in the profile: {len(steps):,} steps were taken from "
            f"{steps.source.split(' (')[0]}"
        )
        yield Check(
            "steps",
            "note",
            what,
            f"if these are not your steps: powertui report {path} --step-marker 'REGEX'",
        )
    else:
        yield Check("steps", "ok", f"{len(steps):,} from {steps.source}")
    for note in steps.notes:
        yield Check("steps", "note", note)
    if "Profiled batch" in steps.source:
        what = (
            "Keras 3 marks steps in a way that TensorBoard's overview does not know, so it "
            "shows none for this run"
        )
        yield Check("steps", "note", what)
    if steps.asynchronous:
        what = (
            "the steps were dispatched asynchronously: judge them by device time, or by "
            "start to start, not by the host's time"
        )
        yield Check("steps", "note", what)


def _devices(trace: Trace) -> Iterator[Check]:
    devices = [process for process in trace.processes if process.kind is ProcessKind.DEVICE]
    busy = [device for device in devices if not device.empty]
    errors = [warning.cause for warning in trace.warnings if _is_gpu_error(warning.cause)]
    for error in errors:
        yield Check("devices", "problem", f"the GPU could not be traced: {error}", _GPU_FIX)
    if busy:
        yield from _busy_devices(busy, idle=len(devices) - len(busy))
    elif errors:
        return
    elif _gpu_on_host(trace):
        what = "GPU work was launched, but no kernel was recorded, so the GPU tracer did not run"
        yield Check("devices", "problem", what, _GPU_FIX)
    elif devices:
        what = f"{text.plural(len(devices), 'device')} present, none recorded anything"
        yield Check("devices", "missing", what, _GPU_FIX)
    else:
        what = (
            "a CPU-only run: kernel statistics, device memory and roofline do not apply to "
            "it; time and power do"
        )
        yield Check("devices", "note", what)


def _busy_devices(devices: Sequence[Process], idle: int) -> Iterator[Check]:
    what = f"{len(devices)} recorded"
    if idle:
        what += f", {idle} present but idle: not drawn"
    yield Check("devices", "ok", what)
    tracks = (track for device in devices for track in device.tracks)
    if not any(track.kind is TrackKind.STREAM for track in tracks):
        what = "the devices have only derived lines: no stream was recorded"
        yield Check("devices", "note", what)


def _is_gpu_error(cause: str) -> bool:
    lower = cause.lower()
    return any(word in lower for word in _CUPTI)


def _gpu_on_host(trace: Trace) -> bool:
    """Whether host lines or names show that a GPU was used."""
    hosts = (process for process in trace.processes if process.kind is ProcessKind.HOST)
    tracks = (track for host in hosts for track in host.tracks if len(track.events))
    if any(track.name.startswith(_GPU_HOST_LINES) for track in tracks):
        return True
    names = map(trace.names.full, range(min(len(trace.names), _MAX_SEARCHED_NAMES)))
    return any(name.startswith(_GPU_HOST_NAMES) for name in names)


def _clock(clock: Clock, *, tensorboard: bool) -> Check:
    if not clock.known:
        what = f"nothing ties the profile to wall time ({clock.detail})"
        do = "align by hand: --offset"
        if tensorboard:
            do = f"keep the run folder's name and the tfevents with the profile, or {do}"
        return Check("clock", "missing", what, do)
    half = units.duration(clock.half_ns * PS_PER_NS, 2)
    source = f"{clock.source}, ± {half} ({clock.detail})"
    if clock.source == "file time":
        do = "copy it with its time: cp -p, rsync -t"
        if tensorboard:
            do = "keep tfevents and the run folder's name with the profile"
        return Check("clock", "note", f"only the file's own time: {source}", do)
    if clock.source == "run directory" and clock.utc_offset_s is None:
        do = "give the time zone of the profiled machine: --tz=-03:00"
        return Check("clock", "note", source, do)
    if clock.half_ns >= _MIN_VAGUE_NS:
        do = "or align the power by signal: --align signal"
        return Check("clock", "note", f"vague: {source}", do)
    return Check("clock", "ok", source)


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
    path = _typed(entry)
    if not entry.above:
        what = "no power log in the logdir (data/, *.csv, *.db and similar were checked)"
        do = (
            f"powertui {path} --power FILE, or record it next time: powertui record -o "
            "power.csv -- python train.py"
        )
        return Check("power", "missing", what, do)
    log = facts.shown(entry.above[0].path)
    more = f" and {len(entry.above) - 1} more" if len(entry.above) > 1 else ""
    what = f"no power log in the logdir; {log}{more} above it may be another's, so it was not taken"
    do = f"if it is this run's: powertui {path} --power {shlex.quote(log)}"
    return Check("power", "missing", what, do)


def _of_owners(run: Run) -> Iterator[Check]:
    """The power that belongs to no host of the run, and what would give it one."""
    if not run.traces or not run.power:
        return
    from powertui.data.energy import owner_notes, power_owners

    owners = power_owners.of_run(run)
    has_owner = any(owner.machine is not None for owner in owners.owners)
    state: CheckState = "note" if has_owner else "problem"
    for what, remedy in owner_notes.strangers_and_remedies(run.power, owners):
        yield Check("power", state, what, remedy)


def _overlap(
    series: PowerSeries, traces: Sequence[Trace], around_ns: tuple[int, int] | None
) -> Check:
    """Whether a channel was recorded while the run, or the training around it, ran."""
    name = f"{series.sensor.label} ({series.sensor.source}, {facts.short_path(series.path)})"
    if not np.isfinite(series.watts).any():
        rows = text.plural(len(series), "row")
        remedy = (
            "check that the source answers: powertui sensors; if the watts are in another "
            "column, name it: --watts-col NAME"
        )
        return Check("power", "problem", f"{name} has {rows} and not one reading", remedy)
    what = f"{name}: {text.plural(len(series), 'reading')}"
    if not series.clock.known:
        what += "; its times are relative, so it is aligned by evidence or by signal"
        return Check("power", "ok", what, "to see how: powertui energy PATH")
    profiled = [_span_ns(trace) for trace in traces if trace.clock.known and trace.event_count]
    spans = [*profiled, around_ns] if around_ns is not None else profiled
    if not spans:
        return Check("power", "ok", what)
    from powertui.data.energy import log_zone, meeting
    from powertui.data.power import times

    run_ns = min(lo for lo, _ in spans), max(hi for _, hi in spans)
    clock: Clock | None = series.clock
    if times.is_local(series.clock):
        offsets_s = (trace.clock.utc_offset_s for trace in traces)
        zone_s = next((offset_s for offset_s in offsets_s if offset_s is not None), None)
        clock = log_zone.log_clock(series, run_ns, zone_s)
    away = log_zone.gap(series, clock, run_ns)
    if away is not None:
        do = (
            "if it is this run's: give its time zone with --tz ZONE, or align it by signal "
            "with --align signal"
        )
        return Check("power", "problem", f"{what}. {meeting.not_used(series.path, away)}", do)
    if clock is None:
        what += "; its times are local, and their zone is not known"
        return Check("power", "note", what, "give it: --tz ZONE")
    gaps = [log_zone.gap(series, clock, span) for span in profiled]
    if gaps and None not in gaps:
        nearest = meeting.nearest(*(gap or 0 for gap in gaps))
        beside = meeting.sentence(series.path, nearest, "the profile")
        return Check("power", "note", f"{what}, at the time of the training. {beside}")
    covered = "profile" if profiled else "training"
    return Check("power", "ok", f"{what}, at the time of the {covered}")


def _span_ns(trace: Trace) -> tuple[int, int]:
    """When a profile ran (Unix ns), with the ± of its clock."""
    lo_ns, hi_ns = trace.clock.lo_ns or 0, trace.clock.hi_ns or 0
    start_ps, end_ps = trace.span
    return lo_ns + start_ps // PS_PER_NS, hi_ns + end_ps // PS_PER_NS
