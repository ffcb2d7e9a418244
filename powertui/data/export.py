"""A window of a run as a file: CSV, Parquet, JSON, or a trace that Perfetto opens. One content per file.

CSV is RFC 4180 below a header of `#` lines that name run, clock, alignment and sensors. Numbers stay numbers; text that a
spreadsheet would run as a formula is disarmed. A file appears whole or not at all, and never over another one unless asked.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from powertui import __version__
from powertui.data import export_files, export_rows, perfetto
from powertui.data import window as windows
from powertui.data.export_rows import Exact, Table
from powertui.data.model import PowerOnTrace, Run
from powertui.data.window import Window
from powertui.errors import UsageError
from powertui.plain import cell, plain

WHAT = ("samples", "steps", "ops", "events", "perfetto")
FORMATS = ("csv", "parquet", "json")


def write(
    run: Run, index: int, lo_ps: int, hi_ps: int, *, what: str, path: str, format: str | None = None, force: bool = False,
    power: Sequence[PowerOnTrace] = (),
) -> str:  # fmt: skip
    """Write one window of one trace of a run; the answer is a sentence for a person. "-" is standard output."""
    if index >= len(run.traces):
        raise UsageError("There is no profile to export from.", hint="See what is there: powertui doctor PATH")
    window = windows.of(run.traces[index], lo_ps, hi_ps, steps=run.steps[index], epochs=run.epochs[index], power=power)
    if window.hi <= window.lo:
        raise UsageError("The window is empty.", hint="Its end has to lie after its start.")
    kind = _format(what, path, format)
    facts = export_rows.about(window, run.name, __version__)
    if what == "perfetto":
        with export_files.opened(path, force=force) as stream:
            count = _write_text(stream, perfetto.chunks(window, facts), path)
        return f"Wrote {count:,} lines of trace to {_shown(path)}."
    _check(window, what)
    table = export_rows.table(window, what)
    facts.insert(4, ("content", what))
    with export_files.opened(path, force=force) as stream:
        if kind == "parquet":
            count = _parquet(stream, table, facts)
        elif kind == "json":
            counter = _Counter()
            _write_text(stream, _json(table, facts, counter), path)
            count = counter.value
        else:
            counter = _Counter()
            _write_text(stream, _csv(table, facts, counter), path)
            count = counter.value
    return f"Wrote {count:,} {what} to {_shown(path)}."


def _format(what: str, path: str, asked: str | None) -> str:
    """What was asked for, else what the name says, else CSV."""
    if what not in WHAT:
        raise UsageError(f"`{plain(what, 40)}` is nothing that can be exported.", hint=f"There is: {', '.join(WHAT)}")
    if asked is not None and asked not in FORMATS:
        raise UsageError(f"`{plain(asked, 40)}` is no format.", hint=f"There is: {', '.join(FORMATS)}")
    name = path.lower().removesuffix(".gz")
    found = asked or next((f for f in FORMATS if name.endswith(f".{f}")), None)
    if what == "perfetto":
        if found not in (None, "json"):
            raise UsageError(f"A trace for Perfetto is JSON, not {found}.", hint="Name the file like trace.json.")
        return "json"
    return found or "csv"


def _check(window: Window, what: str) -> None:
    if what == "samples" and not any(one.status != "none" for one in window.power):
        raise UsageError("No power lies on this profile's clock, so there are no samples.", hint="Name a log with --power FILE.")
    if what == "steps" and not len(window.step_rows()):
        raise UsageError("No step lies in this window.", hint="Name what marks them with --step-marker, or take another window.")


def _shown(path: str) -> str:
    return "standard output" if path == export_files.STDOUT else plain(path, 200)


class _Counter:
    value = 0


def _write_text(stream: BinaryIO, parts: Iterator[str], path: str) -> int:
    """Text as UTF-8, compressed where the name asks for it; how many parts it were."""
    packed = gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if path.endswith(".gz") else None
    target = packed or stream
    count = 0
    for part in parts:
        target.write(part.encode("utf-8", "backslashreplace"))
        count += 1
    if packed is not None:
        packed.close()
    return count


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────


def _csv(table: Table, facts: Sequence[tuple[str, Any]], counter: _Counter) -> Iterator[str]:
    for key, value in facts:
        yield f"# {key}: {plain(str(value))}\r\n"
    for name, meaning in table.columns:
        if meaning:
            yield f"# column {plain(name)}: {meaning}\r\n"
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([cell(name) for name, _ in table.columns])
    for row in table.rows():
        writer.writerow([_csv_cell(value) for value in row])
        counter.value += 1
        if buffer.tell() > 1 << 16:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _csv_cell(value: export_rows.Cell) -> object:
    if value is None or value != value:
        return ""
    return cell(value) if isinstance(value, str) and not isinstance(value, Exact) else value


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────


def _json(table: Table, facts: Sequence[tuple[str, Any]], counter: _Counter) -> Iterator[str]:
    head = {"about": [[key, str(value)] for key, value in facts], "columns": [name for name, _ in table.columns]}
    yield json.dumps(head)[:-1] + ', "rows": [\n'
    for row in table.rows():
        cells = [v if isinstance(v, Exact) else json.dumps(v) for v in row]
        yield (",\n" if counter.value else "") + "[" + ", ".join(cells) + "]"
        counter.value += 1
    yield "\n]}\n"


# ── Parquet ──────────────────────────────────────────────────────────────────────────────────────


def _parquet(stream: BinaryIO, table: Table, facts: Sequence[tuple[str, Any]]) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow, which is not installed.",
            hint="pip install 'powertui[parquet]', or write CSV instead.",
        ) from None
    types = {"time": pa.decimal128(38, 12), "number": pa.float64(), "integer": pa.int64(), "text": pa.string()}
    names = [name for name, _ in table.columns]
    schema = pa.schema(
        [pa.field(name, types[kind]) for name, kind in zip(names, table.kinds, strict=True)],
        metadata={f"powertui.{i:02}.{key}": str(value) for i, (key, value) in enumerate(facts)},
    )
    count = 0
    with pq.ParquetWriter(stream, schema) as writer:
        for rows in _batches(table):
            count += len(rows)
            columns = [pa.array([_typed(row[i], kind) for row in rows], type=types[kind]) for i, kind in enumerate(table.kinds)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return count


def _batches(table: Table) -> Iterator[list[export_rows.Row]]:
    rows: list[export_rows.Row] = []
    for row in table.rows():
        rows.append(row)
        if len(rows) == 65536:
            yield rows
            rows = []
    if rows:
        yield rows


def _typed(value: export_rows.Cell, kind: str) -> object:
    if value is None or value != value:
        return None
    if kind == "time":
        from decimal import Decimal

        return Decimal(str(value))
    return float(value) if kind == "number" else plain(str(value)) if kind == "text" else value
