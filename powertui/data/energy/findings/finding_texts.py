"""Findings in words."""

from __future__ import annotations

from powertui import units
from powertui.data.energy.findings.finding import EPOCHS, UNEXPLAINED, Finding
from powertui.data.model import PS_PER_S
from powertui.data.tools.python_frames import readable_name


def sentence(finding: Finding, *, asked: bool, outside: bool) -> str:
    """Where, how much, against what, and why.

    `asked`: whether somebody looked at ops; `outside`: nothing is profiled there.
    """
    parts = []
    if finding.delta_watts is not None:
        parts.append(units.difference(finding.delta_watts, "W"))
    if finding.delta_joules is not None:
        parts.append(units.difference(finding.delta_joules, "J"))
    if finding.delta_seconds is not None:
        parts.append(f"{finding.delta_seconds:+.2f} s")
    text = (
        f"{where(finding, outside=outside)}: {', '.join(parts)} against "
        f"{_against(finding, outside)}"
    )
    return f"{text}; {_because(finding)}" if asked and not outside else text


def where(finding: Finding, *, outside: bool = False) -> str:
    """The steps of a finding, or its times."""
    if finding.crossing:
        return finding.crossing
    epoch = f"epoch {finding.epoch}" if finding.epoch is not None else ""
    if finding.step_lo is not None:
        steps = (
            f"step {finding.step_lo}"
            if finding.step_lo == finding.step_hi
            else f"steps {finding.step_lo}-{finding.step_hi}"
        )
        if finding.step_half:
            steps += f" ± {finding.step_half}"
        return f"{epoch}, {steps}" if epoch else steps
    times = f"{finding.start_ps / PS_PER_S:.2f} … {finding.end_ps / PS_PER_S:.2f} s"
    return ", ".join(part for part in (epoch, times, "not profiled" if outside else "") if part)


def _against(finding: Finding, outside: bool) -> str:
    if UNEXPLAINED in finding.witnesses:
        return "the usual level of training" if outside else "what ran"
    return "the others" if EPOCHS in finding.witnesses else "the steps around"


def _because(finding: Finding) -> str:
    if UNEXPLAINED in finding.witnesses and (finding.delta_watts or 0.0) < 0:
        slower = (
            finding.delta_seconds is not None
            and finding.delta_seconds > 0.02 * (finding.end_ps - finding.start_ps) / PS_PER_S
        )
        if not slower and not finding.ops:
            return (
                "the same work at the same pace: this stretch drew less, or those around it "
                "drew more"
            )
    if not finding.ops:
        return "no difference in the trace"
    return "; ".join(
        f"{readable_name(op.name)} ran {op.more_s:.2f} s longer "
        f"({op.here_s:.2f} s, usually {op.usual_s:.2f} s)"
        for op in finding.ops
    )


def doubtful_note(count: int) -> str:
    """Of stretches that are findings only where the power log is in some of its places."""
    stretches_differ = "stretches differ" if count > 1 else "stretch differs"
    return (
        f"{count} {stretches_differ} only at some of the possible places of the power log: "
        "not listed"
    )


def folded(count: int) -> str:
    """The line that stands for findings that do not matter."""
    return f"{count} smaller difference{'s' if count != 1 else ''}"
