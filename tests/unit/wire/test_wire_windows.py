"""Whatever the size of the window: the same answers as with the whole file in memory, from either
decoder.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from powertui.data import wire
from powertui.data.formats import registry
from powertui.data.model import Trace
from powertui.data.wire import windows
from powertui.data.wire.stored import Stored, changed
from powertui.errors import FileChanged

JAX = "logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"


def narrow(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    for name in ("WINDOW", "_OUTLINE", "_GAP", "_RECORD"):
        monkeypatch.setattr(windows, name, width)


def in_memory(content: bytes) -> Stored:
    return Stored("memory", memory=content)


def open_file(path: Path) -> Stored:
    with path.open("rb") as file:
        return Stored(str(path), file=file.fileno())


def same(left: wire.Hop, right: wire.Hop) -> bool:
    columns = zip(left[:5], right[:5], strict=True)
    return all(np.array_equal(a, b) for a, b in columns) and left[5:] == right[5:]


@pytest.mark.parametrize("width", [32, 33, 100, 4096, 1 << 20])
@pytest.mark.parametrize("skip", [0, 3, 4])
def test_a_message_is_hopped_over_alike(
    data: Path, monkeypatch: pytest.MonkeyPatch, width: int, skip: int
) -> None:
    narrow(monkeypatch, width)
    content = (data / JAX).read_bytes()[:60_000]
    whole = np.frombuffer(content, np.uint8)
    expected = wire.hop(whole, 0, len(whole), skip)
    found = windows.hop(in_memory(content), 0, len(content), skip)
    assert same(found.hop, expected)
    for lo, hi in zip(*expected.ranges(1), strict=True):
        plane = wire.hop(whole, int(lo), int(hi), skip)
        outline = windows.hop(in_memory(content), int(lo), int(hi), skip)
        assert same(outline.hop, plane)
        assert (
            sum(wire.hop(whole, *stretch, skip).skipped for stretch in outline.stretches)
            == plane.skipped
        )
        assert all(
            wire.hop(whole, *stretch, skip).bad < 0 or plane.bad >= 0
            for stretch in outline.stretches
        )


@pytest.mark.parametrize("seed", range(200))
def test_damage_ends_a_message_at_the_same_byte(
    data: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    narrow(monkeypatch, rng.choice([24, 64, 1000]))
    content = bytearray((data / JAX).read_bytes()[: rng.randrange(1, 20_000)])
    for _ in range(rng.randrange(4)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    whole = np.frombuffer(bytes(content), np.uint8)
    lo = rng.randrange(len(content))
    for skip in (0, 1, 4):
        for at in (0, lo):
            expected = wire.hop(whole, at, len(whole), skip)
            assert same(
                windows.hop(in_memory(bytes(content)), at, len(content), skip).hop, expected
            )


def answers(trace: Trace) -> list[object]:
    """Everything that a trace can be asked for."""
    out: list[object] = [
        trace.span,
        trace.event_count,
        [trace.names.full(i) for i in range(len(trace.names))],
    ]
    out += [trace.names.stats(i) for i in range(len(trace.names))]
    for process, track in trace.tracks():
        events = track.events
        out += [
            process.name,
            process.stats,
            track.name,
            events.start.tolist(),
            events.duration.tolist(),
            events.name.tolist(),
        ]
        out += [process.source.event_stats(int(position)) for position in events.position.tolist()]
        backwards = events.position[::-1]
        for position in (
            events.position,
            backwards,
            backwards[::7],
            np.append(events.position, np.uint64((1 << 64) - 1)),
        ):
            for column in process.source.columns(
                position, ("group_id", "step_name", "run_id", "long_name", "kernel_details")
            ).values():
                out += [
                    column.present.tolist(),
                    column.ints.tolist(),
                    repr(column.floats.tolist()),
                    column.texts,
                ]
    return out


@pytest.mark.parametrize("width", [32, 1000])
def test_a_profile_is_read_alike(data: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    expected = answers(registry.read(data / JAX))
    narrow(monkeypatch, width)
    assert answers(registry.read(data / JAX)) == expected


def test_a_large_payload_that_nobody_asks_for_is_not_read(tmp_path: Path) -> None:
    large = 64 << 20
    path = tmp_path / "holes"
    with path.open("wb") as file:
        length = bytes(large >> 7 * k & 0x7F | (0x80 if k < 3 else 0) for k in range(4))
        file.write(b"\x12\x02hi\x1a" + length)
        file.seek(large, os.SEEK_CUR)
        file.write(b"\x12\x03you")
    stored = open_file(path)
    before = read_so_far()
    found = windows.hop(stored, 0, stored.size).hop
    assert read_so_far() - before < 4 * windows.WINDOW
    assert found.number.tolist() == [2, 3, 2]
    assert found.payload(3) == (9, 9 + large)
    assert found.bad == -1


def read_so_far() -> int:
    """Bytes that this process has read."""
    return int(
        next(
            line
            for line in Path("/proc/self/io").read_text().splitlines()
            if line.startswith("rchar")
        ).split()[1]
    )


def test_a_file_that_is_cut_is_an_error_not_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    stored = open_file(path)
    assert not changed(str(path), stored.stamp)
    stored.check()
    os.truncate(path, 5000)
    assert len(stored.read(0, 5000)) == 5000
    with pytest.raises(FileChanged, match="changed since it was opened"):
        stored.read(0, 5001)
    with pytest.raises(FileChanged):
        stored.check()
    assert changed(str(path), stored.stamp)


def test_a_file_that_is_replaced_or_deleted_can_still_be_read(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"before")
    other.write_bytes(b"behind")
    stored = open_file(path)
    other.replace(path)
    assert stored.read(0, 6).tobytes() == b"before"
    assert changed(str(path), stored.stamp)
    path.unlink()
    assert changed(str(path), stored.stamp)
    assert stored.read(2, 6).tobytes() == b"fore"


def test_a_descriptor_is_closed_with_its_owner(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))
    kept = [open_file(tmp_path / "file") for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before + 20
    kept.clear()
    assert len(os.listdir("/proc/self/fd")) == before
