"""Findings of a training in words."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.finding_rules import joined_spans
from powertui.data.energy.findings.finding_texts import MIN_SLOWER_SHARE, share_of_epoch
from powertui.data.model import PS_PER_S
from powertui.data.training.epoch_parts import EpochPart

_WOULD_SHOW = "not profiled: a capture here would show"


def sentence(finding: Finding, where: str) -> str:
    """Where, how much, against what."""
    figures = []
    if finding.delta_watts is not None:
        figures.append(units.difference(finding.delta_watts, "W"))
    if finding.delta_joules is not None:
        figures.append(units.energy_difference(finding.delta_joules))
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    seconds = finding.delta_seconds
    if seconds is not None and abs(seconds) >= MIN_SLOWER_SHARE * length_s:
        figures.append(f"{seconds:+.2f} s")
    drew = ", ".join(figures)
    return f"{where}: {drew} against the usual level of training; {_WOULD_SHOW}"


def skipped_sentence(spans: Sequence[tuple[float, float]]) -> str:
    """That the power changes too often for every short load to be looked for."""
    seconds = sum(end - start for start, end in joined_spans(spans))
    return (
        f"the power changes by itself so often that short loads were not looked for in "
        f"{units.duration(round(seconds * PS_PER_S))}"
    )


def where(finding: Finding) -> str:
    """Its epoch with the batches, or the share of it, or its times."""
    parts = [f"epoch {finding.epoch}"] if finding.epoch is not None else []
    first = finding.step_lo
    last = finding.step_hi
    if first is not None and last is not None:
        if first == last:
            batches = f"batch {first}"
        else:
            batches = f"batches {first}-{last}"
        parts.append(batches + _half(finding.step_half))
    elif finding.share is not None:
        parts.append(share_of_epoch(finding.share))
    return ", ".join(parts) if parts else _times(finding)


def _half(batches: int | None) -> str:
    return f" ± {batches}" if batches else ""


def _times(finding: Finding) -> str:
    times = f"{finding.start_ps / PS_PER_S:.2f} … {finding.end_ps / PS_PER_S:.2f} s"
    half = (finding.start_within[1] - finding.start_within[0]) / 2
    # A ± shorter than the stretch, or than a second, is not worth the words.
    if half > finding.end_ps - finding.start_ps and half >= PS_PER_S:
        times += f" ± {half / PS_PER_S:.0f} s"
    return times


def from_to(first: EpochPart, last: EpochPart) -> str:
    """From which moment of one epoch to which of a later one."""
    begin = _moment(first, first.first, 0)
    end = _moment(last, last.last, 1)
    return f"from {begin}, to {end}"


def _moment(part: EpochPart, batch: int | None, side: int) -> str:
    """A batch of an epoch, or where that is not known a share of it: its begin (0) or end (1)."""
    if batch is not None:
        return f"epoch {part.epoch}, batch {batch}{_half(part.half)}"
    if part.share is not None:
        share = part.share[side]
    else:
        share = float(side)
    return f"epoch {part.epoch}, {units.percent(share)} of it"
