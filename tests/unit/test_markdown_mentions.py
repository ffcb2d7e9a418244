"""Markdown for a pull request calls nobody: a name in a trace is no person."""

from __future__ import annotations

import pytest

from powertui.report import text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("@torch.compile", "@\u200btorch.compile"),
        ("user@host", "user@\u200bhost"),
        ("fusion #12", "fusion \\#\u200b12"),
        ("a @ b", "a @ b"),
        ("# 12", "\\# 12"),
    ],
)
def test_a_name_calls_no_person_and_no_thread(name: str, shown: str) -> None:
    assert text.markdown_text(name) == shown
    # As a cell of a table, too.
    assert text.markdown(["op"], [[name]])[2] == f"| {shown} |"
