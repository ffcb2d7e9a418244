"""The benchmarks' large profile is what its docstring says: the recording, played over and over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.make_big import multiplied
from tests.unit.wire.wire_oracle import parsed

RECORDING = (
    Path(__file__).parents[2]
    / "data/logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"
)


def plain(event: Any, by: int) -> tuple[int, int, int, list[bytes]]:
    return (
        event.metadata_id,
        event.offset_ps + by,
        event.duration_ps,
        [stat.SerializeToString() for stat in event.stats],
    )


def test_copies_follow_each_other_with_moved_offsets() -> None:
    message = RECORDING.read_bytes()
    old = parsed("XSpace", message)
    count = sum(len(line.events) for plane in old.planes for line in plane.lines)
    new = parsed("XSpace", b"".join(multiplied(np.frombuffer(message, np.uint8), 3 * count + 200)))

    assert sum(len(line.events) for plane in new.planes for line in plane.lines) == 3 * count + 200
    steps = set()
    for old_plane, new_plane in zip(old.planes, new.planes, strict=True):
        for old_line, new_line in zip(old_plane.lines, new_plane.lines, strict=True):
            n = len(old_line.events)
            for copy in range(3):
                first = new_line.events[copy * n]
                by = first.offset_ps - old_line.events[0].offset_ps
                steps.add((copy, by))
                part = new_line.events[copy * n : copy * n + n]
                assert [plain(e, 0) for e in part] == [plain(e, by) for e in old_line.events]
            offsets = [event.offset_ps for event in new_line.events]
            assert offsets == sorted(offsets)
            del new_line.events[:], old_line.events[:]
        stops = [
            [s for s in p.stats if p.stat_metadata[s.metadata_id].name == "profile_stop_time"]
            for p in (old_plane, new_plane)
        ]
        for before, after in zip(*stops, strict=True):
            assert (
                1000 * (after.uint64_value - before.uint64_value)
                == max(by for _, by in steps) // 2 * 3
            )
            after.uint64_value = before.uint64_value
        assert old_plane == new_plane, "all but the events and the session's end is as recorded"
    assert len(steps) == 3, "every line moves by the same time"
    (_, none), (_, once), (_, twice) = sorted(steps)
    assert none == 0
    assert twice == 2 * once
    assert once > 0
