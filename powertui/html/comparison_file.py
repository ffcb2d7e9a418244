"""`powertui compare A B --html FILE`: what differs, how sure that is, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from powertui import units
from powertui.data.compare import causes as cause_accounts
from powertui.data.compare.amounts import change, in_unit, row_names, signed, unmatched_names
from powertui.data.compare.causes import Cause
from powertui.data.compare.comparison import ComparedSide, Comparison, compare
from powertui.data.compare.figure import ComparedFigure, Family
from powertui.data.compare.matching import Unmatched
from powertui.html import difference_bars
from powertui.html.document import Block, block, document
from powertui.html.html_file import HtmlFile
from powertui.html.markup import Markup, element
from powertui.html.note_list import ShownNote, note_list, shown_notes
from powertui.html.provenance import provenance
from powertui.html.result_table import badge, rows_section
from powertui.report import compare_page, text
from powertui.report.compare_page import FamilyRows, short
from powertui.report.compare_sides import Asked, SideReading, sides

_MAX_CARDS = 6  # figures above the tables
_MAX_SIDE_RUNS = 12  # names of a side
_MAX_SETTINGS = 40


def write_comparison(
    groups: Sequence[Sequence[str]],
    asked: Asked,
    reading: SideReading,
    output: HtmlFile,
) -> int:
    """Write what differs from A to B."""
    output.check()
    comparison = compare(*sides(groups, asked, reading))
    text.write_reader_warnings(reading.options.hosts)
    output.write(page_with_notes(comparison))
    return 0


def page_with_notes(comparison: Comparison) -> str:
    """The whole file, with what a person wrote on the runs."""
    return comparison_page(comparison, _notes_of_sides(comparison))


def _notes_of_sides(comparison: Comparison) -> list[ShownNote]:
    """What a person wrote on the runs of either side, each run once."""
    several = len(comparison.a.entries) + len(comparison.b.entries) > 2
    notes = []
    seen = set()
    for label, side in (("A", comparison.a), ("B", comparison.b)):
        for entry in side.entries:
            if entry.path in seen:
                continue
            seen.add(entry.path)
            run = f"{label}, {entry.name}" if several else label
            for note in shown_notes(entry):
                notes.append(ShownNote(f"{run}: {note.place}", note.words))
    return notes


def comparison_page(comparison: Comparison, notes: Sequence[ShownNote] = ()) -> str:
    """The whole file."""
    names = f"{comparison.a.name} → {comparison.b.name}"
    head = element(
        "header",
        element("h1", "Comparison", element("small", names), class_="eyebrow"),
        element("div", element("h2", comparison.sentence, class_="answer long"), class_="headline"),
        _cards(comparison.figures),
    )
    blocks = [Block(head, essential=True)]
    blocks += block(_configuration(comparison), "configuration")
    for account in (cause_accounts.BY_CATEGORY, cause_accounts.BY_OP):
        blocks += block(_waterfall(comparison.causes, account), f"causes by {account}")
    for family in compare_page.families(comparison.figures):
        blocks += block(_family(family), family.title)
    blocks += block(_conclusions(comparison), "conclusions")
    for side, label in (("a", "Only in A"), ("b", "Only in B")):
        of_side = [row for row in comparison.unmatched if row.side == side]
        blocks += block(_unmatched(of_side, label), label)
    blocks += block(_reasons(comparison.figures), "how sure")
    blocks += block(note_list(notes), "notes")
    blocks += block(provenance(_sources(comparison), comparison.notes), "sources")
    return document(names, blocks)


def _cards(figures: Iterable[ComparedFigure]) -> Markup | None:
    """The first figures of time and energy: from A to B, and what may be said of it."""
    cards = []
    for figure in figures:
        if figure.family in (Family.TIME, Family.ENERGY) and figure.difference is not None:
            both = f"{in_unit(figure.a, figure.unit)} → {in_unit(figure.b, figure.unit)}"
            cards.append(
                element(
                    "div",
                    element("dt", figure.name),
                    element("dd", element("b", signed(figure.difference, figure.unit))),
                    element("dd", both),
                    element("dd", change(figure), badge(figure.verdict.value)),
                )
            )
    if not cards:
        return None
    return element("dl", *cards[:_MAX_CARDS], class_="figures wide")


def _configuration(comparison: Comparison) -> Markup:
    if not comparison.configuration:
        words = element("p", compare_page.SAME_CONFIGURATION)
        return element("section", element("h3", "Configuration"), words)
    rows: list[list[str]] = []
    for setting in comparison.configuration[:_MAX_SETTINGS]:
        rows.append([setting.name, short(setting.a), short(setting.b)])
    return rows_section(
        "Configuration that differs",
        ("what", "A", "B"),
        rows,
        left_out=len(comparison.configuration) - len(rows),
    )


def _waterfall(causes: Sequence[Cause], account: str) -> Markup | None:
    rows = [cause for cause in causes if cause.account == account]
    if not rows:
        return None
    scale = difference_bars.waterfall_scale(rows)
    *bars, bar_of_sum = difference_bars.waterfall_bars(rows, scale)
    cells: list[list[str]] = []
    for name, cause, bar in zip(row_names(rows), rows, bars, strict=True):
        time = compare_page.part_time(cause)
        share = "" if cause.share is None else units.percent(cause.share)
        joules = signed(cause.joules, "J")
        cells.append([name, bar, time, share, joules])
    seconds_of_all = signed(sum(cause.seconds for cause in rows), "s")
    joules_of_all = signed(compare_page.joules_together(rows), "J")
    cells.append(["together", bar_of_sum, seconds_of_all, "", joules_of_all])
    return rows_section(
        compare_page.causes_title(account),
        ("part", "", "time", "share", "energy"),
        cells,
        numbers=(2, 3, 4),
    )


def _family(family: FamilyRows) -> Markup:
    """Figures with their intervals drawn on one scale."""
    scale = difference_bars.interval_scale(family.rows)
    cells: list[list[str]] = []
    for name, figure in zip(row_names(family.rows), family.rows, strict=True):
        cells.append(
            [
                name,
                in_unit(figure.a, figure.unit),
                in_unit(figure.b, figure.unit),
                signed(figure.difference, figure.unit),
                difference_bars.interval_bar(figure, scale) or "",
                compare_page.interval(figure),
                badge(figure.verdict.value),
            ]
        )
    headers = ("figure", "A", "B", "difference", "", "95 % interval", "verdict")
    return rows_section(
        family.title,
        headers,
        cells,
        numbers=(1, 2, 3, 5),
        left_out=family.left_out,
    )


def _conclusions(comparison: Comparison) -> Markup | None:
    if not comparison.conclusions:
        return None
    items = []
    for row in comparison.conclusions:
        side = element("p", compare_page.side_of(row), class_="costs")
        items.append(element("li", side, element("p", row.sentence)))
    heading = element("h3", "Conclusions that came or went")
    return element("section", heading, element("ol", *items, class_="conclusions"))


def _unmatched(rows: Iterable[Unmatched], label: str) -> Markup | None:
    ordered = compare_page.largest_first(rows)
    if not ordered:
        return None
    shown = ordered[: compare_page.MAX_ROWS]
    cells = []
    for name, row in zip(unmatched_names(shown), shown, strict=True):
        cells.append([row.family.value, name, in_unit(row.value, row.unit)])
    title = f"{label}: {len(ordered):,} without a counterpart"
    left_out = len(ordered) - len(cells)
    return rows_section(
        title,
        ("of", "name", "value"),
        cells,
        numbers=(2,),
        left_out=left_out,
    )


def _reasons(figures: Iterable[ComparedFigure]) -> Markup | None:
    items = [element("p", words) for words in compare_page.reasons(figures)]
    if not items:
        return None
    return element("section", element("h3", "How sure"), *items)


def _sources(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for label, side in (("A", comparison.a), ("B", comparison.b)):
        yield label, side.name
        for run in _runs(side):
            yield label, run


def _runs(side: ComparedSide) -> list[str]:
    names = [run for run in side.runs if run != side.name]
    shown = names[:_MAX_SIDE_RUNS]
    if len(names) > len(shown):
        shown.append(f"… {len(names) - len(shown):,} more")
    return shown
