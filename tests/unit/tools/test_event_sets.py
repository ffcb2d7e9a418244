"""Events by name as sets, against numpy on the plain list of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui import cli, demo
from powertui.data import logdir
from powertui.data.model import TrackKind
from powertui.data.opened import Opened
from powertui.data.tools import event_sets, registry
from powertui.data.tools.registry import Question
from powertui.view.alike_events import alike_facts
from tests import answers
from tests.synthetic import traces

EVENTS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 20), st.sampled_from("abc")),
    min_size=1,
    max_size=30,
)


@given(EVENTS, st.integers(0, 40), st.integers(1, 30))
def test_every_figure_is_that_of_the_events_that_touch_the_window(
    events: list[tuple[int, int, str]], lo: int, length: int
) -> None:
    trace = traces.trace({("/host:CPU", "t"): events})
    found = event_sets.event_sets(trace, lo, lo + length)
    rows = {trace.names.full(int(name)): row for row, name in enumerate(found.name)}
    for name in "abc":
        mine = [
            (s, d)
            for s, d, n in events
            if n == name and s < lo + length and (s + d > lo or s >= lo)
        ]
        if not mine:
            assert name not in rows
            continue
        row, lengths = rows[name], np.array([d for _, d in mine])
        assert (found.count[row], found.total[row]) == (len(mine), lengths.sum())
        assert (found.shortest[row], found.longest[row]) == (lengths.min(), lengths.max())
        assert found.mean[row] == pytest.approx(lengths.mean())
        assert found.percentiles[row] == pytest.approx(
            np.percentile(lengths, event_sets.PERCENTILES)
        )
        assert (found.first[row], found.last[row]) == (
            min(s for s, _ in mine),
            max(s for s, _ in mine),
        )
        if len(mine) > 1:
            assert found.deviation[row] == pytest.approx(lengths.std(ddof=1))
        else:
            assert np.isnan(found.deviation[row])


@given(EVENTS, st.integers(1, 8))
def test_groups_that_are_sorted_apart_come_to_the_same(
    events: list[tuple[int, int, str]], size: int
) -> None:
    trace = traces.trace({("/host:CPU", "t"): events})
    whole = event_sets.event_sets(trace, 0, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_sets, "_AT_ONCE", size)
        parts = event_sets.event_sets(trace, 0, 100)
    for column in (
        "name",
        "count",
        "total",
        "shortest",
        "longest",
        "deviation",
        "percentiles",
        "first",
        "last",
    ):
        np.testing.assert_array_equal(getattr(whole, column), getattr(parts, column))


def test_names_that_match_are_one_set_too(capsys: pytest.CaptureFixture[str]) -> None:
    opened = Opened(logdir.scan(str(demo.folder())).runs[0])
    result = registry.get("event_sets").answer(Question(opened, match="^Iterator"))
    rows = answers.rows(result["event_sets"])
    assert rows
    assert all(row["full_name"].startswith("Iterator") for row in rows)
    facts = {fact.id: fact.value for fact in result.facts}
    assert facts["count"] == sum(row["count"] for row in rows)
    assert facts["first"] == round(min(row["first_s"] for row in rows) * 1e12)
    assert (
        cli.main(["report", str(demo.folder()), "--tool", "event_sets", "--match", "no such name"])
        == 0
    )
    assert "events that match  0" in capsys.readouterr().out


def test_a_row_leads_to_the_longest_one(data: Path) -> None:
    opened = Opened(logdir.scan(str(data / "logdirs")).runs[0])
    table = registry.get("event_sets").answer(Question(opened))["event_sets"]
    tracks = [track for _, track in opened.profiles[0].trace.tracks()]
    for row in range(0, len(table), 7):
        place = table.place(row)
        assert place is not None
        assert place.track is not None
        assert place.event is not None
        events = tracks[place.track].events
        assert events.duration[place.event] == table["max_s"].value(row)
        assert opened.profiles[0].trace.names.full(int(events.name[place.event])) == table[
            "full_name"
        ].value(row)
        assert tracks[place.track].kind is not TrackKind.STEPS


def test_the_pane_beside_the_timeline_tells_of_the_selected_events_set() -> None:
    ms = 10**9
    trace = traces.trace(
        {
            ("/host:CPU", "t"): [
                (0, ms, "a"),
                (2 * ms, 3 * ms, "a"),
                (6 * ms, 0, "b"),
                (7 * ms, 0, "b"),
            ]
        }
    )
    names = {trace.names.full(i): i for i in range(len(trace.names))}
    told = dict(alike_facts(trace, names["a"], (0, 10 * ms)))
    assert told == {
        "alike": "2, in all 4 ms",
        "average": "2 ms ± 1.414 ms",
        "range": "1 ms to 3 ms",
        "half": "shorter than 2 ms",
        "95 %": "shorter than 2.9 ms",
        "first": "0.000000s",
        "last": "0.002000s",
    }
    assert alike_facts(trace, names["b"], (0, 10 * ms)) == (("alike", "2 without length"),)
    assert alike_facts(trace, names["a"], (0, ms)) == ()  # one alone is no set


def test_a_window_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(demo.folder())
    assert (
        cli.main(
            ["report", path, "--tool", "event_sets", "--from", "10s", "--to", "10.5s", "--json"]
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    opened = Opened(logdir.scan(path).runs[0])
    s = 10**12
    expected = registry.get("event_sets").answer(Question(opened, 0, 10 * s, 10 * s + s // 2))
    assert answers.told(told, "event_sets") == answers.rows(expected["event_sets"])
    assert (
        0
        < len(expected["event_sets"])
        < len(registry.get("event_sets").answer(Question(opened))["event_sets"])
    )
    for wrong in (("--from", "soon"), ("--from", "3s", "--to", "2s")):
        assert cli.main(["report", path, "--tool", "event_sets", *wrong]) == 2
        said = capsys.readouterr().err
        assert "is not a time" in said or "This window" in said


def test_older_names_of_tools_are_understood() -> None:
    assert registry.get("tensorflow_stats") is registry.get("framework_op_stats")
