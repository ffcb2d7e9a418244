"""Arguments of the calls from Python: paths, and how runs are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from powertui import config
from powertui.data import elsewhere
from powertui.data.asked import ReadOptions
from powertui.data.limits import MemoryLimit

GivenPath: TypeAlias = "str | os.PathLike[str]"


def read_options(
    power: GivenPath | Sequence[GivenPath] = (),
    tz: str | None = None,
    step_marker: str | None = None,
    max_memory: str | int | None = None,
) -> ReadOptions:
    """How to read runs, from arguments that are those of `powertui.open()`."""
    logs = named_paths(power)
    settings = config.load()
    return ReadOptions(
        step_marker=step_marker,
        tz=tz,
        power=logs,
        find_power=not logs,
        limit=MemoryLimit.parse(max_memory),
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
    )


def named_paths(named: GivenPath | Sequence[GivenPath]) -> tuple[str, ...]:
    """One path, or several."""
    listed = [named] if isinstance(named, (str, os.PathLike)) else named
    return tuple(_expanded(os.fspath(path)) for path in listed)


def _expanded(path: str) -> str:
    if elsewhere.is_address(path):
        return path
    return str(Path(path).expanduser())


def one_or_two(value: Any) -> Sequence[Any]:
    """What was given for both sides, or for each of them."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
