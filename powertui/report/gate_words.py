"""A check in words: the answer, its rows as cells, and why something cannot be said."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.compare.amounts import in_unit, signed, signed_percent
from powertui.data.compare.figure import Basis
from powertui.data.gate import quantities
from powertui.data.gate.gate import Gate, GateRow, GateVerdict
from powertui.plain import plain
from powertui.report import text

_NAME_CHARACTERS = 60  # of ops and kernels, whose names may take a page
_STARTS = {
    GateVerdict.WITHIN: "Within",
    GateVerdict.ABOVE: "Above",
    GateVerdict.BELOW: "Below",
    GateVerdict.CANNOT_SAY: "Cannot say",
}


def answer(gate: Gate) -> str:
    """The first sentences: the worst row with its size, then how many others hold."""
    asked = [row for row in gate.rows if not row.is_watched or row.is_broken]
    first = next((row for row in asked if row.verdict is gate.verdict), None)
    if first is None:
        return "Within: nothing had to be checked."
    words = f"{_STARTS[gate.verdict]}: {row_sentence(first)}"
    others = [row for row in asked if row is not first]
    if others:
        words += f" {_counts(others)}"
    open_names = [row_name(row) for row in gate.rows if row.is_open]
    if gate.allows_open and open_names:
        names = ", ".join(open_names)
        words += f" Not resolved, and let pass by --allow-unresolved: {names}."
    return words


def _counts(rows: Sequence[GateRow]) -> str:
    """How the others are: "The other 3 hold.", "Of the other 3, 2 hold and 1 is not resolved."."""
    holding = sum(row.verdict is GateVerdict.WITHIN for row in rows)
    broken = sum(row.is_broken for row in rows)
    groups = (
        (holding, "holds", "hold"),
        (broken, "does not hold", "do not hold"),
        (len(rows) - holding - broken, "is not resolved", "are not resolved"),
    )
    parts = []
    for count, singular, plural in groups:
        if count:
            parts.append((count, singular if count == 1 else plural))
    if len(parts) == 1:
        ((count, words),) = parts
        if count == 1:
            return f"The other {words}."
        return f"The other {count} {words}."
    listed = " and ".join(f"{count} {words}" for count, words in parts)
    return f"Of the other {len(rows)}, {listed}."


def row_sentence(row: GateRow) -> str:
    """One row: its size, its limit, what it rests on, and what would tell."""
    name = row_name(row)
    bound = _bound(row)
    if row.value is None:
        return f"{name} {bound}; {row.why}."
    unit = row.quantity.unit
    value = in_quantity_unit(row.value, unit)
    sizes = "; ".join(filter(None, (_interval_words(row), basis_words(row))))
    if row.kind == "against":
        base = in_quantity_unit(row.baseline, unit)
        words = f"{name} is {value}, the baseline's {base} ({sizes}), and {bound}"
    else:
        words = f"{name} is {value} ({sizes}) and {bound}"
    if row.why:
        words += f"; {row.why}"
    words += "."
    if row.needs:
        words += f" To tell: {row.needs}."
    return words


def row_name(row: GateRow) -> str:
    """The quantity, cut where it is the name of an op that takes a page."""
    return plain(row.quantity.name, _NAME_CHARACTERS)


def _bound(row: GateRow) -> str:
    if row.kind == "against":
        side = "below" if row.quantity.more_is_better else "above"
        return f"may be {_percent(row.tolerance or 0.0)} {side} it"
    words = "must be at least" if row.kind == "min" else "may be at most"
    return f"{words} {in_quantity_unit(row.limit, row.quantity.unit)}"


def limit_cell(row: GateRow) -> str:
    """The limit, for a table: "≤ 24 J", or "baseline + 3 %"."""
    if row.kind == "against":
        sign = "-" if row.quantity.more_is_better else "+"
        return f"baseline {sign} {_percent(row.tolerance or 0.0)}"
    sign = "≥" if row.kind == "min" else "≤"
    return f"{sign} {in_quantity_unit(row.limit, row.quantity.unit)}"


def verdict_cell(row: GateRow) -> str:
    """The verdict; of what is only watched with that word."""
    if row.is_watched and row.verdict is GateVerdict.CANNOT_SAY:
        return "cannot say (watched)"
    return row.verdict.value


def interval_cell(row: GateRow) -> str:
    """The 95 % interval, of a difference in percent of the baseline where that is possible."""
    interval = row.interval
    if interval is None or interval.lo is None or interval.hi is None:
        return ""
    unit = row.quantity.unit
    if row.kind != "against":
        lo = in_quantity_unit(interval.lo, unit)
        hi = in_quantity_unit(interval.hi, unit)
        return f"{lo} to {hi}"
    if not row.baseline:
        lo = _signed(interval.lo, unit)
        hi = _signed(interval.hi, unit)
        return f"{lo} to {hi}"
    size = abs(row.baseline)
    lo = signed_percent(interval.lo / size)
    hi = signed_percent(interval.hi / size)
    return f"{lo} to {hi} %"


def difference_cell(row: GateRow) -> str:
    """By how much the value is above the baseline's."""
    if row.kind != "against" or row.interval is None:
        return ""
    if not row.baseline:
        return _signed(row.interval.value, row.quantity.unit)
    return f"{signed_percent(row.interval.value / abs(row.baseline))} %"


def _interval_words(row: GateRow) -> str:
    interval = interval_cell(row)
    if not interval:
        return ""
    difference = difference_cell(row)
    return f"{difference}, 95 % {interval}" if difference else f"95 % {interval}"


def basis_words(row: GateRow) -> str:
    """What the interval is made of: "5 runs", "within-run only"."""
    runs = f"{row.runs:,} {'run' if row.runs == 1 else 'runs'}"
    if row.kind == "against":
        runs = f"{row.baseline_runs:,} and {runs}"
    if row.interval is not None and row.interval.basis is Basis.WITHIN_RUN:
        return f"{runs}, {Basis.WITHIN_RUN.value}"
    return runs


def runs_in_words(runs: int, sessions: int) -> str:
    """ "3 runs", "1 run of 2 sessions": a report lists each session as a run of its own."""
    words = text.plural(runs, "run")
    if sessions <= runs:
        return words
    return f"{words} of {text.plural(sessions, 'session')}"


def in_quantity_unit(value: float | None, unit: str) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    if unit == quantities.SHARE:
        return units.percent(value, 1)
    if unit == "steps/s":
        return f"{value:.4g} /s"
    return in_unit(value, unit)


def _signed(value: float, unit: str) -> str:
    if unit in (quantities.SHARE, "steps/s"):
        return f"{'+' if value > 0 else ''}{in_quantity_unit(value, unit)}"
    return signed(value, unit)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
