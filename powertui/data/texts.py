"""Many short texts end to end in one array of bytes: looked through, compared and sorted without a
step of Python for each.

Names of events are UTF-8. Where one of a batch is not ASCII, the batch is taken apart into Python's
own texts: rare, and exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from powertui.data.model import Bools, Int64s, Names, Stat, UInt8s, UInt64s
from powertui.value_types import dataclass

# names looked at together: what they take stays in the processor's cache, and a person who gave up
# is heard soon
BATCH = 4096

_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[ord("A") : ord("Z") + 1] += 32

CancelCheck = Callable[[], None]
"""Called now and then by what takes long; raises `Cancelled` when nobody waits for it any more."""


def unhindered() -> None:
    """A check that never stops anything."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Text i is data[start[i]:start[i + 1]]."""

    data: UInt8s
    start: Int64s

    @classmethod
    def from_strings(cls, texts: Sequence[str]) -> Texts:
        """Python's texts as bytes."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data = np.frombuffer(b"".join(encoded), np.uint8)
        return cls(data, _starts(sizes))

    @classmethod
    def gathered(cls, data: UInt8s, lo: Int64s, hi: Int64s) -> Texts:
        """Those that lie apart in a file, brought together."""
        sizes = np.maximum(hi - lo, 0)
        start = _starts(sizes)
        moved_by = lo - start[:-1]
        at = np.repeat(moved_by, sizes)
        at += np.arange(len(at))
        return cls(data[at], start)

    @classmethod
    def joined(cls, pieces: Sequence[Texts]) -> Texts:
        """All of them, one piece after the other."""
        # An empty one of each leads, so that nothing at all can be joined, too.
        data = [np.empty(0, np.uint8)]
        sizes = [np.empty(0, np.int64)]
        for piece in pieces:
            data.append(piece.data)
            sizes.append(np.diff(piece.start))
        return cls(np.concatenate(data), _starts(np.concatenate(sizes)))

    def take(self, rows: Int64s) -> Texts:
        """Some of them, in this order."""
        return Texts.gathered(self.data, self.start[rows], self.start[rows + 1])

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def ascii(self) -> bool:
        return not len(self.data) or int(self.data.max()) < 0x80

    def lower(self) -> Texts:
        """With small letters instead of A to Z."""
        return Texts(_LOWER[self.data], self.start)

    def strings(self) -> list[str]:
        """As Python's texts."""
        raw = self.data.tobytes()
        ends = self.start.tolist()
        if self.ascii:
            text = raw.decode("ascii")
            return [text[lo:hi] for lo, hi in pairwise(ends)]
        return [raw[lo:hi].decode("utf-8", "replace") for lo, hi in pairwise(ends)]

    def contain(self, part: bytes) -> Bools:
        """Which hold these bytes."""
        out = np.zeros(len(self), np.bool_)
        size = len(part)
        if not size:
            return ~out
        room = len(self.data) - size + 1
        if room <= 0:
            return out
        is_there = self.data[:room] == part[0]
        for offset in range(1, size):
            is_there &= self.data[offset : offset + room] == part[offset]
        places = np.flatnonzero(is_there)
        which = self.start.searchsorted(places, side="right") - 1
        # A match that runs on into the next text is none.
        text_end = self.start[which + 1]
        is_inside = places + size <= text_end
        out[which[is_inside]] = True
        return out

    def among(self, chosen: Collection[str]) -> Bools:
        """Which are one of these texts."""
        out = np.zeros(len(self), np.bool_)
        texts = {text.encode() for text in chosen}
        # Only those of the same length are taken out of the array and compared.
        lengths = [len(text) for text in texts]
        has_length = np.isin(np.diff(self.start), lengths)
        for row in np.flatnonzero(has_length).tolist():
            lo = self.start[row]
            hi = self.start[row + 1]
            out[row] = self.data[lo:hi].tobytes() in texts
        return out

    def match(self, pattern: re.Pattern[str]) -> Bools:
        """In which the pattern is found."""
        matches = map(pattern.search, self.strings())
        return np.fromiter((match is not None for match in matches), np.bool_, len(self))

    def begin(self, prefix: bytes) -> Bools:
        """Which begin with these bytes."""
        sizes = self.start[1:] - self.start[:-1]
        out: Bools = sizes >= len(prefix)
        for offset, byte in enumerate(prefix):
            candidates = np.flatnonzero(out)
            if not len(candidates):
                break
            places = self.start[candidates] + offset
            differs = self.data[places] != byte
            out[candidates[differs]] = False
        return out

    def any_begins(self, prefixes: Iterable[bytes]) -> bool:
        """Whether one of them begins with one of these bytes."""
        # Most prefixes are nowhere in the bytes, which is seen at once for all texts together.
        joined = self.data.tobytes()
        return any(prefix in joined and self.begin(prefix).any() for prefix in prefixes)

    def cut(self, size: int) -> Texts:
        """At most so many bytes of each."""
        if not len(self) or int(np.diff(self.start).max()) <= size:
            return self
        lo = self.start[:-1]
        hi = np.minimum(self.start[1:], lo + size)
        return Texts.gathered(self.data, lo, hi)

    def marks(self) -> UInt64s:
        """A number for each that equal texts share.

        Others may share it too: whoever must know compares the texts.
        """
        sizes = np.diff(self.start)
        word_counts = -(-sizes // 8)
        end = np.cumsum(word_counts)
        first = end - word_counts
        # Which word of its text each is, counted from 0.
        words = np.arange(int(word_counts.sum()))
        turn = words - np.repeat(first, word_counts)
        rows = np.repeat(np.arange(len(self)), word_counts)
        word = self._words(rows, 8 * turn)
        # Each word is mixed with an odd number of its turn (steps of the golden ratio, so that no
        # two are alike), or words in another order would come to the same sum.
        word ^= word >> np.uint64(31)
        double_turn = turn.astype(np.uint64) << np.uint64(1)
        word *= double_turn * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD6E8FEB86659FD93)
        word ^= word >> np.uint64(29)
        total = np.zeros(len(word) + 1, np.uint64)
        np.cumsum(word, out=total[1:])
        sum_of_words = total[end] - total[first]
        marks: UInt64s = sum_of_words + sizes.astype(np.uint64)
        return marks

    def _words(self, rows: Int64s, at: Int64s | int) -> UInt64s:
        """Eight bytes of each of these texts from byte `at` on, as numbers that sort as the bytes
        do; zeros behind the end.
        """
        byte_count = len(self.data)
        padded = np.concatenate((self.data, np.zeros(8, np.uint8)))
        # A view of the eight bytes from each byte on: big-endian, so that it sorts as the bytes do.
        every = np.ndarray(
            shape=(byte_count + 1,),
            dtype=">u8",
            buffer=padded,
            offset=0,
            strides=(1,),
        )
        place = self.start[rows] + at
        remaining = self.start[rows + 1] - place
        size = np.clip(remaining, 0, 8)
        place = np.minimum(place, byte_count)
        word: UInt64s = every[place].astype(np.uint64)
        # A shift by 64 bits has no defined result: words without a byte are cleared by hand.
        bytes_behind = np.minimum(8 - size, 7)
        bits_behind = (8 * bytes_behind).astype(np.uint64)
        word >>= bits_behind
        word <<= bits_behind
        word[size == 0] = 0
        return word

    def ranks(self, groups: Int64s | None = None, check: CancelCheck = unhindered) -> Int64s:
        """Where each stands when sorted group by group (numbers that ascend), in each by its bytes.

        Equal ones stand together.
        """
        count = len(self)
        # At each place in the order: whether another text begins here.
        is_new = np.zeros(count, np.bool_)
        is_new[:1] = True
        if groups is None:
            order = np.arange(count)
        else:
            order = np.argsort(groups, kind="stable")
            is_new[1:] = np.diff(groups[order]) != 0
        sizes = np.diff(self.start)
        place = np.arange(count)  # what is still tied
        compared = 0  # bytes of these
        while True:
            rows = order[place]
            tie = np.cumsum(is_new[place]) - 1
            is_several = np.bincount(tie) > 1
            is_longer = np.zeros(len(is_several), np.bool_)
            has_more_bytes = sizes[rows] > compared
            is_longer[tie[has_more_bytes]] = True
            goes_on = (is_several & is_longer)[tie]
            place = place[goes_on]
            rows = rows[goes_on]
            tie = tie[goes_on]
            if not len(rows):
                break
            check()
            word = self._words(rows, compared)
            sort = np.lexsort((word, tie))
            order[place] = rows[sort]
            word = word[sort]
            is_new[place[1:]] |= word[1:] != word[:-1]
            compared += 8
        ranks = np.empty(count, np.int64)
        ranks[order] = np.cumsum(is_new) - 1
        return ranks


def _starts(sizes: Int64s) -> Int64s:
    start = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    return start


def batches(
    names: Names,
    indices: Int64s,
    check: CancelCheck = unhindered,
) -> Iterator[tuple[slice, Texts, Texts]]:
    """(which of the indices, their full names, their own short ones where they have one), a batch
    at a time.
    """
    for at in range(0, len(indices), BATCH):
        check()
        some = indices[at : at + BATCH]
        yield slice(at, at + len(some)), names.texts(some), names.texts(some, display=True)


def displayed(names: Names, indices: Int64s, check: CancelCheck = unhindered) -> Texts:
    """These names as viewers show them."""
    pieces = []
    for _, full, display in batches(names, indices, check):
        if not len(display.data):  # none of the batch has a short name
            pieces.append(full)
            continue
        count = len(full)
        has_short_name = np.diff(display.start) > 0
        # In the two joined a short name comes `count` rows after its full one.
        further = np.where(has_short_name, count, 0)
        rows = np.arange(count) + further
        both = Texts.joined((full, display))
        pieces.append(both.take(rows))
    return Texts.joined(pieces)


def matching(
    names: Names,
    test: Callable[[Texts], Bools],
    indices: Int64s | None = None,
    check: CancelCheck = unhindered,
) -> Bools:
    """Which of these names (all by default) pass, by their full name or by the one that is
    displayed.
    """
    chosen = np.arange(len(names)) if indices is None else indices
    out = np.zeros(len(chosen), np.bool_)
    for rows, full, display in batches(names, chosen, check):
        out[rows] = test(full)
        if len(display.data):
            shown = np.flatnonzero(np.diff(display.start))
            out[rows][shown] |= test(display)[shown]
    return out


def holding(part: str, *, fold: bool) -> Callable[[Texts], Bools]:
    """A test: whether a name holds this text; with `fold` in any case."""
    pattern = re.compile(re.escape(part), re.IGNORECASE if fold else 0)
    if fold and part.isascii():
        needle = part.lower().encode()
    else:
        needle = part.encode("utf-8", "replace")

    def test(texts: Texts) -> Bools:
        # Only of ASCII do the bytes say which letters are the same in another case.
        if not part.isascii() or not texts.ascii:
            return texts.match(pattern)
        if fold:
            texts = texts.lower()
        return texts.contain(needle)

    return test


class NoNames:
    """The names of a trace without events (model.Names)."""

    def __len__(self) -> int:
        return 0

    def full(self, index: int) -> str:
        raise IndexError(index)

    display = full

    def stats(self, index: int) -> tuple[Stat, ...]:
        raise IndexError(index)

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """None."""
        return Texts.from_strings(())
