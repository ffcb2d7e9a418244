"""Where a run ran: its hosts and devices, and what its profile tells of the program: versions,
batch size, command line.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from powertui.data import texts
from powertui.data.model import Process, ProcessKind, Trace
from powertui.data.opened import Opened, Profile
from powertui.data.run.marks import rows_named
from powertui.data.table import Fact
from powertui.data.tools import device_facts
from powertui.data.tools.device_facts import DeviceFacts

_VERSIONS = (
    "tensorflow_version",
    "jax_version",
    "jaxlib_version",
    "torch_version",
    "pytorch_version",
    "cuda_version",
    "xla_version",
)
_COMMANDS = ("command_line", "cmdline", "command")
_ROOT = re.compile(r"Iterator::[A-Za-z]+$")
_BATCHING = re.compile(r"::(?:MapAndBatch|BatchV?\d?|ParallelBatch)(?:\[\d+\])?$")
_SHAPE = re.compile(r"\[([^\]]*)\]")


def _devices(profile: Profile) -> tuple[DeviceFacts, ...]:
    """The devices of one host. Read once."""
    return profile.cached("devices", lambda: device_facts.device_facts(profile.trace))


def facts(opened: Opened, profile: Profile) -> list[Fact]:
    """As facts, those that are known."""
    devices = _devices(profile)
    profiles = opened.profiles
    every = [device for other in profiles for device in _devices(other)]
    names = ", ".join(other.host for other in profiles[:4]) + (
        f" and {len(profiles) - 4} more" if len(profiles) > 4 else ""
    )
    out = [Fact("hosts", "hosts", len(profiles), "integer", why=names)]
    if every:
        kinds = Counter(device.label or device.name for device in every)
        out.append(
            Fact(
                "devices",
                "devices",
                ", ".join(f"{count} × {label}" for label, count in kinds.items()),
            )
        )
        out.append(Fact("device_core_count", "device count", len(every), "integer"))
    else:
        hosts = any(
            process.kind is ProcessKind.HOST
            for other in profiles
            for process in other.trace.processes
        )
        out.append(
            Fact(
                "devices",
                "devices",
                "CPU only" if hosts else None,
                why="" if hosts else "the trace names none",
            )
        )
    first = devices[0] if devices else None
    if first is not None:
        for id, label, value, kind, unit in (
            ("device_cores", "cores of a device", first.cores, "integer", ""),
            ("device_memory", "memory of a device", first.memory_bytes, "number", "B"),
            ("device_bandwidth", "its bandwidth", first.bandwidth, "number", "B/s"),
            (
                "device_peak",
                "its peak",
                first.peak_flops and first.peak_flops / 1e12,
                "number",
                "TFLOP/s",
            ),
        ):
            if value is not None:
                out.append(Fact(id, label, value, kind, unit))  # type: ignore[arg-type]
    batch = batch_size(profile)
    if batch is not None:
        out.append(Fact("batch_size", "batch size", batch, "integer"))
    stats = {stat.name: stat.value for process in profile.trace.processes for stat in process.stats}
    versions = [
        f"{name.removesuffix('_version')} {version}"
        for name in _VERSIONS
        if isinstance(version := stats.get(name), str)
    ]
    if versions:
        out.append(Fact("software", "software", ", ".join(versions)))
    command = next((stats[name] for name in _COMMANDS if isinstance(stats.get(name), str)), None)
    if isinstance(command, str):
        out.append(Fact("command_line", "command line", command))
    return out


def batch_size(profile: Profile) -> int | None:
    """How many samples a step of one host reads, where tf.data tells; None where nothing does, or
    where it varies.
    """
    return profile.cached("batch size", lambda: _batch_size(profile.trace))


def _batch_size(trace: Trace) -> int | None:
    roots, batching = [], []
    for index in np.flatnonzero(texts.beginning(trace.names, "Iterator::")).tolist():
        name = trace.names.full(index)
        if _ROOT.match(name):
            roots.append(index)
        elif _BATCHING.search(name):
            batching.append(index)
    if not roots and not batching:
        return None
    is_batch = np.zeros(len(trace.names), np.bool_)
    is_batch[roots + batching] = True
    from_shapes: Counter[int] = Counter()
    from_batching: Counter[int] = Counter()
    for process, track in trace.tracks():
        if process.kind is not ProcessKind.HOST or not len(track.events):
            continue
        rows = rows_named(track.events.name, is_batch)[:2000]
        for row in rows[:: max(1, len(rows) // 50)].tolist():
            stats = _stats(process, track.events.position_of(row))
            if int(track.events.name[row]) in roots:
                leading = _leading(stats.get("shapes"))
                if leading is not None:
                    from_shapes[leading] += 1
            elif isinstance(size := stats.get("batch_size"), int) and size > 0:
                from_batching[size] += 1
    for sizes in (from_shapes, from_batching):
        if sizes:
            size, count = sizes.most_common(1)[0]
            return size if count > 0.9 * sum(sizes.values()) else None
    return None


def _stats(process: Process, position: int) -> dict[str, object]:
    return {stat.name: stat.value for stat in process.source.event_stats(position)}


def _leading(shapes: object) -> int | None:
    """The first dimension that all tensors of "[64,32,32,3] [64,1]" share."""
    if not isinstance(shapes, str):
        return None
    first = {shape.split(",")[0].strip() for shape in _SHAPE.findall(shapes)}
    only = first.pop() if len(first) == 1 else ""
    return int(only) if only.isdigit() and 0 < int(only) < 1 << 31 else None
