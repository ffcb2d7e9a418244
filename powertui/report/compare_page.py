"""A comparison as text or Markdown: the answer first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from powertui import units
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare.amounts import (
    cut,
    in_unit,
    is_listed,
    ratio,
    row_names,
    signed,
    unmatched_names,
)
from powertui.data.compare.causes import Cause
from powertui.data.compare.comparison import ComparedSide, Comparison, ConclusionChange
from powertui.data.compare.figure import Basis, ComparedFigure, Family, Judgement
from powertui.data.compare.kernel_figures import LAUNCHES
from powertui.data.compare.matching import Unmatched
from powertui.plain import plain
from powertui.report import compare_charts, text
from powertui.report.page_style import Style, style_of
from powertui.value_types import dataclass

SAME_CONFIGURATION = "The files show no difference."
_HEADERS = ("figure", "A", "B", "difference", "ratio", "95 % interval", "verdict")
_LISTED_FAMILIES = (
    Family.TIME,
    Family.ENERGY,
    Family.CATEGORY,
    Family.PHASE,
    Family.RANK,
    Family.DEVICE_TIME,
    Family.MEMORY,
)
_LONG_FAMILIES = (Family.OP, Family.OPERATOR, Family.KERNEL, Family.KERNEL_NAME)
MAX_ROWS = 10  # of a long family, and of what has no counterpart; --json has them all
_NAME_CELLS = 48  # of settings, ops and kernels, whose names may take a page


def page(comparison: Comparison, form: str) -> list[str]:
    """All lines."""
    style = style_of(form)
    lines = _answer(style, comparison.sentence)
    lines.append(_side_line(style, "A", comparison.a))
    lines.append(_side_line(style, "B", comparison.b))
    lines += _configuration(style, comparison)
    lines += _figures(style, comparison.figures)
    for account in (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP):
        lines += _causes(style, comparison.causes, account)
    lines += _conclusions(style, comparison)
    for side, label in (("a", "Only in A"), ("b", "Only in B")):
        of_side = [row for row in comparison.unmatched if row.side == side]
        lines += _unmatched(style, of_side, label)
    lines += _reasons(style, comparison.figures)
    if comparison.notes:
        lines += style.head(2, "Notes")
        lines += map(style.line, comparison.notes)
    return lines


def _answer(style: Style, sentence: str) -> list[str]:
    if style.is_document:
        return [*style.head(1, "Comparison"), style.line(sentence), ""]
    return [plain(sentence), ""]


def _side_line(style: Style, label: str, side: ComparedSide) -> str:
    runs = text.plural(len(side.runs), "run")
    return style.line(f"{label}: {side.name} ({runs})")


def _configuration(style: Style, comparison: Comparison) -> list[str]:
    if not comparison.configuration:
        return [*style.head(2, "Configuration"), style.line(SAME_CONFIGURATION)]
    rows = []
    for setting in comparison.configuration:
        rows.append([setting.name, short(setting.a), short(setting.b)])
    return [
        *style.head(2, "Configuration that differs"),
        *style.table(("what", "A", "B"), rows, ()),
    ]


@dataclass(frozen=True)
class FamilyRows:
    """The figures of one family as a page lists them; of a long one those that differ most."""

    title: str
    rows: Sequence[ComparedFigure]
    left_out: int


def families(figures: Sequence[ComparedFigure]) -> Iterator[FamilyRows]:
    """Those that have figures, in the order of a page."""
    for family in (*_LISTED_FAMILIES, *_LONG_FAMILIES):
        rows = [row for row in figures if row.family is family and is_listed(row)]
        if not rows:
            continue
        shown = rows
        if family in _LONG_FAMILIES:
            shown = sorted(rows, key=lambda row: -abs(row.difference or 0.0))[:MAX_ROWS]
        title = f"{family.value[0].upper()}{family.value[1:]}"
        yield FamilyRows(
            title=title,
            rows=shown,
            left_out=len(rows) - len(shown),
        )


def _figures(style: Style, figures: Sequence[ComparedFigure]) -> list[str]:
    lines = []
    for family in families(figures):
        lines += style.head(2, family.title)
        lines += _fenced(style, compare_charts.interval_lines(family.rows))
        rows = []
        for name, figure in zip(row_names(family.rows), family.rows, strict=True):
            rows.append([name, *_cells(figure)])
        lines += style.table(_HEADERS, rows, range(1, 6))
        lines += _left_out(style, family.left_out)
    return lines


def _cells(figure: ComparedFigure) -> list[str]:
    """All but the name."""
    unit = figure.unit
    return [
        in_unit(figure.a, unit),
        in_unit(figure.b, unit),
        signed(figure.difference, unit),
        ratio(figure),
        interval(figure),
        figure.verdict.value,
    ]


def interval(figure: ComparedFigure) -> str:
    """The 95 % interval of a difference; "" without one."""
    judgement = figure.judgement
    if judgement.lo is None:
        return ""
    lo = signed(judgement.lo, figure.unit)
    hi = signed(judgement.hi, figure.unit)
    return f"{lo} to {hi}"


def _causes(style: Style, causes: Sequence[Cause], account: str) -> list[str]:
    rows = [cause for cause in causes if cause.account == account]
    if not rows:
        return []
    cells = []
    for name, cause in zip(row_names(rows), rows, strict=True):
        cells.append([name, *_cause_cells(cause)])
    total_s = sum(cause.seconds for cause in rows)
    total_j = joules_together(rows)
    cells.append(["together", signed(total_s, "s"), "", signed(total_j, "J")])
    return [
        *style.head(2, causes_title(account)),
        *_fenced(style, compare_charts.waterfall_lines(rows)),
        *style.table(("part", "time", "share", "energy"), cells, range(1, 4)),
    ]


def _fenced(style: Style, lines: Sequence[str]) -> list[str]:
    """A chart of ASCII letters, in a document alone: a terminal has the page `=` for it."""
    if not style.is_document or not lines:
        return []
    return ["```text", *lines, "```", ""]


def causes_title(account: str) -> str:
    """What stands above the causes of one account."""
    return f"Where the difference of a step comes from, by {account}"


def joules_together(causes: Sequence[Cause]) -> float | None:
    """Of all parts; None where none has joules."""
    joules = [cause.joules for cause in causes if cause.joules is not None]
    return sum(joules) if joules else None


def _cause_cells(cause: Cause) -> list[str]:
    share = "" if cause.share is None else units.percent(cause.share)
    return [part_time(cause), share, signed(cause.joules, "J")]


def part_time(cause: Cause) -> str:
    """How much longer a part takes; "" of power, which is no time."""
    return "" if cause.name == cause_accounts.POWER else signed(cause.seconds, "s")


def _conclusions(style: Style, comparison: Comparison) -> list[str]:
    if not comparison.conclusions:
        return []
    lines = style.head(2, "Conclusions that came or went")
    for row in comparison.conclusions:
        lines.append(style.line(f"{side_of(row)}: {row.sentence}"))
    return lines


def side_of(change: ConclusionChange) -> str:
    """Which side has a conclusion: "only in B (3 of 4 runs)"."""
    side = "only in B" if change.change == "came" else "only in A"
    if change.of > 1:
        return f"{side} ({change.runs} of {change.of} runs)"
    return side


def _unmatched(style: Style, rows: Sequence[Unmatched], label: str) -> list[str]:
    """What one side alone has."""
    timed = largest_first(rows)
    if not timed:
        return []
    shown = timed[:MAX_ROWS]
    cells = []
    for name, row in zip(unmatched_names(shown), shown, strict=True):
        cells.append([row.family.value, name, in_unit(row.value, row.unit)])
    return [
        *style.head(2, f"{label}: {len(timed):,} without a counterpart"),
        *style.table(("of", "name", "value"), cells, (2,)),
        *_left_out(style, len(timed) - len(cells)),
    ]


def largest_first(rows: Iterable[Unmatched]) -> list[Unmatched]:
    """What has no counterpart, by size."""
    timed = [row for row in rows if row.unit != LAUNCHES]
    return sorted(timed, key=lambda row: (row.unit, -abs(row.value)))


def _reasons(style: Style, figures: Sequence[ComparedFigure]) -> list[str]:
    rows = list(map(style.line, reasons(figures)))
    return [*style.head(2, "How sure"), *rows] if rows else []


def reasons(figures: Iterable[ComparedFigure]) -> Iterator[str]:
    """Why the first figures have their verdicts, and what would tell; alike ones once."""
    names: dict[str, list[str]] = {}
    for figure in figures:
        if figure.family in (Family.TIME, Family.ENERGY) and figure.judgement.why:
            names.setdefault(_reason(figure.judgement), []).append(figure.name)
    for reason, of_figures in names.items():
        yield f"{', '.join(of_figures)}: {reason}"


def _reason(judgement: Judgement) -> str:
    words = judgement.why
    if judgement.basis is not Basis.NONE:
        words = f"{judgement.basis.value}; {words}"
    return f"{words}. To tell: {judgement.needs}" if judgement.needs else words


def _left_out(style: Style, count: int) -> list[str]:
    if not count:
        return []
    return [style.line(f"… and {count:,} more (--json lists them)")]


def short(name: str) -> str:
    """A name that fits into a column."""
    return cut(name, _NAME_CELLS)
