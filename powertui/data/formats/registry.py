"""The table of profile formats. The content decides which reader takes a file; its name is only a hint.

A third format is one file beside this one, with

    NAME = "…"
    def sniff(head: bytes, path: str) -> int                          # 0 = not mine … 100 = certain
    def load(source: Source, progress: Progress) -> Iterator[Trace]   # partial traces first, the whole one last

and one line in `READERS`. Steps, epochs and clocks are not a reader's business.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, cast

from powertui.data.formats.source import Source, describe, open_source
from powertui.data.limits import MACHINE, Limit
from powertui.data.model import Trace
from powertui.errors import UnreadableFile

__all__ = ["READERS", "Progress", "Reader", "Source", "load", "open_source", "pick", "read", "silent"]

READERS = (
    "xplane",  # <host>.xplane.pb: TensorFlow, JAX, PyTorch/XLA
    "trace_json",  # <host>.trace.json.gz: TensorFlow 2.2 on, JAX; plain Chrome traces
)


class Progress(Protocol):
    """Told while a file is read. It may raise `Cancelled`; then reading stops at once."""

    def __call__(self, done: int, total: int, events: int, /) -> None: ...


class Reader(Protocol):
    """What a module in this folder offers to be a format."""

    NAME: str

    def sniff(self, head: bytes, path: str) -> int: ...
    def load(self, source: Source, progress: Progress) -> Iterator[Trace]: ...


def silent(done: int, total: int, events: int, /) -> None:
    """The progress of someone who does not want to know."""


def readers() -> tuple[Reader, ...]:
    """All formats, imported now: `--help` and a recorder never pay for them."""
    return tuple(cast(Reader, importlib.import_module(f"powertui.data.formats.{name}")) for name in READERS)


def pick(source: Source) -> Reader:
    """The reader that is surest of this content. Raises `UnreadableFile` with what the file looks like."""
    ranked = sorted(readers(), key=lambda reader: reader.sniff(source.head, source.path), reverse=True)
    if ranked[0].sniff(source.head, source.path) <= 0:
        problem, hint = describe(source.head, source.path)
        raise UnreadableFile(source.path, problem, hint=hint)
    return ranked[0]


def load(path: str | os.PathLike[str], progress: Progress = silent, limit: Limit = MACHINE) -> Iterator[Trace]:
    """Read one file: partial traces (`complete` is False) as they grow, the whole one last."""
    source = open_source(path, limit)
    for trace in pick(source).load(source, progress):
        yield replace(trace, stamp=source.stamp)


def read(path: str | os.PathLike[str], progress: Progress = silent) -> Trace:
    """Read one file wholly."""
    last: Trace | None = None
    for trace in load(path, progress):
        last = trace
    if last is None:
        raise UnreadableFile(os.fspath(path), "holds nothing that could be read")
    return last
