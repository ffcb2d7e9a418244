"""Labels that are cut where they lose least."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from powertui.widgets.gutter import shortened
from powertui.widgets.time_lane import fit_middle, fit_text


@pytest.mark.parametrize(
    ("label", "width", "text"),
    [
        ("/device:GPU:0", 13, "/device:GPU:0"),
        ("/device:GPU:0", 8, "GPU:0   "),
        ("Stream #134(Compute)", 14, "#134(Compute) "),
        ("tf_Compute/5731218927", 14, "tf_Comput…8927"),
        ("TensorFlow Name Scope", 12, "TensorFlow …"),
    ],
)
def test_labels(label: str, width: int, text: str) -> None:
    assert shortened(label, width, "…").startswith(text.rstrip())
    assert cell_len(shortened(label, width, "…")) == width


@given(st.text("abcXYZ/#-_:019 äöß", max_size=40), st.integers(0, 30))
def test_a_cut_text_takes_exactly_its_cells(text: str, width: int) -> None:
    assert cell_len(fit_text(text, width)) == width
    assert cell_len(fit_middle(text, width)) == width
    assert cell_len(shortened(text, width, "…")) == width


@given(st.text("日本語のab1", max_size=30), st.integers(0, 30))
def test_wide_characters_are_never_cut_in_half(text: str, width: int) -> None:
    assert cell_len(fit_text(text, width)) == width
    assert cell_len(fit_middle(text, width)) == width
