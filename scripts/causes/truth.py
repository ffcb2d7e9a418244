"""What a program knows about itself: its cause, and the seconds that its own clock gave it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "truth.json"


class CauseClock:
    """Measures the seconds of the cause and of everything while the profiler runs."""

    def __init__(self) -> None:
        self.cause_s = 0.0
        self.wall_s = 0.0

    @contextmanager
    def cause(self) -> Iterator[None]:
        """Around each piece of work that is the cause."""
        begin = time.perf_counter()
        yield
        self.cause_s += time.perf_counter() - begin

    @contextmanager
    def wall(self) -> Iterator[None]:
        """Around all that is profiled."""
        begin = time.perf_counter()
        yield
        self.wall_s += time.perf_counter() - begin

    def write(self, folder: Path, program: str, cause: str) -> None:
        """Write what was measured beside the profile."""
        facts = {
            "program": program,
            "cause": cause,
            "cause_s": round(self.cause_s, 4),
            "wall_s": round(self.wall_s, 4),
            "share": round(self.cause_s / max(self.wall_s, 1e-9), 4),
        }
        (folder / FILE).write_text(json.dumps(facts) + "\n", encoding="utf-8")
