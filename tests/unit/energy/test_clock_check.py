"""What a log's clock and its readings say together: each of the five answers, and its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import (
    clock_alignment,
    clock_check,
    clock_kinds,
    edge_matching,
    level_fit,
    power_jumps,
)
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.clock_check import Verdict
from powertui.data.energy.clock_kinds import FOREIGN, RECORDED, SAME_MACHINE, ClockOffset
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.edge_costs import (
    BORDER,
    END,
    RULES,
    START,
    EdgeCosts,
    ExpectedEdges,
    sorted_edges,
)
from powertui.data.energy.edge_matching import OffsetWeights
from powertui.data.energy.log_alignment import unplaced
from powertui.data.energy.samples import Samples
from powertui.data.energy.window_shares import OUTSIDE, WindowShares
from powertui.data.model import Clock, Device, PowerKind, PowerSeries, Sensor
from powertui.data.power import times


def sampled(watts, pace: float = 0.5) -> Samples:
    hi = (np.arange(len(watts)) + 1) * pace
    return Samples(hi - pace, hi, np.asarray(watts, np.float64), pace, 0.0, 1.0, ())


def means_of(edges, levels, pace: float, count: int) -> Samples:
    """Means over windows of a power that has these levels between these edges."""
    fine = np.arange(count * 1000) * pace / 1000
    watts = np.asarray(levels)[np.searchsorted(edges, fine, side="right")]
    return sampled(np.round(watts.reshape(count, 1000).mean(axis=1)), pace)


def said(clock: ClockOffset, verdict: Verdict) -> str:
    """What is said of a clock."""
    return clock_words(clock_alignment.checked(unplaced(), clock, verdict)).clause


def weights(peaks, spread_s: float = 0.05, floor: float = -60.0) -> OffsetWeights:
    """Offsets that the readings like: (offset, log weight) each, and the rest at the floor."""
    offsets = np.arange(-700.0, 700.0, 0.02)
    logs = np.full(len(offsets), floor)
    for at, top in peaks:
        logs = np.maximum(logs, top - 0.5 * ((offsets - at) / spread_s) ** 2)
    return OffsetWeights(offsets, logs - logs.max(), np.gradient(offsets), 10, 8)


LOG = sampled(np.full(100, 200.0))
FOREIGN_CLOCK = ClockOffset(0.0, 0.0, FOREIGN)


@pytest.mark.parametrize("edge", [10.0, 10.1, 10.37, 10.5, 10.74])
def test_a_jump_is_timed_within_the_window_of_one_reading(edge: float) -> None:
    jumps = power_jumps.find_jumps(means_of([edge, edge + 20], [150, 260, 150], 0.5, 100), 5.0)
    assert len(jumps) == 2
    assert jumps.at == pytest.approx([edge, edge + 20], abs=0.03)
    assert jumps.watts == pytest.approx([110, -110], abs=2)


def test_a_step_that_two_readings_show_is_one_jump() -> None:
    """A sensor that holds its readings for 3 s was asked every 0.3 s: its step counted twice, and
    so did the edge that it met by chance.
    """
    held = sampled([203.0] * 14 + [168.0] * 10 + [203.0] * 2, 0.3)
    jumps = power_jumps.find_jumps(held, 3.0)
    assert jumps.at == pytest.approx([14 * 0.3, 24 * 0.3])
    assert jumps.watts == pytest.approx([-35.0, 35.0])


def _matched(data: Samples, edges: ExpectedEdges, span: tuple[float, float]) -> OffsetWeights:
    step = 0.01
    grid = np.arange(span[0], span[1] + step / 2, step)
    shares = WindowShares(
        names=("base", "training", OUTSIDE),
        span=span,
        training=span,
        table=(grid - span[0])[:, None],
        mixture=np.ones(1),
        step=step,
        has_bounds=True,
    )
    found = edge_matching.offset_weights(data, edges, shares, (-40.0, 40.0), 5.0)
    assert isinstance(found, OffsetWeights)
    return found


def test_one_edge_within_a_log_does_not_confirm_its_place() -> None:
    """Any step of power is at the end of the training at some offset."""
    edges = sorted_edges([(0.0, 0.02, 1.0, START), (30.0, 0.02, -1.0, END)])
    noise = np.random.default_rng(5).normal(0, 2, 100)
    one_step = sampled(means_of([12.0], [250, 150], 0.5, 48).watts + noise[:48])
    found = _matched(one_step, edges, (0.0, 30.0))
    assert not found.is_confirmed
    verdict = clock_check.judge(None, found, one_step)
    assert verdict.status == "ambiguous"
    assert verdict.hi_s - verdict.lo_s > 30.0, "it may be anywhere"
    # Both ends within the log: one sets the place, the other one agrees.
    whole = sampled(means_of([10.0, 40.0], [150, 250, 150], 0.5, 100).watts + noise)
    found = _matched(whole, edges, (0.0, 30.0))
    assert found.is_confirmed
    assert clock_check.judge(None, found, whole).offset_s == pytest.approx(-10.0, abs=0.2)


def _one_fall_an_epoch(validation_w: float) -> tuple[Samples, ExpectedEdges]:
    """Six epochs of 12 s of steps, 2 s of validation and 3 s of pause, logged at validation's end,
    and a log that begins 20 s before them.
    """
    starts = 17.0 * np.arange(6)
    levels, edges = [50.0], []
    for start in (20.0 + starts).tolist():
        edges += [start, start + 12.0, start + 14.0]
        levels += [200.0, validation_w, 60.0]
    data = means_of(edges, levels, 0.5, 270)
    noise = np.random.default_rng(4).normal(0, 1, len(data))
    ends = (starts + 14.0).tolist()
    moments = [(0.0, 0.02, 1.0, START), (ends[-1], 0.02, -1.0, END)]
    moments += [(end, 0.02, 0.0, BORDER) for end in ends[:-1]]
    known = replace(sorted_edges(moments), ends_validation=True)
    return sampled(np.round(data.watts + noise)), known


@pytest.mark.parametrize(
    ("validation_w", "falls_are_at_records"), [(60.0, False), (200.0, True), (120.0, True)]
)
def test_a_log_is_not_placed_by_falls_that_may_be_of_validation(
    validation_w: float, falls_are_at_records: bool
) -> None:
    """Where validation draws as the pause does, the falls are 2 s before the records: placed by
    them the log was 2 s late, and its clock was "corrected" by that.
    """
    data, edges = _one_fall_an_epoch(validation_w)
    span = (float(edges.at[0]), float(edges.at[-1]))
    verdict = clock_check.judge(
        ClockOffset(-20.0, -20.0, FOREIGN), _matched(data, edges, span), data
    )
    assert verdict.lo_s <= -20.0 <= verdict.hi_s, "the clock is right"
    assert verdict.status != "clock corrected"
    if not falls_are_at_records:
        unaware = _matched(data, replace(edges, ends_validation=False), span)
        wrong = clock_check.judge(ClockOffset(-20.0, -20.0, FOREIGN), unaware, data)
        assert not wrong.lo_s <= -20.0 <= wrong.hi_s, "so it was before"


def test_a_place_that_one_edge_gives_does_not_overrule_a_clock() -> None:
    seen = weights([(-14.0, 0.0)])
    verdict = clock_check.judge(FOREIGN_CLOCK, seen._replace(is_confirmed=False), LOG)
    assert verdict.status != "clock corrected"
    assert verdict.lo_s <= 0 <= verdict.hi_s


def test_one_edge_that_fits_better_elsewhere_does_not_make_a_clock_doubtful() -> None:
    """Of 20 right clocks three were doubted by logs that showed one edge of the training."""
    beside = weights([(0.0, 0.0), (40.0, 5.5)], spread_s=0.5, floor=-12.0)
    assert clock_check.judge(FOREIGN_CLOCK, beside, LOG).status == "ambiguous"
    unconfirmed = beside._replace(is_confirmed=False)
    verdict = clock_check.judge(FOREIGN_CLOCK, unconfirmed, LOG)
    assert verdict.status == "cannot tell"
    assert verdict.lo_s == pytest.approx(-2.0)
    assert 40.0 < verdict.hi_s < 42.0  # yet it may be right about the other place


def test_a_dip_of_two_readings_among_noise_is_two_jumps() -> None:
    data = means_of([20.0, 21.0], [250, 150, 250], 0.5, 120)
    noisy = sampled(data.watts + np.random.default_rng(3).normal(0, 3, 120))
    jumps = power_jumps.find_jumps(noisy, 5.0)
    assert jumps.at == pytest.approx([20.0, 21.0], abs=0.1)


def test_noise_alone_is_no_jump() -> None:
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(200, 4, 400)
        assert len(power_jumps.find_jumps(sampled(noise), 20.0)) <= 1


def test_where_no_reading_speaks_the_clock_is_believed_as_its_kind_is() -> None:
    foreign = clock_check.judge(FOREIGN_CLOCK, None, LOG)
    assert (foreign.status, foreign.lo_s, foreign.hi_s) == ("cannot tell", -2.0, 2.0)
    assert sum(place.weight for place in foreign.places) == pytest.approx(1.0)
    own = clock_check.judge(ClockOffset(0.0, 0.0, SAME_MACHINE), None, LOG)
    assert (own.status, own.lo_s, own.hi_s) == ("aligned", -0.5, 0.5), "it may be written late"
    assert "assumed to be right, ± 2 s" in said(FOREIGN_CLOCK, foreign)


def test_readings_that_like_all_offsets_alike_leave_the_clock_as_it_is() -> None:
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([(0.0, 0.0)], floor=-0.5), LOG)
    assert (verdict.status, verdict.lo_s, verdict.hi_s) == ("cannot tell", -2.0, 2.0)


def test_readings_that_speak_against_a_clock_but_for_no_other_place_leave_it_in_doubt() -> None:
    """Its two seconds were claimed: joules were those of a place that the readings do not fit."""
    many = [(float(at), 0.0) for at in range(-60, 61, 6) if at]
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([*many, (0.0, -2.5)], 1.0, -4.0), LOG)
    assert verdict.status == "ambiguous"
    assert verdict.lo_s < -12.0
    assert verdict.hi_s > 12.0
    assert 0.5 < sum(place.weight for place in verdict.places if abs(place.offset_s) < 2.5) < 0.9


@pytest.mark.parametrize("kind", [FOREIGN, SAME_MACHINE])
@pytest.mark.parametrize("off_s", [0.6, -2.0, 15.0, -30.0, 300.0])
def test_readings_that_are_sure_correct_a_clock(off_s: float, kind: clock_kinds.ClockKind) -> None:
    clock = ClockOffset(0.0, 0.0, kind)
    verdict = clock_check.judge(clock, weights([(off_s, 0.0)]), LOG)
    assert verdict.status == "clock corrected"
    assert verdict.lo_s < off_s < verdict.hi_s
    assert verdict.hi_s - verdict.lo_s < 0.5
    assert verdict.correction_s == pytest.approx(off_s, abs=0.05)
    words = said(clock, verdict)
    assert ("ahead" if off_s < 0 else "behind") in words


def test_readings_that_would_not_place_a_log_alone_do_not_overrule_its_clock() -> None:
    """Logs of other runs that met half of this one were "corrected" by 13 to 41 s: 5 of 112."""
    unsure = weights([(-14.0, 0.0)])._replace(may_overrule=False)
    verdict = clock_check.judge(FOREIGN_CLOCK, unsure, LOG)
    assert verdict.status == "ambiguous"
    assert verdict.lo_s < -14.0 < verdict.hi_s
    near = weights([(0.6, 0.0)])._replace(may_overrule=False)
    verdict = clock_check.judge(FOREIGN_CLOCK, near, LOG)
    assert verdict.status == "cannot tell", "a log that ended early was corrected 0.3 s too little"
    assert verdict.offset_s == 0.0
    assert verdict.lo_s <= -2.0
    assert verdict.hi_s >= 2.0


@pytest.mark.parametrize("kind", [FOREIGN, SAME_MACHINE, RECORDED])
def test_places_that_are_alike_by_chance_do_not_rule_a_clock_out(
    kind: clock_kinds.ClockKind,
) -> None:
    """A quiet session in an hour of other work: 24 places 6 minutes early, none at its clock."""
    alike = [Where(-360.0 - 4.0 * row, 1 / 24, 1.2) for row in range(24)]
    readings = edge_matching.weights_of_places(alike, 0.7, may_overrule=False)
    verdict = clock_check.judge(ClockOffset(0.0, 0.0, kind), readings, LOG)
    assert verdict.status == "ambiguous"
    assert verdict.lo_s < -400.0
    assert verdict.hi_s >= 0.0
    at_clock = sum(place.weight for place in verdict.places if abs(place.offset_s) <= 2.0)
    assert at_clock == pytest.approx(0.5, abs=0.1)


def test_a_confirmed_place_rules_a_clock_out() -> None:
    sure = [Where(-360.0, 1.0, 0.8)]
    readings = edge_matching.weights_of_places(sure, 0.7, may_overrule=True)
    verdict = clock_check.judge(FOREIGN_CLOCK, readings, LOG)
    assert verdict.status == "clock corrected"
    assert verdict.correction_s == pytest.approx(-360.0, abs=0.1)


def test_readings_that_agree_confirm_a_clock_to_what_they_show() -> None:
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([(0.06, 0.0)], 0.1), LOG)
    assert verdict.status == "aligned"
    assert verdict.offset_s == 0.0
    assert verdict.lo_s <= -0.1
    assert 0.2 <= verdict.hi_s < 0.6


@pytest.mark.parametrize("age_s", [0.0, 0.5])
def test_how_old_readings_may_be_does_not_blur_when_their_power_was(age_s: float) -> None:
    """Readings show the sum of their age and of the offset of their log."""
    readings = weights([(-0.06, 0.0)], spread_s=0.03)
    verdict = clock_check.judge(FOREIGN_CLOCK, readings, replace(LOG, age_s=age_s))
    assert verdict.status == "aligned"
    assert verdict.offset_s == 0.0
    assert verdict.hi_s - verdict.lo_s > 2 * age_s
    about_the_clock = np.hypot(0.06, 0.03)
    records = 0.05 / 1.96
    assert verdict.power_sigma_s == pytest.approx(np.hypot(about_the_clock, records), rel=0.05)


def test_a_clock_that_no_readings_place_does_not_show_when_the_power_was() -> None:
    sure = weights([(0.02, 0.0)])
    same_machine = ClockOffset(0.0, 0.0, SAME_MACHINE)
    for clock, readings in ((FOREIGN_CLOCK, None), (same_machine, sure)):
        assert clock_check.judge(clock, readings, LOG).power_sigma_s is None


def test_two_places_of_which_neither_is_the_clocks_are_both_named() -> None:
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([(20.0, 0.0), (30.0, 0.0)]), LOG)
    assert verdict.status == "ambiguous"
    assert verdict.lo_s < 20.0 < 30.0 < verdict.hi_s
    assert {round(place.offset_s) for place in verdict.places} == {20, 30}


def test_a_place_at_the_clock_wins_over_a_better_one_minutes_away() -> None:
    """Epochs of one length fit one epoch later nearly as well."""
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([(0.0, -1.0), (62.0, 0.0)]), LOG)
    assert verdict.lo_s > -3.0
    assert verdict.hi_s < 3.0
    assert verdict.status in ("aligned", "cannot tell")


def test_a_log_without_a_clock_is_where_its_readings_fit() -> None:
    sure = clock_check.judge(None, weights([(41.0, 0.0)]), LOG)
    assert sure.status == "aligned"
    assert sure.offset_s == pytest.approx(41.0, abs=0.05)
    either = clock_check.judge(None, weights([(41.0, 0.0), (51.0, -0.5)]), LOG)
    assert either.status == "ambiguous"


def kind_of(sensor: Sensor, hosts, gpu_ids=()) -> clock_kinds.ClockKind:
    series = PowerSeries(
        sensor,
        np.arange(3, dtype=np.int64),
        np.ones(3),
        PowerKind.SAMPLED,
        Clock(0, 0, times.ABSOLUTE),
    )
    return clock_kinds.clock_kind(series, hosts, gpu_ids)


@pytest.mark.parametrize(
    ("source", "logged_on", "hosts", "kind"),
    [
        ("csv", "", [], FOREIGN),
        ("rapl", "node1", ["node1.cluster"], RECORDED),
        ("rapl", "login", ["node1"], FOREIGN),
        ("rapl", "node1", [], FOREIGN),
        ("rapl", "localhost", ["localhost"], FOREIGN),
        ("rapl", "node1.dc1", ["node1.dc2"], FOREIGN),
    ],
)
def test_a_recording_of_ours_is_believed_on_the_machine_that_it_names(
    source, logged_on, hosts, kind
) -> None:
    sensor = Sensor("power", source, logged_on=logged_on, is_steadily_stamped=True)
    assert kind_of(sensor, hosts) == kind
    without_second_clock = replace(sensor, is_steadily_stamped=False)
    assert kind_of(without_second_clock, hosts) == (SAME_MACHINE if kind is RECORDED else FOREIGN)


def test_an_answer_over_a_network_may_be_of_its_begin_or_of_its_end() -> None:
    bmc = Sensor(
        "power", "redfish", logged_on="node1", asked_at="10.0.0.7:443", is_steadily_stamped=True
    )
    assert kind_of(bmc, ["node1"]) == SAME_MACHINE


@pytest.mark.parametrize(
    ("source", "host", "device", "kind"),
    [
        ("nvidia-smi", "", None, FOREIGN),
        ("nvidia-smi", "node1", None, SAME_MACHINE),
        ("nvidia-smi", "node2", None, FOREIGN),
        ("nvidia-smi", "", Device(0), FOREIGN),
        ("nvidia-smi", "", Device(0, pci="0000:3b:00.0"), FOREIGN),
        ("nvidia-smi", "", Device(0, uuid="GPU-8F6E2A54"), SAME_MACHINE),
        ("nvidia-smi", "", Device(0, uuid="GPU-00000000"), FOREIGN),
        ("turbostat", "node1", None, SAME_MACHINE),
        # Whose the watts are is said here, and not whose clock stamped them.
        ("csv", "node1", None, FOREIGN),
        ("prometheus", "node1", None, FOREIGN),
        ("ipmi DCMI", "node1", None, FOREIGN),
    ],
)
def test_a_program_of_one_machine_has_to_show_that_it_ran_on_the_trained_one(
    source, host, device, kind
) -> None:
    sensor = Sensor("power", source, host=host, device=device)
    shown = {"gpu-8f6e2a54", "0000:3b:00.0", "nvidia h100"}
    assert kind_of(sensor, ["node1"], shown) == kind


def test_a_silent_log_that_only_names_the_host_is_believed_to_two_seconds() -> None:
    clock = ClockOffset(0.0, 0.0, kind_of(Sensor("power", "csv", host="node1"), ["node1"]))
    verdict = clock_check.judge(clock, None, LOG)
    assert (verdict.status, verdict.lo_s, verdict.hi_s) == ("cannot tell", -2.0, 2.0)


def test_a_silent_recording_of_ours_is_where_its_clock_says() -> None:
    flat = weights([(0.0, 0.0)], floor=0.0)
    for readings in (None, flat):
        verdict = clock_check.judge(ClockOffset(0.0, 0.0, RECORDED), readings, LOG)
        assert (verdict.status, verdict.offset_s) == ("aligned", 0.0)
        assert (verdict.lo_s, verdict.hi_s) == (-0.05, 0.05)
        assert not verdict.confirmed


@pytest.mark.parametrize("step", [0.3, 0.317, 5.0])
def test_a_clock_between_the_offsets_that_were_tried_counts(step: float) -> None:
    """Flat readings like all offsets alike: a clock of the same machine decides."""
    offsets = np.arange(-32.1, 33.7, step)
    flat = OffsetWeights(offsets, np.zeros(len(offsets)), np.gradient(offsets), 0, 0)
    verdict = clock_check.judge(ClockOffset(0.0, 0.0, SAME_MACHINE), flat, LOG)
    assert (verdict.status, verdict.offset_s) == ("aligned", 0.0)
    assert (verdict.lo_s, verdict.hi_s) == (-0.5, 0.5)


@pytest.mark.parametrize("late_s", [-0.5, -0.3, -0.1, 0.1, 0.3, 0.5])
def test_a_log_of_the_same_machine_that_was_written_late_is_where_its_readings_are(
    late_s: float,
) -> None:
    verdict = clock_check.judge(ClockOffset(0.0, 0.0, SAME_MACHINE), weights([(late_s, 0.0)]), LOG)
    assert verdict.lo_s < late_s < verdict.hi_s
    assert verdict.hi_s - verdict.lo_s < 0.8
    assert verdict.status == ("aligned" if abs(late_s) < 0.2 else "clock corrected")


def test_readings_that_agree_with_a_clock_of_the_same_machine_make_it_surer() -> None:
    verdict = clock_check.judge(ClockOffset(0.0, 0.0, SAME_MACHINE), weights([(0.02, 0.0)]), LOG)
    assert verdict.status == "aligned"
    assert verdict.confirmed
    assert verdict.offset_s == 0.0
    assert -0.35 < verdict.lo_s <= 0.0 <= verdict.hi_s < 0.35


def test_a_clock_outside_of_what_is_claimed_does_not_agree() -> None:
    """The place is 0.45 s beside the clock, and known to ± 0.4 s."""
    verdict = clock_check.judge(FOREIGN_CLOCK, weights([(0.45, 0.0)], spread_s=0.178), LOG)
    assert verdict.status == "clock corrected"
    assert verdict.lo_s > 0.0


def test_a_clock_is_corrected_only_to_where_readings_alone_would_have_it() -> None:
    """Both places are beside the clock: the readings alone leave the farther one open."""
    one_place = clock_check.judge(FOREIGN_CLOCK, weights([(1.15, 0.0)]), LOG)
    two_places = clock_check.judge(FOREIGN_CLOCK, weights([(1.15, 0.0), (-2.0, -1.8)]), LOG)
    assert one_place.status == "clock corrected"
    assert two_places.status != "clock corrected"
    assert two_places.lo_s <= -2.0


def test_a_clock_is_confirmed_only_where_readings_alone_would_have_it() -> None:
    """A clock that was 2 s ahead was called right to ± 1 s: the place that its readings liked beside
    the true one was nearer to it.
    """
    two_places = clock_check.judge(FOREIGN_CLOCK, weights([(-0.1, 0.0), (-2.0, -1.5)]), LOG)
    one_place = clock_check.judge(FOREIGN_CLOCK, weights([(-0.1, 0.0), (-2.0, -3.5)]), LOG)
    assert two_places.status == "cannot tell"
    assert two_places.lo_s <= -2.0
    assert one_place.status == "aligned"
    assert one_place.lo_s > -1.0
    far = clock_check.judge(FOREIGN_CLOCK, weights([(-0.1, 0.0), (-20.0, -1.5)]), LOG)
    assert far.status == "aligned", "the clock rules it out"


def test_levels_alone_that_fit_a_little_better_elsewhere_do_not_doubt_a_clock() -> None:
    elsewhere = weights([(0.0, 0.0), (-80.0, 7.0)])
    by_levels = elsewhere._replace(is_by_levels=True)
    by_edges = clock_check.judge(FOREIGN_CLOCK, elsewhere, LOG)
    assert by_edges.status == "ambiguous"
    assert clock_check.judge(FOREIGN_CLOCK, by_levels, LOG).status == "cannot tell"


def test_a_clock_that_readings_contradict_is_corrected_though_it_is_within_the_claim() -> None:
    """Half a second off it was told as right: what a fast sensor liked reached to it just so."""
    one_place = weights([(-0.5, 0.0), (0.0, -2.6)], 0.1)
    verdict = clock_check.judge(FOREIGN_CLOCK, one_place, LOG)
    assert verdict.lo_s < -0.5
    assert verdict.hi_s > 0.0
    assert verdict.status == "clock corrected"
    assert verdict.correction_s == pytest.approx(-0.5, abs=0.1)
    nearly_as_likely = weights([(-0.5, 0.0), (0.0, -2.0)], 0.1)
    assert clock_check.judge(FOREIGN_CLOCK, nearly_as_likely, LOG).status == "aligned"


def test_a_clock_that_readings_contradict_is_not_believed_to_two_seconds() -> None:
    """Many places far away are as likely, and the clock rules them out; a near one it does not."""
    far = [(float(at), 0.0) for at in range(-60, 61, 6) if at]
    for at_clock, status in ((-4.0, "ambiguous"), (-1.0, "cannot tell")):
        readings = weights([*far, (0.4, 0.0), (0.0, at_clock)], 0.1)
        assert clock_check.judge(FOREIGN_CLOCK, readings, LOG).status == status


@pytest.mark.parametrize("jumps", [1, 0])
def test_levels_count_for_more_where_no_jump_shows_the_same_readings(jumps: int) -> None:
    log = sampled(np.linspace(100, 200, 40))
    edges = sorted_edges([(0.0, 0.02, 1.0, START), (30.0, 0.02, -1.0, END)])
    levels = level_fit.LevelCosts(np.array([-1.0, 1.0]), np.zeros(2))
    one_jump = power_jumps.PowerJumps(np.array([5.0]), np.array([0.1]), np.array([50.0]))
    costs = EdgeCosts(log, one_jump.rows(np.arange(jumps)), edges, levels)
    assert costs.temper == RULES.temper * (2 - jumps)
