"""Windows of one recorded run, each held against every other: nothing was changed between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.compare import comparison
from powertui.data.compare.figure import FigureVerdict
from powertui.data.compare.measured import measure
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.opened import Opened, Profile
from powertui.data.training.training import Trainings

# Of a recording, evenly spread: 276 pairs. All 50 windows of the longest one took two minutes.
_MAX_WINDOWS = 24
_OWN = Path(__file__).resolve().parents[4] / "shared" / "data" / "own"
_RECORDINGS = (
    "keras_cifar",
    "custom_loop",
    "two_epochs_with_burst",
    "bursts/keras_quiet_3ep",
    "bursts/keras_4ep_1s_sensor",
)


def profiles(folder: Path) -> Iterator[Profile]:
    trainings = Trainings(logdir.scan(str(folder)))
    for entry in trainings.found.runs:
        yield from trainings.opened(entry).profiles


def windows(profile: Profile, length: int) -> list[ComparedPart]:
    """The run's steps, so many at a time."""
    whole = HostWindow(profile)
    starts = [*profile.steps.start[whole.rows].tolist(), None]
    parts = []
    for first in range(0, len(starts) - length, length):
        window = HostWindow(profile, starts[first], starts[first + length])
        parts.append(_part(profile.opened, first, window))
    return parts[:: math.ceil(len(parts) / _MAX_WINDOWS)] if parts else []


def _part(opened: Opened, first: int, window: HostWindow) -> ComparedPart:
    return ComparedPart(f"from step {first}", opened, (window,))


def differing(parts: Sequence[ComparedPart]) -> tuple[int, int]:
    """Of all pairs of parts, how many have a figure that differs, and how many pairs there are."""
    measured = [measure(part) for part in parts]
    pairs = list(combinations(measured, 2))
    wrong = sum(
        any(
            figure.verdict is FigureVerdict.DIFFERS
            for figure in comparison.judged([first], [second]).figures
        )
        for first, second in pairs
    )
    return wrong, len(pairs)


@pytest.mark.parametrize("name", _RECORDINGS)
@pytest.mark.parametrize("length", [20, 50, 100])
def test_windows_of_a_recorded_run_differ_in_at_most_five_percent(name: str, length: int) -> None:
    if not (_OWN / name).is_dir():
        pytest.skip("needs the recordings")
    for profile in profiles(_OWN / name):
        wrong, pairs = differing(windows(profile, length))
        assert wrong <= 0.05 * pairs
