"""Fetching through ssh, where the other side is sick or means no good.

What stands in for ssh is a program that really runs.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from powertui.capture import address, fetching
from powertui.capture.fetching import FetchLimits, FetchProgress
from powertui.capture.servers import Server
from powertui.capture.session_files import SessionPlace
from powertui.errors import CaptureError
from tests.waiting import LIMIT_S, until

ROOT = Path(__file__).parents[3]
PATIENT = FetchLimits(silence_s=LIMIT_S)
HASTY = FetchLimits(silence_s=0.3)
START = "import os, subprocess, sys, time\nout, err = sys.stdout.buffer, sys.stderr.buffer\n"


@pytest.fixture
def place(tmp_path: Path) -> SessionPlace:
    return SessionPlace(tmp_path / "session", "/far/session")


SERVER = Server(address.parse("far:9012"), "far")


def stand_in(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "ssh.py"
    path.write_text(START + textwrap.dedent(program))
    monkeypatch.setenv("POWERTUI_SSH", f"{sys.executable} {path}")


def files_in(place: SessionPlace) -> list[str]:
    return sorted(entry.name for entry in place.here.iterdir()) if place.here.exists() else []


def test_a_chatty_ssh_does_not_stop_the_fetch(
    place: SessionPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 MB of warnings, more than any pipe holds, before, among and behind the profile."""
    program = """
        noise = b"Warning: hello\\n" * 200_000
        err.write(noise); err.flush()
        out.write(b" 300000\\n"); out.flush()
        for _ in range(3):
            out.write(b"x" * 100_000); out.flush()
            err.write(noise); err.flush()
    """
    stand_in(tmp_path, program, monkeypatch)
    assert fetching.fetch(place, SERVER, "far", limits=PATIENT).read_bytes() == b"x" * 300_000
    assert files_in(place) == ["far.xplane.pb"]


def test_a_connection_that_stays_for_others_is_not_waited_for(
    place: SessionPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssh's ControlPersist: a process in the background keeps the error output open."""
    program = f"""
        nothing = subprocess.DEVNULL
        child = subprocess.Popen(["sleep", "3600"], stdin=nothing, stdout=nothing, start_new_session=True)
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
        out.write(b"4\\nabcd")
    """
    stand_in(tmp_path, program, monkeypatch)
    try:
        assert fetching.fetch(place, SERVER, "far", limits=PATIENT).read_bytes() == b"abcd"
        os.kill(int((tmp_path / "pid").read_text()), 0)  # it still runs: nobody waited for its end
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("program", "limits", "words"),
    [
        ("time.sleep(3600)", HASTY, "nothing came for 0.3 s"),
        ("err.close(); time.sleep(3600)", HASTY, "nothing came for 0.3 s"),
        (
            "out.write(b'1000\\nabc'); out.flush(); time.sleep(3600)",
            HASTY,
            "nothing came for 0.3 s",
        ),
        ("while True: err.write(b'wait\\n' * 1000); err.flush()", HASTY, "nothing came for 0.3 s"),
        (
            "out.write(b'1000000\\n')\nwhile True: out.write(b'x'); out.flush(); time.sleep(0.01)",
            FetchLimits(silence_s=LIMIT_S, setup_s=0.5, slowest_rate=1e7),
            "it takes longer than 0.6 s",
        ),
        ("while True: out.write(b'x' * 65536)", PATIENT, "instead of the size"),
        (
            "out.write(b'10\\n')\nwhile True: out.write(b'x' * 65536)",
            PATIENT,
            "it sends more than the size that it announced",
        ),
        (
            "out.write(b'0\\n')\nwhile True: out.write(b'x' * 65536)",
            PATIENT,
            "it sends more than the size that it announced",
        ),
        (
            "out.write(b'1000000000000000000\\n'); out.flush(); time.sleep(3600)",
            PATIENT,
            "do not fit on the disk",
        ),
        (
            "out.write(b'9' * 4000 + b'\\n'); out.flush(); time.sleep(3600)",
            PATIENT,
            "instead of the size",
        ),
        ("out.write(b'-5\\nabcde')", PATIENT, "'-5' instead of the size"),
        (
            "out.write(b'\\x1b[31mWelcome\\n5\\nabcde')",
            PATIENT,
            "'\\\\x1b[31mWelcome' instead of the size",
        ),
        ("out.write('٣\\nabc'.encode())", PATIENT, "instead of the size"),
        ("out.write(b'5\\nabc')", PATIENT, "the connection broke after 3 of 5 bytes"),
        ("out.write(b'5\\nabcde'); sys.exit(1)", PATIENT, "the connection broke"),
        (
            "out.write(b'5\\nab'); out.flush(); os.kill(os.getpid(), 9)",
            PATIENT,
            "the connection broke",
        ),
        ("out.write(b'5')", PATIENT, "the connection broke"),
        ("pass", PATIENT, "the connection broke"),
        (
            (
                "out.close(); os.close(1); err.write(b'\\x1b]0;x\\x07no such\\x1b[31m file\\n'); "
                "sys.exit(1)"
            ),
            PATIENT,
            "no such\\x1b[31m file",
        ),
        (
            "err.write(b'first\\n' * 100_000 + b'the last word\\n'); sys.exit(255)",
            PATIENT,
            "the last word",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_leaves_nothing(
    place: SessionPlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    limits: FetchLimits,
    words: str,
) -> None:
    stand_in(tmp_path, program, monkeypatch)
    with pytest.raises(CaptureError) as caught:
        fetching.fetch(place, SERVER, "far", limits=limits)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert caught.value.hint == f"scp far:/far/session/far.xplane.pb {place.here}/"
    assert files_in(place) == []


def test_no_ssh_is_one_sentence(place: SessionPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTUI_SSH", "/no/such/program")
    with pytest.raises(CaptureError, match="ssh cannot be run to fetch the profile: No such file"):
        fetching.fetch(place, SERVER, "far")
    assert files_in(place) == []


def test_the_end_of_what_is_fetched_may_not_fit(
    place: SessionPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit for a file's size is the system's own: a write beyond it fails like one on a full
    disk.
    """
    stand_in(tmp_path, "out.write(b'900000\\n' + b'x' * 900_000)", monkeypatch)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    try:
        with pytest.raises(
            CaptureError, match=r"far\.xplane\.pb: cannot be written \(File too large\)"
        ):
            fetching.fetch(place, SERVER, "far", limits=PATIENT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert files_in(place) == []


def test_how_far_it_is_and_that_it_can_be_ended(
    place: SessionPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"""
        open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()) + "\\n")
        out.write(b"1000000\\n" + b"x" * 400_000); out.flush()
        time.sleep(3600)
    """
    stand_in(tmp_path, program, monkeypatch)
    seen: list[FetchProgress] = []

    def on_wait(progress: FetchProgress) -> bool:
        seen.append(progress)
        return progress.received == 400_000

    with pytest.raises(KeyboardInterrupt):
        fetching.fetch(place, SERVER, "far", on_wait, PATIENT)
    assert seen[-1][1:] == (400_000, 1_000_000)
    assert files_in(place) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_ctrl_c_ends_it_at_once_and_an_ssh_that_does_not_want_to(tmp_path: Path) -> None:
    """Nothing is left, neither a process nor a file.

    The memory that 200 MB of profile take is that of a few pieces.
    """
    program = """
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        open(sys.argv[0] + ".pid", "w").write(str(os.getpid()) + "\\n")
        out.write(b"210000000\\n")
        for _ in range(200):
            out.write(b"x" * 1_000_000)
        out.flush()
        open(sys.argv[0] + ".sent", "w").close()
        time.sleep(3600)
    """
    ssh = tmp_path / "ssh.py"
    ssh.write_text(START + textwrap.dedent(program))
    client = f"""
import resource
from pathlib import Path
from powertui.capture import address, fetching
from powertui.capture.servers import Server
from powertui.capture.session_files import SessionPlace
place = SessionPlace(Path({str(tmp_path / "session")!r}), "/far")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    fetching.fetch(place, Server(address.parse("far:1"), "far"), "far")
except KeyboardInterrupt:
    print("ended", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "POWERTUI_SSH": f"{sys.executable} {ssh}"}
    with subprocess.Popen(
        [sys.executable, "-c", client], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        until(lambda: (tmp_path / "ssh.py.sent").exists())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert out.startswith("ended ")
    assert int(out.split()[1]) < 50_000, "kB more than before"
    assert list((tmp_path / "session").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "ssh.py.pid").read_text()), 0)
