"""How a stretch of power, or of time, becomes a finding whose epoch and steps are not known yet."""

from __future__ import annotations

from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.model import PS_PER_S, Badge


def power_finding(box: Box, witness: str, badge: Badge) -> Finding:
    """A stretch that drew more or less than expected."""
    return Finding(
        kind="power",
        witnesses=(witness,),
        start_ps=round(box.start * PS_PER_S),
        end_ps=round(box.end * PS_PER_S),
        start_within=_in_ps(box.start_within),
        end_within=_in_ps(box.end_within),
        epoch=None,
        step_lo=None,
        step_hi=None,
        elsewhere=(),
        delta_watts=box.watts,
        lo_watts=box.lo_watts,
        hi_watts=box.hi_watts,
        delta_joules=box.joules,
        lo_joules=box.lo_joules,
        hi_joules=box.hi_joules,
        delta_seconds=None,
        p=box.p,
        badge=badge,
    )


def time_finding(start_ps: int, end_ps: int, witness: str, p: float, badge: Badge) -> Finding:
    """A stretch whose steps took longer, or that a limit held back: its bounds are known."""
    return Finding(
        kind="time",
        witnesses=(witness,),
        start_ps=start_ps,
        end_ps=end_ps,
        start_within=(start_ps, start_ps),
        end_within=(end_ps, end_ps),
        epoch=None,
        step_lo=None,
        step_hi=None,
        elsewhere=(),
        delta_watts=None,
        lo_watts=None,
        hi_watts=None,
        delta_joules=None,
        lo_joules=None,
        hi_joules=None,
        delta_seconds=None,
        p=p,
        badge=badge,
    )


def _in_ps(within: tuple[float, float]) -> tuple[int, int]:
    low_s, high_s = within
    return round(low_s * PS_PER_S), round(high_s * PS_PER_S)
