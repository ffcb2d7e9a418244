"""Damaged, cut, packed and mangled power logs: either something is read, or a sentence says why
not. Never anything else.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.gzip_stream import GzipStream
from powertui.data.power import registry
from powertui.errors import PowertuiError
from tests.worked_out_once import digest_of

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLES = [
    path
    for name in ("power", "power_tools")
    for path in sorted((DATA / name).iterdir())
    if path.suffix != ".md"
]


def read(path: Path, followed: set[bytes] | None = None) -> None:
    """Everything that follows on a file, as the program would do it; but once for each series that
    damage elsewhere in the file left as it was, as `followed` says.
    """
    try:
        log = registry.load(str(path))
    except PowertuiError:
        return
    for series in log.series:
        digest = digest_of(series)
        if followed is not None and digest is not None:
            if digest in followed:
                continue
            followed.add(digest)
        described = sensor.describe(series)
        assert sensor.sentence(described)
        assert (np.diff(described.times) > 0).all()
        assert not np.isinf(described.watts).any()
        integrate.of_series(described)


@pytest.mark.parametrize("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_damage(sample: Path, tmp_path: Path) -> None:
    whole = sample.read_bytes()
    rng = random.Random(sample.name)
    target = tmp_path / sample.name
    followed: set[bytes] = set()
    for trial in range(60 if sample.parent.name == "power" else 24):
        data = bytearray(whole)
        if trial % 3 == 0:
            data = data[: rng.randrange(len(data))]
        for _ in range(rng.randrange(1, 12) if trial % 3 else 0):
            at = rng.randrange(len(data) + 1) - 1
            if at < 0:
                break
            if trial % 3 == 1:
                data[at] = rng.randrange(256)
            else:
                data[at : at + rng.randrange(40)] = bytes(
                    rng.choice(
                        (b"", b"\n", b",,,", b'"', b"\x00", b"1e999", b"nan", b"-", b"{", b"\xff")
                    )
                )
        target.write_bytes(bytes(data))
        read(target, followed)


@pytest.mark.parametrize(
    "name",
    [
        "powerboard.csv",
        "nvidia_smi_two_gpus.csv",
        "recording.csv",
        "prometheus_matrix.json",
        "ipmi_dcmi_utc.txt",
    ],
)
def test_packed_and_recoded(data: Path, tmp_path: Path, name: str) -> None:
    plain = registry.load(str(data / "power" / name))
    text = (data / "power" / name).read_bytes()
    for kind, body in [
        ("gz", gzip.compress(text)),
        ("utf16", b"\xff\xfe" + text.decode().encode("utf-16-le")),
        ("bom", b"\xef\xbb\xbf" + text),
        ("crlf", text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    ]:
        path = tmp_path / f"{kind}-{name}"
        path.write_bytes(body)
        found = registry.load(str(path))
        assert [(s.sensor.name, s.watts.tolist()) for s in found.series] == [
            (s.sensor.name, s.watts.tolist()) for s in plain.series
        ] or (
            str([s.watts.tolist() for s in found.series])
            == str([s.watts.tolist() for s in plain.series])  # NaN
        )


def unpacked(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """How much of the packed bytes was used, and what came out, piece by piece."""
    stream = GzipStream(len(raw), lambda begin, end: raw[begin:end])
    while not stream.ended:
        piece = stream.unpack(1 << 20)
        yield stream.done, piece


def test_how_much_of_a_gzip_was_unpacked_is_never_more_than_there_is() -> None:
    """It is what tells a file that unpacks a thousand times from one that is only long."""
    packed = gzip.compress(bytes(5 << 20)) + gzip.compress(b"1,2\n" * 400_000)
    places = [(at, len(piece)) for at, piece in unpacked(packed)]
    assert sum(size for _, size in places) == (5 << 20) + 1_600_000
    assert all(at <= len(packed) for at, _ in places)
    assert max(at for at, _ in places) > len(packed) - 100
    assert [at for at, _ in places] == sorted(at for at, _ in places)


def test_what_belongs_to_the_next_member_of_a_gzip_is_not_yet_unpacked() -> None:
    one, two = gzip.compress(b"1,2\n" * 100), gzip.compress(b"3,4\n" * 100)
    assert [at for at, piece in unpacked(one + two) if piece] == [len(one), len(one + two)]


def test_a_cut_gzip_gives_what_came_before_the_cut(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress((data / "power" / "powerboard.csv").read_bytes())[:-60])
    assert 10 < len(registry.load(str(path)).series[0]) < 50


@pytest.mark.parametrize(
    ("tail", "rows", "cut"),
    [
        ("1700000012,252\n", 13, False),
        ("1700000012,252", 13, False),  # written by an editor: whole, only without a line end
        ("1700000012,25", 12, True),
        ("1700000012,", 12, True),
        ("17000000", 12, True),
        ("1700000012,2", 12, True),
    ],
)
def test_the_last_line_of_a_file_that_grows(
    tmp_path: Path, tail: str, rows: int, cut: bool
) -> None:
    path = tmp_path / "grows.csv"
    path.write_text(
        "time,watts\n" + "".join(f"{1700000000 + i},{250 + i % 4}\n" for i in range(12)) + tail
    )
    log = registry.load(str(path))
    assert len(log.series[0]) == rows
    assert bool(log.warnings) == cut
    assert not (log.series[0].watts < 250).any()


def test_a_pipe_is_read_once(data: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = (data / "power" / "powerboard.csv").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    try:
        assert len(registry.load(str(pipe)).series[0]) == 50
    finally:
        writer.join()


def test_a_file_that_grows_is_read_again_and_again(data: Path, tmp_path: Path) -> None:
    text = (data / "power" / "recording.csv").read_text()
    path = tmp_path / "recording.csv"
    before = 0
    for end in range(text.index("1709287201"), len(text), 97):
        path.write_text(text[:end])
        rows = sum(len(series) for series in registry.load(str(path)).series)
        assert rows >= before
        before = rows


@pytest.mark.parametrize("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_number_that_cannot_be(sample: Path, tmp_path: Path) -> None:
    """Any number of any log, exchanged for one that no sensor and no clock gives.

    A warning of numpy is an error here.
    """
    whole = sample.read_bytes()
    numbers = list(re.finditer(rb"\d+(?:\.\d+)?", whole))
    target = tmp_path / sample.name
    followed: set[bytes] = set()
    for new in (b"1e308", b"-1e308", b"1e400", b"9" * 25, b"9" * 400, b"4300000000", b"2299-12-31"):
        for match in numbers[
            :: max(1, len(numbers) // (25 if sample.parent.name == "power" else 12))
        ]:
            target.write_bytes(whole[: match.start()] + new + whole[match.end() :])
            read(target, followed)


@pytest.mark.parametrize(
    "text",
    [
        '{"host": {"consumption": 3e7, "timestamp": 1.7e9}, "consumers": [], "sockets": 7}',
        (
            '{"host": {"consumption": 3e7, "timestamp": 1.7e9}, "consumers": [],'
            ' "sockets": [{"id": 0, "consumption": 2e7, "domains": 1.5}]}'
        ),
        '{"ip": "10.0.0.7", "meters": 5, "emeters": [{"power": 12.5, "total": 3}]}',
    ],
    ids=["sockets", "domains", "meters"],
)
def test_a_number_where_a_list_belongs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text)
    read(path)
