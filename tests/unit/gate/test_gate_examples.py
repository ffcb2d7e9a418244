"""The workflows of docs/examples, run as they are, on runs that a stand-in for training writes.

GitHub's and GitLab's files are YAML; what is needed of them is their shell, which is found by how
it is indented, so that the tests need no parser of YAML.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs" / "examples"

# Writes a profile of 60 steps into the folder after --profile; SLOWER makes its steps longer.
TRAIN = """
import os, sys
from pathlib import Path
import numpy as np
from tests.synthetic.step_world import step_series, write_run
folder = Path(sys.argv[sys.argv.index("--profile") + 1])
rng = np.random.default_rng([int(folder.name), int(float(os.environ["SLOWER"]) * 100)])
steps = 0.05 * float(os.environ["SLOWER"]) * rng.normal(1, 0.002) * step_series("white", 60, rng)
write_run(folder, steps, {"aten::mm": 0.9})
"""

# The same on a night: NIGHT days after the first one, 0.2 % faster or slower than the others.
TRAIN_AT_NIGHT = """
import os, sys
from pathlib import Path
import numpy as np
from tests.synthetic.step_world import UNIX_S, step_series, write_run
folder = Path(sys.argv[sys.argv.index("--profile") + 1])
night, number = int(os.environ["NIGHT"]), int(folder.name)
rng = np.random.default_rng([night, number])
day = np.random.default_rng(night).normal(1, 0.002)
slower = float(os.environ["SLOWER"]) * day * rng.normal(1, 0.002)
steps = 0.05 * slower * step_series("white", 60, rng)
write_run(folder, steps, {"aten::mm": 0.9}, unix_s=UNIX_S + 86400 * night + 600 * number)
"""

# The same, a minute and 1 % after the run before it. FACTOR is what the program changes.
TRAIN_LATER = """
import sys
from pathlib import Path
import numpy as np
from tests.synthetic.step_world import UNIX_S, step_series, write_run
folder = Path(sys.argv[sys.argv.index("--profile") + 1])
place = 2 * int(folder.name) + (folder.parent.name == "new")
rng = np.random.default_rng(place)
slower = FACTOR * (1 + 0.01 * place) * rng.normal(1, 0.002)
steps = 0.05 * slower * step_series("white", 60, rng)
write_run(folder, steps, {"aten::mm": 0.9}, unix_s=UNIX_S + 60 * place)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a runner has: train.py, and programs that install nothing and start at once."""
    folder = tmp_path / "checkout"
    programs = tmp_path / "bin"
    programs.mkdir()
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    scripts = {
        "pip": "exit 0",
        "srun": 'exec "$@"',
        "python": f'exec {sys.executable} "$@"',
        "powertui": f'exec {sys.executable} -m powertui "$@"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return folder


def ran(checkout: Path, script: str, slower: float, **variables: str) -> int:
    """The exit code of a script, as a runner would run it."""
    env = {
        **os.environ,
        "PATH": f"{checkout.parent / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(checkout.parent),
        "SLOWER": str(slower),
        "GITHUB_STEP_SUMMARY": "summary.md",
        **variables,
    }
    env.pop("POWERTUI_BASELINES", None)
    env |= {key: value for key, value in variables.items() if key == "POWERTUI_BASELINES"}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=checkout, env=env, check=False)
    return done.returncode


def github_steps(event: str, name: str = "github-actions.yml") -> str:
    """The shell of the steps that run on this event."""
    page = (EXAMPLES / name).read_text("utf-8")
    scripts = []
    for step in re.split(r"^      - ", page, flags=re.MULTILINE)[1:]:
        condition = re.search(r"^        if: .*github\.event_name == '(\w+)'", step, re.MULTILINE)
        run = re.search(r"^        run: (?:\|\n((?: {10}.*\n|\n)+)|(.+))", step, re.MULTILINE)
        if run is not None and (condition is None or condition[1] == event):
            scripts.append(re.sub(r"^ {10}", "", run[1] or run[2], flags=re.MULTILINE))
    return "\n".join(scripts)


def gitlab_job(name: str) -> str:
    """The shell of a job, after what all jobs begin with."""
    page = (EXAMPLES / "gitlab-ci.yml").read_text("utf-8")
    jobs = dict(re.findall(r"^([.\w]+):\n((?:  .*\n|\n)+)", page, re.MULTILINE))
    lines: list[str] = []
    for job, key in ((".speed", "before_script"), (name, "script")):
        block = re.search(rf"^  {key}:\n((?:    .*\n)+)", jobs[job], re.MULTILINE)
        assert block is not None
        lines += [line[6:] for line in block[1].splitlines() if line != "    - |"]
    return "\n".join(lines)


def started(script: str) -> list[str]:
    return re.findall(r"^(?:pip|powertui \w+)", script, re.MULTILINE)


def hold_against_nights(checkout: Path, add: str, check: str, **variables: str) -> list[int]:
    """The exit codes of checks: after one night; after six, unchanged and 10 % slower."""
    (checkout / "train.py").write_text(TRAIN_AT_NIGHT)
    codes = []
    for night in range(6):
        assert ran(checkout, add, 1.0, NIGHT=str(night), SLURM_JOB_ID=str(night), **variables) == 0
        if night in (0, 5):
            job = {"NIGHT": str(night + 1), "SLURM_JOB_ID": f"{night}1"}
            codes.append(ran(checkout, check, 1.0, **job, **variables))
    job = {"NIGHT": "6", "SLURM_JOB_ID": "61"}
    return [*codes, ran(checkout, check, 1.1, **job, **variables)]


def test_github(checkout: Path) -> None:
    save, check = github_steps("workflow_dispatch"), github_steps("pull_request")
    add = github_steps("schedule")
    assert started(save) == started(add) == ["pip", "powertui baseline"]
    assert started(check) == ["pip", "powertui check"]
    variables = {"POWERTUI_BASELINES": ".baselines"}
    assert ran(checkout, check, 1.0, **variables) == 3  # there is no baseline
    assert ran(checkout, save, 1.0, **variables) == 0
    assert (checkout / ".baselines" / "main.json").is_file()
    (checkout / ".baselines" / "main.json").unlink()
    # What a machine does from one day to the next one night does not show.
    assert hold_against_nights(checkout, add, check, **variables) == [3, 0, 1]
    assert "**Above: step\\_median\\_s is " in (checkout / "summary.md").read_text()
    assert ElementTree.parse(checkout / "check.xml").getroot()[0].get("failures") == "2"


def test_github_with_both_programs_in_turns(checkout: Path) -> None:
    script = github_steps("pull_request", "github-in-turns.yml")
    assert re.findall(r"powertui (?:check|baseline)", script) == [
        "powertui baseline",
        "powertui check",
    ]
    variables = {"POWERTUI_BASELINES": ".baselines"}
    # The machine slows down by 1 % with each run; the pull request changes nothing, then 10 %.
    for slower, expected in ((1.0, 0), (1.1, 1)):
        for side, factor in (("old", 1.0), ("new", slower)):
            (checkout / side).mkdir(exist_ok=True)
            program = TRAIN_LATER.replace("FACTOR", str(factor))
            (checkout / side / "train.py").write_text(program)
        shutil.rmtree(checkout / "runs", ignore_errors=True)
        assert ran(checkout, script, 1.0, **variables) == expected
    words = (checkout / "summary.md").read_text()
    assert "**Within" in words
    assert "**Above: step\\_median\\_s is " in words


def test_gitlab(checkout: Path) -> None:
    save, add, check = gitlab_job("baseline"), gitlab_job("night"), gitlab_job("check")
    assert started(save) == started(add) == ["pip", "powertui baseline"]
    assert started(check) == ["pip", "powertui check"]
    variables = {"POWERTUI_BASELINES": ".baselines"}
    assert ran(checkout, save, 1.0, **variables) == 0
    (checkout / ".baselines" / "main.json").unlink()
    assert hold_against_nights(checkout, add, check, **variables) == [3, 0, 1]
    assert ElementTree.parse(checkout / "check.xml").getroot()[0].get("failures") == "2"


def test_slurm(checkout: Path) -> None:
    check = (EXAMPLES / "slurm-check.sh").read_text("utf-8")
    add = f"set add\n{check}"
    assert hold_against_nights(checkout, add, check) == [3, 0, 1]
    assert (checkout.parent / "baselines" / "main.json").is_file()
    answers = [json.loads((checkout / f"runs/{job}/check.json").read_text()) for job in (51, 61)]
    assert [answer["verdict"] for answer in answers] == ["within", "above"]


def test_the_page_links_to_every_example() -> None:
    page = (ROOT / "docs" / "gate.md").read_text("utf-8")
    linked = set(re.findall(r"\(examples/([\w.-]+)\)", page))
    assert linked == {path.name for path in EXAMPLES.iterdir()}
