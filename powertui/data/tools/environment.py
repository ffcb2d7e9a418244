"""Where a run ran: its hosts and devices, and what its profile tells of the program: versions,
batch size, command line.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from powertui.data import name_shapes
from powertui.data.model import Process, ProcessKind, Trace
from powertui.data.opened import Opened, Profile
from powertui.data.run.stat_carriers import rows_named
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
_MAX_NAMED_HOSTS = 4
# Of each line some calls of iterators, evenly spread over its first ones, tell the batch size.
_MAX_BATCH_EVENTS, _READ_BATCH_EVENTS = 2000, 50
# The last batch of an epoch may be smaller: one size in so many of the calls is the program's.
_MIN_SAME_SIZE_SHARE = 0.9
_MAX_BATCH_SIZE = 1 << 31  # a dimension beyond it is no count of samples
_COMMANDS = ("command_line", "cmdline", "command")
_ROOT = re.compile(r"Iterator::[A-Za-z]+$")
_BATCHING = re.compile(r"::(?:MapAndBatch|BatchV?\d?|ParallelBatch)(?:\[\d+\])?$")
_SHAPE = re.compile(r"\[([^\]]*)\]")


def _devices(profile: Profile) -> tuple[DeviceFacts, ...]:
    """The devices of one host. Read once."""
    return profile.cached("devices", lambda: device_facts.device_facts(profile.trace))


def facts(opened: Opened, profile: Profile) -> list[Fact]:
    """As facts, those that are known."""
    facts = [
        _hosts(opened),
        *_device_kinds(opened),
        *_first_device(_devices(profile)),
    ]
    batch = batch_size(profile)
    if batch is not None:
        facts.append(Fact("batch_size", "batch size", batch, "integer"))
    stats: dict[str, object] = {}
    for process in profile.trace.processes:
        for stat in process.stats:
            stats[stat.name] = stat.value
    versions: list[str] = []
    for name in _VERSIONS:
        version = stats.get(name)
        if isinstance(version, str):
            program = name.removesuffix("_version")
            versions.append(f"{program} {version}")
    if versions:
        facts.append(Fact("software", "software", ", ".join(versions)))
    for name in _COMMANDS:
        command = stats.get(name)
        if isinstance(command, str):
            facts.append(Fact("command_line", "command line", command))
            break
    return facts


def _hosts(opened: Opened) -> Fact:
    profiles = opened.profiles
    names = ", ".join(profile.host for profile in profiles[:_MAX_NAMED_HOSTS])
    further = len(profiles) - _MAX_NAMED_HOSTS
    if further > 0:
        names += f" and {further} more"
    return Fact("hosts", "hosts", len(profiles), "integer", why=names)


def _device_kinds(opened: Opened) -> list[Fact]:
    """How many devices of which kind all hosts of the run have."""
    kinds: Counter[str] = Counter()
    for profile in opened.profiles:
        kinds.update(device.label or device.name for device in _devices(profile))
    if kinds:
        counts = [f"{count} × {label}" for label, count in kinds.items()]
        words = ", ".join(counts)
        return [
            Fact("devices", "devices", words),
            Fact("device_core_count", "device count", kinds.total(), "integer"),
        ]
    if any(profile.trace.missing for profile in opened.profiles):
        # What is missing may be all that a device did.
        why = "no device in the part of the profile that could be read"
        return [Fact("devices", "devices", None, why=why)]
    for profile in opened.profiles:
        kinds_of_processes = {process.kind for process in profile.trace.processes}
        if ProcessKind.HOST in kinds_of_processes:
            return [Fact("devices", "devices", "CPU only")]
    return [Fact("devices", "devices", None, why="the trace names none")]


def _first_device(devices: tuple[DeviceFacts, ...]) -> list[Fact]:
    """What one device has: those of a host are alike."""
    if not devices:
        return []
    device = devices[0]
    teraflops = device.peak_flops and device.peak_flops / 1e12
    facts = [
        Fact("device_cores", "cores of a device", device.cores, "integer"),
        Fact("device_memory", "memory of a device", device.memory_bytes, "number", "B"),
        Fact("device_bandwidth", "its bandwidth", device.bandwidth, "number", "B/s"),
        Fact("device_peak", "its peak", teraflops, "number", "TFLOP/s"),
    ]
    return [fact for fact in facts if fact.value is not None]


def batch_size(profile: Profile) -> int | None:
    """How many samples a step of one host reads, where tf.data tells; None where nothing does, or
    where it varies.
    """
    return profile.cached("batch size", lambda: _batch_size(profile.trace))


def _batch_size(trace: Trace) -> int | None:
    roots = []
    batching = []
    is_iterator = name_shapes.beginning(trace.names, "Iterator::")
    for index in np.flatnonzero(is_iterator).tolist():
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
        # Only the threads of a host run tf.data.
        if process.kind is not ProcessKind.HOST or not len(track.events):
            continue
        rows = rows_named(track.events.name, is_batch)
        rows = rows[:_MAX_BATCH_EVENTS]
        spacing = max(1, len(rows) // _READ_BATCH_EVENTS)
        for row in rows[::spacing].tolist():
            position = track.events.position_of(row)
            stats = _stats(process, position)
            size = stats.get("batch_size")
            name_number = int(track.events.name[row])
            if name_number in roots:
                leading = _leading(stats.get("shapes"))
                if leading is not None:
                    from_shapes[leading] += 1
            elif isinstance(size, int) and size > 0:
                from_batching[size] += 1
    # The shapes of what a root returned decide, where any were recorded.
    sizes = from_shapes or from_batching
    if not sizes:
        return None
    size, count = sizes.most_common(1)[0]
    if count > _MIN_SAME_SIZE_SHARE * sizes.total():
        return size
    return None


def _stats(process: Process, position: int) -> dict[str, object]:
    return {stat.name: stat.value for stat in process.source.event_stats(position)}


def _leading(shapes: object) -> int | None:
    """The first dimension that all tensors of "[64,32,32,3] [64,1]" share."""
    if not isinstance(shapes, str):
        return None
    dimensions = set()
    for shape in _SHAPE.findall(shapes):
        first = shape.split(",")[0]
        dimensions.add(first.strip())
    if len(dimensions) != 1:
        return None
    (dimension,) = dimensions
    if not dimension.isdigit() or not 0 < int(dimension) < _MAX_BATCH_SIZE:
        return None
    return int(dimension)
