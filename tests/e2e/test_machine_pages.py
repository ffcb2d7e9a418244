"""docs/machines/: every command is one that powertui takes, and every page is followed from its
first command to its last, with stand-ins for what this machine lacks. What is not run names why.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.cli import build_parser, normalise
from tests import profiler_server
from tests.bmc.rmcpplus import Bmc
from tests.profiler_server import ProfilerServer
from tests.synthetic import xplane
from tests.unit.formats import test_rocprof, test_tpu
from tests.unit.sampler.test_aiu_smi import HEAD
from tests.unit.sampler.test_without_root import AMD_SMI, NVIDIA, program

from .ssh import Sshd
from .test_elsewhere import Host

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/machines").glob("*.md"))
# Lines of the pages that no test runs here, and where they are tried instead.
NOT_RUN = {
    "pip install .": "it fetches packages: `make release` installs each wheel",
    "make demo": "it fetches packages: CI makes its environment so",
    "export PATH=$PATH:$PWD/.venv/bin": "of the environment that `make demo` makes",
    "tar xf powertui-0.1.0-x86_64-bundle.tar.gz": "test_bundle.py",
    "sh powertui-0.1.0-x86_64/install.sh": "test_bundle.py",
    "sudo chmod a+r /sys/class/powercap/*/energy_uj": "it changes this machine",
    "powertui report gs://my-bucket/logs": "a bucket: tests/unit/test_elsewhere.py",
    "powertui capture localhost:9012 --via tpu-host --logdir logs": "test_elsewhere.py",
    "powertui check logs --against main": "tests/unit/gate",
}
# What each page's commands print, in this order.
SHOWN = {
    "amd": ("amd-smi:", "GPU 0", "1 Over", "addition_kernel"),
    "gpu-node": ("node17 power", "GPU 0", "1 Over", "node17 power", "GPU 0"),
    "laptop": ("epoch", "rapl:", "1 Over"),
    "power": ("hwmon:", "AIU 0", "1 Over", "bmc17 power"),
    "slurm": ("nvidia-smi:", "GPU 0", "1 Over", "1 Over"),
    "tpu": ("6: median", "1 Over", "Computing on the device takes 67 %"),
}
# A program of five steps, with a trace as torch.profiler writes it.
TRAINING = """
import json, os, sys, time
began = time.time_ns()
time.sleep(5)
os.makedirs("logs", exist_ok=True)
step = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "dur": 900_000}
kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 700_000}
events = []
for number in range(5):
    events.append({**step, "name": f"ProfilerStep#{number}", "ts": number * 1_000_000})
    events.append({**kernel, "ts": number * 1_000_000 + 50_000, "args": {"device": 0, "stream": 7}})
trace = {"schemaVersion": 1, "baseTimeNanoseconds": began, "traceEvents": events}
with open(f"logs/node17_1.{began}.pt.trace.json", "w") as file:
    json.dump(trace, file)
"""


def commands(page: Path) -> Iterator[str]:
    """Every command line in the page's blocks, then every one of powertui in its sentences."""
    text = page.read_text("utf-8")
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            yield line.partition("   #")[0].rstrip()
    yield from re.findall(r"`(powertui [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_powertui_takes_every_command(page: Path) -> None:
    count = 0
    for line in commands(page):
        for start in re.finditer(r"\bpowertui (?=[a-z])", line):
            words = shlex.split(line[start.end() :].rstrip("'"))
            words = words[: words.index("--")] if "--" in words else words
            count += 1
            if words[0] != "record":  # its command was cut off
                build_parser().parse_args(normalise(words))
            else:
                build_parser("record").parse_args([*words, "--", "true"])
    assert count >= 2


def test_what_is_not_run_is_on_a_page() -> None:
    assert set(NOT_RUN) <= {line for page in PAGES for line in commands(page)}
    assert list(SHOWN) == [page.stem for page in PAGES]


def stand_ins(folder: Path, page: str) -> None:
    """Programs of machines that are not here."""
    scripts = {
        "python": f'exec {sys.executable} "$@"',
        "srun": 'exec "$@"',
        # Screens are opened in a terminal in memory, which prints them and leaves.
        "powertui": f"""export PYTHONPATH={ROOT}
case $1 in
    sensors|record|energy|report|capture|demo) exec {sys.executable} -m powertui "$@" ;;
    *) exec {sys.executable} -m tests.e2e.opened_screen "$@" ;;
esac""",
    }
    folder.mkdir()
    if page == "amd":
        program(folder, "amd-smi", AMD_SMI)
        (folder / "profile.json").write_text(json.dumps(test_rocprof.document()))
        scripts["rocprofv3"] = f"""while [ "$1" != -- ]; do
    if [ "$1" = -d ]; then logs=$2; fi
    shift
done
shift
"$@"
mkdir -p "$logs/gpu7"
cp {folder}/profile.json "$logs/gpu7/238_results.json\""""
    elif page == "power":
        head = HEAD.replace("{unit}", "W")
        scripts["aiu-smi"] = f"""echo '{head}'
while date '+  0 %Y%m%d  %H:%M:%S     1     1   37.5   40     10     1     1'; do sleep 1; done"""
    elif page != "tpu":
        program(folder, "nvidia-smi", NVIDIA)
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


def tpu_profile(now_ns: int, _numbers: object = ()) -> bytes:
    """What the profiler's server of a TPU host would write."""
    moments = {"profile_start_time": now_ns, "profile_stop_time": now_ns + 2 * 10**9}
    return xplane.encode(
        [*test_tpu.planes(), xplane.Plane("Task Environment", stats=moments)], hosts=["tpu-host"]
    )


def configured(page: Path, home: Path, port: int) -> None:
    """The config file that the page shows, and a BMC as bmc17."""
    folder = home / ".config/powertui"
    folder.mkdir(parents=True)
    (folder / "bmc17.password").write_text("pw-viewer\n")
    text = "".join(re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    if not text:
        text = '[hosts.bmc17]\nhost = "bmc17"\nuser = "viewer"\n'
        text += 'password_file = "~/.config/powertui/bmc17.password"\n'
    (folder / "config.toml").write_text(text.replace('"bmc17"', f'"127.0.0.1:{port}"'))
    for file in folder.iterdir():
        file.chmod(0o600)


@pytest.mark.usefixtures("needs_sshd")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_followed_to_its_end(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_ins(tmp_path / "bin", page.stem)
    # On the page of AMD it is rocprofv3 that writes the profile.
    (tmp_path / "train.py").write_text(
        TRAINING if page.stem != "amd" else "import time; time.sleep(5)"
    )
    monkeypatch.setattr(profiler_server, "profile", tpu_profile)
    with Bmc() as bmc, ProfilerServer() as server, Sshd(tmp_path / "sshd") as sshd:
        configured(page, tmp_path, bmc.port)
        cluster = Host(tmp_path, sshd, sshd.port)
        script = "\n".join(line for line in commands(page) if line not in NOT_RUN)
        for written, here in (
            ("localhost:9012", f"localhost:{server.port}"),
            ("ssh://cluster/home/me", f"ssh://box{tmp_path}"),
        ):
            script = script.replace(written, here)
        environment = {
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", ""),
            **{name: cluster.env[name] for name in ("POWERTUI_SSH", "XDG_RUNTIME_DIR")},
        }
        done = subprocess.run(
            ["bash", "-eux", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        cluster.leave()
    print(done.stdout)
    assert done.returncode == 0
    at = 0
    for text in SHOWN[page.stem]:
        at = done.stdout.find(text, at) + 1
        assert at, f"{text!r} is not shown, or not after what came before it"
