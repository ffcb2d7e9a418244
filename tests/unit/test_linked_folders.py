"""Folders with links: a scan ends soon, goes nowhere that is no logdir, and says what it did not
search.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.logdir import tree

_TRACE = '{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"op"}]}'


def a_logdir(folder: Path, runs: int = 1) -> Path:
    for number in range(runs):
        run = folder / "plugins" / "profile" / f"run{number}"
        run.mkdir(parents=True)
        (run / "host.trace.json").write_text(_TRACE)
    return folder


def doctor(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "doctor", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("target", ["/", "..", "../.."])
def test_a_link_to_a_folder_above_is_not_followed(target: str, tmp_path: Path) -> None:
    folder = a_logdir(tmp_path / "a" / "b")
    (tmp_path / "a" / "other").mkdir()
    for number in range(3):
        (folder / f"link{number}").symlink_to(target)
    found = logdir.scan(folder)
    assert len(found.runs) == 1
    assert found.entries < 20
    assert [str(problem) for problem in found.problems] == [
        (
            f"{folder / 'link0'}: leads to a folder above the logdir and was not followed … and 2 "
            "more folders were not searched"
        )
    ]


@pytest.mark.parametrize("target", ["/proc", "/proc/self", "/sys", "/dev"])
def test_folders_of_the_system_are_not_searched(target: str, tmp_path: Path) -> None:
    if Path(target).stat().st_dev == Path("/").stat().st_dev:
        pytest.skip(f"{target} is a plain folder here")
    folder = a_logdir(tmp_path / "logs")
    (folder / "link").symlink_to(target)
    found = logdir.scan(folder)
    assert len(found.runs) == 1
    assert [problem.cause for problem in found.problems] == [
        "is a folder of the system (/proc, /sys or /dev) and was not searched"
    ]


def test_loops_and_links_to_what_was_searched_are_silent(tmp_path: Path) -> None:
    folder = a_logdir(tmp_path / "logs")
    (folder / "self").symlink_to(".")
    (folder / "plugins" / "up").symlink_to("../..", target_is_directory=True)
    (folder / "plugins" / "back").symlink_to(folder)
    found = logdir.scan(folder)
    assert len(found.runs) == 1
    # `plugins/up` leads above the logdir, the two others to the logdir itself.
    assert [problem.file for problem in found.problems] == [str(folder / "plugins" / "up")]


def test_runs_behind_links_are_found(tmp_path: Path) -> None:
    outside = a_logdir(tmp_path / "disk" / "run", 2)
    folder = a_logdir(tmp_path / "logs")
    (folder / "linked").symlink_to(outside)
    found = logdir.scan(folder)
    assert len(found.runs) == 3
    assert found.problems == ()


def test_what_links_lead_to_is_searched_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_LINKED_ENTRIES", 10)
    outside = a_logdir(tmp_path / "disk", 30)
    folder = a_logdir(tmp_path / "logs", 30)
    (folder / "linked").symlink_to(outside)
    found = logdir.scan(folder)
    assert len(found.runs) == 30  # all of the logdir's own
    (problem,) = found.problems
    assert problem.cause == (
        "was not searched: the links here lead to more than 10 names … and 29 more folders "
        "were not searched"
    )


def test_a_tree_that_is_too_large_says_how_many_folders_were_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_ENTRIES", 10)
    for number in range(8):
        for name in ("a", "b", "c"):
            (tmp_path / f"folder{number}" / name).mkdir(parents=True)
    (problem,) = logdir.scan(tmp_path).problems
    assert problem.cause == (
        "the tree is too large to scan: stopped after 11 names, … and 10 more folders were not "
        "searched. Name a folder further down"
    )


def test_doctor_shows_some_problems_of_a_kind_and_counts_the_rest(tmp_path: Path) -> None:
    folder = a_logdir(tmp_path / "logs")
    for number in range(3_000):
        (folder / f"link{number}.trace.json").symlink_to(folder / "gone")
    printed = doctor(folder)
    assert printed.count("cannot be examined") == 12
    assert "… and 2,988 more (--json lists them)" in printed
    assert len(printed) < 8_000


def test_doctor_shows_some_runs_and_counts_the_rest(tmp_path: Path) -> None:
    printed = doctor(a_logdir(tmp_path / "logs", 203))
    assert printed.count("\nrun") == 200
    assert printed.endswith("… and 3 more runs (--json lists them)\n")
