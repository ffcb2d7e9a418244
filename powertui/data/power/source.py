"""A power log as bytes, read once: gzip by magic, any of the encodings that loggers leave
behind.
"""

from __future__ import annotations

import re
import stat
import sys
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from powertui.data import elsewhere, limits
from powertui.data.gzip_stream import MAX_EMPTY_MEMBERS, GzipStream
from powertui.data.limits import MACHINE, MemoryLimit
from powertui.errors import UnreadableFile
from powertui.opening import open_for_reading

_HEAD = 65536  # what sniffing may look at
_MADE_OF_BYTE = (
    8  # bytes of memory that each byte of a log takes at most: itself, as text, as columns
)

_UTF16_PROBE_BYTES = 200  # whose zeros show UTF-16 without a mark; chosen, not measured
_MIN_UTF16_BYTES = 16
_GZIP = b"\x1f\x8b"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)  # PowerShell's `>` writes UTF-16
_EMPTY_HINT = "The program that recorded it had nothing to write. Record it again."
SQLITE = b"SQLite format 3\x00"


class LogFile:
    """One file.

    `head` is cheap; `pieces` reads it once through; `data` and `text` read it whole and keep it.
    """

    def __init__(self, path: str, limit: MemoryLimit = MACHINE) -> None:
        self.path = path
        self.limit = limit
        self.loss = ""  # what of a packed file could not be unpacked; set while it is read

    @classmethod
    def of_text(cls, whole: LogFile, text: str) -> LogFile:
        """A part of a log as a log of its own."""
        part = cls(whole.path, whole.limit)
        data = text.encode()
        part.__dict__.update(_size=len(data), _raw=data, data=data, _raw_head=data[:_HEAD])
        return part

    @cached_property
    def _size(self) -> int | None:
        """Bytes of a plain file; None for a pipe, which can be read only once.

        Nothing else holds a log.
        """
        if self.path == "-":
            return None
        status = Path(self.path).stat()
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(
            status.st_mode
        ):  # opening a folder says what it is
            return status.st_size
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            return None
        raise UnreadableFile(
            self.path, "is neither a file nor a pipe", hint="Name the CSV, text or database file."
        )

    @cached_property
    def _raw_head(self) -> bytes:
        try:
            if self._size is None:
                return self._raw[:_HEAD]
            if (mirrored := elsewhere.head(self.path, _HEAD)) is not None:
                return mirrored
            with open_for_reading(self.path) as stream:
                return stream.read(_HEAD)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def check(self) -> None:
        """Raise `UnreadableFile` when the file is too large to be read here."""
        try:
            self.limit.check(self.path, _MADE_OF_BYTE * (self._size or 0))
        except OSError as error:
            raise _unreadable(self.path, error) from None

    @cached_property
    def _raw(self) -> bytes:
        self.check()
        try:
            if self.path == "-":
                return limits.read_all(sys.stdin.buffer, self.path, self.limit, times=_MADE_OF_BYTE)
            elsewhere.at_hand(self.path)
            with open_for_reading(self.path) as stream:
                if self._size:
                    return stream.read()
                return limits.read_all(stream, self.path, self.limit, times=_MADE_OF_BYTE)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked."""
        head = self._raw_head
        if not head.startswith(_GZIP):
            return head
        try:
            return zlib.decompressobj(31).decompress(head, _HEAD)
        except zlib.error:
            return b""

    @cached_property
    def data(self) -> bytes:
        """The whole file, unpacked.

        A gzip stream that was cut gives what was left before the cut.
        """
        raw = self._raw
        if not raw.startswith(_GZIP):
            return raw
        return b"".join(self._unpacking(raw))

    def _unpacking(self, raw: bytes) -> Iterator[bytes]:
        packed = GzipStream(len(raw), lambda lo, hi: raw[lo:hi])
        size = 0
        checked = 0
        damaged = False
        try:
            while not packed.ended:
                piece = packed.unpack(limits.PIECE)
                size += len(piece)
                if size - checked > limits.UNCHECKED_BYTES:  # what is free changes meanwhile
                    self.limit.check(self.path, _MADE_OF_BYTE * size, "it unpacks to")
                    checked = size
                if problem := self.limit.unpacks_too_far(packed.done, size):
                    raise UnreadableFile(self.path, problem.partition(":")[0], hint=limits.HINT)
                yield piece
        except zlib.error:
            damaged = True  # what was unpacked before the damage is still good
        self.loss = packed.loss(damaged=damaged)
        self.limit.check(self.path, _MADE_OF_BYTE * size, "it unpacks to")
        if not size and not damaged and not packed.cut:
            why = "is empty: it unpacks to 0 bytes"
            if packed.problem:
                why = (
                    f"is empty as far as it was read: its first {MAX_EMPTY_MEMBERS:,} gzip "
                    "members contain nothing"
                )
            raise UnreadableFile(self.path, why, hint=_EMPTY_HINT)
        if not size:
            raise UnreadableFile(
                self.path,
                "is a damaged gzip file",
                hint="Copy it again from where it was recorded.",
            )

    def pieces(self, size: int) -> Iterator[bytes]:
        """The file as UTF-8 without a mark, in pieces of whole lines of about that many bytes:
        nothing of it is kept.
        """
        rest = b""
        for number, more in enumerate(self._stored(size)):
            piece = rest + more
            if not number:
                piece = piece.removeprefix(_MARKS[0][0])
            end = piece.rfind(b"\n") + 1
            rest = piece[end:]
            if end:
                yield piece[:end]
        if rest:
            yield rest

    def _stored(self, size: int) -> Iterator[bytes]:
        """What the file holds, as it comes."""
        if (
            "data" in self.__dict__
            or self._size is None
            or self._raw_head[:2] in (b"\xff\xfe", b"\xfe\xff")
            or _utf16_without_mark(self._raw_head)
        ):
            data = self.utf8
            yield from (data[at : at + size] for at in range(0, len(data), size))
        elif self._raw_head.startswith(_GZIP):
            gathered, length = [], 0
            for piece in self._unpacking(self._raw):
                gathered.append(piece)
                length += len(piece)
                if length >= size:
                    yield b"".join(gathered)
                    gathered, length = [], 0
            yield b"".join(gathered)
        else:
            self.check()
            elsewhere.at_hand(self.path)
            try:
                with open_for_reading(self.path) as stream:
                    while piece := stream.read(size):
                        yield piece
            except OSError as error:
                raise _unreadable(self.path, error) from None

    def longer_than(self, size: int) -> bool:
        """Whether it holds at least so many bytes, unpacked."""
        if "data" in self.__dict__ or self._size is None:
            return len(self.data) >= size
        if not self._raw_head.startswith(_GZIP):
            return self._size >= size
        length = 0
        for piece in self._unpacking(self._raw):
            length += len(piece)
            if length >= size:
                return True
        return False

    @cached_property
    def head_text(self) -> str:
        """The head as text, without a line that the head's own end cuts."""
        text = _decode(self.head)
        if len(self.head) >= _HEAD or len(self._raw_head) == elsewhere.HEAD_BYTES:
            text = text[: text.rfind("\n") + 1]
        return text

    @cached_property
    def text(self) -> str:
        """The whole file as text, with \\n between lines."""
        return _decode(self.data)

    @cached_property
    def utf8(self) -> bytes:
        """The whole file as UTF-8 without a mark: what a CSV parser takes."""
        data = self.data
        if data.startswith(_MARKS[0][0]):
            return data[3:]
        is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff") or _utf16_without_mark(data)
        return self.text.encode() if is_utf16 else data


def _decode(data: bytes) -> str:
    """Text of a log.

    Bytes that are no UTF-8 become marks, never an error: only names can hold them.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lines(data.decode(encoding, "replace"))
    return _lines(data.decode(_utf16_without_mark(data) or "utf-8", "replace"))


def _utf16_without_mark(data: bytes) -> str:
    """The order of the bytes of UTF-16 without a mark, as its zeros show; "" of anything else."""
    head = data[:_UTF16_PROBE_BYTES]
    if len(head) < _MIN_UTF16_BYTES or b"\x00" not in head:
        return ""
    for encoding, zeros, letters in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if not zeros.strip(b"\x00") and b"\x00" not in letters:
            return encoding
    return ""


def _lines(text: str) -> str:
    if "\x1b[" in text:  # colors of a screen that was recorded
        text = re.sub(r"\x1b\[[0-9;?]{0,30}[A-Za-z]", "", text)
    if "\r" in text:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _unreadable(path: str, error: OSError) -> UnreadableFile:
    if isinstance(error, FileNotFoundError):
        return UnreadableFile(path, "no such file", hint="Check the path after --power.")
    if isinstance(error, IsADirectoryError):
        return UnreadableFile(
            path,
            "is a folder, not a power log",
            hint="Name the CSV, text or database file inside it.",
        )
    hint = f"See who may read it: ls -l {path}" if isinstance(error, PermissionError) else ""
    return UnreadableFile(path, f"cannot be read ({error.strerror or error})", hint=hint)
