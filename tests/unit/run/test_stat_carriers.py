"""Which events of a line carry a stat is decoded once, whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.formats.xplane_stats import PlaneStats
from powertui.data.model import StatColumn, UInt64s
from powertui.data.opened import Opened
from powertui.data.tools import breakdown, typed_events
from powertui.data.tools.event_types import EventType
from tests.synthetic.xplane import Event, Line, Plane, encode

MS = 10**9
LAUNCHES = 400


def _profile(folder: Path, launches: Sequence[Event]) -> Opened:
    kernels = [
        Event("k", at * MS + MS // 2, MS // 4, {"correlation_id": at}) for at in range(LAUNCHES)
    ]
    marks = [
        Event("train", step * 100 * MS, 99 * MS, {"step_num": step, "_r": 1}) for step in range(4)
    ]
    planes = [
        Plane("/device:GPU:0", [Line("Stream #7(Compute)", kernels, key=7)]),
        Plane("/host:CPU", [Line("python", marks), Line("launcher", launches, key=2)]),
    ]
    (folder / "a.xplane.pb").write_bytes(encode(planes, hosts=("a",)))
    return Opened(logdir.scan(folder).runs[0])


def test_correlation_ids_of_a_line_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the steps all of them; for the types of events it is known by then which have one."""
    decoded: list[int] = []
    decode = PlaneStats.columns

    def watched(
        stats: PlaneStats, positions: UInt64s, names: Sequence[str]
    ) -> dict[str, StatColumn]:
        columns = decode(stats, positions, names)
        if columns.get("correlation_id") is not None and "tf_op" not in names:  # no sample
            decoded.append(int(columns["correlation_id"].present.sum()))
        return columns

    monkeypatch.setattr(PlaneStats, "columns", watched)
    launches = [
        Event("cuLaunchKernel", at * MS, MS // 4, {"correlation_id": at}) for at in range(LAUNCHES)
    ]
    opened = _profile(tmp_path, launches)
    trace = opened.profiles[0].trace  # with its steps
    assert decoded.count(LAUNCHES) == 2, "once of the kernels, once of the calls"
    _, hosts = typed_events.typed_events(trace, "corrected")
    assert sum((line.types == EventType.HOST_PREPARE).sum() for line in hosts) == LAUNCHES
    assert decoded.count(LAUNCHES) == 2


def test_a_call_without_an_id_launches_nothing_though_its_name_does(tmp_path: Path) -> None:
    """Of a name that carries ids only every second event has one; the others compute."""
    launches = [
        Event("Custom", at * MS, MS // 4, {"correlation_id": at} if at % 2 else {})
        for at in range(LAUNCHES)
    ]
    opened = _profile(tmp_path, launches)
    typed = breakdown.step_breakdown(opened.profiles[0], "corrected")
    launch_ms = typed.category("kernel_launch").sum() / MS
    assert launch_ms == pytest.approx(LAUNCHES / 2 / 4, rel=0.2)
