"""The password is looked for wherever it must not be: command lines, environments, files, output,
tracebacks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pty_process import PtyProcess

from tests.bmc.rmcpplus import Bmc

pytestmark = pytest.mark.e2e

SECRET = "correct-horse-bat"  # as long as IPMI allows, and nowhere else in this project
KG = "the-bmc-key-k-g-15"


@pytest.fixture
def secret_bmc():
    with Bmc(users={"viewer": (SECRET, 2)}, kg=KG.encode()) as bmc:
        yield bmc


def read(path: Path) -> bytes:
    """What is there; nothing of a process that has just ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def descendants(pid: int) -> list[int]:
    found = [pid]
    for known in found:
        try:
            tasks = os.listdir(f"/proc/{known}/task")
        except OSError:  # it has just ended
            continue
        for task in tasks:
            found += [
                int(child)
                for child in read(Path(f"/proc/{known}/task/{task}/children")).split()
                if int(child) not in found
            ]
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for an event, however long it takes on a busy machine."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def holds(path: Path) -> bool:
    data = read(path)
    return SECRET.encode() in data or KG.encode() in data


def private_file(path: Path, text: str) -> str:
    path.write_text(text + "\n")
    path.chmod(0o600)
    return str(path)


@pytest.mark.parametrize("scheme", ["ipmi", "ipmitool"])
def test_no_command_line_and_no_environment_of_a_child_holds_it(
    secret_bmc, powertui, tmp_path, environment, scheme
):
    """From the environment: it stays in our own and reaches neither the recorder's nor the
    command's.
    """
    if scheme == "ipmitool":
        import shutil

        if not shutil.which("ipmitool"):
            pytest.skip("ipmitool is not installed")
    environment |= {"IPMI_PASSWORD": SECRET, "IPMI_KGKEY": KG}
    recorded = (
        "import os, sys, time; print([k for k in os.environ if 'IPMI' in k], "
        "flush=True); time.sleep(60)"
    )
    words = [
        "record",
        "--source",
        f"{scheme}://viewer@127.0.0.1:{secret_bmc.port}",
        "-o",
        "p.csv",
        "--interval",
        "0.2",
    ]
    process = powertui(*words, "--", sys.executable, "-c", recorded)
    assert process.stdout.readline() == "[]\n"
    seen: set[int] = set()

    def searched() -> bool:
        for pid in descendants(process.pid):
            seen.add(pid)
            assert not holds(Path(f"/proc/{pid}/cmdline"))
            # ipmitool itself is handed the password in its environment, which only its owner can
            # read
            if pid != process.pid and holds(Path(f"/proc/{pid}/environ")):
                assert read(Path(f"/proc/{pid}/comm")).strip() in (b"ipmitool", b"")
        # the recorder and the command at least, for as long as it takes to make a few readings (and
        # an ipmitool for each)
        return len(seen) >= 3 and read(tmp_path / "p.csv").count(b",ok,") >= 5

    wait_until(searched)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert SECRET not in out + err
    assert KG not in out + err
    assert ",ok," in (tmp_path / "p.csv").read_text()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or not holds(path), path


def test_from_files_it_is_not_even_in_our_own_environment(
    secret_bmc, powertui, tmp_path, environment
):
    del environment["IPMI_PASSWORD"]
    password, kg = private_file(tmp_path / "pw", SECRET), private_file(tmp_path / "kg", KG)
    words = [
        "--host",
        f"127.0.0.1:{secret_bmc.port}",
        "--user",
        "viewer",
        "--password-file",
        password,
        "--kg-file",
        kg,
    ]
    process = powertui(
        "record", *words, "-o", "p.csv", "--interval", "0.2", "--", "cat", stdin=subprocess.PIPE
    )
    wait_until(lambda: read(tmp_path / "p.csv").count(b",ok,") >= 3)
    seen = descendants(process.pid)
    assert len(seen) >= 3
    for pid in seen:
        assert not holds(Path(f"/proc/{pid}/cmdline"))
        assert not holds(Path(f"/proc/{pid}/environ"))
    process.communicate("", timeout=120)
    assert process.returncode == 0
    assert not holds(tmp_path / "p.csv")


@pytest.mark.parametrize("fault", ["level", "kg", "drop"])
def test_no_message_and_no_log_holds_it_when_things_go_wrong(
    secret_bmc, powertui, tmp_path, environment, fault
):
    environment |= {"IPMI_PASSWORD": SECRET, "IPMI_KGKEY": "wrong" if fault == "kg" else KG}
    secret_bmc.drop = fault == "drop"
    words = ["--source", f"ipmi://viewer@127.0.0.1:{secret_bmc.port}", "--timeout", "0.2"]
    if fault == "level":
        words += ["--level", "administrator"]
    process = powertui("sensors", *words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    for text in (out, err):
        assert SECRET not in text
        assert KG not in text
        assert "Traceback" not in text


def test_a_traceback_in_the_source_shows_no_password():
    """Whatever goes wrong inside, the objects that hold it print as dots, locals included."""
    import traceback

    from powertui.sampler.credentials import Secret
    from powertui.sampler.source import Options, open_source

    source = open_source(
        "ipmi://viewer@127.0.0.1:9", Options(password=Secret(SECRET), kg=Secret(KG))
    )
    source._link._resolve = lambda: 1 / 0
    try:
        source.open()
    except ZeroDivisionError as error:
        text = "".join(
            traceback.TracebackException.from_exception(error, capture_locals=True).format()
        )
    assert "_link" in text
    assert SECRET not in text
    assert KG not in text


def test_there_is_no_password_option(powertui):
    process = powertui("record", "--password", "x")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "--password" in err


def test_the_prompt_is_masked(secret_bmc, environment, tmp_path):
    """In a terminal: what is typed does not appear."""
    del environment["IPMI_PASSWORD"]
    secret_bmc.kg = None
    words = [
        sys.executable,
        "-m",
        "powertui",
        "sensors",
        "--source",
        f"ipmi://viewer@127.0.0.1:{secret_bmc.port}",
    ]
    terminal = PtyProcess(words, environment, tmp_path)
    seen = terminal.wait("Password of viewer")
    seen += terminal.wait(": ")
    wait_until(lambda: not terminal.echoes())
    terminal.send(SECRET + "\n")
    seen += terminal.wait("ipmi DCMI")
    while terminal.process.poll() is None:
        terminal.read(0.1)
    terminal.read(0.1)
    assert terminal.close() == 0
    assert SECRET not in seen + terminal.text
