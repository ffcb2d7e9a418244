"""Where a power log is on a trace, how sure that is, and what may be asked to find it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from powertui import units
from powertui.data.energy import expected_work, meeting, placing, settings
from powertui.data.energy.hostnames import MAX_LISTED_NAMES
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Epochs,
    LogPlace,
    PowerOnTrace,
    PowerSeries,
    Steps,
    Trace,
)
from powertui.value_types import dataclass

if TYPE_CHECKING:  # names alone: many ask for an alignment, and few make one
    from powertui.data.energy.alignment_places import Fit, Where
    from powertui.data.energy.clock_check import Status
    from powertui.data.energy.window_shares import WindowShares

# What the timeline and the integrals ask: whether one place is as good as sure.
_STATUS_ON_TRACE: dict[Status, Literal["aligned", "ambiguous", "none"]] = {
    "aligned": "aligned",
    "clock corrected": "aligned",
    "ambiguous": "ambiguous",
    "cannot tell": "ambiguous",
    "none": "none",
}

# ── sources ──
CLOCKS, MARKER = "wall clocks of both", "powerboard marker"
LOCAL, SIGNAL = "local time, zone found", "by signal"
OFFSET, PINNED, _NOTHING = "set by hand", "pinned by hand", "none"
OWN_CLOCK = "its own clock"  # of a log that nothing ties to wall time, alone on its axis

# Of a training: a profile that covers less of it says less of where a log is than the records of
# the whole do. Chosen: half of it.
MIN_COVERED_SHARE = settings.MAJORITY_SHARE


# Processors keep their voltage and clock for about so long after their work ended: whether power
# falls in a shorter pause, nobody knows beforehand. Chosen between the ms of a launch and the
# seconds after which every machine rests.
_MAX_POWERED_PAUSE_S = 0.25
# Of a profile: what is paused less moves no place by more than noise does. Chosen.
_MIN_PAUSED_SHARE = settings.SAME_LEVEL_SHARE


@dataclass(frozen=True)
class Alignment:
    """Where the log's zero lies on the trace (s), and why. Without evidence the times are None."""

    offset_s: float | None
    lo_s: float | None
    hi_s: float | None
    status: Status
    source: str
    evidence: tuple[str, ...]
    ppm: float = 0.0
    fit: Fit | None = None
    # Where it is not sure: every place in question, the likeliest (`offset_s`) first.
    places: tuple[Where, ...] = ()
    # The sentence of a log that does not meet the run: it is another run's, and nothing places it
    # here.
    elsewhere: str = ""
    # What was added to the times that the log's clock gives.
    correction_s: float = 0.0
    clock_owner: str = ""  # whose clock places it, "the BMC"; "" where none was asked
    confirmed: bool = False  # whether the readings agree with that clock
    power_sigma_s: float | None = None  # of when its power was, where readings show that
    advice: str = ""  # what would show where the log belongs, where that is in doubt

    @property
    def is_sure(self) -> bool:
        """Whether readings or clocks leave one place."""
        return self.status in ("aligned", "clock corrected")

    @property
    def is_by_hand(self) -> bool:
        """Whether a person says where the log is, or by how much it is elsewhere."""
        return self.source in (OFFSET, PINNED)

    @property
    def is_doubtful(self) -> bool:
        """Whether the log may be elsewhere, or nothing shows that it is not."""
        return self.status in ("ambiguous", "cannot tell")

    def moved(self, by_s: float) -> Alignment:
        """The same for a log whose zero lies `by_s` later."""
        if self.offset_s is None or self.lo_s is None or self.hi_s is None:
            return self
        return replace(
            self,
            offset_s=self.offset_s + by_s,
            lo_s=self.lo_s + by_s,
            hi_s=self.hi_s + by_s,
            places=tuple(place._replace(offset_s=place.offset_s + by_s) for place in self.places),
        )

    def nudged(self, by_s: float) -> Alignment:
        """The same, shifted by hand."""
        if self.offset_s is None or not by_s:
            return self
        evidence = (*self.evidence, f"shifted by hand by {by_s:+.3f} s")
        return replace(self.moved(by_s), source=OFFSET, evidence=evidence, power_sigma_s=None)

    def as_dict(self) -> dict[str, Any]:
        """As `powertui energy --json` shows it."""
        shown: dict[str, Any] = {
            "offset_s": self.offset_s,
            "lo_s": self.lo_s,
            "hi_s": self.hi_s,
            "source": self.source,
            "status": self.status,
            "correction_s": self.correction_s,
            "evidence": list(self.evidence),
            "drift_ppm": self.ppm,
            "places": [
                {"offset_s": place.offset_s, "weight": place.weight} for place in self.places
            ],
        }
        if self.fit is not None:
            shown["fit"] = {
                "r2": self.fit.r2,
                "runner_up_s": self.fit.runner_up_s,
                "elsewhere": self.fit.elsewhere,
                "window_s": self.fit.window_s,
                "samples": self.fit.samples,
                "effective_samples": self.fit.effective,
                "watts": dict(self.fit.watts),
            }
        return shown


def unplaced(*evidence: str, elsewhere: str = "") -> Alignment:
    """No place, and why."""
    return Alignment(
        offset_s=None,
        lo_s=None,
        hi_s=None,
        status="none",
        source=_NOTHING,
        evidence=evidence,
        elsewhere=elsewhere,
    )


def elsewhere(series: PowerSeries, gap_ns: int, *evidence: str) -> Alignment:
    """No place, for the log does not meet the run: the sentence that says so, and what else is
    known of it.
    """
    sentence = meeting.not_used(series.path, gap_ns)
    return unplaced(sentence, *evidence, elsewhere=sentence)


def places_in_words(places: Sequence[Where]) -> list[str]:
    """The likeliest of several places; nothing of one."""
    if len(places) < 2:
        return []
    by_weight = sorted(places, key=lambda place: -place.weight)
    shown = [
        f"{place.offset_s:.2f} s ({units.percent(place.weight)})"
        for place in by_weight[:MAX_LISTED_NAMES]
    ]
    rest = len(places) - len(shown)
    more = f" and {rest} more" if rest else ""
    sentence = (
        f"it may be at {', '.join(shown)}{more}; joules are computed over all of these places, "
        "weighted by probability"
    )
    return [sentence]


# ── a channel on a trace ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Placed:
    """One channel on one trace."""

    power: PowerOnTrace
    alignment: Alignment


def placed(series: PowerSeries, alignment: Alignment) -> Placed:
    """A channel where an alignment puts it."""
    return Placed(put_on_trace(series, alignment), alignment)


def put_on_trace(series: PowerSeries, alignment: Alignment) -> PowerOnTrace:
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        return placing.on_trace(
            series=series,
            offset_ps=0,
            lo_ps=-placing.FARTHEST_PS,
            hi_ps=placing.FARTHEST_PS,
            status="none",
            source=alignment.source,
        )
    on_axis = series
    if alignment.ppm:
        drift_ns = np.round(series.times * (alignment.ppm * 1e-6)).astype(np.int64)
        on_axis = replace(series, times=series.times + drift_ns)
    power = placing.on_trace(
        series=on_axis,
        offset_ps=round(alignment.offset_s * PS_PER_S),
        lo_ps=round(alignment.lo_s * PS_PER_S),
        hi_ps=round(alignment.hi_s * PS_PER_S),
        status=_STATUS_ON_TRACE[alignment.status],
        source=alignment.source,
        places=[_log_place(place) for place in alignment.places],
    )
    return replace(power, series=series, power_sigma_s=alignment.power_sigma_s)


def _log_place(place: Where) -> LogPlace:
    offset_ps = round(place.offset_s * PS_PER_S)
    half_ps = round(place.half_s * PS_PER_S)
    return LogPlace(offset_ps, place.weight, half_ps)


def moved(channel: Placed, by_s: float) -> Placed:
    """The same channel, shifted by hand."""
    if channel.alignment.offset_s is None or not by_s:
        return channel
    return placed(channel.power.series, channel.alignment.nudged(by_s))


def shifted(power: PowerOnTrace, by_ps: int) -> PowerOnTrace:
    """A placed channel moved by hand, without looking for evidence again."""
    return placing.shifted(power, by_ps, source=OFFSET, power_sigma_s=None)


# ── what may be looked at ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class AlignmentContext:
    """What alignment may look at beside the two logs."""

    trace: Trace
    steps: Steps
    epochs: Epochs
    logs: Callable[[], Sequence[EventLog]] = tuple  # read only when a marker is asked for
    # First and last moment of the training around the profile (Unix ns).
    around_ns: tuple[int, int] | None = None

    @functools.cached_property
    def training(self) -> tuple[int, int] | None:
        """When training ran (ps), as far as something says so to a second."""
        starts = []
        ends = [phase.end for phase in self.epochs.phases]
        for epoch in self.epochs:
            if epoch.start is not None and epoch.end is not None and epoch.slack < PS_PER_S:
                starts.append(epoch.start)
                ends.append(epoch.end)
        return (min(starts), max(ends)) if starts else None

    @property
    def span_with_training(self) -> tuple[int, int]:
        """First and last moment (ps) of the profile and of the training around it."""
        lo, hi = self.trace.span
        if self.training is None:
            return lo, hi
        return min(lo, self.training[0]), max(hi, self.training[1])

    @property
    def run_ns(self) -> tuple[int, int]:
        """First and last moment that the run may have had, by the profile's clock (Unix ns)."""
        clock = self.trace.clock
        assert clock.lo_ns is not None
        assert clock.hi_ns is not None
        lo, hi = self.span_with_training
        return clock.lo_ns + lo // PS_PER_NS, clock.hi_ns + hi // PS_PER_NS

    @property
    def meeting_ns(self) -> tuple[int, int]:
        """First and last moment of the run that a log has to meet (Unix ns).

        The ± of its clock is in the log's interval already.
        """
        zero = self.trace.clock.mid_ns
        lo, hi = whole_ns(self.span_with_training)
        first = zero + lo
        last = zero + hi
        if self.around_ns is None:
            return first, last
        return min(first, self.around_ns[0]), max(last, self.around_ns[1])

    @property
    def covers_training(self) -> bool:
        """Whether the profile shows more of the training than its records do."""
        if self.around_ns is None:
            return True
        length_ns = (self.trace.span[1] - self.trace.span[0]) / PS_PER_NS
        return length_ns > MIN_COVERED_SHARE * (self.around_ns[1] - self.around_ns[0])

    @functools.cached_property
    def step_s(self) -> float | None:
        """The usual distance of two steps."""
        distance = self.steps.usual_distance(min_count=3)
        return distance / PS_PER_S if distance is not None else None

    @functools.cached_property
    def activities(self) -> tuple[expected_work.Activity, ...]:
        return expected_work.activities(self.trace)

    def shares(self, least_s: float) -> WindowShares:
        return self._shares_of(self.activities, least_s)

    def shares_with_pauses(self, least_s: float) -> WindowShares | None:
        """The same with short pauses as work of its own; None of a profile that hardly has any."""
        activities = self._activities_with_pauses
        if activities is None:
            return None
        return self._shares_of(activities, least_s)

    @functools.cached_property
    def _activities_with_pauses(self) -> tuple[expected_work.Activity, ...] | None:
        longest_ps = round(_MAX_POWERED_PAUSE_S * PS_PER_S)
        activities = []
        paused_s = 0.0
        for activity in self.activities:
            with_pauses = expected_work.with_pauses_apart(activity, longest_ps)
            paused_s += with_pauses.seconds(expected_work.SHORT_PAUSES)
            activities.append(with_pauses)
        profile_s = (self.trace.span[1] - self.trace.span[0]) / PS_PER_S
        if paused_s < _MIN_PAUSED_SHARE * profile_s * max(len(activities), 1):
            return None
        return tuple(activities)

    def _shares_of(
        self,
        activities: Sequence[expected_work.Activity],
        least_s: float,
    ) -> WindowShares:
        from powertui.data.energy import window_shares

        return window_shares.shares(activities, self.trace.span, self.training, least_s=least_s)


def whole_ns(span: tuple[int, int]) -> tuple[int, int]:
    """A span in ps as whole ns that hold all of it."""
    return span[0] // PS_PER_NS, -(-span[1] // PS_PER_NS)
