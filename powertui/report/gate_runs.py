"""Runs of a path held against limits and a baseline: what `powertui check` and the API share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from powertui.data.compare.part import AskedSide
from powertui.data.gate import quantities
from powertui.data.gate.baseline_store import baseline_folder, find_baseline
from powertui.data.gate.gate import Gate, held_against
from powertui.data.gate.limits_asked import FixedLimit, check_count, fixed_limit, tolerances
from powertui.data.gate.run_values import BaselineRuns, gated_runs
from powertui.errors import UsageError
from powertui.report.compare_sides import Asked, SideReading, one_side
from powertui.value_types import dataclass


@dataclass(frozen=True)
class GateRequest:
    """What runs are held against, as a person wrote it."""

    most: Sequence[str] = ()
    least: Sequence[str] = ()
    against: str | None = None
    tolerance: Sequence[str] = ()
    folder: str | None = None  # of saved baselines
    allow_unresolved: bool = False
    part: Asked = field(default_factory=Asked)


def run_gate(paths: Sequence[str], request: GateRequest, reading: SideReading) -> Gate:
    """The answer. What is wrong with the request is said before a run is read."""
    limits = _limits(request)
    baseline: BaselineRuns | None = None
    asked_tolerances = tolerances(request.tolerance, ())
    if request.against is not None:
        baseline = find_baseline(request.against, baseline_folder(request.folder))
        asked_tolerances = tolerances(request.tolerance, _measured(baseline, reading))
    elif request.tolerance:
        raise UsageError("--tolerance needs a baseline.", hint="Name it with --against.")
    elif not limits:
        raise UsageError(
            "No limit and no baseline is named: there is nothing to check.",
            hint="Give --max 'J/step=24', --min 'steps/s=20' or --against BASELINE. The quantities "
            f"are {quantities.LISTED}.",
        )
    if baseline is None:
        asked_tolerances = ()
    check_count(len(limits) + len(asked_tolerances))
    names = [limit.quantity.name for limit in limits]
    names += [tolerance.quantity.name for tolerance in asked_tolerances]
    side = _side(paths, request.part, reading)
    with_ops = any(name.startswith((quantities.OP, quantities.KERNEL)) for name in names)
    gate = held_against(
        gated_runs(side, with_ops=with_ops),
        limits,
        asked_tolerances,
        baseline,
        allows_open=request.allow_unresolved,
    )
    return replace(gate, notes=(*side.notes, *gate.notes))


def _limits(request: GateRequest) -> list[FixedLimit]:
    limits = [fixed_limit(words, is_least=False) for words in request.most]
    return limits + [fixed_limit(words, is_least=True) for words in request.least]


def _measured(baseline: BaselineRuns, reading: SideReading) -> list[str]:
    """What the baseline holds, without power where nobody wants to look for it."""
    names = dict.fromkeys(name for run in baseline.runs for name in run.values)
    without_power = not (reading.options.find_power or reading.options.power)
    if without_power:
        fixed = quantities.fixed_quantities()
        power = {quantity.name for quantity in fixed if quantity.is_power}
        return [name for name in names if name not in power]
    return list(names)


def _side(paths: Sequence[str], part: Asked, reading: SideReading) -> AskedSide:
    if not paths:
        raise UsageError("Name a run.", hint="See powertui check --help for what it takes.")
    return one_side(paths, part, reading)


def runs_to_save(paths: Sequence[str], part: Asked, reading: SideReading) -> BaselineRuns:
    """The runs of a baseline, with their ops and kernels."""
    runs = gated_runs(_side(paths, part, reading), with_ops=True)
    return BaselineRuns(Path(paths[0]).name, tuple(runs))
