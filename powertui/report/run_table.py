"""The list of runs as a table, newest first, and which of them words fit.

The page of runs and `doctor` show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.columns import Column, ColumnKind, optional, text_column
from powertui.data.logdir import RunEntry
from powertui.data.table import Place, Table
from powertui.plain import plain
from powertui.report.runs import KnownRun

_BEHIND_ALL_S = 1e11  # three thousand years: no run of a known date is older
_NOT_LOOKED_AT = "open to see"
_BEING_WRITTEN = "being written"


def _place_in_list(facts: KnownRun) -> float | None:
    """A moment that orders the list: a copied file is younger than what it holds."""
    if facts.placed is None or not facts.by_file:
        return facts.placed
    return facts.placed - _BEHIND_ALL_S


def _or_last(moment: float | None) -> float:
    return -2 * _BEHIND_ALL_S if moment is None else moment


def table(
    entries: Sequence[RunEntry],
    facts: Sequence[KnownRun],
    summary: str = "",
    trainings: Mapping[str, str] | None = None,
    *,
    by_clock: bool = True,
    is_complete: bool = True,
) -> Table:
    """The list, newest first. Runs that only their files' times date come after all others, and
    those without a date last, in the order of their names.

    `trainings` maps the path of a session to that of its training: a session is listed below its
    training where both are in the list. `by_clock` is False where runs are read as they come into
    sight: then reading a run must not move it out of sight. `is_complete` is False while folders
    are still searched: a list without a run says nothing then.
    """
    moments = [_moment(run_facts, by_clock) for run_facts in facts]
    order = sorted(range(len(entries)), key=lambda row: -_or_last(moments[row]))
    runs = [entries[row] for row in order]
    facts = [facts[row] for row in order]
    paths = [run.path for run in runs]
    names = [run.name for run in runs]
    sizes = [run.size if run.profiles else None for run in runs]
    outer = _training_rows(paths, trainings or {})
    for row, training_row in enumerate(outer):
        if training_row >= 0:
            sizes[training_row] = (sizes[training_row] or 0) + runs[row].size
            names[row] = names[row].removeprefix(runs[training_row].name + "/")
    ranks = np.array([moments[row] for row in order], np.float64)  # None becomes NaN
    conclusions = text_column("conclusion", "finding", list(map(_conclusion, facts)), weight=9)
    is_unseen = np.array([run_facts.unseen for run_facts in facts], np.bool_)
    words = _word_columns(facts)
    figures = _figure_columns(facts)

    columns = (
        text_column("run", "run", names, weight=9),
        replace(words("when", weight=6), ranks=ranks),
        text_column("hosts", "hosts", [", ".join(run.hosts) for run in runs], weight=2),
        text_column("device", "device", list(map(_device, facts)), weight=3),
        figures("took_s", "took", "duration", "took_ps", weight=7),
        figures("steps", "steps", "integer", "steps", weight=7),
        figures("step_s", "a step", "duration", "step_ps", weight=5),
        figures("epochs", "epochs", "integer", "epochs", weight=1),
        figures("joules", "energy", "number", "joules", weight=8, unit="J"),
        figures("joules_lo", "from", "number", "joules_lo", weight=0, unit="J"),
        figures("joules_hi", "to", "number", "joules_hi", weight=0, unit="J"),
        replace(conclusions, faint=is_unseen),
        figures("found", "found", "integer", "found", weight=4),
        words("power", weight=8),
        optional(
            id="size_bytes",
            label="size",
            kind="number",
            values=sizes,
            unit="B",
            weight=2,
        ),
        _readable_column(facts),
        text_column("path", "path", paths, weight=0),
    )
    is_nested = any(row >= 0 for row in outer)
    return Table(
        id="runs",
        title="Runs",
        columns=columns,
        place=lambda row: Place(run=paths[row]),
        order=("when", True),
        key=("path",),
        noun="run",
        empty="No run was found." if is_complete else "Looking for runs …",
        summary=summary,
        within=np.array(outer, np.int64) if is_nested else None,
    )


def _training_rows(paths: Sequence[str], trainings: Mapping[str, str]) -> list[int]:
    """For each path the row of its training; -1 where that is not listed."""
    rows = {path: row for row, path in enumerate(paths)}
    return [rows.get(trainings.get(path, ""), -1) for path in paths]


def _moment(facts: KnownRun, by_clock: bool) -> float | None:
    """What orders the list."""
    if by_clock and facts.began is not None:
        return facts.began
    return _place_in_list(facts)


def _word_columns(facts: Sequence[KnownRun]) -> Callable[..., Column]:
    """What makes a column of the texts that are known of each run under an attribute's name."""

    def column(attribute: str, *, weight: int) -> Column:
        words = [getattr(run_facts, attribute) for run_facts in facts]
        return text_column(attribute, attribute, words, weight=weight)

    return column


def _figure_columns(facts: Sequence[KnownRun]) -> Callable[..., Column]:
    """The same of figures, which may be missing."""

    def column(
        id: str,
        label: str,
        kind: ColumnKind,
        attribute: str,
        *,
        weight: int,
        unit: str = "",
    ) -> Column:
        values = [getattr(run_facts, attribute) for run_facts in facts]
        return optional(
            id=id,
            label=label,
            kind=kind,
            values=values,
            unit=unit,
            weight=weight,
        )

    return column


def _readable_column(facts: Sequence[KnownRun]) -> Column:
    """Whether each run could be read; missing where nobody tried yet."""
    return Column(
        id="readable",
        label="readable",
        kind="flag",
        values=np.array([run_facts.readable is not False for run_facts in facts], np.bool_),
        present=np.array([run_facts.readable is not None for run_facts in facts], np.bool_),
        weight=0,
    )


def _conclusion(facts: KnownRun) -> str:
    if facts.unseen:
        return _NOT_LOOKED_AT
    return facts.conclusion


def _device(facts: KnownRun) -> str:
    if not facts.growing:
        return facts.device
    if not facts.device:
        return _BEING_WRITTEN
    return f"{facts.device}, {_BEING_WRITTEN}"


def matches(entry: RunEntry, facts: KnownRun, words: Sequence[str]) -> bool:
    """Whether every word is somewhere in what is known of the run."""
    parts = (
        entry.name,
        *entry.hosts,
        facts.when,
        facts.device,
        facts.model,
        facts.framework,
        facts.power,
        facts.conclusion,
        facts.bound,
        facts.unusual,
    )
    text = " ".join(map(plain, parts)).lower()
    return all(word in text for word in words)
