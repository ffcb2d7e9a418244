"""Every rule of the smart suggestions: fired, just not, and silent where a signal is not known."""

from __future__ import annotations

import pytest

from powertui.data.tools import suggestions
from powertui.data.tools.suggestions import Signals

# What makes each rule fire, alone.
FIRED = {
    "input_bound": Signals(input=0.11),
    "data_transfer": Signals(input=0.11, transfer=0.51),
    "host_processing": Signals(input=0.11, transfer=0.29),
    "collective_bound": Signals(collectives=0.30),
    "data_shuffle": Signals(shuffles=0.30),
    "memory_bound": Signals(memory=0.71, arithmetic=0.49),
    "compute_bound": Signals(memory=0.49, arithmetic=0.71),
    "tensor_core_idle": Signals(core_idle=0.10),
    "sparse_core_bound": Signals(sparse=0.10),
    "sparse_core_offload": Signals(async_done=0.11, memory_used=0.49),
    "barrier_cores": Signals(barrier=0.10),
    "infeed": Signals(infeed=0.05),
    "host_cpu_bound": Signals(infeed=0.05, enqueue=0.10),
    "debug_print": Signals(printing=0.05),
    "special_op": Signals(special=("dot", 0.10)),
}
# … and what just does not.
QUIET = {
    "input_bound": [Signals(input=0.10), Signals(input=0.11, transfer=0.3)],
    "data_transfer": [
        Signals(input=0.10, transfer=0.9),
        Signals(input=0.5, transfer=0.29),
        Signals(transfer=0.9),
    ],
    "host_processing": [
        Signals(input=0.10, transfer=0.1),
        Signals(input=0.5, transfer=0.51),
        Signals(input=0.9),
    ],
    "collective_bound": [Signals(collectives=0.2999)],
    "data_shuffle": [Signals(shuffles=0.2999)],
    "memory_bound": [
        Signals(memory=0.69, arithmetic=0.49),
        Signals(memory=0.71, arithmetic=0.51),
        Signals(memory=0.9),
    ],
    "compute_bound": [
        Signals(memory=0.51, arithmetic=0.71),
        Signals(memory=0.49, arithmetic=0.69),
        Signals(arithmetic=0.9),
    ],
    "tensor_core_idle": [Signals(core_idle=0.0999)],
    "sparse_core_bound": [Signals(sparse=0.0999)],
    "sparse_core_offload": [
        Signals(async_done=0.10, memory_used=0.1),
        Signals(async_done=0.5, memory_used=0.5),
    ],
    "barrier_cores": [Signals(barrier=0.0999)],
    "infeed": [Signals(infeed=0.0499)],
    "host_cpu_bound": [
        Signals(infeed=0.0499, enqueue=0.9),
        Signals(infeed=0.9, enqueue=0.0999),
        Signals(enqueue=0.9),
    ],
    "debug_print": [Signals(printing=0.0499)],
    "special_op": [Signals(special=("dot", 0.0999))],
}


def test_every_rule_is_in_both_lists() -> None:
    assert len(FIRED) == len(suggestions.RULES)
    assert FIRED.keys() == QUIET.keys()


@pytest.mark.parametrize("rule", FIRED)
def test_a_rule_fires(rule: str) -> None:
    found = {one.id for one in suggestions.matching_advice(FIRED[rule])}
    assert rule in found
    assert found - {rule} <= {"infeed"} if rule == "host_cpu_bound" else found == {rule}


@pytest.mark.parametrize("rule", QUIET)
def test_a_rule_keeps_quiet(rule: str) -> None:
    for signals in (*QUIET[rule], Signals()):
        assert rule not in {one.id for one in suggestions.matching_advice(signals)}
