"""`powertui capture` as a person runs it: against the real servers of TensorFlow and JAX where they
are installed, in a terminal, and interrupted.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bmc.rmcpplus import Bmc
from tests.e2e.terminal import Terminal, environment
from tests.profiled_programs import PROGRAMS, TORCH, Program, clock_errors_s, interpreter, why_not
from tests.profiler_server import ProfilerServer, server_process
from tests.waiting import until

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
POWERTUI = [sys.executable, "-m", "powertui"]


def env(**more: str) -> dict[str, str]:
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("IPMI", "POWERTUI", "XDG_CONFIG"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "IPMI_PASSWORD": "pw-viewer",
        **more,
    }


def session(logdir: Path) -> Path:
    (found,) = (logdir / "plugins/profile").iterdir()
    return found


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_real_server_with_power_of_a_bmc(name: str, tmp_path: Path) -> None:
    """Steps, joules, one clock for both, and the words on the terminal; then it is ended early, and
    asked twice at once.
    """
    if reason := why_not(name):
        pytest.skip(reason)
    with Program(name) as program, Bmc() as bmc:
        words = [
            *POWERTUI,
            "capture",
            f"localhost:{program.port}",
            "--logdir",
            str(tmp_path),
            "-t",
            "1s",
            "--before",
            "1s",
        ]
        words += ["--after", "1s", "--host", f"127.0.0.1:{bmc.port}", "--user", "viewer"]
        for _ in range(20):
            done = subprocess.run(
                words, env=env(), capture_output=True, text=True, check=False, timeout=300
            )
            if (
                "recorded nothing" not in done.stderr
            ):  # on a busy machine the program may have no turn in a whole second
                break
        assert done.returncode == 0, done.stderr
        folder = session(tmp_path)
        assert sorted(path.suffix for path in folder.iterdir()) == [".csv", ".pb"]
        assert re.search(r"^  steps   [1-9][\d,]*: median", done.stdout, re.MULTILINE), done.stdout
        assert "  energy  " in done.stdout
        assert "  limit   " in done.stdout
        assert f"next: powertui {folder}" in done.stdout
        errors = clock_errors_s(folder)
        assert len(errors) > 3
        assert abs(statistics.median(errors)) <= 0.005, "power and profile are on one clock"

        # Ctrl+C: the server ends the session, and what it has is written
        logdir = tmp_path / "early"
        words = [
            *POWERTUI,
            "capture",
            f"localhost:{program.port}",
            "--logdir",
            str(logdir),
            "-t",
            "10min",
            "--no-power",
        ]
        early = subprocess.Popen(
            words, env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert early.stderr is not None
        assert "profiling, 600 s" in early.stderr.readline()
        busy = subprocess.run(
            [*words[:-3], "-t", "1s", "--no-power"],
            env=env(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert busy.returncode == 1
        assert "is taking another profile already" in busy.stderr
        early.send_signal(signal.SIGINT)
        out, _ = early.communicate(timeout=300)
        assert early.returncode == 130
        assert Path(out.splitlines()[0]).stat().st_size > 1000

        # and the program is killed in the middle
        words[6] = str(tmp_path / "killed")
        killed = subprocess.Popen(
            words, env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert killed.stderr is not None
        assert "profiling, 600 s" in killed.stderr.readline()
        program.process.kill()
        out, said = killed.communicate(timeout=300)
        assert killed.returncode == 1
        assert not out
        assert "closed the connection before the profile was written" in said
        assert "Traceback" not in said


def refused(program: Program, logdir: Path) -> str:
    """What is said of a capture that comes to nothing."""
    words = [
        *POWERTUI,
        "capture",
        f"localhost:{program.port}",
        "--logdir",
        str(logdir),
        "-t",
        "500ms",
        "--no-power",
    ]
    done = subprocess.run(
        words, env=env(), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1, done.stdout
    assert not done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_real_server_on_a_full_disk(name: str, tmp_path: Path) -> None:
    if reason := why_not(name):
        pytest.skip(reason)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        with contextlib.suppress(OSError), (small / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        with Program(name) as program:
            said = refused(program, small)
        assert not list(small.rglob("*.xplane.pb*")), (
            "the server left a file that ends in the middle"
        )
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert f"The server's disk is full: it could not write {small}/plugins/profile/" in said
    assert "Make room there, or choose another --logdir." in said


def test_a_server_that_is_killed_leaves_the_power_and_a_sentence(tmp_path: Path) -> None:
    """Real processes, as a person runs them: the power is there to the end, and the exit code is no
    0.
    """
    with server_process(hold=True) as (process, where), Bmc() as bmc:
        words = [
            *POWERTUI,
            "capture",
            where,
            "--logdir",
            str(tmp_path),
            "-t",
            "600s",
            "--before",
            "300ms",
            "--interval",
            "0.1",
        ]
        words += ["--host", f"127.0.0.1:{bmc.port}", "--user", "viewer"]
        capture = subprocess.Popen(
            words, env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        until(
            lambda: any(
                path.read_text().count(",ok,") >= 10 for path in tmp_path.glob("power-*.csv")
            )
        )
        process.kill()
        out, said = capture.communicate(timeout=300)
    assert capture.returncode == 1
    log = session(tmp_path) / "power.csv"
    assert out == f"{log}\n"
    assert f"powertui: The power that was recorded is kept in {log}.\n" in said
    assert "closed the connection before the profile was written" in said
    assert "Traceback" not in said
    assert log.read_text().count(",ok,") >= 10
    assert "# ended" in log.read_text()


def test_a_server_that_never_answers_is_given_up_and_ctrl_c_is_offered(tmp_path: Path) -> None:
    with ProfilerServer(mute=True, writes=False) as server, Bmc() as bmc:
        words = [
            *POWERTUI,
            "capture",
            server.address,
            "--logdir",
            str(tmp_path),
            "-t",
            "200ms",
            "--before",
            "300ms",
        ]
        words += ["--host", f"127.0.0.1:{bmc.port}", "--user", "viewer", "--patience"]
        done = subprocess.run(
            [*words, "4s"], env=env(), capture_output=True, text=True, check=False, timeout=300
        )
        waits = [line for line in done.stderr.splitlines() if "Waiting for" in line]
        assert len(waits) == 1, "seldom where lines are not written over"
        assert re.fullmatch(
            (
                rf"powertui: Waiting for {server.address}: \d s of at most 4 s. Ctrl\+C ends the "
                r"capture and keeps the power."
            ),
            waits[0],
        )
        assert f"{server.address} did not answer within 4.2 s." in done.stderr
        assert done.returncode == 1
        assert Path(done.stdout.strip()).name == "power.csv"

        again = tmp_path / "again"
        words[words.index(str(tmp_path))] = str(again)
        ended = subprocess.Popen(
            [*words, "600s"], env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert ended.stderr is not None
        while "Waiting for" not in (line := ended.stderr.readline()):
            assert line, "the capture ended without it"
        ended.send_signal(signal.SIGINT)
        assert server.terminated.wait(300)
        while "stops waiting" not in (line := ended.stderr.readline()):
            assert line
        ended.send_signal(signal.SIGINT)
        out, _ = ended.communicate(timeout=300)
        assert ended.returncode == 130
        assert Path(out.strip()).name == "power.csv"


def test_the_wait_is_one_line_that_is_written_over_in_a_terminal(tmp_path: Path) -> None:
    with ProfilerServer(mute=True, writes=False) as server:
        words = [
            *POWERTUI,
            "capture",
            server.address,
            "--logdir",
            str(tmp_path),
            "-t",
            "200ms",
            "--no-power",
            "--patience",
            "600s",
        ]
        with Terminal(words, size=(70, 12), env=environment(extra=env()), cwd=tmp_path) as terminal:
            terminal.wait_for("ends the capture")
            assert terminal.text().count("Waiting for") == 1
            terminal.write(b"\x03")
            terminal.wait_for("stops waiting")
            assert terminal.text().count("Waiting for") == 1
            terminal.write(b"\x03")
            assert terminal.wait_exit() == 130
        assert "Waiting for" not in terminal.text()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_real_server_may_not_write_there(name: str, tmp_path: Path) -> None:
    if reason := why_not(name):
        pytest.skip(reason)
    if os.geteuid():
        pytest.skip("only root can start a program as somebody else")
    with Program(name, uid=65534) as program:
        said = refused(program, tmp_path / "logs")
    assert f"The server does not have permission to write {tmp_path}/logs/plugins/profile/" in said
    assert "Choose a --logdir that the program may write to" in said


def test_a_real_program_of_pytorch_with_power_of_a_bmc(tmp_path: Path) -> None:
    """It is asked as Kineto's daemon asks, and its profile has steps, joules and power's clock."""
    if reason := why_not("torch"):
        pytest.skip(reason)
    more = {"KINETO_USE_DAEMON": "1"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind(b"\0dynolog\0")
        except OSError:  # dynolog runs on this machine, or this test in another run
            more["KINETO_IPC_SOCKET_DIR"] = str(tmp_path)
    program = subprocess.Popen(
        [interpreter("torch"), "-c", TORCH], env=env(**more), stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        with Bmc() as bmc:
            words = [
                *POWERTUI,
                "capture",
                "--pid",
                str(program.pid),
                "--logdir",
                str(tmp_path / "logs"),
                "-t",
                "1s",
            ]
            words += [
                "--before",
                "1s",
                "--after",
                "1s",
                "--host",
                f"127.0.0.1:{bmc.port}",
                "--user",
                "viewer",
            ]
            done = subprocess.run(
                words, env=env(), capture_output=True, text=True, check=False, timeout=300
            )
        assert done.returncode == 0, done.stderr
        assert program.poll() is None, "the program goes on"
    finally:
        program.kill()
        program.communicate()
    (folder,) = (tmp_path / "logs").iterdir()
    assert sorted(path.suffix for path in folder.iterdir()) == [".csv", ".json"]
    assert re.search(r"^  steps   [1-9][\d,]*: median", done.stdout, re.MULTILINE), done.stdout
    assert "  energy  " in done.stdout
    errors = clock_errors_s(folder)
    assert len(errors) > 3
    assert abs(statistics.median(errors)) <= 0.005, "power and profile are on one clock"


def test_in_a_terminal_the_timeline_opens(tmp_path: Path) -> None:
    with ProfilerServer() as server, Bmc() as bmc:
        words = [
            *POWERTUI,
            "capture",
            server.address,
            "--logdir",
            str(tmp_path),
            "-t",
            "200ms",
            "--before",
            "3s",
        ]
        words += ["--after", "600s", "--source", f"ipmi://viewer@127.0.0.1:{bmc.port}"]
        with Terminal(
            words, size=(120, 36), env=environment(extra=env()), cwd=tmp_path
        ) as terminal:
            terminal.wait_for("train")
            terminal.wait_for("Power is recorded until")
            log = session(tmp_path) / "power.csv"
            size = log.stat().st_size
            terminal.wait_until(
                lambda: log.stat().st_size > size, "power goes on beside the timeline"
            )
            terminal.press("q")
            terminal.wait_for("power after")
            terminal.write(b"\x03")  # and what there is of it is kept
            terminal.wait_for("next: powertui")
            assert terminal.wait_exit() == 130
            assert terminal.as_before()
        assert "  energy  " in terminal.text()
        assert "# ended" in log.read_text()
        assert [path.name for path in tmp_path.iterdir()] == ["plugins"]


def test_ctrl_c_while_it_waits_keeps_what_is_there(tmp_path: Path) -> None:
    with ProfilerServer(hold=True) as server:
        words = [
            *POWERTUI,
            "capture",
            server.address,
            "--logdir",
            str(tmp_path),
            "-t",
            "60s",
            "--no-power",
        ]
        process = subprocess.Popen(
            words, env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert server.began.wait(120)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 130
        assert server.terminated.is_set()
        assert out.splitlines()[0].endswith(".xplane.pb")
        assert "next: " in out


def test_record_captures_from_the_command_that_it_runs(tmp_path: Path) -> None:
    """The command starts its server some time after it began; its exit code stays its own."""
    program = "import sys, time; from tests.profiler_server import ProfilerServer\n"
    program += "time.sleep(1)\n"
    program += (
        f"with ProfilerServer(port={free_port()}) as one:\n    sys.stdin.read()\nraise "
        "SystemExit(7)"
    )
    port = re.search(r"port=(\d+)", program)
    assert port is not None
    with Bmc() as bmc:
        words = [
            *POWERTUI,
            "record",
            "--source",
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            "-o",
            "power.csv",
            "--profile-server",
            port[1],
        ]
        words += [
            "--logdir",
            str(tmp_path / "logs"),
            "--profile-after",
            "0s",
            "--",
            sys.executable,
            "-c",
            program,
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(words, env=env(), cwd=tmp_path, text=True, **pipes)
        assert process.stderr is not None
        said = ""
        while "profile: " not in said and (line := process.stderr.readline()):
            said += line
        process.communicate(timeout=300)  # nothing more to read: the command ends
    assert process.returncode == 7, said
    assert f"profile: {session(tmp_path / 'logs')}" in said
    assert (tmp_path / "power.csv").exists()
    assert len(list(session(tmp_path / "logs").iterdir())) == 1


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port
