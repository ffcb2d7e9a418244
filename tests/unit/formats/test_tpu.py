"""XPlanes of TPUs, made by hand with known answers: no step markers, ops that nest, copies on their
way, SparseCores.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.loading import load_run
from powertui.data.model import ProcessKind, TrackKind
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from tests import answers
from tests.synthetic.xplane import Event, Line, Plane, Value, encode

US = 10**6
STEPS = 6


def device(offset: int, length: int, category: str, **more: Value) -> dict[str, Value]:
    return {
        "device_offset_ps": offset,
        "device_duration_ps": length,
        "hlo_category": category,
        "program_id": 77,
        **more,
    }


def planes(late_ps: int = 0) -> list[Plane]:
    """Steps of 1 ms, of which a program takes 800 µs.

    `late_ps`: by how much a nested op seems to end behind the one around it.
    """
    modules, ops, on_the_way, host, sparse = [], [], [], [], []
    inner = 390 * US + late_ps if late_ps else 300 * US
    for step in range(STEPS):
        at = step * 1000 * US
        modules.append(
            Event("jit_train_step(77)", at, 800 * US, {"run_id": step + 1, "program_id": 77})
        )
        for name, offset, length, category in (
            ("%while.5 = while(...)", 0, 600 * US, "while"),
            ("%fusion.1 = fusion(...)", 10 * US, 200 * US, "convolution fusion"),
            ("%fusion.2 = fusion(...)", 210 * US, inner, "loop fusion"),
            ("%copy-done.7 = copy-done(...)", 600 * US + late_ps, 50 * US - late_ps, "copy-done"),
            ("%all-reduce.3 = all-reduce(...)", 650 * US, 150 * US, "all-reduce"),
        ):
            ops.append(Event(name, at + offset, length, device(at + offset, length, category)))
        on_the_way.append(
            Event("%copy-start.7 = copy-start(...)", at + 100 * US, 550 * US, {"program_id": 77})
        )
        host.append(Event("TpuExecute", at + US, 4 * US, {"run_id": step + 1}))
        sparse.append(Event("%sparse-gather.9", at + 300 * US, 100 * US))
    caps: dict[str, Value] = {
        "device_type_string": "TPU v6 Lite",
        "peak_teraflops_per_second": 918.0,
    }
    core = [
        Line("XLA Modules", modules, 2),
        Line("XLA Ops", ops, 3),
        Line("Async XLA Ops", on_the_way, 4),
        Line("XLA TraceMe", [Event("barrier-cores", 5 * US, US)], 5),
    ]
    beside = [
        Line("Sparse Core Modules", [Event("sc(1)", 300 * US, 100 * US)], 2),
        Line("Sparse Core Ops", sparse, 3),
    ]
    return [
        Plane("/host:CPU", [Line("main/1", host, 1)]),
        Plane("/device:TPU:0", core, caps),
        Plane("/device:TPU:0 SparseCore 0", beside),
    ]


def opened(folder: Path, late_ps: int = 0, name: str = "vm.xplane.pb") -> Opened:
    (folder / name).write_bytes(encode(planes(late_ps)))
    (entry,) = logdir.scan(folder).runs
    return Opened(entry, run=load_run(entry))


def test_lines_are_what_they_stand_for(tmp_path: Path) -> None:
    trace = opened(tmp_path).run.traces[0]
    told = {
        (process.name, track.name): (track.kind, track.derived) for process, track in trace.tracks()
    }
    core, sparse = "/device:TPU:0", "/device:TPU:0 SparseCore 0"
    assert told[core, "XLA Modules"] == (TrackKind.MODULES, True)
    assert told[core, "XLA Ops"] == (TrackKind.OPS, False)
    assert told[core, "Async XLA Ops"] == (TrackKind.OPS, True)  # on its way while other ops ran
    assert told[sparse, "Sparse Core Modules"] == (TrackKind.MODULES, True)
    assert told[sparse, "Sparse Core Ops"] == (TrackKind.OPS, False)
    assert [process.kind for process in trace.processes] == [
        ProcessKind.DEVICE,
        ProcessKind.DEVICE,
        ProcessKind.HOST,
    ]
    (ops,) = (track for _, track in trace.tracks() if track.name == "XLA Ops")
    assert len(ops.lanes) - 1 == 2  # the loop, and what runs in it


def test_steps_without_a_marker_are_the_programs(tmp_path: Path) -> None:
    run = opened(tmp_path).run
    steps = run.steps[0]
    assert len(steps) == STEPS
    assert "jit_train_step" in steps.source
    assert (steps.start // US).tolist() == [step * 1000 for step in range(STEPS)]
    assert {int(length) for length in steps.duration.tolist()} == {800 * US}


@pytest.mark.parametrize("late_ps", [0, 400])
def test_the_self_time_of_ops_that_nest(tmp_path: Path, late_ps: int) -> None:
    """Also where a nested op ends some ps behind the loop around it, as rounded offsets make it."""
    profile = opened(tmp_path, late_ps)
    rows = answers.rows(registry.get("op_stats").answer(Question(profile)).tables[0])
    own = {
        row["name"].split(" ")[0]: row["self_s"] for row in rows if row["device"] == "/device:TPU:0"
    }
    inner = 390 if late_ps else 300
    wanted = {
        "%while.5": 600 - 200 - inner,
        "%fusion.1": 200,
        "%fusion.2": inner,
        "%copy-done.7": 50,
        "%all-reduce.3": 150,
    }
    assert "%copy-start.7" not in own
    for name, us in wanted.items():
        assert own[name] == pytest.approx(STEPS * us * 1e-6, abs=1e-8), name


def test_a_core_is_busy_once_at_a_time(tmp_path: Path) -> None:
    streams = next(
        t
        for t in registry.get("kernel_stats").answer(Question(opened(tmp_path))).tables
        if t.id == "streams"
    )
    busy = {(row["device"], row["stream"]): row["busy_s"] for row in answers.rows(streams)}
    assert busy["/device:TPU:0", "XLA Ops"] == pytest.approx(STEPS * 800e-6)
    assert busy["/device:TPU:0 SparseCore 0", "Sparse Core Ops"] == pytest.approx(STEPS * 100e-6)
    assert ("/device:TPU:0", "Async XLA Ops") not in busy


def test_torch_xla_puts_its_marks_on_the_host(tmp_path: Path) -> None:
    """PyTorch/XLA's `xp.StepTrace` marks steps as TensorFlow does, and its own calls lie beside
    them.
    """
    made = planes()
    marks = [
        Event("train_loop", i * 1000 * US, 900 * US, {"step_num": i, "_r": 1}) for i in range(STEPS)
    ]
    calls = [
        Event("XLAGraphExecutor::SyncTensorsGraph", i * 1000 * US + 10 * US, 100 * US)
        for i in range(STEPS)
    ]
    every = sorted([*marks, *calls], key=lambda event: (event.start, -event.duration))
    (tmp_path / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", every, 1)]), *made[1:]])
    )
    run = load_run(logdir.scan(tmp_path).runs[0])
    assert run.steps[0].number.tolist() == list(range(STEPS))
    assert "step_num" in run.steps[0].source
