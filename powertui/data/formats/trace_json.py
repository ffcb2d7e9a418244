"""`<host>.trace.json.gz`: the Chrome trace that TensorFlow 2.2 and JAX write, and plain Chrome
traces like it.

It is read as a stream. Times are µs with up to six decimals and come out as the exact picoseconds.
`args` are kept as JSON text in one arena, where an event's position points, and are decoded when
someone asks.

torch-neuronx writes such traces, too: their member `neuronStartTimestampNs` says when they begin.
Left alone: traces of PyTorch (kineto.py), which have clocks and lanes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.formats.kineto import PYTORCH, VIZTRACER
from powertui.data.formats.registry import ClockRule, Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "trace_json"
# TF 2.2 saves the profile and writes `batch_<N>` then.
CLOCK = ClockRule(batch_ns=(-1_000_000_000, 50_000_000))

_NEURON = b'"neuronStartTimestampNs"'


def sniff(head: bytes, path: str) -> int:
    """A list of events with phases, and nothing in it that only another profiler writes."""
    first = head[:8].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first not in (b"{", b"["):
        return 0
    head = VIZTRACER.sub(b"", head)
    if _NEURON in head and b'"traceEvents"' in head:
        return 90
    if any(mark in head for mark in PYTORCH) or ".pt.trace" in path:
        return 0
    if first == b"[":
        return 40 if b'"ph"' in head else 0
    if b'"traceEvents"' in head:
        return 95 if b'"highres-ticks"' in head else 70
    has_name = path.endswith((".trace.json", ".trace.json.gz"))
    return 20 if has_name and b'"memoryProfilePerAllocator"' not in head else 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last."""
    # Imported for a file of this format, and not to know that a file has another.
    from powertui.data.formats import trace_json_events

    traces = trace_json_events.load(source, progress, NAME)
    if _NEURON not in source.head:
        return traces
    from powertui.data.formats import neuron_lines

    return neuron_lines.marked(traces)
