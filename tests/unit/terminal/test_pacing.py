"""The paint gate, driven by a clock of its own and a simulated line."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.terminal.pacing import (
    BLIND_FPS,
    LEVELS,
    LOST_S,
    PATIENCE_S,
    SLICE_FIRST,
    SLICE_LEAST,
    PaintGate,
)


def test_one_frame_in_flight() -> None:
    gate = PaintGate(fps=1000)
    gate.sent(0.0, 0, frame=False)
    assert gate.answered(0.1)
    gate.sent(0.2, 5000)
    assert not gate.is_open(0.25)
    assert gate.answered(0.3)
    assert gate.is_open(0.3)


def test_frames_are_held_until_there_is_a_picture_or_for_a_while() -> None:
    gate = PaintGate(fps=1000)
    gate.sent(0.0, 0, frame=False)
    assert gate.answered(0.1)
    gate.hold(0.5)
    assert not gate.is_open(0.4)
    assert gate.opens_at() == 0.5
    assert gate.is_open(0.5)
    gate.hold(2.0)
    assert not gate.is_open(1.0)
    gate.release()
    assert gate.is_open(1.0)


def test_a_terminal_that_never_answers_gets_frames_at_a_fixed_rate() -> None:
    gate = PaintGate(fps=30)
    gate.sent(0.0, 0, frame=False)
    assert not gate.is_open(PATIENCE_S / 2)
    sent, now = 0, 0.0
    while now < 10.0:
        if gate.is_open(now):
            gate.lost(now)
            gate.sent(now, 1000)
            sent += 1
        now += 0.001
    # Each frame is followed by a question that nobody answers: patience holds until the next.
    assert 10 / PATIENCE_S - 2 <= sent <= 10 * BLIND_FPS
    assert "does not answer" in gate.describe()


def test_a_late_first_answer_is_believed() -> None:
    gate = PaintGate(fps=1000)
    gate.sent(0.0, 0, frame=False)
    gate.lost(0.6)
    gate.sent(0.6, 100)
    assert not gate.answered(0.9)  # the answer to the first question: the second is still out
    assert gate.acknowledged
    assert gate.answered(1.5)


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    gate = PaintGate()
    assert not gate.answered(1.0)
    assert not gate.acknowledged


def test_a_lost_answer_does_not_stop_the_screen_for_ever() -> None:
    gate = PaintGate(fps=1000)
    gate.sent(0.0, 0, frame=False)
    gate.answered(0.01)
    gate.sent(1.0, 100)
    assert not gate.is_open(1.0 + LOST_S / 2)
    assert gate.is_open(1.0 + LOST_S)
    gate.lost(1.0 + LOST_S)
    gate.sent(1.0 + LOST_S, 100)
    assert gate.answered(1.1 + LOST_S)


def line(gate: PaintGate, rtt: float, rate: float, frames: int, size: int) -> float:
    """Send frames over a simulated line, one after the other."""
    now = 0.0
    gate.sent(now, 0, frame=False)
    now += rtt
    gate.answered(now)
    for _ in range(frames):
        now = max(now, gate.opens_at())
        count = min(size, gate.slice_bytes)
        gate.sent(now, count)
        now += rtt + count / rate
        gate.answered(now)
    return now


def test_the_line_is_measured() -> None:
    gate = PaintGate(fps=1000)
    line(gate, 0.1, 125_000, 6, 10_000)
    assert gate.rtt is not None
    assert abs(gate.rtt - 0.1) < 0.02
    assert gate.bandwidth is not None
    assert 0.7 < gate.bandwidth / 125_000 < 1.4
    assert "round trip 100 ms" in gate.describe()


def test_a_slow_line_steps_down_and_a_quick_one_up_again() -> None:
    gate = PaintGate(fps=1000)
    line(gate, 0.5, 8_000, 12, 8_000)
    assert gate.level == len(LEVELS) - 1
    assert gate.wants_compression
    assert gate.slice_bytes >= SLICE_LEAST
    now = 1000.0
    for _ in range(40):
        gate.sent(now, 300)
        gate.answered(now + 0.02)
        now += 1.0
    assert gate.level == 0


def test_the_first_large_frame_goes_in_pieces_until_the_line_is_known() -> None:
    gate = PaintGate(fps=1000)
    gate.sent(0.0, 0, frame=False)
    assert (
        gate.slice_bytes > 1e6
    )  # nothing is known: a terminal that never answers gets whole frames
    gate.answered(0.001)
    assert gate.slice_bytes == SLICE_FIRST
    gate.sent(0.1, SLICE_FIRST)
    gate.answered(0.102)
    assert gate.slice_bytes > 1e6


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.sampled_from(["send", "answer", "wait"]), st.floats(0.001, 2.0)), max_size=60
    )
)
def test_whatever_happens_a_frame_can_leave_again(events: list[tuple[str, float]]) -> None:
    gate = PaintGate(fps=30)
    now = 0.0
    for kind, amount in events:
        now += amount
        if kind == "send" and gate.is_open(now):
            gate.lost(now)
            gate.sent(now, int(amount * 10_000))
        elif kind == "answer":
            gate.answered(now)
        assert gate.opens_at() <= now + LOST_S + 1
        assert gate.slice_bytes >= SLICE_LEAST
        assert 0 <= gate.level < len(LEVELS)
