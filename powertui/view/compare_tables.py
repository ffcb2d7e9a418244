"""A comparison as tables: its figures, where the difference comes from, and what else differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui.data.columns import Column, Value, floats_or_nan
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare.amounts import (
    both_names,
    in_unit,
    is_listed,
    names_with_place,
    ratio,
    signed,
)
from powertui.data.compare.causes import Cause
from powertui.data.compare.comparison import Comparison, ConclusionChange
from powertui.data.compare.configuration import Setting
from powertui.data.compare.figure import ComparedFigure, Family
from powertui.data.compare.kernel_figures import LAUNCHES
from powertui.data.compare.matching import Unmatched
from powertui.data.model import PS_PER_S, Int64s
from powertui.data.table import Fact, Place, Result, Table
from powertui.view.compare_columns import texts, worded_numbers
from powertui.view.compare_places import Places
from powertui.view.table_rows import ALWAYS

# Long families are tables of their own: ops are times of a step, kernels totals of the window.
_LONG_FAMILIES = {
    Family.OP: ("ops", "Ops, time in a step"),
    Family.OPERATOR: ("operators", "Operators by their kernels, time in all"),
    Family.KERNEL: ("kernels_by_operator", "Kernels by operator, time in all"),
    Family.KERNEL_NAME: ("kernels", "Kernels, time in all"),
}
_MAX_BOTH_NAMES = 44  # letters of A's and B's name in one cell; longer ones are in two
# Parts may be many times a difference that they nearly cancel out to: "-1,194.3 %".
_SHARE_CELLS = 10
_CHANGES = {"came": "only in B", "went": "only in A"}


def compare_result(comparison: Comparison, places: Places) -> Result:
    """The answer as tables, without those that have no row; figures come first."""
    timed = [figure for figure in comparison.figures if is_listed(figure)]
    tables = [
        _figures(
            "figures",
            "Figures",
            [figure for figure in timed if figure.family not in _LONG_FAMILIES],
            places,
        ),
        *_causes(comparison.causes, places),
        *_long_families(timed, places),
        _configuration(comparison.configuration),
        _conclusions(comparison.conclusions, places),
        _unmatched(comparison.unmatched),
    ]
    return Result(
        "compare",
        "Comparison",
        tables=tuple(table for table in tables if len(table)),
        facts=_facts(comparison),
        notes=comparison.notes,
    )


def _long_families(figures: Sequence[ComparedFigure], places: Places) -> Iterator[Table]:
    """Ops and kernels, family by family, those that differ most first."""
    for family, (id, title) in _LONG_FAMILIES.items():
        rows = [figure for figure in figures if figure.family is family]
        rows.sort(key=lambda figure: -abs(figure.difference or 0.0))
        yield _figures(id, title, rows, places)


def _facts(comparison: Comparison) -> tuple[Fact, ...]:
    """The answer, what was compared, and which settings differ."""
    facts = [
        Fact("sentence", "answer", comparison.sentence),
        Fact("a", "A", ", ".join(comparison.a.runs)),
        Fact("b", "B", ", ".join(comparison.b.runs)),
    ]
    names = ", ".join(setting.name for setting in comparison.configuration)
    if names:
        facts.append(Fact("configuration", "Configuration differs in", names))
    return tuple(facts)


def _figures(
    id: str,
    title: str,
    figures: Sequence[ComparedFigure],
    places: Places,
) -> Table:
    """A, B, the difference with its interval and verdict. `of` groups ops, kernels and times."""
    judgements = [figure.judgement for figure in figures]
    differences = [figure.difference for figure in figures]
    names = names_with_place([_shown_name(figure) for figure in figures], figures)
    columns = (
        texts("figure", "figure", names),
        _amounts("a", "A", [figure.a for figure in figures], figures),
        _amounts("b", "B", [figure.b for figure in figures], figures),
        worded_numbers(
            "difference",
            "difference",
            differences,
            [signed(figure.difference, figure.unit) for figure in figures],
            weight=8,
        ),
        worded_numbers(
            "ratio",
            "ratio",
            [figure.ratio for figure in figures],
            [ratio(figure) for figure in figures],
            weight=4,
        ),
        worded_numbers(
            "lo",
            "95 % interval",
            [judgement.lo for judgement in judgements],
            [_interval(figure) for figure in figures],
            weight=5,
        ),
        _bounds("hi", [judgement.hi for judgement in judgements]),
        texts("unit", "unit", [figure.unit for figure in figures], weight=0),
        texts(
            "verdict", "verdict", [judgement.verdict.value for judgement in judgements], weight=8
        ),
        texts("of", "of", [figure.family.value for figure in figures], weight=3),
        *_names_in_b(figures),
        texts("needs", "to tell", [judgement.needs for judgement in judgements], weight=2),
    )
    return Table(
        id=id,
        title=title,
        columns=columns,
        place=lambda row: _figure_place(figures[row], places),
        noun="figure",
    )


def _shown_name(row: ComparedFigure | Cause) -> str:
    """With what B calls it, unless that is too long; of a time of the devices, whose it is."""
    if isinstance(row, ComparedFigure) and row.family is Family.DEVICE_TIME:
        return f"devices: {row.name}"
    if len(row.name) + len(row.name_b) > _MAX_BOTH_NAMES:
        return row.name
    return both_names(row.name, row.name_b, 2 * _MAX_BOTH_NAMES)


def _names_in_b(figures: Sequence[ComparedFigure]) -> Iterator[Column]:
    """What B calls ops that have another name there, where any does."""
    names = [figure.name_b for figure in figures]
    if any(names):
        yield texts("name_b", "name in B", names, weight=4)


def _amounts(
    id: str,
    label: str,
    values: Sequence[float | None],
    figures: Sequence[ComparedFigure],
) -> Column:
    words = []
    for value, figure in zip(values, figures, strict=True):
        words.append(in_unit(value, figure.unit))
    return worded_numbers(
        id,
        label,
        values,
        words,
        weight=7,
    )


def _bounds(id: str, values: Sequence[float | None]) -> Column:
    """The upper ends of intervals, for programs alone: a person reads them with the lower ones."""
    return Column(
        id,
        id,
        "number",
        floats_or_nan(values),
        weight=0,
    )


def _interval(figure: ComparedFigure) -> str:
    judgement = figure.judgement
    if judgement.lo is None or judgement.hi is None:
        return ""
    return f"{signed(judgement.lo, figure.unit)} to {signed(judgement.hi, figure.unit)}"


def _figure_place(figure: ComparedFigure, places: Places) -> Place | None:
    if figure.family is Family.OP:
        return places.of_op(figure.name)
    if figure.family in (Family.TIME, Family.ENERGY, Family.CATEGORY):
        return places.compared
    return None


def _causes(causes: Sequence[Cause], places: Places) -> Iterator[Table]:
    """Both accounts. Each adds up to the difference of a step, so they are not one table."""
    for account in (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP):
        rows = [cause for cause in causes if cause.account == account]
        yield _account(account, rows, places)


def _account(account: str, causes: Sequence[Cause], places: Places) -> Table:
    seconds_ps = np.array([round(cause.seconds * PS_PER_S) for cause in causes], np.int64)
    shares = floats_or_nan(cause.share for cause in causes)
    joules = floats_or_nan(cause.joules for cause in causes)
    columns = (
        texts("part", "part of the difference of a step", [_shown_name(cause) for cause in causes]),
        Column(
            id="seconds_s",
            label="time",
            kind="duration",
            values=seconds_ps,
            weight=8,
            signed=True,
        ),
        Column(
            id="share",
            label="share",
            kind="share",
            values=shares,
            weight=7,
            cells=_SHARE_CELLS,
        ),
        Column(
            id="joules",
            label="energy",
            kind="number",
            values=joules,
            unit="J",
            weight=6,
            signed=True,
        ),
        texts("differs", "", ["differs" if cause.differs else "" for cause in causes], weight=5),
    )

    def place(row: int) -> Place | None:
        if account == cause_accounts.BY_OP:
            return places.of_op(causes[row].name)
        return places.compared

    def total(rows: Int64s) -> Mapping[str, Value]:
        sums: dict[str, Value] = {
            "seconds_s": int(seconds_ps[rows].sum()),
            "share": float(np.nansum(shares[rows])),
        }
        if not np.isnan(joules[rows]).all():
            sums["joules"] = float(np.nansum(joules[rows]))
        return sums

    return Table(
        id=f"causes_by_{account}",
        title=f"Where it comes from, by {account}",
        columns=columns,
        place=place,
        noun="part",
        total=total,
    )


def _configuration(settings: Sequence[Setting]) -> Table:
    columns = (
        texts("name", "what", [setting.name for setting in settings], weight=7),
        texts("a", "A", [setting.a for setting in settings], weight=8),
        texts("b", "B", [setting.b for setting in settings]),
    )
    return Table(
        id="configuration", title="Configuration that differs", columns=columns, noun="setting"
    )


def _conclusions(changes: Sequence[ConclusionChange], places: Places) -> Table:
    columns = (
        texts("change", "side", [_CHANGES[change.change] for change in changes], weight=8),
        texts("sentence", "conclusion", [change.sentence for change in changes]),
    )

    def place(row: int) -> Place | None:
        change = changes[row]
        if change.change == "went":
            return places.conclusions.get(change.kind)
        return None

    return Table(
        id="conclusions",
        title="Conclusions that came or went",
        columns=columns,
        place=place,
        noun="conclusion",
    )


def _unmatched(unmatched: Sequence[Unmatched]) -> Table:
    """What one side alone has, the largest first."""
    rows = [row for row in unmatched if row.unit != LAUNCHES]
    rows.sort(key=lambda row: (row.unit, -abs(row.value)))
    columns = (
        texts("name", "without a counterpart", [row.name for row in rows]),
        texts("side", "side", [f"only in {row.side.upper()}" for row in rows], weight=8),
        worded_numbers(
            "value",
            "value",
            [row.value for row in rows],
            [in_unit(row.value, row.unit) for row in rows],
            weight=8,
        ),
        texts("unit", "unit", [row.unit for row in rows], weight=0),
        texts("of", "of", [row.family.value for row in rows], weight=ALWAYS - 2),
    )
    return Table(
        id="unmatched",
        title="Only on one side",
        columns=columns,
        noun="name",
    )
