"""The table of agreement in docs/parity.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.parity.comparison import Agreement
from scripts.parity.profiles import ROOT
from scripts.parity.reasons import EMPTY, REASONS, UNKNOWN, reason_of
from scripts.parity.tables import TOOLS

PAGE = ROOT / "docs" / "parity.md"
BEGIN = "<!-- agreement: made by `make parity` -->"
END = "<!-- end of agreement -->"


@dataclass
class ComparedProfile:
    """What came of one profile: the agreement of each tool, or why there is none."""

    name: str
    by_tool: Mapping[str, Agreement] = field(default_factory=dict)
    unreadable: str = ""


def written_into(page: str, block: str) -> str:
    """The page with this block between the two comments."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{block}\n{END}{tail}"


def block(compared: Sequence[ComparedProfile], date: str, versions: str) -> str:
    """The whole block: what was compared, the reasons, a row for each profile and tool."""
    agreements = [part for profile in compared for part in profile.by_tool.values()]
    rows = [row for profile in compared for row in _rows(profile)]
    return "\n".join(
        [
            _summary(compared, agreements, date, versions),
            "",
            *_explained(agreements),
            "",
            "| profile | tool | cells | equal | empty | different | why |",
            "| --- | --- | ---: | ---: | ---: | ---: | --- |",
            *rows,
            "",
            _not_compared(compared),
        ]
    )


def reason_counts(agreements: Iterable[Agreement]) -> Counter[str]:
    """How many cells differ for each reason."""
    return Counter(
        reason_of(difference) for agreement in agreements for difference in agreement.differences
    )


def _summary(
    compared: Sequence[ComparedProfile], agreements: Sequence[Agreement], date: str, versions: str
) -> str:
    cells = sum(agreement.cells for agreement in agreements)
    equal = sum(agreement.equal for agreement in agreements)
    counts = reason_counts(agreements)
    unknown, empty = counts.pop(UNKNOWN, 0), counts.pop(EMPTY, 0)
    readable = sum(not profile.unreadable for profile in compared)
    return (
        f"On {date}, with {versions}, {cells:,} cells of {readable} profiles were compared: "
        f"{equal:,} are equal, {empty:,} are empty in powertui and 0 in the converter, "
        f"{counts.total():,} differ for another known reason and {unknown:,} for one that is not "
        "known."
    )


def _explained(agreements: Sequence[Agreement]) -> list[str]:
    counts = reason_counts(agreements)
    return [
        f"* **{reason.name}** ({counts[reason.name]:,} cells): {reason.text}."
        for reason in REASONS
        if counts[reason.name]
    ]


def _rows(profile: ComparedProfile) -> list[str]:
    rows = []
    name = f"`{profile.name}`"
    for tool, agreement in profile.by_tool.items():
        if agreement.cells:
            counts = reason_counts([agreement])
            empty = counts.pop(EMPTY, 0)
            figures = (agreement.cells, agreement.equal, empty, counts.total())
            columns = " | ".join(f"{figure:,}" for figure in figures)
            why = ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())
            rows.append(f"| {name} | `{tool}` | {columns} | {why} |")
            name = ""
    return rows


def _not_compared(compared: Sequence[ComparedProfile]) -> str:
    names = ", ".join(f"`{tool}`" for tool in TOOLS)
    scope = (
        f"Compared are the tables and figures that both sides have of {names}; not ranks and "
        "cumulative shares, which follow from the rest, and not `op_profile` by provenance, whose "
        "tree begins with the program in the converter and with the scopes in powertui. A tool of "
        "which neither side has a cell has no row."
    )
    unreadable = [
        f"`{profile.name}` could not be compared: {profile.unreadable}"
        for profile in compared
        if profile.unreadable
    ]
    return " ".join([scope, *unreadable])
