"""A comparison as text or Markdown: the answer first, then what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare.amounts import in_unit, signed
from powertui.data.compare.comparison import ComparedSide, Comparison
from powertui.data.compare.figure import Family, Figure
from powertui.data.compare.kernel_figures import LAUNCHES
from powertui.data.compare.matching import Unmatched
from powertui.report import text
from powertui.report.page_style import Style, style_of

_HEADERS = ("figure", "A", "B", "difference", "ratio", "95 % interval", "verdict")
_LISTED_FAMILIES = (
    Family.TIME,
    Family.ENERGY,
    Family.CATEGORY,
    Family.RANK,
    Family.DEVICE_TIME,
    Family.MEMORY,
)
_LONG_FAMILIES = (Family.OP, Family.OPERATOR, Family.KERNEL, Family.KERNEL_NAME)
_MAX_ROWS = 10  # of a long family, and of what has no counterpart; --json has them all
_NAME_CELLS = 48  # of ops and kernels, whose names may take a page


def page(comparison: Comparison, form: str) -> list[str]:
    """All lines."""
    style = style_of(form)
    lines = []
    if style.is_document:
        lines += style.head(1, "Comparison")
    lines += [
        style.line(comparison.sentence).lstrip()
        if not style.is_document
        else style.line(comparison.sentence),
        "",
    ]
    lines += [_side_line(style, "A", comparison.a), _side_line(style, "B", comparison.b)]
    lines += _configuration(style, comparison)
    lines += _figures(style, comparison.figures)
    lines += _causes(style, comparison)
    lines += _conclusions(style, comparison)
    lines += _unmatched(style, comparison.unmatched)
    lines += _reasons(style, comparison.figures)
    if comparison.notes:
        lines += [*style.head(2, "Notes"), *map(style.line, comparison.notes)]
    return lines


def _side_line(style: Style, label: str, side: ComparedSide) -> str:
    runs = text.plural(len(side.runs), "run")
    return style.line(f"{label}: {side.name} ({runs})")


def _configuration(style: Style, comparison: Comparison) -> list[str]:
    if not comparison.configuration:
        return [*style.head(2, "Configuration"), style.line("The files tell of no difference.")]
    rows = [[row.name, _cut(row.a), _cut(row.b)] for row in comparison.configuration]
    return [
        *style.head(2, "Configuration that differs"),
        *style.table(("what", "A", "B"), rows, ()),
    ]


def _figures(style: Style, figures: Sequence[Figure]) -> list[str]:
    lines = []
    for family in (*_LISTED_FAMILIES, *_LONG_FAMILIES):
        rows = [row for row in figures if row.family is family and row.unit != LAUNCHES]
        if not rows:
            continue
        shown = rows
        if family in _LONG_FAMILIES:
            shown = sorted(rows, key=lambda row: -abs(row.difference or 0.0))[:_MAX_ROWS]
        lines += style.head(2, f"{family.value[0].upper()}{family.value[1:]}")
        lines += style.table(_HEADERS, [_cells(row) for row in shown], range(1, 6))
        if len(rows) > len(shown):
            lines.append(style.line(_more(len(rows) - len(shown))))
    return lines


def _cells(figure: Figure) -> list[str]:
    judgement = figure.judgement
    interval = ""
    if judgement.lo is not None and judgement.hi is not None:
        interval = f"{signed(judgement.lo, figure.unit)} to {signed(judgement.hi, figure.unit)}"
    return [
        _cut(figure.name),
        in_unit(figure.a, figure.unit),
        in_unit(figure.b, figure.unit),
        signed(figure.difference, figure.unit),
        "" if figure.ratio is None else f"{figure.ratio:.3f}",
        interval,
        judgement.verdict.value,
    ]


def _causes(style: Style, comparison: Comparison) -> list[str]:
    lines: list[str] = []
    for account in (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP):
        rows = [cause for cause in comparison.causes if cause.account == account]
        if not rows:
            continue
        cells = [
            [
                _cut(cause.name),
                signed(cause.seconds, "s"),
                "" if cause.share is None else units.percent(cause.share),
                signed(cause.joules, "J"),
            ]
            for cause in rows
        ]
        total_j = [cause.joules for cause in rows if cause.joules is not None]
        total = signed(sum(cause.seconds for cause in rows), "s")
        cells.append(["together", total, "", signed(sum(total_j), "J") if total_j else ""])
        lines += style.head(2, f"Where the difference of a step comes from, by {account}")
        lines += style.table(("part", "time", "share", "energy"), cells, range(1, 4))
    return lines


def _conclusions(style: Style, comparison: Comparison) -> list[str]:
    if not comparison.conclusions:
        return []
    lines = style.head(2, "Conclusions that came or went")
    for row in comparison.conclusions:
        side = "only in B" if row.change == "came" else "only in A"
        runs = f" ({row.runs} of {row.of} runs)" if row.of > 1 else ""
        lines.append(style.line(f"{side}{runs}: {row.sentence}"))
    return lines


def _unmatched(style: Style, rows: Sequence[Unmatched]) -> list[str]:
    lines: list[str] = []
    for side, label in (("a", "Only in A"), ("b", "Only in B")):
        of_side = [row for row in rows if row.side == side and row.unit != LAUNCHES]
        if not of_side:
            continue
        largest = sorted(of_side, key=lambda row: (row.unit, -abs(row.value)))
        cells = [
            [row.family.value, _cut(row.name), in_unit(row.value, row.unit)]
            for row in largest[:_MAX_ROWS]
        ]
        lines += style.head(2, f"{label}: {len(of_side):,} without a counterpart")
        lines += style.table(("of", "name", "value"), cells, (2,))
        if len(of_side) > _MAX_ROWS:
            lines.append(style.line(_more(len(of_side) - _MAX_ROWS)))
    return lines


def _reasons(style: Style, figures: Sequence[Figure]) -> list[str]:
    """Why the first figures have their verdicts, and what would tell."""
    rows = []
    for figure in figures:
        judgement = figure.judgement
        if figure.family not in (Family.TIME, Family.ENERGY) or not judgement.why:
            continue
        words = f"{figure.name}: {judgement.basis.value}; {judgement.why}"
        rows.append(f"{words}. To tell: {judgement.needs}" if judgement.needs else words)
    return [*style.head(2, "How sure"), *map(style.line, rows)] if rows else []


def _more(count: int) -> str:
    return f"… and {count:,} more (--json lists them)"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_CELLS else f"{name[: _NAME_CELLS - 1]}…"
