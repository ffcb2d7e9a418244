"""docs/recipes.md: every program there is run as it stands, with the real package where an
interpreter has it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bmc.rmcpplus import Bmc
from tests.profiled_programs import PROGRAMS, interpreter, why_not

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/recipes.md").read_text("utf-8")
FOUND = {
    match[1]: (match[2], match[3], match[4] or "")
    for match in re.finditer(
        r"<!-- recipe: (\S+) (\S+) -->\n```\w+\n(.*?)```\n(?:```sh\n(.*?)```\n)?", PAGE, re.DOTALL
    )
}
PYTHON = [name for name, (kind, _, _) in FOUND.items() if kind in (*PROGRAMS, "torch")]
SHELL = [name for name, (kind, _, _) in FOUND.items() if kind == "bash"]


def test_none_is_missed() -> None:
    assert len(FOUND) == PAGE.count("<!-- recipe:") == 10


@pytest.mark.parametrize("name", PYTHON)
def test_a_program_is_recorded_its_steps_found_and_its_joules_told(
    name: str, tmp_path: Path
) -> None:
    kind, program, commands = FOUND[name]
    if reason := why_not(kind):
        pytest.skip(reason)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    (tmp_path / "train.py").write_text(program.replace("9012", port))
    record, look = commands.splitlines()
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("IPMI", "POWERTUI", "XDG_CONFIG"))
    }
    env = {
        **kept,
        "PYTHONPATH": str(ROOT),
        "IPMI_PASSWORD": "pw-viewer",
        "HOME": str(tmp_path),
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    with Bmc() as bmc:
        words = shlex.split(
            record.replace("9012", port).replace(
                "--host bmc", f"--host 127.0.0.1:{bmc.port} --user viewer"
            )
        )
        assert words[0] == "powertui"
        words[words.index("python")] = interpreter(kind)
        done = subprocess.run(
            [sys.executable, "-m", "powertui", *words[1:]],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    shown = shlex.split(look)
    told = subprocess.run(
        [sys.executable, "-m", "powertui", "report", *shown[1:]],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert told.returncode == 0, told.stderr
    assert re.search(r"steps\s+[1-9][\d,]*: ", told.stdout), told.stdout
    assert "power " in told.stdout
    assert re.search(r"windows\s.* k?J \(95 %", told.stdout), (
        "the whole command, also where the profile is too short for joules"
    )


@pytest.mark.parametrize("name", SHELL)
def test_a_script_is_one_that_bash_can_read(name: str) -> None:
    done = subprocess.run(
        ["bash", "-n"], input=FOUND[name][1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_files_are_rotated_under_a_recorder_and_nothing_is_lost(tmp_path: Path) -> None:
    """Twice within a day; the recorder goes on in a new file, and ends in order as the unit ends
    it.
    """
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("IPMI", "POWERTUI", "XDG_CONFIG"))
    }
    env = {**kept, "PYTHONPATH": str(ROOT), "IPMI_PASSWORD": "pw-viewer", "HOME": str(tmp_path)}
    log = tmp_path / "power.csv"

    def rows(path: Path) -> int:
        return (
            sum(line[:1].isdigit() for line in path.read_text().splitlines())
            if path.exists()
            else 0
        )

    def wait() -> None:
        until = time.monotonic() + 180
        while rows(log) < 2 and time.monotonic() < until:
            time.sleep(0.05)

    with Bmc() as bmc:
        words = [
            sys.executable,
            "-m",
            "powertui",
            "record",
            "--quiet",
            "--source",
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            "--timeout",
            "60",
        ]
        recorder = subprocess.Popen(
            [*words, "-o", str(log), "--interval", "0.1"], env=env, stderr=subprocess.PIPE
        )
        script = (
            FOUND["rotate"][1]
            .replace("/var/lib/powertui", str(tmp_path))
            .replace("+%F-%H%M%S", "+%F-%H%M%S-%N")
        )
        for _ in range(2):
            wait()
            done = subprocess.run(
                ["bash"], input=script, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        wait()
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=120)
    assert recorder.returncode == 0, said
    pieces = sorted(tmp_path.glob("power*.csv"))
    assert len(pieces) == 3, "none was written over another"
    assert all(rows(piece) >= 2 for piece in pieces)


@pytest.mark.parametrize("published", [False, True])
def test_the_unit_is_one_that_systemd_can_read(tmp_path: Path, published: bool) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "powertui-record.service"
    unit.write_text(
        FOUND["powertui-record.service"][1].replace("/usr/local/bin/powertui", "/bin/true")
    )
    if published:
        (tmp_path / f"{unit.name}.d").mkdir()
        drop_in = FOUND["publish.conf"][1].replace("/usr/local/bin/powertui", "/bin/true")
        (tmp_path / f"{unit.name}.d/publish.conf").write_text(drop_in)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["record", "live", "capture"])
def test_every_option_that_is_shown_is_there(verb: str) -> None:
    """Options named in the page's commands are those of the verb."""
    from powertui.cli import build_parser

    tree = next(
        action
        for action in build_parser(verb)._actions
        if hasattr(action, "choices") and action.choices
    )
    assert isinstance(tree.choices, dict)
    known = {option for action in tree.choices[verb]._actions for option in action.option_strings}
    for line in re.findall(rf"powertui {verb} ([^\n`]*)", PAGE):
        ours = re.sub(r"\$\(.*?\)", "", line.split(" -- ")[0])
        assert {word.split("=")[0] for word in re.findall(r"(?<!\S)--?[a-z][a-z-]*", ours)} <= known
