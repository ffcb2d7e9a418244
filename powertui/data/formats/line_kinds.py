"""What a process and its lines hold, by their names, and which lines collectors drew from
others.
"""

from __future__ import annotations

from powertui.data.model import ProcessKind, TrackKind
from powertui.patterns import late_pattern

_META_PROCESSES = (
    "/host:metadata",
    "Task Environment",
    "/host:tfstreamz",
    "/host:__ScopeRangeCallStack__",
)
_TRACK_KINDS = {
    "Steps": TrackKind.STEPS,
    "Sparse Core Steps": TrackKind.STEPS,
    "XLA Modules": TrackKind.MODULES,
    "Sparse Core Modules": TrackKind.MODULES,
    "XLA Ops": TrackKind.OPS,
    "Async XLA Ops": TrackKind.OPS,
    "Sparse Core Ops": TrackKind.OPS,
    "Framework Ops": TrackKind.OPS,
    "TensorFlow Ops": TrackKind.OPS,
    "Host Offload Ops": TrackKind.OPS,
    "Framework Name Scope": TrackKind.SCOPE,
    "TensorFlow Name Scope": TrackKind.SCOPE,
    "Source code": TrackKind.SCOPE,
    "_counters_": TrackKind.COUNTER,
    "ProcessLaunch Stats": TrackKind.OTHER,
    "Overhead": TrackKind.OTHER,
    "Overlay": TrackKind.OTHER,
    "XLA TraceMe": TrackKind.OTHER,
    "Tensor Core Sync Flag": TrackKind.OTHER,
    "Sparse Core Syncs": TrackKind.OTHER,
}
# Lines that a collector drew from others whatever their id is. On a TPU `XLA Ops` comes from the
# device itself: it is work; the steps and modules above it are its envelopes, and `Async XLA Ops`
# says how long a copy or a collective was on its way, while other ops ran: what the core did for it
# stands in `XLA Ops`.
_ALWAYS_DERIVED = frozenset(
    (
        "Steps",
        "Sparse Core Steps",
        "XLA Modules",
        "Sparse Core Modules",
        "Async XLA Ops",
        "Framework Ops",
        "TensorFlow Ops",
        "Framework Name Scope",
        "TensorFlow Name Scope",
        "Source code",
        "ProcessLaunch Stats",
        # From when an op was ready to when it ran on IBM's AIU, while others ran: no work.
        "Cmpt Prep",
    )
)
_DERIVED_BASE = 0xDEADBEEF
_DERIVED_LAST = 0xDEADBEEF + 289
_PER_STREAM = late_pattern(r" - from #.*$")
_DEVICE = late_pattern(r"/(device|virtualdevice):(?!CUSTOM:)|#Chip")


def process_kind(name: str) -> ProcessKind:
    """What a plane of this name holds. Unknown names are accepted as OTHER."""
    if name.startswith(_META_PROCESSES):
        return ProcessKind.META
    if _DEVICE.match(name):
        return ProcessKind.DEVICE
    if name.startswith("/host:"):
        return ProcessKind.HOST
    return ProcessKind.OTHER


def track_kind(name: str, process: ProcessKind) -> TrackKind:
    """What a line of this name stands for."""
    kind = _TRACK_KINDS.get(_PER_STREAM.sub("", name))
    if kind is not None and process is not ProcessKind.HOST:
        return kind
    return TrackKind.STREAM if process is ProcessKind.DEVICE else TrackKind.THREAD


def is_derived(key: int, name: str, process: ProcessKind) -> bool:
    """Whether a line was drawn from other lines: by its reserved id (signed or unsigned), or by its
    name.
    """
    if _DERIVED_BASE <= key & 0xFFFFFFFF <= _DERIVED_LAST and -(1 << 31) <= key < 1 << 32:
        return True
    return process is ProcessKind.DEVICE and (
        name in _ALWAYS_DERIVED or _PER_STREAM.search(name) is not None
    )
