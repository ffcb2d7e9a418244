"""PyTorch's memory snapshots, made from their schema: read without unpickling, held against what
the allocator did.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui import cli
from powertui.data import logdir
from powertui.data.formats import plain_pickle
from powertui.data.formats import registry as formats
from powertui.data.formats.pickle_runs import DictRuns
from powertui.data.formats.plain_pickle import PlainPickle
from powertui.data.formats.snapshot_records import SnapshotRecords
from powertui.data.formats.source import CHUNK
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import UnreadableFile
from tests.synthetic.torch_snapshot import Allocator, snapshot

_FROM_PROFILE = Path(__file__).parents[2] / "data/torch/torch_profile_snapshot.pickle"


def _written(folder: Path, content: Any, protocol: int = 4) -> Path:
    path = folder / "no name that says anything"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def _allocator(count: int = 300, device: int = 0) -> Allocator:
    allocator = Allocator(device, seed=device)
    allocator.run(count)
    return allocator


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_level_is_what_the_allocator_had(tmp_path: Path, protocol: int) -> None:
    allocator = _allocator()
    trace = formats.read(_written(tmp_path, snapshot(allocator), protocol))
    assert trace.format == "torch_snapshot"
    (log,) = trace.allocators
    zero_us = allocator.events[0]["time_us"]
    truth = dict(allocator.levels)
    ours = {
        at_ps // 10**6 + zero_us: level
        for at_ps, level in zip(log.times.tolist(), log.allocated.tolist(), strict=True)
    }
    assert ours == truth
    assert {counter.name for counter in trace.counters} == {"allocated GPU 0", "reserved GPU 0"}
    assert log.reserved[-1] == sum(segment["total_size"] for segment in allocator.listed())


def test_a_full_ring_of_events_changes_no_level(tmp_path: Path) -> None:
    allocator = _allocator()
    whole = formats.read(_written(tmp_path, snapshot(allocator))).allocators[0]
    log = formats.read(_written(tmp_path, snapshot(allocator, kept=12))).allocators[0]
    before = int((log.order < 0).sum())
    assert before > 0, "blocks of the snapshot that no event allocated"
    count = len(log) - before
    assert log.allocated[before:].tolist() == whole.allocated[-count:].tolist()
    assert log.reserved[before:].tolist() == whole.reserved[-count:].tolist()


def test_the_page_shows_lines_of_the_user_and_segments(tmp_path: Path) -> None:
    allocator = _allocator()
    run = powertui.open(_written(tmp_path, snapshot(allocator)))[0]
    result = registry.get("memory_profile").answer(Question(run.opened))
    peak = result["peak"]
    assert set(peak["op"].values) == {
        "train.py:31 loss",
        "model.py:12 forward",
        "adam.py:160 _init_group",
        "CUDACachingAllocator.cpp:0 malloc(int)",
    }
    most = max(level for _, level in allocator.levels)
    assert peak["total_bytes"].values.sum() == most
    assert len(result["segments"]) == allocator.segments
    place = result["events"].place(3)
    assert place is not None
    assert place.event is not None
    assert place.track is not None


def test_the_doctor_knows_what_a_snapshot_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(tmp_path, snapshot(_allocator()))
    assert cli.main(["doctor", str(path)]) == 0
    told = capsys.readouterr().out
    assert "a snapshot of a device's memory: it holds allocations, and no steps" in told
    assert "CPU-only" not in told


def test_running_out_of_memory_is_told(tmp_path: Path) -> None:
    allocator = _allocator(5)
    allocator.event("oom", 0, 3 << 30, "loss", device_free=1 << 30)
    trace = formats.read(_written(tmp_path, snapshot(allocator)))
    (warning,) = trace.warnings
    assert warning.cause.endswith("3.221 GB were asked for, 1.074 GB were free (train.py:31 loss)")


class _Call:
    def __init__(self, target: Any, *args: Any) -> None:
        self._answer = (target, args)

    def __reduce__(self) -> Any:
        return self._answer


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "made"
    content = {"segments": [_Call(os.mkdir, str(victim))], "device_traces": []}
    with pytest.raises(UnreadableFile, match=r"would import posix.mkdir .*: it was not run"):
        formats.read(_written(tmp_path, content, protocol))
    assert not victim.exists()


def test_other_pickles_are_named_and_cut_ones_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="is a Python pickle, but not a memory snapshot"):
        formats.read(_written(tmp_path, {"weights": [1, 2]}))
    with pytest.raises(UnreadableFile, match="plain data, but not a memory snapshot"):
        formats.read(_written(tmp_path, {"segments": 5}))
    path = _written(tmp_path, snapshot(_allocator()))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableFile, match="is cut off at byte"):
        formats.read(path)


def test_a_small_pickle_cannot_take_much_memory(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    path.write_bytes(b"\x80\x04}\x8c\x08segments" + b"]" * 5_000_000 + b".")
    with pytest.raises(UnreadableFile, match=r"many times its size|more values in one container"):
        formats.read(path)


def test_a_list_that_holds_the_events_twice_counts_them_once(tmp_path: Path) -> None:
    content = snapshot(_allocator(50))
    content["device_traces"] = content["device_traces"] * 500
    trace = formats.read(_written(tmp_path, content))
    assert len(trace.allocators) == 1
    assert np.isfinite(trace.allocators[0].allocated).all()


@pytest.mark.parametrize("timed", [True, False])
def test_a_snapshot_without_stacks_takes_at_most_four_times_its_size(
    tmp_path: Path, timed: bool
) -> None:
    """Addresses that come again and sizes below 2³¹ make the shortest records that there are."""
    events = [
        {
            "action": "free_completed" if row % 2 else "alloc",
            "addr": (1 << 40) + 512 * (row // 2 % 5000),
            "size": 512 + 512 * (row // 2 % 1000),
            "stream": 0,
            **({"time_us": 1_700_000_000_000_000 + row} if timed else {}),
        }
        for row in range(40_000)
    ]
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}))
    # What is imported and made once.
    few = tmp_path / "few.pickle"
    few.write_bytes(pickle.dumps({"segments": [], "device_traces": [events[:10]]}))
    formats.read(few)
    tracemalloc.start()
    try:
        trace = formats.read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert trace.event_count == len(events)
    # Beside that it is read through a window, which this small one fills twice.
    assert peak - 2 * CHUNK < 4 * path.stat().st_size


def test_an_event_has_its_bytes_and_address(tmp_path: Path) -> None:
    first, second = _allocator(40), _allocator(30, device=1)
    trace = formats.read(_written(tmp_path, snapshot(first, second)))
    checked = 0
    for allocator, process in zip((first, second), trace.processes, strict=True):
        wanted = {"allocations": "alloc", "frees": "free_completed", "segments": "segment_alloc"}
        for track in process.tracks:
            if track.name not in wanted:
                continue
            listed = [e for e in allocator.events if e["action"] == wanted[track.name]]
            assert len(track.events) == len(listed)
            for row, event in enumerate(listed):
                position = track.events.position_of(row)
                stats = {s.name: s.value for s in process.source.event_stats(position)}
                assert stats["bytes"] == event["size"]
                assert stats["address"] == hex(event["addr"])
                checked += 1
    assert checked > 60


def _columns(data: bytes, chunk: int) -> list[Any]:
    """What is known of a snapshot that comes in chunks of so many bytes."""
    records = SnapshotRecords("snapshot")
    chunks = (data[at : at + chunk] for at in range(0, len(data), chunk))
    top = records.machine.load(chunks)
    known = vars(records).copy()
    for unlike in ("machine", "_no_stack", "_frame_numbers", "_stack_numbers"):
        known.pop(unlike)
    return [
        known,
        list(records.segment_rows(top)),
        [rows.tolist() for rows in records.event_rows(top)],
    ]


def _without_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DictRuns, "run_at", lambda *_: None)


@pytest.mark.parametrize("stacks", [True, False])
def test_records_read_at_once_are_what_their_opcodes_give(
    monkeypatch: pytest.MonkeyPatch, *, stacks: bool
) -> None:
    content = snapshot(_allocator(), _allocator(device=1))
    if not stacks:
        for event in itertools.chain.from_iterable(content["device_traces"]):
            event["frames"] = []
    data = pickle.dumps(content, 4)
    at_once = {chunk: _columns(data, chunk) for chunk in (11, 1000, len(data))}
    _without_runs(monkeypatch)
    one_by_one = _columns(data, len(data))
    assert len(one_by_one[0]["action"]) > 500
    assert all(columns == one_by_one for columns in at_once.values())


def test_records_without_stacks_take_few_opcodes(monkeypatch: pytest.MonkeyPatch) -> None:
    content = snapshot(_allocator(2000))
    for event in content["device_traces"][0]:
        event["frames"] = []
    data = pickle.dumps(content, 4)
    closed = []
    set_items = PlainPickle._set_items
    counted = [
        (lambda machine: (closed.append(1), set_items(machine))[1])
        if action is set_items
        else action
        for action in plain_pickle._ACTIONS
    ]
    monkeypatch.setattr(plain_pickle, "_ACTIONS", counted)
    events = len(_columns(data, CHUNK)[0]["action"])
    assert events > 2000
    assert len(closed) < events // 4


def test_a_snapshot_that_pytorch_made_from_a_profile_of_the_cpu_is_read_as_it_is() -> None:
    """Recorded with PyTorch 2.14: no times, frames without files, blocks without addresses, what
    each allocation is for, and the host behind the devices.
    """
    content = pickle.loads(_FROM_PROFILE.read_bytes())
    (events,) = content["device_traces"]
    in_use = sum(
        block["size"]
        for segment in content["segments"]
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    )
    changes = {"alloc": 1, "free_completed": -1, "free_requested": 0}
    deltas = [changes[event["action"]] * event["size"] for event in events]
    levels = [in_use - sum(deltas[at + 1 :]) for at, delta in enumerate(deltas) if delta]

    run = powertui.open(_FROM_PROFILE)[0]
    (log,) = run.opened.profiles[0].trace.allocators
    before = int((log.order < 0).sum())
    assert log.allocator == "CPU"
    assert log.allocated[before:].tolist() == levels
    assert set(log.allocated[:before].tolist()) == {levels[0] - deltas[0]}
    regions = {log.words.text(number) for number in log.words.region[before:].tolist()}
    assert regions - {""} == {event["category"] for event in events if "category" in event} - {
        "unknown"
    }
    result = registry.get("memory_profile").answer(Question(run.opened))
    assert "train.py:9 step" in result["peak"]["op"].values
    assert not any("0x" in op or "none:" in op for op in result["peak"]["op"].values)
    assert result.notes[0] == (
        "The snapshot has no times: its events are drawn one µs apart, in their order."
    )


def test_blocks_of_older_snapshots_follow_each_other(tmp_path: Path) -> None:
    allocator = _allocator()
    content = snapshot(allocator, kept=12)
    with_addresses = formats.read(_written(tmp_path, content)).allocators[0]
    for segment in content["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block.pop("address") == at
            at += block["size"]
    log = formats.read(_written(tmp_path, content)).allocators[0]
    assert log.address.tolist() == with_addresses.address.tolist()
    assert log.allocated.tolist() == with_addresses.allocated.tolist()


def test_snapshots_in_a_folder_are_runs_and_other_pickles_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    _written(folder, snapshot(_allocator(40))).rename(folder / "rank0.pickle")
    (folder / "data.pkl").write_bytes(pickle.dumps({"images": [1, 2]}))
    found = logdir.scan(folder)
    assert [file.path for run in found.runs for file in run.profiles] == [
        str(folder / "rank0.pickle")
    ]
    assert not found.unread
