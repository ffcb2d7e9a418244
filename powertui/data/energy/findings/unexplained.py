"""The first witness: power that nothing in the trace explains.

It works with one epoch, with none, and outside all steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.energy import expected_work
from powertui.data.energy.findings import expected_power, placed_search, work_columns
from powertui.data.energy.findings.placed_search import FoundLoads
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import Expectation
from powertui.data.energy.samples import Samples
from powertui.data.model import PS_PER_S, PowerOnTrace, ScalarSeries, Steps, Trace


def unexplained_power(
    trace: Trace,
    steps: Steps,
    power: PowerOnTrace,
    scalars: Sequence[ScalarSeries],
    training: tuple[int, int] | None,
) -> FoundLoads:
    """What the channel drew that nothing in the trace explains."""
    if trace.span[1] <= trace.span[0]:
        return FoundLoads(
            boxes=(),
            expected=None,
            noise=None,
            reason="the profile is empty",
        )
    work = work_columns.kind_seconds(trace, steps, expected_work.activities(trace))
    usual_pace = expected_power.training_pace(scalars, trace.clock)
    training_s = None
    if training is not None:
        training_s = (training[0] / PS_PER_S, training[1] / PS_PER_S)
    step_bounds = steps.start / PS_PER_S, steps.ends() / PS_PER_S

    def expect(data: Samples, unsure: WindowPrior) -> Expectation:
        return expected_power.expected_power(
            data=data,
            work=work,
            unsure=unsure,
            pace=usual_pace,
            training=training_s,
            steps=step_bounds,
        )

    span = (trace.span[0] / PS_PER_S, trace.span[1] / PS_PER_S)
    return placed_search.loads_at_all_places(power, expect, span)
