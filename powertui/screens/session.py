"""What is open now, shared by all screens: the logdir, the run, the trace, the marked window."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.energy.align import Options
    from powertui.data.logdir import Logdir, RunEntry
    from powertui.data.model import Epochs, PowerOnTrace, Run, Steps, Trace
    from powertui.feed import Feed
    from powertui.widgets.timeline_model import TimelineModel


@dataclass
class Session:
    """Mutable on purpose: it is the one place that changes. Screens are told through `BaseScreen.session_changed(what)`."""

    args: argparse.Namespace
    logdir: Logdir | None = None
    rest: Iterator[Logdir] | None = None  # what is still to be found there, stage by stage
    entry: RunEntry | None = None
    run: Run | None = None
    model: TimelineModel | None = None  # index of the trace that is looked at
    trace_index: int = 0
    complete: bool = False  # False while the run is still being read
    power: tuple[PowerOnTrace, ...] = ()  # placed on that trace's clock
    window: tuple[int, int] | None = None  # marked by the person, ps
    view: tuple[int, int] | None = None  # visible in the timeline, ps
    cursor_ps: int | None = None
    alignment: Options | None = None  # how a person wants the power aligned; None: as the command line says
    feed: Feed | None = None  # what a live screen shows; it outlives the runs that are opened meanwhile
    notes: list[str] = field(default_factory=list)  # what went wrong while reading, for the person

    @property
    def trace(self) -> Trace | None:
        """The trace that is looked at."""
        if self.run is None or not self.run.traces:
            return None
        return self.run.traces[min(self.trace_index, len(self.run.traces) - 1)]

    @property
    def steps(self) -> Steps:
        """Its steps."""
        if self.run is None or self.trace_index >= len(self.run.steps):
            from powertui.data.model import Steps

            return Steps.none()
        return self.run.steps[self.trace_index]

    @property
    def epochs(self) -> Epochs:
        """Its epochs."""
        if self.run is None or self.trace_index >= len(self.run.epochs):
            from powertui.data.model import Epochs

            return Epochs()
        return self.run.epochs[self.trace_index]

    def close(self) -> None:
        """Nothing is open any more (the logdir stays)."""
        self.entry = self.run = self.model = None
        self.trace_index = 0
        self.complete = False
        self.power = ()
        self.window = self.view = self.cursor_ps = None
        self.alignment = None
        self.notes.clear()
