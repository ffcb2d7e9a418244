"""What makers of conclusions ask of a run: what time and energy cost beside all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from powertui.data.asked import Aligning
from powertui.data.conclusions.conclusion import Cost
from powertui.data.conclusions.inquiry import Inquiry
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs
_PS_PER_MS = 10**9


@pytest.fixture(scope="module")
def inquiry(tmp_path_factory: pytest.TempPathFactory) -> Inquiry:
    """Ten steps of 100 ms."""
    steps = [
        event(("user_annotation", f"ProfilerStep#{step}", step * 100 * _MS, 100 * _MS))
        for step in range(10)
    ]
    return Inquiry.of_run(torch_json.write(tmp_path_factory.mktemp("run"), steps), Aligning())


def test_time_costs_seconds_and_a_share_of_the_run(inquiry: Inquiry) -> None:
    assert inquiry.length_ps == 1_000 * _PS_PER_MS
    cost = inquiry.cost_of_time(250 * _PS_PER_MS, step_share=0.5)
    assert cost == Cost(seconds=0.25, share=0.25, step_share=0.5)


def test_energy_costs_a_share_only_where_the_joules_of_the_run_are_known(inquiry: Inquiry) -> None:
    assert inquiry.joules is None
    assert inquiry.cost(0.1, 50.0) == Cost(seconds=0.1, share=0.1, joules=50.0)
    assert inquiry.cost(None, None) == Cost()


def test_of_a_window_time_is_a_share_of_the_window_and_only_its_steps_are_asked(
    inquiry: Inquiry,
) -> None:
    lo = inquiry.profile.trace.span[0]
    window = Inquiry(replace(inquiry.question, lo=lo, hi=lo + 200 * _PS_PER_MS))
    assert window.length_ps == 200 * _PS_PER_MS
    assert window.cost_of_time(50 * _PS_PER_MS).share == pytest.approx(0.25)
    assert len(window.steps.length) == 2
    assert len(inquiry.steps.length) == 10
    last = Inquiry(replace(inquiry.question, lo=lo + 700 * _PS_PER_MS))  # to the end
    assert len(last.steps.length) == 3
