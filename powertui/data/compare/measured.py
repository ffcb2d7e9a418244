"""What one run of a side shows: its figures by name, its configuration, its conclusions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.compare import (
    configuration,
    kernel_figures,
    memory_figures,
    op_figures,
    phase_figures,
    power_figures,
    step_figures,
)
from powertui.data.compare.part import ComparedPart
from powertui.data.compare.values import ZERO_WHERE_MISSING, ComparedValue, Values
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_NS
from powertui.value_types import dataclass


@dataclass(frozen=True)
class StepStretch:
    """Which steps of a run are compared: the place of the first and of the last among all."""

    run: tuple[str, str]  # path of the run, host
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, eq=False)
class Measured:
    """One run of a side."""

    name: str
    program: str  # which start of the program
    values: Values
    settings: dict[str, str]
    conclusions: dict[str, str]  # kind: sentence; of whole runs alone
    stretch: StepStretch | None
    no_power: str  # why there are no joules
    start_ns: int | None = None  # Unix time of its first event, where its clock is known
    left_out: tuple[tuple[str, int], ...] = ()  # sessions with steps that are not compared
    entries: tuple[RunEntry, ...] = ()  # where its files are; several sessions have several


def measure(part: ComparedPart) -> Measured:
    """Everything that is compared of one run. Holds nothing of the run itself."""
    lead = part.lead
    values: Values = {}
    if lead is not None:
        values |= step_figures.time_values(lead)
        values |= step_figures.category_values(lead)
        values |= phase_figures.phase_values(lead)
    power = power_figures.power_values(part)
    values |= power.values
    values |= step_figures.rank_values(part)
    values |= op_figures.op_values(part)
    values |= kernel_figures.kernel_values(part)
    values |= memory_figures.memory_values(part)
    return Measured(
        name=part.name,
        program=part.program or part.name,
        values=values,
        settings=configuration.settings(part),
        conclusions=_conclusions(part),
        stretch=_stretch(part),
        no_power=power.why,
        start_ns=_start_ns(part),
        left_out=_left_out(part),
        entries=(part.opened.entry,),
    )


def _stretch(part: ComparedPart) -> StepStretch | None:
    lead = part.lead
    if lead is None or not len(lead.rows):
        return None
    places = lead.places
    return StepStretch(
        run=(part.opened.path, lead.profile.host),
        first=int(places[0]),
        last=int(places[-1]),
    )


def _start_ns(part: ComparedPart) -> int | None:
    lead = part.lead
    if lead is None or not lead.profile.clock.known:
        return None
    return lead.profile.clock.mid_ns + lead.profile.trace.span[0] // PS_PER_NS


def _conclusions(part: ComparedPart) -> dict[str, str]:
    if not all(window.is_whole for window in part.windows):
        return {}
    first: dict[str, str] = {}
    for conclusion in run_conclusions(part.opened, part.aligning):
        first.setdefault(conclusion.kind.value, conclusion.sentence)
    return first


def _left_out(part: ComparedPart) -> tuple[tuple[str, int], ...]:
    """How many steps are not compared."""
    left_out = max((window.left_out for window in part.windows), default=0)
    return ((part.name, left_out),) if left_out else ()


def merged(sessions: Sequence[Measured]) -> Measured:
    """Several sessions of one start of a program as one run: the means of their figures.

    They are no further runs: what one start of a program has been dealt, all its sessions share.
    """
    first = sessions[0]
    if len(sessions) == 1:
        return first
    keys = dict.fromkeys(key for session in sessions for key in session.values)
    families = [{key.family for key in session.values} for session in sessions]
    values: Values = {}
    for key in keys:
        having = [session.values[key] for session in sessions if key in session.values]
        count = len(having)
        if key.family in ZERO_WHERE_MISSING:
            # A session that has other ops spent no time in this one.
            count = sum(key.family in of_session for of_session in families)
        total = sum(value.value for value in having)
        identity = next(filter(None, (value.identity for value in having)), None)
        values[key] = ComparedValue(total / count, identity=identity)
    return replace(
        first,
        name=name_of_sessions(first.name, len(sessions)),
        values=values,
        stretch=None,
        left_out=tuple(row for session in sessions for row in session.left_out),
        entries=tuple(entry for session in sessions for entry in session.entries),
    )


def name_of_sessions(first: str, count: int) -> str:
    """What several sessions of one start of a program are called together."""
    more = count - 1
    what = "session" if more == 1 else "sessions"
    return f"{first} and {more} more {what}"
