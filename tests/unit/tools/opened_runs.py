"""The first run of a folder that has profiles, opened once for all tests that ask it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from powertui.data import logdir
from powertui.data.opened import Opened


@cache
def opened(path: Path) -> Opened:
    return Opened(next(entry for entry in logdir.scan(str(path)).runs if entry.profiles))
