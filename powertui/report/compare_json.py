"""A comparison as JSON: a stable interface, described in docs/compare.md."""

from __future__ import annotations

import json
from typing import Any

from powertui import __version__
from powertui.data.compare.causes import Cause
from powertui.data.compare.comparison import ComparedSide, Comparison
from powertui.data.compare.figure import ComparedFigure, Family, FigureVerdict
from powertui.data.compare.matching import Unmatched
from powertui.plain import plain

Json = dict[str, Any]
_MAX_BRIEF_BYTES = 4096  # with the line end
# Chosen so that an ordinary comparison fits; what does not is taken off the longest list.
_BRIEF_ROWS = {"configuration": 8, "causes": 8, "differs": 8, "conclusions": 4}
_BRIEF_CHARACTERS = 120  # of a name or value


def as_json(comparison: Comparison) -> Json:
    """Everything, with full figures. What is not known is None."""
    return {
        "powertui": __version__,
        "sentence": comparison.sentence,
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "configuration": [
            {"name": row.name, "a": row.a, "b": row.b} for row in comparison.configuration
        ],
        "figures": [json_figure(figure) for figure in comparison.figures],
        "causes": [_cause(cause) for cause in comparison.causes],
        "conclusions": [
            {
                "change": row.change,
                "kind": row.kind,
                "sentence": row.sentence,
                "runs": row.runs,
                "of": row.of,
            }
            for row in comparison.conclusions
        ],
        "unmatched": [_unmatched(row) for row in comparison.unmatched],
        "notes": list(comparison.notes),
    }


def json_figure(figure: ComparedFigure) -> Json:
    """One figure with its interval and verdict."""
    judgement = figure.judgement
    return {
        "family": figure.family.value,
        "name": figure.name,
        "name_b": figure.name_b or None,
        "within": figure.within,
        "unit": figure.unit,
        "a": figure.a,
        "b": figure.b,
        "difference": figure.difference,
        "ratio": figure.ratio,
        "lo": judgement.lo,
        "hi": judgement.hi,
        "verdict": judgement.verdict.value,
        "basis": judgement.basis.value,
        "p": judgement.p,
        "why": judgement.why,
        "needs": judgement.needs,
    }


def brief_json(comparison: Comparison) -> str:
    """What matters, in fewer than 4,096 bytes; what does not fit is counted."""
    headline = (Family.TIME, Family.ENERGY)
    differing = [
        figure
        for figure in comparison.figures
        if figure.verdict is FigureVerdict.DIFFERS and figure.family not in headline
    ]
    lists = {
        "configuration": [
            {"name": _short(row.name), "a": _short(row.a), "b": _short(row.b)}
            for row in comparison.configuration
        ],
        "causes": [_brief_cause(cause) for cause in comparison.causes],
        "differs": [_brief_figure(figure) for figure in differing],
        "conclusions": [
            {"change": row.change, "kind": row.kind, "sentence": plain(row.sentence, 200)}
            for row in comparison.conclusions
        ],
    }
    document: Json = {
        "powertui": __version__,
        "sentence": plain(comparison.sentence, 900),
        "runs": [len(comparison.a.runs), len(comparison.b.runs)],
        "figures": [
            _brief_figure(figure) for figure in comparison.figures if figure.family in headline
        ],
        "unmatched": len(comparison.unmatched),
        "next": "the same with --json: every figure, its reason, and what would decide it",
    }
    for name, rows in lists.items():
        document[name] = rows[: _BRIEF_ROWS[name]]
        if len(rows) > _BRIEF_ROWS[name]:
            document[f"{name}_left_out"] = len(rows) - _BRIEF_ROWS[name]
    return _fitting(document)


def _fitting(document: Json) -> str:
    line = _dense(document)
    while len(line.encode()) >= _MAX_BRIEF_BYTES:
        longest = max(_BRIEF_ROWS, key=lambda name: len(_dense(document[name])))
        if not document[longest]:
            return _dense({"powertui": __version__, "sentence": document["sentence"][:500]})
        document[longest].pop()
        document[f"{longest}_left_out"] = document.get(f"{longest}_left_out", 0) + 1
        line = _dense(document)
    return line


def _dense(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _brief_figure(figure: ComparedFigure) -> Json:
    judgement = figure.judgement
    row = {
        "name": _short(figure.name),
        "unit": figure.unit,
        "a": _six_digits(figure.a),
        "b": _six_digits(figure.b),
        "lo": _six_digits(judgement.lo),
        "hi": _six_digits(judgement.hi),
        "verdict": judgement.verdict.value,
        "basis": judgement.basis.value,
    }
    if judgement.needs:
        row["needs"] = judgement.needs
    return row


def _brief_cause(cause: Cause) -> Json:
    return {
        "by": cause.account,
        "name": _short(cause.name),
        "seconds": _six_digits(cause.seconds),
        "joules": _six_digits(cause.joules),
    }


def _cause(cause: Cause) -> Json:
    return {
        "by": cause.account,
        "name": cause.name,
        "name_b": cause.name_b or None,
        "seconds": cause.seconds,
        "share": cause.share,
        "joules": cause.joules,
    }


def _side(side: ComparedSide) -> Json:
    return {"name": side.name, "runs": list(side.runs)}


def _unmatched(row: Unmatched) -> Json:
    return {
        "side": row.side,
        "family": row.family.value,
        "name": row.name,
        "within": row.within,
        "unit": row.unit,
        "value": row.value,
    }


def _short(text: str) -> str:
    return plain(text, _BRIEF_CHARACTERS)


def _six_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
