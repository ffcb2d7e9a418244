"""Standard output, error and input that are closed, full or gone: no traceback, no message in the
data, and the right exit code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bmc.rmcpplus import Bmc
from tests.synthetic.xplane import Event, Line, Plane, encode

from .conftest import python_env

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full"),
]

PROGRAM = (sys.executable, "-m", "powertui")
CLOSED = "Nothing can be printed: standard output is closed."
FULL = "The output could not be written: No space left on device"

# What prints on standard output, with its exit code where all is well. `record` and the screens do
# not.
PRINTING = {
    "report": (0, "report P"),
    "report --json": (0, "report P --json"),
    "report --csv": (0, "report P --csv"),
    "doctor": (0, "doctor P"),
    "energy": (0, "energy P"),
    "export events": (0, "export P --what events"),
    "export steps": (0, "export P --what steps"),
    "export perfetto": (0, "export P --what perfetto"),
    "demo": (0, "demo --report"),
    "other": (0, "capture --other neuron"),
    "clear": (0, "--clear-cache"),
    "help": (0, "--help"),
    "help of a verb": (0, "record --help"),
    "version": (0, "--version"),
    "licenses": (0, "--licenses"),
    "bash": (0, "--completions bash"),
    "man": (0, "--completions man"),
}
# What says something on standard error alone.
SAYING = {
    "a file": (0, "export P --what events -o events.csv --force"),
    "no terminal": (2, "open P"),
    "live": (2, "live --no-record --source csv:power.csv"),
    "demo": (2, "demo"),
    "nothing there": (3, "report nothing-there"),
    "wrong usage": (2, "report --nonsense"),
    "no server": (1, "capture localhost:1 -t 1s --logdir captured --no-power"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    steps = [Event("train", i * 10**10, 10**9, {"step_num": i, "_r": 1}) for i in range(5)]
    (tmp_path / "P").mkdir()
    (tmp_path / "P" / "vm.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", steps)])])
    )
    for path in (tmp_path / "P" / "vm.xplane.pb", tmp_path / "P"):
        os.utime(path, (1.7e9, 1.7e9))  # doctor tells how old it is
    (tmp_path / "power.csv").write_text("time,watts\n1000000000,100\n1000000001,101\n")
    return tmp_path


def run(
    folder: Path, words: Sequence[str], redirections: str = "", **how: object
) -> subprocess.CompletedProcess[bytes]:
    """The program as a shell starts it, with these redirections."""
    env = python_env({"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})
    given = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        **how,
    }
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", *PROGRAM, *words]
    return subprocess.run(command, cwd=folder, env=env, check=False, timeout=600, **given)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("name", PRINTING)
def test_what_is_printed_arrives_or_its_loss_is_one_sentence(folder: Path, name: str) -> None:
    code, line = PRINTING[name]
    words = line.split()
    usual = run(folder, words)
    assert usual.returncode == code
    assert usual.stdout
    for redirection, sentence in ((">&-", CLOSED), (">/dev/full", FULL)):
        done = run(folder, words, redirection)
        assert done.returncode == 1
        assert done.stderr.decode().splitlines()[-1] == f"powertui: {sentence}"
        assert b"Traceback" not in done.stderr
    for redirection in ("2>&-", "2>/dev/full", "<&-"):
        done = run(folder, words, redirection)
        assert (done.returncode, done.stdout) == (code, usual.stdout), redirection
    assert run(folder, words, "<&- >&- 2>&-").returncode == 1


@pytest.mark.parametrize("name", PRINTING)
def test_a_reader_who_leaves_is_no_error(folder: Path, name: str) -> None:
    code, line = PRINTING[name]
    read, write = os.pipe()
    os.close(read)
    try:
        done = run(folder, line.split(), stdout=write)
    finally:
        os.close(write)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"roken" not in done.stderr


@pytest.mark.parametrize("name", SAYING)
def test_messages_that_nobody_gets_change_nothing_else(folder: Path, name: str) -> None:
    code, line = SAYING[name]
    words = line.split()
    usual = run(folder, words)
    assert (usual.returncode, usual.stdout) == (code, b"")
    assert usual.stderr
    for redirection in (">&-", ">/dev/full", "<&-"):
        done = run(folder, words, redirection)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", usual.stderr), redirection
    for redirection in ("2>&-", "2>/dev/full", "<&- >&- 2>&-"):
        done = run(folder, words, redirection)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", b""), redirection


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", ">&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("watts", ["human", "json"])
def test_sensors(folder: Path, redirection: str, watts: str) -> None:
    """Which sensors there are is this machine's affair, and so is the exit code."""
    words = ["sensors", *(["--json"] if watts == "json" else [])]
    usual = run(folder, words).returncode
    done = run(folder, words, redirection)
    assert done.returncode == (1 if ">&-" in redirection.replace("2>&-", "") else usual)
    assert b"Traceback" not in done.stderr
    assert b"powertui:" not in done.stdout


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- 2>&-", ">&-", "<&- >&- 2>&-"])
def test_a_recording_holds_rows_alone(folder: Path, redirection: str) -> None:
    secret = folder / "secret"
    secret.write_text("pw-viewer")
    secret.chmod(0o600)
    with Bmc() as bmc:
        source = f"ipmi://viewer@127.0.0.1:{bmc.port}"
        words = [
            "record",
            "--source",
            source,
            "--password-file",
            str(secret),
            "-o",
            "power.csv.new",
            "--interval",
            "0.1",
        ]
        words += ["--timeout", "60", "--", "sh", "-c", "echo from the command >&2; sleep 1"]
        assert run(folder, words, redirection).returncode == 0
    lines = (folder / "power.csv.new").read_text().splitlines()
    heading = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    rows = [line for line in lines[heading + 1 :] if not line.startswith("# ended")]
    assert sum(",245," in row for row in rows) > 2
    assert {row.count(",") for row in rows} == {lines[heading].count(",")}
    assert lines[-1].startswith("# ended: ")


def test_what_is_exported_into_a_file_holds_no_message(folder: Path) -> None:
    written = {}
    for redirection in ("", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        assert (
            run(
                folder, ["export", "P", "--what", "events", "-o", "e.csv", "--force"], redirection
            ).returncode
            == 0
        )
        written[redirection] = (folder / "e.csv").read_bytes()
    assert set(written.values()) == {written[""]}


def test_an_output_that_does_not_wait_gets_everything(folder: Path) -> None:
    """A pipe or terminal that another program has left with O_NONBLOCK."""
    words = ["--completions", "man"]
    usual = run(folder, words).stdout
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = subprocess.Popen(
        [*PROGRAM, *words], stdout=write, env=python_env({"HOME": str(folder)}), cwd=folder
    )
    os.close(write)
    with open(read, "rb") as pipe:
        assert pipe.read() == usual
    assert process.wait() == 0
