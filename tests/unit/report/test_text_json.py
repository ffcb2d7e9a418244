"""JSON for scripts: any value that the library writes, quickly, a row of a table a line."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from powertui.report import text

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
inside = st.text(max_size=4)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(inside, inner)
    ),
)


def as_lists(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    return None if value != value or value in (float("inf"), float("-inf")) else value


@given(values)
def test_it_reads_back_as_what_was_written(value: Any) -> None:
    written = text.to_json(value)
    assert json.loads(written, parse_constant=lambda name: 1 / 0) == as_lists(value)
    assert written.isascii()


def test_a_row_of_plain_values_is_a_line() -> None:
    value = {
        "runs": [
            {
                "name": "a",
                "rows": [{"x": 1, "y": None}, {"x": 2, "y": "é"}],
                "hosts": [],
                "power": ["p"],
            }
        ]
    }
    assert text.to_json(value).splitlines() == [
        "{",
        ' "runs": [',
        "  {",
        '   "name": "a",',
        '   "rows": [',
        '    {"x": 1, "y": null},',
        '    {"x": 2, "y": "\\u00e9"}',
        "   ],",
        '   "hosts": [],',
        '   "power": ["p"]',
        "  }",
        " ]",
        "}",
    ]
