"""`powertui compare`: two sides, in the form that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powertui.data.compare.comparison import Comparison, compare
from powertui.report import compare_json, compare_page, text
from powertui.report.compare_sides import Asked, SideReading, sides

_CSV_COLUMNS = (
    "family",
    "name",
    "name_b",
    "within",
    "unit",
    "a",
    "b",
    "difference",
    "ratio",
    "lo",
    "hi",
    "verdict",
    "basis",
    "p",
    "why",
    "needs",
)


def tell(
    groups: Sequence[Sequence[str]],
    asked: Asked,
    reading: SideReading,
    form: str,
    brief: bool,
) -> int:
    """Print what differs from A to B."""
    comparison = compare(*sides(groups, asked, reading))
    text.write_reader_warnings(reading.options.hosts)
    if brief:
        text.out(compare_json.brief_json(comparison))
    elif form == "json":
        text.out(text.to_json(compare_json.as_json(comparison)))
    elif form == "csv":
        text.emit_csv(text.to_csv(_CSV_COLUMNS, _csv_rows(comparison)))
    else:
        text.out("\n".join(compare_page.page(comparison, form)))
    return 0


def _csv_rows(comparison: Comparison) -> Iterator[list[object]]:
    """One row a figure; of what one side lacks, the other side's value alone."""
    for figure in comparison.figures:
        shown = compare_json.json_figure(figure)
        yield [shown[column] for column in _CSV_COLUMNS]
    for row in comparison.unmatched:
        a, b = (row.value, None) if row.side == "a" else (None, row.value)
        start = [row.family.value, row.name, None, row.within, row.unit, a, b]
        yield [*start, *[None] * (len(_CSV_COLUMNS) - len(start))]
