"""What a profile drew, in rows that add up: its epochs, what lies between them, and inside an epoch
its start-up, validation, checkpoints and steps.

A stretch that is too short for the sensor has no joules of its own. It belongs to the last row of
its level, which holds what is left of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.measured_energy import Energy, interval_with_gain
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S, Z95
from powertui.data.table import plural
from powertui.value_types import dataclass

# A stretch shorter than this share of what it lies in gets no row of its own. Chosen, not measured.
_MIN_ROW_SHARE = settings.MIN_RUN_SHARE
# An epoch of which more lies outside the profile is not taken apart. Chosen, not measured.
_MAX_UNPROFILED_SHARE = settings.MINOR_SHARE
_START_UP = "start-up"


@dataclass(frozen=True)
class EnergyRow:
    """One row of a table of joules."""

    kind: str  # "epoch", "steps", "start-up", "validation", …, "rest", "whole"
    name: str
    epoch: int | None  # the program's own number
    length: int  # ps
    energy: Energy | None
    start: int | None = None  # ps; None for what is left of several stretches
    level: int = 0  # rows of a level add up to the row of the level above that they follow
    steps: int | None = None
    per_step: Energy | None = None


def profile_rows(account: Account, *, with_epochs: bool = True) -> list[EnergyRow]:
    """The rows of a profile; the last one is all of it.

    `with_epochs`: False where the profile is a small part of a training whose epochs are shown
    elsewhere.

    Those of level 0 add up to the last one, and those inside an epoch to the epoch.
    """
    lo, hi = account.trace.span
    epochs = account.epoch_energies if with_epochs else ()
    if not epochs:
        per_step = account.per_step(None)
        inner = _inside(
            account=account,
            index=None,
            lo=lo,
            hi=hi,
            energy=account.energy(lo, hi),
            per_step=per_step,
        )
        rows = [replace(row, level=0) for row in inner]
        return [*rows, _whole(account, lo, hi, None if rows else per_step)]
    lo = min(lo, epochs[0].lo)
    hi = max(hi, *(epoch.hi for epoch in epochs))
    total = _whole(account, lo, hi, None)
    rows = _beside_epochs(account, lo, epochs[0].lo, "before the first epoch")
    for epoch in epochs:
        per_step = account.per_step(epoch.index)
        inner = _inside(
            account=account,
            index=epoch.index,
            lo=epoch.lo,
            hi=epoch.hi,
            energy=epoch.energy,
            per_step=per_step,
        )
        rows.append(
            EnergyRow(
                kind="epoch",
                name=f"epoch {epoch.number}",
                epoch=epoch.number,
                length=epoch.hi - epoch.lo,
                energy=epoch.energy,
                start=epoch.lo,
                steps=int((account.steps.epoch == epoch.index).sum()),
                per_step=per_step,
            )
        )
        rows += inner
    rows += _beside_epochs(account, epochs[-1].hi, hi, "after the last epoch")
    top = [row for row in rows if not row.level]
    rest = remainder_row(total, top, "between the epochs")
    return [*rows, *([rest] if rest is not None else []), total]


def _whole(account: Account, lo: int, hi: int, per_step: Energy | None) -> EnergyRow:
    is_profile = (lo, hi) == account.trace.span
    steps = len(account.steps) if per_step is not None else 0
    return EnergyRow(
        kind="whole",
        name="the whole profile" if is_profile else "all of it",
        epoch=None,
        length=hi - lo,
        energy=account.energy(lo, hi),
        start=lo,
        steps=steps or None,
        per_step=per_step,
    )


def _beside_epochs(account: Account, lo: int, hi: int, name: str) -> list[EnergyRow]:
    energy = account.drew(lo, hi) if hi > lo else None
    if energy is None or not energy.resolved:
        return []
    return [
        EnergyRow(
            kind="beside",
            name=name,
            epoch=None,
            length=hi - lo,
            energy=energy,
            start=lo,
        )
    ]


def _inside(
    account: Account,
    index: int | None,
    lo: int,
    hi: int,
    energy: Energy | None,
    per_step: Energy | None,
) -> list[EnergyRow]:
    """What an epoch, or a profile without epochs, is made of; nothing where it is steps alone."""
    if energy is None or not energy.resolved or hi <= lo:
        return []
    first, last = account.trace.span
    if max(first - lo, 0) + max(hi - last, 0) > _MAX_UNPROFILED_SHARE * (hi - lo):
        return []
    rows = []
    steps = account.steps
    if index is None:
        chosen = np.ones(len(steps), np.bool_)
    else:
        chosen = steps.epoch == index
    count = int(chosen.sum())
    number = account.epoch_number(index)
    for kind, begin, end in _named_stretches(account, lo, hi, chosen):
        drawn = account.drew(begin, end)
        if drawn is not None and drawn.resolved and end - begin >= _MIN_ROW_SHARE * (hi - lo):
            rows.append(
                EnergyRow(
                    kind=kind,
                    name=kind,
                    epoch=number,
                    length=end - begin,
                    energy=drawn,
                    start=begin,
                    level=1,
                )
            )
    if not rows:
        return []
    epoch_row = EnergyRow(
        kind="epoch",
        name="",
        epoch=number,
        length=hi - lo,
        energy=energy,
        start=lo,
    )
    rest = remainder_row(epoch_row, rows, rest_name(count))
    if rest is not None:
        is_steps = bool(count)
        rows.append(
            replace(
                rest,
                kind="steps" if is_steps else "rest",
                epoch=number,
                level=1,
                steps=count or None,
                per_step=per_step if is_steps else None,
            )
        )
    return rows


def rest_name(step_count: int | None) -> str:
    """What is left beside the named stretches: the steps, and what lies between them."""
    if not step_count:
        return "the rest"
    return f"the rest, {step_count:,} {plural('step', step_count)}"


def _named_stretches(
    account: Account,
    lo: int,
    hi: int,
    chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> list[tuple[str, int, int]]:
    """(name, start, end) of what is no step between two moments, one after the other."""
    steps = account.steps
    named = [
        (_START_UP if phase.name == "tracing" else phase.name, phase.start, phase.end)
        for phase in account.epochs.phases
        if phase.name != "training"
    ]
    if chosen.any():
        is_first = int(np.flatnonzero(chosen)[0]) == 0
        begins = _START_UP if is_first else "before the first step"
        named.append((begins, lo, int(steps.start[chosen].min())))
        named.append(("after the last step", int(steps.ends()[chosen].max()), hi))
    stretches: list[tuple[str, int, int]] = []
    at = lo
    for name, start, end in sorted(named, key=lambda stretch: stretch[1:]):
        begin = max(start, at)
        stop = min(end, hi)
        if stop <= begin:
            continue
        at = stop
        if stretches and stretches[-1][0] == name and stretches[-1][2] == begin:
            stretches[-1] = (name, stretches[-1][1], stop)
        else:
            stretches.append((name, begin, stop))
    return stretches


# ── what is left ─────────────────────────────────────────────────────────────────────────────────


def remainder_row(total: EnergyRow, parts: Sequence[EnergyRow], name: str) -> EnergyRow | None:
    """What is left of a row without its parts; None where nothing is, or where joules are missing.

    Its interval holds the errors of all of them, as they do not err together.
    """
    length = total.length - sum(part.length for part in parts)
    if length <= 0:
        return None
    energy = _remainder(total.energy, [part.energy for part in parts])
    return EnergyRow(
        kind="rest",
        name=name,
        epoch=None,
        length=length,
        energy=energy,
    )


def _remainder(total: Energy | None, parts: Sequence[Energy | None]) -> Energy | None:
    """The energy of a whole without that of its parts."""
    measured = [part for part in parts if part is not None and part.joules is not None]
    if total is None or total.joules is None or len(measured) < len(parts):
        return None
    joules = total.joules - sum(part.joules or 0.0 for part in measured)
    length = total.hi_ps - total.lo_ps - sum(part.hi_ps - part.lo_ps for part in measured)
    everything = (total, *measured)
    quantum = _root([part.sigma_quantum for part in everything])
    sampling = _root([part.sigma_sampling for part in everything])
    edges = _root([part.sigma_edges for part in everything])
    timing = _root([part.sigma_timing for part in everything])
    half = Z95 * _root([quantum, sampling, edges, timing])
    gain_j = None
    if total.gain_j is not None and total.joules:
        gain_j = abs(joules / total.joules) * total.gain_j
    lo, hi = interval_with_gain(joules, joules - half, joules + half, gain_j)
    return replace(
        total,
        lo_ps=total.lo_ps,
        hi_ps=total.lo_ps + length,
        joules=joules,
        lo=lo,
        hi=hi,
        gain_j=gain_j,
        mean_w=joules / (length / PS_PER_S) if length > 0 else None,
        max_w=None,
        covered_joules=total.covered_joules - sum(part.covered_joules for part in measured),
        other_joules=None,
        idle_joules=None,
        active_joules=None,
        sigma_quantum=quantum,
        sigma_sampling=sampling,
        sigma_edges=edges,
        sigma_timing=timing,
    )


def _root(sigmas: Sequence[float]) -> float:
    """The error of several that are independent."""
    return float(np.sqrt(sum(sigma**2 for sigma in sigmas)))
