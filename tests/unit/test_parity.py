"""Every step time that TensorFlow or TensorBoard's profiler stored, against ours: equal to 2 ns, or
told in docs/parity.md.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

import powertui
from tests import stored

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent.parent / "shared" / "data"
_PAGE = _HERE.parent / "docs" / "parity.md"
_NAMES = (
    "input_pipeline.pb",
    "overview_page.pb",
    "input_pipeline.json",
    "input_pipeline_analyzer.json",
    "overview_page.json",
)
_NS = 2.0

# Answers of today's converter, and the profile that each is of. Of more than five steps it leaves
# out the first and the last.
_PROFILES = {
    "golden/custom_loop": "own/custom_loop",
    "golden/jax_opt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_50",
    "golden/jax_unopt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_48",
    "golden/gpu_tf_t4": "public/e4040_hd2551",
    "golden/keras_cifar_relabelled": "own/keras_cifar",
    "golden/keras_cifar": "own/keras_cifar",
    "golden/trace_export": "own/trace_export",
}
# Results without the profile that they were made from, and results without a step where we find
# some.
_ALONE = ("public/tb_profile_demo", "public/tpu_v2_json_tools")
_WITHOUT_STEPS = ("golden/keras_cifar", "golden/trace_export")


class Result(NamedTuple):
    """One stored file and the folder of the profile that it tells of."""

    path: str
    profile: str


def results() -> list[Result]:
    """Every stored result under ../shared/data; none where that folder is not there."""
    found = []
    for path in sorted(_SHARED.rglob("*")):
        if path.name.endswith(_NAMES):
            name = path.relative_to(_SHARED).as_posix()
            folder = path.parent.relative_to(_SHARED).as_posix()
            found.append(Result(name, _PROFILES.get(folder, folder)))
    return found


def within(name: str, folders: tuple[str, ...]) -> bool:
    return any(name.startswith(f"{folder}/") for folder in folders)


RESULTS = results()
COMPARED = [one for one in RESULTS if not within(one.path, (*_ALONE, *_WITHOUT_STEPS))]


@cache
def ours(folder: str) -> pd.DataFrame:
    (run,) = powertui.open(_SHARED / folder)
    return run.steps


@pytest.mark.parametrize("result", COMPARED, ids=lambda result: result.path)
def test_step_times_are_those_that_were_stored(result: Result) -> None:
    theirs = stored.steps(_SHARED / result.path)
    steps = ours(result.profile)
    assert theirs, "a stored result without steps belongs into docs/parity.md"
    if result.path.startswith("golden/") and len(theirs) > 3:
        assert len(steps) == len(theirs) + 2
        steps = steps.iloc[1:-1]
    assert len(steps) == len(theirs)
    off = [
        (number, one.name, one.ms, mine * 1e3)
        for one, number, mine in zip(theirs, steps["number"], steps["step_s"], strict=True)
        if not abs(mine * 1e9 - one.ms * 1e6) <= _NS
    ]
    assert not off, f"(number, name, stored ms, ours ms): {off}"
    named = [
        one.name for one in theirs if " " in one.name
    ]  # "train 7": the program's number; a bare number is a group's
    assert named in ([], [f"train {number}" for number in steps["number"]])


@pytest.mark.parametrize(
    "result",
    [one for one in RESULTS if within(one.path, _WITHOUT_STEPS)],
    ids=lambda result: result.path,
)
def test_results_without_steps_have_none(result: Result) -> None:
    assert not stored.steps(_SHARED / result.path)
    assert len(ours(result.profile)) > 0  # what we find there, the page tells why


@pytest.mark.parametrize("folder", [*_ALONE, *_WITHOUT_STEPS])
def test_the_page_tells_what_was_not_compared(folder: str) -> None:
    assert f"`{folder}`" in _PAGE.read_text()


def test_every_folder_named_here_is_there(shared_data: Path) -> None:
    """A case that lost its files would pass unseen."""
    assert len(COMPARED) >= 18
    assert {one.path.split("/")[0] for one in COMPARED} == {"golden", "public"}
    for folder in (*_PROFILES.values(), *_PROFILES, *_ALONE, *_WITHOUT_STEPS):
        assert (shared_data / folder).is_dir()
    for folder in _ALONE:  # nobody put a profile beside them since
        assert not any((shared_data / folder).rglob("*.xplane.pb"))
