"""Findings in words."""

from __future__ import annotations

from powertui import units
from powertui.data.energy import settings
from powertui.data.energy.findings.finding import EPOCHS, UNEXPLAINED, Finding
from powertui.data.model import PS_PER_S

# Of a stretch: with less, its steps are not slower. Chosen, not measured.
MIN_SLOWER_SHARE = settings.SLIGHT_SHARE


def sentence(finding: Finding, *, asked: bool, outside: bool) -> str:
    """Where, how much, against what, and why.

    `asked`: whether somebody looked at ops; `outside`: nothing is profiled there.
    """
    parts = []
    if finding.delta_watts is not None:
        parts.append(units.difference(finding.delta_watts, "W"))
    if finding.delta_joules is not None:
        parts.append(units.energy_difference(finding.delta_joules))
    if finding.delta_seconds is not None:
        parts.append(f"{finding.delta_seconds:+.2f} s")
    place = where(finding, outside=outside)
    differences = ", ".join(parts)
    text = f"{place}: {differences} against {_against(finding, outside)}"
    if asked and not outside:
        return f"{text}; {_because(finding)}"
    return text


def where(finding: Finding, *, outside: bool = False) -> str:
    """The steps of a finding, or its times."""
    if finding.crossing:
        return finding.crossing
    parts = []
    if finding.epoch is not None:
        parts.append(f"epoch {finding.epoch}")
    if finding.step_lo is not None:
        parts.append(_steps(finding))
        return ", ".join(parts)
    if finding.share is not None and finding.epoch is not None:
        # Seconds beside the name of an epoch would read as if they counted from its start.
        parts.append(share_of_epoch(finding.share))
    else:
        start_s = finding.start_ps / PS_PER_S
        end_s = finding.end_ps / PS_PER_S
        parts.append(f"{start_s:.2f} … {end_s:.2f} s")
    if outside:
        parts.append("not profiled")
    return ", ".join(parts)


def short_where(finding: Finding) -> str:
    """The same in as few words as possible: "epoch 7, 63 %, to epoch 10, 68 %"."""
    return where(finding).removeprefix("from ").replace(" of it", "")


def share_of_epoch(share: tuple[float, float]) -> str:
    """Where in an epoch it is: "11 % to 33 % of it"."""
    begin, end = share
    return f"{units.percent(begin)} to {units.percent(end)} of it"


def _steps(finding: Finding) -> str:
    first = finding.step_lo
    last = finding.step_hi
    steps = f"steps {first}-{last}"
    if first == last:
        steps = f"step {first}"
    if finding.step_half:
        return f"{steps} ± {finding.step_half}"
    return steps


def _against(finding: Finding, outside: bool) -> str:
    if UNEXPLAINED in finding.witnesses:
        return "the usual level of training" if outside else "what the trace explains"
    if EPOCHS in finding.witnesses:
        return "the others"
    return "the steps around"


def _because(finding: Finding) -> str:
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    if UNEXPLAINED in finding.witnesses and (finding.delta_watts or 0.0) < 0:
        longer_s = finding.delta_seconds
        is_slower = longer_s is not None and longer_s > MIN_SLOWER_SHARE * length_s
        if not is_slower and not finding.ops:
            return (
                "the same work at the same pace: this stretch drew less, or those around it "
                "drew more"
            )
    if not finding.ops:
        return "no difference in the trace"
    from powertui.data.tools.python_frames import readable_name

    reasons = []
    for op in finding.ops:
        usually = f"({op.here_s:.2f} s, usually {op.usual_s:.2f} s)"
        reasons.append(f"{readable_name(op.name)} ran {op.more_s:.2f} s longer {usually}")
    return "; ".join(reasons)


def cut_clause(finding: Finding) -> str:
    """That the log begins or ends inside a stretch, so that nothing tells how long it was; "" of
    one that is whole.
    """
    begins, ends = finding.cut
    if begins and ends:
        ways = "begins and ends"
    elif begins:
        ways = "begins"
    elif ends:
        ways = "ends"
    else:
        return ""
    delta_watts = finding.delta_watts or 0.0
    what = "load" if delta_watts > 0 else "stretch"
    return f"the log {ways} inside it: the {what} may have been longer"


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
