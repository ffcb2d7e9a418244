"""Steps of programs whose course is known (tests/adversarial): each is told as it ran, or as what
nobody can know.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.formats import registry
from powertui.data.run import steps
from tests.adversarial import judged
from tests.adversarial.expected_failures import OPEN
from tests.adversarial.judged import ROWS


def listed(name: str) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=OPEN[name])] if name in OPEN else []
    return pytest.param(name, marks=marks, id=name)


@pytest.mark.parametrize("name", [listed(name) for name in ROWS])
def test_steps_are_told_as_they_ran(name: str, tmp_path: Path) -> None:
    assert judged.wrong(ROWS[name], tmp_path) == []


@pytest.mark.parametrize("name", [listed(name) for name in ROWS])
def test_the_json_of_the_same_program_tells_the_same(name: str, tmp_path: Path) -> None:
    assert judged.wrong(ROWS[name], tmp_path, json=True) == []


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("random")])
def test_what_else_could_mark_the_steps_can_be_chosen(name: str, tmp_path: Path) -> None:
    """The pattern that is told for a marker chooses it, and it then gives as many steps as were
    told.
    """
    trace = registry.read(ROWS[name].programs()[0].write(tmp_path))
    for marker in steps.find_steps(trace).markers:
        assert len(steps.find_steps(trace, marker=marker.pattern)) == marker.count


def test_the_table_covers_its_subjects() -> None:
    assert len(ROWS) >= 60
    assert set(OPEN) <= set(ROWS)
    assert sum(bool(row.cannot) for row in ROWS.values()) >= 5
