"""Findings in words."""

from __future__ import annotations

from powertui.data.energy.findings.finding import EPOCHS, UNEXPLAINED, Finding
from powertui.data.model import PS_PER_S


def sentence(one: Finding, *, asked: bool, outside: bool) -> str:
    """Where, how much, against what, and why.

    `asked`: whether somebody looked at ops; `outside`: nothing is profiled there.
    """
    parts = []
    if one.delta_watts is not None:
        parts.append(f"{one.delta_watts:+.0f} W")
    if one.delta_joules is not None:
        parts.append(f"{one.delta_joules:+.0f} J")
    if one.delta_seconds is not None:
        parts.append(f"{one.delta_seconds:+.2f} s")
    text = f"{where(one, outside=outside)}: {', '.join(parts)} against {_against(one, outside)}"
    return f"{text}; {_because(one)}" if asked and not outside else text


def where(one: Finding, *, outside: bool = False) -> str:
    """The steps of a finding, or its times."""
    epoch = f"epoch {one.epoch}" if one.epoch is not None else ""
    if one.step_lo is not None:
        steps = (
            f"step {one.step_lo}"
            if one.step_lo == one.step_hi
            else f"steps {one.step_lo}-{one.step_hi}"
        )
        return f"{epoch}, {steps}" if epoch else steps
    times = f"{one.start_ps / PS_PER_S:.2f} … {one.end_ps / PS_PER_S:.2f} s"
    return ", ".join(part for part in (epoch, times, "not profiled" if outside else "") if part)


def _against(one: Finding, outside: bool) -> str:
    if UNEXPLAINED in one.witnesses:
        return "the usual level of training" if outside else "what ran"
    return "the others" if EPOCHS in one.witnesses else "the steps around"


def _because(one: Finding) -> str:
    if UNEXPLAINED in one.witnesses and (one.delta_watts or 0.0) < 0:
        slower = (
            one.delta_seconds is not None
            and one.delta_seconds > 0.02 * (one.end_ps - one.start_ps) / PS_PER_S
        )
        if not slower and not one.ops:
            return (
                "the same work at the same pace: this stretch drew less, or those around it "
                "drew more"
            )
    if not one.ops:
        return "no difference in the trace"
    return "; ".join(
        f"{op.name} ran {op.more_s:.2f} s longer ({op.here_s:.2f} s, usually {op.usual_s:.2f} s)"
        for op in one.ops
    )


def folded(count: int) -> str:
    """The line that stands for findings that do not matter."""
    return f"{count} smaller difference{'s' if count != 1 else ''}"
