"""How large a finding is beside its own stretch, its epoch and its run."""

from __future__ import annotations

from powertui.data.energy import integrate
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.finding_rules import min_amount, power_matters
from powertui.data.model import PS_PER_S, PowerOnTrace

_Span = tuple[int, int]  # ps


class RunTotals:
    """Joules and seconds of the whole run, as far as they are known."""

    def __init__(self, power: PowerOnTrace | None, span: _Span) -> None:
        lo, hi = span
        self._power = power
        self.seconds = (hi - lo) / PS_PER_S
        self.joules = 0.0
        if power is not None and len(power.times):
            begin = max(lo, int(power.times[0]))
            end = min(hi, int(power.times[-1]))
            if end > begin:
                self.joules = self._joules_between(begin, end)

    def matters(self, finding: Finding, epoch: _Span | None) -> bool:
        """Whether a finding is large enough for its stretch, and for the run or its epoch."""
        return self._joules_matter(finding, epoch) or self._seconds_matter(finding)

    def _joules_between(self, start: int, end: int) -> float:
        """The energy of a stretch; what no reading covers counts like the rest of it."""
        assert self._power is not None
        energy = integrate.energies(self._power, [start], [end])
        return float(energy.covered_joules[0] / max(float(energy.coverage[0]), 1e-9))

    def _joules_matter(self, finding: Finding, epoch: _Span | None) -> bool:
        if finding.delta_joules is None or self._power is None or finding.may_be_nothing:
            return False
        end = max(finding.end_ps, finding.start_ps + 1)
        return power_matters(
            finding.delta_joules,
            self._joules_between(finding.start_ps, end),
            self.joules,
            seconds=(finding.end_ps - finding.start_ps) / PS_PER_S,
            of_epoch=self._joules_between(*epoch) if epoch is not None else None,
        )

    def _seconds_matter(self, finding: Finding) -> bool:
        if finding.delta_seconds is None or finding.kind == "power":
            return False
        length = (finding.end_ps - finding.start_ps) / PS_PER_S
        return abs(finding.delta_seconds) >= min_amount(length, self.seconds)
