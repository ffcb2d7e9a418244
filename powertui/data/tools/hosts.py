"""The hosts of a run side by side: which step of one is which of another, the run's steps, and who
holds the others up.

Steps are matched with those of the chief, the host whose steps took least altogether, as
TensorBoard's profiler does: by the shift at which most of their time overlaps. Where the programs
number their steps, the numbers decide. A step of the run is as long as the longest of its hosts.

Who waits for the others spends the time in collectives: so hosts are compared by the rest of their
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.asked import Compat
from powertui.data.model import NS_PER_S, PS_PER_NS, Bools, Floats, Int64s, Steps, StepsOn
from powertui.data.opened import Opened, Profile
from powertui.data.quantiles import median_of_column
from powertui.data.tools import breakdown
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Of three or more members: TensorBoard's suggestions take a modified z score beyond 3.5 as an
# outlier; 0.6745 makes the median absolute deviation comparable with a standard deviation.
_MAX_Z_SCORE = 3.5
_MAD_TO_SIGMA = 0.6745
# Of two members the slower one holds the other up where it is slower in 90 % of the steps.
# Chosen, not measured.
_MIN_SLOWER_SHARE = 0.9
# However many there are, less than 2 % of a step holds nobody up. Chosen, not measured.
_MIN_EXCESS_SHARE = 0.02
_MIN_STEPS = 8  # fewer show no pattern; chosen, not measured
# A step differs from the others beyond so many median absolute deviations. Chosen, not measured.
_MAX_DEVIATIONS = 3.0
_MAX_WORST_STEPS = 5  # listed of each straggler
# Clocks of the machines of one cluster are seconds apart, or hours where a zone is wrong. Chosen.
_COPIED_AT = "file time"  # the source of a clock that says no more than when a file was written
_MAX_APART_NS = 86_400 * NS_PER_S
_MAX_SHIFT = 512  # steps by which two hosts may be apart, either way


@dataclass(frozen=True, eq=False)
class CommonSteps:
    """Common steps of several hosts. `rows[host][i]`: which of its steps the i-th common one is."""

    hosts: tuple[str, ...]
    steps: tuple[Breakdown, ...]
    rows: tuple[Int64s, ...]
    chief: int
    by: str  # "number" or "overlap"
    # [common steps × hosts]: profiles that do not show how long their host waited. Its whole step
    # would look like work that holds the others up. None: all show it.
    unknown_waits: Bools | None = None

    @property
    def known_waits(self) -> Bools:
        """[common steps × hosts]: whether it is known how long a host waited."""
        if self.unknown_waits is None:
            return np.ones((self.count, len(self.hosts)), np.bool_)
        return ~self.unknown_waits

    @property
    def count(self) -> int:
        """Common steps."""
        if self.rows:
            return len(self.rows[0])
        return 0

    def lengths(self) -> Int64s:
        """[common steps × hosts], ps."""
        columns = [steps.length[rows] for steps, rows in zip(self.steps, self.rows, strict=True)]
        return np.stack(columns, axis=1)

    def lengths_without_collectives(self) -> Int64s:
        """The same without the time in which whoever is early waits."""
        return self.lengths() - self.waits()

    def waits(self) -> Int64s:
        """The time in collectives, in which whoever is early waits."""
        waits = [
            steps.category("collectives")[rows]
            for steps, rows in zip(self.steps, self.rows, strict=True)
        ]
        return np.stack(waits, axis=1)

    def comparison(self) -> HostComparison:
        """The hosts whose waits are known in half of the steps, and the steps in which they are
        known of all of these.
        """
        known = self.known_waits
        members = np.flatnonzero(2 * known.sum(axis=0) >= self.count)
        steps = np.flatnonzero(known[:, members].all(axis=1))
        times = self.lengths_without_collectives()[np.ix_(steps, members)]
        return HostComparison(members, steps, times)

    def combined(self) -> Breakdown:
        """The run's steps: of each common one, that of the host that took longest."""
        lengths: list[int] = []
        parts: list[Int64s] = []
        for common_step, slowest in enumerate(self.lengths().argmax(axis=1).tolist()):
            steps = self.steps[slowest]
            row = int(self.rows[slowest][common_step])
            lengths.append(int(steps.length[row]))
            parts.append(steps.parts[row])
        chief = self.steps[self.chief]
        chief_rows = self.rows[self.chief]
        return Breakdown(
            names=[chief.names[row] for row in chief_rows.tolist()],
            start=chief.start[chief_rows],
            length=np.array(lengths, np.int64),
            parts=np.array(parts, np.int64).reshape(len(parts), -1),
            compat=chief.compat,
            has_device=any(steps.has_device for steps in self.steps),
            by=chief.by,
            tracing=chief.tracing,
        )


class Straggler(NamedTuple):
    """A member that holds the others up: its mean excess, and the common steps in which it is
    worst.
    """

    member: int
    excess: float  # ps a step, over the median of all
    share: float  # of a step
    slowest: int  # steps in which it was the slowest
    worst: tuple[int, ...]  # common steps, the worst first


class HostComparison(NamedTuple):
    """The own work of those hosts that can be compared."""

    members: Int64s  # which hosts of the run
    steps: Int64s  # which common steps
    times: Int64s  # [steps × members], ps, without collectives

    def stragglers(self) -> list[Straggler]:
        """The hosts that hold the others up, numbered as in the run, the worst first."""
        return [
            straggler._replace(
                member=int(self.members[straggler.member]),
                worst=tuple(self.steps[list(straggler.worst)].tolist()),
            )
            for straggler in stragglers(self.times)
        ]


def together(opened: Opened, compat: Compat) -> CommonSteps | None:
    """The hosts of a run with steps; None where fewer than two have some, or none in common."""
    return opened.cached(
        ("hosts", compat), lambda: _together(opened, compat, breakdown.step_breakdown)
    )


def uncut_together(opened: Opened, compat: Compat) -> CommonSteps | None:
    """The same with the steps that today's converter leaves out elsewhere."""
    return opened.cached(
        ("uncut hosts", compat), lambda: _together(opened, compat, breakdown.uncut_breakdown)
    )


def steps_in_window(question: Question) -> Breakdown:
    """The steps that touch the window that is asked about; all of them where none is."""
    steps = _steps_of(question)
    if question.lo is None and question.hi is None:
        return steps
    return steps.take(touches(steps.start, steps.start + steps.length, *question.window))


def _steps_of(question: Question) -> Breakdown:
    """The steps of the host that is asked, or of all of them together: of a step that of the host
    that took longest.
    """
    if not question.together:
        return breakdown.step_breakdown(question.profile, question.compat)
    common = together(question.opened, question.compat)
    if common is not None:
        return common.combined()
    every = [
        breakdown.step_breakdown(profile, question.compat) for profile in question.opened.profiles
    ]
    for steps in every:
        if len(steps):
            return steps
    return every[0]


def _together(
    opened: Opened,
    compat: Compat,
    broken_down: Callable[[Profile, Compat], Breakdown],
) -> CommonSteps | None:
    profiles: list[Profile] = []
    every: list[Breakdown] = []
    for profile in opened.profiles:
        steps = broken_down(profile, compat)
        if len(steps):
            profiles.append(profile)
            every.append(steps)
    if len(every) < 2:
        return None
    # TensorBoard's chief: the host with the shortest span.
    chief = int(np.argmin([_span(steps) for steps in every]))
    by, rows = "number", None
    if compat == "corrected":
        rows = _by_number(
            [_numbers(steps, profile.steps) for profile, steps in zip(profiles, every, strict=True)]
        )
    # Numbers that the programs gave match steps whatever the clocks say.
    is_numbered = rows is not None and not any(profile.steps.inferred for profile in profiles)
    # The converter's rules lay any two files of a folder on each other, and its modes do, too.
    if compat == "corrected" and not is_numbered and are_days_apart(profiles):
        return None
    if rows is None:
        by = "overlap"
        rows = _by_overlap(every, chief)
    if not len(rows[0]):
        return None
    common = CommonSteps(
        hosts=tuple(profile.host for profile in profiles),
        steps=tuple(every),
        rows=tuple(rows),
        chief=chief,
        by=by,
    )
    return replace(common, unknown_waits=_unknown_waits(common, profiles))


def are_days_apart(profiles: Sequence[Profile]) -> bool:
    """Whether two of them were recorded on different days by what their clocks know. Such profiles
    lie in one folder and are no hosts of one run: nothing says which of their steps is which.
    """
    spans = []
    for profile in profiles:
        clock = profile.trace.clock
        if clock.lo_ns is None or clock.hi_ns is None or clock.source == _COPIED_AT:
            continue
        lo, hi = profile.trace.span
        spans.append((clock.lo_ns + lo // PS_PER_NS, clock.hi_ns + hi // PS_PER_NS))
    if len(spans) < 2:
        return False
    latest_start = max(start for start, _ in spans)
    earliest_end = min(end for _, end in spans)
    return latest_start - earliest_end > _MAX_APART_NS


def _unknown_waits(common: CommonSteps, profiles: Sequence[Profile]) -> Bools | None:
    """Where the profile of a host is incomplete; and where half of the hosts waited in collectives,
    and that of another shows none at all around this step: it recorded no device. One that shows
    some hid them behind work.
    """
    is_cut = np.array([bool(profile.trace.missing) for profile in profiles])
    without = _without_waits(common, profiles)
    if not is_cut.any():
        return without
    return np.broadcast_to(is_cut, common.waits().shape) | (False if without is None else without)


def _without_waits(common: CommonSteps, profiles: Sequence[Profile]) -> Bools | None:
    has_waits = common.waits() > 0
    expected = 2 * has_waits.sum(axis=1) >= len(common.hosts)
    unknown: Bools = expected[:, None] & ~has_waits
    if not unknown.any():
        return None
    from powertui.data.run.rank_collectives import known_host_calls  # only of a cut profile

    for member in np.flatnonzero(unknown.any(axis=0)).tolist():
        calls = known_host_calls(profiles[member].trace)
        if not calls:
            continue
        first = min(int(rank.start[0]) for rank in calls)
        last = max(int(rank.end.max()) for rank in calls)
        steps, rows = common.steps[member], common.rows[member]
        start = steps.start[rows]
        unknown[:, member] &= (start > last) | (start + steps.length[rows] < first)
    return unknown


def _span(steps: Breakdown) -> int:
    return int((steps.start + steps.length).max() - steps.start.min())


def _numbers(measured: Breakdown, steps: Steps) -> Int64s | None:
    """Number and round of each step as one; None where not every step has a number of its own."""
    if len(measured) != len(steps) or (steps.number < 0).any():
        return None
    numbers_per_epoch = int(steps.number.max()) + 1
    epoch = steps.epoch.astype(np.int64) + 1  # -1 outside epochs
    keys = steps.number + epoch * numbers_per_epoch
    if len(wire.distinct(keys)) == len(keys):
        return keys
    return None


def _by_number(numbers: Sequence[Int64s | None]) -> list[Int64s] | None:
    """The rows of the common numbers in each column.

    None where a host has no numbers, or where fewer than half are common: those are not one
    training's numbers.
    """
    columns = [column for column in numbers if column is not None]
    if len(columns) < len(numbers):
        return None
    common = _common(columns)
    fewest = min(len(column) for column in columns)
    if 2 * len(common) < fewest:
        return None
    return [_rows_of(common, column) for column in columns]


def _common(columns: Sequence[Int64s]) -> Int64s:
    """The values that are in every column, as the first one has them."""
    common = columns[0]
    for column in columns[1:]:
        common = common[np.isin(common, column)]
    return common


def _rows_of(values: Int64s, column: Int64s) -> Int64s:
    """Where each of these values is in a column that holds them all."""
    order = np.argsort(column, kind="stable")
    return order[column[order].searchsorted(values)]


def _by_overlap(every: Sequence[Breakdown], chief: int) -> list[Int64s]:
    """The rows of the common steps of each host: step i of the chief is step i + shift of a host.

    Common are the steps that every host has.
    """
    shifts = [
        0 if host == chief else _shift(every[chief], steps) for host, steps in enumerate(every)
    ]
    first = max(0, -min(shifts))
    last = min(len(steps) - shift for steps, shift in zip(every, shifts, strict=True))
    common = np.arange(first, max(first, last))
    return [common + shift for shift in shifts]


def _shift(chief: Breakdown, host: Breakdown) -> int:
    """The shift at which most of the steps' time overlaps; the first of equals, in the order 0, 1,
    2 …, -1, -2 …
    """
    best_shift = 0
    best_overlap = -1
    forward = range(min(_MAX_SHIFT, len(host)))
    backward = range(-1, -min(_MAX_SHIFT, len(chief)), -1)
    chief_end = chief.start + chief.length
    host_end = host.start + host.length
    for shift in (*forward, *backward):
        chief_first = max(0, -shift)
        host_first = max(0, shift)
        count = min(len(chief) - chief_first, len(host) - host_first)
        if count <= 0:
            continue
        chief_rows = slice(chief_first, chief_first + count)
        host_rows = slice(host_first, host_first + count)
        start = np.maximum(chief.start[chief_rows], host.start[host_rows])
        end = np.minimum(chief_end[chief_rows], host_end[host_rows])
        overlap = int(np.maximum(0, end - start).sum())
        if overlap > best_overlap:
            best_shift, best_overlap = shift, overlap
    return best_shift


def devices(steps: Steps) -> tuple[tuple[str, ...], Int64s, Int64s] | None:
    """(names, rows of the steps that all of them ran, work [steps × devices]) of one host; None for
    fewer than two devices.
    """
    devices = [part for part in steps.on if part.kind == "device" and _is_complete(part)]
    if len(devices) < 2:
        return None
    common = _common([device.row for device in devices])
    if not len(common):
        return None
    columns = [device.work[_rows_of(common, device.row)] for device in devices]
    return tuple(device.name for device in devices), common, np.stack(columns, axis=1)


def _is_complete(device: StepsOn) -> bool:
    """Whether it has the work of each of its steps, and each step once."""
    return bool((device.work >= 0).all()) and len(wire.distinct(device.row)) == len(device)


# ── who holds the others up ──────────────────────────────────────────────────────────────────────


def stragglers(times: Int64s) -> list[Straggler]:
    """Of times [steps × members]: the members that take longer than the others, the worst first."""
    count, members = times.shape
    if members < 2 or count < _MIN_STEPS:
        return []
    # Against the median of each step, so that a step that is long for all blames nobody.
    excess = times - np.median(times, axis=1)[:, None]
    means = times.mean(axis=0)
    usual_step = max(1.0, median_of_column(means))
    times_slowest = np.bincount(times.argmax(axis=1), minlength=members)
    stragglers = []
    for member in np.flatnonzero(_slow(times, means)).tolist():
        others = np.delete(means, member)
        mean_excess = float(means[member] - np.median(others))
        stragglers.append(
            Straggler(
                member=member,
                excess=mean_excess,
                share=mean_excess / usual_step,
                slowest=int(times_slowest[member]),
                worst=_worst_steps(excess[:, member]),
            )
        )
    return sorted(stragglers, key=lambda straggler: -straggler.excess)


def _worst_steps(excess: Floats) -> tuple[int, ...]:
    """The steps in which a member's excess differs from its usual one, the worst first."""
    usual = np.median(excess)
    deviation = max(1.0, median_of_column(np.abs(excess - usual)))
    differs = excess > usual + _MAX_DEVIATIONS * deviation
    worst = np.argsort(-excess, kind="stable")[:_MAX_WORST_STEPS]
    return tuple(worst[differs[worst]].tolist())


def _slow(times: Int64s, means: Floats) -> Bools:
    """Which members hold the others up."""
    median = median_of_column(means)
    min_excess = _MIN_EXCESS_SHARE * median
    if len(means) == 2:
        # Of two there is no usual one: who is nearly always the slower holds the other up.
        slower = int(means.argmax())
        faster = 1 - slower
        share_slower = float((times[:, slower] > times[:, faster]).mean())
        difference = abs(float(means[0] - means[1]))
        slow = np.zeros(2, np.bool_)
        slow[slower] = share_slower >= _MIN_SLOWER_SHARE and difference > min_excess
        return slow
    excess = means - median
    deviation = median_of_column(np.abs(excess))
    if deviation:
        score = _MAD_TO_SIGMA * excess / deviation
    else:  # all but a few take exactly the same time
        score = np.where(excess > 0, np.inf, 0.0)
    return np.asarray((score > _MAX_Z_SCORE) & (excess > min_excess))
