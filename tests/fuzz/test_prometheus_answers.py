"""Fewer answers than `python -m tests.fuzz.prometheus_answers 100000`, of the same generator."""

from __future__ import annotations

from tests.fuzz import prometheus_answers


def test_no_reading_of_a_broken_server_is_one_that_it_does_not_hold():
    outcomes = prometheus_answers.run_live(600, seed=20)
    assert outcomes["wrong"] == 0
    assert outcomes["answers"] == 600
    assert outcomes["right"] > 1000
    assert outcomes["gap"] > 200


def test_no_power_of_a_run_is_made_of_a_broken_answer():
    outcomes = prometheus_answers.run_fetch(600, seed=21)
    assert outcomes["wrong"] == outcomes["no sentence"] == 0
    assert outcomes["answers"] == 600
    assert outcomes["right"] > 1000
    assert outcomes["refused"] > 100
