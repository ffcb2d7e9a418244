"""A PyTorch trace of a few launches, with a counter: which call launched which kernel is known."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

BASE_US = 1_000_000
WRITTEN = 1_760_000_000


def launches(path: Path, count: int = 3) -> Path:
    """`count` operators, each with a call that launches a kernel 50 µs later.

    The last kernel has no call.
    """
    host = {"pid": 100, "tid": 100, "ph": "X"}
    events: list[dict[str, Any]] = []
    for i in range(count):
        at = BASE_US + 1000 * i
        launch = {"correlation": 10 + i, "external id": i}
        events += [
            {
                **host,
                "cat": "cpu_op",
                "name": "aten::mm",
                "ts": at,
                "dur": 100,
                "args": {"External id": i},
            },
            {
                **host,
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": at + 20,
                "dur": 10,
                "args": launch,
            },
            _kernel(f"gemm_{i}", at + 70, {**launch, "External id": i}),
            {
                "ph": "C",
                "name": "GPU 0 Bytes",
                "pid": 0,
                "ts": at,
                "args": {"Used": 1000 * (i + 1)},
            },
        ]
    events.append(_kernel("lost", BASE_US + 1000 * count, {"correlation": 999}))
    path.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "deviceProperties": [{"id": 0, "name": "test"}],
                "traceEvents": events,
            }
        )
    )
    os.utime(path, (WRITTEN, WRITTEN))  # what else tells when it was taken
    return path


def _kernel(name: str, at: int, args: dict[str, int]) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": at,
        "dur": 200,
        "args": {"device": 0, "stream": 7, **args},
    }
