"""Host, device and step time: which work belongs to which step, and what TensorFlow's rule makes of
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.model import UNKNOWN, Steps
from powertui.data.run import device_intervals, epochs, phases, steps
from tests.synthetic.read_traces import host, trace_of
from tests.synthetic.xplane import Event, Line, Plane, Value

MS = 10**9
STEPS_ID = -559038737  # 0xdeadbeef as the file holds it
MODULES_ID = STEPS_ID + 4


def event(name: str, start: float, length: float, **stats: Value) -> Event:
    return Event(name, round(start * MS), round(length * MS), stats)


def gpu(
    ordinal: int,
    kernels: Sequence[Event],
    drawn: Sequence[Event] = (),
    modules: Sequence[Event] = (),
) -> Plane:
    lines = [Line("Stream #13(Compute)", kernels, key=13)] if kernels else []
    lines += [Line("XLA Modules", modules, key=MODULES_ID)] if modules else []
    return Plane(
        f"/device:GPU:{ordinal}", [*lines, *([Line("Steps", drawn, key=STEPS_ID)] if drawn else [])]
    )


def ms(times: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[float | None]:
    return [None if ps == UNKNOWN else ps / MS for ps in times.tolist()]


# ── TensorFlow's rule ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ((3.0, 40.0), 40.0),  # the device runs on: its own line counts
        ((1.0, 4.0), 5.0),  # the mark holds it: the host waited for the device
        ((0.0, 5.0), 5.0),  # to the same ps: still held
        ((0.0, 5.000_000_001), 5.000_000_001),
    ],
)
def test_a_device_line_counts_unless_the_mark_holds_it(
    tmp_path: Path, line: tuple[float, float], step: float
) -> None:
    drawn = [event("0", *line, group_id=0, step_name="train 7")]
    kernels = [
        event("gemm", line[0], line[1] / 2, group_id=0, correlation_id=1, kernel_details="regs:32")
    ]
    mark = event("train", 0, 5, step_num=7, _r=1, group_id=0)
    found = steps.find_steps(trace_of(tmp_path, host([mark]), gpu(0, kernels, drawn)))
    assert (ms(found.host), ms(found.step)) == ([5.0], [step])
    assert ms(found.device) == [pytest.approx(line[1] / 2)]
    assert found.device_by == "group id"
    assert found.number.tolist() == [7]


def test_every_group_that_a_device_drew_is_a_step_where_roots_are_all_there_is(
    tmp_path: Path,
) -> None:
    """TensorFlow's collector gave the root of one group its title and lost that of the other."""
    roots = [
        event("EagerKernelExecute", 30 * n, 5, step_name=str(n), group_id=n) for n in (0, 2, 3)
    ]
    kernels = [
        event("gemm", 2 + 30 * n, 20, group_id=n, kernel_details="regs:32") for n in range(4)
    ]
    drawn = [event(str(n), 2 + 30 * n, 20, group_id=n, step_name=str(n)) for n in range(4)]
    found = steps.find_steps(trace_of(tmp_path, host(roots), gpu(0, kernels, drawn)))
    assert (ms(found.step), ms(found.device), ms(found.host)) == (
        [20.0] * 4,
        [20.0] * 4,
        [5.0, None, 5.0, 5.0],
    )
    assert any("no mark in the file" in note for note in found.notes)


def test_groups_tie_what_a_device_drew_to_its_marks_from_the_first_on(tmp_path: Path) -> None:
    """The first group is 0, and its line begins before its mark: neither order nor number would
    tell.
    """
    marks = [event("train", 10 + 30 * n, 5, step_num=7 + n, _r=1, group_id=n) for n in (0, 1)]
    drawn = [event("a", 9, 21, group_id=0), event("b", 42, 18, group_id=1)]
    found = steps.find_steps(trace_of(tmp_path, host(marks), gpu(0, [], drawn)))
    assert (found.number.tolist(), ms(found.step)) == ([7, 8], [21.0, 18.0])


def test_several_devices_have_steps_of_their_own(tmp_path: Path) -> None:
    """The same label on two devices, far apart in time: nothing is joined across the gap."""
    planes = [
        gpu(n, [event("gemm", at, length, kernel_details="regs:1")], [event("0", at, length)])
        for n, at, length in ((4, 10, 20), (6, 600, 21))
    ]
    found = steps.find_steps(trace_of(tmp_path, *planes))
    assert (ms(found.step), ms(found.device), ms(found.duration)) == ([21.0], [41.0], [21.0])
    assert [(one.name, ms(one.start), ms(one.duration)) for one in found.on] == [
        ("/device:GPU:4", [10.0], [20.0]),
        ("/device:GPU:6", [600.0], [21.0]),
    ]


def test_labels_that_restart_on_a_second_device_are_the_same_steps(tmp_path: Path) -> None:
    planes = [gpu(n, [], [event(str(i), i * 20 + n * 200, 10) for i in range(6)]) for n in (0, 1)]
    found = steps.find_steps(trace_of(tmp_path, *planes))
    assert found.number.tolist() == list(range(6))
    assert set(found.epoch.tolist()) == {-1}


# ── which work belongs to which step ─────────────────────────────────────────────────────────────


def ahead(count: int, *, linked: bool, lost: int = 0) -> tuple[list[Event], list[Event]]:
    """Dispatched at once, run one after the other; the profile ends before the last `lost` ran."""
    marks, kernels = [], []
    for i in range(count):
        marks.append(event("train", i * 0.3, 0.2, step_num=i, _r=1))
        marks.append(
            event(
                "cuLaunchKernel",
                i * 0.3 + 0.05,
                0.01,
                **({"correlation_id": 50 + i} if linked else {}),
            )
        )
        if i < count - lost:
            ids: dict[str, Value] = {"correlation_id": 50 + i} if linked else {}
            kernels.append(event(f"gemm_{i}", 4 + i * 5, 3, **ids))
    return marks, kernels


def test_launches_tell_whose_work_it_is(tmp_path: Path) -> None:
    marks, kernels = ahead(8, linked=True, lost=2)
    found = steps.find_steps(trace_of(tmp_path, host(marks), gpu(0, kernels)))
    assert found.asynchronous
    assert found.device_by == "launch"
    assert ms(found.device) == [3.0] * 6 + [None] * 2
    assert ms(found.step) == [3.0] * 6 + [None] * 2
    assert found.lost.tolist() == [False] * 6 + [True] * 2
    assert ms(found.lengths())[6:] == [None] * 2
    assert found.number.tolist() == list(range(8))  # in the order they were asked for
    assert (np.diff(found.start) >= 0).all()


def test_what_another_thread_launched_later_was_handed_over(tmp_path: Path) -> None:
    """The program returns from a step at once; the runtime's thread launches its kernels three
    steps later.
    """
    marks, calls, kernels = [], [], []
    for i in range(8):
        marks += [
            event("train", i * 2, 0.5, step_num=i, _r=1),
            event("Execute", i * 2 + 0.1, 0.1, _pt=5, _p=40 + i),
        ]
        late = i * 2 + 6.1
        calls += [
            event("Run", late, 1, _ct=5, _c=40 + i),
            event("cuLaunchKernel", late + 0.2, 0.1, correlation_id=70 + i),
        ]
        kernels.append(event("gemm", late + 0.5, 1 + i / 10, correlation_id=70 + i))
    found = steps.find_steps(trace_of(tmp_path, host(marks, calls), gpu(0, kernels)))
    assert found.asynchronous
    assert found.device_by == "launch"
    assert ms(found.device) == [pytest.approx(1 + i / 10) for i in range(8)]
    assert found.confidence.startswith("sure")


def test_a_counter_that_never_moves_is_one_series_without_numbers(tmp_path: Path) -> None:
    found = steps.find_steps(trace_of(tmp_path, host(numbered([0] * 6))))
    assert found.number.tolist() == [0, 1, 2, 3, 4, 5]
    assert set(found.epoch.tolist()) == {-1}
    assert found.confidence == "likely: the step marks have no number that changes"
    assert found.notes == ("Every mark has the number 0: the steps were counted in their order.",)


def test_a_step_of_pytorch_is_as_long_as_its_steps_are_apart_on_a_device_that_is_behind(
    tmp_path: Path,
) -> None:
    """The host marks a step every 4 ms, the device needs 10, and begins with 30 ms of work from
    before the profile.
    """
    marks = [event(f"ProfilerStep#{i}", 4 * i, 4) for i in range(6)]
    calls = [event("cudaLaunchKernel", 4 * i + 1, 0.1, correlation_id=i) for i in range(6)]
    kernels = [event("gemm", 0, 30, correlation_id=99)]
    kernels += [event("gemm", 30 + 10 * i, 9.5, correlation_id=i) for i in range(6)]
    found = steps.find_steps(trace_of(tmp_path, host(marks, calls), gpu(0, kernels)))
    assert found.asynchronous
    assert ms(found.step) == [10.0] * 5 + [9.5]
    assert ms(found.lengths()) == [10.0] * 5 + [9.5]
    assert ms(found.device) == [9.5] * 6


def test_without_a_link_device_time_is_not_guessed(tmp_path: Path) -> None:
    marks, kernels = ahead(8, linked=False, lost=1)
    found = steps.find_steps(trace_of(tmp_path, host(marks), gpu(0, kernels)))
    assert found.asynchronous
    assert set(ms(found.device)) == {None}
    assert found.confidence.startswith("unsure")


def test_a_module_for_each_step_is_in_order(tmp_path: Path) -> None:
    marks, kernels = ahead(8, linked=False)
    modules = [Event("jit_step(1)", kernel.start, kernel.duration) for kernel in kernels]
    found = steps.find_steps(trace_of(tmp_path, host(marks), gpu(0, kernels, modules=modules)))
    assert found.device_by == "order of modules"
    assert ms(found.step) == [3.0] * 8


def test_run_ids_tie_modules_to_their_calls(tmp_path: Path) -> None:
    marks = [event("train", i * 0.3, 0.2, step_num=i, _r=1) for i in range(5)]
    calls = [event("DoEnqueueProgram", i * 0.3 + 0.1, 0.01, run_id=900 + i) for i in range(5)]
    modules = [event("jit_step(1)", 10 + i * 5, 4, run_id=900 + i) for i in range(5)]
    ops = [event(f"fusion.{k}", 10 + i * 5 + k, 1) for i in range(5) for k in (0, 2)]
    lines = [Line("XLA Ops", ops, key=3), Line("XLA Modules", modules, key=2)]
    found = steps.find_steps(trace_of(tmp_path, host(marks, calls), Plane("/device:TPU:0", lines)))
    assert found.device_by == "run id"
    assert ms(found.device) == [2.0] * 5
    assert ms(found.step) == [3.0] * 5  # from the first op to the last


def test_numbers_that_are_text_tie_as_well(tmp_path: Path) -> None:
    """JSON traces of TensorFlow hold every stat as text."""
    marks = [event("train", i * 10, 2, step_num=str(i), _r="1") for i in range(4)]
    calls = [
        event("cuLaunchKernel", i * 10 + 1, 0.01, correlation_id=str(70 + i)) for i in range(4)
    ]
    kernels = [event("gemm", i * 10 + 3, 4, correlation_id=str(70 + i)) for i in range(4)]
    found = steps.find_steps(trace_of(tmp_path, host(marks, calls), gpu(0, kernels)))
    assert (found.device_by, ms(found.device)) == ("launch", [4.0] * 4)


def test_work_that_began_before_every_mark_is_nobodys(tmp_path: Path) -> None:
    marks, kernels = ahead(4, linked=True)
    stray = [event("gemm", 0.1, 2, correlation_id=7)]
    found = steps.find_steps(trace_of(tmp_path, host(marks), gpu(0, [*stray, *kernels])))
    assert ms(found.device) == [3.0] * 4
    assert any("belongs to no step" in note for note in found.notes)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 50), st.integers(0, 20)), max_size=30)
)
def test_covered_counts_each_moment_once(events: list[tuple[int, int, int]]) -> None:
    key, start, length = (np.array([e[i] for e in events], np.int64) for i in range(3))
    told = device_intervals.covered_ps(key, start, start + length, 5).tolist()
    for k in range(5):
        moments = {t for e in events if e[0] == k for t in range(e[1], e[1] + e[2])}
        assert told[k] == (len(moments) if any(e[0] == k for e in events) else -1)


# ── threads, parts, epochs ───────────────────────────────────────────────────────────────────────


def numbered(
    numbers: Sequence[int], *, gap: float = 10, length: float = 8, late: float = 0
) -> list[Event]:
    return [event("train", late + i * gap, length, step_num=n, _r=1) for i, n in enumerate(numbers)]


def test_threads_side_by_side_are_replicas_of_one_step(tmp_path: Path) -> None:
    found = steps.find_steps(
        trace_of(tmp_path, host(*(numbered(range(8), late=t * 3) for t in range(4))))
    )
    assert found.number.tolist() == list(range(8))
    assert set(found.epoch.tolist()) == {-1}
    assert [(one.kind, len(one)) for one in found.on] == [("replica", 8)] * 4
    assert ms(found.step) == [8.0] * 8


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([9, 8, 7, 6, 5, 4], [-1] * 6),  # a countdown
        ([3, 2, 1, 0, 3, 2, 1, 0], [0] * 4 + [1] * 4),  # a countdown that starts again
        ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]),
        ([7, 8, 9, 0, 1, 2, 3], [0, 0, 0, 1, 1, 1, 1]),  # the profile began in the middle
        ([0, 1, 3, 2, 4, 5], [-1] * 6),  # two changed places
        ([100, 101, 102, 103, 104, 105, 103, 104, 105], [-1] * 9),  # back to a checkpoint
        ([5, 2, 7, 0, 6, 1, 4, 3], [-1] * 8),  # shuffled
        ([0, 2, 4, 0, 2, 4], [0, 0, 0, 1, 1, 1]),  # counted in twos
        ([10, 20, 30, 40], [-1] * 4),
    ],
)
def test_numbers_that_start_again_are_epochs(
    tmp_path: Path, numbers: list[int], expected: list[int]
) -> None:
    found = steps.find_steps(trace_of(tmp_path, host(numbered(numbers))))
    assert found.number.tolist() == numbers
    assert found.epoch.tolist() == expected


def test_marks_of_one_number_are_parts_of_one_step(tmp_path: Path) -> None:
    found = steps.find_steps(
        trace_of(tmp_path, host(numbered([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])))
    )
    assert found.number.tolist() == [0, 1, 2]
    assert ms(found.host) == [32.0] * 3
    assert ms(found.step) == [38.0] * 3  # from the first part to the last
    assert any("parts of one step" in note for note in found.notes)


def test_missing_numbers_are_a_hole(tmp_path: Path) -> None:
    marks = [event("train", n * 10, 8, step_num=n, _r=1) for n in (0, 1, 2, 7, 8, 9)]
    found = steps.find_steps(trace_of(tmp_path, host(marks)))
    assert ms(found.start_to_start()) == [10, 10, None, 10, 10, None]
    assert ms(found.ends() - found.start) == [10, 10, 8, 10, 10, 8]
    assert any("missing between 2 and 7" in note for note in found.notes)
    assert [step.start_to_start is None for step in found] == [
        False,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_validation_ends_the_step_before_it(tmp_path: Path) -> None:
    marks = [event("train", n * 10 + (40 if n > 2 else 0), 8, step_num=n, _r=1) for n in range(6)]
    tests = [event("val", 30 + k * 10, 9, step_num=k, _r=1) for k in range(4)]
    trace = trace_of(tmp_path, host([*marks, *tests]))
    found, told = epochs.mark(trace)
    assert len(found) == 6
    assert ms(found.ends()) == [10, 20, 30, 80, 90, 98]
    assert [step.end for step in found] == found.ends().tolist()
    assert [(phase.name, phase.start, phase.end) for phase in told.phases] == [
        ("validation", 30 * MS, 69 * MS)
    ]


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("val", "validation"),
        ("validate", "validation"),
        ("val_step", "validation"),
        ("ValidationStep", "validation"),
        ("eval", "validation"),
        ("test", "validation"),
        ("run_eval", "validation"),
        ("predict", "prediction"),
        ("save_checkpoint", "checkpoint"),
        ("checkpoint", "checkpoint"),
    ],
)
def test_no_phase_is_dropped_or_taken_for_training(tmp_path: Path, name: str, phase: str) -> None:
    marks = [event("train", n * 10 + (50 if n > 2 else 0), 8, step_num=n, _r=1) for n in range(6)]
    other = [event(name, 30 + k * 10, 9, step_num=k, _r=1) for k in range(4)]
    found, told = epochs.mark(trace_of(tmp_path, host([*marks, *other])))
    assert len(found) == 6
    assert [one.name for one in told.phases] == [phase]


@pytest.mark.parametrize(
    "name", ["values", "evaluator_of_loss", "testimony", "saver", "TraceContext", "valve_step"]
)
def test_names_that_only_begin_alike_are_no_phase(tmp_path: Path, name: str) -> None:
    found = steps.find_steps_and_others(
        trace_of(tmp_path, host([event(name, n * 10, 8, step_num=n, _r=1) for n in range(4)]))
    )
    assert len(found.other) == 0
    assert len(found.steps) == 4


def test_training_is_what_lies_between_the_other_phases(tmp_path: Path) -> None:
    marks = [event("train", n * 10 + (50 if n > 2 else 0), 8, step_num=n, _r=1) for n in range(6)]
    other = [event("val", 30 + k * 10, 9, step_num=k, _r=1) for k in range(4)]
    found, told = epochs.mark(trace_of(tmp_path, host([*marks, *other])))
    trained = phases.training(found, told.phases)
    assert [(one.name, one.start // MS, one.end // MS, one.source) for one in trained] == [
        ("training", 0, 28, "3 steps"),
        ("training", 80, 108, "3 steps"),
    ]
    alone, told = epochs.mark(trace_of(tmp_path, host(other)))
    assert len(alone) == 4
    assert phases.training(alone, told.phases) == []


def test_an_evaluation_alone_says_so(tmp_path: Path) -> None:
    found, told = epochs.mark(
        trace_of(tmp_path, host([event("eval", n * 10, 8, step_num=n, _r=1) for n in range(5)]))
    )
    assert len(found) == 5
    assert any("Only an evaluation" in note for note in found.notes)
    assert [one.name for one in told.phases] == ["evaluation"]


# ── any file at all ──────────────────────────────────────────────────────────────────────────────

_NAMES = [
    "train",
    "Profiled batch",
    "val",
    "train_step",
    "FunctionRun",
    "PjitFunction(f)",
    "cuLaunchKernel",
    "epoch",
    "ProfilerStep#1",
]
_STATS = st.dictionaries(
    st.sampled_from(
        ["step_num", "_r", "group_id", "correlation_id", "run_id", "epoch_num", "step_name"]
    ),
    st.integers(-2, 6) | st.sampled_from(["train 3", "4", ""]),
    max_size=3,
)
_EVENTS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.integers(0, 40), st.integers(0, 12), _STATS), max_size=14
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_EVENTS, max_size=3),
    st.lists(_EVENTS, max_size=2),
    _EVENTS,
    st.sampled_from([None, "train", "."]),
)
def test_steps_of_any_file_hold_together(
    tmp_path_factory: pytest.TempPathFactory,
    threads: list[list[tuple[str, int, int, dict[str, Value]]]],
    streams: list[list[tuple[str, int, int, dict[str, Value]]]],
    drawn: list[tuple[str, int, int, dict[str, Value]]],
    marker: str | None,
) -> None:
    def made(events: list[tuple[str, int, int, dict[str, Value]]]) -> list[Event]:
        return [
            Event(name, start * MS, length * MS, stats) for name, start, length, stats in events
        ]

    planes = [host(*(made(events) for events in threads))]
    planes += [gpu(n, made(events), made(drawn) if n else []) for n, events in enumerate(streams)]
    found, _ = epochs.mark(trace_of(tmp_path_factory.mktemp("any"), *planes), marker=marker)
    _holds_together(found)


def _holds_together(found: Steps) -> None:
    count = len(found)
    for column in (
        found.number,
        found.start,
        found.duration,
        found.epoch,
        found.host,
        found.device,
        found.step,
        found.hole,
    ):
        assert len(column) == count
    assert len(found.names) == count
    assert (np.diff(found.start) >= 0).all()
    assert (found.duration >= 0).all()
    assert (found.ends() >= found.start).all()
    assert [step.end for step in found] == found.ends().tolist()
    assert ((found.host >= 0) | (found.host == UNKNOWN)).all()
    assert ((found.step >= 0) | found.lost).all()
    assert not count or found.confidence.split(":")[0] in ("sure", "likely", "unsure")
    for one in found.on:
        assert (one.row >= 0).all()
        assert (one.row < count).all()
        assert (one.duration >= 0).all()
