"""Least squares that cannot go below zero."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.energy import nnls


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(6, 40))
def test_fit_satisfies_the_optimality_conditions(seed: int, unknowns: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    a, y = rng.normal(size=(rows, unknowns)), rng.normal(size=rows) * 10
    x = nnls.fit(a, y)
    gradient = a.T @ (y - a @ x)
    assert (x >= 0).all()
    scale = np.abs(a.T @ y).max() + 1
    assert (gradient <= 1e-6 * scale).all()  # no coefficient wants to grow
    assert (np.abs(gradient[x > 1e-9]) <= 1e-6 * scale).all()  # those that are free have arrived


def test_fit_finds_a_truth_that_is_positive() -> None:
    rng = np.random.default_rng(1)
    a = rng.random((200, 4))
    truth = np.array([90.0, 50.0, 0.0, 200.0])
    assert np.allclose(nnls.fit(a, a @ truth), truth, atol=1e-6)


def test_weights_count_like_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    a, y = rng.random((20, 3)), rng.random(20)
    twice = np.concatenate([a, a[:5]]), np.concatenate([y, y[:5]])
    weights = np.where(np.arange(20) < 5, 2.0, 1.0)
    assert np.allclose(nnls.fit(a, y, weights), nnls.fit(*twice))


def test_many_answers_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    a, y = rng.normal(size=(50, 30, 4)), rng.normal(size=(50, 30))
    gram, moment = np.einsum("dnk,dnl->dkl", a, a), np.einsum("dnk,dn->dk", a, y)
    assert np.allclose(
        nnls.many(gram, moment),
        [nnls.solve(g, m) for g, m in zip(gram, moment, strict=True)],
        atol=1e-6,
    )


def test_quick_answers_have_no_negative_coefficient_and_nearly_the_best_fit() -> None:
    rng = np.random.default_rng(4)
    a, y = rng.normal(size=(200, 30, 4)), rng.normal(size=(200, 30))
    gram, moment = np.einsum("dnk,dnl->dkl", a, a), np.einsum("dnk,dn->dk", a, y)
    quick, exact = nnls.many(gram, moment, exact=False), nnls.many(gram, moment)
    assert (quick >= 0).all()
    cost = [
        np.einsum("dk,dkl,dl->d", x, gram, x) - 2 * np.einsum("dk,dk->d", x, moment)
        for x in (quick, exact)
    ]
    assert (cost[0] >= cost[1] - 1e-6).all()
    assert np.mean(cost[0] - cost[1] < 0.05 * np.abs(cost[1]) + 1e-6) > 0.9


def test_a_column_of_zeros_gets_no_watts() -> None:
    gram = np.array([[[2.0, 0.0], [0.0, 0.0]]])
    assert nnls.many(gram, np.array([[4.0, 0.0]])).tolist() == [[2.0, 0.0]] or np.allclose(
        nnls.many(gram, np.array([[4.0, 0.0]])), [[2.0, 0.0]], atol=1e-6
    )


def test_a_stack_is_solved_as_each_for_itself() -> None:
    rng = np.random.default_rng(1)
    for count in (2, 4, 6):
        a = rng.random((200, 30, count)) * rng.integers(0, 2, (200, 1, count))
        y = rng.normal(size=(200, 30)) + a @ np.where(rng.random(count) < 0.5, -1.0, 1.0)
        gram, moment = a.transpose(0, 2, 1) @ a, (a.transpose(0, 2, 1) @ y[..., None])[..., 0]
        alone = [
            nnls.solve(one + 1e-9 * one.max() * np.eye(count), other)
            for one, other in zip(gram, moment, strict=True)
        ]
        np.testing.assert_allclose(nnls.many(gram, moment), alone, atol=1e-6)
