from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from powertui.data import limits
from powertui.data.formats import source
from powertui.data.formats.source import describe, looks_mangled, open_file
from powertui.errors import UnreadableFile

CONTENT = bytes(range(256)) * 40_000  # 10 MB: more than one piece


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(CONTENT)
    return path


def packed(tmp_path: Path, content: bytes, name: str = "a.pb") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def whole(opened: source.OpenedFile) -> bytes:
    stored = opened.stored()
    return stored.read(0, stored.size).tobytes()


def test_a_plain_file_stays_where_it_is(plain: Path) -> None:
    opened = open_file(plain)
    assert str(plain) not in Path("/proc/self/maps").read_text()
    assert opened.stored() is opened.stored()
    assert opened.size == len(CONTENT)
    assert opened.head == CONTENT[: source.HEAD]
    assert whole(opened) == CONTENT


def test_chunks_are_bounded_and_complete(plain: Path, tmp_path: Path) -> None:
    for path in (plain, packed(tmp_path, gzip.compress(CONTENT, 1))):
        pieces = list(open_file(path).chunks(100_000))
        assert b"".join(pieces) == CONTENT
        assert max(len(p) for p in pieces) <= 100_000


def test_gzip_is_known_by_its_magic_whatever_the_name(tmp_path: Path) -> None:
    opened = open_file(packed(tmp_path, gzip.compress(CONTENT, 1), "plain-name.pb"))
    assert opened.compressed
    assert whole(opened) == CONTENT
    assert opened.head == CONTENT[: source.HEAD]
    assert not opened.warnings


def test_gzip_members_follow_each_other_and_padding_is_ignored(tmp_path: Path) -> None:
    content = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512
    opened = open_file(packed(tmp_path, content))
    assert whole(opened) == b"one two"
    assert not opened.warnings


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_torn_gzip_gives_what_is_there_and_says_so(tmp_path: Path, cut: float) -> None:
    packed_whole = gzip.compress(os.urandom(300_000), 1)
    opened = open_file(packed(tmp_path, packed_whole[: int(len(packed_whole) * cut)]))
    first = whole(opened)
    assert gzip.decompress(packed_whole).startswith(first)
    assert len(first) > 300_000 * cut * 0.8
    assert [("truncated" in w.cause) for w in opened.warnings] == [True]


def test_a_damaged_gzip_gives_what_came_before(tmp_path: Path) -> None:
    damaged = bytearray(gzip.compress(CONTENT, 1))
    damaged[len(damaged) // 2 : len(damaged) // 2 + 64] = b"\xff" * 64
    opened = open_file(packed(tmp_path, bytes(damaged)))
    got = whole(opened)
    assert len(got) < len(CONTENT)
    assert len(opened.warnings) == 1
    assert whole(opened) == got
    list(opened.chunks())
    assert len(opened.warnings) == 1  # asked twice, said once


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RATIO_FROM", 1 << 20)
    path = packed(tmp_path, gzip.compress(b"\0" * (8 << 20)))
    opened = open_file(path)
    assert sum(len(piece) for piece in opened.chunks(1 << 16)) <= (1 << 20) + (1 << 16)
    assert "unpacks to more than 250 times its size" in opened.warnings[0].cause
    assert (
        sum(len(piece) for piece in open_file(path, limits.MemoryLimit.parse("1G")).chunks(1 << 16))
        == 8 << 20
    )


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write, b"hello"), os.close(write)))
    writer.start()
    with (
        os.fdopen(read, "rb") as pipe,
        io.TextIOWrapper(io.BufferedReader(io.FileIO(os.dup(pipe.fileno()))), "utf-8") as text,
    ):
        monkeypatch.setattr("sys.stdin", text)
        assert whole(open_file("-")) == b"hello"
    writer.join()


def test_a_redirected_file_is_read_where_it_lies(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with plain.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert open_file("-").size == len(CONTENT)


def test_a_terminal_or_nothing_as_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UnreadableFile, match="terminal"):
        open_file("-")


def test_a_fifo_is_read_like_a_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(b"through a pipe"))
    writer.start()
    assert whole(open_file(fifo)) == b"through a pipe"
    writer.join()


@pytest.mark.parametrize(
    ("content", "problem", "hint"),
    [
        (b"", "empty", "again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
            "git-lfs pointer",
            "git lfs pull",
        ),
    ],
)
def test_what_is_no_file_at_all_says_so(
    tmp_path: Path, content: bytes, problem: str, hint: str
) -> None:
    with pytest.raises(UnreadableFile, match=problem) as error:
        open_file(packed(tmp_path, content, "vm.xplane.pb"))
    assert hint in error.value.hint
    assert error.value.exit_code == 3


def test_folders_missing_files_and_devices_say_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="is a folder") as error:
        open_file(tmp_path)
    assert "powertui doctor" in error.value.hint
    with pytest.raises(UnreadableFile, match="no such file"):
        open_file(tmp_path / "nothing")
    with pytest.raises(UnreadableFile, match="neither a file nor a pipe"):
        open_file("/dev/zero")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_says_so(plain: Path) -> None:
    plain.chmod(0)
    with pytest.raises(UnreadableFile, match="permission denied"):
        open_file(plain)


def test_mangled_bytes_are_told_from_real_ones_and_from_text(data: Path) -> None:
    real = (
        data / "logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"
    ).read_bytes()
    mangled = real.decode("utf-8", "replace").encode()
    assert looks_mangled(mangled[:65536])
    assert looks_mangled(mangled[: 65536 + 1])  # a character cut in two
    assert not looks_mangled(real[:65536])
    assert not looks_mangled("a log with one odd � � � � � character".encode())


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"PK\x03\x04xxxx", "zip"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\n\n<html>", "web page"),
        (b"\0" * 100, "zero bytes"),
        (b'{"schemaVersion": 1, "deviceProperties": []', "PyTorch"),
        (b'{"memoryProfilePerAllocator":{}}', "memory profile"),
        (b'{"a": 1}', "JSON without"),
        (b"timestamp,watts\n1,2\n", "text"),
        (b"\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09xxxxxxxx", "tfevents"),
        (b"\x93\x01\x02\x03", "begins 93 01 02 03"),
    ],
)
def test_what_a_file_looks_like_is_said_with_something_to_do(head: bytes, what: str) -> None:
    problem, hint = describe(head, "somewhere/file")
    assert what in problem
    assert hint
