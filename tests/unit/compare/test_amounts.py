"""Differences as a person reads them."""

from __future__ import annotations

import pytest

from powertui.data.compare.amounts import signed_percent


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "+0"),
        (7e-8, "+0"),
        (-1.2e-7, "+0"),
        (0.0312, "+3.12"),
        (-0.5, "-50"),
        (23.04, "+2,304"),
    ],
)
def test_a_share_is_neither_rounding_nor_a_power_of_ten(share: float, words: str) -> None:
    assert signed_percent(share) == words
