"""Where a log lies on a training: what its sessions say, held against what its epochs say."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from benchmarks import drawn_trainings
from powertui import demo
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy import log_alignment
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.log_alignment import Alignment
from powertui.data.training import placing
from powertui.data.training.training import Training
from tests.synthetic.long_training import long_training
from tests.synthetic.tfevents import write_scalars


def _sure(lo: float, hi: float) -> Alignment:
    return Alignment((lo + hi) / 2, lo, hi, "aligned", log_alignment.SIGNAL, (f"{lo} to {hi}",))


def _unsure(*places: tuple[float, float]) -> Alignment:
    lo, hi = min(at for at, _ in places) - 1, max(at for at, _ in places) + 1
    where = tuple(Where(at, weight, 0.5) for at, weight in places)
    return Alignment(
        places[0][0], lo, hi, "ambiguous", log_alignment.SIGNAL, ("several",), places=where
    )


def test_of_those_that_agree_the_narrowest_counts() -> None:
    assert placing.surest([_sure(1.0, 1.4)], _sure(1.1, 2.0)) == _sure(1.0, 1.4)
    assert placing.surest([_sure(0.0, 3.0)], _sure(1.1, 2.0)) == _sure(1.1, 2.0)
    assert placing.surest([_sure(1.0, 1.4)], _unsure((1.2, 0.6), (9.0, 0.4))) == _sure(1.0, 1.4)
    assert placing.surest([], _unsure((1.2, 0.6), (9.0, 0.4))).status == "ambiguous"


def test_two_that_are_sure_of_different_places_make_neither_sure() -> None:
    found = placing.surest([_sure(1.0, 1.4)], _sure(5.0, 5.2))
    assert found.status == "ambiguous"
    assert (found.lo_s, found.hi_s) == (1.0, 5.2)
    assert sorted(place.offset_s for place in found.places) == pytest.approx([1.2, 5.1])
    assert sum(place.weight for place in found.places) == pytest.approx(1.0)
    assert found.evidence[-1].startswith("but ")


def test_a_log_that_begins_late_is_not_laid_where_training_would_draw_nothing(
    tmp_path: Path,
) -> None:
    """12 of 15 minutes, then two and a half of the idle machine: that end looks like a start, with
    all else before the training.
    """
    case = drawn_trainings.drawn(13022)
    course = drawn_trainings.make(case)
    logs, log, first, _ = drawn_trainings.write(case, course, tmp_path)
    (entry,) = logdir.scan(logs).trainings
    (channel,) = Training(entry, ReadOptions(power=(str(log),))).power
    found = channel.alignment
    truth = first + (drawn_trainings.UNIX * 1e9 - channel.base_ns) / 1e9
    assert found.status != "aligned"
    assert found.lo_s is not None
    assert found.hi_s is not None
    assert found.lo_s < truth < found.hi_s, "it began 5 minutes after the training"


def test_what_ran_in_a_profile_contradicts_a_clock_that_the_records_leave_believed(
    tmp_path: Path,
) -> None:
    """nvidia-smi names no machine, so its clock is believed to 2 s; here it is 7 s ahead.

    The run said so, and its training counted the watts of other epochs as measured.
    """
    shutil.copytree(demo.folder() / "logs", tmp_path / "logs")
    rows = (demo.folder() / "power.csv").read_text().splitlines()[1:]
    lines = ["timestamp, index, power.draw [W]"]
    for at, watts in (row.split(",")[:2] for row in rows):
        stamp = datetime.fromtimestamp(float(at) + 7.0, timezone.utc)
        lines.append(f"{stamp:%Y/%m/%d %H:%M:%S}.{stamp.microsecond // 1000:03d}, 0, {watts} W")
    log = tmp_path / "gpu.csv"
    log.write_text("\n".join(lines) + "\n")
    (entry,) = logdir.scan(tmp_path / "logs").trainings
    training = Training(entry, ReadOptions(power=(str(log),), tz="UTC"))
    assert all(training.opened(run).profiles[0].trace for run in entry.sessions)
    (channel,) = training.power
    found = channel.alignment
    true = float(rows[0].split(",")[0]) - channel.base_ns / 1e9
    assert found.status == "ambiguous", "places within the two seconds fit a little"
    assert found.lo_s is not None
    assert found.hi_s is not None
    assert found.lo_s < true < found.hi_s
    at_truth = [place.weight for place in found.places if abs(place.offset_s - true) < 0.4]
    assert sum(at_truth) > 0.1


def test_a_session_that_covers_its_training_may_place_its_power_whatever_the_records_tell(
    tmp_path: Path,
) -> None:
    """Its trace tells more of the work than a record every few batches.

    A short one does not, where there are such records.
    """
    shutil.copytree(demo.folder(), tmp_path / "logs")
    (found,) = logdir.scan(tmp_path).trainings
    begin, end = (at / 1e9 for at in Training(found).scalar_span or (0, 0))
    rows = [
        (begin + (end - begin) * part / 10, 10 * part, "batch_loss", 1.0) for part in range(1, 10)
    ]
    (profiled,) = tmp_path.rglob("plugins/profile")
    write_scalars(
        next(profiled.parents[1].rglob("events.out*")).parent
        / "events.out.tfevents.1795224823.vm.9.1.v2",
        rows,
        begin,
    )
    (found,) = logdir.scan(tmp_path).trainings
    whole = Training(found)
    assert len(whole.records) > 2
    assert all(whole.opened(run).profiles[0].trace for run in found.sessions)
    assert len(placing.telling(whole)) == 1

    (short,) = logdir.scan(long_training(tmp_path / "long")).trainings
    part = Training(short)
    assert len(part.records) > 2
    assert all(part.opened(run).profiles[0].trace for run in short.sessions)
    assert not placing.telling(part)
