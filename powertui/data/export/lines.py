"""Rows of times and texts as lines of bytes, whole columns at a time: a Python step per cell costs
ten times as much.

A time is an exact decimal: digits come four at a time out of tables, so that each group of them is
one 32-bit word of its row. Fewer than four are filled up with NULs, which are taken out of the
finished lines in one go. So no text may hold a NUL. A text that many rows share is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import NS_PER_S, Bools, Int64s, UInt32s
from powertui.value_types import dataclass

# Of texts that were made. Beyond it they are made again, so that a million long names fit.
_MAX_TEXT_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class Ticks:
    """Times as integers of 10**-decimals: exact, whatever their size."""

    values: Int64s
    decimals: int
    integer_part: bool = True  # False: only the point and what stands behind it


@dataclass(frozen=True, eq=False)
class Moments:
    """Unix times in ns as ISO 8601 in UTC, with all nine decimals."""

    ns: Int64s

    def parts(self, quote: bytes = b"") -> list[LinePart]:
        """What a line is made of, between quotes where a format wants them."""
        seconds = self.ns // NS_PER_S
        # Many readings fall into one second: its text is made once.
        unique_seconds, codes = np.unique(seconds, return_inverse=True)
        dates = np.datetime_as_string(unique_seconds.astype("datetime64[s]"))
        texts = [quote + date.encode() for date in dates.tolist()]
        date_texts = CodeTexts(len(texts), texts.__getitem__)
        fraction = Ticks(
            self.ns - seconds * NS_PER_S,
            9,
            integer_part=False,
        )
        return [(codes, date_texts), fraction, b"Z" + quote]


class CodeTexts:
    """The bytes of each code, made when a row first needs them."""

    def __init__(self, count: int, make: Callable[[int], bytes]) -> None:
        self._make = make
        self._made = np.zeros(count, np.bool_)
        self._texts = np.empty(count, object)
        self._bytes = 0

    def texts_for(self, codes: npt.NDArray[Any]) -> list[bytes]:
        """The text of each row."""
        if self._bytes > _MAX_TEXT_BYTES:
            self._made[:] = False
            self._texts[:] = None
            self._bytes = 0
        is_new = ~self._made[codes]
        new = codes[is_new]
        if len(new):
            for code in wire.distinct(new).tolist():
                text = self._make(code)
                self._texts[code] = text
                self._bytes += len(text)
            self._made[new] = True
        texts: list[bytes] = self._texts[codes].tolist()
        return texts


#: What a line is made of: the same bytes in each, a time, texts by code, or a text of each row.
LinePart: TypeAlias = "bytes | Ticks | tuple[npt.NDArray[Any], CodeTexts] | Sequence[bytes]"


def join(parts: Sequence[LinePart], rows: int) -> bytes:
    """All lines of these rows, one after the other. The last part has to bring the line's end."""
    runs: list[list[bytes]] = []
    # Of the run of constants and times that is being gathered: each a column of uint32, or one for
    # all.
    words: list[Any] = []
    pending = b""
    for part in parts:
        if isinstance(part, bytes):
            pending += part
            continue
        if isinstance(part, Ticks):
            words += _time(part, pending)
            pending = b""
            continue
        words += _constant(pending)
        pending = b""
        if words:
            runs.append(_rows(words, rows))
            words = []
        if isinstance(part, tuple):
            codes, texts = part
            runs.append(texts.texts_for(codes))
        else:
            runs.append(list(part))
    words += _constant(pending)
    if words:
        runs.append(_rows(words, rows))
    if len(runs) == 1:
        pieces = runs[0]
    else:
        pieces = [b""] * (rows * len(runs))
    if len(runs) > 1:
        for number, run in enumerate(runs):
            pieces[number :: len(runs)] = run
    return b"".join(pieces).translate(None, b"\0")


def _rows(words: list[Any], rows: int) -> list[bytes]:
    """Columns of words side by side, as one piece of bytes a row."""
    width = len(words)
    matrix = np.empty((rows, width), np.uint32)
    for i, word in enumerate(words):
        matrix[:, i] = word
    as_bytes = matrix.view(f"S{4 * width}")
    row_texts: list[bytes] = as_bytes.ravel().tolist()
    return row_texts


# ── words ────────────────────────────────────────────────────────────────────────────────────────


def _word(text: bytes) -> np.uint32:
    """Up to four bytes as they lie in memory."""
    padded = text.ljust(4, b"\0")
    word: np.uint32 = np.frombuffer(padded, np.uint32)[0]
    return word


def _constant(text: bytes) -> list[np.uint32]:
    words: list[np.uint32] = []
    for begin in range(0, len(text), 4):
        words.append(_word(text[begin : begin + 4]))
    return words


@cache
def _table(form: str) -> UInt32s:
    """A word for each number that a form of up to four digits can write; "" writes 0 as nothing."""
    if form == "":
        texts = ["", *map(str, range(1, 10_000))]
    elif form == "d":
        texts = [*map(str, range(10_000))]
    else:  # a point, or none, and so many digits
        point = form[:-1]
        digits = int(form[-1])
        texts = []
        for number in range(10**digits):
            texts.append(f"{point}{number:0{digits}d}")
    filled = "".join(text.ljust(4, "\0") for text in texts)
    return np.frombuffer(filled.encode(), np.uint32)


def _time(ticks: Ticks, before: bytes) -> list[Any]:
    """The words of a column of times behind `before`, rows without a sign where there is none to
    write.
    """
    values = ticks.values
    if not len(values):
        return _constant(before)
    words: list[Any]
    is_negative = values < 0
    if is_negative.any():
        # The sign stands in one word with what comes right before it.
        word_begin = len(before) // 4 * 4
        last = before[word_begin:]
        sign = np.where(is_negative, _word(last + b"-"), _word(last))
        words = [*_constant(before[:word_begin]), sign]
        size = np.abs(values).view(np.uint64)  # of the least int64, too
    else:
        words = [*_constant(before)]
        size = values.view(np.uint64)
    if not ticks.decimals:
        return words + _integers(size)
    unit = np.uint64(10**ticks.decimals)
    integer = size // unit
    rest = size - integer * unit
    if ticks.integer_part:
        words += _integers(integer)
    # The decimals that fill no word of four come right behind the point.
    odd_decimals = ticks.decimals % 4
    if odd_decimals:
        odd_unit = np.uint64(10 ** (ticks.decimals - odd_decimals))
        odd = rest // odd_unit
        words.append(_table(f".{odd_decimals}")[odd.view(np.int64)])
        rest -= odd * odd_unit
    else:
        words.append(_word(b"."))
    four_digits = _table("4")
    for group in _groups(rest, ticks.decimals // 4):
        words.append(four_digits[group])
    return words


def _integers(values: npt.NDArray[np.uint64]) -> list[Any]:
    """Whole numbers without leading zeros."""
    most_digits = len(str(int(values.max())))
    group_count = -(-most_digits // 4)
    groups = _groups(values, group_count)
    four_digits = _table("4")
    words: list[Any] = []
    begun: Bools | None = None  # rows that have written a digit; None before the first group
    for number, group in enumerate(groups, 1):
        is_last = number == group_count
        unpadded = _table("d" if is_last else "")  # of 0 the last group alone writes a digit
        has_digits = group > 0
        if begun is None:
            words.append(unpadded[group])
            begun = has_digits
        elif begun.all():
            words.append(four_digits[group])
        else:
            word = np.where(begun, four_digits[group], unpadded[group])
            words.append(word)
            begun = begun | has_digits
    return words


def _groups(values: npt.NDArray[np.uint64], count: int) -> list[Int64s]:
    """The last `count` groups of four digits, the highest first."""
    groups = []
    for number in range(count - 1, 0, -1):
        unit = np.uint64(10 ** (4 * number))
        group = values // unit
        values = values - group * unit
        groups.append(group.view(np.int64))
    if count:
        groups.append(values.view(np.int64))
    return groups
