"""`<host>.trace.json.gz`: the Chrome trace that TensorFlow 2.2 and JAX write, and plain Chrome
traces like it.

It is read as a stream. Times are µs with up to six decimals and come out as the exact picoseconds.
`args` are kept as JSON text in one arena, where an event's position points, and are decoded when
someone asks.

Left alone: traces of PyTorch (kineto.py) and of Neuron, which have clocks and lanes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.formats.kineto import PYTORCH, VIZTRACER
from powertui.data.formats.registry import ClockRule, Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "trace_json"
CLOCK = ClockRule(
    batch_ns=(-1_000_000_000, 50_000_000)
)  # TF 2.2 saves the profile and writes `batch_<N>` then

_FOREIGN = (*PYTORCH, b'"neuronStartTimestampNs"')


def sniff(head: bytes, path: str) -> int:
    """A list of events with phases, and nothing in it that only another profiler writes."""
    text = head[:8].lstrip(b"\xef\xbb\xbf \t\r\n")
    head = VIZTRACER.sub(b"", head)
    if text[:1] not in (b"{", b"["):
        return 0
    if any(mark in head for mark in _FOREIGN) or ".pt.trace" in path:
        return 0
    if text[:1] == b"[":
        return 40 if b'"ph"' in head else 0
    if b'"traceEvents"' not in head:
        return (
            20
            if path.endswith((".trace.json", ".trace.json.gz"))
            and b'"memoryProfilePerAllocator"' not in head
            else 0
        )
    return 95 if b'"highres-ticks"' in head else 70


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last."""
    from powertui.data.formats import (
        trace_json_events,
    )  # when a file is such a one, and not to know that it is none

    return trace_json_events.load(source, progress, NAME)
