"""Counters in a tree of files that count while a source looks whether they do: by a step, when it
first waits for them.
"""

from __future__ import annotations

import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from powertui.sampler import energy_counter

FILES = ("sys/class/powercap/*/energy_uj", "sys/class/hwmon/*/energy*_input")


@contextmanager
def counting(root: Path) -> Iterator[None]:
    """Inside, every counter below `root` comes to stand at what the file says."""
    found = {path: path.read_text() for pattern in FILES for path in root.glob(pattern)}
    for path, text in found.items():
        path.write_text(f"{int(text) - 1}\n")

    def sleep(seconds: float) -> None:
        for path, text in found.items():
            path.write_text(text)
        time.sleep(min(seconds, 0.001))

    with mock.patch.object(
        energy_counter,
        "time",
        types.SimpleNamespace(sleep=sleep, monotonic=lambda: time.monotonic()),
    ):
        yield
    for path, text in found.items():
        path.write_text(text)
