"""What is known around a profile: which one should be open, step numbers between records, and
moving from axis to axis.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.model import PS_PER_NS, PS_PER_S, Epoch, Epochs, Run
from powertui.terminal import glyphs
from powertui.view import surroundings as places
from powertui.view.curve import sparkline
from powertui.view.navigation import Navigator
from powertui.view.step_curve import curve_of_means, curve_of_points
from powertui.view.surroundings import (
    LabelledSpan,
    ProfiledStretch,
    StepNumbers,
    Surroundings,
)
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import moment_words, ticks
from powertui.widgets.step_lane import round_numbers
from tests.synthetic import traces

S = PS_PER_S


def training(*bounds: tuple[int, int], here: int = 0, zero_ns: int = 0) -> Surroundings:
    profiles = tuple(
        ProfiledStretch(f"session {i}", lo * S, hi * S, key=(str(i), ""))
        for i, (lo, hi) in enumerate(bounds)
    )
    return Surroundings((-100 * S, 900 * S), profiles, here, key="one", zero_ns=zero_ns)


def view(lo: float, hi: float, width: int = 100) -> Viewport:
    return Viewport.whole_of((-100 * S, 900 * S), width).fit(round(lo * S), round(hi * S))


def test_the_profile_under_the_cursor_is_wanted_and_a_narrow_one_is_not() -> None:
    found = training((0, 10), (50, 60), (300, 301))
    assert places.profile_to_open(found, view(-100, 900), 55 * S) is None
    assert places.profile_to_open(found, view(0, 70), 5 * S) is None
    assert places.profile_to_open(found, view(0, 70), 55 * S) == 1
    assert places.profile_to_open(found, view(48, 62), 49 * S) == 1
    assert places.profile_to_open(found, view(299, 302), 300 * S) == 2
    assert places.profile_to_open(found, view(500, 600), 550 * S) is None
    assert places.profile_to_open(replace(found, here=-1), view(500, 600), 290 * S) == 2


@pytest.mark.parametrize("length", [5, 6, 7, 8])
@pytest.mark.parametrize("shift", range(8))
def test_two_profiles_of_equal_width_never_take_turns(length: int, shift: int) -> None:
    """The grid of the other profile may give either of them a cell more or less."""
    found = training((0, length), (50, 50 + length))
    seen = view(-20 + shift / 8, 78 + shift / 8)
    other = places.profile_to_open(found, seen, 30 * S)
    if other is not None:
        moved = seen.pan(1)
        assert places.profile_to_open(replace(found, here=other), moved, 30 * S) is None


def test_numbers_between_two_records_are_interpolated_and_say_so() -> None:
    numbers = StepNumbers(np.array([0, 10, 20]) * 1_000_000_000, np.array([0, 100, 300]), 0)
    assert numbers.number_at(5 * S) == 50
    assert numbers.moment_of(100) == (10 * S, True)
    assert numbers.moment_of(200) == (15 * S, False)
    told = round_numbers(replace(training(), numbers=(numbers,)), view(0, 20))
    assert told
    for column, text in told:
        number = int(text.strip().removeprefix("~"))
        assert text.startswith("~") == (number not in (0, 100, 300))
        assert view(0, 20).column(numbers.moment_of(number)[0]) == column
    assert len(round_numbers(replace(training(), numbers=(numbers,)), view(0, 20))) < 12
    far = StepNumbers(np.array([0, 1000]) * 1_000_000_000, np.array([0, 10**9]), 0)
    assert len(round_numbers(replace(training(), numbers=(far,)), view(0, 0.001))) < 12


def test_scalars_of_an_epoch_stand_over_it_and_those_of_a_step_behind_it() -> None:
    at, values = np.array([10, 20, 30]) * S, np.array([1.0, 2.0, 3.0])
    after, ahead = curve_of_points(at, values), curve_of_means(at, values)
    assert [after.value(ps * S) for ps in (9, 10, 19, 25, 39)] == pytest.approx(
        [np.nan, 1, 1, 2, 3], nan_ok=True
    )
    assert [ahead.value(ps * S) for ps in (1, 9, 10, 29, 30)] == pytest.approx(
        [1, 1, 2, 3, np.nan], nan_ok=True
    )
    assert sparkline(after.envelope(np.arange(0, 50, 10) * S), glyphs.UNICODE).startswith(" ")


def _model(zero_s: int, found: Surroundings, path: str) -> TimelineModel:
    trace = replace(traces.training().traces[0], path=path)
    model = TimelineModel.from_run(Run("run", path, (trace,), (), ()))
    return model.within(replace(found, zero_ns=zero_s * PS_PER_S // PS_PER_NS))


def test_another_profile_of_the_training_takes_over_without_moving_the_view() -> None:
    first = _model(0, training((0, 10), (400, 410)), "a")
    second = _model(
        400, replace(training((-400, -390), (0, 10), here=1), span=(-500 * S, 500 * S)), "b"
    )
    assert second.axis_after(first) == 400 * S
    assert first.axis_after(first) is None
    navigator = Navigator(first, 100, 10)
    assert navigator.viewport == navigator.viewport.whole(), (
        "of several profiles the whole training is first"
    )
    navigator.goto(200 * S)
    assert navigator.next_profile(1) == 1
    seen = navigator.viewport
    assert seen.shows(405 * S)
    navigator.set_window(402 * S, 404 * S)
    navigator.move_to(second, 400 * S)
    assert (navigator.viewport.t0 + 400 * S) == pytest.approx(seen.t0, abs=seen.cell_ps)
    assert navigator.state.window == (2 * S, 4 * S)
    navigator.leave_profile()
    assert navigator.viewport.t1 - navigator.viewport.t0 >= 1000 * S


def test_the_cursor_stands_in_the_middle_whatever_was_read_first() -> None:
    """A training is drawn by its scalars until its profile is read, or at once with it: what a
    person sees then is the same.
    """
    first = _model(0, training((0, 10), (400, 410)), "a")
    second = _model(
        400, replace(training((-400, -390), (0, 10), here=1), span=(-600 * S, 500 * S)), "b"
    )
    late, at_once, moved = (Navigator(model, 100, 10) for model in (first, second, first))
    moved.move_time(3)
    for navigator in (late, at_once, moved):
        navigator.resize(100, 10)
    late.move_to(second, 400 * S)
    assert late.state.cursor_ps == at_once.state.cursor_ps
    assert at_once.state.cursor_ps == pytest.approx(-50 * S, abs=at_once.viewport.cell_ps)
    before = moved.state.cursor_ps
    moved.move_to(second, 400 * S)
    assert moved.state.cursor_ps == before - 400 * S, "where a person has put it, it stays"


def test_epochs_of_the_training_fill_in_what_the_profile_does_not_tell() -> None:
    own = Epochs((Epoch(1, None, None, "steps"),))
    told = Epochs(
        tuple(Epoch(n, n * 10, n * 10 + 9, "scalars", scalars=(("loss", 1.0),)) for n in range(3))
    )
    merged = replace(training(), epochs=told).epochs_with(own)
    assert [epoch.number for epoch in merged] == [1, 0, 2], (
        "the profile's own keep their places: its steps count them"
    )
    assert (merged[0].start, merged[0].end, merged[0].scalars) == (10, 19, (("loss", 1.0),))


def test_the_ruler_of_a_long_training_reads_like_a_clock() -> None:
    long = Viewport.whole_of((0, 7 * 86_400 * S), 120)
    texts = [tick.text for tick in ticks(long)]
    assert len(texts) > 3
    assert all(text.endswith(":00:00") for text in texts)
    assert next(tick.text for tick in ticks(view(-60, 60))).endswith("s")


def test_of_the_findings_outside_of_the_view_the_nearest_on_each_side_are_told() -> None:
    def found(lo: int, hi: int, *sizes: str) -> LabelledSpan:
        return LabelledSpan(lo * S, hi * S, ("text",), sizes)

    early, last, inside, next_one, late = (
        found(-90, -80, "+60 W"),
        found(-40, -30, "+58 W"),
        found(5, 8, "+55 W"),
        found(11, 25, "+59 W"),
        found(100, 120, "+61 W"),
    )
    longer_steps = found(12, 14)  # of time: a chart of watts has nothing to show of it
    beside = replace(
        training((0, 10)), findings=(early, late, inside, longer_steps, next_one, last)
    )
    assert list(beside.findings_beside(0, 10 * S)) == [(last, False), (next_one, True)]
    assert list(beside.findings_beside(-100 * S, 900 * S)) == []


@pytest.mark.parametrize(
    ("at_s", "length_s", "words"),
    [(11.41, 14.0, "11s"), (15.77, 2.5, "15.8s"), (4.8312, 0.5, "4.83s"), (-15.0, 20.0, "-15s")],
)
def test_a_moment_is_as_coarse_as_what_begins_then_is_long(
    at_s: float, length_s: float, words: str
) -> None:
    assert moment_words(round(at_s * S), round(length_s * S), view(-20, 40), 0) == words
    counted_from = round(at_s * S) - 3 * S
    assert moment_words(round(at_s * S), 20 * S, view(-20, 40), counted_from) == "3s"
