"""Which launches of JAX are those of one operation, and which of a function of the program."""

from __future__ import annotations

import pytest

from powertui.data.jax_ops import is_single_operation


@pytest.mark.parametrize(
    "name",
    [
        "PjitFunction(dot_general)",
        "PjitFunction(matmul)",
        "PjitFunction(_einsum)",
        "PjitFunction(_threefry_seed)",
        "jit_convert_element_type",
        "jit(log)",
    ],
)
def test_operations_of_the_library(name: str) -> None:
    assert is_single_operation(name)


@pytest.mark.parametrize(
    "name",
    [
        "PjitFunction(train_step)",
        "PjitFunction(_update)",
        "PjitFunction(gradient)",  # also in jax.numpy, and a good name for a step
        "jit_log_metrics",
        "jit",
        "matmul",
        "",
    ],
)
def test_functions_of_a_program(name: str) -> None:
    assert not is_single_operation(name)
