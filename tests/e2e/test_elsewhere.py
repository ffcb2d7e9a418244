"""A folder of another machine, over a real sshd and a line of 100 ms."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bmc.rmcpplus import Bmc
from tests.profiler_server import ProfilerServer

from .conftest import python_env
from .ssh import Line, Sshd
from .terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("needs_sshd")]

RTT_S = 0.1


class Host:
    """A host named box in an ssh configuration of its own. Each ssh that is started is counted."""

    def __init__(self, folder: Path, server: Sshd, port: int) -> None:
        self._calls = folder / "calls"
        config = folder / "config"
        config.write_text(
            f"Host box\n HostName 127.0.0.1\n Port {port}\n IdentityFile "
            f"{server.folder}/user_key\n IdentitiesOnly yes\n"
            " IdentityAgent none\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
        )
        program = folder / "ssh"
        program.write_text(
            f'#!/bin/sh\necho "$@" >> {shlex.quote(str(self._calls))}\nexec ssh -F {config} "$@"\n'
        )
        program.chmod(0o755)
        runtime = Path(f"/tmp/pt{os.getpid()}")
        runtime.mkdir(exist_ok=True)
        self._runtime = runtime
        self.program = str(program)
        self.env = python_env(
            {
                "POWERTUI_SSH": self.program,
                "XDG_CACHE_HOME": str(folder / "cache"),
                "XDG_RUNTIME_DIR": str(runtime),
            }
        )

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def leave(self) -> None:
        """End the connection that is kept."""
        for control in self._runtime.glob("powertui-*/*"):
            subprocess.run(
                [self.program, "-O", "exit", "-o", f"ControlPath={control}", "box"],
                check=False,
                capture_output=True,
            )
        shutil.rmtree(self._runtime, ignore_errors=True)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "powertui", *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sshd, Line]]:
    with Sshd(tmp_path_factory.mktemp("sshd")) as server, Line(server.port, rtt_s=RTT_S) as slow:
        yield server, slow


@pytest.fixture
def host(line: tuple[Sshd, Line], tmp_path: Path) -> Iterator[Host]:
    server, slow = line
    one = Host(tmp_path, server, slow.port)
    yield one
    one.leave()


def test_a_capture_is_fetched_from_the_server_that_wrote_it(host: Host, tmp_path: Path) -> None:
    """Power lies beside it; without a key the line that fetches it is said, and nothing half is
    left.
    """
    far = tmp_path / "far's logs"
    with ProfilerServer() as server, Bmc() as bmc:
        words = [
            "capture",
            server.address,
            "--logdir",
            str(tmp_path / "logs"),
            "--server-logdir",
            str(far),
            "--via",
            "box",
            "-t",
            "200ms",
        ]
        words += [
            "--before",
            "1s",
            "--after",
            "1s",
            "--source",
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
        ]
        host.env["IPMI_PASSWORD"] = "pw-viewer"
        told = host.ask(*words)
        assert told.returncode == 0, told.stderr
        (profile,) = (tmp_path / "logs").rglob("*.xplane.pb")
        assert profile.read_bytes() == next(far.rglob("*.xplane.pb")).read_bytes()
        assert {path.name for path in profile.parent.iterdir()} == {profile.name, "power.csv"}
        config = tmp_path / "config"
        config.write_text(config.read_text().replace("user_key", "host_key"))
        told = host.ask(*words)
    assert told.returncode == 1
    assert "could not be fetched through box" in told.stderr
    assert "scp " in told.stderr
    assert len(list((tmp_path / "logs").rglob("*.pb*"))) == 1


def test_report_moves_a_run_once(host: Host, line: tuple[Sshd, Line], profile: Path) -> None:
    address, size = (
        f"ssh://box{profile}",
        sum(file.stat().st_size for file in profile.rglob("*.xplane.pb")),
    )
    before = line[1].received
    told = host.ask("report", address, "--json")
    assert told.returncode == 0, told.stderr
    assert len(json.loads(told.stdout)["runs"]) == 1
    moved = line[1].received - before
    assert size < moved < size + 60_000
    assert len(host.calls) == 2  # what lies there; and the profile
    for verb in ("doctor", "energy", "report"):
        before = line[1].received
        again = host.ask(verb, address)
        assert again.returncode == 0, again.stderr
        assert line[1].received - before < 20_000  # the listing alone
    assert len(host.calls) == 5


def test_a_thousand_runs_are_two_questions_and_few_bytes(
    host: Host, line: tuple[Sshd, Line], tmp_path: Path
) -> None:
    """At 100 ms a question over the kept connection costs about 0.3 s, so that this is what the
    time of a listing hangs on.
    """
    there = tmp_path / "logs"
    for number in range(1000):
        home = there / f"run_{number:04}" / "plugins" / "profile" / "2026_11_21_00_50_50"
        home.mkdir(parents=True)
        (home / "vm.xplane.pb").write_bytes(b"\n\0" * 50)
    (there / "power.csv").write_text(
        "time,power_w\n" + "".join(f"{1_700_000_000 + i},{100 + i}\n" for i in range(50))
    )
    before = line[1].received
    code = "import sys; from powertui.data import logdir; print(len(logdir.scan(sys.argv[1]).runs))"
    told = subprocess.run(
        [sys.executable, "-c", code, f"ssh://box{there}"],
        env=host.env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.stdout.strip() == "1000", told.stderr
    assert len(host.calls) == 2  # names; and the head of the one file whose name does not tell
    assert line[1].received - before < 150_000


def test_the_screens_open_it(host: Host, profile: Path) -> None:
    command = [sys.executable, "-m", "powertui", f"ssh://box{profile}"]
    with Terminal(command, size=(120, 30), env=host.env) as terminal:
        terminal.wait_for("whole run")
        terminal.press("q")
        assert terminal.wait_exit() == 0
        assert terminal.left_on() == []


def test_no_key_no_entry(
    host: Host, line: tuple[Sshd, Line], profile: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(config.read_text().replace("user_key", "host_key"))
    told = host.ask("report", f"ssh://box{profile}")
    assert told.returncode == 3
    assert told.stderr.splitlines()[0].endswith(": box does not let you in")


def test_a_key_of_the_host_that_changed(
    host: Host, line: tuple[Sshd, Line], profile: Path, tmp_path: Path
) -> None:
    server, slow = line
    known = tmp_path / "known"
    key = (server.folder / "user_key.pub").read_text().split()
    known.write_text(f"[127.0.0.1]:{slow.port} {key[0]} {key[1]}\n")
    config = tmp_path / "config"
    text = config.read_text().replace("UserKnownHostsFile /dev/null", f"UserKnownHostsFile {known}")
    config.write_text(text.replace("StrictHostKeyChecking no", "StrictHostKeyChecking yes"))
    told = host.ask("report", f"ssh://box{profile}")
    assert told.returncode == 3
    assert told.stderr.splitlines()[0].endswith(": the key of box is not the one that ssh knows")
