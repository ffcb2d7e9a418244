"""What ran, exclusively, and its shares of a sensor's windows."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import predict
from powertui.data.formats import registry
from powertui.data.model import Trace
from tests.synthetic import COLLECTIVES, COMPUTE, COPIES, Plan, build


def loaded(tmp_path, work) -> Trace:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(work.xplane())
    return list(registry.load(str(path)))[-1]


def test_the_kind_with_the_highest_number_hides_the_others() -> None:
    host = predict.Intervals(np.array([0]), np.array([100]))
    compute = predict.Intervals(np.array([20, 60]), np.array([40, 80]))
    edges, kind = predict.exclusive({predict.HOST: host, predict.COMPUTE: compute}, (0, 120))
    assert edges.tolist() == [0, 20, 40, 60, 80, 100, 120]
    H, C, I = predict.HOST, predict.COMPUTE, predict.IDLE  # noqa: E741
    assert kind.tolist() == [H, C, H, C, H, I]


def test_union_closes_what_overlaps_and_small_holes() -> None:
    part = predict.union(np.array([50, 0, 5, 20]), np.array([60, 10, 15, 30]), gap=5)
    assert list(zip(part.start.tolist(), part.end.tolist(), strict=True)) == [(0, 30), (50, 60)]


def test_activity_of_a_device_is_what_the_workload_did(tmp_path) -> None:
    work = build(3, Plan(seconds=6, epochs=1, validation_s=0.5))
    (found,) = predict.activities(loaded(tmp_path, work))
    length = np.diff(work.edges)
    inside = (work.edges[:-1] >= 0) & (work.edges[1:] <= work.span[1])
    for truth, kind in ((COPIES, predict.COPIES), (COLLECTIVES, predict.COLLECTIVES), (COMPUTE, predict.COMPUTE)):
        assert abs(found.seconds(kind) - length[inside & (work.category == truth)].sum()) < 1e-3


def test_shares_of_any_window_add_up_and_match_the_truth(tmp_path) -> None:
    work = build(4, Plan(seconds=6, epochs=1))
    trace = loaded(tmp_path, work)
    table = predict.shares(predict.activities(trace), trace.span)
    rng = np.random.default_rng(0)
    lo = rng.uniform(-3, work.span[1] + 3, 400)
    hi = lo + rng.uniform(0.01, 1.0, 400)
    rows = table.rows(lo, hi)
    assert np.allclose(rows[:, 0], 1)
    outside = rows[:, table.names.index(predict.OUTSIDE)]
    first, last = table.span
    assert np.allclose(outside, (np.clip(first - lo, 0, hi - lo) + np.clip(hi - last, 0, hi - lo)) / (hi - lo), atol=1e-9)
    ran = np.where(work.category == COMPUTE, np.diff(work.edges), 0.0)
    truth = np.interp(hi, work.edges, np.r_[0, ran.cumsum()]) - np.interp(lo, work.edges, np.r_[0, ran.cumsum()])
    assert np.abs(rows[:, table.names.index("compute")] - truth / (hi - lo)).max() < 0.01


def test_training_outside_the_profile_is_the_profiles_own_mixture(tmp_path) -> None:
    work = build(5, Plan(seconds=6, epochs=1))
    trace = loaded(tmp_path, work)
    end = trace.span[1] + int(4e12)
    table = predict.shares(predict.activities(trace), trace.span, (trace.span[0], end))
    after = trace.span[1] / 1e12
    row = table.rows(np.array([after + 1]), np.array([after + 2]))[0]
    assert row[-1] == 0
    assert np.allclose(row[1:-1], table.mixture)
    assert table.rows(np.array([after + 5]), np.array([after + 6]))[0][-1] == 1
