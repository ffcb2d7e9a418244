"""The training around a profile: its other profiles, epochs, step numbers, scalars and findings.

Everything is on the profile's own axis, in picoseconds from its zero: what was before it is
negative. No profile has to be read for it.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from powertui import units
from powertui.data import packed
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, Epochs, Int64s, Phase
from powertui.data.packed import KeptColumn
from powertui.value_types import dataclass
from powertui.view.curve import Envelope
from powertui.view.step_curve import StepCurve, curve_of_means, curve_of_points
from powertui.view.viewport import Viewport

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.energy.findings.finding import Finding
    from powertui.data.energy.measured_energy import Energy
    from powertui.data.model import Counter
    from powertui.data.training import training_parts
    from powertui.data.training.training import Training
    from powertui.data.training.training_energy import TrainingWindow
    from powertui.data.training.training_on_axis import TrainingOnAxis

_DAY_S = 86_400
# A session that is placed by less than a clock is named with its ± and its evidence from this
# half-width on (chosen, not measured): below 1 s the ± is not visible on the axis of a training.
MIN_EXPLAINED_HALF_PS = PS_PER_S
# A profile narrower than this in the view is not read: its tracks would show nothing (chosen, not
# measured).
_MIN_PROFILE_CELLS = 6
# The open profile keeps its place with two cells less: its own grid may give it one less, and two
# profiles of equal width would otherwise replace each other at every pan.
_MIN_OPEN_PROFILE_CELLS = _MIN_PROFILE_CELLS - 2

SessionKey: TypeAlias = tuple[str, str]  # path and name


@dataclass(frozen=True)
class ProfiledStretch:
    """A stretch that was profiled."""

    name: str
    lo: int
    hi: int
    half: int = 0  # half of the 95 % interval of its place, ps
    problem: str = ""  # why its own clock is not believed
    # what places it, where that is no clock: "when its file was written, if nobody copied it"
    evidence: str = ""
    key: SessionKey = ("", "")

    @property
    def middle(self) -> int:
        return (self.lo + self.hi) // 2


@dataclass(frozen=True)
class LabelledSpan:
    """A stretch of time with its texts, the longest first."""

    lo: int
    hi: int
    texts: tuple[str, ...]
    sizes: tuple[str, ...] = ()  # how much, the longest first


@dataclass(frozen=True, eq=False)
class Strip:
    """Values over time that can be drawn above the timeline: a scalar, a counter, the step rate.

    Its moments are ns on the training's axis, so that it serves every profile in it; callers ask in
    ps on the profile's axis.
    """

    name: str
    make: Callable[[], StepCurve]  # by moments in ns: made when it is first drawn
    zero_ns: int
    unit: str = ""

    @property
    def curve(self) -> StepCurve:
        return self.make()

    def value(self, ps: int) -> float:
        """The value at a moment; NaN where it is not known."""
        return self.curve.value(ps // PS_PER_NS + self.zero_ns)

    def envelope(self, edges: Int64s) -> Envelope:
        """The lowest and the highest value in each [edge, next edge)."""
        return self.curve.envelope(edges // PS_PER_NS + self.zero_ns)


@dataclass(frozen=True, eq=False)
class StepNumbers:
    """Records of (ns, step number) whose numbers only rise.

    Between two records numbers are interpolated.
    """

    at_ns: KeptColumn
    numbers: KeptColumn
    zero_ns: int

    def number_at(self, ps: int) -> int:
        """The step at a moment; before the first record its number, after the last the last's."""
        ns = ps // PS_PER_NS + self.zero_ns
        row = int(self.at_ns.searchsorted(ns, side="right")) - 1
        if row < 0 or row + 1 >= len(self.at_ns):
            return int(self.numbers[max(row, 0)])
        start_ns = int(self.at_ns[row])
        end_ns = int(self.at_ns[row + 1])
        first = int(self.numbers[row])
        last = int(self.numbers[row + 1])
        return first + (last - first) * (ns - start_ns) // max(1, end_ns - start_ns)

    def moment_of(self, number: int) -> tuple[int, bool]:
        """When (ps) a step was, and whether a record has exactly this number."""
        row = min(int(self.numbers.searchsorted(number)), len(self.numbers) - 1)
        next_number = int(self.numbers[row])
        next_ns = int(self.at_ns[row])
        if next_number == number or not row:
            return (next_ns - self.zero_ns) * PS_PER_NS, next_number == number
        last_number = int(self.numbers[row - 1])
        last_ns = int(self.at_ns[row - 1])
        steps = max(1, next_number - last_number)
        ns = last_ns + (next_ns - last_ns) * (number - last_number) // steps
        return (ns - self.zero_ns) * PS_PER_NS, False


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is known of a training beside what one profile holds."""

    span: tuple[int, int]
    profiles: tuple[ProfiledStretch, ...] = ()
    here: int = -1  # index of the profile that is open; -1: none
    epochs: Epochs = field(default_factory=Epochs)
    numbers: tuple[StepNumbers, ...] = ()  # one for each stretch in which numbers only rise
    strips: tuple[Strip, ...] = ()  # the step rate first, where there is one; then by importance
    findings: tuple[LabelledSpan, ...] = ()
    key: object = None  # the training: two of one key are on one axis
    zero_ns: int = 0  # the profile's zero on that axis (Unix time, where a clock is known)
    clock: bool = False  # whether zero_ns is Unix time
    energies: tuple[tuple[int, Energy], ...] = ()  # (epoch number, its energy)
    # what no epoch trained: validation, pauses, the time before the first and after the last
    untrained: tuple[LabelledSpan, ...] = ()
    notes: tuple[str, ...] = ()

    def epochs_with(self, profile_epochs: Epochs) -> Epochs:
        """The profile's epochs, with bounds and scalars from the training; then the training's.

        The profile's come first because its steps refer to them by index.
        """
        rest = {epoch.number: epoch for epoch in self.epochs}
        merged = []
        for epoch in profile_epochs:
            logged = rest.pop(epoch.number, None)
            if logged is not None:
                epoch = replace(
                    epoch,
                    start=epoch.start if epoch.start is not None else logged.start,
                    end=epoch.end if epoch.end is not None else logged.end,
                    scalars=epoch.scalars or logged.scalars,
                )
            merged.append(epoch)
        profile_phases = {(phase.name, phase.epoch) for phase in profile_epochs.phases}
        phases: Sequence[Phase] = [
            phase for phase in self.epochs.phases if (phase.name, phase.epoch) not in profile_phases
        ]
        return Epochs(
            (*merged, *rest.values()),
            (*profile_epochs.phases, *phases),
            profile_epochs.source or self.epochs.source,
        )

    def nearest(self, ps: int) -> list[int]:
        """Indices of the profiles, the nearest to a moment first.

        Those whose clock is not believed come last.
        """

        def distance(index: int) -> tuple[bool, int]:
            profile = self.profiles[index]
            return bool(profile.problem), max(profile.lo - ps, ps - profile.hi, 0)

        return sorted(range(len(self.profiles)), key=distance)

    def profile_beside(self, ps: int, direction: int) -> int | None:
        """The next profile that starts after a moment, or the last one that ended before it.

        Past the last one it goes on with the first, and the other way round.
        """
        order = sorted(range(len(self.profiles)), key=lambda index: self.profiles[index].lo)
        if not order:
            return None
        if direction > 0:
            return next((index for index in order if self.profiles[index].lo > ps), order[0])
        return next((index for index in reversed(order) if self.profiles[index].hi < ps), order[-1])

    def at_clock(self, text: str) -> int | None:
        """A time of day (UTC) on the first day of the training that has it; None where none has."""
        seconds = 0.0
        for part in text.split(":"):
            seconds = seconds * 60 + float(part)
        if seconds >= _DAY_S:
            return None
        start_ns = self.zero_ns + self.span[0] // PS_PER_NS
        end_ns = self.zero_ns + self.span[1] // PS_PER_NS
        first_day = start_ns // NS_PER_S // _DAY_S
        for day in (first_day, first_day + 1):
            ns = day * _DAY_S * NS_PER_S + round(seconds * NS_PER_S)
            if start_ns <= ns <= end_ns:
                return (ns - self.zero_ns) * PS_PER_NS
        return None

    @cached_property
    def lows(self) -> Int64s:
        """Where the profiles start."""
        return np.array([profile.lo for profile in self.profiles], np.int64)

    @cached_property
    def highs(self) -> Int64s:
        """Where the profiles end."""
        return np.array([profile.hi for profile in self.profiles], np.int64)

    @cached_property
    def tight_of(self) -> dict[int, str]:
        """The energy of each epoch with its interval in as few cells as possible, by number."""
        return {number: _tight(energy) for number, energy in self.energies}

    @cached_property
    def joules_of(self) -> dict[int, str]:
        """The energy of each epoch in words, by number."""
        return {number: _joules(energy) for number, energy in self.energies}

    def energy_of(self, epochs: Epochs, lo: int, hi: int) -> Energy | None:
        """The energy of the stretch [lo, hi) where that is an epoch."""
        for epoch in epochs:
            if (epoch.start, epoch.end) == (lo, hi):
                return dict(self.energies).get(epoch.number)
        return None


def next_span(spans: Sequence[LabelledSpan], ps: int, direction: int) -> LabelledSpan | None:
    """The next span that starts after a moment, or the last that starts before it.

    Past the last one it goes on with the first, and the other way round.
    """
    if not spans:
        return None
    order = sorted(spans, key=lambda span: (span.lo, span.hi))
    if direction > 0:
        return next((span for span in order if span.lo > ps), order[0])
    return next((span for span in reversed(order) if span.lo < ps), order[-1])


def counter_strips(counters: Sequence[Counter]) -> tuple[Strip, ...]:
    """The counters that a trace recorded beside its events, as strips on the trace's own axis."""
    several_processes = len({counter.process for counter in counters}) > 1
    strips = []
    for counter in counters:
        if not len(counter):
            continue
        name = counter.name
        if several_processes and counter.process:
            name = f"{counter.process} {counter.name}"
        make = functools.partial(_counter_curve, counter)
        strips.append(Strip(name, make, zero_ns=0, unit=counter.unit))
    return tuple(strips)


def profile_to_open(surroundings: Surroundings, view: Viewport, cursor_ps: int) -> int | None:
    """The profile that should be open for this view; None where the open one will do.

    Also None where no profile is wide enough to be worth reading. The profile under the cursor
    comes first, then the widest.
    """
    profiles = surroundings.profiles
    here = surroundings.here
    if not profiles:
        return None
    if here < 0:  # none is open: the pages beside the timeline need one
        return surroundings.nearest(cursor_ps)[0]
    cells = [len(view.covered(profile.lo, profile.hi + 1)) for profile in profiles]
    wide = [index for index, count in enumerate(cells) if count >= _MIN_PROFILE_CELLS]
    under = [index for index in wide if profiles[index].lo <= cursor_ps <= profiles[index].hi]
    if not wide:
        return None
    if cells[here] >= _MIN_OPEN_PROFILE_CELLS:
        under_cursor = any(profiles[index] == profiles[here] for index in under)
        if not under or under_cursor:
            return None
    return max(under or wide, key=lambda index: cells[index])


def neighbors_in_view(surroundings: Surroundings, view: Viewport) -> list[int]:
    """The profiles in sight beside the open one that are wide enough to be read.

    The nearest to the middle of the view come first.
    """
    if surroundings.here < 0 or not surroundings.clock:
        return []
    neighbors = []
    for index in surroundings.nearest((view.t0 + view.t1) // 2):
        profile = surroundings.profiles[index]
        wide = len(view.covered(profile.lo, profile.hi + 1)) >= _MIN_PROFILE_CELLS
        if wide and index != surroundings.here and not profile.problem:
            neighbors.append(index)
    return neighbors


# ── from the training ────────────────────────────────────────────────────────────────────────────

STEP_RATE = "steps a second"

_curves: weakref.WeakKeyDictionary[object, StepCurve] = weakref.WeakKeyDictionary()


def training_surroundings(
    on_axis: TrainingOnAxis,
    epochs: Sequence[TrainingWindow] = (),
    phases: Sequence[TrainingWindow] = (),
    findings: Sequence[Finding] = (),
) -> Surroundings:
    """What the timeline shows of a training, on the axis of `seen`."""
    sessions: dict[SessionKey, ProfiledStretch] = {}
    here: SessionKey | None = None
    unplaced = []
    for session in on_axis.islands:
        island = session.island
        entry = session.island.entry
        key = (entry.path, entry.name)
        if session.start is None or session.end is None:
            why = "when it ran is not known" if island.trusted else island.status
            unplaced.append(f"{entry.name}: {why}")
            continue
        if session.here:
            here = key
        lo = session.start
        hi = session.end
        half = session.half
        if key in sessions:  # another host of the same session
            first_host = sessions[key]
            lo = min(lo, first_host.lo)
            hi = max(hi, first_host.hi)
            half = max(half, first_host.half)
        evidence = _evidence(island, half)
        sessions[key] = ProfiledStretch(entry.name, lo, hi, half, evidence=evidence, key=key)
    surroundings = Surroundings(
        span=(on_axis.start, on_axis.end),
        profiles=tuple(sessions.values()),
        epochs=on_axis.epochs,
        findings=tuple(_finding_span(finding) for finding in findings),
        notes=tuple(dict.fromkeys(unplaced)),
    )
    # A profile without a clock, or with one that is not believed, is on no axis but its own.
    if on_axis.profile is not None and not on_axis.wall:
        return replace(surroundings, here=0 if here is not None else -1)
    energies = [
        (epoch.epoch, epoch.energy)
        for epoch in epochs
        if epoch.epoch is not None and epoch.energy is not None
    ]
    return replace(
        surroundings,
        here=list(sessions).index(here) if here is not None else -1,
        numbers=_rising_numbers(on_axis.rate, on_axis.zero_ns),
        strips=_training_strips(on_axis),
        key=on_axis.training,
        zero_ns=on_axis.zero_ns,
        clock=on_axis.wall,
        energies=tuple(energies),
        untrained=tuple(_untrained_span(phase) for phase in phases),
    )


def _training_strips(on_axis: TrainingOnAxis) -> tuple[Strip, ...]:
    """The step rate and the scalars that have values."""
    strips = []
    if len(on_axis.rate) > 1:
        make = functools.partial(_rate_curve, on_axis.rate)
        strips.append(Strip(STEP_RATE, make, on_axis.zero_ns, "/s"))
    for scalar in sorted(on_axis.strips, key=_importance):
        if len(scalar.at_ns):
            label = scalar.label.replace("validation/", "val/")
            strips.append(Strip(label, functools.partial(_scalar_curve, scalar), on_axis.zero_ns))
    return tuple(strips)


def _joules(energy: Energy | None) -> str:
    """Joules with their interval; "" where they are not resolved."""
    if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
        return ""
    half = units.quantity((energy.hi - energy.lo) / 2, "J", 2)
    return f"{units.quantity(energy.joules, 'J')} ±{half}"


def _tight(energy: Energy | None) -> str:
    """Joules with their interval in one unit, no finer than the interval: "7.73±0.12 kJ"."""
    if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
        return ""
    half = (energy.hi - energy.lo) / 2
    scale, unit = 1e-3, "mJ"
    for larger, name in ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J")):
        if abs(energy.joules) >= larger:
            scale = larger
            unit = name
            break
    decimals = 2
    if half > 0:  # two significant digits of the interval
        decimals = min(3, max(0, 1 - math.floor(math.log10(half / scale))))
    return f"{energy.joules / scale:.{decimals}f}±{half / scale:.{decimals}f} {unit}"


def _untrained_span(window: TrainingWindow) -> LabelledSpan:
    """A validation or a pause, with its energy where there is room."""
    joules = _joules(window.energy)
    names = (window.name, window.kind)
    with_energy = [f"{name}  {joules}" for name in names if joules]
    return LabelledSpan(window.start, window.end, (*with_energy, *names))


def _finding_span(finding: Finding) -> LabelledSpan:
    """A finding: where and how much, as far as there is room."""
    watts = joules = where = ""
    if finding.delta_watts is not None:
        watts = units.difference(finding.delta_watts, "W")
    if finding.delta_joules is not None:
        joules = f"+{units.quantity(finding.delta_joules, 'J', 3)}".replace("+-", "-")
    if finding.crossing:
        where = finding.crossing
    elif finding.step_lo is not None:
        where = f"epoch {finding.epoch}, steps {finding.step_lo}-{finding.step_hi}"
    cost = "  ".join(part for part in (watts, joules) if part)
    texts = (
        finding.text.partition(";")[0],
        f"{where}: {cost}" if where and cost else "",
        cost,
        watts,
        "!",
    )
    took = units.duration(finding.end_ps - finding.start_ps, 2)
    sizes = (f"{watts} for {took}", watts) if watts else ()
    return LabelledSpan(
        finding.start_ps, finding.end_ps, tuple(text for text in texts if text), sizes
    )


def _evidence(island: training_parts.PlacedSession, half: int) -> str:
    """What places a session, where its interval is wide enough to be named."""
    return island.evidence if half >= MIN_EXPLAINED_HALF_PS else ""


def first_surroundings(training: Training) -> Surroundings:
    """What names, heads and ends of files say of a training, before any of them is read whole.

    That is where its sessions are, and from when to when it logged.
    """
    from powertui.data.training import session_places

    entry = training.entry
    logged = None
    if entry.first_ns is not None and entry.last_ns is not None:
        logged = (entry.first_ns, entry.last_ns)
    sessions: dict[SessionKey, tuple[int, int, int]] = {}
    evidence: dict[SessionKey, str] = {}
    for session in entry.sessions:
        key = (session.path, session.name)
        for place in session_places.unread(session):
            judged = session_places.judged(place, logged)
            start = judged.start
            end = judged.end
            if start is None or end is None:
                continue
            lo, hi, half = sessions.get(key, (start.ns, end.ns, start.half_ns))
            sessions[key] = (min(lo, start.ns), max(hi, end.ns), half)
            evidence[key] = _evidence(judged, half * PS_PER_NS)
    ends = [ns for lo, hi, _ in sessions.values() for ns in (lo, hi)] + [*(logged or ())]
    zero = min(ends, default=0)
    profiles = tuple(
        ProfiledStretch(
            key[1],
            (lo - zero) * PS_PER_NS,
            (hi - zero) * PS_PER_NS,
            half * PS_PER_NS,
            evidence=evidence[key],
            key=key,
        )
        for key, (lo, hi, half) in sorted(sessions.items(), key=lambda item: item[1])
    )
    span = (0, max(PS_PER_NS, (max(ends, default=0) - zero) * PS_PER_NS))
    return Surroundings(span, profiles, key=training, zero_ns=zero, clock=bool(ends))


def _importance(scalar: training_parts.ScalarStrip) -> tuple[bool, bool, bool, bool, str]:
    """The order of scalars: losses of training first, those of every few steps before epochs'.

    A scalar of a single record comes last: its strip is a flat line.
    """
    tag = scalar.tag.casefold()
    return (
        len(scalar.at_ns) < 2,
        "loss" not in tag,
        scalar.group not in ("", "train", "training"),
        scalar.unit != "steps",
        tag,
    )


def _scalar_curve(scalar: training_parts.ScalarStrip) -> StepCurve:
    curve = _curves.get(scalar)
    if curve is None:
        # A value logged at the end of an epoch describes that epoch; one of a step holds from
        # there on.
        build = curve_of_means if scalar.unit == "epochs" else curve_of_points
        curve = _curves[scalar] = build(scalar.at_ns, scalar.values)
    return curve


def _counter_curve(counter: Counter) -> StepCurve:
    curve = _curves.get(counter)
    if curve is None:
        curve = _curves[counter] = curve_of_points(counter.times // PS_PER_NS, counter.values)
    return curve


def _rate_curve(rate: training_parts.Rate) -> StepCurve:
    curve = _curves.get(rate)
    if curve is None:
        # float32 is enough for a picture, at half the memory
        curve = _curves[rate] = StepCurve(rate.at_ns, rate.per_s.astype(np.float32))
    return curve


def _rising_numbers(rate: training_parts.Rate, zero_ns: int) -> tuple[StepNumbers, ...]:
    """The stretches in which step numbers only rise."""
    if len(rate) < 2:
        return ()
    bounds = [0, *(np.flatnonzero(~rate.goes_on[1:]) + 1).tolist(), len(rate)]
    at_ns = packed.packed_column(rate, "at_ns")
    step = packed.packed_column(rate, "step")
    if len(bounds) == 2:
        return (StepNumbers(at_ns, step, zero_ns),)
    stretches = []
    for lo, hi in pairwise(bounds):
        if hi - lo > 1:
            columns = packed.pack_column(at_ns[lo:hi]), packed.pack_column(step[lo:hi])
            stretches.append(StepNumbers(*columns, zero_ns))
    return tuple(stretches)
