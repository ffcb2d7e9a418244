"""The window that was marked in the timeline, kept between programs: `powertui export PATH
--marked` reads it.

One small file below `$XDG_STATE_HOME` (~/.local/state), never beside the data. It remembers the
last few profiles. If it cannot be written or read, nothing is lost but the mark.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from powertui import config

MAX_RUNS = 50  # whose marks are kept: those marked last
_MAX_FILE_BYTES = 1 << 20  # `save` never writes so many


def place() -> Path:
    """Where the file lies."""
    return config.state_folder() / "marked.json"


def save(profile: str, lo_ps: int, hi_ps: int) -> bool:
    """Remember the window of this profile (`Trace.path`).

    False when the state folder cannot be written.
    """
    path = place()
    marks = _read(path)
    marks.pop(_key(profile), None)
    marks[_key(profile)] = [min(lo_ps, hi_ps), max(lo_ps, hi_ps)]
    return config.write_state(path, dict(list(marks.items())[-MAX_RUNS:]))


def forget(profile: str) -> bool:
    """The mark was taken back."""
    path = place()
    marks = _read(path)
    return marks.pop(_key(profile), None) is None or config.write_state(path, marks)


def load(profile: str) -> tuple[int, int] | None:
    """The window that was marked last in this profile; None when there is none."""
    window = _read(place()).get(_key(profile))
    return (window[0], window[1]) if window is not None else None


def _key(profile: str) -> str:
    return os.fsdecode(os.path.realpath(profile)).encode("utf-8", "backslashreplace").decode()


def _read(path: Path) -> dict[str, list[int]]:
    """What the file holds, as far as it is what `save` writes: it lies where anything may have
    written it.
    """
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            return {}
        content: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {
        key: value
        for key, value in content.items()
        if isinstance(value, list)
        and len(value) == 2
        and all(type(v) is int and abs(v) < 1 << 63 for v in value)
        and value[0] <= value[1]
    }
