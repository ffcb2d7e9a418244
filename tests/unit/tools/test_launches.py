"""From a call to what it launched, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.opened import Opened, Profile
from powertui.data.tools import kernels, launches
from tests.synthetic.launches import launches as written


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    path = written(tmp_path / "host.pt.trace.json")
    return Profile(Opened(logdir.scan(path).runs[0]), 0)


def find(profile: Profile, name: str) -> tuple[int, int]:
    trace = profile.trace
    for number, (_, track) in enumerate(trace.tracks()):
        names = [trace.names.full(int(index)) for index in track.events.name]
        if name in names and not track.derived:
            return number, names.index(name)
    raise AssertionError(name)


def name_of(profile: Profile, place: tuple[int, int]) -> str:
    track = list(profile.trace.tracks())[place[0]][1]
    return profile.trace.names.full(int(track.events.name[place[1]]))


def across(profile: Profile, place: tuple[int, int]) -> tuple[int, int] | None:
    return launches.across(
        launches.kernel_launches(profile), kernels.device_kernels(profile), profile.trace, *place
    )


def test_a_kernel_leads_to_its_call_and_the_call_back_to_the_kernel(profile: Profile) -> None:
    for i in range(3):
        kernel = find(profile, f"gemm_{i}")
        call = across(profile, kernel)
        assert call is not None
        assert name_of(profile, call) == "cudaLaunchKernel"
        assert across(profile, call) == kernel


def test_an_event_that_holds_a_call_leads_to_what_that_launched(profile: Profile) -> None:
    assert across(profile, find(profile, "aten::mm")) == find(profile, "gemm_0")


def test_a_kernel_without_a_call_leads_nowhere(profile: Profile) -> None:
    assert across(profile, find(profile, "lost")) is None


def test_where_no_call_was_recorded_nothing_leads_anywhere(tmp_path: Path) -> None:
    path = written(tmp_path / "host.pt.trace.json")
    trace = json.loads(path.read_text())
    trace["traceEvents"] = [
        event for event in trace["traceEvents"] if event.get("cat") != "cuda_runtime"
    ]
    path.write_text(json.dumps(trace))
    profile = Profile(Opened(logdir.scan(path).runs[0]), 0)
    assert across(profile, find(profile, "aten::mm")) is None
    assert across(profile, find(profile, "gemm_0")) is None
