"""A large table by pandas' C parser, piece by piece: what is kept of it is its columns, packed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from powertui.data import packed
from powertui.data.model import Floats, Int64s
from powertui.data.packed import GrowingColumn
from powertui.data.power.cells import FileCells, Shape, irregular, was_cut
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile

PIECE = 1 << 20  # bytes that are parsed at once; chosen, not measured
# Of many columns: pandas takes as long to begin each of them as for hundreds of its cells, but
# holds ten bytes for each of a piece.
_MIN_WIDE_COLUMNS, _WIDE_PIECE = 32, 2 << 20
# Pieces after which memory is handed back: small columns that stay are scattered among what parsing
# has freed. Chosen, not measured.
_PIECES_BETWEEN_TRIMS = 32
_CR_PROBE_BYTES = 4096  # in which a line that ends in a bare CR is looked for


class _Lines(NamedTuple):
    """The regular lines of a piece, and what was left out."""

    total: int  # lines of the piece
    body: bytes
    numbers: Int64s
    dropped: Sequence[tuple[int, str]]


def read(
    source: LogFile, layout: Shape, names: tuple[str, ...], notes: Notes, end: str
) -> FileCells | None:
    """The regular lines. None when quotes make lines and rows different things."""
    texts: set[int] = set()
    while (
        True
    ):  # twice where a column has numbers first and words later: then it is all as it was written
        table = _Columns(len(names), texts)
        for number, lines in enumerate(_lines(source, layout, len(names), end), 1):
            if lines is None or not table.take(lines, layout.delimiter):
                return None
            if not number % _PIECES_BETWEEN_TRIMS:
                packed.give_back()
        if not table.mixed:
            break
        texts |= table.mixed
    for line, why in table.dropped:
        notes.drop(line, why)
    numbers = np.concatenate(table.numbers) if table.numbers else np.empty(0, np.int64)
    return FileCells(
        names, numbers, [c.column() if isinstance(c, GrowingColumn) else c for c in table.columns]
    )


class _Columns:
    """What the pieces hold, column by column: packed numbers, or texts."""

    def __init__(self, width: int, texts: set[int]) -> None:
        self.columns: list[GrowingColumn | list[str]] = [[] for _ in range(width)]
        self.numbers: list[Int64s] = []
        self.dropped: list[tuple[int, str]] = []
        self.mixed: set[int] = set()  # columns of which some pieces hold numbers and others texts
        self._texts = texts
        self._rows = 0

    def take(self, lines: _Lines, delimiter: str) -> bool:
        """One piece more; False where lines and rows are different things."""
        self.dropped += lines.dropped
        if not len(lines.numbers):
            return True
        parsed = _parsed(lines.body, delimiter, len(self.columns), self._texts)
        if len(parsed[0]) != len(lines.numbers):
            return False
        for place, cells in enumerate(parsed):
            self._put(place, cells)
        self.numbers.append(lines.numbers)
        self._rows += len(lines.numbers)
        return True

    def _put(self, place: int, cells: Floats | list[str]) -> None:
        before = self.columns[place]
        if not self._rows and not isinstance(cells, list):
            before = self.columns[place] = GrowingColumn(np.float64)
        if isinstance(before, GrowingColumn) and isinstance(cells, list):
            if not np.isnan(before.column()[:]).all():
                self.mixed.add(place)
            before = self.columns[place] = [""] * self._rows
        if isinstance(before, GrowingColumn):
            before.add(np.asarray(cells))
        elif isinstance(cells, list):
            before += cells
        else:
            if not np.isnan(cells).all():
                self.mixed.add(place)
            before += [""] * len(cells)


def _parsed(body: bytes, delimiter: str, width: int, texts: set[int]) -> list[Any]:
    """Each column as numbers, or as texts where it holds any or these are asked for."""
    import pandas as pd

    starts = (b"\n", delimiter.encode())
    spaces = [
        space for space in (b" ", b"\t") if space in body
    ]  # most have none, which is seen far sooner than two bytes are found
    spaced = body[:1] in spaces or any(
        start + space in body for start in starts for space in spaces
    )
    frame = pd.read_csv(
        io.BytesIO(body),
        sep=delimiter,
        header=None,
        names=range(width),
        index_col=False,
        skipinitialspace=spaced,  # as if there were any it takes half as long again
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
        encoding="utf-8",
        encoding_errors="replace",
        engine="c",
        dtype=dict.fromkeys(texts, str),
    )
    kinds = [column.kind for column in frame.dtypes]
    if not texts and set(kinds) <= set(
        "iuf"
    ):  # numbers alone, as nearly always: all columns at once
        return list(frame.to_numpy(np.float64).T)
    columns: list[Any] = []
    for i in range(width):
        column = frame[i]
        if (
            i not in texts
            and pd.api.types.is_numeric_dtype(column.dtype)
            and not pd.api.types.is_bool_dtype(column.dtype)
        ):
            columns.append(column.to_numpy(np.float64))
        else:
            columns.append([_text(cell) for cell in column.tolist()])
    return columns


def _text(cell: Any) -> str:
    return cell.strip() if isinstance(cell, str) else "" if cell != cell else str(cell)


def _lines(source: LogFile, layout: Shape, width: int, end: str) -> Iterator[_Lines | None]:
    """Piece by piece; None where the file has to be read otherwise."""
    mark = f"\n{end}".encode() if end else b""
    skip, at = layout.first, 1  # lines above the table; the number of the next line
    tails: list[bytes] = []
    for piece in source.pieces(PIECE if width < _MIN_WIDE_COLUMNS else max(PIECE, _WIDE_PIECE)):
        if b'"' in piece or (at == 1 and b"\r" in piece[:_CR_PROBE_BYTES].replace(b"\r\n", b"")):
            yield None
            return
        while skip and piece:
            piece = piece[piece.find(b"\n") + 1 :] if b"\n" in piece else b""
            skip, at = skip - 1, at + 1
        cut = (b"\n" + piece).find(mark) if mark else -1
        if cut >= 0:
            piece = piece[:cut]
        if piece:
            lines = _regular(piece, layout, width, at, tails)
            at += lines.total
            yield lines
        if cut >= 0:
            return


def _regular(piece: bytes, layout: Shape, width: int, at: int, tails: list[bytes]) -> _Lines:
    """Only the lines with the right number of fields.

    `tails` holds the last lines of the piece before.
    """
    delimiter = layout.delimiter.encode()
    is_complete = piece.endswith(b"\n")
    count = piece.count(b"\n") + (not is_complete)
    again = layout.named and layout.names[0].encode() in piece  # the header
    strange = again or piece[:1] == b"#" or b"\n#" in piece
    if is_complete and not strange and _even(piece, delimiter, count, width - 1):
        tails[:] = piece[-4096:].split(b"\n")[-51:-1]
        return _Lines(count, piece, np.arange(at, at + count, dtype=np.int64), ())
    regular: list[bytes] = []
    numbers: list[int] = []
    dropped: list[tuple[int, str]] = []
    header = layout.delimiter.join(layout.names).encode()
    for i, line in enumerate(piece.split(b"\n"), at):
        if (
            not line.strip()
            or line.startswith(b"#")
            or line.replace(b" ", b"") == header.replace(b" ", b"")
        ):
            continue
        field_count = line.count(delimiter) + 1
        if field_count != width and not (
            field_count == width + 1 and line.rstrip().endswith(delimiter)
        ):
            dropped.append((i, irregular(field_count, width)))
            continue
        regular.append(line.rstrip().removesuffix(delimiter) if field_count == width + 1 else line)
        numbers.append(i)
    if regular and not is_complete:
        last = [
            line.rsplit(delimiter, 1)[-1].decode("utf-8", "replace").strip()
            for line in [*tails, *regular][-50:]
        ]
        if was_cut(last[-1], last[:-1]):
            dropped.append((numbers.pop(), "the last line is incomplete"))
            regular.pop()
    tails[:] = regular[-50:]
    return _Lines(count, b"\n".join(regular) + b"\n", np.array(numbers, np.int64), dropped)


def _even(piece: bytes, delimiter: bytes, count: int, each: int) -> bool:
    """Whether each line has so many delimiters."""
    letters = np.frombuffer(piece, np.uint8)
    at = np.flatnonzero(letters == ord(delimiter))
    if len(at) != count * each:
        return False
    ends, between = np.flatnonzero(letters == ord("\n")), at.reshape(count, each)
    return bool((between[:, -1] < ends).all() and (between[1:, 0] > ends[:-1]).all())
