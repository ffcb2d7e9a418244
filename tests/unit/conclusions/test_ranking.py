"""The order of conclusions, and that none says what another one says."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace

from powertui.data.conclusions.conclusion import (
    Conclusion,
    Confidence,
    Cost,
    Evidence,
    Kind,
    Stretch,
)
from powertui.data.conclusions.makers import stretches
from powertui.data.conclusions.ranking import ranked
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.log_alignment import Alignment

_UNSURE = Confidence.UNSURE


def _conclusion(
    kind: Kind,
    share: float | None = None,
    *,
    joules_share: float | None = None,
    stretch: tuple[int, int] | None = None,
    confidence: Confidence = Confidence.SURE,
    host: int = 0,
) -> Conclusion:
    return Conclusion(
        kind=kind,
        sentence=f"{kind.value} {share}.",
        short=kind.value,
        confidence=confidence,
        evidence=Evidence("timeline"),
        cost=Cost(share=share, joules_share=joules_share),
        stretch=None if stretch is None else Stretch(host, *stretch),
    )


def _kinds(*conclusions: Conclusion) -> list[Kind]:
    return [conclusion.kind for conclusion in ranked(conclusions)]


def test_of_what_a_step_is_made_of_the_largest_part_comes_first() -> None:
    launch, compute = _conclusion(Kind.LAUNCH, 0.2), _conclusion(Kind.COMPUTE, 0.6)
    assert _kinds(launch, compute) == [Kind.COMPUTE, Kind.LAUNCH]


def test_much_waiting_for_input_comes_before_more_computing() -> None:
    compute = _conclusion(Kind.COMPUTE, 0.6)
    assert _kinds(compute, _conclusion(Kind.INPUT, 0.21)) == [Kind.INPUT, Kind.COMPUTE]
    assert _kinds(compute, _conclusion(Kind.INPUT, 0.19)) == [Kind.COMPUTE, Kind.INPUT]


def test_a_fifth_of_the_time_that_is_lost_comes_before_computing_and_less_comes_after_it() -> None:
    compute = _conclusion(Kind.COMPUTE, 0.7)
    pause = _conclusion(Kind.PAUSE, 0.2, stretch=(10, 20))
    short = _conclusion(Kind.PAUSE, 0.19, stretch=(30, 40))
    assert _kinds(short, compute, pause) == [Kind.PAUSE, Kind.COMPUTE, Kind.PAUSE]


def test_power_that_nothing_explains_comes_first_unless_it_is_a_guess() -> None:
    compute = _conclusion(Kind.COMPUTE, 0.9)
    sure = _conclusion(Kind.POWER, joules_share=0.03, stretch=(10, 20))
    unsure = _conclusion(
        Kind.POWER, joules_share=0.03, stretch=(10, 20), confidence=Confidence.UNSURE
    )
    assert _kinds(compute, sure) == [Kind.POWER, Kind.COMPUTE]
    assert _kinds(unsure, compute) == [Kind.COMPUTE, Kind.POWER]


def test_power_of_a_log_whose_place_is_in_doubt_is_not_first() -> None:
    compute = _conclusion(Kind.COMPUTE, 0.9)
    power = _conclusion(Kind.POWER, joules_share=0.03, stretch=(10, 20))
    for status in ("ambiguous", "cannot tell"):
        doubtful = stretches.with_doubt(power, Alignment(0.0, -60.0, 60.0, status, "clock", ()))
        assert doubtful.confidence is Confidence.LIKELY
        assert doubtful.doubt
        assert _kinds(doubtful, compute) == [Kind.COMPUTE, Kind.POWER]
    placed = Alignment(0.0, -0.1, 0.1, "aligned", "clock", ())
    assert stretches.with_doubt(power, placed) is power
    # Slow steps are seen in the trace alone.
    slow = _conclusion(Kind.SLOW_STEPS, 0.1, stretch=(10, 20))
    assert stretches.with_doubt(slow, replace(placed, status="ambiguous")) is slow


def test_compiling_once_does_not_limit_a_run() -> None:
    once = _conclusion(Kind.COMPILATION, 0.7, stretch=(0, 10))
    assert _kinds(once, _conclusion(Kind.COMPUTE, 0.2)) == [Kind.COMPUTE, Kind.COMPILATION]


def test_a_slow_step_with_a_cause_is_told_by_its_cause_alone() -> None:
    slow = _conclusion(Kind.SLOW_STEPS, 0.08, stretch=(10, 20))
    checkpoint = _conclusion(Kind.CHECKPOINT, 0.07, stretch=(11, 20))
    assert _kinds(slow, checkpoint) == [Kind.CHECKPOINT]
    later = _conclusion(Kind.CHECKPOINT, 0.07, stretch=(30, 40))
    assert _kinds(slow, later) == [Kind.SLOW_STEPS, Kind.CHECKPOINT]
    elsewhere = _conclusion(Kind.CHECKPOINT, 0.07, stretch=(11, 20), host=1)
    assert _kinds(slow, elsewhere) == [Kind.SLOW_STEPS, Kind.CHECKPOINT]


def test_why_devices_wait_for_the_host_is_said_once() -> None:
    idle = _conclusion(Kind.IDLE_DEVICE, 0.8)
    launch, unknown = _conclusion(Kind.LAUNCH, 0.2), _conclusion(Kind.UNKNOWN_TIME, 0.3)
    assert _kinds(launch, unknown, idle) == [Kind.IDLE_DEVICE]


def test_every_host_that_holds_others_up_has_its_sentence() -> None:
    hosts = [_conclusion(Kind.STRAGGLER, share) for share in (0.1, 0.2)]
    assert [conclusion.cost.share for conclusion in ranked(hosts)] == [0.2, 0.1]


def test_a_wrong_clock_comes_before_the_power_that_rests_on_it_but_after_sure_causes() -> None:
    clock = _conclusion(Kind.CLOCK, confidence=Confidence.LIKELY)
    power = _conclusion(Kind.POWER, joules_share=0.01, stretch=(10, 20), confidence=_UNSURE)
    compute = _conclusion(Kind.COMPUTE, 0.5)
    assert _kinds(clock, power, compute) == [Kind.COMPUTE, Kind.CLOCK, Kind.POWER]
    guess = _conclusion(Kind.UNKNOWN_TIME, 0.3, confidence=_UNSURE)
    assert _kinds(clock, power, guess) == [Kind.UNKNOWN_TIME, Kind.CLOCK, Kind.POWER]
    sure_power = _conclusion(Kind.POWER, joules_share=0.01, stretch=(10, 20))
    assert _kinds(clock, sure_power, compute) == [Kind.POWER, Kind.COMPUTE, Kind.CLOCK]
    assert _kinds(clock, compute) == [Kind.COMPUTE, Kind.CLOCK]


def test_each_wrong_clock_has_its_own_sentence() -> None:
    first, second = _conclusion(Kind.CLOCK, None), _conclusion(Kind.CLOCK, 0.0)
    assert len(_kinds(first, second)) == 2


def test_an_epoch_that_is_long_for_one_pause_is_told_by_the_pause() -> None:
    epoch = replace(
        _conclusion(Kind.LONG_EPOCH, stretch=(100, 200)), cost=Cost(seconds=10.0, share=0.1)
    )
    pause = replace(_conclusion(Kind.PAUSE, stretch=(150, 160)), cost=Cost(seconds=8.0, share=0.08))
    assert _kinds(epoch, pause) == [Kind.PAUSE]
    short = replace(pause, cost=Cost(seconds=3.0, share=0.03))
    assert _kinds(epoch, short) == [Kind.LONG_EPOCH, Kind.PAUSE]
    elsewhere = replace(pause, stretch=Stretch(0, 250, 260))
    assert _kinds(epoch, elsewhere) == [Kind.LONG_EPOCH, Kind.PAUSE]


def test_what_throttling_cost_comes_before_computing_where_it_is_a_fifth() -> None:
    compute = _conclusion(Kind.COMPUTE, 0.9)
    throttled = _conclusion(Kind.THROTTLING, 0.25, stretch=(10, 90))
    assert _kinds(compute, throttled) == [Kind.THROTTLING, Kind.COMPUTE]
    little = _conclusion(Kind.THROTTLING, 0.1, stretch=(10, 90))
    assert _kinds(compute, little) == [Kind.COMPUTE, Kind.THROTTLING]


def test_time_without_a_record_comes_first_only_where_it_is_the_largest_part() -> None:
    unknown = _conclusion(Kind.UNKNOWN_TIME, 0.37, confidence=_UNSURE)
    copies, compute = _conclusion(Kind.COPIES, 0.23), _conclusion(Kind.COMPUTE, 0.4)
    assert _kinds(copies, unknown) == [Kind.UNKNOWN_TIME, Kind.COPIES]
    assert _kinds(copies, compute, unknown) == [Kind.COPIES, Kind.COMPUTE, Kind.UNKNOWN_TIME]


def test_steps_that_are_slow_for_a_cause_of_several_are_told_once() -> None:
    """A load on the second of them stays: that is another matter."""
    callback = replace(
        _conclusion(Kind.SLOW_STEPS, 0.6, stretch=(0, 100)),
        repeats=(Stretch(0, 0, 100), Stretch(0, 500, 590)),
    )
    unknown = dict.fromkeys(field.name for field in fields(Finding) if field.default is MISSING)
    finding = Finding(**unknown)
    slow = replace(_conclusion(Kind.SLOW_STEPS, 0.1, stretch=(510, 580)), finding=finding)
    power = _conclusion(Kind.POWER, 0.1, stretch=(505, 640))
    assert ranked([callback, slow, power]) == (power, callback)


def test_many_small_operations_come_before_a_loss_that_takes_less() -> None:
    launch, copies = _conclusion(Kind.LAUNCH, 0.4), _conclusion(Kind.COPIES, 0.26)
    compute = _conclusion(Kind.COMPUTE, 0.33)
    assert _kinds(compute, copies, launch) == [Kind.LAUNCH, Kind.COPIES, Kind.COMPUTE]
    assert _kinds(compute, _conclusion(Kind.COPIES, 0.45), launch)[0] is Kind.COPIES


def test_power_that_only_reaches_into_validation_is_told_too() -> None:
    burst = _conclusion(Kind.POWER, joules_share=0.04, stretch=(145, 176))
    validation = _conclusion(Kind.VALIDATION, 0.19, stretch=(166, 188))
    assert set(_kinds(burst, validation)) == {Kind.POWER, Kind.VALIDATION}


def test_power_of_which_validation_covers_the_larger_part_is_told_by_it() -> None:
    burst = _conclusion(Kind.POWER, joules_share=0.04, stretch=(164, 176))
    validation = _conclusion(Kind.VALIDATION, 0.19, stretch=(166, 188))
    assert _kinds(burst, validation) == [Kind.VALIDATION]
