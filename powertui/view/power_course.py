"""What a chart of power shows: its course over a training, its epochs, findings and levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from powertui.data.asked import Aligning
from powertui.data.energy import account, host_energy
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import Badge, PowerOnTrace
from powertui.data.opened import Opened, Profile
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.value_types import dataclass
from powertui.view import surroundings
from powertui.view.training_surroundings import finding_span

# Of the time from the first to the last thing of a training, on each side of it: so much of the
# power before and after is shown, as far as it was logged. Chosen by looking at pages.
_MARGIN_SHARE = 0.08
_MAX_FINDINGS = 12  # that are marked on the chart; the list of conclusions names all that matter


@dataclass(frozen=True)
class NamedSpan:
    """A stretch of time, ps on the chart's axis, with its words."""

    lo: int
    hi: int
    words: str


@dataclass(frozen=True)
class PowerLevel:
    """Watts that hold for all of a chart."""

    name: str
    watts: float
    badge: Badge | None = None


@dataclass(frozen=True, eq=False)
class PowerCourse:
    """All that one chart of power shows."""

    power: PowerOnTrace
    title: str
    lo: int  # from when to when, ps
    hi: int
    epochs: tuple[NamedSpan, ...]
    profiled: tuple[NamedSpan, ...]
    findings: tuple[NamedSpan, ...]
    levels: tuple[PowerLevel, ...]
    badge: Badge
    could_find: str = ""  # what would have been found, in a sentence


def of_run(opened: Opened, aligning: Aligning, limit: int) -> Iterator[PowerCourse]:
    """One for each machine of a run whose power is known, of so many machines at most."""
    if not opened.run.power:
        return
    for index in host_energy.run_energy(opened, aligning).indices[:limit]:
        course = _of_profile(opened.profiles[index], aligning)
        if course is not None:
            yield course


def _of_profile(profile: Profile, aligning: Aligning) -> PowerCourse | None:
    """The power of a host, over its profile and the training around it. None without any."""
    host_account = account.energy_account(profile, aligning)
    if host_account.power is None:
        return None
    findings = account.findings(profile, aligning)
    axis = _axis_around(profile, aligning)
    if axis is None:
        lo, hi = profile.trace.span
        epochs = [
            _epoch(part.lo, part.hi, f"epoch {part.number}", part.energy)
            for part in host_account.epoch_energies
        ]
        profiled = []
    else:
        epochs = _epochs(axis)
        profiled = _profiled(axis)
        lo, hi = _reach([*epochs, *profiled], profile.trace.span)
    return _course(
        host_account,
        title=profile.host,
        span=(lo, hi),
        epochs=epochs,
        profiled=profiled,
        findings=findings.findings,
        could_find=findings.could,
    )


def of_training(training: Training) -> PowerCourse | None:
    """The power of a training that was not profiled, on its own axis. None without any."""
    axis = training.seen_from()
    energy = training_energy(axis)
    if energy.account.power is None:
        return None
    epochs = _epochs(axis)
    trained = energy.training()
    if trained is None:
        fallback = (axis.start, axis.end)
    else:
        fallback = (trained.start, trained.end)
    lo, hi = _reach(epochs, fallback)
    return _course(
        energy.account,
        title=training.entry.name,
        span=(lo, hi),
        epochs=epochs,
        profiled=_profiled(axis),
        findings=energy.findings.findings,
        could_find=energy.findings.could,
    )


def _axis_around(profile: Profile, aligning: Aligning) -> TrainingOnAxis | None:
    """The axis of the training around a profile, where the profile has a place on it."""
    training = profile.opened.around
    if not isinstance(training, Training):
        return None
    axis = training.axis_of(profile, aligning)
    return axis if axis.wall else None


def _epochs(axis: TrainingOnAxis) -> list[NamedSpan]:
    spans = []
    for window in training_energy(axis).epochs():
        spans.append(_epoch(window.start, window.end, window.name, window.energy))
    return spans


def _epoch(
    lo: int,
    hi: int,
    name: str,
    energy: Energy | None,
) -> NamedSpan:
    joules = surroundings.joules_text(energy)
    return NamedSpan(lo, hi, f"{name} · {joules}" if joules else name)


def _profiled(axis: TrainingOnAxis) -> list[NamedSpan]:
    spans = []
    for session in axis.islands:
        if session.start is not None and session.end is not None:
            spans.append(NamedSpan(session.start, session.end, session.island.entry.name))
    return spans


def _reach(spans: Sequence[NamedSpan], instead: tuple[int, int]) -> tuple[int, int]:
    """From the first to the last of these, and of what is there in any case."""
    lo, hi = instead
    return min([lo, *(span.lo for span in spans)]), max([hi, *(span.hi for span in spans)])


def _course(
    power_account: Account,
    *,
    title: str,
    span: tuple[int, int],
    epochs: Sequence[NamedSpan],
    profiled: Sequence[NamedSpan],
    findings: Iterable[Finding],
    could_find: str,
) -> PowerCourse:
    power = power_account.power
    assert power is not None
    lo, hi = _with_margin(power, *span)
    marked = [finding for finding in findings if finding.end_ps > lo and finding.start_ps < hi]
    return PowerCourse(
        power=power,
        title=title,
        lo=lo,
        hi=hi,
        epochs=_inside(epochs, lo, hi),
        profiled=_inside(profiled, lo, hi),
        findings=tuple(_marked(finding) for finding in marked[:_MAX_FINDINGS]),
        levels=tuple(_levels(power_account)),
        badge=power.badge,
        could_find=could_find,
    )


def _with_margin(power: PowerOnTrace, lo: int, hi: int) -> tuple[int, int]:
    """Some of the time before and after, where power was logged then."""
    margin = round((hi - lo) * _MARGIN_SHARE)
    if not len(power.times):
        return lo, hi
    first = int(power.times[0])
    last = int(power.times[-1])
    return min(lo, max(first, lo - margin)), max(hi, min(last, hi + margin))


def _inside(spans: Iterable[NamedSpan], lo: int, hi: int) -> tuple[NamedSpan, ...]:
    return tuple(span for span in spans if span.hi > lo and span.lo < hi)


def _marked(finding: Finding) -> NamedSpan:
    labelled = finding_span(finding)
    words = (*labelled.sizes, *labelled.texts)[0]
    return NamedSpan(labelled.lo, labelled.hi, words)


def _levels(power_account: Account) -> Iterable[PowerLevel]:
    idle = power_account.idle
    if idle is not None and idle.value is not None:
        name = "idle at most" if power_account.idle_at_most else "idle"
        yield PowerLevel(name, idle.value, idle.badge)
    if len(power_account.channels) != 1:
        return
    limits = [cap.watts for cap in power_account.channels[0].series.limits]
    known = [watts for watts in limits if not math.isnan(watts)]
    if known and len(set(known)) == 1:
        yield PowerLevel("limit", known[0])
