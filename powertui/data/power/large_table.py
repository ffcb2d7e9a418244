"""A large table by pandas' C parser, piece by piece: what is kept of it is its columns, packed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data import packed
from powertui.data.model import Floats, Int64s
from powertui.data.packed import GrowingColumn
from powertui.data.power.cells import CodedTexts, FileCells, Shape, irregular, was_cut
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

PIECE = 1 << 20  # bytes that are parsed at once; chosen, not measured
# Of many columns: pandas takes as long to begin each of them as for hundreds of its cells, but
# holds ten bytes for each of a piece.
_MIN_WIDE_COLUMNS = 32
_WIDE_PIECE = 2 << 20
# Pieces after which memory is handed back: small columns that stay are scattered among what parsing
# has freed. Chosen, not measured.
_PIECES_BETWEEN_TRIMS = 32
# A column of texts is kept as each text once, while fewer than this share of a piece's rows differ:
# names and written times repeat. Chosen, not measured.
_MAX_DIFFERING_SHARE = 0.5
_CODES = (np.int8, np.int16, np.int32, np.int64)
_CR_PROBE_BYTES = 4096  # in which a line that ends in a bare CR is looked for


class _Lines(NamedTuple):
    """The regular lines of a piece, and what was left out."""

    total: int  # lines of the piece
    body: bytes
    numbers: Int64s
    dropped: Sequence[tuple[int, str]]


def read(
    source: LogFile,
    layout: Shape,
    names: tuple[str, ...],
    notes: Notes,
    end: str,
) -> FileCells | None:
    """The regular lines. None when quotes make lines and rows different things."""
    width = len(names)
    texts: set[int] = set()
    while True:
        table = _Columns(width, texts)
        for number, lines in enumerate(_lines(source, layout, width, end), 1):
            if lines is None or not table.take(lines, layout.delimiter):
                return None
            if not number % _PIECES_BETWEEN_TRIMS:
                packed.give_back()
        if not table.mixed:
            break
        # A column has numbers first and words later: the second reading keeps all of it as it was
        # written.
        texts |= table.mixed
    for line, why in table.dropped:
        notes.drop(line, why)
    columns = []
    for cells in table.columns:
        columns.append(cells if isinstance(cells, list) else cells.column())
    return FileCells(names, table.numbers.column(), columns)


class _GrowingTexts:
    """A column of texts many of which are equal, coded as it grows."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._codes: list[npt.NDArray[np.signedinteger[Any]]] = []

    def add(self, cells: CodedTexts) -> None:
        """More rows."""
        numbers = self._numbers
        codes = [numbers.setdefault(text, len(numbers)) for text in cells.values]
        # As few bytes as hold them: pieces that begin with few names stay small.
        for kind in _CODES:
            if len(numbers) <= np.iinfo(kind).max:
                break
        new_codes = np.array(codes, kind)
        self._codes.append(new_codes[cells.codes])

    def column(self) -> CodedTexts:
        """All rows so far."""
        if self._codes:
            codes = np.concatenate(self._codes)
        else:
            codes = np.empty(0, np.int8)
        return CodedTexts(codes, list(self._numbers))


_Cells = Floats | CodedTexts | list[str]  # of one column of a piece


class _Columns:
    """What the pieces hold, column by column: packed numbers, or texts."""

    def __init__(self, width: int, texts: set[int]) -> None:
        self.columns: list[GrowingColumn | _GrowingTexts | list[str]] = [[] for _ in range(width)]
        self.numbers = GrowingColumn(np.int64)
        self.dropped: list[tuple[int, str]] = []
        self.mixed: set[int] = set()  # columns of which some pieces hold numbers and others texts
        self._texts = texts
        self._rows = 0

    def take(self, lines: _Lines, delimiter: str) -> bool:
        """One piece more; False where lines and rows are different things."""
        self.dropped += lines.dropped
        row_count = len(lines.numbers)
        if not row_count:
            return True
        coded = set()
        for place, column in enumerate(self.columns):
            if isinstance(column, _GrowingTexts):
                coded.add(place)
        parsed = _parsed(
            lines.body,
            delimiter,
            len(self.columns),
            self._texts,
            coded,
        )
        if len(parsed[0]) != row_count:
            return False
        for place, cells in enumerate(parsed):
            if isinstance(cells, np.ndarray):
                self._put_numbers(place, cells)
            else:
                self._put_words(place, cells)
        self.numbers.add(lines.numbers)
        self._rows += row_count
        return True

    def _put_numbers(self, place: int, cells: Floats) -> None:
        """More numbers of a column."""
        if not self._rows:
            self.columns[place] = GrowingColumn(np.float64)
        column = self.columns[place]
        if isinstance(column, GrowingColumn):
            column.add(cells)
            return
        if not np.isnan(cells).all():
            self.mixed.add(place)
        self._put_texts(place, _empty_texts(len(cells)))

    def _put_words(self, place: int, cells: CodedTexts | list[str]) -> None:
        """A column's piece that holds some word."""
        column = self.columns[place]
        if isinstance(column, GrowingColumn):
            # Empty cells are NaN: they were no numbers, and become texts again.
            is_empty = np.isnan(column.column()[:])
            if not is_empty.all():
                self.mixed.add(place)
        self._put_texts(place, cells)

    def _put_texts(self, place: int, cells: CodedTexts | list[str]) -> None:
        """More texts of a column: coded for as long as they repeat."""
        column = self.columns[place]
        if isinstance(column, GrowingColumn) or not self._rows:
            column = _GrowingTexts()
            self.columns[place] = column
            if self._rows:
                column.add(_empty_texts(self._rows))
        if not isinstance(column, _GrowingTexts):
            column.extend(cells)
        elif isinstance(cells, CodedTexts):
            column.add(cells)
        else:
            self.columns[place] = [*column.column(), *cells]


def _empty_texts(count: int) -> CodedTexts:
    return CodedTexts(np.zeros(count, np.int32), [""])


def _parsed(
    body: bytes,
    delimiter: str,
    width: int,
    texts: set[int],
    coded: set[int],
) -> list[_Cells]:
    """Each column as numbers, or as texts where it holds any or these are asked for.

    `coded`: columns whose texts have repeated so far.
    """
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(body),
        sep=delimiter,
        header=None,
        names=range(width),
        index_col=False,
        # Where there are none to skip, looking for them takes half as long again.
        skipinitialspace=_has_spaces_before_cells(body, delimiter),
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
        encoding="utf-8",
        encoding_errors="replace",
        engine="c",
        dtype={place: "category" if place in coded else str for place in texts | coded},
    )
    kinds = {column.kind for column in frame.dtypes}
    if not texts and kinds <= set("iuf"):
        # Numbers alone, as nearly always: all columns at once.
        return list(frame.to_numpy(np.float64).T)
    columns: list[_Cells] = []
    for place in range(width):
        column = frame[place]
        is_number = pd.api.types.is_numeric_dtype(column.dtype)
        is_bool = pd.api.types.is_bool_dtype(column.dtype)
        if place not in texts and is_number and not is_bool:
            columns.append(column.to_numpy(np.float64))
        else:
            columns.append(_texts(column))
    return columns


def _has_spaces_before_cells(body: bytes, delimiter: str) -> bool:
    """Whether some cell of a piece begins with a blank."""
    for space in (b" ", b"\t"):
        # Most pieces hold no blank at all, which is seen far sooner than two bytes are found.
        if space not in body:
            continue
        if body.startswith(space) or b"\n" + space in body:
            return True
        if delimiter.encode() + space in body:
            return True
    return False


def _texts(column: Any) -> CodedTexts | list[str]:
    """A column of texts, coded where they repeat."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        values = column.cat.categories
    else:
        codes, values = pd.factorize(column)
    if len(values) > _MAX_DIFFERING_SHARE * len(column):
        return [_text(cell) for cell in column.tolist()]
    # The last one stands for empty cells, whose code is -1.
    return CodedTexts.in_order(codes, [*map(_text, values), ""])


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell.strip()
    is_empty = cell != cell  # NaN
    return "" if is_empty else str(cell)


def _lines(source: LogFile, layout: Shape, width: int, end: str) -> Iterator[_Lines | None]:
    """Piece by piece; None where the file has to be read otherwise."""
    if end:
        end_mark = f"\n{end}".encode()
    else:
        end_mark = b""
    lines_above = layout.first
    next_line = 1
    tails: list[bytes] = []
    if width < _MIN_WIDE_COLUMNS:
        piece_bytes = PIECE
    else:
        piece_bytes = max(PIECE, _WIDE_PIECE)
    for piece in source.pieces(piece_bytes):
        if b'"' in piece or (next_line == 1 and _has_bare_returns(piece)):
            yield None
            return
        while lines_above and piece:
            _, _, piece = piece.partition(b"\n")
            lines_above -= 1
            next_line += 1
        if end_mark:
            cut = (b"\n" + piece).find(end_mark)
        else:
            cut = -1
        if cut >= 0:
            piece = piece[:cut]
        if piece:
            lines = _regular(piece, layout, width, next_line, tails)
            next_line += lines.total
            yield lines
        if cut >= 0:
            return


def _has_bare_returns(piece: bytes) -> bool:
    """Whether lines end in a CR alone, as on old Macs: pandas takes them for ends of lines."""
    probe = piece[:_CR_PROBE_BYTES]
    return b"\r" in probe.replace(b"\r\n", b"")


def _regular(
    piece: bytes,
    layout: Shape,
    width: int,
    first_line: int,
    tails: list[bytes],
) -> _Lines:
    """Only the lines with the right number of fields.

    `tails` holds the last lines of the piece before.
    """
    delimiter = layout.delimiter.encode()
    is_complete = piece.endswith(b"\n")
    count = piece.count(b"\n")
    if is_complete and _is_plain(piece, layout) and _even(piece, delimiter, count, width - 1):
        last_bytes = piece[-4096:]
        tails[:] = last_bytes.split(b"\n")[-51:-1]
        numbers = np.arange(first_line, first_line + count, dtype=np.int64)
        return _Lines(count, piece, numbers, ())
    regular: list[bytes] = []
    line_numbers: list[int] = []
    dropped: list[tuple[int, str]] = []
    header = _without_spaces(layout.delimiter.join(layout.names).encode())
    for number, line in enumerate(piece.split(b"\n"), first_line):
        if not line.strip() or line.startswith(b"#"):
            continue
        if _without_spaces(line) == header:
            continue
        field_count = line.count(delimiter) + 1
        if field_count == width + 1 and line.rstrip().endswith(delimiter):
            line = line.rstrip().removesuffix(delimiter)
        elif field_count != width:
            dropped.append((number, irregular(field_count, width)))
            continue
        regular.append(line)
        line_numbers.append(number)
    if regular and not is_complete and _last_was_cut([*tails, *regular], delimiter):
        cut_line = line_numbers.pop()
        dropped.append((cut_line, "the last line is incomplete"))
        regular.pop()
    tails[:] = regular[-50:]
    return _Lines(
        count + (not is_complete),
        b"\n".join(regular) + b"\n",
        np.array(line_numbers, np.int64),
        dropped,
    )


def _without_spaces(line: bytes) -> bytes:
    return line.replace(b" ", b"")


def _is_plain(piece: bytes, layout: Shape) -> bool:
    """Whether no line of a piece is a comment, or may be the header again."""
    if layout.named and layout.names[0].encode() in piece:
        return False
    return not piece.startswith(b"#") and b"\n#" not in piece


def _last_was_cut(lines: Sequence[bytes], delimiter: bytes) -> bool:
    """Whether the last of these lines misses digits, as those before it show."""
    last_cells = []
    for line in lines[-50:]:
        _, _, cell = line.rpartition(delimiter)
        last_cells.append(cell.decode("utf-8", "replace").strip())
    *before, last = last_cells
    return was_cut(last, before)


def _even(piece: bytes, delimiter: bytes, count: int, each: int) -> bool:
    """Whether each line has so many delimiters."""
    separators = {*delimiter, *b"\n"}
    others = bytes(byte for byte in range(256) if byte not in separators)
    line = each * delimiter + b"\n"
    return piece.translate(None, others) == line * count
