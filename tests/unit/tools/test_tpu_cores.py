"""Cores of a TPU whose steps are known: over all of them, how well they were used, and what follows
from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry, tpu_cores, utilisation
from powertui.data.tools.registry import Question
from tests import answers
from tests.synthetic.xplane import Event, Line, Plane, Value, encode

MS = 10**9
STEP = 100  # ms from one to the next


def core(
    number: int,
    ops: list[tuple[str, str, int, int]],
    steps: int = 4,
    length: int = 60,
    **caps: Value,
) -> Plane:
    """(name, category, start and end in ms of a step) of one core; the same in each step."""
    marks = [Event(str(i), i * STEP * MS, length * MS, {"step_num": i}) for i in range(steps)]
    modules = [
        Event("jit_step(1)", i * STEP * MS, length * MS, {"run_id": i}) for i in range(steps)
    ]
    events = []
    for i in range(steps):
        for name, category, lo, hi in ops:
            stats: dict[str, Value] = {"hlo_category": category, "program_id": 1}
            if category == "all-reduce":
                stats["all_reduce_id"] = 7
            if category == "convolution":
                stats |= {"flops": 10**12 * (hi - lo) // 20, "bytes_accessed": 10**9 * (hi - lo)}
            events.append(Event(name, (i * STEP + lo) * MS, (hi - lo) * MS, stats))
    events.sort(key=lambda event: (event.start, -event.duration))
    told: dict[str, Value] = {
        "peak_teraflops_per_second": 100.0,
        "peak_hbm_bw_gigabytes_per_second": 1000.0,
        "device_type_string": "TPU v6e",
        **caps,
    }
    lines = [Line("Steps", marks, 1), Line("XLA Modules", modules, 2), Line("XLA Ops", events, 3)]
    return Plane(f"/device:TPU:{number}", lines, told)


def run(folder: Path, *planes: Plane, host: list[Event] | None = None) -> Opened:
    calls = [Event("TpuExecute", i * STEP * MS, MS, {"run_id": i}) for i in range(6)]
    every = sorted([*calls, *(host or [])], key=lambda event: (event.start, -event.duration))
    place = folder / "plugins" / "profile" / "2026_11_22_00_00_00"
    place.mkdir(parents=True)
    (place / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", every, 1)]), *planes])
    )
    return Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))


def page(opened: Opened) -> Result:
    return registry.get("overview_page").answer(Question(opened))


def facts(result: Result) -> dict[str, Any]:
    return {fact.id: fact.value for fact in result.facts}


FAST = [
    ("infeed.1", "infeed", 0, 4),
    ("dot.2", "convolution", 4, 34),
    ("all-reduce.3", "all-reduce", 34, 50),
    ("outfeed.4", "outfeed", 50, 52),
]
SLOW = [
    ("infeed.1", "infeed", 0, 10),
    ("dot.2", "convolution", 10, 44),
    ("all-reduce.3", "all-reduce", 44, 50),
    ("outfeed.4", "outfeed", 50, 56),
]


def test_two_cores_come_to_one_step(tmp_path: Path) -> None:
    found = tpu_cores.steps(run(tmp_path, core(0, FAST), core(1, SLOW)).profiles[0])
    assert found is not None
    assert found.cores == ("/device:TPU:0", "/device:TPU:1")
    per_step = {
        "compute": 40,  # the least of 60 - (4 + 2 + 8 idle) and 60 - (10 + 6 + 4 idle)
        "infeed": 10,
        "outfeed": 4,
        "host": 0,
        "sparse": 0,
        "idle": 6,  # 60 less all of these
        "all_reduce": 6,  # the fastest core needs 6
        "all_reduce_wait": 10,  # the other one waits
        "high_flop": 32,
    }
    for name, ms in per_step.items():
        assert (getattr(found, name) == ms * MS).all(), name
    assert len(found.row) == 4


def test_a_step_counts_where_all_cores_have_it(tmp_path: Path) -> None:
    opened = run(tmp_path, core(0, FAST, steps=5), core(1, SLOW, steps=3))
    found = tpu_cores.steps(opened.profiles[0])
    assert found is not None
    assert len(found.row) == 3
    rows = answers.rows(page(opened)["tpu_steps"])
    assert len(rows) == 3
    assert rows[0]["idle_s"] == pytest.approx(6e-3)


def test_without_infeed_ops_the_hosts_input_counts_of_the_idle_time(tmp_path: Path) -> None:
    """The host waits 8 ms for its input in each step, 15 ms in the third; the core is idle in 12
    ms.
    """
    host = [
        Event("IteratorGetNext:IteratorGetNext", (i * STEP + 1) * MS, (15 if i == 2 else 8) * MS)
        for i in range(4)
    ]
    ops = [("dot.2", "convolution", 12, 60)]
    found = tpu_cores.steps(run(tmp_path, core(0, ops), host=host).profiles[0])
    assert found is not None
    assert found.infeed.tolist() == [8 * MS, 8 * MS, 12 * MS, 8 * MS]
    assert found.idle.tolist() == [4 * MS, 4 * MS, 0, 4 * MS]


def test_duty_is_not_infeed_and_outfeed(tmp_path: Path) -> None:
    """Of 60 ms of a program 46 and 40 ms are computing."""
    value = facts(page(run(tmp_path, core(0, FAST), core(1, SLOW))))
    assert value["duty_cycle"] == pytest.approx((46 + 40) / 120)


def test_what_runs_asynchronously_takes_no_time_of_a_core(tmp_path: Path) -> None:
    plane = core(0, FAST)
    beside = Line(
        "Async XLA Ops", [Event("copy-start.9", 5 * MS, 50 * MS, {"hlo_category": "copy-start"})], 4
    )
    found = tpu_cores.steps(
        run(tmp_path, Plane(plane.name, [*plane.lines, beside], plane.stats)).profiles[0]
    )
    assert found is not None
    assert found.idle.tolist() == [8 * MS] * 4


def test_matrix_units_and_memory_as_the_profile_says(tmp_path: Path) -> None:
    told = {"matrix_unit_utilization_percent": 40.0, "hbm_utilization_percent": 80.0}
    result = page(
        run(
            tmp_path,
            core(0, FAST, **told),
            core(1, SLOW, **{**told, "hbm_utilization_percent": 70.0}),
        )
    )
    value = facts(result)
    assert value["mxu_utilization"] == pytest.approx(0.4)
    assert value["hbm_utilization"] == pytest.approx(0.75)
    rules = {row["rule"] for row in answers.rows(result["recommendations"])}
    assert "memory_bound" in rules
    assert "compute_bound" not in rules


def test_use_follows_from_what_ops_cost(tmp_path: Path) -> None:
    """A convolution of 50 TFLOP/s and 1 TB/s, and nothing else: half of one peak and all of the
    other, while it runs.
    """
    opened = run(tmp_path, core(0, [("dot.2", "convolution", 0, 60)], steps=1))
    use = utilisation.device_use(opened.profiles[0], 0, 60 * MS, "corrected")
    assert use.flops == pytest.approx(0.5)
    assert use.memory == pytest.approx(1.0)
    assert use.roofline == pytest.approx(1.0)  # 50 FLOP a byte: memory allows 50 TFLOP/s
    assert "memory_bound" not in {
        row["rule"] for row in answers.rows(page(opened)["recommendations"])
    }


def test_use_is_a_lower_bound_where_not_all_ops_say_what_they_cost(tmp_path: Path) -> None:
    """A convolution is 30 of the 52 ms of each of four steps: at half of one peak and all of the
    other while it runs, of the 360 ms from the first step's start to the last one's end.
    """
    answer = page(run(tmp_path, core(0, FAST)))
    value = facts(answer)
    complete = {"flops_utilization", "hbm_utilization", "roofline_utilization", "mxu_utilization"}
    assert not complete & value.keys()
    assert value["costed_share"] == pytest.approx(30 / 52)
    assert value["flops_utilization_at_least"] == pytest.approx(0.5 * 4 * 30 / 360)
    assert value["hbm_utilization_at_least"] == pytest.approx(4 * 30 / 360)


def test_use_is_unknown_where_most_ops_do_not_say_what_they_cost(tmp_path: Path) -> None:
    mostly_silent = [("dot.2", "convolution", 0, 20), ("all-reduce.3", "all-reduce", 20, 50)]
    answer = page(run(tmp_path, core(0, mostly_silent)))
    value = facts(answer)
    reasons = {fact.id: fact.why for fact in answer.facts}
    for use in ("flops_utilization", "hbm_utilization"):
        assert value[use] is None
        assert reasons[use].startswith("n/a: ")
        assert f"{use}_at_least" not in value


@pytest.mark.parametrize(
    ("ops", "rule"),
    [
        ([("dot.2", "convolution", 0, 50)], "tensor_core_idle"),
        (
            [("dot.2", "convolution", 0, 50), ("sc.1", "sparsecorev0 infeed wait", 50, 57)],
            "sparse_core_bound",
        ),
        (
            [("dot.2", "convolution", 0, 52), ("barrier-cores.1", "custom-call", 52, 60)],
            "barrier_cores",
        ),
        ([("infeed.1", "infeed", 0, 4), ("dot.2", "convolution", 4, 60)], "infeed"),
        (
            [("dot.2", "convolution", 0, 55), ("debug_print.3", "custom-call", 55, 60)],
            "debug_print",
        ),
    ],
)
def test_rules_of_a_tpu(tmp_path: Path, ops: list[tuple[str, str, int, int]], rule: str) -> None:
    rules = {
        row["rule"] for row in answers.rows(page(run(tmp_path, core(0, ops)))["recommendations"])
    }
    assert rule in rules
    assert not rules & (
        {"tensor_core_idle", "sparse_core_bound", "barrier_cores", "infeed", "debug_print"} - {rule}
    )


def test_a_busy_host_beside_infeed(tmp_path: Path) -> None:
    host = [Event("EnqueueDevice", (i * STEP + 2) * MS, 9 * MS) for i in range(4)]
    ops = [("infeed.1", "infeed", 0, 4), ("dot.2", "convolution", 4, 60)]
    rules = {
        row["rule"]
        for row in answers.rows(page(run(tmp_path, core(0, ops), host=host))["recommendations"])
    }
    assert "host_cpu_bound" in rules


def test_asynchronous_collectives_and_free_memory(tmp_path: Path) -> None:
    memory = Event(
        "MemoryAllocation",
        MS,
        0,
        {
            "allocator_name": "TPU_0",
            "bytes_allocated": 30,
            "bytes_available": 70,
            "bytes_reserved": 0,
        },
    )
    ops = [("dot.2", "convolution", 0, 50), ("all-reduce.3", "async-done", 50, 60)]
    for folder, events in (("told", [memory]), ("untold", [])):
        rules = {
            row["rule"]
            for row in answers.rows(
                page(run(tmp_path / folder, core(0, ops), host=events))["recommendations"]
            )
        }
        assert ("sparse_core_offload" in rules) == bool(events)
