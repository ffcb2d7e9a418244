"""One step has one end and one energy, whoever tells of it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from powertui import demo
from powertui.data import logdir, window
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, integrate
from powertui.data.opened import Opened, Profile
from powertui.report import energy, export, summary
from powertui.view.context import Context
from powertui.view.navigation import Navigator
from powertui.view.timeline_model import TimelineModel


@pytest.fixture(scope="module")
def profile() -> Profile:
    return Opened(logdir.scan(str(demo.folder())).runs[0]).profiles[0]


def test_the_table_the_context_pane_and_the_energies_agree(profile: Profile) -> None:
    found = account.energy_account(profile)
    model = TimelineModel.from_run(profile.opened.run, 0)
    navigator = Navigator(model, 120, 30)
    ends = profile.steps.ends()
    for row in (0, 7, 99, 100, 150, 199):
        step = profile.steps[row]
        assert step.end == ends[row]
        joules = integrate.energy(found.channels[0], step.start, step.end).joules
        assert (
            found.step_energies[row].joules == pytest.approx(joules) if joules is not None else True
        )
        navigator.goto(step.start)
        shown = {
            f.name: f.value
            for s in Context.for_state(model, navigator.state, found.drawn).sections
            if s.title == "step"
            for f in s.facts
        }
        told = found.step_energies[row]
        assert (shown["energy"] == told.reason) or shown["energy"].split()[
            0
        ] == f"{told.joules:.4g}"


def test_both_tables_of_steps_say_the_same_length(
    profile: Profile, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(demo.folder())
    assert summary.tell(path, None, ReadOptions(), Aligning(), "csv") == 0
    report = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert energy.tell(path, None, ReadOptions(), Aligning(), "csv") == 0
    joules = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(report) == len(joules) == len(profile.steps)
    for ours, theirs, end in zip(report, joules, profile.steps.ends().tolist(), strict=True):
        assert float(ours["start_s"]) == pytest.approx(float(theirs["start_s"]))
        assert float(ours["duration_s"]) == pytest.approx(float(theirs["duration_s"]))
        assert float(theirs["end_s"]) == pytest.approx(end / 1e12)


def test_an_export_of_one_step_is_that_step(profile: Profile) -> None:
    steps = profile.steps
    words = export.WindowWords(epoch=1, steps="46")
    lo, hi = export.profile_window(words, profile.opened.run, 0)
    (row,) = np.flatnonzero((steps.epoch == 1) & (steps.number == 46))
    assert (lo, hi) == (steps[int(row)].start, steps[int(row)].end)
    assert window.window_summary(profile.trace, lo, hi, steps=steps).step_rows().tolist() == [row]
