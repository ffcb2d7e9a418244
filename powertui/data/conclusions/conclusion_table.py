"""The conclusions of a run as a table."""

from __future__ import annotations

from powertui.data.columns import Field, columns_of
from powertui.data.conclusions.conclusion import Conclusion, Conclusions, Stretch
from powertui.data.opened import Opened
from powertui.data.table import Place, Table


def conclusion_table(opened: Opened, conclusions: Conclusions) -> Table:
    """A row for each, the most important first; Enter leads to its stretch."""
    hosts = [profile.host for profile in opened.profiles]
    rows = conclusions.items

    def host(row: Conclusion) -> str | None:
        return None if row.stretch is None else row.stretch.host_among(hosts)

    fields: tuple[Field[Conclusion], ...] = (
        Field("kind", "kind", "text", lambda row: row.kind.value, weight=4),
        Field("sentence", "conclusion", "text", lambda row: row.sentence, weight=9),
        Field("share", "share", "share", lambda row: row.cost.share, weight=8),
        Field("seconds", "time", "number", lambda row: row.cost.seconds, "s", 7),
        Field("joules", "energy", "number", lambda row: row.cost.joules, "J", 7),
        Field("start_s", "start", "instant", lambda row: _start(row.stretch)),
        Field("end_s", "end", "instant", lambda row: _end(row.stretch)),
        Field("host", "host", "text", host, weight=2),
        Field("confidence", "sure", "text", lambda row: row.confidence.value, weight=6),
        Field("evidence", "evidence", "text", lambda row: row.evidence.tool, weight=3),
        Field("next", "what to do", "text", lambda row: row.next or None, weight=5),
        Field("doubt", "doubt", "text", lambda row: row.doubt or None, weight=1),
    )

    def place(number: int) -> Place | None:
        stretch = rows[number].stretch
        if stretch is None:
            return None
        return Place(run=opened.name, host=stretch.host, lo=stretch.start_ps, hi=stretch.end_ps)

    return Table(
        "conclusions",
        "Conclusions",
        columns_of(rows, fields),
        place=place,
        order=None,
        empty=conclusions.looked_at,
        key=("sentence",),
        noun="conclusion",
    )


def _start(stretch: Stretch | None) -> int | None:
    return None if stretch is None else stretch.start_ps


def _end(stretch: Stretch | None) -> int | None:
    return None if stretch is None else stretch.end_ps
