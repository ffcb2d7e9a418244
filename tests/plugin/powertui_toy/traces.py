"""Traces of lines `start_s end_s name` under the line TOY."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.json_stats import ArgStats, PairNames
from powertui.data.formats.registry import OpenedFile, Progress
from powertui.data.model import PS_PER_S, Trace

NAME = "toy"
SUFFIXES = ("toy.txt",)


def sniff(head: bytes, path: str) -> int:
    """The first line says it all."""
    return 100 if head.startswith(b"TOY\n") else 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """One line of one process."""
    text = b"".join(source.chunks()).decode("utf-8", "replace")
    rows = [line.split(None, 2) for line in text.splitlines()[1:]]
    names = PairNames()
    start = np.array([float(row[0]) * PS_PER_S for row in rows], np.int64)
    end = np.array([float(row[1]) * PS_PER_S for row in rows], np.int64)
    index = np.array([names.index(row[2], row[2]) for row in rows], np.uint32)
    builder = TraceBuilder(source.path, NAME, size=source.size)
    builder.process("/host:CPU", (), ArgStats()).add(
        1, "main", LineEvents(start, end - start, index, np.zeros(len(rows), np.uint64))
    )
    yield builder.build(names, complete=True, warnings=source.warnings)
