"""Validation, tracing and other named stretches are rows of their own."""

from __future__ import annotations

from pathlib import Path

import powertui
from powertui.data import logdir
from powertui.data.compare.part import HostWindow
from powertui.data.compare.phase_figures import phase_values
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Trainings


def test_phases_are_rows_by_name(shared_data: Path) -> None:
    quiet, burst = (
        shared_data / "own" / "bursts" / name for name in ("keras_quiet_3ep", "keras_4ep_1s_sensor")
    )
    trainings = Trainings(logdir.scan(str(quiet)))
    (profile,) = trainings.opened(trainings.found.runs[0]).profiles
    phases = profile.epochs.phases
    whole = {key.name: value.value for key, value in phase_values(HostWindow(profile)).items()}
    assert set(whole) == {phase.name for phase in phases}
    for name, seconds in whole.items():
        lengths_ps = [phase.end - phase.start for phase in phases if phase.name == name]
        assert seconds == sum(lengths_ps) / PS_PER_S
    last = phases[-1]
    from_last = phase_values(HostWindow(profile, last.start))
    assert {key.name for key in from_last} == {last.name}

    document = powertui.compare(quiet, burst).json
    rows = [row for row in document["figures"] if row["family"] == "phases"]
    assert {row["verdict"] for row in rows} == {"cannot tell"}  # one run a side
    assert {row["name"] for row in rows} <= set(whole)
    assert rows
