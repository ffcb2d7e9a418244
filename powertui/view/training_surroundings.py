"""What the timeline shows of a training around its profiles, before and after it is read whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data import packed
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.named_tuples import NamedTuple
from powertui.view.surroundings import (
    LabelledSpan,
    ProfiledStretch,
    SessionKey,
    StepNumbers,
    Surroundings,
    joules_text,
)
from powertui.view.value_strips import training_strips

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.energy.findings.finding import Finding
    from powertui.data.logdir import RunEntry
    from powertui.data.training import training_parts
    from powertui.data.training.training import Training
    from powertui.data.training.training_on_axis import TrainingOnAxis
    from powertui.data.training.training_window import TrainingWindow

# A session that is placed by less than a clock is named with its ± and its evidence from this
# half-width on (chosen, not measured): below 1 s the ± is not visible on the axis of a training.
MIN_EXPLAINED_HALF_PS = PS_PER_S


def training_surroundings(
    on_axis: TrainingOnAxis,
    epochs: Sequence[TrainingWindow] = (),
    phases: Sequence[TrainingWindow] = (),
    findings: Sequence[Finding] = (),
) -> Surroundings:
    """What the timeline shows of a training, on the axis of `on_axis`."""
    sessions: dict[SessionKey, ProfiledStretch] = {}
    here = -1
    unplaced = []
    for session in on_axis.islands:
        island = session.island
        entry = island.entry
        key = (entry.path, entry.name)
        if session.start is None or session.end is None:
            why = "when it ran is not known" if island.trusted else island.status
            unplaced.append(f"{entry.name}: {why}")
            continue
        lo = session.start
        hi = session.end
        half = session.half
        if key in sessions:  # another host of the same session
            first_host = sessions[key]
            lo = min(lo, first_host.lo)
            hi = max(hi, first_host.hi)
            half = max(half, first_host.half)
        evidence = _evidence(island, half)
        sessions[key] = ProfiledStretch(
            name=entry.name,
            lo=lo,
            hi=hi,
            half=half,
            evidence=evidence,
            key=key,
        )
        if session.here:
            here = list(sessions).index(key)
    surroundings = Surroundings(
        span=(on_axis.start, on_axis.end),
        profiles=tuple(sessions.values()),
        epochs=on_axis.epochs,
        findings=tuple(finding_span(finding) for finding in findings),
        notes=tuple(dict.fromkeys(unplaced)),
    )
    # A profile without a clock, or with one that is not believed, is on no axis but its own.
    if on_axis.profile is not None and not on_axis.wall:
        return replace(surroundings, here=min(here, 0))
    energies = []
    for epoch in epochs:
        if epoch.epoch is not None and epoch.energy is not None:
            energies.append((epoch.epoch, epoch.energy))
    return replace(
        surroundings,
        here=here,
        numbers=_rising_numbers(on_axis.rate, on_axis.zero_ns),
        strips=training_strips(on_axis),
        key=on_axis.training,
        zero_ns=on_axis.zero_ns,
        clock=on_axis.wall,
        energies=tuple(energies),
        untrained=tuple(_untrained_span(phase) for phase in phases),
    )


def first_surroundings(training: Training) -> Surroundings:
    """What names, heads and ends of files say of a training, before any of them is read whole.

    That is where its sessions are, and from when to when it logged.
    """
    entry = training.entry
    logged = None
    if entry.first_ns is not None and entry.last_ns is not None:
        logged = (entry.first_ns, entry.last_ns)
    sessions = _unread_sessions(entry.sessions, logged)
    ends = list(logged or ())
    for session in sessions.values():
        ends += (session.lo_ns, session.hi_ns)
    zero_ns = min(ends, default=0)
    end_ns = max(ends, default=0)
    by_time = sorted(sessions.items(), key=lambda item: item[1].order)
    profiles = []
    for key, session in by_time:
        profiles.append(
            ProfiledStretch(
                name=key[1],
                lo=(session.lo_ns - zero_ns) * PS_PER_NS,
                hi=(session.hi_ns - zero_ns) * PS_PER_NS,
                half=session.half_ns * PS_PER_NS,
                evidence=session.evidence,
                key=key,
            )
        )
    span = (0, max(PS_PER_NS, (end_ns - zero_ns) * PS_PER_NS))
    return Surroundings(
        span,
        tuple(profiles),
        key=training,
        zero_ns=zero_ns,
        clock=bool(ends),
    )


class _UnreadSession(NamedTuple):
    """Where a session probably ran, by Unix time."""

    lo_ns: int
    hi_ns: int
    half_ns: int
    evidence: str

    @property
    def order(self) -> tuple[int, int, int]:
        return self.lo_ns, self.hi_ns, self.half_ns


def _unread_sessions(
    sessions: Sequence[RunEntry],
    logged: tuple[int, int] | None,
) -> dict[SessionKey, _UnreadSession]:
    """The sessions that have a place, each over all of its hosts."""
    from powertui.data.training import session_places

    placed: dict[SessionKey, _UnreadSession] = {}
    for session in sessions:
        key = (session.path, session.name)
        for place in session_places.unread(session):
            judged = session_places.judged(place, logged)
            start = judged.start
            end = judged.end
            if start is None or end is None:
                continue
            lo_ns = start.ns
            hi_ns = end.ns
            half_ns = start.half_ns
            if key in placed:  # another host: the first one's uncertainty stays
                lo_ns = min(lo_ns, placed[key].lo_ns)
                hi_ns = max(hi_ns, placed[key].hi_ns)
                half_ns = placed[key].half_ns
            evidence = _evidence(judged, half_ns * PS_PER_NS)
            placed[key] = _UnreadSession(
                lo_ns=lo_ns, hi_ns=hi_ns, half_ns=half_ns, evidence=evidence
            )
    return placed


def _evidence(island: training_parts.PlacedSession, half: int) -> str:
    """What places a session, where its interval is wide enough to be named."""
    return island.evidence if half >= MIN_EXPLAINED_HALF_PS else ""


def _untrained_span(window: TrainingWindow) -> LabelledSpan:
    """A validation or a pause, with its energy where there is room."""
    joules = joules_text(window.energy)
    names = (window.name, window.kind)
    with_energy = [f"{name}  {joules}" for name in names if joules]
    return LabelledSpan(window.start, window.end, (*with_energy, *names))


def finding_span(finding: Finding) -> LabelledSpan:
    """A finding: where and how much, as far as there is room."""
    watts = ""
    if finding.delta_watts is not None:
        watts = units.difference(finding.delta_watts, "W")
    joules = ""
    if finding.delta_joules is not None:
        joules = units.energy_difference(finding.delta_joules)
    where = ""
    if finding.crossing:
        where = finding.crossing
    elif finding.step_lo is not None:
        where = f"epoch {finding.epoch}, steps {finding.step_lo}-{finding.step_hi}"
    cost = "  ".join(part for part in (watts, joules) if part)
    texts = [finding.text.partition(";")[0]]
    if where and cost:
        texts.append(f"{where}: {cost}")
    texts += [cost, watts, "!"]
    return LabelledSpan(
        lo=finding.start_ps,
        hi=finding.end_ps,
        texts=tuple(text for text in texts if text),
        sizes=finding.sizes,
    )


def _rising_numbers(rate: training_parts.Rate, zero_ns: int) -> tuple[StepNumbers, ...]:
    """The stretches in which step numbers only rise."""
    if len(rate) < 2:
        return ()
    first_rows = np.flatnonzero(~rate.goes_on[1:]) + 1
    bounds = [0, *first_rows.tolist(), len(rate)]
    at_ns = packed.packed_column(rate, "at_ns")
    step = packed.packed_column(rate, "step")
    if len(bounds) == 2:  # the packed columns as they are: no copy
        return (StepNumbers(at_ns, step, zero_ns),)
    stretches = []
    for lo, hi in pairwise(bounds):
        if hi - lo > 1:
            at_part = packed.pack_column(at_ns[lo:hi])
            step_part = packed.pack_column(step[lo:hi])
            stretches.append(StepNumbers(at_part, step_part, zero_ns))
    return tuple(stretches)
