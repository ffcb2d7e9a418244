"""The events of Chrome-like JSON traces: one stream, read by column where that is possible, given
to what knows the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

from powertui.data.formats.builder import TraceBuilder
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import EventBatch, Scanner, Tokens
from powertui.data.formats.json_columns import ColumnStream
from powertui.data.formats.json_compiled import COMPILED, CompiledScanner
from powertui.data.formats.json_pure import PureScanner
from powertui.data.formats.json_stream import JsonStream
from powertui.data.formats.json_times import Origin
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile, describe
from powertui.data.limits import HINT
from powertui.data.model import (
    Int64s,
    Trace,
)
from powertui.errors import UnreadableFile

__all__ = ["EVENT_BYTES", "OBJECT_BYTES", "add_until_origin", "arg_text", "decoded_events", "read"]

SCANNED = 1 << 21  # a piece for a scanner
CHUNK = 1 << 18  # a piece of text, where items are read one by one
ONE_BY_ONE = False  # read all items one by one: what both scanners are held against
FIRST_PART = 20_000  # events of the first partial trace; each next one has twice as many
# Memory of an event: as it comes, as columns, and the index that the screens draw by.
EVENT_BYTES = 80
OBJECT_BYTES = 400  # memory of a name; a thread counts as several
_OVERSIZED_HINT = (
    "The file is not truncated. Find out what its program wrote into the events, and profile "
    "without that."
)
_DAMAGED_HINT = (
    "Copy the original again. If it is the same, the program that wrote it wrote damaged JSON."
)
PROGRESS_EVENTS = 2_000  # events between two calls of progress


def add_until_origin(collector: Collector, batch: EventBatch) -> EventBatch:
    """One by one what comes first, until it is known from where times count; the rest of
    the batch.
    """
    row = 0
    while collector.origin.us is None and row < len(batch):
        collector.add(batch.event(row), batch.text(row))
        row += 1
    return batch.after(row) if row else batch


def decoded_events(batch: EventBatch, rows: Int64s) -> Iterator[tuple[Any, str]]:
    """Events of a batch as Python reads them, with their texts."""
    for row in rows.tolist():
        yield batch.event(row), batch.text(row)


class Collector(Protocol):
    """What a dialect does with the events of the stream."""

    builder: TraceBuilder
    count: int  # events so far
    origin: Origin

    @property
    def memory(self) -> int: ...
    def add(self, event: Any, raw: str) -> None: ...
    def take(self, batch: EventBatch, tokens: Tokens) -> None: ...
    def member(self, key: str, value: Any) -> None: ...
    def build(self, source: OpenedFile, *, complete: bool) -> Trace: ...


def read(source: OpenedFile, progress: Progress, make: Callable[[], Collector]) -> Iterator[Trace]:
    """Every event to a collector, in bounded memory: partial traces as they grow, the whole one
    last.
    """
    collector = make()
    stream = yield from _fill(source, progress, collector)
    better = collector.origin.better(collector.count)
    if better is not None:  # the first event was the odd one: a zero before times of the day, say
        collector = make()
        collector.origin.us = better
        stream = yield from _fill(source, progress, collector)
    if not stream.count or not collector.count:
        _check_readable(source, stream, has_events=bool(collector.count))
    findings = collector.builder.findings
    findings.add("damaged events were left out", count=stream.damaged)
    for cause, count in stream.oversized.items():
        findings.add(cause, count=count)
    if stream.problem:
        findings.lose(stream.problem)
    progress(source.size, source.size, collector.count)
    yield collector.build(source, complete=True)


def _check_readable(source: OpenedFile, stream: JsonStream, *, has_events: bool) -> None:
    """Raise `UnreadableFile` for a file whose damage left nothing of it."""
    if not stream.count and not stream.problem:
        if stream.oversized:
            cause = f"contains no event that can be read: {next(iter(stream.oversized))}"
            raise UnreadableFile(source.path, cause, hint=_OVERSIZED_HINT)
        if stream.damaged:
            raise UnreadableFile(source.path, "contains only damaged events", hint=_DAMAGED_HINT)
    if not has_events and (stream.problem or not stream.listed):
        problem, hint = describe(source.head, source.path)
        if stream.problem and "truncated" not in stream.problem:
            hint = _DAMAGED_HINT
        raise UnreadableFile(source.path, stream.problem or problem, hint=hint)


def _fill(
    source: OpenedFile,
    progress: Progress,
    collector: Collector,
) -> Generator[Trace, None, JsonStream]:
    """All of the stream to this collector."""
    stream = _opened(source, collector.origin.digits)
    next_part, reported = FIRST_PART, 0
    for key, value in stream:
        if key != "traceEvents" or not stream.listed:
            collector.member(key, value)
            collector.builder.note_secrets(key, value)
            continue
        if isinstance(value, EventBatch):
            assert isinstance(stream, ColumnStream)
            collector.take(value, stream.tokens)
        else:
            collector.add(value, stream.raw())
        if collector.count >= reported + PROGRESS_EVENTS:
            reported = collector.count
            too_much = source.limit.exceeded(collector.memory)
            if too_much:
                collector.builder.findings.add(
                    f"its events take {too_much}: the rest was left out. {HINT}"
                )
                break
            progress(source.done, source.size, reported)
            if reported >= next_part:
                next_part = reported * 2
                yield collector.build(source, complete=False)
    return stream


def _opened(source: OpenedFile, digits: int) -> JsonStream:
    """The members and events of a trace, whose times have so many decimals of a µs."""
    if ONE_BY_ONE:
        return JsonStream(source.chunks(CHUNK), "traceEvents")
    scanner: Scanner = CompiledScanner() if COMPILED else PureScanner(digits)
    return ColumnStream(source.chunks(SCANNED), "traceEvents", scanner)


def arg_text(source: OpenedFile) -> ArgText | None:
    """Where `args` are read again; None where they are all kept."""
    return None if ONE_BY_ONE else ArgText(source, of_events=not COMPILED)
