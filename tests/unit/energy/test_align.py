"""The ladder of evidence: the best rung wins, says why, and nothing overrules it silently."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powertui import demo
from powertui.data import loading, logdir
from powertui.data.asked import Aligning, Pins, ReadOptions
from powertui.data.energy import align, anchor, clock_alignment, log_alignment, mixture
from powertui.data.energy.clock_words import clock_words
from powertui.data.model import Clock, Epoch, Epochs
from powertui.data.power import times
from powertui.errors import UsageError
from tests.synthetic import Plan
from tests.synthetic.placed import make, sensed
from tests.synthetic.tfevents import frame, write_scalars
from tests.synthetic.xplane import blob, double, number

NS = 1_000_000_000


@pytest.fixture(scope="module")
def made():
    return make(0, Plan(seconds=30))


@pytest.fixture(scope="module")
def logged(made):
    """A relative log of the run, and where its zero really lies."""
    found, taken = sensed(made, "nvml-1s", 0, offset_s=-5.0)
    return found, taken.offset_s


def context(made, logs=tuple) -> log_alignment.AlignmentContext:
    return log_alignment.AlignmentContext(made.trace, made.steps, made.epochs, logs)


def clocked(series, made, offset_s: float, half_s: float = 0.0, source: str = times.ABSOLUTE):
    zero = made.trace.clock.mid_ns + round(offset_s * NS)
    return replace(
        series, clock=Clock(zero - round(half_s * NS), zero + round(half_s * NS), source)
    )


def test_wall_clocks_on_both_sides_align_at_once_with_the_interval_of_both(made, logged) -> None:
    series, offset = logged
    found = align.place(clocked(series, made, offset), context(made)).alignment
    assert (found.status, found.source) == ("aligned", log_alignment.CLOCKS)
    assert found.offset_s == pytest.approx(offset, abs=1e-6)
    half = made.trace.clock.half_ns / NS
    assert 2 * (half + 0.01) < found.hi_s - found.lo_s < 0.5, "as well as the readings show it"
    assert "the profile's zero is at Unix" in " ".join(found.evidence)


def test_readings_narrow_a_vague_clock(made, logged) -> None:
    series, offset = logged
    vague = align.place(
        clocked(series, made, offset + 1.0, 6.0, times.BMC), context(made)
    ).alignment
    assert vague.offset_s == pytest.approx(offset, abs=0.2)
    assert vague.lo_s <= offset <= vague.hi_s
    assert "the clock of the BMC" in clock_words(vague).clause


@pytest.mark.parametrize("off_s", [0.6, -0.6, 2.0, 4.0, -15.0, 30.0])
def test_a_clock_that_the_readings_contradict_is_corrected(made, logged, off_s: float) -> None:
    series, offset = logged
    off = clocked(series, made, offset + off_s, 0.001)
    placed = align.place(off, context(made))
    found = placed.alignment
    assert (found.status, found.source) == ("clock corrected", log_alignment.CLOCKS)
    assert found.offset_s == pytest.approx(offset, abs=0.2)
    assert found.correction_s == pytest.approx(-off_s, abs=0.2)
    assert found.lo_s <= offset <= found.hi_s
    assert ("ahead" if off_s > 0 else "behind") in clock_words(found).clause
    assert placed.power.status == "aligned"
    assert (
        align.place(off, context(made), Aligning("clock")).alignment.status == "aligned"
    )  # as asked


@pytest.mark.parametrize("off_s", [0.0, 0.1, -0.1])
def test_a_clock_that_is_right_is_not_doubted(made, logged, off_s: float) -> None:
    series, offset = logged
    assert (
        align.place(clocked(series, made, offset + off_s, 0.001), context(made)).alignment.status
        == "aligned"
    )


def test_a_burst_of_another_program_hides_no_wrong_clock(made, logged) -> None:
    series, offset = logged
    watts = np.array(series.watts)
    watts[len(watts) // 2 : len(watts) // 2 + len(watts) // 10] += 60.0
    placed = align.place(
        clocked(replace(series, watts=watts), made, offset + 1.0, 0.001), context(made)
    )
    found = placed.alignment
    assert found.status == "clock corrected", "the place is wider than a sure one, and the only one"
    assert found.correction_s == pytest.approx(-1.0, abs=0.2)
    assert found.lo_s <= offset <= found.hi_s


def test_a_vague_clock_is_many_places_and_joules_hold_over_all_of_them(made, logged) -> None:
    """A clock of ±6 s says nothing of the middle of its interval: what is computed there alone
    would be sure and wrong.
    """
    series, offset = logged
    late = align.place(
        clocked(series, made, offset + 4.0, 6.0, times.BMC), context(made), Aligning("clock")
    )
    assert late.alignment.status == "cannot tell"
    assert len(late.power.places) > 4
    assert sum(place.weight for place in late.power.places) == pytest.approx(1)
    assert late.power.places[0].offset_ps == pytest.approx(late.power.offset_ps, abs=1000), (
        "the middle is drawn"
    )
    (lo, _), *_ = made.work.epochs
    window = round(lo * 1e12), round((lo + 5) * 1e12)
    truth = float(made.work.energy(lo, lo + 5))
    found = mixture.energy(late.power, *window)
    assert found.joules is None or found.lo <= truth <= found.hi
    exact = align.place(clocked(series, made, offset), context(made), Aligning("clock"))
    assert len(exact.power.places) == 1
    assert exact.alignment.as_dict()["places"] == []


def test_asked_for_signal_sets_clocks_aside(made, logged) -> None:
    series, offset = logged
    found = align.place(
        clocked(series, made, offset + 4.0), context(made), Aligning("signal")
    ).alignment
    assert found.source == log_alignment.SIGNAL
    assert found.offset_s == pytest.approx(offset, abs=0.5)
    assert "were ignored" in found.evidence[0]


def test_a_relative_log_is_aligned_by_signal(made, logged) -> None:
    series, offset = logged
    placed = align.place(series, context(made))
    assert placed.alignment.source == log_alignment.SIGNAL
    assert placed.alignment.lo_s <= offset <= placed.alignment.hi_s
    assert placed.power.offset_ps == round(placed.alignment.offset_s * 1e12)
    assert placed.power.times[0] == pytest.approx(
        series.times[0] * 1000 + placed.power.offset_ps, abs=1000
    )


def test_by_hand_wins_over_everything(made, logged) -> None:
    series, offset = logged
    known = clocked(series, made, offset)
    found = align.place(known, context(made), Aligning(offset_s=1.25)).alignment
    assert (found.offset_s, found.source) == (1.25, log_alignment.OFFSET)
    side = Pins().add(10.0, 3.0).add(12.0, 5.1)
    found = align.place(known, context(made), Aligning(pins=side)).alignment
    assert found.source == log_alignment.PINNED
    assert found.offset_s == pytest.approx(-6.95)
    assert not any("ppm" in word for word in found.evidence)
    far = Pins()
    for log_s in (0.0, 1000.0, 3000.0):
        far = far.add(log_s, 5 + log_s * (1 + 80e-6))
    drifting = align.place(known, context(made), Aligning(pins=far)).alignment
    assert "the log's clock runs +80 ppm against the trace's" in drifting.evidence
    nudged = align.place(known, context(made), Aligning(pins=Pins(nudge_s=0.5))).alignment
    assert nudged.offset_s == pytest.approx(offset + 0.5, abs=1e-6)
    assert nudged.source == log_alignment.OFFSET


def test_switched_off_and_clock_only(made, logged) -> None:
    series, _ = logged
    placed = align.place(series, context(made), Aligning("none"))
    assert placed.power.status == "none"
    assert placed.alignment.offset_s is None
    placed = align.place(series, context(made), Aligning("clock"))
    assert placed.power.status == "none"
    assert "only elapsed time" in " ".join(placed.alignment.evidence)


def test_local_times_take_the_profiled_machines_zone(made, logged) -> None:
    series, offset = logged
    zero = made.trace.clock.mid_ns + round(offset * NS)
    local = zero - 3 * 3600 * NS  # the wall clock in Brazil, read as if it were UTC
    naive = replace(
        series, clock=Clock(local - 14 * 3600 * NS, local + 12 * 3600 * NS, times.LOCAL)
    )
    zoned = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=-3 * 3600))
    found = align.place(
        naive, log_alignment.AlignmentContext(zoned, made.steps, made.epochs)
    ).alignment
    assert found.source == log_alignment.LOCAL
    assert found.offset_s == pytest.approx(offset, abs=1e-6)
    assert "UTC-03:00" in found.evidence[0]
    found = align.place(
        naive, context(made)
    ).alignment  # nothing tells the zone, but only in one do both overlap
    assert found.offset_s == pytest.approx(offset, abs=1e-6)
    assert "only in time zone" in found.evidence[0]


def _naive(series, made, offset: float, ahead_s: int):
    """The log as a clock `ahead_s` seconds east of UTC wrote it, the profile of a machine
    in UTC.
    """
    local = made.trace.clock.mid_ns + round(offset * NS) + ahead_s * NS
    naive = replace(
        series, clock=Clock(local - 14 * 3600 * NS, local + 12 * 3600 * NS, times.LOCAL)
    )
    zoned = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=0))
    return naive, log_alignment.AlignmentContext(zoned, made.steps, made.epochs)


def test_the_zone_in_which_local_times_were_read_is_said_once(made, logged) -> None:
    naive, asked = _naive(logged[0], made, logged[1], 3600)
    channel = align.place(naive, asked)
    (sentence,) = clock_alignment.zones_found([channel, channel])
    assert "the log's times are local; log and run overlap only in time zone UTC+01:00" in sentence
    assert clock_alignment.zones_found([align.place(logged[0], context(made))]) == []


def test_a_short_log_of_another_zone_than_the_machines_is_taken_for_one(made, logged) -> None:
    series, offset = logged
    naive, asked = _naive(series, made, offset, 3600)
    found = align.place(naive, asked).alignment
    assert found.source == log_alignment.LOCAL
    assert found.offset_s == pytest.approx(offset, abs=1e-6)
    assert (
        "only in time zone UTC+01:00 (assumed; the profiled machine's is UTC+00:00)"
        in found.evidence[0]
    )


def test_a_log_that_meets_the_run_in_no_zone_is_not_placed(made, logged) -> None:
    series, offset = logged
    naive, asked = _naive(
        series, made, offset, 3600 + 900
    )  # a quarter of an hour beside: another run's
    found = align.place(naive, asked).alignment
    assert (found.offset_s, found.status) == (None, "none")
    assert "begins 74 minutes after this run. It is not used." in found.elsewhere
    assert "in another time zone it might: give --tz" in found.evidence


def test_a_log_that_meets_the_run_in_no_zone_is_not_put_on_it_by_its_signal(made, logged) -> None:
    """A log that ends in the first session of a training meets the second one in no zone, though
    its power may look alike.
    """
    series, offset = logged
    naive, asked = _naive(series, made, offset, 3600 + 400)
    zoneless = replace(asked, trace=made.trace)
    found = align.place(naive, zoneless).alignment
    assert found.offset_s is None
    assert found.status == "none"
    assert "It is not used." in found.elsewhere
    assert "in no time zone" in found.evidence[1]
    quarter, _ = _naive(series, made, offset, 3600 + 900)  # as in Kathmandu: it may be this run's
    assert "in no time zone" not in " ".join(align.place(quarter, zoneless).alignment.evidence)
    assert align.place(naive, zoneless, Aligning("signal")).alignment.source == log_alignment.SIGNAL


def test_a_long_log_would_meet_any_run_in_some_zone_and_is_not_moved(made, logged) -> None:
    series, offset = logged
    long = replace(
        series, times=series.times * 20
    )  # ten minutes and more, over before the run began
    naive, asked = _naive(long, made, offset - 1200, 0)
    found = align.place(naive, asked, Aligning("clock")).alignment
    assert (found.offset_s, found.status) == (None, "none")
    assert "before this run. It is not used." in found.elsewhere


@pytest.mark.parametrize(
    ("zone_s", "told_s"), [(-3 * 3600, None), (9 * 3600, None), (0, -3 * 3600)]
)
def test_times_of_day_take_the_day_of_the_run(
    zone_s: int, told_s: int | None, made, logged
) -> None:
    """In the profiled machine's zone, or in the one that the log tells."""
    series, offset = logged
    local = (
        made.trace.clock.mid_ns + round(offset * NS) + (zone_s if told_s is None else told_s) * NS
    )
    naive = replace(series, clock=Clock(of_day_ns=local % times.DAY, utc_offset_s=told_s))
    zoned = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=zone_s))
    found = align.place(
        naive, log_alignment.AlignmentContext(zoned, made.steps, made.epochs)
    ).alignment
    assert found.source == log_alignment.LOCAL
    assert found.offset_s == pytest.approx(offset, abs=0.05)
    assert "assumed from the run's own day" in found.evidence[0]


def test_times_of_day_that_meet_the_run_on_no_day_have_no_date(made, logged) -> None:
    series, offset = logged
    local = made.trace.clock.mid_ns + round(offset * NS) + 7 * 3600 * NS
    naive = replace(series, clock=Clock(of_day_ns=local % times.DAY))
    zoned = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=0))
    found = align.place(
        naive, log_alignment.AlignmentContext(zoned, made.steps, made.epochs), Aligning("clock")
    ).alignment
    assert found.offset_s is None
    assert any("times of day alone" in words for words in found.evidence)


def test_times_of_day_are_in_the_only_zone_that_fits_unless_chance_would_do(made, logged) -> None:
    series, offset = logged
    local = made.trace.clock.mid_ns + round(offset * NS) + 7 * 3600 * NS
    naive = replace(series, clock=Clock(of_day_ns=local % times.DAY))
    unknown = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=None))
    in_context = log_alignment.AlignmentContext(unknown, made.steps, made.epochs)
    found = align.place(naive, in_context, Aligning("clock")).alignment
    assert found.offset_s == pytest.approx(offset, abs=0.05)
    assert "the only time zone in which log and run overlap" in " ".join(found.evidence)
    # Four minutes meet any run in one zone of eight.
    end = replace(naive, times=np.append(naive.times, 240 * NS), watts=np.append(naive.watts, 7.0))
    assert align.place(end, in_context, Aligning("clock")).alignment.offset_s is None


def test_a_bmcs_local_time_stays_as_vague_as_its_clock(made, logged) -> None:
    series, offset = logged
    zero = made.trace.clock.mid_ns + round(offset * NS)
    naive = times.bmc(Clock(zero - 14 * 3600 * NS, zero + 12 * 3600 * NS, times.LOCAL))
    zoned = replace(made.trace, clock=replace(made.trace.clock, utc_offset_s=0))
    found = align.place(
        replace(series, clock=naive),
        log_alignment.AlignmentContext(zoned, made.steps, made.epochs),
        Aligning("clock"),
    ).alignment
    assert found.hi_s - found.lo_s > 200
    assert found.lo_s < offset < found.hi_s


def test_a_log_of_another_day_is_said_to_be_one(made, logged) -> None:
    series, offset = logged
    placed = align.place(clocked(series, made, offset + 86_400), context(made))
    assert (placed.power.status, placed.alignment.offset_s) == ("none", None)
    assert placed.alignment.elsewhere.endswith("begins 24 hours after this run. It is not used.")


def test_channels_of_one_file_share_one_offset(made, logged) -> None:
    from powertui.data.model import Run

    series, offset = logged
    flat = replace(series, watts=np.full(len(series), 7.0), path="a.csv")
    run = Run(
        "r",
        "x",
        (made.trace,),
        (made.steps,),
        (made.epochs,),
        power=(flat, replace(series, path="a.csv")),
    )
    both = align.place_all(run, 0)
    assert (
        both[0].alignment.offset_s == both[1].alignment.offset_s == pytest.approx(offset, abs=0.5)
    )


def test_no_power_and_no_profile_are_no_error(made) -> None:
    from powertui.data.model import Run

    run = Run("r", "x", (made.trace,), (made.steps,), (made.epochs,))
    assert align.place_all(run, 0) == ()
    assert align.place_all(replace(run, traces=()), 0) == ()


def test_an_empty_series_is_placed_nowhere(made, logged) -> None:
    series, _ = logged
    empty = replace(series, times=series.times[:0], watts=series.watts[:0])
    assert align.place(empty, context(made)).power.status == "none"


@pytest.mark.parametrize(
    ("text", "value"), [("1.25s", 1.25), ("-300ms", -0.3), ("2min", 120.0), ("12", 12.0)]
)
def test_times_as_a_person_writes_them(text: str, value: float) -> None:
    assert align.seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["soon", "", "1e400s", "nan", "9999999999h"])
def test_what_is_no_time_gets_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        align.seconds(text)


def test_training_outside_the_profile_comes_from_epochs_that_are_known_well(made) -> None:
    wide = Epochs(
        (
            Epoch(0, -int(1e12), int(5e12), "x"),
            Epoch(1, int(5e12), int(40e12), "x", slack=int(2e12)),
        )
    )
    assert replace(context(made), epochs=wide).training == (-int(1e12), int(5e12))
    assert replace(context(made), epochs=Epochs()).training is None


# ── PowerBoard's marker ──────────────────────────────────────────────────────────────────────────


def _marker(path: Path, wall: float) -> None:
    metadata = blob(1, blob(1, b"powerboard"))
    tensor = number(1, 7) + blob(2, b"") + blob(8, b"./data")
    value = blob(1, blob(1, b"ipmi_data.csv") + blob(9, metadata) + blob(8, tensor))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        frame(double(1, wall) + blob(3, b"brain.Event:2"))
        + frame(double(1, wall) + number(2, 0) + blob(5, value))
    )


def test_powerboards_marker_and_the_training_run_place_its_log(made, logged, tmp_path) -> None:
    series, _ = logged
    start = 1_700_000_100.0
    last = float(series.times[-1]) / 1e9
    _marker(
        tmp_path / "demo_logs" / "events.out.tfevents.1700000200.host.4242.99.v2",
        start + last + 0.4,
    )
    write_scalars(
        tmp_path / "logs" / "train" / "events.out.tfevents.1700000100.host.4242.0.v2",
        [(start + 0.5, 0, "epoch_loss", 1.0)],
        start,
    )
    log = tmp_path / "data" / "ipmi_data.csv"
    log.parent.mkdir()
    log.write_text("x")
    logs = [
        *anchor.near(None, [str(log)]),
        anchor.tfevents.read(str(next((tmp_path / "logs" / "train").iterdir())), "train"),
    ]
    found = anchor.find(series, logs)
    assert found is not None
    assert found.clock.lo_ns <= round((start + 0.5) * NS)
    assert found.clock.hi_ns - found.clock.lo_ns <= 1.01 * NS
    assert abs(found.clock.mid_ns / NS - start) < 1
    assert "both agree" in " ".join(found.evidence)
    assert "4242" in " ".join(found.evidence)


def test_without_a_marker_the_training_alone_places_nothing(made, logged, tmp_path) -> None:
    series, _ = logged
    path = tmp_path / "train" / "events.out.tfevents.1700000100.host.4242.0.v2"
    write_scalars(path, [(1_700_000_100.5, 0, "epoch_loss", 1.0)], 1_700_000_100.0)
    assert anchor.find(series, [anchor.tfevents.read(str(path), "train")]) is None


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_markers_of_several_runs_count_alike_in_any_order(logged, tmp_path, names) -> None:
    series, _ = logged
    last = float(series.times[-1]) / 1e9
    start = 1_700_000_100.0
    training = tmp_path / "train" / "events.out.tfevents.1700000100.host.4242.0.v2"
    write_scalars(training, [(start + 0.5, 0, "epoch_loss", 1.0)], start)
    for name, by in (("a", 0.4), ("b", 0.9)):
        _marker(tmp_path / f"{name}.tfevents", start + last + by)
    markers = [anchor.tfevents.read(str(tmp_path / f"{name}.tfevents"), "") for name in names]
    # Alone, either may be the log's.
    assert anchor.find(series, markers) is None
    assert anchor.find(series, markers[:1]) is not None
    with_training = anchor.find(series, [*markers, anchor.tfevents.read(str(training), "train")])
    assert with_training is not None
    assert with_training.clock.hi_ns / NS == pytest.approx(start + 0.4, abs=0.01)


def test_powerboard_run_195247_lies_within_a_second_of_its_evidence(shared_data) -> None:
    folder = shared_data / "public"
    entry = logdir.scan(folder / "powerboard_tf22_run195247").runs[0]
    for name in ("data/ipmi_data.csv", "ipmi_data.db"):
        options = ReadOptions(
            power=(str(folder / "powerboard_power_run195247" / name),), find_power=False
        )
        run = loading.load_run(entry, options=options)
        (placed,) = align.place_all(run, 0, entry)
        assert placed.alignment.status == "aligned"
        assert placed.alignment.source == log_alignment.MARKER
        # The first record of the training run was written at 1616280767.92; start() is called just
        # before.
        zero = run.traces[0].clock.mid_ns / 1e9 + placed.alignment.offset_s
        assert abs(zero - 1616280767.9) < 1


# ── the recorded run ─────────────────────────────────────────────────────────────────────────────

TRUE_OFFSET = (
    1795224813.3142254 - 1795224823.636256
)  # the simulated BMC's own zero, on the profile's clock


def test_the_demo_is_aligned_by_its_clocks(tmp_path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "demo")
    entry = logdir.scan(tmp_path / "demo").runs[0]
    run = loading.load_run(entry)
    (placed,) = align.place_all(run, 0, entry)
    assert placed.alignment.source == log_alignment.CLOCKS
    first = 0.02196  # the first reading was taken so long after the log's start
    assert placed.alignment.offset_s == pytest.approx(TRUE_OFFSET + first, abs=0.01)


def test_the_demo_by_signal_is_near_the_truth_or_says_that_it_does_not_know(tmp_path) -> None:
    entry = logdir.scan(demo.folder()).runs[0]
    run = loading.load_run(entry)
    (placed,) = align.place_all(run, 0, entry, Aligning("signal"))
    found = placed.alignment
    truth = TRUE_OFFSET + 0.02196
    assert found.lo_s <= truth <= found.hi_s
    assert abs(found.offset_s - truth) < 0.5
    assert found.status in ("aligned", "ambiguous")
