"""Results that the profiler stored, as answers of the tools of the same name.

They are never ours: their title, their mode and their first fact say that they were recorded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.columns import int_column, text_column
from powertui.data.logdir.entries import OtherFile, RunEntry
from powertui.data.logdir.run_files import file_name
from powertui.data.opened import Opened
from powertui.data.table import Fact, Result, Table
from powertui.data.tools.recorded import neuron_tables
from powertui.data.tools.recorded.documents import read_document, readable_results
from powertui.data.tools.recorded.pages import RecordedContent, recorded_content
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.tools.registry import Question

_RECORDED = "recorded"  # the mode of such answers

# The page of each result file, by its suffix: tools of powertui where there is one.
TOOL_OF_FILE = {
    "overview_page.pb": "overview_page",
    "overview_page.json": "overview_page",
    "input_pipeline.pb": "input_pipeline_analyzer",
    "input_pipeline.json": "input_pipeline_analyzer",
    "tensorflow_stats.pb": "framework_op_stats",
    "framework_op_stats.pb": "framework_op_stats",
    "kernel_stats.pb": "kernel_stats",
    "op_profile.json": "op_profile",
    "memory_profile.json.gz": "memory_profile",
    "memory_viewer.json": "memory_viewer",
    "pod_viewer.json": "hosts",
    "tf_data_bottleneck_analysis.json": "tf_data_bottleneck_analysis",
    "neuron_framework_op.json": "neuron_ops",
    "neuron_hlo_op.json": "neuron_ops",
}


def recorded_files(entry: RunEntry, host: str | None = None) -> tuple[OtherFile, ...]:
    """The results of a run, or of one of its hosts, that can be shown."""
    return tuple(
        file
        for file in entry.results
        if readable_results(file.tool) and (host is None or file.host == host)
    )


def recorded_tools(entry: RunEntry) -> frozenset[str]:
    """The tools that a run has recorded results of."""
    return frozenset(TOOL_OF_FILE[file.tool] for file in recorded_files(entry))


def recorded_hosts(entry: RunEntry) -> tuple[str, ...]:
    """The hosts that left results, by name."""
    return tuple(sorted({file.host for file in recorded_files(entry)}))


def _host_name(opened: Opened, index: int) -> str:
    """The host of this index, in a run with profiles or one that has only results."""
    hosts = recorded_hosts(opened.entry)
    if len(opened.entry.profiles) == 1:  # known without reading it
        return opened.entry.profiles[0].host
    if opened.entry.profiles:
        last = len(opened.profiles) - 1
        profile = opened.profiles[min(index, last)]
        return profile.host
    if hosts:
        return hosts[min(index, len(hosts) - 1)]
    return ""


def recorded_answer(opened: Opened, index: int, tool: str, title: str) -> Result:
    """What the profiler stored for a tool. Raises `UsageError` where it stored nothing."""
    host = _host_name(opened, index)
    files = []
    for file in recorded_files(opened.entry, host):
        if TOOL_OF_FILE[file.tool] == tool:
            files.append(file)
    if not files:
        raise UsageError(
            f"{plain(opened.name, 80)} has no recorded result of {tool}.",
            hint="See what it has: powertui report PATH --tool recorded_results",
        )
    contents = [(file, _content(opened, file)) for file in files]
    tables = tuple(table for _, content in contents for table in content.tables)
    facts = tuple(fact for _, content in contents for fact in content.facts)
    return Result(
        id=tool,
        title=f"{title}, recorded",
        tables=_titled(tables),
        facts=(_source(files), *facts),
        notes=(
            *(note for _, content in contents for note in content.notes),
            "The profiler computed this when it recorded the run. powertui shows it unchanged.",
        ),
        mode=_RECORDED,
    )


def all_recorded(question: Question) -> Result:
    """Every recorded result of a host: a list of them, then all of their tables."""
    opened = question.opened
    index = question.host
    host = _host_name(opened, index)
    files = recorded_files(opened.entry, host)
    rows: list[tuple[OtherFile, RecordedContent | None, str]] = []
    for file in files:
        try:
            rows.append((file, _content(opened, file), ""))
        except UnreadableFile as error:  # the others still have something to show
            rows.append((file, None, error.cause))
    tables = []
    for file, content, _ in rows:
        if content is None:
            continue
        for table in _with_values(content):
            title = f"{table.title} ({file.tool}, recorded)"
            table_id = f"{file.tool}:{table.id}"
            tables.append(replace(table, id=table_id, title=title))
    facts = (Fact("recorded", "recorded results", len(files), "integer"),)
    return Result(
        id="recorded_results",
        title="Recorded results",
        tables=(_list_of_files(rows), *tables),
        facts=facts,
        mode=_RECORDED,
    )


def _with_values(content: RecordedContent) -> tuple[Table, ...]:
    """All tables of a file, and its values that are in none as one more."""
    if not content.facts:
        return content.tables
    columns = (
        text_column("name", "name", [fact.id for fact in content.facts], weight=9),
        text_column("value", "value", [fact.text() for fact in content.facts], weight=8),
    )
    return (
        *content.tables,
        Table(
            id="values",
            title="Values",
            columns=columns,
            key=("name",),
            noun="value",
        ),
    )


def _content(opened: Opened, file: OtherFile) -> RecordedContent:
    """What a file holds, read once."""

    def read() -> RecordedContent:
        document = read_document(file, opened.options.limit)
        view = neuron_tables.VIEWS.get(file.tool)
        if view is None:
            return recorded_content(document)
        ops = neuron_tables.read_ops(document, view, file.path)
        return neuron_tables.op_content(ops)

    return opened.cached(("recorded", file.path), read)


def _source(files: list[OtherFile]) -> Fact:
    names = ", ".join(file_name(file.path) for file in files)
    return Fact("recorded", "recorded by the profiler", names)


def _titled(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """Tables that say themselves that they are recorded: several of them may be on a page."""
    return tuple(replace(table, title=f"{table.title} (recorded)") for table in tables)


def _list_of_files(rows: list[tuple[OtherFile, RecordedContent | None, str]]) -> Table:
    contents = [_with_values(content) if content is not None else () for _, content, _ in rows]
    columns = (
        text_column("file", "file", [file_name(file.path) for file, _, _ in rows], weight=9),
        text_column("what", "what", [file.what for file, _, _ in rows], weight=4),
        text_column("page", "page", [TOOL_OF_FILE[file.tool] for file, _, _ in rows], weight=8),
        int_column("tables", "tables", "integer", [len(tables) for tables in contents], weight=5),
        int_column(
            "rows",
            "rows",
            "integer",
            [sum(len(table) for table in tables) for tables in contents],
            weight=7,
        ),
        int_column(
            "cells",
            "cells",
            "integer",
            [sum(len(table) * len(table.columns) for table in tables) for tables in contents],
            weight=3,
        ),
        text_column("problem", "problem", [problem for _, _, problem in rows], weight=6),
    )
    return Table(
        id="files",
        title="What the profiler stored",
        columns=columns,
        empty="The profiler stored no result beside this profile.",
        key=("file",),
        noun="file",
    )
