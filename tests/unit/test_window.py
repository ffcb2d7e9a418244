"""Everything that happened between two times."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import window
from powertui.data.model import Epoch, Epochs
from tests.synthetic import traces

ROOT = Path(__file__).resolve().parents[2] / "powertui"
events = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20)


@settings(max_examples=80, deadline=None)
@given(events, events, st.integers(-5, 80), st.integers(1, 60))
def test_a_window_holds_what_touches_it(
    one: list[tuple[int, int]], two: list[tuple[int, int]], lo: int, length: int
) -> None:
    trace = traces.trace(
        {
            ("/host:CPU", "a"): [(s, d, "x") for s, d in one],
            ("/device:GPU:0", "b"): [(s, d, "y") for s, d in two],
        }
    )
    held = window.window_summary(trace, lo, lo + length)
    hi = lo + length
    expected = sum((s < hi and s + d > lo) or lo <= s < hi for s, d in [*one, *two])
    assert held.event_count() == expected
    for cut in held.cuts():
        assert len(cut.events) == cut.last - cut.first > 0
        assert cut.track.depth_of(cut.first) == cut.track.depth_of(cut.last - 1) == cut.depth


def test_steps_epochs_and_samples_of_a_window() -> None:
    trace = traces.trace({("/host:CPU", "a"): [(0, 100, "x")]})
    power = traces.power(np.arange(0, 100, 10), range(10))
    epochs = Epochs(
        (Epoch(0, 0, 50, "steps"), Epoch(1, 50, None, "steps"), Epoch(2, None, None, "unknown"))
    )
    held = window.window_summary(
        trace,
        55,
        25,
        steps=traces.steps((0, 20), (20, 20), (40, 10), (60, 5)),
        epochs=epochs,
        power=[power],
    )
    assert (held.lo, held.hi) == (25, 55)
    assert held.step_rows().tolist() == [1, 2]
    assert held.epoch_rows() == [0, 1]
    assert held.power == (power,)


def test_what_is_cut_by_an_edge_of_a_short_session_is_held() -> None:
    """A step begun before the session, one that ends after it, and a mark without length on either
    edge.
    """
    start, end = np.array([0, 10, 15, 20, 25, 30]), np.array([12, 10, 25, 20, 40, 30])
    assert window.touches(start, end, 10, 30).tolist() == [True, True, True, True, True, False]
    trace = traces.trace(
        {
            ("/host:CPU", "a"): [
                (0, 12, "before"),
                (12, 8, "in"),
                (28, 10, "behind"),
                (38, 5, "after"),
            ]
        }
    )
    (cut,) = window.window_summary(trace, 10, 30).cuts()
    assert (cut.first, cut.last) == (0, 3)
    assert window.window_summary(trace, 2, 5).event_count() == 1
    assert window.window_summary(trace, 22, 26).event_count() == 0


def test_what_touches_a_window_is_written_down_once() -> None:
    rule = re.compile(r"<\s*\w*hi\w*\)\s*&\s*\(\(.*>\s*\w*lo\w*\)\s*\|")
    written = [
        path.name
        for path in sorted(ROOT.rglob("*.py"))
        if rule.search(path.read_text(encoding="utf-8"))
    ]
    assert written == ["window.py"]
