"""An opened file: plain, inflated or piped, and what it looks like when no reader can use it.

A plain file stays where it is and is read in pieces, never mapped (see `wire.stored`). A gzip file
is recognized by its magic, whatever its name is, and inflated in memory. A pipe ("-", a FIFO) is
read whole, because readers need to look twice. Nothing is written anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from powertui.data import elsewhere, limits
from powertui.data.formats import foreign
from powertui.data.formats.foreign import READABLE
from powertui.data.gzip_stream import MAX_EMPTY_MEMBERS, TOO_MANY_EMPTY, GzipStream
from powertui.data.limits import MACHINE, MemoryLimit
from powertui.data.model import Warn
from powertui.data.wire.stored import Stored
from powertui.errors import FileChanged, UnreadableFile
from powertui.opening import open_for_reading

HEAD = 65_536  # what sniffers see; the first plane of a JAX profile can begin with much HLO text
CHUNK = 1 << 20
_LOOK = limits.UNCHECKED_BYTES  # bytes unpacked between two looks at what is free

GZIP = b"\x1f\x8b"
_LFS = b"version https://git-lfs"
_BLANKS = b" \t\r\n"
_REPLACEMENT = b"\xef\xbf\xbd"  # U+FFFD, what a decoder writes for a byte that is no text

_ONLY_ZEROS = "contains only zero bytes: the disk was full, or the copy was interrupted"
_NOTHING_WRITTEN = "The program that wrote it had nothing to write. Profile again."
_PIPE_HINT = "Pipe a profile in: cat vm.xplane.pb | powertui report -"


class OpenedFile:
    """One opened file.

    `stored()` gives access to all its bytes, `chunks()` streams them; `head` is for sniffing.
    """

    def __init__(self, path: str, content: Stored, limit: MemoryLimit) -> None:
        self.path = path
        self.limit = limit  # of the memory that reading may take
        self.size = content.size  # bytes on disk, or that came through the pipe
        self.stamp = content.stamp
        self.done = 0  # how many of them stand behind the last chunk, for a progress bar
        self.warnings: list[Warn] = []
        self.content = content  # as it lies on disk, packed or not
        self._inflated: Stored | None = None
        self.head = content.read(0, min(HEAD, content.size)).tobytes()
        self.compressed = self.head[:2] == GZIP
        if self.compressed:
            inflater = _Inflater(content, HEAD, limit)
            self.head = b"".join(inflater.first())
            if not self.head:
                problem, hint = _why_unpacked_empty(inflater.problem)
                raise UnreadableFile(path, problem, hint=hint)

    def stored(self) -> Stored:
        """All bytes, inflated when they must be.

        Those of a plain file stay on the disk until they are asked for.
        """
        if not self.compressed:
            return self.content
        if self._inflated is None:
            out = bytearray()
            for piece in self.chunks():
                out += piece
                if len(out) % _LOOK < len(piece):  # what is free changes meanwhile
                    self.limit.check(self.path, len(out), "it unpacks to")
            problem = self.limit.unpacks_too_far(self.done, len(out))
            if problem:  # half of a protobuf would only be told as damaged
                raise UnreadableFile(self.path, problem.partition(":")[0], hint=limits.HINT)
            self._inflated = Stored(self.path, memory=out)
        return self._inflated

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """The bytes in order, a bounded piece at a time.

        They end where the file was cut meanwhile.
        """
        given = 0
        try:
            for piece in self._pieces(size):
                given += len(piece)
                yield piece
        except FileChanged as error:
            if not given:
                raise
            self._warn(f"it {error.problem}; what came before was read")

    def _pieces(self, size: int) -> Iterator[bytes]:
        if not self.compressed:
            for start in range(0, self.size, size):
                piece = self.content.read(start, min(start + size, self.size)).tobytes()
                self.done = start + len(piece)
                yield piece
            return
        inflater = _Inflater(self.content, size, self.limit)
        for piece in inflater:
            self.done = inflater.done
            yield piece
        if inflater.problem:
            self._warn(inflater.problem)

    def _warn(self, cause: str) -> None:
        if cause not in {w.cause for w in self.warnings}:
            self.warnings.append(Warn(self.path, "", cause))


def open_file(path: str | os.PathLike[str], limit: MemoryLimit = MACHINE) -> OpenedFile:
    """Open a file, a FIFO or standard input ("-").

    Raises `UnreadableFile` with what is wrong and what to do.
    """
    name = os.fspath(path)
    try:
        if name == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise UnreadableFile("-", "is a terminal, or closed", hint=_PIPE_HINT)
            return _open(name, sys.stdin.buffer, limit)
        elsewhere.at_hand(name)
        with open_for_reading(name) as file:
            elsewhere.hold(file.fileno(), name)
            return _open(name, file, limit)
    except OSError as error:
        raise _refused(name, error) from None


def _open(name: str, file: BinaryIO, limit: MemoryLimit) -> OpenedFile:
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        content = Stored(name, file=file.fileno())
        if not content.size:  # a file of /proc has no size, and some have no end
            content = Stored(name, memory=limits.read_all(file, name, limit))
    elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        content = Stored(name, memory=limits.read_all(file, name, limit))
    else:
        hint = _PIPE_HINT if name == "-" else "Name a profile, a run folder or a logdir."
        raise UnreadableFile(name, "is neither a file nor a pipe", hint=hint)
    if not content.size:
        raise UnreadableFile(name, "is empty (0 bytes)", hint=_empty_hint(name))
    source = OpenedFile(name, content, limit)
    if source.head.startswith(_LFS):
        raise UnreadableFile(
            name,
            "is a git-lfs pointer: the profile itself was never downloaded",
            hint=f"Fetch it: git lfs pull --include '*{Path(name).name}'",
        )
    return source


def _empty_hint(path: str) -> str:
    if path == "-":
        return "Nothing came through the pipe. Check the command before it."
    return "The profiler had nothing to write, or the copy failed. Copy it again, or profile again."


def _refused(path: str, error: OSError) -> UnreadableFile:
    if isinstance(error, IsADirectoryError):
        return UnreadableFile(
            path, "is a folder, not a profile", hint=f"See what is in it: powertui doctor {path}"
        )
    if isinstance(error, FileNotFoundError):
        return UnreadableFile(path, "no such file", hint="Check the name. It may also be a logdir.")
    if isinstance(error, PermissionError):
        return UnreadableFile(
            path, "cannot be opened: permission denied", hint=f"See who may read it: ls -l {path}"
        )
    if error.errno == errno.EAGAIN:
        return UnreadableFile(
            path,
            "never ends: it waits for more data",
            hint="Name a profile, a run folder or a logdir.",
        )
    if error.errno == errno.ETIMEDOUT:
        hint = "Check the program that writes to it, or the server that it is stored on."
        return UnreadableFile(path, f"cannot be read: {error.strerror}", hint=hint)
    return UnreadableFile(
        path,
        f"cannot be read: {error.strerror or error}",
        hint="Copy it to a local disk and try again.",
    )


class _Inflater:
    """Inflates gzip, member after member, in pieces of at most `size` bytes.

    A broken or torn stream ends the iteration and leaves its reason in `problem`. What came before
    is good.
    """

    def __init__(self, content: Stored, size: int, limit: MemoryLimit) -> None:
        self.limit = limit
        self.done = 0  # bytes of the compressed file that were consumed
        self.problem = ""
        self._content = content
        self._size = size

    def first(self) -> Iterator[bytes]:
        """One piece of exactly `size` bytes, or all there is: what a sniffer needs."""
        remaining = self._size
        for piece in self:
            yield piece[:remaining]
            remaining -= len(piece)
            if remaining <= 0:
                return

    def __iter__(self) -> Iterator[bytes]:
        packed = GzipStream(self._content.size, self._read)
        out = 0
        while not packed.ended:
            try:
                piece = packed.unpack(self._size)
            except zlib.error:
                self.problem = packed.loss(damaged=True)
                return
            self.done = packed.done
            out += len(piece)
            if piece:
                yield piece
            self.problem = packed.problem or self.limit.unpacks_too_far(self.done, out)
            if self.problem:
                return
        self.problem = packed.loss()

    def _read(self, lo: int, hi: int) -> bytes:
        return self._content.read(lo, hi).tobytes()


def _why_unpacked_empty(problem: str) -> tuple[str, str]:
    """Why a gzip file unpacks to nothing, and what to do."""
    if problem == TOO_MANY_EMPTY:
        return (
            (
                f"is empty as far as it was read: its first {MAX_EMPTY_MEMBERS:,} gzip members "
                "contain nothing"
            ),
            _NOTHING_WRITTEN,
        )
    if problem:
        return problem.removesuffix("; what came before it was read").removesuffix(
            "; what is there was read"
        ), "Copy it again."
    return "is empty: it unpacks to 0 bytes", _NOTHING_WRITTEN


def refuse_filler(source: OpenedFile) -> None:
    """Raise `UnreadableFile` for a file that begins with 64 KiB of blanks or zero bytes, or
    contains nothing else.
    """
    filler, what = (
        (_BLANKS, "blanks") if source.head[:1].strip(_BLANKS) == b"" else (b"\0", "zero bytes")
    )
    if (
        source.head.strip(filler) or source.head == b"\n"
    ):  # which is also how a profile begins that was cut after a byte
        return
    reach = 0
    for piece in source.chunks():
        content = piece.lstrip(filler)
        reach += len(piece) - len(content)
        if content:
            raise UnreadableFile(
                source.path,
                f"begins with {reach:,} {what}, which no profile does",
                hint=(
                    "Copy the original again. If it begins the same way, the program that wrote "
                    "it is at fault."
                ),
            )
    if source.warnings:  # it could not be read to its end
        raise UnreadableFile(
            source.path,
            f"begins with {reach:,} {what}; {source.warnings[0].cause}",
            hint="Copy it again.",
        )
    if filler == _BLANKS:
        raise UnreadableFile(
            source.path, "is empty: it contains only spaces and line breaks", hint=_NOTHING_WRITTEN
        )
    raise UnreadableFile(source.path, _ONLY_ZEROS, hint="Copy it again.")


def looks_mangled(head: bytes) -> bool:
    """True for binary data that some tool decoded and encoded as UTF-8: every odd byte became
    U+FFFD.

    Such bytes are valid text throughout, which protobuf with a few numbers above 127 never is.
    """
    if head.count(_REPLACEMENT) < 4:
        return False
    # the head may end inside a character
    valid = any(_is_utf8(head[: len(head) - cut]) for cut in range(4))
    return valid and any(byte < 9 for byte in head[:4096])


MANGLED = "was decoded as text in transit (bytes became U+FFFD, EF BF BD), so its numbers are lost"
MANGLED_HINT = (
    "Copy the original again as binary: scp, rsync, or git with '*.pb binary' in .gitattributes."
)


def describe(head: bytes, path: str) -> tuple[str, str]:
    """What a file that no reader takes looks like, and what to do: (problem, hint)."""
    foreign_file = foreign.named(head, path)
    if foreign_file is not None:
        return foreign_file
    if looks_mangled(head):
        return MANGLED, MANGLED_HINT
    if head and not head.strip(b"\0"):
        return _ONLY_ZEROS, "Copy it again."
    text = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    lower = text[:512].lower()
    if lower.startswith((b"<!doctype html", b"<html")):
        return "is a web page, not a profile", "Download the file itself."
    if text[:1] in (b"{", b"["):
        return _describe_json(head)
    if len(head) > 12 and head[8:12] and _is_tfevents(head):
        return (
            "is a tfevents file: scalars, no timeline",
            "Give the folder that holds it: powertui report DIR",
        )
    if _is_text(head):
        return (
            "is text in no format that powertui reads",
            "If it is a power log, give it with --power.",
        )
    folder = Path(path).parent if path != "-" else "DIR"
    return (
        f"is not a profile that powertui reads (it begins {head[:8].hex(' ')})",
        f"powertui reads {READABLE}. See what is there: powertui doctor {folder}",
    )


def _describe_json(head: bytes) -> tuple[str, str]:
    if any(
        key in head
        for key in (
            b'"deviceProperties"',
            b'"schemaVersion"',
            b'"cpu_op"',
            b'"Operator"',
            b'"torch',
        )
    ):
        return (
            "is a PyTorch trace without any events",
            (
                "Profile between prof.start() and prof.stop(), with at least one step, and copy "
                "the file again."
            ),
        )
    if b'"memoryProfilePerAllocator"' in head:
        return (
            "is TensorBoard's stored memory profile: a result, no timeline",
            "Give the xplane.pb or trace.json.gz beside it.",
        )
    if b'"traceEvents"' in head:
        return "is a trace without any events", "Copy it again and compare the sizes."
    return "is JSON without a traceEvents list", f"powertui reads {READABLE}."


def _is_tfevents(head: bytes) -> bool:
    # length u64, crc u32, then an Event whose first field is the wall time (tag 09, fixed64)
    return int.from_bytes(head[:8], "little") < 1 << 24 and head[12:13] == b"\x09"


def _is_text(head: bytes) -> bool:
    sample = head[:2048]
    if any(byte < 32 and byte not in b"\t\r\n\f" for byte in sample):
        return False
    return any(_is_utf8(sample[: len(sample) - cut]) for cut in range(4))


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode()
    except UnicodeDecodeError:
        return False
    return bool(sample)
