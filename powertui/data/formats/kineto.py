"""PyTorch's traces (Kineto): `*.pt.trace.json[.gz]`, or any name that `export_chrome_trace` was
given.

What an event is, its category says and never its pid: Python frames may carry the pid of a GPU.
Work on a device becomes streams of `/device:GPU:N`, the rest threads of the host; Python's frames
get a line of their own, so that operators stand by themselves. The copies that annotations have on
a device cover its work: they are drawn as a derived line.

Times are written in µs with three decimals at most: they come out as the exact nanosecond. Newer
files count them from `baseTimeNanoseconds`, which may stand behind the events; older ones write
Unix time.
"""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace
from powertui.patterns import late_pattern

NAME = "kineto"

PYTORCH_CONFIDENCE = 80  # what `sniff` says at least of a trace that only PyTorch writes

# What only PyTorch's profiler writes into the beginning of a trace.
PYTORCH = (
    b'"deviceProperties"',
    b'"schemaVersion"',
    b'"baseTimeNanoseconds"',
    b'"distributedInfo"',
    b'"cpu_op"',
    b'"cuda_runtime"',
    b'"Operator"',
    b'"user_annotation"',
    b'"traceName"',
)
# It holds one of these words, too.
VIZTRACER = late_pattern(rb'"viztracer_metadata"\s*:\s*\{[^{}]*\}')
_NEURON = b'"neuronStartTimestampNs"'


def sniff(head: bytes, path: str) -> int:
    """A Chrome trace with what only Kineto writes."""
    first = head[:8].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first not in (b"{", b"[") or _NEURON in head:
        return 0
    if ".pt.trace.json" in path:
        return 96
    head = VIZTRACER.sub(b"", head)
    has_mark = any(mark in head for mark in PYTORCH)
    if first == b"[":
        return PYTORCH_CONFIDENCE if has_mark and b'"ph"' in head else 0
    has_events = b'"traceEvents"' in head
    if b'"schemaVersion"' in head and (has_events or b'"deviceProperties"' in head):
        return 95
    return 85 if has_mark and has_events else 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last."""
    # Imported for a file of this format, and not to know that a file has another.
    from powertui.data.formats import kineto_events

    return kineto_events.load(source, progress, NAME)
