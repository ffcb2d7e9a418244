"""The training around a profile: its other profiles, epochs, step numbers, scalars and findings.

Everything is on the profile's own axis, in picoseconds from its zero: what was before it is
negative. No profile has to be read for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from powertui import units
from powertui.data.model import NS_PER_S, PS_PER_NS, Epoch, Epochs, Int64s
from powertui.data.packed import KeptColumn
from powertui.value_types import dataclass
from powertui.view.value_strips import Strip
from powertui.view.viewport import Viewport

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.energy.measured_energy import Energy

_DAY_S = 86_400

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
        if row < 0:
            _, number = self._record(0)
            return number
        start_ns, first = self._record(row)
        if row + 1 >= len(self.at_ns):
            return first
        end_ns, last = self._record(row + 1)
        length_ns = max(1, end_ns - start_ns)
        since_start_ns = ns - start_ns
        return first + (last - first) * since_start_ns // length_ns

    def moment_of(self, number: int) -> tuple[int, bool]:
        """When (ps) a step was, and whether a record has exactly this number."""
        last_row = len(self.numbers) - 1
        row = min(int(self.numbers.searchsorted(number)), last_row)
        ns, last = self._record(row)
        is_exact = last == number
        if row and not is_exact:
            start_ns, first = self._record(row - 1)
            # Steps between two records are taken to be of equal length.
            steps = max(1, last - first)
            ns = start_ns + (ns - start_ns) * (number - first) // steps
        return (ns - self.zero_ns) * PS_PER_NS, is_exact

    def _record(self, row: int) -> tuple[int, int]:
        at_ns = int(self.at_ns[row])
        number = int(self.numbers[row])
        return at_ns, number


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
                epoch = _completed_epoch(epoch, logged)
            merged.append(epoch)
        merged += rest.values()
        profile_phases = {(phase.name, phase.epoch) for phase in profile_epochs.phases}
        phases = list(profile_epochs.phases)
        for phase in self.epochs.phases:
            if (phase.name, phase.epoch) not in profile_phases:
                phases.append(phase)
        source = profile_epochs.source or self.epochs.source
        return Epochs(tuple(merged), tuple(phases), source)

    def nearest(self, ps: int) -> list[int]:
        """Indices of the profiles, the nearest to a moment first.

        Those whose clock is not believed come last.
        """

        def distance(index: int) -> tuple[bool, int]:
            profile = self.profiles[index]
            has_problem = bool(profile.problem)
            distance_ps = max(profile.lo - ps, ps - profile.hi, 0)
            return has_problem, distance_ps

        indices = range(len(self.profiles))
        return sorted(indices, key=distance)

    def findings_beside(self, lo: int, hi: int) -> Iterator[tuple[LabelledSpan, bool]]:
        """The last finding of power before a stretch, and the first after it (True)."""
        earlier = []
        later = []
        for finding in self.findings:
            if not finding.sizes:
                continue
            if finding.hi <= lo:
                earlier.append(finding)
            if finding.lo >= hi:
                later.append(finding)
        if earlier:
            yield max(earlier, key=lambda finding: finding.hi), False
        if later:
            yield min(later, key=lambda finding: finding.lo), True

    def profile_beside(self, ps: int, direction: int) -> int | None:
        """The next profile that starts after a moment, or the last one that ended before it.

        Past the last one it goes on with the first, and the other way round.
        """
        profiles = self.profiles
        order = sorted(range(len(profiles)), key=lambda index: profiles[index].lo)
        if not order:
            return None
        if direction > 0:
            for index in order:
                if profiles[index].lo > ps:
                    return index
            return order[0]
        for index in reversed(order):
            if profiles[index].hi < ps:
                return index
        return order[-1]

    def at_clock(self, text: str) -> int | None:
        """A time of day (UTC) on the first day of the training that has it; None where none has."""
        seconds = 0.0
        for part in text.split(":"):
            seconds = seconds * 60 + float(part)
        if seconds >= _DAY_S:
            return None
        start_ps, end_ps = self.span
        start_ns = self.zero_ns + start_ps // PS_PER_NS
        end_ns = self.zero_ns + end_ps // PS_PER_NS
        day_ns = _DAY_S * NS_PER_S
        since_midnight_ns = round(seconds * NS_PER_S)
        first_midnight_ns = start_ns // day_ns * day_ns
        for midnight_ns in (first_midnight_ns, first_midnight_ns + day_ns):
            ns = midnight_ns + since_midnight_ns
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
        return {number: _short_joules_text(energy) for number, energy in self.energies}

    @cached_property
    def joules_of(self) -> dict[int, str]:
        """The energy of each epoch in words, by number."""
        return {number: joules_text(energy) for number, energy in self.energies}

    def energy_of(
        self,
        epochs: Epochs,
        lo: int,
        hi: int,
    ) -> Energy | None:
        """The energy of the stretch [lo, hi) where that is an epoch."""
        for epoch in epochs:
            if (epoch.start, epoch.end) == (lo, hi):
                return dict(self.energies).get(epoch.number)
        return None


def _completed_epoch(epoch: Epoch, logged: Epoch) -> Epoch:
    """An epoch of a profile with what only the training knows of it."""
    start = logged.start if epoch.start is None else epoch.start
    end = logged.end if epoch.end is None else epoch.end
    return replace(
        epoch,
        start=start,
        end=end,
        scalars=epoch.scalars or logged.scalars,
    )


def next_span(
    spans: Sequence[LabelledSpan],
    ps: int,
    direction: int,
) -> LabelledSpan | None:
    """The next span that starts after a moment, or the last that starts before it.

    Past the last one it goes on with the first, and the other way round.
    """
    if not spans:
        return None
    order = sorted(spans, key=lambda span: (span.lo, span.hi))
    if direction > 0:
        later = (span for span in order if span.lo > ps)
        return next(later, order[0])
    earlier = (span for span in reversed(order) if span.lo < ps)
    return next(earlier, order[-1])


def profile_to_open(
    surroundings: Surroundings,
    view: Viewport,
    cursor_ps: int,
) -> int | None:
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
    wide = []
    under_cursor = []
    for index, profile in enumerate(profiles):
        if cells[index] < _MIN_PROFILE_CELLS:
            continue
        wide.append(index)
        if profile.lo <= cursor_ps <= profile.hi:
            under_cursor.append(index)
    if not wide:
        return None
    if cells[here] >= _MIN_OPEN_PROFILE_CELLS:
        # Several hosts may have profiled one stretch: any of them will do.
        is_under_cursor = any(profiles[index] == profiles[here] for index in under_cursor)
        if not under_cursor or is_under_cursor:
            return None
    return max(under_cursor or wide, key=lambda index: cells[index])


def neighbors_in_view(surroundings: Surroundings, view: Viewport) -> list[int]:
    """The profiles in sight beside the open one that are wide enough to be read.

    The nearest to the middle of the view come first.
    """
    if surroundings.here < 0 or not surroundings.clock:
        return []
    middle_ps = (view.t0 + view.t1) // 2
    neighbors = []
    for index in surroundings.nearest(middle_ps):
        profile = surroundings.profiles[index]
        if index == surroundings.here or profile.problem:
            continue
        covered = view.covered(profile.lo, profile.hi + 1)
        if len(covered) >= _MIN_PROFILE_CELLS:
            neighbors.append(index)
    return neighbors


def joules_text(energy: Energy | None) -> str:
    """Joules with their interval; "" where they are not resolved."""
    if energy is None or energy.interval is None:
        return ""
    return units.energy_interval(*energy.interval)


def _short_joules_text(energy: Energy) -> str:
    """The same in as few cells as possible: "7,734 J±12"."""
    return joules_text(energy).replace(" ± ", "±")
