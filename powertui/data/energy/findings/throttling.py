"""Where a run was held back: windows `throttled: …` of a recording, and power that stands at the
limit recorded beside it.

What is held back draws less, and takes longer, than the trace lets one expect. Its reason is known:
it is told as a finding of its own, and none of its power as unexplained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import marks
from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.finding import EPOCHS, LIMIT, UNEXPLAINED, Finding
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Badge,
    Bools,
    Int64s,
    PowerOnTrace,
    PowerSeries,
    Steps,
)

_THROTTLED = "throttled: "  # how the recorder names such windows: "throttled: CHANNEL (REASON)"
_AT = 0.02  # of the limit: that near to it is at it
_LEAST_S, _LEAST_READINGS = 1.0, 3  # less is a reading that happens to lie there
_BRIDGED_S = 1.0  # a regulator lets power off its limit for moments
_MOSTLY = 0.8  # of the readings of a stretch lie at the limit
_INSIDE = 0.5  # of a stretch that power stands out in
_SIGMAS = 2.0
_FEW = 3  # steps that tell how long one usually takes


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
    """What the recordings that lie on a trace tell, by time; stretches that overlap are one."""
    placed = [one for one in power if one.status != "none"]
    found = []
    for (path, mark), at in marks.by_log(placed).items():
        if mark.name.startswith(_THROTTLED) and at.end_ps is not None and at.end_ps > at.start_ps:
            sure = all(one.status == "aligned" for one in placed if one.series.path == path)
            found.append(
                ThrottledStretch(
                    at.start_ps,
                    at.end_ps,
                    (f"throttled ({mark.name.removeprefix(_THROTTLED)})",),
                    sure,
                )
            )
    for one in placed:
        if len(one.times) != len(one.series.times):
            continue
        for run in _at_limit(one.series):
            mean = float(np.nanmean(one.series.watts[run.lo : run.hi + 1]))
            text = (
                f"{one.series.sensor.channel} drew {mean:.0f} W at its limit of {run.watts:.0f} W"
            )
            found.append(
                ThrottledStretch(
                    int(one.times[run.lo]), int(one.times[run.hi]), (text,), one.status == "aligned"
                )
            )
    return _joined(found)


def _joined(found: Sequence[ThrottledStretch]) -> tuple[ThrottledStretch, ...]:
    out: list[ThrottledStretch] = []
    for one in sorted(found, key=lambda held: held.start_ps):
        if out and one.start_ps <= out[-1].end_ps:
            last = out[-1]
            why = tuple(dict.fromkeys((*last.why, *one.why)))
            out[-1] = ThrottledStretch(
                last.start_ps, max(last.end_ps, one.end_ps), why, last.sure and one.sure
            )
        else:
            out.append(one)
    return tuple(out)


def _at_limit(series: PowerSeries) -> list[_Run]:
    """Stretches of readings that stand at the limit which held then."""
    if not series.limits:
        return []
    which = np.searchsorted([cap.start_ns for cap in series.limits], series.times, side="right") - 1
    caps = np.array([cap.watts for cap in series.limits])
    limit = np.where(which >= 0, caps[np.maximum(which, 0)], np.nan)
    with np.errstate(invalid="ignore"):
        at = np.abs(series.watts - limit) <= _AT * limit
    rows = np.flatnonzero(at)
    if not len(rows):
        return []
    apart = np.diff(series.times[rows]) / NS_PER_S
    between = np.diff(rows) - 1
    broken = (between > 1) & (apart > _BRIDGED_S) | (limit[rows[1:]] != limit[rows[:-1]])
    parts = np.split(rows, np.flatnonzero(broken) + 1)
    return [
        _Run(int(one[0]), int(one[-1]), float(limit[one[0]]))
        for one in parts
        if len(one) >= _LEAST_READINGS
        and series.times[one[-1]] - series.times[one[0]] >= _LEAST_S * NS_PER_S
        and len(one) >= _MOSTLY * (one[-1] - one[0] + 1)
    ]


# ── what it means for the findings ───────────────────────────────────────────────────────────────


def without(
    found: Sequence[Finding], held: Sequence[ThrottledStretch], span: tuple[int, int]
) -> list[Finding]:
    """The same without what is known to come of a limit: less power where one held, and more in the
    rest where it held mostly.
    """
    return [one for one in found if one.kind != "power" or not _explained(one, held, span)]


def _explained(one: Finding, held: Sequence[ThrottledStretch], span: tuple[int, int]) -> bool:
    if not {UNEXPLAINED, EPOCHS} & set(one.witnesses):
        return False
    inside = _covered(held, one.start_ps, one.end_ps) / max(one.end_ps - one.start_ps, 1)
    if (one.delta_watts or 0.0) < 0:
        return inside >= _INSIDE
    lo, hi = min(span[0], one.start_ps), max(span[1], one.end_ps)
    rest = (hi - lo) - (one.end_ps - one.start_ps)
    around = _covered(held, lo, one.start_ps) + _covered(held, one.end_ps, hi)
    return inside < 1 - _MOSTLY and around >= _INSIDE * max(rest, 1)


def _covered(held: Sequence[ThrottledStretch], lo: int, hi: int) -> int:
    """How much of a stretch was held back, ps."""
    return sum(max(0, min(one.end_ps, hi) - max(one.start_ps, lo)) for one in held)


def finding(
    one: ThrottledStretch, held: Sequence[ThrottledStretch], steps: Steps, rows: Int64s
) -> Finding:
    """It as a finding; `rows` are its steps."""
    return replace(bare_finding(one), delta_seconds=_longer(held, steps, rows))


def bare_finding(one: ThrottledStretch) -> Finding:
    """It as a finding where no steps are known."""
    return Finding(
        "time",
        (LIMIT,),
        one.start_ps,
        one.end_ps,
        (one.start_ps,) * 2,
        (one.end_ps,) * 2,
        None,
        None,
        None,
        (),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        0.0,
        Badge.MEASURED if one.sure else Badge.ESTIMATED,
        explained=True,
    )


def sentence(one: ThrottledStretch, where: str, cost: float | None, steps: int) -> str:
    """In words."""
    length = (one.end_ps - one.start_ps) / PS_PER_S
    text = f"{where}: held back for {length:.1f} s: {'; '.join(one.why)}"
    if cost is not None and steps:
        text += (
            f"; {'its step' if steps == 1 else f'its {steps} steps'} took {cost:+.2f} s "
            "against steps that nothing held back"
        )
    return text


def _longer(held: Sequence[ThrottledStretch], steps: Steps, rows: Int64s) -> float | None:
    """Seconds that its steps took longer than those that nothing held back; None where that cannot
    be told.
    """
    lengths = neighbours.seconds(steps)
    free = _free(held, steps)
    more, noise = 0.0, 0.0
    for group in neighbours.groups(steps):
        mine = group[np.isin(group, rows)]
        usual = lengths[group[free[group] & neighbours.regular(lengths[group])]]
        if not len(mine):
            continue
        if len(usual) < _FEW:
            return None
        middle = float(np.median(usual))
        spread = max(1.4826 * float(np.median(np.abs(usual - middle))), 1e-9)
        more += float((lengths[mine] - middle).sum())
        noise += len(mine) * spread**2 + (len(mine) * spread) ** 2 / len(usual)
    return more if len(rows) and abs(more) > _SIGMAS * noise**0.5 else None


def _free(held: Sequence[ThrottledStretch], steps: Steps) -> Bools:
    """Which steps nothing held back: the stretches lie apart from each other, by time."""
    begin = np.array([one.start_ps for one in held], np.int64)
    end = np.array([one.end_ps for one in held], np.int64)
    following = np.searchsorted(end, steps.start, side="right")
    if not len(held):
        return np.ones(len(steps), np.bool_)
    starts = begin[np.minimum(following, len(held) - 1)]
    return np.asarray((following == len(held)) | (starts >= steps.ends()))
