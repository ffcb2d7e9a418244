"""How long PyTorch's profiler recorded: its own window, where no event lies at its ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs


def _window(start: float, length: float, name: str = "PyTorch Profiler (0)") -> dict[str, object]:
    return {
        "ph": "X",
        "cat": "Trace",
        "name": name,
        "pid": "Spans",
        "tid": "PyTorch Profiler",
        "ts": 1e6 + start * _MS,
        "dur": length * _MS,
        "args": {"Op count": 0},
    }


def _op(start: float, length: float) -> dict[str, object]:
    return event(("cpu_op", "aten::mm", start * _MS, length * _MS))


def _span_ms(opened: Opened) -> tuple[float, float]:
    first, last = opened.profiles[0].trace.span
    return first / PS_PER_S * 1000, last / PS_PER_S * 1000


def _first(opened: Opened) -> tuple[Kind, str]:
    conclusion = run_conclusions(opened).first
    assert conclusion is not None
    return conclusion.kind, conclusion.sentence


def test_a_sleep_after_the_only_operations_is_time_of_the_profile(tmp_path: Path) -> None:
    opened = torch_json.write(tmp_path, [_op(0.2, 4), _window(0, 37)])
    assert _span_ms(opened) == pytest.approx((0, 36.8))
    kind, sentence = _first(opened)
    assert kind is Kind.UNKNOWN_TIME
    assert sentence.startswith("No event was recorded in 89 % of the time (32.8 ms of 36.8 ms)")


def test_what_a_program_does_before_its_first_operation_is_time_of_the_profile(
    tmp_path: Path,
) -> None:
    events = [_op(7500 + 12 * step, 11.5) for step in range(20)]
    opened = torch_json.write(tmp_path, [*events, _window(0, 7740)])
    assert _span_ms(opened) == pytest.approx((0, 7739.5))
    _, track = next(iter(opened.profiles[0].trace.tracks()))
    assert track.events.start[0] == int(7.5 * PS_PER_S)
    kind, sentence = _first(opened)
    assert kind is Kind.UNKNOWN_TIME
    assert sentence.startswith("No event was recorded in 97 % of the time (7.51 s of 7.74 s)")


@pytest.mark.parametrize("before", [0.2, 25.0])
def test_the_start_and_stop_of_the_profiler_are_no_idle_time(
    tmp_path: Path,
    before: float,
) -> None:
    """A cold start under load took 25 ms."""
    opened = torch_json.write(tmp_path, [_op(before, 400), _window(0, before + 400.4)])
    assert _span_ms(opened) == (0, 400)
    assert _first(opened)[0] is Kind.COMPUTE


def test_steps_of_the_schedule_say_where_the_program_begins_and_ends(tmp_path: Path) -> None:
    marks = [
        event(("user_annotation", f"ProfilerStep#{step}", (95 + 10 * step) * _MS, 10 * _MS))
        for step in range(5)
    ]
    operations = [_op(95 + 10 * step, 9.5) for step in range(5)]
    opened = torch_json.write(tmp_path, [*marks, *operations, _window(0, 240)])
    assert _span_ms(opened) == (0, 50)


def test_the_start_of_a_tracing_library_of_a_device_is_no_idle_time(tmp_path: Path) -> None:
    kernel = event(("kernel", "gemm", 96 * _MS, 4 * _MS), 7)
    opened = torch_json.write(tmp_path, [_op(95, 1), kernel, _window(0, 100.2)])
    assert _span_ms(opened) == (0, 5)


def test_only_a_window_that_holds_events_counts(
    tmp_path: Path,
) -> None:
    strange = _window(0, 5_000, "Something else (0)")
    opened = torch_json.write(tmp_path / "name", [_op(0, 400), strange])
    assert _span_ms(opened) == (0, 400)
    apart = _window(-9_000, 5)
    opened = torch_json.write(tmp_path / "apart", [_op(0, 400), apart])
    assert _span_ms(opened) == (0, 400)
    first_in_the_file = [_window(0, 437), _op(0.2, 400)]
    opened = torch_json.write(tmp_path / "first", first_in_the_file)
    assert _span_ms(opened) == pytest.approx((0, 436.8))
    impossible = _window(-1e13, 5)
    opened = torch_json.write(tmp_path / "time", [_op(0, 400), impossible])
    assert _span_ms(opened) == (0, 400)


def test_a_profile_that_ends_within_a_step_of_an_optimizer(tmp_path: Path) -> None:
    """The sleep after the last call of the optimizer is that of a step, like those before."""
    events = []
    for step in range(20):
        at = 40.0 * step
        events.append(_op(at, 3))
        events.append(
            event(("user_annotation", "Optimizer.step#SGD.step", (at + 3) * _MS, 1 * _MS))
        )
    opened = torch_json.write(tmp_path, [*events, _window(0, 800)])
    told = list(run_conclusions(opened))
    assert told[0].kind is Kind.UNKNOWN_TIME
    assert "36 ms of a step on average" in told[0].sentence
    assert all(conclusion.kind is not Kind.BETWEEN_STEPS for conclusion in told)
