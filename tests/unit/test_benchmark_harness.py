"""How benchmarks are run: several topics one after the other whatever becomes of one, cases on all
cores, a part of them unless all are asked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import Ran, every_topic, seconds_table
from benchmarks.harness import Amount, grid, in_processes

ROOT = Path(__file__).parents[2]
TOPICS = {
    "broken": "raise ValueError('no peer here')",
    "good": "print('its table')",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "leaving": "import sys; sys.exit('it has left')",
    "later": "print('the last table')",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real runner beside topics that end in every way."""
    place = tmp_path_factory.mktemp("tree")
    package = place / "benchmarks"
    package.mkdir()
    for name in ("__init__.py", "__main__.py", "harness.py"):
        shutil.copyfile(ROOT / "benchmarks" / name, package / name)
    for topic, statement in TOPICS.items():
        (package / f"bench_{topic}.py").write_text(f"def main():\n    {statement}\n")
    return place


def ran(folder: Path, *topics: str) -> subprocess.CompletedProcess[str]:
    """`python -m benchmarks` there."""
    command = [sys.executable, "-m", "benchmarks", *topics]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def rows(text: str) -> dict[str, list[str]]:
    """The last table's cells by topic."""
    table = text.partition("### Seconds of each topic")[2].splitlines()[4:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    return {topic: others for topic, *others in filter(None, cells)}


def test_topics_that_fail_leave_or_are_killed_do_not_stop_the_others(folder: Path) -> None:
    done = ran(folder)
    assert done.returncode == 1
    assert "its table" in done.stdout
    assert "the last table" in done.stdout
    assert "**failed**: ValueError: no peer here" in done.stdout
    assert "**failed**: SystemExit: it has left" in done.stdout
    assert "**failed**: killed was ended by signal 9" in done.stdout
    ended = {topic: cells[-1] for topic, cells in rows(done.stdout).items()}
    assert ended.pop("all") == "3 of 5 failed"
    failed = {"broken", "killed", "leaving"}
    assert ended == {topic: "failed" if topic in failed else "well" for topic in TOPICS}


def test_topics_that_end_well_are_told_in_the_order_asked(folder: Path) -> None:
    done = ran(folder, "later", "good")
    assert done.returncode == 0
    assert done.stdout.index("## later") < done.stdout.index("## good")
    assert rows(done.stdout)["all"][-1] == "all well"
    assert not done.stderr


def test_one_topic_ends_with_its_seconds_and_no_table(folder: Path) -> None:
    done = ran(folder, "good")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("(good: ")
    assert not rows(done.stdout)


def test_a_topic_without_a_file_is_told_as_failed(folder: Path) -> None:
    done = ran(folder, "nothing")
    assert done.returncode == 1
    assert "**failed**: ModuleNotFoundError" in done.stdout


def test_seconds_are_summed_and_the_longest_topic_is_first() -> None:
    table = seconds_table([Ran("short", 1.0, 2.0, 0), Ran("long", 9.0, 4.0, -9)], 12.0)
    assert table.rows == [
        ["long", "9", "4", "failed"],
        ["short", "1", "2", "well"],
        ["all", "12", "6", "1 of 2 failed"],
    ]


def test_every_topic_is_one_that_the_documentation_names() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    named = set(re.findall(r"`(\w+)`|bench_(\w+) ", text))
    words = {word for pair in named for word in pair}
    assert set(every_topic()) - words == set()


def _square(number: int) -> int:
    return number * number


def _pair(case: tuple[str, int]) -> str:
    row, column = case
    return row * column


def _refused(number: int) -> int:
    raise ValueError(f"case {number}")


def test_cases_on_all_cores_are_answered_in_their_order() -> None:
    assert in_processes(_square, range(20)) == list(map(_square, range(20)))


def test_cells_stand_in_their_row_and_column() -> None:
    assert grid(_pair, ("a", "b"), (1, 2, 3)) == [
        ("a", ["a", "aa", "aaa"]),
        ("b", ["b", "bb", "bbb"]),
    ]


def test_a_case_that_fails_is_no_answer() -> None:
    with pytest.raises(ValueError, match="case 0"):
        in_processes(_refused, range(2))


def test_a_part_of_the_cases_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = Amount(12, 48, "seeds")
    monkeypatch.delenv("POWERTUI_BENCH_ALL", raising=False)
    assert (seeds.count, str(seeds)) == (12, "12 of 48 seeds (POWERTUI_BENCH_ALL=1 for all)")
    monkeypatch.setenv("POWERTUI_BENCH_ALL", "1")
    assert (seeds.count, str(seeds)) == (48, "48 seeds")
    assert str(Amount(5, 5, "seeds")) == "5 seeds"
