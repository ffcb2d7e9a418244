"""Counters of the hardware: as readings on the timeline, and as what each kernel achieved.

No recorded profile here holds them. The planes are written as XLA's collectors write them
(cupti_collector_test.cc and rocm_pm_samples_test.cc of openxla/xla), the tables as rocprofv3 does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data.formats import registry
from powertui.data.formats.hardware_counters import counter_label, counter_unit
from powertui.data.logdir import scan
from powertui.data.model import Trace, TrackKind
from powertui.data.opened import Opened
from powertui.data.power import in_trace
from powertui.data.tools import op_stats
from powertui.data.tools import registry as tools
from powertui.data.tools.registry import Question
from powertui.view.value_strips import counter_strips
from tests.answers import rows
from tests.synthetic import torch_json, xplane
from tests.synthetic.xplane import Event, Line, Plane
from tests.unit.formats import test_rocprof

US = 1_000_000
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
KERNELS = [("conv", 0, 100), ("relu", 100, 4), ("gemm", 200, 60), ("gemm", 300, 40)]


def _device(*lines: Line) -> Plane:
    stream = Line("Stream #7", [Event(name, at * US, us * US) for name, at, us in KERNELS], key=7)
    return Plane("/device:GPU:0", [stream, *lines])


def _samples() -> Line:
    """A PM sampler: every 10 us the occupancy (% of the kernel) and the clock."""
    occupancy = {"conv": 50.0, "relu": 90.0, "gemm": 80.0}
    events = []
    for at in range(0, 400, 10):
        ran = [name for name, start, us in KERNELS if start <= at < start + us]
        value = occupancy[ran[0]] if ran else 0.0
        events += [
            Event("Achieved Occupancy in Active Cycles (%)", at * US, 0, {OCCUPANCY: value}),
            Event(
                "GPC Clock Frequency (Hz)",
                at * US,
                0,
                {"gpc__cycles_elapsed.avg.per_second": 1.5e9},
            ),
            Event("power_mw", at * US, 0, {"power_mw": 250_000.0 + at}),
        ]
    return Line("_counters_", events, key=1 << 30)


def _ranges() -> list[Line]:
    """CUPTI's range profiler: a line for each range, an event for each metric."""
    counted = [
        ("conv", 0, 100, {"dram__bytes.sum": 1_000_000, "sm__cycles_active.sum": 7}),
        ("gemm", 200, 60, {"dram__bytes.sum": 600_000, "sm__cycles_active.sum": 9}),
        ("several", 95, 285, {"dram__bytes.sum": 5, "sm__cycles_active.sum": 1}),
    ]
    return [
        Line(
            name,
            [
                Event(
                    metric,
                    at * US,
                    us * US,
                    {
                        "counter_value": value,
                        "performance_counter_description": "…",
                        "performance_counter_sets": "sm",
                    },
                )
                for metric, value in values.items()
            ],
            key=1000 + number,
        )
        for number, (name, at, us, values) in enumerate(counted)
    ]


def _opened(folder: Path, *planes: Plane) -> Opened:
    path = folder / "plugins/profile/2026_01_01_00_00_00/vm.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(xplane.encode(planes))
    (run,) = scan(folder).runs
    return Opened(run)


def _measured(opened: Opened) -> dict[str, dict[str, Any]]:
    tool = next(tool for tool in tools.TOOLS if tool.name == "kernel_stats")
    tables = {table.id: table for table in tool.answer(Question(opened)).tables}
    if "hardware_counters" not in tables:
        return {}
    return {row["kernel"]: row for row in rows(tables["hardware_counters"])}


def _counters(trace: Trace) -> dict[str, tuple[str, list[float]]]:
    return {c.name: (c.unit, c.values.tolist()) for c in trace.counters}


def test_samples_are_counters_with_their_unit(tmp_path: Path) -> None:
    trace = _opened(tmp_path, _device(_samples())).run.traces[0]
    counters = _counters(trace)
    assert sorted(counters) == [
        "Achieved Occupancy in Active Cycles",
        "GPC Clock Frequency",
        "power_mw",
    ]
    unit, values = counters["Achieved Occupancy in Active Cycles"]
    assert (unit, len(values), values[0], values[21]) == ("%", 40, 50.0, 80.0)
    assert counters["GPC Clock Frequency"][0] == "Hz"
    strips = counter_strips(trace.counters)
    assert next((strip.name, strip.unit) for strip in strips) == (
        "Achieved Occupancy in Active Cycles",
        "%",
    )
    # CUPTI's own power meter is a sensor of the run.
    (power,) = in_trace.series(trace)
    assert power.sensor.name == "GPU 0 power_mw"
    assert float(power.watts[0]) == pytest.approx(250.0)


def test_samples_are_the_occupancy_of_the_kernels_that_hold_them(tmp_path: Path) -> None:
    measured = _measured(_opened(tmp_path, _device(_samples())))
    assert sorted(measured) == ["conv", "gemm"]  # relu is shorter than two samples
    assert measured["conv"]["occupancy"] == pytest.approx(0.5)
    assert measured["gemm"]["occupancy"] == pytest.approx(0.8)
    assert (measured["gemm"]["runs"], measured["gemm"]["measured_runs"]) == (2, 2)


def test_ranges_are_no_work_and_belong_to_the_one_kernel_in_them(tmp_path: Path) -> None:
    opened = _opened(tmp_path, _device(*_ranges()))
    trace = opened.run.traces[0]
    assert {track.name for _, track in trace.tracks() if track.kind is TrackKind.COUNTER} == {
        "conv",
        "gemm",
        "several",
    }
    assert {op.full for op in op_stats.op_stats(trace).ops} == {"conv", "relu", "gemm"}
    assert _counters(trace)["dram__bytes.sum"][0] == "bytes"
    measured = _measured(opened)
    assert measured["conv"]["bytes_per_s"] == pytest.approx(1e6 / 100e-6)
    assert measured["gemm"]["bytes_per_s"] == pytest.approx(6e5 / 60e-6)
    # The second gemm ran in a range with other kernels.
    assert (measured["gemm"]["runs"], measured["gemm"]["measured_runs"]) == (2, 1)


def test_a_range_over_several_kernels_belongs_to_none(tmp_path: Path) -> None:
    line = Line(
        "hlo_execution",
        [Event("dram__bytes.sum", 0, 400 * US, {"counter_value": 9})],
        key=1000,
    )
    opened = _opened(tmp_path, _device(line))
    assert _measured(opened) == {}
    assert _counters(opened.run.traces[0]) == {"dram__bytes.sum": ("bytes", [9.0, 0.0])}


def test_kernels_that_overlap_are_not_measured_by_samples(tmp_path: Path) -> None:
    other = Line("Stream #8", [Event("copy", 50 * US, 100 * US)], key=8)
    assert "conv" not in _measured(_opened(tmp_path, _device(_samples(), other)))


def test_counts_of_a_sampler_are_no_kernels(tmp_path: Path) -> None:
    """Whether a sampler counts from its last sample or from its start, its readings do not say."""
    waves = [
        Event("Wavefronts Launched (Count)", at * US, 0, {"SQ_WAVES": float(at)})
        for at in range(0, 400, 10)
    ]
    opened = _opened(tmp_path, _device(Line("_counters_", waves, key=1 << 30)))
    assert _counters(opened.run.traces[0])["Wavefronts Launched"][0] == "count"
    assert _measured(opened) == {}


def test_counters_of_rocprofv3_are_strips_and_belong_to_their_kernels(tmp_path: Path) -> None:
    counters = test_rocprof.COUNTERS + "".join(
        test_rocprof.COUNTERS.splitlines(keepends=True)[2].replace('"FETCH_SIZE",12.5', what)
        for what in (
            '"WRITE_SIZE",2.5',
            '"OccupancyPercent",40.0',
            '"SQ_INSTS_VALU_MFMA_MOPS_F16",64.0',
        )
    )
    test_rocprof.capture(tmp_path, "218", {"counter_collection": counters})
    (run,) = scan(tmp_path).runs
    opened = Opened(run)
    found = _counters(opened.run.traces[0])
    assert found["SQ_WAVES"] == ("waves", [16384.0, 0.0, 100.0, 0.0])
    assert found["FETCH_SIZE"][0] == "KiB"
    measured = _measured(opened)
    add = next(row for name, row in measured.items() if row["occupancy"] is not None)
    assert add["occupancy"] == pytest.approx(0.4)
    assert add["bytes_per_s"] == pytest.approx(15 * 1024 / 16.157e-6)
    assert add["flops"] == pytest.approx(64 * 512 / 16.157e-6)
    assert len(measured) == 2


def test_ranges_of_pytorch_are_readings_without_a_kernel(tmp_path: Path) -> None:
    """Kineto names the ranges after the kernels and makes up their times."""
    metric = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    events = [
        torch_json.event(
            ("cuda_profiler_range", f"gemm_{i % 2}", 10.0 * i, 10), **{metric: 4096 * i}
        )
        for i in range(5)
    ]
    for event in events:
        event["pid"] = 0
    opened = torch_json.write(tmp_path, [*events, torch_json.event(("cpu_op", "aten::mm", 0, 50))])
    trace = opened.run.traces[0]
    (counter,) = trace.counters
    assert (counter.name, counter.unit) == (metric, "instructions")
    assert counter.process == "GPU 0 (range profiler)"
    assert counter.values.tolist() == [0, 4096, 8192, 12288, 16384]
    assert _measured(opened) == {}
    assert not any(process.kind.value == "device" for process in trace.processes)


def test_a_file_without_counters_has_no_such_table(tmp_path: Path) -> None:
    opened = _opened(tmp_path, _device())
    assert _measured(opened) == {}
    assert opened.run.traces[0].counters == ()


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("dram__bytes.sum.per_second", "bytes/s"),
        ("dram__bytes.sum", "bytes"),
        ("gpc__cycles_elapsed.avg.per_second", "Hz"),
        ("sm__inst_executed_pipe_tensor.sum", "instructions"),
        ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "%"),
        ("smsp__thread_inst_executed_per_inst_executed.ratio", ""),
        ("GRBM_GUI_ACTIVE", "cycles"),
        ("SQ_WAVES", "waves"),
        ("TCC_EA_RDREQ_sum", "requests"),
        ("VALUUtilization", "%"),
        ("MeanOccupancyPerCU", "waves"),
        ("gpu_temp_c", "°C"),
        ("something", ""),
    ],
)
def test_units_of_metrics(metric: str, unit: str) -> None:
    assert counter_unit(metric) == unit


def test_a_label_says_the_unit_itself() -> None:
    assert counter_label("DRAM Read Bandwidth (%)", "dramc__read_throughput") == (
        "DRAM Read Bandwidth",
        "%",
    )
    assert counter_label("GPU Active Cycles", "GRBM_GUI_ACTIVE") == ("GPU Active Cycles", "cycles")


def test_hostile_values(tmp_path: Path) -> None:
    nan = Line(
        "_counters_",
        [
            Event("x", 0, 0, {"x": float("nan")}),
            Event("y", 0, 0, {"y": "text"}),
            Event("\x1b[31mz", 0, 0, {"z": 1.0}),
            Event("none", 0, 0),
        ],
        key=1 << 30,
    )
    trace = _opened(tmp_path, _device(nan)).run.traces[0]
    assert [counter.values.tolist() for counter in trace.counters] == [[1.0]]
    assert registry  # the readers are there
