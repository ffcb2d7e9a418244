"""Asking Kineto: as its daemon, which answers the process that is meant and nobody else; what it writes is waited for."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.capture import dynolog, kineto, whole
from powertui.capture.dynolog import Daemon
from powertui.capture.messages import ProfileRequest
from powertui.capture.whole import Plan
from powertui.errors import CaptureError, UsageError

# What Kineto does, as far as it concerns us: it asks its daemon again and again, and writes a trace where that says.
STAND_IN = """
import json, os, socket, struct, sys, time
suffix, bits = sys.argv[1], int(sys.argv[2])
own = os.path.join(os.environ["KINETO_IPC_SOCKET_DIR"], f"client-{os.getpid()}")
one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
one.bind(own)
one.settimeout(5)
print("up", flush=True)
while True:
    time.sleep(0.1)
    body = struct.pack("@iiq2i", bits, 2, 0, os.getpid(), os.getppid())
    try:
        one.sendto(struct.pack("@N32s", len(body), b"req") + body, os.path.join(os.path.dirname(own), "dynolog"))
        order = one.recv(9999)[40:].decode()
    except OSError:
        continue
    if not order:
        continue
    orders = dict(line.split("=", 1) for line in order.split())
    event = {"ph": "X", "dur": 9e5, "pid": 1, "tid": 1, "cat": "user_annotation"}
    events = [{**event, "name": f"ProfilerStep#{n}", "ts": 1e6 * n} for n in range(3)]
    with open(orders["ACTIVITIES_LOG_FILE"].replace(".json", suffix + ".json"), "w") as file:
        file.write('{"schemaVersion": 1, "duration": %s, ' % orders["ACTIVITIES_DURATION_MSECS"])
        file.flush()
        time.sleep(0.6)
        file.write('"traceEvents": ' + json.dumps(events) + "}")
"""


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")  # the path of a socket is 107 bytes at most


def start(place: Path, suffix: str = "", bits: int = 3, daemon: bool = True) -> subprocess.Popen[str]:
    env = {**os.environ, "KINETO_IPC_SOCKET_DIR": str(place), **({"KINETO_USE_DAEMON": "1"} if daemon else {})}
    words = [sys.executable, "-c", STAND_IN, suffix, str(bits)]
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.fixture(params=["", "_4711"])
def program(request: pytest.FixtureRequest, place: Path) -> Iterator[subprocess.Popen[str]]:
    with start(place, request.param) as process:
        yield process
        process.kill()


def test_it_is_asked_and_its_file_waited_for(program: subprocess.Popen[str], place: Path, tmp_path: Path) -> None:
    taken = whole.take(Plan((), str(tmp_path / "logs"), ProfileRequest(1.5), pid=program.pid))
    assert not taken.problems
    (path,) = taken.files
    assert '"duration": 1500' in Path(path).read_text()
    assert Path(path).read_text().endswith("}")
    assert not (place / "dynolog").exists(), "a daemon that runs later finds its place free"
    from powertui.report import captured

    assert any("3: median" in line for line in captured.lines(taken.folder))


def test_a_process_that_was_not_started_for_it(place: Path, tmp_path: Path) -> None:
    with start(place, daemon=False) as process:
        with pytest.raises(CaptureError) as caught:
            whole.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
        assert "KINETO_USE_DAEMON=1" in caught.value.hint
        process.kill()


@pytest.mark.parametrize(("bits", "said"), [(-1, "did not ask for anything"), (0, "is taking another profile already")])
def test_one_that_never_asks_and_one_that_is_busy(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, said: str
) -> None:
    monkeypatch.setattr(kineto, "ASKS_S", 2.0)
    if bits < 0:  # it asks elsewhere
        monkeypatch.setattr(dynolog, "socket_of", lambda _: b"\0powertui-test-%d" % os.getpid())
    with start(place, bits=max(bits, 0)) as process:
        taken = whole.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
        process.kill()
    assert said in str(taken.problems[0])
    assert not list((tmp_path / "logs").iterdir())


def test_a_daemon_that_runs_already_is_not_put_aside(program: subprocess.Popen[str], place: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        theirs.bind(str(place / "dynolog"))
        taken = whole.take(Plan((), str(tmp_path / "logs"), pid=program.pid))
        assert f"dyno gputrace --pids {program.pid}" in str(taken.problems[0])
        assert (place / "dynolog").exists()
    assert not list((tmp_path / "logs").iterdir())


def test_only_the_process_that_is_meant_gets_the_order(place: Path) -> None:
    """Whatever pids a request names: the kernel says who sent it. Damaged requests change nothing."""
    request = struct.pack("@iiqi", 3, 1, 0, 1)
    said = struct.pack("@N32s", len(request), b"req") + request
    where = bytes(place / "dynolog")
    answers = []
    for pid in (1, os.getpid()):
        with Daemon(where, pid, "ORDER=1\n") as daemon, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.bind(str(place / f"client-{pid}"))
            client.settimeout(10)
            for one in (said, b"", b"x" * 39, said[:44], struct.pack("@N32s", 0, b"ctxt"), b"\xff" * 60, said):
                client.sendto(one, where)
                daemon.look(10)
            client.setblocking(False)
            for _ in range(5):
                answers.append((pid == os.getpid(), client.recv(9999)[40:]))
            with pytest.raises(BlockingIOError):
                client.recv(1)
    count = struct.pack("@i", 1)
    assert [told for mine, told in answers if not mine] == [b"", b"", count, b"", b""]
    assert [told for mine, told in answers if mine] == [b"ORDER=1\n", b"", count, b"", b""], "it is told once"


def test_no_such_process(place: Path, tmp_path: Path) -> None:
    with start(place) as process:
        process.kill()
    with pytest.raises(UsageError, match="There is no process"):
        whole.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
