"""What makes one epoch unlike the others: stretches of steps that drew more or less power, or took longer.

Epochs are folded by step number. The difference of one epoch from the median of the others is scanned over all stretches
of steps. A stretch counts when no stretch like it turns up in resampled noise of the same series: the largest value
over *all* stretches is compared, so that looking everywhere is paid for, and so is looking at every epoch. Neighbouring
steps share sensor samples; noise is resampled in blocks that long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import integrate, scan
from powertui.data.energy.fold import Folded
from powertui.data.energy.scan import Stretch
from powertui.data.model import PS_PER_S, Badge, Bools, Epochs, Floats, PowerOnTrace, Steps

# What ran between two times: name → self time in ps.
Ops = Callable[[int, int], Mapping[str, int]]


@dataclass(frozen=True)
class Finding:
    """One stretch of one epoch that is unlike the same steps of the others."""

    kind: str  # "power" or "time"
    epoch: int  # the program's own number
    step_lo: int  # the program's own numbers, both included
    step_hi: int
    start_ps: int
    end_ps: int
    elsewhere: tuple[tuple[int, int, int], ...]  # (epoch, start, end) of the same steps in the others
    delta_watts: float | None  # against the median of the others; None without power
    lo_watts: float | None  # its 95 % interval
    hi_watts: float | None
    delta_joules: float | None
    delta_seconds: float
    p: float  # how often noise alone would show such a stretch anywhere
    badge: Badge
    ops: tuple[tuple[str, float], ...] = ()  # what ran longer there: name, seconds more than in the others
    text: str = ""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The folded epochs, what stands out, and what was left out of the comparison."""

    folded: Folded | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    reason: str = ""  # why nothing could be compared


class _Ran(Protocol):
    """A row of an op table, as far as it is needed here."""

    @property
    def name(self) -> str: ...
    @property
    def self_time(self) -> int: ...


def ops_by_name(table: Callable[[int, int], Iterable[_Ran]]) -> Ops:
    """Self times by name, over all devices, from an op table of any window."""

    def between(lo: int, hi: int) -> Mapping[str, int]:
        ran: Counter[str] = Counter()
        for op in table(lo, hi):
            ran[op.name] += op.self_time
        return ran

    return between


def compare(steps: Steps, epochs: Epochs, power: PowerOnTrace | None, ops: Ops | None = None, *, seed: int = 0) -> Symmetry:
    """All stretches that stand out, the largest energy first."""
    folded = folding.fold(steps, epochs, power)
    if isinstance(folded, str):
        return Symmetry(None, (), (), folded)
    rng = np.random.default_rng([43, seed])
    notes = list(folded.notes)
    found: list[Finding] = []
    if power is None or power.status == "none":
        notes.append("there is no power on this trace: only times are compared")
    else:
        if power.status == "ambiguous":
            notes.append("the alignment of the power log is ambiguous: the start and end of a stretch are just as uncertain")
        if np.isfinite(folded.watts).any():
            found += _power(folded, power, rng)
        else:
            notes.append("the power log covers no step of this profile: only times are compared")
    found += _merged(found, _time(folded, rng))
    found.sort(key=lambda f: (f.kind != "power", -abs(f.delta_joules or 0.0), -abs(f.delta_seconds)))
    return Symmetry(folded, tuple(_told(f, ops) for f in found), tuple(notes))


# ── what differs ─────────────────────────────────────────────────────────────────────────────────


def _power(folded: Folded, power: PowerOnTrace, rng: np.random.Generator) -> list[Finding]:
    found = []
    quantum = power.series.sensor.quantum_w.value if power.series.sensor.quantum_w else 0.0
    reach = 2 * folding.reach_ps(power) / PS_PER_S
    badge = Badge.MEASURED if power.status == "aligned" else Badge.ESTIMATED
    for line in range(len(folded.epochs)):
        difference = folded.watts[line] - _others(folded.watts, folded.comparable, line)
        usable = folded.comparable[line] & np.isfinite(difference)
        pace = folding.median(folded.seconds[line])
        if not usable.any():
            continue
        block = max(1, int(np.ceil(reach / max(pace, 1e-12))))
        floor = max(quantum / 2, 0.01 * folding.median(folded.watts))
        for stretch in scan.stretches(difference, usable, block, max(3, 2 * block), floor, len(folded.epochs), rng):
            sampled = _sampled(folded, line, stretch, power)
            if sampled > stretch.error:
                p = max(stretch.p, scan.tail(abs(stretch.mean) / sampled, stretch.blocks, len(folded.epochs)))
                stretch = replace(stretch, error=sampled, p=p)
            if stretch.p <= scan.ALPHA:
                found.append(_finding(folded, line, stretch, "power", power, badge))
    return _one_sided(found, folded)


def _sampled(folded: Folded, line: int, stretch: Stretch, power: PowerOnTrace) -> float:
    """What the sensor's own sampling leaves open in a difference, in W.

    Told by the whole of the other epochs: a sensor that sees a quarter of the time beats with the steps, and within one
    stretch it may look steady while it misses the same part of every step.
    """
    spans = []
    for other in range(len(folded.epochs)):
        have = np.flatnonzero(folded.comparable[other])
        if other != line and len(have):
            spans.append((int(folded.start[other, have[0]]), int(folded.end[other, have[-1]])))
    if not spans:
        return 0.0
    found = integrate.energies(power, [s for s, _ in spans], [e for _, e in spans])
    seconds = (found.hi_ps - found.lo_ps) / PS_PER_S
    length = float(np.nansum(folded.seconds[line, stretch.first : stretch.last]))
    each = np.hypot(found.sigma_sampling, found.sigma_quantum) / np.sqrt(seconds) / np.sqrt(max(length, 1e-9))
    return float(np.median(each) * np.sqrt(1 + 1 / len(spans)))


def _time(folded: Folded, rng: np.random.Generator) -> list[Finding]:
    found = []
    for line in range(len(folded.epochs)):
        good = np.isfinite(folded.seconds) & ~folded.tracing
        difference = folded.seconds[line] - _others(folded.seconds, good, line)
        usable = good[line] & np.isfinite(difference)
        usable[-1:] = False  # no next step: its end is its own
        floor = 0.01 * folding.median(folded.seconds)
        for stretch in scan.stretches(difference, usable, 1, 1, floor, len(folded.epochs), rng):
            if stretch.mean > 0.05 * folding.median(folded.seconds):
                found.append(_finding(folded, line, stretch, "time", None, Badge.MEASURED))
    return found


def _others(values: Floats, good: Bools, line: int) -> Floats:
    """Median of all other epochs at every step; NaN where none has it."""
    rest = np.where(good, values, np.nan)
    rest[line] = np.nan
    return folding.medians(rest)


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


def _finding(folded: Folded, line: int, stretch: Stretch, kind: str, power: PowerOnTrace | None, badge: Badge) -> Finding:
    columns = np.arange(stretch.first, stretch.last)
    here = columns[folded.start[line, columns] >= 0]
    others = [o for o in range(len(folded.epochs)) if o != line]
    elsewhere = tuple(
        (folded.epochs[o], int(folded.start[o, have[0]]), int(folded.end[o, have[-1]]))
        for o in others
        if len(have := columns[folded.start[o, columns] >= 0])
    )
    seconds = float(np.nansum(folded.seconds[line, here] - folding.medians(folded.seconds[others][:, here])))
    start, end = int(folded.start[line, here[0]]), int(folded.end[line, here[-1]])
    is_power = kind == "power"
    delta_joules = _joules(power, (start, end), elsewhere) if power is not None else None
    return Finding(
        kind, folded.epochs[line], int(folded.numbers[line, here[0]]), int(folded.numbers[line, here[-1]]), start, end, elsewhere,
        stretch.mean if is_power else None, stretch.mean - 1.96 * stretch.error if is_power else None,
        stretch.mean + 1.96 * stretch.error if is_power else None, delta_joules, seconds, stretch.p, badge,
    )  # fmt: skip


def _joules(power: PowerOnTrace, here: tuple[int, int], elsewhere: tuple[tuple[int, int, int], ...]) -> float | None:
    """Energy of the stretch above the median of the same steps elsewhere."""
    spans = [here, *((start, end) for _, start, end in elsewhere)]
    found = integrate.energies(power, [s for s, _ in spans], [e for _, e in spans])
    joules = np.where(found.coverage >= integrate.ENOUGH, found.covered_joules / np.maximum(found.coverage, 1e-9), np.nan)
    if not np.isfinite(joules[0]) or not np.isfinite(joules[1:]).any():
        return None
    return float(joules[0] - np.nanmedian(joules[1:]))


def _one_sided(found: list[Finding], folded: Folded) -> list[Finding]:
    """With two epochs a difference shows in both, once up and once down. The one that leaves its epoch's own level has it."""
    if len(folded.epochs) != 2:
        return found
    kept: list[Finding] = []
    for one in found:
        line = folded.epochs.index(one.epoch)
        twin = next((f for f in found if f.epoch != one.epoch and f.step_lo <= one.step_hi and one.step_lo <= f.step_hi), None)
        if twin is None or _departure(folded, line, one) >= _departure(folded, 1 - line, twin):
            kept.append(one)
    return kept


def _departure(folded: Folded, line: int, one: Finding) -> float:
    """How far a stretch lies from the usual level of its own epoch, in W."""
    inside = (folded.numbers[line] >= one.step_lo) & (folded.numbers[line] <= one.step_hi) & folded.comparable[line]
    outside = folded.comparable[line] & ~inside
    if not inside.any() or not outside.any():
        return 0.0
    return abs(float(np.median(folded.watts[line][inside]) - np.median(folded.watts[line][outside])))


def _merged(power: list[Finding], time: list[Finding]) -> list[Finding]:
    """Time findings that are not the same stretch as a power finding: that one tells its extra time itself."""

    def covered(one: Finding) -> bool:
        return any(p.epoch == one.epoch and p.step_lo <= one.step_hi and one.step_lo <= p.step_hi for p in power)

    return [one for one in time if not covered(one)]


def _told(one: Finding, ops: Ops | None) -> Finding:
    """The same, with the ops that ran longer there, and a sentence."""
    more = _more(one, ops) if ops is not None else ()
    steps = f"step {one.step_lo}" if one.step_lo == one.step_hi else f"steps {one.step_lo}-{one.step_hi}"
    parts = []
    if one.delta_watts is not None:
        parts.append(f"{one.delta_watts:+.0f} W")
    if one.delta_joules is not None:
        parts.append(f"{one.delta_joules:+.0f} J")
    parts.append(f"{one.delta_seconds:+.2f} s")
    because = "; ".join(f"{name} ran {seconds:.2f} s longer" for name, seconds in more) or "no difference in the trace"
    text = f"epoch {one.epoch}, {steps}: {', '.join(parts)} against the others" + (f"; {because}" if ops is not None else "")
    return replace(one, ops=more, text=text)


def _more(one: Finding, ops: Ops) -> tuple[tuple[str, float], ...]:
    """Ops whose self time differs from the others' by more than 2 % of the stretch and a fifth of itself."""
    here = ops(one.start_ps, one.end_ps)
    rest = [ops(start, end) for _, start, end in one.elsewhere]
    if not rest:
        return ()
    length = one.end_ps - one.start_ps
    found = []
    for name, ran in here.items():
        usual = float(np.median([other.get(name, 0) for other in rest]))
        if ran - usual > max(0.02 * length, 0.2 * usual):
            found.append((name, (ran - usual) / PS_PER_S))
    return tuple(sorted(found, key=lambda item: -item[1])[:3])
