"""Epochs that took longer than the others, in trainings of which only scalars and power are known,
and in profiles.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from powertui import api
from powertui.data import logdir
from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.opened import Opened
from powertui.data.training.training import Trainings
from powertui.screens.trainings import only
from tests.synthetic import torch_json
from tests.synthetic.tfevents import write_scalars

_BEGIN = 1_700_000_000.0
_WATTS = 200.0


def _epochs(folder: Path, lengths: Sequence[float], foreign: int = -1) -> list[Conclusion]:
    """What is said of a training with epochs of these lengths; during one of them another program
    draws 90 W.
    """
    ends = np.cumsum(lengths)
    rows = [(_BEGIN + end, number, "epoch_loss", 1.0) for number, end in enumerate(ends)]
    path = folder / "train" / "events.out.tfevents.1700000000.vm.77.0.v2"
    write_scalars(path, rows, _BEGIN, graph=_BEGIN)
    at = np.arange(-20.0, ends[-1] + 20.0, 0.5)
    watts = np.where((at >= 0) & (at < ends[-1]), _WATTS, 60.0)
    for number, (lo, hi) in enumerate(pairwise([0.0, *ends])):
        if number == foreign:
            watts[(at >= lo) & (at < hi)] += 90.0
    watts += np.random.default_rng(3).normal(0, 1, len(at))
    lines = [
        f"{_BEGIN + moment:.2f},{mean:.1f}\n"
        for moment, mean in zip(at.tolist(), watts.tolist(), strict=True)
    ]
    (folder / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    scan = logdir.scan(str(folder))
    (training,) = Trainings(scan).all
    return list(run_conclusions(Opened(only(scan) or scan.runs[0], around=training)))


@pytest.mark.parametrize(
    ("lengths", "number", "longer_s"),
    [
        ((22, 20, 31, 20, 21), 2, 11.0),
        ((40, 20, 20, 20, 26), 4, 6.0),  # the first one does not count
        ((30, 45), 1, 15.0),
    ],
)
def test_an_epoch_that_took_longer_than_all_others_is_told(
    tmp_path: Path, lengths: Sequence[float], number: int, longer_s: float
) -> None:
    found = [one for one in _epochs(tmp_path, lengths) if one.kind is Kind.LONG_EPOCH]
    (epoch,) = found
    against = "epoch 0" if len(lengths) == 2 else "the other epochs"
    assert epoch.sentence.startswith(f"Epoch {number} takes ")
    assert f" more than {against} ({lengths[number]:g} s in all)." in epoch.sentence
    assert epoch.cost.seconds == pytest.approx(longer_s, abs=0.1)
    assert epoch.cost.joules == pytest.approx(longer_s * _WATTS, rel=0.05)


@pytest.mark.parametrize(
    "lengths", [(20, 20, 20, 20), (35, 20, 21, 20, 20.5), (20, 14), (20, 26, 26, 20)]
)
def test_epochs_that_differ_as_epochs_do_are_not_told(
    tmp_path: Path, lengths: Sequence[float]
) -> None:
    assert not [one for one in _epochs(tmp_path, lengths) if one.kind is Kind.LONG_EPOCH]


def test_an_epoch_that_drew_more_for_a_load_that_is_told_has_no_second_sentence(
    tmp_path: Path,
) -> None:
    kinds = [one.kind for one in _epochs(tmp_path, (22, 20, 20, 20, 20), foreign=3)]
    assert kinds == [Kind.POWER]


@pytest.mark.parametrize(
    ("start_s", "steps", "is_told"),
    [(0.5, [0.25] * 28, False), (0.0, [0.25] * 24 + [0.9625] * 9, True)],
)
def test_an_epoch_in_which_the_profiler_stopped_is_not_compared(
    tmp_path: Path, start_s: float, steps: list[float], is_told: bool
) -> None:
    """Stopping a profiler takes seconds: an epoch in which that happens looks long."""
    ends = (2.0, 4.0, 6.0, 13.7)
    rows = [(_BEGIN + end, number, "epoch_loss", 1.0) for number, end in enumerate(ends)]
    write_scalars(
        tmp_path / "events.out.tfevents.1700000000.vm.77.0.v2", rows, _BEGIN, graph=_BEGIN
    )
    events = []
    for step, (at, length) in enumerate(zip(np.cumsum([start_s, *steps]), steps, strict=False)):
        for category, name in (("user_annotation", f"ProfilerStep#{step}"), ("cpu_op", "aten::mm")):
            events.append(torch_json.event((category, name, at * 1e6, length * 1e6)))
    torch_json.write(tmp_path, events)
    (trace,) = tmp_path.glob("*.pt.trace.json")
    content = json.loads(trace.read_text())
    content["baseTimeNanoseconds"] = int((_BEGIN - 1) * 1e9)
    trace.write_text(json.dumps(content))
    (run,) = api.open(str(tmp_path))
    kinds = [one.kind for one in run_conclusions(run.opened)]
    assert len(run.opened.profiles[0].epochs) >= 3
    assert (Kind.LONG_EPOCH in kinds) is is_told
