"""Why runs, or a baseline, do not have a quantity."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.gate import quantities
from powertui.data.gate.run_values import BaselineRuns, GatedRun
from powertui.plain import plain

NAME_CHARACTERS = 120  # of a name in a sentence
_ABSENT = {
    quantities.MEDIAN_STEP: "the step marks hold only the launch of their work",
    quantities.QUARTILE_STEP: "the step marks hold only the launch of their work",
    quantities.DEVICE: "no device work was recorded",
    quantities.INPUT_SHARE: "no event is known to be input",
    quantities.MEMORY: "no memory counter was recorded",
}
_NO_SUCH = {
    quantities.OP: "no run has an op of this name",
    quantities.KERNEL: "no run has a kernel of this name",
    quantities.CATEGORY: "no run has a category of this name",
}


def missing(runs: Sequence[GatedRun], name: str) -> str:
    """Why no run has the quantity."""
    prefix = quantities.prefix_of(name)
    if not prefix and quantities.quantity(name).is_power:
        reasons = [run.no_power for run in runs if run.no_power]
        return reasons[0] if reasons else "the energy of the whole is not resolved"
    if name != quantities.MEMORY and not any(run.steps for run in runs):
        return "there are no steps"
    if not prefix:
        return _ABSENT.get(name, "it is not a number here")
    words = _NO_SUCH[prefix]
    # Nobody remembers an op's whole name: those that are like it are the way on.
    names: dict[str, None] = {}
    for run in runs:
        names.update(dict.fromkeys(run.values))
    near_names = [plain(near, NAME_CHARACTERS) for near in quantities.near_names(name, names)]
    if near_names:
        words += f"; near it: {', '.join(near_names)}"
    return words


def missing_in_baseline(baseline: BaselineRuns, name: str) -> str:
    """Why the baseline does not have it."""
    if quantities.prefix_of(name) and baseline.left_out:
        return f"the baseline does not contain it ({baseline.left_out:,} small ones had no room)"
    return f"the baseline does not contain it: {missing(baseline.runs, name)}"
