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
        columns = []
        for steps, rows in zip(self.steps, self.rows, strict=True):
            columns.append(steps.length[rows])
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
        waits_by_host = known.sum(axis=0)
        members = np.flatnonzero(2 * waits_by_host >= self.count)
        is_known = known[:, members].all(axis=1)
        steps = np.flatnonzero(is_known)
        lengths = self.lengths_without_collectives()
        times = lengths[np.ix_(steps, members)]
        return HostComparison(members, steps, times)

    def combined(self) -> Breakdown:
        """The run's steps: of each common one, that of the host that took longest."""
        lengths: list[int] = []
        parts: list[Int64s] = []
        slowest_host = self.lengths().argmax(axis=1)
        for common_step, slowest in enumerate(slowest_host.tolist()):
            steps = self.steps[slowest]
            rows = self.rows[slowest]
            row = int(rows[common_step])
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
    lo, hi = question.window
    end = steps.start + steps.length
    return steps.take(touches(steps.start, end, lo, hi))


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
    from powertui.data.tools import matched_steps  # most runs have one host

    # TensorBoard's chief: the host with the shortest span.
    chief = int(np.argmin([_span(steps) for steps in every]))
    by = "number"
    rows = None
    if compat == "corrected":
        numbers = []
        for profile, steps in zip(profiles, every, strict=True):
            numbers.append(matched_steps.step_numbers(steps, profile.steps))
        rows = matched_steps.rows_by_number(numbers)
    # Numbers that the programs gave match steps whatever the clocks say.
    is_numbered = rows is not None and not any(profile.steps.inferred for profile in profiles)
    # The converter's rules lay any two files of a folder on each other, and its modes do, too.
    if compat == "corrected" and not is_numbered and are_days_apart(profiles):
        return None
    if rows is None:
        by = "overlap"
        rows = matched_steps.rows_by_overlap(every, chief)
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
        lo_ns = clock.lo_ns + lo // PS_PER_NS
        hi_ns = clock.hi_ns + hi // PS_PER_NS
        spans.append((lo_ns, hi_ns))
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
    is_unknown = np.broadcast_to(is_cut, common.waits().shape)
    if without is None:
        return is_unknown
    return is_unknown | without


def _without_waits(common: CommonSteps, profiles: Sequence[Profile]) -> Bools | None:
    has_waits = common.waits() > 0
    waiting_hosts = has_waits.sum(axis=1)
    expected = 2 * waiting_hosts >= len(common.hosts)
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
        steps = common.steps[member]
        rows = common.rows[member]
        start = steps.start[rows]
        end = start + steps.length[rows]
        has_no_calls = (start > last) | (end < first)
        unknown[:, member] &= has_no_calls
    return unknown


def _span(steps: Breakdown) -> int:
    end = steps.start + steps.length
    return int(end.max() - steps.start.min())


def devices(steps: Steps) -> tuple[tuple[str, ...], Int64s, Int64s] | None:
    """(names, rows of the steps that all of them ran, work [steps × devices]) of one host; None for
    fewer than two devices.
    """
    devices = []
    for part in steps.on:
        if part.kind == "device" and _is_complete(part):
            devices.append(part)
    if len(devices) < 2:
        return None
    from powertui.data.tools import matched_steps  # most hosts have one device

    common = matched_steps.common_values([device.row for device in devices])
    if not len(common):
        return None
    columns = []
    for device in devices:
        rows = matched_steps.rows_of_values(common, device.row)
        columns.append(device.work[rows])
    names = tuple(device.name for device in devices)
    return names, common, np.stack(columns, axis=1)


def _is_complete(device: StepsOn) -> bool:
    """Whether it has the work of each of its steps, and each step once."""
    has_all_work = bool((device.work >= 0).all())
    return has_all_work and len(wire.distinct(device.row)) == len(device)


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
    deviations = np.abs(excess - usual)
    deviation = max(1.0, median_of_column(deviations))
    differs = excess > usual + _MAX_DEVIATIONS * deviation
    worst_first = np.argsort(-excess, kind="stable")
    worst = worst_first[:_MAX_WORST_STEPS]
    return tuple(worst[differs[worst]].tolist())


def _slow(times: Int64s, means: Floats) -> Bools:
    """Which members hold the others up."""
    median = median_of_column(means)
    min_excess = _MIN_EXCESS_SHARE * median
    if len(means) == 2:
        # Of two there is no usual one: who is nearly always the slower holds the other up.
        slower = int(means.argmax())
        faster = 1 - slower
        is_slower = times[:, slower] > times[:, faster]
        share_slower = float(is_slower.mean())
        difference = abs(float(means[0] - means[1]))
        is_usual = share_slower >= _MIN_SLOWER_SHARE
        slow = np.zeros(2, np.bool_)
        slow[slower] = is_usual and difference > min_excess
        return slow
    excess = means - median
    deviation = median_of_column(np.abs(excess))
    if deviation:
        score = _MAD_TO_SIGMA * excess / deviation
    else:  # all but a few take exactly the same time
        score = np.where(excess > 0, np.inf, 0.0)
    is_outlier = score > _MAX_Z_SCORE
    return np.asarray(is_outlier & (excess > min_excess))
