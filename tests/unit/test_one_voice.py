"""Two pages that speak of one thing say the same: the overview, the first glance, the sentences."""

from __future__ import annotations

from pathlib import Path

from powertui.data.asked import Aligning
from powertui.data.opened import Opened
from powertui.data.overview import overview_page
from powertui.data.overview.at_a_glance import at_a_glance
from powertui.data.table import Result
from powertui.data.tools.registry import Question
from tests.synthetic import torch_json
from tests.synthetic.torch_json import event

_MS = 1_000  # µs


def _overview(run: Opened) -> Result:
    return overview_page.answer(Question(run, aligning=Aligning()))


def _categories(page: Result) -> list[str]:
    table = next(table for table in page.tables if table.id == "summary")
    return [str(value) for value in table.columns[0].values]


def _marked(events: list[dict[str, object]], steps: int, length: float, at: float = 0.0) -> None:
    for step in range(steps):
        begin = at + step * length * _MS
        mark = ("user_annotation", f"ProfilerStep#{step}", begin, length * _MS)
        events.append(event(mark))
        events.append(event(("cpu_op", "aten::mm", begin, length * _MS)))


def test_where_no_input_was_recorded_no_page_says_that_it_took_no_time(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    _marked(events, 10, 10.0)
    run = torch_json.write(tmp_path, events)
    glance = at_a_glance(run, Aligning())
    assert glance is not None
    assert glance.input == "none recorded"
    assert "Input" not in _categories(_overview(run))


def test_shares_of_steps_say_how_little_of_the_profile_these_are(tmp_path: Path) -> None:
    """Nine seconds of which nothing was recorded, then ten steps of 10 ms."""
    events: list[dict[str, object]] = [event(("cpu_op", "aten::zeros", 0.0, 1 * _MS))]
    _marked(events, 10, 10.0, at=9_000.0 * _MS)
    notes = _overview(torch_json.write(tmp_path, events)).notes
    assert "The steps are 1.1 % of the profile: shares of a step are of that alone." in notes


def test_steps_that_are_most_of_the_profile_need_no_such_note(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    _marked(events, 10, 10.0)
    notes = _overview(torch_json.write(tmp_path, events)).notes
    assert not any("of the profile" in note for note in notes)
