"""A document as tables: one for each list of records in it, and a fact for each value beside them.

No value is left out. A list inside a record becomes a table of its own; its rows say which record
they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from powertui.data.secret_values import shown_value
from powertui.value_types import dataclass

# Members whose own members are records or values by name, not fields: what such a name is.
_NAMED_RECORDS = {
    "memoryProfilePerAllocator": "allocator",
    "podStatsPerCore": "core",
    "coreIdToReplicaIdMap": "core",
    "hloInfoMap": "module",
}
# Fields that tell a record from its neighbors, the best first.
_IDENTITIES = ("allocator", "core", "name", "stepNum", "id", "index")
# Members in members. A program's proto in JSON has 9.
_MAX_DEPTH = 64


@dataclass(eq=False)
class FlatTable:
    """The records of one list. A record lacks the columns that it has no value for."""

    path: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Every column of any record, in the order of their first mention."""
        names: dict[str, None] = {}
        for row in self.rows:
            names.update(dict.fromkeys(row))
        return list(names)


@dataclass(eq=False)
class Flattened:
    """A document as tables by their path, and its values that are in no list."""

    tables: dict[str, FlatTable] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Spot:
    """Where in a document a walk is."""

    table: str  # the path of the list that holds this record; "": in none
    within: str  # the path from that record
    owner: tuple[tuple[str, Any], ...]  # which records this one lies in
    depth: int

    def path(self, name: str) -> str:
        """The path from the record to one of its members."""
        if self.within:
            return f"{self.within}.{name}"
        return name

    def below(self, name: str) -> _Spot:
        """In a member that is a record of its own and in no list."""
        return _Spot(
            table=self.table,
            within=self.path(name),
            owner=self.owner,
            depth=self.depth + 1,
        )

    def in_list(self, name: str, owner: tuple[tuple[str, Any], ...]) -> _Spot:
        """In a record of a list."""
        path = self.path(name)
        if self.table:
            table = f"{self.table}.{path}"
        else:
            table = path
        return _Spot(
            table=table,
            within="",
            owner=owner,
            depth=self.depth + 1,
        )


def flattened(document: Any) -> Flattened:
    """All of a document."""
    flat = Flattened()
    if isinstance(document, list):
        document = {"rows": document}
    top = _Spot(
        table="",
        within="",
        owner=(),
        depth=0,
    )
    _walk(flat, document, flat.values, top)
    return flat


def _walk(flat: Flattened, node: dict[str, Any], row: dict[str, Any], spot: _Spot) -> None:
    """Put the values of a node into a row, and its lists into tables of their own."""
    if spot.depth > _MAX_DEPTH:
        row[spot.within or "value"] = str(node)
        return
    lists = []
    for name, value in node.items():
        if name in _NAMED_RECORDS and isinstance(value, dict):
            records = _by_name(value, _NAMED_RECORDS[name])
            lists.append((name, records))
        elif isinstance(value, dict):
            _walk(flat, value, row, spot.below(name))
        elif not isinstance(value, list):
            row[spot.path(name)] = shown_value(name, value)
        elif any(isinstance(item, dict | list) for item in value):
            lists.append((name, value))
        else:
            words = [str(shown_value(name, item)) for item in value]
            row[spot.path(name)] = ",".join(words)
    if not lists:
        return
    # Lists come last: the record they belong to has all of its values by then.
    if not spot.table:
        owner = spot.owner
    else:
        owner = (*spot.owner, *_identity(row, spot))
    for name, records in lists:
        _walk_list(flat, records, spot.in_list(name, owner))


def _walk_list(flat: Flattened, records: list[Any], spot: _Spot) -> None:
    table = flat.tables.setdefault(spot.table, FlatTable(spot.table))
    for item in records:
        row = dict(spot.owner)
        table.rows.append(row)
        _walk(
            flat,
            item if isinstance(item, dict) else {"value": item},
            row,
            spot,
        )


def _by_name(members: dict[str, Any], noun: str) -> list[dict[str, Any]]:
    """Members as records that carry their name."""
    records = []
    for name, value in members.items():
        if isinstance(value, dict):
            records.append({noun: name, **value})
        else:
            records.append({noun: name, "value": value})
    return records


def _identity(row: dict[str, Any], spot: _Spot) -> Iterator[tuple[str, Any]]:
    """What tells a record from its neighbors, as a column of what lies in it."""
    noun = spot.table.rpartition(".")[2]
    for name in _IDENTITIES:
        if name in row:
            if name in _NAMED_RECORDS.values():
                label = name
            else:
                label = f"{noun}.{name}"
            yield label, row[name]
            return
