"""Findings of a training: what its power shows outside its sessions, or why nothing is looked for.

What limits or throttling held back is told with it, and a profile's own findings go before those of
the training around it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import throttling
from powertui.data.energy.findings.finding import Finding, Findings, Unopened
from powertui.data.energy.findings.finding_rules import same_stretch
from powertui.data.energy.trace_account import Account
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, PowerOnTrace
from powertui.data.quantiles import median_of_column
from powertui.data.training import training_throttling
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis, session_spans
from powertui.data.training.training_parts import bounded_epochs

# Of the training by its sessions: their traces say more. Chosen, not measured.
_MAX_COVERED_SHARE = settings.LARGE_SHARE


def findings_in_training(
    training: PlacedTraining,
    axis: TrainingOnAxis,
    account: Account,
) -> Findings:
    """All findings outside the sessions, on this axis."""
    by_power = _power_findings(training, axis, account)
    throttled = training_throttling.throttled_in_training(
        training, axis, [placed.power for placed in account.placed]
    )
    if not throttled:
        return by_power
    from powertui.data.training import training_finding_words as words

    limited = []
    for finding, stretch in training_throttling.throttling_findings(training, axis, throttled):
        text = throttling.sentence(stretch, words.where(finding), None, 0)
        limited.append(replace(finding, text=text))
    span = (axis.at(int(training.stretches.start[0])), axis.at(int(training.stretches.end.max())))
    rest = throttling.without(by_power.findings, throttled, span)
    notes = by_power.notes
    if by_power.reason:
        notes = (*notes, by_power.reason)
    return replace(
        by_power,
        findings=(*rest, *limited),
        smaller=Unopened(throttling.without(by_power.smaller, throttled, span)),
        reason="",
        notes=tuple(notes),
    )


def _power_findings(training: PlacedTraining, axis: TrainingOnAxis, account: Account) -> Findings:
    """Stretches of unexpected power, or why there are none."""
    power = account.power
    if power is None or power.status == "none" or not len(power.times):
        return Findings(
            folded=None,
            findings=(),
            reason="no power log covers this training",
        )
    reason = _reason_for_none(training, axis, power)
    if reason:
        return Findings(
            folded=None,
            findings=(),
            reason=reason,
        )
    # A training that its sessions cover, or that has no power, imports nothing to search with.
    from powertui.data.training.training_search import searched_findings

    return searched_findings(training, axis, account, power)


def _reason_for_none(training: PlacedTraining, axis: TrainingOnAxis, power: PowerOnTrace) -> str:
    """Why nothing is looked for; empty where something is."""
    if not len(training.stretches):
        return (
            "no record shows when it trained, so nothing was looked for in its power. A profile, "
            "or scalars (tfevents) of that time, would show what is usual"
        )
    if _covered_share(training, axis) >= _MAX_COVERED_SHARE:
        return "its sessions cover it: see their findings"
    half_s = _place_half_s(power)
    if half_s <= _epoch_s(training):
        return ""
    return (
        f"the power log may be anywhere within ± {half_s:.0f} s: that is too uncertain for findings"
    )


def _place_half_s(power: PowerOnTrace) -> float:
    """How far (s) the log may lie from the middle of all places in question."""
    if not power.places:
        return 0.0
    from powertui.data.energy.findings import placed_search

    weights = [place.weight for place in power.places]
    offsets = [place.offset_ps / PS_PER_S for place in power.places]
    return Z95 * placed_search.spread(weights, offsets)


def _epoch_s(training: PlacedTraining) -> float:
    """How long an epoch takes, s; of a training without any, a tenth of it."""
    lengths = [end.ns - start.ns for _, start, end in bounded_epochs(training.epochs)]
    if lengths:
        return median_of_column(lengths) / NS_PER_S
    stretches = training.stretches
    return float(settings.MINOR_SHARE * (stretches.end.max() - stretches.start[0])) / NS_PER_S


def _covered_share(training: PlacedTraining, axis: TrainingOnAxis) -> float:
    """The share of the training that its sessions cover."""
    stretches = training.stretches
    length = int((stretches.end - stretches.start).sum())
    inside = 0
    for lo, hi in session_spans(axis):
        begin = axis.unix_ns(round(lo * PS_PER_S))
        end = axis.unix_ns(round(hi * PS_PER_S))
        overlap = np.minimum(stretches.end, end) - np.maximum(stretches.start, begin)
        inside += int(np.clip(overlap, 0, None).sum())
    return inside / max(length, 1)


def with_training_findings(
    of_profile: Findings,
    of_training: Findings,
    span: tuple[int, int],
) -> Findings:
    """The findings of a profile within its span, and those of the training around it."""
    if of_training.reason:
        return of_profile

    def in_profile(finding: Finding) -> bool:
        return finding.end_ps > span[0] and finding.start_ps < span[1]

    inside = [finding for finding in of_profile.findings if in_profile(finding)]
    # The same stretch may be known to both: the profile knows more of it.
    with_power = [finding for finding in inside if finding.delta_watts]
    around = [
        finding
        for finding in of_training.findings
        if not any(same_stretch(finding.span, nearer.span) for nearer in with_power)
    ]
    ordered = sorted(
        (*inside, *around),
        key=lambda finding: (finding.kind != "power", -abs(finding.delta_joules or 0.0)),
    )
    could = [of_profile.could] if of_profile.seen or not of_training.seen else []
    could = [text for text in could if text]
    if of_training.could:
        could.append(f"around the profile: {of_training.could}")
    return replace(
        of_profile,
        findings=tuple(ordered),
        smaller=of_profile.smaller.some(in_profile, *of_training.smaller),
        could="; ".join(could),
        notes=tuple(dict.fromkeys((*of_profile.notes, *of_training.notes))),
        around=of_training.against,
    )
