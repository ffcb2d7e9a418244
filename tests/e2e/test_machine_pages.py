"""docs/machines/: every command is one that powertui takes, and those that are marked are run, with
stand-ins for what this machine lacks.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.cli import build_parser, normalise
from tests.bmc.redfish import RedfishServer
from tests.unit.sampler.test_aiu_smi import HEAD
from tests.unit.sampler.test_without_root import AMD_SMI, NVIDIA, program

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/machines").glob("*.md"))
RUN = re.compile(r"<!-- run: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
BLOCKS = {match[1]: match[2] for page in PAGES for match in RUN.finditer(page.read_text("utf-8"))}
# A channel of each recording, as its table of joules names it.
CHANNELS = {
    "gpu": ("node17 power", "GPU 0"),
    "amd": ("GPU 0",),
    "aiu": ("AIU 0",),
    "slurm": ("GPU 0",),
}
AIU_LINES = "".join(
    f"  0 20260301  10:00:0{second}     1     1   37.5   40     10     1     1\n"
    for second in range(3)
)


def commands(page: Path) -> Iterator[list[str]]:
    """Every command line of powertui in the page's blocks and in its sentences."""
    text = page.read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    lines += re.findall(r"`(powertui [^`]+)`", text)
    for line in lines:
        for start in re.finditer(r"\bpowertui (?=[a-z])", line):
            words = shlex.split(line[start.end() :].rstrip("'"))
            yield words[: words.index("--")] if "--" in words else words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_powertui_takes_every_command(page: Path) -> None:
    found = list(commands(page))
    assert len(found) >= 2
    for words in found:
        if words[0] != "record":  # its command was cut off
            build_parser().parse_args(normalise(words))
        else:
            build_parser("record").parse_args([*words, "--", "true"])


def test_every_page_has_something_that_is_run_but_the_tpu() -> None:
    assert sorted(BLOCKS) == ["aiu", "amd", "gpu", "laptop", "slurm"]
    assert [page.stem for page in PAGES] == ["amd", "gpu-node", "laptop", "power", "slurm", "tpu"]


def stand_ins(folder: Path) -> None:
    """Programs of machines that are not here."""
    program(folder, "amd-smi", AMD_SMI)
    program(folder, "nvidia-smi", NVIDIA)
    for name, script in {
        "powertui": f'PYTHONPATH={ROOT} exec {sys.executable} -m powertui "$@"',
        "python": f'exec {sys.executable} "$@"',
        "srun": 'exec "$@"',
        "rocprofv3": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
        "aiu-smi": f"cat <<'END'\n{HEAD.replace('{unit}', 'W')}\n{AIU_LINES}END\nexec sleep 60",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", BLOCKS)
def test_what_a_page_says_is_done(name: str, tmp_path: Path) -> None:
    stand_ins(tmp_path / "bin")
    (tmp_path / "train.py").write_text("import time\ntime.sleep(5)\n")
    (tmp_path / "tls").mkdir()
    with RedfishServer(tmp_path / "tls") as bmc:
        (tmp_path / "config.toml").write_text(
            f'[hosts.node17]\nsource = "redfish://127.0.0.1:{bmc.port}"\nuser = "{bmc.user}"\n'
            "insecure = true\n"
        )
        environment = {
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "POWERTUI_CONFIG": str(tmp_path / "config.toml"),
            "IPMI_PASSWORD": bmc.password,
            "LC_ALL": "C.UTF-8",
            "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", ""),
        }
        done = subprocess.run(
            ["bash", "-eu", "-c", BLOCKS[name]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    for channel in CHANNELS.get(name, ("epoch", "rapl:")):
        assert channel in done.stdout
