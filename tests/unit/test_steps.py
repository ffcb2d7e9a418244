from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui import demo
from powertui.data.formats import registry
from powertui.data.run import dispatch, marks, stat_carriers, step_rounds, step_rows, steps
from powertui.errors import UsageError
from tests.synthetic.read_traces import host, trace_of
from tests.synthetic.xplane import Event, Line, Plane

MS = 10**9
STEPS_ID = -559038737  # 0xdeadbeef as the file holds it


def every(
    name: str,
    count: int,
    gap: int = 10 * MS,
    length: int = 9 * MS,
    first: int = 0,
    **stats: int | str,
) -> list[Event]:
    """`count` events in a row, numbered by step_num unless stats say otherwise."""
    return [
        Event(
            name,
            first + i * gap,
            length,
            {key: (i if value == "i" else value) for key, value in stats.items()},
        )
        for i in range(count)
    ]


# ── the order of sources ─────────────────────────────────────────────────────────────────────────


def test_explicit_markers_win(tmp_path: Path) -> None:
    marked = every("train", 5, step_num="i", _r=1)
    inner = [
        Event("Profiled batch", e.start + MS, 5 * MS, {"step_num": 100 + i})
        for i, e in enumerate(marked)
    ]
    found = steps.find_steps(trace_of(tmp_path, host([*marked, *inner])))
    assert found.number.tolist() == [0, 1, 2, 3, 4]
    assert found.names[3] == "train 3"
    assert "train" in found.source
    assert "step_num" in found.source


def test_a_marker_without_a_number_counts_by_its_root_level(tmp_path: Path) -> None:
    found = steps.find_steps(trace_of(tmp_path, host(every("train", 4, _r=1))))
    assert found.number.tolist() == [0, 1, 2, 3]
    assert "numbered in order" in found.source


def test_names_that_only_begin_like_a_marker_are_none(tmp_path: Path) -> None:
    path = [*every("train/dense/MatMul", 9, step_num="i"), *every("trainer", 3, first=100 * MS)]
    found = steps.find_steps(trace_of(tmp_path, host(path)))
    assert (
        "train/dense/MatMul" in found.source
    )  # by its step_num, as any other event, not as an explicit marker
    assert len(found) == 9


def test_step_name_marks_roots_of_files_that_are_grouped(tmp_path: Path) -> None:
    root = Event(
        "EagerKernelExecute", 0, 9 * MS, {"step_name": "EagerKernelExecute 0", "group_id": 0}
    )
    events = [root, Event("MatMul", MS, MS, {"group_id": 0})]
    found = steps.find_steps(trace_of(tmp_path, host(events)))
    assert (len(found), found.names[0], int(found.number[0])) == (1, "EagerKernelExecute 0", 0)


def test_any_host_event_with_a_step_num_is_a_step(tmp_path: Path) -> None:
    found = steps.find_steps(
        trace_of(
            tmp_path,
            host(
                every("Profiled batch", 7, step_num="i"), every("noise", 50, gap=MS, length=MS // 2)
            ),
        )
    )
    assert len(found) == 7
    assert found.source == "events named Profiled batch with a step_num"


def test_step_lines_of_devices_are_united(tmp_path: Path) -> None:
    def device(number: int, late: int) -> Plane:
        lines = [
            Line("Steps", every_named(late), key=STEPS_ID),
            Line("Stream #1(Compute)", [Event("k", late, MS)], key=1),
        ]
        return Plane(f"/device:GPU:{number}", lines)

    def every_named(late: int) -> list[Event]:
        return [Event(str(i), i * 20 * MS + late, 10 * MS, {"step_name": str(i)}) for i in range(4)]

    found = steps.find_steps(trace_of(tmp_path, device(0, 0), device(1, 3 * MS)))
    assert found.number.tolist() == [0, 1, 2, 3]
    assert found.start.tolist() == [i * 20 * MS for i in range(4)]
    assert set(found.duration.tolist()) == {
        13 * MS
    }  # from the first device's start to the last one's end
    assert "Steps line of /device:GPU:0, /device:GPU:1" in found.source


def test_profiler_steps_are_taken_from_the_host(tmp_path: Path) -> None:
    def copies(delay: int) -> list[Event]:
        return [Event(f"ProfilerStep#{i}", i * 10 * MS + delay, 9 * MS) for i in range(3, 8)]

    gpu = Plane("/device:GPU:0", [Line("Stream #7(Compute)", copies(MS), key=7)])
    found = steps.find_steps(trace_of(tmp_path, host(copies(0)), gpu))
    assert found.number.tolist() == [3, 4, 5, 6, 7]
    assert found.start[0] == 30 * MS


def test_launches_that_repeat_are_the_last_resort(tmp_path: Path) -> None:
    compile_once = [Event("PjitFunction(init)", 0, 500 * MS)]
    found = steps.find_steps(
        trace_of(tmp_path, host([*compile_once, *every("PjitFunction(step)", 8, first=600 * MS)]))
    )
    assert len(found) == 8
    assert "PjitFunction(step)" in found.source
    assert "no step marker" in found.source


def test_modules_of_a_device_come_before_launches_of_the_host(tmp_path: Path) -> None:
    tpu = Plane(
        "/device:TPU:0",
        [
            Line("XLA Modules", every("jit_step(12)", 6), key=2),
            Line("XLA Ops", every("fusion", 6), key=3),
        ],
    )
    found = steps.find_steps(trace_of(tmp_path, host(every("PjitFunction(f)", 9)), tpu))
    assert len(found) == 6
    assert "module jit_step(12)" in found.source


def test_without_anything_the_reason_is_told(tmp_path: Path) -> None:
    found = steps.find_steps(trace_of(tmp_path, host([Event("something", 0, MS)])))
    assert len(found) == 0
    assert "no event has a step number" in found.source


def test_loops_inside_the_graph_do_not_hide_markers(tmp_path: Path) -> None:
    loop = [
        Event("ExecutorState::Process", i * MS, MS // 2, {"id": 7, "iter_num": i})
        for i in range(100)
    ]
    found = steps.find_steps(trace_of(tmp_path, host(every("train", 10, step_num="i", _r=1), loop)))
    assert len(found) == 10


# ── what a person says ───────────────────────────────────────────────────────────────────────────


def test_a_pattern_goes_first(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        host(
            every("train", 5, step_num="i"),
            [Event(f"my_step {i}", i * 10 * MS, MS) for i in range(40, 44)],
        ),
    )
    found = steps.find_steps(trace, marker=r"^my_step")
    assert found.number.tolist() == [40, 41, 42, 43]
    assert "--step-marker '^my_step'" in found.source


def test_a_pattern_may_name_device_events(tmp_path: Path) -> None:
    gpu = Plane("/device:GPU:0", [Line("Stream #7(Compute)", every("matmul_kernel", 3), key=7)])
    assert (
        len(steps.find_steps(trace_of(tmp_path, host([Event("x", 0, MS)]), gpu), marker="matmul"))
        == 3
    )


def test_a_pattern_that_fits_nothing_says_so(tmp_path: Path) -> None:
    found = steps.find_steps(
        trace_of(tmp_path, host(every("train", 5, step_num="i"))), marker="nothing like it"
    )
    assert len(found) == 0
    assert "no event's name matches" in found.source


def test_a_broken_pattern_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        steps.find_steps(trace_of(tmp_path, host([Event("x", 0, MS)])), marker="(")


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────


def test_markers_within_markers_are_details(tmp_path: Path) -> None:
    outer = every("train", 3, step_num="i")
    inner = [
        Event("train", e.start + k * MS, MS, {"step_num": k}) for e in outer for k in (1, 4, 7)
    ]
    assert steps.find_steps(trace_of(tmp_path, host([*outer, *inner]))).number.tolist() == [0, 1, 2]


def test_numbers_that_start_again_count_epochs(tmp_path: Path) -> None:
    events = [Event("Profiled batch", i * 10 * MS, 9 * MS, {"step_num": i % 4}) for i in range(10)]
    assert (
        steps.find_steps(trace_of(tmp_path, host(events))).epoch.tolist()
        == [0] * 4 + [1] * 4 + [2] * 2
    )


def test_numbers_that_go_on_count_no_epochs(tmp_path: Path) -> None:
    assert set(
        steps.find_steps(trace_of(tmp_path, host(every("train", 6, step_num="i")))).epoch.tolist()
    ) == {-1}


def test_evaluation_is_set_apart(tmp_path: Path) -> None:
    train = every("train", 4, step_num="i", _r=1)
    test = every("test", 3, first=50 * MS, step_num="i", _r=1)
    found = steps.find_steps_and_others(trace_of(tmp_path, host([*train, *test])))
    assert len(found.steps) == 4
    assert found.other.kinds == ["test"] * 3


def test_an_evaluation_alone_has_steps(tmp_path: Path) -> None:
    assert (
        len(steps.find_steps(trace_of(tmp_path, host(every("test", 3, step_num="i", _r=1))))) == 3
    )


def test_texts_that_are_numbers_are_numbers(tmp_path: Path) -> None:
    said = {"graph_type": "train", "epoch_num": "1"}
    events = [
        Event("TraceContext", i * MS, MS, {**said, "step_num": str(i), "step_name": f"train {i}"})
        for i in range(30, 35)
    ]
    found = steps.find_steps_and_others(trace_of(tmp_path, host(events)))
    assert found.steps.number.tolist() == [30, 31, 32, 33, 34]
    assert found.epoch_num
    assert set(found.steps.epoch.tolist()) == {1}
    assert found.steps.names[0] == "train 30"


# ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────


def dispatched(work_after: bool) -> Plane:
    """Ten dispatches of 10 us; the work of each, 5 ms, runs in a pool inside its step or long after
    all of them.
    """
    gap, length = (MS // 50, MS // 100) if work_after else (6 * MS, 5 * MS + MS // 2)
    markers = every("train", 10, gap=gap, length=length, step_num="i")
    work = [
        Event(
            "fusion.1",
            (100 * MS + i * 5 * MS) if work_after else markers[i].start + MS // 100,
            5 * MS,
        )
        for i in range(10)
    ]
    return host(markers, work[::2], work[1::2])


def test_work_that_outlives_its_marker_is_asynchronous(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, dispatched(work_after=True))
    found = steps.find_steps(trace)
    assert found.asynchronous
    assert dispatch.work_done(trace, found).end == 150 * MS


def test_work_inside_its_marker_is_not(tmp_path: Path) -> None:
    assert not steps.find_steps(trace_of(tmp_path, dispatched(work_after=False))).asynchronous


def test_a_quiet_end_of_the_profile_is_not_asynchronous(tmp_path: Path) -> None:
    tail = [Event("save", 100 * MS, 3000 * MS)]
    assert not steps.find_steps(
        trace_of(tmp_path, host(every("train", 10, step_num="i"), tail))
    ).asynchronous


# ── the sample ───────────────────────────────────────────────────────────────────────────────────


def test_a_marker_in_a_long_line_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stat_carriers, "_MAX_WHOLE_EVENTS", 50)
    monkeypatch.setattr(stat_carriers, "_SPREAD_EVENTS", 10)
    noise = [Event(f"op {i % 7}", i * MS // 10, MS // 20) for i in range(2000)]
    assert (
        len(steps.find_steps(trace_of(tmp_path, host(noise, every("batch", 5, step_num="i"))))) == 5
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_outermost_keeps_exactly_what_no_other_holds(spans: list[tuple[int, int]]) -> None:
    if not spans:
        return
    start = np.array([s for s, _ in spans], np.int64)
    length = np.array([n for _, n in spans], np.int64)
    count = len(spans)
    none, no, code = (
        np.full(count, -1, np.int64),
        np.zeros(count, np.bool_),
        np.zeros(count, np.int32),
    )
    whole = marks.join_marks(
        [
            marks.Marks(
                start, length, none, none, [""] * count, [""] * count, no, no, no, code, code, none
            )
        ]
    )
    kept = whole.outermost()
    pairs = list(zip(whole.start.tolist(), (whole.start + whole.duration).tolist(), strict=True))
    expected = [
        (a, b)
        for i, (a, b) in enumerate(pairs)
        if not any(c <= a and b <= d and a < d for j, (c, d) in enumerate(pairs) if j < i)
    ]
    assert (
        list(zip(kept.start.tolist(), (kept.start + kept.duration).tolist(), strict=True))
        == expected
    )


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=12))
def test_ranks_are_those_of_the_sorted_values(values: list[int]) -> None:
    count, which = step_rounds.ranked(np.array(values, np.int64))
    known = sorted(set(values))
    assert (count, which.tolist()) == (len(known), [known.index(value) for value in values])


def test_marks_that_are_steps_of_their_own_are_told_as_parts_would_be(tmp_path: Path) -> None:
    whole = marks.marked_events(trace_of(tmp_path, host(every("train", 5, step_num="i"))))
    halves = [
        Event("train", e.start + at * MS, 4 * MS, e.stats)
        for e in every("train", 5, step_num="i")
        for at in (0, 5)
    ]
    one, two = (
        step_rows.rows_from_marks(whole),
        step_rows.rows_from_marks(marks.marked_events(trace_of(tmp_path, host(halves)))),
    )
    assert (one.parts, two.parts) == (False, True)
    for name in ("number", "turn", "start", "end", "marked", "marked_start"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist(), name
        assert getattr(one, name).dtype == getattr(two, name).dtype, name


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("train 30", 30),
        ("0", 0),
        ("step#7 (last)", 7),
        ("no", -1),
        ("x" + "9" * 30, -1),
        ("a-5", -1),
    ],
)
def test_the_number_in_a_name(text: str, number: int) -> None:
    assert marks.trailing_number(text) == number


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def test_the_demo_has_two_hundred_steps() -> None:
    (profile,) = demo.folder().rglob("*.xplane.pb.gz")
    trace = registry.read(profile)
    found = steps.find_steps(trace)
    assert trace.event_count == 179_470
    assert len(found) == 200
    assert found.number.tolist() == [*range(100), *range(100)]
    assert found.source == "events named Profiled batch with a step_num"
    assert not found.asynchronous


def test_jax_dispatches_and_returns(data: Path) -> None:
    trace = registry.read(data / "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb")
    found = steps.find_steps(trace)
    assert len(found) == 20
    assert found.asynchronous
    work = dispatch.work_done(trace, found)
    assert (
        3.5 * MS < (work.end - int(found.start[0])) / 20 < 3.7 * MS
    )  # what 20 synchronous steps would take


def test_the_same_steps_from_the_other_format(data: Path) -> None:
    folder = data / "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50"
    xplane, json = (
        steps.find_steps(registry.read(folder / "vm.xplane.pb")),
        steps.find_steps(registry.read(folder / "vm.trace.json.gz")),
    )
    assert xplane.number.tolist() == json.number.tolist()
    assert xplane.names == json.names
    assert xplane.asynchronous == json.asynchronous
    assert np.abs(xplane.start - json.start).max() < 1_000_000  # JSON holds microseconds


@pytest.mark.parametrize(
    ("run", "count", "source"),
    [
        ("own/keras_cifar", 700, "Profiled batch"),
        ("own/custom_loop", 60, "train with a step_num"),
        ("own/jax_cpu/plugins/profile/2026_11_21_00_50_48", 20, "train with a step_num"),
        ("own/two_epochs_with_burst", 200, "Profiled batch"),
        ("own/trace_export", 50, "launches of f "),
        ("own/long_training", 20, "launches of multi_step_on_iterator"),
        (
            "public/powerboard_tf22_run195247",
            21,
            "TraceContext with a step_num and an epoch_num",
        ),  # the last one cut
        ("public/e4040_hd2551", 1, "EagerKernelExecute with a step_name"),
        ("public/e4040_yg2820/logs/fit/20221031-233351", 1, "EagerKernelExecute with a step_name"),
        ("public/tf_gpu_multiworker", 1, "the Steps line of /device:GPU:4, /device:GPU:6"),
        ("public/jax_rocm_mi300_conv_legacy", 10, "launches of PjitFunction(forward_3d_conv)"),
    ],
)
def test_every_recording(shared_data: Path, run: str, count: int, source: str) -> None:
    from powertui.data import logdir

    entry = logdir.scan(shared_data / run).runs[0]
    found = steps.find_steps(registry.read(entry.profiles[0].path))
    assert len(found) == count
    assert source in found.source


def test_step_times_are_those_of_the_oracle(shared_data: Path) -> None:
    """TensorBoard's converter gives the same 58 steps (it leaves the first and the last out)."""
    import json

    oracle = json.loads(
        (shared_data / "golden/custom_loop/input_pipeline_analyzer.json").read_text()
    )[1]["rows"]
    (profile,) = (shared_data / "own/custom_loop").rglob("*.xplane.pb")
    found = steps.find_steps(registry.read(profile))
    assert [row["c"][0]["v"] for row in oracle] == list(found.names[1:-1])
    assert [row["c"][11]["v"] for row in oracle] == [d / MS for d in found.duration[1:-1].tolist()]
