"""A cut or damaged profile: it says so first, says where it ends, and nothing is blamed."""

from __future__ import annotations

import gzip
import math
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import powertui
from powertui.data.asked import Aligning
from powertui.data.tools import environment
from powertui.report import brief
from powertui.run_view import RunView
from tests.synthetic import xplane

_FILE = "own/two_epochs_with_burst/logs/Nfit/20261121/train/plugins/profile/2026_11_21_01_34_05"
_LOST = "The names of its events were in the part that is missing, so nothing is concluded"
_MS = 10**9


def _opened(data: bytes, folder: Path) -> RunView:
    (folder / "vm.xplane.pb").write_bytes(data)
    (run,) = powertui.open(folder / "vm.xplane.pb")
    return run


@pytest.mark.parametrize("percent", [10, 20, 30, 40, 50, 60, 70, 80, 90, 95])
def test_of_a_cut_profile_nothing_is_blamed_and_no_step_is_guessed(
    percent: int, shared_data: Path, tmp_path: Path
) -> None:
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    size = len(recorded) * percent // 100
    run = _opened(recorded[:size], tmp_path)
    sentences = list(run.conclusions["sentence"])
    assert sentences[0].startswith(
        f"The profile is incomplete: the file ends at byte {size:,}, its"
    )
    assert _LOST in sentences[0]
    for sentence in sentences:
        assert not re.search(r"event \d|of the framework", sentence), sentence
    assert len(run.steps) == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("percent", [20, 50, 80])
def test_of_a_line_with_damage_in_its_middle_nothing_is_blamed(
    seed: int, percent: int, shared_data: Path, tmp_path: Path
) -> None:
    recorded = bytearray((shared_data / _FILE / "vm.xplane.pb").read_bytes())
    at = len(recorded) * percent // 100
    recorded[at : at + 4096] = random.Random(seed).randbytes(4096)
    (sentence, *_) = _opened(bytes(recorded), tmp_path).conclusions["sentence"]
    assert re.match(
        r"The profile is incomplete: [\d,]+ of the [\d,]+ bytes of a line cannot be read", sentence
    )


def test_of_a_cut_profile_nobody_says_that_it_had_no_device(
    shared_data: Path, tmp_path: Path
) -> None:
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    for size, devices in (
        (len(recorded) // 2, (None, "no device in the part of the profile that could be read")),
        (len(recorded), ("CPU only", "")),
    ):
        opened = _opened(recorded[:size], tmp_path).opened
        facts = environment.facts(opened, opened.profiles[0])
        told = next(fact for fact in facts if fact.id == "devices")
        assert (told.value, told.why) == devices


def test_of_a_whole_profile_nothing_is_missing(shared_data: Path, tmp_path: Path) -> None:
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    run = _opened(recorded, tmp_path)
    sentences = list(run.conclusions["sentence"])
    assert sentences
    assert not any("incomplete" in sentence for sentence in sentences)
    assert not run.opened.run.traces[0].missing


def test_of_a_trace_in_json_that_ends_in_the_middle_nothing_is_blamed(
    shared_data: Path, tmp_path: Path
) -> None:
    (source,) = (shared_data / "own/bursts/jax_no_epochs_100ms").rglob("*.trace.json.gz")
    text = gzip.decompress(source.read_bytes())
    path = tmp_path / "vm.trace.json"
    path.write_bytes(text[: len(text) // 2])
    (run,) = powertui.open(path)
    (sentence, *_) = run.conclusions["sentence"]
    assert sentence.startswith("The profile is incomplete: the list of events ends in the middle")


def test_a_report_of_a_cut_profile_says_incomplete_first_and_names_its_end_once(
    tmp_path: Path,
) -> None:
    events = [xplane.Event(f"op {number}", number * _MS, _MS) for number in range(100)]
    planes = [xplane.Plane("/host:CPU", [xplane.Line("python", events)])]
    whole = xplane.encode(planes)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(whole[: len(whole) // 2])
    printed = subprocess.run(
        [sys.executable, "-m", "powertui", "report", str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    _, first, *_ = printed.splitlines()
    end = f"the file ends at byte {len(whole) // 2:,}, its data at byte "
    assert re.match(rf" *findings +The profile is incomplete: {end}", first)
    assert printed.count(end) == 2  # there, and among the warnings
    assert "byte 0" not in printed
    assert "none in the part of the profile that could be read" in printed
    assert "host threads only" not in printed


def test_a_host_with_a_cut_profile_is_named_and_not_compared(
    shared_data: Path, tmp_path: Path
) -> None:
    for source in (shared_data / "public/kineto_two_ranks").rglob("*.json.gz"):
        data = source.read_bytes()
        kept = data[: len(data) * 2 // 5] if "rank-0" in source.name else data
        (tmp_path / source.name).write_bytes(kept)
    (run,) = powertui.open(tmp_path)
    sentences = list(run.conclusions["sentence"])
    assert not sentences[0].startswith("The profile")
    assert re.match(
        r"The profile of sampled_rank-0 is incomplete \(.*\): what is missing is not judged",
        sentences[-1],
    )
    answer = run.tool("hosts")
    assert "Not compared: sampled_rank-0. A part of the profile is missing." in answer.notes
    without = answer.frame.set_index("host_name")["own_s"]
    assert math.isnan(without["sampled_rank-0"])
    assert without["sampled_rank-1"] > 0


@pytest.mark.parametrize("percent", [30, 60, 90])
def test_the_brief_lists_no_event_without_a_name(
    percent: int, shared_data: Path, tmp_path: Path
) -> None:
    """In a cut file names come last: "event 12" says nothing of what ran."""
    recorded = (shared_data / _FILE / "vm.xplane.pb").read_bytes()
    run = _opened(recorded[: len(recorded) * percent // 100], tmp_path)
    trace = run.opened.profiles[0].trace
    assert len(trace.lost_names)
    told = brief._run(run.opened, Aligning())
    assert not any(re.fullmatch(r"event \d+", op["name"]) for op in told["top_ops"])
