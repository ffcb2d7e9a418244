"""A column has one type in every frame, whatever is missing in it: frames of two runs fit together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import powertui
from powertui import demo
from powertui.report.writers import as_frame


def test_kinds_decide_the_types_not_the_values() -> None:
    kinds = {"step": "whole", "joules": "number", "badge": "text", "watched": "flag"}
    full = as_frame.typed([{"step": 2**60 + 1, "joules": 1, "badge": "m", "watched": True}], kinds)
    rows = [
        {"step": 2**60 + 1, "joules": None, "badge": None, "watched": False},
        {"step": None, "joules": None, "badge": None, "watched": False},
    ]
    gaps = as_frame.typed(rows, kinds)
    empty = as_frame.typed([], kinds)
    assert list(full.dtypes) == list(gaps.dtypes) == list(empty.dtypes)
    assert full.dtypes["step"] == pd.Int64Dtype()
    assert full.dtypes["joules"] == np.float64
    assert gaps["step"][0] == 2**60 + 1  # not the nearest float
    assert gaps.isna().sum().to_dict() == {"step": 1, "joules": 2, "badge": 2, "watched": 0}


def test_frames_of_trainings_have_the_same_types(data: Path) -> None:
    names = ("islands", "epochs", "phases", "hours", "rate", "scalars", "power", "findings")
    types: dict[str, dict[str, str]] = {}
    rows = dict.fromkeys((*names, "energy"), 0)
    for logdir in (demo.folder(), data / "logdirs/jax_cpu", data / "logdirs/trace_export"):
        for training in powertui.open(logdir).trainings:
            frames = {name: getattr(training, name) for name in names}
            frames["energy"] = training.energy()
            for name, frame in frames.items():
                found = frame.dtypes.astype(str).to_dict()
                assert types.setdefault(name, found) == found, (name, logdir)
                rows[name] += len(frame)
    # Sums of what is missing are numbers, too.
    assert types["energy"]["joules"] == types["energy"]["joules_per_step"] == "float64"
    assert types["energy"]["epoch"] == types["findings"]["step_lo"] == "Int64"
    assert rows["energy"]
    assert rows["islands"]


def test_frames_of_comparisons_have_the_same_types(data: Path) -> None:
    names = ("figures", "causes", "configuration", "conclusions", "unmatched")
    one = powertui.compare(data / "logdirs/jax_cpu", demo.folder())
    other = powertui.compare(data / "logdirs/jax_cpu", data / "logdirs/jax_cpu")
    for name in names:
        types = getattr(one, name).dtypes.astype(str).to_dict()
        assert getattr(other, name).dtypes.astype(str).to_dict() == types, name
        assert types, name
