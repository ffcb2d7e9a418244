"""PyTorch's traces of a few events, as its profiler writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from powertui.data import logdir
from powertui.data.opened import Opened

# (category, name, start in µs, length in µs); "python_function" is a frame.
Row = tuple[str, str, float, float]


def event(row: Row, thread: int = 7, **args: Any) -> dict[str, Any]:
    """One event of a thread of the host, or of a stream of the device."""
    category, name, start, length = row
    on_device = category in ("kernel", "gpu_memcpy")
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0 if on_device else 100,
        "tid": thread,
        "ts": 1e6 + start,
        "dur": length,
        "args": {"device": 0, "stream": thread, **args} if on_device else args,
    }


def write(folder: Path, events: list[dict[str, Any]]) -> Opened:
    """A trace of these events, opened."""
    labels = [
        {"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 100, "tid": 0, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    ]
    content = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 0,
        "traceEvents": [*labels, *events],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "vm_100.1795406567312.pt.trace.json"
    path.write_text(json.dumps(content))
    return Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))
