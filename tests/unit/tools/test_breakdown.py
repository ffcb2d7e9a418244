"""The breakdown of steps: against every stored result, against an event-by-event reference, and on
profiles with known answers.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.asked import COMPAT, Compat
from powertui.data.kernel_names import is_collective
from powertui.data.opened import Opened, Profile
from powertui.data.tools import breakdown, device_facts, event_types, pieces, sweep
from powertui.data.tools.breakdown import CATEGORIES
from powertui.data.tools.covered_time import union
from powertui.data.tools.event_types import KINDS, EventType, device_kind
from tests import stored
from tests.synthetic.traces import PlainNames
from tests.synthetic.xplane import Event, Line, Plane, encode

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_MS = 1_000_000_000
_BY_TENSORFLOW = sorted(
    path.relative_to(_SHARED).as_posix()
    for name in ("overview_page.pb", "input_pipeline.pb")
    for folder in (
        "e4040_hd2551",
        "e4040_yg2820",
        "powerboard_tf22_run183023_5epochs",
        "powerboard_tf22_run195247",
    )
    for path in (_SHARED / "public" / folder).rglob(f"*.{name}")
)
_BY_XPROF = {
    "custom_loop": "own/custom_loop",
    "jax_opt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_50",
    "jax_unopt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_48",
    "gpu_tf_t4": "public/e4040_hd2551",
}


def _profile(folder: Path) -> Profile:
    return Opened(
        next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles)
    ).profiles[0]


def _held(
    found: breakdown.Breakdown, theirs: list[dict[str, float]]
) -> list[tuple[int, str, float, float]]:
    """Every cell that is more than 2 ns off."""
    assert len(found) == len(theirs) > 0
    off = []
    for step, one in enumerate(theirs):
        for _, _, name, kinds in CATEGORIES:
            mine = int(found.time_by_type(kinds)[step]) / _MS
            if abs(mine - one[name]) > 2e-6:
                off.append((step, name, mine, one[name]))
        if abs(int(found.length[step]) / _MS - one["stepTimeMs"]) > 2e-6:
            off.append((step, "stepTimeMs", int(found.length[step]) / _MS, one["stepTimeMs"]))
    return off


@pytest.mark.parametrize("path", _BY_TENSORFLOW)
def test_every_part_of_every_step_as_tensorflow_stored_it(path: str) -> None:
    assert not _held(
        breakdown.step_breakdown(_profile((_SHARED / path).parent), "tf2"),
        stored.parts(_SHARED / path),
    )


@pytest.mark.parametrize("page", ["overview_page", "input_pipeline_analyzer"])
@pytest.mark.parametrize("golden", sorted(_BY_XPROF))
def test_every_part_of_every_step_as_the_converter_of_today_has_it(
    shared_data: Path, golden: str, page: str
) -> None:
    found = breakdown.step_breakdown(_profile(shared_data / _BY_XPROF[golden]), "xprof")
    assert not _held(found, stored.parts(shared_data / "golden" / golden / f"{page}.json"))


def test_keras_3_has_the_parts_that_the_converter_gives_it_once_its_marks_are_renamed(
    shared_data: Path,
) -> None:
    """698 steps that the original does not see in the profile as it was recorded."""
    profile = _profile(shared_data / "own" / "keras_cifar")
    assert not len(breakdown.step_breakdown(profile, "xprof"))
    found = breakdown.step_breakdown(profile, "corrected")
    theirs = stored.parts(shared_data / "golden" / "keras_cifar_relabelled" / "overview_page.json")
    assert not _held(found.take(np.arange(1, len(found) - 1)), theirs)


# ── the sweep ────────────────────────────────────────────────────────────────────────────────────


def _reference(events: list[tuple[int, int, int]], lo: int, hi: int) -> list[int]:
    """As the profilers do it: boundary by boundary, ends before starts, higher types first."""
    edges = sorted(
        (time, starts, -kind)
        for start, end, kind in events
        for time, starts in ((start, 1), (end, 0))
    )
    open_, current, out = [0] * KINDS, 0, [0] * KINDS
    for at, (time, starts, negative) in enumerate(edges):
        kind = -negative
        open_[kind] += 1 if starts else -1
        if starts:
            current = max(current, kind)
        elif kind == current and not open_[kind]:
            current = next((lower for lower in range(kind - 1, 0, -1) if open_[lower] > 0), 0)
        if at + 1 < len(edges):
            out[current] += max(0, min(edges[at + 1][0], hi) - max(time, lo))
    out[0] += hi - lo - sum(out)
    return out


def test_the_sweep_agrees_with_one_event_by_event() -> None:
    rng = random.Random(20261122)
    for _ in range(400):
        groups = rng.randint(1, 3)
        events = [
            (
                rng.randrange(groups),
                start := rng.randint(0, 20),
                start + rng.choice((0, 0, rng.randint(0, 8))),
                rng.randint(1, 5),
            )
            for _ in range(rng.randint(1, 14))
        ]
        lo = np.array([rng.randint(0, 10) for _ in range(groups)], np.int64)
        hi = lo + np.array([rng.randint(0, 15) for _ in range(groups)], np.int64)
        columns = [np.array([event[i] for event in events], np.int64) for i in range(4)]
        found = sweep.sweep_events(*columns, lo, hi).inside(np.arange(groups), lo, hi)
        for group in range(groups):
            mine = [event[1:] for event in events if event[0] == group]
            assert found[group].tolist() == _reference(mine, int(lo[group]), int(hi[group])), (
                events,
                lo,
                hi,
            )


def test_events_of_each_type_united_before_they_are_swept_give_the_same() -> None:
    rng = random.Random(20261130)
    for _ in range(400):
        events = [
            (start := rng.randint(0, 20), start + rng.randint(1, 8), rng.randrange(1, KINDS))
            for _ in range(rng.randint(0, 14))
        ]
        start, end, kind = (np.array([row[i] for row in events], np.int64) for i in range(3))
        by_type = [[union(start[kind == number], end[kind == number])] for number in range(KINDS)]
        lo = np.array([rng.randint(0, 10)], np.int64)
        hi = lo + rng.randint(0, 15)
        group = np.zeros(len(events), np.int64)
        expected = sweep.sweep_events(group, start, end, kind, lo, hi)
        one_group = np.zeros(1, np.int64)
        made = sweep.sweep_times(by_type)
        assert made.inside(one_group, lo, hi).tolist() == (
            expected.inside(one_group, lo, hi).tolist()
        )


def test_groups_that_last_for_months_fill_no_axis() -> None:
    """Each of 40 groups lasts 50 days: one after the other they are longer than a whole number of
    ps can be.
    """
    long = 50 * 86_400 * 1000 * _MS
    group = np.arange(40, dtype=np.int64)
    start, zero = group * 1000, np.zeros(40, np.int64)
    found = sweep.sweep_events(
        group,
        start,
        start + long,
        np.full(40, int(EventType.COMPUTE_32), np.int64),
        zero,
        zero + long,
    )
    parts = found.inside(group, zero, zero + long)
    assert (parts[:, EventType.COMPUTE_32] == long - start).all()
    assert (parts[:, EventType.UNKNOWN] == start).all()


@pytest.mark.parametrize("run", ["custom_loop", "jax_cpu", "keras"])
def test_portions_of_groups_change_nothing(
    shared_data: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swept a few events at a time: the same."""
    path = shared_data / "own" / run if run != "keras" else shared_data / "public" / "e4040_hd2551"
    whole = [
        breakdown.step_breakdown(_profile(path), compat) for compat in ("corrected", "tf2", "xprof")
    ]
    monkeypatch.setattr(pieces, "_CHUNK_EVENTS", 7)
    for before, compat in zip(whole, ("corrected", "tf2", "xprof"), strict=True):
        after = breakdown.step_breakdown(_profile(path), compat)
        assert (after.parts == before.parts).all()
        assert (after.start == before.start).all()
    assert any(len(one) for one in whole)


def test_names_that_are_not_looked_at_one_by_one_are_the_hosts_computing(shared_data: Path) -> None:
    """Of the names of real profiles, and of every name that a rule knows."""
    paths = (
        "own/custom_loop",
        "own/jax_cpu",
        "public/e4040_hd2551",
        "public/kineto_hta_cpu_only",
        "public/kineto_list_format",
    )
    names = [_profile(shared_data / path).trace.names for path in paths]
    every = [each.full(i) for each in names for i in range(len(each))]
    for words in (
        *every,
        "gloo:send",
        "c10d::broadcast_",
        "MEMCPYHtoD",
        "enumerate(DataLoader)#x",
        "XlaCompile",
        "train 3",
        "test",
    ):
        speaking = event_types.speaking_names(PlainNames([words]), np.ones(1, np.bool_))[0]
        kinds = {
            event_types.host_kind(words, has_device=device, compat=compat)
            for device in (False, True)
            for compat in COMPAT
        }
        assert speaking or kinds == {EventType.HOST_COMPUTE}, words


# ── profiles with known answers ──────────────────────────────────────────────────────────────────


def _gpu(tmp_path: Path) -> Profile:
    """Two steps of 100 ms on two GPUs, everything that a step can hold, and a group that no device
    ran.
    """
    host, streams = [], {0: [], 1: []}  # type: ignore[var-annotated]
    for step in range(2):
        at = step * 120 * _MS
        group = {"group_id": step}
        host.append(
            Event("train", at, 100 * _MS, {"step_num": step, "step_name": f"train {step}", **group})
        )
        host.append(Event("IteratorGetNext:IteratorGetNext", at, 10 * _MS, group))
        host.append(
            Event("LaunchKernel", at + 10 * _MS, 5 * _MS, {"correlation_id": step, **group})
        )
        host.append(Event("Sum:Sum", at + 15 * _MS, 20 * _MS, group))
        streams[0] += [
            Event("MemcpyH2D", at + 20 * _MS, 5 * _MS, {"correlation_id": 10, **group}),
            Event("sgemm", at + 25 * _MS, 30 * _MS, {"correlation_id": 11, **group}),
            Event("hgemm_fp16", at + 55 * _MS, 10 * _MS, {"correlation_id": 12, **group}),
            Event("ncclAllReduce", at + 65 * _MS, 10 * _MS, {"correlation_id": 13, **group}),
            Event("MemcpyD2H", at + 75 * _MS, 5 * _MS, {"correlation_id": 14, **group}),
        ]
        streams[1] += [
            Event("sgemm", at + 30 * _MS, 10 * _MS, {"correlation_id": 21, **group}),
            Event("MemcpyP2P", at + 80 * _MS, 4 * _MS, {"correlation_id": 22, **group}),
        ]
    host.append(Event("Host:Only", 300 * _MS, 10 * _MS, {"group_id": 7}))
    steps = {
        gpu: [
            Event(str(i), i * 120 * _MS + 20 * _MS, (65 if not gpu else 60) * _MS, {"group_id": i})
            for i in range(2)
        ]
        for gpu in (0, 1)
    }
    caps: dict[str, int | float | str] = {
        "clock_rate": 1_590_000,
        "core_count": 40,
        "memory_bandwidth": 320_064_000_000,
        "compute_cap_major": 7,
        "compute_cap_minor": 5,
    }
    planes = [
        Plane(
            f"/device:GPU:{gpu}",
            [Line("Stream #13", streams[gpu], 13), Line("Steps", steps[gpu], 0xDEADBEEF)],
            caps,
        )
        for gpu in (0, 1)
    ]
    host.sort(key=lambda event: event.start)
    folder = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    folder.mkdir(parents=True)
    (folder / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", host, 1)]), *planes])
    )
    return _profile(tmp_path)


_WITH_COPIES = {
    "device_compute": 40,
    "device_to_device": 4,
    "collectives": 10,
    "host_compute": 5,
    "kernel_launch": 5,
    "input": 15,
    "output": 5,
    "compile": 0,
    "other": 16,
}
_COPIES_AS_COMPUTE = {
    **_WITH_COPIES,
    "device_compute": 54,
    "device_to_device": 0,
    "input": 10,
    "output": 0,
}
# Without the host: the longest step of a device, and what ran on devices in it.
_DEVICES_ALONE = {
    **_COPIES_AS_COMPUTE,
    "host_compute": 0,
    "kernel_launch": 0,
    "input": 0,
    "other": 1,
}


@pytest.mark.parametrize(
    ("compat", "length", "expected"),
    [
        ("corrected", 100, _WITH_COPIES),
        ("tf2", 100, _COPIES_AS_COMPUTE),
        ("xprof", 65, _DEVICES_ALONE),
    ],
)
def test_a_step_on_two_gpus(
    tmp_path: Path, compat: Compat, length: int, expected: dict[str, int]
) -> None:
    found = breakdown.step_breakdown(_gpu(tmp_path), compat)
    assert (found.length == length * _MS).all()
    assert len(found) == 2
    for name, ms in expected.items():
        assert (found.category(name) == ms * _MS).all(), name
    assert (found.time_by_type((EventType.COMPUTE_16,)) == 10 * _MS).all()


def test_the_parts_of_a_step_are_its_whole(tmp_path: Path) -> None:
    for compat in COMPAT:
        found = breakdown.step_breakdown(_gpu(tmp_path / compat), compat)
        assert (found.parts.sum(axis=1) == found.length).all()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MemcpyH2D", EventType.HOST_TO_DEVICE),
        ("Memcpy DtoH (Device -> Pageable)", EventType.DEVICE_TO_HOST),
        ("MemcpyD2D", EventType.DEVICE_TO_DEVICE),
        ("Memcpy PtoP (Device -> Device)", EventType.DEVICE_TO_DEVICE),
        ("CopyHostToDevice", EventType.HOST_TO_DEVICE),
        ("hipMemcpyDtoH", EventType.DEVICE_TO_HOST),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", EventType.COLLECTIVES),
        ("rcclGenericKernel", EventType.COLLECTIVES),
        ("volta_fp16_s884gemm", EventType.COMPUTE_16),
        ("Memset (Device)", EventType.COMPUTE_32),
    ],
)
def test_copies_and_collectives_are_known_by_name(name: str, kind: EventType) -> None:
    assert device_kind(name, "corrected") is kind


def test_what_old_releases_took_copies_for() -> None:
    assert device_kind("MemcpyH2D", "tf2") is EventType.COMPUTE_32
    assert device_kind("MEMCPYHtoD", "tf2") is EventType.HOST_TO_DEVICE


def test_device_facts(tmp_path: Path) -> None:
    one, other = device_facts.device_facts(_gpu(tmp_path).trace)
    assert (one.name, one.label, one.cores, one.capability) == (
        "/device:GPU:0",
        "Nvidia GPU (Turing)",
        40,
        (7, 5),
    )
    assert one.clock_hz == 1.59e9
    assert one.peak_flops == 1024 * 40 * 1.59e9
    assert other.bandwidth == 320_064_000_000


@pytest.mark.parametrize(
    ("stats", "generation"),
    [
        ({"compute_cap_major": 9, "compute_cap_minor": 4}, "gfx942"),
        (
            {"compute_cap_major": 9, "compute_cap_minor": 4, "device_name": "AMD Instinct gfx950"},
            "gfx950",
        ),
        ({}, ""),
    ],
)
def test_an_amd_device_by_its_name_else_by_its_capability(
    tmp_path: Path, stats: dict[str, int | str], generation: str
) -> None:
    kernel = Event("gemm", 0, _MS, {"kernel_details": "regs:1"})
    plane = Plane(
        "/device:GPU:0", [Line("Stream #13", [kernel], 13)], {"device_vendor": "AMD", **stats}
    )
    (tmp_path / "node.xplane.pb").write_bytes(encode([plane]))
    (device,) = device_facts.device_facts(_profile(tmp_path).trace)
    assert device.generation == generation


def test_amd_devices_by_their_compute_capability(shared_data: Path) -> None:
    devices = device_facts.device_facts(
        _profile(shared_data / "public" / "jax_rocm_mi300_gemm").trace
    )
    assert {one.label for one in devices} == {"AMD GPU - gfx942"}
    assert devices[0].peak_flops == 2048 * 304 * 2.1e9


# ── devices without streams ──────────────────────────────────────────────────────────────────────


def _tpu(tmp_path: Path) -> Profile:
    """Three steps of 40 ms on a TPU, 50 ms apart: infeed, a fusion with another in it, an
    all-reduce, an outfeed; 2 ms nothing.
    """
    ops, steps, host = [], [], []
    for step in range(3):
        at = step * 50 * _MS
        steps.append(Event(str(step), at, 40 * _MS, {"step_num": step}))
        host.append(Event("TpuExecute", at, 2 * _MS, {"run_id": step}))
        ops += [
            Event("infeed.1", at, 8 * _MS),
            Event("%fusion.2 = bf16[8,128]{1,0}", at + 8 * _MS, 20 * _MS),
            Event("convolution.3", at + 10 * _MS, 5 * _MS),
            Event("all-reduce.4", at + 28 * _MS, 6 * _MS),
            Event("outfeed.5", at + 34 * _MS, 4 * _MS),
        ]
    caps: dict[str, int | float | str] = {
        "device_type_string": "TPU v6e",
        "peak_teraflops_per_second": 918.0,
        "peak_hbm_bw_gigabytes_per_second": 1640.0,
    }
    device = Plane("/device:TPU:0", [Line("Steps", steps, 1), Line("XLA Ops", ops, 3)], caps)
    folder = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    folder.mkdir(parents=True)
    (folder / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", host, 1)]), device])
    )
    return _profile(tmp_path)


def test_a_step_on_a_tpu(tmp_path: Path) -> None:
    profile = _tpu(tmp_path)
    found = breakdown.step_breakdown(profile, "corrected")
    assert (found.length == 40 * _MS).all()
    assert len(found) == 3
    expected = {
        "device_compute": 20,
        "input": 8,
        "collectives": 6,
        "output": 4,
        "other": 2,
        "device_to_device": 0,
    }
    for name, ms in expected.items():
        assert (found.category(name) == ms * _MS).all(), name
    (device,) = device_facts.device_facts(profile.trace)
    assert (device.label, device.peak_flops, device.bandwidth) == ("TPU v6e", 918e12, 1640e9)


def test_steps_despite_a_loop_inside_the_graph(tmp_path: Path) -> None:
    """The original takes the loop's iterations for the steps, and shows none of the
    program's own.
    """
    host = []
    for step in range(4):
        at = step * 100 * _MS
        host.append(Event("train", at, 90 * _MS, {"step_num": step, "_r": 1}))
        host.append(Event("IteratorGetNext:IteratorGetNext", at, 20 * _MS))
        for turn in range(3):
            host.append(
                Event(
                    "ExecutorState::Process",
                    at + (30 + 15 * turn) * _MS,
                    10 * _MS,
                    {"id": 5, "iter_num": turn},
                )
            )
    folder = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    folder.mkdir(parents=True)
    (folder / "node.xplane.pb").write_bytes(encode([Plane("/host:CPU", [Line("python", host, 1)])]))
    found = breakdown.step_breakdown(_profile(tmp_path), "corrected")
    assert (found.length == 90 * _MS).all()
    assert len(found) == 4
    assert (found.category("input") == 20 * _MS).all()
    assert (found.category("host_compute") == 30 * _MS).all()
    assert (found.category("other") == 40 * _MS).all()


# ── which events mark steps in the original ──────────────────────────────────────────────────────


def _marked(tmp_path: Path, name: str, *, op: str = "Sum:Sum", **stats: int) -> Profile:
    """Three marks of 100 ms, each with 40 ms of an op in it."""
    host = []
    for step in range(3):
        at = step * 120 * _MS
        host.append(Event(name, at, 100 * _MS, {"step_num": step + 7, **stats}))
        host.append(Event(op, at + 10 * _MS, 40 * _MS))
    (tmp_path / "host.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", host, 1)])])
    )
    return _profile(tmp_path)


@pytest.mark.parametrize("compat", ["tf2", "xprof"])
def test_any_event_with_a_root_level_marks_a_step_in_the_original(
    tmp_path: Path, compat: Compat
) -> None:
    """As the converter has it of the same file: `update 7` of 100 ms, of which 40 ms compute."""
    found = breakdown.step_breakdown(_marked(tmp_path, "update", _r=1), compat)
    assert found.names == ["update 7", "update 8", "update 9"]
    assert (found.length == 100 * _MS).all()
    assert (found.category("host_compute") == 40 * _MS).all()


def test_a_step_number_alone_marks_no_step_in_the_original(tmp_path: Path) -> None:
    """As Keras 3 marks its batches; the converter finds no step there, powertui finds all.

    Nor does a call of a tf.function named `train` mark one, where nothing started a group.
    """
    profile = _marked(tmp_path, "update", op="train")
    assert len(breakdown.step_breakdown(profile, "xprof")) == 0
    assert len(breakdown.step_breakdown(profile, "corrected")) == 3


def test_a_root_inside_a_root_marks_nothing_in_the_original(tmp_path: Path) -> None:
    host = [
        Event("update", 0, 100 * _MS, {"step_num": 7, "_r": 1}),
        Event("part", 10 * _MS, 30 * _MS, {"step_num": 1, "_r": 1}),
    ]
    (tmp_path / "host.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", host, 1)])])
    )
    found = breakdown.step_breakdown(_profile(tmp_path), "xprof")
    assert found.names == ["update 7"]
    assert found.category("host_compute").tolist() == [30 * _MS]


def test_steps_of_a_gpu_have_the_numbers_of_their_groups_in_the_original(tmp_path: Path) -> None:
    """The converter leaves the host out there, and with it the name of the mark."""
    host, kernels = [], []
    for step in range(2):
        at = step * 120 * _MS
        host.append(Event("train", at, 100 * _MS, {"step_num": step + 7, "_r": 1}))
        host.append(Event("LaunchKernel", at + 10 * _MS, 5 * _MS, {"correlation_id": step + 1}))
        kernels.append(Event("sgemm", at + 25 * _MS, 30 * _MS, {"correlation_id": step + 1}))
    planes = [
        Plane("/host:CPU", [Line("python", host, 1)]),
        Plane("/device:GPU:0", [Line("Stream #13", kernels, 13)]),
    ]
    (tmp_path / "host.xplane.pb").write_bytes(encode(planes))
    profile = _profile(tmp_path)
    assert breakdown.step_breakdown(profile, "xprof").names == ["0", "1"]
    assert breakdown.step_breakdown(profile, "tf2").names == ["train 7", "train 8"]


def test_what_a_rank_waits_in_for_the_others_is_a_collective_in_the_breakdown_too() -> None:
    for name in (
        "void vllm::cross_device_reduce_1stage<float, 2>(RankData*)",  # vLLM's own all-reduce
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "mscclKernel_Sum_half_Simple",
        "all-reduce.12",
    ):
        assert is_collective(name)
        assert device_kind(name, "corrected") is EventType.COLLECTIVES
    assert device_kind("reduce_kernel<512>", "corrected") is not EventType.COLLECTIVES
    # TensorBoard's converter knows NCCL alone.
    assert device_kind("all-reduce.12", "xprof") is not EventType.COLLECTIVES
