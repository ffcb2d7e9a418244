"""What ran, exclusively, and its shares of a sensor's windows."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import expected_work, window_shares
from powertui.data.formats import registry
from powertui.data.model import Trace
from tests.synthetic import COLLECTIVES, COMPUTE, COPIES, Plan, build, traces


def loaded(tmp_path, work) -> Trace:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(work.xplane())
    return list(registry.load(str(path)))[-1]


def test_the_kind_with_the_highest_number_hides_the_others() -> None:
    host = expected_work.Intervals(np.array([0]), np.array([100]))
    compute = expected_work.Intervals(np.array([20, 60]), np.array([40, 80]))
    edges, kind = expected_work.exclusive(
        {expected_work.HOST: host, expected_work.COMPUTE: compute}, (0, 120)
    )
    assert edges.tolist() == [0, 20, 40, 60, 80, 100, 120]
    H, C, I = expected_work.HOST, expected_work.COMPUTE, expected_work.IDLE  # noqa: E741
    assert kind.tolist() == [H, C, H, C, H, I]


def test_union_closes_what_overlaps_and_small_holes() -> None:
    part = expected_work.union(np.array([50, 0, 5, 20]), np.array([60, 10, 15, 30]), gap=5)
    assert list(zip(part.start.tolist(), part.end.tolist(), strict=True)) == [(0, 30), (50, 60)]


def test_activity_of_a_device_is_what_the_workload_did(tmp_path) -> None:
    work = build(3, Plan(seconds=6, epochs=1, validation_s=0.5))
    (found,) = expected_work.activities(loaded(tmp_path, work))
    length = np.diff(work.edges)
    inside = (work.edges[:-1] >= 0) & (work.edges[1:] <= work.span[1])
    for truth, kind in (
        (COPIES, expected_work.COPIES),
        (COLLECTIVES, expected_work.COLLECTIVES),
        (COMPUTE, expected_work.COMPUTE),
    ):
        assert abs(found.seconds(kind) - length[inside & (work.category == truth)].sum()) < 1e-3


def test_shares_of_any_window_add_up_and_match_the_truth(tmp_path) -> None:
    work = build(4, Plan(seconds=6, epochs=1))
    trace = loaded(tmp_path, work)
    table = window_shares.shares(expected_work.activities(trace), trace.span)
    rng = np.random.default_rng(0)
    lo = rng.uniform(-3, work.span[1] + 3, 400)
    hi = lo + rng.uniform(0.01, 1.0, 400)
    rows = table.rows(lo, hi)
    assert np.allclose(rows[:, 0], 1)
    outside = rows[:, table.names.index(window_shares.OUTSIDE)]
    first, last = table.span
    assert np.allclose(
        outside,
        (np.clip(first - lo, 0, hi - lo) + np.clip(hi - last, 0, hi - lo)) / (hi - lo),
        atol=1e-9,
    )
    ran = np.where(work.category == COMPUTE, np.diff(work.edges), 0.0)
    truth = np.interp(hi, work.edges, np.r_[0, ran.cumsum()]) - np.interp(
        lo, work.edges, np.r_[0, ran.cumsum()]
    )
    assert np.abs(rows[:, table.names.index("compute")] - truth / (hi - lo)).max() < 0.01


def test_training_outside_the_profile_is_the_profiles_own_mixture(tmp_path) -> None:
    work = build(5, Plan(seconds=6, epochs=1))
    trace = loaded(tmp_path, work)
    end = trace.span[1] + int(4e12)
    table = window_shares.shares(expected_work.activities(trace), trace.span, (trace.span[0], end))
    after = trace.span[1] / 1e12
    row = table.rows(np.array([after + 1]), np.array([after + 2]))[0]
    assert row[-1] == 0
    assert np.allclose(row[1:-1], table.mixture)
    assert table.rows(np.array([after + 5]), np.array([after + 6]))[0][-1] == 1


@pytest.mark.parametrize(
    "name",
    [
        "ExecutorState::WaitForCompletion",
        "AwaitReady",
        "ThunkExecutor::Execute (wait for completion)",
        "BlockUntilReady",
        "PjRtBuffer::Await",
        "$api.py:2479 block_until_ready",
        "$threading.py:323 wait",
        "$threading.py:1018 join",
        "$queue.py:154 get",
        "<built-in method acquire of _thread.lock object at 0x7f>",
        "<built-in function sleep>",
        "futex",
        "$selectors.py:451 select",
        "BlockingCounter::Wait",
        "cuStreamSynchronize",
    ],
)
def test_a_name_that_waits_is_known(name: str) -> None:
    assert expected_work.waits(name)


@pytest.mark.parametrize(
    "name",
    [
        "TFE_Py_ExecuteCancelable",
        "Profiled batch",
        "$train.py:12 main",
        "select_and_scatter",
        "model/Select:SelectV2",
        "$path.py:9 join",
        "LoadWeights",
        "kWaitlist",
        "$loader.py:88 get",
        "SleepyModel",
    ],
)
def test_a_name_that_works_does_not_wait(name: str) -> None:
    assert not expected_work.waits(name)


@pytest.mark.parametrize(
    "name",
    [
        "SaveV2:SaveV2",
        "save/RestoreV2:RestoreV2",
        "MergeV2Checkpoints",
        "$checkpoint.py:120 save",
        "WriteFile",
    ],
)
def test_a_name_that_stores_is_known(name: str) -> None:
    assert expected_work.stores(name)
    assert not expected_work.stores("model/dense/MatMul:MatMul")
    assert not expected_work.stores("TFE_Py_ExecuteCancelable")


MS = 1_000_000_000


def busy(*lines: list[tuple[int, int, str]]) -> expected_work.Activity:
    """What ran on a host of these threads (times in ms)."""
    events = {
        ("/host:CPU", f"thread {n}"): [(a * MS, b * MS, name) for a, b, name in line]
        for n, line in enumerate(lines)
    }
    (found,) = expected_work.activities(traces.trace(events))
    return found


def test_a_frame_around_a_wait_waits() -> None:
    """`main` covers everything; what it does is said by the innermost call."""
    steps = [(at, 9, "step") for at in range(500, 1000, 10)]
    found = busy([(0, 1000, "$train.py:1 main"), (0, 500, "$threading.py:323 wait"), *steps])
    assert found.seconds(expected_work.WAIT) == pytest.approx(0.5, abs=0.002)
    assert found.seconds(expected_work.HOST) == pytest.approx(0.5, abs=0.002)


def test_a_wait_in_which_something_else_runs_is_work() -> None:
    found = busy(
        [
            (0, 400, "$api.py:9 block_until_ready"),
            *[(at, 10, "callback") for at in range(100, 200, 10)],
        ]
    )
    assert found.seconds(expected_work.HOST) == pytest.approx(0.1, abs=0.002)
    assert found.seconds(expected_work.WAIT) == pytest.approx(0.3, abs=0.002)
    other = busy(
        [(0, 400, "$api.py:9 block_until_ready")], [(at, 10, "dot.1") for at in range(0, 400, 10)]
    )
    assert other.seconds(expected_work.WAIT) == 0, "another thread computes"
    assert other.seconds(expected_work.COMPUTE) == pytest.approx(0.4, abs=0.002)


def test_a_call_in_which_nothing_happens_has_watts_of_its_own() -> None:
    """Three seconds in one call that shows nothing inside may be a pause: it is not taken to draw
    what the other work draws.
    """
    short = [(at, 9, "run") for at in range(0, 1000, 10)]
    found = busy([*short, (1000, 3000, "TFE_DeleteTensorHandle"), (4000, 9, "run")])
    assert found.seconds(expected_work.UNSEEN) == pytest.approx(3.0, abs=0.002)
    assert found.seconds(expected_work.HOST) == pytest.approx(1.0, abs=0.12)
    threads = busy(
        [(0, 3000, "TFE_DeleteTensorHandle")], [(at, 9, "other") for at in range(0, 3000, 50)]
    )
    assert threads.seconds(expected_work.UNSEEN) == 0, (
        "on another thread something begins and ends all the time"
    )


def test_a_checkpoint_is_no_computing() -> None:
    found = busy(
        [
            *[(at, 9, "dot.1") for at in range(0, 1000, 10)],
            (1000, 2000, "SaveV2:SaveV2"),
            (3000, 9, "dot.1"),
        ]
    )
    assert found.seconds(expected_work.UNSEEN) == pytest.approx(2.0, abs=0.002)
    assert found.seconds(expected_work.COMPUTE) == pytest.approx(0.9, abs=0.02)


def test_what_another_covers_is_taken_away() -> None:
    one = expected_work.Intervals(np.array([0, 50]), np.array([40, 90]))
    other = expected_work.Intervals(np.array([10, 30, 85]), np.array([20, 60, 99]))
    left = expected_work.minus(one, other)
    assert list(zip(left.start.tolist(), left.end.tolist(), strict=True)) == [
        (0, 10),
        (20, 30),
        (60, 85),
    ]
