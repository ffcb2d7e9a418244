"""The JSON of a tool's answer as objects: a test asks a value by its column."""

from __future__ import annotations

from typing import Any

from powertui.data.table import Table
from powertui.report.writers import as_json


def told(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of one table of a decoded answer, each under its columns' ids."""
    (table,) = (table for table in answer["tables"] if table["name"] == name)
    ids = [column["id"] for column in table["columns"]]
    return [dict(zip(ids, row, strict=True)) for row in table["rows"]]


def rows(table: Table) -> list[dict[str, Any]]:
    """The rows of a table as JSON has them."""
    return [dict(zip(table.ids, row, strict=True)) for row in as_json.rows(table)]
