"""Boxes of foreign power in readings: edges and heights of the load, not of the sensor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy.findings import (
    added_bursts,
    could_find,
    edges,
    expected_power,
    open_ends,
    random_draws,
    stretch_search,
)
from powertui.data.energy.findings.finding_rules import SHORTEST_S, same_stretch
from powertui.data.energy.findings.power_stretch import Box, one_load
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import residual_noise
from scripts.random_draws import made_draws


def readings(
    length: float,
    width: float,
    pace: float,
    loads: list[tuple[float, float, float]],
    *,
    noise: float = 0.5,
    seed: int = 0,
) -> SensorReadings:
    """A sensor that averages over `width`, read every `pace`, of a machine at 200 W with such
    (start, end, watts) on top.
    """
    hi = np.arange(width, length, pace)
    watts = 200 + noise * np.random.default_rng(seed).standard_normal(len(hi))
    for start, end, load in loads:
        watts += (
            load * np.clip(np.minimum(hi, end) - np.maximum(hi - width, start), 0, None) / width
        )
    flat = np.full(len(hi), 200.0)
    return SensorReadings(
        hi - width, hi, watts, flat, flat, np.full(len(hi), 0.2), np.ones(len(hi), np.bool_), 0.0
    )


@pytest.mark.parametrize(
    ("width", "pace"), [(0.025, 0.1), (0.1, 0.1), (0.5, 0.5), (1.0, 1.0), (1.0, 0.1), (3.0, 3.0)]
)
@pytest.mark.parametrize("load", [(20.33, 28.7, 40.0), (11.2, 24.9, -35.0)])
def test_the_edges_and_watts_are_those_of_the_load(
    width: float, pace: float, load: tuple[float, float, float]
) -> None:
    (box,) = stretch_search.find_stretches(readings(60, width, pace, [load]))[0]
    assert box.start_within[0] - 0.01 <= load[0] <= box.start_within[1] + 0.01
    assert box.end_within[0] - 0.01 <= load[1] <= box.end_within[1] + 0.01
    assert abs(box.start - load[0]) <= max(width, pace)
    assert abs(box.end - load[1]) <= max(width, pace)
    assert box.watts == pytest.approx(load[2], rel=0.1)
    assert box.lo_watts < load[2] < box.hi_watts
    assert box.joules == pytest.approx(load[2] * (load[1] - load[0]), rel=0.05)


def test_a_load_shorter_than_the_window_is_known_by_its_energy() -> None:
    (box,) = stretch_search.find_stretches(readings(60, 3.0, 3.0, [(31.0, 32.0, 60.0)]))[0]
    assert box.lo_joules < 60 < box.hi_joules
    assert box.lo_watts < 60 < box.hi_watts
    assert box.hi_watts > 2 * box.lo_watts  # how high it was, no such sensor can tell


@pytest.mark.parametrize("start", [20.05, 20.13, 20.3])
@pytest.mark.parametrize("length", [0.1, 0.25, 0.5])
def test_no_stretch_is_shorter_than_what_a_reading_tells_of(start: float, length: float) -> None:
    """Its watts are its joules over that long.

    They were those of a stretch of 0.2 s: 116 W for a load of 50.
    """
    (box,) = stretch_search.find_stretches(
        readings(60, 0.5, 0.5, [(start, start + length, 60.0 / length * 0.5)])
    )[0]
    assert box.end - box.start >= 0.5 - 1e-9
    assert box.watts * (box.end - box.start) == pytest.approx(box.joules, rel=0.35)
    assert box.start_within[0] <= box.start
    assert box.end_within[1] >= box.end
    assert box.lo_watts < 60 / length * 0.5 < box.hi_watts


@pytest.mark.parametrize(
    ("width", "start", "length", "watts", "seed"),
    [
        (3.0, 20.331, 0.434, 40.0, 269),
        (3.0, 24.068, 1.473, 40.0, 97),
        (1.0, 22.872, 0.891, 20.0, 208),
    ],
)
def test_the_watts_hold_for_the_load_and_for_the_stretch_that_is_told(
    width: float, start: float, length: float, watts: float, seed: int
) -> None:
    """A slow sensor leaves the edges open: the stretch that is told may reach beyond the load, and
    draws less than it.
    """
    (box,) = stretch_search.find_stretches(
        readings(60, width, width, [(start, start + length, watts)], noise=1.0, seed=seed)
    )[0]
    over = min(box.end, start + length) - max(box.start, start)
    assert box.lo_watts < watts * over / (box.end - box.start) < box.hi_watts
    assert box.lo_watts < watts < box.hi_watts


def test_a_fit_that_a_long_load_lifted_is_seen_beside_it() -> None:
    """What is expected lies 8 W too high: then the load is not 8 W less."""
    one = readings(30, 0.1, 0.1, [(12.0, 20.0, 25.0)])
    lifted = replace(one, floor=one.floor + 8.0, ceiling=one.ceiling + 8.0)
    box = max(stretch_search.find_stretches(lifted)[0], key=lambda found: found.joules)
    assert box.watts == pytest.approx(25, abs=1.5)
    assert box.lo_watts < 25 < box.hi_watts


def test_the_rest_of_a_load_is_no_level_beside_a_part_of_it() -> None:
    one = readings(30, 0.1, 0.1, [(12.0, 20.0, 25.0)])
    box = edges.box(
        one, 140, 160, residual_noise(one.beyond()[:100], 0.3), np.zeros(len(one)), 1e-9
    )
    assert box is not None
    assert box.watts == pytest.approx(25, rel=0.1)


def test_moments_in_which_the_machine_paused_pull_no_watts() -> None:
    """A sensor of moments meets a pause of a step now and then: in a burst as beside it."""
    told = []
    for seed in range(5):
        one = readings(18, 0.04, 0.04, [(6.4, 7.4, 50.0)], noise=2.0)
        pauses = np.random.default_rng(seed).random(len(one)) < 0.05
        box = max(
            stretch_search.find_stretches(
                replace(one, watts=one.watts - np.where(pauses, 44.0, 0.0))
            )[0],
            key=lambda found: found.joules,
        )
        told.append(box.watts)
        assert box.lo_watts < 50 < box.hi_watts
    assert np.mean(told) == pytest.approx(50, abs=2)


def test_a_load_that_meets_the_same_parts_of_steps_is_not_learnt_as_what_a_step_draws() -> None:
    at = np.arange(0, 45, 0.04)
    start = np.arange(0, 45, 0.08)  # every second reading meets the same part …
    start[280:380] += 0.02  # … and for eight seconds others
    end = np.append(start[1:], start[-1] + 0.08)
    burst = (at > 22.4) & (at < 30.4)
    learnt = expected_power.course_of_steps(np.where(burst, 50.0, 0.0), at, at + 0.002, start, end)
    assert np.abs(learnt).max() < 5
    own = np.where(
        ((at - 0.001) // 0.04).astype(int) % 2 == 0, 10.0, 0.0
    )  # what the parts themselves draw is learnt
    assert (
        np.abs(own - expected_power.course_of_steps(own, at, at + 0.002, start, end))[~burst].mean()
        < 2
    )


def test_two_loads_with_a_pause_are_two() -> None:
    found = stretch_search.find_stretches(readings(60, 0.5, 0.5, [(10, 14, 70.0), (20, 26, 40.0)]))[
        0
    ]
    assert [round(box.watts, -1) for box in found] == [70, 40]


@pytest.mark.parametrize("seed", range(6))
def test_a_load_that_falters_for_one_reading_is_one_load(seed: int) -> None:
    """On a restless machine: half of the load must not count as the noise that hides the other
    half.
    """
    one = readings(18, 0.1, 0.1, [(10.2, 12.5, 52.0)], noise=3.0, seed=seed)
    drifts = 5 * np.interp(
        one.hi, np.arange(0, 18, 0.5), np.random.default_rng(seed).standard_normal(36)
    )
    dip = np.where(np.arange(len(one)) == np.searchsorted(one.hi, 11.35), 32.0, 0.0)
    (box, *others) = sorted(
        stretch_search.find_stretches(replace(one, watts=one.watts + drifts - dip))[0],
        key=lambda found: -found.joules,
    )
    assert (box.start, box.end) == pytest.approx((10.2, 12.5), abs=0.3)
    assert box.lo_watts < 52 < box.hi_watts
    assert all(other.joules < box.joules / 3 for other in others)


def test_a_few_readings_that_are_far_off_hide_no_long_load() -> None:
    """At the edges of pauses readings of a fast sensor never quite meet what ran: that tells of no
    long memory of its noise.
    """
    one = readings(14, 0.1, 0.1, [(5.7, 8.2, 60.0)], noise=2.0, seed=3)
    missed = np.zeros(len(one))
    for at in (15, 16, 40, 41, 100, 101, 120):
        missed[at] = 60.0
    values = one.watts + missed - 200.0
    learnt = residual_noise(np.concatenate([values[:55], values[85:]]), 0.1)
    assert learnt.mean_error(20) > 1.0  # the mean of many is doubted for them …
    assert (
        learnt.means >= 12 > 3 * learnt.blocks
    )  # … and none of these is taken for one with its twenty neighbours
    box = max(
        stretch_search.find_stretches(replace(one, watts=one.watts + missed))[0],
        key=lambda box: box.joules,
    )
    assert (box.start, box.end) == pytest.approx((5.7, 8.2), abs=0.15)
    assert box.lo_watts < 60 < box.hi_watts


def test_noise_is_nothing_however_alike_neighbours_are() -> None:
    told = 0
    for seed in range(60):
        one = readings(60, 0.5, 0.5, [], noise=0.0)
        drift = np.convolve(
            np.random.default_rng(seed).standard_normal(len(one) + 20), np.ones(8) / 8, "valid"
        )[: len(one)]
        told += bool(
            stretch_search.find_stretches(
                SensorReadings(
                    one.lo,
                    one.hi,
                    one.watts + drift,
                    *(one.floor, one.ceiling, one.doubt, one.judged, 0.0),
                )
            )[0]
        )
    assert told <= 2


def test_where_a_range_is_explained_only_what_lies_beyond_counts() -> None:
    one = readings(60, 1.0, 1.0, [(10, 20, 30.0), (30, 40, 80.0)])
    wide = SensorReadings(
        one.lo, one.hi, one.watts, one.floor, one.ceiling + 40, one.doubt, one.judged, 0.0
    )
    (box,) = stretch_search.find_stretches(wide)[0]
    assert 29 < box.start < 31


def test_stretches_that_somebody_else_speaks_of_are_cut_out() -> None:
    apart = ((0.0, 3.0), (10.0, 20.0), (30.0, 31.0))
    assert could_find.beside(apart, ()) == apart
    assert could_find.beside(apart, ((12.0, 14.0), (29.0, 31.5))) == (
        (0.0, 3.0),
        (10.0, 12.0),
        (14.0, 20.0),
    )
    assert could_find.beside(apart, ((2.9, 19.9),)) == (
        (0.0, 2.9),
        (30.0, 31.0),
    )  # a tenth of a second is not named


def test_what_could_be_found_is_found() -> None:
    """Nine times in ten at the very limit that is told, and hardly ever at a third of it."""
    one = readings(60, 0.5, 0.5, [])
    _, noise = stretch_search.find_stretches(one)
    nothing = np.zeros(len(one))
    limits = could_find.limits(one, noise, (0.0, 60.0), added_bursts.Mattering(nothing, 0.0))
    # Everything matters here, but what is too short to be listed.
    assert [one.watts for one in limits.seen] == [one.watts for one in limits.findings][
        : len(limits.seen)
    ]
    assert all(one.seconds >= SHORTEST_S for one in limits.seen)
    assert limits.seen[0].seconds == pytest.approx(limits.findings[0].seconds, rel=0.01)
    limit = limits.seen[0]
    rng = np.random.default_rng(5)
    hits = {1.0: 0, 0.3: 0}
    for part in hits:
        for seed in range(60):
            start = rng.uniform(1, 55 - limit.seconds)
            found = stretch_search.find_stretches(
                readings(
                    60, 0.5, 0.5, [(start, start + limit.seconds, part * limit.watts)], seed=seed
                )
            )[0]
            hits[part] += any(
                box.start < start + limit.seconds and box.end > start for box in found
            )
    assert hits[1.0] >= 54
    assert hits[0.3] <= 20


def test_nothing_is_promised_of_what_other_work_drew_and_the_rest_is_not_told_worse_for_it() -> (
    None
):
    one = readings(60, 0.5, 0.5, [])
    _, noise = stretch_search.find_stretches(one)
    least = np.full(len(one), 10.0)
    compiling = (one.lo >= 10.0) & (one.hi <= 22.0)
    other = replace(one, doubt=np.where(compiling, 60.0, one.doubt), judged=one.hi <= 55.0)
    apart = could_find.doubtful(other, (0.0, 60.0), least)
    assert [(round(a, 1), round(b, 1)) for a, b in apart] == [
        (10.0, 22.0),
        (55.0, 60.0),
    ]  # and where nothing is judged
    mattering = added_bursts.Mattering(least, 20.0)
    told = could_find.limits(other, noise, (0.0, 60.0), mattering, apart=apart)
    usual = could_find.limits(one, noise, (0.0, 60.0), mattering)
    blunt = could_find.limits(other, noise, (0.0, 60.0), mattering)
    assert told.findings[0].seconds == pytest.approx(usual.findings[0].seconds, rel=0.15)
    assert told.findings[0].seconds < 0.7 * blunt.findings[0].seconds
    assert could_find.sentence(told, (0.0, 60.0)).endswith(
        " (in 72 % of the time); a smaller one can hide"
    )
    # Where most of a run is like that it is what is usual, and no exception.
    assert (
        could_find.doubtful(
            replace(one, doubt=np.where(one.lo > 20, 60.0, 0.2)), (0.0, 60.0), least
        )
        == ()
    )
    assert could_find.doubtful(one, (0.0, 60.0), least) == ()


def test_noise_with_tails_is_noise() -> None:
    """A sensor that now and then looks a moment too early or too late: single readings are far off,
    and nothing is foreign.
    """
    told = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        one = readings(60, 0.1, 0.1, [], seed=seed)
        tails = np.where(
            rng.random(len(one)) < 0.08, rng.choice([-100.0, 100.0], len(one), p=[0.7, 0.3]), 0.0
        )
        told += bool(
            stretch_search.find_stretches(
                SensorReadings(
                    one.lo,
                    one.hi,
                    one.watts + tails,
                    *(one.floor, one.ceiling, one.doubt, one.judged, 0.0),
                )
            )[0]
        )
    assert told <= 1


def test_a_load_goes_on_where_nothing_is_judged_as_long_as_readings_show_it() -> None:
    one = readings(60, 1.0, 1.0, [(10, 40, 60.0)])
    judged = (one.lo < 20) | (one.lo > 45)
    watts = np.where(
        (one.lo > 24) & (one.lo < 28), one.watts - 50, one.watts
    )  # a pause of the training within the load
    ceiling = np.where((one.lo > 24) & (one.lo < 28), 200.0, one.ceiling)
    (box,) = stretch_search.find_stretches(
        SensorReadings(one.lo, one.hi, watts, one.floor - 50, ceiling, one.doubt, judged, 0.0)
    )[0]
    assert (round(box.start), round(box.end)) == (10, 40)
    assert box.watts == pytest.approx(60, rel=0.1)


def test_a_load_that_ends_where_readings_do_not_tell_may_have_lasted_longer() -> None:
    """As validation began at 28 s its ceiling hid the rest of a load that ended at 32 s."""
    taken = readings(60, 0.5, 0.5, [(20.0, 32.0, 40.0)])
    validates = (taken.hi > 28.0) & (taken.hi <= 36.0)
    unsure = replace(taken, ceiling=np.where(validates, 260.0, taken.ceiling))
    (found,) = stretch_search.find_stretches(unsure)[0]
    assert found.end < 29.0
    box = open_ends.with_open_ends(found, unsure)
    assert box.span == found.span
    assert box.end_within[0] < 32.0 <= box.end_within[1] < 37.0
    assert box.lo_joules < 480 < box.hi_joules
    assert box.start_within == found.start_within
    certain = open_ends.with_open_ends(found, taken)  # the same readings, each ceiling known
    assert certain.end_within[1] < 33.0


def test_a_doubt_that_is_up_here_and_down_there_hides_no_load() -> None:
    """A place known to some hundredths of a second makes single readings of a fast sensor
    uncertain, and no stretch of them.
    """
    one = readings(60, 0.1, 0.1, [(20.0, 24.0, 12.0)])
    doubt = np.full(len(one), 8.0)
    signed = np.where(np.arange(len(one)) % 2, 1.0, -1.0) * 8.0
    hidden = replace(one, doubt=doubt)
    (box,) = stretch_search.find_stretches(replace(hidden, ways=signed[None]))[0]
    assert (round(box.start), round(box.end)) == (20, 24)
    assert stretch_search.find_stretches(hidden)[0] == []


def test_two_limits_are_told_and_the_smaller_is_no_finding() -> None:
    one = readings(60, 0.5, 0.5, [])
    _, noise = stretch_search.find_stretches(one)
    mattering = added_bursts.Mattering(np.full(len(one), 10.0), 60.0)
    told = could_find.limits(one, noise, (0.0, 60.0), mattering)
    assert (
        min(limit.watts for limit in told.findings) > 10
    )  # 5 % of 200 W is the least that matters
    assert min(limit.watts for limit in told.seen) <= 2
    for limit in told.findings:
        assert limit.watts * limit.seconds >= 60
    assert could_find.sentence(told, (0.0, 60.0)).startswith("a load of +15 W for ")
    only_smaller = told._replace(findings=())
    text = could_find.sentence(only_smaller, (0.0, 60.0))
    assert text.endswith(", as a smaller difference only; a smaller one can hide")


def test_a_load_beside_another_is_no_level_beside_it() -> None:
    """The one that was laid first was laid while the other still was among the readings beside it,
    and told 5 W too low.
    """
    off = []
    for seed in range(8):
        one = readings(
            40, 0.004, 0.04, [(18.0, 19.0, 50.0), (19.25, 20.25, 50.0)], noise=12.0, seed=seed
        )
        off += [
            box.watts - 50
            for box in stretch_search.find_stretches(one)[0]
            if box.end - box.start < 1.2
        ]
    assert len(off) >= 12
    assert abs(np.mean(off)) < 1.5


def test_a_box_that_lies_on_another_ends_where_the_longer_one_ends() -> None:
    long = Box(12.0, 13.0, (11.9, 12.1), (12.9, 13.1), 30.0, 25.0, 35.0, 30.0, 25.0, 35.0, 0.001)
    short = replace(
        long,
        start=12.4,
        end=12.6,
        end_within=(12.5, 12.7),
        watts=40.0,
        lo_watts=30.0,
        hi_watts=50.0,
        joules=8.0,
    )
    (both,) = one_load([long, short])
    assert (both.start, both.end) == (12.0, 13.0)
    assert both.end_within == long.end_within
    assert both.watts == pytest.approx(38.0)


def test_stretches_are_one_where_they_share_three_tenths_of_the_shorter() -> None:
    assert same_stretch((0, 10), (7, 100))
    assert not same_stretch((0, 10), (7.1, 100))
    assert same_stretch((0, 100), (40, 41))
    assert not same_stretch((0, 1), (1, 2))


def _through_a_pause(sunk_w: float) -> SensorReadings:
    """A load of 50 W for 10 s; in its 5th second the machine may draw 30 W less for 0.8 s, and does
    draw so much less.
    """
    one = readings(40, 0.1, 0.1, [(15.0, 25.0, 50.0)], seed=4)
    pauses = (one.lo > 18.95) & (one.hi < 19.85)
    return replace(
        one,
        watts=one.watts - np.where(pauses, sunk_w, 0.0),
        floor=one.floor - np.where(pauses, 30.0, 0.0),
    )


def test_a_load_goes_on_through_a_pause_of_the_training() -> None:
    """Its energy in there was left out: 460 J for 500."""
    (box,) = stretch_search.find_stretches(_through_a_pause(30.0))[0]
    assert box.joules == pytest.approx(500, abs=10)
    assert box.lo_joules < 500 < box.hi_joules
    assert box.watts == pytest.approx(50, abs=1)


def test_a_load_that_pauses_itself_drew_nothing_there() -> None:
    (box,) = stretch_search.find_stretches(_through_a_pause(60.0))[0]
    assert box.joules == pytest.approx(460, abs=10)


def test_noise_is_learned_from_readings_with_a_doubt_within_it() -> None:
    """Eight readings of 200 W, of which four are known to 1 W: with the other four alone the noise
    would be known too badly for a load of 20 W.
    """
    one = readings(50, 5.0, 5.0, [(20.0, 25.0, 20.0)], noise=0.3, seed=2)
    doubt = np.where(np.arange(len(one)) % 3 == 0, 0.05, 1.0)
    found, noise = stretch_search.find_stretches(replace(one, doubt=doubt))
    assert [round(box.watts, -1) for box in found] == [20]
    assert noise.blocks >= 5


def test_boxes_are_drawn_with_the_numbers_that_the_script_makes() -> None:
    stored = np.concatenate([np.stack(draws) for draws in random_draws.random_draws()])
    assert np.array_equal(stored, made_draws())


def test_boxes_are_drawn_as_often_as_they_weigh() -> None:
    for even, normal in random_draws.random_draws():
        assert even.min() >= 0
        assert even.max() < 1
        assert np.histogram(even, 10, (0, 1))[0] == pytest.approx(len(even) / 10, rel=0.15)
        assert (normal.mean(), normal.std()) == pytest.approx((0, 1), abs=0.05)
