"""powertui in a notebook: what a run contains and what the tools answer, as DataFrames.

    import powertui
    runs = powertui.open("~/logs")            # nothing is read yet
    run = runs[0]                             # or runs["train/2026_11_21_00_51_44"], or a part
    run.steps                                 # one row per step of every host
    run.events(track="python", name="Profiled batch", stats=["step_num"])
    run.energy(epoch=1)                       # joules, with their interval and quality
    run.tool("op_stats").frame

**One rule.** What needs no argument is a property: `steps`, `epochs`, `tracks`, `scalars`, `power`,
`windows`, `conclusions`, `findings`, `host_energy`, `warnings`. What can be narrowed is a method
whose filters are named: `events(...)`, `ops(...)`, `energy(...)`, `tool(name, ...)`. `host=` is one
of `run.hosts` (all hosts without it), `start=` and `end=` are a window of the profile, `end` not
included.

**Times** are seconds since the profile's own zero, in columns whose names end in `_s`;
`run.traces[0].clock` is where that zero is in Unix time, as an interval. `powertui.open(path,
unit="ps")` (or `run.events(unit="ps")`) gives what was recorded (events, steps, epochs) in whole
picoseconds instead, `_ps`, so that no digit is lost, and takes `start` and `end` in them. Scalars
and power logs keep clocks of their own: whole nanoseconds, `_ns`.

What is not known is missing (NaN, <NA>, None), never 0. Everything is read when it is asked for,
and computed once. What fails raises a `powertui.errors.PowertuiError`; that module shows all of
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, overload

from powertui import config
from powertui.data import elsewhere, logdir
from powertui.data.asked import ReadOptions
from powertui.data.host_readers import HostReading
from powertui.data.limits import MemoryLimit
from powertui.data.logdir import Logdir
from powertui.data.training.training import Trainings
from powertui.plain import plain
from powertui.report.answer import Answer
from powertui.report.frames import TimeUnit
from powertui.report.training_view import TrainingView
from powertui.run_view import RunView
from powertui.trace_view import TraceView, check_unit

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["Answer", "RunView", "Runs", "TraceView"]  # not "open": see powertui/__init__.py

_Path: TypeAlias = "str | os.PathLike[str]"


def open(
    path: _Path,
    *,
    power: _Path | Sequence[_Path] = (),
    tz: str | None = None,
    step_marker: str | None = None,
    max_memory: str | int | None = None,
    power_hosts: Mapping[str, str] | None = None,
    unit: TimeUnit = "s",
    executor: Executor | None = None,
) -> Runs:
    """The runs of a logdir, a run folder or one profile: now only names and sizes are read.

    `power` names power logs for these runs (without it, those beside the runs are used), `tz` is
    the zone of local times, `step_marker` a regular expression for the names of events that start a
    step. `max_memory` is how much memory one file may take when it is read ("24G", bytes, or
    "none"); without it, half of what is free. `power_hosts` is whose power it is where the names
    differ ({"bmc-17": "host-a"}), in addition to the config file's table. `unit` is what times are
    in: "s" seconds, "ps" whole picoseconds (of what was recorded; answers are in seconds).
    `executor`, any `concurrent.futures.Executor`, reads the hosts of a run of many. Raises
    `powertui.errors.UnreadableFile` when there is nothing at that path.
    """
    check_unit(unit)
    logs = [power] if isinstance(power, (str, os.PathLike)) else power
    log_paths = tuple(str(Path(log).expanduser()) for log in logs)
    settings = config.load()
    options = ReadOptions(
        step_marker=step_marker,
        tz=tz,
        power=log_paths,
        find_power=not log_paths,
        limit=MemoryLimit.parse(max_memory),
        power_hosts=tuple((power_hosts or {}).items()),
        usual_hosts=settings.power_hosts,
        called_hosts=settings.called_hosts,
        hosts=HostReading(executor),
    )
    location = os.fspath(path)
    if location != "-" and not elsewhere.is_address(location):
        location = str(Path(location).expanduser())
    return Runs(logdir.scan(location), options, unit)


class Runs(Sequence["RunView"]):
    """The runs that were found: by number, by name, or one after the other."""

    def __init__(self, scan: Logdir, options: ReadOptions, unit: TimeUnit = "s") -> None:
        self.logdir = scan
        self._trainings = Trainings(scan, options)
        self._views = tuple(RunView(self._trainings.opened(entry), unit) for entry in scan.runs)

    @property
    def trainings(self) -> tuple[TrainingView, ...]:
        """One for each program that trained, also for those that were never profiled."""
        return tuple(TrainingView(training) for training in self._trainings.all)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all runs, as TensorBoard shows them."""
        return tuple(view.name for view in self._views)

    def __len__(self) -> int:
        return len(self._views)

    @overload
    def __getitem__(self, key: int | str) -> RunView: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[RunView, ...]: ...
    def __getitem__(self, key: int | str | slice) -> RunView | tuple[RunView, ...]:
        """By number or name: its last parts, or a part that fits no other run, as with `--run`.

        Raises `UsageError` with the names that there are when none or several fit, `IndexError` for
        a number too high.
        """
        if isinstance(key, str):
            (entry,) = self.logdir.chosen(key)
            return next(view for view in self._views if view.opened.entry is entry)
        if isinstance(key, int) and not -len(self) <= key < len(self):
            if not len(self):
                place = plain(self.logdir.path)
                cause = f"No run was found in {place}. `powertui doctor {place}` shows why."
                if self._trainings.all:
                    cause += " What was trained without a profile is in `trainings`."
            else:
                cause = f"There is no run {key}; there are {len(self)}: {', '.join(self.names)}."
            raise IndexError(cause)
        return self._views[key]

    def __iter__(self) -> Iterator[RunView]:
        return iter(self._views)

    def __repr__(self) -> str:
        return f"<Runs of {plain(self.logdir.path)}: {plain(', '.join(self.names)) or 'none'}>"
