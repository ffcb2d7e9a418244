"""The figures of a run in a row: each is told once, with its error."""

from __future__ import annotations

import re

import pytest

from powertui.data.model import Badge
from powertui.data.table import Fact
from powertui.html.key_figures import key_figures


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        (Fact("energy", "energy", 5164.2, "number", "J", None, 5148.2, 5180.2), "5,164 J ± 16"),
        (
            Fact(
                "epoch_difference_joules",
                "epoch 1 less epoch 0",
                130.8,
                "number",
                "J",
                Badge.MEASURED,
                102.8,
                158.7,
                signed=True,
            ),
            "+131 J ± 28 measured",
        ),
        # As large an error as the energy: only the bound is known, and it is told once.
        (Fact("step_joules", "a step", 20.0, "number", "J", None, -4.0, 44.0), "≤ 44 J"),
        (Fact("mean", "mean power", 212.0, "number", "W", None, 210.0, 214.0), "212 W ± 2 W"),
    ],
)
def test_a_figure_stands_once_with_its_error(fact: Fact, told: str) -> None:
    row = key_figures([fact])
    assert row is not None
    words = re.sub(r"<dt>.*?</dt>", "", str(row))
    assert " ".join(re.sub(r"<[^>]*>", " ", words).split()) == told
