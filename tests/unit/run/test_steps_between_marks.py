"""Steps that a device ran and the host did not mark: they count, where the numbers prove them."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.formats import registry
from powertui.data.model import Steps
from powertui.data.run.steps import find_steps
from tests.synthetic.xplane import Event, Line, Plane, Value, encode

MS = 10**9
STEPS_ID = -559038737
PERIOD_MS = 12.0


def _event(name: str, start: float, length: float, **stats: Value) -> Event:
    return Event(name, int(start * MS), int(length * MS), stats)


def _host(places: dict[int, int], length: float = 1.5, lag: float = 0.0) -> Plane:
    """Marks: at which step of the device each number is."""
    marks = [
        _event("train", place * PERIOD_MS - lag, length, step_num=number, _r=1)
        for place, number in places.items()
    ]
    return Plane("/host:CPU", [Line("python", marks, key=1)])


def _device(
    count: int, *, line: bool = False, modules: bool = False, number: int = 0, first: int = 0
) -> Plane:
    """Three kernels a step, with the lines that the collector draws."""
    kernels = [
        _event(kernel, step * PERIOD_MS + 3 + 2.5 * at, 2)
        for step in range(count)
        for at, kernel in enumerate(("conv", "relu", "gemm"))
    ]
    lines = [Line("Stream #7", kernels, key=7)]
    spans = [(step * PERIOD_MS + 3, 7.0) for step in range(count)]
    if line:
        drawn = [_event(str(first + i), *span) for i, span in enumerate(spans)]
        lines.append(Line("Steps", drawn, key=STEPS_ID))
    if modules:
        runs = [_event("jit_step", *span) for span in spans]
        lines.append(Line("XLA Modules", runs, key=STEPS_ID + 4))
    return Plane(f"/device:GPU:{number}", lines)


def _steps(folder: Path, *planes: Plane) -> Steps:
    path = folder / "vm.xplane.pb"
    path.write_bytes(encode(planes))
    return find_steps(registry.read(path))


@pytest.mark.parametrize("kind", ["line", "modules"])
@pytest.mark.parametrize(
    "marked",
    [
        range(5),  # the first ones
        range(9, 14),  # the last ones
        range(0, 17, 4),  # every fourth
        [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16],  # most
    ],
)
def test_steps_without_a_mark_count(tmp_path: Path, kind: str, marked: range | list[int]) -> None:
    device = _device(17, line=kind == "line", modules=kind == "modules")
    steps = _steps(tmp_path, _host({step: step for step in marked}), device)
    assert steps.number.tolist() == list(range(17))
    assert not steps.confidence.startswith("sure")
    assert "steps_per_execution" not in " ".join(steps.notes)
    assert [ps // MS for ps in steps.device.tolist()] == [6] * 17


def test_numbers_go_on_from_those_of_the_marks(tmp_path: Path) -> None:
    steps = _steps(tmp_path, _host({2: 902, 3: 903, 4: 904}), _device(11, modules=True))
    assert steps.number.tolist() == list(range(900, 911))
    assert steps.notes[0] == (
        "8 steps have no mark on the host: the device ran them, and the program's numbers go on "
        "in them."
    )
    assert steps.confidence.startswith("likely: the program marks only some of its steps")


def test_two_devices_are_one_series(tmp_path: Path) -> None:
    marks = _host({step: step for step in range(4)})
    for kind in ("line", "modules"):
        devices = [
            _device(13, line=kind == "line", modules=kind == "modules", number=number)
            for number in range(2)
        ]
        steps = _steps(tmp_path, marks, *devices)
        assert steps.number.tolist() == list(range(13))
        assert [steps_on.name for steps_on in steps.on] == ["/device:GPU:0", "/device:GPU:1"]


def test_all_that_runs_in_an_open_mark_is_one_step(tmp_path: Path) -> None:
    """Four batches a call: the mark holds what the device does, by whichever counter."""
    for numbers in ([0, 4, 8, 12], [0, 1, 2, 3]):
        marks = _host({4 * i: number for i, number in enumerate(numbers)}, length=4 * PERIOD_MS - 1)
        steps = _steps(tmp_path, marks, _device(16, modules=True))
        assert steps.number.tolist() == numbers


def test_a_count_that_the_marks_do_not_share_proves_nothing(tmp_path: Path) -> None:
    """Every fourth run is marked, and the marks count themselves: the runs have no numbers."""
    marks = _host({4 * i: i for i in range(4)})
    assert _steps(tmp_path, marks, _device(16, modules=True)).number.tolist() == [0, 1, 2, 3]


def test_launches_between_the_marks_are_no_batches_of_one_call(tmp_path: Path) -> None:
    """Every third step is marked; of the others only the kernels and their launches are known."""
    marks = _host({3 * i: 3 * i for i in range(4)})
    kernels, calls = [], []
    for step in range(12):
        for at, kernel in enumerate(("conv", "relu", "gemm")):
            number = 3 * step + at
            start = step * PERIOD_MS + 0.3 * (at + 1)
            calls.append(_event("cuLaunchKernel", start, 0.1, correlation_id=number))
            start = step * PERIOD_MS + 3 + 2.5 * at
            kernels.append(_event(kernel, start, 2, correlation_id=number))
    host = Plane("/host:CPU", [Line("python", [*marks.lines[0].events, *calls], key=1)])
    device = Plane("/device:GPU:0", [Line("Stream #7", kernels, key=7)])
    steps = _steps(tmp_path, host, device)
    assert "steps_per_execution" not in " ".join(steps.notes)
    assert "launched between the marks" in steps.confidence


def test_one_mark_proves_no_count(tmp_path: Path) -> None:
    assert len(_steps(tmp_path, _host({3: 3}), _device(9, modules=True))) in (1, 9)


def test_steps_that_are_all_marked_stay_as_they_are(tmp_path: Path) -> None:
    steps = _steps(
        tmp_path, _host({step: step for step in range(10)}), _device(10, line=True, modules=True)
    )
    assert steps.number.tolist() == list(range(10))
    assert steps.confidence.startswith("sure")
    assert steps.notes == ()


def _series(folder: Path, ratio: int, *, second: str = "generator", shared: bool = False) -> Steps:
    """`ratio` critics for each generator, each kind with its own numbers or one for both."""
    marks, at, critic = [], 0.0, 0
    for turn in range(8):
        for _ in range(ratio):
            marks.append(_event("critic", at, 4, step_num=critic, _r=1))
            at, critic = at + 5, critic + 1
        marks.append(_event(second, at, 3, step_num=critic - 1 if shared else turn, _r=1))
        at += 5
    return _steps(folder, Plane("/host:CPU", [Line("python", marks, key=1)]))


@pytest.mark.parametrize("ratio", [2, 3, 5])
def test_two_kinds_with_counters_of_their_own_are_two_series(tmp_path: Path, ratio: int) -> None:
    steps = _series(tmp_path, ratio)
    assert len(steps) == 8 * ratio + 8
    assert steps.notes[0] == (
        f"2 series of steps, each counted for itself: {8 * ratio} of critic and 8 of generator."
    )
    assert not steps.confidence.startswith("unsure")


def test_what_has_the_number_of_its_step_is_no_series(tmp_path: Path) -> None:
    assert len(_series(tmp_path, 4, second="publish", shared=True)) == 32


def test_a_validation_with_its_own_count_is_no_series(tmp_path: Path) -> None:
    assert len(_series(tmp_path, 4, second="validation")) == 32
