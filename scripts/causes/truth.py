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
        self.parts_s: dict[str, float] = {}

    @contextmanager
    def cause(self, part: str = "") -> Iterator[None]:
        """Around each piece of work that is the cause, or that is this part of two causes."""
        begin = time.perf_counter()
        yield
        took_s = time.perf_counter() - begin
        self.cause_s += took_s
        if part:
            self.parts_s[part] = self.parts_s.get(part, 0.0) + took_s

    def reset(self) -> None:
        """Forget what was before the profiler."""
        self.cause_s = 0.0
        self.parts_s.clear()

    @contextmanager
    def wall(self) -> Iterator[None]:
        """Around all that is profiled."""
        begin = time.perf_counter()
        yield
        self.wall_s += time.perf_counter() - begin

    def write(self, folder: Path, program: str, cause: str) -> None:
        """Write what was measured beside the profile."""
        facts: dict[str, object] = {
            "program": program,
            "cause": cause,
            "cause_s": round(self.cause_s, 4),
            "wall_s": round(self.wall_s, 4),
            "share": round(self.cause_s / max(self.wall_s, 1e-9), 4),
        }
        if self.parts_s:
            facts["parts_s"] = {part: round(spent_s, 4) for part, spent_s in self.parts_s.items()}
        (folder / FILE).write_text(json.dumps(facts) + "\n", encoding="utf-8")
