"""The database of an export, read by the columns that are there and by nothing that it says of
itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.formats.json_stats import clean
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Int64s
from powertui.errors import UnreadableFile
from powertui.opening import open_for_reading

MISSING = -1  # stands for NULL, and for a column that a version does not write

_CHUNK_ROWS = 1 << 18  # rows put into columns at once: bounds the memory
_MIN_ROW_BYTES = 4  # no row of a table takes less: a damaged tree may lead round and round
# Steps of SQLite's machine: a row costs about thirty. More than that for every row that a file of
# its size can hold is a file that leads nowhere.
_STEPS_PER_ROW, _FREE_STEPS = 100, 50_000_000
_STEPS_PER_CHECK = 1_000_000  # between two looks at how many were taken
_MAX_LOOKS = 1  # of so many steps, while a thousand names of tables are listed: 30,000 steps
_MAX_SCHEMA_BYTES = 1 << 20  # of a damaged file that are searched for names of tables; chosen
_MAX_TEXT_CHARS = 1 << 16  # of one text: the rest of it is not read
_MAX_ASKED_IDS = 500  # in one statement
_EXPORT_AGAIN = "Export it again: nsys export --type sqlite -o OUT.sqlite REPORT.nsys-rep"


class NsysDatabase:
    """An export that is open. Errors of SQLite come out as `UnreadableFile`, in one sentence."""

    def __init__(self, source: OpenedFile) -> None:
        self.path = source.path
        self.size = source.size
        if source.path == "-" or source.compressed:
            raise UnreadableFile(
                source.path,
                "is a database in a stream, which can only be read as a file",
                hint="Unpack it, and name the file.",
            )
        with self.errors():
            self._connection = connected(source.path, self._may_go_on)
            self.tables = self._own_tables()
        self._steps = 0

    def close(self) -> None:
        """No more questions."""
        self._connection.close()

    def _may_go_on(self) -> int:
        self._steps = getattr(self, "_steps", 0) + _STEPS_PER_CHECK
        rows = self.size // _MIN_ROW_BYTES
        return int(self._steps > _FREE_STEPS + _STEPS_PER_ROW * rows)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                cause = "is a damaged database: its tables refer to pages that are not there"
            else:
                cause = f"is a database that cannot be read ({clean(str(error))[:120]})"
            raise UnreadableFile(self.path, cause, hint=_EXPORT_AGAIN) from None
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            cause = f"is a damaged database ({clean(str(error))[:120]})"
            raise UnreadableFile(self.path, cause, hint=_EXPORT_AGAIN) from None

    def _own_tables(self) -> dict[str, frozenset[str]]:
        """The columns of each real table: no views, no virtual tables, nothing that is computed."""
        rows = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        )
        names = [name for (name,) in islice(rows, 10_000) if isinstance(name, str)]
        tables: dict[str, frozenset[str]] = {}
        for name in names:
            if name.isidentifier() and name.isascii():
                info = self._connection.execute(f'PRAGMA table_info("{name}")')
                tables[name] = frozenset(str(row[1]) for row in islice(info, 1_000))
        return tables

    def has(self, table: str, *columns: str) -> bool:
        """Whether a table is there, with all of these columns."""
        return self.tables.get(table, frozenset()).issuperset(columns) and table in self.tables

    def integers(
        self,
        table: str,
        columns: Sequence[str],
        progress: Progress,
        *,
        zero: str = "",
    ) -> dict[str, Int64s]:
        """Columns as whole numbers, in the table's order; those that are not there as `MISSING`.

        Only rows in which the column `zero` is 0, where one is named.
        """
        there = [name for name in columns if name in self.tables[table]]
        missing = [name for name in columns if name not in there]
        if not there:
            return {name: np.empty(0, np.int64) for name in columns}
        with self.errors():
            found = self._read(table, there, progress, zero)
        count = len(found[there[0]])
        return {**found, **{name: np.full(count, MISSING, np.int64) for name in missing}}

    def _read(
        self,
        table: str,
        columns: Sequence[str],
        progress: Progress,
        zero: str,
    ) -> dict[str, Int64s]:
        rows = f'"{table}"' + (f' WHERE "{zero}" = 0' if zero else "")
        try:
            return self._chunks(rows, [f'"{name}"' for name in columns], columns, progress)
        except (TypeError, ValueError):  # a NULL, or a text where a number should be
            cast = [f'CAST(IFNULL("{name}", {MISSING}) AS INTEGER)' for name in columns]
            return self._chunks(rows, cast, columns, progress)

    def _chunks(
        self,
        rows: str,
        asked: Sequence[str],
        columns: Sequence[str],
        progress: Progress,
    ) -> dict[str, Int64s]:
        limit = self.size // _MIN_ROW_BYTES
        cursor = self._connection.execute(f"SELECT {', '.join(asked)} FROM {rows} LIMIT {limit}")
        kind = np.dtype([(name, np.int64) for name in columns])
        parts: list[npt.NDArray[Any]] = []
        count = 0
        while True:
            part = np.fromiter(islice(cursor, _CHUNK_ROWS), kind)
            if not len(part):
                break
            parts.append(part)
            count += len(part)
            progress(min(count * 100, self.size), self.size, count)
        # Column by column, so that no more than one is there twice.
        return {
            name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)])
            for name in columns
        }

    def first_row(self, table: str, count: int) -> int | None:
        """The number of a table's first row, if its rows are numbered without gaps."""
        with self.errors():
            row = self._connection.execute(
                f'SELECT MIN(rowid), MAX(rowid) FROM "{table}"'
            ).fetchone()
        lo, hi = row if row is not None else (None, None)
        is_whole = isinstance(lo, int) and isinstance(hi, int) and hi - lo + 1 == count
        return lo if is_whole else None

    def texts(self, ids: Int64s) -> dict[int, str]:
        """What these numbers stand for in the table of strings."""
        if not self.has("StringIds", "id", "value"):
            return {}
        texts: dict[int, str] = {}
        numbers = wire.distinct(ids[ids > MISSING]).tolist()
        with self.errors():
            for first in range(0, len(numbers), _MAX_ASKED_IDS):
                some = numbers[first : first + _MAX_ASKED_IDS]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT id, substr(value, 1, {_MAX_TEXT_CHARS}) FROM StringIds "
                    f"WHERE id IN ({marks}) LIMIT {2 * len(some)}",
                    some,
                )
                texts.update((key, clean(str(value))) for key, value in rows)
        return texts

    def own_texts(self, table: str, column: str, count: int) -> Iterator[tuple[int, str]]:
        """(row, text) of those rows of a table that hold one themselves."""
        limit = min(count, self.size // _MIN_ROW_BYTES)
        with self.errors():
            rows = self._connection.execute(
                f'SELECT substr("{column}", 1, {_MAX_TEXT_CHARS}) FROM "{table}" LIMIT {limit}'
            )
            for number, (text,) in enumerate(rows):
                if isinstance(text, str) and text:
                    yield number, clean(text)

    def rows(self, table: str, columns: Sequence[str], limit: int) -> list[dict[str, Any]]:
        """The first rows of a small table, by the names of those columns that are there."""
        there = [name for name in columns if name in self.tables.get(table, frozenset())]
        if not there:
            return []
        asked = ", ".join(f'"{name}"' for name in there)
        with self.errors():
            found = self._connection.execute(f'SELECT {asked} FROM "{table}" LIMIT {limit}')
            return [
                {name: _short(value) for name, value in zip(there, row, strict=True)}
                for row in found
            ]


def schema_text(path: str) -> bytes:
    """The names of a database's tables, one a line; of a damaged one the bytes that may hold them.

    Nothing of a pipe, which cannot be read twice.
    """
    looks = 0

    def is_too_long() -> int:
        nonlocal looks
        looks += 1
        return int(looks > _MAX_LOOKS)

    if not Path(path).is_file():
        return b""
    try:
        connection = connected(path, is_too_long)
        try:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1000"
            names = [str(name) for (name,) in connection.execute(query)]
        finally:
            connection.close()
        return "\n".join(names).encode("utf-8", "replace")
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        with open_for_reading(path) as file:
            return file.read(_MAX_SCHEMA_BYTES)
    except OSError:
        return b""


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)[:_MAX_TEXT_CHARS]
    return value


def connected(path: str, may_go_on: Any = None) -> sqlite3.Connection:
    """A database as a file that nobody changes: no lock is taken, and nothing written beside it."""
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    if may_go_on is not None:
        connection.set_progress_handler(may_go_on, _STEPS_PER_CHECK)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")  # functions of a schema are not run
    connection.execute("PRAGMA cell_size_check = ON")
    return connection
