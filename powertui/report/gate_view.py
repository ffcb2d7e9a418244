"""`powertui.check()` and `powertui.baseline()`: a gate in a notebook or a test of one's own."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import pandas as pd

from powertui.data.asked import Aligning
from powertui.data.gate.baseline_file import baseline_text
from powertui.data.gate.baseline_store import (
    baseline_folder,
    check_name,
    find_baseline,
    save_baseline,
)
from powertui.data.gate.gate import Gate
from powertui.data.gate.run_values import BaselineRuns
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.report.baseline import baseline_as_json
from powertui.report.compare_sides import Asked, SideReading
from powertui.report.gate_json import gate_as_json
from powertui.report.gate_runs import GateRequest, run_gate, runs_to_save
from powertui.report.gate_words import answer
from powertui.report.python_arguments import named_paths, one_or_two, read_options
from powertui.report.writers import as_frame

_Path: TypeAlias = "str | os.PathLike[str]"
_Limits: TypeAlias = "Mapping[str, float | str] | Sequence[str]"
# The kind of each column, for `as_frame.typed`.
_LIMITS = {
    "quantity": "text",
    "unit": "text",
    "measured": "text",
    "kind": "text",
    "limit": "number",
    "value": "number",
    "baseline": "number",
    "difference": "number",
    "ratio": "number",
    "lo": "number",
    "hi": "number",
    "tolerance": "number",
    "verdict": "text",
    "watched": "flag",
    "basis": "text",
    "p": "number",
    "runs": "whole",
    "baseline_runs": "whole",
    "why": "text",
    "needs": "text",
}
_QUANTITIES = {
    "name": "text",
    "unit": "text",
    "mean": "number",
    "lo": "number",
    "hi": "number",
    "sd": "number",
    "runs": "whole",
    "basis": "text",
}
_PARTS = ("run", "host", "epoch", "steps", "start", "end", "at")
_READING = ("power", "tz", "step_marker", "max_memory", "aligning")


def check(
    runs: _Path | Sequence[_Path],
    *,
    max: _Limits = (),
    min: _Limits = (),
    against: _Path | None = None,
    tolerance: str | Mapping[str, str] | None = None,
    folder: _Path | None = None,
    **how: Any,
) -> GateView:
    """Whether runs keep limits, as `powertui check` answers.

    `max` and `min` are {"J/step": 24} or ["J/step=24"]; `against` is a saved baseline or the path
    of one, `tolerance` "3%" or {"J/step": "3%"}, `folder` where baselines are saved. `run=`,
    `host=`, `epoch=`, `steps=`, `start=`, `end=` and `at=` narrow the runs; `power=`, `tz=`,
    `step_marker=`, `max_memory=` and `aligning=` are those of `powertui.compare()`.
    Raises `UsageError` with the list of quantities for one that is not known.
    """
    part, reading = _split(how, "check")
    request = GateRequest(
        most=_expressions(max),
        least=_expressions(min),
        against=None if against is None else os.fspath(against),
        tolerance=_expressions(tolerance or ()),
        folder=None if folder is None else os.fspath(folder),
        part=part,
    )
    return GateView(run_gate(named_paths(runs), request, reading))


def baseline(
    name: _Path,
    runs: _Path | Sequence[_Path] | None = None,
    *,
    folder: _Path | None = None,
    replace: bool = False,
    **how: Any,
) -> BaselineView:
    """A saved baseline, or the path of one. With `runs`, it is measured and saved first.

    The other arguments are those of `powertui.check()`.
    """
    words = os.fspath(name)
    place = baseline_folder(None if folder is None else os.fspath(folder))
    if runs is not None:
        check_name(words)
        measured = runs_to_save(named_paths(runs), *_split(how, "baseline"))
        content = baseline_text(words, measured.runs, int(time.time()))
        words = str(save_baseline(place, words, content, replace=replace))
    return BaselineView(find_baseline(words, place))


class GateView:
    """The answer of a check. True where all limits hold."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    @property
    def sentence(self) -> str:
        """The answer: the worst limit with its size and interval."""
        return answer(self.gate)

    @property
    def verdict(self) -> str:
        """ "within", "above", "below" or "cannot say"."""
        return self.gate.verdict.value

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything, as `powertui check --json` has it."""
        return gate_as_json(self.gate)

    @property
    def limits(self) -> pd.DataFrame:
        """One row per limit: quantity, limit, value, lo and hi (95 %), verdict, needs."""
        return as_frame.typed(self.json["limits"], _LIMITS)

    def __bool__(self) -> bool:
        return self.gate.exit_code == 0

    def __repr__(self) -> str:
        return f"<Check: {plain(self.sentence)}>"


class BaselineView:
    """A baseline: the figures of its runs."""

    def __init__(self, baseline: BaselineRuns) -> None:
        self.baseline = baseline

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything, as `powertui baseline show --json` has it."""
        return baseline_as_json(self.baseline)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per quantity: mean, lo and hi (95 %), sd from run to run, runs."""
        return as_frame.typed(self.json["quantities"], _QUANTITIES)

    def __repr__(self) -> str:
        return f"<Baseline {plain(self.baseline.name)}: {len(self.baseline.runs)} runs>"


def _expressions(limits: _Limits | str) -> tuple[str, ...]:
    """Limits as the command line has them."""
    if isinstance(limits, str):
        return (limits,)
    if isinstance(limits, Mapping):
        return tuple(f"{name}={value}" for name, value in limits.items())
    return tuple(limits)


def _split(how: Mapping[str, Any], function: str) -> tuple[Asked, SideReading]:
    """What narrows the runs, and how they are read."""
    unknown = set(how) - set(_PARTS) - set(_READING)
    if unknown:
        raise UsageError(
            f"{function}() does not know {', '.join(sorted(unknown))}.",
            hint=f"Runs are narrowed by {', '.join(_PARTS)}, and read by {', '.join(_READING)}.",
        )
    parts = {name: one_or_two(how[name]) for name in _PARTS if name in how}
    reading = {name: how[name] for name in _READING[:-1] if name in how}
    aligning = how.get("aligning") or Aligning()
    return Asked(**parts), SideReading(read_options(**reading), aligning)
