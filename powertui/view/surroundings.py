"""The training around a profile, on the profile's own axis: where the others lie, epochs, steps by
number, scalars, findings.

Picoseconds count from the profile's zero, as everywhere: what was before it is negative. No profile
has to be read for it.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data import packed
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, Epochs, Int64s, Phase
from powertui.data.packed import KeptColumn
from powertui.view.curve import Envelope
from powertui.view.step_curve import StepCurve, before, of_points
from powertui.view.viewport import Viewport

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.energy.findings.finding import Finding
    from powertui.data.energy.integrate import Energy
    from powertui.data.model import Counter
    from powertui.data.training import training_parts
    from powertui.data.training.training import Training
    from powertui.data.training.training_energy import TrainingWindow
    from powertui.data.training.training_on_axis import TrainingOnAxis

_DAY_S = 86_400
VAGUE = PS_PER_S  # ± from which on it is said what places a session
_WIDE = 6  # cells that a profile must take before it is read


@dataclass(frozen=True)
class ProfiledStretch:
    """A stretch that was profiled."""

    name: str
    lo: int
    hi: int
    half: int = 0  # of its place, ps
    problem: str = ""  # why its own clock is not believed
    # what places it, where that is no clock: "when its file was written, if nobody copied it"
    placed: str = ""
    key: tuple[str, str] = ("", "")  # the session's path and name

    @property
    def middle(self) -> int:
        return (self.lo + self.hi) // 2


@dataclass(frozen=True)
class Noted:
    """A stretch of which something is to be said: from the longest text to the shortest."""

    lo: int
    hi: int
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Strip:
    """Values over time that can be drawn above the timeline: a scalar, a counter, the step rate.

    Their moments are ns on the training's axis, so that they serve every profile in it; asked for
    is ps on the profile's.
    """

    name: str
    make: Callable[[], StepCurve]  # by moments in ns: made when it is first drawn
    zero_ns: int
    unit: str = ""

    @property
    def curve(self) -> StepCurve:
        return self.make()

    def value(self, ps: int) -> float:
        """What stands at a moment; NaN where it is not known."""
        return self.curve.value(ps // PS_PER_NS + self.zero_ns)

    def envelope(self, edges: Int64s) -> Envelope:
        """The least and the most in each [edge, next edge)."""
        return self.curve.envelope(edges // PS_PER_NS + self.zero_ns)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Steps that are known by their numbers: records of (ns, number), rising.

    Between two of them numbers are interpolated.
    """

    at_ns: KeptColumn
    numbers: KeptColumn
    zero_ns: int

    def number_at(self, ps: int) -> int:
        """The step at a moment: of the first or last record outside of them."""
        ns = ps // PS_PER_NS + self.zero_ns
        row = int(self.at_ns.searchsorted(ns, side="right")) - 1
        if row < 0 or row + 1 >= len(self.at_ns):
            return int(self.numbers[max(row, 0)])
        begin, lo = int(self.at_ns[row]), int(self.numbers[row])
        return lo + (int(self.numbers[row + 1]) - lo) * (ns - begin) // max(
            1, int(self.at_ns[row + 1]) - begin
        )

    def moment_of(self, number: int) -> tuple[int, bool]:
        """When (ps) a step was, and whether a record says so itself."""
        row = min(int(self.numbers.searchsorted(number)), len(self.numbers) - 1)
        if int(self.numbers[row]) == number or not row:
            return (int(self.at_ns[row]) - self.zero_ns) * PS_PER_NS, int(
                self.numbers[row]
            ) == number
        lo, begin = int(self.numbers[row - 1]), int(self.at_ns[row - 1])
        length = int(self.at_ns[row]) - begin
        at = begin + length * (number - lo) // max(1, int(self.numbers[row]) - lo)
        return (at - self.zero_ns) * PS_PER_NS, False


@dataclass(frozen=True, eq=False)
class Around:
    """What is known of a training beside what one profile holds."""

    span: tuple[int, int]
    islands: tuple[ProfiledStretch, ...] = ()
    here: int = -1  # the island that the profile is; -1: none
    epochs: Epochs = field(default_factory=Epochs)
    numbers: tuple[Numbers, ...] = ()  # one for each stretch in which numbers only rise
    strips: tuple[Strip, ...] = ()  # the step rate first, where there is one; then as they matter
    found: tuple[Noted, ...] = ()
    key: object = None  # the training: two of one key lie on one axis
    zero_ns: int = 0  # the profile's zero on that axis (Unix time, where a clock is known)
    clock: bool = False  # whether it is
    energies: tuple[tuple[int, Energy], ...] = ()  # (epoch number, what it drew)
    beside: tuple[
        Noted, ...
    ] = ()  # what was no epoch's training: validation, pauses, the time before and after
    notes: tuple[str, ...] = ()

    def epochs_with(self, own: Epochs) -> Epochs:
        """The profile's epochs, which its steps count, with the bounds that the training tells;
        then those it does not have.
        """
        known = {epoch.number: epoch for epoch in self.epochs}
        kept = []
        for epoch in own:
            told = known.pop(epoch.number, None)
            if told is not None:
                epoch = replace(
                    epoch,
                    start=epoch.start if epoch.start is not None else told.start,
                    end=epoch.end if epoch.end is not None else told.end,
                    scalars=epoch.scalars or told.scalars,
                )
            kept.append(epoch)
        here = {(phase.name, phase.epoch) for phase in own.phases}
        phases: Sequence[Phase] = [
            phase for phase in self.epochs.phases if (phase.name, phase.epoch) not in here
        ]
        return Epochs(
            (*kept, *known.values()), (*own.phases, *phases), own.source or self.epochs.source
        )

    def nearest(self, ps: int) -> list[int]:
        """The islands, the nearest to a moment first; those whose clock is not believed last."""
        distance = [max(one.lo - ps, ps - one.hi, 0) for one in self.islands]
        return sorted(
            range(len(self.islands)), key=lambda i: (bool(self.islands[i].problem), distance[i])
        )

    def island_beside(self, ps: int, direction: int) -> int | None:
        """The next island that begins behind a moment, or the last one that begins before it;
        around the end.
        """
        order = sorted(range(len(self.islands)), key=lambda i: self.islands[i].lo)
        if not order:
            return None
        if direction > 0:
            return next((i for i in order if self.islands[i].lo > ps), order[0])
        return next((i for i in reversed(order) if self.islands[i].hi < ps), order[-1])

    def at_clock(self, text: str) -> int | None:
        """A time of day (UTC) on the first day of the training that has it; None where none has."""
        seconds = 0.0
        for part in text.split(":"):
            seconds = seconds * 60 + float(part)
        if seconds >= _DAY_S:
            return None
        begin = self.zero_ns + self.span[0] // PS_PER_NS
        day = begin // NS_PER_S // _DAY_S
        for tried in (day, day + 1):
            ns = tried * _DAY_S * NS_PER_S + round(seconds * NS_PER_S)
            if begin <= ns <= self.zero_ns + self.span[1] // PS_PER_NS:
                return (ns - self.zero_ns) * PS_PER_NS
        return None

    @cached_property
    def lows(self) -> Int64s:
        """Where the islands begin."""
        return np.array([one.lo for one in self.islands], np.int64)

    @cached_property
    def highs(self) -> Int64s:
        """Where they end."""
        return np.array([one.hi for one in self.islands], np.int64)

    @cached_property
    def tight_of(self) -> dict[int, str]:
        """The same in as few cells as hold a figure with its interval."""
        return {number: _tight(energy) for number, energy in self.energies}

    @cached_property
    def joules_of(self) -> dict[int, str]:
        """The energy of an epoch in words, by its number."""
        return {number: _joules(energy) for number, energy in self.energies}

    def energy_of(self, epochs: Epochs, lo: int, hi: int) -> Energy | None:
        """What a stretch drew that is an epoch."""
        number = next(
            (epoch.number for epoch in epochs if (epoch.start, epoch.end) == (lo, hi)), None
        )
        return dict(self.energies).get(number) if number is not None else None


def beside(found: Sequence[Noted], ps: int, direction: int) -> Noted | None:
    """The next of these that begins after a moment, or the last that begins before it; around the
    end.
    """
    if not found:
        return None
    order = sorted(found, key=lambda one: (one.lo, one.hi))
    ahead = [one for one in order if (one.lo > ps if direction > 0 else one.lo < ps)]
    return (ahead or order)[0 if direction > 0 else -1]


def of_counters(counters: Sequence[Counter]) -> tuple[Strip, ...]:
    """What a trace counted beside its events, as strips on the trace's own axis."""
    several = len({one.process for one in counters}) > 1
    return tuple(
        Strip(
            f"{one.process} {one.name}" if several and one.process else one.name,
            functools.partial(_counted, one),
            0,
            one.unit,
        )
        for one in counters
        if len(one)
    )


def wanted(around: Around, view: Viewport, cursor_ps: int) -> int | None:
    """Which profile should be open for this view; None where the one that is open will do, or none
    is in reach.

    One that is too narrow to show anything is not worth reading. The one under the cursor comes
    first, then the widest; the one that is open stays as long as it has nearly as many cells, for
    its own grid may give it one less.
    """
    if not around.islands:
        return None
    if around.here < 0:  # none is open: the pages beside the timeline need one
        return around.nearest(cursor_ps)[0]
    cells = [len(view.covered(one.lo, one.hi + 1)) for one in around.islands]
    reached = [i for i, count in enumerate(cells) if count >= _WIDE]
    under = [i for i in reached if around.islands[i].lo <= cursor_ps <= around.islands[i].hi]
    stays = cells[around.here] >= _WIDE - 2
    if not reached or (stays and (not under or _over(around.islands[around.here], under, around))):
        return None
    return max(under or reached, key=lambda i: cells[i])


def in_company(around: Around, view: Viewport) -> list[int]:
    """The profiles in sight beside the one that is open, wide enough to be read: the nearest to the
    middle of the view first.
    """
    if around.here < 0 or not around.clock:
        return []
    middle = (view.t0 + view.t1) // 2
    wide = {
        i for i, one in enumerate(around.islands) if len(view.covered(one.lo, one.hi + 1)) >= _WIDE
    }
    return [
        i
        for i in around.nearest(middle)
        if i in wide and i != around.here and not around.islands[i].problem
    ]


def _over(here: ProfiledStretch, under: Sequence[int], around: Around) -> bool:
    """Whether the profile that is open lies under the cursor, too."""
    return any(around.islands[i] == here for i in under)


# ── from the training ────────────────────────────────────────────────────────────────────────────

_SHORT = {"before": "before", "after": "after"}
STEP_RATE = "steps a second"

_curves: weakref.WeakKeyDictionary[object, StepCurve] = weakref.WeakKeyDictionary()


def training_surroundings(
    seen: TrainingOnAxis,
    epochs: Sequence[TrainingWindow] = (),
    phases: Sequence[TrainingWindow] = (),
    found: Sequence[Finding] = (),
) -> Around:
    """What the timeline shows of a training, on the axis of `seen`."""
    sessions: dict[tuple[str, str], ProfiledStretch] = {}
    here, unplaced = None, []
    for one in seen.islands:
        key = (one.island.entry.path, one.island.entry.name)
        if one.start is None or one.end is None:
            why = "when it ran is not known" if one.island.trusted else one.island.status
            unplaced.append(f"{one.island.entry.name}: {why}")
            continue
        here = key if one.here else here
        lo, hi, half = one.start, one.end, one.half
        if key in sessions:  # its hosts
            lo, hi, half = (
                min(lo, sessions[key].lo),
                max(hi, sessions[key].hi),
                max(half, sessions[key].half),
            )
        sessions[key] = ProfiledStretch(
            one.island.entry.name, lo, hi, half, placed=_placed(one.island, half), key=key
        )
    tied = (
        seen.profile is None or seen.wall
    )  # a profile without a clock, or one that is not believed, lies on no axis but its own
    rate, zero = seen.rate, seen.zero_ns
    if not tied:
        return Around(
            (seen.start, seen.end),
            tuple(sessions.values()),
            0 if here is not None else -1,
            seen.epochs,
            found=tuple(_noted(one) for one in found),
            notes=tuple(dict.fromkeys(unplaced)),
        )
    strips = (
        [Strip(STEP_RATE, functools.partial(_rate_curve, rate), zero, "/s")]
        if len(rate) > 1
        else []
    )
    for strip in sorted(seen.strips, key=_telling):
        if len(strip.at_ns):
            strips.append(
                Strip(
                    strip.label.replace("validation/", "val/"),
                    functools.partial(_curve, strip),
                    zero,
                )
            )
    return Around(
        (seen.start, seen.end),
        tuple(sessions.values()),
        list(sessions).index(here) if here is not None else -1,
        seen.epochs,
        _numbers(rate, zero),
        tuple(strips),
        tuple(_noted(one) for one in found),
        seen.training,
        zero,
        seen.wall,
        tuple(
            (one.epoch, one.energy)
            for one in epochs
            if one.epoch is not None and one.energy is not None
        ),
        tuple(_beside(one) for one in phases),
        tuple(dict.fromkeys(unplaced)),
    )


def _joules(energy: Energy | None) -> str:
    """Joules with their interval; nothing where they are not resolved."""
    if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
        return ""
    return (
        f"{units.quantity(energy.joules, 'J')} "
        f"±{units.quantity((energy.hi - energy.lo) / 2, 'J', 2)}"
    )


def _tight(energy: Energy | None) -> str:
    """Joules with their interval in one unit, no finer than the interval: "7.73±0.12 kJ"."""
    if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
        return ""
    half = (energy.hi - energy.lo) / 2
    scale, unit = next(
        (
            (s, u)
            for s, u in ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"))
            if abs(energy.joules) >= s
        ),
        (1e-3, "mJ"),
    )
    fine = min(3, max(0, 1 - math.floor(math.log10(half / scale)))) if half > 0 else 2
    return f"{energy.joules / scale:.{fine}f}±{half / scale:.{fine}f} {unit}"


def _beside(one: TrainingWindow) -> Noted:
    drew = _joules(one.energy)
    names = (one.name, _SHORT.get(one.kind, one.kind))
    return Noted(one.start, one.end, (*(f"{name}  {drew}" for name in names if drew), *names))


def _noted(one: Finding) -> Noted:
    """A finding: where and how much, as far as there is room."""
    watts = f"{one.delta_watts:+.0f} W" if one.delta_watts is not None else ""
    energy = f"{units.quantity(one.delta_joules, 'J', 3)}" if one.delta_joules is not None else ""
    where = (
        f"epoch {one.epoch}, steps {one.step_lo}-{one.step_hi}" if one.step_lo is not None else ""
    )
    cost = "  ".join(part for part in (watts, energy and f"+{energy}".replace("+-", "-")) if part)
    texts = (
        one.text.partition(";")[0],
        f"{where}: {cost}" if where and cost else "",
        cost,
        watts,
        "!",
    )
    return Noted(one.start_ps, one.end_ps, tuple(text for text in texts if text))


def _placed(island: training_parts.PlacedSession, half: int) -> str:
    return island.evidence if half >= VAGUE else ""


def early(training: Training) -> Around:
    """What names, heads and ends of files tell of a training: where its sessions lie, and from when
    to when it logged.
    """
    from powertui.data.training import session_places

    entry = training.entry
    logged = (
        (entry.first_ns, entry.last_ns)
        if entry.first_ns is not None and entry.last_ns is not None
        else None
    )
    sessions: dict[tuple[str, str], tuple[int, int, int]] = {}
    by: dict[tuple[str, str], str] = {}
    for session in entry.sessions:
        for one in session_places.unread(session):
            judged = session_places.judged(one, logged)
            if judged.start is not None and judged.end is not None:
                key = (session.path, session.name)
                lo, hi, half = sessions.get(
                    key, (judged.start.ns, judged.end.ns, judged.start.half_ns)
                )
                sessions[key] = (min(lo, judged.start.ns), max(hi, judged.end.ns), half)
                by[key] = _placed(judged, half * PS_PER_NS)
    ends = [ns for lo, hi, _ in sessions.values() for ns in (lo, hi)] + [*(logged or ())]
    zero = min(ends, default=0)
    seen = tuple(
        ProfiledStretch(
            key[1],
            (lo - zero) * PS_PER_NS,
            (hi - zero) * PS_PER_NS,
            half * PS_PER_NS,
            placed=by[key],
            key=key,
        )
        for key, (lo, hi, half) in sorted(sessions.items(), key=lambda one: one[1])
    )
    span = (0, max(PS_PER_NS, (max(ends, default=0) - zero) * PS_PER_NS))
    return Around(span, seen, key=training, zero_ns=zero, clock=bool(ends))


def _telling(strip: training_parts.ScalarStrip) -> tuple[bool, bool, bool, bool, str]:
    """Losses of training first, those of every few steps before those of epochs; what has but one
    record last.
    """
    tag = strip.tag.casefold()
    return (
        len(strip.at_ns) < 2,
        "loss" not in tag,
        strip.group not in ("", "train", "training"),
        strip.unit != "steps",
        tag,
    )


def _curve(strip: training_parts.ScalarStrip) -> StepCurve:
    known = _curves.get(strip)
    if known is None:
        # What is logged at the end of an epoch tells of that epoch, a record of a step of the time
        # from there on.
        known = _curves[strip] = (
            before(strip.at_ns, strip.values)
            if strip.unit == "epochs"
            else of_points(strip.at_ns, strip.values)
        )
    return known


def _counted(one: Counter) -> StepCurve:
    known = _curves.get(one)
    if known is None:
        known = _curves[one] = of_points(one.times // PS_PER_NS, one.values)
    return known


def _rate_curve(rate: training_parts.Rate) -> StepCurve:
    known = _curves.get(rate)
    if known is None:
        known = _curves[rate] = StepCurve(
            rate.at_ns, rate.per_s.astype(np.float32)
        )  # a picture asks no more of them
    return known


def _numbers(rate: training_parts.Rate, zero_ns: int) -> tuple[Numbers, ...]:
    """The stretches in which step numbers only rise."""
    if len(rate) < 2:
        return ()
    bounds = [0, *(np.flatnonzero(~rate.goes_on[1:]) + 1).tolist(), len(rate)]
    at, step = packed.kept(rate, "at_ns"), packed.kept(rate, "step")
    if len(bounds) == 2:
        return (Numbers(at, step, zero_ns),)
    return tuple(
        Numbers(packed.pack_column(at[lo:hi]), packed.pack_column(step[lo:hi]), zero_ns)
        for lo, hi in pairwise(bounds)
        if hi - lo > 1
    )
