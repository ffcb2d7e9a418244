"""What a tool said about the hosts of a run, as a notebook has it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from powertui.data.table import Result
from powertui.plain import plain
from powertui.report.writers import as_frame, as_text

_SHOWN = 20  # rows of a table in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a tool said, host by host.

    Frames have the host as their first column, and times in seconds.
    """

    tool: str
    results: tuple[tuple[str, Result], ...]  # (host, answer)

    @property
    def frame(self) -> pd.DataFrame:
        """The first table; an empty frame when the tool has none to show."""
        return next(iter(self.frames.values()), as_frame.of_hosts([]))

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        """All tables by their ids."""
        ids = dict.fromkeys(table.id for _, result in self.results for table in result.tables)
        return {
            id: as_frame.of_hosts(
                [
                    (host, as_frame.of_table(table))
                    for host, result in self.results
                    for table in result.tables
                    if table.id == id
                ]
            )
            for id in ids
        }

    @cached_property
    def facts(self) -> pd.DataFrame:
        """Single figures: id, label, value, unit, lo and hi (their interval), badge, why (there is
        none, or what it stands on).
        """
        return as_frame.of_hosts(
            [(host, as_frame.of_facts(result.facts)) for host, result in self.results]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known to read it right."""
        return tuple(dict.fromkeys(note for _, result in self.results for note in result.notes))

    def text(self) -> str:
        """What `powertui report --tool` prints."""
        several = len(self.results) > 1
        return "\n".join(
            (f"{plain(host)}\n" if several else "") + as_text.write(result)
            for host, result in self.results
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        held = ", ".join(f"{id}: {len(frame):,} rows" for id, frame in self.frames.items())
        return f"<Answer of {self.tool}: {held or 'no table'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows. Names come out of files: nothing of them is markup."""
        titles = list(dict.fromkeys(result.title for _, result in self.results))
        parts = [f"<b>{html.escape(plain(', '.join(titles)))}</b>"]
        shown = [self.facts, *self.frames.values()]
        parts += [
            frame.to_html(max_rows=_SHOWN, index=False, na_rep="", escape=True)
            for frame in shown
            if len(frame)
        ]
        empty = [
            table.empty
            for _, result in self.results
            for table in result.tables
            if not len(self.frames[table.id])
        ]
        parts += [
            f"<p>{html.escape(plain(words))}</p>"
            for words in dict.fromkeys((*empty, *self.notes))
            if words
        ]
        return "\n".join(parts)
