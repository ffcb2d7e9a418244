"""A profile cut in the middle has lost its names: nothing is blamed by number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import powertui

_FILE = "own/two_epochs_with_burst/logs/Nfit/20261121/train/plugins/profile/2026_11_21_01_34_05"
_LOST = "The names of the events were in the part of the file that is missing: "


def _sentences(recorded: bytes, percent: int, folder: Path) -> list[str]:
    path = folder / "vm.xplane.pb"
    path.write_bytes(recorded[: len(recorded) * percent // 100])
    (run,) = powertui.open(path)
    return list(run.conclusions["sentence"])


@pytest.mark.parametrize("percent", [10, 20, 30, 40, 50, 60, 70, 80, 90, 95])
def test_of_a_cut_profile_no_nameless_event_is_blamed(
    percent: int, shared_data: Path, tmp_path: Path
) -> None:
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    sentences = _sentences(recorded, percent, tmp_path)
    assert sentences[0].startswith(_LOST)
    for sentence in sentences:
        assert not re.search(r"event \d|of the framework", sentence), sentence


def test_of_a_whole_profile_no_name_is_missing(shared_data: Path, tmp_path: Path) -> None:
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    sentences = _sentences(recorded, 100, tmp_path)
    assert sentences
    assert not any(sentence.startswith(_LOST) for sentence in sentences)
