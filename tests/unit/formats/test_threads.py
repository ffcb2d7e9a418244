"""Two threads ask the same file at once: the screen's, and one that counts or concludes beside it.

What one of them has half done is no answer for the other. In each test the second one asks in the
middle of what the first one does; where it has to wait it is given a moment, and then the first one
goes on.
"""

from __future__ import annotations

import gzip
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from powertui.data.formats import gzip_blocks, stat_columns, xplane_stats
from powertui.data.formats.gzip_blocks import GzipBlocks
from powertui.data.formats.xplane_stats import TextTable
from powertui.data.wire.stored import Stored

MOMENT_S = 0.2
TEXTS = [f"text {number}" for number in range(40)]


class Meanwhile:
    """`once` calls this in another thread, the first time that it is called itself."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        self.answers: list[Any] = []

    def once(self) -> None:
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=lambda: self.answers.append(self._work()))
        self._thread.start()
        self._thread.join(MOMENT_S)

    def answer(self) -> Any:
        assert self._thread is not None, "nothing was done in the middle of the first answer"
        self._thread.join()
        return self.answers[0]


def table_of(texts: list[str]) -> TextTable:
    """Text `n` has the key n."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded])
    starts = np.concatenate(([0], ends[:-1]))
    arena = np.frombuffer(b"".join(encoded), np.uint8)
    return TextTable(arena, np.arange(len(texts)), starts, ends)


def test_texts_that_two_threads_look_up_are_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = xplane_stats._RefTexts(table_of(TEXTS))
    ours = np.arange(0, 12)
    theirs = np.arange(8, 40)
    meanwhile = Meanwhile(lambda: refs.find(theirs).slots)
    add = stat_columns.RepeatedTexts.add

    def interrupted(pool: stat_columns.RepeatedTexts, texts: list[str]) -> None:
        meanwhile.once()
        add(pool, texts)

    monkeypatch.setattr(stat_columns.RepeatedTexts, "add", interrupted)
    our_slots = refs.find(ours).slots
    their_slots = meanwhile.answer()
    assert refs.pool.texts[their_slots].tolist() == TEXTS[8:]
    assert refs.pool.texts[our_slots].tolist() == TEXTS[:12]
    numbers = xplane_stats._RefTexts(table_of(["7", "8.5"])).find(np.array([1, 0, 1]))
    assert numbers.floats.tolist() == [8.5, 7.0, 8.5]


def test_keys_of_a_text_are_all_there_or_looked_for_by_whoever_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of([*TEXTS, TEXTS[-1]])
    meanwhile = Meanwhile(lambda: table.keys(TEXTS[-1]))
    text_between = TextTable._text_between

    def interrupted(self: TextTable, lo: int, hi: int) -> str:
        meanwhile.once()
        return text_between(self, lo, hi)

    monkeypatch.setattr(TextTable, "_text_between", interrupted)
    assert table.keys(TEXTS[0]) == [0]
    assert meanwhile.answer() == [39, 40]


def test_blocks_of_gzip_that_two_threads_read_are_where_they_belong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gzip_blocks, "BLOCK_BYTES", 1_000)
    lot = random.Random(1)
    text = bytes(lot.randrange(256) for _ in range(10_000))
    blocks = GzipBlocks(Stored("x", memory=gzip.compress(text)))
    meanwhile = Meanwhile(lambda: blocks.read(0, 2_000))

    class Points(list[Any]):
        def append(self, stream: Any) -> None:
            meanwhile.once()
            super().append(stream)

    blocks._points = Points(blocks._points)
    assert blocks.read(0, 1_000) == text[:1_000]
    assert meanwhile.answer() == text[:2_000]
    assert blocks.read(2_000, 10_000) == text[2_000:]
