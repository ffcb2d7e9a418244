"""Where the rows of a comparison are in the run in front: the steps compared, ops, conclusions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.table import Place
from powertui.data.tools import op_stats
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.registry import event_place
from powertui.data.tools.replicas import without_replica
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class Places:
    """The places of one run and host."""

    compared: Place | None = None  # the steps that are compared
    conclusions: Mapping[str, Place] = field(default_factory=dict)  # by kind
    stats: OpStats | None = None
    op_rows: Mapping[str, int] = field(default_factory=dict)  # in `stats`, by name
    run: str = ""
    host: int = 0

    def of_op(self, name: str) -> Place | None:
        """The longest call of an op within the steps compared."""
        row = self.op_rows.get(name)
        if row is None or self.stats is None:
            return None
        track, event = self.stats.longest(row)
        return event_place(
            self.stats.trace,
            track,
            event,
            run=self.run,
            host=self.host,
        )


def places_of(part: ComparedPart, host: int) -> Places:
    """The places of a side in the host that is looked at; none where it is not compared."""
    for window in part.windows:
        if window.profile.index == host:
            return _places(part, window)
    return Places()


def _places(part: ComparedPart, window: HostWindow) -> Places:
    host = window.profile.index
    lo, hi = window.bounds
    stats = op_stats.op_stats(window.profile.trace, lo, hi)
    op_rows: dict[str, int] = {}
    for row in range(len(stats)):
        name = without_replica(stats.trace.names.display(int(stats.name[row])))
        op_rows.setdefault(name, row)
    return Places(
        compared=Place(run=part.opened.name, host=host, lo=lo, hi=hi),
        conclusions=_conclusion_places(part, host),
        stats=stats,
        op_rows=op_rows,
        run=part.opened.name,
        host=host,
    )


def _conclusion_places(part: ComparedPart, host: int) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for conclusion in run_conclusions(part.opened, part.aligning):
        stretch = conclusion.stretch
        if stretch is None or stretch.host != host:
            continue
        place = Place(
            run=part.opened.name,
            host=host,
            lo=stretch.start_ps,
            hi=stretch.end_ps,
        )
        places.setdefault(conclusion.kind.value, place)
    return places
