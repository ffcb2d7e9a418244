"""The answer of a tool about the hosts of a run, as a notebook shows it."""

from __future__ import annotations

import html
from functools import cached_property

import pandas as pd

from powertui.data.table import Result
from powertui.plain import plain
from powertui.report.writers import as_frame, as_text
from powertui.value_types import dataclass

_MAX_ROWS = 20  # of a table in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The answer of a tool, host by host.

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
        parts: dict[str, list[tuple[str, pd.DataFrame]]] = {}
        for host, result in self.results:
            for table in result.tables:
                parts.setdefault(table.id, []).append((host, as_frame.of_table(table)))
        return {id: as_frame.of_hosts(frames) for id, frames in parts.items()}

    @cached_property
    def facts(self) -> pd.DataFrame:
        """Single figures: id, label, value, unit, lo and hi (their interval), badge, why.

        `why` is why there is no value, or the evidence for it.
        """
        frames = []
        for host, result in self.results:
            frames.append((host, as_frame.of_facts(result.facts)))
        return as_frame.of_hosts(frames)

    def _empty_tables(self) -> list[str]:
        """Why tables are empty on every host."""
        sentences = []
        for _, result in self.results:
            for table in result.tables:
                if not len(self.frames[table.id]):
                    sentences.append(table.empty)
        return sentences

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know to read it right."""
        notes: dict[str, None] = {}  # each once, in this order
        for _, result in self.results:
            notes.update(dict.fromkeys(result.notes))
        return tuple(notes)

    def text(self) -> str:
        """What `powertui report --tool` prints."""
        if len(self.results) == 1:
            _, result = self.results[0]
            return as_text.write(result)
        parts = []
        for host, result in self.results:
            parts.append(f"{plain(host)}\n{as_text.write(result)}")
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        tables = ", ".join(f"{id}: {len(frame):,} rows" for id, frame in self.frames.items())
        return f"<Answer of {self.tool}: {tables or 'no table'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows. Names come out of files: nothing of them is markup."""
        titles = dict.fromkeys(result.title for _, result in self.results)
        title = ", ".join(titles)
        parts = [f"<b>{html.escape(plain(title))}</b>"]
        for frame in (self.facts, *self.frames.values()):
            if len(frame):
                rows = frame.to_html(
                    max_rows=_MAX_ROWS,
                    index=False,
                    na_rep="",
                    escape=True,
                )
                parts.append(rows)
        for sentence in dict.fromkeys((*self._empty_tables(), *self.notes)):
            if sentence:
                parts.append(f"<p>{html.escape(plain(sentence))}</p>")
        return "\n".join(parts)
