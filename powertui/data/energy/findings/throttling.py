"""Stretches in which a run was held back by a limit of power, or throttled.

They are windows `throttled: …` of a recording, and power that stays at the limit recorded beside
it. What is held back draws less, and takes longer, than the trace lets one expect. Its reason is
known: it is a finding of its own, and none of its power counts as unexplained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import marks, settings
from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.finding import LIMIT, Finding, time_finding
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Badge,
    Bools,
    Floats,
    Int64s,
    PowerOnTrace,
    PowerSeries,
    Steps,
)
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_THROTTLED = "throttled: "  # how the recorder names such windows: "throttled: CHANNEL (REASON)"
# All of these are chosen, not measured.
MAX_LISTED_STRETCHES = 20  # the longest ones
_AT_LIMIT_SHARE = settings.SLIGHT_SHARE  # of the limit: a reading this near to it is at it
# Less is a reading that happens to be there.
_MIN_LIMITED_S, _MIN_LIMITED_READINGS = settings.MOMENT_S, settings.MIN_REPEATS
_BRIDGED_S = settings.MOMENT_S  # a regulator lets power off its limit for moments
_MIN_AT_LIMIT = settings.LARGE_SHARE  # of the readings of a stretch
# Of a stretch of unexpected power, for the limit to explain it.
_MIN_INSIDE = settings.MAJORITY_SHARE
_MIN_SIGMAS = 2.0  # that steps took longer
_MIN_USUAL_STEPS = settings.MIN_REPEATS  # that show how long one usually takes


@dataclass(frozen=True)
class ThrottledStretch:
    """One stretch in which something was held back (ps on the trace)."""

    start_ps: int
    end_ps: int
    why: tuple[str, ...]  # in words
    sure: bool = True  # where it lies is known


class _Run(NamedTuple):
    lo: int  # rows of the series, both included
    hi: int
    watts: float  # its limit


def throttled_stretches(power: Iterable[PowerOnTrace]) -> tuple[ThrottledStretch, ...]:
    """What the recordings on a trace report, by time; stretches that overlap are one."""
    placed = [channel for channel in power if channel.status != "none"]
    stretches = _marked(placed)
    for channel in placed:
        if len(channel.times) != len(channel.series.times):
            continue
        for run in _at_limit(channel.series):
            mean = float(np.nanmean(channel.series.watts[run.lo : run.hi + 1]))
            name = channel.series.sensor.channel
            text = f"{name} drew {mean:.0f} W at its limit of {run.watts:.0f} W"
            stretches.append(
                ThrottledStretch(
                    start_ps=int(channel.times[run.lo]),
                    end_ps=int(channel.times[run.hi]),
                    why=(text,),
                    sure=channel.status == "aligned",
                )
            )
    return _joined(stretches)


def _marked(placed: Sequence[PowerOnTrace]) -> list[ThrottledStretch]:
    """The windows that recorders named as throttled."""
    stretches = []
    for (path, mark), at in marks.by_log(placed).items():
        if not mark.name.startswith(_THROTTLED):
            continue
        if at.end_ps is None or at.end_ps <= at.start_ps:
            continue
        why = f"throttled ({mark.name.removeprefix(_THROTTLED)})"
        channels = [channel for channel in placed if channel.series.path == path]
        sure = all(channel.status == "aligned" for channel in channels)
        stretches.append(
            ThrottledStretch(
                start_ps=at.start_ps,
                end_ps=at.end_ps,
                why=(why,),
                sure=sure,
            )
        )
    return stretches


def _joined(stretches: Sequence[ThrottledStretch]) -> tuple[ThrottledStretch, ...]:
    out: list[ThrottledStretch] = []
    for stretch in sorted(stretches, key=lambda stretch: stretch.start_ps):
        if out and stretch.start_ps <= out[-1].end_ps:
            last = out[-1]
            out[-1] = ThrottledStretch(
                start_ps=last.start_ps,
                end_ps=max(last.end_ps, stretch.end_ps),
                why=tuple(dict.fromkeys((*last.why, *stretch.why))),
                sure=last.sure and stretch.sure,
            )
        else:
            out.append(stretch)
    return tuple(out)


def _at_limit(series: PowerSeries) -> list[_Run]:
    """Stretches of readings at the limit that held then."""
    if not series.limits:
        return []
    limit = _limit_of_readings(series)
    with np.errstate(invalid="ignore"):
        below_limit = np.abs(series.watts - limit)
        at_limit = below_limit <= _AT_LIMIT_SHARE * limit
    rows = np.flatnonzero(at_limit)
    if not len(rows):
        return []
    gaps_s = np.diff(series.times[rows]) / NS_PER_S
    between = np.diff(rows) - 1
    limits = limit[rows]
    changed = limits[1:] != limits[:-1]
    broken = (between > 1) & (gaps_s > _BRIDGED_S) | changed
    cuts = np.flatnonzero(broken) + 1
    runs = []
    for part in np.split(rows, cuts):
        first = int(part[0])
        last = int(part[-1])
        length_ns = series.times[last] - series.times[first]
        if len(part) < _MIN_LIMITED_READINGS or length_ns < _MIN_LIMITED_S * NS_PER_S:
            continue
        if len(part) >= _MIN_AT_LIMIT * (last - first + 1):
            runs.append(_Run(first, last, float(limit[first])))
    return runs


def _limit_of_readings(series: PowerSeries) -> Floats:
    """The limit (W) that held at each reading; NaN before the first."""
    starts = [limit.start_ns for limit in series.limits]
    watts = np.array([limit.watts for limit in series.limits])
    which = np.searchsorted(starts, series.times, side="right") - 1
    is_set = which >= 0
    return np.where(is_set, watts[np.maximum(which, 0)], np.nan)


# ── what it means for the findings ───────────────────────────────────────────────────────────────


def without(
    findings: Sequence[Finding],
    throttled: Sequence[ThrottledStretch],
    span: tuple[int, int],
) -> list[Finding]:
    """The same without power that a limit explains.

    That is less power where a limit held, and more in the rest where it held mostly.
    """
    rest = []
    for finding in findings:
        if finding.kind != "power" or not _explained(finding, throttled, span):
            rest.append(finding)
    return rest


def _explained(
    finding: Finding,
    throttled: Sequence[ThrottledStretch],
    span: tuple[int, int],
) -> bool:
    start = finding.start_ps
    end = finding.end_ps
    length = end - start
    share_inside = _throttled_ps(throttled, start, end) / max(length, 1)
    if (finding.delta_watts or 0.0) < 0:
        return share_inside >= _MIN_INSIDE
    lo = min(span[0], start)
    hi = max(span[1], end)
    around = _throttled_ps(throttled, lo, start) + _throttled_ps(throttled, end, hi)
    held_mostly = around >= _MIN_INSIDE * max((hi - lo) - length, 1)
    return share_inside < 1 - _MIN_AT_LIMIT and held_mostly


def _throttled_ps(
    throttled: Sequence[ThrottledStretch],
    lo: int,
    hi: int,
) -> int:
    """How much of a stretch was held back, ps."""
    total = 0
    for stretch in throttled:
        total += max(0, min(stretch.end_ps, hi) - max(stretch.start_ps, lo))
    return total


def finding(
    stretch: ThrottledStretch,
    throttled: Sequence[ThrottledStretch],
    steps: Steps,
    rows: Int64s,
) -> Finding:
    """The stretch as a finding; `rows` are its steps."""
    return replace(bare_finding(stretch), delta_seconds=_longer(throttled, steps, rows))


def bare_finding(stretch: ThrottledStretch) -> Finding:
    """The stretch as a finding where no steps are known."""
    badge = Badge.MEASURED if stretch.sure else Badge.ESTIMATED
    finding = time_finding(
        start_ps=stretch.start_ps,
        end_ps=stretch.end_ps,
        witness=LIMIT,
        p=0.0,
        badge=badge,
    )
    return replace(finding, explained=True)


def sentence(
    stretch: ThrottledStretch,
    where: str,
    cost_s: float | None,
    step_count: int,
) -> str:
    """In words."""
    length = (stretch.end_ps - stretch.start_ps) / PS_PER_S
    text = f"{where}: held back for {length:.1f} s: {'; '.join(stretch.why)}"
    if cost_s is None or not step_count:
        return text
    steps = "its step" if step_count == 1 else f"its {step_count} steps"
    return f"{text}; {steps} took {cost_s:+.2f} s against steps that nothing held back"


def _longer(
    throttled: Sequence[ThrottledStretch],
    steps: Steps,
    rows: Int64s,
) -> float | None:
    """Seconds that its steps took longer than those that nothing held back; None where that is not
    known.
    """
    lengths = neighbours.seconds(steps)
    free = _free(throttled, steps)
    more = 0.0
    variance = 0.0
    for group in neighbours.groups(steps):
        is_limited = np.isin(group, rows)
        limited = lengths[group[is_limited]]
        if not len(limited):
            continue
        lengths_of_group = lengths[group]
        comparable = free[group] & neighbours.regular(lengths_of_group)
        usual = lengths_of_group[comparable]
        if len(usual) < _MIN_USUAL_STEPS:
            return None
        middle = median_of_column(usual)
        deviation = median_of_column(np.abs(usual - middle))
        spread = max(MEDIAN_TO_SIGMA * deviation, 1e-9)
        more += float((limited - middle).sum())
        # Of the steps themselves, and of the median that all of them are compared with.
        count = len(limited)
        variance += count * spread**2 + (count * spread) ** 2 / len(usual)
    if not len(rows) or abs(more) <= _MIN_SIGMAS * variance**0.5:
        return None
    return more


def _free(throttled: Sequence[ThrottledStretch], steps: Steps) -> Bools:
    """Which steps nothing held back: the stretches lie apart from each other, by time."""
    count = len(throttled)
    if not count:
        return np.ones(len(steps), np.bool_)
    begin = np.array([stretch.start_ps for stretch in throttled], np.int64)
    end = np.array([stretch.end_ps for stretch in throttled], np.int64)
    following = np.searchsorted(end, steps.start, side="right")
    is_after_all = following == count
    next_begin = begin[np.minimum(following, count - 1)]
    return np.asarray(is_after_all | (next_begin >= steps.ends()))
