"""What can happen to a file: bytes lost, flipped and put in, fields spliced, numbers swapped,
nesting without end, wrong encodings.

Each mutation knows a little of the format, so that the damage gets behind the first check: lengths
of the messages around a changed field are mended, and so are the checksums of a record.
"""

from __future__ import annotations

import gzip
import random
import re
import struct
import zlib
from collections.abc import Callable, Sequence

from tests.fuzz.seeds import Seed
from tests.synthetic.tfevents import frame, masked_crc
from tests.synthetic.xplane import varint

Mutation = Callable[[bytes, random.Random, Sequence[Seed]], bytes]

NUMBERS = (
    0,
    1,
    -1,
    127,
    128,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53 + 1,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
TEXTS = (
    b"0",
    b"-0",
    b"-1",
    b"1e308",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"nan",
    b"inf",
    b"-inf",
    b"NaN",
    b"Infinity",
    b"",
    b"null",
    b"true",
    b"1,5",
    b"1.5.5",
    b"0x10",
    b"1_000",
    "٣".encode(),
    b"99999999999999999999",
    b"9" * 400,
    b"9" * 5000,
    b"[N/A]",
    b"ERR!",
    b"\xff\xfe",
    b"\x00",
    b'"',
    b'""',
    b"'",
    b"=1+1",
    b"12:61:61",
    b"0001-01-01 00:00:00",
    b"9999-12-31 23:59:59",
    b"2024-02-30",
    b"24:00:00",
    b"253402300800",
    b"-62135596801",
    b"1e18",
    b"{}",
    b"[]",
    b"\xe2\x80\xae",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"-",
)
_TOKEN = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────


def cut(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def flip(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        if out:
            out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def lose(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 7, 100, 4096)) :]


def put(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    at = chance.randrange(len(data) + 1)
    what = chance.choice(
        (
            b"\x00" * 9,
            b"\xff" * 12,
            b"\x80" * 11,
            chance.randbytes(40),
            chance.choice(TEXTS),
            b"\n" * 200,
            b"," * 3000,
        )
    )
    return data[:at] + what + data[at:]


def again(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """A stretch several times, or all of it after itself."""
    lo = chance.randrange(len(data) + 1)
    hi = min(len(data), lo + chance.choice((1, 16, 300, 5000)))
    return chance.choice(
        (data + data, data[:hi] + data[lo:hi] * chance.choice((1, 3, 40)) + data[hi:])
    )


def splice(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    other = chance.choice(others).data
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def swap(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    a, b, c = sorted(chance.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


BYTES: tuple[Mutation, ...] = (cut, flip, lose, put, again, splice, swap)


# ── protobuf ─────────────────────────────────────────────────────────────────────────────────────


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    return 0, -1


def fields(data: bytes) -> list[tuple[int, bytes]] | None:
    """(tag, the bytes of its value without a length) of each field; None when this is no
    message.
    """
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if at < 0 or not tag >> 3:
            return None
        wire, start = tag & 7, at
        if wire == 0:
            _, at = _read_varint(data, at)
        elif wire == 2:
            size, start = _read_varint(data, at)
            at = start + size if start >= 0 else -1
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            return None
        if at < 0 or at > len(data):
            return None
        found.append((tag, data[start:at]))
    return found


def encode(found: Sequence[tuple[int, bytes]]) -> bytes:
    return b"".join(
        varint(tag) + (varint(len(value)) if tag & 7 == 2 else b"") + value for tag, value in found
    )


def field(data: bytes, chance: random.Random, others: Sequence[Seed], depth: int = 0) -> bytes:
    """One field somewhere in the tree of messages: another value, lost, twice, moved, under another
    number.
    """
    found = fields(data)
    if not found:
        return flip(data, chance, others)
    at = chance.randrange(len(found))
    tag, value = found[at]
    if tag & 7 == 2 and depth < 6 and chance.random() < 0.8 and fields(value):
        found[at] = (tag, field(value, chance, others, depth + 1))
        return encode(found)
    what = chance.randrange(8)
    if what == 0:
        del found[at]
    elif what == 1:
        found[at:at] = [found[at]] * chance.choice((1, 2, 50))
    elif what == 2:
        found.insert(chance.randrange(len(found)), found.pop(at))
    elif what == 3:
        found[at] = (
            chance.choice((tag ^ 1, tag & ~7, tag | 2, tag + 8, 8, 18, 34, (1 << 29) - 1 << 3)),
            value,
        )
    elif what == 4 and tag & 7 == 0:
        found[at] = (
            tag,
            chance.choice((b"\xff" * 9 + b"\x7f", b"\x80" * 9 + b"\x00", b"\x80" * 3 + b"\x00")),
        )  # too long
    elif tag & 7 == 0:
        found[at] = (tag, varint(chance.choice((*NUMBERS, chance.getrandbits(64)))))
    elif tag & 7 == 2:
        found[at] = (
            tag,
            chance.choice(
                (b"", b"\xff\xfe", chance.choice(TEXTS), value * 2, value[:-1], encode(found[:3]))
            ),
        )
    else:
        found[at] = (
            tag,
            struct.pack(
                "<d", chance.choice((0.0, -1.0, 1e308, float("nan"), float("inf"), 5e-324))
            )[: len(value)],
        )
    return encode(found)


# ── records with checksums ───────────────────────────────────────────────────────────────────────


def records(data: bytes) -> list[bytes]:
    """The payloads of TFRecords."""
    found, at = [], 0
    while at + 16 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if size > len(data) - at - 16:
            break
        found.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return found


def record(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """One record's message changed, or its place in the file; every checksum is right."""
    found = records(data)
    if not found:
        return flip(data, chance, others)
    at = chance.randrange(len(found))
    what = chance.randrange(6)
    if what < 3:
        for _ in range(chance.choice((1, 1, 4))):
            found[at] = field(found[at], chance, others)
    elif what == 3:
        found[at] = chance.choice(
            (b"", flip(found[at], chance, others), cut(found[at], chance, others))
        )
    elif what == 4:
        found.insert(chance.randrange(len(found)), found.pop(at))
    else:
        size = struct.pack(
            "<Q", chance.choice(NUMBERS[3:]) & (2**64 - 1)
        )  # a length whose checksum is right
        return (
            b"".join(map(frame, found[:at]))
            + size
            + struct.pack("<I", masked_crc(size))
            + b"".join(map(frame, found[at:]))
        )
    return b"".join(map(frame, found))


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def token(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """Numbers of a text, exchanged for what no one expects there."""
    found = list(_TOKEN.finditer(data))
    for match in sorted(
        chance.sample(found, min(len(found), chance.choice((1, 1, 3, 20)))),
        key=lambda m: -m.start(),
    ):
        new = (
            chance.choice(TEXTS)
            if chance.random() < 0.7
            else found[chance.randrange(len(found))][0]
        )
        data = data[: match.start()] + new + data[match.end() :]
    return data


def nested(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """Brackets without end where a value was, closed or not."""
    found = list(_TOKEN.finditer(data))
    depth = chance.choice((50, 1200, 100_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    new = opening * depth + b"1" + closing * chance.choice((depth, 0))
    if not found:
        return new + data
    match = chance.choice(found)
    return data[: match.start()] + new + data[match.end() :]


def line(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """Lines and cells: lost, twice, in another order, of other length."""
    end = b"\n"
    found = data.split(end)
    at = chance.randrange(len(found))
    what = chance.randrange(6)
    if what == 0:
        del found[at]
    elif what == 1:
        found[at:at] = [found[at]] * chance.choice((1, 300))
    elif what == 2:
        chance.shuffle(found)
    elif what == 3:
        found[at] = found[at][: chance.randrange(len(found[at]) + 1)]
    elif what == 4:
        mark = chance.choice((b",", b";", b"\t", b"|", b" "))
        cells = found[at].split(mark)
        chance.shuffle(cells)
        found[at] = mark.join(cells * chance.choice((1, 1, 2, 200)))
    else:
        found[at] = chance.choice((b"", b"#", b'"', b"\x00", found[0], b"x" * 70_000, b"1," * 3000))
    return end.join(found)


def encoding(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """The same text as other tools save it, or as they break it."""
    text = data.decode("utf-8", "replace")
    which = chance.randrange(9)
    if which == 0:
        return b"\xff\xfe" + text.encode("utf-16-le", "replace")
    if which == 1:
        return b"\xfe\xff" + text.encode("utf-16-be", "replace")[: chance.choice((-1, None))]
    if which == 2:
        return b"\xef\xbb\xbf" + data
    if which == 3:
        return text.encode("latin-1", "replace")
    if which == 4:
        return text.encode("utf-32", "replace")
    if which == 5:
        return data.replace(b"\r\n", b"\n").replace(
            b"\n", chance.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\xe2\x80\xa8"))
        )
    if which == 6:
        return text.encode("utf-16-le", "replace")
    if which == 7:
        return data.decode("latin-1").encode()  # UTF-8 twice, or binary as text
    return data.replace(b",", chance.choice((b";", b"\t", b" ", b"|", b", ")))


TEXT: tuple[Mutation, ...] = (token, token, token, nested, line, line, encoding)


# ── packed ───────────────────────────────────────────────────────────────────────────────────────


def packed(data: bytes, chance: random.Random, others: Sequence[Seed]) -> bytes:
    """As gzip: whole, damaged, twice, in members, with something behind."""
    whole = gzip.compress(data, 1, mtime=0)
    which = chance.randrange(12)
    if which == 0:
        return whole
    if which == 1:
        return flip(whole, chance, others)
    if which == 2:
        return cut(whole, chance, others)
    if which == 3:
        return gzip.compress(whole, 1, mtime=0)
    if which == 4:
        half = len(data) // 2
        return gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0)
    if which == 5:
        return whole + chance.choice((b"\x00" * 512, b"\x1f\x8b", whole[:20], b"rest"))
    zeros = zlib.compressobj(9, wbits=31)  # 16 MB of one byte, behind what was there
    return (
        whole
        + zeros.compress(chance.choice((b"\x00", b"\n", b"[", b"1")) * (16 << 20))
        + zeros.flush()
    )


# ── all ──────────────────────────────────────────────────────────────────────────────────────────


def mutant(seed: Seed, others: Sequence[Seed], chance: random.Random) -> bytes:
    """The file with one to four things happened to it."""
    data = seed.data
    was_packed = data.startswith(b"\x1f\x8b")
    if was_packed:
        data = gzip.decompress(data)
    if seed.kind == "tfevents":
        known: tuple[Mutation, ...] = (record, record, record)
    elif ".xplane.pb" in seed.name:
        known = (field, field, field)
    elif seed.name.endswith(".db"):
        known = (flip, put)
    else:
        known = TEXT
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(known if chance.random() < 0.7 else BYTES)(data, chance, others)[
            : 4 << 20
        ]
    if was_packed or chance.random() < 0.03:
        return packed(data, chance, others)
    return data
