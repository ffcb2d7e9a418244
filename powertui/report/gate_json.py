"""A check as JSON: a stable interface, described in docs/gate.md."""

from __future__ import annotations

from typing import Any

from powertui import __version__
from powertui.data.gate.gate import Gate, GateRow
from powertui.report.gate_words import answer

GATE_COLUMNS = (
    "quantity",
    "unit",
    "measured",
    "kind",
    "limit",
    "value",
    "baseline",
    "difference",
    "ratio",
    "lo",
    "hi",
    "tolerance",
    "verdict",
    "watched",
    "basis",
    "p",
    "runs",
    "baseline_runs",
    "why",
    "needs",
)


def gate_as_json(gate: Gate) -> dict[str, Any]:
    """Everything, with full figures. What is not known is None."""
    return {
        "powertui": __version__,
        "sentence": answer(gate),
        "verdict": gate.verdict.value,
        "exit_code": gate.exit_code,
        "allow_unresolved": gate.allows_open,
        "runs": list(gate.runs),
        "baseline": gate.baseline or None,
        "baseline_runs": gate.baseline_runs,
        "limits": [json_row(row) for row in gate.rows],
        "configuration": [
            {"name": setting.name, "baseline": setting.a, "now": setting.b}
            for setting in gate.configuration
        ],
        "notes": list(gate.notes),
    }


def json_row(row: GateRow) -> dict[str, Any]:
    """One limit. `lo` and `hi` are of the value; against a baseline of the difference."""
    interval = row.interval
    is_against = row.kind == "against"
    return {
        "quantity": row.quantity.name,
        "unit": row.quantity.unit,
        "measured": row.quantity.measured,
        "kind": row.kind,
        "limit": row.limit,
        "value": row.value,
        "baseline": row.baseline,
        "difference": interval.value if interval is not None and is_against else None,
        "ratio": row.value / row.baseline if row.baseline and row.value is not None else None,
        "lo": None if interval is None else interval.lo,
        "hi": None if interval is None else interval.hi,
        "tolerance": row.tolerance,
        "verdict": row.verdict.value,
        "watched": row.is_watched,
        "basis": "none" if interval is None else interval.basis.value,
        "p": None if interval is None else interval.p,
        "runs": row.runs,
        "baseline_runs": row.baseline_runs if is_against else None,
        "why": row.why,
        "needs": row.needs,
    }
