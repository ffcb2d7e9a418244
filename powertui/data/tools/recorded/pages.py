"""A recorded result as a page: the tables and values of its document, named as pages name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from powertui.data.columns import Column
from powertui.data.secret_values import shown_value
from powertui.data.table import Fact, Table
from powertui.data.tools.recorded.documents import Document
from powertui.data.tools.recorded.flattening import FlatTable, flattened
from powertui.data.tools.recorded.known_tables import known_table
from powertui.data.tools.recorded.recorded_columns import (
    recorded_column,
    recorded_fact,
    text_of_type,
    words_of,
)
from powertui.value_types import dataclass

# Of a summary of steps; each row is one of its parts.
_STATISTICS = ("average", "standard_deviation", "minimum", "maximum")
# What the browser's tables hold, by their first column.
_DATA_TABLES = {
    "selfTimePercent": "The ops that took most time on the device",
    "stepnum": "Steps",
    "index": "Steps and cores",
    "opName": "What the host does for the input",
    "host_id": "Hosts",
    "tip_type": "What to do",
    "link": "What to do",
}
_STATEMENTS = ("statement", "statement_html", "summary_conclusion", "summary_next_step")
_MAX_TREE_ROWS = 100_000  # nodes of an op profile. xprof keeps 100 of each level.


@dataclass(frozen=True, eq=False)
class RecordedContent:
    """What a result file holds."""

    tables: tuple[Table, ...]
    facts: tuple[Fact, ...]
    notes: tuple[str, ...] = ()  # what a reader of the tables must know


def recorded_content(document: Document) -> RecordedContent:
    """The tables and facts of a document."""
    if isinstance(document, list) and any("cols" in part for part in document if part):
        return _data_tables(document)
    trees = _op_trees(document)
    if trees and isinstance(document, dict):
        # What is beside the trees: the kind of device.
        document = _without_trees(document)
    flat = flattened(document)
    values, summaries = _without_summaries(flat.values)
    tables = []
    for table in flat.tables.values():
        if table.columns:
            tables.append(_table(table))
    tables.sort(key=lambda table: known_table(table.id) is None)
    facts = []
    for path, value in values.items():
        fact = recorded_fact(path, value)
        if fact is not None:
            facts.append(fact)
    return RecordedContent((*trees, *tables, *summaries), _statements_first(facts))


def _without_trees(document: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in document.items() if not _is_tree(part)}


def _statements_first(facts: list[Fact]) -> tuple[Fact, ...]:
    """What the profiler concluded, before its figures."""
    return tuple(sorted(facts, key=lambda fact: not fact.id.endswith(_STATEMENTS)))


def _table(flat: FlatTable) -> Table:
    known = known_table(flat.path)
    columns = []
    for name in flat.columns:
        values = [row.get(name) for row in flat.rows]
        how = known.columns.get(name) if known else None
        columns.append(recorded_column(name, values, how))
    if known is None:
        return Table(
            id=flat.path,
            title=words_of(flat.path).capitalize(),
            columns=tuple(columns),
        )
    return Table(
        id=known.id,
        title=known.title,
        columns=tuple(columns),
        key=known.key,
        noun=known.noun,
    )


def _without_summaries(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Table]]:
    """(values that are no part of a summary of times, the summaries as one table)"""
    rest: dict[str, Any] = {}
    rows: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        owner, _, name = path.rpartition(".")
        if name in _STATISTICS and "percent" not in owner:
            rows.setdefault(owner, {})[name] = value
        else:
            rest[path] = value
    if not rows:
        return rest, []
    labels = []
    for path in rows:
        words = words_of(path.rpartition(".")[2])
        labels.append(words.removesuffix(" summary"))
    columns = [Column("what", "what", "text", labels, weight=9)]
    for name in _STATISTICS:
        numbers = [row.get(name) for row in rows.values()]
        column = recorded_column(f"{name}_ms", numbers, None)
        columns.append(column)
    table = Table(
        id="step_summary",
        title="A step, on average",
        columns=tuple(columns),
        noun="part",
    )
    return rest, [table]


# ── tables as the browser's tool draws them ──────────────────────────────────────────────────────


def _data_tables(document: list[Any]) -> RecordedContent:
    """A list of tables with typed columns, each with properties of its own."""
    tables = []
    facts: list[Fact] = []
    for number, part in enumerate(document):
        if not isinstance(part, dict):
            continue
        table = _data_table(part, number)
        if table is not None:
            tables.append(table)
        properties = part.get("p") or {}
        for name, value in properties.items():
            shown = shown_value(str(name), value)
            fact = recorded_fact(str(name), shown)
            if fact is not None:
                fact_id = f"table_{number + 1}.{name}"
                facts.append(replace(fact, id=fact_id))
    return RecordedContent(tuple(tables), _statements_first(facts))


def _data_column(head: Mapping[str, Any], place: str, values: list[Any]) -> Column:
    """A column of such a table; one without an id is called by its place."""
    id = str(head.get("id", place))
    label = str(head.get("label") or id)
    if head.get("type") == "string":
        return text_of_type(id, label, values)
    column = recorded_column(id, values, None)
    return replace(column, label=label)


def _data_table(part: Mapping[str, Any], number: int) -> Table | None:
    heads = []
    for head in part.get("cols") or ():
        if isinstance(head, dict):
            heads.append(head)
    if not heads:
        return None
    rows = [_cells(row, len(heads)) for row in part.get("rows") or ()]
    columns = []
    for place, head in enumerate(heads):
        values = [row[place] for row in rows]
        column = _data_column(head, str(place), values)
        columns.append(column)
    number_of_table = number + 1
    title = _DATA_TABLES.get(columns[0].id, f"Table {number_of_table}")
    return Table(f"table_{number_of_table}", title, tuple(columns))


def _cells(row: Any, count: int) -> list[Any]:
    """The values of a row, as many as there are columns."""
    if isinstance(row, dict):
        cells = row.get("c")
    else:
        cells = row
    values = []
    for cell in cells or ():
        if isinstance(cell, dict):
            values.append(cell.get("v"))
        else:
            values.append(cell)
    missing = [None] * count
    return [*values, *missing][:count]


# ── op profiles ──────────────────────────────────────────────────────────────────────────────────


def _op_trees(document: Document) -> list[Table]:
    """The trees of an op profile, a row for each node; none for any other document."""
    if not isinstance(document, dict):
        return []
    tables = []
    for name, root in document.items():
        if _is_tree(root):
            tables.append(_tree_table(name, root))
    return tables


def _is_tree(part: Any) -> bool:
    return isinstance(part, dict) and "children" in part and "metrics" in part


def _tree_table(name: str, root: dict[str, Any]) -> Table:
    nodes = list(_nodes(root))
    flat = FlatTable(name)
    for level, node in nodes:
        content = flattened(_without_children(node))
        flat.rows.append({"level": level, **content.values})
    columns = []
    for path in flat.columns:
        values = [row.get(path) for row in flat.rows]
        column = recorded_column(path, values, None)
        if path == "name":
            shown = []
            for (level, _), word in zip(nodes, column.values, strict=True):
                indent = "  " * level
                shown.append(f"{indent}{word}")
            column = Column("name", "node", "text", shown, weight=9)
        columns.append(column)
    return Table(
        id=name,
        title=words_of(name).capitalize(),
        columns=tuple(columns),
        noun="node",
    )


def _nodes(root: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every node with its level, in the order of the tree."""
    stack = [(0, root)]
    given = 0
    while stack and given < _MAX_TREE_ROWS:
        level, node = stack.pop()
        yield level, node
        given += 1
        children = []
        for child in node.get("children") or ():
            if isinstance(child, dict):
                children.append((level + 1, child))
        stack.extend(reversed(children))


def _without_children(node: dict[str, Any]) -> dict[str, Any]:
    """A node with the lists in it as words: `feature 200 (aligned to 128)`."""
    words = {}
    for name, value in node.items():
        if name != "children":
            words[name] = _worded(value)
    return words


def _worded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _worded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return "; ".join(_pairs(item) for item in value)
    return value


def _pairs(item: Any) -> str:
    if isinstance(item, dict):
        members = [f"{name} {value}" for name, value in item.items()]
        return ", ".join(members)
    return str(item)
