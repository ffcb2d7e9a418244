"""Step numbers: of any tag, of marks and windows of a recording, of the profiles themselves;
between records by interpolation.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.model import Mark, Steps
from powertui.data.training import epoch_scalars, rate, stretches
from powertui.data.training.training import Training
from powertui.data.training.training_parts import Moment, ScalarStrip, TrainedEpoch
from tests.synthetic.tfevents import frame

UNIX = 1_795_000_000
NS = 1_000_000_000


# ── scalars as other programs write them ─────────────────────────────────────────────────────────


def varint(value: int) -> bytes:
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def simple(wall: float, step: int, tag: str, value: float) -> bytes:
    """As torch's and tensorboardX's add_scalar writes it: simple_value, no metadata; step 0 is left
    out, as proto3 does.
    """
    summary = b"\x0a" + varint(len(tag)) + tag.encode() + b"\x15" + struct.pack("<f", value)
    head = b"\x09" + struct.pack("<d", wall) + (b"\x10" + varint(step) if step else b"")
    return frame(
        head
        + b"\x2a"
        + varint(len(summary) + 1 + len(varint(len(summary))))
        + b"\x0a"
        + varint(len(summary))
        + summary
    )


def named(wall: float, step: int, tag: str, value: float) -> bytes:
    """The same with a plugin named in its metadata (torch's newer writers, tensorboardX with a
    display name).
    """
    plugin = b"\x0a\x07scalars"
    metadata = b"\x0a" + varint(len(plugin)) + plugin
    body = (
        b"\x0a"
        + varint(len(tag))
        + tag.encode()
        + b"\x15"
        + struct.pack("<f", value)
        + b"\x4a"
        + varint(len(metadata))
        + metadata
    )
    return frame(
        b"\x09"
        + struct.pack("<d", wall)
        + b"\x10"
        + varint(step)
        + b"\x2a"
        + varint(len(body) + 1 + len(varint(len(body))))
        + b"\x0a"
        + varint(len(body))
        + body
    )


def tensor(wall: float, step: int, tag: str, value: float) -> bytes:
    """As clu, Flax and tf.summary write it: a tensor of one float32."""
    holds = b"\x08\x01\x12\x00" + b"\x22\x04" + struct.pack("<f", value)
    body = b"\x0a" + varint(len(tag)) + tag.encode() + b"\x42" + varint(len(holds)) + holds
    return frame(
        b"\x09"
        + struct.pack("<d", wall)
        + b"\x10"
        + varint(step)
        + b"\x2a"
        + varint(len(body) + 1 + len(varint(len(body))))
        + b"\x0a"
        + varint(len(body))
        + body
    )


FILES = [
    "events.out.tfevents.{at}.node7",
    "events.out.tfevents.{at}.node7.4711.0",
    "runs/Nov22_04-00-00_node7/events.out.tfevents.{at}.node7",
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("record", [simple, named, tensor])
@pytest.mark.parametrize(
    ("tag", "every", "begin"),
    [("Loss/train", 50, 0), ("loss", 1, 1), ("train/lr", 7, 0), ("steps_per_sec", 100, 12_000)],
)
def test_the_step_of_any_tag_tells(
    tmp_path: Path, name: str, record: Callable[..., bytes], tag: str, every: int, begin: int
) -> None:
    """torch, tensorboardX, clu, Flax: `global_step` with wall time, validation once in a while with
    the same steps.
    """
    rows = [(UNIX + 3 + 0.02 * number * every, begin + number * every) for number in range(60)]
    data = frame(b"\x09" + struct.pack("<d", UNIX) + b"\x1a\x0dbrain.Event:2")
    for number, (wall, step) in enumerate(rows):
        data += record(wall, step, tag, 1.0 / (1 + number))
        if number % 20 == 19:
            data += record(wall + 0.001, step, "Loss/val", 0.5)
    path = tmp_path / name.format(at=UNIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    (entry,) = logdir.scan(tmp_path).trainings
    training = Training(entry, ReadOptions())
    found = training.rate
    assert (len(found), found.every, int(found.step[0]), int(found.step[-1])) == (
        60,
        every,
        begin,
        begin + 59 * every,
    )
    assert np.nanmedian(found.per_s) == pytest.approx(50, rel=0.01)
    between = found.step_at(int((UNIX + 3 + 0.02 * 10.5 * every) * NS))
    assert between is not None
    assert between[0] == begin + 10 * every
    assert between[1] == pytest.approx(begin + 10.5 * every, abs=0.01 * every)
    assert between[2] == begin + 11 * every


# ── marks and windows of a recording ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "form", ["step {}", "Step_{}", "batch {}", "iteration: {}", "global_step={}", "step #{}"]
)
def test_windows_that_are_named_by_their_step(form: str) -> None:
    found = rate.rate_from_marks(
        Mark(form.format(n), (UNIX + n) * NS, (UNIX + n) * NS + 900_000_000) for n in range(40)
    )
    assert found.source.startswith("marks of a recording")
    assert found.step_at(UNIX * NS + 450_000_000) == (0, pytest.approx(0.5), 1)
    between = found.step_at((UNIX + 7) * NS + 950_000_000)
    assert between is not None
    assert between[:2] == (8, pytest.approx(8, abs=0.1))


def test_marks_every_hundred_steps_are_interpolated_between() -> None:
    found = rate.rate_from_marks(
        [Mark(f"step {100 * n}", (UNIX + 10 * n) * NS) for n in range(9)]
        + [Mark("checkpoint", UNIX * NS)]
    )
    assert found.every == 100
    assert found.step_at((UNIX + 25) * NS) == (200, pytest.approx(250), 300)


@pytest.mark.parametrize(
    "names",
    [
        ["epoch 1", "epoch 2", "epoch 3", "epoch 4"],
        ["step 9", "step 4", "step 2", "step 1"],
        ["step 1"],
    ],
)
def test_other_marks_tell_no_steps(names: list[str]) -> None:
    assert not len(
        rate.rate_from_marks(Mark(name, (UNIX + n) * NS) for n, name in enumerate(names))
    )


def test_a_recordings_windows_number_the_steps_of_a_training_without_scalars(
    tmp_path: Path,
) -> None:
    head = (
        "# powertui recording 1\n# interval_s: "
        "1.0\ntime_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
    )
    rows = []
    for n in range(30):
        rows += [
            f"{UNIX + n}.0,{n}.0,bmc1,power,{240 + n % 3},,0.001,ok,,",
            f"{UNIX + n}.1,{n}.1,,,,,,begin,,step {n}",
        ]
        rows.append(f"{UNIX + n}.9,{n}.9,,,,,,end,,step {n}")
    (tmp_path / "power.csv").write_text(head + "\n".join(rows) + "\n")
    (entry,) = logdir.scan(tmp_path).trainings
    training = Training(entry, ReadOptions())
    assert training.rate.source == "marks of a recording, every step"
    assert (int(training.rate.step[0]), int(training.rate.step[-1])) == (0, 30)


# ── the profiles' own numbers ────────────────────────────────────────────────────────────────────


def test_the_profiles_own_numbers_once_they_were_read(tmp_path: Path, data: Path) -> None:
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / "run")
    for scalars in (tmp_path / "run").rglob("events.out.tfevents.*"):
        scalars.unlink()
    (entry,) = logdir.scan(tmp_path).trainings
    training = Training(entry, ReadOptions())
    assert not len(training.rate)
    (run,) = entry.sessions
    (profile,) = training.opened(run).profiles
    steps = profile.steps
    found = training.rate
    assert found.source.startswith("the profiles' own step numbers")
    assert found.half_ns == profile.clock.half_ns
    row = len(steps) // 2
    at = profile.clock.mid_ns + (int(steps.start[row]) + int(steps.start[row + 1])) // 2000
    told = found.step_at(at)
    assert told is not None
    assert told[0] <= int(steps.number[row]) + 0.5 <= told[2]
    assert len(training.aligned(Aligning(mode="none")).rate) == len(found)


# ── profiles of a part of the training ───────────────────────────────────────────────────────────


def _session(first: float, numbers: list[int], each: float = 0.1) -> rate.SessionSteps:
    """A profile whose steps begin `first` seconds after UNIX, one every `each` seconds."""
    start = (np.arange(len(numbers)) * each * 1e12).astype(np.int64)
    length = np.full(len(numbers), int(each * 1e12) - 1_000_000, np.int64)
    steps = Steps(
        np.array(numbers),
        start,
        length,
        np.zeros(len(numbers), np.int32),
        [""] * len(numbers),
        "marks",
    )
    return rate.SessionSteps(steps, int((UNIX + first) * NS), 0)


def _epoch(number: int, start: float, end: float) -> TrainedEpoch:
    return TrainedEpoch(
        number,
        Moment(int((UNIX + start) * NS)),
        Moment(int((UNIX + end) * NS)),
        None,
        None,
        "epoch scalars",
    )


def test_a_profile_of_half_an_epoch_does_not_tell_how_many_steps_the_epoch_had() -> None:
    # Keras numbers anew in each epoch: 50 steps of 0.1 s in each, the profile holds the last 20 of
    # epoch 0, epoch 1, 30 of epoch 2
    found = rate.rate_from_sessions([_session(3.0, [*range(30, 50), *range(50), *range(30)])])
    told = epoch_scalars.numbered([_epoch(0, 0, 5), _epoch(1, 5, 10), _epoch(2, 10, 15)], [], found)
    assert [one.steps for one in told] == [None, (0, 50), None]


def test_what_lies_outside_the_profiles_is_no_pause_and_no_validation() -> None:
    found = rate.rate_from_sessions([_session(3.0, [*range(30, 50), *range(50), *range(30)])])
    results = ScalarStrip(
        "validation",
        "epoch_loss",
        np.array([(UNIX + 15) * NS]),
        np.array([2]),
        np.zeros(1),
        "epochs",
    )
    told = epoch_scalars.numbered(
        [_epoch(0, 0, 5), _epoch(1, 5, 10), _epoch(2, 10, 15)], [results], found
    )
    assert [one.validation for one in told] == [None, None, None]
    ran = stretches.training_stretches(found, told)
    assert ran.seconds(stretches.TRAINING) == pytest.approx(15, abs=0.2)
    assert (
        ran.seconds(stretches.PAUSE)
        + ran.seconds(stretches.VALIDATION)
        + ran.seconds(stretches.STARTING)
        < 0.2
    )


def test_between_two_profiles_nothing_is_a_pause() -> None:
    found = rate.rate_from_sessions(
        [_session(1.0, list(range(100, 110))), _session(8.0, list(range(150, 160)))]
    )
    ran = stretches.training_stretches(found, [_epoch(0, 0, 10)])
    assert ran.seconds(stretches.TRAINING) == pytest.approx(10, abs=0.2)
    assert epoch_scalars.numbered([_epoch(0, 0, 10)], [], found)[0].steps is None
    halfway = found.step_at(
        int((UNIX + 5) * NS)
    )  # numbers that go on are interpolated, with what they can be
    assert halfway is not None
    assert halfway[0] == 110
    assert halfway[2] == 150


def test_at_the_last_record_its_steps_are_done_and_nothing_is_known_after_it() -> None:
    found = rate.rate_from_sessions([_session(0.0, list(range(40)))])
    last = int(found.at_ns[-1])
    assert found.step_at(last + 60 * NS) is None
    exact = replace(found, half_ns=0)
    assert exact.step_at(last) == (int(found.step[-1]),) * 3
    assert exact.step_at(last + 1) is None


def test_a_pause_within_a_profile_is_one() -> None:
    one = _session(0.0, list(range(40)))
    start = one.steps.start.copy()
    start[20:] += 2 * 10**12
    paused = rate.SessionSteps(replace(one.steps, start=start), one.zero_ns, 0)
    ran = stretches.training_stretches(rate.rate_from_sessions([paused]), [_epoch(0, 0, 6)])
    assert ran.seconds(stretches.PAUSE) == pytest.approx(2, abs=0.2)
