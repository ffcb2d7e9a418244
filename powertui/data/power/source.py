"""A power log as bytes, read once: gzip by magic, any of the encodings that loggers leave behind."""

from __future__ import annotations

import sys
import zlib
from functools import cached_property
from pathlib import Path

from powertui.errors import UnreadableFile

HEAD = 65536  # what sniffing may look at
LIMIT = 4 << 30  # a power log beyond this is something else (or a bomb)

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # PowerShell's `>` writes UTF-16
SQLITE = b"SQLite format 3\x00"


class Source:
    """One file. `head` is cheap; `data` and `text` read it whole, once."""

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def _raw_head(self) -> bytes:
        try:
            if self.path == "-" or not Path(self.path).is_file():  # a pipe can be read only once
                return self._raw[:HEAD]
            with Path(self.path).open("rb") as stream:
                return stream.read(HEAD)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    @cached_property
    def _raw(self) -> bytes:
        try:
            if self.path == "-":
                return sys.stdin.buffer.read()
            return Path(self.path).read_bytes()
        except OSError as error:
            raise _unreadable(self.path, error) from None

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked."""
        head = self._raw_head
        if not head.startswith(b"\x1f\x8b"):
            return head
        try:
            return zlib.decompressobj(31).decompress(head, HEAD)
        except zlib.error:
            return b""

    @cached_property
    def data(self) -> bytes:
        """The whole file, unpacked. A gzip stream that was cut gives what was left before the cut."""
        raw = self._raw
        if not raw.startswith(b"\x1f\x8b"):
            return raw
        parts: list[bytes] = []
        size = 0
        try:
            while raw.startswith(b"\x1f\x8b"):  # a gzip file may hold several, one after the other
                unpack = zlib.decompressobj(31)
                while raw and not unpack.eof:
                    piece = unpack.decompress(raw, 1 << 20)
                    raw = unpack.unconsumed_tail
                    parts.append(piece)
                    size += len(piece)
                    if size > LIMIT:
                        raise UnreadableFile(self.path, "unpacks to more than 4 GiB: this is no power log")
                raw = unpack.unused_data
        except zlib.error:
            pass  # what was unpacked before the damage is still good
        if not size:
            raise UnreadableFile(self.path, "is a damaged gzip file", hint="Copy it again from where it was recorded.")
        return b"".join(parts)

    @cached_property
    def head_text(self) -> str:
        """The head as text, without a line that the head's own end cuts."""
        text = decode(self.head)
        if len(self.head) >= HEAD:
            text = text[: text.rfind("\n") + 1]
        return text

    @cached_property
    def text(self) -> str:
        """The whole file as text, with \\n between lines."""
        return decode(self.data)

    @cached_property
    def utf8(self) -> bytes:
        """The whole file as UTF-8 without a mark: what a CSV parser takes."""
        data = self.data
        if data.startswith(_MARKS[0][0]):
            return data[3:]
        return self.text.encode() if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data


def decode(data: bytes) -> str:
    """Text of a log. Bytes that are no UTF-8 become marks, never an error: only names can hold them."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lines(data.decode(encoding, "replace"))
    return _lines(data.decode("utf-8", "replace"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unreadable(path: str, error: OSError) -> UnreadableFile:
    if isinstance(error, FileNotFoundError):
        return UnreadableFile(path, "there is no such file", hint="Look at the path that follows --power.")
    if isinstance(error, IsADirectoryError):
        return UnreadableFile(path, "is a folder, not a power log", hint="Name the CSV, text or database file inside it.")
    return UnreadableFile(path, f"cannot be read ({error.strerror or error})")
