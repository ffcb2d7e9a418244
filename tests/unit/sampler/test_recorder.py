"""Ticks, gaps, health and events, with a source that does what the test says."""

from __future__ import annotations

import re
import threading
import time

import pytest

from powertui.errors import AuthenticationFailed, SensorError, UsageError
from powertui.sampler import clocks
from powertui.sampler.health import Health
from powertui.sampler.recorder import Recorder
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import OK, Channel, Info, Reading, Stamp, none
from tests.waiting import until, until_told

HOLE = Health.longest_bridge


@pytest.fixture(autouse=True)
def _no_holes(monkeypatch):
    """What a busy machine leaves out between two readings, or keeps one waiting, is no gap here."""
    monkeypatch.setattr(Health, "longest_bridge", 600.0)


class Scripted:
    """Answers what `value()` returns; a string is the reason for a gap."""

    min_period = 0.0
    reconnects = 0

    def __init__(self, value=lambda: 100.0, name="s", opening=None):
        self.name, self.value, self.opening = name, value, opening
        self.channels = (Channel("power"),)
        self.reads: list[float] = []
        self.closed = 0

    def open(self):
        if self.opening:
            self.opening()
        return Info("test", "test:", "", self.channels)

    def read(self):
        stamp = Stamp.now()
        self.reads.append(stamp.mono)
        value = self.value()
        t, mono, rtt = stamp.middle()
        watts, quality = (None, none(value)) if isinstance(value, str) else (value, OK)
        return [Reading(t, mono, watts, rtt, self.name, "power", quality)]

    def close(self):
        self.closed += 1


def record(sources, holds, interval=0.05, file=None):
    """Until `holds(recorder)`, or until the first source has been read so many times."""
    recorder = Recorder(sources, interval=interval, file=file)
    recorder.open()
    recorder.start()
    until(lambda: holds(recorder) if callable(holds) else len(sources[0].reads) >= holds)
    recorder.stop()
    return recorder


def test_ticks_keep_to_absolute_deadlines():
    """Each reading lies behind the deadline of its own slot, and slots without one were counted as
    missed.
    """
    source = Scripted()
    recorder = record([source], 12)
    base = recorder.started.mono
    slots = [
        int((r - base) / 0.05 + 1e-9) for r in source.reads[:-1]
    ]  # the last one is out of rhythm, at the end
    assert slots == sorted(set(slots))
    assert len(slots) + recorder.states["s"].missed >= slots[-1] + 1


def test_missed_ticks_are_skipped_and_never_made_up_for():
    slow = iter([0.0, 0.17])

    def value():
        time.sleep(next(slow, 0.0))
        return 100.0

    source = Scripted(value)
    recorder = record([source], 8)
    state = recorder.states["s"]
    base = recorder.started.mono
    assert state.missed >= 3
    slots = [int((r - base) / 0.05 + 1e-6) for r in source.reads[:-1]]
    assert len(slots) == len(set(slots))  # no two readings in one slot: no burst


def test_a_slow_source_does_not_hold_another_up():
    answer = threading.Event()
    slow = Scripted(lambda: answer.wait(600) and 1.0, "slow")
    fast = Scripted(name="fast")
    recorder = Recorder([slow, fast], interval=0.05)
    recorder.open()
    recorder.start()
    until(lambda: len(slow.reads) == 1 and len(fast.reads) >= 10)
    answer.set()
    recorder.stop()


class Fleet(Scripted):
    """Two hosts; every second question comes before the next scrape, and only b's silence is old
    enough to be told.
    """

    def __init__(self):
        super().__init__()
        self.channels = (Channel("a"), Channel("b"))

    def read(self):
        stamp = Stamp.now()
        self.reads.append(stamp.mono)
        answered = stamp.middle()
        silent = answered.gap(self.name, "b", f"no new sample for {len(self.reads)} s")
        if len(self.reads) % 2:
            return [answered.reading(self.name, "a", 100.0), silent]
        return [silent]


def test_one_silent_host_of_a_fleet_is_no_outage_of_the_server():
    recorder = record([Fleet()], 6)
    told = [event.text for event in recorder.events if "value" in event.text]
    assert told == []
    gaps = {health.channel.name: health.gaps for _, health in recorder.health()}
    assert gaps["a"] == 0
    assert gaps["b"] >= 6


def test_a_gap_is_an_empty_value_with_its_reason(tmp_path):
    values = iter([100.0, "the host is off", 120.0])
    path = tmp_path / "p.csv"
    recorder = record([Scripted(lambda: next(values, 130.0))], 3, file=RecordingFile(path, 0.05))
    rows = [
        line.split(",")
        for line in path.read_text().splitlines()
        if line[0].isdigit() and ",power," in line
    ]
    assert [(r[4], r[7], r[8]) for r in rows][:3] == [
        ("100", "ok", ""),
        ("", "none", "the host is off"),
        ("120", "ok", ""),
    ]
    ((_, health),) = recorder.health()
    assert health.gaps == 1
    assert [e.text for e in recorder.events if e.level == "warning"] == [
        "no value: the host is off"
    ]
    assert any(e.text.startswith("values again after") for e in recorder.events)


def test_another_reason_is_said_once_while_values_stay_out():
    values = iter(
        [
            "no answer",
            "no answer",
            "the password is refused",
            "no answer",
            "the password is refused",
        ]
    )
    recorder = record([Scripted(lambda: next(values, 1.0))], 6)
    said = [e.text for e in recorder.events if e.level == "warning"]
    assert said == ["no value: no answer", "no value: the password is refused"]


def test_reasons_that_never_repeat_do_not_fill_the_log():
    numbers = iter(range(1000))
    recorder = record([Scripted(lambda: f"reason {next(numbers)}")], 12)
    assert 0 < sum(e.level == "warning" for e in recorder.events) <= 5


def test_an_exception_in_a_source_is_a_gap_and_not_the_end():
    calls = iter([ZeroDivisionError])

    def value():
        for error in calls:
            raise error
        return 5.0

    recorder = record([Scripted(value)], 5)
    ((_, health),) = recorder.health()
    assert health.gaps == 1
    assert health.readings > 3


def test_a_listener_that_fails_is_left_out_and_the_recording_goes_on():
    source = Scripted()
    recorder = Recorder([source], interval=0.02)
    heard = []
    recorder.subscribe(lambda readings: heard.append(readings))
    recorder.subscribe(lambda readings: 1 / 0)
    recorder.open()
    recorder.start()
    until(lambda: len(heard) >= 3)
    recorder.stop()
    assert len(heard) == len(source.reads)
    assert sum("a listener failed" in e.text for e in recorder.events) == 1


def test_stop_reads_once_more_so_that_the_energy_covers_the_whole_time():
    source = Scripted()
    recorder = Recorder([source], interval=3600)
    recorder.open()
    recorder.start()
    until(lambda: source.reads)
    time.sleep(0.1)
    end = time.monotonic()
    recorder.stop()
    ((_, health),) = recorder.health()
    assert source.reads[-1] >= end
    total = health.total()
    assert total.coverage == pytest.approx(1.0)
    assert total.joules == pytest.approx(100.0 * total.span_s)
    assert total.span_s >= 0.1


def test_a_refused_login_is_raised_and_everything_closed():
    def refuse():
        raise AuthenticationFailed("no")

    good, bad = Scripted(name="good"), Scripted(name="bad", opening=refuse)
    with pytest.raises(AuthenticationFailed):
        Recorder([good, bad]).open()
    assert (good.closed, bad.closed) == (1, 1)


def test_a_source_that_is_away_is_tried_again_as_long_as_another_answers():
    tries = iter([SensorError("away"), SensorError("still away")])

    def opening():
        for error in tries:
            raise error

    late = Scripted(name="late", opening=opening)
    recorder = record([Scripted(name="good"), late], lambda _: late.reads)
    assert recorder.states["late"].info is not None
    assert next(e.text for e in recorder.events if e.source == "late") == "away"


def test_all_sources_away_is_an_error_unless_one_is_patient():
    def away():
        raise SensorError("away")

    with pytest.raises(SensorError, match="away"):
        Recorder([Scripted(opening=away)]).open()
    Recorder([Scripted(opening=away)]).open(patient=True)


def test_marks_keep_their_own_moment(tmp_path):
    path = tmp_path / "p.csv"
    recorder = Recorder([Scripted()], interval=0.05, file=RecordingFile(path, 0.05))
    recorder.open()
    recorder.start()
    stamp = recorder.mark("epoch #3, =1+1")
    recorder.stop()
    line = next(line for line in path.read_text().splitlines() if ",mark," in line)
    assert line.startswith(f"{stamp.t:.6f},{stamp.mono:.6f},,,,,,mark,,")
    assert line.endswith(',"epoch #3, =1+1"')


def test_a_step_of_the_hosts_clock_is_noted(monkeypatch, tmp_path):
    shift = [0.0]
    real = clocks.wall_s
    monkeypatch.setattr(clocks, "wall_s", lambda: real() + shift[0])
    path = tmp_path / "p.csv"
    source = Scripted()
    recorder = Recorder([source], interval=0.02, file=RecordingFile(path, 0.02))
    recorder.open()
    recorder.start()
    until(lambda: len(source.reads) >= 3)
    shift[0] = -7200.0
    until_told(path, "the host's clock was stepped by -7")
    before = len(source.reads)
    until(lambda: len(source.reads) >= before + 3)
    recorder.stop()
    (event,) = [event for event in recorder.events if "the host's clock was stepped" in event.text]
    assert re.search(r"by -7(200\.0|199\.9)\d\d s", event.text), event.text
    monos = [
        float(x.split(",")[1])
        for x in path.read_text().splitlines()
        if ",power," in x and x[0].isdigit()
    ]
    assert monos == sorted(monos)


@pytest.mark.parametrize("interval", [0.0, -1.0, 1e9, float("nan")])
def test_impossible_intervals(interval):
    with pytest.raises(UsageError):
        Recorder([Scripted()], interval=interval)


def test_two_sources_need_two_names():
    with pytest.raises(UsageError, match="twice"):
        Recorder([Scripted(), Scripted()])
    with pytest.raises(UsageError, match="no power source"):
        Recorder([])


def test_stop_may_come_twice_and_the_sources_are_closed_once():
    source = Scripted()
    recorder = record([source], 1)
    recorder.stop()
    assert source.closed == 1


def test_a_request_that_hangs_is_a_gap_in_the_file_while_it_hangs(tmp_path, monkeypatch):
    """A body that is dripped slowly, a long timeout, a reconnect: the file must not look as if
    nothing had been asked.
    """
    monkeypatch.setattr(Health, "longest_bridge", HOLE)
    answer, hangs = threading.Event(), threading.Event()

    def value():
        if len(source.reads) > 3:
            hangs.set()
            answer.wait(600)
        return 100.0

    path = tmp_path / "p.csv"
    source = Scripted(value)
    recorder = Recorder([source], interval=0.02, file=RecordingFile(path, 0.02))
    recorder.open()
    recorder.start()
    assert hangs.wait(600)
    ((state, health),) = recorder.health()
    until(
        lambda: health.readings - health.gaps == 3 and health.last.watts is None
    )  # not the value before
    until_told(path, ",none,no answer for ")  # and it still hangs
    assert state.down_since is not None
    answer.set()
    until(lambda: health.last.watts is not None)
    recorder.stop()
    assert any(e.text.startswith("values again") for e in recorder.events)
    rows = [
        line.split(",")
        for line in path.read_text().splitlines()
        if ",power," in line and line[0].isdigit()
    ]
    times = [float(row[1]) for row in rows]
    assert times == sorted(times)
    third, fourth = [at for at, row in enumerate(rows) if row[7] == "ok"][2:4]
    assert [row[7] for row in rows[third + 1 : fourth]] == ["none"], "one hang is one gap"
    assert health.total().coverage < 1


def test_what_happens_to_the_file_is_noticed_between_two_readings(tmp_path):
    path = tmp_path / "p.csv"
    recorder = Recorder([Scripted()], interval=3600, file=RecordingFile(path, 3600))
    recorder.open()
    recorder.start()
    until_told(path, ",ok,")
    path.unlink()
    until(
        lambda: any("was removed while recording, with 1 rows" in e.text for e in recorder.events)
    )
    recorder.stop()
    assert recorder.file.held == path.read_text().count(",ok,") == 1


def test_the_file_is_saved_where_values_stop_and_where_they_come_again(tmp_path, monkeypatch):
    saved = []

    class Watched(RecordingFile):
        def sync(self):
            saved.append(self.rows)
            super().sync()

    values = iter([100.0, "away", "away", 120.0])
    recorder = record(
        [Scripted(lambda: next(values, 130.0))], 6, file=Watched(tmp_path / "p.csv", 0.05)
    )
    assert saved == [2, 5], (
        "rows so far: two readings; then a gap more, the note of the return, and the value"
    )
    assert recorder.file.held > 5


def test_a_source_that_is_still_being_opened_does_not_hold_up_the_end():
    """Leaving the live screen must not wait for a host that is silent."""
    answer = threading.Event()
    recorder = Recorder(
        [Scripted(name="good"), Scripted(name="silent", opening=lambda: answer.wait(600))],
        interval=0.05,
    )
    recorder.start()
    until(lambda: recorder.states["good"].channels)
    recorder.stop()
    assert not answer.is_set()
    assert recorder.ended is not None
    answer.set()


def test_one_that_was_never_started_can_be_stopped():
    recorder = Recorder([Scripted()])
    recorder.stop()
    assert recorder.ended is not None


def test_a_source_is_not_asked_faster_than_it_can_answer():
    """Of each slot of its own period at most one reading, however short the interval that was asked
    for.
    """
    source = Scripted()
    source.min_period = 0.2
    recorder = record([source], 4, interval=0.01)
    slots = [int((r - recorder.started.mono) / 0.2 + 1e-6) for r in source.reads[:-1]]
    assert len(slots) == len(set(slots))
    assert any("asked every 0.2 s" in event.text for event in recorder.events)


def test_a_source_that_knows_its_pace_only_once_it_is_open_is_asked_at_that_pace():
    source = Scripted()

    def opening():
        source.min_period = 0.2

    source.opening = opening
    recorder = Recorder([source], interval=0.01)
    recorder.start()  # which opens it, as the live screen does
    until(lambda: len(source.reads) >= 5)
    recorder.stop()
    paced = source.reads[:-1]  # the last one is out of rhythm, at the end
    assert len(paced) <= (paced[-1] - paced[0]) / 0.2 + 2


def test_a_reading_is_stamped_with_the_middle_of_its_request(monkeypatch):
    """Wall clock and monotonic clock alike: the value was taken within half a round trip of that
    moment.
    """
    monkeypatch.setattr(clocks, "steady_s", lambda: 50.4)
    t, mono, rtt = Stamp(1000.0, 50.0).middle()
    assert (t, mono, rtt) == pytest.approx((1000.2, 50.2, 0.4))


def test_both_clocks_are_read_at_one_moment(monkeypatch):
    """However long the machine holds us up between them, once or twice: it is not for a clock that
    somebody set.
    """
    passed, held = [50.0], iter([3.0, 0.7])

    def wall():
        t = 1000.0 + passed[0]
        passed[0] += next(held, 0.0)
        return t

    monkeypatch.setattr(clocks, "wall_s", wall)
    monkeypatch.setattr(clocks, "steady_s", lambda: passed[0])
    stamp = Stamp.now()
    assert stamp.t - stamp.mono == pytest.approx(1000.0)
