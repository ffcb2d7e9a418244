"""The ops that ran longer in a stretch, and the sentence about it: looked up when it is read."""

from __future__ import annotations

from dataclasses import replace

from powertui.data.energy import settings
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import Finding, LongerOp, Ops
from powertui.data.energy.findings.step_places import StepPlaces
from powertui.data.model import PS_PER_S
from powertui.data.quantiles import median_of_column

_MAX_OPS = 3  # listed in a finding
# An op ran longer from so much more self time on, as a share of the stretch and of what it usually
# takes there. Chosen, not measured.
_MIN_STRETCH_SHARE, _MIN_OP_SHARE = settings.SLIGHT_SHARE, 0.2
# Ops that take this share of the extra time explain a slower stretch. Chosen, not measured.
_EXPLAINING_SHARE = settings.MAJORITY_SHARE


class FindingExplainer:
    """Looks up which ops ran longer in a stretch of one trace."""

    def __init__(
        self,
        places: StepPlaces,
        span: tuple[int, int],
        ops: Ops | None,
    ) -> None:
        self.places = places
        self.span = span
        self.ops = ops

    def explained(self, finding: Finding) -> Finding:
        """The same, with the ops that ran longer there, and a sentence."""
        outside = finding.end_ps <= self.span[0] or finding.start_ps >= self.span[1]
        ops = () if outside else self._longer_ops(finding)
        longer_s = sum(op.more_s for op in ops)
        is_explained = finding.kind == "time" and longer_s >= _EXPLAINING_SHARE * abs(
            finding.delta_seconds or 0.0
        )
        finding = replace(finding, ops=ops, explained=is_explained)
        text = finding_texts.sentence(finding, asked=self.ops is not None, outside=outside)
        return replace(finding, text=text)

    def _longer_ops(self, finding: Finding) -> tuple[LongerOp, ...]:
        """Ops that ran longer here than in the same steps elsewhere, the largest difference
        first.
        """
        if self.ops is None or not finding.elsewhere:
            return ()
        steps = self.places.steps
        rows = self.places.rows_inside(finding.start_ps, finding.end_ps)
        if not len(rows):
            return ()
        start = int(steps.start[rows[0]])
        end = int(steps.ends()[rows[-1]])
        elsewhere = [(begin, until) for _, begin, until in finding.elsewhere]
        min_ps = _MIN_STRETCH_SHARE * (end - start)
        longer_ops = []
        for name, (here_ps, others_ps) in self.ops(start, end, elsewhere, min_ps).items():
            if steps.is_own_mark(name):
                continue
            usual_ps = median_of_column(others_ps)
            more_ps = here_ps - usual_ps
            if more_ps > max(min_ps, _MIN_OP_SHARE * usual_ps):
                longer_ops.append(
                    LongerOp(
                        name=name,
                        more_s=more_ps / PS_PER_S,
                        usual_s=usual_ps / PS_PER_S,
                        here_s=here_ps / PS_PER_S,
                    )
                )
        longer_ops.sort(key=lambda op: -op.more_s)
        return tuple(longer_ops[:_MAX_OPS])
