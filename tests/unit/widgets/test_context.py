"""What stands beside the timeline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import PS_PER_S, Badge
from powertui.view.context import Context
from powertui.view.context_lines import Section
from powertui.view.navigation import Navigator
from powertui.view.surroundings import LabelledSpan, Surroundings
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces
from tests.synthetic.traces import MS

MODEL = TimelineModel.from_run(traces.training())


def section(context: Context, title: str) -> dict[str, str]:
    found = [s for s in context.sections if s.title == title]
    assert len(found) == 1, [s.title for s in context.sections]
    return {fact.name: fact.value for fact in found[0].facts}


def at(ps: int, row: int = 0) -> Navigator:
    n = Navigator(MODEL, 100, 20)
    n.goto(ps)
    n.move_track(row)
    return n


def test_a_finding_under_the_cursor_is_told_with_its_longest_text() -> None:
    finding = LabelledSpan(20 * MS, 30 * MS, ("+59 W for 10 ms, +0.6 J", "+59 W"))
    model = MODEL.within(Surroundings(MODEL.span, findings=(finding,)))

    def found(at_ps: int) -> str | None:
        n = Navigator(model, 100, 20)
        n.goto(at_ps)
        return section(Context.for_state(model, n.state), "cursor").get("found")

    assert found(25 * MS) == "+59 W for 10 ms, +0.6 J"
    assert found(35 * MS) is None


def test_run_cursor_and_step() -> None:
    n = at(25 * MS)
    context = Context.for_state(MODEL, n.state)
    assert section(context, "run") == {
        "run": "synthetic",
        "host": "vm",
        "devices": "/device:GPU:0",
        "events": "109",
        "duration": "239 ms",
    }
    assert section(context, "cursor")["epoch"] == "0"
    assert section(context, "cursor")["loss"] == "0.5"
    step = section(context, "step")
    assert step == {
        "step": "1",
        "name": "train 1",
        "start": "0.02200s",
        "step time": "19 ms",
        "to next": "20 ms",
    }


def test_between_steps_the_last_one_still_counts_and_before_the_first_none() -> None:
    assert section(Context.for_state(MODEL, at(41 * MS + MS // 2).state), "step")["step"] == "1"
    assert (
        not any(s.title == "step" for s in Context.for_state(MODEL, at(0).state).sections)
        or MODEL.steps.start[0] <= at(0).state.cursor_ps
    )


def test_a_selected_event_with_its_self_time() -> None:
    n = at(2 * MS)
    n.set_hits(MODEL.search("train 0"))
    n.next_hit(1)
    event = section(Context.for_state(MODEL, n.state), "selected")
    assert event["name"] == "train 0"
    assert event["duration"] == "19 ms"
    assert event["self"] == "4 ms", "19 less the 3 and 12 of its children"


def test_what_is_under_the_cursor() -> None:
    n = at(8 * MS)
    row = next(i for i, r in enumerate(n.rows) if r.label.startswith("Stream #13"))
    n.move_track(row)
    n.clear()
    n._set(selection=None)
    under = section(Context.for_state(MODEL, n.state), "under the cursor")
    assert under["mostly"] == "volta_sgemm_128x64_nn"
    n.goto(3 * MS)
    n._set(selection=None)
    assert (
        section(Context.for_state(MODEL, n.state), "under the cursor")["events"]
        == "none in this cell"
    )


def test_a_window_holds_steps_events_and_how_busy() -> None:
    n = at(0)
    n.set_window(22 * MS, 62 * MS)
    window = section(Context.for_state(MODEL, n.state), "window")
    assert window["length"] == "40 ms"
    assert window["steps"] == "2 (1 to 2)"
    assert window["events"] == "18"
    assert window["/device:GPU:0"] == "busiest line 65 %"


def test_energy_is_shown_with_its_badge_or_with_the_reason_why_not() -> None:
    n = at(0)
    slow = traces.power(
        np.arange(0, 10, dtype=np.int64) * PS_PER_S, [250.0 + i % 3 for i in range(10)]
    )
    context = Context.for_state(MODEL, n.state, [slow])
    n.goto(30 * MS)
    context = Context.for_state(MODEL, n.state, [slow])
    assert "not resolved" in section(context, "step")["energy"], (
        "a sensor of one second says nothing of 19 ms"
    )
    fast = traces.power(
        np.arange(0, 300, dtype=np.int64) * MS, [100.0 + (i % 7) for i in range(300)]
    )
    context = Context.for_state(MODEL, n.state, [fast])
    step = next(s for s in context.sections if s.title == "step")
    energy = next(f for f in step.facts if f.name == "energy")
    assert energy.value.startswith("2.06"), (
        "a step lasts until the next one begins: 20 ms, not its marker's 19"
    )
    assert energy.value.split()[1] == "J"
    assert energy.badge in (Badge.MEASURED, Badge.ESTIMATED)
    cursor = next(
        f
        for s in context.sections
        if s.title == "cursor"
        for f in s.facts
        if f.name == "Total Power"
    )
    assert cursor.badge is Badge.MEASURED


def test_foreign_text_cannot_do_anything() -> None:
    n = at(0)
    n.set_hits(MODEL.search("evil"))
    n.next_hit(1)
    for part in Context.for_state(MODEL, n.state).sections:
        for fact in part.facts:
            assert fact.value.isprintable(), fact
    assert "[link=x]name[/]" in section(Context.for_state(MODEL, n.state), "selected")["name"]


def test_sections_without_facts_are_left_out() -> None:
    empty = TimelineModel.from_run(traces.run(traces.trace({})))
    context = Context.for_state(empty, Navigator(empty, 80, 5).state)
    assert all(isinstance(s, Section) and s.facts for s in context.sections)


def test_of_several_logs_it_says_which_leads_and_why() -> None:
    span = MODEL.trace.span
    times = np.linspace(span[0] - 1, span[1] + 1, 50).astype(np.int64)
    near, far = (
        traces.power(times, [200.0 + i % 3 for i in range(50)]),
        traces.power(times + 10 * span[1], [200.0] * 50),
    )
    paths = [
        replace(one, series=replace(one.series, path=path))
        for one, path in ((near, "a/near.csv"), (far, "a/far.csv"))
    ]
    told = section(Context.for_state(MODEL, at(0).state, paths), "cursor")
    assert (
        told["logs"]
        == "near.csv is the main log, not far.csv: the other does not overlap the profile"
    )
    assert "logs" not in section(Context.for_state(MODEL, at(0).state, paths[:1]), "cursor")
