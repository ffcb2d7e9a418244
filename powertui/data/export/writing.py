"""A window of a run as a file: CSV, Parquet, JSON, a trace that Perfetto opens, or OpenMetrics. One
content per file.

CSV is RFC 4180 and nothing else, so that every program reads it as it is: run, clock, alignment,
sensors and the window's energy stand in a file beside it, or above it in `#` lines when that is
asked. Numbers stay numbers; text that a spreadsheet would run as a formula is disarmed. A file
appears whole or not at all, and never over another one unless asked.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from powertui import __version__
from powertui.data import window as windows
from powertui.data.energy.measured_energy import Energy
from powertui.data.export import file_facts, openmetrics, parquet, perfetto
from powertui.data.export import files as export_files
from powertui.data.export import lines as export_lines
from powertui.data.export import rows as export_rows
from powertui.data.export.lines import CodeTexts, LinePart, Moments, Ticks
from powertui.data.export.sheets import Batch, Cell, PartialTicks, Shared, Sheet, Vocabulary
from powertui.data.model import PowerOnTrace, Run
from powertui.data.notes import Note
from powertui.data.table import plural
from powertui.data.window import Window
from powertui.errors import UsageError
from powertui.plain import cell, plain

WHAT = ("samples", "steps", "ops", "events", "perfetto", "openmetrics")
# What holds the readings of a window, where nothing was profiled, too.
OF_POWER = ("samples", "openmetrics")
FORMATS = ("csv", "parquet", "json")
_FACTS_SUFFIX = ".about.json"  # what a CSV file stands on, beside it


def write(
    run: Run,
    index: int,
    lo_ps: int,
    hi_ps: int,
    *,
    what: str,
    path: str,
    format: str | None = None,
    force: bool = False,
    power: Sequence[PowerOnTrace] = (),
    comments: bool = False,
    edge_ps: float = 0.0,
    total: Energy | None = None,
    notes: Sequence[Note] = (),
) -> str:
    """Write one window of one trace of a run; the answer is a sentence for a person. "-" is
    standard output.

    `comments`: in CSV, `#` lines above the table instead of a file beside it. `edge_ps`: one sigma
    of the window's ends, where it is an epoch's. `total`: the window's energy over all channels
    that count, where somebody knows which do. `notes`: what a person wrote on the run.
    """
    if index >= len(run.traces):
        raise UsageError(
            "There is no profile to export from.", hint="See what is there: powertui doctor PATH"
        )
    window = windows.window_summary(
        run.traces[index],
        lo_ps,
        hi_ps,
        steps=run.steps[index],
        epochs=run.epochs[index],
        power=power,
    )
    if window.hi <= window.lo:
        raise UsageError("The window is empty.", hint="Its end must be after its start.")
    kind = _format(what, path, format)
    if what != "perfetto":
        _check(window, what)
    # Worked out once: for the facts, for the notes beside a CSV file, and for the answer.
    energies = file_facts.energies(window, edge_ps=edge_ps)
    if total is not None:
        energies = (
            [("all counted channels", total), *energies]
            if len(energies) > 1
            else [(name, total) for name, _ in energies]
        )
    facts = file_facts.file_facts(window, run.name, __version__, energies)
    notes = [note for note in notes if _is_of(note, window)]
    facts += [("note", f"{note.place}: {note.text}".removeprefix(": ")) for note in notes]
    counter = _Counter()
    if what == "perfetto":
        with export_files.opened(path, force=force) as stream:
            _write(stream, perfetto.chunks(window, facts, counter, notes), path)
        return f"Wrote {counter.value:,} lines of trace to {_shown(path)}."
    if what == "openmetrics":
        return _write_openmetrics(
            window=window,
            run=run.name,
            path=path,
            force=force,
            facts=facts,
            energies=energies,
        )
    table = export_rows.table(window, what)
    facts.insert(4, ("content", what))
    beside = ""
    if kind == "csv" and not comments and _plain_file(path):
        beside = path + _FACTS_SUFFIX
    with contextlib.ExitStack() as files:
        stream = files.enter_context(export_files.opened(path, force=force))
        if beside:
            facts_stream = files.enter_context(export_files.opened(beside, force=force))
            facts_stream.write(_notes(table.columns, facts, energies))
        if kind == "parquet":
            counter.value = parquet.write_parquet(stream, table, facts)
        elif kind == "json":
            _write(stream, _json(table, facts, energies, counter), path)
        else:
            _write(stream, _csv(table, facts if comments else (), counter), path)
    rows = plural(what.removesuffix("s"), counter.value)
    answer = f"Wrote {counter.value:,} {rows} to {_shown(path)}."
    if not counter.value and what == "samples":
        answer += " No reading is in the window: a longer one has some."
    if energies and what in ("samples", "steps"):
        answer += f" The window: {file_facts.shown(energies[0][1])}."
    return answer + (f" Based on: {_shown(beside)}." if beside else "")


def _write_openmetrics(
    window: Window,
    run: str,
    path: str,
    force: bool,
    facts: list[tuple[str, Any]],
    energies: Sequence[tuple[str, Energy]],
) -> str:
    """The format has no room for facts: they are in a file beside it, as those of CSV."""
    facts.insert(4, ("content", "openmetrics"))
    beside = path + _FACTS_SUFFIX if _plain_file(path) else ""
    counter = openmetrics.SampleCounter()
    with contextlib.ExitStack() as files:
        stream = files.enter_context(export_files.opened(path, force=force))
        if beside:
            facts_stream = files.enter_context(export_files.opened(beside, force=force))
            facts_stream.write(_notes((), facts, energies))
        _write(stream, openmetrics.chunks(window, run, counter), path)
    samples = plural("sample", counter.written)
    answer = f"Wrote {counter.written:,} {samples} to {_shown(path)}."
    if counter.left_out:
        answer += (
            f" Left out {counter.left_out:,} in the same millisecond as a later one: Prometheus"
            " keeps one a millisecond."
        )
    return answer + (f" Based on: {_shown(beside)}." if beside else "")


def _is_of(note: Note, window: Window) -> bool:
    """Whether a note is about this window or the whole run."""
    if note.lo is None or note.hi is None:
        return True
    is_in_sight = note.lo < window.hi and max(note.hi, note.lo + 1) > window.lo
    return is_in_sight and note.is_on(window.trace.host)


def _plain_file(path: str) -> bool:
    """Whether a file can lie beside it: not of standard output, a pipe or a terminal."""
    if path == export_files.STDOUT:
        return False
    # A pipe or a device takes bytes, and has no neighbors.
    place, there = export_files.look(path)
    return there == "nothing" or place.is_file()


def _notes(
    columns: Sequence[tuple[str, str]],
    facts: Sequence[tuple[str, Any]],
    energies: Sequence[tuple[str, Energy]],
) -> bytes:
    """What a CSV or OpenMetrics file stands on, as JSON."""
    head = {
        **_head(facts, energies),
        "columns": [{"name": name, "holds": meaning} for name, meaning in columns],
    }
    return json.dumps(head, indent=1).encode() + b"\n"


def _head(
    facts: Sequence[tuple[str, Any]],
    energies: Sequence[tuple[str, Energy]],
) -> dict[str, Any]:
    window_energies = [
        {
            "channel": name,
            "joules": energy.joules,
            "lo": energy.lo,
            "hi": energy.hi,
            "badge": energy.badge.value if energy.resolved else None,
            "reason": energy.reason or None,
        }
        for name, energy in energies
    ]
    return {"about": [[key, str(value)] for key, value in facts], "energy": window_energies}


def _format(what: str, path: str, asked: str | None) -> str:
    """What was asked for, else what the name says, else CSV."""
    if what not in WHAT:
        raise UsageError(
            f"`{plain(what, 40)}` cannot be exported.", hint=f"Choose one of: {', '.join(WHAT)}"
        )
    if asked is not None and asked not in FORMATS:
        raise UsageError(
            f"`{plain(asked, 40)}` is not a format.", hint=f"Choose one of: {', '.join(FORMATS)}"
        )
    name = path.lower().removesuffix(".gz")
    known_format = asked or next((f for f in FORMATS if name.endswith(f".{f}")), None)
    if what == "perfetto":
        if known_format not in (None, "json"):
            raise UsageError(
                f"A trace for Perfetto is JSON, not {known_format}.",
                hint="Give the file a name like trace.json.",
            )
        return "json"
    if what == "openmetrics":
        if asked is not None:
            raise UsageError(
                f"OpenMetrics is a text format of its own, not {asked}.", hint="Leave --format out."
            )
        return "text"
    return known_format or "csv"


def _check(window: Window, what: str) -> None:
    if what in OF_POWER and not any(series.status != "none" for series in window.power):
        raise UsageError(
            "There is no power on this profile's clock, so there are no samples.",
            hint="Name a power log with --power FILE, or write something else: --what steps, "
            "ops or events.",
        )
    if what == "openmetrics":
        openmetrics.check(window)
    if what == "steps" and not len(window.step_rows()):
        raise UsageError(
            "There is no step in this window.",
            hint="Name their marker with --step-marker, or choose another window.",
        )


def _shown(path: str) -> str:
    return "standard output" if path == export_files.STDOUT else plain(path, 200)


def _write(stream: BinaryIO, pieces: Iterator[bytes], path: str) -> None:
    """Compressed where the name asks for it."""
    if not path.endswith(".gz"):
        stream.writelines(pieces)
        return
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed:
        packed.writelines(pieces)


class _Counter:
    value = 0


class _Writer:
    """Batches as lines: how a cell is written, what stands between two of them and behind
    the last.
    """

    def __init__(
        self,
        cell: Callable[[Cell], bytes],
        between: bytes,
        begin: bytes,
        end: bytes,
        quote: bytes = b"",
    ) -> None:
        self._cell = cell
        self._between = between
        self._begin = begin
        self._end = end
        self._quote = quote
        self._known: dict[Vocabulary, CodeTexts] = {}

    def lines(self, batch: Batch) -> bytes:
        """All rows of a batch."""
        parts: list[LinePart] = [self._begin]
        for i, column in enumerate(batch.columns):
            if i < len(batch.columns) - 1:
                behind = self._between
            else:
                behind = self._end
            if isinstance(column, Ticks):
                parts += [column, behind]
            elif isinstance(column, Moments):
                parts += [*column.parts(self._quote), behind]
            elif isinstance(column, PartialTicks):
                parts.append([self._cell(value) + behind for value in column.cells()])
            elif isinstance(column, Shared):
                parts.append((column.codes, self._texts(column.words, behind)))
            else:
                parts.append([self._cell(value) + behind for value in column])
        return export_lines.join(parts, batch.rows)

    def _texts(self, words: Vocabulary, behind: bytes) -> CodeTexts:
        code_texts = self._known.get(words)
        if code_texts is None:
            code_texts = CodeTexts(
                words.count,
                lambda code: self._between.join(map(self._cell, words.cells(code))) + behind,
            )
            self._known[words] = code_texts
        return code_texts


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────


def _csv(table: Sheet, facts: Sequence[tuple[str, Any]], counter: _Counter) -> Iterator[bytes]:
    head = [f"# {key}: {plain(str(value))}\r\n" for key, value in facts]
    head += [
        f"# column {plain(name)}: {meaning}\r\n"
        for name, meaning in table.columns
        if meaning and facts
    ]
    yield "".join(head).encode("utf-8", "backslashreplace")
    yield b",".join(_csv_cell(name) for name, _ in table.columns) + b"\r\n"
    writer = _Writer(_csv_cell, b",", b"", b"\r\n")
    for batch in table.batches():
        yield writer.lines(batch)
        counter.value += batch.rows


def _csv_cell(value: Cell) -> bytes:
    if value is None or value != value:
        return b""
    if not isinstance(value, str):
        return repr(value).encode()
    text = cell(value)
    if "," in text or '"' in text:  # line ends were made visible
        text = '"' + text.replace('"', '""') + '"'
    return text.encode("utf-8", "backslashreplace")


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────


def _json(
    table: Sheet,
    facts: Sequence[tuple[str, Any]],
    energies: Sequence[tuple[str, Energy]],
    counter: _Counter,
) -> Iterator[bytes]:
    head = {**_head(facts, energies), "columns": [name for name, _ in table.columns]}
    yield (json.dumps(head)[:-1] + ', "rows": [\n').encode()
    writer = _Writer(
        cell=_json_cell,
        between=b", ",
        begin=b",\n[",
        end=b"]",
        quote=b'"',
    )
    for batch in table.batches():
        lines = writer.lines(batch)
        yield lines if counter.value else lines[2:]  # no comma before the first
        counter.value += batch.rows
    yield b"\n]}\n"


def _json_cell(value: Cell) -> bytes:
    # JSON has no NaN and no infinity
    return json.dumps(
        None if isinstance(value, float) and not math.isfinite(value) else value
    ).encode()
